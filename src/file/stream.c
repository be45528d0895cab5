/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bytes of a file or pipe, decompressed if they are gzip or zstd (zlib, libzstd). */
#include "stream.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <rdmadump/array.h>
#include <rdmadump/fd.h>
#include <rdmadump/format.h>
#include <rdmadump/identity.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#define INPUT_ROOM 262144
#define MAGIC_LEN  4

/* Result of decode(). */
enum decoded {
	DECODED_SOME, /* *got > 0 */
	DECODED_ALL,  /* all input is consumed: more bytes of the file are needed */
	DECODED_BAD,  /* stream.fault has the reason */
};

struct decoder {
	const char *name;
	bool (*init)(struct stream *s);
	/* Decodes from in[at..have) to buf. *got bytes are valid, also with DECODED_BAD. */
	enum decoded (*decode)(struct stream *s, uint8_t *buf, size_t capacity, size_t *got);
	void (*fini)(struct stream *s);
};

struct stream {
	int fd;
	char *name;
	const struct decoder *decoder; /* NULL: not compressed */
	uint64_t size, done;	       /* of the file */
	uint8_t *in;		       /* bytes of the file: in[at..have) are not yet taken */
	size_t at, have;
	bool pollable, never_wait;
	bool ended;  /* end of the file */
	bool inside; /* within a gzip member or zstd frame */
	bool failed;
	struct rd_error fault;
	z_stream gz;
	ZSTD_DStream *zst;
	size_t first_hint, hint; /* number of bytes that libzstd expects next */
	bool full;		 /* the last call filled the buffer: libzstd may hold more */
};

/* --- the file --------------------------------------------------------------------------- */

/* read(2) that returns RD_READ_LATER if it must not wait, and counts the bytes. */
static ssize_t file_read(struct stream *s, uint8_t *buf, size_t capacity, struct rd_error *err)
{
	struct pollfd p = {.fd = s->fd, .events = POLLIN};
	ssize_t n;

	if (s->ended)
		return 0;
	if (s->never_wait && poll(&p, 1, 0) == 0)
		return RD_READ_LATER;
	n = TEMP_FAILURE_RETRY(read(s->fd, buf, capacity));
	if (n < 0 && s->never_wait && errno == EAGAIN)
		return RD_READ_LATER;
	if (n < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno,
			errno == EISDIR	 ? "give a file, not a directory"
			: errno == EBADF ? "it is closed; give a file, or a pipe that is open"
					 : NULL,
			"cannot read '%s'", s->name);
	s->ended = n == 0;
	s->done += (size_t)n;
	return n;
}

static void fail_compressed(struct stream *s, const char *what, const char *why)
{
	s->failed = true;
	rd_fail(&s->fault, RD_CLASS_PARTIAL, 0,
		"the data before are valid; copy the file again if the original is complete",
		"'%s': its %s data are %s before byte %" PRIu64 "%s%s", s->name, s->decoder->name,
		what, s->done - (s->have - s->at), why ? ": " : "", why ? why : "");
}

/* --- gzip ------------------------------------------------------------------------------- */

static bool gzip_init(struct stream *s)
{
	const int largest_window = 15, gzip_only = 16;

	return inflateInit2(&s->gz, largest_window + gzip_only) == Z_OK;
}

static enum decoded gzip_decode(struct stream *s, uint8_t *buf, size_t capacity, size_t *got)
{
	int rc = Z_OK;

	s->gz.next_out = buf;
	s->gz.avail_out = (uInt)capacity;
	while (s->gz.avail_out == capacity && rc != Z_BUF_ERROR) {
		/* Tapes and preallocated files are padded with zeros; gzip(1) skips them too. */
		while (!s->inside && s->at < s->have && s->in[s->at] == 0)
			s->at++;
		if (!s->inside && s->at == s->have)
			return DECODED_ALL;
		s->gz.next_in = s->in + s->at;
		s->gz.avail_in = (uInt)(s->have - s->at);
		s->inside = true;
		rc = inflate(&s->gz, Z_NO_FLUSH);
		s->at = s->have - s->gz.avail_in;
		*got = capacity - s->gz.avail_out;
		if (rc == Z_STREAM_END) {
			s->inside = false;
			inflateReset(&s->gz);
		} else if (rc != Z_OK && rc != Z_BUF_ERROR) {
			fail_compressed(s, "damaged", s->gz.msg);
			return DECODED_BAD;
		}
	}
	return *got ? DECODED_SOME : DECODED_ALL;
}

