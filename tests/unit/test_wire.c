/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Directions and checksums: packets known from elsewhere, and real captures below TEST_DATA. */
#include "test.h"
#include "test_bits.h"
#include <rdmadump/bytes.h>
#include <rdmadump/format.h>
#include <rdmadump/packet.h>
#include <rdmadump/wire.h>

/* The sample packet of IBTA volume 1, 7.8.1, LRH to ICRC; the VCRC is ours. */
static const uint8_t ib_sample[] = {0x70, 0x12, 0x37, 0x5c, 0x00, 0x0e, 0x17, 0xd2, 0x0a, 0x20,
	0x24, 0x87, 0x00, 0x87, 0xb1, 0xb3, 0x00, 0x0d, 0xec, 0x2a, 0x01, 0x71, 0x0a, 0x1c, 0x01,
	0x5d, 0x40, 0x02, 0x38, 0xf2, 0x7a, 0x05, 0x00, 0x00, 0x00, 0x0e, 0xbb, 0x88, 0x4d, 0x85,
	0xfd, 0x5c, 0xfb, 0xa4, 0x72, 0x8b, 0xc0, 0x69, 0x0e, 0xd4, 0x00, 0x00, 0x96, 0x25, 0xb7,
	0x5a, 0x45, 0xfa};

/* A SEND Only on QP 0x11, PSN 7, as decoded by Wireshark. */
static const uint8_t ib_send[] = {0x00, 0x02, 0x00, 0x03, 0x00, 0x08, 0x00, 0x01, 0x04, 0x40, 0xff,
	0xff, 0x00, 0x00, 0x00, 0x11, 0x00, 0x00, 0x00, 0x07, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46,
	0x47, 0x48, 0x9a, 0x29, 0xdb, 0xea, 0x84, 0x0e};

TEST(known_infiniband)
{
	static const struct {
		const uint8_t *data;
		size_t len;
		uint32_t icrc;
		uint16_t vcrc;
	} cases[] = {
		{ib_sample, sizeof(ib_sample), 0x5ab72596, 0xfa45},
		{ib_send, sizeof(ib_send), 0xeadb299a, 0x0e84},
	};

	for (size_t i = 0; i < 2; i++) {
		uint32_t computed, stored;
		uint16_t computed16, stored16;

		same(rd_icrc(RD_LINK_INFINIBAND, cases[i].data, cases[i].len, &computed, &stored),
			0, computed, cases[i].icrc, stored, cases[i].icrc);
		same(rd_vcrc(cases[i].data, cases[i].len, &computed16, &stored16), 0, computed16,
			cases[i].vcrc, stored16, cases[i].vcrc);
	}
}

/* Builders of packets with `payload` bytes behind the BTH; each returns the ICRC's place. */
static size_t build_udp(uint8_t *p, size_t at, size_t payload)
{
	rd_put_be16(p + at, 49152);
	rd_put_be16(p + at + 2, RD_UDP_PORT_ROCE);
	rd_put_be16(p + at + 4, (uint16_t)(8 + 12 + payload + 4));
	return at + 8 + 12 + payload;
}

static size_t build_ip4(uint8_t *p, size_t at, size_t payload, size_t header)
{
	p[at] = (uint8_t)(0x40 | header / 4);
	rd_put_be16(p + at + 2, (uint16_t)(header + 8 + 12 + payload + 4));
	p[at + 9] = 17;
	rd_put_be16(p + at + 6, 0x4000);
	return build_udp(p, at + header, payload);
}

static size_t build_ip6(uint8_t *p, size_t at, size_t payload, uint8_t next)
{
	p[at] = 0x60 | (p[at] & 0x0f);
	p[at + 6] = next;
	if (next == 17) {
		rd_put_be16(p + at + 4, (uint16_t)(8 + 12 + payload + 4));
		return build_udp(p, at + 40, payload);
	}
	rd_put_be16(p + at + 4, (uint16_t)(12 + payload + 4));
	return at + 40 + 12 + payload;
}

enum kind { V2_IP4, V2_IP4_OPTIONS, V2_IP6, V1, V2_VLANS, IB_LOCAL, IB_GLOBAL, KINDS };

