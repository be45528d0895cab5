/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of attributes: name, value, and for masks the names of bits. */
#include "sysfs.h"
#include <rdmadump/info.h>
#include <rdmadump/json.h>
#include <rdmadump/memory.h>
#include <stdlib.h>
#include <string.h>

#define ATTRS_MAX 512

/* Takes `value`. */
static void add(struct rd_attrs *f, const char *key, const char *title, json_t *value,
	const char *text, bool empty)
{
	struct rd_attr *attr = f->n < ATTRS_MAX ? rd_append(&f->attr, f->n, sizeof(*attr)) : NULL;

	if (!attr) {
		json_decref(value);
		return;
	}
	f->n++;
	rd_text_clean(attr->key, sizeof(attr->key), key);
	rd_text_clean(attr->title, sizeof(attr->title), title);
	rd_text_clean(attr->text, sizeof(attr->text), text);
	attr->value = value;
	attr->empty = empty;
}

void rd_attrs_free(struct rd_attrs *attrs)
{
	for (size_t i = 0; i < attrs->n; i++)
		json_decref(attrs->attr[i].value);
	free(attrs->attr);
	*attrs = (struct rd_attrs){0};
}

void rd_attrs_number(struct rd_attrs *f, const char *key, const char *title, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%ju", (uintmax_t)n);
	add(f, key, title, rd_json_u64(n), text, !n);
}

void rd_attrs_hex(struct rd_attrs *f, const char *key, const char *title, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%jx", (uintmax_t)n);
	add(f, key, title, json_string(text), text, !n);
}

void rd_attrs_text(struct rd_attrs *f, const char *key, const char *title, const char *text)
{
	char clean[RD_ATTR_LEN];

	rd_text_clean(clean, sizeof(clean), text);
	add(f, key, title, json_string(clean), clean, false);
}

static const char *name_of(const struct rd_bit_name *names, size_t n, unsigned int bit)
{
	const struct rd_bit_name *found = RD_FIND(b, names, n, b->bit == bit);

	return found ? found->name : NULL;
}

void rd_bits_text(char *buf, size_t size, uint64_t mask, const struct rd_bit_name *names, size_t n)
{
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned int bit = 0; bit < 64; bit++) {
		const char *name = name_of(names, n, bit);
		char unnamed[16];

		if (!(mask >> bit & 1))
			continue;
		snprintf(unnamed, sizeof(unnamed), "bit %u", bit);
		if (used + strlen(name ? name : unnamed) + 3 > size)
			return;
		used += (size_t)snprintf(
			buf + used, size - used, "%s%s", used ? ", " : "", name ? name : unnamed);
	}
}

void rd_attrs_bits(struct rd_attrs *f, const char *key, const char *title, uint64_t mask,
	const struct rd_bit_name *names, size_t n)
{
	char text[RD_ATTR_LEN];

	rd_bits_text(text, sizeof(text), mask, names, n);
	add(f, key, title, json_string(text), *text ? text : "none", !mask);
}
