/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Structures as JSON, by their rows. */
#include <inttypes.h>
#include <rdmadump/bytes.h>
#include <rdmadump/json.h>
#include <rdmadump/shape.h>

static const char *place(const struct rd_at *at, const struct rd_member *m)
{
	return (const char *)at->object + m->at;
}

static uint64_t number(const struct rd_at *at, const struct rd_member *m)
{
	return rd_number_at(place(at, m), m->size);
}

json_t *rd_bits_json(uint64_t bits, const char *(*name)(unsigned int bit))
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < 64 && bits >> i; i++)
		if (bits >> i & 1)
			json_array_append_new(list, rd_json_string(name(i)));
	return list;
}

static json_t *known(const struct rd_at *at, const struct rd_member *m)
{
	const uint64_t n = number(at, m);

	return n == UINT64_MAX >> (64 - 8 * m->size) ? json_null() : rd_json_u64(n);
}

static json_t *integer(const struct rd_at *at, const struct rd_member *m)
{
	const uint64_t n = number(at, m);
	const int64_t value = m->size == sizeof(int16_t) ? (int16_t)n : (int64_t)n;

	return value < 0 ? json_null() : json_integer(value);
}

static const void *pointer(const struct rd_at *at, const struct rd_member *m)
{
	const void *value;

	memcpy(&value, place(at, m), sizeof(value));
	return value;
}

static json_t *list(const struct rd_at *at, const struct rd_field *f)
{
	const uint64_t n = number(at, &f->known);
	const char *first =
		f->kind == RD_FIELD_LIST ? pointer(at, &f->member) : place(at, &f->member);
	json_t *array = json_array();

	for (uint64_t i = 0; i < n; i++)
		json_array_append_new(
			array, rd_shape_part(f->shape, first + i * f->shape->size, at));
	return array;
}

static json_t *text(const struct rd_at *at, const struct rd_field *f)
{
	switch (f->kind) {
	case RD_FIELD_CHARS:
		return rd_json_string(place(at, &f->member));
	case RD_FIELD_CHARS_OR:
		return rd_json_text(place(at, &f->member));
	case RD_FIELD_TEXT:
		return rd_json_string(pointer(at, &f->member));
	default:
		return rd_json_text(pointer(at, &f->member));
	}
}

static json_t *make(const struct rd_at *at, const struct rd_field *f)
{
	struct rd_at here = *at;

	here.which = f->which;
	// cppcheck-suppress returnDanglingLifetime ; what is made does not refer to it
	return f->make(&here);
}

static json_t *value_of(const struct rd_at *at, const struct rd_field *f)
{
	uint64_t n;
	double real;

	switch (f->kind) {
	case RD_FIELD_UINT:
		return rd_json_u64(number(at, &f->member));
	case RD_FIELD_POSITIVE:
		return rd_json_u64_or_null(number(at, &f->member));
	case RD_FIELD_KNOWN:
		return known(at, &f->member);
	case RD_FIELD_INT:
		return integer(at, &f->member);
	case RD_FIELD_SIGNED:
		return json_integer((json_int_t)number(at, &f->member));
	case RD_FIELD_HEX:
		return json_sprintf("0x%016" PRIx64, number(at, &f->member));
	case RD_FIELD_REAL:
		memcpy(&real, place(at, &f->member), sizeof(real));
		return json_real(real);
	case RD_FIELD_BOOL:
		return json_boolean(number(at, &f->member));
	case RD_FIELD_TIME:
		n = number(at, &f->member);
		return json_integer(n ? (json_int_t)(n - at->start_ns) : 0);
	case RD_FIELD_NAME:
		return rd_json_string(f->name((unsigned int)number(at, &f->member)));
	case RD_FIELD_BITS:
		return rd_bits_json(number(at, &f->member), f->name);
	case RD_FIELD_OBJECT:
		return rd_shape_part(f->shape, place(at, &f->member), at);
	case RD_FIELD_POINTER:
		return rd_shape_part(f->shape, pointer(at, &f->member), at);
	case RD_FIELD_TEXT:
	case RD_FIELD_TEXT_OR:
	case RD_FIELD_CHARS:
	case RD_FIELD_CHARS_OR:
		return text(at, f);
	default:
		return make(at, f);
	}
}

static json_t *field(const struct rd_at *at, const struct rd_field *f)
{
	if (f->kind == RD_FIELD_LIST || f->kind == RD_FIELD_ARRAY)
		return list(at, f);
	return f->known.size && !number(at, &f->known) ? json_null() : value_of(at, f);
}

static void add_columns(json_t *o, const struct rd_shape *shape, const struct rd_at *at)
{
	const char *rows = pointer(at, &shape->rows);
	const uint64_t n = number(at, &shape->n_rows);

	for (unsigned int c = 0; c < shape->columns->n; c++) {
		const struct rd_field *f = &shape->columns->field[c];
		json_t *column = json_array();

		for (uint64_t i = 0; i < n; i++) {
			const struct rd_at row = {
				rows + i * shape->columns->size, at, at->start_ns, 0};

			json_array_append_new(column, field(&row, f));
		}
		json_object_set_new_nocheck(o, f->key, column);
	}
}

json_t *rd_shape_json(const struct rd_shape *shape, const struct rd_at *at)
{
	json_t *o;

	if (!at->object || (shape->known.size && !number(at, &shape->known)))
		return json_null();
	o = json_object();
	for (unsigned int i = 0; i < shape->n; i++)
		json_object_set_new_nocheck(o, shape->field[i].key, field(at, &shape->field[i]));
	if (shape->columns)
		add_columns(o, shape, at);
	return o;
}

json_t *rd_shape_part(const struct rd_shape *shape, const void *object, const struct rd_at *at)
{
	const struct rd_at part = {object, at, at->start_ns, 0};

	return rd_shape_json(shape, &part);
}
