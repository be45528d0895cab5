/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Management datagrams and their names: IBTA volume 1, 13.4 (MADs), 14.2 (SMPs), 15.2 (SA), 16.1
 * (PMA), 12.6 (CM). The content of CM messages is in packet_cm.c.
 */
#include <rdmadump/names.h>
#include <rdmadump/packet.h>
#include <stdio.h>

#define CLASS_PMA 0x04

#define SMP_HEADER 36 /* up to the LIDs of a directed route */
#define SA_HEADER  56 /* MAD, RMPP and SA header */

bool rd_packet_mad(const struct rd_packet *p, struct rd_mad *out)
{
	uint32_t limit = p->icrc ? p->icrc : p->end;
	const uint8_t *m = p->data + p->payload;

	if (!rd_packet_is_mad(p))
		return false;
	limit = RD_MIN(limit, p->caplen);
	if (p->payload > limit || limit - p->payload < RD_MAD_HEADER)
		return false;
	*out = (struct rd_mad){.data = m,
		.left = limit - p->payload,
		.class = m[1],
		.method = m[3],
		.status = rd_be16(m + 4),
		.tid = rd_be64(m + 8),
		.attribute = rd_be16(m + 16)};
	return true;
}

bool rd_mad_smp(const struct rd_mad *mad, struct rd_smp *out)
{
	const uint8_t *m = mad->data;
	bool directed = mad->class == RD_MAD_SMP_DIRECTED;

	if ((!directed && mad->class != RD_MAD_SMP) || mad->left < SMP_HEADER)
		return false;
	*out = (struct rd_smp){.directed = directed};
	if (!directed)
		return true;
	out->returning = m[4] & 0x80;
	out->hop_pointer = m[6];
	out->hop_count = m[7];
	return true;
}

bool rd_mad_sa(const struct rd_mad *mad, struct rd_sa *out)
{
	const uint8_t *m = mad->data;

	if (mad->class != RD_MAD_SA || mad->left < SA_HEADER)
		return false;
	*out = (struct rd_sa){
		.rmpp_type = m[25], .rmpp_flags = m[26] & 7, .segment = rd_be32(m + 28)};
	return true;
}

uint16_t rd_mad_status(const struct rd_mad *mad)
{
	return mad->class == RD_MAD_SMP_DIRECTED ? mad->status & 0x7fff : mad->status;
}

/* 13.4.7: bits 2 to 4 are a code, the upper byte belongs to the class. */
const char *rd_mad_status_name(unsigned int class, unsigned int status)
{
	static const struct rd_name of_sa[] = {
		{1, "no resources"},
		{2, "invalid request"},
		{3, "no records"},
		{4, "too many records"},
		{5, "invalid GID"},
		{6, "insufficient components"},
		{7, "denied"},
		{8, "priority suggested"},
		{0},
	};
	static const struct rd_name codes[] = {
		{1, "version not supported"},
		{2, "method not supported"},
		{3, "method not supported for the attribute"},
		{7, "invalid attribute or modifier"},
		{0},
	};

	if (class == RD_MAD_SA && status >> 8)
		return rd_name_of(of_sa, status >> 8);
	if (status >> 8)
		return NULL;
	if (status >> 2 & 7)
		return rd_name_of(codes, status >> 2 & 7);
	return status & 1 ? "busy" : status & 2 ? "redirect" : NULL;
}

bool rd_mad_expects_response(unsigned int method)
{
	switch (method) {
	case 0x01: /* Get */
	case 0x02: /* Set */
	case 0x06: /* Report */
	case 0x12: /* GetTable */
	case 0x13: /* GetTraceTable */
	case 0x14: /* GetMulti */
	case 0x15: /* Delete */
		return true;
	default:
		return false;
	}
}

const char *rd_mad_class_name(unsigned int class)
{
	static const struct rd_name names[] = {
		{RD_MAD_SMP, "SMP"},
		{RD_MAD_SMP_DIRECTED, "SMP (directed)"},
		{RD_MAD_SA, "SA"},
		{CLASS_PMA, "PMA"},
		{0x05, "BM"},
		{0x06, "DevMgt"},
		{RD_MAD_CM, "CM"},
		{0x08, "SNMP"},
		{0x21, "CC"},
		{0},
	};

	return rd_name_of(names, class);
}

const char *rd_mad_method_name(unsigned int method)
{
	static const struct rd_name names[] = {
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
		{0},
	};

	return rd_name_of(names, method);
}

static const struct rd_name common_attributes[] = {
	{0x0001, "ClassPortInfo"},
	{0x0002, "Notice"},
	{0x0003, "InformInfo"},
	{0},
};

