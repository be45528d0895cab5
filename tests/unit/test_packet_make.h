/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes frames for the tests of packet, filter, cut and decap. */
#pragma once

#include <pcap/pcap.h>
#include <rdmadump/hash.h>
#include <rdmadump/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum make_outer { MAKE_V2_IPV4, MAKE_V2_IPV6, MAKE_V1, MAKE_IB, MAKE_IB_GRH };

struct make {
	uint8_t b[4096];
	uint32_t n;
};

static inline void make_bytes(struct make *m, const void *bytes, size_t n)
{
	memcpy(m->b + m->n, bytes, n);
	m->n += (uint32_t)n;
}

static inline void make_fill(struct make *m, uint8_t value, size_t n)
{
	memset(m->b + m->n, value, n);
	m->n += (uint32_t)n;
}

static inline void make_be16(struct make *m, unsigned int v)
{
	rd_put_be16(m->b + m->n, (uint16_t)v);
	m->n += 2;
}

static inline void make_be32(struct make *m, uint32_t v)
{
	rd_put_be32(m->b + m->n, v);
	m->n += 4;
}

static inline void make_ethernet(struct make *m, unsigned int ethertype)
{
	make_bytes(m, "\x52\x54\x00\x00\x00\x01\x52\x54\x00\x00\x00\x02", 12);
	make_be16(m, ethertype);
}

/* 10.0.0.2 > 10.0.0.1; `length` bytes follow the header. */
static inline void make_ipv4(struct make *m, unsigned int proto, uint32_t length)
{
	make_be16(m, 0x4500);
	make_be16(m, 20 + length);
	make_be32(m, 0x00004000);
	make_be16(m, 64 << 8 | proto);
	make_be16(m, 0);
	make_bytes(m, "\x0a\0\0\x02\x0a\0\0\x01", 8);
}

/* fd00::2 > fd00::1; also a GRH. */
static inline void make_ipv6(struct make *m, unsigned int proto, uint32_t length)
{
	make_be32(m, 0x60000000);
	make_be16(m, length);
	make_be16(m, proto << 8 | 64);
	make_bytes(m, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02", 16);
	make_bytes(m, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
}

static inline void make_udp(struct make *m, unsigned int port, uint32_t length)
{
	make_be16(m, 50000);
	make_be16(m, port);
	make_be16(m, 8 + length);
	make_be16(m, 0);
}

/* SLID 2 > DLID 1; `length` bytes follow, with ICRC, without VCRC. */
/* From the beginning of a frame to a payload of so many bytes. */
static inline void make_udp_frame(struct make *m, unsigned int port, uint32_t length)
{
	m->n = 0;
	make_ethernet(m, 0x0800);
	make_ipv4(m, 17, 8 + length);
	make_udp(m, port, length);
}

static inline void make_lrh(struct make *m, unsigned int lnh, uint32_t length)
{
	make_be16(m, lnh);
	make_be16(m, 1);
	make_be16(m, (8 + length) / 4);
	make_be16(m, 2);
}

static inline void make_bth(
	struct make *m, unsigned int opcode, uint32_t qp, uint32_t psn, unsigned int pad)
{
	make_be16(m, opcode << 8 | pad << 4);
	make_be16(m, 0xffff);
	make_be32(m, qp);
	make_be32(m, psn);
}

/* All headers to BTH, `body` bytes 1, 2, 3 ..., `pad` bytes 0xee, ICRC "ICRC", VCRC "VC". */
static inline void make_packet(struct make *m, enum make_outer outer, unsigned int opcode,
	uint32_t qp, uint32_t body, unsigned int pad)
{
	uint32_t length = 12 + body + pad + 4;

	switch (outer) {
	case MAKE_V2_IPV4:
		make_ethernet(m, 0x0800);
		make_ipv4(m, 17, 8 + length);
		make_udp(m, 4791, length);
		break;
	case MAKE_V2_IPV6:
		make_ethernet(m, 0x86dd);
		make_ipv6(m, 17, 8 + length);
		make_udp(m, 4791, length);
		break;
	case MAKE_V1:
		make_ethernet(m, 0x8915);
		make_ipv6(m, 0x1b, length);
		break;
	case MAKE_IB:
		make_lrh(m, 2, length);
		break;
	case MAKE_IB_GRH:
		make_lrh(m, 3, 40 + length);
		make_ipv6(m, 0x1b, length);
		break;
	}
	make_bth(m, opcode, qp, 0x123456, pad);
	for (uint32_t i = 0; i < body; i++)
		make_fill(m, (uint8_t)(i + 1), 1);
	make_fill(m, 0xee, pad);
	make_bytes(m, "ICRC", 4);
	if (outer == MAKE_IB || outer == MAKE_IB_GRH)
		make_bytes(m, "VC", 2);
}

static inline enum rd_link make_link(enum make_outer outer)
{
	return outer == MAKE_IB || outer == MAKE_IB_GRH ? RD_LINK_INFINIBAND : RD_LINK_ETHERNET;
}

/* A copy that ends where its memory ends, so that a sanitizer sees a byte too many being read. */
static inline uint8_t *make_exact(const uint8_t *data, uint32_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	if (!copy)
		abort();
	memcpy(copy, data, n);
	return copy;
}

static inline struct rd_frame make_frame(const struct make *m)
{
	return (struct rd_frame){.data = m->b, .caplen = m->n, .len = m->n};
}

/* A real capture, decompressed by zstd(1); NULL if that fails. */
static inline pcap_t *capture_open(const char *path)
{
	char command[4200], error[PCAP_ERRBUF_SIZE];
	FILE *f;

	snprintf(command, sizeof(command), "zstd -dcq '%s'", path);
	f = popen(command, "r");
	return f ? pcap_fopen_offline(f, error) : NULL;
}

static inline void choose_hash_key(uint64_t key)
{
	rd_hash_prepare();
	rd_hash_start = (struct rd_hash){key, ~key, key * 0x9e3779b97f4a7c15, key << 32 | 1};
}
