/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files that reports (HTML, JSON, Prometheus) are written to: never over a capture or an input. */
#include "cli.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/identity.h>
#include <rdmadump/source.h>
#include <sys/stat.h>
#include <unistd.h>

/* A regular file that is not empty and that our reader accepts as a capture. */
static bool is_capture(const char *path)
{
	const struct rd_file_config config = {.path = path};
	struct rd_source *source;
	struct rd_error none;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0 ||
		rd_file_open(&source, &config, &none) < 0)
		return false;
	source->ops->close(source);
	return true;
}

int report_file_check(
	const char *path, const char *option, const struct rd_inputs *inputs, struct rd_error *err)
{
	if (rd_inputs_have(inputs, path))
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"it was not touched: give the output another name",
			"%s '%s' is a file that is read", option, path);
	if (is_capture(path))
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"it was not touched: give the output another name, or remove it first",
			"%s '%s' is a capture file", option, path);
	return 0;
}

FILE *report_file_open(const char *path, const char *option, const struct rd_inputs *inputs,
	bool private, struct rd_error *err)
{
	struct rd_identity_before before;
	struct rd_identity id;
	struct rd_outfile f;
	FILE *file = NULL;
	int fd, end = 0;

	/* What the caller has passed on is used as it is: another user could not open it again. */
	if (sscanf(path, "/dev/fd/%d%n", &fd, &end) == 1 && !path[end]) {
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		file = fd >= 0 ? fdopen(fd, "w") : NULL;
		if (!file)
			rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "%s '%s'", option, path);
		return file;
	}
	if (rd_identity_choose(&id, NULL, err) < 0 || rd_identity_assume(&id, &before, err) < 0)
		return NULL;
	if (report_file_check(path, option, inputs, err) == 0 &&
		rd_outfile_open(&f, path, inputs, err) == 0) {
		if (private)
			rd_outfile_make_private(&f, path);
		if (rd_outfile_begin(&f, path, err) == 0) {
			file = fdopen(f.fd, "w");
			if (!file)
				rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "%s '%s'", option, path);
		}
		if (!file)
			rd_outfile_abandon(&f, path);
	}
	rd_identity_resume(&before);
	return file;
}

/*
 * With the rights of the user who opened it: the directory is that user's. Only the file that was
 * written: a link, /dev/stdout for example, was not made here.
 */
static void remove_written(const char *path, const struct stat *written)
{
	struct rd_identity_before before;
	struct rd_identity id;
	struct stat st;

	if (rd_identity_choose(&id, NULL, NULL) < 0 || rd_identity_assume(&id, &before, NULL) < 0)
		return;
	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == written->st_dev &&
		st.st_ino == written->st_ino)
		unlink(path);
	rd_identity_resume(&before);
}

int report_file_close(
	FILE *file, const char *path, const char *option, bool whole, struct rd_error *err)
{
	int errnum = errno;
	struct stat written;
	bool known = fstat(fileno(file), &written) == 0;

	if (fclose(file)) {
		errnum = errno;
		whole = false;
	}
	if (whole)
		return 0;
	if (known)
		remove_written(path, &written);
	return rd_fail(err, RD_CLASS_OUTPUT, errnum ? errnum : ENOMEM,
		"free some space or name another file", "%s: cannot write '%s'", option, path);
}
