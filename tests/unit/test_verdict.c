/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The verdict: what time is spent on, places by what the file has about its capture point, groups
 * of findings, stragglers among equals, hosts and their limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/analysis/rules/rules.h"
#include "leg.h"
#include "test_scene.h"
#include "verdict.h"
#include "words.h"

#define US UINT64_C(1000)

static void at_host(struct scene *s, const char *address)
{
	char json[256];

	snprintf(json, sizeof(json),
		"{\"kind\":\"device\",\"device\":\"mlx5_0\",\"port\":1,\"speed\":100000000000,"
		"\"gids\":[{\"index\":0,\"gid\":\"::ffff:%s\",\"type\":\"RoCE v2\"}]}",
		address);
	rd_analysis_facts(s->a, json, strlen(json));
}

/* --- time ------------------------------------------------------------------------------------- */

/* Each frame comes 10 us after the one before. */
static void each_interval_belongs_to_what_ended_it(void **state)
{
	struct scene s = begin();
	const struct rd_times *t;

	(void)state;
	request(&s, SEND_ONLY, 1);
	respond(&s, ACK, 1, OK); /* waiting 10 */
	s.ns += 490 * US;
	request(&s, SEND_FIRST, 2); /* idle 500 */
	request(&s, SEND_LAST, 3);  /* sending 10 */
	respond(&s, ACK, 3, OK);    /* waiting 10 */
	read_request(&s, 4, 2048);  /* idle 10 */
	s.ns += 70 * US;
	respond(&s, RESP_FIRST, 4, OK); /* waiting 80 */
	s.ns += 20 * US;
	respond(&s, RESP_LAST, 5, OK); /* receiving 30 */
	request(&s, SEND_ONLY, 6);     /* idle 10 */
	respond(&s, ACK, 6, RNR);      /* waiting 10 */
	s.ns += 990 * US;
	request(&s, SEND_ONLY, 6); /* not ready 1000 */
	t = result(&s)->side[0].times;
	assert_non_null(t);
	assert_int_equal(t->ns[RD_TIME_WAITING], (10 + 10 + 80 + 10) * US);
	assert_int_equal(t->ns[RD_TIME_IDLE], (500 + 10 + 10) * US);
	assert_int_equal(t->ns[RD_TIME_SENDING], 10 * US);
	assert_int_equal(t->ns[RD_TIME_RECEIVING], 30 * US);
	assert_int_equal(t->ns[RD_TIME_NOT_READY], 1000 * US);
	assert_int_equal(t->ns[RD_TIME_RECOVERY], 0);
	assert_int_equal(t->pauses, 3);
	assert_int_equal(s.r->verdict.slow.what, RD_TIME_NOT_READY);
	assert_int_equal(s.r->verdict.slow.places, RD_PLACE_RECEIVER_HOST);
	end(&s);
}

static void a_wait_for_a_repeated_request_is_recovery(void **state)
{
	struct scene s = begin();
	const struct rd_times *t;

	(void)state;
	sends(&s, 1, 4);
	respond(&s, ACK, 4, OK);
	request(&s, SEND_ONLY, 5);
	s.ns += 3990 * US;
	request(&s, SEND_ONLY, 5); /* a timeout */
	respond(&s, ACK, 5, OK);
	t = result(&s)->side[0].times;
	assert_int_equal(t->ns[RD_TIME_RECOVERY], (4000 + 10) * US);
	assert_int_equal(s.r->verdict.slow.what, RD_TIME_RECOVERY);
	end(&s);
}

/* Packets that are late, and copies of a mirror port, are no repetition of requests. */
static void late_packets_repeat_nothing(void **state)
{
	(void)state;
	for (int copies = 0; copies < 2; copies++) {
		struct scene s = begin();
		const struct rd_conversation *c;

		for (uint32_t i = 1; i < 100; i += 2) {
			request(&s, SEND_ONLY, i + !copies);
			s.ip_id -= (uint16_t)copies;
			s.ns -= 9 * US * (uint64_t)copies;
			request(&s, SEND_ONLY, i);
			if (copies)
				request(&s, SEND_ONLY, i + 1);
			respond(&s, ACK, i + 1, OK);
		}
		c = result(&s);
		assert_int_equal(count(c, RD_INC_RETRANSMITTED), 0);
		assert_true(count(c, copies ? RD_INC_DUPLICATED : RD_INC_REORDERED) > 40);
		assert_int_equal(c->side[0].times->ns[RD_TIME_RECOVERY], 0);
		assert_null(strstr(s.r->verdict.time ? s.r->verdict.time : "", "repeating"));
		end(&s);
	}
}

