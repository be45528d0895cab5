/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of what two captures together conclude: the cause, its place, how certain both are. */
#include "test_ends_make.h"
#include <stdlib.h>

/* What the report of each capture alone has of the QP pair. */
struct alone {
	struct rd_report report;
	struct rd_conversation c; /* 10.0.0.2 QP 0x200 -> 10.0.0.1 QP 0x100 */
	struct rd_incident once[2];
	struct rd_verb_use verb;
	struct rd_times times;
	struct rd_owner owner;
};

static struct alone alone[RD_TAPS];

static void make_alone(void)
{
	memset(alone, 0, sizeof(alone));
	for (int end = 0; end < RD_TAPS; end++) {
		struct alone *x = &alone[end];

		x->c = (struct rd_conversation){.id = 1,
			.transport = RD_RC,
			.a = {"10.0.0.2", 0x200},
			.b = {"10.0.0.1", 0x100}};
		x->once[0].count = x->once[1].count = 1;
		x->c.side[0].incidents = x->once;
		x->report.conversations = &x->c;
		x->report.n_conversations = 1;
		x->report.totals.first_ns = START;
	}
	begin();
}

/* A finding of one capture about the requests. */
static void find_alone(enum rd_tap end, const char *rule, enum rd_severity severity,
	enum rd_certainty certainty, uint64_t at)
{
	struct rd_finding *f = rd_findings_add(&alone[end].report.findings);

	f->rule = rule;
	f->severity = severity;
	f->certainty = certainty;
	f->conversation = 1;
	f->evidence =
		(struct rd_evidence){.count = 1, .first_ns = START + at, .last_ns = START + at};
	rd_finding_title(f, "a title");
	rd_finding_where(f, "10.0.0.2 QP 0x200 -> 10.0.0.1 QP 0x100");
}

static struct rd_ends_report *conclude(void)
{
	const struct rd_report *const reports[RD_TAPS] = {&alone[0].report, &alone[1].report};
	struct rd_ends_report *r;

	for (int end = 0; end < RD_TAPS; end++)
		assert_int_equal(verdict_make(&alone[end].report), 0);
	rd_ends_file_end(two.e, RD_TAP_A);
	rd_ends_file_end(two.e, RD_TAP_B);
	assert_int_equal(rd_ends_report(two.e, reports, &r, NULL), 0);
	rd_ends_close(two.e);
	return r;
}

static void discard(struct rd_ends_report *r)
{
	rd_ends_report_free(r);
	for (int end = 0; end < RD_TAPS; end++) {
		struct rd_report *x = &alone[end].report;

		verdict_free(&x->verdict);
		groups_free(&x->groups);
		rd_findings_free(&x->findings);
		free(x->place_of);
	}
}

/* Requests and their ACKs in both captures, from PSN `from` on. */
static void exchange(uint32_t from, uint32_t n)
{
	for (uint32_t i = from; i < from + n; i++) {
		request(i, i * 10 * US);
		answer(i, 0, i * 10 * US + 5 * US);
	}
}

/* A packet that the path loses, and that the receiver asks for. */
static void lose(uint32_t psn)
{
	const uint64_t t = psn * 10 * US;

	see(RD_TAP_A, false, psn, 0, t);
	request(psn + 1, t + US);
	answer(psn, 0x60, t + 5 * US);
	two.changed = 1;
	request(psn, t + 10 * US);
	request(psn + 1, t + 11 * US);
	answer(psn + 1, 0, t + 16 * US);
}

static void expect(const struct rd_ends_report *r, const char *rule, unsigned int places,
	enum rd_certainty certainty, enum rd_certainty where)
{
	assert_non_null(r->verdict.rule);
	assert_string_equal(r->verdict.rule, rule);
	assert_int_equal(r->verdict.places, places);
	assert_int_equal(r->verdict.certainty, certainty);
	assert_int_equal(r->verdict.where, where);
}

