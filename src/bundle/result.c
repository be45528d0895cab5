/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes a temporary file in the same directory and renames it. */
#include "task.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int result_open(struct result *o, const char *path, const char *option,
	const struct rd_inputs *inputs, struct rd_error *err)
{
	struct stat st;
	int n;

	*o = (struct result){.option = option, .out.fd = -1, .is_stdout = strcmp(path, "-") == 0};
	n = snprintf(o->path, sizeof(o->path), "%s", path);
	if (n >= (int)sizeof(o->path) - 8)
		return rd_fail(err, RD_CLASS_USAGE, ENAMETOOLONG, NULL, "'%.100s...'", path);
	if (o->is_stdout)
		return rd_stdout_check(0, err);
	if (rd_inputs_have(inputs, path))
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"it was not touched: give the output another name",
			"'%s' is a file that is read", path);
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		snprintf(o->part, sizeof(o->part), "%s", path);
		return rd_outfile_open(&o->out, path, inputs, err);
	}
	snprintf(o->part, sizeof(o->part), "%s.XXXXXX", path);
	return rd_outfile_open_unique(&o->out, o->part, err);
}

int result_begin(struct result *o, struct rd_error *err)
{
	if (o->is_stdout)
		return STDOUT_FILENO;
	return rd_outfile_begin(&o->out, o->part, err) < 0 ? -1 : o->out.fd;
}

int result_finish(struct result *o, const struct rd_identity *identity, struct rd_error *err)
{
	struct rd_identity_before before;
	char todo[64];
	int rc = 0;

	if (o->is_stdout)
		return 0;
	snprintf(todo, sizeof(todo), "free some space, or name another file (%s)", o->option);
	if (o->out.regular && fsync(o->out.fd) < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, errno, todo, "cannot write '%s'", o->part);
	if (rd_identity_assume(identity, &before, err) < 0)
		return -1;
	if (o->out.regular && rename(o->part, o->path) < 0)
		rc = rd_fail(err, RD_CLASS_OUTPUT, errno, todo, "cannot rename '%s' to '%s'",
			o->part, o->path);
	rd_identity_resume(&before);
	if (rc)
		return rc;
	close(o->out.fd);
	o->out.fd = -1;
	return 0;
}

void result_abandon(struct result *o, const struct rd_identity *identity)
{
	struct rd_identity_before before;

	if (o->out.fd < 0 || rd_identity_assume(identity, &before, NULL) < 0)
		return;
	rd_outfile_abandon(&o->out, o->part);
	rd_identity_resume(&before);
}
