/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Raw write bandwidth of a file system, as dd measures it: FILE MiB BLOCK-KiB buffered|direct. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int fail(const char *what)
{
	fprintf(stderr, "disk: %s: %s\n", what, strerror(errno));
	return 1;
}

/* Prints bytes per second with the data on the disk, and CPU nanoseconds per KiB. */
int main(int argc, char **argv)
{
	size_t block, total;
	double start, end;
	int fd, flags = O_WRONLY | O_CREAT | O_TRUNC;
	char *p;

	if (argc != 5)
		return fprintf(stderr, "usage: disk FILE MIB BLOCK-KIB buffered|direct\n"), 1;
	total = strtoull(argv[2], NULL, 10) << 20;
	block = strtoull(argv[3], NULL, 10) << 10;
	if (strcmp(argv[4], "direct") == 0)
		flags |= O_DIRECT;
	p = mmap(NULL, block, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
		-1, 0);
	if (p == MAP_FAILED || !total || !block)
		return fail("memory");
	memset(p, 0x5a, block);
	fd = open(argv[1], flags, 0600);
	if (fd < 0)
		return fail(argv[1]);
	start = seconds();
	for (size_t done = 0; done < total; done += block)
		if (write(fd, p, block) != (ssize_t)block)
			return fail("write");
	if (fdatasync(fd) < 0)
		return fail("fdatasync");
	end = seconds();
	printf("%.0f %.0f\n", (double)total / (end - start),
		cpu_seconds() * 1e9 / (double)(total >> 10));
	return close(fd) < 0 ? fail("close") : 0;
}
