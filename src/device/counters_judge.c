/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Compares two readings of a port's counters, and says what is wrong, by the table of counters. */
#include <rdmadump/counters.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINDINGS_MOST 256 /* of one port; nobody reads more */

/* What only two counters together tell: `moved` grew while `still` did not. */
static const struct relation {
	const char *moved, *still;
	enum rd_severity severity;
	const char *text, *todo;
} relations[] = {
	{"hw_counters/np_ecn_marked_roce_packets", "hw_counters/np_cnp_sent", RD_SEV_BAD,
		"packets arrive marked with congestion, and no notification is sent: senders do "
		"not slow down",
		"switch the notification point on (roce_np) for the priority in use"},
	{"hw_counters/rp_cnp_ignored", "hw_counters/rp_cnp_handled", RD_SEV_BAD,
		"congestion notifications arrive and none is obeyed",
		"switch the reaction point on (roce_rp) for the priority in use"},
	{"hw_counters/RxECNMrkd", "hw_counters/cnpSent", RD_SEV_BAD,
		"packets arrive marked with congestion, and no notification is sent",
		"switch congestion control (DCQCN) on"},
	{"hw_counters/rx_ecn_marked_pkts", "hw_counters/tx_cnp_pkts", RD_SEV_BAD,
		"packets arrive marked with congestion, and no notification is sent",
		"switch congestion control (DCQCN) on"},
};

static struct rd_growth growth_of(
	const struct rd_counter *before, const struct rd_counter *after, const struct rd_span *span)
{
	if (after->kind && after->kind->flags & RD_KIND_GAUGE)
		return (struct rd_growth){.amount = after->value};
	return rd_counter_growth(after->kind, before ? &before->value : NULL, &after->value, span);
}

/* Stored readings do not tell the port's speed. */
static struct rd_span span_of(const struct rd_counters *before, const struct rd_counters *after)
{
	struct rd_span span = {.speed = after->speed};

	if (after->time_ns > before->time_ns)
		span.seconds = (double)(after->time_ns - before->time_ns) / 1e9;
	return span;
}

struct rd_growth *rd_counters_compare(
	const struct rd_counters *before, const struct rd_counters *after)
{
	struct rd_growth *growth = calloc(after->n ? after->n : 1, sizeof(*growth));
	const struct rd_span span = span_of(before, after);

	for (size_t i = 0; growth && i < after->n; i++) {
		const struct rd_counter *now = &after->counter[i], *then = NULL;

		/* Two readings of a port list the same files in the same order. */
		if (i < before->n && !strcmp(before->counter[i].name, now->name))
			then = &before->counter[i];
		else
			then = rd_counters_find(before, now->name);
		growth[i] = growth_of(then, now, &span);
	}
	return growth;
}

static struct rd_finding *add(struct rd_findings *f)
{
	if (f->n == f->room) {
		size_t more = f->room ? f->room * 2 : 16;
		struct rd_finding *grown = reallocarray(f->finding, more, sizeof(*grown));

		if (!grown)
			return NULL;
		f->finding = grown;
		f->room = more;
	}
	f->finding[f->n] = (struct rd_finding){.todo = ""};
	return &f->finding[f->n++];
}

/* Most counters are known without their place; "req" and "rej" are not. */
static const char *short_name(const char *name)
{
	static const char *const places[] = {"hw_counters/", "counters/"};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (!strncmp(name, places[i], strlen(places[i])))
			return name + strlen(places[i]);
	return name;
}

/* "out_of_buffer grew by 12 in 3.0 s" */
static int say_amount(
	struct rd_finding *f, const char *name, uint64_t amount, bool grew, double seconds)
{
	char n[RD_UNITS_LEN], time[32] = "";

	f->amount = amount;
	f->counter = name;
	if (grew && seconds > 0)
		snprintf(time, sizeof(time), " in %.1f s", seconds);
	return snprintf(f->text, sizeof(f->text), "%.64s %s %s%s", short_name(name),
		grew ? "grew by" : "is", rd_fmt_count(n, amount), time);
}

static void say_more(struct rd_finding *f, int used, const char *text, const char *cause)
{
	snprintf(f->text + used, sizeof(f->text) - (size_t)used, ": %s%s%s", text,
		cause ? "; usually " : "", cause ? cause : "");
}

static int judge_one(struct rd_findings *findings, const struct rd_counter *c,
	const struct rd_growth *growth, double seconds)
{
	const struct rd_counter_kind *k = c->kind;
	uint64_t amount = growth ? growth->amount : c->value;
	struct rd_finding *f;

	if (!k || k->flags & RD_KIND_GAUGE)
		return 0;
	if (k->severity >= RD_SEV_WARN && amount && (growth || amount >= k->least)) {
		f = add(findings);
		if (!f)
			return -1;
		f->severity = k->severity;
		f->todo = k->todo ? k->todo : "";
		say_more(f, say_amount(f, c->name, amount, growth, seconds), k->meaning, k->cause);
	}
	if (rd_counter_is_full(k, c->value)) {
		f = add(findings);
		if (!f)
			return -1;
		f->severity = RD_SEV_NOTE;
		f->todo = "reset the port's counters (perfquery -R) to see whether it still grows";
		say_more(f, say_amount(f, c->name, c->value, false, 0),
			"its largest value, where it stopped counting", NULL);
	}
	return 0;
}

/* False where it is not known. */
static bool amount_of(const struct rd_counters *c, const struct rd_growth *growth, const char *name,
	uint64_t *amount, const char **full)
{
	const struct rd_counter *counter = rd_counters_find(c, name);

	if (!counter)
		return false;
	*full = counter->name;
	*amount = growth ? growth[counter - c->counter].amount : counter->value;
	return !growth || rd_growth_known(&growth[counter - c->counter]);
}

static int judge_relation(struct rd_findings *findings, const struct rd_counters *c,
	const struct rd_growth *growth, const struct relation *r, double seconds)
{
	uint64_t moved, still;
	const char *name, *other;
	struct rd_finding *f;

	if (!amount_of(c, growth, r->still, &still, &other) ||
		!amount_of(c, growth, r->moved, &moved, &name) || !moved || still)
		return 0;
	f = add(findings);
	if (!f)
		return -1;
	f->severity = r->severity;
	f->todo = r->todo;
	say_more(f, say_amount(f, name, moved, growth, seconds), r->text, NULL);
	return 0;
}

/* Worst first; what is equally bad in the order of the counters. */
static void sort(struct rd_findings *f)
{
	for (size_t i = 1; i < f->n; i++) {
		struct rd_finding one = f->finding[i];
		size_t k = i;

		for (; k && f->finding[k - 1].severity < one.severity; k--)
			f->finding[k] = f->finding[k - 1];
		f->finding[k] = one;
	}
}

int rd_counters_judge(struct rd_findings *findings, const struct rd_counters *c,
	const struct rd_growth *growth, double seconds)
{
	*findings = (struct rd_findings){0};
	for (size_t i = 0; i < sizeof(relations) / sizeof(*relations); i++)
		if (judge_relation(findings, c, growth, &relations[i], seconds))
			goto fail;
	for (size_t i = 0; i < c->n && findings->n < FINDINGS_MOST; i++)
		if (judge_one(findings, &c->counter[i], growth ? &growth[i] : NULL, seconds))
			goto fail;
	sort(findings);
	return 0;
fail:
	rd_findings_free(findings);
	return -1;
}

void rd_findings_free(struct rd_findings *f)
{
	free(f->finding);
	*f = (struct rd_findings){0};
}