static size_t build(uint8_t *p, enum kind kind, size_t payload, size_t *l3)
{
	static const uint16_t types[KINDS] = {0x0800, 0x0800, 0x86dd, RD_ETHERTYPE_ROCE, 0x0800};
	size_t at = 14;

	for (size_t i = 0; i < 128 + payload; i++)
		p[i] = (uint8_t)(i * 37 + 11);
	if (kind == V2_VLANS) {
		rd_put_be16(p + 12, 0x88a8);
		rd_put_be16(p + 16, 0x8100);
		at = 22;
	}
	rd_put_be16(p + at - 2, types[kind]);
	*l3 = kind >= IB_LOCAL ? 8 : at;
	switch (kind) {
	case V2_IP4_OPTIONS:
		return build_ip4(p, at, payload, 60);
	case V2_IP6:
		return build_ip6(p, at, payload, 17);
	case V1:
		return build_ip6(p, at, payload, 0x1b);
	case IB_LOCAL:
	case IB_GLOBAL:
		p[1] = (uint8_t)((p[1] & 0xfc) | (kind == IB_LOCAL ? 2 : 3));
		at = kind == IB_LOCAL ? 8 + 12 + payload : build_ip6(p, 8, payload, 0x1b);
		rd_put_be16(p + 4, (uint16_t)((at + 4) / 4));
		return at;
	default:
		return build_ip4(p, at, payload, 20);
	}
}

/* The rules of the annexes, implemented a second time in the simplest form. */
static uint32_t checksum(const uint8_t *p, enum kind kind, size_t l3, size_t icrc)
{
	uint8_t copy[2048];
	size_t len = icrc - l3, bth = 8;

	memset(copy, 0xff, 8);
	memcpy(copy + 8, p + l3, len);
	if (kind == IB_LOCAL) { /* adapters compute all of the LRH as ones if there is a GRH */
		memcpy(copy, p, 8);
		copy[0] |= 0xf0;
	}
	if (kind == V2_IP6 || kind == V1 || kind == IB_GLOBAL) {
		copy[8] |= 0x0f;
		memset(copy + 9, 0xff, 3);
		copy[15] = 0xff;
		bth += 40;
	} else if (kind != IB_LOCAL) {
		copy[9] = copy[16] = copy[18] = copy[19] = 0xff;
		bth += kind == V2_IP4_OPTIONS ? 60 : 20;
	}
	if (kind == V2_IP4 || kind == V2_IP4_OPTIONS || kind == V2_IP6 || kind == V2_VLANS) {
		copy[bth + 6] = copy[bth + 7] = 0xff;
		bth += 8;
	}
	copy[bth + 4] = 0xff;
	return crc32_of(0, copy, 8 + len);
}

TEST(all_kinds)
{
	for (int kind = 0; kind < KINDS; kind++)
		for (size_t payload = 0; payload < 1025; payload += payload < 64 ? 4 : 320) {
			enum rd_link link =
				kind >= IB_LOCAL ? RD_LINK_INFINIBAND : RD_LINK_ETHERNET;
			uint8_t p[2048], *exact;
			size_t l3, icrc = build(p, (enum kind)kind, payload, &l3);
			uint32_t computed, stored;

			rd_put_le32(p + icrc, checksum(p, (enum kind)kind, l3, icrc));
			same(rd_icrc(link, p, icrc + 4, &computed, &stored), 0, stored,
				rd_le32(p + icrc), computed, stored);
			/* Padding of short frames does not matter. */
			same(rd_icrc(link, p, icrc + 22, &computed, &stored), 0, computed, stored);
			for (size_t len = 0; len < icrc + 4; len++) {
				exact = malloc(len ? len : 1);
				memcpy(exact, p, len);
				assert_int_equal(rd_icrc(link, exact, len, &computed, &stored), -1);
				free(exact);
			}
		}
}

/* Without eight bytes before the IP header, in a buffer that begins with it. */
TEST(bare_ip)
{
	static const enum kind kinds[] = {V2_IP4, V2_IP4_OPTIONS, V2_IP6};

	for (size_t k = 0; k < 3; k++)
		for (size_t payload = 0; payload < 200; payload += 4) {
			size_t l3, icrc;
			uint8_t p[2048], *exact;
			uint32_t computed, stored;

			icrc = build(p, kinds[k], payload, &l3);
			rd_put_le32(p + icrc, checksum(p, kinds[k], l3, icrc));
			exact = malloc(icrc + 4 - l3);
			memcpy(exact, p + l3, icrc + 4 - l3);
			same(rd_icrc(RD_LINK_IP, exact, icrc + 4 - l3, &computed, &stored), 0,
				stored, rd_le32(p + icrc), computed, stored);
			free(exact);
		}
}