static void gzip_fini(struct stream *s)
{
	inflateEnd(&s->gz);
}

static const struct decoder gzip_decoder = {"gzip", gzip_init, gzip_decode, gzip_fini};

/* --- zstd ------------------------------------------------------------------------------- */

static bool zstd_init(struct stream *s)
{
	s->zst = ZSTD_createDStream();
	if (!s->zst)
		return false;
	s->hint = s->first_hint = ZSTD_initDStream(s->zst);
	return !ZSTD_isError(s->hint);
}

/*
 * Feeds libzstd one block at a time: a call that finds damage returns no data, not even of earlier
 * blocks. libzstd asks for a block with the header of the next block, which may be damaged as well.
 */
static size_t zstd_feed(const struct stream *s)
{
	const size_t block_header = 3; /* RFC 8878, 3.1.1.2 */
	size_t left = s->have - s->at;
	size_t want = s->hint > block_header ? s->hint - block_header : s->hint;

	return left < want ? left : want;
}

static enum decoded zstd_decode(struct stream *s, uint8_t *buf, size_t capacity, size_t *got)
{
	ZSTD_outBuffer out = {buf, capacity, 0};

	for (;;) {
		/* Output that it holds comes first: a damaged block after it would discard it. */
		bool flush = s->full;
		ZSTD_inBuffer in = {s->in + s->at, flush ? 0 : zstd_feed(s), 0};
		size_t before = out.pos, rc = ZSTD_decompressStream(s->zst, &out, &in);

		*got = out.pos;
		if (ZSTD_isError(rc)) {
			fail_compressed(s, "damaged", ZSTD_getErrorName(rc));
			return DECODED_BAD;
		}
		s->at += in.pos;
		if (in.pos || out.pos > before)
			s->inside = rc != 0;
		s->hint = rc ? rc : s->first_hint;
		s->full = out.pos == capacity;
		if (s->full || (!flush && !in.pos && out.pos == before))
			return out.pos ? DECODED_SOME : DECODED_ALL;
	}
}

static void zstd_fini(struct stream *s)
{
	ZSTD_freeDStream(s->zst);
}

static const struct decoder zstd_decoder = {"zstd", zstd_init, zstd_decode, zstd_fini};

/* --- opening ---------------------------------------------------------------------------- */

/* By the first four bytes; a zstd file may begin with a skippable frame: 16 magic numbers. */
static const struct magic {
	uint8_t bytes[MAGIC_LEN], mask[MAGIC_LEN];
	const struct decoder *decoder;
} magics[] = {
	{{0x1f, 0x8b}, {0xff, 0xff}, &gzip_decoder},
	{{0x28, 0xb5, 0x2f, 0xfd}, {0xff, 0xff, 0xff, 0xff}, &zstd_decoder},
	{{0x50, 0x2a, 0x4d, 0x18}, {0xf0, 0xff, 0xff, 0xff}, &zstd_decoder},
};

static bool magic_matches(const struct magic *m, const uint8_t *p)
{
	for (unsigned int i = 0; i < MAGIC_LEN; i++)
		if ((p[i] & m->mask[i]) != m->bytes[i])
			return false;
	return true;
}

static int choose_decoder(struct stream *s, struct rd_error *err)
{
	uint8_t first[MAGIC_LEN] = {0};

	memcpy(first, s->in, s->have < MAGIC_LEN ? s->have : MAGIC_LEN);
	for (size_t i = 0; i < RD_COUNT(magics); i++) {
		if (!magic_matches(&magics[i], first))
			continue;
		if (!magics[i].decoder->init(s))
			return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot uncompress '%s'",
				s->name);
		s->decoder = magics[i].decoder;
	}
	return 0;
}

