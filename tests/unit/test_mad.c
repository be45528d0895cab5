/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* MADs, written byte by byte as in the standards. */
#include "test.h"
#include "test_packet_make.h"

#define MAD_LEN	 256
#define MAD_AT	 (42 + 12 + 8) /* Ethernet to BTH, DETH */
#define MESSAGE	 24
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static struct make m;

/* A MAD in RoCE v2, zero but for its header. */
static uint8_t *make_mad(uint8_t class, uint8_t method, uint16_t attribute)
{
	uint8_t *mad = m.b + MAD_AT;

	m.n = 0;
	make_packet(&m, MAKE_V2_IPV4, RD_UD_SEND_ONLY, 1, 8 + MAD_LEN, 0);
	memset(mad, 0, MAD_LEN);
	mad[0] = 1;
	mad[1] = class;
	mad[2] = 2;
	mad[3] = method;
	rd_put_be16(mad + 16, attribute);
	return mad;
}

/* What is behind the header of a message of the CM, with both ids. */
static uint8_t *make_cm(unsigned int attribute)
{
	uint8_t *message = make_mad(RD_MAD_CM, 3, (uint16_t)attribute) + MESSAGE;

	rd_put_be32(message, 0x11223344);
	rd_put_be32(message + 4, 0x55667788);
	return message;
}

static struct rd_mad parse_mad(struct rd_packet *p)
{
	struct rd_mad mad;

	expect("1 1", rd_packet_parse(RD_LINK_ETHERNET, m.b, m.n, m.n, p), rd_packet_mad(p, &mad));
	return mad;
}

static struct rd_cm parse_cm(void)
{
	struct rd_packet p;
	struct rd_mad mad = parse_mad(&p);
	struct rd_cm cm;

	assert_true(rd_mad_cm(&mad, &cm));
	return cm;
}

static void assert_line_has(const char *text)
{
	struct rd_frame frame = make_frame(&m);
	char line[800];

	rd_packet_line(line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_NO_TIME);
	if (!strstr(line, text))
		fail_msg("'%s' is not in '%s'", text, line);
}

static void put_req(uint8_t *r)
{
	rd_put_be64(r + 8, 0x0000000001061c06); /* TCP port 7174 */
	rd_put_be32(r + 28, 0x80010000);
	rd_put_be32(r + 32, 0xabcdef10); /* QPN, responder resources */
	rd_put_be32(r + 36, 0x00000003); /* EECN, initiator depth */
	r[43] = 20 << 3 | 3 << 1 | 1;	 /* timeout, transport, flow control */
	rd_put_be32(r + 44, 0x12345600 | 19 << 3 | 6);
	rd_put_be16(r + 48, 0x8001);
	r[50] = 4 << 4 | 7;	      /* MTU 2048, RNR retries */
	r[51] = 15 << 4 | 1 << 3 | 1; /* CM retries, SRQ, XRC */
	rd_put_be16(r + 52, 17);
	rd_put_be16(r + 54, 18);
	memset(r + 56, 0xaa, 16);
	memset(r + 72, 0xbb, 16);
	r[95] = 14 << 3;
	r[140] = 0;
	r[141] = 4 << 4;
	rd_put_be16(r + 142, 42980);
	memcpy(r + 156, "\x0a\x00\x00\x02", 4);
	memcpy(r + 172, "\x0a\x00\x00\x01", 4);
}

TEST(req)
{
	struct rd_cm_ip ip;
	struct rd_cm cm;

	put_req(make_cm(RD_CM_REQ));
	cm = parse_cm();
	expect("0x11223344 0 0x0000000001061c06 0xabcdef 0x10", cm.local_id, cm.remote_id,
		cm.service_id, cm.qpn, cm.responder_resources);
	expect("3 20 3 1 0x123456 6", cm.initiator_depth, cm.remote_timeout, cm.transport,
		cm.srq && cm.xrc, cm.psn, cm.retry_count);
	expect("2048 7 0xaa", rd_cm_mtu(cm.mtu), cm.rnr_retry, cm.local_gid[15]);
	expect("0xbb 14 67108864 92 1 6 7174", cm.remote_gid[0], cm.ack_timeout,
		rd_cm_timeout_ns(cm.ack_timeout), cm.private_len, rd_cm_ip(&cm, &ip), ip.protocol,
		ip.port);
	expect("42980 4", ip.src_port, ip.length);
	assert_line_has(" id 0x11223344 service 0x0000000001061c06 own QP 0xabcdef 10.0.0.2:42980 "
			"> 10.0.0.1:7174 first PSN 1193046 "
			"resources 16 depth 3 RNR retries unlimited SRQ retries 6 MTU 2048 "
			"ACK timeout 67.1 ms CM timeout 4.3 s XRC");
}

