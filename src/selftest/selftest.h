/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Internal interface of this folder. Probes create their own objects on a device, measure, and
 * report what the result means for captures. The result is a JSON document
 * (docs/schema/selftest.json) and files beside it, in one archive.
 */
#pragma once

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <rdmadump/array.h>
#include <rdmadump/device.h>
#include <rdmadump/identity.h>
#include <stdio.h>

#define RESULT_TEXT 480
#define PROBES_MAX  64 /* given by --probe */

/* All limits of a self-test: time, memory, frames. */

#define LIMIT_PROBE_S 20  /* a probe that sets no limit of its own */
#define LIMIT_RUN_S   600 /* all probes together */

/* One receive queue. Its memory stays below 8 MiB, the usual limit on locked memory. */
#define RING_BUFFERS 256
#define RING_BUFFER  10240 /* bytes per buffer: holds a jumbo frame */

/* Frames that one probe keeps for its capture file. */
#define KEPT_FRAMES 256
#define KEPT_BYTES  ((size_t)1 << 20)

/* Numbered frames that probes send. */
#define SEND_PER_S	 4000
#define NUMBERED_MAX	 ((uint32_t)1 << 17)
#define WAIT_NUMBERED_MS 500 /* wait for frames that were sent but not seen yet */

/* Longest wait for the kernel's counter cache to expire. */
#define LIFESPAN_MOST_MS 2000

#define RAW_CQE_BYTES ((size_t)1 << 16) /* size of the stored part of a completion queue */

/* --- probes.c ------------------------------------------------------------------------------ */

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
struct sniffer;

/* One row per probe. Strings are static. */
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
	/* In its place: the same with a sniffer of the usual shape, not opened nor closed. */
	void (*look)(struct rd_selftest *st, struct rd_probe_result *result, struct sniffer *s);
};

/* All probes in order, ended by NULL. */
extern const struct rd_probe *const rd_probes[];

/* The probe of that name; NULL if there is none. */
const struct rd_probe *rd_probe_find(const char *name);
/* Its limit of time, in seconds. */
unsigned int rd_probe_limit(const struct rd_probe *probe);

/* What the user asked for. Zero is the default. */
struct rd_selftest_config {
	const char *name; /* of the device, perhaps with its port */
	const struct rd_device *device;
	const struct rd_port *port;
	const char *directory; /* directory of the result; NULL: the current one */
	const struct rd_probe *probe[PROBES_MAX + 1]; /* only these; none: all */
	unsigned int n_probes;
	uint64_t vlan;	     /* the VLAN of tagged frames; 0: priority tags */
	const char *sniffer; /* "icmd": probes that use the command gateway may run */
	bool hash_addresses, json, dry_run;
};

/* Those that run, in order, ended by NULL. */
const struct rd_probe *const *rd_probes_chosen(const struct rd_selftest_config *config);

/* --- saved.c ------------------------------------------------------------------------------ */

/*
 * What a run leaves in the user's directory, with the rights of that user:
 * selftest-HOST-DEV.partial.json while probes run, then selftest-HOST-DEV.tar.zst.
 */
#define SAVED_FILES   16
#define SAVED_NAME    48
#define SAVED_PARTIAL ".partial.json"

struct saved {
	struct rd_identity identity;
	int directory; /* -1: none */
	char parent[PATH_MAX], base[200];
	/* What the archive gets beside result.json. */
	struct saved_file {
		char name[SAVED_NAME];
		void *bytes;
		size_t n;
	} file[SAVED_FILES];
	unsigned int n_files;
};

/*
 * Chooses a name that no result has, and creates the partial one. `parent` NULL: the current
 * directory. 0, or -1 with RD_CLASS_OUTPUT. saved_close() after success.
 */
int saved_open(struct saved *o, const char *parent, const char *base, struct rd_error *err);
/* Keeps a file for the archive, whose bytes it frees, also if there is no room: false. */
bool saved_keep(struct saved *o, const char *name, void *bytes, size_t n);
/* Replaces the partial result by this text. */
int saved_write(const struct saved *o, const char *text, struct rd_error *err);
/* Writes the result in place of the partial one, and sets `path` to it. */
int saved_finish(
	const struct saved *o, const char *text, char path[PATH_MAX], struct rd_error *err);
/* Removes the partial result. */
void saved_remove(const struct saved *o);
void saved_close(struct saved *o);

/* --- the run ------------------------------------------------------------------------------ */

enum sniffer_state { SNIFFER_UNTRIED, SNIFFER_WORKS, SNIFFER_REFUSED };

struct rd_selftest {
	const struct rd_selftest_config *config;
	const struct rd_device *device;
	const struct rd_port *port;
	enum sniffer_state sniffer;
	bool compressed; /* the device compresses completions: its queues cannot be read */
	bool removed;	 /* the device is gone */
	uint64_t run_deadline_ns,
		deadline_ns; /* CLOCK_MONOTONIC; deadlines of the run and of the current probe */
	struct saved saved;
	json_t *document;
	struct rd_redact *redact; /* NULL: addresses are not replaced */
};

