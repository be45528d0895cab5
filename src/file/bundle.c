/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unpacks a part of a bundle. Archives are untrusted: only regular files, directories and links
 * that stay in the tree are created, each component of a path is opened without following links,
 * and numbers and sizes are limited. A separate process removes the directory when this one ends
 * for any reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <rdmadump/archive.h>
#include <rdmadump/bundle.h>
#include <rdmadump/identity.h>
#include <rdmadump/json.h>
#include <rdmadump/memory.h>
#include <rdmadump/outfile.h>
#include <rdmadump/sha256.h>
#include <rdmadump/spawn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTRIES_MAX    20000
#define MANIFEST_BYTES ((size_t)4 << 20)
#define TREE_BYTES     ((uint64_t)256 << 20) /* limit of all files of the tree */
#define CAPTURE_BYTES  ((uint64_t)16 << 30)  /* limit of all captures */
#define CAPTURES_MIN   ((uint64_t)64 << 20)
#define CAPTURE_RATIO  4096 /* a frame without payload takes more than a thousandth of its size */
#define DEPTH_MAX      64
#define COPY_BYTES     65536
#define NO_BUNDLE      "name a file that 'rdmadump bundle' wrote"

struct extraction {
	const char *path; /* path of the bundle */
	struct rd_archive *a;
	struct rd_bundle *b;
	enum rd_bundle_want want;
	json_t *manifest;
	json_t *members; /* name -> row of the manifest */
	uint64_t left;	 /* bytes that may still be written */
	int root;	 /* the directory */
};

/* --- paths -------------------------------------------------------------------------------- */

/* Whether no component is empty, "." or "..", and there are no control characters. */
static bool is_plain(const char *path)
{
	unsigned int depth = 0;

	for (const char *p = path; *p; p++)
		if ((unsigned char)*p < 0x20)
			return false;
	while (*path) {
		size_t n = strcspn(path, "/");

		if (!n || n > 255 || (n == 1 && path[0] == '.') ||
			(n == 2 && path[0] == '.' && path[1] == '.') || ++depth > DEPTH_MAX)
			return false;
		path += n;
		path += *path == '/';
	}
	return depth > 0;
}

static unsigned int depth_of(const char *path)
{
	unsigned int depth = 1;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

/*
 * A target "../../x/y" that cannot leave the tree: it goes up from the link's own directory, whose
 * path has no links, and then only down. Links that it reaches further down have the same form.
 */
static bool is_harmless_link(const char *path, const char *target)
{
	unsigned int up = 0, below = depth_of(path) - 1;

	while (strncmp(target, "../", 3) == 0) {
		target += 3;
		up++;
	}
	if (strcmp(target, "..") == 0) {
		target += 2;
		up++;
	}
	/* The first component is "sysroot". */
	return up < below && (!*target ? up > 0 : is_plain(target));
}

/* Opens the directory of the last component, created if it is missing. Returns its descriptor, or
 * -1. */
static int open_parent(int root, const char *path, const char **last)
{
	int fd = fcntl(root, F_DUPFD_CLOEXEC, 0), errnum;
	char name[256];

	while (fd >= 0) {
		size_t n = strcspn(path, "/");
		int next;

		if (!path[n]) {
			*last = path;
			return fd;
		}
		snprintf(name, sizeof(name), "%.*s", (int)n, path);
		next = mkdirat(fd, name, 0700) < 0 && errno != EEXIST
			       ? -1
			       : openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		errnum = errno;
		close(fd);
		errno = errnum;
		fd = next;
		path += n + 1;
	}
	return -1;
}

/* --- one member --------------------------------------------------------------------------- */

static int refuse(
	const struct extraction *x, const char *name, const char *why, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_DEVICE, 0, NO_BUNDLE, "'%s' is damaged: '%.200s' %s", x->path,
		name, why);
}

static int fail_write(const struct extraction *x, int errnum, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_OUTPUT, errnum,
		"free some space, or set TMPDIR to another directory",
		"cannot unpack '%s' into '%s'", x->path, x->b->directory);
}

