/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens the files that the program writes. Input files are refused, and an existing file keeps its
 * content until rd_outfile_begin().
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <rdmadump/array.h>
#include <rdmadump/fd.h>
#include <rdmadump/log.h>
#include <rdmadump/outfile.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PRIVATE_MODE 0600
#define NEW_FILE     (O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC)

static const char *open_advice(int errnum)
{
	switch (errnum) {
	case EACCES:
	case EPERM:
		return geteuid() ? "choose a file and directory that this user may write to"
				 : "choose another file or directory";
	case ENOENT:
	case ENOTDIR:
		return "the directory must exist";
	case EISDIR:
		return "give a file name, not a directory";
	case EROFS:
		return "choose a file system that is not read-only";
	case ELOOP:
		return "it is a link that could lead to any file: remove it";
	case ENXIO:
		return "it is a FIFO that nobody reads: remove it";
	case ENOSPC:
	case EDQUOT:
		return "free some space or choose another file system";
	case EBADF:
		return "it is closed: name a file, or a pipe that is open";
	default:
		return NULL;
	}
}

int rd_stdout_check(int errnum, struct rd_error *err)
{
	const int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (!errnum && (flags < 0 || (flags & O_ACCMODE) == O_RDONLY))
		errnum = EBADF;
	return !errnum ? 0
		       : rd_fail(err, RD_CLASS_OUTPUT, errnum,
				 errnum == ENOSPC ? "free some space or write elsewhere"
						  : open_advice(errnum),
				 "cannot write to standard output");
}

/* --- inputs ----------------------------------------------------------------------------- */

static bool id_of(const struct stat *st, struct rd_file_id *id)
{
	*id = (struct rd_file_id){st->st_dev, st->st_ino};
	return S_ISREG(st->st_mode);
}

static bool contains(const struct rd_inputs *inputs, const struct stat *st)
{
	struct rd_file_id id;

	if (!inputs || !id_of(st, &id))
		return false;
	return RD_ANY(input, inputs->id, inputs->n, input->dev == id.dev && input->ino == id.ino);
}

void rd_inputs_add(struct rd_inputs *inputs, const char *path)
{
	struct stat st;
	int rc = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &st) : stat(path, &st);

	if (rc == 0 && inputs->n < RD_INPUTS_MAX && id_of(&st, &inputs->id[inputs->n]))
		inputs->n++;
}

bool rd_inputs_have_fd(const struct rd_inputs *inputs, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && contains(inputs, &st);
}

bool rd_inputs_have(const struct rd_inputs *inputs, const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && contains(inputs, &st);
}

/* --- outputs ---------------------------------------------------------------------------- */

bool rd_outfile_is_planted(const char *path)
{
	char *copy = strdup(path);
	struct stat dir, st;
	bool shared;

	shared = copy && stat(dirname(copy), &dir) == 0 && (dir.st_mode & S_ISVTX) &&
		 (dir.st_mode & S_IWOTH);
	free(copy);
	if (!shared || lstat(path, &st) < 0)
		return false;
	if (S_ISREG(st.st_mode) && st.st_nlink > 1)
		return true;
	return st.st_uid != geteuid() && st.st_uid != dir.st_uid;
}

/* EEXIST if another user made it. The second open() keeps O_CREAT, for the kernel's own check. */
static int open_or_create(const char *path, int flags, bool *created)
{
	int fd = open(path, NEW_FILE, PRIVATE_MODE);

	*created = fd >= 0;
	if (fd < 0 && errno == EEXIST && !rd_outfile_is_planted(path))
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, PRIVATE_MODE);
	return fd;
}

/* After open(), whose errno is still there if it failed. */
static int identify(struct rd_outfile *f, const char *path, const struct rd_inputs *inputs,
	struct rd_error *err)
{
	struct stat st;
	int rc = 0;

	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		rc = rd_fail(err, RD_CLASS_OUTPUT, errno, open_advice(errno),
			"cannot write to '%s'", path);
	else if (contains(inputs, &st))
		rc = rd_fail(err, RD_CLASS_USAGE, 0,
			"it was not touched: give the output another name",
			"the output would overwrite a file that is read: '%s'", path);
	else
		f->regular = id_of(&st, &f->id);
	if (rc)
		rd_outfile_abandon(f, path);
	return rc;
}

static int open_file(struct rd_outfile *f, const char *path, int flags,
	const struct rd_inputs *inputs, struct rd_error *err)
{
	*f = (struct rd_outfile){.fd = -1};
	f->fd = open_or_create(path, flags, &f->created);
	if (f->fd < 0 && errno == EEXIST)
		return rd_fail(err, RD_CLASS_OUTPUT, 0,
			"remove it, or name a file in another directory",
			"cannot write to '%s': another user made it, or it has another name, in a "
			"directory that all may write to",
			path);
	return identify(f, path, inputs, err);
}

