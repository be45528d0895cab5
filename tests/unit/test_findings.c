/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of findings: which ones are kept where there are more than a report has, and groups. */
#include "analysis/rules/rules.h"
#include "analysis/verdict/verdict.h"
#include "test.h"
#include <rdmadump/drops.h>

/* All rules. */
static const struct rule *const tables[] = {rules_of_capture, rules_of_links, rules_of_pauses,
	rules_of_mads, rules_of_loss, rules_of_order, rules_of_missed, rules_of_sides,
	rules_of_timeouts, rules_of_congestion, rules_of_facts, rules_of_ends, rules_of_end_paths};

#define N(table) (sizeof(table) / sizeof(*(table)))

/* Each name in a template is in the tables of say.c, or is an incident. */
TEST(templates_have_known_names)
{
	const struct rd_side side = {0};
	const struct rd_path_qp w = {0};
	const struct rd_finding f = {0};
	const struct look look = {.s = &side, .other = &side, .w = &w, .f = &f};
	char *unknown = say(&look, "{rnr RNR NAK}, {typo packet}");
	size_t n = 0;

	assert_string_equal(unknown, "0 RNR NAKs, {typo packet}");
	free(unknown);
	for (size_t i = 0; i < N(tables); i++)
		for (const struct rule *rule = tables[i]; rule->key; rule++, n++)
			for (unsigned int k = 0; k < 2; k++) {
				const char *template = k ? rule->detail : rule->title;
				char *text = template ? say(&look, template) : NULL;

				if (text && strpbrk(text, "{}"))
					fail_msg("%s: %s", rule->key, text);
				free(text);
			}
	assert_true(n > 60);
}

/* docs/certainty.md has a row for each rule, as its table says. */
TEST(doubts_are_documented)
{
	const char *srcdir = getenv("srcdir");
	char path[4096], *text = NULL, *doc = NULL;
	size_t size = 0;
	FILE *in;

	snprintf(path, sizeof(path), "%s/docs/certainty.md", srcdir ? srcdir : ".");
	in = fopen(path, "r");
	assert_true(in && getdelim(&doc, &size, EOF, in) > 0);
	fclose(in);
	for (size_t i = 0; i < N(tables); i++)
		for (const struct rule *rule = tables[i]; rule->key; rule++) {
			FILE *row = open_memstream(&text, &size);

			fprintf(row, "\n| `%s` | %s |", rule->key,
				rd_certainty_name(rule->certainty));
			for (const struct doubt *const *d = rule->doubts; *d; d++)
				fprintf(row, "%s %s%s", d == rule->doubts ? "" : ";",
					(*d)->most ? "(likely) " : "", (*d)->text);
			fputs(" |\n", row);
			fclose(row);
			if (!strstr(doc, text))
				fail_msg("docs/certainty.md lacks this row: %s", text + 1);
			free(text);
		}
	free(doc);
}

/* A finding has the doubts that make it as uncertain as it is, and each once. */
TEST(doubts_lower)
{
	struct rd_finding f = {.certainty = RD_CERTAIN};

	finding_doubt(&f, RD_LIKELY, "a");
	same(f.certainty, RD_LIKELY, !strcmp(f.doubts[0], "a"), true);
	finding_doubt(&f, RD_LIKELY, "b");
	finding_doubt(&f, RD_LIKELY, "b");
	same(!strcmp(f.doubts[1], "b"), true, !f.doubts[2], true);
	finding_doubt(&f, RD_POSSIBLE, "c");
	finding_doubt(&f, RD_LIKELY, "d");
	same(!strcmp(f.doubts[0], "c"), true, !f.doubts[1], true);
	for (int i = 0; i < 2 * RD_DOUBTS; i++)
		finding_doubt(&f, RD_POSSIBLE, &"efghijklmnopqrstuvwxyz"[i]);
	same(f.certainty, RD_POSSIBLE, f.doubts[RD_DOUBTS - 1] != NULL, true);
	f = (struct rd_finding){.certainty = RD_POSSIBLE};
	finding_doubt(&f, RD_POSSIBLE, "it was no more before");
	same(f.certainty, RD_POSSIBLE, !f.doubts[0], true);
}

/* A rule that says nothing about it is not sure. */
TEST(possible_unless_said)
{
	struct rd_findings list = {0};

	assert_int_equal(rd_findings_add(&list)->certainty, RD_POSSIBLE);
	rd_findings_free(&list);
}

