/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a capture as the program does, and prints the speed: `read FILE [parse] [icrc]`.
 * `read --make FILE PAYLOAD COUNT [FORMAT]` makes the file: RoCE v2 over IPv4, RC SEND Only, 8 QPs,
 * correct ICRCs.
 */
#include <rdmadump/bytes.h>
#include <rdmadump/format.h>
#include <rdmadump/packet.h>
#include <rdmadump/source.h>
#include <rdmadump/wire.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HEADERS	 54 /* Ethernet to BTH */
#define MAKE_QPS 8

static void fail(const char *what, const struct rd_error *err)
{
	fprintf(stderr, "read: %s: %s\n", what, err ? err->text : "failed");
	exit(1);
}

/* --- making ----------------------------------------------------------------------------- */

static uint32_t make_frame(uint8_t *p, uint32_t payload, uint32_t number)
{
	uint32_t ip = 20 + 8 + 12 + payload + 4, computed, stored;

	memcpy(p, "\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\0\x45\0\0\0\0\0\x40\0\x40\x11\0\0", 26);
	memcpy(p + 26, "\x0a\0\0\x01\x0a\0\0\x02", 8);
	rd_put_be16(p + 16, (uint16_t)ip);
	rd_put_be16(p + 34, 50000);
	rd_put_be16(p + 36, RD_UDP_PORT_ROCE);
	rd_put_be16(p + 38, (uint16_t)(ip - 20));
	rd_put_be16(p + 40, 0);
	rd_put_be32(p + 42, 0x0400ffff);
	rd_put_be32(p + 46, 0x100 + number % MAKE_QPS);
	rd_put_be32(p + 50, number / MAKE_QPS & 0xffffff);
	for (uint32_t i = 0; i < payload; i++)
		p[HEADERS + i] = (uint8_t)(i + number);
	if (rd_icrc(RD_LINK_ETHERNET, p, HEADERS + payload + 4, &computed, &stored) < 0)
		fail("an ICRC", NULL);
	rd_put_le32(p + HEADERS + payload, computed);
	return HEADERS + payload + 4;
}

static void make(const char *path, uint32_t payload, uint32_t count, const char *format)
{
	struct rd_section section = {.application = "bench"};
	struct rd_iface iface = {.link = RD_LINK_ETHERNET, .name = "bench", .max_frame = 9000};
	struct rd_encoder e;
	struct rd_error err = {0};
	uint8_t data[9100], record[16384];
	FILE *f = fopen(path, "wb");
	size_t n;

	if (!f || payload > 9000 ||
		rd_encoder_init(&e, format, NULL, &section, &iface, 1, &err) < 0)
		fail(path, f ? &err : NULL);
	n = e.format->header(&e, record, sizeof(record));
	fwrite(record, 1, n, f);
	for (uint32_t i = 0; i < count; i++) {
		struct rd_frame frame = {.data = data, .ts_ns = UINT64_C(1700000000000000000) + i};

		frame.caplen = frame.len = make_frame(data, payload, i);
		e.format->frames(&e, &frame, 1, record, sizeof(record), &n);
		fwrite(record, 1, n, f);
	}
	if (fclose(f))
		fail(path, NULL);
}

/* --- reading ---------------------------------------------------------------------------- */

struct sums {
	uint64_t frames, bytes, good, bad, psn;
};

static void use(const struct rd_frame *f, bool parse, bool icrc, struct sums *sums)
{
	uint32_t computed, stored;
	struct rd_packet p;

	sums->frames++;
	sums->bytes += f->caplen;
	if (!parse || !rd_packet_parse(RD_LINK_ETHERNET, f->data, f->caplen, f->len, &p))
		return;
	sums->psn += p.psn + p.dest_qp + p.payload_len;
	if (!icrc)
		return;
	if (rd_packet_icrc(&p, &computed, &stored) && computed == stored)
		sums->good++;
	else
		sums->bad++;
}

static void read_file(const char *path, bool parse, bool icrc)
{
	struct rd_file_config config = {.path = path};
	struct rd_frame frames[RD_BATCH];
	struct timespec begin, end;
	struct rd_error err = {0};
	struct sums sums = {0};
	struct rd_source *s;
	double seconds;
	int n;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	if (rd_file_open(&s, &config, &err) < 0 || s->ops->start(s, &err) < 0)
		fail(path, &err);
	while ((n = s->ops->receive(s, frames, RD_BATCH, &err)) >= 0) {
		for (int i = 0; i < n; i++)
			use(&frames[i], parse, icrc, &sums);
		s->ops->release(s);
	}
	s->ops->close(s);
	clock_gettime(CLOCK_MONOTONIC, &end);
	seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
	printf("%llu frames, %llu bytes, %llu good and %llu bad ICRCs, sum %llu, %.6f s, "
	       "%.2f million/s\n",
		(unsigned long long)sums.frames, (unsigned long long)sums.bytes,
		(unsigned long long)sums.good, (unsigned long long)sums.bad,
		(unsigned long long)sums.psn, seconds, (double)sums.frames / seconds / 1e6);
	if (n != RD_SOURCE_END)
		fail(path, &err);
}

int main(int argc, char **argv)
{
	bool parse = false, icrc = false;

	if (argc >= 5 && !strcmp(argv[1], "--make")) {
		make(argv[2], (uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]),
			argc > 5 ? argv[5] : "pcap");
		return 0;
	}
	if (argc < 2) {
		fprintf(stderr, "usage: read FILE [parse] [icrc]\n"
				"       read --make FILE PAYLOAD COUNT [FORMAT]\n");
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		parse |= !strcmp(argv[i], "parse");
		icrc |= !strcmp(argv[i], "icrc");
	}
	read_file(argv[1], parse || icrc, icrc);
	return 0;
}