/* A request and a reply, each a SEND: the requester waits for the other side's application. */
static void a_reply_is_no_idle_time(void **state)
{
	struct scene s = begin();
	const struct rd_times *t;

	(void)state;
	for (uint32_t i = 1; i < 9; i++) {
		request(&s, SEND_ONLY, i);
		respond(&s, ACK, i, OK);
		s.ns += 29990 * US;
		put(&s, true, SEND_ONLY, 100 + i, NULL, 1024); /* reply 30000 */
		put(&s, false, ACK, 100 + i, (const uint8_t[4]){OK, 0, 0, 1}, 4);
	}
	request(&s, SEND_ONLY, 9);
	t = result(&s)->side[0].times;
	assert_int_equal(t->ns[RD_TIME_REPLY], 8 * 30000 * US);
	assert_int_equal(t->ns[RD_TIME_IDLE], 8 * 20 * US);
	assert_int_equal(s.r->verdict.slow.what, RD_TIME_REPLY);
	assert_int_equal(s.r->verdict.slow.places, RD_PLACE_RECEIVER_HOST);
	end(&s);
}

static void idle(struct scene *s, uint64_t pause)
{
	for (uint32_t i = 1; i < 20; i++) {
		request(s, SEND_ONLY, i);
		respond(s, ACK, i, OK);
		s->ns += pause;
	}
}

/*
 * Short pauses may be those of the path, or of a request that was lost before it was captured,
 * unless the capture is of the requester's port.
 */
static void pauses_belong_to_the_path_or_the_host(void **state)
{
	static const struct {
		uint64_t pause;
		const char *at;
		unsigned int places;
	} cases[] = {
		{200 * US, NULL, RD_PLACE_SENDER_HOST | RD_PLACE_SENDER_NIC | RD_PLACE_FABRIC},
		{200 * US, "10.0.0.1",
			RD_PLACE_SENDER_HOST | RD_PLACE_SENDER_NIC | RD_PLACE_FABRIC},
		{200 * US, "10.0.0.2", RD_PLACE_SENDER_HOST},
		{200000 * US, NULL, RD_PLACE_SENDER_HOST},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene s = begin();

		if (cases[i].at)
			at_host(&s, cases[i].at);
		idle(&s, cases[i].pause);
		result(&s);
		assert_null(s.r->verdict.rule);
		assert_int_equal(s.r->verdict.slow.what, RD_TIME_IDLE);
		assert_int_equal(s.r->verdict.slow.places, cases[i].places);
		end(&s);
	}
}

/* --- places ----------------------------------------------------------------------------------- */

/* Packets 4 and 14 reach the capture point, and the receiver requests them again. */
static void lose_behind(struct scene *s)
{
	sends(s, 1, 6);
	respond(s, ACK, 4, NAK_SEQ);
	sends(s, 4, 10);
	respond(s, ACK, 10, OK);
	sends(s, 11, 16);
	respond(s, ACK, 14, NAK_SEQ);
	sends(s, 14, 20);
	respond(s, ACK, 20, OK);
}

