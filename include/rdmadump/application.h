/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Applications over RDMA that the analysis recognizes, and what it measures of them: requests of a
 * client (commands, calls) and the replies of its server. A part of the report.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How often something happened, and when. Frames count from 1 over all input. */
struct rd_incident {
	uint64_t count;
	uint64_t first_frame, last_frame; /* 0: never */
	uint64_t first_ns, last_ns;
};

/* Nanoseconds; percentiles are interpolated within histogram steps a quarter of an octave wide. */
struct rd_latency {
	uint64_t n, min, p50, p90, p99, max;
};

/* The evidence that identifies an application. */
#define RD_APP_BY_PORT	  0x1 /* the service id of the CM's REQ has its port */
#define RD_APP_BY_PRIVATE 0x2 /* the private data of the REQ are in its format */
#define RD_APP_BY_BYTES	  0x4 /* so are its messages */

/* Parameters that a connection declares: the private data of an NVMe REQ, or a Connect command. */
struct rd_app_queue {
	bool known;
	uint16_t id;		       /* 0: the admin queue */
	uint16_t send_size, recv_size; /* entries; 0: unknown */
	uint16_t controller;	       /* requested by the host; 0xffff: any, or unknown */
};

#define RD_APP_NAME 40

/* Data of requests, by the way they are moved. */
struct rd_app_data {
	uint64_t n, bytes;
	uint32_t smallest, largest; /* valid if n > 0 */
};

struct rd_app_operation {
	char name[RD_APP_NAME]; /* "Read" */
	const char *group;	/* "admin" or "I/O" queue; NULL: there are none, or it is unknown */
	bool waits; /* completes when an event occurs: the time to its reply is no latency */
	uint64_t requests, replies; /* captured; replies: to requests that were captured */
	uint64_t open;		    /* without a reply when the capture or the connection ended */
	uint64_t unanswered;	    /* whose identifier was used again without a reply */
	uint64_t errors;	    /* replies with an error */
	uint64_t untimed; /* replies without a latency: others between the two may be missing */
	struct rd_app_data inlined, keyed; /* in the message itself; by RDMA */
	struct rd_latency latency;	   /* from the request's first packet to the reply */
	uint64_t latency_sum;
	bool exact; /* percentiles are those of all samples, not interpolated */
	uint64_t slowest_frame, slowest_reply_frame;
};

struct rd_app_status {
	char operation[RD_APP_NAME], name[RD_APP_NAME];
	uint32_t code;
	struct rd_incident replies;
};

#define RD_APP_SLOWEST 8

struct rd_app_slow {
	uint64_t ns, frame, reply_frame;
	uint64_t code; /* of the operation, in its application */
	char operation[RD_APP_NAME];
};

/* An application: of one conversation, or of all that have it. */
struct rd_application {
	const char *key, *name; /* "nvme", "NVMe-oF"; static */
	const char *requests;	/* name of its requests: "commands"; static */
	uint8_t certainty;	/* enum rd_certainty; of all: the lowest */
	unsigned int signs;	/* RD_APP_BY_*; of all: those of any */
	uint16_t port;		/* that was connected to; 0: unknown. Of all: of the first one */
	size_t conversations;	/* 1, or how many have it */
	uint8_t client;		/* conversations only: the side that sends requests; 2: unknown */
	struct rd_app_queue queue; /* conversations only */
	uint64_t messages;
	uint64_t unreadable;   /* messages cut off or replaced by zeros */
	uint64_t misfits;      /* messages that are not in the application's format */
	uint64_t unmatched;    /* replies whose request was not captured, or could not be read */
	uint64_t not_followed; /* requests that the full table could not hold */
	struct rd_app_operation *operations;
	size_t n_operations;
	struct rd_app_status *statuses;
	size_t n_statuses;
	struct rd_app_slow slowest[RD_APP_SLOWEST]; /* longest first */
	unsigned int n_slowest;
};
