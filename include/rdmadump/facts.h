/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
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

#endif
