/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of a device: probes create their own objects, measure, and report what the result means for
 * captures. Nothing is printed. The result is a JSON document (docs/schema/selftest.json) and files
 * beside it, in one archive.
 */
#ifndef RDMADUMP_SELFTEST_H
#define RDMADUMP_SELFTEST_H

#include <jansson.h>
#include <limits.h>
#include <rdmadump/device.h>
#include <rdmadump/error.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum rd_probe_outcome {
	RD_PROBE_PASSED,
	RD_PROBE_FOUND,	  /* it works, but captures must handle what was found */
	RD_PROBE_FAILED,  /* what the probe tests does not work */
	RD_PROBE_SKIPPED, /* nothing was tested, for the reason given */
};

/* The preconditions of a probe. */
#define RD_PROBE_SNIFFER 0x01 /* the device's own sniffer works, or was not tried */
#define RD_PROBE_ICMD	 0x02 /* it uses the command gateway (rdmadump/port_sniffer.h) */
#define RD_PROBE_SENDER	 0x04 /* it sends with the netdev's MAC address, where it may */
#define RD_PROBE_ACTIVE	 0x08 /* the port is active */

struct rd_selftest;
struct rd_probe_result;

/* One row per probe, in its own file. Strings are static. */
struct rd_probe {
	const char *name;     /* lower case, for --probe and file names */
	const char *question; /* the question that it answers */
	const char *objects;  /* what it creates on the device, "" for nothing */
	unsigned int frames;  /* frames that it sends at most */
	unsigned int limit_s; /* the time that it may take; 0: the default */
	unsigned int needs;   /* RD_PROBE_SNIFFER ... */
	bool required;	      /* if it fails, no further probe runs */
	/* Fills in the result. Destroys all that it created, on every path. */
	void (*run)(struct rd_selftest *st, struct rd_probe_result *result);
};

/* All probes in order, ended by NULL. */
extern const struct rd_probe *const rd_probes[];
/* The probes of the port sniffer. */
extern const struct rd_probe *const rd_probes_of_icmd[];

/* The probe of that name; NULL if there is none. */
const struct rd_probe *rd_probe_find(const char *name);
/* Its limit of time, in seconds. */
unsigned int rd_probe_limit(const struct rd_probe *probe);
const char *rd_probe_outcome_name(enum rd_probe_outcome outcome);

/* All pointers must outlive the run. Zero is the default. */
struct rd_selftest_config {
	const struct rd_device *device;
	const struct rd_port *port;
	const char *directory;		      /* directory of the result; NULL: the current one */
	const struct rd_probe *const *probes; /* ended by NULL: only these; NULL: all */
	unsigned short vlan;		      /* the VLAN of tagged frames; 0: priority tags */
	bool icmd;			      /* probes that use the command gateway may run */
	bool hash_addresses;
	const volatile sig_atomic_t *stop; /* the run ends when this is not 0; NULL: never */

	/* From the thread of the run. May be NULL. */
	void *ctx;
	void (*began)(void *ctx, const struct rd_probe *probe);
	/* `result` is the probe's object in the document, borrowed. */
	void (*ended)(void *ctx, const json_t *result);
};

/*
 * Runs the probes. Until all have run, the document is in selftest-HOST-DEV.partial.json, which is
 * replaced after each probe; then it is in selftest-HOST-DEV.tar.zst, with the files of the probes
 * (selftest-HOST-DEV.json without libarchive). Files are created with the rights of the user who
 * called sudo.
 *
 * Returns 0 with the document, which the caller owns, and the path of the result. -1 with *err:
 * RD_CLASS_USAGE if another selftest runs on the device; RD_CLASS_DEVICE, RD_CLASS_OUTPUT.
 * *document is NULL if nothing was run; else it has the results, also where they could not be
 * written.
 */
int rd_selftest_run(const struct rd_selftest_config *config, json_t **document, char path[PATH_MAX],
	struct rd_error *err);

#endif
