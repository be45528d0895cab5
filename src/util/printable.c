/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decodes UTF-8 (RFC 3629), escapes characters that must not reach a terminal or a document. */
#include <rdmadump/array.h>
#include <rdmadump/printable.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PIECE	    256
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The length of a character that begins with this byte; 0 if the byte cannot begin one. */
static size_t length_of(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2)
		return 0;
	if (first < 0xe0)
		return 2;
	if (first < 0xf0)
		return 3;
	return first < 0xf5 ? 4 : 0;
}

/* Overlong forms, surrogates and values above U+10FFFF are not characters. */
static bool is_character(uint32_t c, size_t length)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};

	return c >= least[length] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

/* Decodes one character; returns its length, 0 if the bytes are not valid UTF-8. */
static size_t decode(const char *text, size_t n, uint32_t *c)
{
	const uint8_t *p = (const uint8_t *)text;
	size_t length = length_of(*p);

	if (!length || length > n)
		return 0;
	*c = length == 1 ? *p : *p & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (p[i] & 0x3f);
	}
	return is_character(*c, length) ? length : 0;
}

/* Whether the character may control a terminal or change the order in which it shows text. */
static bool is_unsafe(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} unsafe[] = {
		{0x00, 0x1f},
		{0x7f, 0x9f},
		{0x061c, 0x061c}, /* bidirectional controls: UAX #9 */
		{0x200e, 0x200f},
		{0x2028, 0x202e}, /* line and paragraph separators, more bidirectional controls */
		{0x2066, 0x2069},
	};

	return RD_ANY(u, unsafe, RD_COUNT(unsafe), c >= u->first && c <= u->last);
}

static size_t escape(char *out, char kind, uint32_t value, int digits)
{
	static const char hex[] = "0123456789abcdef";
	size_t used = 0;

	out[used++] = '\\';
	out[used++] = kind;
	while (digits--)
		out[used++] = hex[value >> 4 * digits & 0xf];
	return used;
}

/* Writes one character, or one byte that is not part of one. *taken: bytes read from the text. */
static size_t put(char *out, const char *text, size_t n, const char *keep, size_t *taken)
{
	uint32_t c = 0;
	size_t length = decode(text, n, &c);

	*taken = length ? length : 1;
	if (!length)
		return escape(out, 'x', (uint8_t)*text, 2);
	if (!is_unsafe(c) || (c && c < 0x80 && strchr(keep, (int)c))) {
		memcpy(out, text, length);
		return length;
	}
	/* JSON itself escapes those below 0x20, the others are valid in JSON */
	return c < 0x20 ? escape(out, 'x', c, 2) : escape(out, 'u', c, 4);
}

size_t rd_printable(char *out, const char *text, size_t n, const char *keep)
{
	size_t used = 0, taken;

	for (; n; text += taken, n -= taken) {
		for (taken = 0; taken < n && text[taken] >= ' ' && text[taken] < 0x7f; taken++)
			out[used++] = text[taken]; /* large documents are nearly all ASCII */
		used += taken ? 0 : put(out + used, text, n, keep, &taken);
	}
	return used;
}

void rd_printable_put(FILE *out, const char *text, size_t n)
{
	char clean[PIECE * RD_PRINTABLE_GROWTH];

	n = text ? strnlen(text, n) : 0;
	while (n) {
		size_t piece = n;

		if (piece > PIECE)
			piece = PIECE - rd_utf8_unfinished(text, PIECE);
		fwrite(clean, 1, rd_printable(clean, text, piece, ""), out);
		text += piece;
		n -= piece;
	}
}

size_t rd_utf8_unfinished(const char *text, size_t n)
{
	for (size_t back = 1; back < 4 && back <= n; back++) {
		uint8_t byte = (uint8_t)text[n - back];

		if ((byte & 0xc0) != 0x80)
			return length_of(byte) > back ? back : 0;
	}
	return 0;
}

size_t rd_utf8_fit(const char *text, size_t columns)
{
	size_t n = 0;

	/* A character ends before the first byte that does not continue it. */
	while (text[n] && ((text[n] & 0xc0) == 0x80 || columns--))
		n++;
	return n;
}

char *rd_utf8_copy(const char *text)
{
	size_t n = strlen(text), used = 0, capacity = n * strlen(REPLACEMENT) + 1;
	char *copy = malloc(capacity);
	uint32_t c;

	while (copy && n) {
		const size_t length = decode(text, n, &c);
		const size_t more = length ? length : strlen(REPLACEMENT);

		memcpy(copy + used, length ? text : REPLACEMENT, more);
		used += more;
		text += length ? length : 1;
		n -= length ? length : 1;
	}
	if (copy)
		copy[used] = '\0';
	return copy;
}

void rd_text_clean(char *buf, size_t size, const char *from)
{
	size_t n = 0;

	for (; n + 1 < size && from[n]; n++)
		buf[n] = from[n] < 0x20 || from[n] > 0x7e ? '?' : from[n];
	buf[n] = '\0';
}
