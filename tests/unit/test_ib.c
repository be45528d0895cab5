/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One packet of native InfiniBand: IP over InfiniBand, groups. */
#include "test.h"
#include "test_packet_make.h"

#define BTH  8 /* behind the LRH */
#define DETH (BTH + 12)
#define MAD  (DETH + 8)
#define HOST 2 /* a LID */

enum { SEND_FIRST, SEND_MIDDLE };

static struct make ib_make(
	unsigned int opcode, uint32_t qp, uint16_t slid, uint16_t dlid, uint32_t body)
{
	struct make m = {.n = 0};

	make_packet(&m, MAKE_IB, opcode, qp, body, 0);
	rd_put_be16(m.b + 2, dlid);
	rd_put_be16(m.b + 6, slid);
	return m;
}

static const char *ib_line(const struct make *m)
{
	static char line[800];
	const struct rd_frame frame = make_frame(m);

	rd_packet_line(line, sizeof(line), &frame, RD_LINK_INFINIBAND, RD_LINE_NO_TIME);
	return line;
}

static bool is_ipoib(const struct make *m, uint32_t caplen)
{
	uint8_t *exact = make_exact(m->b, caplen);
	struct rd_packet p;
	struct rd_ipoib ip;
	bool is;

	rd_packet_parse(RD_LINK_INFINIBAND, exact, caplen, m->n, &p);
	is = rd_packet_ipoib(&p, &ip);
	free(exact);
	return is;
}

TEST(ipoib_is_recognized)
{
	struct make m = ib_make(RD_UD_SEND_ONLY, 0x100, HOST, 3, 8 + 64);
	uint8_t *payload = m.b + MAD;

	rd_put_be32(payload, 0x08000000);
	rd_put_be32(payload + 4, 0x45000000 | 60);
	payload[13] = 17;
	memcpy(payload + 16, "\x0a\1\0\1\x0a\1\0\2", 8);
	for (uint32_t n = 0; n <= m.n; n++)
		assert_int_equal(is_ipoib(&m, n), n >= MAD + 4 + 20);
	assert_non_null(strstr(ib_line(&m), " IPoIB IPv4 10.1.0.1 > 10.1.0.2 protocol 17 "));
	rd_put_be16(payload + 6, 59); /* another length than the packet has */
	assert_false(is_ipoib(&m, m.n));
	rd_put_be16(payload + 6, 60);
	payload[3] = 1; /* reserved */
	assert_false(is_ipoib(&m, m.n));
	rd_put_be32(payload, 0x08060000);
	assert_false(is_ipoib(&m, m.n));
	rd_put_be16(payload + 4, 32);
	assert_true(is_ipoib(&m, m.n));
	assert_non_null(strstr(ib_line(&m), " IPoIB ARP"));
	rd_put_be32(payload, 0x86dd0000);
	rd_put_be32(payload + 4, 0x60000000);
	rd_put_be16(payload + 8, 20);
	payload[10] = 58;
	memset(payload + 12, 0, 32);
	payload[27] = 1;
	payload[43] = 2;
	assert_true(is_ipoib(&m, m.n));
	assert_non_null(strstr(ib_line(&m), " IPoIB IPv6 ::1 > ::2 protocol 58 "));
	/* Connected mode: the first packet of a longer datagram. */
	m = ib_make(SEND_FIRST, 0x100, HOST, 3, 256);
	rd_put_be32(m.b + DETH, 0x08000000);
	rd_put_be32(m.b + DETH + 4, 0x45000000 | 2044);
	assert_true(is_ipoib(&m, m.n));
	rd_put_be32(m.b + DETH + 4, 0x45000000 | 252);
	assert_false(is_ipoib(&m, m.n));
	m = ib_make(SEND_MIDDLE, 0x100, HOST, 3, 256);
	rd_put_be32(m.b + DETH, 0x08000000);
	rd_put_be32(m.b + DETH + 4, 0x45000000 | 2044);
	assert_false(is_ipoib(&m, m.n));
}

TEST(groups_by_lid)
{
	static const struct {
		uint16_t dlid;
		bool group;
	} rows[] = {{1, false}, {0xbfff, false}, {0xc000, true}, {0xfffe, true}, {0xffff, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct make m = ib_make(RD_UD_SEND_ONLY, 0x100, HOST, rows[i].dlid, 8);
		struct rd_packet p;
		struct rd_lrh lrh;

		m.b[0] = 3 << 4;
		m.b[1] |= 9 << 4;
		rd_packet_parse(RD_LINK_INFINIBAND, m.b, m.n, m.n, &p);
		assert_int_equal(rd_packet_is_multicast(&p), rows[i].group);
		assert_true(rd_packet_lrh(&p, &lrh));
		same(lrh.dlid, rows[i].dlid, lrh.slid, HOST, lrh.vl, 3, lrh.sl, 9);
	}
}
