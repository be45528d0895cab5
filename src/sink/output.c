/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A file, device or pipe that is written in blocks, compressed or not. */
#include "output.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <rdmadump/array.h>
#include <rdmadump/log.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SYNC_BYTES ((uint64_t)32 << 20)
#define PIPE_BYTES (1 << 20) /* every process may set this size by default: fs.pipe-max-size */

static int init_compression(
	struct output *out, const char *name, int level, size_t block, struct rd_error *err)
{
	const struct compression *c = compressions;

	while (strcmp(c->name, name) != 0)
		c++;
	if (level > c->level_max)
		return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
			"compression level %d: %s takes 1 to %d", level, name, c->level_max);
	out->compressor = c->open(level ? level : 1);
	if (out->compressor) {
		out->compression = c;
		out->packed_room = c->bound(out->compressor, block);
		out->packed = malloc(out->packed_room);
	}
	if (!out->packed)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "memory for compression");
	return 0;
}

int output_init(
	struct output *out, const struct rd_sink_config *config, size_t block, struct rd_error *err)
{
	*out = (struct output){.fd = -1,
		.open = rd_outfile_open,
		.mode = config->write_mode,
		.sync = config->sync,
		.patient = config->patient};
	if (config->compression)
		return init_compression(
			out, config->compression, config->compression_level, block, err);
	/* Without memory: through the page cache. */
	if (out->mode != RD_WRITE_BUFFERED && strcmp(config->path, "-") != 0)
		out->stage = stage_open();
	return 0;
}

void output_fini(struct output *out)
{
	stage_close(out->stage);
	if (out->compressor)
		compressor_close(out->compressor);
	free(out->packed);
}

/* stdout may be shared or opened for appending: its content is not changed. */
static int open_stdout(struct output *out, const struct rd_inputs *inputs, struct rd_error *err)
{
	if (rd_stdout_check(0, err) < 0)
		return -1;
	out->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (out->fd < 0)
		return rd_stdout_check(errno, err);
	if (!rd_inputs_have_fd(inputs, out->fd))
		return 0;
	output_abandon(out);
	return rd_fail(err, RD_CLASS_USAGE, 0, "give the output another name",
		"standard output is a file that is read");
}

/*
 * Whether lseek(2) finds holes without writing the file out first, as it does on NFS and SMB: that
 * would wait for the disk.
 */
static bool knows_holes(int fd)
{
	static const unsigned long types[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC};
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       RD_ANY(t, types, RD_COUNT(types), (unsigned long)fs.f_type == *t);
}

/* For as long as it is open. A file system without locks protects nothing. */
static int lock(struct output *out, struct rd_error *err)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (!out->regular || fcntl(out->fd, F_OFD_SETLK, &all) == 0 ||
		(errno != EACCES && errno != EAGAIN))
		return 0;
	/* The other one may have found it before it was locked here, and has it now. */
	out->file.created = false;
	output_abandon(out);
	return rd_fail(err, RD_CLASS_OUTPUT, 0, "give the output another name",
		"another capture writes to '%s'", out->path);
}

int output_open(
	struct output *out, const char *path, const struct rd_inputs *inputs, struct rd_error *err)
{
	struct stat st;
	int rc;

	out->path = path;
	out->file = (struct rd_outfile){.fd = -1};
	out->ops = &output_buffered;
	if (strcmp(path, "-") == 0) {
		if (open_stdout(out, inputs, err) < 0)
			return -1;
	} else {
		rc = out->open(&out->file, path, inputs, err);
		if (rc)
			return rc;
	}
	if (out->file.fd >= 0)
		out->fd = out->file.fd;
	out->regular = out->file.regular;
	out->knows_holes = out->regular && knows_holes(out->fd);
	/* A pipe of 64 KiB costs a context switch per 64 KiB. A larger one may be refused. */
	if (fstat(out->fd, &st) == 0 && S_ISFIFO(st.st_mode))
		fcntl(out->fd, F_SETPIPE_SZ, PIPE_BYTES);
	return lock(out, err);
}

void output_make_private(const struct output *out)
{
	rd_outfile_make_private(&out->file, out->path);
}

int output_begin(struct output *out, struct rd_error *err)
{
	out->offset = out->checked = out->cleaned = out->synced = 0;
	out->grown = false;
	return rd_outfile_begin(&out->file, out->path, err);
}

void output_abandon(struct output *out)
{
	if (out->file.fd >= 0)
		rd_outfile_abandon(&out->file, out->path);
	else if (out->fd >= 0)
		close(out->fd);
	out->fd = -1;
}

