/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Frames lost before they came to us: how many, which part of all, who lost them, what to raise. */
#include "loss.h"
#include <inttypes.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <string.h>

#define ADVISE_FROM 0.1 /* percent */

uint64_t session_lost(const struct session *s, bool *known)
{
	uint64_t lost = 0;

	*known = true;
	for (unsigned int i = 0; i < s->n_sources; i++) {
		lost += s->source_stats[i].lost;
		*known &= s->source_stats[i].loss_known || s->follows[i];
	}
	return lost;
}

/* Of all frames that there were: delivered to us or lost. */
static double percent_of(uint64_t lost, uint64_t delivered)
{
	double all = (double)lost + (double)delivered;

	return all > 0 ? (double)lost * 100 / all : 0;
}

static double session_percent(const struct session *s, uint64_t lost)
{
	return percent_of(lost, session_total(s).delivered);
}

/* 99.996 % are not all. */
static char *percent_text(char *buf, double percent)
{
	if (percent < 0.01)
		strcpy(buf, "less than 0.01 %");
	else
		snprintf(buf, RD_UNITS_LEN, "%.2f %%",
			percent < 100 && percent > 99.99 ? 99.99 : percent);
	return buf;
}

/* Why a source's loss is unknown: "out_of_buffer was reset". */
static void reason_text(const struct rd_source_stats *st, char *out, size_t room)
{
	for (unsigned int i = 0; i < st->n_loss; i++) {
		const char *reason = rd_growth_reason(&st->loss[i].frames);

		if (reason) {
			snprintf(out, room, "%s %s", st->loss[i].name, reason);
			return;
		}
	}
	snprintf(out, room, "no counter tells");
}

static void session_reason(const struct session *s, char *out, size_t room)
{
	out[0] = '\0';
	for (unsigned int i = 0; i < s->n_sources && !*out; i++)
		if (!s->source_stats[i].loss_known && !s->follows[i])
			reason_text(&s->source_stats[i], out, room);
}

/* Who lost the frames that did not come to us. */
static const char *loser(const struct session *s)
{
	return session_is_offline(s) ? "when it was captured" : "by the device";
}

void loss_text(const struct session *s, char *out, size_t room)
{
	const struct rd_source_stats *first = &s->source_stats[0];
	char n[RD_UNITS_LEN], percent[RD_UNITS_LEN], why[80];
	bool known, upper = false;
	uint64_t lost = session_lost(s, &known);
	const char *separator = " (";
	size_t used;

	if (!known) {
		session_reason(s, why, sizeof(why));
		snprintf(out, room, "%s unknown (%s)", loser(s), why);
		return;
	}
	used = (size_t)snprintf(out, room, "%s %s", loser(s), rd_fmt_count(n, lost));
	if (lost && used < room) {
		used += (size_t)snprintf(out + used, room - used, " (%s",
			percent_text(percent, session_percent(s, lost)));
		separator = "; ";
	}
	for (unsigned int i = 0; i < s->n_sources; i++)
		upper |= s->source_stats[i].loss_upper_bound && s->source_stats[i].lost;
	for (unsigned int k = 0; k < first->n_loss && used < room; k++)
		used += (size_t)snprintf(
			out + used, room - used, "%s%s", k ? ", " : separator, first->loss[k].name);
	if (used < room && (lost || first->n_loss))
		snprintf(out + used, room - used, "%s)",
			upper ? "; upper bound, the counter is shared" : "");
}

/* --- what to raise --------------------------------------------------------------------------- */

/* By the source's name: each loses frames in a ring of its own. */
static const struct {
	const char *source, *text;
} advices[] = {
	{"verbs", "the device's receive ring was full: raise -b, use --queues auto or --rx-mode "
		  "striding, or keep less of each frame (-s, --headers-only)"},
	{"netdev", "the kernel's ring was full: raise -B, keep less of each frame (-s, "
		   "--headers-only), or give a filter"},
};

static uint64_t lost_by(const struct session *s, const char *name)
{
	uint64_t lost = 0;

	for (unsigned int i = 0; i < s->n_sources; i++)
		if (!strcmp(s->sources[i]->ops->name, name))
			lost += s->source_stats[i].lost;
	return lost;
}

void loss_advise(const struct session *s)
{
	struct rd_tally t = session_total(s);

	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
		if (percent_of(lost_by(s, advices[i].source), t.delivered) > ADVISE_FROM)
			fprintf(stderr, "  %s\n", advices[i].text);
	if (s->capture.end == RD_END_MEMORY || s->error.class != RD_CLASS_NONE || s->broken_pipe)
		return;
	if (t.dropped)
		fprintf(stderr,
			"  the output was too slow and our buffer was full: raise --buffer-size, "
			"use a faster disk, or keep less of each frame (-s, --headers-only)\n");
	else if (s->written.unwritten)
		fprintf(stderr, "  the output did not take all frames: look at its messages\n");
}

/* --- JSON ------------------------------------------------------------------------------------ */

static json_t *json_count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* null where it is not known, and then the reason. */
static void put_frames(json_t *o, bool known, uint64_t frames, double percent, const char *reason)
{
	json_object_set_new(o, "frames", known ? json_count(frames) : json_null());
	json_object_set_new(o, "percent", known ? json_real(percent) : json_null());
	if (!known)
		json_object_set_new(o, "reason", json_string(reason));
}

json_t *loss_json_source(const struct session *s, unsigned int i)
{
	const struct rd_source_stats *st = &s->source_stats[i];
	json_t *counters = json_object(), *o;
	char why[80] = "";

	for (unsigned int k = 0; k < st->n_loss; k++)
		json_object_set_new(counters, st->loss[k].name,
			rd_growth_known(&st->loss[k].frames) ? json_count(st->loss[k].frames.amount)
							     : json_null());
	o = json_pack("{s:b, s:b, s:o}", "known", (int)st->loss_known, "upper_bound",
		(int)st->loss_upper_bound, "counters", counters);
	if (!st->loss_known)
		reason_text(st, why, sizeof(why));
	put_frames(o, st->loss_known, st->lost, session_percent(s, st->lost), why);
	return o;
}

json_t *loss_json(const struct session *s)
{
	bool known;
	uint64_t lost = session_lost(s, &known);
	json_t *o = json_pack("{s:b}", "known", (int)known);
	char why[80];

	session_reason(s, why, sizeof(why));
	put_frames(o, known, lost, session_percent(s, lost), why);
	return o;
}