int rd_outfile_open(struct rd_outfile *f, const char *path, const struct rd_inputs *inputs,
	struct rd_error *err)
{
	return open_file(f, path, 0, inputs, err);
}

int rd_outfile_open_own(struct rd_outfile *f, const char *path, const struct rd_inputs *inputs,
	struct rd_error *err)
{
	if (open_file(f, path, O_NOFOLLOW | O_NONBLOCK, inputs, err) < 0)
		return -1;
	/* The flag was for open() alone. */
	if (!f->created)
		fcntl(f->fd, F_SETFL, 0);
	return 0;
}

void rd_outfile_make_private(const struct rd_outfile *f, const char *path)
{
	struct stat st;
	bool ours;

	if (!f->regular || f->created || fstat(f->fd, &st) < 0)
		return;
	ours = st.st_uid == geteuid();
	if (ours && ((st.st_mode & 07777) == PRIVATE_MODE || fchmod(f->fd, PRIVATE_MODE) == 0))
		return;
	rd_log(RD_LOG_WARNING,
		"'%s' exists, belongs to user %u and keeps mode %04o: others may read the capture; "
		"remove it first to get a private file",
		path, (unsigned int)st.st_uid, (unsigned int)(st.st_mode & 07777));
}

int rd_outfile_begin(const struct rd_outfile *f, const char *path, struct rd_error *err)
{
	if (!f->regular || f->created || ftruncate(f->fd, 0) == 0)
		return 0;
	return rd_fail(err, RD_CLASS_OUTPUT, errno, open_advice(errno), "cannot empty '%s'", path);
}

int rd_outfile_open_new(struct rd_outfile *f, const char *path, const struct rd_inputs *inputs,
	struct rd_error *err)
{
	*f = (struct rd_outfile){.fd = open(path, NEW_FILE, PRIVATE_MODE), .created = true};
	return f->fd < 0 && errno == EEXIST ? 1 : identify(f, path, inputs, err);
}

int rd_outfile_open_unique(struct rd_outfile *f, char *path, struct rd_error *err)
{
	*f = (struct rd_outfile){.fd = mkostemp(path, O_CLOEXEC), .created = true};
	/* The user knows the name without the part that was chosen here. */
	if (f->fd < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, errno, open_advice(errno),
			"cannot write to '%.*s'", (int)(strlen(path) - strlen(".XXXXXX")), path);
	return identify(f, path, NULL, err);
}

void rd_outfile_abandon(struct rd_outfile *f, const char *path)
{
	struct rd_file_id id;
	struct stat st;

	if (f->fd < 0)
		return;
	/* The name may refer to another file by now. */
	if (f->created && stat(path, &st) == 0 && id_of(&st, &id) && id.dev == f->id.dev &&
		id.ino == f->id.ino)
		unlink(path);
	close(f->fd);
	f->fd = -1;
}

/* /dev/null and /dev/stdout would be lost for all programs if a file took their place. */
static bool is_device(const char *path)
{
	char to[6];
	struct stat st;

	return (readlink(path, to, sizeof(to)) == sizeof(to) &&
		       !memcmp(to, "/proc/", sizeof(to))) ||
	       (stat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)));
}

int rd_outfile_replace(const char *path, int (*put)(void *ctx, FILE *out, struct rd_error *err),
	void *ctx, struct rd_error *err)
{
	char temporary[PATH_MAX];
	FILE *out = NULL;
	int fd = -1, ret;

	if (is_device(path))
		return rd_fail(err, RD_CLASS_OUTPUT, 0, "give the name of a file",
			"'%s' is a device or an open file; it was not replaced", path);
	errno = ENAMETOOLONG;
	if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) < (int)sizeof(temporary))
		fd = mkostemp(temporary, O_CLOEXEC);
	if (fd >= 0 && fchmod(fd, 0644) == 0)
		out = fdopen(fd, "w");
	if (!out) {
		ret = rd_fail(err, RD_CLASS_OUTPUT, errno,
			"the directory must exist, and the user (under sudo: its caller) must be "
			"allowed to create files in it",
			"cannot create a file in the directory of '%s'", path);
		rd_fd_close(&fd);
	} else {
		bool whole;

		ret = put(ctx, out, err);
		errno = 0;
		whole = !ferror(out);
		if ((fclose(out) || !whole) && !ret)
			ret = rd_fail(err, RD_CLASS_OUTPUT, errno ? errno : EIO,
				"free some space or name another file", "cannot write '%s'", path);
		if (!ret && rename(temporary, path) < 0)
			ret = rd_fail(err, RD_CLASS_OUTPUT, errno, "give a file's name",
				"cannot replace '%s'", path);
	}
	if (ret && fd >= 0)
		unlink(temporary);
	return ret;
}

int rd_write_whole(int fd, const void *bytes, size_t n)
{
	const char *from = bytes;

	while (n) {
		ssize_t done = TEMP_FAILURE_RETRY(write(fd, from, n));

		if (done < 0)
			return -1;
		from += done;
		n -= (size_t)done;
	}
	return 0;
}