static void test_nothing(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	make_alone();
	exchange(0, 100);
	r = conclude();
	assert_null(r->verdict.rule);
	assert_int_equal(r->missed_by, 0);
	assert_null(r->verdict.place);
	assert_memory_equal(r->verdict.what, "No fault was found: nothing was lost", 36);
	assert_non_null(strstr(r->verdict.what, "nothing refused or repeated"));
	discard(r);
	make_alone();
	exchange(0, 100);
	alone[1].c.side[0].has_incidents = UINT64_C(1) << RD_INC_RETRANSMITTED;
	r = conclude();
	assert_non_null(strstr(r->verdict.what, "but packets were retransmitted"));
	discard(r);
	/* Neither capture has responses: they cannot show that nothing was refused. */
	for (int both = 0; both < 2; both++) {
		make_alone();
		find_alone(RD_TAP_A, "one-sided", RD_SEV_NOTE, RD_LIKELY, 0);
		if (both)
			find_alone(RD_TAP_B, "one-sided", RD_SEV_NOTE, RD_LIKELY, 0);
		exchange(0, 100);
		r = conclude();
		assert_null(r->verdict.rule);
		assert_int_equal(!strstr(r->verdict.what, "nothing refused"), both);
		assert_int_equal(!strstr(r->verdict.what, "Capture both directions"), !both);
		discard(r);
	}
}

static void test_lost_between(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	make_alone();
	exchange(0, 100);
	lose(100);
	exchange(102, 50);
	r = conclude();
	expect(r, "lost-between", RD_PLACE_FABRIC, RD_LIKELY, RD_LIKELY);
	assert_string_equal(r->verdict.sender, "10.0.0.2");
	assert_string_equal(r->verdict.receiver, "10.0.0.1");
	assert_int_equal(r->verdict.count, 1);
	assert_non_null(
		strstr(r->verdict.how_much, "Packets lost: 1 of 154 transmissions (0.65 %), at "
					    "0.001"));
	assert_non_null(strstr(r->verdict.place, "the fabric between the two capture points"));
	assert_non_null(strstr(r->verdict.whom, "packets to 1 of 2 QPs: 10.0.0.2 -> 10.0.0.1 QP"));
	discard(r);
}

/* Nothing shows whether the receiver's capture missed it: that is a place, too. */
/* Every finding is in the group of its rule, and the groups are in the JSON. */
static void test_groups(void **state)
{
	struct rd_ends_report *r;
	json_t *json;
	size_t n = 0;

	(void)state;
	make_alone();
	exchange(0, 100);
	lose(100);
	exchange(102, 50);
	r = conclude();
	json = rd_ends_json(r);
	assert_int_equal(json_array_size(json_object_get(json, "groups")), r->groups.n);
	assert_in_range(r->groups.n, 1, r->findings.n);
	for (size_t i = 0; i < r->groups.n; i++) {
		const struct rd_group *g = &r->groups.group[i];
		const json_t *one = json_array_get(json_object_get(json, "groups"), i);

		for (size_t k = 0; k < g->n; k++)
			assert_string_equal(r->findings.finding[g->finding[k]].rule, g->rule);
		assert_string_equal(json_string_value(json_object_get(one, "rule")), g->rule);
		assert_int_equal(json_integer_value(json_object_get(one, "findings_in_all")), g->n);
		n += g->n;
	}
	assert_int_equal(n, r->findings.n);
	assert_string_equal(r->groups.group[0].rule, "lost-between");
	json_decref(json);
	discard(r);
}

static void test_lost_or_missed(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	make_alone();
	exchange(0, 100);
	see(RD_TAP_A, false, 100, 0, MS);
	request(101, MS + 10 * US);
	r = conclude();
	expect(r, "lost-between", RD_PLACE_FABRIC, RD_POSSIBLE, RD_POSSIBLE);
	assert_int_equal(r->missed_by, 1U << RD_TAP_B);
	assert_memory_equal(r->verdict.what, "Possibly: ", 10);
	assert_non_null(strstr(r->verdict.place, "or in capture B itself"));
	discard(r);
}

