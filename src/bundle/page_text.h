/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text that is not trusted, in HTML. */
#ifndef RDMADUMP_BUNDLE_PAGE_TEXT_H
#define RDMADUMP_BUNDLE_PAGE_TEXT_H

#include <jansson.h>
#include <stdio.h>

/* Like fprintf(): %s is escaped, without control characters; %d is a json_int_t. No others. */
void page_put(FILE *out, const char *format, ...);
/* An element with text; writes nothing if the text is empty. */
void page_element(FILE *out, const char *open, const char *text, const char *close);

#endif
