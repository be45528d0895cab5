/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libFuzzer: decap, parse, text and cut over any bytes, as a frame of each link type. The first
 * byte chooses how many bytes fewer were captured than were on the wire.
 */
#include "fuzz.h"
#include <rdmadump/filter.h>

static void read_all(enum rd_link link, const struct rd_frame *frame)
{
	uint32_t computed, stored;
	struct rd_atomic atomic;
	struct rd_aeth aeth;
	struct rd_deth deth;
	struct rd_reth reth;
	struct rd_packet p;
	struct rd_mad mad;
	struct rd_cm cm;
	char line[300];
	size_t n;

	rd_packet_parse(link, frame->data, frame->caplen, frame->len, &p);
	require(p.end <= p.len && p.icrc <= p.end);
	rd_packet_reth(&p, &reth);
	rd_packet_deth(&p, &deth);
	rd_packet_atomic(&p, &atomic);
	rd_packet_aeth(&p, &aeth);
	if (rd_packet_mad(&p, &mad))
		rd_mad_cm(&mad, &cm);
	rd_packet_icrc(&p, &computed, &stored);
	n = rd_packet_line(line, sizeof(line), frame, link, RD_LINE_LINK);
	require_printable(line, n);
}

static void cut(enum rd_link link, struct rd_frame frame)
{
	static const struct rd_cut cuts[] = {
		{.headers_only = true},
		{.zero_payload = true},
		{.zero_payload = true, .writable = true},
		{.snaplen = 64, .headers_only = true, .zero_payload = true, .writable = true},
	};
	uint32_t caplen = frame.caplen;

	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
		rd_cut_run(&cuts[i], link, &frame, 1, NULL);
		require(frame.caplen <= caplen);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum rd_link links[] = {RD_LINK_ETHERNET, RD_LINK_INFINIBAND, RD_LINK_RAW,
		RD_LINK_SLL, RD_LINK_SLL2, RD_LINK_IP, RD_LINK_NULL};

	if (!size || size > 65536)
		return 0;
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		uint32_t caplen = (uint32_t)size - 1;
		uint8_t *copy = exact_copy(data + 1, caplen);
		struct rd_frame frame = {
			.data = copy, .caplen = caplen, .len = caplen + data[0] / 2};

		read_all(links[i], &frame);
		rd_decap_run(links[i], &frame, 1);
		require(frame.data >= copy && frame.data + frame.caplen <= copy + caplen);
		require(frame.caplen <= frame.len);
		read_all(links[i], &frame);
		cut(links[i], frame);
		free(copy);
	}
	return 0;
}
