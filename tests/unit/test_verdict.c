/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words of the verdict. Whole verdicts: tests/cases. */
#include "analysis/verdict/verdict.h"
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
		{1402113 * US, 1402250 * US, "1.402113 s to 1.402250 s"},
		{402113 * US, 1402250 * US, "0.402 s to 1.402 s"},
		{402113 * US, 402113 * US, "402.113 ms"},
		{113 * US, 250 * US, "113 us to 250 us"},
		{113 * US, 20250 * US, "0.113 ms to 20.250 ms"},
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
