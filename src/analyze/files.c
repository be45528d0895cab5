/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The captures in the directories that are named as files. */
#include "analyze.h"
#include "cli/cli.h"
#include <dirent.h>
#include <errno.h>
#include <rdmadump/memory.h>
#include <stdlib.h>
#include <sys/stat.h>

static int nomem(struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the names of files");
}

/* Takes over the name. */
static int add(char ***files, unsigned int *n, char *name, struct rd_error *err)
{
	char **added = name ? rd_append(files, *n, sizeof(*added)) : NULL;

	if (!added) {
		free(name);
		return nomem(err);
	}
	*added = name;
	++*n;
	return 0;
}

/* One that cannot be read may be a capture; what is none is counted. */
static bool is_capture(const char *path, unsigned int *others)
{
	const struct rd_file_config config = {.path = path};
	struct rd_source *source;
	struct rd_error err;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode)) {
		++*others;
		return false;
	}
	if (rd_file_open(&source, &config, &err) < 0) {
		*others += !err.errnum;
		rd_log(err.errnum ? RD_LOG_WARNING : RD_LOG_INFO, "skipped: %s", err.text);
		return false;
	}
	source->ops->close(source);
	return true;
}

static int is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

struct listing {
	const char *path;
	struct dirent **names;
};

/* The number of names, or -1. */
static int list(void *ctx, struct rd_error *err)
{
	struct listing *l = ctx;
	const int n = scandir(l->path, &l->names, is_visible, versionsort);

	return n >= 0 ? n : rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "cannot list '%s'", l->path);
}

static int add_directory(
	char ***files, unsigned int *n, const char *directory, struct rd_error *err)
{
	const char *slash = directory[strlen(directory) - 1] == '/' ? "" : "/";
	const unsigned int before = *n;
	unsigned int others = 0;
	struct listing l = {.path = directory};
	int found = run_as_caller(list, &l, err), ret = found < 0 ? -1 : 0;

	for (int i = 0; i < found; i++) {
		char *path = NULL;

		if (asprintf(&path, "%s%s%s", directory, slash, l.names[i]->d_name) < 0)
			ret = nomem(err);
		if (!ret && is_capture(path, &others))
			ret = add(files, n, path, err);
		else
			free(path);
		free(l.names[i]);
	}
	free(l.names);
	if (ret)
		return -1;
	if (!found)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "name one that has captures",
			"the directory '%s' is empty", directory);
	if (*n == before)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "name the files to see why",
			"'%s' has no capture file among its %d files", directory, found);
	if (others)
		rd_log(RD_LOG_WARNING, "'%s': skipped %u of %d files, which are no captures",
			directory, others, found);
	return 0;
}

int analyze_expand(struct analyze_settings *s, struct rd_error *err)
{
	char **const given = s->files;
	const unsigned int n_given = s->n_files;
	int ret = 0;

	s->files = NULL;
	s->n_files = 0;
	for (unsigned int i = 0; i < n_given && !ret; i++) {
		struct stat st;
		const bool directory = stat(given[i], &st) == 0 && S_ISDIR(st.st_mode);

		ret = directory ? add_directory(&s->files, &s->n_files, given[i], err)
				: add(&s->files, &s->n_files, strdup(given[i]), err);
	}
	return ret;
}

void analyze_files_free(struct analyze_settings *s)
{
	for (unsigned int i = 0; i < s->n_files; i++)
		free(s->files[i]);
	free(s->files);
}
