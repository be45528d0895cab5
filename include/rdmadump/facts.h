/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A list of facts: JSON texts to be stored in a capture file (rdmadump-formats(5)). */
#pragma once

#include <jansson.h>
#include <rdmadump/frame.h>
#include <rdmadump/trailer.h>
#include <stddef.h>

struct rd_fact {
	char *json;
	size_t len;
};

struct rd_facts {
	struct rd_fact *fact;
	size_t n;
	size_t bytes; /* memory of all texts, with overhead */
};

/* Limit of a list's memory in bytes, because files are untrusted. */
#define RD_FACTS_LIST_MAX ((size_t)64 << 20)

/* Appends a copy. -1 if out of memory or the list is full; the list is then unchanged. */
int rd_facts_add(struct rd_facts *facts, const char *json, size_t len);
void rd_facts_free(struct rd_facts *facts);

/* The interface number in a text; -1 if it is not a JSON object with one. */
int rd_facts_iface(const char *json, size_t len);
/*
 * Appends a copy with the interface number replaced by `iface`. Returns 0, or -1 as rd_facts_add(),
 * also if the text is not a JSON object.
 */
int rd_facts_add_moved(struct rd_facts *facts, const char *json, size_t len, unsigned int iface);

/*
 * Appends a copy without the owners of QPs; nothing if it has no other content.
 * Returns as rd_facts_add(), -1 also if the text is not JSON.
 */
int rd_facts_add_no_owners(struct rd_facts *facts, const char *json, size_t len);

struct rd_device;
struct rd_owners;
struct rd_port;

/*
 * Reads the current facts of a port and appends them with the interface number `iface`: the device,
 * as it was loaded, QPs and counters; at the start also DCB settings. `when` is "start" or "end".
 * What cannot be read is omitted; what does not fit is omitted and logged. Without `qps`, the list
 * of QPs is omitted, without `owners` their owners. Sends commands to the device, one for each QP:
 * not for the hot path.
 */
void rd_facts_add_port(struct rd_facts *to, const struct rd_device *device,
	const struct rd_port *port, unsigned int iface, const char *when, bool qps, bool owners);
/*
 * How the packets of an InfiniBand port end: an object per direction that has packets, "received",
 * "sent", "unknown". The caller owns it.
 */
json_t *rd_trailers_json(const struct rd_trailers of[RD_DIRECTIONS]);
/* Appends how the packets of an InfiniBand port end; nothing if there were none. */
void rd_facts_add_trailers(struct rd_facts *to, const struct rd_device *device,
	const struct rd_port *port, unsigned int iface, const struct rd_trailers of[RD_DIRECTIONS]);
/* Appends the owners of QPs that were collected until now; nothing if QPs could never be listed. */
void rd_facts_add_owners(struct rd_facts *to, const struct rd_device *device,
	const struct rd_port *port, unsigned int iface, const struct rd_owners *owners);
