/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* --stripe: files of one name in several directories, for disks that are too slow alone. */
#include "capture.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <rdmadump/json.h>
#include <rdmadump/log.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- where files go --------------------------------------------------------------------- */

static char *join(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name) < 0
		       ? NULL
		       : path;
}

char *stripe_path(const struct capture_options *o, unsigned int i)
{
	return join(o->stripe[i], o->path);
}

char *stripe_pattern(const struct capture_options *o, unsigned int i)
{
	const struct rd_rotation *r = &o->rotation;
	bool expanded = r->timed && r->naming == RD_NAMES_TCPDUMP;
	const char *dir = o->stripe[i];
	size_t len = strlen(dir), used = 0;
	char *literal = malloc(2 * len + 1), *path = NULL;

	for (size_t k = 0; literal && k < len; k++) {
		literal[used++] = dir[k];
		if (expanded && dir[k] == '%')
			literal[used++] = '%';
	}
	if (literal) {
		literal[used] = '\0';
		path = join(literal, o->path);
	}
	free(literal);
	return path;
}

static int unfit(const char *dir, int errnum, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_OUTPUT, errnum,
		"no file was touched: name directories that are there and can be written to",
		"--stripe: cannot write to '%s'", dir);
}

static int check_file(const struct capture_options *o, unsigned int i, struct rd_error *err)
{
	char *path = stripe_path(o, i);
	struct stat st;
	int rc = 0;

	if (!path)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for file names");
	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			rc = unfit(path, EISDIR, err);
		else if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0)
			rc = unfit(path, errno, err);
	}
	free(path);
	return rc;
}

int stripes_check(const struct capture_options *o, struct rd_error *err)
{
	struct stat st[RD_STRIPES_MAX];
	bool shared = false;

	for (unsigned int i = 0; i < o->n_stripes; i++) {
		const char *dir = o->stripe[i];

		if (stat(dir, &st[i]) < 0)
			return unfit(dir, errno, err);
		if (!S_ISDIR(st[i].st_mode))
			return unfit(dir, ENOTDIR, err);
		if (faccessat(AT_FDCWD, dir, W_OK | X_OK, AT_EACCESS) < 0)
			return unfit(dir, errno, err);
		for (unsigned int k = 0; k < i; k++) {
			if (st[k].st_dev != st[i].st_dev)
				continue;
			shared = true;
			if (st[k].st_ino == st[i].st_ino)
				return rd_fail(err, RD_CLASS_USAGE, 0, "name each directory once",
					"--stripe: '%s' and '%s' are the same directory",
					o->stripe[k], dir);
		}
		if (check_file(o, i, err) < 0)
			return -1;
	}
	if (shared)
		rd_log(RD_LOG_WARNING, "--stripe: some of the directories are on one file system, "
				       "which may be no faster than one of them");
	return 0;
}

/* --- what each of them got -------------------------------------------------------------- */

void stripes_text(const struct session *s)
{
	char n[RD_UNITS_LEN], size[RD_UNITS_LEN], lost[RD_UNITS_LEN];

	for (unsigned int i = 0; i < s->opt->n_stripes; i++) {
		const struct rd_sink_stats *w = &s->outputs[i].written;

		fprintf(stderr, "  stripe %u of %u, %s: %s frames (%s)", i + 1, s->opt->n_stripes,
			s->opt->stripe[i], rd_fmt_count(n, w->written),
			rd_fmt_bytes(size, w->file_bytes));
		if (w->unwritten)
			fprintf(stderr, ", %s could not be written",
				rd_fmt_count(lost, w->unwritten));
		fputc('\n', stderr);
	}
}

json_t *stripes_json(const struct session *s)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < s->opt->n_stripes; i++) {
		const struct rd_sink_stats *w = &s->outputs[i].written;
		char *path = stripe_path(s->opt, i);

		json_array_append_new(
			list, json_pack("{s:o, s:I, s:I, s:I, s:I}", "file", rd_json_string(path),
				      "files", (json_int_t)w->files, "written",
				      (json_int_t)w->written, "unwritten", (json_int_t)w->unwritten,
				      "file_bytes", (json_int_t)w->file_bytes));
		free(path);
	}
	return list;
}
