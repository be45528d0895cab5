/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --help of the program. */
#ifndef RDMADUMP_CLI_HELP_H
#define RDMADUMP_CLI_HELP_H

/* On standard output; 40 lines at most. */
void help_short(void);

#endif
