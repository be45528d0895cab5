/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Applications: messages written byte by byte as in their specifications, independently of the
 * decoders; times, errors, and what must not be concluded from incomplete captures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first. */
#include <cmocka.h>

#include "test_scene.h"

#define BODY 54 /* Ethernet, IPv4, UDP, BTH */

/* --- frames ----------------------------------------------------------------------------------- */

/* A SEND with this content; the client is 10.0.0.2. Its invariant CRC is not checked. */
static void message(struct scene *s, bool from_server, enum op op, uint32_t psn,
	const uint8_t *bytes, uint32_t n)
{
	struct make m = {.n = 0};
	struct rd_frame frame = {.ts_ns = s->ns};

	make_packet(&m, MAKE_V2_IPV4, op,
		op == UD_ONLY ? 1
		: from_server ? REQUESTER
			      : RESPONDER,
		n, 0);
	rd_put_be16(m.b + 18, ++s->ip_id);
	if (from_server)
		memcpy(m.b + 26, "\x0a\0\0\x01\x0a\0\0\x02", 8);
	rd_put_be32(m.b + 50, psn);
	if (op == UD_ONLY) {
		memcpy(m.b + BODY, "\x80\1\0\0\0\0\0\1", 8); /* from QP 1 */
		memcpy(m.b + BODY + 8, bytes, n - 8);
	} else {
		m.b[50] |= 0x80; /* asks for an ACK */
		memcpy(m.b + BODY, bytes, n);
	}
	frame.data = m.b;
	frame.caplen = frame.len = m.n;
	if (s->cut && s->cut < m.n)
		frame.caplen = s->cut;
	rd_analysis_frames(s->a, RD_LINK_ETHERNET, &frame, 1);
}

static void after(struct scene *s, uint64_t ns)
{
	s->ns += ns;
}

/* A CM message, zero but for these parts. */
static void cm(struct scene *s, bool from_server, unsigned int attribute, const uint8_t *content)
{
	uint8_t mad[8 + 256] = {1, 7, 2, 3};

	mad[17] = (uint8_t)attribute;
	memcpy(mad + 24, content, 232);
	message(s, from_server, UD_ONLY, attribute, mad, sizeof(mad));
}

/* REQ and REP of a connection to a TCP port, with private data behind the addresses. */
static void connects(struct scene *s, uint16_t port, const uint8_t *private, size_t n)
{
	uint8_t req[232] = {0, 0, 0, 1}, rep[232] = {0, 0, 0, 2, 0, 0, 0, 1};

	memcpy(req + 8, "\0\0\0\0\1\6", 6);
	rd_put_be16(req + 14, port);
	rd_put_be32(req + 32, REQUESTER << 8);
	rd_put_be32(req + 44, 1000 << 8); /* first PSN of the server's requests */
	memcpy(req + 140, "\0\x40\xc0\0", 4);
	memcpy(req + 140 + 16, "\x0a\0\0\2", 4);
	memcpy(req + 140 + 32, "\x0a\0\0\1", 4);
	if (n)
		memcpy(req + 140 + 36, private, n);
	rd_put_be32(rep + 12, RESPONDER << 8);
	rd_put_be32(rep + 20, 500 << 8);
	cm(s, false, 0x10, req);
	cm(s, true, 0x13, rep);
}

/* NVMe RDMA Transport 1.0, 2.2: format 0, queue, receive queue size, send queue size - 1. */
static void connects_nvme(struct scene *s, uint16_t port, uint8_t queue)
{
	const uint8_t private[32] = {0, 0, queue, 0, 32, 0, 31, 0};

	connects(s, port, private, sizeof(private));
}

/*
 * A submission queue entry with a keyed SGL descriptor: opcode, flags (SGL), command identifier,
 * namespace 1; address, 24 bits of length, key, type and subtype.
 */