static void where_depends_on_the_host_of_the_capture(void **state)
{
	static const struct {
		const char *at, *also;
		unsigned int places;
		const char *next;
	} cases[] = {
		{NULL, NULL, RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC, "10.0.0.1"},
		{"10.0.0.2", NULL, RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC, "10.0.0.1"},
		{"10.0.0.1", NULL, RD_PLACE_RECEIVER_NIC, ""},
		/* Captures of both ends in one file: it is unknown which of them has a packet. */
		{"10.0.0.1", "10.0.0.2", RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC, "10.0.0.1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene s = begin();

		if (cases[i].at)
			at_host(&s, cases[i].at);
		if (cases[i].also)
			at_host(&s, cases[i].also);
		lose_behind(&s);
		result(&s);
		assert_string_equal(s.r->verdict.rule, "lost-downstream");
		assert_int_equal(s.r->verdict.places, cases[i].places);
		assert_string_equal(s.r->verdict.capture_next, cases[i].next);
		assert_string_equal(s.r->verdict.sender, "10.0.0.2");
		assert_string_equal(s.r->verdict.receiver, "10.0.0.1");
		assert_true(s.r->verdict.where < RD_CERTAIN);
		assert_non_null(strstr(s.r->verdict.place,
			*cases[i].next ? "cannot be seen from here" : "the NIC of 10.0.0.1"));
		end(&s);
	}
}

/* Frames that may be RDMA traffic are the verdict, not that others are none. */
static void frames_that_are_cut_are_the_verdict(void **state)
{
	struct scene s = begin();

	(void)state;
	s.reserved = 0x3f;
	sends(&s, 1, 3);
	s.cut = 30;
	sends(&s, 4, 9);
	assert_certainty(&s, "no-rdma", RD_POSSIBLE);
	assert_string_equal(s.r->verdict.rule, "not-understood");
	assert_memory_equal(s.r->verdict.what, "Frames are cut before", 21);
	end(&s);
}

static void a_long_wait_has_its_length(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t i = 1; i < 20; i++) {
		request(&s, SEND_ONLY, i);
		s.ns += i == 10 ? 333000 * US : 0;
		respond(&s, ACK, i, OK);
	}
	result(&s);
	assert_string_equal(s.r->verdict.rule, "stall");
	assert_non_null(strstr(s.r->verdict.how_much, "; the longest took 333 ms."));
	end(&s);
}

/* Two QPs wait for responses, and nothing else happens. */
static void a_silence_has_no_place(void **state)
{
	const uint8_t ok[] = {OK, 0, 0, 1};
	struct scene s = begin();

	(void)state;
	for (uint32_t i = 1; i < 20; i++) {
		for (uint32_t qp = 0; qp < 2; qp++) {
			s.qp = 0x100 + qp;
			put(&s, false, SEND_ONLY, i, NULL, 1024);
		}
		s.ns += i == 10 ? 77000 * US : 0;
		for (uint32_t qp = 0; qp < 2; qp++) {
			s.qp = 0x200 + qp;
			put(&s, true, ACK, i, ok, sizeof(ok));
		}
	}
	result(&s);
	assert_string_equal(s.r->verdict.rule, "silence");
	assert_int_equal(s.r->verdict.places, RD_PLACE_ALL);
	assert_string_equal(s.r->verdict.place, "Where it happened cannot be seen from here.");
	assert_string_equal(s.r->verdict.how_much, "Pauses: 1; the longest took 77 ms.");
	end(&s);
}

/* Packets 4 and 14 are captured as retransmissions only. */
static void lose_before(struct scene *s)
{
	sends(s, 1, 3);
	sends(s, 5, 6);
	respond(s, ACK, 4, NAK_SEQ);
	sends(s, 4, 10);
	respond(s, ACK, 10, OK);
	sends(s, 11, 13);
	sends(s, 15, 16);
	respond(s, ACK, 14, NAK_SEQ);
	sends(s, 14, 20);
	respond(s, ACK, 20, OK);
}

static void the_sender_is_to_blame_only_if_seen_there(void **state)
{
	static const struct {
		const char *at, *also;
		unsigned int places;
	} cases[] = {
		{NULL, NULL, RD_PLACE_SENDER_NIC | RD_PLACE_FABRIC},
		{"10.0.0.1", NULL, RD_PLACE_SENDER_NIC | RD_PLACE_FABRIC},
		{"10.0.0.2", NULL, RD_PLACE_SENDER_NIC},
		{"10.0.0.1", "10.0.0.2", RD_PLACE_SENDER_NIC | RD_PLACE_FABRIC},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene s = begin();

		if (cases[i].at)
			at_host(&s, cases[i].at);
		if (cases[i].also)
			at_host(&s, cases[i].also);
		lose_before(&s);
		result(&s);
		assert_string_equal(s.r->verdict.rule, "lost-upstream");
		assert_int_equal(s.r->verdict.places, cases[i].places);
		end(&s);
	}
}

/* With several files it is unknown which one is of the host in the facts. */
static void facts_of_one_of_several_files_say_nothing(void **state)
{
	struct scene s = begin();

	(void)state;
	at_host(&s, "10.0.0.1");
	assert_int_equal(rd_analysis_file(s.a, "second", "made", NULL, NULL), 0);
	lose_behind(&s);
	result(&s);
	assert_int_equal(s.r->verdict.places, RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC);
	end(&s);
}

