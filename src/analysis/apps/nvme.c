/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NVMe over RDMA: capsules are SENDs. NVM Express Base Specification 2.0: commands 3.3.3.1, SGLs
 * 4.1.2, completions 3.3.3.2, capsules 3.3.2; NVMe RDMA Transport 1.0: private data of the CM 2.2,
 * SGL descriptors 2.3. All numbers are little-endian.
 */
#include "apps.h"

#define COMMAND	   64 /* bytes of a submission queue entry */
#define NEEDED	   40 /* of them, up to the end of the SGL descriptor */
#define COMPLETION 16

/* Offsets in a command. */
enum {
	OPCODE = 0,
	FLAGS = 1,
	COMMAND_ID = 2,
	FABRICS_TYPE = 4,
	SGL = 24,
	SGL_TYPE = 39,
	PARAMETERS = 40
};
/* Of a Connect command. */
enum { CONNECT_FORMAT = 40, CONNECT_QUEUE = 42, CONNECT_SIZE = 44 };
/* In a completion. */
enum { COMPLETED_ID = 12, STATUS = 14 };
/* In the private data of a REQ. */
enum { FORMAT = 0, QUEUE_ID = 2, RECV_SIZE = 4, SEND_SIZE = 6, CONTROLLER = 8, PRIVATE = 32 };

#define FABRICS	       0x7f
#define FABRICS_CREATE 0x01 /* type of a Connect command */
#define PSDT	       0xc0 /* PRPs or SGLs; 0, PRPs, is not allowed here */
#define FLAGS_RESERVED 0x3c
#define TYPE_SHIFT     8 /* an operation is the opcode, and above it a Fabrics command's type */

/* SGL descriptors: type and subtype. */
enum {
	SGL_OFFSET = 0x01,	 /* data block at an offset in the capsule */
	SGL_SEGMENT = 0x31,	 /* last segment in the capsule: more descriptors follow there */
	SGL_KEYED = 0x40,	 /* data block of a memory region */
	SGL_KEYED_REMOTE = 0x4f, /* ... whose key the controller invalidates */
};

/* --- names ------------------------------------------------------------------------------------ */

/* Without those that create and delete queues, which a Connect command does here. */
static const struct rd_name admin_names[] = {{0x02, "Get Log Page"}, {0x06, "Identify"},
	{0x08, "Abort"}, {0x09, "Set Features"}, {0x0a, "Get Features"},
	{0x0c, "Async Event Request"}, {0x0d, "Namespace Management"}, {0x10, "Firmware Commit"},
	{0x11, "Firmware Image Download"}, {0x14, "Device Self-test"},
	{0x15, "Namespace Attachment"}, {0x18, "Keep Alive"}, {0x19, "Directive Send"},
	{0x1a, "Directive Receive"}, {0x80, "Format NVM"}, {0x81, "Security Send"},
	{0x82, "Security Receive"}, {0x84, "Sanitize"}, {0x86, "Get LBA Status"}, {0}};

static const struct rd_name io_names[] = {{0x00, "Flush"}, {0x01, "Write"}, {0x02, "Read"},
	{0x04, "Write Uncorrectable"}, {0x05, "Compare"}, {0x08, "Write Zeroes"},
	{0x09, "Dataset Management"}, {0x0c, "Verify"}, {0x0d, "Reservation Register"},
	{0x0e, "Reservation Report"}, {0x11, "Reservation Acquire"}, {0x15, "Reservation Release"},
	{0x19, "Copy"}, {0x79, "Zone Management Send"}, {0x7a, "Zone Management Receive"},
	{0x7d, "Zone Append"}, {0}};

static const struct rd_name fabrics_names[] = {{0x00, "Property Set"}, {0x01, "Connect"},
	{0x04, "Property Get"}, {0x05, "Authentication Send"}, {0x06, "Authentication Receive"},
	{0x08, "Disconnect"}, {0}};

