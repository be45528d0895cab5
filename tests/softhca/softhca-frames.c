/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The oracle: writes the frames a generator configuration gives, or hashes them or a capture file,
 * so that what a consumer captured can be compared with what was sent.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "frames.h"

enum { DLT_ETHERNET = 1, DLT_EXTENSIBLE = 197, ERF_HEAD = 16, ERF_IB = 21 };

static const char usage[] =
	"Usage: softhca-frames [--ib] [--write FILE] [--skip N] [--first N] SPEC    of --gen SPEC\n"
	"       softhca-frames --hash FILE [--first N]       of a pcap, pcapng or ERF file\n"
	"Prints: frames bytes hash. --write makes a nanosecond pcap file of them.\n";

static void le32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++, v >>= 8)
		p[i] = (uint8_t)v;
}

static void write_head(FILE *f, uint32_t linktype)
{
	uint8_t h[24] = {0};

	le32(h, 0xa1b23c4d);
	h[4] = 2;
	h[6] = 4;
	le32(h + 16, 262144);
	le32(h + 20, linktype);
	fwrite(h, sizeof(h), 1, f);
}

/* A microsecond apart, from the epoch's second 1700000000 on. */
static void write_frame(FILE *f, const struct frame *fr, uint64_t i, bool ib)
{
	uint64_t ns = i * 1000;
	uint32_t extra = ib ? ERF_HEAD : 0;
	uint8_t h[16 + ERF_HEAD] = {0}, *erf = h + 16;

	le32(h, (uint32_t)(1700000000 + ns / 1000000000));
	le32(h + 4, (uint32_t)(ns % 1000000000));
	le32(h + 8, fr->len + extra);
	le32(h + 12, fr->len + extra);
	if (ib) {
		le32(erf, (uint32_t)((ns % 1000000000 << 32) / 1000000000));
		le32(erf + 4, (uint32_t)(1700000000 + ns / 1000000000));
		erf[8] = ERF_IB;
		erf[9] = 4;
		erf[10] = (uint8_t)((fr->len + ERF_HEAD) >> 8);
		erf[11] = (uint8_t)(fr->len + ERF_HEAD);
		erf[14] = (uint8_t)(fr->len >> 8);
		erf[15] = (uint8_t)fr->len;
	}
	fwrite(h, 16 + extra, 1, f);
	fwrite(fr->data, fr->len, 1, f);
}

static void print_hash(const struct frame_hash *h)
{
	printf("%llu %llu %016llx\n", (unsigned long long)h->frames, (unsigned long long)h->bytes,
		(unsigned long long)h->h);
}

static int run(struct frames *src, const char *out, uint64_t skip, uint64_t first, bool ib)
{
	struct frame_hash h = FRAME_HASH_INIT;
	struct frame fr;
	FILE *f = NULL;
	int rc = 0;

	if (out) {
		f = fopen(out, "wb");
		if (!f) {
			perror(out);
			return 1;
		}
		write_head(f, ib ? DLT_EXTENSIBLE : DLT_ETHERNET);
	}
	while (skip && frames_next(src, &fr))
		skip--;
	while ((!first || h.frames < first) && frames_next(src, &fr)) {
		if (f)
			write_frame(f, &fr, h.frames, ib);
		frame_hash_add(&h, fr.data, fr.len);
	}
	if (f && (ferror(f) | fclose(f))) {
		perror(out);
		rc = 1;
	}
	print_hash(&h);
	return rc;
}

struct hashing {
	struct frame_hash hash;
	uint64_t first;
};

static bool hash_frame(void *ctx, const uint8_t *data, uint32_t len, uint64_t ts_ns)
{
	struct hashing *h = ctx;

	(void)ts_ns;
	if (h->first && h->hash.frames == h->first)
		return false;
	frame_hash_add(&h->hash, data, len);
	return true;
}

static int hash_file(const char *path, uint64_t first)
{
	struct hashing h = {FRAME_HASH_INIT, first};
	char err[256] = "";
	int linktype;

	if (!frames_visit(path, &linktype, hash_frame, &h, err, sizeof(err))) {
		fprintf(stderr, "softhca-frames: %s\n", err);
		return 1;
	}
	print_hash(&h.hash);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"hash", required_argument, NULL, 'H'},
		{"write", required_argument, NULL, 'w'},
		{"first", required_argument, NULL, 'n'},
		{"skip", required_argument, NULL, 's'},
		{"ib", no_argument, NULL, 'i'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *hash = NULL, *out = NULL;
	uint64_t first = 0, skip = 0;
	struct frames *src = NULL;
	struct gen_conf g;
	char err[256] = "";
	bool ib = false;
	int c, rc;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'H':
			hash = optarg;
			break;
		case 'w':
			out = optarg;
			break;
		case 'n':
			first = strtoull(optarg, NULL, 0);
			break;
		case 's':
			skip = strtoull(optarg, NULL, 0);
			break;
		case 'i':
			ib = true;
			break;
		default:
			fputs(usage, c == 'h' ? stdout : stderr);
			return c != 'h';
		}
	}
	if (hash)
		return hash_file(hash, first);
	if (optind + 1 == argc) {
		if (gen_conf_parse(&g, argv[optind], err, sizeof(err)))
			src = frames_generate(&g, ib, err, sizeof(err));
	} else {
		fputs(usage, stderr);
		return 1;
	}
	if (!src) {
		fprintf(stderr, "softhca-frames: %s\n", err);
		return 1;
	}
	rc = run(src, out, skip, first, ib);
	frames_close(src);
	return rc;
}
