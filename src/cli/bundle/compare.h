/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints what differs between two bundles. */
#ifndef RDMADUMP_CLI_BUNDLE_COMPARE_H
#define RDMADUMP_CLI_BUNDLE_COMPARE_H

#include <jansson.h>

/* changes: of rd_bundle_compare(). On standard output; of long lists the beginning. */
void bundle_print_changes(const json_t *changes);

#endif
