/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Compression of a file block by block, by zlib and libzstd. */
#include "compress.h"
#include "config.h"
#include <rdmadump/bytes.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

struct compressor {
#ifdef HAVE_ZLIB
	z_stream gz, gz_stored;
#endif
#ifdef HAVE_ZSTD
	ZSTD_CCtx *zst;
#endif
	char unused;
};

#ifdef HAVE_ZLIB
#define GZIP_WINDOW (15 + 16) /* 16 asks zlib for gzip's header and trailer */

static void gzip_close(struct compressor *c)
{
	deflateEnd(&c->gz);
	deflateEnd(&c->gz_stored);
	free(c);
}

static struct compressor *gzip_open(int level)
{
	struct compressor *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	if (deflateInit2(&c->gz, level, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK &&
		deflateInit2(&c->gz_stored, Z_NO_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8,
			Z_DEFAULT_STRATEGY) == Z_OK)
		return c;
	gzip_close(c);
	return NULL;
}

static size_t gzip_bound(struct compressor *c, size_t len)
{
	size_t a = deflateBound(&c->gz, len), b = deflateBound(&c->gz_stored, len);

	return a > b ? a : b;
}

static size_t gzip_member(z_stream *z, uint8_t *to, size_t room, const uint8_t *from, size_t len)
{
	deflateReset(z);
	z->next_in = (Bytef *)(uintptr_t)from;
	z->avail_in = (uInt)len;
	z->next_out = to;
	z->avail_out = (uInt)room;
	return deflate(z, Z_FINISH) == Z_STREAM_END ? room - z->avail_out : 0;
}

static size_t gzip_block(
	struct compressor *c, uint8_t *to, size_t room, const uint8_t *from, size_t len)
{
	return gzip_member(&c->gz, to, room, from, len);
}

static size_t gzip_stored(
	struct compressor *c, uint8_t *to, size_t room, const uint8_t *from, size_t len)
{
	return gzip_member(&c->gz_stored, to, room, from, len);
}
#endif

#ifdef HAVE_ZSTD
#define ZSTD_RAW_MOST 131072 /* bytes of one raw block, RFC 8878 3.1.1.2 */

static void zstd_close(struct compressor *c)
{
	ZSTD_freeCCtx(c->zst);
	free(c);
}

static struct compressor *zstd_open(int level)
{
	struct compressor *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->zst = ZSTD_createCCtx();
	if (c->zst &&
		!ZSTD_isError(ZSTD_CCtx_setParameter(c->zst, ZSTD_c_compressionLevel, level)) &&
		!ZSTD_isError(ZSTD_CCtx_setParameter(c->zst, ZSTD_c_checksumFlag, 1)))
		return c;
	zstd_close(c);
	return NULL;
}

static size_t zstd_bound(struct compressor *c, size_t len)
{
	(void)c;
	return ZSTD_compressBound(len) + 64 + len / ZSTD_RAW_MOST * 4;
}

static size_t zstd_block(
	struct compressor *c, uint8_t *to, size_t room, const uint8_t *from, size_t len)
{
	size_t n = ZSTD_compress2(c->zst, to, room, from, len);

	return ZSTD_isError(n) ? 0 : n;
}

/* A frame of raw blocks, which the library has no call for: RFC 8878 3.1.1. */
static size_t zstd_stored(
	struct compressor *c, uint8_t *to, size_t room, const uint8_t *from, size_t len)
{
	const uint8_t single_segment_4_byte_size = 0xa0;
	size_t used = 9;

	(void)c;
	if (room < used + len + 3 * (len / ZSTD_RAW_MOST + 1))
		return 0;
	rd_put_le32(to, 0xfd2fb528);
	to[4] = single_segment_4_byte_size;
	rd_put_le32(to + 5, (uint32_t)len);
	do {
		size_t n = len < ZSTD_RAW_MOST ? len : ZSTD_RAW_MOST;
		uint32_t head = (uint32_t)n << 3 | (n == len);

		to[used] = (uint8_t)head;
		to[used + 1] = (uint8_t)(head >> 8);
		to[used + 2] = (uint8_t)(head >> 16);
		memcpy(to + used + 3, from, n);
		used += 3 + n;
		from += n;
		len -= n;
	} while (len);
	return used;
}
#endif

const struct compression compressions[] = {
#ifdef HAVE_ZLIB
	{"gz", ".gz", 1, 1, 9, gzip_open, gzip_bound, gzip_block, gzip_stored, gzip_close},
#endif
#ifdef HAVE_ZSTD
	{"zst", ".zst", 1, 1, 19, zstd_open, zstd_bound, zstd_block, zstd_stored, zstd_close},
#endif
	{0},
};
