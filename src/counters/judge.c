/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares two readings of a port's counters; the table of counters defines what a problem is. */
#include <rdmadump/array.h>
#include <rdmadump/counters.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINDINGS_MAX 256 /* per port; more are left out */

const struct rd_counter_relation rd_counter_relations[] = {
	{"marked-not-notified", "hw_counters/np_ecn_marked_roce_packets", "hw_counters/np_cnp_sent",
		RD_SEV_PROBLEM,
		"packets arrive marked with congestion, and no notification is sent: senders do "
		"not slow down",
		"enable the notification point (roce_np) for the priority in use"},
	{"notified-not-slowed", "hw_counters/rp_cnp_ignored", "hw_counters/rp_cnp_handled",
		RD_SEV_PROBLEM, "congestion notifications arrive and none is acted on",
		"enable the reaction point (roce_rp) for the priority in use"},
	{"marked-not-notified", "hw_counters/RxECNMrkd", "hw_counters/cnpSent", RD_SEV_PROBLEM,
		"packets arrive marked with congestion, and no notification is sent",
		"enable congestion control (DCQCN)"},
	{"marked-not-notified", "hw_counters/rx_ecn_marked_pkts", "hw_counters/tx_cnp_pkts",
		RD_SEV_PROBLEM,
		"packets arrive marked with congestion, and no notification is sent",
		"enable congestion control (DCQCN)"},
	{0},
};

static struct rd_growth growth_of(
	const struct rd_counter *before, const struct rd_counter *after, const struct rd_span *span)
{
	if (after->kind && after->kind->flags & RD_COUNTER_GAUGE)
		return (struct rd_growth){.amount = after->value};
	return rd_counter_growth(after->kind, before ? &before->value : NULL, &after->value, span);
}

/* Stored readings lack the port's speed. */
static struct rd_span span_of(const struct rd_counters *before, const struct rd_counters *after)
{
	struct rd_span span = {.speed = after->speed};

	if (after->time_ns > before->time_ns)
		span.seconds = (double)(after->time_ns - before->time_ns) / 1e9;
	return span;
}

/* A counter that seems to have wrapped was reset if another one was. */
static void find_resets(const struct rd_counters *after, struct rd_growth *growth)
{
	for (size_t i = 0; i < after->n; i++)
		for (size_t k = 0; growth[i].wrapped && k < after->n; k++)
			if (rd_counter_shows_reset(after->counter[k].kind, after->counter[k].name,
				    &growth[k], after->counter[i].name))
				growth[i] = (struct rd_growth){.verdict = RD_GROWTH_RESET};
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
	if (growth)
		find_resets(after, growth);
	return growth;
}

/* Most names are clear without their place; "req" and "rej" are not. */
static const char *short_name(const char *name)
{
	static const char *const places[] = {"hw_counters/", "counters/"};

	for (size_t i = 0; i < RD_COUNT(places); i++)
		if (!strncmp(name, places[i], strlen(places[i])))
			return name + strlen(places[i]);
	return name;
}

/* The input of the judgement: the growth over a number of seconds, or values. */
struct judging {
	struct rd_findings *findings;
	const struct rd_counters *counters;
	const struct rd_growth *growth;
	double seconds;
};

/*
 * "out_of_buffer grew by at least 12 in 3.0 s": a reset in between cannot be detected if the
 * counter has passed its old value again. NULL if out of memory.
 */
static struct rd_finding *report(
	const struct judging *j, const char *rule, const char *counter, uint64_t amount, bool grew)
{
	struct rd_finding *f = rd_findings_add(j->findings);
	char n[RD_UNITS_LEN], time[32] = "";

	if (!f)
		return NULL;
	f->rule = rule;
	f->counter = counter;
	f->evidence.count = amount;
	f->certainty = RD_CERTAIN; /* the title states what was read */
	if (grew && j->seconds > 0)
		snprintf(time, sizeof(time), " in %.1f s", j->seconds);
	rd_finding_where(f, "%s port %u", j->counters->device, j->counters->port);
	rd_finding_title(f, "%.64s %s %s%s", short_name(counter), grew ? "grew by at least" : "is",
		rd_fmt_count(n, amount), time);
	return f;
}

static int judge_one(
	const struct judging *j, const struct rd_counter *c, const struct rd_growth *growth)
{
	const struct rd_counter_kind *k = c->kind;
	uint64_t amount = growth ? growth->amount : c->value;
	struct rd_finding *f;

	if (!k || k->flags & RD_COUNTER_GAUGE)
		return 0;
	if (k->severity >= RD_SEV_WARNING && amount && (growth || amount >= k->least)) {
		f = report(j, "counter", c->name, amount, growth);
		if (!f)
			return -1;
		f->severity = k->severity;
		f->meaning = k->cause;
		f->next = k->todo;
		rd_finding_detail(f, "%s", k->meaning);
		if (growth && growth->wrapped)
			f->certainty = RD_LIKELY; /* a reset looks the same */
	}
	if (rd_counter_is_full(k, c->value)) {
		f = report(j, "counter-saturated", c->name, c->value, false);
		if (!f)
			return -1;
		f->severity = RD_SEV_NOTE;
		f->next = "reset the port's counters (perfquery -R) to see whether it still grows";
		rd_finding_detail(f, "its largest value, where it stopped counting");
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

static int judge_relation(const struct judging *j, const struct rd_counter_relation *r)
{
	uint64_t moved, still;
	const char *name, *other;
	struct rd_finding *f;

	if (!amount_of(j->counters, j->growth, r->still, &still, &other) ||
		!amount_of(j->counters, j->growth, r->moved, &moved, &name) || !moved || still)
		return 0;
	f = report(j, r->rule, name, moved, j->growth);
	if (!f)
		return -1;
	f->severity = r->severity;
	/* They are read one after the other, and firmware may update them separately. */
	f->certainty = RD_LIKELY;
	f->next = r->todo;
	rd_finding_detail(f, "%s", r->text);
	return 0;
}

int rd_counters_judge(struct rd_findings *findings, const struct rd_counters *c,
	const struct rd_growth *growth, double seconds)
{
	const struct judging j = {findings, c, growth, seconds};

	*findings = (struct rd_findings){0};
	for (const struct rd_counter_relation *r = rd_counter_relations; r->rule; r++)
		if (judge_relation(&j, r))
			goto fail;
	for (size_t i = 0; i < c->n && findings->n < FINDINGS_MAX; i++)
		if (judge_one(&j, &c->counter[i], growth ? &growth[i] : NULL))
			goto fail;
	if (!rd_findings_are_complete(findings))
		goto fail;
	rd_findings_sort(findings, NULL);
	return 0;
fail:
	rd_findings_free(findings);
	return -1;
}