static const struct rd_name smp_attributes[] = {
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
	{0x001c, "LinkSpeedWidthPairsTable"},
	{0x0020, "SMInfo"},
	{0x0030, "VendorDiag"},
	{0x0031, "LedInfo"},
	{0},
};

static const struct rd_name sa_attributes[] = {
	{0x0011, "NodeRecord"},
	{0x0012, "PortInfoRecord"},
	{0x0013, "SLtoVLMappingTableRecord"},
	{0x0014, "SwitchInfoRecord"},
	{0x0015, "LinearForwardingTableRecord"},
	{0x0016, "RandomForwardingTableRecord"},
	{0x0017, "MulticastForwardingTableRecord"},
	{0x0018, "SMInfoRecord"},
	{0x0019, "LinkSpeedWidthPairsTableRecord"},
	{0x0020, "LinkRecord"},
	{0x0030, "GUIDInfoRecord"},
	{0x0031, "ServiceRecord"},
	{0x0033, "P_KeyTableRecord"},
	{0x0035, "PathRecord"},
	{0x0036, "VLArbitrationTableRecord"},
	{0x0038, "MCMemberRecord"},
	{0x0039, "TraceRecord"},
	{0x003a, "MultiPathRecord"},
	{0x003b, "ServiceAssociationRecord"},
	{0x00f3, "InformInfoRecord"},
	{0},
};

static const struct rd_name pma_attributes[] = {
	{0x0010, "PortSamplesControl"},
	{0x0011, "PortSamplesResult"},
	{0x0012, "PortCounters"},
	{0x0015, "PortRcvErrorDetails"},
	{0x0016, "PortXmitDiscardDetails"},
	{0x0017, "PortOpRcvCounters"},
	{0x0018, "PortFlowCtlCounters"},
	{0x0019, "PortVLOpPackets"},
	{0x001a, "PortVLOpData"},
	{0x001b, "PortVLXmitFlowCtlUpdateErrors"},
	{0x001c, "PortVLXmitWaitCounters"},
	{0x001d, "PortCountersExtended"},
	{0x001e, "PortSamplesResultExtended"},
	{0x0030, "SwPortVLCongestion"},
	{0x0031, "PortRcvConCtrl"},
	{0x0032, "PortSLRcvFECN"},
	{0x0033, "PortSLRcvBECN"},
	{0x0034, "PortXmitConCtrl"},
	{0x0035, "PortVLXmitTimeCong"},
	{0},
};

static const struct rd_name cm_attributes[] = {
	{0x0001, "ClassPortInfo"},
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
	{0},
};

const char *rd_mad_attribute_name(unsigned int class, unsigned int attribute)
{
	static const struct {
		uint8_t class;
		const struct rd_name *names;
		bool complete; /* the common attributes are not those of this class */
	} classes[] = {
		{RD_MAD_SMP, smp_attributes, true},
		{RD_MAD_SMP_DIRECTED, smp_attributes, true},
		{RD_MAD_SA, sa_attributes, false},
		{CLASS_PMA, pma_attributes, false},
		{RD_MAD_CM, cm_attributes, true},
	};

	for (size_t i = 0; i < RD_COUNT(classes); i++) {
		const char *name;

		if (classes[i].class != class)
			continue;
		name = rd_name_of(classes[i].names, attribute);
		if (name || classes[i].complete)
			return name;
	}
	return rd_name_of(common_attributes, attribute);
}

/* What a class without a name is: 13.4.4. */
static const char *class_range(unsigned int class)
{
	if ((class >= 0x09 && class <= 0x0f) || (class >= 0x30 && class <= 0x4f))
		return "vendor class";
	return class >= 0x10 && class <= 0x2f ? "application class" : "MAD class";
}

/* The name, or the number in `buf`. */
static const char *name_or(char *buf, size_t capacity, const char *name, const char *what,
	int digits, unsigned int number)
{
	if (name)
		return name;
	snprintf(buf, capacity, "%s 0x%0*x", what, digits, number);
	return buf;
}

void rd_mad_text(
	char *buf, size_t capacity, unsigned int class, unsigned int method, unsigned int attribute)
{
	char numbers[3][28];

	snprintf(buf, capacity, "%s %s %s",
		name_or(numbers[0], sizeof(numbers[0]), rd_mad_class_name(class),
			class_range(class), 2, class),
		name_or(numbers[1], sizeof(numbers[1]), rd_mad_method_name(method), "method", 2,
			method),
		name_or(numbers[2], sizeof(numbers[2]), rd_mad_attribute_name(class, attribute),
			"attribute", 4, attribute));
}
