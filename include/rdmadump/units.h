/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Formats and parses numbers with units: counts, sizes, rates, durations. */
#pragma once

#include <stdint.h>

#define RD_UNITS_LEN 32 /* buffer size of every formatter below, with the NUL */

/* The ending of a noun after a number: "1 frame", "0 frames". */
static inline const char *rd_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* "1 284 551": digits in groups of three. Each formatter writes into buf and returns buf. */
char *rd_fmt_count(char buf[RD_UNITS_LEN], uint64_t n);
/* Powers of 1000, for sizes of files and traffic: "9.8 GB", "412 B". */
char *rd_fmt_bytes(char buf[RD_UNITS_LEN], uint64_t bytes);
/* Powers of 1024, for memory: "9.5 KiB". */
char *rd_fmt_kib(char buf[RD_UNITS_LEN], uint64_t bytes);
/* "6.4 Gb/s" */
char *rd_fmt_bitrate(char buf[RD_UNITS_LEN], double bits_per_second);
/* Three significant digits: "871 us", "2.15 s"; whole seconds from 100 s on. */
char *rd_fmt_duration(char buf[RD_UNITS_LEN], uint64_t ns);
/* Two significant digits: "2.1 %", "100 %" of all only; below a hundredth "less than 0.01 %". */
char *rd_fmt_percent(char buf[RD_UNITS_LEN], double percent);
#define RD_TIMES_LEN 64
/*
 * "0.469 ms to 56.549 ms", "1.326 s to 1.461 s", after `start`; "1.326 s" if `last` is not later
 * than `first`. One unit, so that they compare; more digits where they are near to each other.
 * Returns buf.
 */
char *rd_fmt_times(char buf[RD_TIMES_LEN], uint64_t start, uint64_t first, uint64_t last);
/* "00:00:12" */
char *rd_fmt_hms(char buf[RD_UNITS_LEN], uint64_t seconds);

/*
 * A whole number from min to max, decimal or 0x; the whole string must be used. Returns 0,
 * or -1 (nothing is written to *out).
 */
int rd_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* The same with a suffix: k M G T (powers of 1000) or Ki Mi Gi Ti (of 1024), then an optional B. */
int rd_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* A time in ns: a whole number and us, ms, s, m or h; no unit: seconds. */
int rd_parse_duration(const char *text, uint64_t min, uint64_t max, uint64_t *out);