#define STRETCH_BYTES ((uint64_t)65536) /* so much of a capture has some byte that is not 0 */

/*
 * Whether there is a hole where the file had bytes at the last check: another program cut it, and a
 * write has made it as long as before.
 */
static bool has_hole(const struct output *out)
{
	const off_t end = (off_t)(out->checked - out->checked % STRETCH_BYTES);
	const off_t now = end && out->knows_holes ? lseek(out->fd, 0, SEEK_CUR) : -1;
	bool hole;
	off_t data;

	if (now < 0)
		return false;
	data = lseek(out->fd, end - (off_t)STRETCH_BYTES, SEEK_DATA);
	hole = data < 0 ? errno == ENXIO : data >= end;
	lseek(out->fd, now, SEEK_SET);
	return hole;
}

int output_check(struct output *out)
{
	struct stat st;

	if (!out->regular || fstat(out->fd, &st) < 0)
		return 0;
	if (st.st_nlink == 0)
		return ENOENT;
	if ((uint64_t)st.st_size < out->ops->completed(out) || has_hole(out))
		return ESTALE;
	out->checked = out->ops->completed(out);
	if ((uint64_t)st.st_size > out->offset && !out->grown) {
		out->grown = true;
		rd_log(RD_LOG_WARNING, "another program also writes to '%s'", out->path);
	}
	return 0;
}

static int sync_periodically(struct output *out)
{
	int rc;

	if (!out->regular || out->sync != RD_SYNC_PERIODIC ||
		out->offset - out->synced < SYNC_BYTES)
		return 0;
	rc = out->ops->flush(out);
	if (rc == 0 && fdatasync(out->fd) < 0)
		rc = errno;
	out->synced = out->offset;
	return rc;
}

/* Compresses a block, if the file is compressed; *len is 0 if that failed. */
static const void *pack(struct output *out, const void *data, size_t *len, enum block block)
{
	if (!out->compression)
		return data;
	*len = out->compression->pack(
		out->compressor, out->packed, out->packed_room, data, *len, block);
	return out->packed;
}

int output_write(struct output *out, const void *data, size_t len, enum block block)
{
	size_t n = len;
	const void *packed = pack(out, data, &n, block);
	int rc;

	/* zstd writes nothing for an empty first block. */
	if (!n && out->compression && (len || block != BLOCK_FIRST))
		return ENOMEM;
	rc = out->ops->write(out, packed, n);
	return rc ? rc : sync_periodically(out);
}

void output_stream_begin(struct output *out)
{
	if (!out->stage || !out->regular || stage_begin(out))
		return;
	rd_log(out->mode == RD_WRITE_AUTO ? RD_LOG_DEBUG : RD_LOG_WARNING,
		"'%s': its file system does not support O_DIRECT (%s): writing through the page "
		"cache",
		out->path, strerror(errno));
}

int output_stream_end(struct output *out)
{
	int rc = out->ops->flush(out);

	return rc || out->ops != &output_direct ? rc : stage_end(out, 0);
}

bool output_is_flushed(const struct output *out)
{
	return out->ops->completed(out) == out->offset;
}

void output_set_behind(struct output *out, bool behind)
{
	out->behind = behind && out->mode == RD_WRITE_AUTO && !out->patient;
}

void output_rewrite_first(struct output *out, const void *data, size_t len)
{
	if (!out->regular || (out->compression && !out->compression->rewritable))
		return;
	data = pack(out, data, &len, BLOCK_FIRST);
	/* A header with the first comment is as readable as one with the last: no error. */
	if (pwrite(out->fd, data, len, 0) < 0)
		return;
}

void output_cut(struct output *out, uint64_t size)
{
	if (!out->regular || ftruncate(out->fd, (off_t)size) < 0 ||
		lseek(out->fd, (off_t)size, SEEK_SET) < 0)
		return;
	out->offset = size;
	out->checked = RD_MIN(out->checked, size);
}

int output_close(struct output *out, struct rd_error *err)
{
	int fd = out->fd;
	bool failed;

	out->fd = -1;
	if (fd < 0)
		return 0;
	failed = out->regular && out->sync != RD_SYNC_NONE && fdatasync(fd) < 0;
	if ((close(fd) < 0 && errno != EINTR) || failed)
		return rd_fail(err, RD_CLASS_OUTPUT, errno,
			"the end of the file may be missing; check the file system",
			"cannot finish '%s'", out->path);
	return 0;
}
