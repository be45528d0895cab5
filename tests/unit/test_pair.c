/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Pairs of QPs, whatever the key of the hash is. How they are found: tests/cases/pairs.txt. */
#include "analysis/model/state.h"
#include "test.h"
#include "test_packet_make.h"

#include <rdmadump/report_output.h>

#define SEND_ONLY 0x04
#define ACK	  0x11
#define UD_ONLY	  0x64
#define BTH	  (14 + 20 + 8)

static struct rd_analysis *analysis;
static struct rd_report *report;
static uint64_t now;

static void begin(void)
{
	const struct rd_analysis_config config = {.skip_icrc = true, .qp = RD_QP_UNKNOWN};

	now = 1000000000;
	report = NULL;
	assert_int_equal(rd_analysis_open(&analysis, &config, NULL), 0);
	assert_int_equal(rd_analysis_file(analysis, "test", "made", NULL, NULL), 0);
}

static void end(void)
{
	rd_report_free(report);
	rd_analysis_close(analysis);
}

/* From 10.0.0.2 to 10.0.0.1, or back. */
static void put(struct make *m, bool back)
{
	struct rd_frame frame = {.data = m->b, .caplen = m->n, .len = m->n, .ts_ns = now += 10000};

	rd_put_be16(m->b + 14 + 4, (uint16_t)(now / 10000));
	rd_put_be16(m->b + 14 + 20, 0); /* a source port that shows no pair */
	if (back)
		memcpy(m->b + 14 + 12, "\x0a\0\0\x01\x0a\0\0\x02", 8);
	rd_analysis_frames(analysis, &(struct rd_iface){.link = RD_LINK_ETHERNET}, &frame, 1);
}

static void request(uint32_t qp, uint32_t psn)
{
	struct make m = {.n = 0};

	make_packet(&m, MAKE_V2_IPV4, SEND_ONLY, qp, 1024, 0);
	rd_put_be32(m.b + BTH + 8, 0x80000000 | psn);
	put(&m, false);
}

static void ack(uint32_t qp, uint32_t psn)
{
	struct make m = {.n = 0};

	make_packet(&m, MAKE_V2_IPV4, ACK, qp, 4, 0);
	rd_put_be32(m.b + BTH + 8, psn);
	memcpy(m.b + BTH + 12, "\x1f\0\0\1", 4);
	put(&m, true);
}

static unsigned int paired(void)
{
	unsigned int n = 0;

	assert_int_equal(rd_analysis_report(analysis, &report, NULL), 0);
	for (size_t i = 0; i < report->n_conversations; i++)
		n += report->conversations[i].pairing == RD_PAIR_PSN;
	return n;
}

/* Flows between two hosts whose QPs have few different numbers, as usual, all stay in the cache. */
TEST(near)
{
	static const uint8_t ends[2][8] = {{10, 0, 0, 1, 10, 0, 0, 2}, {10, 0, 0, 2, 10, 0, 0, 1}};
	struct flow_table *t = calloc(1, sizeof(*t));
	struct flow **near[64];

	assert_non_null(t);
	for (uint32_t i = 0; i < 64; i++) {
		near[i] = flow_near(t, rd_le64(ends[i % 2]),
			flow_key_qps(RD_NET_IPV4, 0x100 + i / 2, RD_QP_UNKNOWN));
		for (uint32_t k = 0; k < i; k++)
			assert_ptr_not_equal(near[k], near[i]);
	}
	free(t);
}

/* --- whatever the key of the hash is ---------------------------------------------------------- */

#define MANY 1000 /* so many that some have the same slot in any table of a reasonable size */
#define KEYS 2
#define MAD  (42 + 12 + 8)

/* To a UD QP, from source QP `from`. */
static void datagram(uint32_t qp, uint32_t from, uint32_t psn, uint32_t qkey)
{
	struct make m = {.n = 0};

	make_packet(&m, MAKE_V2_IPV4, UD_ONLY, qp, 8 + 16, 0);
	rd_put_be32(m.b + BTH + 8, psn);
	rd_put_be32(m.b + BTH + 12, qkey);
	rd_put_be32(m.b + BTH + 16, from);
	put(&m, false);
}

/* A query of the subnet administration, or its response. */
static void query(bool response, uint64_t tid)
{
	struct make m = {.n = 0};
	uint8_t *mad = m.b + MAD;

	make_packet(&m, MAKE_V2_IPV4, UD_ONLY, 1, 8 + 256, 0);
	rd_put_be32(m.b + BTH + 12, 0x80010000);
	rd_put_be32(m.b + BTH + 16, 1);
	memset(mad, 0, 256);
	memcpy(mad, "\1\3\2\1", 4);
	if (response)
		mad[3] |= RD_MAD_RESPONSE;
	rd_put_be64(mad + 8, tid);
	rd_put_be16(mad + 16, 0x35);
	put(&m, response);
}

/* The report of a capture in which thousands of packets wait for others. */
static char *report_of_many(void)
{
	json_t *json;
	char *text;

	begin();
	for (uint32_t i = 0; i < MANY; i++) {
		request(0x1000 + i, 16 * i + 100);
		request(0x9000 + i, i % 8); /* as many others do */
		datagram(0x11000 + i, 7, i, i + 1);
		query(false, i);
	}
	for (uint32_t i = 0; i < MANY; i++) {
		ack(0x5000 + i, 16 * i + 100);
		ack(0xd000 + i, i % 8);
		datagram(0x11000 + i, 8, i, i + i % 2);
		query(true, i);
	}
	assert_int_equal(paired(), MANY);
	json = rd_report_json_within(report, SIZE_MAX, JSON_COMPACT);
	assert_non_null(json);
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

/* What the model could not keep is missing from the report, which says so. */
TEST(short_of_memory)
{
	begin();
	assert_null(must(analysis, NULL));
	expect("0 1", rd_analysis_report(analysis, &report, NULL), report->incomplete);
	end();
}

TEST(any_hash_key)
{
	char *first = NULL;

	for (uint64_t key = 1; key <= KEYS; key++) {
		uint64_t differ = 0, answered = 0;
		char *text;

		choose_hash_key(key * 0x123456789abcdef);
		text = report_of_many();
		assert_non_null(text);
		for (size_t i = 0; i < report->n_conversations; i++)
			differ += rd_side_incident(&report->conversations[i].side[0], RD_INC_QKEY)
					  ->count;
		for (size_t i = 0; i < report->n_mads; i++)
			answered += report->mads[i].answered;
		same(differ, MANY / 2, answered, MANY);
		if (first)
			assert_string_equal(text, first);
		end();
		if (first)
			free(text);
		else
			first = text;
	}
	free(first);
}
