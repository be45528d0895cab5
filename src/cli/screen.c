/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The width of the terminal, and text that wraps within it. */
#include "cli.h"
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned int rd_cli_columns(void)
{
	struct winsize size;

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? size.ws_col : 0;
}

void rd_cli_put_wrapped(FILE *out, const char *text, size_t indent, size_t width)
{
	while (strlen(text) > width) {
		size_t n = width;

		while (n && text[n] != ' ')
			n--;
		if (!n)
			n = width;
		fprintf(out, "%.*s\n%*s", (int)n, text, (int)indent, "");
		text += n + strspn(text + n, " ");
	}
	fprintf(out, "%s\n", text);
}
