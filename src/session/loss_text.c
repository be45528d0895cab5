/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a session lost, for the report and for the file's comment. */
#include "session.h"
#include <rdmadump/sum.h>
#include <rdmadump/units.h>

void rd_loss_reason(const struct rd_source_stats *st, char out[RD_LOSS_TEXT])
{
	if (st->missing && *st->missing) {
		snprintf(out, RD_LOSS_TEXT, "%s", st->missing);
		return;
	}
	for (unsigned int i = 0; i < st->n_loss; i++) {
		const struct rd_growth *growth = &st->loss[i].frames;
		const char *reason = rd_growth_reason(growth);

		if (reason) {
			snprintf(out, RD_LOSS_TEXT, "%s %s%s", st->loss[i].name, reason,
				growth->verdict == RD_GROWTH_RESET ? " during the capture" : "");
			return;
		}
	}
	snprintf(out, RD_LOSS_TEXT, "no counter reports it");
}

static enum rd_drops_scope scope_of(const struct rd_session *s, const struct rd_source_stats *stats)
{
	for (unsigned int i = 0; i < s->in.n; i++)
		if (stats[i].loss_shared && stats[i].n_loss)
			return s->in.sources[i]->ops->measure ? RD_DROPS_SHARED : RD_DROPS_EARLY;
	return RD_DROPS_PLAIN;
}

static void name_counters(const struct rd_source_stats *st, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (unsigned int k = 0; k < st->n_loss && used < size; k++)
		if (strcmp(st->loss[k].name, RD_TOO_LONG) != 0)
			used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "",
				st->loss[k].name);
}

void loss_drops(const struct rd_session *s, const struct rd_source_stats *stats, struct rd_drops *d)
{
	*d = (struct rd_drops){.of = is_offline(s) ? RD_DROPS_AGAIN : RD_DROPS_CAPTURE,
		.device_known = true,
		.scope = scope_of(s, stats)};
	for (unsigned int i = s->in.n; i-- > 0;) {
		rd_sum_add(&d->device, stats[i].lost - stats[i].too_long);
		rd_sum_add(&d->too_long, stats[i].too_long);
		if (stats[i].loss_known || s->in.follows[i])
			continue;
		d->device_known = false;
		d->counted |= stats[i].n_loss > 0;
		rd_loss_reason(&stats[i], d->why);
	}
	d->moved = d->device || d->too_long;
	name_counters(&stats[0], d->counters, sizeof(d->counters));
}

void rd_session_drops(const struct rd_session *s, struct rd_drops *d)
{
	const struct rd_session_result *r = &s->result;

	loss_drops(s, s->in.stats, d);
	for (unsigned int i = 0; i < s->n_listed; i++)
		d->moved |= s->listed[i].n_related > 0;
	d->no_buffer = r->total.dropped;
	d->unwritten = r->written.unwritten;
	d->delivered = rd_tally_delivered(&r->total);
	d->unsettled = !r->lost_settled;
}

/* --- other counters of the port --------------------------------------------------------------- */

void rd_counter_change_text(const struct rd_counter_change *c, char *out, size_t size)
{
	const char *name = strrchr(c->name, '/'), *why = rd_growth_reason(&c->growth);
	char n[RD_UNITS_LEN];

	name = name ? name + 1 : c->name;
	if (c->is_level)
		snprintf(out, size, "%s %s", name, rd_fmt_count(n, c->value));
	else if (!rd_growth_known(&c->growth))
		snprintf(out, size, "%s %s", name, why);
	else
		snprintf(out, size, "%s +%s%s", name, rd_fmt_count(n, c->growth.amount),
			why ? " or more" : "");
}

void loss_related_text(const struct rd_session *s, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (unsigned int i = 0; i < s->n_listed; i++) {
		for (unsigned int k = 0; k < s->listed[i].n_related; k++) {
			char one[96];

			rd_counter_change_text(&s->listed[i].related[k], one, sizeof(one));
			if (used < size)
				used += (size_t)snprintf(out + used, size - used, "%s%s",
					used ? ", " : " Also counted: ", one);
		}
	}
	if (used && used < size)
		snprintf(out + used, size - used, ".");
}
