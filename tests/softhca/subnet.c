/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Repeats native InfiniBand traffic as a host's port sees it: the subnet manager sends requests by
 * directed route and by LID, the host asks the SA for a path and joins a group, a peer reads
 * performance counters; a connection is made by the CM, used in both directions and closed;
 * datagrams and multicast, with and without GRH; IP over InfiniBand. Layouts: InfiniBand
 * Architecture Specification 1.4, chapters 5, 7 to 9, 12 to 16; RFC 4391.
 */
#include <stdlib.h>

#include "frames_impl.h"

enum {
	LRH = 8,
	GRH = 40,
	BTH = 12,
	DETH = 8,
	MAD = 256,
	PACKET_MAX = 1100,
	HOST = 1, /* LIDs */
	PEER = 2,
	SM = 3,
	GROUP = 0xc003,
	PERMISSIVE = 0xffff,
	QKEY = 0x0b1b,
	QKEY_GSI = 0x80010000,
	WRITE_FIRST = 0x06,
	WRITE_MIDDLE = 0x07,
	WRITE_LAST = 0x08,
	READ_REQUEST = 0x0c,
	READ_ONLY = 0x10,
	ACK = 0x11,
	SEND_ONLY = 0x04,
	UD_SEND = 0x64,
	SMP = 0x01,
	SMP_DIRECTED = 0x81,
	SA = 0x03,
	PMA = 0x04,
	CM = 0x07,
	GET = 0x01,
	SET = 0x02,
	SEND = 0x03,
	RESPONSE = 0x81,
};

struct scene {
	struct frames base;
	uint64_t count, n;
	unsigned int step;
	uint32_t round; /* the same conversation again, with other numbers */
	uint8_t b[PACKET_MAX];
	uint32_t len;
};

/* ---- packets ---- */

static void put(uint8_t *p, uint64_t v, unsigned int bytes)
{
	while (bytes--)
		p[bytes] = (uint8_t)v, v >>= 8;
}

static void gid(uint8_t *p, uint16_t lid)
{
	put(p, lid >= 0xc000 ? 0xff12401bffff0000 : 0xfe80000000000000, 8);
	put(p + 8, lid >= 0xc000 ? 0xffffffff : 0x0002c90300000000 + lid, 8);
}

struct route {
	uint16_t from, to;
	uint8_t sl;
	bool grh;
};

/* LRH, GRH and BTH of a packet with `body` bytes behind the BTH; where those begin. */
static uint8_t *begin(
	struct scene *s, struct route r, uint8_t opcode, uint32_t qp, uint32_t psn, uint32_t body)
{
	uint32_t bth = LRH + (r.grh ? GRH : 0), to_icrc;
	uint32_t pad = (4 - body % 4) % 4;
	uint8_t *p = s->b;

	memset(p, 0, sizeof(s->b));
	to_icrc = bth + BTH + body + pad + 4;
	s->len = to_icrc + 2;
	p[0] = (uint8_t)((qp ? r.sl & 7 : 15) << 4); /* VL 15 for QP 0 */
	p[1] = (uint8_t)(r.sl << 4 | (r.grh ? 3 : 2));
	put(p + 2, r.to, 2);
	put(p + 4, to_icrc / 4, 2);
	put(p + 6, r.from, 2);
	if (r.grh) {
		put(p + LRH, 0x60000000, 4);
		put(p + LRH + 4, to_icrc - LRH - GRH, 2);
		p[LRH + 6] = 0x1b;
		p[LRH + 7] = 1;
		gid(p + LRH + 8, r.from);
		gid(p + LRH + 24, r.to);
	}
	p += bth;
	p[0] = opcode;
	p[1] = (uint8_t)(0x40 | pad << 4);
	put(p + 2, 0xffff, 2);
	put(p + 5, qp, 3);
	put(p + 9, psn & 0xffffff, 3);
	return p + BTH;
}

/* The checksums. A GRH makes all of the LRH count as ones. */
static void end(struct scene *s)
{
	uint8_t head[LRH + GRH + BTH];
	bool grh = (s->b[1] & 3) == 3;
	uint32_t bth = LRH + (grh ? GRH : 0), icrc = s->len - 6, crc;
	uint16_t vcrc;

	memcpy(head, s->b, bth + BTH);
	head[0] |= 0xf0;
	if (grh) {
		memset(head, 0xff, LRH);
		head[LRH] |= 0x0f;
		memset(head + LRH + 1, 0xff, 3);
		head[LRH + 7] = 0xff;
	}
	head[bth + 4] = 0xff;
	crc = crc32_ib(0xffffffff, head, bth + BTH);
	crc = ~crc32_ib(crc, s->b + bth + BTH, icrc - bth - BTH);
	for (unsigned int i = 0; i < 4; i++)
		s->b[icrc + i] = (uint8_t)(crc >> 8 * i);
	vcrc = (uint16_t)~crc16_ib(0xffff, s->b, s->len - 2);
	s->b[s->len - 2] = (uint8_t)vcrc;
	s->b[s->len - 1] = (uint8_t)(vcrc >> 8);
}

