/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The parts of a side that most sides lack: events, verbs, latencies; only those there are. */
#include "../report/report.h"
#include <stdlib.h>

/* How many of the bits in front of this one are set: its place in the array. */
static unsigned int place(uint64_t has, unsigned int bit)
{
	return (unsigned int)__builtin_popcountll(has & ((UINT64_C(1) << bit) - 1));
}

const struct rd_event *rd_side_event(const struct rd_side *s, enum rd_event_kind kind)
{
	static const struct rd_event none;

	return s->has_events >> kind & 1 ? &s->events[place(s->has_events, kind)] : &none;
}

const struct rd_verb_use *rd_side_verb(const struct rd_side *s, enum rd_verb verb)
{
	static const struct rd_verb_use none;

	return s->has_verbs >> verb & 1 ? &s->verbs[place(s->has_verbs, verb)] : &none;
}

const struct rd_latency *rd_side_latency(const struct rd_side *s, enum rd_latency_kind kind)
{
	static const struct rd_latency none;

	return s->has_latencies >> kind & 1 ? &s->latencies[place(s->has_latencies, kind)] : &none;
}

static bool is_answer_event(unsigned int kind)
{
	return kind >= RD_EV_NAK_SEQUENCE && kind <= RD_EV_ZERO_CREDIT && kind != RD_EV_ANSWER_LOST;
}

bool side_events(struct rd_side *s, const struct flow *own, const struct flow *other)
{
	struct rd_event events[RD_EV_COUNT];
	unsigned int n = 0;

	_Static_assert(RD_EV_COUNT <= 64, "has_events has a bit for each");
	for (unsigned int i = 0; i < RD_EV_COUNT; i++) {
		const struct flow *f = is_answer_event(i) || i == RD_EV_CNP ? other : own;
		const struct rd_event *e = f ? event_of(&f->events, i) : NULL;

		if (!e || !e->count)
			continue;
		s->has_events |= UINT64_C(1) << i;
		events[n++] = *e;
	}
	if (!n)
		return true;
	s->events = malloc(n * sizeof(*events));
	if (s->events)
		memcpy(s->events, events, n * sizeof(*events));
	else
		s->has_events = 0;
	return s->events != NULL;
}

static bool side_verbs(struct rd_side *s, const struct flow *f)
{
	unsigned int n = 0;

	if (!f->n_verbs)
		return true;
	s->verbs = calloc(f->n_verbs, sizeof(*s->verbs));
	if (!s->verbs)
		return false;
	for (unsigned int i = 0; i < RD_VERB_COUNT; i++)
		if (f->verb_at[i]) {
			s->has_verbs |= (uint8_t)(1U << i);
			s->verbs[n++] = f->verbs[f->verb_at[i] - 1];
		}
	return true;
}

static bool side_latencies(struct rd_side *s, const struct flow *f)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < RD_LATENCY_COUNT; i++)
		n += f->latencies[i] != NULL;
	if (!n)
		return true;
	s->latencies = calloc(n, sizeof(*s->latencies));
	if (!s->latencies)
		return false;
	n = 0;
	for (unsigned int i = 0; i < RD_LATENCY_COUNT; i++)
		if (f->latencies[i]) {
			s->has_latencies |= (uint8_t)(1U << i);
			s->latencies[n++] = hist_result(f->latencies[i]);
		}
	return true;
}

bool side_requests(struct rd_side *s, const struct flow *f)
{
	return side_verbs(s, f) && side_latencies(s, f);
}

void side_free(struct rd_side *s)
{
	free(s->events);
	free(s->verbs);
	free(s->latencies);
}