static void a_refusal_by_the_receiver_is_certain(void **state)
{
	struct scene s = begin();

	(void)state;
	sends(&s, 1, 4);
	respond(&s, ACK, 4, RNR);
	sends(&s, 4, 6);
	respond(&s, ACK, 6, OK);
	result(&s);
	assert_string_equal(s.r->verdict.rule, "rnr");
	assert_int_equal(s.r->verdict.places, RD_PLACE_RECEIVER_HOST);
	assert_int_equal(s.r->verdict.where, RD_LIKELY);
	assert_int_equal(s.r->verdict.certainty, RD_CERTAIN);
	end(&s);
}

static void one_direction_is_no_clean_bill(void **state)
{
	struct scene s = begin();

	(void)state;
	sends(&s, 1, 30);
	result(&s);
	assert_null(s.r->verdict.rule);
	assert_int_equal(s.r->verdict.places, RD_PLACE_ALL);
	assert_non_null(strstr(s.r->verdict.what, "only one direction"));
	end(&s);
}

/* Three packets were acknowledged that the capture does not have, and no fault is seen. */
static void a_capture_with_gaps_is_no_clean_bill(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t psn = 1; psn <= 40; psn++) {
		if (psn < 20 || psn > 22)
			request(&s, SEND_ONLY, psn);
		if (psn < 20 || psn > 21)
			respond(&s, ACK, psn, OK);
	}
	result(&s);
	assert_null(s.r->verdict.rule);
	assert_non_null(strstr(s.r->verdict.what, "the capture is not whole: it lacks at least 3"));
	assert_non_null(strstr(s.r->verdict.what, "cannot be known"));
	assert_int_equal(s.r->verdict.places, RD_PLACE_ALL);
	end(&s);
}

/* The file says that frames were lost, and no fault is seen. */
static void a_capture_that_lost_frames_is_no_clean_bill(void **state)
{
	struct scene s = begin();

	(void)state;
	for (uint32_t psn = 1; psn <= 40; psn++) {
		request(&s, SEND_ONLY, psn);
		respond(&s, ACK, psn, OK);
	}
	rd_analysis_dropped(s.a, 7);
	rd_analysis_file_end(s.a, 7, true, NULL);
	result(&s);
	assert_string_equal(s.r->verdict.rule, "capture-lost");
	assert_non_null(strstr(s.r->verdict.what, "cannot be known"));
	end(&s);
}

/* --- words -------------------------------------------------------------------------------------
 */

