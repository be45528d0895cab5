/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All counters of a port: those of the port and its device in sysfs, those of the netdev's driver
 * about the wire, and what is known about each by its name.
 */
#pragma once

#include <net/if.h>
#include <rdmadump/error.h>
#include <rdmadump/finding.h>
#include <rdmadump/growth.h>
#include <rdmadump/refusal.h>

struct rd_device;
struct rd_port;

struct rd_counter {
	/*
	 * Place and name, printable ASCII: "hw_counters/out_of_buffer", "counters/port_xmit_data",
	 * "cm_rx_msgs/req" of the port; "device/hw_counters/cmds_err", "device/mr_cache/2/miss" of
	 * its device; "netdev/rx_dropped" and "ethtool/rx_prio3_pause" of its first netdev.
	 */
	char *name;
	uint64_t value;			    /* as the kernel gives it */
	const struct rd_counter_kind *kind; /* NULL: not known */
};

#define RD_REFUSALS_MAX 8 /* commands of the firmware that hold counters */

struct rd_counters {
	char device[RD_NAME_MAX], driver[32], netdev[IF_NAMESIZE];
	unsigned int port;
	bool infiniband;
	uint64_t speed;		    /* bit/s of the port, 0: unknown */
	uint64_t time_ns;	    /* Unix epoch, when they were read */
	unsigned int lifespan_ms;   /* minimum refresh interval of the device; 0: unknown */
	unsigned int flags;	    /* only counters of these kinds are read; 0: all */
	struct rd_counter *counter; /* in the order in which they were read */
	size_t n;
	struct rd_firmware_refusal refusal[RD_REFUSALS_MAX];
	unsigned int n_refusals;
	char not_asked[200]; /* why the firmware was not; "": it was, or has no counters */
	size_t n_unreadable; /* files that hold no number or cannot be read */
};

/*
 * Reads all counters of the port now. sysroot as for rd_devices_load(); the driver's own statistics
 * (ethtool) are read on the running system only. A file that is absent or holds no number is left
 * out. Fails (RD_CLASS_DEVICE) only if out of memory. Owned by the caller: rd_counters_free().
 */
int rd_counters_load(struct rd_counters *counters, const char *sysroot,
	const struct rd_device *device, const struct rd_port *port, struct rd_error *err);
/* The same, but only counters whose row has one of the flags (RD_KIND_...). */
int rd_counters_load_kinds(struct rd_counters *counters, const char *sysroot,
	const struct rd_device *device, const struct rd_port *port, unsigned int flags,
	struct rd_error *err);
void rd_counters_free(struct rd_counters *counters);

/*
 * Appends the counters that only the firmware has (mlx5, over DEVX). It opens the device and closes
 * it again, and takes some milliseconds: not while capturing. What is refused is in `refusal` and
 * `not_asked`. Fails (RD_CLASS_DEVICE) only if out of memory.
 */
int rd_counters_load_firmware(struct rd_counters *counters, struct rd_error *err);

/* --- what is known of counters ----------------------------------------------------------- */

enum rd_unit {
	RD_UNIT_PACKETS,
	RD_UNIT_BYTES,
	RD_UNIT_WORDS, /* 4 bytes */
	RD_UNIT_REQUESTS,
	RD_UNIT_EVENTS,
	RD_UNIT_ERRORS,
	RD_UNIT_MESSAGES,
	RD_UNIT_TICKS, /* ticks of unknown length */
	RD_UNIT_OBJECTS,
	RD_UNIT_US,
	RD_UNIT_SECONDS,
	RD_UNIT_PERCENT,
	RD_UNITS,
};

#define RD_COUNTER_GAUGE     0x01 /* goes up and down */
#define RD_COUNTER_SATURATES 0x02 /* stays at its largest value until it is reset */
#define RD_COUNTER_LOSS	     0x04 /* frames that a sniffer's queue may have missed */
#define RD_COUNTER_RELATED   0x08 /* reported together with the loss: discards, stalls, pause */
#define RD_COUNTER_WITNESS   0x10 /* is reset together with the driver's RD_COUNTER_LOSS */

#define RD_COUNTER_PAUSE 0x20 /* the port slows down others: pause frames sent, stalls of PCIe */

/* One row of the table of counters. Strings are static; cause and todo may be NULL. */
struct rd_counter_kind {
	const char *drivers; /* kernel drivers, blank separated; NULL: any */
	const char *name;    /* full name; may be a pattern of fnmatch(3) */
	enum rd_unit unit;
	unsigned int bits; /* it wraps or stops at 2^bits */
	unsigned int flags;
	enum rd_severity severity;
	uint64_t least; /* a value below this is not a finding (growth always is) */
	const char *meaning, *cause, *todo;
};

/* Ended by a row without a name. */
extern const struct rd_counter_kind rd_counter_kinds[];

/* "packets", "4-byte words" ... */
const char *rd_unit_name(enum rd_unit unit);
/* The bytes that one of a unit is; 0: it is not a number of bytes. */
static inline unsigned int rd_unit_bytes(enum rd_unit unit)
{
	return unit == RD_UNIT_WORDS ? 4 : unit == RD_UNIT_BYTES;
}
/* The bytes that an amount is, at most what 64 bits hold; as it is where it is no bytes. */
static inline uint64_t rd_counter_bytes(const struct rd_counter_kind *kind, uint64_t amount)
{
	return kind && kind->unit == RD_UNIT_WORDS
		       ? amount > UINT64_MAX / 4 ? UINT64_MAX : amount * 4
		       : amount;
}

/* --- what happened between two readings ----------------------------------------------------- */

/*
 * growth[after->n], in its order; counters are matched by name. That of a gauge is its value. NULL
 * if out of memory; free().
 */
struct rd_growth *rd_counters_compare(
	const struct rd_counters *before, const struct rd_counters *after);

/* --- what is wrong --------------------------------------------------------------------------- */

/* Findings that need two counters: `moved` grew while `still` did not. */
struct rd_counter_relation {
	const char *rule, *moved, *still;
	enum rd_severity severity;
	const char *text, *todo;
};
/* Ended by a row without a rule. */
extern const struct rd_counter_relation rd_counter_relations[];

/*
 * Evaluates the growth if it is given (over `seconds`; 0: unknown), else the values, which cover
 * the time since the driver was loaded. The findings name counters of `counters`, which must
 * outlive them. -1 if out of memory. rd_findings_free() in any case.
 */
int rd_counters_judge(struct rd_findings *findings, const struct rd_counters *counters,
	const struct rd_growth *growth, double seconds);

/* --- filling the list ------------------------------------------------------------------- */

/* Appends a counter; name is copied and cleaned. -1 if out of memory. */
int rd_counters_add(struct rd_counters *counters, uint64_t value, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Whether `counters` accepts a counter of this full name, by its kind. */
bool rd_counters_want(const struct rd_counters *counters, const char *name);
/* The counter of this full name, NULL if there is none. */
const struct rd_counter *rd_counters_find(const struct rd_counters *counters, const char *name);