TEST(not_for_us)
{
	uint8_t p[2048];
	uint32_t c, s;
	size_t l3, icrc = build(p, V2_IP4, 64, &l3);

	assert_int_equal(rd_icrc(RD_LINK_RAW, p, icrc + 4, &c, &s), -1);
	rd_put_be16(p + l3 + 6, 0x2000); /* a fragment */
	assert_int_equal(rd_icrc(RD_LINK_ETHERNET, p, icrc + 4, &c, &s), -1);
	build(p, V2_IP4, 64, &l3);
	rd_put_be16(p + l3 + 20 + 2, 4790);
	assert_int_equal(rd_icrc(RD_LINK_ETHERNET, p, icrc + 4, &c, &s), -1);
	build(p, V2_IP4, 64, &l3);
	p[l3 + 9] = 6; /* TCP */
	assert_int_equal(rd_icrc(RD_LINK_ETHERNET, p, icrc + 4, &c, &s), -1);
	build(p, IB_LOCAL, 64, &l3);
	p[1] &= 0xfc; /* a raw packet */
	assert_int_equal(rd_icrc(RD_LINK_INFINIBAND, p, icrc + 4, &c, &s), -1);
}

/* The captured bytes end within the ICRC: none of them is read behind that. */
TEST(cut_icrc)
{
	for (int kind = 0; kind < KINDS; kind++)
		for (uint32_t more = 0; more < 4; more++) {
			enum rd_link link =
				kind >= IB_LOCAL ? RD_LINK_INFINIBAND : RD_LINK_ETHERNET;
			uint8_t p[2048], *exact;
			size_t l3, icrc = build(p, (enum kind)kind, 64, &l3);
			uint32_t computed, stored, whole = (uint32_t)icrc + 4;
			struct rd_packet packet;

			exact = malloc(icrc + more);
			memcpy(exact, p, icrc + more);
			expect("1 0",
				rd_packet_parse(link, exact, (uint32_t)icrc + more, whole, &packet),
				rd_packet_icrc(&packet, &computed, &stored));
			free(exact);
		}
}

/* The UDP length ends a packet that is shorter than the IP length says; a longer one is refused. */
TEST(udp_length)
{
	uint8_t p[2048];
	uint32_t computed, stored;
	size_t l3, icrc = build(p, V2_IP4, 64, &l3);
	uint8_t *length = p + l3 + 20 + 4;

	rd_put_be16(length, (uint16_t)(rd_be16(length) - 4));
	assert_int_equal(rd_icrc(RD_LINK_ETHERNET, p, icrc + 4, &computed, &stored), 0);
	assert_int_equal(stored, rd_le32(p + icrc - 4));
	rd_put_be16(length, (uint16_t)(rd_be16(length) + 8));
	assert_int_equal(rd_icrc(RD_LINK_ETHERNET, p, icrc + 4, &computed, &stored), -1);
}

/* The VCRC again bit by bit, for every length. */
TEST(vcrc)
{
	uint8_t p[512];

	for (size_t words = 2; words < 100; words++) {
		uint16_t crc, computed, stored;

		for (size_t i = 0; i < sizeof(p); i++)
			p[i] = (uint8_t)(i * words);
		rd_put_be16(p + 4, (uint16_t)words);
		crc = (uint16_t)bit_by_bit(CRC16_POLYNOMIAL, UINT16_MAX, p, words * 4);
		same(rd_vcrc(p, words * 4 + 2, &computed, &stored), 0, computed, (uint16_t)~crc,
			rd_vcrc(p, words * 4 + 1, &computed, &stored), -1);
	}
}

