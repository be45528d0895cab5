/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts of the verdict: its words, and stragglers among equals. Whole verdicts: tests/cases. */
#include "analysis/verdict/verdict.h"
#include "analysis/verdict/words.h"
#include "test.h"

#define US UINT64_C(1000)

TEST(a_host_is_named_once_for_two_places)
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

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[128] = "";
		FILE *out = fmemopen(text, sizeof(text), "w");

		assert_non_null(out);
		put_places(out, cases[i].places, "A", "B");
		fclose(out);
		assert_string_equal(text, cases[i].text);
	}
}

TEST(two_times_differ_in_their_digits)
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

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_report r = {.totals.first_ns = 5000 * US};
		char text[128] = "";
		FILE *out = fmemopen(text, sizeof(text), "w");

		assert_non_null(out);
		r.verdict.since_ns = 5000 * US + cases[i].since;
		r.verdict.until_ns = 5000 * US + cases[i].until;
		put_since(out, &r.verdict, r.totals.first_ns);
		fclose(out);
		assert_string_equal(text, cases[i].text);
	}
}

TEST(abbreviations_stay_in_capitals)
{
	static const char *const cases[][2] = {{"A response", "a response"},
		{"Packets are", "packets are"}, {"DSCP 26", "DSCP 26"}, {"10.0.0.1", "10.0.0.1"},
		{"", ""}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[32];

		strcpy(text, cases[i][0]);
		lower_first(text);
		assert_string_equal(text, cases[i][1]);
	}
}

TEST(another_finding_is_of_its_own_sender)
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
		s->traffic.last_ns = 1000 * US;
		s->times = &peers[i].times;
		s->latencies = &peers[i].latency;
		s->has_latencies = 1 << RD_LATENCY_ACK;
		s->verbs = &peers[i].verb;
		s->has_verbs = 1 << RD_VERB_WRITE;
		c[i].side[1].seen = true;
	}
	return r;
}

TEST(a_straggler_is_far_slower_than_its_equals)
{
	static const uint64_t us[] = {10, 11, 90, 12, 9}, even[] = {10, 11, 39, 12, 9};
	struct rd_stragglers s = {0}, none = {0};
	struct rd_conversation c[5];
	struct peer peers[5];
	struct rd_report r = equals(peers, c, us, 5);

	expect("0 1 5 3", stragglers_find(&r, &s), s.n, s.of, s.conversation[0]);
	same(s.median_ns, 11 * US, s.host, "10.0.1.3");
	r = equals(peers, c, even, 5);
	expect("0 0", stragglers_find(&r, &none), none.n);
}

/* The slow one may end before the others, or begin after them. */
TEST(a_straggler_may_end_early)
{
	static const uint64_t us[] = {10, 11, 90, 12, 9};
	struct rd_conversation c[5];
	struct peer peers[5];
	struct rd_report r = equals(peers, c, us, 5);
	struct rd_stragglers early = {0}, late = {0};

	c[2].side[0].traffic.last_ns = 200 * US;
	expect("0 1 5 3", stragglers_find(&r, &early), early.n, early.of, early.conversation[0]);
	c[2].side[0].traffic.first_ns = 850 * US;
	c[2].side[0].traffic.last_ns = 1000 * US;
	expect("0 1", stragglers_find(&r, &late), late.n);
}

/* One that was there at another time, or for a moment, is no equal; one that sends less is. */
TEST(a_straggler_is_there_with_its_equals)
{
	static const uint64_t us[] = {10, 11, 90, 12, 9, 10}, same[] = {10, 11, 10, 12, 9, 10};
	struct rd_conversation c[6];
	struct peer peers[6];
	struct rd_report r = equals(peers, c, us, 6);
	struct rd_stragglers before = {0}, moment = {0}, less = {0};

	for (size_t i = 0; i < 6; i++)
		c[i].side[0].traffic.first_ns = i == 2 ? 0 : 500 * US;
	c[2].side[0].traffic.last_ns = 600 * US;
	expect("0 0", stragglers_find(&r, &before), before.n);
	c[2].side[0].traffic.first_ns = 550 * US;
	expect("0 0", stragglers_find(&r, &moment), moment.n);
	r = equals(peers, c, same, 6);
	peers[2].latency.n = peers[2].verb.messages = 10;
	peers[2].verb.bytes = 10 * 4096;
	c[2].side[0].requests = 10;
	c[2].side[0].traffic.last_ns = 300 * US;
	expect("0 0", stragglers_find(&r, &less), less.n);
}

TEST(others_are_no_equals)
{
	static const uint64_t us[] = {10, 11, 90, 12, 9};
	struct rd_stragglers s = {0}, brief = {0};
	struct rd_conversation c[5];
	struct peer peers[5];
	struct rd_report r = equals(peers, c, us, 5);

	peers[2].verb.bytes *= 100; /* larger messages */
	expect("0 0", stragglers_find(&r, &s), s.n);
	r = equals(peers, c, us, 5);
	c[2].side[0].traffic.last_ns = 100 * US; /* there for a short time */
	expect("0 0", stragglers_find(&r, &brief), brief.n);
}