/*
 * run.c: runs the probes. Until all have run, the document is in selftest-HOST-DEV.partial.json,
 * which is replaced after each probe.
 *
 * Returns 0 with the document, which the caller owns, and the path of the result. -1 with *err:
 * RD_CLASS_USAGE if another selftest runs on the device; RD_CLASS_DEVICE, RD_CLASS_OUTPUT.
 * *document is NULL if nothing was run; else it has the results, also where they could not be
 * written.
 */
int rd_selftest_run(const struct rd_selftest_config *config, json_t **document, char path[PATH_MAX],
	struct rd_error *err);

/* time.c: whether the probe must end: its time has expired, or the user interrupted the run. */
bool probe_over(const struct rd_selftest *st);
/* Sleeps, but not longer than until probe_over(). */
void probe_sleep_ms(const struct rd_selftest *st, unsigned int ms);

/* --- sending ------------------------------------------------------------------------------ */

#define MAY_SEND_TEXT 240
#define MAY_SEND_NOT  ENOTUNIQ /* the error of what was not sent for this reason */

/*
 * may_send.c: whether the port may send frames with the MAC address of its netdev. False: `why`
 * says why not; else it is "".
 */
bool port_may_send(const struct rd_port *port, char why[MAY_SEND_TEXT]);

/* --- the result --------------------------------------------------------------------------- */

struct rd_probe_result {
	enum rd_probe_outcome outcome; /* RD_PROBE_PASSED at first */
	char reason[RESULT_TEXT];      /* why it failed or was skipped, or is not certain */
	char value[96];		       /* the main value, for the table */
	char meaning[RESULT_TEXT];     /* what it means for captures if there was no finding */
	json_t *values, *found;
	bool compressed;	/* sets rd_selftest.compressed */
	struct rd_frame *frame; /* kept for the probe's capture file */
	unsigned int n_frames;
	uint8_t *bytes; /* of all these frames, one after another */
	size_t n_bytes;
	uint8_t *cqes; /* raw completion queue entries; NULL: none */
	size_t n_cqes;
};

void result_free(struct rd_probe_result *r);

/* A named value; `unit` is "" for plain numbers. Replaces a value of the same name. */
void result_number(struct rd_probe_result *r, const char *name, const char *unit, uint64_t n);
/* The same for a signed value, rounded to one decimal. */
void result_real(struct rd_probe_result *r, const char *name, const char *unit, double value);
void result_text(struct rd_probe_result *r, const char *name, const char *text);
void result_bool(struct rd_probe_result *r, const char *name, bool value);
/* A value of several named parts; consumed. */
void result_json(struct rd_probe_result *r, const char *name, json_t *value);

/* The value in the table. */
void result_value(struct rd_probe_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* What the result means for captures if there is no finding. */
void result_means(struct rd_probe_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds a finding: something that captures must handle; `key` identifies it for programs:
 * "slow_commands". */
void result_found(struct rd_probe_result *r, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The limitation of a result that is passed or found. */
void result_reason(struct rd_probe_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void result_failed(struct rd_probe_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void result_skipped(struct rd_probe_result *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Adds minimum, median and maximum of repeated measurements, n: at least 1, as a value. Sorts them,
 * and returns the median.
 */
uint64_t result_spread(
	struct rd_probe_result *r, const char *name, uint64_t *values, unsigned int n);

/* The name of an errno, which does not depend on the language: "EPERM"; "" for 0. Static. */
const char *error_name(int errnum);
/* A value that has such a name; null for 0. */
void result_errno(struct rd_probe_result *r, const char *name, int errnum);

/* Keeps a frame for the probe's capture file, as far as the limits allow. */
void result_frame(struct rd_probe_result *r, const uint8_t *data, uint32_t len, uint64_t ts_ns);
/* Keeps raw completion queue entries, once. */
void result_cqes(struct rd_probe_result *r, const void *cqes, size_t n);

/* --- redacted.c --------------------------------------------------------------------------- */

/*
 * Replaces what identifies machines and people (--hash-addresses), by src/redact.
 * Collects the names of this host and of the output directory; equal addresses and names have equal
 * replacements until redacted_end(). -1: out of memory.
 */
int redacted_begin(struct rd_selftest *st);
void redacted_end(struct rd_selftest *st);
/* All of these do nothing if nothing is to be replaced. -1: out of memory. */
int redacted_name(const struct rd_selftest *st, char *name, size_t size);
/* Redacts the parts of a probe's object that may contain text from outside. */
int redacted_probe(const struct rd_selftest *st, json_t *probe);
/* Frames that are kept; their payload becomes zeros. False: they cannot be replaced. */
bool redacted_frames(const struct rd_selftest *st, struct rd_probe_result *r);

/* --- table.c: on standard output ---------------------------------------------------------- */

/* Prints what would be done, as a table or as JSON; opens nothing. -1: out of memory. */
int print_plan(const struct rd_selftest_config *config, struct rd_error *err);
/* Before the first probe, around each one, and after the last one; a table unless config->json. */
void print_beginning(const struct rd_selftest_config *config);
void print_began(const struct rd_probe *probe);
void print_ended(const struct rd_selftest_config *config, const json_t *result);
/* Consumes the document. -1: out of memory. */
int print_end(const struct rd_selftest_config *config, json_t *document, struct rd_error *err);
/* The whole table: what the archive has. */
void print_document(FILE *out, const json_t *document);
