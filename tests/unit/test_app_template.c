/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A template for an application that the analysis knows: compiled and tested, used by nobody. Copy
 * the part before the tests to src/analysis/apps/NAME.c, and see docs/how-to-add.md.
 *
 * This one is a key-value store: a request and its reply are each one SEND. Numbers are big-endian:
 * magic, 8 bits of operation, 8 of flags, 16 of status, 32 of identifier, 32 of the value's bytes,
 * which a READ or WRITE of RDMA carries.
 */
#include "analysis/apps/apps.h"
#include <rdmadump/bytes.h>

#define MAGIC	 0x6b763031U /* "kv01" */
#define MESSAGE	 16
#define IS_REPLY 0x80

/* Offsets. */
enum { OPERATION = 4, FLAGS = 5, STATUS = 6, IDENTIFIER = 8, BYTES = 12 };

static const struct rd_name operations[] = {{1, "GET"}, {2, "PUT"}, {3, "DELETE"}, {0}};
static const struct rd_name statuses[] = {{1, "no such key"}, {2, "no space"}, {0}};

static enum app_role kv_read(
	const struct app_bytes *b, bool client, struct rd_app_queue *queue, struct app_message *m)
{
	const uint8_t *p = b->data;

	(void)client;
	(void)queue;
	/* Only the length is known of bytes that were not captured. */
	if (b->length < MESSAGE)
		return APP_MISFIT;
	if (b->captured < MESSAGE || app_is_blank(b, MESSAGE))
		return APP_UNREADABLE;
	if (rd_be32(p) != MAGIC || !rd_name_of(operations, p[OPERATION]))
		return APP_MISFIT;
	*m = (struct app_message){.operation = p[OPERATION],
		.id = rd_be32(p + IDENTIFIER),
		.status = rd_be16(p + STATUS),
		.bytes = rd_be32(p + BYTES)};
	m->data = m->bytes ? APP_KEYED : APP_NO_DATA;
	return p[FLAGS] & IS_REPLY ? APP_REPLY : APP_REQUEST;
}

/* A magic number of 32 bits: no other protocol's message is taken for one, so it is `strong`. */
static bool kv_recognize(const struct app_bytes *b, bool *client)
{
	struct rd_app_queue queue = {0};
	struct app_message m;
	enum app_role role = kv_read(b, true, &queue, &m);

	*client = role == APP_REQUEST;
	return role == APP_REQUEST || role == APP_REPLY;
}

static void kv_operation(
	char *buf, size_t capacity, uint64_t operation, const struct rd_app_queue *q)
{
	(void)q;
	snprintf(buf, capacity, "%s", rd_name_of(operations, (uint32_t)operation));
}

static void kv_status(char *buf, size_t capacity, uint64_t operation, uint32_t status)
{
	const char *text = rd_name_of(statuses, status);

	(void)operation;
	if (text)
		snprintf(buf, capacity, "%s", text);
	else
		snprintf(buf, capacity, "status %u", status);
}

const struct app app_kv = {
	.key = "kv",
	.name = "key-value store",
	.requests = "requests",
	.ports = {7000},
	.strong = true,
	.recognize = kv_recognize,
	.read = kv_read,
	.operation = kv_operation,
	.status = kv_status,
};

/* --- tests ------------------------------------------------------------------------------------ */

#include "test.h"

/* What the message of `length` bytes, of which so many were captured, is taken for. */
static enum app_role role_of(
	const char *message, uint32_t length, uint32_t captured, struct app_message *m)
{
	const struct app_bytes b = {(const uint8_t *)message, captured, length, true};
	struct rd_app_queue queue = {0};

	return app_kv.read(&b, true, &queue, m);
}

TEST(template_messages)
{
	static const char get[] = "kv01\1\0\0\0\0\0\0\7\0\0\x10\0",
			  fails[] = "kv01\1\x80\0\1\0\0\0\7\0\0\0\0";
	struct app_message m;
	char text[32];

	assert_int_equal(role_of(get, 16, 16, &m), APP_REQUEST);
	expect("1 7 0 4096 2", m.operation, m.id, m.status, m.bytes, m.data);
	app_kv.operation(text, sizeof(text), m.operation, NULL);
	assert_string_equal(text, "GET");
	same(role_of(fails, 16, 16, &m), APP_REPLY, m.id, 7, m.status, 1, m.data, 0);
	app_kv.status(text, sizeof(text), m.operation, m.status);
	assert_string_equal(text, "no such key");
	app_kv.status(text, sizeof(text), m.operation, 77);
	assert_string_equal(text, "status 77");
}

/* The most similar ones that are none, and what was not captured or replaced by zeros. */
TEST(template_others)
{
	static const char other[] = "kv02\1\0\0\0\0\0\0\7\0\0\0\0",
			  unknown[] = "kv01\4\0\0\0\0\0\0\7\0\0\0\0";
	static const char zeros[MESSAGE] = "";
	struct app_message m;
	bool client;

	expect("1 1 1", role_of(other, 16, 16, &m) == APP_MISFIT,
		role_of(unknown, 16, 16, &m) == APP_MISFIT,
		role_of(other, 15, 15, &m) == APP_MISFIT);
	expect("1 1", role_of(other, 16, 15, &m) == APP_UNREADABLE,
		role_of(zeros, 16, 16, &m) == APP_UNREADABLE);
	assert_false(app_kv.recognize(
		&(struct app_bytes){(const uint8_t *)other, 16, 16, true}, &client));
}