/* Each rule keeps its first findings, and the rest of the places are for the first ones of all. */
TEST(findings_are_cut)
{
	static const char *const rules[] = {"a", "a", "b", "a", "b", "c", "a"};
	static const struct {
		size_t most, each;
		const char *kept;
	} rows[] = {{7, 0, "aababca"}, {9, 1, "aababca"}, {6, 0, "aababc"}, {5, 1, "aabac"},
		{4, 1, "aabc"}, {3, 1, "abc"}, {1, 1, "abc"}, {4, 2, "aabbc"}, {0, 0, ""}};

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
		for (size_t i = 0; i < kept; i++)
			same(list.finding[i].rule[0], rows[row].kept[i],
				!i || list.finding[i].evidence.count >
						list.finding[i - 1].evidence.count,
				true);
		same(rd_findings_left_out(&list, NULL, RD_SEV_NOTE), all - kept,
			rd_findings_left_out(&list, NULL, RD_SEV_WARNING),
			all - kept - (kept < all));
		rd_findings_free(&list);
	}
}

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

TEST(a_group_has_all_findings_of_a_rule)
{
	struct rd_report r = {0};

	add(&r, "gave-up", RD_SEV_PROBLEM, 3, 7);
	add(&r, "rnr", RD_SEV_WARNING, 1, 1);
	add(&r, "gave-up", RD_SEV_PROBLEM, 2, 5);
	expect("0 2 gave-up 2 12 2", groups_make(&r.groups, &r.findings), r.groups.n,
		r.groups.group[0].rule, r.groups.group[0].n, r.groups.group[0].count,
		r.groups.group[0].finding[1] - r.findings.finding);
	assert_ptr_equal(r.groups.group[1].finding[0], &r.findings.finding[1]);
	groups_free(&r.groups);
	rd_findings_free(&r.findings);
}

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

TEST(worst_of_each_rule_are_kept)
{
	struct rd_report r = {0};
	struct rd_findings *list = &r.findings;

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
		same(f->rule, cut_rules[rare], f->evidence.count, count);
	}
	assert_int_equal(rd_findings_left_out(list, NULL, RD_SEV_NONE), 2000 - 200);
	assert_int_equal(rd_findings_left_out(list, NULL, RD_SEV_WARNING), 1800 - COMMON);
	assert_int_equal(rd_findings_left_out(list, "rare", RD_SEV_NONE), 200 - 64);
	expect("0 2", groups_make(&r.groups, &r.findings), r.groups.n);
	same(r.groups.group[0].n, COMMON, r.groups.group[0].left_out, 1800 - COMMON,
		r.groups.group[0].conversations, 100, r.groups.group[0].first_ns, 5000 - 1998);
	assert_int_equal(r.groups.group[1].count, 200 * (9 + 1999) / 2);
	groups_free(&r.groups);
	rd_findings_free(list);
}

/* What the verdict rests on comes before what is as severe, and after what is more severe. */
TEST(groups_are_in_the_order_of_severity)
{
	struct rd_finding list[] = {{.rule = "counter", .severity = RD_SEV_PROBLEM},
		{.rule = "stall", .severity = RD_SEV_WARNING},
		{.rule = "timeout", .severity = RD_SEV_WARNING},
		{.rule = "ecn", .severity = RD_SEV_NOTE}};
	struct rd_report r = {.findings = {.finding = list, .n = 4}};

	assert_int_equal(groups_make(&r.groups, &r.findings), 0);
	groups_lead(&r.groups, "timeout");
	expect("counter timeout stall ecn", r.groups.group[0].rule, r.groups.group[1].rule,
		r.groups.group[2].rule, r.groups.group[3].rule);
	groups_free(&r.groups);
}

TEST(text_without_memory)
{
	char *text = NULL; /* as fclose() leaves it */

	assert_false(row_close(fopen("/dev/null", "w"), &text));
}

TEST(drops_of_a_file_say_nothing_of_counters)
{
	const struct rd_drops d = {.of = RD_DROPS_FILE, .counters = "out_of_buffer"};
	char text[RD_DROPS_TEXT] = "what was here";

	rd_drops_scope(&d, text);
	assert_string_equal(text, "");
}
