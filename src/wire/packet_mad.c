/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Management datagrams and their names: IBTA volume 1, 13.4 (MADs), 14.2 (SMPs), 15.2 (SA), 16.1
 * (PMA), 12.6 (CM). The content of CM messages is in packet_cm.c.
 */
#include "names.h"
#include <rdmadump/packet.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

#define CLASS_SMP	   0x01
#define CLASS_SMP_DIRECTED 0x81
#define CLASS_SA	   0x03
#define CLASS_PMA	   0x04

#define SMP_HEADER 36 /* up to the LIDs of a directed route */
#define SA_HEADER  56 /* MAD, RMPP and SA header */

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

bool rd_mad_smp(const struct rd_mad *mad, struct rd_smp *out)
{
	const uint8_t *m = mad->data;
	bool directed = mad->class == CLASS_SMP_DIRECTED;

	if ((!directed && mad->class != CLASS_SMP) || mad->left < SMP_HEADER)
		return false;
	*out = (struct rd_smp){.mkey = rd_be64(m + 24)};
	if (!directed)
		return true;
	out->directed = true;
	out->returning = m[4] & 0x80;
	out->hop_pointer = m[6];
	out->hop_count = m[7];
	out->dr_slid = rd_be16(m + 32);
	out->dr_dlid = rd_be16(m + 34);
	return true;
}

bool rd_mad_sa(const struct rd_mad *mad, struct rd_sa *out)
{
	const uint8_t *m = mad->data;

	if (mad->class != CLASS_SA || mad->left < SA_HEADER)
		return false;
	*out = (struct rd_sa){.rmpp_type = m[25],
		.rmpp_flags = m[26] & 7,
		.rmpp_status = m[27],
		.segment = rd_be32(m + 28),
		.component_mask = rd_be64(m + 48)};
	return true;
}

uint16_t rd_mad_status(const struct rd_mad *mad)
{
	return mad->class == CLASS_SMP_DIRECTED ? mad->status & 0x7fff : mad->status;
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

	return find_name(names, COUNT(names), class);
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

	return find_name(names, COUNT(names), method);
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
			name = find_name(classes[i].names, classes[i].n, attribute);
		if (name)
			return name;
	}
	return find_name(common_attributes, COUNT(common_attributes), attribute);
}
