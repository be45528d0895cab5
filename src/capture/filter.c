/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The filter: a libpcap expression, a direction and RDMA terms; all must hold. BPF: pcap-filter(7).
 */
#include "filter_terms.h"
#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* Loads from here on ask Linux' socket for what is not in the frame (linux/filter.h, SKF_AD_OFF).
 */
#define BPF_ANCILLARY 0xfffff000U
#define SNAPLEN	      262144 /* what an expression's program returns; anything but 0 */

struct rd_filter {
	struct bpf_program bpf;
	bool has_bpf, parses;
	enum rd_link link;
	uint8_t direction; /* enum rd_direction; unknown: both */
	struct rd_terms terms;
	struct rd_filter_spec text; /* as given, for explain; strings are ours */
};

static bool given(const char *text)
{
	return text && *text;
}

static int compile_direction(struct rd_filter *f, const char *text, struct rd_error *err)
{
	static const struct {
		const char *name;
		uint8_t direction;
	} names[] = {
		{"in", RD_DIR_IN},
		{"rx", RD_DIR_IN},
		{"out", RD_DIR_OUT},
		{"tx", RD_DIR_OUT},
		{"inout", RD_DIR_UNKNOWN},
		{"both", RD_DIR_UNKNOWN},
	};

	if (!given(text))
		return 0;
	for (size_t i = 0; i < COUNT(names); i++) {
		if (!strcasecmp(names[i].name, text)) {
			f->direction = names[i].direction;
			return 0;
		}
	}
	return rd_fail(err, RD_CLASS_USAGE, 0, "give in (rx), out (tx) or inout",
		"direction '%s' is not known", text);
}

/* "inbound", "outbound", "ifindex": programs for Linux' packet sockets, which see more than bytes.
 */
static bool needs_socket(const struct bpf_program *program)
{
	for (u_int i = 0; i < program->bf_len; i++) {
		const struct bpf_insn *insn = &program->bf_insns[i];

		if (BPF_CLASS(insn->code) == BPF_LD && BPF_MODE(insn->code) == BPF_ABS &&
			insn->k >= BPF_ANCILLARY)
			return true;
	}
	return false;
}

static int compile_expression(struct rd_filter *f, const char *text, struct rd_error *err)
{
	pcap_t *pcap;
	int rc = 0;

	if (!given(text))
		return 0;
	if (f->link != RD_LINK_ETHERNET)
		return rd_fail(err, RD_CLASS_USAGE, 0,
			f->link == RD_LINK_INFINIBAND
				? "use --qp, --src-qp, --opcode, --gid or --roce"
				: "leave the filter away",
			"the expression '%.200s': libpcap has no filters for %s", text,
			f->link == RD_LINK_INFINIBAND ? "InfiniBand" : "this link type");
	pcap = pcap_open_dead(DLT_EN10MB, SNAPLEN);
	if (!pcap)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "compiling the filter");
	/* A netmask of 0, as tcpdump -r takes it, for "ip broadcast". */
	if (pcap_compile(pcap, &f->bpf, text, 1, 0) < 0)
		rc = rd_fail(err, RD_CLASS_USAGE, 0, "see pcap-filter(7)",
			"the expression '%.200s': %s", text, pcap_geterr(pcap));
	else
		f->has_bpf = true;
	pcap_close(pcap);
	if (f->has_bpf && needs_socket(&f->bpf))
		rc = rd_fail(err, RD_CLASS_USAGE, 0, "for a direction use -Q in or -Q out",
			"the expression '%.200s' asks for what is not in a frame "
			"(inbound, outbound, ifindex)",
			text);
	return rc;
}

/* Copies what was given, so that the caller's strings may go. */
static int keep_text(struct rd_filter *f, const struct rd_filter_spec *spec, struct rd_error *err)
{
	const char *const from[] = {
		spec->expression, spec->qp, spec->src_qp, spec->opcode, spec->host, spec->gid};
	const char **const to[] = {&f->text.expression, &f->text.qp, &f->text.src_qp,
		&f->text.opcode, &f->text.host, &f->text.gid};

	f->text.roce = spec->roce;
	for (size_t i = 0; i < COUNT(from); i++) {
		if (!given(from[i]))
			continue;
		*to[i] = strdup(from[i]);
		if (!*to[i])
			return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "compiling the filter");
	}
	return 0;
}

