/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words that people type. */
#ifndef RDMADUMP_WORDS_H
#define RDMADUMP_WORDS_H

/*
 * Letters to change, add, leave out, or swap with their neighbour, to make b of a (optimal string
 * alignment). Case does not count in a; b is in lower case. UINT_MAX if either has more than 47.
 */
unsigned int rd_word_edits(const char *a, const char *b);

#endif
