/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libFuzzer: two captures of the same traffic, of any frames at any times. Input: a byte that
 * chooses the first moment of each capture, then frames, each a byte of flags (1: InfiniBand,
 * 2: not at A, 4: not at B, 8: twice at B; upper half: kind of the time step), two bytes of length,
 * two of time step, the bytes.
 */
#include "fuzz.h"
#include <rdmadump/ends.h>

enum { INFINIBAND = 1, LOST_A = 2, LOST_B = 4, DOUBLE_B = 8 };

/* Moments at which arithmetic may go wrong. */
static const uint64_t moments[] = {0, 1, UINT64_C(1700000000000000000), INT64_MAX,
	UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - 1000000000, UINT64_C(1) << 62};
#define N_MOMENTS (sizeof(moments) / sizeof(*moments))

struct capture {
	struct rd_analysis *analysis;
	uint64_t ns;
};

struct input {
	struct rd_ends *ends;
	struct capture at[RD_TAPS];
};

static void see(struct input *in, enum rd_tap end, enum rd_link link, const struct rd_frame *frame)
{
	struct rd_frame own = *frame;

	own.ts_ns = in->at[end].ns;
	rd_analysis_frames(in->at[end].analysis, &(struct rd_iface){.link = link}, &own, 1);
	rd_ends_frames(in->ends, end, link, &own, 1);
}

/* Steps of both clocks, of one of them, and to another moment. */
static void step(struct input *in, unsigned int kind, uint64_t by)
{
	if (kind == 15)
		in->at[by & 1].ns = moments[by / 2 % N_MOMENTS];
	else if (kind == 14)
		in->at[by & 1].ns -= by << 16;
	else if (kind == 13)
		in->at[by & 1].ns += by << 40;
	else
		for (int i = 0; i < RD_TAPS; i++)
			in->at[i].ns += by << kind;
}

static void feed(struct input *in, const uint8_t *data, size_t size)
{
	while (size >= 5) {
		size_t n = (size_t)rd_be16(data + 1) & 0x7ff;
		enum rd_link link = data[0] & INFINIBAND ? RD_LINK_INFINIBAND : RD_LINK_ETHERNET;
		struct rd_frame frame = {0};
		uint8_t *copy;

		step(in, data[0] >> 4, rd_be16(data + 3));
		if (n > size - 5)
			n = size - 5;
		copy = exact_copy(data + 5, n);
		frame.data = copy;
		frame.caplen = frame.len = (uint32_t)n;
		if (!(data[0] & LOST_A))
			see(in, RD_TAP_A, link, &frame);
		for (int i = 0; i < (data[0] & LOST_B ? 0 : data[0] & DOUBLE_B ? 2 : 1); i++)
			see(in, RD_TAP_B, link, &frame);
		free(copy);
		data += 5 + n;
		size -= 5 + n;
	}
}

static void print(const struct rd_ends_report *r)
{
	const struct rd_report_style style = {.verbose = 1};
	char *text = NULL;
	size_t length;
	json_t *json = rd_ends_json(r);
	FILE *out = open_memstream(&text, &length);

	require(json != NULL && out != NULL);
	json_decref(json);
	rd_ends_text(r, &style, out);
	fclose(out);
	require_printable(text, length);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct rd_analysis_config config = {.max_qps = 64, .qp = RD_QP_UNKNOWN};
	struct rd_report *reports[RD_TAPS];
	struct rd_ends_report *report;
	struct rd_ends_start start = {0};
	struct input in = {0};

	if (!size)
		return 0;
	start.first_ns[RD_TAP_A] = moments[data[0] % N_MOMENTS];
	start.first_ns[RD_TAP_B] = moments[data[0] / N_MOMENTS % N_MOMENTS];
	start.offset_ns = rd_ends_time(start.first_ns[RD_TAP_B], start.first_ns[RD_TAP_A], 0);
	for (int i = 0; i < RD_TAPS; i++) {
		in.at[i].ns = start.first_ns[i];
		require(rd_analysis_open(&in.at[i].analysis, &config, NULL) == 0);
		require(rd_analysis_file(in.at[i].analysis, "fuzz", "any", NULL, NULL) == 0);
	}
	require(rd_ends_open(&in.ends, &start, NULL) == 0);
	feed(&in, data + 1, size - 1);
	for (int i = 0; i < RD_TAPS; i++)
		rd_ends_file_end(in.ends, (enum rd_tap)i, in.at[i].ns);
	for (int i = 0; i < RD_TAPS; i++) {
		rd_analysis_file_end(in.at[i].analysis, 0, true, NULL, NULL);
		require(rd_analysis_report(in.at[i].analysis, &reports[i], NULL) == 0);
	}
	require(rd_ends_report(in.ends, (const struct rd_report *const *)reports, &report, NULL) ==
		0);
	print(report);
	rd_ends_report_free(report);
	rd_ends_close(in.ends);
	for (int i = 0; i < RD_TAPS; i++) {
		rd_report_free(reports[i]);
		rd_analysis_close(in.at[i].analysis);
	}
	return 0;
}
