/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs filter and cut over a capture: filter_tool IN OUT [TERM=VALUE]... [EXPRESSION]. Terms are
 * qp, src_qp, opcode, host, gid and roce; cut=headers and cut=payload cut. Prints the numbers of
 * the frames that are kept; writes them to OUT as `tcpdump -r IN -w OUT` would, unless it is "-".
 */
#include <pcap/pcap.h>
#include <rdmadump/filter.h>
#include <stdio.h>
#include <stdlib.h>

static void read_argument(struct rd_filter_spec *spec, struct rd_cut *cut, const char *arg)
{
	const struct {
		const char *name;
		const char **value;
	} terms[] = {
		{"qp=", &spec->qp},
		{"src_qp=", &spec->src_qp},
		{"opcode=", &spec->opcode},
		{"host=", &spec->host},
		{"gid=", &spec->gid},
	};

	for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++) {
		if (!strncmp(arg, terms[i].name, strlen(terms[i].name))) {
			*terms[i].value = arg + strlen(terms[i].name);
			return;
		}
	}
	if (!strcmp(arg, "roce="))
		spec->roce = true;
	else if (!strcmp(arg, "cut=headers"))
		cut->headers_only = true;
	else if (!strcmp(arg, "cut=payload"))
		cut->zero_payload = cut->writable = true;
	else
		spec->expression = arg;
}

static void filter(struct rd_filter *f, const struct rd_cut *cut, pcap_t *in, pcap_dumper_t *out)
{
	struct pcap_pkthdr *h;
	unsigned long number = 0;
	const u_char *data;

	while (pcap_next_ex(in, &h, &data) == 1) {
		struct rd_frame frame = {.data = data, .caplen = h->caplen, .len = h->len};

		number++;
		if (!rd_filter_run(f, &frame, 1, NULL))
			continue;
		printf("%lu\n", number);
		rd_cut_run(cut, RD_LINK_ETHERNET, &frame, 1, NULL);
		h->caplen = frame.caplen;
		if (out)
			pcap_dump((u_char *)out, h, data);
	}
}

int main(int argc, char **argv)
{
	struct rd_filter_spec spec = {0};
	struct rd_cut cut = {0};
	char error[PCAP_ERRBUF_SIZE];
	pcap_dumper_t *out = NULL;
	struct rd_error err;
	struct rd_filter *f;
	pcap_t *in;

	if (argc < 3) {
		fprintf(stderr, "usage: filter_tool IN OUT [TERM=VALUE]... [EXPRESSION]\n");
		return 1;
	}
	for (int i = 3; i < argc; i++)
		read_argument(&spec, &cut, argv[i]);
	if (rd_filter_compile(&f, &spec, RD_LINK_ETHERNET, &err)) {
		fprintf(stderr, "filter_tool: %s\n", err.text);
		return 1;
	}
	in = pcap_open_offline(argv[1], error);
	if (!in) {
		fprintf(stderr, "filter_tool: %s\n", error);
		return 2;
	}
	if (strcmp(argv[2], "-"))
		out = pcap_dump_open(in, argv[2]);
	filter(f, &cut, in, out);
	if (out)
		pcap_dump_close(out);
	pcap_close(in);
	rd_filter_free(f);
	return 0;
}
