/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Values of options: numbers, sizes, dumpcap's key:value pairs, files; letters of other tools. */
#include "parse.h"
#include <errno.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define YEARS_OF_SECONDS 4000000000U
#define FILTER_FILE_MOST 65536

void parse_number(struct argp_state *state, const char *name, const char *arg, uint64_t min,
	uint64_t max, uint64_t *out)
{
	if (rd_parse_u64(arg, min, max, out))
		argp_error(state, "%s: '%s' is not a whole number from %llu to %llu", name, arg,
			(unsigned long long)min, (unsigned long long)max);
}

void parse_bytes(struct argp_state *state, const char *name, const char *arg, uint64_t unit,
	uint64_t min, uint64_t max, uint64_t *out)
{
	char least[RD_UNITS_LEN], most[RD_UNITS_LEN];
	uint64_t n;

	if (rd_parse_u64(arg, 0, UINT64_MAX / unit, &n) == 0 && n * unit >= min && n * unit <= max)
		*out = n * unit;
	else if (strspn(arg, "0123456789") == strlen(arg) || rd_parse_size(arg, min, max, out))
		argp_error(state, "%s: '%s' is not a size from %s to %s, like 4096, 64k or 512Mi",
			name, arg, rd_fmt_kib(least, min), rd_fmt_kib(most, max));
}

/* One row per key; `kilo`: dumpcap counts in 1000 bytes. */
struct key {
	const char *name;
	uint64_t min, max;
	void (*set)(struct capture_options *o, uint64_t n);
};

static void set_duration(struct capture_options *o, uint64_t n)
{
	o->duration_s = n;
}

static void set_packets(struct capture_options *o, uint64_t n)
{
	o->count = n;
}

static void set_files(struct capture_options *o, uint64_t n)
{
	o->rotation.files = (unsigned int)n;
}

/* Without a ring buffer the one file ends the capture: session sees files = 1. */
static void set_filesize(struct capture_options *o, uint64_t n)
{
	o->rotation.bytes = n * 1000;
	if (!o->rotation.files && !o->slice_s && o->rotation.naming != RD_NAMES_DUMPCAP)
		o->rotation.files = 1;
}

static const struct key autostop_keys[] = {
	{"duration", 1, YEARS_OF_SECONDS, set_duration},
	{"filesize", 1, UINT64_MAX / 1000, set_filesize},
	{"files", 1, UINT32_MAX, set_files},
	{"packets", 1, UINT64_MAX, set_packets},
	{0},
};

static void set_ring_filesize(struct capture_options *o, uint64_t n)
{
	o->rotation.bytes = n * 1000;
}

static void set_ring_duration(struct capture_options *o, uint64_t n)
{
	o->slice_s = n;
	o->rotation.timed = true;
}

static void set_ring_interval(struct capture_options *o, uint64_t n)
{
	set_ring_duration(o, n);
	o->slice_aligned = true;
}

static void set_ring_files(struct capture_options *o, uint64_t n)
{
	o->rotation.ring = (unsigned int)n;
}

static void set_ring_packets(struct capture_options *o, uint64_t n)
{
	o->rotation.frames = n;
}

static const struct key ring_keys[] = {
	{"duration", 1, YEARS_OF_SECONDS, set_ring_duration},
	{"interval", 1, YEARS_OF_SECONDS, set_ring_interval},
	{"filesize", 1, UINT64_MAX / 1000, set_ring_filesize},
	{"files", 1, 100000, set_ring_files},
	{"packets", 1, UINT64_MAX, set_ring_packets},
	{0},
};

static void parse_key(struct argp_state *state, struct capture_options *o, const char *option,
	const struct key *keys, const char *pair)
{
	const char *colon = strchr(pair, ':');
	char known[96] = "", name[64];
	uint64_t n;

	for (const struct key *k = keys; k->name; k++) {
		size_t len = strlen(k->name);

		strcat(strcat(known, known[0] ? ", " : ""), k->name);
		if (!colon || (size_t)(colon - pair) != len || strncmp(pair, k->name, len))
			continue;
		snprintf(name, sizeof(name), "%s %s", option, k->name);
		parse_number(state, name, colon + 1, k->min, k->max, &n);
		k->set(o, n);
		return;
	}
	argp_error(state, "%s: '%s' is not KEY:VALUE with a key of %s", option, pair, known);
}

static void parse_keys(struct argp_state *state, struct capture_options *o, const char *option,
	const struct key *keys, const char *arg)
{
	char *copy = strdup(arg), *rest = copy, *pair;

	while (copy && (pair = strsep(&rest, ",")))
		parse_key(state, o, option, keys, pair);
	free(copy);
}

void parse_autostop(struct argp_state *state, struct capture_options *o, const char *arg)
{
	parse_keys(state, o, "--autostop", autostop_keys, arg);
}

void parse_ring_buffer(struct argp_state *state, struct capture_options *o, const char *arg)
{
	static const char print[] = "printname:";

	o->rotation.naming = RD_NAMES_DUMPCAP;
	if (strncmp(arg, print, sizeof(print) - 1) == 0) {
		o->rotation.print_names_to = arg + sizeof(print) - 1;
		return;
	}
	/* "-a filesize" before it meant one file; now it is the size of each. */
	if (o->rotation.files == 1 && o->rotation.bytes)
		o->rotation.files = 0;
	parse_keys(state, o, "--ring-buffer", ring_keys, arg);
}

const char *parse_file(struct argp_state *state, const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = f ? calloc(1, FILTER_FILE_MOST) : NULL, *hash;
	size_t n = text ? fread(text, 1, FILTER_FILE_MOST - 1, f) : 0;

	if (!f || ferror(f))
		argp_failure(state, RD_CLASS_USAGE, errno, "cannot read the filter in '%s'", path);
	if (n == FILTER_FILE_MOST - 1)
		argp_failure(state, RD_CLASS_USAGE, 0, "the filter in '%s' is longer than %d bytes",
			path, FILTER_FILE_MOST - 1);
	fclose(f);
	/* Comments, as netsniff-ng and bpf files have them; no operator begins with '#'. */
	while (text && (hash = strchr(text, '#')))
		memset(hash, ' ', strcspn(hash, "\n"));
	return text;
}

/* Letters that mean something to the users of another tool, and what they want here. */
static const struct {
	int key;
	const char *want; /* NULL: it is so already, accepted */
} foreign[] = {
	{'n', NULL}, /* tcpdump: no names; dumpcap: pcapng */
	{'l', NULL}, /* tcpdump: line buffered */
	{'K', NULL}, /* tcpdump: no checksums */
	{'m', "ibdump's -m names an mst device, which is not needed: give -d DEV"},
	{'x', "bytes are not printed: write with -w and look with tshark -x"},
	{'X', "bytes are not printed: write with -w and look with tshark -x"},
	{'A', "payload is not printed: write with -w and look with tshark"},
	{'L', "link types cannot be chosen: Ethernet, or ERF on InfiniBand (--format)"},
	{'y', "link types cannot be chosen: Ethernet, or ERF on InfiniBand (--format)"},
	{'P', "dumpcap's -P is --format pcap here"},
	{'g', "dumpcap's -g lets the group read: files are 0600 here, use chmod"},
	{'H', "netsniff-ng's -H is not offered: use chrt"},
	{0, NULL},
};

error_t parse_foreign(int key, struct argp_state *state)
{
	for (size_t i = 0; foreign[i].key; i++) {
		if (foreign[i].key != key)
			continue;
		if (foreign[i].want)
			argp_error(state, "-%c: %s", key, foreign[i].want);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}