static void command(struct scene *s, uint32_t psn, uint8_t opcode, uint16_t id, uint32_t bytes)
{
	uint8_t e[64] = {opcode, 0x40, (uint8_t)id, (uint8_t)(id >> 8), 1};

	memcpy(e + 24, "\0\x10\0\0\x80\xff\xff\xff", 8);
	e[32] = (uint8_t)bytes;
	e[33] = (uint8_t)(bytes >> 8);
	e[34] = (uint8_t)(bytes >> 16);
	memcpy(e + 35, "\x78\x56\x34\x12\x40", 5);
	message(s, false, SEND_ONLY, psn, e, sizeof(e));
}

/* A completion queue entry: result, SQ head, reserved, identifier, status without the phase. */
static void completes(struct scene *s, uint32_t psn, uint16_t id, uint16_t status)
{
	uint8_t e[16] = {0};

	e[8] = 5;
	e[12] = (uint8_t)id;
	e[13] = (uint8_t)(id >> 8);
	e[14] = (uint8_t)status;
	e[15] = (uint8_t)(status >> 8);
	message(s, true, SEND_ONLY, psn, e, sizeof(e));
}

static const struct rd_application *application(struct scene *s)
{
	assert_int_equal(rd_analysis_report(s->a, &s->r, NULL), 0);
	return s->r->n_applications ? &s->r->applications[0] : NULL;
}

/* Whether the report as text has this. */
static bool says(const struct scene *s, const char *text)
{
	const struct rd_report_style style = {.columns = 80};
	size_t size = 0;
	char *all = NULL;
	FILE *out = open_memstream(&all, &size);
	bool found;

	assert_non_null(out);
	rd_report_text(s->r, &style, out);
	assert_int_equal(fclose(out), 0);
	found = strstr(all, text) != NULL;
	free(all);
	return found;
}

static const struct rd_app_operation *operation(const struct rd_application *app, const char *name)
{
	assert_non_null(app);
	for (size_t i = 0; i < app->n_operations; i++)
		if (!strcmp(app->operations[i].name, name))
			return &app->operations[i];
	fail_msg("there is no operation '%s'", name);
	return NULL;
}

/* --- NVMe ------------------------------------------------------------------------------------- */

static void nvme_commands(void **state)
{
	struct scene s = begin();
	const struct rd_app_operation *op;
	const struct rd_application *app;

	(void)state;
	connects_nvme(&s, 4420, 1);
	command(&s, 500, 0x02, 0x1001, 4096);
	after(&s, 30000);
	command(&s, 501, 0x01, 0x0002, 65536);
	after(&s, 20000);
	completes(&s, 1000, 0x1001, 0);
	after(&s, 500000);
	completes(&s, 1001, 0x0002, 0);
	command(&s, 502, 0x02, 0x1001, 512);
	after(&s, 7000);
	completes(&s, 1002, 0x1001, 0);
	command(&s, 503, 0x00, 0x0003, 0);
	app = application(&s);
	op = operation(app, "Read");
	assert_string_equal(app->name, "NVMe-oF");
	assert_int_equal(app->certainty, RD_CERTAIN);
	assert_int_equal(app->signs, RD_APP_BY_PORT | RD_APP_BY_PRIVATE | RD_APP_BY_BYTES);
	assert_int_equal(app->port, 4420);
	assert_string_equal(op->group, "I/O");
	assert_int_equal(op->requests, 2);
	assert_int_equal(op->replies, 2);
	assert_int_equal(op->latency.min, 7000);
	assert_int_equal(op->latency.p50, 7000);
	assert_int_equal(op->latency.p99, 50000);
	assert_int_equal(op->latency.max, 50000);
	assert_int_equal(op->latency_sum, 57000);
	assert_true(op->exact);
	assert_int_equal(op->keyed.n, 2);
	assert_int_equal(op->keyed.bytes, 4608);
	assert_int_equal(op->keyed.smallest, 512);
	assert_int_equal(op->keyed.largest, 4096);
	op = operation(app, "Write");
	assert_int_equal(op->latency.max, 520000);
	assert_int_equal(op->slowest_frame, 4);
	assert_int_equal(op->slowest_reply_frame, 6);
	op = operation(app, "Flush");
	assert_int_equal(op->open, 1);
	assert_int_equal(op->latency.n, 0);
	assert_int_equal(op->keyed.n, 0);
	assert_int_equal(app->slowest[0].ns, 520000);
	assert_int_equal(app->slowest[2].ns, 7000);
	assert_int_equal(s.r->conversations[0].application->queue.id, 1);
	assert_int_equal(s.r->conversations[0].application->queue.send_size, 32);
	end(&s);
}

