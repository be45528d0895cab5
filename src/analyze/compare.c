/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `analyze --compare`: reads the report of an earlier analysis. */
#include "analyze.h"
#include <rdmadump/json.h>
#include <stdio.h>
#include <string.h>

#define REPORT_MAX (UINT64_C(512) << 20) /* bytes; as a tree they are several times as many */

static int cannot_parse(const char *path, const struct rd_json_failure *f, struct rd_error *err)
{
	if (f->too_long)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "save it again with --top",
			"--compare: '%s' is larger than %u MiB", path,
			(unsigned int)(REPORT_MAX >> 20));
	if (f->errnum)
		return rd_fail(err, RD_CLASS_DEVICE, f->errnum,
			"name a file with what 'rdmadump analyze --json' printed",
			"--compare: cannot read '%s'", path);
	return rd_fail(err, RD_CLASS_DEVICE, 0, "it must be what 'rdmadump analyze --json' printed",
		"--compare: '%s' is not JSON: line %d: %s", path, f->why.line, f->why.text);
}

static int read_report(const char *path, struct rd_snapshot **former, struct rd_error *err)
{
	struct rd_json_failure failure;
	json_t *report = rd_json_read_file(path, REPORT_MAX, JSON_REJECT_DUPLICATES, &failure);
	int ret;

	if (!report)
		return cannot_parse(path, &failure, err);
	ret = rd_snapshot_of_json(former, report, path, err);
	json_decref(report);
	return ret;
}

int analyze_read_former(
	const struct analyze_settings *s, struct rd_snapshot **former, struct rd_error *err)
{
	*former = NULL;
	if (!s->compare)
		return 0;
	if (s->html && !strcmp(s->html, "-"))
		return rd_fail(err, RD_CLASS_USAGE, 0, "give the page a file name",
			"--compare: the page goes to standard output, too");
	return read_report(s->compare, former, err);
}
