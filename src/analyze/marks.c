/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `analyze --marks`: what each frame is counted as, a line of JSON each. */
#include "analyze.h"
#include "cli/cli.h"

#define OPTION "--marks"

int analyze_check_marks(const struct analyze_settings *s, struct rd_error *err)
{
	if (!s->marks || strcmp(s->marks, "-") != 0)
		return s->marks ? report_file_check(s->marks, OPTION, &s->inputs, err) : 0;
	return rd_fail(err, RD_CLASS_USAGE, 0, "give the list a file name",
		OPTION " -: the report goes to standard output, too");
}

int analyze_marks(
	const struct analyze_settings *s, const struct rd_report *report, struct rd_error *err)
{
	FILE *out = s->marks ? report_file_open(s->marks, OPTION, &s->inputs, false, err) : NULL;

	if (!out)
		return s->marks ? -1 : 0;
	for (size_t i = 0; i < report->n_marks; i++)
		fprintf(out, "{\"frame\": %llu, \"incident\": \"%s\"}\n",
			(unsigned long long)report->marks[i].frame,
			rd_incident_names[report->marks[i].kind].key);
	return report_file_close(out, s->marks, OPTION, true, err);
}