/* Lost outside of both capture points: in a NIC, if its capture was made at its port. */
static void test_lost_outside(void **state)
{
	(void)state;
	for (unsigned int known = 0; known < 2; known++) {
		const enum rd_certainty where = known ? RD_LIKELY : RD_POSSIBLE;
		struct rd_ends_report *r;

		make_alone();
		two.directions = known;
		for (int end = 0; end < RD_TAPS; end++)
			alone[end].c.side[0].has_incidents = UINT64_C(1) << RD_INC_LOST_UPSTREAM;
		exchange(0, 100);
		r = conclude();
		assert_string_equal(r->verdict.rule, "lost-in-sender");
		assert_int_equal(r->verdict.places, RD_PLACE_SENDER_NIC);
		assert_int_equal(r->verdict.where,
			r->verdict.certainty < where ? r->verdict.certainty : where);
		assert_int_equal(!strstr(r->verdict.place, "if A was captured at"), known);
		discard(r);

		make_alone();
		two.directions = known;
		alone[1].c.side[0].has_incidents = UINT64_C(1) << RD_INC_LOST_DOWNSTREAM;
		exchange(0, 100);
		r = conclude();
		expect(r, "lost-downstream-of-receiver", RD_PLACE_RECEIVER_NIC, RD_LIKELY, where);
		assert_int_equal(!strstr(r->verdict.place, "if B was captured at"), known);
		discard(r);
	}
}

/* What one capture takes for lost while the other one did not run may be lost between them. */
static void test_lost_while_one_ran(void **state)
{
	/* The last one is in the error of the clock's offset. */
	static const uint64_t at[] = {500 * US, (uint64_t)-500 * US, US};

	(void)state;
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		struct rd_ends_report *r;

		make_alone();
		two.directions = true;
		exchange(0, 100);
		find_alone(RD_TAP_B, "lost-upstream", RD_SEV_PROBLEM, RD_LIKELY, at[i]);
		r = conclude();
		assert_string_equal(r->verdict.rule, "lost-upstream");
		assert_int_equal(r->verdict.places,
			i ? RD_PLACE_SENDER_NIC | RD_PLACE_FABRIC : RD_PLACE_SENDER_NIC);
		discard(r);
	}
}

/*
 * A receiver may take packets for lost that only arrive in another order: then the path is the
 * cause. Here the copies of a retransmitted packet leave open which of them was late.
 */
static void test_reordered_not_lost(void **state)
{
	(void)state;
	for (unsigned int other_order = 0; other_order < 2; other_order++) {
		struct rd_ends_report *r;

		make_alone();
		two.directions = true;
		find_alone(RD_TAP_A, "lost-downstream", RD_SEV_PROBLEM, RD_LIKELY, 20 * MS);
		for (uint32_t i = 0; i < 100; i++) {
			see(RD_TAP_A, false, i, 0, i * 100 * US);
			see(RD_TAP_B, false, i, 0, i * 100 * US + (i % 2 ? DELAY : 60 * US));
			answer(i, 0, i * 100 * US + 70 * US);
		}
		see(RD_TAP_A, false, 100, 0, 20 * MS);
		see(RD_TAP_A, false, 101, 0, 20 * MS + 10 * US);
		see(RD_TAP_A, false, 100, 0, 20 * MS + 30 * US);
		see(RD_TAP_B, false, 100 + other_order, 0, 20 * MS + 12 * US);
		see(RD_TAP_B, false, 101 - other_order, 0, 20 * MS + 32 * US);
		see(RD_TAP_B, false, 100, 0, 20 * MS + 50 * US);
		answer(101, 0, 21 * MS);
		r = conclude();
		assert_string_equal(r->verdict.rule, "lost-downstream");
		assert_int_equal(!(r->verdict.places & RD_PLACE_FABRIC), !other_order);
		discard(r);
	}
}

