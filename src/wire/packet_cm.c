/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages of the communication manager: IBTA volume 1, 12.6; IP addresses in REQ: annex A11. */
#include <rdmadump/names.h>
#include <rdmadump/packet.h>

#define MESSAGE_LEN  232U /* in bytes: a MAD without its header */
#define EXTENDED     51	  /* of a REQ: the extended transport, in the lowest bits */
#define EXTENDED_XRC 1
#define GID	     16

/* By attribute: offsets in a message, from the end of the MAD header; 0: it has none. */
static const struct message {
	uint8_t needs; /* bytes that must have been captured */
	uint8_t private_data, service_id;
	uint8_t gids, ack_timeout; /* of its path, and may not have been captured */
} messages[] = {
	[RD_CM_REQ - RD_CM_REQ] = {52, 140, 8, 56, 95},
	[RD_CM_MRA - RD_CM_REQ] = {10, 10, 0, 0, 0},
	[RD_CM_REJ - RD_CM_REQ] = {12, 84, 0, 0, 0},
	[RD_CM_REP - RD_CM_REQ] = {28, 36, 0, 0, 0},
	[RD_CM_RTU - RD_CM_REQ] = {8, 8, 0, 0, 0},
	[RD_CM_DREQ - RD_CM_REQ] = {12, 12, 0, 0, 0},
	[RD_CM_DREP - RD_CM_REQ] = {8, 8, 0, 0, 0},
	[RD_CM_SIDR_REQ - RD_CM_REQ] = {16, 16, 8, 0, 0},
	[RD_CM_SIDR_REP - RD_CM_REQ] = {24, 96, 12, 0, 0},
	[RD_CM_LAP - RD_CM_REQ] = {16, 64, 0, 24, 63},
	[RD_CM_APR - RD_CM_REQ] = {10, 84, 0, 0, 0},
	[RD_CM_SAP - RD_CM_REQ] = {8, 0, 0, 0, 0},
	[RD_CM_SPR - RD_CM_REQ] = {8, 0, 0, 0, 0},
};

#define FIELD(message, name, byte, bit, bits)                                                      \
	{                                                                                          \
		RD_CM_##message, byte, bit, bits, offsetof(struct rd_cm, name)                     \
	}

/* Each is in the bytes that its message needs; bit 0 is the highest one of the byte. */
static const struct field {
	uint16_t attribute;
	uint8_t byte, bit, bits;
	size_t to;
} fields[] = {
	FIELD(REQ, qpn, 32, 0, 24),
	FIELD(REQ, responder_resources, 35, 0, 8),
	FIELD(REQ, initiator_depth, 39, 0, 8),
	FIELD(REQ, remote_timeout, 43, 0, 5),
	FIELD(REQ, transport, 43, 5, 2),
	FIELD(REQ, psn, 44, 0, 24),
	FIELD(REQ, retry_count, 47, 5, 3),
	FIELD(REQ, mtu, 50, 0, 4),
	FIELD(REQ, rnr_retry, 50, 5, 3),
	FIELD(REQ, srq, 51, 4, 1),
	FIELD(MRA, message, 8, 0, 2),
	FIELD(MRA, local_timeout, 9, 0, 5),
	FIELD(REJ, message, 8, 0, 2),
	FIELD(REJ, reason, 10, 0, 16),
	FIELD(REP, qpn, 12, 0, 24),
	FIELD(REP, psn, 20, 0, 24),
	FIELD(REP, responder_resources, 24, 0, 8),
	FIELD(REP, initiator_depth, 25, 0, 8),
	FIELD(REP, rnr_retry, 27, 0, 3),
	FIELD(REP, srq, 27, 3, 1),
	FIELD(DREQ, remote_qpn, 8, 0, 24),
	FIELD(SIDR_REP, status, 4, 0, 8),
	FIELD(SIDR_REP, qpn, 8, 0, 24),
	FIELD(SIDR_REP, qkey, 20, 0, 32),
	FIELD(LAP, remote_qpn, 12, 0, 24),
	FIELD(APR, status, 9, 0, 8),
};

static uint32_t read_field(const uint8_t *m, const struct field *f)
{
	unsigned int end = f->bit + f->bits;
	uint64_t v = 0;

	for (unsigned int i = 0; i * 8 < end; i++)
		v = v << 8 | m[f->byte + i];
	return (uint32_t)(v >> (8 - end % 8) % 8 & ((UINT64_C(1) << f->bits) - 1));
}

