/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A filter expression in libpcap's language, run as a BPF program: pcap-filter(7). */
#include "filter_terms.h"
#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>

#ifndef DLT_LINUX_SLL2 /* libpcap before 1.9.1 */
#define DLT_LINUX_SLL2 276
#endif

/* Loads from offsets above this are extensions of Linux sockets (linux/filter.h, SKF_AD_OFF). */
#define BPF_ANCILLARY 0xfffff000U
#define SNAPLEN	      262144 /* the program's return value for a match; any value but 0 would do */

/*
 * "inbound", "outbound", "ifindex": these work only in Linux packet sockets, which know more than
 * the frame's bytes.
 */
static bool needs_socket(const struct bpf_program *program)
{
	return RD_ANY(insn, program->bf_insns, program->bf_len,
		BPF_CLASS(insn->code) == BPF_LD && BPF_MODE(insn->code) == BPF_ABS &&
			insn->k >= BPF_ANCILLARY);
}

static int refuse_link(const struct rd_term_use *use, struct rd_error *err)
{
	bool ib = use->link == RD_LINK_INFINIBAND;

	return rd_fail(err, RD_CLASS_USAGE, 0,
		ib ? "use --qp, --src-qp, --opcode, --gid or --roce" : "omit the filter",
		"the expression '%.200s': libpcap has no filters for %s", use->text,
		ib ? "InfiniBand" : "this link type");
}

/* A compiled expression. */
struct expression {
	struct bpf_program program;
	uint32_t skip; /* bytes of the frame before the part that the program sees */
};

/* The link type and offset for which libpcap compiles the filter; 0: it has none for that link. */
static const struct target {
	int dlt;
	uint32_t skip;
} targets[] = {
	[RD_LINK_ETHERNET] = {DLT_EN10MB, 0},
	[RD_LINK_SLL] = {DLT_LINUX_SLL, 0},
	[RD_LINK_SLL2] = {DLT_LINUX_SLL2, 0},
	[RD_LINK_IP] = {DLT_RAW, 0},
	/* libpcap's own filter for it knows only this machine's byte order */
	[RD_LINK_NULL] = {DLT_RAW, 4},
};

int rd_expression_compile(void **state, const struct rd_term_use *use, struct rd_error *err)
{
	const struct target *target = &targets[use->link];
	struct expression *e;
	pcap_t *pcap;
	int rc = 0;

	if (!target->dlt)
		return refuse_link(use, err);
	*state = e = calloc(1, sizeof(*e));
	pcap = e ? pcap_open_dead(target->dlt, SNAPLEN) : NULL;
	if (!pcap)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "compiling the filter");
	e->skip = target->skip;
	/* A netmask of 0, as tcpdump -r uses for "ip broadcast". */
	if (pcap_compile(pcap, &e->program, use->text, 1, 0) < 0)
		rc = rd_fail(err, RD_CLASS_USAGE, 0, "see pcap-filter(7)",
			"the expression '%.200s': %s", use->text, pcap_geterr(pcap));
	else if (needs_socket(&e->program))
		rc = rd_fail(err, RD_CLASS_USAGE, 0, "for a direction use -Q in or -Q out",
			"the expression '%.200s' tests properties that are not in a frame "
			"(inbound, outbound, ifindex)",
			use->text);
	pcap_close(pcap);
	return rc;
}

bool rd_expression_match(const void *state, const struct rd_frame *frame, const struct rd_packet *p)
{
	const struct expression *e = state;

	(void)p;
	return frame->caplen >= e->skip && bpf_filter(e->program.bf_insns, frame->data + e->skip,
						   frame->len - e->skip, frame->caplen - e->skip);
}

void rd_expression_free(void *state)
{
	struct expression *e = state;

	if (e)
		pcap_freecode(&e->program);
	free(e);
}
