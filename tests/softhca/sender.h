/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The operations of the program sender, for others that send beside a capture of their own. */
#pragma once

/* As main() of sender; argv[0] is not used. Ends the process if the device cannot be used. */
int sender_run(int argc, char **argv);