TEST(direction)
{
	static const uint8_t own[] = "\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01";
	static const uint8_t own2[] = "\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x02";
	static const uint8_t other[] = "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x81";
	static const uint8_t lid6[] = {0, 2, 0, 9, 0, 8, 0, 6};
	static const uint8_t lid8[] = {0, 2, 0, 6, 0, 8, 0, 8};
	static const struct {
		struct rd_local local;
		uint8_t want[6];
	} cases[] = {
		{{.link = RD_LINK_ETHERNET, .n_mac = 1, .mac = {{2, 0, 0, 0, 0, 1}}},
			{RD_DIR_OUT, RD_DIR_IN, RD_DIR_IN, 0, 0, 0}},
		{{.link = RD_LINK_ETHERNET,
			 .n_mac = 2,
			 .mac = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}}},
			{RD_DIR_OUT, RD_DIR_OUT, RD_DIR_IN, 0, 0, 0}},
		{{.link = RD_LINK_ETHERNET}, {0}},
		{{.link = RD_LINK_INFINIBAND, .lid = 4, .lid_mask = 0xfffc},
			{RD_DIR_IN, RD_DIR_IN, RD_DIR_IN, RD_DIR_OUT, RD_DIR_IN, 0}},
		{{.link = RD_LINK_INFINIBAND, .lid = 9, .lid_mask = 0xffff},
			{RD_DIR_IN, RD_DIR_IN, RD_DIR_IN, RD_DIR_IN, RD_DIR_IN, 0}},
		{{.link = RD_LINK_INFINIBAND}, {0}},
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct rd_frame f[6] = {
			{.data = own, .caplen = 12},
			{.data = own2, .caplen = 12},
			{.data = other, .caplen = 12},
			{.data = lid6, .caplen = 8},
			{.data = lid8, .caplen = 8},
			{.data = own, .caplen = 7},
		};

		for (int i = 0; i < 6; i++)
			f[i].direction = RD_DIR_OUT;
		rd_direction_mark(&cases[k].local, f, 6);
		for (int i = 0; i < 6; i++)
			assert_int_equal(f[i].direction, cases[k].want[i]);
	}
}

/* The packet type of Linux's cooked headers; what is not captured or not known says nothing. */
TEST(direction_cooked)
{
	static const struct {
		uint8_t type, caplen, want;
	} rows[] = {{0, 20, RD_DIR_IN}, {1, 20, RD_DIR_IN}, {2, 20, RD_DIR_IN},
		{3, 20, RD_DIR_UNKNOWN}, {4, 20, RD_DIR_OUT}, {5, 20, RD_DIR_UNKNOWN},
		{255, 20, RD_DIR_UNKNOWN}, {4, 1, RD_DIR_UNKNOWN}};

	for (unsigned int k = 0; k < 2 * sizeof(rows) / sizeof(*rows); k++) {
		const bool second = k % 2;
		uint8_t *head = calloc(1, rows[k / 2].caplen);
		struct rd_frame f = {.data = head, .caplen = rows[k / 2].caplen, .direction = 1};

		if (f.caplen > 10)
			head[second ? 10 : 1] = rows[k / 2].type;
		rd_direction_cooked(second ? RD_LINK_SLL2 : RD_LINK_SLL, &f, 1);
		assert_int_equal(f.direction, rows[k / 2].want);
		free(head);
	}
}

/* SMPs with a directed route have the same LIDs in both directions. */
TEST(direction_permissive)
{
	static const uint8_t smp[] = {0xf0, 2, 0xff, 0xff, 0, 72, 0xff, 0xff};
	static const uint8_t answer[] = {0xf0, 2, 0xff, 0xff, 0, 72, 0, 4};
	const struct rd_local local = {.link = RD_LINK_INFINIBAND, .lid = 4, .lid_mask = 0xffff};
	struct rd_frame f[2] = {
		{.data = smp, .caplen = 8, .direction = RD_DIR_OUT}, {.data = answer, .caplen = 8}};

	rd_direction_mark(&local, f, 2);
	same(f[0].direction, RD_DIR_UNKNOWN, f[1].direction, RD_DIR_OUT);
}

