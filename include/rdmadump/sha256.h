/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SHA-256 (FIPS 180-4), for checksums of published files. Not for secrets. */
#ifndef RDMADUMP_SHA256_H
#define RDMADUMP_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define RD_SHA256_BLOCK 64
#define RD_SHA256_TEXT	65 /* 64 hexadecimal digits and NUL */

struct rd_sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[RD_SHA256_BLOCK]; /* bytes of an incomplete block */
};

/* Begin, add bytes in pieces of any size, end. The state belongs to the caller; any thread. */
void rd_sha256_begin(struct rd_sha256 *s);
void rd_sha256_add(struct rd_sha256 *s, const void *bytes, size_t n);
/* Writes the digest as lower-case hexadecimal digits. */
void rd_sha256_end(struct rd_sha256 *s, char text[RD_SHA256_TEXT]);

#endif
