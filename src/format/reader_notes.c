/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Comments and drop counts of the frames of one batch. */
#include "reader.h"
#include <rdmadump/memory.h>
#include <rdmadump/sum.h>
#include <stdlib.h>

static bool add_text(struct rd_reader *r, const char *text, size_t len)
{
	size_t need = r->notes.texts_used + len;
	char *p;

	if (!len)
		return true;
	if (need > r->notes.texts_room) {
		need *= 2;
		p = realloc(r->notes.texts, need);
		if (!p)
			return false;
		r->notes.texts = p;
		r->notes.texts_room = need;
	}
	memcpy(r->notes.texts + r->notes.texts_used, text, len);
	r->notes.texts_used += len;
	return true;
}

static struct frame_note *note_current(struct rd_reader *r)
{
	struct frame_note *note;

	if (r->notes.n && r->notes.list[r->notes.n - 1].frame == r->notes.batch)
		return &r->notes.list[r->notes.n - 1];
	note = rd_append(&r->notes.list, r->notes.n, sizeof(*note));
	if (!note)
		return NULL;
	r->notes.n++;
	note->frame = r->notes.batch;
	return note;
}

enum step reader_add_note(struct rd_reader *r, uint64_t dropped, const char *comment, size_t len)
{
	struct frame_note *note = note_current(r);

	if (!note)
		return reader_nomem(r);
	rd_sum_add(&note->dropped, dropped);
	if (!comment)
		return STEP_OTHER;
	len = strnlen(comment, len);
	if (note->comment) { /* a further comment of this frame: replaces the NUL of the previous
				one */
		r->notes.texts_used--;
		if (!add_text(r, "; ", 2))
			return reader_nomem(r);
	} else {
		note->comment = r->notes.texts_used + 1;
	}
	if (!add_text(r, comment, len) || !add_text(r, "", 1))
		return reader_nomem(r);
	return STEP_OTHER;
}

void reader_reset_notes(struct rd_reader *r)
{
	r->notes.batch = 0;
	r->notes.n = 0;
	r->notes.texts_used = 0;
}

bool rd_reader_has_notes(const struct rd_reader *r)
{
	return r->notes.n != 0;
}

static int by_frame(const void *a, const void *b)
{
	return RD_ORDER(
		((const struct frame_note *)a)->frame, ((const struct frame_note *)b)->frame);
}

bool rd_reader_note(const struct rd_reader *r, unsigned int i, struct rd_note *note)
{
	const struct frame_note key = {.frame = i}, *n;

	n = r->notes.n ? bsearch(&key, r->notes.list, r->notes.n, sizeof(key), by_frame) : NULL;
	if (!n)
		return false;
	note->dropped = n->dropped;
	note->comment = n->comment ? r->notes.texts + n->comment - 1 : NULL;
	return true;
}
