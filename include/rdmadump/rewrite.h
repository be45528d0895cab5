/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies a capture in its own format while functions of the caller change what is in it: frames,
 * texts, addresses of interfaces. Times, lengths and the order of frames stay.
 */
#pragma once

#include <rdmadump/format.h>

struct rd_rewrite {
	/*
	 * A frame in place; `extra` bytes follow the captured ones: an FCS, or padding. False: the
	 * frame cannot be changed, and the copy fails.
	 */
	bool (*frame)(void *ctx, enum rd_link link, uint8_t *data, uint32_t caplen, uint32_t len,
		uint32_t extra);
	/* The replacement for a text of the file, which the caller frees; NULL: out of memory. */
	char *(*text)(void *ctx, const char *text, size_t n, size_t *out_n);
	/* An address of an interface, of 4, 6, 8 or 16 bytes, in place. */
	void (*address)(void *ctx, uint8_t *bytes, size_t n);
	void *ctx;
	/* Takes all bytes of the copy; -1 with errno if it cannot. NULL: there is no copy. */
	int (*put)(void *ctx, const void *data, size_t n);
	void *put_ctx;
	/* Results. */
	uint64_t frames;
	uint64_t left_out; /* unknown blocks and options */
};

/*
 * Copies what a reader finds in the bytes of `read`: known blocks and options only. Returns 0; 1
 * with *err if the file is damaged or ends early: all before that is copied; -1 with *err:
 * RD_CLASS_DEVICE if it is not a capture or a frame cannot be changed, RD_CLASS_OUTPUT if put()
 * failed, RD_CLASS_PARTIAL if there is no memory.
 */
int rd_rewrite(struct rd_rewrite *w, rd_read_fn *read, void *read_ctx, const char *name,
	struct rd_error *err);
/* The same for a file, which may be compressed; the copy is not. */
int rd_rewrite_file(struct rd_rewrite *w, const char *path, struct rd_error *err);
