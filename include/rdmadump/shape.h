/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Structures as JSON, by tables: a row for each member has its key, what it means, and where its
 * value is. The schema of the document is made from the same rows (tests/unit/test_schema.c).
 */
#pragma once

#include <jansson.h>
#include <rdmadump/array.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rd_shape;

/* An object that is being written, and the one that it is part of. */
struct rd_at {
	const void *object;
	const struct rd_at *up;
	uint64_t start_ns;  /* of the document */
	unsigned int which; /* of the row, for functions of several rows */
};

typedef json_t *rd_shape_make(const struct rd_at *at);

enum rd_field_kind {
	RD_FIELD_UINT,	   /* unsigned, of any size */
	RD_FIELD_POSITIVE, /* the same; null for 0 */
	RD_FIELD_KNOWN,	   /* the same; null if all bits are set */
	RD_FIELD_INT,	   /* int16_t or int64_t; null if it is negative */
	RD_FIELD_SIGNED,   /* int64_t */
	RD_FIELD_HEX,	   /* uint64_t, as "0x0000000000000001" */
	RD_FIELD_REAL,	   /* double */
	RD_FIELD_BOOL,
	RD_FIELD_TEXT,	  /* char * */
	RD_FIELD_TEXT_OR, /* the same; null for NULL and "" */
	RD_FIELD_CHARS,	  /* an array of char */
	RD_FIELD_CHARS_OR,
	RD_FIELD_TIME,	    /* nanoseconds since the start; 0, unknown, stays 0 */
	RD_FIELD_NAME,	    /* an enumeration; null if it has no name */
	RD_FIELD_BITS,	    /* unsigned, of any size: the names of the bits that are set */
	RD_FIELD_OBJECT,    /* a structure in this one */
	RD_FIELD_POINTER,   /* to a structure; null for NULL */
	RD_FIELD_LIST,	    /* pointer to an array of structures; the number is `known` */
	RD_FIELD_ARRAY,	    /* an array in this structure */
	RD_FIELD_MADE,	    /* by a function */
	RD_FIELD_MADE_LIST, /* the same: an array */
	RD_FIELD_MAYBE,	    /* absent if the function returns NULL */
};

struct rd_member {
	uint16_t at, size; /* size 0: none */
};

struct rd_field {
	const char *key, *help; /* help NULL: the key says it */
	enum rd_field_kind kind;
	struct rd_member member, known; /* while `known` is 0 the value is null */
	const struct rd_shape *shape;
	const char *(*name)(unsigned int value);
	rd_shape_make *make;
	unsigned int which;
	const char *schema; /* more of the schema: JSON with ' for ". NULL: nothing */
};

struct rd_shape {
	const char *name, *help; /* of the schema; name NULL: it is written where it is used */
	const struct rd_field *field;
	unsigned int n;
	size_t size;		/* of the structure */
	bool nullable;		/* pointers may be NULL, or functions make no object */
	struct rd_member known; /* while this is 0 the object is null */
	/* Further members: an array of each member of these structures. NULL: none. */
	const struct rd_shape *columns;
	struct rd_member rows, n_rows;
};

/* The rows of a structure, while RD_THIS is its type: {"key", "help", RD_UINT(member)}. */
#define RD_MEMBER(m)                                                                               \
	{                                                                                          \
		offsetof(RD_THIS, m), sizeof(((RD_THIS *)NULL)->m)                                 \
	}