/* Status code type, status code. */
#define OF(type, code) ((type) << 8 | (code))
static const struct rd_name status_names[] = {{OF(0, 0x01), "invalid opcode"},
	{OF(0, 0x02), "invalid field in command"}, {OF(0, 0x03), "command ID conflict"},
	{OF(0, 0x04), "data transfer error"}, {OF(0, 0x05), "aborted, power loss"},
	{OF(0, 0x06), "internal error"}, {OF(0, 0x07), "abort requested"},
	{OF(0, 0x08), "aborted, SQ deleted"}, {OF(0, 0x09), "aborted, fused command failed"},
	{OF(0, 0x0a), "aborted, fused command missing"},
	{OF(0, 0x0b), "invalid namespace or format"}, {OF(0, 0x0c), "command sequence error"},
	{OF(0, 0x0d), "invalid SGL segment descriptor"},
	{OF(0, 0x0e), "invalid number of SGL descriptors"},
	{OF(0, 0x0f), "data SGL length invalid"}, {OF(0, 0x11), "SGL descriptor type invalid"},
	{OF(0, 0x15), "operation denied"}, {OF(0, 0x16), "SGL offset invalid"},
	{OF(0, 0x18), "host identifier inconsistent"}, {OF(0, 0x19), "keep alive timer expired"},
	{OF(0, 0x1a), "keep alive timeout invalid"}, {OF(0, 0x1b), "aborted, preempt and abort"},
	{OF(0, 0x1c), "sanitize failed"}, {OF(0, 0x1d), "sanitize in progress"},
	{OF(0, 0x20), "namespace is write protected"}, {OF(0, 0x21), "command interrupted"},
	{OF(0, 0x22), "transient transport error"}, {OF(0, 0x80), "LBA out of range"},
	{OF(0, 0x81), "capacity exceeded"}, {OF(0, 0x82), "namespace not ready"},
	{OF(0, 0x83), "reservation conflict"}, {OF(0, 0x84), "format in progress"},
	{OF(1, 0x01), "invalid queue identifier"}, {OF(1, 0x02), "invalid queue size"},
	{OF(1, 0x03), "abort command limit exceeded"},
	{OF(1, 0x05), "event request limit exceeded"}, {OF(1, 0x09), "invalid log page"},
	{OF(1, 0x0d), "feature not saveable"}, {OF(1, 0x0e), "feature not changeable"},
	{OF(2, 0x80), "write fault"}, {OF(2, 0x81), "unrecovered read error"},
	{OF(2, 0x82), "guard check error"}, {OF(2, 0x83), "application tag check error"},
	{OF(2, 0x84), "reference tag check error"}, {OF(2, 0x85), "compare failure"},
	{OF(2, 0x86), "access denied"}, {OF(2, 0x87), "deallocated or unwritten block"},
	{OF(3, 0x00), "internal path error"}, {OF(3, 0x01), "asymmetric access persistent loss"},
	{OF(3, 0x02), "asymmetric access inaccessible"},
	{OF(3, 0x03), "asymmetric access transition"}, {OF(3, 0x60), "controller pathing error"},
	{OF(3, 0x70), "host pathing error"}, {OF(3, 0x71), "aborted by the host"}, {0}};

/* Command specific ones of Fabrics commands, and of I/O commands. */
static const struct rd_name fabrics_status_names[] = {{OF(1, 0x80), "incompatible format"},
	{OF(1, 0x81), "controller busy"}, {OF(1, 0x82), "invalid parameters"},
	{OF(1, 0x83), "restart discovery"}, {OF(1, 0x84), "invalid host"},
	{OF(1, 0x90), "discovery restart"}, {OF(1, 0x91), "authentication required"}, {0}};

static const struct rd_name io_status_names[] = {{OF(1, 0x80), "conflicting attributes"},
	{OF(1, 0x81), "invalid protection information"},
	{OF(1, 0x82), "write to a read-only range"}, {0}};

static void nvme_operation(
	char *buf, size_t capacity, uint64_t operation, const struct rd_app_queue *queue)
{
	unsigned int opcode = operation & 0xff, type = operation >> TYPE_SHIFT & 0xff;
	const char *admin = rd_name_of(admin_names, opcode), *io = rd_name_of(io_names, opcode);

	if (opcode == FABRICS) {
		io = rd_name_of(fabrics_names, type);
		admin = NULL;
		if (!io)
			snprintf(buf, capacity, "Fabrics command 0x%02x", type);
	} else if (queue->known) {
		*(queue->id ? &admin : &io) = NULL;
	}
	if (admin && io)
		snprintf(buf, capacity, "%s or %s", io, admin);
	else if (admin || io)
		snprintf(buf, capacity, "%s", admin ? admin : io);
	else if (opcode != FABRICS)
		snprintf(buf, capacity, "opcode 0x%02x", opcode);
}

static const char *nvme_group(uint64_t operation, const struct rd_app_queue *queue)
{
	(void)operation;
	if (!queue->known)
		return NULL;
	return queue->id ? "I/O" : "admin";
}

static void nvme_status(char *buf, size_t capacity, uint64_t operation, uint32_t status)
{
	const struct rd_name *own =
		(operation & 0xff) == FABRICS ? fabrics_status_names : io_status_names;
	const char *text = rd_name_of(status_names, status);

	if (!text)
		text = rd_name_of(own, status);
	if (text)
		snprintf(buf, capacity, "%s", text);
	else
		snprintf(buf, capacity, "type %u, code 0x%02x", status >> 8, status & 0xff);
}

/* --- what a connection says of itself --------------------------------------------------------- */

static bool nvme_private(const uint8_t *p, uint32_t len, struct rd_app_queue *queue)
{
	if (len < PRIVATE || rd_le16(p + FORMAT))
		return false;
	if (!rd_le16(p + SEND_SIZE) || !rd_le16(p + RECV_SIZE))
		return false;
	for (unsigned int i = CONTROLLER + 2; i < PRIVATE; i++)
		if (p[i])
			return false;
	*queue = (struct rd_app_queue){.known = true,
		.id = rd_le16(p + QUEUE_ID),
		/* Counted from 0; RECV_SIZE is not. */
		.send_size = (uint16_t)(rd_le16(p + SEND_SIZE) + 1),
		.recv_size = rd_le16(p + RECV_SIZE),
		.controller = rd_le16(p + CONTROLLER)};
	return true;
}

