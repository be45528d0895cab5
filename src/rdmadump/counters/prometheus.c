/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Readings as Prometheus text (https://prometheus.io/docs/instrumenting/exposition_formats/). A
 * name consists of place and counter, so it does not change when files are added; numbers of
 * directories are labels.
 */
#include "counters.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_LEN 128

struct sample {
	char family[NAME_MAX_LEN];
	char entry[16]; /* number of the directory, "" if there is none */
	const struct rd_counters *of;
	const struct rd_counter *counter;
};

/* "ip4InOctets" -> "ip4_in_octets", "RNR sent" -> "rnr_sent". */
static size_t snake(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (size_t i = 0; from[i] && n + 2 < size; i++) {
		bool upper = isupper((unsigned char)from[i]);
		bool word = upper && i &&
			    (islower((unsigned char)from[i - 1]) ||
				    isdigit((unsigned char)from[i - 1]) ||
				    (isupper((unsigned char)from[i - 1]) &&
					    islower((unsigned char)from[i + 1])));
		char c = isalnum((unsigned char)from[i]) ? (char)tolower((unsigned char)from[i])
							 : '_';

		if (word && n && to[n - 1] != '_')
			to[n++] = '_';
		if (c != '_' || (n && to[n - 1] != '_'))
			to[n++] = c;
	}
	while (n && to[n - 1] == '_')
		n--;
	to[n] = '\0';
	return n;
}

static bool is_gauge(const struct rd_counter *c)
{
	return c->kind && c->kind->flags & RD_COUNTER_GAUGE;
}

static void make_sample(struct sample *s, const struct rd_counters *of, const struct rd_counter *c)
{
	char name[NAME_MAX_LEN - 48];
	const struct counter_place *place = &counter_places[counter_place_of(c->name)];
	const char *rest = c->name + strlen(place->path);
	const bool bytes = c->kind && rd_unit_bytes(c->kind->unit);
	size_t digits;

	*s = (struct sample){.of = of, .counter = c};
	/* "counters/port_xmit_data" is "port_xmit_data", not "port_port_xmit_data". */
	if (*place->metric && !strncmp(rest, place->metric, strlen(place->metric)))
		rest += strlen(place->metric);
	digits = strspn(rest, "0123456789");
	if (digits && rest[digits] == '/' && digits < sizeof(s->entry)) {
		memcpy(s->entry, rest, digits);
		rest += digits + 1;
	}
	snake(name, sizeof(name), rest);
	/* "_bytes" is not added to a name that has "bytes" in it. */
	snprintf(s->family, sizeof(s->family), "rdmadump_%s%s%s%s", place->metric, name,
		bytes && !strstr(name, "bytes") ? "_bytes" : "", is_gauge(c) ? "" : "_total");
}

static int by_family(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return strcmp(x->family, y->family) ?: strcmp(x->of->device, y->of->device)
		?: RD_ORDER(x->of->port, y->of->port) ?: strverscmp(x->entry, y->entry);
}

static void print_help(FILE *out, const struct sample *s)
{
	const struct rd_counter_kind *k = s->counter->kind;

	/* Nothing to escape: neither meanings nor names have a backslash or newline. */
	if (k)
		fprintf(out, "# HELP %s %s\n", s->family, k->meaning);
	else
		fprintf(out, "# HELP %s counter of the driver\n", s->family);
	fprintf(out, "# TYPE %s %s\n", s->family, is_gauge(s->counter) ? "gauge" : "counter");
}

static void print_label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			fputc('\\', out);
		fputc(*value, out);
	}
	fputc('"', out);
}

static void print_sample(FILE *out, const struct sample *s)
{
	char port[16];

	snprintf(port, sizeof(port), "%u", s->of->port);
	fprintf(out, "%s{", s->family);
	print_label(out, "device", s->of->device);
	fputc(',', out);
	print_label(out, "port", port);
	if (*s->of->netdev) {
		fputc(',', out);
		print_label(out, "netdev", s->of->netdev);
	}
	if (*s->entry) {
		fputc(',', out);
		print_label(out, "entry", s->entry);
	}
	fprintf(out, "} %" PRIu64 "\n", rd_counter_bytes(s->counter->kind, s->counter->value));
}

int counters_prometheus(FILE *out, const struct readings *r)
{
	struct sample *samples;
	size_t n = 0, all = 1;

	for (size_t i = 0; i < r->n; i++)
		all += r->port[i].counters.n;
	samples = calloc(all, sizeof(*samples));
	if (!samples)
		return -1;
	for (size_t i = 0; i < r->n; i++)
		for (size_t k = 0; k < r->port[i].counters.n; k++)
			make_sample(&samples[n++], &r->port[i].counters,
				&r->port[i].counters.counter[k]);
	qsort(samples, n, sizeof(*samples), by_family);
	for (size_t i = 0; i < n; i++) {
		if (!i || strcmp(samples[i].family, samples[i - 1].family))
			print_help(out, &samples[i]);
		else if (!by_family(&samples[i], &samples[i - 1]))
			continue; /* two files whose names differ only in characters that are
				     replaced */
		print_sample(out, &samples[i]);
	}
	free(samples);
	return 0;
}
