/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The findings of a report as comments on the frames that they name as evidence. */
#include "output.h"
#include <errno.h>
#include <rdmadump/printable.h>
#include <stdlib.h>

#define COMMENT_MAX 4096 /* bytes */

static int by_frame(const void *a, const void *b)
{
	const struct rd_comment *x = a, *y = b;

	return RD_ORDER(x->frame, y->frame) ?: RD_ORDER(x->item, y->item);
}

int rd_report_comments(
	const struct rd_report *r, struct rd_comment **comments, size_t *n, struct rd_error *err)
{
	struct rd_comment *list;
	size_t capacity = 0, used = 0;

	for (size_t i = 0; i < r->findings.n; i++)
		capacity += r->findings.finding[i].evidence.n_frames;
	list = calloc(capacity + 1, sizeof(*list));
	if (!list)
		return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "comments on frames");
	for (size_t i = 0; i < r->findings.n; i++) {
		const struct rd_evidence *e = &r->findings.finding[i].evidence;

		for (unsigned int k = 0; k < e->n_frames; k++)
			list[used++] = (struct rd_comment){.frame = e->frames[k], .item = i};
	}
	qsort(list, used, sizeof(*list), by_frame);
	*comments = list;
	*n = used;
	return 0;
}

static void put_part(FILE *out, const char *before, const char *text)
{
	if (!text || !*text)
		return;
	fputs(before, out);
	rd_printable_put(out, text, COMMENT_MAX);
}

char *rd_report_comment(const void *report, size_t finding)
{
	const struct rd_report *r = report;
	const struct rd_finding *f = &r->findings.finding[finding];
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	/* Wireshark's packet list and tree show one line, and cut it. */
	put_part(out, "", f->title);
	fprintf(out, " [%s]\nrdmadump %s", rd_certainty_name(f->certainty),
		rd_severity_name(f->severity));
	put_part(out, ": ", f->where);
	put_part(out, "\n", f->detail);
	put_part(out, "\nusually: ", f->meaning);
	put_part(out, "\nnext: ", f->next);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}
