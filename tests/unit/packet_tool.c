/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prints what rd_packet_parse() finds in a capture, one line per frame: with -i the fields of
 * iWARP, with -l those of native InfiniBand alone, with -p those of pause frames, else those that
 * `tshark -T fields` prints for the list in tests/e2e/tshark_fields.sh, in its form.
 */
#include <inttypes.h>
#include <pcap/pcap.h>
#include <rdmadump/packet.h>
#include <stdio.h>
#include <string.h>

#define DLT_ERF	   197
#define ERF_HEADER 16
#define ERF_IB	   21

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

/* The columns of a group, empty. */
static void print_none(unsigned int columns)
{
	while (columns--)
		printf("|");
}

static void print_cm_req(const struct rd_cm *cm)
{
	struct rd_cm_ip ip;

	printf("|0x%06x|0x%06x", cm->qpn, cm->psn);
	print_none(2);
	printf("|0x%08x|0x%016" PRIx64 "|0x%02x|0x%02x|0x%02x|0x%02x|0x%02x|0x%02x|0x%02x|0x%02x",
		cm->local_id, cm->service_id, cm->responder_resources, cm->initiator_depth,
		cm->retry_count, cm->rnr_retry, cm->mtu, cm->remote_timeout, cm->ack_timeout,
		cm->transport);
	if (rd_cm_ip(cm, &ip) && ip.length)
		printf("|0x%04x", ip.src_port);
	else
		print_none(1);
	print_none(16);
}

static void print_cm_rep(const struct rd_cm *cm)
{
	print_none(2);
	printf("|0x%06x|0x%06x", cm->qpn, cm->psn);
	print_none(11);
	printf("|0x%08x|0x%08x|0x%02x|0x%02x|0x%02x", cm->local_id, cm->remote_id,
		cm->responder_resources, cm->initiator_depth, cm->rnr_retry);
	print_none(11);
}

/* Of messages with both ids: which columns of theirs are behind those of REQ and REP. */
static void print_cm_ids(uint16_t attribute, const struct rd_cm *cm)
{
	bool rtu = attribute == RD_CM_RTU, rej = attribute == RD_CM_REJ;
	bool dreq = attribute == RD_CM_DREQ;

	print_none(20 + (rtu ? 0 : rej ? 2 : dreq ? 6 : 9));
	printf("|0x%08x|0x%08x", cm->local_id, cm->remote_id);
	if (rej)
		printf("|0x%02x|0x%04x", cm->message, cm->reason);
	if (dreq)
		printf("|0x%06x", cm->remote_qpn);
	print_none(rtu ? 9 : rej ? 5 : dreq ? 2 : 0);
}

static void print_cm(const struct rd_mad *mad)
{
	uint16_t attribute = (uint16_t)mad->attribute;
	struct rd_cm cm;

	if (!rd_mad_cm(mad, &cm))
		print_none(31);
	else if (attribute == RD_CM_REQ)
		print_cm_req(&cm);
	else if (attribute == RD_CM_REP)
		print_cm_rep(&cm);
	else if (attribute == RD_CM_RTU || attribute == RD_CM_REJ || attribute == RD_CM_DREQ ||
		 attribute == RD_CM_DREP)
		print_cm_ids(attribute, &cm);
	else
		print_none(31);
}

static void print_smp(const struct rd_mad *mad)
{
	struct rd_smp smp;

	if (rd_mad_smp(mad, &smp) && smp.directed)
		printf("|0x%02x|0x%02x", smp.hop_pointer, smp.hop_count);
	else
		print_none(2);
}

static void print_sa(const struct rd_mad *mad)
{
	struct rd_sa sa;

	if (rd_mad_sa(mad, &sa))
		printf("|0x%02x|0x%08x", sa.rmpp_type, sa.segment);
	else
		print_none(2);
}

static void print_mad(const struct rd_packet *p)
{
	struct rd_mad mad;

	if (!rd_packet_mad(p, &mad)) {
		print_none(39);
		return;
	}
	printf("|0x%02x|0x%02x|0x%04x|0x%016" PRIx64, mad.class, mad.method, mad.attribute,
		mad.tid);
	print_cm(&mad);
	print_smp(&mad);
	print_sa(&mad);
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

/* With -p: the fields of pause frames. */
static void print_pause(unsigned long number, const struct rd_packet *p)
{
	struct rd_pause pause;

	printf("%lu", number);
	if (!rd_packet_pause(p, &pause)) {
		print_none(11);
	} else if (!pause.pfc) {
		printf("|0x0001|%u", pause.quanta[0]);
		print_none(9);
	} else {
		printf("|0x0101||0x%04x", pause.enabled);
		for (unsigned int i = 0; i < RD_PRIORITIES; i++)
			printf("|%u", pause.quanta[i]);
	}
	printf("\n");
}

/* With -l: LRH and MADs. */
static void print_native(unsigned long number, const struct rd_packet *p)
{
	struct rd_mad mad;
	struct rd_lrh lrh;

	printf("%lu", number);
	if (rd_packet_lrh(p, &lrh))
		printf("|0x%02x|%u|%u|%u", lrh.vl, lrh.sl, lrh.slid, lrh.dlid);
	else
		print_none(4);
	if (rd_packet_mad(p, &mad))
		printf("|0x%02x|0x%02x|0x%04x|0x%04x\n", mad.class, mad.method, mad.status,
			mad.attribute);
	else
		printf("||||\n");
}

/* Takes the header of an ERF record of type InfiniBand off. */
static bool unwrap(struct rd_frame *f)
{
	if (f->caplen < ERF_HEADER || f->data[8] != ERF_IB)
		return false;
	f->data += ERF_HEADER;
	f->caplen -= ERF_HEADER;
	f->len -= ERF_HEADER;
	return true;
}

int main(int argc, char **argv)
{
	char form = argc > 2 && argv[1][0] == '-' ? argv[1][1] : 'f';
	char error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *h;
	enum rd_link link = RD_LINK_ETHERNET;
	unsigned long number = 0;
	const u_char *data;
	pcap_t *in;

	if (argc < 2) {
		fprintf(stderr, "usage: packet_tool [-l|-p] FILE\n");
		return 1;
	}
	in = pcap_open_offline(argv[argc - 1], error);
	if (!in) {
		fprintf(stderr, "packet_tool: %s\n", error);
		return 2;
	}
	if (pcap_datalink(in) == DLT_ERF)
		link = RD_LINK_INFINIBAND;
	while (pcap_next_ex(in, &h, &data) == 1) {
		struct rd_frame frame = {.data = data, .caplen = h->caplen, .len = h->len};
		struct rd_packet p;

		number++;
		if (link == RD_LINK_INFINIBAND && !unwrap(&frame))
			return 3;
		rd_packet_parse(link, frame.data, frame.caplen, frame.len, &p);
		(form == 'p' ? print_pause : form == 'l' ? print_native : print_fields)(number, &p);
	}
	pcap_close(in);
	return 0;
}
