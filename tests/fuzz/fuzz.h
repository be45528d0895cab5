/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the harnesses of libFuzzer and AFL++ share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool right)
{
	if (!right)
		abort();
}

static inline void require_printable(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		require(text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~'));
}

/* A copy that ends where its memory ends, so that a sanitizer sees a byte too far. */
static inline uint8_t *exact_copy(const uint8_t *data, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	require(copy != NULL);
	memcpy(copy, data, n);
	return copy;
}
