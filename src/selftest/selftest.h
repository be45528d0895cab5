/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions for probes: the run, the values and findings of a result, the frames and bytes to keep.
 */
#ifndef RDMADUMP_SELFTEST_SELFTEST_H
#define RDMADUMP_SELFTEST_SELFTEST_H

#include "saved.h"
#include <errno.h>
#include <rdmadump/selftest.h>
#include <stdint.h>

#define RESULT_TEXT 480

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

/* A frame that is kept for the probe's capture file. */
struct kept_frame {
	uint32_t at, len;
	uint64_t ts_ns;
};

struct rd_probe_result {
	enum rd_probe_outcome outcome; /* RD_PROBE_PASSED at first */
	char reason[RESULT_TEXT];      /* why it failed or was skipped, or is not certain */
	char value[96];		       /* the main value, for the table */
	char meaning[RESULT_TEXT];     /* what it means for captures if there was no finding */
	json_t *values, *found;
	bool compressed; /* sets rd_selftest.compressed */
	struct kept_frame *frame;
	unsigned int n_frames;
	uint8_t *bytes; /* bytes of all kept frames */
	size_t n_bytes;
	uint8_t *cqes; /* raw completion queue entries; NULL: none */
	size_t n_cqes;
};

/* --- the run ------------------------------------------------------------------------------ */

/* Whether the probe must end: its time limit has expired, or the user interrupted the run. */
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

void result_init(struct rd_probe_result *r);
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

#endif
