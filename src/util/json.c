/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Text of unknown encoding as JSON. */
#include <rdmadump/json.h>
#include <rdmadump/printable.h>
#include <stdlib.h>

json_t *rd_json_string(const char *text)
{
	char *copy = text ? rd_utf8_copy(text) : NULL;
	json_t *json = text ? NULL : json_null();

	if (copy)
		json = json_string(copy);
	free(copy);
	return json;
}