/* A pipe may deliver the first bytes one by one: read until the magic number is complete. */
static int read_magic(struct stream *s, struct rd_error *err)
{
	while (s->have < MAGIC_LEN && !s->ended) {
		ssize_t n = file_read(s, s->in + s->have, INPUT_ROOM - s->have, err);

		if (n < 0)
			return -1;
		s->have += (size_t)n;
	}
	if (!s->have)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "nothing was captured into it",
			"'%s' is empty", s->name);
	return choose_decoder(s, err);
}

static int file_open(struct stream *s, const char *path, struct rd_error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	struct stat st;

	s->fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : rd_open_input(path, 0);
	if (s->fd < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno, rd_open_advice(errno),
			"cannot open '%s'", s->name);
	if (fstat(s->fd, &st) < 0)
		return 0;
	if (S_ISREG(st.st_mode))
		s->size = (uint64_t)st.st_size;
	s->pollable = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
		      (S_ISCHR(st.st_mode) && isatty(s->fd));
	return 0;
}

int stream_open(struct stream **stream, const char *path, struct rd_error *err)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (s) {
		s->fd = -1;
		s->name = strdup(strcmp(path, "-") ? path : "standard input");
		s->in = malloc(INPUT_ROOM);
	}
	if (!s || !s->name || !s->in) {
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot open '%s'", path);
		goto fail;
	}
	if (file_open(s, path, err) < 0 || read_magic(s, err) < 0)
		goto fail;
	*stream = s;
	return 0;
fail:
	stream_close(s);
	return -1;
}

/* --- reading ---------------------------------------------------------------------------- */

/* Bytes read for the magic number are copied; all others are read directly into buf. */
static ssize_t read_plain(struct stream *s, uint8_t *buf, size_t capacity, struct rd_error *err)
{
	size_t n = s->have - s->at;

	if (!n)
		return file_read(s, buf, capacity, err);
	n = RD_MIN(n, capacity);
	memcpy(buf, s->in + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

static ssize_t repeat_fault(const struct stream *s, struct rd_error *err)
{
	*err = s->fault;
	return -1;
}

/* The decoder has consumed all input. */
static ssize_t refill(struct stream *s, struct rd_error *err)
{
	ssize_t n = file_read(s, s->in, INPUT_ROOM, err);

	if (n < 0)
		return n;
	s->at = 0;
	s->have = (size_t)n;
	if (n == 0 && s->inside) {
		fail_compressed(s, "cut short", NULL);
		return repeat_fault(s, err);
	}
	return n;
}

ssize_t stream_read(void *ctx, uint8_t *buf, size_t capacity, struct rd_error *err)
{
	const size_t most = (size_t)1 << 30; /* what zlib can count */
	struct stream *s = ctx;
	enum decoded d;
	ssize_t n;

	if (!s->decoder)
		return read_plain(s, buf, capacity, err);
	if (s->failed)
		return repeat_fault(s, err);
	do {
		size_t got = 0;

		d = s->decoder->decode(s, buf, RD_MIN(capacity, most), &got);
		if (got)
			return (ssize_t)got;
		n = d == DECODED_BAD ? repeat_fault(s, err) : refill(s, err);
	} while (n > 0);
	return n;
}

int stream_fd(const struct stream *s)
{
	return s->pollable ? s->fd : -1;
}

void stream_never_wait(struct stream *s)
{
	s->never_wait = s->pollable;
}

const char *stream_name(const struct stream *s)
{
	return s->name;
}

const char *stream_compression(const struct stream *s)
{
	return s->decoder ? s->decoder->name : "";
}

void stream_progress(const struct stream *s, uint64_t *done, uint64_t *size)
{
	*done = s->done;
	*size = s->size;
}

void stream_close(struct stream *s)
{
	if (!s)
		return;
	if (s->decoder)
		s->decoder->fini(s);
	rd_fd_close(&s->fd);
	free(s->in);
	free(s->name);
	free(s);
}