/* ---- what the packets are ---- */

struct step {
	void (*make)(struct scene *s, const struct step *st);
	struct route r;
	uint8_t class, method; /* RC and UD: opcode, and PSN less that of the conversation */
	uint16_t attribute;
	uint32_t number; /* MADs: which transaction; others: bytes of payload */
};

static uint32_t psn_of(const struct scene *s, uint16_t from)
{
	return (from == HOST ? 0x001000 : 0x800000) + s->round * 64;
}

/* A connection whose packets have a GRH is another one. */
static uint32_t qp_of(const struct scene *s, uint16_t lid, bool grh)
{
	return (lid == HOST ? 0x000400u : 0x000800u) + (grh ? 0x001000u : 0u) + s->round;
}

static void cm(const struct scene *s, uint8_t *p, const struct step *st)
{
	uint16_t from = st->r.from, to = st->r.to;

	put(p, 0x1000u * from + s->round, 4); /* communication IDs */
	if (st->attribute != 0x10)
		put(p + 4, 0x1000u * to + s->round, 4);
	if (st->attribute == 0x10) { /* REQ */
		put(p + 8, 0x0000000001060000 + 4420, 8);
		put(p + 16, 0x0002c90300000000 + from, 8);
		put(p + 32, qp_of(s, from, false), 3);
		p[35] = p[39] = 4;
		p[43] = 18 << 3; /* timeout; RC */
		put(p + 44, psn_of(s, from), 3);
		p[47] = 18 << 3 | 7;
		put(p + 48, 0xffff, 2);
		p[50] = 3 << 4 | 7; /* path MTU 1024, RNR retries */
		p[51] = 15 << 4;
		put(p + 52, from, 2);
		put(p + 54, to, 2);
		gid(p + 56, from);
		gid(p + 72, to);
		p[91] = 3;
		p[93] = 1;
		p[94] = 0x08; /* SL 0, subnet local */
		p[95] = 14 << 3;
	} else if (st->attribute == 0x13) { /* REP */
		put(p + 12, qp_of(s, from, false), 3);
		put(p + 20, psn_of(s, from), 3);
		p[24] = p[25] = 4;
		p[27] = 7 << 5;
		put(p + 28, 0x0002c90300000000 + from, 8);
	} else if (st->attribute == 0x15) { /* DREQ */
		put(p + 8, qp_of(s, to, false), 3);
	}
}

static void mad(struct scene *s, const struct step *st)
{
	bool smp = st->class == SMP || st->class == SMP_DIRECTED;
	uint8_t *p = begin(s, st->r, UD_SEND, !smp, s->round * 64 + s->step, DETH + MAD);

	put(p, smp ? 0 : QKEY_GSI, 4);
	put(p + 5, !smp, 3);
	p += DETH;
	p[0] = 1;
	p[1] = st->class;
	p[2] = st->class == SA || st->class == CM ? 2 : 1;
	p[3] = st->method;
	if (st->class == SMP_DIRECTED) {
		p[6] = st->method == RESPONSE ? 0 : 1; /* hops */
		p[7] = 1;
		put(p + 4, st->method == RESPONSE ? 0x8000 : 0, 2);
		put(p + 32, 0xffffffff, 4); /* both ends: permissive LIDs */
	}
	put(p + 8, (uint64_t)s->round << 32 | st->number, 8);
	put(p + 16, st->attribute, 2);
	if (st->class == CM)
		cm(s, p + 24, st);
	end(s);
}

static void rc(struct scene *s, const struct step *st)
{
	bool reth = st->class == WRITE_FIRST || st->class == READ_REQUEST;
	bool aeth = st->class == ACK || st->class == READ_ONLY;
	uint32_t psn = psn_of(s, aeth ? st->r.to : st->r.from) + st->method;
	uint8_t *p = begin(s, st->r, st->class, qp_of(s, st->r.to, st->r.grh), psn,
		(reth	       ? 16
			: aeth ? 4
			       : 0) +
			st->number);

	if (!aeth && st->class != WRITE_FIRST && st->class != WRITE_MIDDLE)
		p[-4] = 0x80; /* asks for an ACK */
	if (reth) {
		put(p, 0x7f0000001000, 8);
		put(p + 8, 0x1234, 4);
		put(p + 12, st->class == READ_REQUEST ? 64 : 2100, 4);
	} else if (aeth) {
		put(p, 0x1f000000u + st->attribute, 4);
	}
	end(s);
}

static void datagram(struct scene *s, const struct step *st)
{
	bool group = st->r.to == GROUP;
	uint8_t *p = begin(s, st->r, UD_SEND, group ? 0xffffff : 0x48, s->round * 64 + s->step,
		DETH + st->number);

	put(p, QKEY, 4);
	put(p + 5, 0x40u + st->r.from, 3);
	p += DETH;
	if (st->attribute)
		put(p, st->attribute, 2); /* IPoIB: Ethertype */
	if (st->attribute == 0x0806) {	  /* a request of hardware type 32, 20 bytes long */
		put(p + 4, 0x0020080014040001, 8);
		put(p + 13, 0x48, 3);
		gid(p + 16, st->r.from);
		put(p + 32, 0x0a010000u + st->r.from, 4);
		put(p + 56, 0x0a010000u + PEER, 4);
	} else if (st->attribute == 0x0800) { /* an ICMP echo request */
		put(p + 4, 0x45000000u + st->number - 4, 4);
		put(p + 12, 0x40010000, 4);
		put(p + 16, 0x0a010000u + st->r.from, 4);
		put(p + 20, 0x0a010000u + st->r.to, 4);
		p[24] = 8;
		put(p + 26, 0xf7ff, 2);
	}
	end(s);
}

