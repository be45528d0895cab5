/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decodes the messages of the communication manager: IBTA volume 1, 12.6; IP addresses in REQ:
 * annex A11.
 */
#include <rdmadump/packet.h>

#define MESSAGE_LEN 232U /* in bytes: a MAD without its header */

/* Offsets in a message, from the end of the MAD header. */
enum {
	LOCAL_ID = 0,
	REMOTE_ID = 4,
	REQ_SERVICE = 8,
	REQ_QKEY = 28,
	REQ_QPN = 32,
	REQ_RESOURCES = 35,
	REQ_DEPTH = 39,
	REQ_BITS = 43, /* peer's response timeout, transport, end-to-end flow control */
	REQ_PSN = 44,
	REQ_RETRY = 47, /* own response timeout, retry count */
	REQ_PKEY = 48,
	REQ_MTU = 50, /* path MTU, RDC exists, RNR retry count */
	REQ_CM = 51,  /* CM retries, SRQ, extended transport */
	REQ_LID = 52,
	REQ_GID = 56,
	REQ_ACK_TIMEOUT = 95,
	MRA_MESSAGE = 8,
	MRA_TIMEOUT = 9,
	REJ_MESSAGE = 8,
	REJ_REASON = 10,
	REP_QKEY = 8,
	REP_QPN = 12,
	REP_PSN = 20,
	REP_RESOURCES = 24,
	REP_DEPTH = 25,
	REP_BITS = 26, /* target ACK delay, failover accepted, end-to-end flow control */
	REP_RNR = 27,  /* RNR retry count, SRQ */
	DREQ_QPN = 8,
	SIDR_REQ_PKEY = 4,
	SIDR_REQ_SERVICE = 8,
	SIDR_REP_STATUS = 4,
	SIDR_REP_QPN = 8,
	SIDR_REP_SERVICE = 12,
	SIDR_REP_QKEY = 20,
	LAP_QPN = 12,
	LAP_TIMEOUT = 15,
	LAP_LID = 20,
	LAP_GID = 24,
	LAP_ACK_TIMEOUT = 63,
	APR_STATUS = 9,
};

#define EXTENDED_XRC 1
#define GID	     16

/*
 * A path: both LIDs, both GIDs, the local ACK timeout; fields that were not captured are skipped.
 */
static void read_path(struct rd_cm *cm, const uint8_t *m, uint32_t left, uint32_t lid, uint32_t gid,
	uint32_t timeout)
{
	if (left <= timeout)
		return;
	cm->local_lid = rd_be16(m + lid);
	cm->remote_lid = rd_be16(m + lid + 2);
	cm->local_gid = m + gid;
	cm->remote_gid = m + gid + GID;
	cm->ack_timeout = m[timeout] >> 3;
}

static void read_req(struct rd_cm *cm, const uint8_t *m, uint32_t left)
{
	cm->remote_id = 0;
	cm->service_id = rd_be64(m + REQ_SERVICE);
	cm->qkey = rd_be32(m + REQ_QKEY);
	cm->qpn = rd_be24(m + REQ_QPN);
	cm->responder_resources = m[REQ_RESOURCES];
	cm->initiator_depth = m[REQ_DEPTH];
	cm->remote_timeout = m[REQ_BITS] >> 3;
	cm->transport = m[REQ_BITS] >> 1 & 3;
	cm->flow_control = m[REQ_BITS] & 1;
	cm->psn = rd_be24(m + REQ_PSN);
	cm->local_timeout = m[REQ_RETRY] >> 3;
	cm->retry_count = m[REQ_RETRY] & 7;
	cm->pkey = rd_be16(m + REQ_PKEY);
	cm->mtu = m[REQ_MTU] >> 4;
	cm->rnr_retry = m[REQ_MTU] & 7;
	cm->cm_retries = m[REQ_CM] >> 4;
	cm->srq = m[REQ_CM] >> 3 & 1;
	cm->xrc = cm->transport == 3 && (m[REQ_CM] & 7) == EXTENDED_XRC;
	read_path(cm, m, left, REQ_LID, REQ_GID, REQ_ACK_TIMEOUT);
}

static void read_mra(struct rd_cm *cm, const uint8_t *m, uint32_t left)
{
	(void)left;
	cm->message = m[MRA_MESSAGE] >> 6;
	cm->local_timeout = m[MRA_TIMEOUT] >> 3;
}

static void read_rej(struct rd_cm *cm, const uint8_t *m, uint32_t left)
{
	(void)left;
	cm->message = m[REJ_MESSAGE] >> 6;
	cm->reason = rd_be16(m + REJ_REASON);
}

