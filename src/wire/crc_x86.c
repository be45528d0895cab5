/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CRCs by carry-less multiplication, 16 or 64 bytes at a time: V. Gopal et al., "Fast CRC
 * Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009), in its
 * bit-reflected form. A register holds a remainder of 128 bits; "fold" moves it by a distance: it
 * multiplies both halves by powers of x, and adds the bytes at the new place.
 */
#include "crc.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <rdmadump/bytes.h>

#define LANE 16
#define WIDE 64

/* Powers of x modulo the polynomial, bits reversed: two for each distance of a fold, in bits. */
static const uint64_t fold128[2] = {0x1751997d0, 0xccaa009e};
static const uint64_t fold256[2] = {0xf1da05aa, 0x15a546366};
static const uint64_t fold384[2] = {0x3db1ecdc, 0x174359406};
static const uint64_t fold512[2] = {0x154442bd4, 0x1c6e41596};
static const uint64_t fold2048[2] = {0x11542778a, 0x1322d1430};
#define FOLD64	 0x163cd6124 /* from 96 bits to 64 */
#define DIVISOR	 0x1db710641 /* the polynomial with its 33rd bit */
#define QUOTIENT 0x1f7011641 /* x^64 divided by it */

#define XOR_OF_THREE 0x96 /* truth table of the "ternary logic" instruction */

#define CLMUL  __attribute__((target("pclmul,sse4.1")))
#define VCLMUL __attribute__((target("vpclmulqdq,avx512f,avx512vl,pclmul,sse4.1")))
/* Inlined into functions for either instruction set, and compiled for that one. */
#define ANYWHERE static inline __attribute__((always_inline))

bool crc_clmul_usable(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

bool crc_vclmul_usable(void)
{
	__builtin_cpu_init();
	return crc_clmul_usable() && __builtin_cpu_supports("vpclmulqdq") &&
	       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
}

CLMUL ANYWHERE __m128i load(const void *p)
{
	return _mm_loadu_si128(p);
}

CLMUL ANYWHERE __m128i fold(__m128i x, __m128i by, __m128i next)
{
	return _mm_xor_si128(next, _mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00),
					   _mm_clmulepi64_si128(x, by, 0x11)));
}

/* From 128 bits to 64, to 32; the remainder by Barrett reduction. */
CLMUL ANYWHERE uint32_t reduce(__m128i x)
{
	const __m128i low32 = _mm_setr_epi32(-1, 0, 0, 0);
	const __m128i divide = _mm_set_epi64x(QUOTIENT, DIVISOR);
	__m128i t;

	t = _mm_clmulepi64_si128(x, load(fold128), 0x10);
	x = _mm_xor_si128(_mm_srli_si128(x, 8), t);
	t = _mm_clmulepi64_si128(_mm_and_si128(x, low32), _mm_cvtsi64_si128(FOLD64), 0x00);
	x = _mm_xor_si128(_mm_srli_si128(x, 4), t);
	t = _mm_clmulepi64_si128(_mm_and_si128(x, low32), divide, 0x10);
	t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), divide, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(x, t), 1);
}

/* Adds the bytes after those that x covers; the last ones with those before them, as 16 bytes. */
CLMUL ANYWHERE uint32_t finish(__m128i x, const uint8_t *p, size_t len)
{
	const __m128i by = load(fold128);

	for (; len >= LANE; len -= LANE, p += LANE)
		x = fold(x, by, load(p));
	if (len) {
		/* A shuffle takes byte n & 15 for 0 <= n < 128, and 0 for others. */
		const __m128i nth = _mm_set_epi64x(0x0f0e0d0c0b0a0908, 0x0706050403020100);
		const __m128i first = _mm_add_epi8(nth, _mm_set1_epi8((char)(len - LANE)));
		const __m128i rest = _mm_add_epi8(nth, _mm_set1_epi8((char)(128 - LANE + len)));

		x = fold(_mm_shuffle_epi8(x, first), by,
			_mm_blendv_epi8(_mm_shuffle_epi8(x, rest), load(p + len - LANE), rest));
	}
	return ~reduce(x);
}

CLMUL ANYWHERE __m128i load_masked(const uint8_t *p, const uint8_t *mask)
{
	return _mm_or_si128(load(p), load(mask));
}

