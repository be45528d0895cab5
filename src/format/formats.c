/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The formats that can be written, and the choice of one for a file and its interfaces. */
#include "internal.h"
#include <rdmadump/units.h>
#include <stdio.h>
#include <strings.h>

#define FORMAT_ROW(name) &format_##name,
static const struct rd_format *const formats[] = {FORMATS(FORMAT_ROW)};

/* The link types that a file may declare for a link; the first one is used unless dlt= is given. */
static const struct {
	const char *name;
	int dlts[3];
} link_table[] = {
	[RD_LINK_ETHERNET] = {"Ethernet", {DLT_EN10MB, DLT_ERF}},
	[RD_LINK_INFINIBAND] = {"InfiniBand", {DLT_ERF, DLT_INFINIBAND}},
	[RD_LINK_RAW] = {"another link type", {0}},
	[RD_LINK_SLL] = {"LINUX_SLL", {0}},
	[RD_LINK_SLL2] = {"LINUX_SLL2", {0}},
	[RD_LINK_IP] = {"raw IP", {0}},
	[RD_LINK_NULL] = {"loopback", {0}},
	[RD_LINK_UNKNOWN] = {"an unknown link type", {0}},
};

static const struct rd_format *format_by_name(const char *name, size_t len)
{
	const struct rd_format *const *found = RD_FIND(f, formats, RD_COUNT(formats),
		strlen((*f)->name) == len && !strncasecmp((*f)->name, name, len));

	return found ? *found : NULL;
}

static bool ends_with(const char *s, size_t len, const char *end, size_t end_len)
{
	return len > end_len && !strncasecmp(s + len - end_len, end, end_len);
}

static const struct rd_format *format_by_filename(const char *filename)
{
	static const char *const compressors[] = {".gz", ".zst", ".lz4", ".xz"};
	size_t len = filename ? strlen(filename) : 0;

	for (size_t i = 0; i < RD_COUNT(compressors); i++)
		if (ends_with(filename, len, compressors[i], strlen(compressors[i]))) {
			len -= strlen(compressors[i]);
			break;
		}
	for (size_t i = 0; i < RD_COUNT(formats); i++)
		for (const char *s = formats[i]->suffixes; *s; s += strspn(s, " ")) {
			size_t n = strcspn(s, " ");

			if (ends_with(filename, len, s, n))
				return formats[i];
			s += n;
		}
	return formats[0];
}

static int fail_unknown(const char *spec, size_t len, struct rd_error *err)
{
	char todo[160] = "the formats are";
	size_t used = strlen(todo);

	for (size_t i = 0; i < RD_COUNT(formats) && used < sizeof(todo); i++)
		used += (size_t)snprintf(
			todo + used, sizeof(todo) - used, "%s %s", i ? "," : "", formats[i]->name);
	return rd_fail(err, RD_CLASS_USAGE, 0, todo, "unknown file format '%.*s'", (int)len, spec);
}

/* Parses "name,option=value,..."; *dlt is 0 if it was not given. */
static int parse_spec(
	const char *spec, const struct rd_format **format, int *dlt, struct rd_error *err)
{
	static const char option[] = "dlt=";
	size_t len = strcspn(spec, ",");
	char value[16];
	uint64_t number;

	*format = format_by_name(spec, len);
	if (!*format)
		return fail_unknown(spec, len, err);
	for (const char *s = spec + len; *s; s += len) {
		s++;
		len = strcspn(s, ",");
		if (strncmp(s, option, strlen(option)) != 0)
			return rd_fail(err, RD_CLASS_USAGE, 0,
				"the only option is dlt=197 (ERF) or dlt=247 (bare InfiniBand)",
				"unknown option '%.*s' in file format '%s'", (int)len, s, spec);
		snprintf(value, sizeof(value), "%.*s", (int)(len - strlen(option)),
			s + strlen(option));
		if (rd_parse_u64(value, 1, 65535, &number) < 0)
			return rd_fail(err, RD_CLASS_USAGE, 0, "it must be a number such as 247",
				"bad link type '%.*s' in file format '%s'", (int)len, s, spec);
		*dlt = (int)number;
	}
	return 0;
}

