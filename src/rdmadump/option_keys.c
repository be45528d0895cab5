/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* dumpcap's KEY:VALUE pairs, of --autostop and --ring-buffer. */
#include "option_keys.h"
#include <errno.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILESIZE_UNIT 1000 /* dumpcap counts in kB */

struct key {
	const char *name;
	uint64_t min, max;
	void (*set)(struct capture_options *o, uint64_t n);
};

static void set_duration(struct capture_options *o, uint64_t n)
{
	o->session.duration_s = n;
}

static void set_packets(struct capture_options *o, uint64_t n)
{
	o->session.count = n;
}

static void set_files(struct capture_options *o, uint64_t n)
{
	o->session.out.rotation.files = (unsigned int)n;
}

/* Without a ring buffer the capture ends when its only file is full. */
static void set_filesize(struct capture_options *o, uint64_t n)
{
	o->session.out.rotation.bytes = n * FILESIZE_UNIT;
	if (!o->session.out.rotation.files && !o->session.slice_s &&
		o->session.out.rotation.naming != RD_NAMES_DUMPCAP)
		o->session.out.rotation.files = 1;
}

static const struct key autostop_keys[] = {
	{"duration", 1, SECONDS_MAX, set_duration},
	{"filesize", 1, UINT64_MAX / FILESIZE_UNIT, set_filesize},
	{"files", 1, UINT32_MAX, set_files},
	{"packets", 1, UINT64_MAX, set_packets},
	{0},
};

static void set_ring_filesize(struct capture_options *o, uint64_t n)
{
	o->session.out.rotation.bytes = n * FILESIZE_UNIT;
}

static void set_ring_duration(struct capture_options *o, uint64_t n)
{
	o->session.slice_s = n;
	o->session.out.rotation.timed = true;
}

static void set_ring_interval(struct capture_options *o, uint64_t n)
{
	set_ring_duration(o, n);
	o->session.slice_aligned = true;
}

static void set_ring_files(struct capture_options *o, uint64_t n)
{
	o->session.out.rotation.ring = (unsigned int)n;
}

static void set_ring_packets(struct capture_options *o, uint64_t n)
{
	o->session.out.rotation.frames = n;
}

static const struct key ring_keys[] = {
	{"duration", 1, SECONDS_MAX, set_ring_duration},
	{"interval", 1, SECONDS_MAX, set_ring_interval},
	{"filesize", 1, UINT64_MAX / FILESIZE_UNIT, set_ring_filesize},
	{"files", 1, FILES_MAX, set_ring_files},
	{"packets", 1, UINT64_MAX, set_ring_packets},
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
		k->set(o, n);
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

int option_autostop(struct capture_options *o, const char *arg, struct rd_error *err)
{
	return set_pairs(o, "--autostop", autostop_keys, arg, err);
}

int option_ring_buffer(struct capture_options *o, const char *arg, struct rd_error *err)
{
	static const char print[] = "printname:";

	o->session.out.rotation.naming = RD_NAMES_DUMPCAP;
	if (strncmp(arg, print, sizeof(print) - 1) == 0) {
		o->session.out.rotation.print_names_to = arg + sizeof(print) - 1;
		return 0;
	}
	/* "-a filesize" before it meant one file; now it is the size of each. */
	if (o->session.out.rotation.files == 1 && o->session.out.rotation.bytes)
		o->session.out.rotation.files = 0;
	return set_pairs(o, "--ring-buffer", ring_keys, arg, err);
}
