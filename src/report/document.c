/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The head of every JSON document. */
#include "config.h"
#include "version.h"
#include <rdmadump/document.h>

const char *rd_program(void)
{
	return PACKAGE_NAME " " PACKAGE_VERSION " (" RD_GIT_DESCRIPTION ")";
}

json_t *rd_document(int version, uint64_t start_ns, json_t *rest)
{
	/* A capture may begin before 1970. */
	json_t *o = json_pack("{s:i, s:s, s:o}", "version", version, "program", rd_program(),
		"start_ns", start_ns ? json_integer((json_int_t)start_ns) : json_null());

	if (json_object_update_new(o, rest) == 0)
		return o;
	json_decref(o);
	return NULL;
}

json_t *rd_json_seconds(int64_t ns)
{
	return json_real((double)ns / 1e9);
}
