/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SHA-256 as FIPS 180-4 describes it (sections 4.1.2, 5.3.3, 6.2). */
#include <rdmadump/sha256.h>
#include <string.h>

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b,
	0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6,
	0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d,
	0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585,
	0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa,
	0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, unsigned int n)
{
	return x >> n | x << (32 - n);
}

static void schedule(uint32_t w[64], const uint8_t *block)
{
	for (unsigned int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (unsigned int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
}

static void compress(uint32_t state[8], const uint8_t *block)
{
	uint32_t w[64], v[8];

	schedule(w, block);
	memcpy(v, state, sizeof(v));
	for (unsigned int i = 0; i < 64; i++) {
		uint32_t big1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
		uint32_t choose = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t one = v[7] + big1 + choose + constants[i] + w[i];
		uint32_t big0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
		uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += one;
		v[0] = one + big0 + majority;
	}
	for (unsigned int i = 0; i < 8; i++)
		state[i] += v[i];
}

void rd_sha256_begin(struct rd_sha256 *s)
{
	*s = (struct rd_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void rd_sha256_add(struct rd_sha256 *s, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;

	while (n) {
		size_t at = s->bytes % RD_SHA256_BLOCK, capacity = RD_SHA256_BLOCK - at;
		size_t some = n < capacity ? n : capacity;

		memcpy(s->block + at, from, some);
		s->bytes += some;
		from += some;
		n -= some;
		if (some == capacity)
			compress(s->state, s->block);
	}
}

void rd_sha256_end(struct rd_sha256 *s, char text[RD_SHA256_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	static const uint8_t padding[RD_SHA256_BLOCK] = {0x80};
	size_t at = s->bytes % RD_SHA256_BLOCK;
	uint64_t bits = s->bytes * 8;
	uint8_t length[8];

	for (unsigned int i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	rd_sha256_add(s, padding, (at < 56 ? 56 : 120) - at);
	rd_sha256_add(s, length, sizeof(length));
	for (unsigned int i = 0; i < 64; i++)
		text[i] = digits[s->state[i / 8] >> (28 - 4 * (i % 8)) & 0xf];
	text[64] = '\0';
}