/* Addresses of IPv6, and private data that are not librdmacm's. */
TEST(sockets)
{
	struct rd_cm_ip ip;
	struct rd_cm cm;
	uint8_t *r = make_cm(RD_CM_REQ);

	put_req(r);
	r[141] = 6 << 4;
	r[144] = 0xfd;
	r[175] = 1;
	cm = parse_cm();
	expect("1 16 0xfd 1", rd_cm_ip(&cm, &ip), ip.length, ip.src[0], ip.dst[15]);
	r[141] = 5 << 4;
	cm = parse_cm();
	expect("1 0", rd_cm_ip(&cm, &ip), ip.length);
	assert_line_has(" port 7174 first PSN");
	r[11] = 1; /* another service */
	cm = parse_cm();
	assert_false(rd_cm_ip(&cm, &ip));
}

TEST(rep)
{
	struct rd_cm cm;
	uint8_t *r = make_cm(RD_CM_REP);

	rd_put_be32(r + 8, 0x80010000);
	rd_put_be32(r + 12, 0xabcdef00);
	rd_put_be32(r + 20, 0x12345600);
	r[24] = 16;
	r[25] = 3;
	r[26] = 15 << 3 | 1 << 1 | 1;
	r[27] = 5 << 5 | 1 << 4;
	cm = parse_cm();
	expect("0x11223344 0x55667788 0xabcdef 0x123456 16 3", cm.local_id, cm.remote_id, cm.qpn,
		cm.psn, cm.responder_resources, cm.initiator_depth);
	expect("5 1 196", cm.rnr_retry, cm.srq, cm.private_len);
	assert_line_has("first PSN 1193046 resources 16 depth 3 RNR retries 5 SRQ");
}

TEST(refusals)
{
	struct rd_cm cm;
	uint8_t *r = make_cm(RD_CM_REJ);

	r[8] = 1 << 6;
	rd_put_be16(r + 10, 28);
	cm = parse_cm();
	expect("1 28 148", cm.message, cm.reason, cm.private_len);
	assert_line_has("of REP reason 28 (consumer reject)");
	rd_put_be16(r + 10, 999);
	assert_line_has("reason 999 (unknown)");
	assert_null(rd_cm_reason_name(34)); /* reserved */
	assert_string_equal(rd_cm_reason_name(35), "unsupported vendor option");
	assert_null(rd_cm_reason_name(36));

	r = make_cm(RD_CM_MRA);
	r[8] = 2 << 6;
	r[9] = 18 << 3;
	cm = parse_cm();
	expect("2 18", cm.message, cm.local_timeout);
	assert_line_has("of LAP service timeout 1.1 s");

	r = make_cm(RD_CM_DREQ);
	rd_put_be32(r + 8, 0xabcdef00);
	expect("0xabcdef 220", parse_cm().remote_qpn, parse_cm().private_len);
}

TEST(sidr)
{
	struct rd_cm cm;
	uint8_t *r = make_cm(RD_CM_SIDR_REQ);

	rd_put_be16(r + 4, 0x8001);
	rd_put_be64(r + 8, 0x0000000001111c06);
	cm = parse_cm();
	expect("0x11223344 0 0x0000000001111c06 216", cm.local_id, cm.remote_id, cm.service_id,
		cm.private_len);

	r = make_cm(RD_CM_SIDR_REP);
	r[4] = 1;
	rd_put_be32(r + 8, 0xabcdef00);
	rd_put_be64(r + 12, 0x0000000001111c06);
	rd_put_be32(r + 20, 0x01234567);
	cm = parse_cm();
	expect("0x11223344 0 1 0xabcdef 0x0000000001111c06 0x01234567", cm.remote_id, cm.local_id,
		cm.status, cm.qpn, cm.service_id, cm.qkey);
	assert_line_has(" peer's id 0x11223344 service 0x0000000001111c06 own QP 0xabcdef qkey "
			"0x01234567 status 1 (service id not supported)");
}

TEST(paths)
{
	struct rd_cm cm;
	uint8_t *r = make_cm(RD_CM_LAP);

	rd_put_be32(r + 12, 0xabcdef00 | 20 << 3);
	rd_put_be16(r + 20, 17);
	rd_put_be16(r + 22, 18);
	r[24] = 0xfd;
	r[39] = 2;
	r[40] = 0xfd;
	r[55] = 1;
	r[63] = 14 << 3;
	cm = parse_cm();
	expect("0xabcdef 14", cm.remote_qpn, cm.ack_timeout);
	assert_line_has("peer's QP 0xabcdef fd00::2 > fd00::1");

	r = make_cm(RD_CM_APR);
	r[9] = 5;
	assert_int_equal(parse_cm().status, 5);
	assert_line_has("status 5 (is the current path)");
}

/* Private data begin where the standard says, and end with the MAD, even in a longer datagram. */
TEST(private_data)
{
	static const uint8_t begin[] = {140, 10, 84, 36, 8, 12, 8, 16, 96, 64, 84, 0, 0};

	for (uint16_t i = 0; i < COUNT(begin); i++)
		for (uint32_t more = 0; more <= 8; more += 4) {
			struct rd_packet p;
			struct rd_mad mad;
			struct rd_cm cm;
			uint8_t *r = make_mad(RD_MAD_CM, 3, (uint16_t)(RD_CM_REQ + i));

			mad = parse_mad(&p);
			mad.left += more;
			assert_true(rd_mad_cm(&mad, &cm));
			if (begin[i]) {
				assert_ptr_equal(cm.private_data, r + MESSAGE + begin[i]);
				assert_int_equal(
					cm.private_len, MAD_LEN - MESSAGE - (uint32_t)begin[i]);
			} else {
				assert_null(cm.private_data);
				assert_int_equal(cm.private_len, 0);
			}
		}
}