/* The port's address, in both places, and in none; a group's. */
TEST(direction_both)
{
	static const struct rd_local local = {
		.link = RD_LINK_ETHERNET, .n_mac = 1, .mac = {{2, 0, 0, 0, 0, 1}}};
	static const uint8_t us[6] = {2, 0, 0, 0, 0, 1}, them[6] = {2, 0, 0, 0, 0, 9};
	static const uint8_t group[6] = {1, 0, 0x5e, 0, 0, 1};
	static const uint8_t want[6] = {
		RD_DIR_UNKNOWN, RD_DIR_OUT, RD_DIR_IN, RD_DIR_UNKNOWN, RD_DIR_IN, RD_DIR_OUT};

	for (unsigned int i = 0; i < 6; i++) {
		uint8_t bytes[14] = {0};
		struct rd_frame f = {.data = bytes, .caplen = sizeof(bytes)};

		memcpy(bytes, i & 4 ? group : i & 2 ? us : them, 6);
		memcpy(bytes + 6, i & 1 ? us : them, 6);
		rd_direction_mark(&local, &f, 1);
		assert_int_equal(f.direction, want[i]);
	}
}

/* Where no MAC is known, GIDs decide: those of IPv4, of IPv6, and of RoCE v1's GRH. */
TEST(direction_ip)
{
	static const uint8_t ip4[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1};
	static const uint8_t ip6[16] = {0xfd, [15] = 1}, other[16] = {0xfd, [10] = 0xff, [15] = 2};
	static const uint16_t types[] = {0x0800, 0x86dd, 0x8915};
	struct rd_local local = {.link = RD_LINK_ETHERNET};

	rd_local_add_ip(&local, ip4);
	rd_local_add_ip(&local, ip6);
	rd_local_add_ip(&local, ip6);
	assert_int_equal(local.n_ip, 2);
	for (unsigned int k = 0; k < 48; k++) {
		const uint16_t type = types[k % 24 / 8];
		const bool group = k >= 24;
		const unsigned int tag = k & 4 ? 4 : 0, len = type == 0x0800 ? 4 : 16;
		const uint8_t *us = type == 0x0800 ? ip4 + 12 : ip6;
		const uint8_t *them = type == 0x0800 ? other + 12 : other;
		uint8_t bytes[14 + 4 + 40] = {[0] = group, [12] = 0x81}, *ip = bytes + 14 + tag;
		struct rd_frame f = {.data = bytes, .caplen = 14 + tag + 40};
		unsigned int at = type == 0x0800 ? 12 : 8;
		uint8_t want = (k & 3) == 1				 ? RD_DIR_OUT
			       : (k & 3) == 2 || (group && (k & 3) == 0) ? RD_DIR_IN
									 : RD_DIR_UNKNOWN;

		ip[-2] = (uint8_t)(type >> 8);
		ip[-1] = (uint8_t)type;
		memcpy(ip + at, k & 1 ? us : them, len);
		memcpy(ip + at + len, k & 2 ? us : them, len);
		rd_direction_mark(&local, &f, 1);
		assert_int_equal(f.direction, want);
		f.caplen = 14 + tag + 19;
		rd_direction_mark(&local, &f, 1);
		assert_int_equal(f.direction, RD_DIR_UNKNOWN);
		f.caplen = 14 + tag - 1;
		rd_direction_mark(&local, &f, 1);
		assert_int_equal(f.direction, RD_DIR_UNKNOWN);
	}
}

/* The address changes: frames already in the ring have the former one. */
TEST(local_now)
{
	struct rd_local local = {.link = RD_LINK_ETHERNET, .lid = 3}, now = {0};
	const uint8_t first[6] = {2, 1}, second[6] = {2, 2}, none[6] = {0};
	uint8_t bytes[12] = {2, 9};
	struct rd_frame f = {.data = bytes, .caplen = 12};

	rd_local_add_mac(&local, first);
	rd_local_add_mac(&now, none);
	assert_int_equal(now.n_mac, 0);
	rd_local_add_mac(&now, second);
	expect("1 0", rd_local_now(&local, &now), rd_local_now(&local, &now));
	same(local.link, RD_LINK_ETHERNET, local.lid, 3);
	memcpy(bytes + 6, second, 6);
	rd_direction_mark(&local, &f, 1);
	assert_int_equal(f.direction, RD_DIR_OUT);
	memcpy(bytes + 6, first, 6);
	rd_direction_mark(&local, &f, 1);
	assert_int_equal(f.direction, RD_DIR_OUT);
	now.lid = 4;
	expect("1 4", rd_local_now(&local, &now), local.lid);
	/* Whatever their number. */
	for (uint8_t i = 10; i < 60; i++) {
		const uint8_t mac[6] = {2, 3, i};

		now.n_mac = 0;
		rd_local_add_mac(&now, mac);
		assert_true(rd_local_now(&local, &now));
		assert_memory_equal(local.mac[0], mac, 6);
	}
}

