/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of attributes: name, value, and for masks the names of bits. */
#include "sysfs.h"
#include <rdmadump/info.h>
#include <rdmadump/memory.h>
#include <stdlib.h>
#include <string.h>

#define ATTRS_MAX 512

static struct rd_attr *add(struct rd_attrs *f, const char *key, const char *title)
{
	struct rd_attr *attr;

	if (f->n == ATTRS_MAX)
		return NULL;
	attr = rd_append(&f->attr, f->n, sizeof(*attr));
	if (!attr)
		return NULL;
	f->n++;
	rd_text_clean(attr->key, sizeof(attr->key), key);
	rd_text_clean(attr->title, sizeof(attr->title), title);
	return attr;
}

void rd_attrs_free(struct rd_attrs *attrs)
{
	free(attrs->attr);
	*attrs = (struct rd_attrs){0};
}

static void add_number(
	struct rd_attrs *f, const char *key, const char *title, enum rd_attr_kind kind, uint64_t n)
{
	struct rd_attr *fact = add(f, key, title);

	if (!fact)
		return;
	fact->kind = kind;
	fact->number = n;
}

void rd_attrs_number(struct rd_attrs *f, const char *key, const char *title, uint64_t n)
{
	add_number(f, key, title, RD_ATTR_NUMBER, n);
}

void rd_attrs_hex(struct rd_attrs *f, const char *key, const char *title, uint64_t n)
{
	add_number(f, key, title, RD_ATTR_HEX, n);
}

void rd_attrs_text(struct rd_attrs *f, const char *key, const char *title, const char *text)
{
	struct rd_attr *fact = add(f, key, title);

	if (fact)
		rd_text_clean(fact->text, sizeof(fact->text), text);
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
	struct rd_attr *fact = add(f, key, title);

	if (!fact)
		return;
	fact->kind = RD_ATTR_WORDS;
	fact->number = mask;
	rd_bits_text(fact->text, sizeof(fact->text), mask, names, n);
}
