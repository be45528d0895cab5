/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * iSCSI over RDMA: RFC 7145 (iSER header), RFC 7143 (iSCSI PDUs). All numbers are big-endian.
 */
#include "apps.h"
#include <stdio.h>

#define HEADER 28 /* of iSER; the iSCSI basic header segment follows */
#define BASIC  48

/* Offsets in the iSER header. */
enum { FLAGS = 0, WRITE_TAG = 4, READ_TAG = 16 };
#define CONTROL	    0x10 /* a control-type PDU, in the upper half */
#define WRITE_VALID 0x08
#define READ_VALID  0x04

/* Offsets in the basic header segment. */
enum {
	OPCODE = 0,
	BITS = 1,
	RESPONSE = 2,
	STATUS = 3,
	DATA_LENGTH = 5,
	TASK_TAG = 16,
	EXPECTED = 20,
	CDB = 32,
	LOGIN_STATUS = 36,
};

enum {
	NOP_OUT = 0x00,
	SCSI_COMMAND = 0x01,
	TASK_MANAGEMENT = 0x02,
	LOGIN = 0x03,
	TEXT = 0x04,
	DATA_OUT = 0x05,
	LOGOUT = 0x06,
	FROM_TARGET = 0x20, /* bit of what targets send */
	SCSI_RESPONSE = 0x21,
	LOGIN_RESPONSE = 0x23,
	TEXT_RESPONSE = 0x24,
	DATA_IN = 0x25,
	R2T = 0x31,
	ASYNC = 0x32,
	REJECT = 0x3f,
};

#define OPCODE_MASK	0x3f
#define NO_TAG		UINT32_MAX
#define OPERATION(o, c) ((uint64_t)(o) << 8 | (c))
#define DATA_IN_STATUS	0x01
#define MOVES_DATA	0x60 /* R and W bits of a SCSI command */

static const struct app_name pdu_names[] = {{NOP_OUT, "NOP-Out"},
	{TASK_MANAGEMENT, "Task Management"}, {LOGIN, "Login"}, {TEXT, "Text"}, {LOGOUT, "Logout"},
	{0}};

static const struct app_name scsi_names[] = {{0x00, "TEST UNIT READY"}, {0x03, "REQUEST SENSE"},
	{0x08, "READ(6)"}, {0x0a, "WRITE(6)"}, {0x12, "INQUIRY"}, {0x1a, "MODE SENSE(6)"},
	{0x25, "READ CAPACITY(10)"}, {0x28, "READ(10)"}, {0x2a, "WRITE(10)"}, {0x2f, "VERIFY(10)"},
	{0x35, "SYNCHRONIZE CACHE(10)"}, {0x41, "WRITE SAME(10)"}, {0x42, "UNMAP"},
	{0x4d, "LOG SENSE"}, {0x5a, "MODE SENSE(10)"}, {0x5e, "PERSISTENT RESERVE IN"},
	{0x5f, "PERSISTENT RESERVE OUT"}, {0x88, "READ(16)"}, {0x89, "COMPARE AND WRITE"},
	{0x8a, "WRITE(16)"}, {0x91, "SYNCHRONIZE CACHE(16)"}, {0x93, "WRITE SAME(16)"},
	{0x9e, "SERVICE ACTION IN(16)"}, {0xa0, "REPORT LUNS"}, {0xa3, "MAINTENANCE IN"},
	{0xa8, "READ(12)"}, {0xaa, "WRITE(12)"}, {0}};

/* SAM-5, 5.3.1. */
static const struct app_name scsi_status_names[] = {{0x02, "CHECK CONDITION"}, {0x08, "BUSY"},
	{0x18, "RESERVATION CONFLICT"}, {0x28, "TASK SET FULL"}, {0x30, "ACA ACTIVE"},
	{0x40, "TASK ABORTED"}, {0}};

static void iser_operation(
	char *buf, size_t capacity, uint64_t operation, const struct rd_app_queue *queue)
{
	unsigned int opcode = (unsigned int)(operation >> 8), cdb = operation & 0xff;
	const char *text = app_name_of(opcode == SCSI_COMMAND ? scsi_names : pdu_names,
		opcode == SCSI_COMMAND ? cdb : opcode);

	(void)queue;
	if (text)
		snprintf(buf, capacity, "%s", text);
	else if (opcode == SCSI_COMMAND)
		snprintf(buf, capacity, "SCSI command 0x%02x", cdb);
	else
		snprintf(buf, capacity, "opcode 0x%02x", opcode);
}

