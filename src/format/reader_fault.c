/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Errors that end the reading of a file. */
#include "reader.h"
#include <errno.h>
#include <inttypes.h>
#include <rdmadump/printable.h>

static uint64_t position(const struct rd_reader *r)
{
	return r->base + r->start;
}

static const char *what_is_left(const struct rd_reader *r)
{
	return r->n_frames || r->notes.batch ? "the frames before it are valid" : NULL;
}

enum step reader_damaged(struct rd_reader *r, const char *fmt, ...)
{
	char why[160];

	RD_FORMAT(why, sizeof(why), fmt);
	rd_fail(&r->error, RD_CLASS_PARTIAL, 0, what_is_left(r),
		"'%s': damaged in frame %" PRIu64 " at byte %" PRIu64 ": %s", r->name,
		r->n_frames + r->notes.batch + 1, position(r), why);
	return STEP_FAIL;
}

enum step reader_cut_short(struct rd_reader *r)
{
	rd_fail(&r->error, RD_CLASS_PARTIAL, 0, what_is_left(r),
		"'%s': cut short in frame %" PRIu64 " at byte %" PRIu64, r->name,
		r->n_frames + r->notes.batch + 1, position(r));
	return STEP_FAIL;
}

enum step reader_nomem(struct rd_reader *r)
{
	rd_fail(&r->error, RD_CLASS_DEVICE, ENOMEM, NULL, "'%s': cannot continue reading", r->name);
	return STEP_FAIL;
}