static void read_fields(struct rd_cm *cm, uint16_t attribute, const uint8_t *m)
{
	for (size_t i = 0; i < RD_COUNT(fields); i++)
		if (fields[i].attribute == attribute)
			*(uint32_t *)((char *)cm + fields[i].to) = read_field(m, &fields[i]);
	if (attribute == RD_CM_REQ || attribute == RD_CM_SIDR_REQ)
		cm->remote_id = 0;
	if (attribute == RD_CM_REQ)
		cm->xrc = cm->transport == 3 && (m[EXTENDED] & 7) == EXTENDED_XRC;
	if (attribute == RD_CM_SIDR_REP) { /* it has the id of its request only */
		cm->remote_id = cm->local_id;
		cm->local_id = 0;
	}
}

bool rd_mad_cm(const struct rd_mad *mad, struct rd_cm *out)
{
	const uint8_t *m = mad->data + RD_MAD_HEADER;
	const struct message *message;
	uint32_t left = mad->left - RD_MAD_HEADER;

	if (mad->class != RD_MAD_CM || mad->attribute < RD_CM_REQ || mad->attribute > RD_CM_SPR)
		return false;
	message = &messages[mad->attribute - RD_CM_REQ];
	if (left < message->needs)
		return false;
	*out = (struct rd_cm){.local_id = rd_be32(m), .remote_id = rd_be32(m + 4)};
	read_fields(out, mad->attribute, m);
	if (message->service_id)
		out->service_id = rd_be64(m + message->service_id);
	if (message->gids && left > message->ack_timeout) {
		out->local_gid = m + message->gids;
		out->remote_gid = out->local_gid + GID;
		out->ack_timeout = m[message->ack_timeout] >> 3;
	}
	/* They fill the rest of the MAD. */
	left = RD_MIN(left, MESSAGE_LEN);
	if (message->private_data && left > message->private_data) {
		out->private_data = m + message->private_data;
		out->private_len = left - message->private_data;
	}
	return true;
}

/* --- names and meanings ----------------------------------------------------------------- */

#define IP_SERVICE	0x0000000001000000 /* A11.2: the protocol and the port follow */
#define IP_SERVICE_MASK 0xffffffffff000000
#define IP_DATA		36 /* A11.2.1: versions, port, source and destination */

bool rd_cm_ip(const struct rd_cm *cm, struct rd_cm_ip *out)
{
	const uint8_t *p = cm->private_data;

	if ((cm->service_id & IP_SERVICE_MASK) != IP_SERVICE)
		return false;
	*out = (struct rd_cm_ip){
		.port = (uint16_t)cm->service_id, .protocol = (uint8_t)(cm->service_id >> 16)};
	if (!p || cm->private_len < IP_DATA || (p[1] >> 4 != 4 && p[1] >> 4 != 6))
		return true;
	out->length = p[1] >> 4 == 4 ? 4 : 16;
	out->src_port = rd_be16(p + 2);
	/* IPv4 addresses are the last four bytes of sixteen. */
	out->src = p + 4 + 16 - out->length;
	out->dst = p + 20 + 16 - out->length;
	return true;
}

uint64_t rd_cm_timeout_ns(unsigned int value)
{
	return UINT64_C(4096) << (value & 0x1f);
}

unsigned int rd_cm_mtu(unsigned int value)
{
	return value >= 1 && value <= 5 ? 128U << value : 0;
}

RD_NAMES(rd_cm_sidr_status_name, "unknown", "QPN and Q_Key valid", "service id not supported",
	"rejected by the service provider", "no QP available", "redirected", "unsupported version")

RD_NAMES(rd_cm_apr_status_name, "unknown", "loaded", "invalid communication id",
	"alternate paths not supported", "rejected", "redirected", "is the current path",
	"invalid QPN or EECN", "invalid LID", "invalid GID", "invalid flow label",
	"invalid traffic class", "invalid hop limit", "invalid packet rate", "invalid SL")

RD_NAMES(rd_cm_reason_name, NULL, [1] = "no QP available", [2] = "no EEC available",
	[3] = "no resources available", [4] = "timeout", [5] = "unsupported request",
	[6] = "invalid communication id", [7] = "invalid communication instance",
	[8] = "invalid service id", [9] = "invalid transport service type",
	[10] = "stale connection", [11] = "RDC does not exist",
	[12] = "primary remote port GID rejected", [13] = "primary remote port LID rejected",
	[14] = "invalid primary SL", [15] = "invalid primary traffic class",
	[16] = "invalid primary hop limit", [17] = "invalid primary packet rate",
	[18] = "alternate remote port GID rejected", [19] = "alternate remote port LID rejected",
	[20] = "invalid alternate SL", [21] = "invalid alternate traffic class",
	[22] = "invalid alternate hop limit", [23] = "invalid alternate packet rate",
	[24] = "port and CM redirection", [25] = "port redirection", [26] = "invalid path MTU",
	[27] = "insufficient responder resources", [28] = "consumer reject",
	[29] = "RNR retry count rejected", [30] = "duplicate local communication id",
	[31] = "unsupported class version", [32] = "invalid primary flow label",
	[33] = "invalid alternate flow label", [35] = "unsupported vendor option")
