/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages of the two ends as bytes: one table of fields for writing, reading and checking. */
#include "peer_message.h"
#include <rdmadump/bytes.h>
#include <rdmadump/device.h>
#include <string.h>

#define MTU_MIN 256
#define MTU_MAX 4096

static const uint8_t magic[8] = {'r', 'd', 'u', 'm', 'p', 'e', 'e', 'r'};

enum field_type { BYTES, TEXT, NUMBER, BIG };

struct field {
	enum field_type type;
	uint16_t at, n; /* within the struct, in the message: the same number of bytes */
	uint64_t most;	/* maximum of each byte or number */
};

#define FIELD(s, type, f, most)                                                                    \
	{                                                                                          \
		type, offsetof(struct s, f), sizeof(((struct s *)0)->f), most                      \
	}

static const struct field hello[] = {FIELD(peer_hello, TEXT, program, 0),
	FIELD(peer_hello, TEXT, device, 0), FIELD(peer_hello, TEXT, watches, 0),
	FIELD(peer_hello, BYTES, infiniband, 1), FIELD(peer_hello, BYTES, has_mac, 1),
	FIELD(peer_hello, BYTES, has_gid, 1), FIELD(peer_hello, BYTES, gid_type, RD_GID_ROCE_V2),
	FIELD(peer_hello, BYTES, mac, UINT8_MAX), FIELD(peer_hello, BYTES, gid, UINT8_MAX),
	FIELD(peer_hello, NUMBER, lid, UINT16_MAX)};
static const struct field ready[] = {FIELD(peer_ready, NUMBER, kind, UINT8_MAX),
	FIELD(peer_ready, NUMBER, from_listener, 1), FIELD(peer_ready, TEXT, error, 0),
	FIELD(peer_ready, NUMBER, run, UINT32_MAX), FIELD(peer_ready, NUMBER, qpn, 0xffffff),
	FIELD(peer_ready, NUMBER, rkey, UINT32_MAX), FIELD(peer_ready, NUMBER, mtu, MTU_MAX),
	FIELD(peer_ready, BIG, address, UINT64_MAX)};
static const struct field step[] = {
	FIELD(peer_step, TEXT, error, 0), FIELD(peer_step, NUMBER, frames, PEER_FRAMES)};
static const struct field seen[] = {FIELD(peer_seen, BYTES, full, 1),
	FIELD(peer_seen, BYTES, arrival_known, 1), FIELD(peer_seen, BYTES, times, UINT8_MAX),
	FIELD(peer_seen, BYTES, arrived, 1)};

#define LAYOUT(fields)                                                                             \
	{                                                                                          \
		fields, sizeof(fields) / sizeof(*(fields))                                         \
	}

static const struct {
	const struct field *field;
	size_t n;
} layouts[PEER_TYPES] = {[PEER_HELLO] = LAYOUT(hello),
	[PEER_READY] = LAYOUT(ready),
	[PEER_GO] = LAYOUT(step),
	[PEER_SENT] = LAYOUT(step),
	[PEER_SEEN] = LAYOUT(seen)};

static size_t body_bytes(enum peer_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < layouts[type].n; i++)
		n += layouts[type].field[i].n;
	return n;
}

/* --- writing ------------------------------------------------------------------------------ */

static void put(uint8_t *to, const struct field *f, const uint8_t *from)
{
	uint32_t number;
	uint64_t big;

	switch (f->type) {
	case NUMBER:
		memcpy(&number, from, sizeof(number));
		rd_put_be32(to, number);
		break;
	case BIG:
		memcpy(&big, from, sizeof(big));
		rd_put_be64(to, big);
		break;
	case TEXT:
	case BYTES:
		memcpy(to, from, f->n);
		break;
	}
}

