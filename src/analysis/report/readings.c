/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the counters of the capturing devices say beside the packets. */
#include "../model/facts.h"
#include "report.h"
#include <rdmadump/json.h>
#include <rdmadump/memory.h>
#include <stdlib.h>

/* All counters of the last reading and their growth; -1 if out of memory. */
static int take_counters(
	const struct facts_port *p, struct rd_counters *c, struct rd_growth **growth)
{
	const struct facts_span *s = &p->spans[p->n_spans - 1];
	json_t *numbers = json_object_get(s->last, "counters"), *value;
	size_t capacity = json_object_size(numbers);
	const char *name;

	*c = (struct rd_counters){.port = p->port, .speed = p->speed};
	snprintf(c->device, sizeof(c->device), "%s", p->device);
	snprintf(c->driver, sizeof(c->driver), "%s", p->driver);
	*growth = calloc(capacity + 1, sizeof(**growth));
	if (!*growth)
		return -1;
	json_object_foreach (numbers, name, value) {
		size_t i = c->n;

		if (json_number_value(value) < 0)
			continue;
		if (rd_counters_add(c, rd_json_u64_value(value), "%s", name) < 0)
			return -1;
		if (c->n == i) /* not a counter by its name */
			continue;
		/* The value of a gauge is not growth. */
		if (c->counter[i].kind && c->counter[i].kind->flags & RD_COUNTER_GAUGE)
			(*growth)[i].verdict = RD_GROWTH_MISSING;
		else if (!facts_growth(p, name, false, &(*growth)[i]))
			(*growth)[i].verdict = RD_GROWTH_MISSING;
	}
	return 0;
}

/* Moves findings to the end of another list. */
static int move(struct rd_findings *to, struct rd_findings *from)
{
	for (size_t i = 0; i < from->n; i++) {
		struct rd_finding *f = rd_findings_add(to);
		size_t number;

		if (!f)
			return -1;
		number = f->number;
		*f = from->finding[i];
		f->number = number;
		from->finding[i] = (struct rd_finding){0};
	}
	return 0;
}

/* Whether a capture counts the growth of this counter as frames that it lost. */
static bool is_of_capture(const struct rd_report *r, const char *driver, const char *name)
{
	const struct rd_counter_kind *kind = name ? rd_counter_kind(driver, name) : NULL;

	return kind && kind->flags & RD_COUNTER_LOSS &&
	       RD_ANY(f, r->files, r->n_files,
		       f->losses && strstr(f->losses, strchr(name, '/') + 1));
}

/* A sniffer takes its receives from the same device as the programs whose fault it would be. */
static void leave_to_capture(
	const struct rd_report *r, const char *driver, const struct rd_findings *found)
{
	for (struct rd_finding *f = found->finding; f < found->finding + found->n; f++)
		if (is_of_capture(r, driver, f->counter)) {
			f->severity = RD_SEV_NOTE;
			f->meaning =
				"the receive buffers of this capture were full, whose file counts "
				"them as frames that it lost; or a program posts too few receives";
			f->next = "see whether it grows without a capture: rdmadump counters";
		}
}

static int judge(const struct facts_port *p, struct rd_report *r)
{
	/* Findings borrow names of counters. */
	struct rd_counters *list = rd_append(&r->readings, r->n_readings, sizeof(*list));
	struct rd_growth *growth = NULL;
	struct rd_findings found = {0};
	int rc;

	if (!list)
		return -1;
	r->n_readings++;
	rc = take_counters(p, list, &growth);
	if (!rc)
		rc = rd_counters_judge(&found, list, growth, facts_seconds(p));
	if (!rc)
		leave_to_capture(r, p->driver, &found);
	if (!rc)
		rc = move(&r->findings, &found);
	rd_findings_free(&found);
	free(growth);
	return rc;
}

int readings_judge(const struct rd_analysis *a, struct rd_report *r)
{
	/* As with comparisons: they are of all traffic. */
	if (!a->facts || a->config.qp != RD_QP_UNKNOWN || a->config.to_ns)
		return 0;
	for (unsigned int i = 0; i < a->facts->n_ports; i++) {
		const struct facts_port *p = &a->facts->ports[i];

		if (p->n_spans && p->spans[p->n_spans - 1].last && judge(p, r) < 0)
			return -1;
	}
	return 0;
}

/* A device whose counter of such failures did not move has not given up. */
static void correct_ending(
	const struct rd_analysis *a, struct rd_conversation *c, unsigned int side)
{
	struct rd_side *s = &c->side[side];
	struct rd_growth grown;

	if (s->end.how != RD_ENDING_RETRY && s->end.how != RD_ENDING_RNR)
		return;
	/* It gave up after its last frame, and before the end of the capture. */
	if (!facts_gave_up(a, c->end[side].address, s->end.how == RD_ENDING_RNR, s->traffic.last_ns,
		    a->totals.last_ns, &grown) ||
		grown.amount)
		return;
	s->end.how = RD_ENDING_OPEN;
	s->end.frame = s->end.ns = 0;
}

void readings_correct(const struct rd_analysis *a, struct rd_report *r)
{
	for (size_t i = 0; a->facts && i < r->n_conversations; i++) {
		correct_ending(a, &r->conversations[i], 0);
		correct_ending(a, &r->conversations[i], 1);
	}
}