static void a_host_is_named_once_for_two_places(void **state)
{
	static const struct {
		unsigned int places;
		const char *text;
	} cases[] = {
		{RD_PLACE_SENDER_NIC | RD_PLACE_FABRIC, "the NIC of A or the fabric"},
		{RD_PLACE_SENDER_HOST | RD_PLACE_RECEIVER_HOST, "the application on A or on B"},
		{RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST, "the NIC or the application on B"},
		{RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST,
			"the fabric, the NIC or the application on B"},
		{RD_PLACE_SENDER_HOST | RD_PLACE_FABRIC | RD_PLACE_RECEIVER_HOST,
			"the application on A, the fabric or the application on B"},
		{RD_PLACE_ALL, "the application or the NIC of A, the fabric, the NIC or the "
			       "application on B"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[128] = "";
		FILE *out = fmemopen(text, sizeof(text), "w");

		assert_non_null(out);
		put_places(out, cases[i].places, "A", "B");
		fclose(out);
		assert_string_equal(text, cases[i].text);
	}
}

static void two_times_differ_in_their_digits(void **state)
{
	static const struct {
		uint64_t since, until;
		const char *text;
	} cases[] = {
		{402113 * US, 402250 * US, ", from 0.402113 s to 0.402250 s"},
		{402113 * US, 1402250 * US, ", from 0.402 s to 1.402 s"},
		{402113 * US, 402113 * US, ", at 0.402 s"},
		{113 * US, 250 * US, ", from 0.000113 s to 0.000250 s"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_report r = {.totals.first_ns = 5000 * US};
		char text[128] = "";
		FILE *out = fmemopen(text, sizeof(text), "w");

		assert_non_null(out);
		r.verdict.since_ns = 5000 * US + cases[i].since;
		r.verdict.until_ns = 5000 * US + cases[i].until;
		put_since(out, &r);
		fclose(out);
		assert_string_equal(text, cases[i].text);
	}
}

static void abbreviations_stay_in_capitals(void **state)
{
	static const char *const cases[][2] = {{"A response", "a response"},
		{"Packets are", "packets are"}, {"DSCP 26", "DSCP 26"}, {"10.0.0.1", "10.0.0.1"},
		{"", ""}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[32];

		strcpy(text, cases[i][0]);
		lower_first(text);
		assert_string_equal(text, cases[i][1]);
	}
}

static void another_finding_is_of_its_own_sender(void **state)
{
	static const struct {
		const char *title;
		size_t n;
		const char *text;
	} cases[] = {
		{"CNPs do not slow this sender down", 1, "CNPs do not slow the sender down"},
		{"CNPs do not slow this sender down", 6, "CNPs do not slow the senders down"},
		{"packets are lost", 6, "packets are lost"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_finding f = {.rule = "rule"};
		char text[64] = "", title[64];
		FILE *out = fmemopen(text, sizeof(text), "w");

		assert_non_null(out);
		strcpy(title, cases[i].title);
		f.title = title;
		put_other_title(out, &f, cases[i].n);
		fclose(out);
		assert_string_equal(text, cases[i].text);
	}
}

/* --- groups ----------------------------------------------------------------------------------- */

static struct rd_finding *add(struct rd_report *r, const char *rule, enum rd_severity severity,
	unsigned int conversation, uint64_t count)
{
	struct rd_finding *f = rd_findings_add(&r->findings);

	assert_non_null(f);
	f->rule = rule;
	f->severity = severity;
	f->certainty = RD_LIKELY;
	f->conversation = conversation;
	f->evidence.count = count;
	rd_finding_title(f, "title");
	rd_finding_where(f, "where");
	return f;
}

static void a_group_has_all_findings_of_a_rule(void **state)
{
	struct rd_report r = {0};

	(void)state;
	add(&r, "gave-up", RD_SEV_PROBLEM, 3, 7);
	add(&r, "rnr", RD_SEV_WARNING, 1, 1);
	add(&r, "gave-up", RD_SEV_PROBLEM, 2, 5);
	assert_int_equal(groups_make(&r), 0);
	assert_int_equal(r.groups.n, 2);
	assert_string_equal(r.groups.group[0].rule, "gave-up");
	assert_int_equal(r.groups.group[0].n, 2);
	assert_int_equal(r.groups.group[0].count, 12);
	assert_int_equal(r.groups.group[0].finding[1], 2);
	assert_int_equal(r.groups.group[1].finding[0], 1);
	groups_free(&r.groups);
	rd_findings_free(&r.findings);
}

/* `times` RNR NAKs for each of the requests of one direction of a QP pair. */
static void not_ready(
	struct scene *s, uint32_t to, uint32_t from, bool back, uint32_t psn, int times)
{
	const uint8_t aeth[] = {RNR, 0, 0, 1}, ok[] = {OK, 0, 0, 1};

	for (; times; times--) {
		s->qp = to;
		put(s, back, SEND_ONLY, psn, NULL, 1024);
		s->qp = from;
		put(s, !back, ACK, psn, aeth, sizeof(aeth));
	}
	s->qp = to;
	put(s, back, SEND_ONLY, psn, NULL, 1024);
	s->qp = from;
	put(s, !back, ACK, psn, ok, sizeof(ok));
}

/* A pair whose directions have findings of their own is one, and a flow of datagrams is no pair. */
static void a_pair_is_counted_once(void **state)
{
	struct scene s = begin();
	const char *all = "This concerns both QP pairs: ";

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		not_ready(&s, 0x100, 0x200, false, 1000 + i, 3);
		not_ready(&s, 0x101, 0x201, false, 500000 + i, 2);
		not_ready(&s, 0x200, 0x100, true, 900000 + i, 1);
	}
	s.qp = 0x300;
	request(&s, UD_ONLY, 1);
	assert_int_equal(rd_analysis_report(s.a, &s.r, NULL), 0);
	assert_string_equal(s.r->verdict.rule, "rnr");
	if (!strstr(s.r->verdict.whom, all))
		fail_msg("'%s' in '%s'", all, s.r->verdict.whom);
	end(&s);
}

/* --- stragglers ------------------------------------------------------------------------------- */

struct peer {
	struct rd_latency latency;
	struct rd_verb_use verb;
	struct rd_times times;
};

/* Conversations of 10.0.0.1 with 10.0.1.1, 10.0.1.2 ..., whose responses take so long. */
static struct rd_report equals(
	struct peer *peers, struct rd_conversation *c, const uint64_t *us, size_t n)
{
	struct rd_report r = {.conversations = c, .n_conversations = n};

	r.totals.last_ns = 1000 * US;
	for (size_t i = 0; i < n; i++) {
		struct rd_side *s;

		peers[i] = (struct peer){{.n = 50, .p50 = us[i] * US},
			{.messages = 50, .bytes = 50 * 4096}, {.ns = {1}}};
		c[i] = (struct rd_conversation){.id = (unsigned int)i + 1, .transport = RD_RC};
		s = &c[i].side[0];
		snprintf(c[i].a.address, sizeof(c[i].a.address), "10.0.0.1");
		snprintf(c[i].b.address, sizeof(c[i].b.address), "10.0.1.%zu", i + 1);
		s->requests = 50;
		s->last_ns = 1000 * US;
		s->times = &peers[i].times;
		s->latencies = &peers[i].latency;
		s->has_latencies = 1 << RD_LATENCY_ACK;
		s->verbs = &peers[i].verb;
		s->has_verbs = 1 << RD_VERB_WRITE;
		c[i].side[1].seen = true;
	}
	return r;
}

static void a_straggler_is_far_slower_than_its_equals(void **state)
{
	static const uint64_t us[] = {10, 11, 90, 12, 9}, even[] = {10, 11, 39, 12, 9};
	struct rd_stragglers s = {0}, none = {0};
	struct rd_conversation c[5];
	struct peer peers[5];
	struct rd_report r = equals(peers, c, us, 5);

	(void)state;
	assert_int_equal(stragglers_find(&r, &s), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.of, 5);
	assert_int_equal(s.conversation[0], 3);
	assert_int_equal(s.median_ns, 11 * US);
	assert_string_equal(s.host, "10.0.1.3");
	r = equals(peers, c, even, 5);
	assert_int_equal(stragglers_find(&r, &none), 0);
	assert_int_equal(none.n, 0);
}

/* The slow one may end before the others, or begin after them. */
static void a_straggler_may_end_early(void **state)
{
	static const uint64_t us[] = {10, 11, 90, 12, 9};
	struct rd_conversation c[5];
	struct peer peers[5];
	struct rd_report r = equals(peers, c, us, 5);
	struct rd_stragglers early = {0}, late = {0};

	(void)state;
	c[2].side[0].last_ns = 200 * US;
	assert_int_equal(stragglers_find(&r, &early), 0);
	assert_int_equal(early.n, 1);
	assert_int_equal(early.of, 5);
	assert_int_equal(early.conversation[0], 3);
	c[2].side[0].first_ns = 850 * US;
	c[2].side[0].last_ns = 1000 * US;
	assert_int_equal(stragglers_find(&r, &late), 0);
	assert_int_equal(late.n, 1);
}

/* One that was there at another time, or for a moment, is no equal; one that sends less is. */
static void a_straggler_is_there_with_its_equals(void **state)
{
	static const uint64_t us[] = {10, 11, 90, 12, 9, 10}, same[] = {10, 11, 10, 12, 9, 10};
	struct rd_conversation c[6];
	struct peer peers[6];
	struct rd_report r = equals(peers, c, us, 6);
	struct rd_stragglers before = {0}, moment = {0}, less = {0};

	(void)state;
	for (size_t i = 0; i < 6; i++)
		c[i].side[0].first_ns = i == 2 ? 0 : 500 * US;
	c[2].side[0].last_ns = 600 * US;
	assert_int_equal(stragglers_find(&r, &before), 0);
	assert_int_equal(before.n, 0);
	c[2].side[0].first_ns = 550 * US;
	assert_int_equal(stragglers_find(&r, &moment), 0);
	assert_int_equal(moment.n, 0);
	r = equals(peers, c, same, 6);
	peers[2].latency.n = peers[2].verb.messages = 10;
	peers[2].verb.bytes = 10 * 4096;
	c[2].side[0].requests = 10;
	c[2].side[0].last_ns = 300 * US;
	assert_int_equal(stragglers_find(&r, &less), 0);
	assert_int_equal(less.n, 0);
}

static void others_are_no_equals(void **state)
{
	static const uint64_t us[] = {10, 11, 90, 12, 9};
	struct rd_stragglers s = {0}, brief = {0};
	struct rd_conversation c[5];
	struct peer peers[5];
	struct rd_report r = equals(peers, c, us, 5);

	(void)state;
	peers[2].verb.bytes *= 100; /* larger messages */
	assert_int_equal(stragglers_find(&r, &s), 0);
	assert_int_equal(s.n, 0);
	r = equals(peers, c, us, 5);
	c[2].side[0].last_ns = 100 * US; /* there for a short time */
	assert_int_equal(stragglers_find(&r, &brief), 0);
	assert_int_equal(brief.n, 0);
}

/* --- hosts ------------------------------------------------------------------------------------ */

/* A SEND from another host of 10.0.0.0/8. */
static void send_from(struct scene *s, uint32_t host, uint64_t ns)
{
	struct make m = {.n = 0};
	struct rd_frame frame = {.ts_ns = ns};

	make_packet(&m, MAKE_V2_IPV4, SEND_ONLY, RESPONDER, 64, 0);
	rd_put_be32(m.b + 14 + 12, 0x0a000000 + host);
	frame.data = m.b;
	frame.caplen = frame.len = m.n;
	rd_analysis_frames(s->a, RD_LINK_ETHERNET, &frame, 1);
}

static const struct rd_host *receiver_of(const struct scene *s)
{
	const struct rd_host *h = host_of(s->r, s->r->conversations[0].b.address);

	assert_non_null(h);
	return h;
}

static void a_burst_is_what_arrives_within_100_us(void **state)
{
	struct scene s = begin();
	const struct rd_host *h;

	(void)state;
	send_from(&s, 0x100, 1000000000);
	send_from(&s, 0x101, 1000099999);
	send_from(&s, 0x102, 1000100000); /* begins the next 100 us */
	send_from(&s, 0x103, 1000150000);
	send_from(&s, 0x104, 1000199999);
	send_from(&s, 0x105, 1000200001);
	assert_int_equal(rd_analysis_report(s.a, &s.r, NULL), 0);
	h = receiver_of(&s);
	assert_int_equal(h->received_frames, 6);
	assert_int_equal(h->senders, 6);
	assert_int_equal(h->peak_bytes * 2, h->received_bytes);
	assert_int_equal(h->peak_ns, 1000100000);
	assert_int_equal(h->peak_frame, 3);
	assert_int_equal(h->peak_senders, 3);
	assert_int_equal(h->most_senders, 3);
	end(&s);
}

static void hosts_beyond_the_limit_are_counted(void **state)
{
	enum { N = HOSTS_MAX + 500 };
	struct scene s = begin();
	uint64_t frames = 0;

	(void)state;
	for (uint32_t i = 0; i < N; i++)
		send_from(&s, 0x100 + i, 1000000000 + i * 1000);
	assert_int_equal(rd_analysis_report(s.a, &s.r, NULL), 0);
	assert_int_equal(s.r->hosts.n, HOSTS_MAX);
	for (size_t i = 0; i < s.r->hosts.n_pairs; i++)
		frames += s.r->hosts.pair[i].frames;
	assert_int_equal(frames, HOSTS_MAX - 1);
	assert_int_equal(s.r->hosts.frames_left_out, N - frames);
	end(&s);
}

/* --- more findings than a report has ---------------------------------------------------------- */

#define COMMON 136 /* of 200, beside 64 of the rare ones */

static const char *const cut_rules[] = {"common", "rare"};

/* Of the second rule only every tenth, as notes; counts grow. */
static void add_finding(struct rd_findings *list, unsigned int i)
{
	struct rd_finding *f = rd_findings_add(list);
	bool rare = i % 10 == 9;

	assert_non_null(f);
	f->rule = cut_rules[rare];
	f->severity = rare ? RD_SEV_NOTE : RD_SEV_PROBLEM;
	f->conversation = 1 + i / 20;
	f->evidence.count = i;
	f->evidence.first_ns = 5000 - i;
	rd_finding_where(f, "here");
	rd_finding_title(f, "this");
	findings_bound(list, 200);
}

static void worst_of_each_rule_are_kept(void **state)
{
	struct rd_report r = {0};
	struct rd_findings *list = &r.findings;

	(void)state;
	for (unsigned int i = 0; i < 2000; i++)
		add_finding(list, i);
	assert_true(findings_finish(list, 200));
	assert_int_equal(list->n, COMMON + 64);
	for (unsigned int i = 0, count = 1999; i < list->n; i++, count--) {
		const struct rd_finding *f = &list->finding[i];
		bool rare = i >= COMMON;

		if (i == COMMON)
			count = 1999;
		while ((count % 10 == 9) != rare)
			count--;
		assert_string_equal(f->rule, cut_rules[rare]);
		assert_int_equal(f->evidence.count, count);
	}
	assert_int_equal(rd_findings_left_out(list, NULL, RD_SEV_NONE), 2000 - 200);
	assert_int_equal(rd_findings_left_out(list, NULL, RD_SEV_WARNING), 1800 - COMMON);
	assert_int_equal(rd_findings_left_out(list, "rare", RD_SEV_NONE), 200 - 64);
	assert_int_equal(groups_make(&r), 0);
	assert_int_equal(r.groups.n, 2);
	assert_int_equal(r.groups.group[0].n, COMMON);
	assert_int_equal(r.groups.group[0].left_out, 1800 - COMMON);
	assert_int_equal(r.groups.group[0].conversations, 100);
	assert_int_equal(r.groups.group[0].first_ns, 5000 - 1998);
	assert_int_equal(r.groups.group[1].count, 200 * (9 + 1999) / 2);
	groups_free(&r.groups);
	rd_findings_free(list);
}

/* --- groups ----------------------------------------------------------------------------------- */

/* What the verdict rests on comes before what is as severe, and after what is more severe. */
static void groups_are_in_the_order_of_severity(void **state)
{
	struct rd_finding list[] = {{.rule = "counter", .severity = RD_SEV_PROBLEM},
		{.rule = "stall", .severity = RD_SEV_WARNING},
		{.rule = "timeout", .severity = RD_SEV_WARNING},
		{.rule = "ecn", .severity = RD_SEV_NOTE}};
	struct rd_report r = {.findings = {.finding = list, .n = 4}};

	(void)state;
	assert_int_equal(groups_make(&r), 0);
	groups_lead(&r.groups, &r.findings, "timeout");
	assert_string_equal(r.groups.group[0].rule, "counter");
	assert_string_equal(r.groups.group[1].rule, "timeout");
	assert_string_equal(r.groups.group[2].rule, "stall");
	assert_string_equal(r.groups.group[3].rule, "ecn");
	groups_free(&r.groups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worst_of_each_rule_are_kept),
		cmocka_unit_test(groups_are_in_the_order_of_severity),
		cmocka_unit_test(each_interval_belongs_to_what_ended_it),
		cmocka_unit_test(a_wait_for_a_repeated_request_is_recovery),
		cmocka_unit_test(late_packets_repeat_nothing),
		cmocka_unit_test(a_reply_is_no_idle_time),
		cmocka_unit_test(pauses_belong_to_the_path_or_the_host),
		cmocka_unit_test(where_depends_on_the_host_of_the_capture),
		cmocka_unit_test(the_sender_is_to_blame_only_if_seen_there),
		cmocka_unit_test(facts_of_one_of_several_files_say_nothing),
		cmocka_unit_test(frames_that_are_cut_are_the_verdict),
		cmocka_unit_test(a_long_wait_has_its_length),
		cmocka_unit_test(a_silence_has_no_place),
		cmocka_unit_test(a_refusal_by_the_receiver_is_certain),
		cmocka_unit_test(one_direction_is_no_clean_bill),
		cmocka_unit_test(a_capture_with_gaps_is_no_clean_bill),
		cmocka_unit_test(a_capture_that_lost_frames_is_no_clean_bill),
		cmocka_unit_test(a_host_is_named_once_for_two_places),
		cmocka_unit_test(two_times_differ_in_their_digits),
		cmocka_unit_test(abbreviations_stay_in_capitals),
		cmocka_unit_test(another_finding_is_of_its_own_sender),
		cmocka_unit_test(a_group_has_all_findings_of_a_rule),
		cmocka_unit_test(a_pair_is_counted_once),
		cmocka_unit_test(a_straggler_is_far_slower_than_its_equals),
		cmocka_unit_test(a_straggler_may_end_early),
		cmocka_unit_test(a_straggler_is_there_with_its_equals),
		cmocka_unit_test(others_are_no_equals),
		cmocka_unit_test(a_burst_is_what_arrives_within_100_us),
		cmocka_unit_test(hosts_beyond_the_limit_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
