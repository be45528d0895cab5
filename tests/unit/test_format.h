/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Files in memory for the format tests: built by the encoders or by hand, read back whole. */
#pragma once

#include "test.h"
#include <rdmadump/bytes.h>
#include <rdmadump/format.h>

struct memory {
	uint8_t *data;
	size_t len, capacity;
	size_t at, step; /* step: most bytes that one read returns, 0: all */
};

static inline ssize_t memory_read(void *ctx, uint8_t *buf, size_t capacity, struct rd_error *err)
{
	struct memory *m = ctx;
	size_t n = m->len - m->at;

	if (n > capacity)
		n = capacity;
	if (m->step && n > m->step)
		n = m->step;
	if (n)
		memcpy(buf, m->data + m->at, n);
	m->at += n;
	return (ssize_t)n;
}

static inline void memory_add(struct memory *m, const void *data, size_t len)
{
	if (!m->data || m->len + len > m->capacity) {
		m->capacity = m->len + len + m->len;
		m->data = realloc(m->data, m->capacity + 1);
		assert_non_null(m->data);
	}
	if (len)
		memcpy(m->data + m->len, data, len);
	m->len += len;
}

static inline void memory_free(struct memory *m)
{
	free(m->data);
	*m = (struct memory){0};
}

static inline void memory_add_file(struct memory *m, const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t buf[4096];
	size_t n;

	assert_non_null(f);
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		memory_add(m, buf, n);
	fclose(f);
}

static inline struct rd_reader *memory_open(struct memory *m)
{
	struct rd_reader *r;

	m->at = 0;
	if (rd_reader_open(&r, memory_read, m, "test", &failure) < 0)
		fail_msg("%s", failure.text);
	return r;
}
