/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies a capture, record by record, in the byte order of its sections. */
#include "copy.h"
#include <errno.h>
#include <stdlib.h>

uint8_t *copy_add(struct copying *c, const void *bytes, size_t n)
{
	uint8_t *at;

	if (c->n + n > c->capacity) {
		size_t size = 2 * (c->n + n) + 256;
		uint8_t *grown = realloc(c->buf, size);

		if (!grown) {
			c->no_memory = true;
			return NULL;
		}
		c->buf = grown;
		c->capacity = size;
	}
	at = c->buf + c->n;
	if (bytes)
		memcpy(at, bytes, n);
	else
		memset(at, 0, n);
	c->n += n;
	return at;
}

void copy_pad(struct copying *c)
{
	copy_add(c, NULL, (4 - c->n % 4) % 4);
}

static void set_u16(const struct copying *c, uint8_t *p, uint16_t v)
{
	if (c->swapped)
		v = __builtin_bswap16(v);
	memcpy(p, &v, sizeof(v));
}

void copy_set_u32(const struct copying *c, uint8_t *p, uint32_t v)
{
	if (c->swapped)
		v = __builtin_bswap32(v);
	memcpy(p, &v, sizeof(v));
}

void copy_option(struct copying *c, uint16_t code, const void *bytes, size_t n)
{
	uint8_t head[4];

	set_u16(c, head, code);
	set_u16(c, head + 2, (uint16_t)n);
	copy_add(c, head, sizeof(head));
	copy_add(c, bytes, n);
	copy_pad(c);
}

bool copy_failed(const struct copying *c)
{
	return c->errnum || c->no_memory || c->refused;
}

void copy_flush(struct copying *c)
{
	errno = 0;
	if (!copy_failed(c) && c->n && c->put && c->put(c->put_ctx, c->buf, c->n) < 0)
		c->errnum = errno ? errno : EIO;
	c->n = 0;
}

void copy_block_end(struct copying *c)
{
	uint8_t *last = copy_add(c, NULL, 4);

	if (!last)
		return;
	copy_set_u32(c, c->buf + 4, (uint32_t)c->n);
	copy_set_u32(c, last, (uint32_t)c->n);
	copy_flush(c);
}

/* The reader passes facts as a whole only if there is a callback for them. */
static void ignore_facts(void *ctx, const char *json, size_t len)
{
	(void)ctx, (void)json, (void)len;
}

int copy_all(struct copying *c, const struct reader_input *in, struct rd_error *err)
{
	struct rd_frame frames[64];
	struct rd_reader *r;
	int n;

	if (reader_open(&r, in, err) < 0) {
		free(c->buf);
		return -1;
	}
	rd_reader_on_facts(r, ignore_facts, NULL);
	do
		n = rd_reader_next(r, frames, RD_COUNT(frames), err);
	while (n > 0 && !copy_failed(c));
	rd_reader_close(r);
	free(c->buf);
	if (c->no_memory)
		return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "cannot copy '%s'", in->name);
	if (c->errnum)
		return rd_fail(err, RD_CLASS_OUTPUT, c->errnum,
			"free some space or name another file", "cannot write the copy of '%s'",
			in->name);
	return n < 0 ? 1 : 0;
}