static void iser_status(char *buf, size_t capacity, uint64_t operation, uint32_t status)
{
	bool scsi = operation >> 8 == SCSI_COMMAND;
	const char *text = scsi ? app_name_of(scsi_status_names, status) : NULL;

	if (text)
		snprintf(buf, capacity, "%s", text);
	else
		snprintf(buf, capacity, "response 0x%02x, status 0x%02x", status >> 8,
			status & 0xff);
}

static enum app_role read_request(const uint8_t *pdu, struct app_message *m)
{
	unsigned int opcode = pdu[OPCODE] & OPCODE_MASK;
	uint32_t inlined = rd_be24(pdu + DATA_LENGTH), expected = rd_be32(pdu + EXPECTED);

	if (opcode > LOGOUT)
		return APP_MISFIT;
	if (opcode == DATA_OUT || m->id == NO_TAG)
		return APP_OTHER;
	m->operation = OPERATION(opcode, opcode == SCSI_COMMAND ? pdu[CDB] : 0);
	if (opcode == SCSI_COMMAND && pdu[BITS] & MOVES_DATA && expected) {
		m->bytes = expected;
		m->data = inlined >= expected ? APP_INLINE : APP_KEYED;
	}
	return APP_REQUEST;
}

static enum app_role read_response(const uint8_t *pdu, struct app_message *m)
{
	unsigned int opcode = pdu[OPCODE] & OPCODE_MASK;

	if (opcode == R2T || opcode == ASYNC || opcode == REJECT)
		return APP_OTHER;
	if (opcode < FROM_TARGET || opcode > (FROM_TARGET | LOGOUT))
		return APP_MISFIT;
	if (m->id == NO_TAG || (opcode == DATA_IN && !(pdu[BITS] & DATA_IN_STATUS)))
		return APP_OTHER;
	if (opcode == LOGIN_RESPONSE)
		m->status = rd_be16(pdu + LOGIN_STATUS);
	else if (opcode == SCSI_RESPONSE || opcode == DATA_IN)
		m->status = (opcode == DATA_IN ? 0U : pdu[RESPONSE] * 256U) + pdu[STATUS];
	else if (opcode != FROM_TARGET && opcode != TEXT_RESPONSE)
		m->status = pdu[RESPONSE] * 256U;
	return APP_REPLY;
}

/* Its reserved bytes, and the tags that are not valid, are zero. */
static bool is_header(const uint8_t *h)
{
	if ((h[FLAGS] & ~(WRITE_VALID | READ_VALID)) != CONTROL || h[1] || h[2] || h[3])
		return false;
	if (!(h[FLAGS] & WRITE_VALID) && rd_be32(h + WRITE_TAG))
		return false;
	return h[FLAGS] & READ_VALID || !rd_be32(h + READ_TAG);
}

static enum app_role iser_read(
	const struct app_bytes *b, bool client, struct rd_app_queue *queue, struct app_message *m)
{
	const uint8_t *pdu = b->data + HEADER;

	(void)client;
	(void)queue;
	if (b->length < HEADER + BASIC)
		return b->length >= HEADER && b->captured && b->data[FLAGS] > CONTROL + 0xf
			       ? APP_OTHER
			       : APP_MISFIT;
	if (b->captured < HEADER + BASIC || app_is_blank(b, HEADER + BASIC))
		return APP_UNREADABLE;
	if (!is_header(b->data))
		return APP_MISFIT;
	*m = (struct app_message){.id = rd_be32(pdu + TASK_TAG)};
	return pdu[OPCODE] & FROM_TARGET ? read_response(pdu, m) : read_request(pdu, m);
}

static bool iser_recognize(const struct app_bytes *b, bool *client)
{
	struct rd_app_queue queue = {0};
	struct app_message m = {0};
	enum app_role role = iser_read(b, true, &queue, &m);

	*client = role == APP_REQUEST;
	return role == APP_REQUEST || role == APP_REPLY;
}

const struct app app_iser = {
	.key = "iser",
	.name = "iSER",
	.requests = "commands",
	.ports = {3260},
	.strong = true,
	.recognize = iser_recognize,
	.read = iser_read,
	.operation = iser_operation,
	.status = iser_status,
};
