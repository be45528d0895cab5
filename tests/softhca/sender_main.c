/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The program sender by itself. */
#include "sender.h"

int main(int argc, char **argv)
{
	return sender_run(argc, argv);
}
