/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frame sources: the generator and capture files, and the hash by which sequences are compared. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Which side of a port a frame was seen on; its addresses say it where this does not. */
enum origin { ORIGIN_UNKNOWN, ORIGIN_SENT, ORIGIN_RECEIVED };

struct frame {
	const uint8_t *data;
	uint32_t len;
	uint64_t ts_ns; /* capture files only; 0 from the generator */
	enum origin origin;
};

struct gen_conf {
	uint64_t count;
	uint64_t seed;
	uint32_t size_min, size_max;
	uint32_t qps;
	int acks; /* 1 yes, 0 no, -1: only when sizes vary */
};

struct frames;

/* Both return NULL with a message in err; ib selects InfiniBand local frames instead of RoCEv2. */
struct frames *frames_generate(const struct gen_conf *conf, bool ib, char *err, size_t errlen);
struct frames *frames_load(const char *path, bool ib, char *err, size_t errlen);
/* False ends the visit. */
typedef bool frame_visitor(void *ctx, const uint8_t *data, uint32_t len, uint64_t ts_ns);
/*
 * Shows each frame of a capture file of any link type, which goes to *linktype; ERF headers are
 * stripped. Nothing is kept in memory. False with a message in err if the file is bad.
 */
bool frames_visit(
	const char *path, int *linktype, frame_visitor *visit, void *ctx, char *err, size_t errlen);
void frames_close(struct frames *f);
/* False at the end. The bytes stay valid until the next call. */
bool frames_next(struct frames *f, struct frame *out);

/* "count=N,size=A[-B],qps=N,seed=N,acks=0|1"; false with a message in err. */
bool gen_conf_parse(struct gen_conf *conf, const char *spec, char *err, size_t errlen);

uint16_t frame_ip_checksum(const uint8_t *head);
uint32_t crc32_ib(uint32_t crc, const uint8_t *p, size_t n);
uint16_t crc16_ib(uint16_t crc, const uint8_t *p, size_t n);

struct frame_hash {
	uint64_t h, frames, bytes;
};

#define FRAME_HASH_INIT ((struct frame_hash){.h = 0xcbf29ce484222325u})

static inline uint64_t frame_hash_word(uint64_t h, uint64_t w)
{
	h = (h ^ w) * 0x9e3779b97f4a7c15u;
	return (h << 29) | (h >> 35);
}

/* Order, lengths and every byte count; eight bytes a step, because 40 GB must be hashable. */
static inline void frame_hash_add(struct frame_hash *fh, const uint8_t *p, uint32_t len)
{
	uint64_t a = frame_hash_word(fh->h, len), b = ~a, w;
	uint32_t n = len;

	for (; n >= 16; n -= 16, p += 16) {
		memcpy(&w, p, 8);
		a = frame_hash_word(a, w);
		memcpy(&w, p + 8, 8);
		b = frame_hash_word(b, w);
	}
	for (; n; n--, p++)
		a = frame_hash_word(a, *p);
	fh->h = frame_hash_word(a, b);
	fh->frames++;
	fh->bytes += len;
}
