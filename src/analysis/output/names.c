/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of enumerations in a report. */
#include "output.h"

#define NAME(table, i) ((i) < sizeof(table) / sizeof(*(table)) ? (table)[i] : "?")

const char *kind_name(unsigned int kind)
{
	static const char *const names[] = {[RD_KIND_OTHER] = "other",
		[RD_KIND_ROCE1] = "RoCE v1",
		[RD_KIND_ROCE2] = "RoCE v2",
		[RD_KIND_IB] = "InfiniBand"};

	return NAME(names, kind);
}

const char *pairing_name(unsigned int pairing)
{
	static const char *const names[] = {[RD_PAIR_NONE] = "none",
		[RD_PAIR_PSN] = "psn",
		[RD_PAIR_PORT] = "port",
		[RD_PAIR_CM] = "cm",
		[RD_PAIR_RESOURCE] = "resource"};

	return NAME(names, pairing);
}

const char *ending_name(unsigned int ending)
{
	static const char *const names[] = {[RD_ENDING_OPEN] = "open",
		[RD_ENDING_CLOSED] = "closed",
		[RD_ENDING_STOPPED] = "responses_stopped",
		[RD_ENDING_RETRY] = "retry_exceeded",
		[RD_ENDING_RNR] = "rnr_retry_exceeded",
		[RD_ENDING_REMOTE_ERROR] = "remote_error"};

	return NAME(names, ending);
}

const char *side_name(unsigned int side)
{
	static const char *const names[] = {"a", "b"};

	return side < sizeof(names) / sizeof(*names) ? names[side] : NULL;
}

const char *certainty_name(unsigned int certainty)
{
	return rd_certainty_name((enum rd_certainty)certainty);
}