/* The same opcode has another name on the admin queue; Fabrics commands have a type. */
static void nvme_admin(void **state)
{
	struct scene s = begin();
	/* Connect: format, queue, size - 1, attributes, keep alive; 1024 bytes of data follow. */
	uint8_t connect[64 + 960] = {0x7f, 0x40, 0, 0, 1};
	const uint8_t property[64] = {
		0x7f, 0x40, 1, 0, 4, [39] = 0x40, [40] = 1, [44] = 0, [48] = 0};
	const struct rd_application *app;

	(void)state;
	connects_nvme(&s, 4420, 0);
	rd_put_le32(connect + 32, 1024);
	connect[39] = 0x01;
	connect[44] = 31;
	message(&s, false, SEND_FIRST, 500, connect, sizeof(connect));
	message(&s, false, SEND_LAST, 501, connect + 64, 64);
	after(&s, 9000);
	completes(&s, 1000, 0, 0);
	message(&s, false, SEND_ONLY, 502, property, sizeof(property));
	after(&s, 1000);
	completes(&s, 1001, 1, 0);
	command(&s, 503, 0x02, 2, 512);
	command(&s, 504, 0x0c, 3, 0);
	command(&s, 505, 0x18, 4, 0);
	after(&s, 1000);
	completes(&s, 1002, 4, 0);
	app = application(&s);
	assert_int_equal(operation(app, "Connect")->inlined.bytes, 1024);
	assert_int_equal(operation(app, "Connect")->latency.max, 9000);
	assert_int_equal(operation(app, "Property Get")->latency.max, 1000);
	assert_string_equal(operation(app, "Get Log Page")->group, "admin");
	assert_true(operation(app, "Async Event Request")->waits);
	assert_int_equal(operation(app, "Async Event Request")->open, 1);
	assert_int_equal(operation(app, "Keep Alive")->replies, 1);
	assert_int_equal(app->misfits, 0);
	end(&s);
}

static void nvme_errors(void **state)
{
	struct scene s = begin();
	const struct rd_application *app;

	(void)state;
	connects_nvme(&s, 4420, 1);
	command(&s, 500, 0x02, 1, 4096);
	completes(&s, 1000, 1, 0x4016); /* do not retry; type 0, code 0x0b */
	command(&s, 501, 0x02, 1, 4096);
	completes(&s, 1001, 1, 0x0502); /* type 2, code 0x81 */
	command(&s, 502, 0x02, 1, 4096);
	completes(&s, 1002, 1, 0x0502);
	app = application(&s);
	assert_int_equal(operation(app, "Read")->errors, 3);
	assert_int_equal(app->n_statuses, 2);
	assert_string_equal(app->statuses[0].name, "invalid namespace or format");
	assert_int_equal(app->statuses[0].code, 0x00b);
	assert_string_equal(app->statuses[1].name, "unrecovered read error");
	assert_int_equal(app->statuses[1].code, 0x281);
	assert_int_equal(app->statuses[1].replies.count, 2);
	assert_int_equal(app->statuses[1].replies.first_frame, 6);
	end(&s);
}

/* A retransmitted capsule counts once, from its first copy. */
static void nvme_retransmitted(void **state)
{
	struct scene s = begin();
	const struct rd_application *app;

	(void)state;
	connects_nvme(&s, 4420, 1);
	command(&s, 500, 0x02, 1, 4096);
	after(&s, 5000000);
	command(&s, 500, 0x02, 1, 4096);
	after(&s, 40000);
	completes(&s, 1000, 1, 0);
	after(&s, 5000000);
	completes(&s, 1000, 1, 0);
	app = application(&s);
	assert_int_equal(operation(app, "Read")->requests, 1);
	assert_int_equal(operation(app, "Read")->replies, 1);
	assert_int_equal(operation(app, "Read")->latency.max, 5040000);
	assert_int_equal(operation(app, "Read")->unanswered, 0);
	assert_int_equal(app->unmatched, 0);
	end(&s);
}