/* Keep Alive has no parameters; the I/O command with its opcode, Cancel, has some. */
static bool is_keep_alive(const struct app_bytes *b)
{
	uint8_t all = 0;

	if (b->data[OPCODE] != 0x18 || b->captured < COMMAND)
		return false;
	for (unsigned int i = PARAMETERS; i < COMMAND; i++)
		all |= b->data[i];
	return !all;
}

/* Where no REQ was captured: Property commands, Identify and Keep Alive are of the admin queue. */
static void learn_queue(const struct app_bytes *b, struct rd_app_queue *queue)
{
	unsigned int opcode = b->data[OPCODE], type = b->data[FABRICS_TYPE];

	if (queue->known)
		return;
	if (opcode == FABRICS && type == FABRICS_CREATE && b->captured >= CONNECT_SIZE + 2) {
		*queue = (struct rd_app_queue){.known = true,
			.id = rd_le16(b->data + CONNECT_QUEUE),
			.send_size = (uint16_t)(rd_le16(b->data + CONNECT_SIZE) + 1),
			.controller = 0xffff};
	} else if ((opcode == FABRICS && (type == 0x00 || type == 0x04)) || opcode == 0x06 ||
		   is_keep_alive(b)) {
		*queue = (struct rd_app_queue){.known = true, .controller = 0xffff};
	}
}

/* --- capsules --------------------------------------------------------------------------------- */

/* False: the descriptor cannot be of a command. */
static bool read_sgl(const struct app_bytes *b, struct app_message *m)
{
	const uint8_t *sgl = b->data + SGL;

	switch (b->data[SGL_TYPE]) {
	case SGL_KEYED:
	case SGL_KEYED_REMOTE:
		m->bytes = rd_le32(sgl + 8) & 0xffffff;
		m->data = m->bytes ? APP_KEYED : APP_NO_DATA;
		return true;
	case SGL_OFFSET:
		m->bytes = rd_le32(sgl + 8);
		m->data = m->bytes ? APP_INLINE : APP_NO_DATA;
		return true;
	case SGL_SEGMENT:
		m->data = APP_NO_DATA; /* its sizes are in the descriptors after the command */
		return true;
	default:
		return false;
	}
}

static enum app_role read_command(const struct app_bytes *b, struct app_message *m)
{
	unsigned int opcode;

	if (b->length < COMMAND)
		return APP_MISFIT;
	if (b->captured < NEEDED || app_is_blank(b, NEEDED))
		return APP_UNREADABLE;
	opcode = b->data[OPCODE];
	if (opcode != FABRICS && (!(b->data[FLAGS] & PSDT) || (b->data[FLAGS] & PSDT) == PSDT ||
					 b->data[FLAGS] & FLAGS_RESERVED))
		return APP_MISFIT;
	*m = (struct app_message){.operation = opcode, .id = rd_le16(b->data + COMMAND_ID)};
	if (opcode == FABRICS)
		m->operation |= (uint64_t)b->data[FABRICS_TYPE] << TYPE_SHIFT;
	if (!read_sgl(b, m) && opcode != FABRICS)
		return APP_MISFIT;
	return APP_REQUEST;
}

static enum app_role read_completion(const struct app_bytes *b, struct app_message *m)
{
	if (b->length != COMPLETION || !b->only)
		return APP_MISFIT;
	if (b->captured < COMPLETION)
		return APP_UNREADABLE;
	/* Without the phase tag, and above the code and its type: retry hints. */
	*m = (struct app_message){.id = rd_le16(b->data + COMPLETED_ID),
		.status = rd_le16(b->data + STATUS) >> 1 & 0x7ff};
	return APP_REPLY;
}

static enum app_role nvme_read(
	const struct app_bytes *b, bool client, struct rd_app_queue *queue, struct app_message *m)
{
	enum app_role role = client ? read_command(b, m) : read_completion(b, m);

	if (role == APP_REQUEST) {
		learn_queue(b, queue);
		m->waits = m->operation == 0x0c && queue->known && !queue->id;
	}
	return role;
}

static bool nvme_recognize(const struct app_bytes *b, bool *client)
{
	struct app_message m;
	unsigned int opcode;

	if (read_command(b, &m) != APP_REQUEST)
		return false;
	opcode = b->data[OPCODE];
	*client = true;
	if (opcode == FABRICS)
		return rd_name_of(fabrics_names, b->data[FABRICS_TYPE]) != NULL;
	return rd_name_of(io_names, opcode) || rd_name_of(admin_names, opcode);
}

const struct app app_nvme = {
	.key = "nvme",
	.name = "NVMe-oF",
	.requests = "commands",
	.ports = {4420},
	.private_data = nvme_private,
	.recognize = nvme_recognize,
	.read = nvme_read,
	.operation = nvme_operation,
	.status = nvme_status,
	.group = nvme_group,
};
