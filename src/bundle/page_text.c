/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text of devices, captures and tools, escaped for a page. */
#include "task.h"
#include <rdmadump/printable.h>
#include <stdarg.h>

static void put_text(FILE *out, const char *text)
{
	char clean[RD_PRINTABLE_GROWTH];
	size_t n;

	for (; *text; text++) {
		const char *escape = *text == '<'   ? "&lt;"
				     : *text == '>' ? "&gt;"
				     : *text == '&' ? "&amp;"
				     : *text == '"' ? "&quot;"
						    : NULL;

		/* JSON is always valid UTF-8: bytes of a character are copied unchanged. */
		if (escape) {
			fputs(escape, out);
		} else if ((unsigned char)*text < 0x80) {
			n = rd_printable(clean, text, 1, "\n\t");
			fwrite(clean, 1, n, out);
		} else {
			fputc(*text, out);
		}
	}
}

void page_put(FILE *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	for (const char *p = format; *p; p++) {
		if (*p != '%')
			fputc(*p, out);
		else if (*++p == 'd')
			fprintf(out, "%lld", (long long)va_arg(args, json_int_t));
		else
			put_text(out, va_arg(args, const char *));
	}
	va_end(args);
}

void page_element(FILE *out, const char *open, const char *text, const char *close)
{
	if (!*text)
		return;
	fputs(open, out);
	put_text(out, text);
	fputs(close, out);
}