/* Less than 64 bytes; the masked ones are in the first three registers. */
CLMUL static uint32_t three(const uint8_t *p, size_t len, const uint8_t *mask)
{
	const __m128i near = load(fold128);
	__m128i x = _mm_xor_si128(load_masked(p, mask), _mm_cvtsi32_si128(-1));
	__m128i y = load_masked(p + LANE, mask + LANE);
	__m128i z = load_masked(p + 2 * LANE, mask + 2 * LANE);

	x = fold(fold(x, near, y), near, z);
	return finish(x, p + 3 * LANE, len - 3 * LANE);
}

/* Four registers over 64 bytes per round, so that the multipliers do not wait. */
CLMUL static uint32_t four(const uint8_t *p, size_t len, const uint8_t *mask)
{
	const __m128i far = load(fold512), near = load(fold128);
	__m128i x = _mm_xor_si128(load_masked(p, mask), _mm_cvtsi32_si128(-1));
	__m128i y = load_masked(p + LANE, mask + LANE);
	__m128i z = load_masked(p + 2 * LANE, mask + 2 * LANE);
	__m128i w = load_masked(p + 3 * LANE, mask + 3 * LANE);

	for (p += WIDE, len -= WIDE; len >= WIDE; len -= WIDE, p += WIDE) {
		x = fold(x, far, load(p));
		y = fold(y, far, load(p + LANE));
		z = fold(z, far, load(p + 2 * LANE));
		w = fold(w, far, load(p + 3 * LANE));
	}
	x = fold(fold(fold(x, near, y), near, z), near, w);
	return finish(x, p, len);
}

CLMUL uint32_t crc_clmul_masked(const uint8_t *p, size_t len, const uint8_t *mask)
{
	return len < WIDE ? three(p, len, mask) : four(p, len, mask);
}

VCLMUL ANYWHERE __m512i load_wide(const uint8_t *p)
{
	return _mm512_loadu_si512(p);
}

VCLMUL ANYWHERE __m512i spread(const uint64_t by[2])
{
	return _mm512_broadcast_i32x4(load(by));
}

VCLMUL ANYWHERE __m512i fold_wide(__m512i x, __m512i by, __m512i next)
{
	return _mm512_ternarylogic_epi64(next, _mm512_clmulepi64_epi128(x, by, 0x00),
		_mm512_clmulepi64_epi128(x, by, 0x11), XOR_OF_THREE);
}

/* Moves the three earlier lanes to the place of the last one. */
VCLMUL ANYWHERE __m128i narrow(__m512i x)
{
	__m128i last = _mm512_extracti32x4_epi32(x, 3);

	last = fold(_mm512_castsi512_si128(x), load(fold384), last);
	last = fold(_mm512_extracti32x4_epi32(x, 1), load(fold256), last);
	return fold(_mm512_extracti32x4_epi32(x, 2), load(fold128), last);
}

VCLMUL uint32_t crc_vclmul_masked(const uint8_t *p, size_t len, const uint8_t *mask)
{
	const __m512i near = spread(fold512);
	__m512i x;

	if (len < WIDE)
		return crc_clmul_masked(p, len, mask);
	x = _mm512_xor_si512(_mm512_or_si512(load_wide(p), load_wide(mask)),
		_mm512_zextsi128_si512(_mm_cvtsi32_si128(-1)));
	p += WIDE;
	len -= WIDE;
	if (len >= 7 * WIDE) {
		const __m512i far = spread(fold2048);
		__m512i y = load_wide(p), z = load_wide(p + WIDE), w = load_wide(p + 2 * WIDE);

		for (p += 3 * WIDE, len -= 3 * WIDE; len >= 4 * WIDE;
			len -= 4 * WIDE, p += 4 * WIDE) {
			x = fold_wide(x, far, load_wide(p));
			y = fold_wide(y, far, load_wide(p + WIDE));
			z = fold_wide(z, far, load_wide(p + 2 * WIDE));
			w = fold_wide(w, far, load_wide(p + 3 * WIDE));
		}
		x = fold_wide(fold_wide(fold_wide(x, near, y), near, z), near, w);
	}
	for (; len >= WIDE; len -= WIDE, p += WIDE)
		x = fold_wide(x, near, load_wide(p));
	return finish(narrow(x), p, len);
}
#endif