/* Frames cut within the capsules, and capsules of zeros, give no numbers. */
static void nvme_cut(void **state)
{
	const uint8_t zeros[64] = {0};

	(void)state;
	for (int blank = 0; blank < 2; blank++) {
		struct scene s = begin();
		const struct rd_application *app;

		connects_nvme(&s, 4420, 1);
		s.cut = blank ? 0 : BODY + 8;
		for (uint32_t i = 0; i < 20; i++) {
			if (blank)
				message(&s, false, SEND_ONLY, 500 + i, zeros, 64);
			else
				command(&s, 500 + i, 0x02, (uint16_t)i, 4096);
			after(&s, 1000);
			if (blank)
				message(&s, true, SEND_ONLY, 1000 + i, zeros, 16);
			else
				completes(&s, 1000 + i, (uint16_t)i, 0);
		}
		app = application(&s);
		assert_non_null(app);
		assert_int_equal(app->certainty, RD_LIKELY);
		assert_int_equal(app->n_operations, 0);
		assert_int_equal(app->unreadable, blank ? 20 : 40);
		assert_true(says(&s, blank ? "\n  20 of 40 messages cannot be read: cut off, or "
					     "replaced by zeros\n"
					   : "\n  40 of 40 messages cannot be read: cut off, or "
					     "replaced by zeros\n"));
		assert_int_equal(app->unmatched, blank ? 20 : 0);
		end(&s);
	}
}

/* Enough of a capsule is there for all but a Connect command's queue. */
static void nvme_cut_behind(void **state)
{
	struct scene s = begin();

	(void)state;
	connects_nvme(&s, 4420, 1);
	s.cut = 96;
	command(&s, 500, 0x02, 1, 4096);
	after(&s, 1000);
	completes(&s, 1000, 1, 0);
	assert_int_equal(operation(application(&s), "Read")->latency.max, 1000);
	end(&s);
}

/* Without the CM: only a reply that matches makes it likely; then the queue is unknown. */
static void nvme_without_cm(void **state)
{
	struct scene s = begin();
	const struct rd_application *app;

	(void)state;
	command(&s, 500, 0x02, 1, 4096);
	respond(&s, ACK, 500, OK);
	after(&s, 1000);
	completes(&s, 1000, 1, 0);
	put(&s, false, ACK, 1000, (const uint8_t *)"\x1f\0\0\1", 4);
	command(&s, 501, 0x02, 1, 4096);
	after(&s, 1000);
	completes(&s, 1001, 1, 0);
	app = application(&s);
	assert_int_equal(app->certainty, RD_LIKELY);
	assert_int_equal(app->signs, RD_APP_BY_BYTES);
	assert_int_equal(operation(app, "Read or Get Log Page")->requests, 2);
	assert_null(operation(app, "Read or Get Log Page")->group);
	end(&s);
}

static void nvme_other_traffic(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		command(&s, 500 + i, 0x02, (uint16_t)i, 4096);
	assert_null(application(&s)); /* capsules by their form, but nobody replies */
	end(&s);
	s = begin();
	sends(&s, 500, 540);
	assert_null(application(&s));
	assert_null(s.r->conversations[0].application);
	end(&s);
}

