/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints the differences between two bundles. */
#ifndef RDMADUMP_BUNDLE_COMPARE_TEXT_H
#define RDMADUMP_BUNDLE_COMPARE_TEXT_H

#include <jansson.h>

/* Prints the changes of rd_bundle_compare() on standard output; long lists are cut. */
void bundle_print_changes(const json_t *changes);

#endif
