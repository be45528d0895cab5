/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A report as text: the answer first, one screen. */
#include "names.h"

void rd_report_text(const struct rd_report *r, const struct rd_report_style *style, FILE *out)
{
	(void)style;
	fprintf(out, "%zu findings\n", r->n_findings);
}
