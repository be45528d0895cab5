/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes what reads MADs and what makes text of them: any bytes as a MAD in a RoCE v2 packet, whole
 * and cut short by as many bytes as the first one says.
 */
#include <rdmadump/packet.h>
#include <stdlib.h>

#define HEADERS 62 /* Ethernet to DETH */
#define MOST	2048

static void require(bool right)
{
	if (!right)
		abort();
}

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

static void read_mad(const struct rd_frame *f)
{
	char line[900], small[60];
	struct rd_packet p;
	struct rd_smp smp;
	struct rd_mad mad;
	struct rd_sa sa;
	size_t n;

	rd_packet_parse(RD_LINK_ETHERNET, f->data, f->caplen, f->len, &p);
	if (rd_packet_mad(&p, &mad)) {
		require(inside(&p, mad.data, mad.left));
		rd_mad_smp(&mad, &smp);
		rd_mad_sa(&mad, &sa);
		read_cm(&p, &mad);
	}
	n = rd_packet_line(line, sizeof(line), f, RD_LINK_ETHERNET, 0);
	for (size_t i = 0; i < n; i++)
		require(line[i] >= ' ' && line[i] <= '~');
	require(rd_packet_line(small, sizeof(small), f, RD_LINK_ETHERNET, 0) < sizeof(small));
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t len, cut;
	uint8_t *p;

	if (!size || size > MOST)
		return 0;
	len = HEADERS + (uint32_t)size - 1 + RD_ICRC_LEN;
	cut = data[0] < len ? data[0] : len;
	p = malloc(len);
	require(p);
	put_headers(p, (uint32_t)size - 1);
	memcpy(p + HEADERS, data + 1, size - 1);
	memset(p + len - RD_ICRC_LEN, 0, RD_ICRC_LEN);
	read_mad(&(struct rd_frame){.data = p, .caplen = len, .len = len});
	if (cut) { /* in memory of its own, so that a sanitizer sees a byte too far */
		uint8_t *exact = malloc(len - cut + 1);

		require(exact);
		memcpy(exact + 1, p, len - cut);
		read_mad(&(struct rd_frame){.data = exact + 1, .caplen = len - cut, .len = len});
		free(exact);
	}
	free(p);
	return 0;
}
