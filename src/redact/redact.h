/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Internal interface of this folder. */
#pragma once

#include <rdmadump/array.h>
#include <rdmadump/packet.h>
#include <rdmadump/redact.h>

/* A part of an address, which is replaced as a whole. */
enum space {
	SPACE_NONE,
	SPACE_IPV4_8, /* the first 8 bits, and so on: a part's value includes the bits before it */
	SPACE_IPV4_16,
	SPACE_IPV4_24,
	SPACE_IPV4_32,
	SPACE_IPV6_16,
	SPACE_IPV6_32,
	SPACE_IPV6_48,
	SPACE_IPV6_64,
	SPACE_OUI,
	SPACE_LOW24,  /* the lower 24 bits of MAC addresses, GUIDs and interface identifiers */
	SPACE_HIGH40, /* the upper bits of GUIDs and interface identifiers without a MAC address */
	SPACE_ID,     /* the first 48 bits of other identifiers */
	SPACES
};

struct table_row {
	uint64_t value, to;
	enum space space; /* SPACE_NONE: the row is free */
};

/* A hash table of parts; the caller defines the meaning of `to`. */
struct table {
	struct table_row *row;
	size_t n, capacity;
};

struct name {
	char *text, *to;
	size_t n;
	enum rd_redact_kind kind;
	struct name *next; /* names with the same first two characters; longer ones come first */
};

#define NAME_BUCKETS 4096
#define NAME_MAX_LEN 1024 /* but for secrets */

/* A pattern of text, see labels.c. */
struct label {
	enum rd_redact_kind kind;
	const char *pattern;
	const struct label *next; /* with the same first character */
};

#define LABELS_MAX 320

/* A replaced original, as text. */
struct entry {
	enum rd_redact_kind kind;
	char *from, *to;
};

struct rd_redact {
	bool replacing, no_memory;
	struct table originals, replaced, used;
	struct table recorded; /* hashes of entries */
	struct name *names[NAME_BUCKETS];
	struct label label[LABELS_MAX];
	const struct label *labels[256];
	struct entry *entry;
	size_t n_entries;
};

/* --- map.c --- */

/*
 * The replacement of a part: `value` and the result are all bits of the address up to the end of
 * the part. Returns `value` in the first pass.
 */
uint64_t part_replace(struct rd_redact *r, enum space space, uint64_t value);
/* Whether the first pass found this part. */
bool part_was_seen(const struct rd_redact *r, enum space space, uint64_t value);
/* Adds a replacement to the map, unless it equals the original or is already there. */
void record_address(
	struct rd_redact *r, enum rd_redact_kind kind, const uint8_t *from, const uint8_t *to);
void record_text(
	struct rd_redact *r, enum rd_redact_kind kind, const char *from, size_t n, const char *to);

/* --- addresses.c --- */

/* Whether the parts of this address were found in the first pass, in any form. */
bool ipv4_was_seen(const struct rd_redact *r, const uint8_t ip[4]);
bool mac_was_seen(const struct rd_redact *r, const uint8_t mac[6]);
bool guid_was_seen(const struct rd_redact *r, const uint8_t guid[8]);

/* --- names.c --- */

extern const char *const kind_names[RD_REDACT_KINDS];

/* The longest name at `text`, which has `left` bytes; `before`: the preceding byte. NULL: none. */
struct name *name_at(
	const struct rd_redact *r, const char *text, size_t left, unsigned char before);
/* What replaces a name; the caller frees it. NULL: it identifies nothing, or no memory. */
char *name_replacement(struct rd_redact *r, enum rd_redact_kind kind, const char *name, size_t n);
/* A host's name that ends with a known domain: its bytes, 0: none. *run: all that may be of it. */
size_t host_at(const struct rd_redact *r, const char *text, size_t left, size_t *run);
/* An e-mail address likewise; *run is what may be before its "@". */
size_t mail_at(const struct rd_redact *r, const char *text, size_t left, size_t *run);
void names_free(struct rd_redact *r);

/* --- labels.c --- */

/* Names that the words around them label, in text. */
struct labels {
	const char *text;
	size_t n;
	bool data;    /* a backslash ends a name */
	bool foreign; /* text of captures */
	bool marked;  /* ":" or the like was before the name */
	enum rd_redact_kind kind;
	struct label_name {
		size_t at, n; /* n 0: no name after all */
	} name[2];
	size_t n_names;
};
void labels_index(struct rd_redact *r);
/* Whether a label begins at `at`, and what it names. */
bool label_find(const struct rd_redact *r, struct labels *l, size_t at);
/* All of them. First pass. */
void labels_collect(struct rd_redact *r, const char *text, size_t n, bool data);

/* --- forms.c --- */

/* Text that is searched for addresses. */
struct place {
	struct rd_redact *r;
	const char *text;
	size_t n;
	size_t begin;	   /* bytes before it are no part of a word: an escape sequence */
	unsigned int line; /* LINE_*: the context of the line */
};
enum { LINE_GUID = 1, LINE_MAC = 2 };

#define FORM_MAX 64
/* An address in a run of characters that addresses consist of. */
struct form {
	size_t at, n; /* n 0: there is none */
	size_t end;   /* of the run */
	char to[FORM_MAX + 24];
	size_t to_n;
};
/* The first address of the run at `at`, and its replacement; in the first pass, collects it. */
void form_find(const struct place *p, size_t at, struct form *f);

/* --- forms_ip.c --- */

/*
 * An address in the numbers at `at`, perhaps with a port after a dot, as tcpdump prints it. Returns
 * the bytes of all of them: a part of a longer number is no address.
 */
size_t form_ipv4(const struct place *p, size_t at, size_t end, struct form *f);
/* One that was seen elsewhere: a letter beside it may be of a version, dashes of anything. */
bool form_seen_ipv4(const struct place *p, size_t at, size_t end, char separator, struct form *f);
/* All `n` bytes as one address; f->at is the caller's. */
bool form_ipv6(struct rd_redact *r, const char *text, size_t n, struct form *f);

/* --- frame.c --- */

/* A frame or an inner frame. */
struct layer {
	uint8_t *data;
	const uint8_t *old; /* a copy of the original bytes */
	uint32_t caplen, len;
	uint32_t extra; /* bytes in memory after the captured ones */
	enum rd_link link;
	unsigned int depth;
};

/* --- frame_other.c: from p->payload or p->l4 to the end of the captured bytes --- */
void arp_redact(struct rd_redact *r, uint8_t *p, uint32_t left);
/* ICMP headers are kept. Returns the offset of the packet that an error quotes, 0: none. */
uint32_t icmp_redact(
	struct rd_redact *r, const struct layer *l, const struct rd_packet *p, uint32_t end);

/* --- frame_mad.c --- */
void mad_redact(struct rd_redact *r, uint8_t *mad, uint32_t left);

/* --- sums.c: each checksum is changed by the difference of the bytes that it covers --- */

/* p: the packet as parsed before the change; its data may be either copy. */
void icrc_redact(const struct layer *l, const struct rd_packet *p);
void sums_redact(const struct layer *l, const struct rd_packet *p);
void vcrc_redact(const struct layer *l, const struct rd_packet *p);
/* The FCS at `at`, over all bytes before it. */
void fcs_redact(const struct layer *l, uint32_t at);
