/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the time and the machine in the forms that logs begin with. */
#include "line.h"
#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BEGINNING 200 /* bytes of the line that are looked at */
#define SECOND	  UINT64_C(1000000000)
#define NO_YEAR	  (-1)
#define NAME	  "([A-Za-z][A-Za-z0-9._-]*)"
#define DATE	  "([0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:]{8}[.,0-9]*(Z|[-+][0-9:]{4,6})?)"

/* A form, and the group of the pattern that is wanted. The first row that matches is taken. */
struct form {
	const char *pattern;
	unsigned int group;
	regex_t compiled;
	bool is_compiled;
};

static struct form times[] = {
	{.pattern = "^\\[? *" DATE, .group = 1},
	{.pattern = "^\\[ *([0-9]+\\.[0-9]+)\\]", .group = 1},		    /* UCX, the kernel */
	{.pattern = "^([A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8}) ", .group = 1}, /* syslog */
	{.pattern = "^[IWEF]([0-9]{4} [0-9:]{8}\\.[0-9]+) ", .group = 1},   /* glog */
	{0},
};
static struct form hosts[] = {
	{.pattern = "^[A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} " NAME " ", .group = 1}, /* syslog */
	{.pattern = NAME ":[0-9]+:[0-9]+ *\\[[0-9]+\\]", .group = 1},		   /* NCCL, RCCL */
	{.pattern = "^(\\[[^]]*\\] *)?\\[" NAME ":[0-9]+(:[0-9]+)*\\]",
		.group = 2},			       /* UCX, Open MPI */
	{.pattern = "from " NAME " to: ", .group = 1}, /* Open MPI */
	{.pattern = "^" DATE " " NAME " [A-Za-z0-9_./-]+(\\[[0-9]+\\])?: ", .group = 3},
	{0},
};
/* "3: " of srun, "[1,3]<stderr>:" of mpirun: the rank that printed the line. */
static struct form labels[] = {
	{.pattern = "^([0-9]+|\\[[0-9]+,[0-9]+\\](<[a-z]+>)?): ?"},
	{0},
};

/* Out of memory is as no match. */
static void find(struct form *form, const char *line, char *out, size_t size)
{
	regmatch_t m[5];

	for (; form->pattern; form++) {
		size_t length;

		if (!form->is_compiled && regcomp(&form->compiled, form->pattern, REG_EXTENDED))
			continue;
		form->is_compiled = true;
		if (regexec(&form->compiled, line, 5, m, 0))
			continue;
		length = (size_t)(m[form->group].rm_eo - m[form->group].rm_so);
		if (length >= size)
			return;
		memcpy(out, line + m[form->group].rm_so, length);
		out[length] = '\0';
		return;
	}
}

void prefix_read(const char *line, size_t length, struct reading *r)
{
	char start[BEGINNING], label[BEGINNING] = "", *text;
	size_t n = length < sizeof(start) - 1 ? length : sizeof(start) - 1;

	memcpy(start, line, n);
	start[n] = '\0';
	find(labels, start, label, sizeof(label));
	text = start + strlen(label);
	find(times, text, r->time, sizeof(r->time));
	find(hosts, text, r->host, sizeof(r->host));
}

/* --- the time as a number --------------------------------------------------------------------- */

/* ".25" and ",250" in ns, and where it ends. */
static uint64_t fraction(const char **text)
{
	uint64_t ns = 0, unit = SECOND;

	if (**text != '.' && **text != ',')
		return 0;
	while (isdigit((unsigned char)*++*text))
		ns += (uint64_t)(**text - '0') * (unit /= 10);
	return ns;
}

static time_t seconds_of(struct tm tm, bool zoned)
{
	const long east = zoned ? tm.tm_gmtoff : 0;

	tm.tm_isdst = -1;
	return zoned ? timegm(&tm) - east : mktime(&tm);
}

/* Of the years around that of `near`. */
static time_t nearest_year(struct tm tm, bool zoned, time_t near)
{
	time_t best = 0;
	struct tm there;

	localtime_r(&near, &there);
	for (int year = there.tm_year - 1; year <= there.tm_year + 1; year++) {
		time_t at;

		tm.tm_year = year;
		at = seconds_of(tm, zoned);
		if (llabs(at - near) < llabs(best - near))
			best = at;
	}
	return best;
}

uint64_t prefix_time(const char *time, uint64_t near_ns, bool *zoned)
{
	static const char *const formats[] = {
		"%Y-%m-%d%n%H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%b %d %H:%M:%S", "%m%d %H:%M:%S"};
	struct tm tm;
	const char *rest = NULL;
	char *stop;
	uint64_t ns = strtoull(time, &stop, 10);
	time_t at;

	*zoned = true;
	/* Seconds since 1970, as UCX has them; the kernel's count from its start. */
	if (*stop == '.') {
		rest = stop;
		return ns < SECOND ? 0 : ns * SECOND + fraction(&rest);
	}
	for (size_t i = 0; !rest && i < RD_COUNT(formats); i++) {
		tm = (struct tm){.tm_year = NO_YEAR};
		rest = strptime(time, formats[i], &tm);
	}
	if (!rest)
		return 0;
	ns = fraction(&rest);
	*zoned = strptime(rest, "%z", &tm) != NULL;
	at = tm.tm_year == NO_YEAR ? nearest_year(tm, *zoned, (time_t)(near_ns / SECOND))
				   : seconds_of(tm, *zoned);
	return at < 0 ? 0 : (uint64_t)at * SECOND + ns;
}