static void test_capture_missed(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	make_alone();
	for (uint32_t i = 0; i < 100; i++) {
		if (i % 10 == 5)
			see(RD_TAP_A, false, i, 0, i * 10 * US);
		else
			request(i, i * 10 * US);
		answer(i, 0, i * 10 * US + 5 * US);
	}
	r = conclude();
	expect(r, "missed-at-receiver", 0, RD_LIKELY, RD_LIKELY);
	assert_int_equal(r->missed_by, 1U << RD_TAP_B);
	assert_memory_equal(r->verdict.what, "No fault was found, but the capture at 10.0.0.1", 47);
	discard(r);
}

/* A sender that gives up: the path had all packets, or lost the last one. */
static void test_gave_up(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	make_alone();
	exchange(0, 100);
	find_alone(RD_TAP_A, "gave-up", RD_SEV_PROBLEM, RD_LIKELY, MS / 2);
	r = conclude();
	expect(r, "gave-up", RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST, RD_LIKELY,
		RD_POSSIBLE);
	assert_non_null(strstr(r->verdict.place, "if B was captured at the port"));
	discard(r);

	make_alone();
	exchange(0, 100);
	lose(100);
	exchange(102, 50);
	find_alone(RD_TAP_A, "gave-up", RD_SEV_PROBLEM, RD_LIKELY, MS);
	r = conclude();
	expect(r, "gave-up", RD_PLACE_FABRIC, RD_LIKELY, RD_LIKELY);
	assert_non_null(strstr(r->verdict.what, "lost between the two capture points"));
	discard(r);

	make_alone(); /* perhaps the other capture missed it */
	exchange(0, 100);
	see(RD_TAP_A, false, 100, 0, MS);
	answer(99, 0, 2 * MS);
	find_alone(RD_TAP_A, "gave-up", RD_SEV_PROBLEM, RD_LIKELY, MS);
	r = conclude();
	assert_int_equal(r->verdict.places,
		RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST);
	discard(r);

	make_alone(); /* unknown after the other capture has ended */
	exchange(0, 100);
	find_alone(RD_TAP_A, "gave-up", RD_SEV_PROBLEM, RD_LIKELY, 5 * MS);
	r = conclude();
	assert_int_equal(r->verdict.places,
		RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST);
	discard(r);
}

/* A response may come too late because of the path: that has all packets, and one of them late. */
static void test_late_on_the_path(void **state)
{
	(void)state;
	for (unsigned int late = 0; late < 2; late++) {
		struct rd_ends_report *r;

		make_alone();
		exchange(0, 100);
		request(100, MS);
		see(RD_TAP_B, true, 100, 0, MS + 5 * US);
		see(RD_TAP_A, true, 100, 0, MS + 5 * US + DELAY + late * 3 * MS);
		exchange(500, 50);
		find_alone(RD_TAP_A, "timeout", RD_SEV_WARNING, RD_LIKELY, 2 * MS);
		r = conclude();
		assert_string_equal(r->verdict.rule, "timeout");
		assert_int_equal(!(r->verdict.places & RD_PLACE_FABRIC), !late);
		discard(r);
	}
}

/* The receiver's application is the place whatever the captures are. */
static void test_not_ready(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	make_alone();
	exchange(0, 100);
	find_alone(RD_TAP_B, "rnr", RD_SEV_WARNING, RD_CERTAIN, MS / 2);
	r = conclude();
	expect(r, "rnr", RD_PLACE_RECEIVER_HOST, RD_CERTAIN, RD_LIKELY);
	discard(r);
}

/* What follows from absent packets is only possible in a capture that missed some. */
static void test_refuted(void **state)
{
	for (unsigned int missed = 0; missed < 2; missed++) {
		struct rd_ends_report *r;

		(void)state;
		make_alone();
		exchange(0, 100);
		if (missed)
			see(RD_TAP_B, false, 100, 0, 100 * 10 * US);
		exchange(101, 20);
		find_alone(RD_TAP_A, "timeout-short", RD_SEV_WARNING, RD_LIKELY, MS / 2);
		r = conclude();
		expect(r, "timeout-short", RD_PLACE_SENDER_HOST, missed ? RD_POSSIBLE : RD_LIKELY,
			missed ? RD_POSSIBLE : RD_LIKELY);
		discard(r);
	}
}

