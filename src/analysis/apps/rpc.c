/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ONC RPC over RDMA, which NFS uses: RFC 8166 (version 1), RFC 5531 (calls and replies), RFC 8797
 * (private data of the CM), RFC 8267 (NFS). All numbers are big-endian.
 */
#include "apps.h"

#define HEADER	    16
#define CHUNK_LISTS 12 /* three empty ones */
#define MAGIC	    0xf6ab0e18U

/* Offsets. */
enum { XID = 0, VERSION = 4, PROCEDURE = 12 };

/* Kinds of RPC-over-RDMA messages. */
enum { RDMA_MSG, RDMA_NOMSG, RDMA_MSGP, RDMA_DONE, RDMA_ERROR };

#define PROGRAM_NFS	 100003
#define PROGRAM_MOUNT	 100005
#define PROGRAM_ACL	 100227
#define PROGRAM_CALLBACK 0x40000000

/* Operations: program, version, procedure. A long call has its program elsewhere. */
#define OPERATION(program, version, procedure)                                                     \
	((uint64_t)(program) << 32 | ((version)&0xffffU) << 16 | ((procedure)&0xffffU))
#define LONG_CALL 0

#define DENIED	   0x100 /* status: not accepted, and why */
#define RDMA_FAULT 0x200 /* status: an error of RPC over RDMA */

static const struct rd_name nfs3_names[] = {{0, "NULL"}, {1, "GETATTR"}, {2, "SETATTR"},
	{3, "LOOKUP"}, {4, "ACCESS"}, {5, "READLINK"}, {6, "READ"}, {7, "WRITE"}, {8, "CREATE"},
	{9, "MKDIR"}, {10, "SYMLINK"}, {11, "MKNOD"}, {12, "REMOVE"}, {13, "RMDIR"}, {14, "RENAME"},
	{15, "LINK"}, {16, "READDIR"}, {17, "READDIRPLUS"}, {18, "FSSTAT"}, {19, "FSINFO"},
	{20, "PATHCONF"}, {21, "COMMIT"}, {0}};

static const struct rd_name nfs4_names[] = {{0, "NULL"}, {1, "COMPOUND"}, {0}};

static const struct rd_name program_names[] = {{PROGRAM_NFS, "NFS"}, {PROGRAM_MOUNT, "MOUNT"},
	{PROGRAM_ACL, "NFSACL"}, {PROGRAM_CALLBACK, "NFS callback"}, {0}};

static const struct rd_name status_names[] = {{1, "program unavailable"},
	{2, "program version mismatch"}, {3, "procedure unavailable"}, {4, "garbage arguments"},
	{5, "system error"}, {DENIED, "denied: RPC version mismatch"},
	{DENIED + 1, "denied: authentication"}, {RDMA_FAULT + 1, "RPC-over-RDMA version"},
	{RDMA_FAULT + 2, "RPC-over-RDMA chunks"}, {0}};

static void rpc_operation(
	char *buf, size_t capacity, uint64_t operation, const struct rd_app_queue *q)
{
	uint32_t program = (uint32_t)(operation >> 32), version = operation >> 16 & 0xffff;
	uint32_t procedure = operation & 0xffff;
	const char *name = rd_name_of(program_names, program), *text = NULL;

	(void)q;
	if (program == PROGRAM_NFS && version >= 3)
		text = rd_name_of(version == 3 ? nfs3_names : nfs4_names, procedure);
	if (operation == LONG_CALL)
		snprintf(buf, capacity, "long call");
	else if (text)
		snprintf(buf, capacity, "%sv%u %s", name, version, text);
	else if (name)
		snprintf(buf, capacity, "%s v%u procedure %u", name, version, procedure);
	else
		snprintf(buf, capacity, "program %u v%u procedure %u", program, version, procedure);
}

static void rpc_status(char *buf, size_t capacity, uint64_t operation, uint32_t status)
{
	const char *text = rd_name_of(status_names, status);

	(void)operation;
	if (text)
		snprintf(buf, capacity, "%s", text);
	else
		snprintf(buf, capacity, "status %u", status);
}

static bool rpc_private(const uint8_t *p, uint32_t len, struct rd_app_queue *queue)
{
	(void)queue;
	return len >= 8 && rd_be32(p) == MAGIC && p[4] == 1;
}

/* --- chunks ----------------------------------------------------------------------------------- */

struct chunks {
	uint64_t bytes;
	bool cut, wrong;
};

static uint32_t take32(struct rd_view *v, struct chunks *c)
{
	const uint8_t *p = c->cut || c->wrong ? NULL : rd_view_take(v, 4);

	if (!p)
		c->cut = true;
	return p ? rd_be32(p) : 0;
}

/* Whether one more item of a list follows: 0 or 1. */
static bool follows(struct rd_view *v, struct chunks *c)
{
	uint32_t more = take32(v, c);

	c->wrong |= more > 1;
	return more == 1 && !c->cut;
}

