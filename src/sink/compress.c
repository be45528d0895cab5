/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compression of a file block by block, by zlib and libzstd. */
#include "output.h"
#include <rdmadump/array.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

struct compressor {
	z_stream gz, gz_stored;
	ZSTD_CCtx *zst;
};

#define GZIP_WINDOW (15 + 16) /* 16 selects gzip's header and trailer */

/* What was not opened is zero, which all three take. */
void compressor_close(struct compressor *c)
{
	deflateEnd(&c->gz);
	deflateEnd(&c->gz_stored);
	ZSTD_freeCCtx(c->zst);
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
	compressor_close(c);
	return NULL;
}

static size_t gzip_bound(struct compressor *c, size_t len)
{
	size_t a = deflateBound(&c->gz, len), b = deflateBound(&c->gz_stored, len);

	return a > b ? a : b;
}

/* A member of its own. The first is stored, so that its length does not depend on its content. */
static size_t gzip_pack(struct compressor *c, uint8_t *to, size_t size, const uint8_t *from,
	size_t len, enum block block)
{
	z_stream *z = block == BLOCK_FIRST ? &c->gz_stored : &c->gz;

	deflateReset(z);
	z->next_in = (Bytef *)(uintptr_t)from;
	z->avail_in = (uInt)len;
	z->next_out = to;
	z->avail_out = (uInt)size;
	return deflate(z, Z_FINISH) == Z_STREAM_END ? size - z->avail_out : 0;
}

#define ZSTD_RAW_MAX 131072 /* bytes of one raw block, RFC 8878 3.1.1.2 */

static struct compressor *zstd_open(int level)
{
	struct compressor *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->zst = ZSTD_createCCtx();
	/* No checksum: after blocks were cut from the file, that of the frame would be wrong. */
	if (c->zst && !ZSTD_isError(ZSTD_CCtx_setParameter(c->zst, ZSTD_c_compressionLevel, level)))
		return c;
	compressor_close(c);
	return NULL;
}

static size_t zstd_bound(struct compressor *c, size_t len)
{
	(void)c;
	return ZSTD_compressBound(len) + 64 + len / ZSTD_RAW_MAX * 4;
}

static size_t zstd_stream(struct compressor *c, uint8_t *to, size_t size, const uint8_t *from,
	size_t len, ZSTD_EndDirective how)
{
	ZSTD_inBuffer in = {from, len, 0};
	ZSTD_outBuffer out = {to, size, 0};
	size_t rc;

	do {
		rc = ZSTD_compressStream2(c->zst, &out, &in, how);
		if (ZSTD_isError(rc) || (rc && out.pos == out.size))
			return 0;
	} while (rc);
	return out.pos;
}

/* Ends the frame with raw blocks, which depend on no state of the compressor: RFC 8878 3.1.1.2. */
static size_t zstd_raw_end(uint8_t *to, size_t size, const uint8_t *from, size_t len)
{
	size_t used = 0;

	if (size < len + 3 * (len / ZSTD_RAW_MAX + 1))
		return 0;
	do {
		size_t n = len < ZSTD_RAW_MAX ? len : ZSTD_RAW_MAX;
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

static size_t zstd_pack(struct compressor *c, uint8_t *to, size_t size, const uint8_t *from,
	size_t len, enum block block)
{
	if (block == BLOCK_LAST_BROKEN)
		return zstd_raw_end(to, size, from, len);
	if (block == BLOCK_FIRST && ZSTD_isError(ZSTD_CCtx_reset(c->zst, ZSTD_reset_session_only)))
		return 0;
	return zstd_stream(c, to, size, from, len, block == BLOCK_LAST ? ZSTD_e_end : ZSTD_e_flush);
}

const struct compression compressions[] = {
	{
		.name = "gz",
		.suffix = ".gz",
		.level_max = 9,
		.rewritable = true,
		.open = gzip_open,
		.bound = gzip_bound,
		.pack = gzip_pack,
	},
	{
		.name = "zst",
		.suffix = ".zst",
		.level_max = 19,
		.open = zstd_open,
		.bound = zstd_bound,
		.pack = zstd_pack,
	},
	{0},
};

/* --- file name suffixes ------------------------------------------------------------------ */

const char *rd_compression_of(const char *path)
{
	size_t len = strlen(path);

	for (const struct compression *c = compressions; c->name; c++) {
		size_t n = strlen(c->suffix);

		if (len > n && strcmp(path + len - n, c->suffix) == 0)
			return c->name;
	}
	return NULL;
}

int rd_compression_check(const char *path, struct rd_error *err)
{
	static const char *const endings[] = {".xz", ".bz2", ".lz4", ".lzma", ".Z", ".br"};
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < RD_COUNT(endings); i++)
		if (!strcmp(dot, endings[i]))
			return rd_fail(err, RD_CLASS_USAGE, 0,
				"give another name, or --compress, which decides whatever the name "
				"is",
				"-w '%s': %s cannot be written; this build writes gz, zst", path,
				dot);
	return 0;
}

bool rd_header_rewritable(const char *path, const char *compression)
{
	struct stat st;

	if (strcmp(path, "-") == 0 || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
		return false;
	for (const struct compression *c = compressions; compression && c->name; c++)
		if (strcmp(c->name, compression) == 0)
			return c->rewritable;
	return true;
}