/* The size in the archive is not trusted, but that in the manifest is checked. */
static int copy_member(
	struct extraction *x, int fd, const char *name, const json_t *row, struct rd_error *err)
{
	const char *wanted = json_string_value(json_object_get(row, "sha256"));
	uint64_t most = rd_json_u64_value(json_object_get(row, "size"));
	char buf[COPY_BYTES], sum[RD_SHA256_TEXT];
	struct rd_sha256 sha;
	ssize_t n;

	if (most > x->left)
		return refuse(x, name, "is larger than this program unpacks", err);
	rd_sha256_begin(&sha);
	while ((n = rd_archive_get(x->a, buf, sizeof(buf), err)) > 0) {
		if ((uint64_t)n > most)
			return refuse(x, name, "is larger than the manifest says", err);
		most -= (uint64_t)n;
		x->left -= (uint64_t)n;
		rd_sha256_add(&sha, buf, (size_t)n);
		if (rd_write_whole(fd, buf, (size_t)n) < 0)
			return fail_write(x, errno, err);
	}
	if (n < 0)
		return -1;
	rd_sha256_end(&sha, sum);
	if (!wanted || strcmp(sum, wanted) != 0)
		return refuse(x, name, "is not what the manifest describes (SHA-256)", err);
	return 0;
}

/* `why` if the archive is the reason that an entry cannot be created, else what the system lacks.
 */
static int fail_create(
	const struct extraction *x, const char *name, const char *why, struct rd_error *err)
{
	const int errnum = errno;
	const bool is_archive =
		errnum == EEXIST || errnum == ENOTDIR || errnum == ELOOP || errnum == ENAMETOOLONG;

	return is_archive ? refuse(x, name, why, err) : fail_write(x, errnum, err);
}

static int make_file(
	struct extraction *x, const char *name, const json_t *row, struct rd_error *err)
{
	const char *last;
	int parent = open_parent(x->root, name, &last), fd = -1, rc = -1;

	if (parent >= 0)
		fd = openat(
			parent, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		fail_create(x, name, "occurs twice, or is below a file", err);
	else
		rc = copy_member(x, fd, name, row, err);
	if (fd >= 0)
		close(fd);
	if (parent >= 0)
		close(parent);
	return rc;
}

static int make_other(struct extraction *x, const struct rd_archive_entry *e, const char *name,
	struct rd_error *err)
{
	const char *last;
	int parent, rc;

	if (e->kind == RD_ARCHIVE_LINK && !is_harmless_link(name, e->target))
		return refuse(x, name, "is a link that leads out of the bundle", err);
	parent = open_parent(x->root, name, &last);
	if (parent < 0)
		return fail_create(x, name, "is below a file", err);
	rc = e->kind == RD_ARCHIVE_LINK ? symlinkat(e->target, parent, last)
					: mkdirat(parent, last, 0700);
	if (rc < 0 && errno == EEXIST && e->kind == RD_ARCHIVE_DIRECTORY)
		rc = 0;
	if (rc < 0)
		fail_create(x, name, "occurs twice", err);
	close(parent);
	return rc;
}

static int add_capture(struct extraction *x, const char *name, struct rd_error *err)
{
	struct rd_bundle *b = x->b;
	char **path = rd_append(&b->captures, b->n_captures, sizeof(*path));

	if (!path || asprintf(path, "%s/%s", b->directory, name) < 0)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "'%s'", x->path);
	b->n_captures++;
	return 0;
}

static bool is_wanted(const struct extraction *x, const char *name)
{
	const char *top = x->want == RD_BUNDLE_TREE ? "sysroot/" : "captures/";

	return strncmp(name, top, strlen(top)) == 0;
}

static int take_member(struct extraction *x, const struct rd_archive_entry *e, const char *name,
	struct rd_error *err)
{
	const json_t *row = json_object_get(x->members, name);

	if (!row)
		return refuse(x, name, "is not in the manifest", err);
	if (e->kind == RD_ARCHIVE_OTHER || (x->want != RD_BUNDLE_TREE && e->kind))
		return refuse(x, name, "is not a file", err);
	if (e->kind != RD_ARCHIVE_FILE)
		return make_other(x, e, name, err);
	if (make_file(x, name, row, err) < 0)
		return -1;
	return x->want == RD_BUNDLE_CAPTURES ? add_capture(x, name, err) : 0;
}

/* --- the manifest ------------------------------------------------------------------------- */