/* Loss that one capture alone sees, while one of them missed a packet: no fault is sure. */
static void test_refuted_loss(void **state)
{
	static const char *const rules[] = {
		"lost-downstream", "missed-at-sender", "missed-at-receiver"};

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct rd_ends_report *r;

		make_alone();
		exchange(0, 100);
		if (i)
			see(i == 1 ? RD_TAP_B : RD_TAP_A, false, 100, 0, 100 * 10 * US);
		exchange(101, 20);
		find_alone(RD_TAP_A, "lost-downstream", RD_SEV_PROBLEM, RD_LIKELY, MS / 2);
		r = conclude();
		assert_string_equal(r->verdict.rule, rules[i]);
		discard(r);
	}
}

/* Loss that one capture alone sees: where the path had all packets, it was before or behind. */
static void test_answered(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	make_alone();
	exchange(0, 100);
	find_alone(RD_TAP_B, "responses-lost-downstream", RD_SEV_PROBLEM, RD_LIKELY, MS / 2);
	r = conclude();
	expect(r, "responses-lost-downstream", RD_PLACE_SENDER_NIC, RD_LIKELY, RD_POSSIBLE);
	assert_non_null(strstr(r->verdict.what, "Responses from 10.0.0.1 to 10.0.0.2 are lost"));
	discard(r);
}

/* The process of each end is in the file of its own host. */
static void test_owners(void **state)
{
	struct rd_ends_report *r;
	const char *detail;

	(void)state;
	make_alone();
	exchange(0, 100);
	lose(100);
	exchange(102, 50);
	alone[0].owner = (struct rd_owner){.pid = 41, .comm = "train", .rank = 3};
	alone[1].owner = (struct rd_owner){.pid = 52, .comm = "store", .rank = UINT32_MAX};
	alone[0].c.owner[0] = &alone[0].owner;
	alone[1].c.owner[1] = &alone[1].owner;
	r = conclude();
	detail = r->findings.finding[0].detail;
	assert_non_null(strstr(detail, "; sent by train (pid 41, rank 3), QP 0x200"));
	assert_non_null(strstr(detail, "; received by store (pid 52), QP 0x100"));
	assert_non_null(strstr(r->verdict.whom,
		"They are sent by train (pid 41, rank 3) and received by store (pid 52)."));
	discard(r);

	make_alone();
	exchange(0, 100);
	lose(100);
	exchange(102, 50);
	alone[1].c.owner_state[1] = RD_OWNER_NOT_LISTED;
	alone[0].c.owner_state[0] = alone[0].c.owner_state[1] = RD_OWNER_NO_FACTS;
	alone[1].c.owner_state[0] = RD_OWNER_NO_FACTS;
	r = conclude();
	detail = r->findings.finding[0].detail;
	assert_null(strstr(detail, "sent by"));
	assert_non_null(strstr(detail, "; received by QP 0x100, whose owner is unknown"));
	discard(r);
}

