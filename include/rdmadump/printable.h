/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes text from files, the wire and command lines safe for terminals and valid for JSON. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#define RD_PRINTABLE_GROWTH 6 /* output bytes for one input byte, at most */

/*
 * Copies n bytes so that they cannot control a terminal. Printable UTF-8 is unchanged. Control
 * characters, bytes that are not UTF-8, and characters that change the direction of writing become
 * "\xNN" or "\uNNNN"; the latter is also valid within a JSON string. Characters in `keep` are
 * unchanged, too. `out` has room for n * RD_PRINTABLE_GROWTH bytes and gets no NUL. Returns the
 * number of bytes written. From any thread.
 */
size_t rd_printable(char *out, const char *text, size_t n, const char *keep);

/* Prints at most n bytes of the text, up to its NUL, by rd_printable(). `text` may be NULL. */
void rd_printable_put(FILE *out, const char *text, size_t n);

/* The number of bytes at the end of `text` that begin a UTF-8 character and do not complete it. */
size_t rd_utf8_unfinished(const char *text, size_t n);

/* The number of bytes of `text` that are its first `columns` characters, or all of it. */
size_t rd_utf8_fit(const char *text, size_t columns);

/* A copy with U+FFFD for each byte that is not UTF-8; the caller frees it. NULL: out of memory. */
char *rd_utf8_copy(const char *text);

/* Copies at most size - 1 bytes of `from`, with '?' for every byte that is not printable ASCII. */
void rd_text_clean(char *buf, size_t size, const char *from);

/* vsnprintf() of `fmt`, the last named parameter of the function, and what follows it. */
#define RD_FORMAT(buf, size, fmt)                                                                  \
	({                                                                                         \
		va_list rd_list;                                                                   \
		int rd_length;                                                                     \
		va_start(rd_list, fmt);                                                            \
		rd_length = vsnprintf(buf, size, fmt, rd_list);                                    \
		va_end(rd_list);                                                                   \
		rd_length;                                                                         \
	})
