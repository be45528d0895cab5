/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which receive queue each frame went to, by protocol and by flow. */
#ifndef RDMADUMP_SELFTEST_SPREAD_H
#define RDMADUMP_SELFTEST_SPREAD_H

#include <jansson.h>
#include <rdmadump/frame.h>
#include <stdbool.h>

#define SPREAD_QUEUES 4
#define SPREAD_FLOWS  256 /* tracked flows; further ones are ignored */

enum spread_class { SPREAD_IPV4, SPREAD_IPV6, SPREAD_ARP, SPREAD_OTHER, SPREAD_CLASSES };

struct spread {
	uint64_t frames[SPREAD_CLASSES][SPREAD_QUEUES];
	struct {
		uint64_t key; /* addresses and ports; 0: free */
		unsigned int queue;
	} flow[SPREAD_FLOWS];
	unsigned int flows[SPREAD_CLASSES];
	uint64_t strayed; /* frames in another queue than the first frame of their flow */
};

/* `counted`: into the histogram; else only for the order within its flow. */
void spread_take(struct spread *s, enum rd_link link, const uint8_t *data, uint32_t len,
	unsigned int queue, bool counted);
/* Several flows of this protocol, and all of them in one queue. */
bool spread_in_one_queue(const struct spread *s, enum spread_class class);
/* {"ipv4": [frames of each queue], ...}; the caller owns it. */
json_t *spread_json(const struct spread *s, unsigned int queues);

#endif