/* Another port, with private data of NVMe; the port of NVMe, and something else. */
static void nvme_ports(void **state)
{
	struct scene s = begin();
	const struct rd_application *app;
	const uint8_t text[64] = "no capsule at all";

	(void)state;
	connects_nvme(&s, 5555, 3);
	command(&s, 500, 0x01, 1, 4096);
	completes(&s, 1000, 1, 0);
	app = application(&s);
	assert_int_equal(app->certainty, RD_CERTAIN);
	assert_int_equal(app->signs, RD_APP_BY_PRIVATE | RD_APP_BY_BYTES);
	assert_int_equal(app->port, 5555);
	end(&s);

	/* The private data are missing: 64 and 16 bytes of anything with two equal numbers may be
	 * meant. */
	s = begin();
	connects(&s, 4420, NULL, 0);
	command(&s, 500, 0x01, 1, 4096);
	completes(&s, 1000, 1, 0);
	assert_int_equal(application(&s)->certainty, RD_LIKELY);
	end(&s);

	/* All signs, and a message that is none of NVMe; then most are none. */
	for (uint32_t wrong = 1; wrong <= 4; wrong += 3) {
		s = begin();
		connects_nvme(&s, 4420, 3);
		command(&s, 500, 0x01, 1, 4096);
		completes(&s, 1000, 1, 0);
		for (uint32_t i = 0; i < wrong; i++)
			message(&s, false, SEND_ONLY, 501 + i, text, sizeof(text));
		app = application(&s);
		assert_int_equal(app->misfits, wrong);
		assert_int_equal(says(&s, "\n  1 messages are not in its format\n"), wrong == 1);
		assert_int_equal(app->certainty, wrong == 1 ? RD_LIKELY : RD_POSSIBLE);
		end(&s);
	}

	s = begin();
	connects(&s, 4420, NULL, 0);
	message(&s, false, SEND_ONLY, 500, text, sizeof(text));
	app = application(&s);
	assert_int_equal(app->certainty, RD_POSSIBLE);
	assert_int_equal(app->signs, RD_APP_BY_PORT);
	assert_int_equal(app->misfits, 1);
	end(&s);

	s = begin();
	connects(&s, 7174, NULL, 0);
	message(&s, false, SEND_ONLY, 500, text, sizeof(text));
	assert_null(application(&s));
	end(&s);
}

/* A command whose completion was not captured, and the next one with its identifier. */
static void nvme_lost_completion(void **state)
{
	struct scene s = begin();
	const struct rd_application *app;

	(void)state;
	connects_nvme(&s, 4420, 1);
	command(&s, 500, 0x02, 1, 4096);
	after(&s, 1000000);
	command(&s, 501, 0x01, 1, 4096);
	after(&s, 2000);
	completes(&s, 1001, 1, 0);
	app = application(&s);
	assert_int_equal(operation(app, "Read")->unanswered, 1);
	assert_int_equal(operation(app, "Read")->latency.n, 0);
	assert_int_equal(operation(app, "Write")->latency.max, 2000);
	end(&s);

	/* The completion and the next command are both missing: a reply to which one? */
	s = begin();
	connects_nvme(&s, 4420, 1);
	command(&s, 500, 0x02, 2, 4096);
	completes(&s, 1000, 2, 0);
	command(&s, 501, 0x02, 1, 4096);
	after(&s, 1000000);
	command(&s, 503, 0x02, 3, 4096);
	completes(&s, 1002, 1, 0);
	app = application(&s);
	assert_int_equal(operation(app, "Read")->latency.n, 1);
	assert_int_equal(operation(app, "Read")->untimed, 1);
	assert_true(says(&s, "\n  1 replies not timed: messages between may be missing\n"));
	end(&s);
}

/* More open commands than are followed: those beyond are counted, and no reply is taken for
 * another's. */
static void nvme_many_open(void **state)
{
	struct scene s = begin();
	const struct rd_application *app;

	(void)state;
	connects_nvme(&s, 4420, 1);
	for (uint32_t i = 0; i < 5000; i++)
		command(&s, 500 + i, 0x02, (uint16_t)i, 512);
	after(&s, 1000);
	for (uint32_t i = 0; i < 5000; i++)
		completes(&s, 1000 + i, (uint16_t)(4999 - i), 0);
	app = application(&s);
	assert_int_equal(operation(app, "Read")->requests, 5000);
	assert_int_equal(operation(app, "Read")->replies, 4096);
	assert_int_equal(app->not_followed, 904);
	assert_int_equal(app->unmatched, 904);
	assert_true(says(&s, "\n  904 replies without their request in the capture\n"));
	assert_true(says(&s, "\n  904 requests not followed: too many were open at once\n"));
	assert_int_equal(operation(app, "Read")->open, 0);
	end(&s);
}