/* Handle, length, offset. */
static void take_segment(struct rd_view *v, struct chunks *c)
{
	take32(v, c);
	c->bytes += take32(v, c);
	take32(v, c);
	take32(v, c);
}

static void take_array(struct rd_view *v, struct chunks *c)
{
	uint32_t n = take32(v, c);

	for (uint32_t i = 0; i < n && !c->cut; i++)
		take_segment(v, c);
}

/* Read list, write list, reply chunk; without the latter's bytes, which are only an offer. */
static struct chunks take_chunks(struct rd_view *v)
{
	struct chunks c = {0};
	uint64_t bytes;

	while (follows(v, &c)) {
		take32(v, &c); /* position */
		take_segment(v, &c);
	}
	while (follows(v, &c))
		take_array(v, &c);
	bytes = c.bytes;
	if (follows(v, &c))
		take_array(v, &c);
	c.bytes = bytes;
	return c;
}

/* --- messages --------------------------------------------------------------------------------- */

/* After the XID and the direction. */
static enum app_role read_reply(struct rd_view *v, struct app_message *m)
{
	struct chunks c = {0};
	uint32_t denied = take32(v, &c), value, length;

	if (denied > 1)
		return APP_MISFIT;
	value = take32(v, &c); /* why it was denied; or the verifier's flavor */
	if (denied) {
		m->status = c.cut ? 0 : DENIED + value;
		return APP_REPLY;
	}
	length = take32(v, &c);
	if (!c.cut && rd_view_take(v, ((size_t)length + 3) & ~(size_t)3))
		m->status = take32(v, &c); /* else it was not captured */
	return APP_REPLY;
}

static enum app_role read_call(struct rd_view *v, struct app_message *m)
{
	struct chunks c = {0};
	uint32_t rpc = take32(v, &c), program = take32(v, &c), version = take32(v, &c);
	uint32_t procedure = take32(v, &c);

	if (c.cut)
		return APP_UNREADABLE;
	if (rpc != 2)
		return APP_MISFIT;
	m->operation = OPERATION(program, version, procedure);
	return APP_REQUEST;
}

static enum app_role read_rpc(struct rd_view *v, struct app_message *m)
{
	struct chunks c = {0};
	uint32_t xid = take32(v, &c), reply = take32(v, &c);

	if (c.cut)
		return APP_UNREADABLE;
	if (xid != m->id || reply > 1)
		return APP_MISFIT;
	return reply ? read_reply(v, m) : read_call(v, m);
}

static enum app_role rpc_read(
	const struct app_bytes *b, bool client, struct rd_app_queue *queue, struct app_message *m)
{
	struct rd_view v = {b->data + HEADER, b->data + b->captured};
	struct chunks chunks;
	uint32_t kind;

	(void)client;
	(void)queue;
	if (b->length < HEADER + CHUNK_LISTS)
		return b->captured >= HEADER && rd_be32(b->data + PROCEDURE) == RDMA_ERROR
			       ? APP_OTHER
			       : APP_MISFIT;
	if (b->captured < HEADER || app_is_blank(b, HEADER))
		return APP_UNREADABLE;
	kind = rd_be32(b->data + PROCEDURE);
	*m = (struct app_message){.id = rd_be32(b->data + XID)};
	if (rd_be32(b->data + VERSION) == 2)
		return APP_OTHER;
	if (rd_be32(b->data + VERSION) != 1 || kind > RDMA_ERROR)
		return APP_MISFIT;
	if (kind != RDMA_MSG && kind != RDMA_NOMSG)
		return APP_OTHER;
	chunks = take_chunks(&v);
	if (chunks.wrong || (chunks.cut && b->only && b->captured == b->length))
		return APP_MISFIT;
	if (chunks.cut)
		return APP_UNREADABLE;
	m->bytes = chunks.bytes < UINT32_MAX ? (uint32_t)chunks.bytes : UINT32_MAX;
	m->data = m->bytes ? APP_KEYED : APP_NO_DATA;
	m->operation = LONG_CALL;
	return kind == RDMA_NOMSG ? APP_EITHER : read_rpc(&v, m);
}

static bool rpc_recognize(const struct app_bytes *b, bool *client)
{
	struct rd_app_queue queue = {0};
	struct app_message m = {0};
	enum app_role role = rpc_read(b, true, &queue, &m);

	/* Servers of NFS call their clients back. */
	*client = (role == APP_REQUEST) == (m.operation >> 32 < PROGRAM_CALLBACK);
	return role == APP_REQUEST || role == APP_REPLY;
}

const struct app app_rpc = {
	.key = "nfs",
	.name = "NFS/RPC",
	.requests = "calls",
	.ports = {20049},
	.strong = true,
	.private_data = rpc_private,
	.recognize = rpc_recognize,
	.read = rpc_read,
	.operation = rpc_operation,
	.status = rpc_status,
};
