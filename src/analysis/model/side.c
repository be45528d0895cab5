/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Incidents, verbs and latencies of a side. Most sides have few, so only these are stored. */
#include "facts.h"
#include <rdmadump/names.h>
#include <stdlib.h>

const struct rd_incident_name rd_incident_names[RD_INC_COUNT] = {
#define INCIDENT(name, key, flow, help) [RD_INC_##name] = {key, help},
#include <rdmadump/incident.def>
#undef INCIDENT
};

RD_NAMES(rd_verb_name, "?", [RD_VERB_SEND] = "SEND", [RD_VERB_WRITE] = "WRITE",
	[RD_VERB_READ] = "READ", [RD_VERB_ATOMIC] = "ATOMIC", [RD_VERB_FLUSH] = "FLUSH")

const struct rd_incident *rd_side_incident(const struct rd_side *s, enum rd_incident_kind kind)
{
	static const struct rd_incident none;

	return s->has_incidents >> kind & 1 ? &s->incidents[bit_place(s->has_incidents, kind)]
					    : &none;
}

const struct rd_verb_use *rd_side_verb(const struct rd_side *s, enum rd_verb verb)
{
	static const struct rd_verb_use none;

	return s->has_verbs >> verb & 1 ? &s->verbs[bit_place(s->has_verbs, verb)] : &none;
}

const struct rd_latency *rd_side_latency(const struct rd_side *s, enum rd_latency_kind kind)
{
	static const struct rd_latency none;

	return s->has_latencies >> kind & 1 ? &s->latencies[bit_place(s->has_latencies, kind)]
					    : &none;
}

const struct rd_latency *rd_side_responses(const struct rd_side *s)
{
	const struct rd_latency *most = rd_side_latency(s, RD_LATENCY_ACK);

	for (unsigned int i = RD_LATENCY_READ; i <= RD_LATENCY_ATOMIC; i++)
		if (rd_side_latency(s, i)->n > most->n)
			most = rd_side_latency(s, i);
	return most;
}

uint64_t rd_goodput(uint64_t bytes, const struct rd_conversation *conversations, size_t n)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < 2 * n; i++) {
		const struct rd_side *s = &conversations[i / 2].side[i % 2];

		if (s->seen && s->traffic.first_ns < first)
			first = s->traffic.first_ns;
		if (s->seen && s->traffic.last_ns > last)
			last = s->traffic.last_ns;
	}
	return last > first ? (uint64_t)((double)bytes * 8e9 / (double)(last - first)) : 0;
}

const bool side_is_in_peer[RD_INC_COUNT] = {
#define OWN				false
#define PEER				true
#define INCIDENT(name, key, flow, help) [RD_INC_##name] = (flow),
#include <rdmadump/incident.def>
#undef INCIDENT
};

bool side_incidents(struct rd_side *s, const struct flow *own, const struct flow *other)
{
	struct rd_incident incidents[RD_INC_COUNT];
	unsigned int n = 0;

	_Static_assert(RD_INC_COUNT <= 64, "has_incidents has a bit for each");
	for (unsigned int i = 0; i < RD_INC_COUNT; i++) {
		const struct flow *f = side_is_in_peer[i] ? other : own;
		const struct rd_incident *e = f ? incident_of(&f->incidents, i) : NULL;

		if (!e || !e->count)
			continue;
		s->has_incidents |= UINT64_C(1) << i;
		incidents[n++] = *e;
	}
	if (!n)
		return true;
	s->incidents = malloc(n * sizeof(*incidents));
	if (s->incidents)
		memcpy(s->incidents, incidents, n * sizeof(*incidents));
	else
		s->has_incidents = 0;
	return s->incidents != NULL;
}

static bool side_verbs(struct rd_side *s, const struct flow *f)
{
	unsigned int n = 0;

	if (!f->req.n_verbs)
		return true;
	s->verbs = calloc(f->req.n_verbs, sizeof(*s->verbs));
	if (!s->verbs)
		return false;
	for (unsigned int i = 0; i < RD_VERB_COUNT; i++)
		if (f->req.verb_at[i]) {
			s->has_verbs |= (uint8_t)(1U << i);
			s->verbs[n++] = f->req.verbs[f->req.verb_at[i] - 1];
		}
	return true;
}

static bool side_latencies(struct rd_side *s, const struct flow *f)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < RD_LATENCY_COUNT; i++)
		n += f->ack.latencies[i] != NULL;
	if (!n)
		return true;
	s->latencies = calloc(n, sizeof(*s->latencies));
	if (!s->latencies)
		return false;
	n = 0;
	for (unsigned int i = 0; i < RD_LATENCY_COUNT; i++)
		if (f->ack.latencies[i]) {
			s->has_latencies |= (uint8_t)(1U << i);
			s->latencies[n++] = hist_result(f->ack.latencies[i]);
		}
	return true;
}

static bool side_times(struct rd_side *s, const struct flow *f)
{
	const struct times *t = f->times;

	if (!t)
		return true;
	s->times = calloc(1, sizeof(*s->times));
	if (!s->times)
		return false;
	*s->times = t->so_far;
	if (t->so_far.gap_ns == UINT32_MAX)
		s->times->gap_ns = 0;
	return true;
}

bool side_requests(struct rd_side *s, const struct flow *f)
{
	return side_verbs(s, f) && side_latencies(s, f) && side_times(s, f);
}

void side_free(struct rd_side *s)
{
	free(s->incidents);
	free(s->verbs);
	free(s->latencies);
	free(s->refusal);
	free(s->congestion);
	free(s->held);
	free(s->times);
	free(s->psn_plot);
}

void report_files_free(struct rd_report_file *files, size_t n)
{
	for (size_t i = 0; files && i < n; i++) {
		free(files[i].name);
		free(files[i].losses);
		free(files[i].damage);
	}
	free(files);
}