/* The QP is used for a new connection: commands of the former one stay without a reply. */
static void nvme_reconnects(void **state)
{
	struct scene s = begin();
	const struct rd_application *app;

	(void)state;
	connects_nvme(&s, 4420, 1);
	command(&s, 500, 0x02, 1, 4096);
	command(&s, 501, 0x02, 2, 4096);
	completes(&s, 1000, 1, 0);
	for (uint32_t psn = 502; psn < 600; psn++)
		command(&s, psn, 0x02, 9, 4096);
	after(&s, 1000000000);
	/* The PSN of the REP differs from where the former one began. */
	{
		uint8_t req[232] = {0, 0, 0, 3}, rep[232] = {0, 0, 0, 4, 0, 0, 0, 3};

		memcpy(req + 8, "\0\0\0\0\1\6\x11\x44", 8);
		rd_put_be32(req + 32, REQUESTER << 8);
		rd_put_be32(req + 44, 7000 << 8);
		rd_put_be32(rep + 12, RESPONDER << 8);
		rd_put_be32(rep + 20, 9000 << 8);
		cm(&s, false, 0x10, req);
		cm(&s, true, 0x13, rep);
	}
	command(&s, 9000, 0x01, 5, 4096);
	after(&s, 3000);
	completes(&s, 7000, 2, 0);
	completes(&s, 7001, 5, 0);
	app = application(&s);
	assert_int_equal(operation(app, "Read")->open, 2);
	assert_int_equal(operation(app, "Read")->latency.n, 1);
	assert_int_equal(operation(app, "Write")->latency.max, 3000);
	assert_int_equal(app->unmatched, 1);
	end(&s);
}

/* --- RPC, iSER, SMB --------------------------------------------------------------------------- */

/* RFC 8166: XID, version 1, credits, RDMA_MSG; then the chunks. */
static size_t rpc_header(uint8_t *p, uint32_t xid, bool read_chunk)
{
	static const uint8_t none[12] = {0};
	size_t n = 16;

	rd_put_be32(p, xid);
	memcpy(p + 4, "\0\0\0\1\0\0\0\x20\0\0\0\0", 12);
	if (read_chunk) { /* at position 128: a handle, 8192 bytes, an address */
		memcpy(p + n, "\0\0\0\1\0\0\0\x80\x11\x22\x33\x44\0\0\x20\0\0\0\0\1\0\0\0\0", 24);
		n += 24;
	}
	memcpy(p + n, none, sizeof(none));
	return n + sizeof(none);
}

/* RFC 5531: XID, CALL, RPC version 2, NFS, version 3, procedure; no credentials. */
static void nfs_call(struct scene *s, uint32_t psn, uint32_t xid, uint8_t procedure)
{
	uint8_t p[128] = {0};
	size_t n = rpc_header(p, xid, procedure == 7);

	rd_put_be32(p + n, xid);
	memcpy(p + n + 4, "\0\0\0\0\0\0\0\2\0\1\x86\xa3\0\0\0\3\0\0\0", 19);
	p[n + 23] = procedure;
	message(s, false, SEND_ONLY, psn, p, sizeof(p));
}

/* XID, REPLY, accepted, a verifier of 4 bytes, whether it was executed. */
static void nfs_reply(struct scene *s, uint32_t psn, uint32_t xid, uint8_t state)
{
	uint8_t p[96] = {0};
	size_t n = rpc_header(p, xid, false);

	rd_put_be32(p + n, xid);
	p[n + 7] = 1;
	p[n + 19] = 4;
	p[n + 27] = state;
	message(s, true, SEND_ONLY, psn, p, sizeof(p));
}

