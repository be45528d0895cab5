/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of the enumerations of a report, in JSON and in text. */
#ifndef RDMADUMP_ANALYSIS_NAMES_H
#define RDMADUMP_ANALYSIS_NAMES_H

#include <rdmadump/analysis.h>

/* The name of a value; "?" if it has none. Static. */
const char *kind_name(unsigned int kind);
const char *pairing_name(unsigned int pairing);
const char *ending_name(unsigned int ending);
const char *certainty_name(unsigned int certainty);
const char *side_name(unsigned int side); /* "a", "b"; NULL if it is neither */

#endif
