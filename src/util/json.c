/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Converts text of unknown encoding and unsigned numbers to JSON; reads JSON files. */
#include <errno.h>
#include <rdmadump/identity.h>
#include <rdmadump/json.h>
#include <rdmadump/printable.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

const char *rd_json_text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
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

struct input {
	FILE *file;
	uint64_t left;
	struct rd_json_failure *failure;
};

static size_t read_some(void *buffer, size_t size, void *ctx)
{
	struct input *in = ctx;
	size_t n = fread(buffer, 1, size, in->file);

	if (ferror(in->file))
		in->failure->errnum = errno ? errno : EIO;
	in->failure->too_long = n > in->left;
	in->left -= n < in->left ? n : in->left;
	return in->failure->too_long || in->failure->errnum ? (size_t)-1 : n;
}

json_t *rd_json_read_file(
	const char *path, uint64_t most, size_t flags, struct rd_json_failure *failure)
{
	int fd = rd_open_input(path, 0);
	struct input in = {
		.file = fd >= 0 ? fdopen(fd, "r") : NULL, .left = most, .failure = failure};
	json_t *json;
	char *near;

	*failure = (struct rd_json_failure){.errnum = in.file ? 0 : errno};
	if (!in.file && fd >= 0)
		close(fd);
	if (!in.file)
		return NULL;
	errno = 0;
	json = json_load_callback(read_some, &in, flags, &failure->why);
	fclose(in.file);
	/* "invalid token near 'TEXT'": no text of a file is printed. */
	near = strstr(failure->why.text, " near ");
	if (near)
		*near = '\0';
	return json;
}
