/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A list of facts: JSON texts on their way into a capture file (rdmadump-formats(5)). */
#ifndef RDMADUMP_FACTS_H
#define RDMADUMP_FACTS_H

#include <stddef.h>

struct rd_fact {
	char *json;
	size_t len;
};

struct rd_facts {
	struct rd_fact *fact;
	size_t n, room;
	size_t bytes; /* of all texts, and what it costs to keep them */
};

/* Bytes that one list takes: what a hostile file can make us keep. */
#define RD_FACTS_LIST_MAX ((size_t)64 << 20)

/* Appends a copy; -1 if there is no memory or the list is full, which is then as it was. */
int rd_facts_add(struct rd_facts *facts, const char *json, size_t len);
void rd_facts_free(struct rd_facts *facts);

/* The interface that a text is about; -1 if it is no JSON object that says so. */
int rd_facts_iface(const char *json, size_t len);
/* Appends a copy that is about interface `iface`; -1 also if it is no JSON object. */
int rd_facts_add_moved(struct rd_facts *facts, const char *json, size_t len, unsigned int iface);

struct rd_device;
struct rd_port;

/*
 * Reads the facts of a port now and appends them, as about interface `iface`: QPs and counters, and
 * with when "start" (the other is "end") the device. What cannot be read is left out; what has no
 * room is left out and logged. Asks the device: not for the hot path.
 */
void rd_facts_add_port(struct rd_facts *to, const struct rd_device *device,
	const struct rd_port *port, unsigned int iface, const char *when);

#endif