static void read_rep(struct rd_cm *cm, const uint8_t *m, uint32_t left)
{
	(void)left;
	cm->qkey = rd_be32(m + REP_QKEY);
	cm->qpn = rd_be24(m + REP_QPN);
	cm->psn = rd_be24(m + REP_PSN);
	cm->responder_resources = m[REP_RESOURCES];
	cm->initiator_depth = m[REP_DEPTH];
	cm->ack_delay = m[REP_BITS] >> 3;
	cm->failover = m[REP_BITS] >> 1 & 3;
	cm->flow_control = m[REP_BITS] & 1;
	cm->rnr_retry = m[REP_RNR] >> 5;
	cm->srq = m[REP_RNR] >> 4 & 1;
}

static void read_dreq(struct rd_cm *cm, const uint8_t *m, uint32_t left)
{
	(void)left;
	cm->remote_qpn = rd_be24(m + DREQ_QPN);
}

static void read_sidr_req(struct rd_cm *cm, const uint8_t *m, uint32_t left)
{
	(void)left;
	cm->remote_id = 0;
	cm->pkey = rd_be16(m + SIDR_REQ_PKEY);
	cm->service_id = rd_be64(m + SIDR_REQ_SERVICE);
}

static void read_sidr_rep(struct rd_cm *cm, const uint8_t *m, uint32_t left)
{
	(void)left;
	cm->remote_id = cm->local_id;
	cm->local_id = 0;
	cm->status = m[SIDR_REP_STATUS];
	cm->qpn = rd_be24(m + SIDR_REP_QPN);
	cm->service_id = rd_be64(m + SIDR_REP_SERVICE);
	cm->qkey = rd_be32(m + SIDR_REP_QKEY);
}

static void read_lap(struct rd_cm *cm, const uint8_t *m, uint32_t left)
{
	cm->remote_qpn = rd_be24(m + LAP_QPN);
	cm->remote_timeout = m[LAP_TIMEOUT] >> 3;
	read_path(cm, m, left, LAP_LID, LAP_GID, LAP_ACK_TIMEOUT);
}

static void read_apr(struct rd_cm *cm, const uint8_t *m, uint32_t left)
{
	(void)left;
	cm->status = m[APR_STATUS];
}

/* By attribute: the bytes that must have been captured, and where private data begin; 0: none. */
static const struct message {
	uint8_t needs, private_data;
	void (*read)(struct rd_cm *cm, const uint8_t *m, uint32_t left);
} messages[] = {
	[RD_CM_REQ - RD_CM_REQ] = {52, 140, read_req},
	[RD_CM_MRA - RD_CM_REQ] = {10, 10, read_mra},
	[RD_CM_REJ - RD_CM_REQ] = {12, 84, read_rej},
	[RD_CM_REP - RD_CM_REQ] = {28, 36, read_rep},
	[RD_CM_RTU - RD_CM_REQ] = {8, 8, NULL},
	[RD_CM_DREQ - RD_CM_REQ] = {12, 12, read_dreq},
	[RD_CM_DREP - RD_CM_REQ] = {8, 8, NULL},
	[RD_CM_SIDR_REQ - RD_CM_REQ] = {16, 16, read_sidr_req},
	[RD_CM_SIDR_REP - RD_CM_REQ] = {24, 96, read_sidr_rep},
	[RD_CM_LAP - RD_CM_REQ] = {16, 64, read_lap},
	[RD_CM_APR - RD_CM_REQ] = {10, 84, read_apr},
	[RD_CM_SAP - RD_CM_REQ] = {8, 0, NULL},
	[RD_CM_SPR - RD_CM_REQ] = {8, 0, NULL},
};

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
	*out = (struct rd_cm){
		.local_id = rd_be32(m + LOCAL_ID), .remote_id = rd_be32(m + REMOTE_ID)};
	if (message->read)
		message->read(out, m, left);
	/* They fill the rest of the MAD. */
	if (left > MESSAGE_LEN)
		left = MESSAGE_LEN;
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

const char *rd_cm_sidr_status_name(unsigned int status)
{
	static const char *const names[] = {
		"QPN and Q_Key valid",
		"service id not supported",
		"rejected by the service provider",
		"no QP available",
		"redirected",
		"unsupported version",
	};

	return status < sizeof(names) / sizeof(*names) ? names[status] : NULL;
}

const char *rd_cm_apr_status_name(unsigned int status)
{
	static const char *const names[] = {
		"loaded",
		"invalid communication id",
		"alternate paths not supported",
		"rejected",
		"redirected",
		"is the current path",
		"invalid QPN or EECN",
		"invalid LID",
		"invalid GID",
		"invalid flow label",
		"invalid traffic class",
		"invalid hop limit",
		"invalid packet rate",
		"invalid SL",
	};

	return status < sizeof(names) / sizeof(*names) ? names[status] : NULL;
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

	return reason < sizeof(names) / sizeof(*names) ? names[reason] : NULL;
}
