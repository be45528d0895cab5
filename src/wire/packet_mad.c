/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Management datagrams and their names: IBTA volume 1, 13.4 (MADs), 14.2 (SMPs), 15.2 (SA), 16.1
 * (PMA), 12.6 (CM). */
#include <rdmadump/packet.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

#define CLASS_SMP	   0x01
#define CLASS_SMP_DIRECTED 0x81
#define CLASS_SA	   0x03
#define CLASS_PMA	   0x04

struct name {
	uint16_t key;
	const char *name;
};

static const char *find(const struct name *names, size_t n, unsigned int key)
{
	for (size_t i = 0; i < n; i++)
		if (names[i].key == key)
			return names[i].name;
	return NULL;
}

bool rd_packet_mad(const struct rd_packet *p, struct rd_mad *out)
{
	uint32_t limit = p->icrc ? p->icrc : p->end;
	const uint8_t *m = p->data + p->payload;

	if (!rd_packet_is_mad(p))
		return false;
	if (limit > p->caplen)
		limit = p->caplen;
	if (p->payload > limit || limit - p->payload < RD_MAD_HEADER)
		return false;
	*out = (struct rd_mad){.data = m,
		.left = limit - p->payload,
		.class = m[1],
		.method = m[3],
		.status = rd_be16(m + 4),
		.tid = rd_be64(m + 8),
		.attribute = rd_be16(m + 16),
		.modifier = rd_be32(m + 20)};
	return true;
}

const char *rd_mad_class_name(unsigned int class)
{
	static const struct name names[] = {
		{CLASS_SMP, "SMP"},
		{CLASS_SMP_DIRECTED, "SMP (directed)"},
		{CLASS_SA, "SA"},
		{CLASS_PMA, "PMA"},
		{0x05, "BM"},
		{0x06, "DevMgt"},
		{RD_MAD_CM, "CM"},
		{0x08, "SNMP"},
		{0x21, "CC"},
	};

	return find(names, COUNT(names), class);
}

const char *rd_mad_method_name(unsigned int method)
{
	static const struct name names[] = {
		{0x01, "Get"},
		{0x81, "GetResp"},
		{0x02, "Set"},
		{0x03, "Send"},
		{0x05, "Trap"},
		{0x06, "Report"},
		{0x86, "ReportResp"},
		{0x07, "TrapRepress"},
		{0x12, "GetTable"},
		{0x92, "GetTableResp"},
		{0x13, "GetTraceTable"},
		{0x14, "GetMulti"},
		{0x94, "GetMultiResp"},
		{0x15, "Delete"},
		{0x95, "DeleteResp"},
	};

	return find(names, COUNT(names), method);
}

static const struct name common_attributes[] = {
	{0x0001, "ClassPortInfo"},
	{0x0002, "Notice"},
	{0x0003, "InformInfo"},
};

static const struct name smp_attributes[] = {
	{0x0002, "Notice"},
	{0x0010, "NodeDescription"},
	{0x0011, "NodeInfo"},
	{0x0012, "SwitchInfo"},
	{0x0014, "GUIDInfo"},
	{0x0015, "PortInfo"},
	{0x0016, "P_KeyTable"},
	{0x0017, "SLtoVLMappingTable"},
	{0x0018, "VLArbitrationTable"},
	{0x0019, "LinearForwardingTable"},
	{0x001a, "RandomForwardingTable"},
	{0x001b, "MulticastForwardingTable"},
	{0x0020, "SMInfo"},
	{0x0030, "VendorDiag"},
	{0x0031, "LedInfo"},
};

static const struct name sa_attributes[] = {
	{0x0011, "NodeRecord"},
	{0x0012, "PortInfoRecord"},
	{0x0018, "SMInfoRecord"},
	{0x0020, "LinkRecord"},
	{0x0031, "ServiceRecord"},
	{0x0033, "P_KeyTableRecord"},
	{0x0035, "PathRecord"},
	{0x0038, "MCMemberRecord"},
	{0x0039, "TraceRecord"},
	{0x003a, "MultiPathRecord"},
	{0x00f3, "InformInfoRecord"},
};

static const struct name pma_attributes[] = {
	{0x0010, "PortSamplesControl"},
	{0x0011, "PortSamplesResult"},
	{0x0012, "PortCounters"},
	{0x0015, "PortRcvErrorDetails"},
	{0x0016, "PortXmitDiscardDetails"},
	{0x001d, "PortCountersExtended"},
};

static const struct name cm_attributes[] = {
	{RD_CM_REQ, "ConnectRequest"},
	{RD_CM_MRA, "MsgRcptAck"},
	{RD_CM_REJ, "ConnectReject"},
	{RD_CM_REP, "ConnectReply"},
	{RD_CM_RTU, "ReadyToUse"},
	{RD_CM_DREQ, "DisconnectRequest"},
	{RD_CM_DREP, "DisconnectReply"},
	{RD_CM_SIDR_REQ, "ServiceIDResReq"},
	{RD_CM_SIDR_REP, "ServiceIDResReqResp"},
	{RD_CM_LAP, "LoadAlternatePath"},
	{RD_CM_APR, "AlternatePathResponse"},
	{RD_CM_SAP, "SuggestAlternatePath"},
	{RD_CM_SPR, "SuggestAlternatePathResponse"},
};

