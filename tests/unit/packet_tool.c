/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prints what rd_packet_parse() finds in a capture, one line per frame: with -t the line for
 * people, else the fields that `tshark -T fields` prints for the list in
 * tests/e2e/tshark_fields.sh, in its form.
 */
#include <inttypes.h>
#include <pcap/pcap.h>
#include <rdmadump/packet.h>
#include <stdio.h>
#include <string.h>

static void print_aeth(const struct rd_packet *p)
{
	struct rd_aeth aeth;

	if (rd_packet_aeth(p, &aeth))
		printf("|%u|%u", aeth.syndrome, aeth.msn);
	else
		printf("||");
}

static void print_reth(const struct rd_packet *p)
{
	struct rd_atomic atomic;
	struct rd_reth reth;

	if (rd_packet_reth(p, &reth))
		printf("|0x%016" PRIx64 "|0x%08x|%u", reth.va, reth.rkey, reth.length);
	else if (rd_packet_atomic(p, &atomic))
		printf("|0x%016" PRIx64 "|0x%08x|", atomic.va, atomic.rkey);
	else
		printf("|||");
	if (rd_packet_atomic(p, &atomic))
		printf("|%" PRIu64 "|%" PRIu64, atomic.swap_or_add, atomic.compare);
	else
		printf("||");
}

static void print_deth(const struct rd_packet *p)
{
	struct rd_deth deth;

	if (rd_packet_deth(p, &deth))
		printf("|0x%016x|0x%08x", deth.qkey, deth.src_qp);
	else
		printf("||");
}

static void print_words(const struct rd_packet *p)
{
	const uint8_t *imm = rd_packet_header(p, RD_H_IMMDT);
	const uint8_t *inv = rd_packet_header(p, RD_H_IETH);
	const uint8_t *orig = rd_packet_header(p, RD_H_ATOMICACKETH);

	printf("|");
	if (orig)
		printf("%" PRIu64, rd_be64(orig));
	printf("|");
	if (imm)
		printf("%08x", rd_be32(imm));
	printf("|");
	if (inv)
		printf("%08x", rd_be32(inv));
}

static void print_mad(const struct rd_packet *p)
{
	struct rd_mad mad;
	struct rd_cm cm;

	if (!rd_packet_mad(p, &mad)) {
		printf("||||||||");
		return;
	}
	printf("|0x%02x|0x%02x|0x%04x|0x%016" PRIx64, mad.class, mad.method, mad.attribute,
		mad.tid);
	if (!rd_mad_cm(&mad, &cm))
		memset(&cm, 0, sizeof(cm));
	if (mad.class == RD_MAD_CM && mad.attribute == RD_CM_REQ)
		printf("|0x%06x|0x%06x||", cm.qpn, cm.psn);
	else if (mad.class == RD_MAD_CM && mad.attribute == RD_CM_REP)
		printf("|||0x%06x|0x%06x", cm.qpn, cm.psn);
	else
		printf("||||");
}

static void print_fields(unsigned long number, const struct rd_packet *p)
{
	printf("%lu", number);
	if (!p->op) {
		printf("\n");
		return;
	}
	printf("|%u|%d|%d|%u|%u|%u|0x%06x|%d|%u", p->opcode, !!(p->bth_bits & RD_BTH_SOLICITED),
		!!(p->bth_bits & RD_BTH_MIGREQ), p->pad, p->tver, p->pkey, p->dest_qp,
		!!(p->bth_bits & RD_BTH_ACKREQ), p->psn);
	print_aeth(p);
	print_reth(p);
	print_deth(p);
	print_words(p);
	print_mad(p);
	if (p->icrc + RD_ICRC_LEN <= p->caplen && p->icrc)
		printf("|0x%08x\n", rd_be32(p->data + p->icrc));
	else
		printf("|\n");
}

int main(int argc, char **argv)
{
	bool text = argc > 2 && !strcmp(argv[1], "-t");
	char error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *h;
	unsigned long number = 0;
	const u_char *data;
	pcap_t *in;

	if (argc < 2) {
		fprintf(stderr, "usage: packet_tool [-t] FILE\n");
		return 1;
	}
	in = pcap_open_offline_with_tstamp_precision(
		argv[argc - 1], PCAP_TSTAMP_PRECISION_NANO, error);
	if (!in) {
		fprintf(stderr, "packet_tool: %s\n", error);
		return 2;
	}
	while (pcap_next_ex(in, &h, &data) == 1) {
		struct rd_frame frame = {.data = data,
			.caplen = h->caplen,
			.len = h->len,
			.ts_ns = (uint64_t)h->ts.tv_sec * 1000000000 + (uint64_t)h->ts.tv_usec};
		struct rd_packet p;
		char line[512];

		number++;
		rd_packet_parse(RD_LINK_ETHERNET, data, h->caplen, h->len, &p);
		if (!text) {
			print_fields(number, &p);
			continue;
		}
		rd_packet_line(line, sizeof(line), &frame, RD_LINK_ETHERNET, RD_LINE_UTC);
		puts(line);
	}
	pcap_close(in);
	return 0;
}
