/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fuzzes what uncompresses input: any bytes as a file, read in large and small pieces. */
#include "file/stream.h"
#include "fuzz.h"
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST (8u << 20) /* a few bytes can stand for a terabyte of zeros */

/* Reads all and returns a sum over it; *fault: whether it ended with one. */
static uint64_t read_all(const char *path, size_t step, size_t *total, bool *fault)
{
	struct rd_error err = {0}, again = {0};
	static uint8_t buf[65536];
	uint64_t done, size, sum = 0;
	struct stream *s;
	ssize_t n;

	*total = 0;
	*fault = true;
	if (stream_open(&s, path, &err) < 0) {
		require(err.text[0]);
		return 0;
	}
	while ((n = stream_read(s, buf, step, &err)) > 0 && *total < MOST) {
		require((size_t)n <= step);
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + buf[i];
		*total += (size_t)n;
	}
	*fault = n < 0;
	if (n < 0) { /* it says so again */
		require(stream_read(s, buf, step, &again) < 0);
		require(!strcmp(err.text, again.text));
	}
	stream_progress(s, &done, &size);
	require(done <= size);
	stream_close(s);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool fault, fault_small;
	size_t total, total_small;
	uint64_t sum;
	char path[64];
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	sum = read_all(path, 65536, &total, &fault);
	if (total < MOST) { /* what comes before a fault does not depend on the pieces */
		require(read_all(path, 777, &total_small, &fault_small) == sum);
		require(total == total_small && fault == fault_small);
	}
	close(fd);
	return 0;
}
