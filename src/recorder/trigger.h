/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A parsed trigger. */
#ifndef RDMADUMP_RECORDER_TRIGGER_H
#define RDMADUMP_RECORDER_TRIGGER_H

#include <rdmadump/error.h>
#include <rdmadump/packet.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum trigger_source {
	TRIGGER_SIGNAL,
	TRIGGER_WIRE, /* a frame */
	TRIGGER_COUNTER,
	TRIGGER_EVENT, /* an event of a device */
	TRIGGER_KMSG,
	TRIGGER_FIFO,
	TRIGGER_LOG,   /* a line of an application's log */
	TRIGGER_STALL, /* a stalled conversation */
};

/* What a frame can show. */
enum wire_kind {
	WIRE_NAK,
	WIRE_RNR,
	WIRE_RETRANSMISSION,
	WIRE_GAVE_UP,
	WIRE_QP_ERROR,
	WIRE_CNP,
	WIRE_CM_REJECT,
	WIRE_ICRC_ERROR,
	WIRE_KINDS,
};

enum trigger_value { VALUE_NONE, VALUE_NAK, VALUE_EVENT, VALUE_TEXT };

/* One row for each name; all other names are counters. */
struct trigger_name {
	const char *name;
	enum trigger_source source;
	enum trigger_value value;
	enum wire_kind wire;
	const char *event; /* "port_error" */
	const char *help;
};

#define TRIGGER_QP_ANY	UINT32_MAX
#define TRIGGER_NAK_ANY 0xff

struct trigger {
	enum trigger_source source;
	const struct trigger_name *name; /* NULL: a counter, or the signal */
	char *text;			 /* as given */
	char *words;			 /* a copy that the following point into */
	const char *counter;		 /* its name, in full or the part after the last slash */
	const char
		*device;   /* the counter's device: "mlx5_1", "mlx5_1:2"; NULL: the recorded port */
	const char *value; /* pattern, path, name of an event */
	char *glob;	   /* of trigger_matches(); NULL: what programs print of failures */
	uint64_t most;	   /* fires above this; stall: ns */
	bool rate;	   /* per second */
	uint8_t nak;
	uint32_t qp;
	uint8_t host[16];
	unsigned int host_len; /* 0: any, 4, 16 */
	_Atomic uint64_t fired;
};

/* -1 with RD_CLASS_USAGE. trigger_free() in both cases. */
int trigger_parse(struct trigger *t, const char *text, struct rd_error *err);
void trigger_free(struct trigger *t);
/* Whether this text, a kernel message or a line, is one that it waits for. */
bool trigger_matches(const struct trigger *t, const char *text);
/* Describes what it waits for: "a NAK 'remote access error'". */
void trigger_describe(const struct trigger *t, char *out, size_t size);

#endif
