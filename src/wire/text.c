/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One line of text for a frame, in the style of tcpdump: time, direction, addresses, content. It
 * contains only numbers and words of this program.
 */
#include "text.h"
#include <inttypes.h>
#include <rdmadump/array.h>
#include <stdio.h>
#include <time.h>

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_ARP  0x0806

#define NS_PER_S UINT64_C(1000000000)

#define ADDRESSES_WIDTH 26 /* "10.0.0.1 > 10.0.0.2" fits, and most others */
#define OPCODE_WIDTH	20 /* "RC_READ_RESP_MIDDLE" */

static void add_span(struct rd_line *line, int64_t span_ns)
{
	uint64_t ns = span_ns < 0 ? -(uint64_t)span_ns : (uint64_t)span_ns;
	uint64_t seconds = ns / NS_PER_S;

	rd_line_add(line, "%s%02" PRIu64 ":%02u:%02u.%09" PRIu64 " ", span_ns < 0 ? "-" : "",
		seconds / 3600, (unsigned int)(seconds / 60 % 60), (unsigned int)(seconds % 60),
		ns % NS_PER_S);
}

static void add_time(struct rd_line *line, uint64_t ts_ns, unsigned int style)
{
	time_t seconds = (time_t)(ts_ns / NS_PER_S);
	uint64_t ns = ts_ns % NS_PER_S;
	struct tm tm;

	if (style & RD_LINE_NO_TIME)
		return;
	if (style & (RD_LINE_SINCE_LAST | RD_LINE_SINCE_FIRST)) {
		add_span(line, (int64_t)ts_ns);
		return;
	}
	if (style & RD_LINE_EPOCH) {
		rd_line_add(line, "%" PRIu64 ".%09" PRIu64 " ", ts_ns / NS_PER_S, ns);
		return;
	}
	if (!(style & RD_LINE_UTC ? gmtime_r(&seconds, &tm) : localtime_r(&seconds, &tm)))
		return;
	if (style & RD_LINE_DATE)
		rd_line_add(line, "%04d-%02d-%02d ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
	rd_line_add(line, "%02d:%02d:%02d.%09" PRIu64 " ", tm.tm_hour, tm.tm_min, tm.tm_sec, ns);
}

static void add_direction(struct rd_line *line, uint8_t direction)
{
	static const char *const names[] = {
		[RD_DIR_UNKNOWN] = "?", [RD_DIR_IN] = "IN", [RD_DIR_OUT] = "OUT"};

	rd_line_add(line, "%-4s", names[direction <= RD_DIR_OUT ? direction : RD_DIR_UNKNOWN]);
}

/* VLAN tags and MPLS labels, which begin at `at` if `type` says so. */
static void add_tags(struct rd_line *line, const struct rd_packet *p, uint16_t type, uint32_t at)
{
	for (; at + 4 <= p->l3 && rd_is_vlan(type); at += 4) {
		rd_line_add(
			line, " vlan %d prio %d", rd_be16(p->data + at) & 0xfff, p->data[at] >> 5);
		type = rd_be16(p->data + at + 2);
	}
	for (; at + 4 <= p->l3 && rd_is_mpls(type); at += 4)
		rd_line_add(line, " mpls %u", rd_be32(p->data + at) >> 12);
}

static void add_ethernet(struct rd_line *line, const struct rd_packet *p)
{
	rd_line_address(line, p->data + 6, 6);
	rd_line_add(line, " > ");
	rd_line_address(line, p->data, 6);
	add_tags(line, p, rd_be16(p->data + 12), 14);
	rd_line_add(line, " ");
}

/* The type of a cooked packet, its interface if known, the sender's address. */
static void add_cooked(struct rd_line *line, const struct rd_packet *p, bool second)
{
	static const char *const types[] = {"in", "broadcast", "multicast", "other host", "out"};
	const uint8_t *sll = p->data;
	unsigned int type = second ? sll[10] : rd_be16(sll);
	unsigned int length = second ? sll[11] : rd_be16(sll + 4);

	if (second)
		rd_line_add(line, "ifindex %u ", rd_be32(sll + 4));
	rd_line_add(line, "%s", type < RD_COUNT(types) ? types[type] : "unknown");
	if (length == 6) {
		rd_line_add(line, " from ");
		rd_line_address(line, sll + (second ? 12 : 6), 6);
	}
	add_tags(line, p, rd_be16(second ? sll : sll + 14), second ? 20 : 16);
	rd_line_add(line, " ");
}

static void add_link(struct rd_line *line, const struct rd_packet *p, enum rd_link link)
{
	if (link == RD_LINK_ETHERNET && p->l3)
		add_ethernet(line, p);
	else if (link == RD_LINK_SLL && p->caplen >= 16)
		add_cooked(line, p, false);
	else if (link == RD_LINK_SLL2 && p->caplen >= 20)
		add_cooked(line, p, true);
	else if (link == RD_LINK_INFINIBAND && p->caplen >= 8)
		rd_line_add(line, "VL %d SL %d ", p->data[0] >> 4, p->data[1] >> 4);
}

static void add_ports(struct rd_line *line, const struct rd_packet *p, unsigned int which)
{
	bool ports = p->l4 && (p->proto == 6 || p->proto == 17) && p->caplen >= p->l4 + 4;

	if (ports && p->kind == RD_KIND_OTHER)
		rd_line_add(line, ":%u", rd_be16(p->data + p->l4 + which));
}

static void add_addresses(struct rd_line *line, const struct rd_packet *p, enum rd_link link)
{
	const uint8_t *src, *dst;
	size_t start = line->used, used;
	unsigned int length = rd_packet_addresses(p, &src, &dst);

	if (length) {
		rd_line_address(line, src, length);
		add_ports(line, p, 0);
		rd_line_add(line, " > ");
		rd_line_address(line, dst, length);
		add_ports(line, p, 2);
	} else if (link == RD_LINK_INFINIBAND && p->caplen >= 8) {
		rd_line_add(line, "LID %u > LID %u", rd_be16(p->data + 6), rd_be16(p->data + 2));
	} else if (link == RD_LINK_ETHERNET && p->l3) {
		rd_line_address(line, p->data + 6, 6);
		rd_line_add(line, " > ");
		rd_line_address(line, p->data, 6);
	}
	used = line->used - start;
	rd_line_add(line, "%*s", (int)(ADDRESSES_WIDTH > used ? ADDRESSES_WIDTH - used : 1), "");
}

/* Adds what the opcode column does not show; of an ACK it shows ACK, NAK or RNR NAK. */
static void add_aeth(struct rd_line *line, const struct rd_packet *p)
{
	struct rd_aeth aeth;
	uint32_t us;

	if (!rd_packet_aeth(p, &aeth))
		return;
	us = rd_aeth_rnr_us(aeth.value);
	if (!(p->op->bits & RD_OP_ACK) && (aeth.kind == RD_AETH_RNR || aeth.kind == RD_AETH_NAK))
		rd_line_add(line, aeth.kind == RD_AETH_RNR ? " RNR NAK" : " NAK");
	switch (aeth.kind) {
	case RD_AETH_ACK:
		if (rd_aeth_credits(aeth.value) >= 0)
			rd_line_add(line, " credits %d", rd_aeth_credits(aeth.value));
		break;
	case RD_AETH_RNR:
		rd_line_add(line, " wait %u.%02u ms", us / 1000, us % 1000 / 10);
		break;
	case RD_AETH_NAK:
		rd_line_add(line, " code %u (%s)", aeth.value, rd_aeth_nak_name(aeth.value));
		break;
	default:
		rd_line_add(line, " reserved syndrome 0x%02x", aeth.syndrome);
		break;
	}
	rd_line_add(line, " MSN %u", aeth.msn);
}

static void add_ipoib(struct rd_line *line, const struct rd_packet *p)
{
	struct rd_ipoib ip;
	unsigned int length;
	const uint8_t *src;

	if (!rd_packet_ipoib(p, &ip))
		return;
	rd_line_add(line, " IPoIB %s", rd_ethertype_name(ip.ethertype));
	if (ip.ethertype == ETHERTYPE_ARP)
		return;
	length = ip.ethertype == ETHERTYPE_IPV4 ? 4 : 16;
	src = ip.data + (length == 4 ? 12 : 8);
	rd_line_add(line, " ");
	rd_line_address(line, src, length);
	rd_line_add(line, " > ");
	rd_line_address(line, src + length, length);
	rd_line_add(line, " protocol %u", ip.data[length == 4 ? 9 : 6]);
}

static void add_headers(struct rd_line *line, const struct rd_packet *p)
{
	const uint8_t *h;
	struct rd_atomic atomic;
	struct rd_deth deth;
	struct rd_reth reth;

	if (rd_packet_deth(p, &deth))
		rd_line_add(line, " from QP 0x%06x qkey 0x%08x", deth.src_qp, deth.qkey);
	if ((h = rd_packet_header(p, RD_H_RDETH)))
		rd_line_add(line, " EE context 0x%06x", rd_be24(h + 1));
	if ((h = rd_packet_header(p, RD_H_XRCETH)))
		rd_line_add(line, " XRC SRQ 0x%06x", rd_be24(h + 1));
	if ((h = rd_packet_header(p, RD_H_FETH)))
		rd_line_add(line, " placement 0x%x range %u", h[3] & 0xf, h[3] >> 4 & 3);
	if (rd_packet_reth(p, &reth))
		rd_line_add(line, " va 0x%" PRIx64 " rkey 0x%08x dmalen %u", reth.va, reth.rkey,
			reth.length);
	if (rd_packet_atomic(p, &atomic))
		rd_line_add(line,
			" va 0x%" PRIx64 " rkey 0x%08x swap/add 0x%" PRIx64 " compare 0x%" PRIx64,
			atomic.va, atomic.rkey, atomic.swap_or_add, atomic.compare);
	add_aeth(line, p);
	if ((h = rd_packet_header(p, RD_H_ATOMICACKETH)))
		rd_line_add(line, " original 0x%" PRIx64, rd_be64(h));
	if ((h = rd_packet_header(p, RD_H_IMMDT)))
		rd_line_add(line, " imm 0x%08x", rd_be32(h));
	if ((h = rd_packet_header(p, RD_H_IETH)))
		rd_line_add(line, " invalidate rkey 0x%08x", rd_be32(h));
	rd_line_mad(line, p);
	add_ipoib(line, p);
}

static void add_marks(struct rd_line *line, const struct rd_packet *p)
{
	static const struct {
		uint8_t bit;
		const char *name;
	} marks[] = {
		{RD_BTH_SOLICITED, " solicited"},
		{RD_BTH_ACKREQ, " ackreq"},
		{RD_BTH_FECN, " FECN"},
		{RD_BTH_BECN, " BECN"},
	};

	for (size_t i = 0; i < RD_COUNT(marks); i++)
		if (p->bth_bits & marks[i].bit)
			rd_line_add(line, "%s", marks[i].name);
	if (rd_packet_tclass(p) >> 2)
		rd_line_add(line, " DSCP %u", (unsigned int)rd_packet_tclass(p) >> 2);
	if ((rd_packet_tclass(p) & 3) == 3)
		rd_line_add(line, " ECN-CE");
}

/* A NAK has the opcode of an ACK; it is shown as a NAK. */
static void format_opcode(char *text, size_t capacity, const struct rd_packet *p)
{
	const char *name = p->op->name;
	struct rd_aeth aeth;

	if (!name)
		snprintf(text, capacity, "opcode 0x%02x", p->opcode);
	else if (!(p->op->bits & RD_OP_ACK) || !rd_packet_aeth(p, &aeth) ||
		 (aeth.kind != RD_AETH_RNR && aeth.kind != RD_AETH_NAK))
		snprintf(text, capacity, "%s", name);
	else
		snprintf(text, capacity, "%.*s_%s", (int)strcspn(name, "_"), name,
			aeth.kind == RD_AETH_RNR ? "RNR_NAK" : "NAK");
}

static void add_transport(struct rd_line *line, const struct rd_packet *p)
{
	static const char *const kinds[] = {
		[RD_KIND_ROCE1] = "RoCEv1", [RD_KIND_ROCE2] = "RoCEv2", [RD_KIND_IB] = "IB"};
	char name[32];

	rd_line_add(line, "%-6s ", kinds[p->kind]);
	if (!p->op) {
		rd_line_add(line, "BTH not captured");
		return;
	}
	format_opcode(name, sizeof(name), p);
	rd_line_add(line, "%-*s QP 0x%06x PSN %-8u", OPCODE_WIDTH, name, p->dest_qp, p->psn);
	if (p->pkey != 0xffff)
		rd_line_add(line, " pkey 0x%04x", p->pkey);
	add_headers(line, p);
	add_marks(line, p);
	if (p->payload_len)
		rd_line_add(line, " payload %u", p->payload_len);
}

size_t rd_packet_line(char *buf, size_t capacity, const struct rd_frame *frame, enum rd_link link,
	unsigned int style)
{
	struct rd_line line = {.buf = buf, .capacity = capacity};
	struct rd_packet p;

	if (!capacity)
		return 0;
	buf[0] = '\0';
	rd_packet_parse(link, frame->data, frame->caplen, frame->len, &p);
	add_time(&line, frame->ts_ns, style);
	add_direction(&line, frame->direction);
	if (style & RD_LINE_LINK)
		add_link(&line, &p, link);
	add_addresses(&line, &p, link);
	if (p.kind != RD_KIND_OTHER)
		add_transport(&line, &p);
	else
		rd_line_other(&line, &p);
	if (p.flags & RD_PACKET_MALFORMED)
		rd_line_add(&line, " [malformed]");
	rd_line_add(&line, " len %u", frame->len);
	if (frame->caplen < frame->len)
		rd_line_add(&line, " [captured %u]", frame->caplen);
	if (frame->flags & RD_FRAME_CRC_ERROR)
		rd_line_add(&line, " [CRC error]");
	return line.used;
}