static void nfs_calls(void **state)
{
	(void)state;
	for (int by_cm = 0; by_cm < 2; by_cm++) {
		struct scene s = begin();
		const struct rd_application *app;

		if (by_cm)
			connects(&s, 20049, NULL, 0);
		nfs_call(&s, 500, 0x11110001, 6);
		respond(&s, ACK, 500, OK);
		nfs_call(&s, 501, 0x11110002, 7);
		after(&s, 4000);
		nfs_reply(&s, 1000, 0x11110002, 0);
		put(&s, false, ACK, 1000, (const uint8_t *)"\x1f\0\0\1", 4);
		after(&s, 3000);
		nfs_reply(&s, 1001, 0x11110001, 5);
		app = application(&s);
		assert_non_null(app);
		assert_string_equal(app->name, "NFS/RPC");
		assert_int_equal(app->certainty, by_cm ? RD_CERTAIN : RD_LIKELY);
		assert_int_equal(operation(app, "NFSv3 WRITE")->latency.max, 4000);
		assert_int_equal(operation(app, "NFSv3 WRITE")->keyed.bytes, 8192);
		assert_int_equal(operation(app, "NFSv3 READ")->errors, 1);
		assert_string_equal(app->statuses[0].name, "system error");
		assert_int_equal(app->misfits, 0);
		assert_int_equal(s.r->conversations[0].application->client,
			strcmp(s.r->conversations[0].a.address, "10.0.0.2") != 0);
		end(&s);
	}
}

/* 70 read chunks and one write chunk of two segments with 100 bytes each; an offer for the reply.
 */
static void nfs_chunks(void **state)
{
	enum { READS = 70, SEGMENT = 16 };
	struct scene s = begin();
	uint8_t p[2400] = {0}, *q = p + 16;
	const struct rd_application *app;

	(void)state;
	connects(&s, 20049, NULL, 0);
	rpc_header(p, 7, false);
	for (int i = 0; i < READS; i++, q += 8 + SEGMENT) {
		q[3] = 1;
		q[8 + 7] = 100;
	}
	q += 4; /* no more of them */
	q[3] = 1;
	q[7] = 2;
	q[8 + 7] = q[8 + SEGMENT + 7] = 100;
	q += 8 + 2 * SEGMENT + 4;
	q[3] = 1;
	q[7] = 1;
	q[8 + 6] = 0xff;
	q += 8 + SEGMENT;
	memcpy(q, "\0\0\0\7\0\0\0\0\0\0\0\2\0\1\x86\xa3\0\0\0\3\0\0\0\7", 24);
	message(&s, false, SEND_ONLY, 500, p, sizeof(p));
	app = application(&s);
	assert_int_equal(operation(app, "NFSv3 WRITE")->keyed.bytes, 7200);
	assert_int_equal(app->misfits, 0);
	end(&s);
}

/* A list that goes on behind the end of its message. */
static void nfs_endless(void **state)
{
	struct scene s = begin();
	uint8_t p[128] = {0};

	(void)state;
	connects(&s, 20049, NULL, 0);
	nfs_call(&s, 500, 6, 1);
	rpc_header(p, 7, false);
	for (size_t i = 16; i + 24 <= sizeof(p); i += 24)
		p[i + 3] = 1;
	message(&s, false, SEND_ONLY, 501, p, 16 + 4 * 24);
	assert_int_equal(application(&s)->misfits, 1);
	end(&s);
}

/* RFC 8797: the magic number, version 1; on another port. */
static void nfs_private_data(void **state)
{
	struct scene s = begin();
	const struct rd_application *app;

	(void)state;
	connects(&s, 2049, (const uint8_t *)"\xf6\xab\x0e\x18\1\1\3\3", 8);
	nfs_call(&s, 500, 7, 1);
	app = application(&s);
	assert_int_equal(app->signs, RD_APP_BY_PRIVATE | RD_APP_BY_BYTES);
	assert_int_equal(operation(app, "NFSv3 GETATTR")->open, 1);
	end(&s);
}

