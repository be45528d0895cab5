/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Management datagrams: GUIDs, GIDs, node descriptions and keys in the attributes of IBTA volume 1,
 * 14.2.5 (SMPs), 15.2.5 (SA), 12.6 (CM), annex A11. The data of attributes that are not listed here
 * is zeroed.
 */
#include "redact.h"

#define SMP_MKEY     24
#define SMP_LIDS     32 /* of a directed route */
#define SMP_RESERVED 36
#define SMP_DATA     64
#define SA_SM_KEY    36
#define SA_OFFSET    44 /* distance of records, in 8 bytes */
#define SA_DATA	     56
#define RMPP_TYPE    24
#define RMPP_FLAGS   26
#define RMPP_SEGMENT 28
#define PMA_DATA     64
#define CLASS_PMA    0x04
#define MAD_LEN	     256

enum what { END, GUID, GID, PREFIX, TEXT, ZERO, IP, SERVICE };

/* A field of an attribute, from the start of its data. */
struct field {
	uint8_t what, at, n; /* n: bytes of TEXT and ZERO; else the number of items, 0 means 1 */
};

/* `length`: of the attribute's data. Data after it, and attributes without a row, are zeroed. */
struct attribute {
	uint8_t class, more; /* attributes that follow, of the same form */
	uint16_t id, length;
	struct field field[8];
};

/*
 * In records of the SA (15.2.5.2) the attributes of SMPs follow a header: 0x0010 NodeDescription,
 * 0x0011 NodeInfo, 0x0012 and 0x0015 PortInfo. ClassPortInfo and Notice have the same form
 * everywhere.
 */
static const struct attribute attributes[] = {
	{RD_MAD_SMP, 0, 0x0002, 64, {{ZERO, 10, 54}, {GID, 64, 1}}},
	{RD_MAD_SMP, 0, 0x0010, 64, {{TEXT, 0, 64}}},
	{RD_MAD_SMP, 0, 0x0011, 40, {{GUID, 4, 3}}},
	{RD_MAD_SMP, 0, 0x0012, 64, {{END, 0, 0}}},
	{RD_MAD_SMP, 0, 0x0014, 64, {{GUID, 0, 8}}},
	{RD_MAD_SMP, 0, 0x0015, 64, {{ZERO, 0, 8}, {PREFIX, 8, 1}}},
	{RD_MAD_SMP, 5, 0x0016, 64, {{END, 0, 0}}},
	{RD_MAD_SMP, 0, 0x0020, 64, {{GUID, 0, 1}, {ZERO, 8, 8}}},
	{RD_MAD_SA, 0, 0x0001, 72, {{GID, 8, 1}, {ZERO, 36, 4}, {GID, 40, 1}, {ZERO, 68, 4}}},
	{RD_MAD_SA, 0, 0x0002, 80, {{ZERO, 10, 54}, {GID, 64, 1}}},
	{RD_MAD_SA, 0, 0x0003, 36, {{GID, 0, 1}}},
	{RD_MAD_SA, 0, 0x0011, 112, {{GUID, 8, 3}, {TEXT, 44, 64}}},
	{RD_MAD_SA, 0, 0x0012, 72, {{ZERO, 4, 8}, {PREFIX, 12, 1}}},
	{RD_MAD_SA, 0, 0x0018, 28, {{GUID, 4, 1}, {ZERO, 12, 8}}},
	{RD_MAD_SA, 0, 0x0020, 8, {{END, 0, 0}}},
	{RD_MAD_SA, 0, 0x0030, 72, {{GUID, 8, 8}}},
	{RD_MAD_SA, 0, 0x0031, 176, {{SERVICE, 0, 8}, {GID, 8, 1}, {ZERO, 32, 144}}},
	{RD_MAD_SA, 0, 0x0035, 64, {{SERVICE, 0, 8}, {GID, 8, 2}}},
	{RD_MAD_SA, 0, 0x0038, 56, {{GID, 0, 2}}},
	{CLASS_PMA, 0, 0x0001, 72, {{GID, 8, 1}, {ZERO, 36, 4}, {GID, 40, 1}, {ZERO, 68, 4}}},
	{CLASS_PMA, 2, 0x0010, 192, {{END, 0, 0}}},
	{CLASS_PMA, 1, 0x0015, 192, {{END, 0, 0}}},
	{CLASS_PMA, 1, 0x001d, 192, {{END, 0, 0}}},
	/* The alternate path of REQ has GIDs from byte 100 on, followed by private data. */
	{RD_MAD_CM, 0, RD_CM_REQ, 232,
		{{SERVICE, 8, 8}, {GUID, 16, 1}, {GID, 56, 2}, {GID, 100, 2}, {IP, 140, 92}}},
	{RD_MAD_CM, 0, RD_CM_MRA, 232, {{ZERO, 10, 222}}},
	{RD_MAD_CM, 0, RD_CM_REJ, 232, {{ZERO, 12, 220}}},
	{RD_MAD_CM, 0, RD_CM_REP, 232, {{GUID, 28, 1}, {ZERO, 36, 196}}},
	{RD_MAD_CM, 0, RD_CM_RTU, 232, {{ZERO, 8, 224}}},
	{RD_MAD_CM, 0, RD_CM_DREQ, 232, {{ZERO, 12, 220}}},
	{RD_MAD_CM, 0, RD_CM_DREP, 232, {{ZERO, 8, 224}}},
	{RD_MAD_CM, 0, RD_CM_SIDR_REQ, 232, {{SERVICE, 8, 8}, {IP, 16, 216}}},
	{RD_MAD_CM, 0, RD_CM_SIDR_REP, 232, {{SERVICE, 12, 8}, {ZERO, 24, 208}}},
	{RD_MAD_CM, 0, RD_CM_LAP, 232, {{GID, 24, 2}, {ZERO, 64, 168}}},
	{RD_MAD_CM, 0, RD_CM_APR, 232, {{ZERO, 12, 220}}},
};