static char *read_bytes(struct extraction *x, size_t *n, struct rd_error *err)
{
	size_t size = COPY_BYTES;
	char *bytes = malloc(size), *grown;
	ssize_t got;

	*n = 0;
	while (bytes && (got = rd_archive_get(x->a, bytes + *n, size - *n, err)) != 0) {
		if (got > 0)
			*n += (size_t)got;
		if (got > 0 && *n < size)
			continue;
		grown = got > 0 && size < MANIFEST_BYTES ? realloc(bytes, size *= 2) : NULL;
		if (!grown) {
			if (got > 0)
				refuse(x, RD_MANIFEST, "is too large", err);
			free(bytes);
			return NULL;
		}
		bytes = grown;
	}
	if (!bytes)
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "'%s'", x->path);
	return bytes;
}

/* An object of JSON takes two bytes of text and a hundred times as many in memory. */
static bool is_small(const char *bytes, size_t n)
{
	size_t objects = 0;

	for (size_t i = 0; i < n; i++)
		objects += bytes[i] == '{' || bytes[i] == '[';
	return objects <= 4 * ENTRIES_MAX;
}

static int read_manifest(struct extraction *x, struct rd_error *err)
{
	json_int_t version;
	char *bytes;
	json_t *row;
	size_t n, i;

	bytes = read_bytes(x, &n, err);
	if (!bytes)
		return -1;
	if (!is_small(bytes, n)) {
		free(bytes);
		return refuse(x, RD_MANIFEST, "describes too many members", err);
	}
	x->manifest = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, NULL);
	free(bytes);
	version = json_integer_value(json_object_get(x->manifest, "version"));
	if (version < 1 || version > RD_MANIFEST_VERSION)
		return refuse(x, RD_MANIFEST, "cannot be read by this version", err);
	x->members = json_object();
	json_array_foreach (json_object_get(x->manifest, "members"), i, row) {
		const char *name = json_string_value(json_object_get(row, "name"));

		if (name)
			json_object_set(x->members, name, row);
	}
	return 0;
}

/* --- all ---------------------------------------------------------------------------------- */

/* The name below the archive's single folder; NULL if there is none. */
static const char *name_below(const char *path)
{
	const char *slash = strchr(path, '/');

	if (!slash || !is_plain(path))
		return NULL;
	return slash + 1;
}

static int take_entry(struct extraction *x, const struct rd_archive_entry *e, struct rd_error *err)
{
	const char *name = name_below(e->path);

	if (!name)
		return refuse(x, e->path, "is not a name of a member of a bundle", err);
	if (strcmp(name, RD_MANIFEST) == 0 && e->kind == RD_ARCHIVE_FILE && !x->manifest)
		return read_manifest(x, err);
	if (!is_wanted(x, name))
		return 0;
	if (!x->manifest)
		return rd_fail(err, RD_CLASS_DEVICE, 0, NO_BUNDLE,
			"'%s' does not begin with a manifest", x->path);
	return take_member(x, e, name, err);
}

static int take_all(struct extraction *x, struct rd_error *err)
{
	struct rd_archive_entry e;
	unsigned int n = 0;
	int more, rc = 0;

	while (!rc && (more = rd_archive_next(x->a, &e, err)) != 0) {
		if (more < 0)
			return -1;
		if (++n > ENTRIES_MAX)
			return refuse(x, e.path, "is one of too many members", err);
		rc = take_entry(x, &e, err);
	}
	if (!rc && !x->manifest)
		return rd_fail(
			err, RD_CLASS_DEVICE, 0, NO_BUNDLE, "'%s' has no " RD_MANIFEST, x->path);
	return rc;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	remove(path);
	return 0;
}

/* In the guard process: waits until the other process closes its end of the pipe or ends. */
static void guard(int fd, const char *directory)
{
	char byte;

	/* It holds no pipe of the other process open, and needs descriptors for directories. */
	rd_descriptors_keep(&fd, 1);
	setpgid(0, 0);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
	/* One directory is open at a time: the limit may not allow more. */
	nftw(directory, remove_one, 1, FTW_DEPTH | FTW_PHYS);
	_exit(0);
}

