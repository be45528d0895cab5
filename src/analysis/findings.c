/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The rules that turn numbers into findings. */
#include "report.h"

int findings_make(const struct rd_analysis *a, struct rd_report *r)
{
	(void)a;
	(void)r;
	return 0;
}
