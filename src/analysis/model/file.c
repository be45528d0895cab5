/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a capture file says beside its frames: its name and origin, comments, drops, link speed. */
#include "facts.h"
#include <errno.h>
#include <rdmadump/drops.h>
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
	struct rd_report_file *files = reallocarray(a->in.files, a->in.n_files + 1, sizeof(*files));
	struct rd_report_file *f;

	if (!files)
		return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "cannot analyse '%s'", name);
	facts_settle(a);
	a->in.files = files;
	f = &files[a->in.n_files++];
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
}

void rd_analysis_comment(
	struct rd_analysis *a, const char *comment, const struct rd_frame *frames, unsigned int i)
{
	static const struct {
		const char *text;
		bool down;
	} states[] = {{"port down", true}, {"netdev down", true},
		{"netdev up, without carrier", true}, {"port up", false}, {"netdev up", false}};
	uint64_t moved;

	times_begin(a, frames[0].ts_ns);
	moved = a->totals.moved_ns;
	for (const char *at = comment; *at;) {
		size_t len = strcspn(at, ";");

		for (size_t k = 0; k < sizeof(states) / sizeof(*states); k++)
			if (strlen(states[k].text) == len && !memcmp(at, states[k].text, len) &&
				a->ports.n < LINK_EVENTS)
				a->ports.event[a->ports.n++] = (struct link_event){
					i ? frames[i - 1].ts_ns + moved : a->ns,
					frames[i].ts_ns + moved, a->frame + i + 1, states[k].down};
		at += len;
		at += strspn(at, "; ");
	}
}

void rd_analysis_dropped(struct rd_analysis *a, uint64_t frames)
{
	rd_sum_add(&a->in.pending_dropped, frames);
}
