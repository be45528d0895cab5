/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * cases [-p] [-k PATTERN] FILE...: runs cases of the analysis, or those whose name contains the
 * pattern; tests/cases/README.md describes the files. Prints TAP; with -p also each report.
 */
#include "cases.h"
#include <ctype.h>
#include <unistd.h>

static void block(struct run *r, size_t at, size_t end);

static bool print_all; /* -p */

/* --- statements ------------------------------------------------------------------------------- */

/* A variable with the value of a token: a number, or else its text, which `keep` holds. */
static void assign(struct run *r, size_t at, const char *name, char **keep)
{
	const char *text = text_of(r, at);
	const bool quoted = strchr("\"'", *r->tok[at].text);

	*keep = NULL;
	if (!quoted && text_in(r, text)) {
		text = text_in(r, text);
	} else if (!quoted && text[strspn(text, "-")] && is_expression(r, text)) {
		var_set(r, at, name, NULL, value_of(r, at, text));
		return;
	}
	*keep = strdup(text);
	var_set(r, at, name, *keep, 0);
}

static size_t loop(struct run *r, size_t at)
{
	const char *name = r->tok[at + 1].text, *range = text_of(r, at + 2),
		   *to = strstr(range, "..");
	const unsigned int vars = r->n_vars;
	int64_t last, step = 1;
	char first[128];
	size_t open = at + 3;

	if (!to)
		bail(r, at, "'%s' is no range", range);
	snprintf(first, sizeof(first), "%.*s", (int)(to - range), range);
	last = value_of(r, at, to + 2);
	if (*r->tok[open].text == '+')
		step = value_of(r, open, text_of(r, open) + 1), open++;
	if (!r->tok[open].match)
		bail(r, at, "'for NAME FROM..TO' without a block");
	for (int64_t i = value_of(r, at, first); i <= last; i += step) {
		r->n_vars = vars;
		var_set(r, at, name, NULL, i);
		block(r, open + 1, r->tok[open].match);
	}
	r->n_vars = vars;
	return r->tok[open].match + 1;
}

static size_t condition(struct run *r, size_t at)
{
	bool done = false;

	for (;;) {
		const bool is_if = !strcmp(r->tok[at].text, "if");
		const bool holds = !is_if || value_of(r, at, text_of(r, at + 1));
		const size_t open = at + (is_if ? 2 : 0), end = r->tok[open].match;

		if (!end)
			bail(r, at, "'if CONDITION' without a block");
		if (holds && !done)
			block(r, open + 1, end);
		done |= holds;
		if (end + 1 >= r->n || strcmp(r->tok[end + 1].text, "else"))
			return end + 1;
		at = end + 2;
	}
}

/* The definition with this name: the index of its first parameter; 0: there is none. */
static size_t definition(const struct run *r, const char *name)
{
	for (size_t i = 1; i + 2 < r->n; i++)
		if (r->tok[i].starts && !strcmp(r->tok[i].text, "def") &&
			!strcmp(r->tok[i + 1].text, name))
			return i + 2;
	return 0;
}

static size_t call(struct run *r, size_t at, size_t parameter)
{
	const unsigned int vars = r->n_vars;
	char *keep[16] = {0};
	unsigned int n = 0;
	struct var bound[16];

	for (at++; !r->tok[parameter].match; at++, parameter++, n++) {
		if (n == 16 || !goes_on(r, at))
			bail(r, at - 1, "'%s' is missing", r->tok[parameter].text);
		assign(r, at, r->tok[parameter].text, &keep[n]);
		bound[n] = r->var[--r->n_vars]; /* not visible to the values that follow */
	}
	if (++r->depth > 16)
		bail(r, at, "a definition uses itself");
	for (unsigned int i = 0; i < n; i++)
		var_set(r, at, bound[i].name, bound[i].text, bound[i].n);
	block(r, parameter + 1, r->tok[parameter].match);
	r->depth--;
	r->n_vars = vars;
	for (unsigned int i = 0; i < n; i++)
		free(keep[i]);
	return at;
}

static size_t statement(struct run *r, size_t at)
{
	const char *word = r->tok[at].text;
	size_t next;

	if (*word == '@') {
		const char *text = text_of(r, at) + 1;
		const int64_t n = value_of(r, at, text + (*text == '+'));

		r->ns = *text == '+' || *text == '-' ? r->ns + (uint64_t)n : (uint64_t)n;
		return at + 1;
	}
	if (!strcmp(word, "="))
		return expect_line(r, at);
	if (!strcmp(word, "set")) {
		for (at++; goes_on(r, at) && strchr(r->tok[at].text, '=') && r->tok[at].text[1];
			at++)
			slot_set(r, r->slot, at, text_of(r, at));
		return at;
	}
	if (!strcmp(word, "for"))
		return loop(r, at);
	if (!strcmp(word, "if"))
		return condition(r, at);
	next = strpbrk(word, "<>") ? 0 : definition(r, word);
	if (next)
		return call(r, at, next);
	if (r->json)
		bail(r, at, "'%s' comes behind an expectation", word);
	next = r->two ? ends_statement(r, at) : frames_statement(r, at);
	if (!next)
		bail(r, at, "what is '%s'?", word);
	return next;
}

static void block(struct run *r, size_t at, size_t end)
{
	while (at < end)
		at = statement(r, at);
}

/* --- cases ------------------------------------------------------------------------------------ */