static const char *iface_name(const struct rd_iface *i)
{
	return i->name ? i->name : "an unnamed interface";
}

static int check_same(const struct rd_iface *ifaces, unsigned int n, struct rd_error *err)
{
	const struct rd_iface *a = &ifaces[0];

	for (unsigned int i = 1; i < n; i++) {
		const struct rd_iface *b = &ifaces[i];

		if (a->link != b->link || (rd_link_keeps_dlt(a->link) && a->dlt != b->dlt))
			return rd_fail(err, RD_CLASS_USAGE, 0,
				"a file holds one link type only (libpcap refuses mixtures): write "
				"one file for each",
				"'%s' (interface %u) is %s and '%s' (interface 0) is %s",
				iface_name(b), i, link_table[b->link].name, iface_name(a),
				link_table[a->link].name);
		if (a->snaplen != b->snaplen)
			return rd_fail(err, RD_CLASS_USAGE, 0,
				"a file has one limit only (libpcap refuses mixtures): cut both at "
				"the same length or write one file for each",
				"frames of '%s' (interface %u) are cut at %u bytes and those of "
				"'%s' (interface 0) at %u (0: not at all)",
				iface_name(b), i, b->snaplen, iface_name(a), a->snaplen);
	}
	return 0;
}

static int choose_dlt(struct rd_encoder *e, int wanted, struct rd_error *err)
{
	const enum rd_link link = e->n_ifaces ? e->ifaces[0].link : RD_LINK_ETHERNET;
	const bool keeps = rd_link_keeps_dlt(link);
	const int *dlts = link_table[link].dlts;
	int kept[2] = {0};

	if (keeps) {
		kept[0] = e->ifaces[0].dlt;
		dlts = kept;
	}
	/* The link type NULL is 0. */
	if (!dlts[0] && link != RD_LINK_NULL)
		return rd_fail(err, RD_CLASS_USAGE, 0,
			"frames of this link type cannot be stored in a file",
			"the link type of '%s' is not known", iface_name(&e->ifaces[0]));
	if (e->format == &format_erf) {
		if (keeps || (wanted && wanted != DLT_ERF))
			return rd_fail(err, RD_CLASS_USAGE, 0, "write pcapng or pcap",
				"ERF files cannot hold link type %d", wanted ? wanted : dlts[0]);
		e->dlt = DLT_ERF;
		return 0;
	}
	e->dlt = dlts[0];
	for (unsigned int i = 0; wanted && e->dlt != wanted; i++) {
		if (!dlts[i])
			return rd_fail(err, RD_CLASS_USAGE, 0,
				"omit dlt=, or give dlt=197 for ERF or dlt=247 for bare InfiniBand",
				"%s cannot be written as link type %d", link_table[link].name,
				wanted);
		e->dlt = dlts[i];
	}
	return 0;
}

int rd_encoder_init(struct rd_encoder *e, const char *spec, const char *filename,
	const struct rd_section *section, const struct rd_iface *ifaces, unsigned int n_ifaces,
	struct rd_error *err)
{
	int dlt = 0;

	*e = (struct rd_encoder){.section = section, .ifaces = ifaces, .n_ifaces = n_ifaces};
	if (!spec)
		e->format = format_by_filename(filename);
	else if (parse_spec(spec, &e->format, &dlt, err) < 0)
		return -1;
	if (check_same(ifaces, n_ifaces, err) < 0)
		return -1;
	return choose_dlt(e, dlt, err);
}

int rd_format_check(const char *spec, struct rd_error *err)
{
	const struct rd_format *format;
	int dlt;

	return parse_spec(spec, &format, &dlt, err);
}

size_t rd_encoder_facts(
	const struct rd_encoder *e, const char *json, size_t len, uint8_t *dst, size_t size)
{
	if (!e->format->facts || len > RD_FACTS_MAX)
		return 0;
	return e->format->facts(json, len, dst, size);
}

size_t rd_encoder_facts_bound(size_t len)
{
	return len + 3 + 5 * 4; /* padding; type, length, version, length of the text, length */
}
