/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How InfiniBand packets end. Their checksums were computed bit by bit by another program. */
#include "test.h"
#include <rdmadump/trailer.h>

#define ICRC_LEN 4
#define VCRC_LEN 2

/* SEND Only, LID 1 to 3 */
static const uint8_t send_only[34] =
	"\x00\x02\x00\x03\x00\x08\x00\x01\x04\x40\xff\xff\x00\x00\x00\x11"
	"\x00\x00\x00\x07\x41\x42\x43\x44\x45\x46\x47\x48"
	"\x9a\x29\xdb\xea\x84\x0e";
/* ACK with a GRH, whose ICRC covers an LRH of ones */
static const uint8_t ack_grh[70] = "\x10\x03\x00\x05\x00\x11\x00\x02\x60\x00\x00\x00\x00\x14\x1b"
				   "\x40\xfe\x80\x00\x00\x00\x00\x00"
				   "\x00\x00\x02\xc9\x03\x00\x00\x00\x02\xfe\x80\x00\x00\x00\x00"
				   "\x00\x00\x00\x02\xc9\x03\x00\x00"
				   "\x00\x05\x11\x00\xff\xff\x00\x00\x00\x48\x00\x00\x01\x23\x1f"
				   "\x00\x00\x01\x76\xec\x59\x69\x45"
				   "\x29";
/* A raw packet (LNH 0): 12 bytes up to the VCRC, no ICRC */
static const uint8_t raw[14] = "\x00\x00\x00\x03\x00\x03\x00\x01\x00\x00\x08\x06\x00\x00";

static const struct {
	const uint8_t *data;
	uint32_t len;
} packets[] = {{send_only, sizeof(send_only)}, {ack_grh, sizeof(ack_grh)}};
#define N_PACKETS (sizeof(packets) / sizeof(packets[0]))

TEST(what_is_missing)
{
	for (size_t i = 0; i < N_PACKETS; i++)
		for (uint32_t less = 0; less < packets[i].len; less++) {
			unsigned int expected =
				less == VCRC_LEN || less == VCRC_LEN + ICRC_LEN ? less : 0;

			assert_int_equal(rd_trailer_missing(packets[i].data, packets[i].len - less),
				expected);
		}
	expect("0 2 0", rd_trailer_missing(raw, 14), rd_trailer_missing(raw, 12),
		rd_trailer_missing(raw, 8));
}

/* A length in the LRH that is too short for a BTH says nothing. */
TEST(lengths_that_lie)
{
	uint8_t p[sizeof(send_only)];

	memcpy(p, send_only, sizeof(p));
	for (unsigned int words = 0; words < 6; words++) {
		p[5] = (uint8_t)words;
		for (uint32_t len = 0; len <= sizeof(p); len++)
			assert_int_equal(rd_trailer_missing(p, len), 0);
	}
	p[4] = 0xf8; /* reserved bits are no part of the length */
	p[5] = 8;
	assert_int_equal(rd_trailer_missing(p, 32), 2);
	p[4] = 0x07;
	p[5] = 0xff;
	for (uint32_t len = 0; len <= sizeof(p); len++)
		assert_int_equal(rd_trailer_missing(p, len), 0);
}

/* n packets, the last `less` bytes of each left out, `flip` of the byte so far from the end */
static void count(struct rd_trailers *t, unsigned int n, uint32_t less, uint32_t flip)
{
	for (unsigned int i = 0; i < n; i++) {
		uint32_t len = packets[i % N_PACKETS].len;
		uint8_t p[128];

		memcpy(p, packets[i % N_PACKETS].data, len);
		if (flip)
			p[len - flip] ^= 0x40;
		rd_trailers_count(t, p, len - less);
	}
}

static void check(const struct rd_trailers *t, const char *icrc, const char *vcrc, bool blind,
	const char *text)
{
	char got[RD_TRAILER_TEXT];

	same(rd_trailer_name(rd_trailers_icrc(t)), icrc, rd_trailer_name(rd_trailers_vcrc(t)), vcrc,
		rd_trailers_text(t, got), blind, got, text);
}

