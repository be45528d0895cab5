/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sets the options that their rows describe completely: flags, texts, numbers, sizes, choices. */
#include "command.h"
#include <rdmadump/units.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int option_set(void *settings, const struct cli_option *row, const char *as, const char *arg,
	const struct option_use *range, struct rd_error *err)
{
	struct option_use use = {.row = row,
		.settings = settings,
		.arg = arg,
		.min = range && range->min ? range->min : row->min,
		.max = range && range->max ? range->max : row->max,
		.unit = range && range->unit ? range->unit : row->unit};

	snprintf(use.as, sizeof(use.as), "%s", as);
	/* As of a variable of a script that is not set: a filter would be none, a file any. */
	if (arg && !*arg && row->set != set_nothing)
		return rd_fail(err, RD_CLASS_USAGE, 0, "give a value, or leave it out",
			"%s: '' is empty", use.as);
	return row->set(&use, err);
}

void *option_field(const struct option_use *use)
{
	return (char *)use->settings + use->row->at;
}

void option_put(void *field, size_t size, uint64_t n)
{
	uint32_t small = (uint32_t)n;

	if (size == sizeof(n))
		memcpy(field, &n, sizeof(n));
	else
		memcpy(field, &small, sizeof(small));
}

static void put(const struct option_use *use, uint64_t n)
{
	option_put(option_field(use), use->row->size, n);
}

int set_flag(const struct option_use *use, struct rd_error *err)
{
	(void)err;
	*(bool *)option_field(use) = true;
	return 0;
}

int set_text(const struct option_use *use, struct rd_error *err)
{
	(void)err;
	*(const char **)option_field(use) = use->arg;
	return 0;
}

int set_number(const struct option_use *use, struct rd_error *err)
{
	uint64_t n;

	if (rd_parse_u64(use->arg, use->min, use->max, &n) == 0) {
		put(use, n);
		return 0;
	}
	if (use->max == UINT64_MAX)
		return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
			"%s: '%s' is not a whole number, %llu or more", use->as, use->arg,
			(unsigned long long)use->min);
	return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
		"%s: '%s' is not a whole number from %llu to %llu", use->as, use->arg,
		(unsigned long long)use->min, (unsigned long long)use->max);
}

int set_size(const struct option_use *use, struct rd_error *err)
{
	char least[RD_UNITS_LEN], most[RD_UNITS_LEN];
	uint64_t n;

	if (rd_parse_u64(use->arg, 0, UINT64_MAX / use->unit, &n) == 0 &&
		n * use->unit >= use->min && n * use->unit <= use->max)
		n *= use->unit;
	else if (strspn(use->arg, "0123456789") == strlen(use->arg) ||
		 rd_parse_size(use->arg, use->min, use->max, &n))
		return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
			"%s: '%s' is not a size from %s to %s, like 4096, 64k or 512Mi", use->as,
			use->arg, rd_fmt_kib(least, use->min), rd_fmt_kib(most, use->max));
	put(use, n);
	return 0;
}

/* Its index in the row's list, or -1 with the error. */
static int find_choice(const struct option_use *use, struct rd_error *err)
{
	const char *const *choices = use->row->choices;
	char all[96] = "";

	for (int i = 0; choices[i]; i++) {
		size_t used = strlen(all);

		if (strcasecmp(use->arg, choices[i]) == 0)
			return i;
		snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "", choices[i]);
	}
	return rd_fail(err, RD_CLASS_USAGE, 0, NULL, "%s: '%s' is not %s%s", use->as, use->arg,
		choices[1] ? "one of " : "", all);
}

int set_choice(const struct option_use *use, struct rd_error *err)
{
	int i = find_choice(use, err);

	if (i < 0)
		return -1;
	put(use, use->row->min + (unsigned int)i);
	return 0;
}

int set_choice_text(const struct option_use *use, struct rd_error *err)
{
	int i = find_choice(use, err);

	if (i < 0)
		return -1;
	*(const char **)option_field(use) = use->row->choices[i];
	return 0;
}

/* Counts how often the option is given. */
int set_more(const struct option_use *use, struct rd_error *err)
{
	(void)err;
	++*(unsigned int *)option_field(use);
	return 0;
}

/* Options of other tools that request the default behaviour of this program. */
int set_nothing(const struct option_use *use, struct rd_error *err)
{
	(void)use;
	(void)err;
	return 0;
}

/* row->help: which option to use instead. */
int set_refused(const struct option_use *use, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_USAGE, 0, NULL, "%s: %s", use->as, use->row->help);
}

int set_stop_after(const struct option_use *use, struct rd_error *err)
{
	if (strncmp(use->arg, "duration:", 9) == 0 &&
		rd_parse_u64(use->arg + 9, 1, 1000000000, option_field(use)) == 0)
		return 0;
	return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
		"-a: '%s' is not 'duration:' and a number of seconds", use->arg);
}
