/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compares words, to suggest corrections of typing errors. */
#pragma once

/*
 * The number of letters to change, add, remove, or swap with their neighbour, to get b from a
 * (optimal string alignment). Upper case in a counts as lower case; b is in lower case. UINT_MAX if
 * either has more than 47 letters.
 */
unsigned int rd_word_edits(const char *a, const char *b);
