/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts of the counters command: options and modes (command.c), and how readings are shown:
 * text, JSON, Prometheus.
 */
#pragma once

#include "cli/cli.h"
#include <rdmadump/counters.h>
#include <rdmadump/device.h>

struct counters_options {
	const char *sysroot; /* "": this machine */
	const char *output;
	const char *json_file; /* every counter, beside the text; NULL: none */
	FILE *json_out;
	const char *before, *after; /* --diff */
	bool all, json, prometheus, diff;
	double interval; /* seconds; 0: once */
	uint64_t count;	 /* readings with an interval; 0: no end */
	const char *wanted, *explain;
};

/* One reading of one port, with what changed since another one and what is wrong. */
struct reading {
	struct rd_counters counters;
	struct rd_growth *growth; /* NULL: a first reading */
	double seconds;		  /* between the two; 0: unknown */
	struct rd_findings findings;
};

struct readings {
	struct reading *port;
	size_t n;
};

/* readings.c: which ports, and reading them. */
struct ports {
	struct rd_devices devices;
	struct {
		const struct rd_device *device;
		const struct rd_port *port;
	} * at;
	size_t n;
};
/* ports_free() in any case. */
int ports_find(struct ports *p, const struct counters_options *o, struct rd_error *err);
void ports_free(struct ports *p);
/* readings_free() after success. */
int readings_take(struct readings *r, const struct ports *ports, const struct counters_options *o,
	struct rd_error *err);
/* Of --diff: -1 if `after` was read first; ports that it lacks are logged. */
int readings_check(const struct readings *before, const struct readings *after,
	const struct counters_options *o, struct rd_error *err);
/* Fills growth and findings of `now`; before NULL: only findings, of the values. */
int readings_compare(const struct readings *before, struct readings *now, struct rd_error *err);
void readings_free(struct readings *r);
/* Nanoseconds from one reading to the next. */
uint64_t counters_step(const struct readings *r, double seconds);

/* text.c: a place is the beginning of the full names of the counters in it. */
enum { COUNTER_PLACE_OTHER = 16, COUNTER_PLACES };
struct counter_place {
	const char *path;   /* "cm_rx_msgs/"; "" matches every name */
	const char *title;  /* a heading */
	const char *metric; /* "cm_rx_": the beginning of Prometheus' names */
};
extern const struct counter_place counter_places[COUNTER_PLACES];
/* The first row whose path a full name begins with, COUNTER_PLACE_OTHER if there is no other. */
size_t counter_place_of(const char *name);

/* text.c */
void counters_print(FILE *out, const struct readings *r, const struct counters_options *o);

/* json.c: indent 0 writes one line. */
int counters_json(FILE *out, const struct readings *r, bool all, size_t indent);
int counters_json_read(struct readings *r, const char *path, struct rd_error *err);

/* prometheus.c */
int counters_prometheus(FILE *out, const struct readings *r);
