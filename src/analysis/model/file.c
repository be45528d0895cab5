/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a capture file says beside its frames: its name and origin, comments, drops, link speed. */
#include "facts.h"
#include <errno.h>
#include <rdmadump/drops.h>
#include <rdmadump/memory.h>
#include <rdmadump/sum.h>
#include <stdlib.h>

static void keep_text(char **to, const char *text)
{
	if (!*to && text && *text)
		*to = strdup(text);
}

int rd_analysis_file(struct rd_analysis *a, const char *name, const char *format,
	const struct rd_section *section, struct rd_error *err)
{
	struct rd_report_file *f = rd_append(&a->in.files, a->in.n_files, sizeof(*f));

	if (!f)
		return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "cannot analyse '%s'", name);
	facts_settle(a);
	a->in.n_files++;
	a->in.n_ifaces = 0;
	*f = (struct rd_report_file){.name = strdup(name), .first_frame = a->frame + 1};
	snprintf(f->format, sizeof(f->format), "%s", format);
	if (section) {
		keep_text(&a->in.application, section->application);
		keep_text(&a->in.hardware, section->hardware);
		keep_text(&a->in.os, section->os);
	}
	return f->name ? 0
		       : rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "cannot analyse '%s'", name);
}

void rd_analysis_file_end(struct rd_analysis *a, uint64_t dropped, bool dropped_known,
	const char *comment, const char *damage)
{
	struct rd_report_file *f = &a->in.files[a->in.n_files - 1];

	f->dropped = dropped;
	f->dropped_known = dropped_known;
	if (rd_drops_is_sentence(comment))
		f->losses = strdup(comment);
	if (damage)
		f->damage = strdup(damage);
	/* The files of its series that come before it */
	for (; dropped_known && f > a->in.files && f[-1].losses &&
		strstr(f[-1].losses, RD_DROPS_IN_LAST);
		f--)
		f[-1].dropped_known = true;
}

#define ZONES_MS 900000 /* time zones differ by quarters of an hour */

/*
 * Skips the time that a capture writes before each event, "12:34:56.789 ", of a time zone that is
 * not known. *later: how much that is after ts_ns, or, negative, before it; 0 without a time.
 */
static const char *read_time(const char *at, uint64_t ts_ns, int64_t *later)
{
	unsigned int h, m, s, ms;
	int length = 0;
	int64_t apart;

	*later = 0;
	if (sscanf(at, "%2u:%2u:%2u.%3u %n", &h, &m, &s, &ms, &length) != 4 || length != 13)
		return at;
	apart = ((int64_t)((h * 60 + m) * 60 + s) * 1000 + ms - (int64_t)(ts_ns / 1000000)) %
		ZONES_MS;
	if (apart < -ZONES_MS / 2)
		apart += ZONES_MS;
	else if (apart > ZONES_MS / 2)
		apart -= ZONES_MS;
	*later = apart * 1000000;
	return at + length;
}

/* "rxe0: GID 1 removed: ::ffff:10.0.0.1, RoCE v2", and what verbs alone reports of it. */
static bool read_gids(const char *text, struct link_event *e)
{
	static const char mapped[] = "::ffff:";
	char gid[RD_ADDRESS_LEN];

	if (!strncmp(text, "GID table changed", 17))
		return true;
	if (sscanf(text, "%*63[^: ]: GID %*u removed: %45[0-9a-f.:]", gid) != 1)
		return false;
	snprintf(e->gid, sizeof(e->gid), "%s",
		strchr(gid, '.') && !strncmp(gid, mapped, 7) ? gid + 7 : gid);
	return true;
}

static bool read_event(const char *text, size_t len, struct link_event *e)
{
	static const struct {
		const char *text;
		enum link_change what;
	} states[] = {{"port down", LINK_DOWN}, {"netdev down", LINK_DOWN},
		{"netdev up, without carrier", LINK_DOWN}, {"port up", LINK_UP},
		{"netdev up", LINK_UP}};

	for (size_t k = 0; k < RD_COUNT(states); k++)
		if (strlen(states[k].text) == len && !memcmp(text, states[k].text, len)) {
			e->what = states[k].what;
			return true;
		}
	e->what = LINK_GIDS;
	return read_gids(text, e);
}

void rd_analysis_comment(
	struct rd_analysis *a, const char *comment, const struct rd_frame *frames, unsigned int i)
{
	uint64_t moved;

	times_begin(a, frames[0].ts_ns);
	moved = a->totals.moved_ns;
	for (const char *at = comment; *at;) {
		const size_t len = strcspn(at, ";");
		int64_t later;
		const char *text = read_time(at, frames[i].ts_ns, &later);
		struct link_event e = {.before_ns = i ? frames[i - 1].ts_ns + moved : a->ns,
			.ns = frames[i].ts_ns + moved,
			.noted_ns = frames[i].ts_ns + moved + (uint64_t)later,
			.frame = a->frame + i + 1};

		if (a->ports.n < LINK_EVENTS && read_event(text, len - (size_t)(text - at), &e))
			a->ports.event[a->ports.n++] = e;
		at += len;
		at += strspn(at, "; ");
	}
}

void rd_analysis_dropped(struct rd_analysis *a, uint64_t frames)
{
	rd_sum_add(&a->in.pending_dropped, frames);
}