TEST(states)
{
	static const struct {
		unsigned int n;
		uint32_t less, flip;
		const char *icrc, *vcrc;
		bool blind;
		const char *text;
	} cases[] = {
		{0, 0, 0, "unknown", "unknown", false,
			"are too few (0) to say whether they end with ICRC and VCRC: what is "
			"missing by their lengths is written as zeros"},
		{7, 0, 0, "unknown", "unknown", false,
			"are too few (7) to say whether they end with ICRC and VCRC: what is "
			"missing by their lengths is written as zeros"},
		{8, 0, 0, "valid", "valid", false, "end with ICRC and VCRC, valid in 8 and 8 of 8"},
		{8, 2, 0, "valid", "absent", false,
			"end with the ICRC, valid in 8 of 8, without the VCRC: two zero bytes are "
			"written in its place"},
		{8, 6, 0, "absent", "absent", true,
			"end with their payload: six zero bytes are written in place of ICRC and "
			"VCRC, and damage on the wire cannot be seen"},
		{8, 0, 1, "valid", "invalid", false,
			"end with the ICRC, valid in 8 of 8; a VCRC follows in 8, valid in 0"},
		{8, 2, 5, "invalid", "absent", true,
			"have four bytes in place of the ICRC that are wrong in all of 8: damage "
			"on the wire cannot be seen"},
		{9, 4, 0, "unknown", "unknown", true,
			"have lengths that differ from those in their LRHs (9 of 9): they are "
			"written as they arrive, and their checksums are unknown"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_trailers t = {0};

		count(&t, cases[i].n, cases[i].less, cases[i].flip);
		check(&t, cases[i].icrc, cases[i].vcrc, cases[i].blind, cases[i].text);
	}
}

/* Damage on the wire does not hide that there are checksums; packets that differ do. */
TEST(some_differ)
{
	struct rd_trailers t = {0};

	count(&t, 60, 0, 0);
	count(&t, 4, 0, 5);
	check(&t, "valid", "valid", false, "end with ICRC and VCRC, valid in 60 and 60 of 64");
	count(&t, 60, 0, 5);
	check(&t, "mixed", "mixed", true,
		"end in different ways: of 124, 124 have an ICRC, 60 a valid one; what is missing "
		"is written as zeros");
	t = (struct rd_trailers){0};
	count(&t, 20, 0, 0);
	count(&t, 1, 6, 0);
	assert_int_equal(rd_trailers_icrc(&t), RD_TRAILER_MIXED);
	t = (struct rd_trailers){0};
	count(&t, 20, 2, 0);
	count(&t, 20, 0, 0);
	check(&t, "valid", "mixed", false,
		"end with the ICRC, valid in 40 of 40; a VCRC follows in 20, valid in 20");
	/* Most have another length: nothing follows from the others. */
	count(&t, 41, 3, 0);
	assert_int_equal(rd_trailers_icrc(&t), RD_TRAILER_UNKNOWN);
	/* Raw packets have no ICRC. */
	t = (struct rd_trailers){0};
	for (int i = 0; i < 20; i++)
		rd_trailers_count(&t, raw, 12);
	assert_int_equal(t.packets + t.other, 0);
}

/* Nothing behind the packet is read: each is the end of a block of the heap. */
TEST(short_packets)
{
	for (size_t i = 0; i < N_PACKETS; i++)
		for (uint32_t len = 0; len <= packets[i].len; len++) {
			struct rd_trailers t = {0};
			uint8_t *p = malloc(len ? len : 1);

			assert_non_null(p);
			memcpy(p, packets[i].data, len);
			if (len < 8) {
				assert_int_equal(rd_trailer_missing(p + (len ? 0 : 1), len), 0);
				rd_trailers_count(&t, p + (len ? 0 : 1), len);
				assert_int_equal(t.other, 1);
			} else {
				rd_trailer_missing(p, len);
				rd_trailers_count(&t, p, len);
			}
			free(p);
		}
}