const char *rd_mad_attribute_name(unsigned int class, unsigned int attribute)
{
	static const struct {
		uint8_t class;
		const struct name *names;
		size_t n;
	} classes[] = {
		{CLASS_SMP, smp_attributes, COUNT(smp_attributes)},
		{CLASS_SMP_DIRECTED, smp_attributes, COUNT(smp_attributes)},
		{CLASS_SA, sa_attributes, COUNT(sa_attributes)},
		{CLASS_PMA, pma_attributes, COUNT(pma_attributes)},
		{RD_MAD_CM, cm_attributes, COUNT(cm_attributes)},
	};

	for (size_t i = 0; i < COUNT(classes); i++) {
		const char *name = NULL;

		if (classes[i].class == class)
			name = find(classes[i].names, classes[i].n, attribute);
		if (name)
			return name;
	}
	return find(common_attributes, COUNT(common_attributes), attribute);
}

/* Bytes of a message that rd_mad_cm() reads, behind the MAD's header. */
static uint32_t cm_needs(unsigned int attribute)
{
	static const uint8_t needs[] = {
		[RD_CM_REQ] = 52,
		[RD_CM_REJ] = 12,
		[RD_CM_REP] = 24,
		[RD_CM_DREQ] = 12,
		[RD_CM_SIDR_REQ] = 16,
		[RD_CM_SIDR_REP] = 12,
		[RD_CM_SPR] = 8,
	};
	uint32_t n = needs[attribute];

	return n ? n : 8;
}

bool rd_mad_cm(const struct rd_mad *mad, struct rd_cm *out)
{
	const uint8_t *m = mad->data + RD_MAD_HEADER;
	struct rd_cm cm = {0};

	if (mad->class != RD_MAD_CM || mad->attribute < RD_CM_REQ || mad->attribute > RD_CM_SPR ||
		mad->left - RD_MAD_HEADER < cm_needs(mad->attribute))
		return false;
	cm.local_id = rd_be32(m);
	cm.remote_id = rd_be32(m + 4);
	switch (mad->attribute) {
	case RD_CM_REQ:
		cm.remote_id = 0;
		cm.service_id = rd_be64(m + 8);
		cm.qpn = rd_be24(m + 32);
		cm.transport = m[43] >> 1 & 3;
		cm.psn = rd_be24(m + 44);
		break;
	case RD_CM_REP:
		cm.qpn = rd_be24(m + 12);
		cm.psn = rd_be24(m + 20);
		break;
	case RD_CM_REJ:
		cm.reason = rd_be16(m + 10);
		break;
	case RD_CM_DREQ:
		cm.remote_qpn = rd_be24(m + 8);
		break;
	case RD_CM_SIDR_REQ:
		cm.remote_id = 0;
		cm.service_id = rd_be64(m + 8);
		break;
	case RD_CM_SIDR_REP:
		cm.remote_id = cm.local_id;
		cm.local_id = 0;
		cm.qpn = rd_be24(m + 8);
		break;
	default:
		break;
	}
	*out = cm;
	return true;
}

const char *rd_cm_reason_name(unsigned int reason)
{
	static const char *const names[] = {
		[1] = "no QP available",
		[2] = "no EEC available",
		[3] = "no resources available",
		[4] = "timeout",
		[5] = "unsupported request",
		[6] = "invalid communication id",
		[7] = "invalid communication instance",
		[8] = "invalid service id",
		[9] = "invalid transport service type",
		[10] = "stale connection",
		[11] = "RDC does not exist",
		[12] = "primary remote port GID rejected",
		[13] = "primary remote port LID rejected",
		[14] = "invalid primary SL",
		[15] = "invalid primary traffic class",
		[16] = "invalid primary hop limit",
		[17] = "invalid primary packet rate",
		[18] = "alternate remote port GID rejected",
		[19] = "alternate remote port LID rejected",
		[20] = "invalid alternate SL",
		[21] = "invalid alternate traffic class",
		[22] = "invalid alternate hop limit",
		[23] = "invalid alternate packet rate",
		[24] = "port and CM redirection",
		[25] = "port redirection",
		[26] = "invalid path MTU",
		[27] = "insufficient responder resources",
		[28] = "consumer reject",
		[29] = "RNR retry count rejected",
		[30] = "duplicate local communication id",
		[31] = "unsupported class version",
		[32] = "invalid primary flow label",
		[33] = "invalid alternate flow label",
		[35] = "unsupported vendor option",
	};

	return reason < COUNT(names) ? names[reason] : NULL;
}
