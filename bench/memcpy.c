/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints memcpy bandwidth of one core in bytes per second, the reference for large frames. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define AREA  ((size_t)128 << 20)
#define BLOCK 4096
#define TIMES 15

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint8_t *area(void)
{
	uint8_t *p = mmap(NULL, AREA, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	madvise(p, AREA, MADV_HUGEPAGE);
	memset(p, 1, AREA);
	return p;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Copies one area to the other in blocks; `window` bytes of the target are used again and again. */
static double bandwidth(uint8_t *to, const uint8_t *from, size_t window)
{
	double rate[TIMES];

	for (int i = 0; i < TIMES; i++) {
		double start = seconds();

		for (size_t at = 0; at < AREA; at += BLOCK)
			memcpy(to + at % window, from + at, BLOCK);
		rate[i] = AREA / (seconds() - start);
	}
	qsort(rate, TIMES, sizeof(rate[0]), ascending);
	return rate[TIMES / 2];
}

int main(void)
{
	uint8_t *from = area(), *to = area();

	printf("%.0f %.0f\n", bandwidth(to, from, AREA), bandwidth(to, from, (size_t)1 << 20));
	return 0;
}
