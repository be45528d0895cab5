/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * SMB over RDMA: MS-SMBD 2.2 (SMB Direct), MS-SMB2 2.2 (the messages in it). All numbers are
 * little-endian.
 */
#include "apps.h"
#include <stdio.h>

#define NEGOTIATE_REQUEST  20
#define NEGOTIATE_RESPONSE 32
#define TRANSFER	   24 /* a data transfer's header, padded */
#define SMB2		   64 /* the header of SMB 2 and 3 */
#define WRITE_OR_READ	   40 /* bytes that are read of these requests */
#define VERSION		   0x0100

/* Offsets in SMB Direct messages. */
enum { MIN_VERSION = 0, MAX_VERSION = 2, NEGOTIATED = 4, NEGOTIATE_STATUS = 12 };
enum { FLAGS = 4, RESERVED = 6, DATA_OFFSET = 12, DATA_LENGTH = 16 };
/* In an SMB2 header. */
enum { SIZE = 4, STATUS = 8, COMMAND = 12, HEADER_FLAGS = 16, MESSAGE_ID = 24 };
/* In READ and WRITE requests, after the header. */
enum { LENGTH = 4, WRITE_CHANNEL = 32, READ_CHANNEL = 36, WRITE_REMAINING = 36 };

enum { CANCEL = 12, READ = 8, WRITE = 9, NEGOTIATION = 0xffff };

#define IS_RESPONSE	0x1
#define PENDING		0x103U	    /* the final response follows */
#define MORE_PROCESSING 0xc0000016U /* a step of setting up a session */
#define SEVERITY	0xc0000000U /* both bits: an error */

static const struct app_name names[] = {{0, "Negotiate"}, {1, "Session Setup"}, {2, "Logoff"},
	{3, "Tree Connect"}, {4, "Tree Disconnect"}, {5, "Create"}, {6, "Close"}, {7, "Flush"},
	{READ, "Read"}, {WRITE, "Write"}, {10, "Lock"}, {11, "Ioctl"}, {13, "Echo"},
	{14, "Query Directory"}, {15, "Change Notify"}, {16, "Query Info"}, {17, "Set Info"},
	{18, "Oplock Break"}, {NEGOTIATION, "SMB Direct Negotiate"}, {0}};

#define CHANGE_NOTIFY 15

static void smb_operation(
	char *buf, size_t capacity, uint64_t operation, const struct rd_app_queue *queue)
{
	const char *text = app_name_of(names, (uint32_t)operation);

	(void)queue;
	if (text)
		snprintf(buf, capacity, "%s", text);
	else
		snprintf(buf, capacity, "command %u", (unsigned int)operation);
}

static void smb_status(char *buf, size_t capacity, uint64_t operation, uint32_t status)
{
	(void)operation;
	snprintf(buf, capacity, "NTSTATUS 0x%08x", status);
}

static bool has_versions(const uint8_t *p, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (rd_le16(p + 2 * (size_t)i) != VERSION)
			return false;
	return true;
}

static uint32_t error_of(uint32_t status)
{
	return (status & SEVERITY) == SEVERITY && status != MORE_PROCESSING ? status : 0;
}

/* How much a READ or WRITE moves, and how. */
static void read_data(const uint8_t *body, struct app_message *m)
{
	uint32_t length = rd_le32(body + LENGTH);

	if (m->operation == WRITE) {
		bool keyed = rd_le32(body + WRITE_CHANNEL);

		m->bytes = keyed ? rd_le32(body + WRITE_REMAINING) : length;
		m->data = keyed ? APP_KEYED : APP_INLINE;
	} else if (rd_le32(body + READ_CHANNEL)) {
		m->bytes = length;
		m->data = APP_KEYED;
	}
}

static enum app_role read_smb2(const uint8_t *p, uint32_t left, struct app_message *m)
{
	uint32_t status = rd_le32(p + STATUS);
	uint64_t id = rd_le64(p + MESSAGE_ID);

	if (rd_le16(p + SIZE) != SMB2)
		return APP_MISFIT;
	*m = (struct app_message){.operation = rd_le16(p + COMMAND), .id = (uint32_t)id};
	if (id == UINT64_MAX || m->operation == CANCEL)
		return APP_OTHER;
	if (rd_le32(p + HEADER_FLAGS) & IS_RESPONSE) {
		if (status == PENDING)
			return APP_OTHER;
		m->status = error_of(status);
		return APP_REPLY;
	}
	m->waits = m->operation == CHANGE_NOTIFY;
	if ((m->operation == READ || m->operation == WRITE) && left >= SMB2 + WRITE_OR_READ)
		read_data(p + SMB2, m);
	return APP_REQUEST;
}

/* Encrypted and compressed messages, and later fragments of long ones, are not read. */
static enum app_role read_transfer(const struct app_bytes *b, struct app_message *m)
{
	uint32_t at = rd_le32(b->data + DATA_OFFSET), length = rd_le32(b->data + DATA_LENGTH);

	if (rd_le16(b->data + RESERVED) || rd_le16(b->data + FLAGS) > 1)
		return APP_MISFIT;
	if (!length)
		return APP_OTHER;
	if (at < TRANSFER || at % 8 || at > b->length)
		return APP_MISFIT;
	if (at > b->captured || b->captured - at < SMB2)
		return b->length - at < SMB2 ? APP_OTHER : APP_UNREADABLE;
	if (memcmp(b->data + at, "\xfeSMB", 4) != 0)
		return APP_OTHER;
	return read_smb2(b->data + at, b->captured - at, m);
}

static enum app_role smb_read(
	const struct app_bytes *b, bool client, struct rd_app_queue *queue, struct app_message *m)
{
	(void)client;
	(void)queue;
	if (b->length < NEGOTIATE_REQUEST)
		return APP_MISFIT;
	if (b->captured < NEGOTIATE_REQUEST || app_is_blank(b, NEGOTIATE_REQUEST))
		return APP_UNREADABLE;
	*m = (struct app_message){.operation = NEGOTIATION, .id = UINT32_MAX};
	if (b->only && b->length == NEGOTIATE_REQUEST && has_versions(b->data, 2))
		return APP_REQUEST;
	if (b->only && b->length == NEGOTIATE_RESPONSE && has_versions(b->data, 3)) {
		m->status = error_of(rd_le32(b->data + NEGOTIATE_STATUS));
		return APP_REPLY;
	}
	return read_transfer(b, m);
}

static bool smb_recognize(const struct app_bytes *b, bool *client)
{
	struct rd_app_queue queue = {0};
	struct app_message m = {0};
	enum app_role role = smb_read(b, true, &queue, &m);

	*client = role == APP_REQUEST;
	return role == APP_REQUEST || role == APP_REPLY;
}

const struct app app_smb = {
	.key = "smb",
	.name = "SMB Direct",
	.requests = "requests",
	.ports = {445, 5445},
	.strong = true,
	.recognize = smb_recognize,
	.read = smb_read,
	.operation = smb_operation,
	.status = smb_status,
};
