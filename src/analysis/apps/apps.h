/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Describes each application: its ports, and the format of its messages. Pure functions over
 * captured bytes, which are untrusted.
 */
#pragma once

#include <rdmadump/analysis.h>
#include <rdmadump/names.h>

/* The first packet of a SEND. */
struct app_bytes {
	const uint8_t *data;
	uint32_t captured; /* bytes that can be read */
	uint32_t length;   /* bytes of the packet */
	bool only;	   /* it is the whole message */
};

enum app_role {
	APP_UNREADABLE, /* too little was captured, or it was replaced with zeros */
	APP_MISFIT,	/* no message of this application */
	APP_OTHER,	/* neither request nor reply */
	APP_REQUEST,
	APP_REPLY,
	APP_EITHER, /* a reply if its identifier is that of an open request */
};

enum app_data { APP_NO_DATA, APP_INLINE, APP_KEYED };

struct app_message {
	uint64_t operation; /* of a request */
	uint32_t id;	    /* joins a request and its reply */
	uint32_t status;    /* of a reply; 0: success */
	uint32_t bytes;	    /* of its data */
	uint8_t data;	    /* enum app_data */
	bool waits;	    /* see struct rd_app_operation */
};

struct app {
	const char *key, *name, *requests;
	uint16_t ports[2]; /* TCP port space; 0: no more */
	bool strong; /* recognize() has no false positives; otherwise a reply must also match */
	/* Whether a REQ's private data (after the addresses) is of this protocol; or NULL. */
	bool (*private_data)(const uint8_t *p, uint32_t len, struct rd_app_queue *queue);
	/* Whether a message on an unknown connection is of this protocol, and who sent it. */
	bool (*recognize)(const struct app_bytes *b, bool *client);
	/*
	 * Parses a message; `client`: from the end that requested the connection. May update the
	 * state of the queue.
	 */
	enum app_role (*read)(const struct app_bytes *b, bool client, struct rd_app_queue *queue,
		struct app_message *m);
	/* Names; `capacity` includes the NUL. */
	void (*operation)(
		char *buf, size_t capacity, uint64_t operation, const struct rd_app_queue *q);
	void (*status)(char *buf, size_t capacity, uint64_t operation, uint32_t status);
	/* "admin"; NULL: unknown. The member may be NULL. */
	const char *(*group)(uint64_t operation, const struct rd_app_queue *q);
};

#define APP(name) APP_NUMBER_##name,
enum {
#include "apps.def"
	APPS
};
#undef APP

/* By number - 1, as in struct rd_connection. */
extern const struct app *const apps[APPS];

/* Fills in what a CM REQ requests: the application and how it was recognized, port, queue. */
void app_asked(const struct rd_cm *cm, struct rd_connection *made);
/* The message in the first packet of a SEND. */
static inline struct app_bytes app_bytes_of(const struct rd_packet *p)
{
	struct app_bytes b = {.data = p->data + p->payload,
		.length = p->payload_len,
		.only = p->op->bits & RD_OP_LAST};

	if (p->payload < p->caplen)
		b.captured = p->caplen - p->payload < b.length ? p->caplen - p->payload : b.length;
	return b;
}

/* Whether the first n bytes, as far as captured, are zero: no application sends such requests. */
static inline bool app_is_blank(const struct app_bytes *b, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < b->captured; i++)
		if (b->data[i])
			return false;
	return true;
}

#define APP(name) extern const struct app app_##name;
#include "apps.def"
#undef APP