#define TO_PEER                                                                                    \
	{                                                                                          \
		HOST, PEER, 2, false                                                               \
	}
#define FROM_PEER                                                                                  \
	{                                                                                          \
		PEER, HOST, 2, false                                                               \
	}
#define TO_PEER_GRH                                                                                \
	{                                                                                          \
		HOST, PEER, 1, true                                                                \
	}
#define FROM_PEER_GRH                                                                              \
	{                                                                                          \
		PEER, HOST, 1, true                                                                \
	}
#define TO_SM                                                                                      \
	{                                                                                          \
		HOST, SM, 0, false                                                                 \
	}
#define FROM_SM                                                                                    \
	{                                                                                          \
		SM, HOST, 0, false                                                                 \
	}

static const struct step steps[] = {
	{mad, {PERMISSIVE, PERMISSIVE, 0, false}, SMP_DIRECTED, GET, 0x11, 1}, /* NodeInfo */
	{mad, {PERMISSIVE, PERMISSIVE, 0, false}, SMP_DIRECTED, RESPONSE, 0x11, 1},
	{mad, FROM_SM, SMP, SET, 0x15, 2}, /* PortInfo */
	{mad, TO_SM, SMP, RESPONSE, 0x15, 2},
	{mad, TO_SM, SA, SET, 0x38, 3}, /* MCMemberRecord */
	{mad, FROM_SM, SA, RESPONSE, 0x38, 3},
	{mad, TO_SM, SA, GET, 0x35, 4}, /* PathRecord */
	{mad, FROM_SM, SA, RESPONSE, 0x35, 4},
	{mad, FROM_SM, PMA, GET, 0x12, 5}, /* PortCounters */
	{mad, TO_SM, PMA, RESPONSE, 0x12, 5},
	{mad, TO_PEER, CM, SEND, 0x10, 6},   /* REQ */
	{mad, FROM_PEER, CM, SEND, 0x13, 6}, /* REP */
	{mad, TO_PEER, CM, SEND, 0x14, 6},   /* RTU */
	{rc, TO_PEER, WRITE_FIRST, 0, 0, 1024},
	{rc, TO_PEER, WRITE_MIDDLE, 1, 0, 1024},
	{rc, TO_PEER, WRITE_LAST, 2, 0, 52},
	{rc, FROM_PEER, ACK, 2, 1, 0},
	{rc, TO_PEER, SEND_ONLY, 3, 0, 45},
	{rc, FROM_PEER, ACK, 3, 2, 0},
	{rc, TO_PEER, READ_REQUEST, 4, 0, 0},
	{rc, FROM_PEER, READ_ONLY, 4, 3, 64},
	{rc, FROM_PEER_GRH, SEND_ONLY, 0, 0, 256},
	{rc, TO_PEER_GRH, ACK, 0, 1, 0},
	{datagram, TO_PEER, .number = 40},
	{datagram, FROM_PEER, .number = 40},
	{datagram, TO_PEER_GRH, .number = 100},
	{datagram, FROM_PEER_GRH, .number = 101},
	{datagram, {HOST, GROUP, 0, true}, .attribute = 0x0806, .number = 60},
	{datagram, {PEER, GROUP, 0, true}, .attribute = 0x0806, .number = 60},
	{datagram, TO_PEER, .attribute = 0x0800, .number = 88},
	{mad, TO_PEER, CM, SEND, 0x15, 7}, /* DREQ */
	{mad, FROM_PEER, CM, SEND, 0x16, 7},
};

/* ---- as a source ---- */

static bool next(struct frames *base, struct frame *out)
{
	struct scene *s = (struct scene *)base;
	const struct step *st = &steps[s->step];

	if (s->n == s->count)
		return false;
	s->n++;
	st->make(s, st);
	if (++s->step == sizeof(steps) / sizeof(*steps)) {
		s->step = 0;
		s->round++;
	}
	/* Directed routes do not say who sent a packet: the subnet manager asks. */
	*out = (struct frame){.data = s->b,
		.len = s->len,
		.origin = st->class != SMP_DIRECTED ? ORIGIN_UNKNOWN
			  : st->method == RESPONSE  ? ORIGIN_SENT
						    : ORIGIN_RECEIVED};
	return true;
}

static void scene_close(struct frames *base)
{
	free(base);
}

struct frames *frames_subnet(uint64_t count)
{
	struct scene *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->base = (struct frames){next, scene_close};
	s->count = count;
	return &s->base;
}
