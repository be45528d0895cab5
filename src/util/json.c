/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text of unknown encoding and unsigned numbers as JSON. */
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

json_t *rd_json_text(const char *text)
{
	return rd_json_string(text && *text ? text : NULL);
}

json_t *rd_json_u64(uint64_t n)
{
	return n <= INT64_MAX ? json_integer((json_int_t)n) : json_real((double)n);
}

json_t *rd_json_u64_or_null(uint64_t n)
{
	return n ? rd_json_u64(n) : json_null();
}

uint64_t rd_json_u64_value(const json_t *value)
{
	double real = json_number_value(value);

	if (!(real > 0))
		return 0;
	if (json_is_integer(value))
		return (uint64_t)json_integer_value(value);
	return real < 18446744073709551615.0 ? (uint64_t)real : UINT64_MAX;
}
