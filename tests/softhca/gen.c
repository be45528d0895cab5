/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Generates valid RoCEv2 and InfiniBand frames; the layouts are those of the InfiniBand
 * Architecture Specification 1.4 (chapters 5, 7, 9) and its annex A17 (RoCEv2).
 *
 * A cycle of up to 1024 frames is built once. Frame i is slot i % cycle with its PSN advanced by
 * the number of whole cycles gone by, so it depends on (configuration, i) alone. The CRCs are
 * linear, so the new PSN is worked into them by table instead of by reading the frame again.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "frames_impl.h"

enum {
	CYCLE_MAX = 1024,
	CYCLE_BYTES = 4 << 20, /* stays in a last-level cache */
	ETH_HEAD = 14 + 20 + 8,
	LRH_LEN = 8,
	BTH_LEN = 12,
	ICRC_LEN = 4,
	VCRC_LEN = 2,
	ROCE_MIN = ETH_HEAD + BTH_LEN + ICRC_LEN,
	IB_MIN = LRH_LEN + BTH_LEN + ICRC_LEN + VCRC_LEN,
	PAYLOAD_MIN = 16,
	PAYLOAD_MAX = 4096,
	ETH_PAD_TO = 60,
};

/* The mix: one slot in eight is an acknowledge when they are wanted at all. */
struct verb {
	uint8_t opcode;
	uint8_t ext_len;
	bool from_peer; /* travels against the QP's direction and repeats the last PSN */
	bool payload;
};

static const struct verb verbs_mix[] = {
	{0x0a, 16, false, true}, /* RC RDMA WRITE only */
	{0x04, 0, false, true},	 /* RC SEND only */
	{0x0b, 20, false, true}, /* RC RDMA WRITE only with immediate */
	{0x0a, 16, false, true},
	{0x05, 4, false, true}, /* RC SEND only with immediate */
	{0x0a, 16, false, true},
};
static const struct verb verb_read_req = {0x0c, 16, false, false};
static const struct verb verb_read_resp = {0x10, 4, true, true};
static const struct verb verb_ack = {0x11, 4, true, false};

struct slot {
	uint32_t offset, len;
	uint32_t psn0, step, icrc0;
	uint16_t psn_at, icrc_at, vcrc_at; /* 0: the frame has none */
	uint16_t vcrc0;
	uint32_t icrc_delta[6][16];
	uint16_t vcrc_delta[6][16];
};

struct gen {
	struct frames base;
	struct gen_conf conf;
	bool ib;
	uint64_t rng;
	uint64_t next;
	uint32_t nslots, at, cycle;
	struct slot *slots;
	uint8_t *mem;
};

static uint64_t rng_next(uint64_t *s)
{
	uint64_t z = (*s += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint32_t crc32_table[8][256]; /* of a byte with 0 to 7 zeros behind it */
static uint16_t crc16_table[256];

__attribute__((constructor)) static void crc_tables_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i, d = i;

		for (int k = 0; k < 8; k++) {
			c = (c >> 1) ^ (c & 1 ? 0xedb88320u : 0);
			d = (d >> 1) ^ (d & 1 ? 0xd008u : 0); /* 0x100b, bits reversed */
		}
		crc32_table[0][i] = c;
		crc16_table[i] = (uint16_t)d;
	}
	for (uint32_t k = 1; k < 8; k++)
		for (uint32_t i = 0; i < 256; i++)
			crc32_table[k][i] = crc32_table[k - 1][i] >> 8 ^
					    crc32_table[0][crc32_table[k - 1][i] & 0xff];
}

uint32_t crc32_ib(uint32_t crc, const uint8_t *p, size_t n)
{
	for (; n >= 8; p += 8, n -= 8) {
		uint32_t next = 0;

		for (uint32_t k = 0; k < 4; k++)
			next ^= crc32_table[7 - k][p[k] ^ (crc >> 8 * k & 0xff)] ^
				crc32_table[3 - k][p[4 + k]];
		crc = next;
	}
	while (n--)
		crc = (crc >> 8) ^ crc32_table[0][(crc ^ *p++) & 0xff];
	return crc;
}

