/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Output by write(2) through the page cache, and reading back what was written. */
#include "output.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define CLEAN_BYTES  ((uint64_t)32 << 20)  /* writeback is started in steps of this size */
#define RECENT_BYTES ((uint64_t)128 << 20) /* kept: others may read it now */

/*
 * A long capture must not evict other programs' pages from memory: writeback is
 * started early, and written pages are dropped. This never waits for the disk.
 */
static void spare_page_cache(struct output *out)
{
	uint64_t begin = out->cleaned;

	if (!out->regular || out->offset - begin < CLEAN_BYTES)
		return;
	out->cleaned = out->offset;
	sync_file_range(out->fd, (off_t)begin, (off_t)(out->offset - begin), SYNC_FILE_RANGE_WRITE);
	if (out->offset > RECENT_BYTES)
		posix_fadvise(out->fd, 0, (off_t)(out->offset - RECENT_BYTES), POSIX_FADV_DONTNEED);
}

static int buffered_write(struct output *out, const uint8_t *data, size_t len)
{
	while (len) {
		ssize_t n = TEMP_FAILURE_RETRY(write(out->fd, data, len));

		if (n <= 0)
			return n < 0 ? errno : ENOSPC;
		data += n;
		len -= (size_t)n;
		out->offset += (uint64_t)n;
	}
	spare_page_cache(out);
	return 0;
}

static int buffered_flush(struct output *out)
{
	(void)out;
	return 0;
}

static uint64_t buffered_completed(const struct output *out)
{
	return out->offset;
}

const struct output_ops output_buffered = {
	.write = buffered_write, .flush = buffered_flush, .completed = buffered_completed};

size_t output_read_back(const struct output *out, void *data, size_t len, uint64_t offset)
{
	size_t got = 0;
	char self[32];
	ssize_t n;
	int fd;

	/* The path may be inaccessible since privileges were dropped; the open file is not. */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", out->fd);
	fd = open(self, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fd = open(out->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (got < len &&
		(n = pread(fd, (uint8_t *)data + got, len - got, (off_t)(offset + got))) > 0)
		got += (size_t)n;
	close(fd);
	return got;
}
