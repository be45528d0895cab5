/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the options that `rdmadump list` and `rdmadump info` share. */
#include "settings.h"

error_t device_settings_option(struct device_settings *settings, int key, const char *arg)
{
	switch (key) {
	case OPT_JSON:
		settings->json = true;
		return 0;
	case OPT_SYSROOT:
		settings->sysroot = arg;
		return 0;
	case OPT_BUNDLE:
		settings->bundle = arg;
		return 0;
	case 'v':
		settings->verbose = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}