/* Who is slow: the part of a wait that the receiver's capture sees as well is behind it. */
static void test_waiting(void **state)
{
	static const struct {
		uint64_t behind;
		unsigned int places;
	} cases[] = {
		{95, RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST},
		{10, RD_PLACE_FABRIC},
		{50, RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t waited[RD_TAPS] = {100 * US, cases[i].behind * US};
		struct rd_ends_report *r;

		make_alone();
		exchange(0, 100);
		for (int end = 0; end < RD_TAPS; end++) {
			alone[end].times.ns[RD_TIME_WAITING] = waited[end];
			alone[end].c.side[0].times = &alone[end].times;
			alone[end].c.side[0].requests = 100;
			alone[end].c.side[1].seen = true;
		}
		r = conclude();
		assert_int_equal(r->verdict.slow.places, cases[i].places);
		assert_non_null(strstr(r->verdict.time, "passed beyond the capture point"));
		discard(r);
	}
}

/* Beside a fault no bottleneck is named: it would read as another place of the fault. */
static void test_no_bottleneck_beside_fault(void **state)
{
	static const enum rd_time times[] = {RD_TIME_WAITING, RD_TIME_SENDING};

	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		const enum rd_time what = times[i / 2];
		const bool fault = i % 2;
		struct rd_ends_report *r;

		make_alone();
		exchange(0, 100);
		if (fault)
			lose(100);
		exchange(102, 50);
		for (int end = 0; end < RD_TAPS; end++) {
			alone[end].times.ns[what] = 100 * US;
			alone[end].c.side[0].times = &alone[end].times;
			alone[end].c.side[0].requests = 100;
			alone[end].c.side[1].seen = true;
		}
		r = conclude();
		assert_int_equal(r->verdict.rule != NULL, fault);
		if (fault) {
			assert_int_equal(r->verdict.slow.certainty, RD_POSSIBLE);
			assert_true(!r->verdict.time || !strstr(r->verdict.time, "bottleneck"));
			assert_true(!r->verdict.time || !strstr(r->verdict.time, "beyond"));
		} else {
			assert_non_null(r->verdict.time);
			assert_non_null(strstr(r->verdict.time,
				what == RD_TIME_WAITING ? "beyond the capture" : "bottleneck"));
		}
		discard(r);
	}
}

/* Of the messages with retransmissions, no more than there are. */
static void test_delayed_messages(void **state)
{
	(void)state;
	for (uint64_t delayed = 1; delayed <= 3; delayed++) {
		struct alone *x = &alone[RD_TAP_A];
		struct rd_ends_report *r;

		make_alone();
		exchange(0, 100);
		lose(100);
		exchange(102, 50);
		x->verb.messages = 2;
		x->c.side[0].verbs = &x->verb;
		x->c.side[0].has_verbs = 1U << RD_VERB_SEND;
		x->once[0].count = delayed;
		x->c.side[0].has_incidents = UINT64_C(1) << RD_INC_DELAYED;
		r = conclude();
		assert_string_equal(r->verdict.rule, "lost-between");
		assert_int_equal(r->verdict.messages, delayed <= 2 ? 2 : 0);
		assert_int_equal(r->verdict.delayed, delayed <= 2 ? delayed : 0);
		discard(r);
	}
}

/* Where the comparison does not know a QP, or which capture is at the sender, all places remain. */
static void test_gave_up_elsewhere(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		struct rd_ends_report *r;

		make_alone();
		/* Without a delay nothing shows the sender. */
		for (uint32_t psn = 0; psn < 100 && i == 1; psn++)
			for (int k = 0; k < 2; k++) {
				see(RD_TAP_A, k, psn, 0, psn * 10 * US + (k ? 5 * US : 0));
				see(RD_TAP_B, k, psn, 0, psn * 10 * US + (k ? 5 * US : 0));
			}
		if (i != 1)
			exchange(0, 100);
		if (!i) /* its packets are in neither capture */
			alone[RD_TAP_A].c.b.qp = alone[RD_TAP_B].c.b.qp = 0x101;
		find_alone(RD_TAP_A, "gave-up", RD_SEV_PROBLEM, RD_LIKELY, i == 2 ? 0 : MS / 2);
		if (i == 2) /* before B's capture, which begins with the first packet */
			alone[RD_TAP_A].report.findings.finding[0].evidence.first_ns -= MS;
		r = conclude();
		assert_string_equal(r->verdict.rule, "gave-up");
		assert_int_equal(r->verdict.places,
			RD_PLACE_FABRIC | RD_PLACE_RECEIVER_NIC | RD_PLACE_RECEIVER_HOST);
		discard(r);
	}
}