static const struct attribute *attribute_find(unsigned int class, unsigned int id)
{
	if (class == RD_MAD_SMP_DIRECTED)
		class = RD_MAD_SMP;
	return RD_FIND(row, attributes, RD_COUNT(attributes),
		row->class == class && id - row->id <= row->more);
}

/* --- fields ----------------------------------------------------------------------------------- */

/* Private data of librdmacm (A11.2.1): version, port, source and destination in 16 bytes each. */
static void ip_private(struct rd_redact *r, const uint8_t *mad, uint8_t *p, uint32_t n)
{
	static const uint8_t service[5] = {0, 0, 0, 0, 1};
	const uint8_t *id = mad + RD_MAD_HEADER + 8;
	bool v4 = n > 1 && p[1] >> 4 == 4, v6 = n > 1 && p[1] >> 4 == 6;
	uint32_t used = 0;

	if (n >= 36 && (v4 || v6) && memcmp(id, service, sizeof(service)) == 0) {
		for (uint32_t at = 4; at < 36; at += 16)
			if (v4) {
				memset(p + at, 0, 12);
				rd_redact_ipv4(r, p + at + 12);
			} else {
				rd_redact_ipv6(r, p + at);
			}
		used = 36;
	}
	memset(p + used, 0, n - used);
}

static uint32_t size_of(const struct field *f)
{
	switch (f->what) {
	case GUID:
	case PREFIX:
		return 8;
	case GID:
		return 16;
	default:
		return f->n;
	}
}

static void field_redact(
	struct rd_redact *r, const uint8_t *mad, const struct field *f, uint8_t *p, uint32_t left)
{
	unsigned int times = f->what == GUID || f->what == GID ? f->n : 1;
	uint32_t size = size_of(f), at = f->at;

	for (unsigned int i = 0; i < times && at < left; i++, at += size) {
		uint32_t n = left - at < size ? left - at : size;

		if (f->what == IP)
			ip_private(r, mad, p + at, n);
		else if (f->what == ZERO || n < size)
			memset(p + at, 0, n);
		else if (f->what == PREFIX)
			rd_redact_prefix(r, p + at);
		else if (f->what == TEXT)
			rd_redact_field(r, RD_REDACT_NODE, p + at, n);
		else if (f->what != SERVICE || rd_be16(p + at)) /* of SRP: a target's GUID */
			rd_redact_address(r, p + at, size);
	}
}

static void attribute_redact(struct rd_redact *r, const struct attribute *a, const uint8_t *mad,
	uint8_t *p, uint32_t left)
{
	for (size_t i = 0; i < RD_COUNT(a->field) && a->field[i].what; i++)
		field_redact(r, mad, &a->field[i], p, left < a->length ? left : a->length);
	if (left > a->length)
		memset(p + a->length, 0, left - a->length);
}

/* --- MADs ------------------------------------------------------------------------------------- */

/* Complete records of a table; only the first segment begins with a record. */
static void records_redact(struct rd_redact *r, const struct attribute *a, const uint8_t *mad,
	uint8_t *p, uint32_t left)
{
	uint32_t step = rd_be16(mad + SA_OFFSET) * 8U;

	if (!(mad[RMPP_FLAGS] & 1) || !step) {
		attribute_redact(r, a, mad, p, left);
		return;
	}
	if (mad[RMPP_TYPE] == 1 && rd_be32(mad + RMPP_SEGMENT) <= 1)
		for (; left >= step; p += step, left -= step)
			attribute_redact(r, a, mad, p, step);
	memset(p, 0, left);
}

static uint32_t data_of(unsigned int class)
{
	switch (class) {
	case RD_MAD_SMP:
	case RD_MAD_SMP_DIRECTED:
		return SMP_DATA;
	case RD_MAD_SA:
		return SA_DATA;
	case CLASS_PMA:
		return PMA_DATA;
	default:
		return RD_MAD_HEADER;
	}
}

static void zero_part(uint8_t *mad, uint32_t left, uint32_t at, uint32_t end)
{
	for (uint32_t i = at; i < end && i < left; i++)
		mad[i] = 0;
}

void mad_redact(struct rd_redact *r, uint8_t *mad, uint32_t left)
{
	const struct attribute *a;
	uint32_t data;

	if (left > MAD_LEN) {
		memset(mad + MAD_LEN, 0, left - MAD_LEN);
		left = MAD_LEN;
	}
	if (left < RD_MAD_HEADER)
		return;
	data = data_of(mad[1]);
	if (mad[1] == CLASS_PMA) {
		zero_part(mad, left, RD_MAD_HEADER, PMA_DATA);
	} else if (data == SMP_DATA) {
		zero_part(mad, left, SMP_MKEY, SMP_LIDS);
		zero_part(mad, left, SMP_RESERVED, SMP_DATA);
	} else if (data == SA_DATA) {
		zero_part(mad, left, SA_SM_KEY, SA_OFFSET);
	}
	if (left <= data)
		return;
	a = attribute_find(mad[1], rd_be16(mad + 16));
	if (!a)
		memset(mad + data, 0, left - data);
	else if (mad[1] == RD_MAD_SA)
		records_redact(r, a, mad, mad + data, left - data);
	else
		attribute_redact(r, a, mad, mad + data, left - data);
}
