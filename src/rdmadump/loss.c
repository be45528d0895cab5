/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lost frames in the report: which buffer to enlarge, and the numbers as text and JSON. */
#include "capture.h"
#include <rdmadump/json.h>
#include <rdmadump/sum.h>

#define ADVISE_FROM 0.1 /* percent */

/* --- advice --------------------------------------------------------------------------------- */

/* Advice by source, and by counter (NULL: all): each kind loses frames in another ring. */
static const struct advice {
	const char *source, *counter, *text;
} advices[] = {
	{"verbs", NULL,
		"the device's receive ring was full: raise -b, use --queues auto, or keep "
		"less of each frame (-s, --headers-only)"},
	{"verbs", RD_TOO_LONG, "frames were longer than the receive buffers: raise --max-frame"},
	{"netdev", "ps_drop",
		"the kernel's ring was full: raise -B, keep less of each frame (-s, "
		"--headers-only), or give a filter"},
	{"netdev", "ps_ifdrop",
		"the adapter's ring was full: enlarge it ('ethtool -G NETDEV rx N', see 'ethtool "
		"-g NETDEV')"},
};

static uint64_t lost_by(const struct capture_run *r, const struct advice *advice)
{
	unsigned int n;
	const struct rd_session_source *sources = rd_session_sources(r->session, &n);
	uint64_t lost = 0;

	for (unsigned int i = 0; i < n; i++) {
		const struct rd_source_stats *st = &sources[i].stats;

		if (strcmp(sources[i].source->ops->name, advice->source) != 0)
			continue;
		rd_sum_add(&lost, advice->counter ? 0 : st->lost - st->too_long);
		for (unsigned int k = 0; advice->counter && k < st->n_loss; k++)
			if (!strcmp(st->loss[k].name, advice->counter))
				rd_sum_add(&lost, st->loss[k].least);
	}
	return lost;
}

void loss_advise(const struct capture_run *r)
{
	struct rd_tally t = r->result->total;
	const char *more = "; or the output was too slow (--when-full wait): use a faster disk";

	for (size_t i = 0; i < RD_COUNT(advices); i++)
		if (rd_loss_percent(lost_by(r, &advices[i]), rd_tally_delivered(&t)) > ADVISE_FROM)
			rd_cli_note("%s%s", advices[i].text,
				r->opt->session.when_full == RD_FULL_WAIT ? more : "");
	if (r->result->end == RD_END_MEMORY || r->result->error.class != RD_CLASS_NONE ||
		r->broken_pipe)
		return;
	if (t.dropped)
		rd_cli_note("the output was too slow and rdmadump's buffer was full: raise "
			    "--buffer-size, use a faster disk, or keep less of each frame (-s, "
			    "--headers-only)");
	else if (r->result->written.unwritten)
		rd_cli_note("not all frames could be written: see the messages above");
}

/* --- JSON ------------------------------------------------------------------------------------ */

/* If the number is unknown: null, with the reason and a lower bound. */
static void put_frames(const struct capture_run *r, json_t *o, bool known, uint64_t frames,
	const struct rd_source_stats *unknown)
{
	double percent = rd_loss_percent(frames, rd_tally_delivered(&r->result->total));
	char why[RD_LOSS_TEXT] = "";

	json_object_set_new(o, "frames", known ? rd_json_u64(frames) : json_null());
	json_object_set_new(o, "percent", known ? json_real(percent) : json_null());
	json_object_set_new(o, "at_least", rd_json_u64(frames));
	if (known)
		return;
	if (unknown)
		rd_loss_reason(unknown, why);
	json_object_set_new(o, "reason", json_string(why));
}

static json_t *json_change(const struct rd_counter_change *c)
{
	bool level = c->is_level, known = rd_growth_known(&c->growth);

	return json_pack("{s:o, s:b, s:o, s:o, s:s, s:s}", "name", rd_json_string(c->name), "known",
		level || known, "growth",
		level || !known ? json_null() : rd_json_u64(c->growth.amount), "value",
		rd_json_u64(c->value), "unit", c->unit, "meaning", c->meaning);
}

json_t *loss_json_source(const struct capture_run *r, const struct rd_session_source *source)
{
	const struct rd_source_stats *st = &source->stats;
	json_t *counters = json_object(), *o;

	for (unsigned int k = 0; k < st->n_loss; k++)
		json_object_set_new(counters, st->loss[k].name,
			rd_growth_known(&st->loss[k].frames)
				? rd_json_u64(st->loss[k].frames.amount)
				: json_null());
	o = json_pack("{s:b, s:b, s:o, s:o}", "known", (int)st->loss_known, "shared",
		(int)st->loss_shared, "counters", counters, "beside",
		RD_JSON_LIST(change, source->related, source->n_related, json_change(change)));
	put_frames(r, o, st->loss_known, st->lost, st);
	return o;
}

json_t *loss_json(const struct capture_run *r)
{
	const struct rd_session_result *result = r->result;
	json_t *o = json_pack("{s:b, s:b}", "known", (int)result->lost_known, "settled",
		(int)result->lost_settled);
	unsigned int n;
	const struct rd_session_source *sources = rd_session_sources(r->session, &n);
	const struct rd_session_source *s = RD_FIND(one, sources, n, !one->stats.loss_known);

	put_frames(r, o, result->lost_known, result->lost, s ? &s->stats : NULL);
	return o;
}

/* --- text ------------------------------------------------------------------------------------ */

void loss_text(const struct capture_run *r)
{
	unsigned int n;
	const struct rd_session_source *sources = rd_session_sources(r->session, &n);

	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int k = 0; k < sources[i].n_related; k++) {
			const struct rd_counter_change *c = &sources[i].related[k];
			char text[96];

			rd_counter_change_text(c, text, sizeof(text));
			rd_cli_note("also counted: %s (%s)", text, c->meaning);
		}
	}
}
