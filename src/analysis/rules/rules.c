/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Runs the rules over a report and puts what they find in order, worst first. */
#include "rules.h"
#include <stdarg.h>
#include <stdlib.h>

#define FINDINGS_MAX 4096 /* with one QP in trouble per finding: more than anyone reads */

static char *print(const char *fmt, va_list args)
{
	char *text;

	return vasprintf(&text, fmt, args) < 0 ? NULL : text;
}

void finding_frame(struct rd_finding *f, uint64_t frame)
{
	for (unsigned int i = 0; i < f->n_frames; i++)
		if (f->frames[i] == frame)
			return;
	if (frame && f->n_frames < RD_FINDING_FRAMES)
		f->frames[f->n_frames++] = frame;
}

void finding_of(struct rd_finding *f, const struct rd_event *e, enum rd_sureness sure)
{
	f->sure = sure;
	f->count = e->count;
	f->first_ns = e->first_ns;
	f->last_ns = e->last_ns;
	finding_frame(f, e->first_frame);
	finding_frame(f, e->last_frame);
}

void finding_title(struct rd_finding *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	f->title = print(fmt, args);
	va_end(args);
}

void finding_detail(struct rd_finding *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	f->detail = print(fmt, args);
	va_end(args);
}

void finding_filter(struct rd_finding *f, uint64_t first, const char *fmt, ...)
{
	char *text, *whole;
	va_list args;

	va_start(args, fmt);
	text = print(fmt, args);
	va_end(args);
	if (!text || !first) {
		f->filter = text;
		return;
	}
	if (asprintf(&whole, "%s && frame.number >= %llu", text, (unsigned long long)first) < 0)
		whole = NULL;
	free(text);
	f->filter = whole;
}

static char *endpoint_name(const struct rd_endpoint *e)
{
	char *text;
	int n = e->qp == RD_QP_UNKNOWN ? asprintf(&text, "%s", e->address)
				       : asprintf(&text, "%s QP 0x%x", e->address, e->qp);

	return n < 0 ? NULL : text;
}

static char *where(const struct look *look)
{
	char *from, *to, *text = NULL;

	if (!look->c)
		return strdup("the capture");
	from = endpoint_name(look->from);
	to = endpoint_name(look->to);
	if (from && to && asprintf(&text, "%s -> %s", from, to) < 0)
		text = NULL;
	free(from);
	free(to);
	return text;
}

/* False if the rule does not apply. */
static bool try_rule(struct rd_report *r, const struct rule *rule, const struct look *look)
{
	struct rd_finding *f = &r->findings[r->n_findings];

	*f = (struct rd_finding){.rule = rule->key,
		.severity = rule->severity,
		.meaning = rule->meaning,
		.next = rule->next,
		.conversation = look->c ? look->c->id : 0,
		.side = look->side};
	if (!rule->applies(look, f))
		return false;
	if (!f->where)
		f->where = where(look);
	r->n_findings++;
	return true;
}

static void try_side(const struct rd_analysis *a, struct rd_report *r,
	const struct rd_conversation *c, unsigned int side)
{
	const struct look look = {.a = a,
		.r = r,
		.c = c,
		.s = &c->side[side],
		.other = &c->side[!side],
		.from = side ? &c->b : &c->a,
		.to = side ? &c->a : &c->b,
		.side = side};

	for (const struct rule *rule = rules_of_sides; rule->key; rule++)
		if (r->n_findings < FINDINGS_MAX)
			try_rule(r, rule, &look);
}

int finding_worse(const void *x, const void *y)
{
	const struct rd_finding *a = x, *b = y;

	if (a->severity != b->severity)
		return a->severity < b->severity ? 1 : -1;
	if (a->sure != b->sure)
		return a->sure < b->sure ? 1 : -1;
	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	if (a->conversation != b->conversation)
		return a->conversation > b->conversation ? 1 : -1;
	if (strcmp(a->rule, b->rule) != 0)
		return strcmp(a->rule, b->rule);
	return strcmp(a->where ? a->where : "", b->where ? b->where : "");
}

int findings_make(const struct rd_analysis *a, struct rd_report *r)
{
	r->findings = calloc(FINDINGS_MAX + 1, sizeof(*r->findings));
	if (!r->findings)
		return -1;
	for (const struct rule *rule = rules_of_capture; rule->key; rule++) {
		struct look look = {.a = a, .r = r};

		while (r->n_findings < FINDINGS_MAX && try_rule(r, rule, &look))
			look.nth++;
	}
	for (size_t i = 0; i < r->n_conversations; i++) {
		try_side(a, r, &r->conversations[i], 0);
		try_side(a, r, &r->conversations[i], 1);
	}
	qsort(r->findings, r->n_findings, sizeof(*r->findings), finding_worse);
	return 0;
}