/* RFC 7145, 9.2: control-type, read tag valid; RFC 7143, 11.3: SCSI command with a READ(10). */
static void iser_commands(void **state)
{
	struct scene s = begin();
	uint8_t p[76] = {0x14, [16] = 1, 2, 3, 4, [28] = 0x01, 0xc1, [28 + 19] = 9};
	uint8_t response[76] = {0x10, [28] = 0x21, 0x80, 0, 2, [28 + 19] = 9};
	const struct rd_application *app;

	(void)state;
	p[28 + 22] = 0x10; /* 4096 bytes */
	p[28 + 32] = 0x28;
	message(&s, false, SEND_ONLY, 500, p, sizeof(p));
	respond(&s, ACK, 500, OK);
	after(&s, 6000);
	message(&s, true, SEND_ONLY, 1000, response, sizeof(response));
	app = application(&s);
	assert_non_null(app);
	assert_string_equal(app->name, "iSER");
	assert_int_equal(app->certainty, RD_LIKELY);
	assert_int_equal(operation(app, "READ(10)")->latency.max, 16000);
	assert_int_equal(operation(app, "READ(10)")->keyed.bytes, 4096);
	assert_string_equal(app->statuses[0].name, "CHECK CONDITION");
	end(&s);
}

/* MS-SMBD 2.2.1 to 2.2.3, MS-SMB2 2.2.1: an interim response is no reply. */
static void smb_requests(void **state)
{
	struct scene s = begin();
	const uint8_t ask[20] = {0, 1, 0, 1, 0, 0, 255, 0, 0x54, 5, 0, 0, 0, 32, 0, 0, 0, 0, 16};
	const uint8_t agree[32] = {0, 1, 0, 1, 0, 1, 0, 0, 255, 0, 255};
	uint8_t p[24 + 64 + 48] = {255, 0, 1, [12] = 24, [16] = 112, [24] = 0xfe, 'S', 'M', 'B', 64,
		[24 + 12] = 8, [24 + 24] = 5, [24 + 64] = 49, [24 + 64 + 5] = 0x20,
		[24 + 64 + 36] = 1};
	const struct rd_app_operation *op;
	const struct rd_application *app;

	(void)state;
	connects(&s, 445, NULL, 0);
	message(&s, false, SEND_ONLY, 500, ask, sizeof(ask));
	message(&s, true, SEND_ONLY, 1000, agree, sizeof(agree));
	message(&s, false, SEND_ONLY, 501, p, sizeof(p));
	p[24 + 16] = 3; /* a response, asynchronous */
	p[24 + 8] = 3;	/* STATUS_PENDING */
	p[24 + 9] = 1;
	after(&s, 1000);
	message(&s, true, SEND_ONLY, 1001, p, sizeof(p));
	memcpy(p + 24 + 8, "\x11\0\0\xc0", 4); /* end of file */
	after(&s, 2000);
	message(&s, true, SEND_ONLY, 1002, p, sizeof(p));
	app = application(&s);
	op = operation(app, "Read");
	assert_string_equal(app->name, "SMB Direct");
	assert_int_equal(app->certainty, RD_CERTAIN);
	assert_int_equal(operation(app, "SMB Direct Negotiate")->replies, 1);
	assert_int_equal(op->latency.max, 3000);
	assert_int_equal(op->keyed.bytes, 8192);
	assert_int_equal(op->errors, 1);
	assert_string_equal(app->statuses[0].name, "NTSTATUS 0xc0000011");
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nvme_commands),
		cmocka_unit_test(nvme_admin),
		cmocka_unit_test(nvme_errors),
		cmocka_unit_test(nvme_retransmitted),
		cmocka_unit_test(nvme_cut),
		cmocka_unit_test(nvme_cut_behind),
		cmocka_unit_test(nvme_without_cm),
		cmocka_unit_test(nvme_other_traffic),
		cmocka_unit_test(nvme_ports),
		cmocka_unit_test(nvme_lost_completion),
		cmocka_unit_test(nvme_many_open),
		cmocka_unit_test(nvme_reconnects),
		cmocka_unit_test(nfs_calls),
		cmocka_unit_test(nfs_chunks),
		cmocka_unit_test(nfs_endless),
		cmocka_unit_test(nfs_private_data),
		cmocka_unit_test(iser_commands),
		cmocka_unit_test(smb_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
