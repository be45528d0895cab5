/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Output that bypasses the page cache (open(2), O_DIRECT): complete pieces of STAGE_BYTES at
 * multiples of BLOCK_BYTES, in order, so that the file never has a hole. A flush writes the end of
 * the file, a partial block, by write(2).
 */
#include "output.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/clock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)4096)
#define STAGE_BYTES ((size_t)2 << 20)
#define WORTH_BYTES                                                                                \
	((size_t)64 << 10) /* when flushed, less than this goes through the page cache */
#define MEASURE_AGAIN 64   /* pieces after which the slower path is measured again */

enum path { PAST_CACHE, THROUGH_CACHE, PATHS };

struct stage {
	uint8_t *buf;		   /* bytes for the file from offset `at` on */
	uint64_t at;		   /* a multiple of BLOCK_BYTES */
	size_t used, in_file;	   /* bytes in it; of these, already in the file */
	bool direct;		   /* O_DIRECT is set on the descriptor */
	bool refused;		   /* the file system accepted the flag, but refused a write */
	uint64_t piece_ns[PATHS];  /* duration of the last piece on this path; 0: unknown */
	unsigned int behind_count; /* pieces written while the writer was behind */
};

static int flush_buffered(struct output *out);

static bool set_direct(struct output *out, bool on)
{
	struct stage *st = out->stage;
	int flags;

	if (st->direct == on)
		return true;
	flags = fcntl(out->fd, F_GETFL);
	if (flags < 0 || fcntl(out->fd, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT) < 0)
		return false;
	st->direct = on;
	return true;
}

int stage_end(struct output *out, int errnum)
{
	set_direct(out, false);
	out->ops = &output_buffered;
	if (lseek(out->fd, (off_t)out->offset, SEEK_SET) < 0 && !errnum)
		errnum = errno;
	return errnum;
}

/* Writes through the page cache; returns the bytes written: all, or fewer on an error. */
static size_t pwrite_all(int fd, const uint8_t *data, size_t len, uint64_t offset, int *errnum)
{
	size_t done = 0;

	*errnum = 0;
	while (done < len) {
		ssize_t n = TEMP_FAILURE_RETRY(
			pwrite(fd, data + done, len - done, (off_t)(offset + done)));

		if (n <= 0) {
			*errnum = n < 0 ? errno : ENOSPC;
			break;
		}
		done += (size_t)n;
	}
	return done;
}

/*
 * A piece of `len` bytes failed, or was written only in part. If the cause is space, a limit or
 * alignment, write as many bytes as fit through the page cache. Other errors of a disk are
 * reported: the page cache would hide them.
 */
static int recover(struct output *out, size_t len, ssize_t result)
{
	struct stage *st = out->stage;
	size_t done = result > 0 ? (size_t)result : 0;
	int errnum = result < 0 ? errno : 0;

	st->refused = errnum == EINVAL;
	if (!errnum || errnum == EINVAL || errnum == ENOSPC || errnum == EDQUOT ||
		errnum == EFBIG) {
		set_direct(out, false);
		done += pwrite_all(out->fd, st->buf + done, len - done, st->at + done, &errnum);
	}
	if (!errnum)
		return 0;
	out->offset = st->at + done;
	return stage_end(out, errnum);
}

/* Writes the first `len` bytes of the buffer with O_DIRECT. */
static int put_directly(struct output *out, size_t len)
{
	struct stage *st = out->stage;
	uint64_t before = rd_monotonic_ns();
	ssize_t result;

	result = TEMP_FAILURE_RETRY(pwrite(out->fd, st->buf, len, (off_t)st->at));
	if (len == STAGE_BYTES)
		st->piece_ns[PAST_CACHE] = rd_monotonic_ns() - before;
	return result == (ssize_t)len ? 0 : recover(out, len, result);
}

/*
 * While the writer is behind, chooses the path that was faster recently. The page cache is
 * additional buffer, which helps if the disk is slower than the traffic; with a fast disk, the page
 * cache is the slower path.
 */
static enum path choose(struct output *out)
{
	struct stage *st = out->stage;
	enum path faster;

