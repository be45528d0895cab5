/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --stripe: the report of each stripe. */
#include "capture.h"
#include <jansson.h>
#include <rdmadump/json.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void stripes_text(const struct capture_run *r)
{
	char n[RD_UNITS_LEN], size[RD_UNITS_LEN], lost[RD_UNITS_LEN];

	for (unsigned int i = 0; i < r->opt->session.n_stripes; i++) {
		const struct rd_sink_stats *w = &r->result->outputs[i];

		fprintf(stderr, "  stripe %u of %u, ", i + 1, r->opt->session.n_stripes);
		rd_printable_put(stderr, r->opt->stripe[i], SIZE_MAX);
		fprintf(stderr, ": %s frame%s (%s)", rd_fmt_count(n, w->written),
			rd_plural(w->written), rd_fmt_bytes(size, w->file_bytes));
		if (w->unwritten)
			fprintf(stderr, ", %s could not be written",
				rd_fmt_count(lost, w->unwritten));
		fputc('\n', stderr);
	}
}

json_t *stripes_json(const struct capture_run *r)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < r->opt->session.n_stripes; i++) {
		const struct rd_sink_stats *w = &r->result->outputs[i];
		char *path = rd_stripe_path(&r->config, i);

		json_array_append_new(
			list, json_pack("{s:o, s:I, s:I, s:I, s:I}", "file", rd_json_string(path),
				      "files", (json_int_t)w->files, "written",
				      (json_int_t)w->written, "unwritten", (json_int_t)w->unwritten,
				      "file_bytes", (json_int_t)w->file_bytes));
		free(path);
	}
	return list;
}
