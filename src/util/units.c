/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Formats and parses numbers with units. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <rdmadump/array.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000
#define NEAR   10000000 /* ns: two moments that are this near to each other have microseconds */

char *rd_fmt_count(char buf[RD_UNITS_LEN], uint64_t n)
{
	char digits[24], *out = buf;
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*out++ = ' ';
		*out++ = digits[i];
	}
	*out = '\0';
	return buf;
}

/* Three significant digits from the second unit on; whole numbers in the first. */
static char *fmt_scaled(char buf[RD_UNITS_LEN], double v, double base, const char *const *units)
{
	int u = 0;

	while (units[u + 1] && v >= base) {
		v /= base;
		u++;
	}
	snprintf(buf, RD_UNITS_LEN, "%.*f %s", u && v < 100 ? 1 : 0, v, units[u]);
	return buf;
}

char *rd_fmt_bytes(char buf[RD_UNITS_LEN], uint64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", NULL};

	return fmt_scaled(buf, (double)bytes, 1000, units);
}

char *rd_fmt_kib(char buf[RD_UNITS_LEN], uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", NULL};

	return fmt_scaled(buf, (double)bytes, 1024, units);
}

char *rd_fmt_bitrate(char buf[RD_UNITS_LEN], double bits_per_second)
{
	static const char *const units[] = {"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", NULL};

	return fmt_scaled(buf, bits_per_second, 1000, units);
}

char *rd_fmt_duration(char buf[RD_UNITS_LEN], uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s", NULL};
	double v = (double)ns;
	int u = 0;

	/* What would be rounded to 1000 has the next unit. */
	while (units[u + 1] && v >= 999.5) {
		v /= 1000;
		u++;
	}
	snprintf(buf, RD_UNITS_LEN, v < 100 ? "%.3g %s" : "%.0f %s", v, units[u]);
	return buf;
}

char *rd_fmt_times(char buf[RD_TIMES_LEN], uint64_t start, uint64_t first, uint64_t last)
{
	static const struct {
		uint64_t least, unit;
		const char *name;
		int digits;
	} units[] = {{SECOND, 1000000000, "s", 3}, {1000000, 1000000, "ms", 3}, {0, 1000, "us", 0}};
	const uint64_t from = first > start ? first - start : 0;
	const uint64_t until = last > first && last > start ? last - start : from;
	unsigned int u = 0;
	int n = 0, digits;

	while (until < units[u].least)
		u++;
	/* Else they would look the same. */
	digits = u == 0 && until > from && until - from < NEAR ? 6 : units[u].digits;
	if (until > from)
		n = snprintf(buf, RD_TIMES_LEN, "%.*f %s to ", digits,
			(double)from / (double)units[u].unit, units[u].name);
	snprintf(buf + n, RD_TIMES_LEN - (size_t)n, "%.*f %s", digits,
		(double)until / (double)units[u].unit, units[u].name);
	return buf;
}

char *rd_fmt_percent(char buf[RD_UNITS_LEN], double percent)
{
	if (percent > 0 && percent < 0.01)
		snprintf(buf, RD_UNITS_LEN, "less than 0.01 %%");
	else if (percent > 99 && percent < 100)
		snprintf(buf, RD_UNITS_LEN, "more than 99 %%");
	else
		snprintf(buf, RD_UNITS_LEN, percent < 99.5 ? "%.2g %%" : "%.0f %%", percent);
	return buf;
}

char *rd_fmt_hms(char buf[RD_UNITS_LEN], uint64_t seconds)
{
	snprintf(buf, RD_UNITS_LEN, "%02" PRIu64 ":%02u:%02u", seconds / 3600,
		(unsigned int)(seconds / 60 % 60), (unsigned int)(seconds % 60));
	return buf;
}

static int parse_digits(const char *text, const char **end, uint64_t *out)
{
	char *stop;
	int base = text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10;

	if (!isdigit((unsigned char)text[0]))
		return -1;
	errno = 0;
	*out = strtoull(text, &stop, base);
	*end = stop;
	return errno || (base == 16 && stop == text + 1) ? -1 : 0;
}

int rd_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	const char *end;
	uint64_t v;

	if (parse_digits(text, &end, &v) || *end || v < min || v > max)
		return -1;
	*out = v;
	return 0;
}

int rd_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	static const char prefixes[] = "kmgt";
	const char *end, *prefix;
	uint64_t v, scale = 1;

	if (parse_digits(text, &end, &v))
		return -1;
	prefix = *end ? strchr(prefixes, tolower((unsigned char)*end)) : NULL;
	if (prefix) {
		uint64_t base = end[1] == 'i' ? 1024 : 1000;

		for (const char *p = prefixes; p <= prefix; p++)
			scale *= base;
		end += base == 1024 ? 2 : 1;
	}
	if (*end == 'B')
		end++;
	if (*end || v > UINT64_MAX / scale || v * scale < min || v * scale > max)
		return -1;
	*out = v * scale;
	return 0;
}

int rd_parse_duration(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000},
		{"m", 60 * UINT64_C(1000000000)}, {"h", 3600 * UINT64_C(1000000000)},
		{"", 1000000000}};
	const char *end;
	uint64_t v;

	if (parse_digits(text, &end, &v))
		return -1;
	for (size_t i = 0; i < RD_COUNT(units); i++) {
		if (strcmp(end, units[i].name))
			continue;
		if (v > UINT64_MAX / units[i].ns || v * units[i].ns < min || v * units[i].ns > max)
			return -1;
		*out = v * units[i].ns;
		return 0;
	}
	return -1;
}
