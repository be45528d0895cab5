/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A copy of a capture, record by record: shared by annotate.c and rewrite.c. */
#pragma once

#include "reader.h"

#define EPB_HEAD 28 /* bytes before the frame, also of a PB */
#define SPB_HEAD 12
#define TEXT_MAX 65532 /* an option's length has 16 bits */

struct copying {
	int (*put)(void *ctx, const void *data, size_t n); /* NULL: there is no copy */
	void *put_ctx;
	uint8_t *buf; /* the record as it will be written */
	size_t n, capacity;
	bool begun;   /* the copy has its header, for input other than pcapng */
	bool swapped; /* byte order of the current section */
	int errnum;   /* errno of put(); 0: no error */
	bool no_memory, refused;
};

/* Appends bytes to the record; NULL: zeros. Returns where they are, NULL: out of memory. */
uint8_t *copy_add(struct copying *c, const void *bytes, size_t n);
/* To the next multiple of four. */
void copy_pad(struct copying *c);
/* In the byte order of the section. */
void copy_set_u32(const struct copying *c, uint8_t *p, uint32_t v);
void copy_option(struct copying *c, uint16_t code, const void *bytes, size_t n);
/* Writes the record; nothing after a failure. */
void copy_flush(struct copying *c);
/* Completes the record as a block, and writes it. */
void copy_block_end(struct copying *c);
/* The copy cannot go on. */
bool copy_failed(const struct copying *c);
/*
 * Reads a whole capture, whose records in->raw() copies. 0, 1 if the input is damaged or the copy
 * was refused, or -1 with the error.
 */
int copy_all(struct copying *c, const struct reader_input *in, struct rd_error *err);
