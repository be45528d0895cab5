/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The edit distance between two words, to suggest the intended one after a typing error. */
#include <ctype.h>
#include <limits.h>
#include <rdmadump/words.h>
#include <stdbool.h>
#include <string.h>

#define WORD_MAX 47

unsigned int rd_word_edits(const char *a, const char *b)
{
	unsigned int d[WORD_MAX + 1][WORD_MAX + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > WORD_MAX || m > WORD_MAX)
		return UINT_MAX;
	for (unsigned int j = 0; j <= m; j++)
		d[0][j] = j;
	for (unsigned int i = 1; i <= n; i++) {
		int c = tolower((unsigned char)a[i - 1]);

		d[i][0] = i;
		for (unsigned int j = 1; j <= m; j++) {
			unsigned int change = d[i - 1][j - 1] + (c != b[j - 1]);
			unsigned int shift =
				(d[i - 1][j] < d[i][j - 1] ? d[i - 1][j] : d[i][j - 1]) + 1;
			bool swapped = i > 1 && j > 1 && c == b[j - 2] &&
				       tolower((unsigned char)a[i - 2]) == b[j - 1];

			d[i][j] = change < shift ? change : shift;
			if (swapped && d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[n][m];
}