	if (!out->behind)
		return PAST_CACHE;
	if (!st->piece_ns[THROUGH_CACHE])
		return THROUGH_CACHE;
	faster =
		st->piece_ns[THROUGH_CACHE] < st->piece_ns[PAST_CACHE] ? THROUGH_CACHE : PAST_CACHE;
	return ++st->behind_count % MEASURE_AGAIN ? faster : !faster;
}

static int put_through_cache(struct output *out)
{
	struct stage *st = out->stage;
	uint64_t before = rd_monotonic_ns();
	int errnum = flush_buffered(out);

	st->piece_ns[THROUGH_CACHE] = rd_monotonic_ns() - before;
	return errnum;
}

/* Writes the full buffer. */
static int write_piece(struct output *out)
{
	struct stage *st = out->stage;
	int errnum;

	if (choose(out) == THROUGH_CACHE)
		return put_through_cache(out);
	if (st->refused || !set_direct(out, true)) {
		errnum = flush_buffered(out);
		return errnum ? errnum : stage_end(out, 0);
	}
	errnum = put_directly(out, STAGE_BYTES);
	st->at += STAGE_BYTES;
	st->used = st->in_file = 0;
	return errnum;
}

static int direct_write(struct output *out, const uint8_t *data, size_t len)
{
	struct stage *st = out->stage;

	while (len) {
		size_t n = STAGE_BYTES - st->used < len ? STAGE_BYTES - st->used : len;
		int errnum;

		memcpy(st->buf + st->used, data, n);
		st->used += n;
		out->offset += n;
		data += n;
		len -= n;
		if (st->used < STAGE_BYTES)
			continue;
		errnum = write_piece(out);
		if (errnum)
			return errnum;
		/* An error made write(2) the back end. */
		if (out->ops != &output_direct)
			return out->ops->write(out, data, len);
	}
	return 0;
}

/* The first `blocks` bytes of the buffer are in the file: moves the rest to its start. */
static void forget(struct stage *st, size_t blocks)
{
	memmove(st->buf, st->buf + blocks, st->used - blocks);
	st->at += blocks;
	st->used -= blocks;
	st->in_file = st->in_file > blocks ? st->in_file - blocks : 0;
}

/* Writes all bytes through the page cache; a partial block at the end also stays in the buffer. */
static int flush_buffered(struct output *out)
{
	struct stage *st = out->stage;
	int errnum;
	size_t done;

	if (st->used == st->in_file)
		return 0;
	if (!set_direct(out, false)) {
		out->offset = st->at + st->in_file;
		return stage_end(out, errno);
	}
	done = pwrite_all(out->fd, st->buf + st->in_file, st->used - st->in_file,
		st->at + st->in_file, &errnum);
	if (errnum) {
		out->offset = st->at + st->in_file + done;
		return stage_end(out, errnum);
	}
	st->in_file = st->used;
	forget(st, st->used - st->used % BLOCK_BYTES);
	return 0;
}

/* The same, but many complete blocks bypass the page cache. */
static int direct_flush(struct output *out)
{
	struct stage *st = out->stage;
	size_t blocks = st->used - st->used % BLOCK_BYTES;
	int errnum = 0;

	if (!st->refused && blocks >= WORTH_BYTES + st->in_file && set_direct(out, true)) {
		errnum = put_directly(out, blocks);
		if (!errnum)
			forget(st, blocks);
	}
	return errnum ? errnum : flush_buffered(out);
}

static uint64_t direct_completed(const struct output *out)
{
	return out->stage->at + out->stage->in_file;
}

const struct output_ops output_direct = {
	.write = direct_write, .flush = direct_flush, .completed = direct_completed};

bool stage_begin(struct output *out)
{
	struct stage *st = out->stage;
	size_t tail = (size_t)(out->offset % BLOCK_BYTES);

	st->at = out->offset - tail;
	st->used = st->in_file = tail;
	st->direct = st->refused = false;
	if (output_read_back(out, st->buf, tail, st->at) != tail || !set_direct(out, true))
		return false;
	out->ops = &output_direct;
	return true;
}

void stage_close(struct stage *st)
{
	if (!st)
		return;
	munmap(st->buf, STAGE_BYTES);
	free(st);
}

struct stage *stage_open(void)
{
	struct stage *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	st->buf =
		mmap(NULL, STAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (st->buf != MAP_FAILED)
		return st;
	free(st);
	return NULL;
}
