/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose an address is; by how much counters grew, between the readings that files have of them. */
#include "facts.h"
#include <rdmadump/json.h>

/* Of the facts of one moment; false: it is absent. */
static bool value_of(const json_t *facts, const char *counter, uint64_t *value)
{
	const json_t *v = json_object_get(json_object_get(facts, "counters"), counter);

	if (!json_is_number(v) || json_number_value(v) < 0)
		return false;
	*value = rd_json_u64_value(v);
	return true;
}

uint64_t reading_ns(const json_t *reading)
{
	json_int_t ns = json_integer_value(json_object_get(reading, "time_ns"));

	return ns > 0 ? (uint64_t)ns : 0;
}

/* Of one span; false where neither reading has the counter. */
static bool span_growth(const struct facts_port *p, const struct facts_span *s, const char *counter,
	struct rd_growth *grown)
{
	uint64_t from = reading_ns(s->first), to = reading_ns(s->last), first, last;
	const struct rd_span span = {from && to > from ? (double)(to - from) / 1e9 : 0, p->speed};
	bool before = value_of(s->first, counter, &first),
	     after = value_of(s->last, counter, &last);

	if (!before && !after)
		return false;
	*grown = rd_counter_growth(rd_counter_kind(p->driver, counter), before ? &first : NULL,
		after ? &last : NULL, &span);
	return true;
}

bool facts_show_reset(const struct facts_port *p, const struct facts_span *s)
{
	const char *name;
	json_t *value;

	json_object_foreach (json_object_get(s->last, "counters"), name, value) {
		const struct rd_counter_kind *kind = rd_counter_kind(p->driver, name);
		struct rd_growth grown;

		if (kind && span_growth(p, s, name, &grown) &&
			rd_counter_shows_reset(kind, name, &grown, HW))
			return true;
	}
	return false;
}

bool facts_growth(
	const struct facts_port *p, const char *counter, bool exact, struct rd_growth *grown)
{
	const bool hw = !strncmp(counter, HW, strlen(HW));
	struct rd_growth one;
	bool any = false;

	for (unsigned int i = 0; i < p->n_spans && p->spans[i].last; i++) {
		if (!span_growth(p, &p->spans[i], counter, &one))
			continue;
		if (hw && p->spans[i].was_reset && (exact || one.wrapped) && rd_growth_known(&one))
			one = (struct rd_growth){.verdict = RD_GROWTH_RESET};
		if (any)
			rd_growth_add(grown, &one);
		else
			*grown = one;
		any = true;
	}
	return any;
}

double facts_seconds(const struct facts_port *p)
{
	double sum = 0;

	for (unsigned int i = 0; i < p->n_spans && p->spans[i].last; i++) {
		uint64_t from = reading_ns(p->spans[i].first), to = reading_ns(p->spans[i].last);

		if (from && to > from)
			sum += (double)(to - from) / 1e9;
	}
	return sum;
}

bool facts_is_local(const struct facts_port *p, const char *address)
{
	return RD_ANY(g, p->gids, p->n_gids, !strcmp(*g, address));
}

const struct facts_port *facts_port_at(const struct rd_analysis *a, const char *address)
{
	return a->facts ? RD_FIND(p, a->facts->ports, a->facts->n_ports, facts_is_local(p, address))
			: NULL;
}

/* Whether one capture has both readings around this time. */
static bool covers(const struct facts_port *p, uint64_t from_ns, uint64_t to_ns)
{
	return RD_ANY(s, p->spans, p->n_spans,
		s->last && reading_ns(s->first) <= from_ns && reading_ns(s->last) >= to_ns);
}

bool facts_gave_up(const struct rd_analysis *a, const char *address, bool rnr, uint64_t from_ns,
	uint64_t to_ns, struct rd_growth *grown)
{
	static const char *const names[2][4] = {
		{"hw_counters/retry_exceeded_err", "hw_counters/req_transport_retries_exceeded",
			"hw_counters/max_retry_exceeded", NULL},
		{"hw_counters/retry_rnr_exceeded_err", "hw_counters/req_rnr_retries_exceeded",
			NULL}};
	const struct facts_port *p = facts_port_at(a, address);

	for (unsigned int i = 0; p && covers(p, from_ns, to_ns) && names[rnr][i]; i++)
		if (facts_growth(p, names[rnr][i], true, grown))
			return rd_growth_known(grown) && !grown->wrapped;
	return false;
}
