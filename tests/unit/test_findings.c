/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of findings: which ones are kept where there are more than a report has, and groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rdmadump/finding.h>
#include <string.h>

/* A rule that says nothing about it is not sure. */
static void possible_unless_said(void **state)
{
	struct rd_findings list = {0};

	(void)state;
	assert_int_equal(rd_findings_add(&list)->certainty, RD_POSSIBLE);
	rd_findings_free(&list);
}

/* Each rule keeps its first findings, and the rest of the places are for the first ones of all. */
static void findings_are_cut(void **state)
{
	static const char *const rules[] = {"a", "a", "b", "a", "b", "c", "a"};
	static const struct {
		size_t most, each;
		const char *kept;
	} rows[] = {{7, 0, "aababca"}, {9, 1, "aababca"}, {6, 0, "aababc"}, {5, 1, "aabac"},
		{4, 1, "aabc"}, {3, 1, "abc"}, {1, 1, "abc"}, {4, 2, "aabbc"}, {0, 0, ""}};

	(void)state;
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		struct rd_findings list = {0};
		size_t all = sizeof(rules) / sizeof(rules[0]), kept = strlen(rows[row].kept);

		for (size_t i = 0; i < all; i++) {
			struct rd_finding *f = rd_findings_add(&list);

			f->rule = rules[i];
			f->severity = i == 6 ? RD_SEV_NOTE : RD_SEV_WARNING;
			f->evidence.count = i;
			rd_finding_title(f, "%s", rules[i]);
		}
		assert_true(rd_findings_cut(&list, rows[row].most, rows[row].each));
		assert_int_equal(list.n, kept);
		for (size_t i = 0; i < kept; i++) {
			assert_int_equal(list.finding[i].rule[0], rows[row].kept[i]);
			assert_true(!i || list.finding[i].evidence.count >
						  list.finding[i - 1].evidence.count);
		}
		assert_int_equal(rd_findings_left_out(&list, NULL, RD_SEV_NOTE), all - kept);
		assert_int_equal(rd_findings_left_out(&list, NULL, RD_SEV_WARNING),
			all - kept - (kept < all));
		rd_findings_free(&list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(possible_unless_said),
		cmocka_unit_test(findings_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