static int make_directory(struct rd_bundle *b, struct rd_error *err)
{
	int fds[2];

	snprintf(b->directory, sizeof(b->directory) - 16, "%s/rdmadump-XXXXXX",
		rd_temporary_directory());
	if (!mkdtemp(b->directory))
		return rd_fail(err, RD_CLASS_OUTPUT, errno,
			"set TMPDIR to a directory with free space",
			"cannot make the directory '%.200s'", b->directory);
	if (pipe2(fds, O_CLOEXEC) < 0)
		fds[0] = fds[1] = -1;
	b->guard_pid = fds[0] >= 0 ? fork() : -1;
	if (b->guard_pid == 0) {
		close(fds[1]);
		guard(fds[0], b->directory);
	}
	if (b->guard_pid < 0) {
		int errnum = errno;

		rmdir(b->directory);
		if (fds[0] >= 0)
			close(fds[1]);
		rd_fail(err, RD_CLASS_DEVICE, errnum, NULL, "cannot start a process");
	}
	if (fds[0] >= 0)
		close(fds[0]);
	b->guard = fds[1];
	return b->guard_pid < 0 ? -1 : 0;
}

void rd_bundle_close(struct rd_bundle *b)
{
	close(b->guard);
	while (waitpid(b->guard_pid, NULL, 0) < 0 && errno == EINTR)
		;
	for (unsigned int i = 0; i < b->n_captures; i++)
		free(b->captures[i]);
	free(b->captures);
	b->captures = NULL;
	b->n_captures = 0;
	json_decref(b->manifest);
	b->manifest = NULL;
}

static int extract(struct extraction *x, struct rd_error *err)
{
	struct rd_bundle *b = x->b;
	int rc;

	x->root = open(b->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->root < 0)
		return fail_write(x, errno, err);
	rc = take_all(x, err);
	if (!rc && x->want == RD_BUNDLE_TREE && faccessat(x->root, "sysroot/sys", F_OK, 0) < 0)
		rc = rd_fail(err, RD_CLASS_DEVICE, 0, NULL,
			"'%s' has no files of sysfs: its manifest says why", x->path);
	if (!rc && x->want == RD_BUNDLE_CAPTURES && !b->n_captures)
		rc = rd_fail(err, RD_CLASS_DEVICE, 0,
			"'rdmadump bundle --capture SECONDS' or '--file FILE' includes one",
			"'%s' has no capture", x->path);
	close(x->root);
	return rc;
}

static int unpack(struct extraction *x, struct rd_error *err)
{
	int rc = make_directory(x->b, err);

	if (rc)
		return -1;
	rc = extract(x, err);
	x->b->manifest = json_incref(x->manifest);
	if (rc)
		rd_bundle_close(x->b);
	return rc;
}

/*
 * Captures are opened with the rights of the user who called sudo. What else is read back is read
 * as root, and only root may change it.
 */
static int unpack_as_user(struct extraction *x, struct rd_error *err)
{
	struct rd_identity_before before;
	struct rd_identity id;
	int rc;

	if (x->want != RD_BUNDLE_CAPTURES)
		return unpack(x, err);
	if (rd_identity_choose(&id, NULL, err) < 0 || rd_identity_assume(&id, &before, err) < 0)
		return -1;
	rc = unpack(x, err);
	rd_identity_resume(&before);
	return rc;
}

/* A small archive has no large captures. */
static uint64_t capture_bytes(const char *path)
{
	struct stat st;
	uint64_t most = CAPTURES_MIN;

	if (stat(path, &st) == 0)
		most += (uint64_t)st.st_size * CAPTURE_RATIO;
	return most < CAPTURE_BYTES ? most : CAPTURE_BYTES;
}

int rd_bundle_open(
	struct rd_bundle *b, const char *path, enum rd_bundle_want want, struct rd_error *err)
{
	struct extraction x = {.path = path,
		.b = b,
		.want = want,
		.left = want == RD_BUNDLE_CAPTURES ? capture_bytes(path) : TREE_BYTES};
	int rc;

	*b = (struct rd_bundle){.guard = -1};
	if (rd_archive_open(&x.a, path, NO_BUNDLE, err) < 0)
		return -1;
	rc = unpack_as_user(&x, err);
	json_decref(x.members);
	json_decref(x.manifest);
	rd_archive_free(x.a);
	snprintf(b->sysroot, sizeof(b->sysroot), "%.4000s/sysroot", b->directory);
	return rc;
}