int rd_filter_compile(struct rd_filter **out, const struct rd_filter_spec *spec, enum rd_link link,
	struct rd_error *err)
{
	struct rd_filter *f = calloc(1, sizeof(*f));

	*out = NULL;
	if (!f)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "compiling the filter");
	f->link = link;
	if (keep_text(f, spec, err) || compile_direction(f, spec->direction, err) ||
		compile_expression(f, spec->expression, err) ||
		rd_terms_compile(&f->terms, spec, err)) {
		rd_filter_free(f);
		return -1;
	}
	f->parses = rd_terms_any(&f->terms);
	if (f->parses || f->has_bpf || f->direction)
		*out = f;
	else
		rd_filter_free(f);
	return 0;
}

void rd_filter_free(struct rd_filter *f)
{
	if (!f)
		return;
	if (f->has_bpf)
		pcap_freecode(&f->bpf);
	rd_terms_free(&f->terms);
	free((char *)f->text.expression);
	free((char *)f->text.qp);
	free((char *)f->text.src_qp);
	free((char *)f->text.opcode);
	free((char *)f->text.host);
	free((char *)f->text.gid);
	free(f);
}

bool rd_filter_parses(const struct rd_filter *f)
{
	return f && f->parses;
}

static void parse(const struct rd_filter *f, const struct rd_frame *frame, struct rd_packet *p)
{
	rd_packet_parse(f->link, frame->data, frame->caplen, frame->len, p);
}

static bool keeps(const struct rd_filter *f, const struct rd_frame *frame, struct rd_packet *p)
{
	if (f->terms.pairs) {
		/* What is not kept may still tell who is connected to whom. */
		parse(f, frame, p);
		rd_pairs_learn(f->terms.pairs, p);
	}
	if (f->direction && frame->direction != f->direction)
		return false;
	if (f->has_bpf && !bpf_filter(f->bpf.bf_insns, frame->data, frame->len, frame->caplen))
		return false;
	if (!f->parses)
		return true;
	if (!f->terms.pairs)
		parse(f, frame, p);
	return rd_terms_match(&f->terms, p);
}

unsigned int rd_filter_run(
	struct rd_filter *f, struct rd_frame *frames, unsigned int n, struct rd_packet *packets)
{
	struct rd_packet scratch;
	unsigned int kept = 0;

	if (!f)
		return n;
	for (unsigned int i = 0; i < n; i++)
		if (keeps(f, &frames[i], packets ? &packets[kept] : &scratch))
			frames[kept++] = frames[i];
	return kept;
}

static void explain_source(const struct rd_filter *f, FILE *out)
{
	if (!f->text.src_qp)
		return;
	fprintf(out,
		"  source QP    %s\n"
		"               as UD packets have it (DETH); of connected QPs only where REQ and "
		"REP of the CM\n"
		"               were seen before, since RC, UC and XRC packets do not name their "
		"sender's QP\n",
		f->text.src_qp);
}

char *rd_filter_explain(const struct rd_filter *f)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	if (!f) {
		fputs("every frame is kept\n", out);
		fclose(out);
		return text;
	}
	fputs("a frame is kept if all of this is true of it:\n", out);
	if (f->text.expression)
		fprintf(out, "  expression   %s\n", f->text.expression);
	if (f->direction)
		fprintf(out, "  direction    %s\n", f->direction == RD_DIR_IN ? "in" : "out");
	if (f->text.roce)
		fputs("  transport    InfiniBand's: RoCE v1, RoCE v2 or native\n", out);
	if (f->text.qp)
		fprintf(out, "  to QP        %s\n", f->text.qp);
	explain_source(f, out);
	if (f->terms.opcodes) {
		fputs("  opcode       ", out);
		rd_opcode_set_explain(f->terms.opcodes, out);
		fputc('\n', out);
	}
	if (f->text.host)
		fprintf(out, "  host         %s, at either end\n", f->text.host);
	if (f->text.gid)
		fprintf(out, "  GID          %s, at either end of RoCE or InfiniBand\n",
			f->text.gid);
	fclose(out);
	return text;
}
