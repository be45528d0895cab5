/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libFuzzer: the whole analysis over any frames. Input: frames, each a byte of flags (1:
 * InfiniBand, 4: longer on the wire, 8: a loss behind it; upper half: scale of the time step), two
 * bytes of length, two of time step, the bytes.
 */
#include "fuzz.h"
#include <rdmadump/report_output.h>

static void feed(struct rd_analysis *a, const uint8_t *data, size_t size)
{
	uint64_t ns = 1000000000;

	while (size >= 5) {
		size_t n = (size_t)rd_be16(data + 1) & 0x7ff;
		struct rd_frame frame = {0};
		struct rd_iface iface = {0};
		uint8_t *copy;

		ns += (uint64_t)rd_be16(data + 3) << (data[0] >> 4);
		if (n > size - 5)
			n = size - 5;
		copy = exact_copy(data + 5, n);
		frame = (struct rd_frame){.data = copy,
			.caplen = (uint32_t)n,
			.len = (uint32_t)n + (data[0] & 4),
			.ts_ns = ns};
		iface.link = data[0] & 1 ? RD_LINK_INFINIBAND : RD_LINK_ETHERNET;
		rd_analysis_frames(a, &iface, &frame, 1);
		if (data[0] & 8)
			rd_analysis_dropped(a, 1);
		free(copy);
		data += 5 + n;
		size -= 5 + n;
	}
}

static void report(struct rd_analysis *a)
{
	const struct rd_report_style style = {.verbose = 1};
	struct rd_report *r;
	char *text = NULL;
	size_t length;
	json_t *json;
	FILE *out;

	require(rd_analysis_report(a, &r, NULL) == 0);
	json = rd_report_json_within(r, SIZE_MAX, JSON_COMPACT);
	require(json != NULL);
	json_decref(json);
	out = open_memstream(&text, &length);
	require(out != NULL);
	rd_report_text(r, &style, out);
	fclose(out);
	require_printable(text, length);
	free(text);
	rd_report_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct rd_analysis_config config = {
		.skip_icrc = size & 1, .max_qps = 64, .qp = RD_QP_UNKNOWN};
	struct rd_analysis *a;

	require(rd_analysis_open(&a, &config, NULL) == 0);
	require(rd_analysis_file(a, "fuzz\x1b", "any", NULL, NULL) == 0);
	feed(a, data, size);
	rd_analysis_file_end(a, 0, true, NULL, NULL);
	report(a);
	rd_analysis_close(a);
	return 0;
}