/* READs and WRITEs need no receive: an RNR NAK to them is no sign of the application alone. */
static void test_pages_not_receives(void **state)
{
	(void)state;
	for (uint64_t pages = 0; pages < 2; pages++) {
		struct rd_ends_report *r;

		make_alone();
		for (int end = 0; end < RD_TAPS; end++) {
			find_alone((enum rd_tap)end, "rnr", RD_SEV_WARNING, RD_CERTAIN, 500 * US);
			alone[end].c.side[0].has_incidents =
				UINT64_C(1) << RD_INC_RNR | pages << RD_INC_RNR_PAGES;
		}
		exchange(0, 100);
		r = conclude();
		expect(r, "rnr", RD_PLACE_RECEIVER_HOST | (pages ? RD_PLACE_RECEIVER_NIC : 0),
			RD_CERTAIN, RD_LIKELY);
		discard(r);
	}
}

/* CNPs, and no packet with a mark at the receiver: none was marked between the ends. */
static void test_unmarked(void **state)
{
	static const struct {
		uint64_t cnps;
		bool marks;
		unsigned int places;
	} cases[] = {
		{2, false, RD_PLACE_RECEIVER_NIC}, {2, true, RD_PLACE_FABRIC},
		{1, false, RD_PLACE_FABRIC}, /* for a mark from before the capture */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_ends_report *r;

		make_alone();
		find_alone(RD_TAP_A, "cnp", RD_SEV_WARNING, RD_CERTAIN, 500 * US);
		alone[1].once[0].count = alone[1].once[1].count = cases[i].cnps;
		alone[1].c.side[0].has_incidents =
			UINT64_C(1) << RD_INC_CNP | (cases[i].marks ? UINT64_C(1) << RD_INC_CE : 0);
		exchange(0, 100);
		r = conclude();
		expect(r, "cnp", cases[i].places, RD_CERTAIN,
			cases[i].places == RD_PLACE_FABRIC ? RD_LIKELY : RD_POSSIBLE);
		discard(r);
	}
}

/* The same CNPs have another rule at the sender: they are no further cause. */
static void test_unmarked_is_one_cause(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	make_alone();
	find_alone(RD_TAP_A, "cnp", RD_SEV_WARNING, RD_CERTAIN, 500 * US);
	find_alone(RD_TAP_B, "cnp-unmarked", RD_SEV_WARNING, RD_LIKELY, 500 * US);
	exchange(0, 100);
	r = conclude();
	expect(r, "cnp-unmarked", RD_PLACE_RECEIVER_NIC, RD_LIKELY, RD_LIKELY);
	assert_string_equal(r->verdict.also, "");
	/* No other capture shows why the receiver sends them. */
	assert_null(strstr(r->verdict.surer, "captures that begin"));
	assert_non_null(strstr(r->verdict.surer, "counters of 10."));
	discard(r);
}

/* Both ends are captured: what is left to do is elsewhere. */
static void test_next_is_no_capture_of_an_end(void **state)
{
	struct rd_ends_report *r;

	(void)state;
	make_alone();
	find_alone(RD_TAP_A, "responses-stopped", RD_SEV_PROBLEM, RD_LIKELY, 500 * US);
	alone[0].report.findings.finding[0].next =
		"look at the receiver's log; capture at the receiver, or for longer";
	exchange(0, 100);
	r = conclude();
	assert_non_null(strstr(r->verdict.surer, "Next: look at the receiver's log."));
	assert_null(strstr(r->verdict.surer, "capture at the receiver"));
	discard(r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_lost_between),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_lost_or_missed),
		cmocka_unit_test(test_lost_outside),
		cmocka_unit_test(test_lost_while_one_ran),
		cmocka_unit_test(test_reordered_not_lost),
		cmocka_unit_test(test_capture_missed),
		cmocka_unit_test(test_gave_up),
		cmocka_unit_test(test_late_on_the_path),
		cmocka_unit_test(test_not_ready),
		cmocka_unit_test(test_refuted),
		cmocka_unit_test(test_refuted_loss),
		cmocka_unit_test(test_answered),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_no_bottleneck_beside_fault),
		cmocka_unit_test(test_delayed_messages),
		cmocka_unit_test(test_gave_up_elsewhere),
		cmocka_unit_test(test_pages_not_receives),
		cmocka_unit_test(test_unmarked),
		cmocka_unit_test(test_unmarked_is_one_cause),
		cmocka_unit_test(test_next_is_no_capture_of_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