/* Cut at any length: no byte beyond it is read, and no field invented. */
TEST(cm_cut)
{
	static const uint8_t needs[] = {52, 10, 12, 28, 8, 12, 8, 16, 24, 16, 10, 8, 8};

	for (uint16_t i = 0; i < COUNT(needs); i++)
		for (uint32_t n = 0; n <= MAD_LEN; n++) {
			struct rd_packet p;
			struct rd_mad mad;
			struct rd_cm cm;
			uint8_t *exact;
			bool has;

			make_mad(RD_MAD_CM, 3, (uint16_t)(RD_CM_REQ + i));
			exact = make_exact(m.b, MAD_AT + n);
			rd_packet_parse(RD_LINK_ETHERNET, exact, MAD_AT + n, m.n, &p);
			has = rd_packet_mad(&p, &mad);
			assert_int_equal(has, n >= MESSAGE);
			if (has) {
				has = rd_mad_cm(&mad, &cm);
				assert_int_equal(has, n >= MESSAGE + (uint32_t)needs[i]);
			}
			if (has && cm.private_data)
				assert_true(cm.private_data + cm.private_len <= exact + MAD_AT + n);
			free(exact);
		}
}

TEST(smp)
{
	struct rd_packet p;
	struct rd_mad mad;
	struct rd_smp smp;
	uint8_t *b = make_mad(0x81, 0x81, 0x15);

	rd_put_be16(b + 4, 0x801c);
	b[6] = 2;
	b[7] = 5;
	rd_put_be64(b + 24, 0x1122334455667788);
	rd_put_be16(b + 32, 0xffff);
	rd_put_be16(b + 34, 7);
	mad = parse_mad(&p);
	expect("1 1 2 5 0x1c", rd_mad_smp(&mad, &smp), smp.directed && smp.returning,
		smp.hop_pointer, smp.hop_count, rd_mad_status(&mad));
	assert_line_has(
		"SMP (directed) GetResp PortInfo status 0x001c (invalid attribute or modifier) "
		"hop 2 of 5 back");
	b[1] = 1;
	mad = parse_mad(&p);
	expect("1 0 0 0x801c", rd_mad_smp(&mad, &smp), smp.directed, smp.hop_count,
		rd_mad_status(&mad));
	mad.left = 35;
	assert_false(rd_mad_smp(&mad, &smp));
}

TEST(sa)
{
	struct rd_packet p;
	struct rd_mad mad;
	struct rd_sa sa;
	uint8_t *b = make_mad(0x03, 0x92, 0x35);

	b[24] = 1;
	b[25] = 1;
	b[26] = 0x1f << 3 | 5;
	b[27] = 9;
	rd_put_be32(b + 28, 3);
	rd_put_be64(b + 48, 0x1234);
	mad = parse_mad(&p);
	expect("1 1 5 3", rd_mad_sa(&mad, &sa), sa.rmpp_type, sa.rmpp_flags, sa.segment);
	assert_line_has("SA GetTableResp PathRecord RMPP data segment 3");
	mad.left = 55;
	assert_false(rd_mad_sa(&mad, &sa));
}

/* The codes of all classes, and those of SA. */
TEST(status_names)
{
	static const struct {
		unsigned int class, status;
		const char *name;
	} rows[] = {{RD_MAD_SA, 0x100, "no resources"}, {RD_MAD_SA, 0x200, "invalid request"},
		{RD_MAD_SA, 0x300, "no records"}, {RD_MAD_SA, 0x400, "too many records"},
		{RD_MAD_SA, 0x500, "invalid GID"}, {RD_MAD_SA, 0x600, "insufficient components"},
		{RD_MAD_SA, 0x700, "denied"}, {RD_MAD_SA, 0x800, "priority suggested"},
		{RD_MAD_SMP_DIRECTED, 4, "version not supported"},
		{RD_MAD_SMP_DIRECTED, 8, "method not supported"},
		{RD_MAD_SA, 12, "method not supported for the attribute"},
		{RD_MAD_SA, 28, "invalid attribute or modifier"}, {RD_MAD_SA, 0x900, NULL},
		{RD_MAD_SMP_DIRECTED, 0x100, NULL}, {RD_MAD_SMP, 4, "version not supported"},
		{4, 8, "method not supported"}, {4, 1, "busy"}, {4, 2, "redirect"},
		{4, 0x300, NULL}, {4, 0x101, NULL}, {RD_MAD_SA, 0xff00, NULL}, {RD_MAD_SA, 0, NULL},
		{RD_MAD_SMP, 0x10, NULL}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *name = rd_mad_status_name(rows[i].class, rows[i].status);

		if (!rows[i].name)
			assert_null(name);
		else if (!name || strcmp(name, rows[i].name) != 0)
			fail_msg("0x%x: %s", rows[i].status, name ? name : "none");
	}
}
