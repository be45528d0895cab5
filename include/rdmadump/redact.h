/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replaces what identifies machines and people, in text and in frames: each address or name is
 * replaced by the same value wherever it occurs. It takes two passes over the same data. The first
 * one changes nothing and collects, so that no replacement is an original; the second one replaces.
 * Used by one thread at a time.
 */
#pragma once

#include <jansson.h>
#include <rdmadump/frame.h>
#include <stddef.h>

struct rd_redact;

enum rd_redact_kind {
	RD_REDACT_MAC,
	RD_REDACT_GUID,
	RD_REDACT_IPV4,
	RD_REDACT_IPV6, /* also GIDs */
	RD_REDACT_UUID,
	RD_REDACT_ID, /* other random identifiers: of machines and containers */
	RD_REDACT_HOST,
	RD_REDACT_USER,
	RD_REDACT_SERIAL,
	RD_REDACT_NODE, /* descriptions of InfiniBand nodes */
	RD_REDACT_PATH,
	RD_REDACT_SECRET, /* passwords, tokens */
	RD_REDACT_KINDS
};

/* NULL: out of memory. rd_redact_free() accepts NULL. */
struct rd_redact *rd_redact_new(void);
void rd_redact_free(struct rd_redact *r);
/* Ends the first pass. */
void rd_redact_begin(struct rd_redact *r);
/* Whether memory ran out at any time: the output must then not be given away. */
bool rd_redact_failed(const struct rd_redact *r);
/* A list of objects with kind, original and replacement. NULL: out of memory. */
json_t *rd_redact_map(const struct rd_redact *r);

/*
 * A name that is replaced in all text; in the first pass only. Names of kind HOST and up. Names
 * that do not identify a host or user ("localhost", "None") are ignored.
 */
void rd_redact_name(struct rd_redact *r, enum rd_redact_kind kind, const char *name, size_t n);
/*
 * A copy of `n` bytes of text with all addresses and names replaced; in the first pass an unchanged
 * copy. Names in keys of JSON stay. It is terminated by NUL; *out_n gets the length without it (may
 * be NULL). The caller frees it; NULL: out of memory.
 */
char *rd_redact_text(struct rd_redact *r, const char *text, size_t n, size_t *out_n);
/*
 * The same for text of a capture, or about one: whoever sent or wrote it chose the words. A name
 * that a label in it names is replaced there and nowhere else.
 */
char *rd_redact_foreign(struct rd_redact *r, const char *text, size_t n, size_t *out_n);
/* The same for a path, in which names of hosts and users may be words: only addresses. */
char *rd_redact_path(struct rd_redact *r, const char *path);

/* Addresses in bytes, in place. Those that are well known, multicast or zero stay. */
void rd_redact_mac(struct rd_redact *r, uint8_t mac[6]);
void rd_redact_guid(struct rd_redact *r, uint8_t guid[8]);
void rd_redact_ipv4(struct rd_redact *r, uint8_t ip[4]);
void rd_redact_ipv6(struct rd_redact *r, uint8_t ip[16]);
/*
 * The one of them that has `n` bytes, or the GID in a hardware address of IPoIB, which has 20.
 * False: there is none.
 */
bool rd_redact_address(struct rd_redact *r, uint8_t *bytes, size_t n);
/* The upper half of a GID. */
void rd_redact_prefix(struct rd_redact *r, uint8_t prefix[8]);
/* Text in a field of `n` bytes, padded with zeros. */
void rd_redact_field(struct rd_redact *r, enum rd_redact_kind kind, uint8_t *field, size_t n);

/*
 * A frame, in place: addresses in headers, MADs, ARP, ICMP, tunnels; all payload and whatever is
 * not understood becomes zeros. Checksums, ICRC, VCRC and FCS are valid again, and wrong ones stay
 * wrong. `extra` bytes follow the captured ones in memory: an FCS, or padding. Returns false if the
 * link type is not understood: the frame is unchanged then.
 */
bool rd_redact_frame(struct rd_redact *r, enum rd_link link, uint8_t *data, uint32_t caplen,
	uint32_t len, uint32_t extra);