static void case_begin(struct run *r, bool two)
{
	memset(r->slot, 0, sizeof(r->slot));
	r->slot[S_gap] = 10000;
	r->slot[S_body] = r->slot[S_length] = r->slot[S_src] = -1;
	r->slot[S_delay] = 2000;
	r->slot[S_known] = r->slot[S_alone] = 1;
	r->config = (struct rd_analysis_config){.skip_icrc = true, .qp = RD_QP_UNKNOWN};
	r->two = two;
	r->ns = two ? 0 : 1000000000;
	r->n_ifaces = r->n_made = 0;
	r->iface = (struct rd_iface){0};
	if (two)
		ends_begin(r);
}

static int add_sum(const char *text, size_t n, void *sum)
{
	for (size_t i = 0; i < n; i++)
		*(uint64_t *)sum = (*(uint64_t *)sum ^ (unsigned char)text[i]) * 0x100000001b3;
	return 0;
}

/* The report as text, short and long, and a sum over all values of its JSON. */
static void print_report(const struct run *r)
{
	const struct rd_report_style all = {.verbose = true};
	uint64_t sum = 0;

	json_object_del(r->json, "program"); /* which names the commit */
	json_dump_callback(r->json, add_sum, &sum, JSON_COMPACT | JSON_REAL_PRECISION(12));
	printf("$ %s: JSON %016" PRIx64 "\n%s", r->name, sum, r->text);
	if (r->two)
		rd_ends_text(r->er, &all, stdout);
	else
		rd_report_text(r->r, &all, stdout);
}

static void case_end(struct run *r)
{
	if (print_all)
		print_report(r);
	if (r->two)
		ends_close(r);
	rd_report_free(r->r);
	rd_analysis_close(r->a);
	json_decref(r->json);
	free(r->text);
	r->r = NULL;
	r->a = NULL;
	r->json = NULL;
	r->text = NULL;
	r->e = NULL;
	r->er = NULL;
}

/* Runs what is behind a table once for each of its rows; several tables are combined. */
static void variants(struct run *r, size_t at, size_t end, bool two)
{
	const unsigned int vars = r->n_vars;
	size_t names = at + 1, n = 0, first, last;
	char *keep[16];

	if (at >= end || strcmp(r->tok[at].text, "vary")) {
		r->expected = 0;
		case_begin(r, two);
		block(r, at, end);
		if (!r->expected)
			bail(r, end - 1, "the case expects nothing");
		case_end(r);
		return;
	}
	while (names + n < end && strcmp(r->tok[names + n].text, ":"))
		n++;
	first = last = names + n;
	while (last < end && (!r->tok[last].starts || !strcmp(r->tok[last].text, ":")))
		last++;
	if (first == last || n > 16 || !n)
		bail(r, at, "'vary NAME... : VALUE...' lacks something");
	for (size_t i = first; i < last;) {
		size_t k = 0;

		for (; i < last && k < n; i++)
			if (strcmp(r->tok[i].text, ":"))
				assign(r, i, r->tok[names + k].text, &keep[k]), k++;
		if (k && k < n)
			bail(r, at, "a row of the table is not complete");
		if (k)
			variants(r, last, end, two);
		r->n_vars = vars;
		while (k)
			free(keep[--k]);
	}
}

static bool is_case(const struct run *r, size_t at)
{
	const char *word = r->tok[at].text;

	return r->tok[at].starts && (!strcmp(word, "case") || !strcmp(word, "ends"));
}

static unsigned int run_file(struct run *r, const char *pattern, unsigned int *number, bool count)
{
	unsigned int failed = 0;

	for (size_t at = 1, end; at < r->n; at = end) {
		end = at + 1;
		if (!is_case(r, at)) {
			if (strcmp(r->tok[at].text, "def"))
				bail(r, at, "what is '%s'?", r->tok[at].text);
			while (end < r->n && !r->tok[end].match)
				end++;
			end = end < r->n ? r->tok[end].match + 1 : end;
			continue;
		}
		while (end < r->n && !is_case(r, end) && strcmp(r->tok[end].text, "def"))
			end++;
		if (!strstr(r->tok[at + 1].text, pattern))
			continue;
		++*number;
		if (count)
			continue;
		r->failed = 0;
		r->n_vars = 0;
		r->name = r->tok[at + 1].text;
		variants(r, at + 2, end, !strcmp(r->tok[at].text, "ends"));
		printf("%sok %u - %s\n", r->failed ? "not " : "", *number, r->name);
		failed += r->failed != 0;
	}
	return failed;
}

int main(int argc, char **argv)
{
	const char *pattern = "";
	unsigned int number = 0, failed = 0;

	for (int c; (c = getopt(argc, argv, "pk:")) != -1;)
		switch (c) {
		case 'p':
			print_all = true;
			break;
		case 'k':
			pattern = optarg;
			break;
		default:
			optind = argc;
		}
	if (optind >= argc) {
		fputs("usage: cases [-p] [-k PATTERN] FILE...\n", stderr);
		return 2;
	}
	for (int counted = 0; counted < 2; counted++) {
		number = 0;
		for (int i = optind; i < argc; i++) {
			struct run r;

			words_read(&r, argv[i]);
			failed += run_file(&r, pattern, &number, !counted);
			words_free(&r);
		}
		if (!counted)
			printf("1..%u\n", number);
	}
	return failed || !number;
}