#define RD_OF(which, m)		 .kind = RD_FIELD_##which, .member = RD_MEMBER(m)
#define RD_COLUMNS(m, number, s) .columns = &(s), .rows = RD_MEMBER(m), .n_rows = RD_MEMBER(number)
#define RD_IF(m)		 .known = RD_MEMBER(m)
#define RD_UINT(m)		 RD_OF(UINT, m)
#define RD_POSITIVE(m)		 RD_OF(POSITIVE, m)
#define RD_KNOWN(m)		 RD_OF(KNOWN, m)
#define RD_INT(m)		 RD_OF(INT, m)
#define RD_SIGNED(m)		 RD_OF(SIGNED, m), .schema = RD_TYPE_INT
#define RD_HEX(m, type)		 RD_OF(HEX, m), .schema = (type)
#define RD_REAL(m)		 RD_OF(REAL, m)
#define RD_BOOL(m)		 RD_OF(BOOL, m)
#define RD_TEXT(m)		 RD_OF(TEXT, m)
#define RD_TEXT_OR(m)		 RD_OF(TEXT_OR, m)
#define RD_CHARS(m)		 RD_OF(CHARS, m)
#define RD_CHARS_OR(m)		 RD_OF(CHARS_OR, m)
#define RD_TIME(m)		 RD_OF(TIME, m)
#define RD_NAME(m, f)		 RD_OF(NAME, m), .name = (f)
#define RD_BITS(m, f)		 RD_OF(BITS, m), .name = (f)
#define RD_OBJECT(m, s)		 RD_OF(OBJECT, m), .shape = &(s)
#define RD_POINTER(m, s)	 RD_OF(POINTER, m), .shape = &(s)
#define RD_LIST(m, n, s)	 RD_OF(LIST, m), RD_IF(n), .shape = &(s)
#define RD_ARRAY(m, n, s)	 RD_OF(ARRAY, m), RD_IF(n), .shape = &(s)
/* Made by a function: of this type in the schema; an object or array of this shape. */
#define RD_MADE(f, type)   .kind = RD_FIELD_MADE, .make = (f), .schema = (type)
#define RD_MADE_OF(f, s)   .kind = RD_FIELD_MADE, .make = (f), .shape = &(s)
#define RD_MADE_LIST(f, s) .kind = RD_FIELD_MADE_LIST, .make = (f), .shape = &(s)
#define RD_MAYBE(f, s)	   .kind = RD_FIELD_MAYBE, .make = (f), .shape = &(s)
/* Further members of the same structure, as an object. */
#define RD_VIEW(s) .kind = RD_FIELD_OBJECT, .shape = &(s)
/* A row whose key is the member's name, which says it. */
#define RD_SAME(kind, m)                                                                           \
	{                                                                                          \
		.key = #m, RD_OF(kind, m)                                                          \
	}
/* A shape; of rows that are an array, or in place; that has nothing else. */
#define RD_FIELDS(rows) .field = (rows), .n = RD_COUNT(rows), .size = sizeof(RD_THIS)
#define RD_ROWS(...)	RD_FIELDS(((const struct rd_field[]){__VA_ARGS__}))
#define RD_SHAPE(name, help, ...)                                                                  \
	{                                                                                          \
		name, help, RD_ROWS(__VA_ARGS__)                                                   \
	}

/* Types in the schema. */
#define RD_TYPE_UINT	   "'type': 'integer', 'minimum': 0"
#define RD_TYPE_UINT_OR	   "'type': ['integer', 'null'], 'minimum': 0"
#define RD_TYPE_INT	   "'type': 'integer'"
#define RD_TYPE_INT_OR	   "'type': ['integer', 'null']"
#define RD_TYPE_TEXT	   "'type': 'string'"
#define RD_TYPE_TEXT_OR	   "'type': ['string', 'null']"
#define RD_TYPE_LIST(item) "'type': 'array', 'items': {" item "}"

/* An object with these members; null for NULL. NULL if out of memory; owned by the caller. */
json_t *rd_shape_json(const struct rd_shape *shape, const struct rd_at *at);
/* The same for a part of the object that is being written, or something that belongs to it. */
json_t *rd_shape_part(const struct rd_shape *shape, const void *object, const struct rd_at *at);
/* The names of the bits that are set. */
json_t *rd_bits_json(uint64_t bits, const char *(*name)(unsigned int bit));