uint16_t crc16_ib(uint16_t crc, const uint8_t *p, size_t n)
{
	while (n--)
		crc = (uint16_t)((crc >> 8) ^ crc16_table[(crc ^ *p++) & 0xff]);
	return crc;
}

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static void put24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	put16(p + 1, v);
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

/* Both CRCs go on the wire least significant byte first. */
static void put_crc(uint8_t *p, uint32_t v, int n)
{
	for (int i = 0; i < n; i++, v >>= 8)
		p[i] = (uint8_t)v;
}

uint16_t frame_ip_checksum(const uint8_t *p)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(p[i] << 8 | p[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

/* The ICRC leaves out what may change on the way: those fields count as ones. */
static uint32_t icrc_compute(const uint8_t *frame, const struct slot *s, bool ib)
{
	static const uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	uint8_t head[ETH_HEAD + BTH_LEN];
	uint32_t bth = s->psn_at - 9u, crc;

	if (ib) {
		memcpy(head, frame, LRH_LEN + BTH_LEN);
		head[0] |= 0xf0; /* virtual lane */
		head[LRH_LEN + 4] = 0xff;
		crc = crc32_ib(0xffffffff, head, LRH_LEN + BTH_LEN);
	} else {
		memcpy(head, frame, ETH_HEAD + BTH_LEN);
		head[14 + 1] = 0xff; /* type of service, time to live, checksums */
		head[14 + 8] = 0xff;
		memset(head + 14 + 10, 0xff, 2);
		memset(head + 14 + 20 + 6, 0xff, 2);
		head[ETH_HEAD + 4] = 0xff;
		crc = crc32_ib(0xffffffff, ones, 8);
		crc = crc32_ib(crc, head + 14, sizeof(head) - 14);
	}
	bth += BTH_LEN;
	return ~crc32_ib(crc, frame + bth, s->icrc_at - bth);
}

static uint16_t vcrc_compute(const uint8_t *frame, const struct slot *s)
{
	return (uint16_t)~crc16_ib(0xffff, frame, s->vcrc_at);
}

static void slot_finish(uint8_t *frame, struct slot *s, bool ib)
{
	s->icrc0 = icrc_compute(frame, s, ib);
	put_crc(frame + s->icrc_at, s->icrc0, ICRC_LEN);
	if (!s->vcrc_at)
		return;
	s->vcrc0 = vcrc_compute(frame, s);
	put_crc(frame + s->vcrc_at, s->vcrc0, VCRC_LEN);
}

/* What flipping each PSN nibble does to the CRCs, found by doing it once. */
static void slot_learn_deltas(uint8_t *frame, struct slot *s, bool ib)
{
	uint8_t *psn = frame + s->psn_at;

	for (uint32_t n = 0; n < 6; n++) {
		for (uint32_t v = 1; v < 16; v++) {
			uint32_t icrc, low = v & (v - 1);

			if (low) {
				uint32_t bit = v ^ low;

				s->icrc_delta[n][v] = s->icrc_delta[n][low] ^ s->icrc_delta[n][bit];
				s->vcrc_delta[n][v] = s->vcrc_delta[n][low] ^ s->vcrc_delta[n][bit];
				continue;
			}
			put24(psn, s->psn0 ^ (v << (4 * n)));
			icrc = icrc_compute(frame, s, ib);
			s->icrc_delta[n][v] = icrc ^ s->icrc0;
			if (s->vcrc_at) {
				put_crc(frame + s->icrc_at, icrc, ICRC_LEN);
				s->vcrc_delta[n][v] = vcrc_compute(frame, s) ^ s->vcrc0;
			}
		}
	}
}

static void head_eth(uint8_t *p, uint32_t qp, bool from_peer, uint32_t udp_len, uint16_t dport)
{
	static const uint8_t mac[2][6] = {{0x0c, 0x42, 0xa1, 0, 0, 1}, {0x0c, 0x42, 0xa1, 0, 0, 2}};
	uint8_t *ip = p + 14, *udp = p + 34;

	memcpy(p, mac[!from_peer], 6);
	memcpy(p + 6, mac[from_peer], 6);
	put16(p + 12, 0x0800);
	ip[0] = 0x45;
	ip[1] = 0x02; /* ECN capable, as RoCE senders mark it */
	put16(ip + 2, 20 + udp_len);
	put16(ip + 4, 0);
	put16(ip + 6, 0x4000);
	ip[8] = 64;
	ip[9] = 17;
	put16(ip + 10, 0);
	put32(ip + 12, 0x0a4d0001u + from_peer);
	put32(ip + 16, 0x0a4d0002u - from_peer);
	put16(ip + 10, frame_ip_checksum(ip));
	put16(udp, 0xc000 + (qp * 2654435761u >> 18));
	put16(udp + 2, dport);
	put16(udp + 4, udp_len);
	put16(udp + 6, 0);
}

/*
 * Longer than any path MTU allows, or so short that Wireshark takes the payload for a cut RPC: an
 * ordinary UDP datagram, as there is beside RoCE.
 */
static void build_plain(struct gen *g, struct slot *s, uint8_t *p)
{
	head_eth(p, s->len, false, s->len - 34, 9);
	for (uint32_t i = ETH_HEAD; i < s->len; i++)
		p[i] = i < ETH_HEAD + 8 ? 0 : (uint8_t)rng_next(&g->rng);
}

static void build_transport(struct gen *g, struct slot *s, uint8_t *p, const struct verb *v,
	uint32_t qp, uint32_t capacity)
{
	uint32_t lead = g->ib ? LRH_LEN : ETH_HEAD, tail = g->ib ? ICRC_LEN + VCRC_LEN : ICRC_LEN;
	uint32_t words = v->payload ? (capacity - lead - BTH_LEN - v->ext_len - tail) / 4 * 4 : 0;
	uint32_t pad = words >= 16 ? (uint32_t)rng_next(&g->rng) & 3 : 0;
	uint32_t body = BTH_LEN + v->ext_len + words;
	uint8_t *bth = p + lead, *ext = bth + BTH_LEN, *data = ext + v->ext_len;

	if (g->ib) {
		p[0] = 0;
		p[1] = 2; /* LNH: BTH follows, no GRH */
		put16(p + 2, v->from_peer ? 1 : 2);
		put16(p + 4, (lead + body + ICRC_LEN) / 4);
		put16(p + 6, v->from_peer ? 2 : 1);
	} else {
		head_eth(p, qp, v->from_peer, 8 + body + ICRC_LEN, 4791);
	}
	bth[0] = v->opcode;
	bth[1] = (uint8_t)(0x40 | pad << 4);
	put16(bth + 2, 0xffff);
	bth[4] = 0;
	put24(bth + 5, (v->from_peer ? 0x800 : 0x100) + qp);
	bth[8] = v->from_peer ? 0 : 0x80;
	put24(bth + 9, s->psn0);

	if (v->ext_len == 4 && v->from_peer) {
		put32(ext, 0x1f000000u); /* AETH: ACK, credits not limited */
	} else if (v->ext_len == 4) {
		put32(ext, 0xc0de0000u + qp);
	} else if (v->ext_len >= 16) {
		put32(ext, 0x7f00);
		put32(ext + 4, (uint32_t)rng_next(&g->rng) & ~0xfffu);
		put32(ext + 8, 0x1000u + qp);
		put32(ext + 12, v->payload ? words - pad : 64);
		if (v->ext_len == 20)
			put32(ext + 16, 0xc0de0000u + qp);
	}
	/* Random first bytes look like some other protocol to every heuristic dissector. */
	for (uint32_t i = 0; i < words; i++)
		data[i] = i < 8 || i >= words - pad ? 0 : (uint8_t)rng_next(&g->rng);
	s->psn_at = (uint16_t)(lead + 9);
	s->icrc_at = (uint16_t)(lead + body);
	s->vcrc_at = (uint16_t)(g->ib ? s->icrc_at + ICRC_LEN : 0);
	s->len = lead + body + tail;
}

/* The size as asked; where sizes vary, one that needs no Ethernet trailer. */
static uint32_t draw_size(struct gen *g)
{
	const struct gen_conf *c = &g->conf;
	uint32_t min = g->ib ? IB_MIN : ROCE_MIN, size = c->size_min;

	if (c->size_max > c->size_min) {
		size += (uint32_t)(rng_next(&g->rng) % (c->size_max - c->size_min + 1));
		if (size > min)
			size -= (size - min) % 4;
		if (size < c->size_min)
			size = c->size_min;
	}
	return size;
}

static void build_slot(struct gen *g, uint32_t k, uint32_t qp, uint32_t *psn, uint8_t *p)
{
	struct slot *s = &g->slots[k];
	uint32_t size = draw_size(g);
	uint32_t min = g->ib ? IB_MIN : ROCE_MIN;
	bool acks = g->conf.acks < 0 ? g->conf.size_max > g->conf.size_min : g->conf.acks > 0;
	uint32_t kind = (uint32_t)(rng_next(&g->rng) % (acks ? 8 : 6));
	const struct verb *v = kind < 6 ? &verbs_mix[kind] : &verb_ack;

	if (size < min)
		size = min;
	if (kind == 7 && g->conf.size_max >= min + verb_read_req.ext_len)
		v = rng_next(&g->rng) & 1 ? &verb_read_req : &verb_read_resp;
	if (!g->ib && size < ETH_PAD_TO)
		size = ETH_PAD_TO;
	if (!g->ib && v->payload &&
		(size > min + v->ext_len + PAYLOAD_MAX || size < min + PAYLOAD_MIN)) {
		s->len = size;
		build_plain(g, s, p);
		return;
	}
	if (v->payload && size < min + v->ext_len)
		v = &verbs_mix[1];
	s->psn0 = v->from_peer ? (psn[qp] - 1) & 0xffffff : psn[qp]++ & 0xffffff;
	build_transport(g, s, p, v, qp,
		size < min + v->ext_len + PAYLOAD_MAX ? size : min + v->ext_len + PAYLOAD_MAX);
	slot_finish(p, s, g->ib);
	while (!g->ib && v->payload && s->len < size)
		p[s->len++] = 0;
}

static bool gen_next(struct frames *base, struct frame *out)
{
	struct gen *g = (struct gen *)base;
	struct slot *s = &g->slots[g->at];
	uint8_t *p = g->mem + s->offset;

	if (g->next == g->conf.count)
		return false;
	g->next++;
	if (s->psn_at && g->cycle) {
		uint32_t psn = (s->psn0 + g->cycle * s->step) & 0xffffff, x = psn ^ s->psn0;
		uint32_t icrc = s->icrc0, vcrc = s->vcrc0;

		if (g->cycle == 1)
			slot_learn_deltas(p, s, g->ib);
		put24(p + s->psn_at, psn);
		for (uint32_t n = 0; n < 6; n++, x >>= 4) {
			icrc ^= s->icrc_delta[n][x & 15];
			vcrc ^= s->vcrc_delta[n][x & 15];
		}
		put_crc(p + s->icrc_at, icrc, ICRC_LEN);
		if (s->vcrc_at)
			put_crc(p + s->vcrc_at, vcrc, VCRC_LEN);
	}
	out->data = p;
	out->len = s->len;
	out->ts_ns = 0;
	if (++g->at == g->nslots) {
		g->at = 0;
		g->cycle++;
	}
	return true;
}

static void gen_close(struct frames *base)
{
	struct gen *g = (struct gen *)base;

	free(g->slots);
	free(g->mem);
	free(g);
}

struct frames *frames_generate(const struct gen_conf *conf, bool ib, char *err, size_t errlen)
{
	struct gen *g = calloc(1, sizeof(*g));
	uint32_t *psn = calloc(conf->qps, sizeof(*psn)), *qp_of = calloc(CYCLE_MAX, sizeof(*qp_of));
	uint32_t *first = calloc(conf->qps, sizeof(*first));
	uint32_t capacity = (conf->size_max + 128 + 63) & ~63u;
	uint32_t avg = (conf->size_min + conf->size_max) / 2 + 1;

	if (!g || !psn || !qp_of || !first)
		goto fail;
	g->base = (struct frames){gen_next, gen_close};
	g->conf = *conf;
	g->ib = ib;
	g->rng = conf->seed * 0x2545f4914f6cdd1du + 1;
	g->nslots = CYCLE_BYTES / avg;
	if (g->nslots > CYCLE_MAX)
		g->nslots = CYCLE_MAX;
	g->slots = calloc(g->nslots, sizeof(*g->slots));
	g->mem = aligned_alloc(64, (size_t)g->nslots * capacity);
	if (!g->slots || !g->mem)
		goto fail;

	for (uint32_t q = 0; q < conf->qps; q++)
		first[q] = psn[q] = (uint32_t)rng_next(&g->rng) & 0xffffff;
	for (uint32_t k = 0, at = 0; k < g->nslots; k++) {
		qp_of[k] = (uint32_t)(rng_next(&g->rng) % conf->qps);
		g->slots[k].offset = at;
		build_slot(g, k, qp_of[k], psn, g->mem + at);
		at += (g->slots[k].len + 63) & ~63u;
	}
	for (uint32_t k = 0; k < g->nslots; k++)
		g->slots[k].step = psn[qp_of[k]] - first[qp_of[k]];
	free(psn);
	free(qp_of);
	free(first);
	return &g->base;
fail:
	snprintf(err, errlen, "the frame generator has no memory");
	if (g)
		gen_close(&g->base);
	free(psn);
	free(qp_of);
	free(first);
	return NULL;
}

static bool parse_u64(const char *s, char **end, uint64_t *v)
{
	errno = 0;
	*v = strtoull(s, end, 0);
	return !errno && *end != s;
}

bool gen_conf_parse(struct gen_conf *c, const char *spec, char *err, size_t errlen)
{
	char buf[256], *save = NULL;

	*c = (struct gen_conf){
		.count = 1000, .seed = 1, .size_min = 1024, .size_max = 1024, .qps = 4, .acks = -1};
	snprintf(buf, sizeof(buf), "%s", spec);
	for (char *t = strtok_r(buf, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
		char *val = strchr(t, '='), *end;
		uint64_t v, w;

		if (!val)
			goto bad;
		*val++ = 0;
		if (!parse_u64(val, &end, &v))
			goto bad;
		w = v;
		if (*end == '-' && !parse_u64(end + 1, &end, &w))
			goto bad;
		if (*end)
			goto bad;
		if (!strcmp(t, "count"))
			c->count = v;
		else if (!strcmp(t, "seed"))
			c->seed = v;
		else if (!strcmp(t, "qps") && v >= 1 && v <= 4096)
			c->qps = (uint32_t)v;
		else if (!strcmp(t, "acks") && v <= 1)
			c->acks = (int)v;
		else if (!strcmp(t, "size") && v >= 26 && w >= v && w <= 16384)
			c->size_min = (uint32_t)v, c->size_max = (uint32_t)w;
		else
			goto bad;
	}
	return true;
bad:
	snprintf(err, errlen,
		"generator '%s': expected count=N,size=A[-B],qps=N,seed=N,acks=0|1 with sizes "
		"26..16384",
		spec);
	return false;
}
