/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes what reads MADs and IP over InfiniBand, what makes text of them, and the analysis of MADs:
 * any bytes as the payload of a RoCE v2 packet to QP 1, and of InfiniBand packets to QPs 0, 1 and
 * 0x48, whole and cut short by as many bytes as the first one says.
 */
#include "fuzz.h"
#include <rdmadump/analysis.h>
#include <rdmadump/packet.h>

#define HEADERS 62 /* Ethernet to DETH */
#define NATIVE	28 /* LRH to DETH */
#define MOST	2048

/* Whether [p, p + n) is within the packet; nothing at all is, too. */
static bool inside(const struct rd_packet *packet, const uint8_t *p, uint32_t n)
{
	return !p || (p >= packet->data && p + n <= packet->data + packet->caplen);
}

static void read_cm(const struct rd_packet *p, const struct rd_mad *mad)
{
	struct rd_cm_ip ip;
	struct rd_cm cm;

	if (!rd_mad_cm(mad, &cm))
		return;
	require(inside(p, cm.local_gid, 16) && inside(p, cm.remote_gid, 16));
	require(inside(p, cm.private_data, cm.private_len));
	if (rd_cm_ip(&cm, &ip) && ip.length)
		require(inside(p, ip.src, ip.length) && inside(p, ip.dst, ip.length));
	rd_cm_reason_name(cm.reason);
	rd_cm_sidr_status_name(cm.status);
	rd_cm_apr_status_name(cm.status);
	rd_cm_mtu(cm.mtu);
}

static void read_names(const struct rd_mad *mad)
{
	char text[96], tiny[4];

	rd_mad_status_name(mad->class, rd_mad_status(mad));
	rd_mad_text(text, sizeof(text), mad->class, mad->method, mad->attribute);
	rd_mad_text(tiny, sizeof(tiny), mad->class, mad->method, mad->attribute);
}

static void read_ipoib(const struct rd_packet *p)
{
	struct rd_ipoib ip;

	if (rd_packet_ipoib(p, &ip))
		require(inside(p, ip.data,
			ip.ethertype == 0x0800	 ? 20
			: ip.ethertype == 0x0806 ? 8
						 : 40));
}

static void read_mad(const struct rd_frame *f, enum rd_link link)
{
	char line[900], small[60];
	struct rd_packet p;
	struct rd_smp smp;
	struct rd_mad mad;
	struct rd_sa sa;
	size_t n;

	rd_packet_parse(link, f->data, f->caplen, f->len, &p);
	if (rd_packet_mad(&p, &mad)) {
		require(inside(&p, mad.data, mad.left));
		rd_mad_smp(&mad, &smp);
		rd_mad_sa(&mad, &sa);
		read_cm(&p, &mad);
		read_names(&mad);
	}
	read_ipoib(&p);
	n = rd_packet_line(line, sizeof(line), f, link, 0);
	require_printable(line, n);
	require(rd_packet_line(small, sizeof(small), f, link, 0) < sizeof(small));
}

/* Each MAD is in one row, and no request has two outcomes. */
static void analyse(const struct rd_frame *frames, unsigned int n)
{
	const struct rd_analysis_config config = {.qp = RD_QP_UNKNOWN, .skip_icrc = true};
	struct rd_analysis *a;
	struct rd_report *r;
	uint64_t sum = 0;

	require(!rd_analysis_open(&a, &config, NULL) && !rd_analysis_file(a, "f", "f", NULL, NULL));
	rd_analysis_frames(a, &(struct rd_iface){.link = RD_LINK_INFINIBAND}, frames, n);
	require(!rd_analysis_report(a, &r, NULL));
	for (size_t i = 0; i < r->n_mads; i++) {
		const struct rd_mad_row *row = &r->mads[i];

		sum += row->frames.count;
		require(row->answered + row->unanswered.count + row->unjudged + row->repeated +
				row->segments <=
			row->frames.count);
	}
	require(sum + r->mads_left_out <= r->totals.mad_frames);
	rd_report_free(r);
	rd_analysis_close(a);
}

static void put_headers(uint8_t *p, uint32_t size)
{
	memset(p, 0, HEADERS);
	rd_put_be16(p + 12, 0x0800);
	p[14] = 0x45;
	rd_put_be16(p + 16, (uint16_t)(HEADERS - 14 + size + RD_ICRC_LEN));
	p[23] = 17;
	rd_put_be16(p + 36, 4791);
	rd_put_be16(p + 38, (uint16_t)(HEADERS - 34 + size + RD_ICRC_LEN));
	p[42] = RD_UD_SEND_ONLY;
	p[49] = 1; /* QP */
}

static void put_native(uint8_t *p, uint32_t size, uint32_t qp)
{
	memset(p, 0, NATIVE);
	p[1] = 2; /* a BTH follows */
	rd_put_be16(p + 2, 1);
	rd_put_be16(p + 4, (uint16_t)((NATIVE + size + RD_ICRC_LEN) / 4));
	rd_put_be16(p + 6, 2);
	p[8] = RD_UD_SEND_ONLY;
	rd_put_be32(p + 12, qp);
}

/* Whole, and without the last bytes. */
static void read_both(const uint8_t *p, uint32_t len, uint32_t cut, enum rd_link link)
{
	uint8_t *exact;

	cut = cut < len ? cut : len;
	read_mad(&(struct rd_frame){.data = p, .caplen = len, .len = len}, link);
	if (!cut)
		return;
	exact = exact_copy(p, len - cut);
	read_mad(&(struct rd_frame){.data = exact, .caplen = len - cut, .len = len}, link);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t qps[] = {0, 1, 0x48};
	uint32_t n, len;
	uint8_t *p;

	if (!size || size > MOST)
		return 0;
	n = (uint32_t)size - 1;
	p = malloc(HEADERS + n + RD_ICRC_LEN);
	require(p);
	memset(p + HEADERS + n, 0, RD_ICRC_LEN);
	put_headers(p, n);
	memcpy(p + HEADERS, data + 1, n);
	read_both(p, HEADERS + n + RD_ICRC_LEN, data[0], RD_LINK_ETHERNET);
	len = NATIVE + n + RD_ICRC_LEN;
	memset(p + NATIVE + n, 0, RD_ICRC_LEN);
	memcpy(p + NATIVE, data + 1, n);
	for (unsigned int i = 0; i < 3; i++) {
		const struct rd_frame frame = {.data = p, .caplen = len, .len = len};
		const struct rd_frame frames[] = {frame, frame, frame};

		put_native(p, n, qps[i]);
		read_both(p, len, data[0], RD_LINK_INFINIBAND);
		if (data[0] % 3 == i)
			analyse(frames, 3);
	}
	free(p);
	return 0;
}