size_t peer_message_put(uint8_t *to, const struct peer_message *m)
{
	uint8_t *p = to + PEER_HEAD;

	memcpy(to, magic, sizeof(magic));
	rd_put_be16(to + 8, PEER_VERSION);
	rd_put_be16(to + 10, (uint16_t)m->type);
	rd_put_be32(to + 12, (uint32_t)body_bytes(m->type));
	for (size_t i = 0; i < layouts[m->type].n; i++) {
		const struct field *f = &layouts[m->type].field[i];

		put(p, f, (const uint8_t *)&m->hello + f->at);
		p += f->n;
	}
	return (size_t)(p - to);
}

/* --- reading ------------------------------------------------------------------------------ */

enum peer_fault peer_head_get(
	const uint8_t *from, enum peer_type *type, size_t *body, uint32_t *version)
{
	uint32_t number = rd_be16(from + 10);

	*version = rd_be16(from + 8);
	if (memcmp(from, magic, sizeof(magic)) != 0)
		return PEER_NO_PEER;
	if (*version != PEER_VERSION)
		return PEER_OTHER_VERSION;
	if (number >= PEER_TYPES)
		return PEER_MALFORMED;
	*type = (enum peer_type)number;
	*body = body_bytes(*type);
	return rd_be32(from + 12) == *body ? PEER_GOOD : PEER_MALFORMED;
}

static bool get_bytes(uint8_t *to, const struct field *f, const uint8_t *from)
{
	for (size_t i = 0; i < f->n; i++)
		if (from[i] > f->most)
			return false;
	memcpy(to, from, f->n);
	return true;
}

/* Texts are printed and stored: only printable ASCII, padded with zeros. */
static bool get_text(uint8_t *to, const struct field *f, const uint8_t *from)
{
	size_t n = strnlen((const char *)from, f->n);

	if (n == f->n)
		return false;
	for (size_t i = 0; i < f->n; i++)
		if (i < n ? from[i] < ' ' || from[i] > '~' : from[i] != 0)
			return false;
	memcpy(to, from, f->n);
	return true;
}

static bool get(uint8_t *to, const struct field *f, const uint8_t *from)
{
	uint32_t number;
	uint64_t big;

	switch (f->type) {
	case TEXT:
		return get_text(to, f, from);
	case BYTES:
		return get_bytes(to, f, from);
	case NUMBER:
		number = rd_be32(from);
		memcpy(to, &number, sizeof(number));
		return number <= f->most;
	case BIG:
		big = rd_be64(from);
		memcpy(to, &big, sizeof(big));
		return big <= f->most;
	}
	return false;
}

/* Whether it is the address of one machine: neither a group, nor unspecified, nor loopback. */
static bool is_one_machine(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};
	static const uint8_t zeros[15];

	if (memcmp(gid, mapped, sizeof(mapped)) == 0)
		return gid[12] && gid[12] != 127 && gid[12] < 224;
	return gid[0] != 0xff && (memcmp(gid, zeros, sizeof(zeros)) != 0 || gid[15] > 1);
}

/* A frame to a group or to an unknown address would reach hosts other than the peer. */
static bool is_hello_sane(const struct peer_hello *h)
{
	static const uint8_t none[6];

	if (h->has_mac && (h->mac[0] & 1 || memcmp(h->mac, none, sizeof(none)) == 0))
		return false;
	return !h->has_gid || is_one_machine(h->gid);
}

static bool is_sane(const struct peer_message *m)
{
	if (m->type == PEER_HELLO)
		return is_hello_sane(&m->hello);
	if (m->type == PEER_READY && m->ready.qpn)
		return m->ready.mtu >= MTU_MIN;
	return true;
}

enum peer_fault peer_body_get(struct peer_message *m, enum peer_type type, const uint8_t *from)
{
	memset(m, 0, sizeof(*m));
	m->type = type;
	for (size_t i = 0; i < layouts[type].n; i++) {
		const struct field *f = &layouts[type].field[i];

		if (!get((uint8_t *)&m->hello + f->at, f, from))
			return PEER_MALFORMED;
		from += f->n;
	}
	return is_sane(m) ? PEER_GOOD : PEER_MALFORMED;
}
