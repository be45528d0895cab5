/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dumpcap's KEY:VALUE pairs, of --autostop and --ring-buffer. */
#include "options.h"
#include <errno.h>
#include <rdmadump/units.h>
#include <stdlib.h>

#define FILESIZE_UNIT 1000 /* dumpcap counts in kB */

struct key {
	const char *name;
	uint64_t min, max, unit;
	size_t at, size;			   /* field of the options */
	void (*then)(struct rd_session_config *c); /* what follows from it; NULL: nothing */
};
#define INTO(field)                                                                                \
	offsetof(struct capture_options, session.field),                                           \
		sizeof(((struct capture_options *)0)->session.field)

/* Without a ring buffer the capture ends when its only file is full. */
static void end_with_the_file(struct rd_session_config *c)
{
	if (!c->out.rotation.files && !c->slice_s && c->out.rotation.naming != RD_NAMES_DUMPCAP)
		c->out.rotation.files = 1;
}

static const struct key autostop_keys[] = {
	{"duration", 1, SECONDS_MAX, 1, INTO(duration_s), NULL},
	{"filesize", 1, UINT64_MAX / FILESIZE_UNIT, FILESIZE_UNIT, INTO(out.rotation.bytes),
		end_with_the_file},
	{"files", 1, UINT32_MAX, 1, INTO(out.rotation.files), NULL},
	{"packets", 1, UINT64_MAX, 1, INTO(count), NULL},
	{0},
};

static void align_files(struct rd_session_config *c)
{
	c->slice_aligned = true;
}

static const struct key ring_keys[] = {
	{"duration", 1, SECONDS_MAX, 1, INTO(slice_s), NULL},
	{"interval", 1, SECONDS_MAX, 1, INTO(slice_s), align_files},
	{"filesize", 1, UINT64_MAX / FILESIZE_UNIT, FILESIZE_UNIT, INTO(out.rotation.bytes), NULL},
	{"files", 1, FILES_MAX, 1, INTO(out.rotation.ring), NULL},
	{"packets", 1, UINT64_MAX, 1, INTO(out.rotation.frames), NULL},
	{0},
};

static int set_pair(struct capture_options *o, const char *option, const struct key *keys,
	const char *pair, struct rd_error *err)
{
	const char *colon = strchr(pair, ':');
	char known[96] = "";
	uint64_t n;

	for (const struct key *k = keys; k->name; k++) {
		size_t len = strlen(k->name);

		strcat(strcat(known, known[0] ? ", " : ""), k->name);
		if (!colon || (size_t)(colon - pair) != len || strncmp(pair, k->name, len))
			continue;
		if (rd_parse_u64(colon + 1, k->min, k->max, &n))
			return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
				"%s %s: '%s' is not a whole number from %llu to %llu", option,
				k->name, colon + 1, (unsigned long long)k->min,
				(unsigned long long)k->max);
		option_put((char *)o + k->at, k->size, n * k->unit);
		if (k->then)
			k->then(&o->session);
		return 0;
	}
	return rd_fail(err, RD_CLASS_USAGE, 0, NULL, "%s: '%s' is not KEY:VALUE with a key of %s",
		option, pair, known);
}

static int set_pairs(struct capture_options *o, const char *option, const struct key *keys,
	const char *arg, struct rd_error *err)
{
	char *copy = strdup(arg), *rest = copy, *pair;
	int rc = copy ? 0 : rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "%s", option);

	while (rc == 0 && (pair = strsep(&rest, ",")))
		rc = set_pair(o, option, keys, pair, err);
	free(copy);
	return rc;
}

int set_autostop(const struct option_use *use, struct rd_error *err)
{
	return set_pairs(use->settings, "--autostop", autostop_keys, use->arg, err);
}

int option_ring_buffer(struct capture_options *o, const char *arg, struct rd_error *err)
{
	o->session.out.rotation.naming = RD_NAMES_DUMPCAP;
	/* "-a filesize" before it meant one file; now it is the size of each. */
	if (o->session.out.rotation.files == 1 && o->session.out.rotation.bytes)
		o->session.out.rotation.files = 0;
	return set_pairs(o, "--ring-buffer", ring_keys, arg, err);
}