static ssize_t read_stdio(void *ctx, uint8_t *buf, size_t capacity, struct rd_error *err)
{
	return (ssize_t)fread(buf, 1, capacity, ctx);
}

static void check_capture(const char *name, const char *side, unsigned int frames,
	unsigned int roce, unsigned int bad)
{
	unsigned int n_frames = 0, n_roce = 0, n_bad = 0;
	struct rd_frame batch[64];
	struct rd_reader *r;
	char command[512];
	FILE *f;
	int n;

	snprintf(command, sizeof(command), "zstd -dcq '%s/roce/%s/%s.pcap.zst'",
		getenv("TEST_DATA"), name, side);
	f = popen(command, "r");
	assert_non_null(f);
	if (rd_reader_open(&r, read_stdio, f, name, &failure) < 0)
		fail_msg("%s", failure.text);
	while ((n = rd_reader_next(r, batch, 64, &failure)) > 0)
		for (int i = 0; i < n; i++) {
			uint32_t computed, stored;

			n_frames++;
			if (rd_icrc(RD_LINK_ETHERNET, batch[i].data, batch[i].caplen, &computed,
				    &stored) < 0)
				continue;
			n_roce++;
			n_bad += computed != stored;
		}
	assert_int_equal(n, 0);
	rd_reader_close(r);
	assert_int_equal(pclose(f), 0);
	if (n_frames != frames || n_roce != roce || n_bad != bad)
		fail_msg("%s %s: %u frames, %u RoCE, %u bad; not %u, %u, %u", name, side, n_frames,
			n_roce, n_bad, frames, roce, bad);
}

/* summary.tsv was made with other tools: name, side, frames, RoCE frames, ..., bad ICRCs (11th). */
TEST(captures)
{
	const char *dir = getenv("TEST_DATA");
	char path[512], line[1024];
	FILE *f;

	if (!dir)
		fail_msg("TEST_DATA must name tests/data");
	snprintf(path, sizeof(path), "%s/roce/summary.tsv", dir);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	while (fgets(line, sizeof(line), f)) {
		char name[64], side[8];
		unsigned int frames, roce, bad;

		if (sscanf(line, "%63s %7s %u %u %*s %*s %*s %*s %*s %*s %u", name, side, &frames,
			    &roce, &bad) != 5)
			fail_msg("cannot read '%s'", line);
		check_capture(name, side, frames, roce, bad);
	}
	fclose(f);
}

/*
 * In 14_corrupt the network flipped one bit in some frames: each of them verifies again when one
 * bit, and no other, is flipped back.
 */
static unsigned int repairs(uint8_t *data, uint32_t len)
{
	uint32_t computed, stored;
	unsigned int n = 0;

	for (uint32_t bit = 0; bit < len * 8; bit++) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		n += rd_icrc(RD_LINK_ETHERNET, data, len, &computed, &stored) == 0 &&
		     computed == stored;
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	return n;
}

TEST(corrupt)
{
	unsigned int bad = 0;
	struct rd_frame frame;
	char command[512];
	struct rd_reader *r;
	FILE *f;

	snprintf(command, sizeof(command), "zstd -dcq '%s/roce/14_corrupt/b.pcap.zst'",
		getenv("TEST_DATA"));
	f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(rd_reader_open(&r, read_stdio, f, "14_corrupt", NULL), 0);
	while (rd_reader_next(r, &frame, 1, NULL) == 1) {
		uint32_t computed, stored;
		uint8_t copy[2048];

		if (rd_icrc(RD_LINK_ETHERNET, frame.data, frame.caplen, &computed, &stored) < 0 ||
			computed == stored)
			continue;
		assert_in_range(frame.caplen, 62, sizeof(copy));
		memcpy(copy, frame.data, frame.caplen);
		assert_int_equal(repairs(copy, frame.caplen), 1);
		bad++;
	}
	assert_int_equal(bad, 24);
	rd_reader_close(r);
	pclose(f);
}
