/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decodes ERF records, bare or in pcap and pcapng: Endace's "ERF types". */
#include "reader.h"

#define ERF_TYPE_LINK 25 /* InfiniBand link packets (flow control) */
#define ERF_TYPE_META 27
#define ERF_TYPE_PAD  48
#define ERF_EXTENSION 8 /* bytes; the top bit of the first one: another extension follows */
#define ERF_ALIGN     8 /* cards pad records to multiples of this */
#define PROBE_RECORDS 16
#define PROBE_SECONDS 3600 /* between records that are padded further */

/* The known types; records of other types are passed on with their ERF headers. */
static const struct erf_type {
	uint8_t number;
	enum erf_kind kind;
	bool no_frame;
	bool counts_loss; /* the 16-bit field in the header; other types have a "colour" there */
} erf_types[] = {
	{.number = ERF_TYPE_ETH, .kind = ERF_KIND_ETH, .counts_loss = true},
	{.number = 11, .kind = ERF_KIND_ETH}, /* coloured */
	{.number = 16, .kind = ERF_KIND_ETH}, /* DSM coloured */
	{.number = 20, .kind = ERF_KIND_ETH}, /* colour and hash */
	{.number = ERF_TYPE_IB, .kind = ERF_KIND_IB, .counts_loss = true},
	{.number = ERF_TYPE_LINK, .kind = ERF_KIND_OTHER, .counts_loss = true},
	{.number = ERF_TYPE_META, .no_frame = true},
	{.number = ERF_TYPE_PAD, .no_frame = true},
};

static const struct erf_type *type_find(uint8_t number)
{
	return RD_FIND(e, erf_types, RD_COUNT(erf_types), e->number == (number & ~ERF_MORE));
}

/* Bytes before the frame: the header, extension headers, Ethernet's padding. 0: incomplete. */
static size_t headers_len(const uint8_t *p, size_t left)
{
	const struct erf_type *type;
	size_t len = ERF_HEADER;
	bool more;

	if (left < ERF_HEADER)
		return 0;
	for (more = p[8] & ERF_MORE; more; len += ERF_EXTENSION) {
		if (left < len + ERF_EXTENSION)
			return 0;
		more = p[len] & ERF_MORE;
	}
	type = type_find(p[8]);
	if (type && !type->no_frame && type->kind == ERF_KIND_ETH)
		len += ERF_ETH_PAD;
	return len <= left ? len : 0;
}

/*
 * The interface for records of one kind and port. The first kind and port gets the interface that
 * the file describes, the others new ones.
 */
static int iface_for(struct rd_reader *r, struct file_iface *f, enum erf_kind kind,
	unsigned int port, bool ports)
{
	static const enum rd_link links[ERF_KINDS] = {
		[ERF_KIND_IB] = RD_LINK_INFINIBAND,
		[ERF_KIND_ETH] = RD_LINK_ETHERNET,
		[ERF_KIND_OTHER] = RD_LINK_RAW,
	};
	static const char *const names[ERF_PORTS] = {"port A", "port B", "port C", "port D"};
	uint16_t *known = &f->erf.iface_plus_1[kind][port];
	struct rd_iface iface = r->ifaces.list[f->iface];
	int index = f->iface;

	iface.link = links[kind];
	iface.dlt = kind == ERF_KIND_OTHER ? DLT_ERF : 0;
	if (ports)
		iface.name = names[port];
	if (f->erf.claimed) {
		index = reader_add_iface(r, &iface); /* -1: still not known */
	} else {
		struct rd_iface *first = &r->ifaces.list[index];

		if (ports) {
			iface.name = strdup(iface.name);
			if (!iface.name) {
				reader_nomem(r);
				return -1;
			}
		}
		*first = iface;
		f->erf.claimed = true;
	}
	*known = (uint16_t)(index + 1);
	return index;
}

enum step erf_unwrap(struct rd_reader *r, struct file_iface *f, struct rd_frame *frame, bool ports,
	uint64_t *dropped)
{
	const uint8_t *p = frame->data;
	size_t headers = headers_len(p, frame->caplen);
	const struct erf_type *type;
	enum erf_kind kind;
	unsigned int port;
	int index;

	if (!headers)
		return reader_damaged(r, "%u bytes are too few for its ERF headers", frame->caplen);
	type = type_find(p[8]);
	if (type && type->no_frame)
		return STEP_OTHER;
	kind = type ? type->kind : ERF_KIND_OTHER;
	port = ports ? p[9] & ERF_FLAG_PORT : 0;
	index = f->erf.iface_plus_1[kind][port] - 1;
	if (__builtin_expect(index < 0, 0)) {
		index = iface_for(r, f, kind, port, ports);
		if (index < 0)
			return STEP_FAIL;
	}
	frame->iface = (uint16_t)index;
	frame->flags |=
		(uint8_t)(RD_FRAME_HAS_PORT | (p[9] & ERF_FLAG_PORT) << RD_FRAME_PORT_SHIFT);
	if (p[9] & ERF_FLAG_RXERROR)
		frame->flags |= RD_FRAME_CRC_ERROR;
	if (type && type->counts_loss)
		*dropped = rd_be16(p + ERF_LCTR);
	if (kind == ERF_KIND_OTHER) { /* passed on with its headers and padding */
		frame->len = RD_MAX(frame->len, frame->caplen);
		return STEP_FRAME;
	}
	frame->data += headers;
	frame->caplen -= (uint32_t)headers;
	frame->len -= (uint32_t)headers;
	if (kind == ERF_KIND_ETH) /* the length includes the FCS even if it was not captured; frames
				     are delivered without it */
		frame->len -= frame->len < ERF_ETH_FCS ? frame->len : ERF_ETH_FCS;
	frame->caplen = RD_MIN(frame->caplen, frame->len);
	return STEP_FRAME;
}

/* Cards that write records of one length pad more. Timestamps tell them from other bytes. */
static bool is_near(const uint8_t *p, const uint8_t *other)
{
	const uint64_t a = rd_le64(p) >> 32, b = rd_le64(other) >> 32;

	return (a > b ? a - b : b - a) <= PROBE_SECONDS;
}

/* ERF has no magic number: the first records must all be plausible. */
static bool probe(const uint8_t *data, size_t len)
{
	const uint8_t *before = NULL;
	size_t used = 0;
	unsigned int n;

	for (n = 0; n < PROBE_RECORDS && len - used >= ERF_HEADER; n++) {
		const uint8_t *p = data + used;
		const struct erf_type *type = type_find(p[8]);
		size_t record = rd_be16(p + 10), headers;

		if (!type || record < ERF_HEADER || (n == 0 && type->number == ERF_TYPE_PAD))
			return false;
		if (record > len - used) {
			n++;
			break;
		}
		headers = headers_len(p, record);
		if (!headers)
			return false;
		used += record;
		if (!type->no_frame && record > headers + rd_be16(p + 14) + ERF_ALIGN &&
			!(before && is_near(p, before)) &&
			!(len - used >= ERF_HEADER && is_near(p, data + used)))
			return false;
		before = p;
	}
	return n > 0;
}

static enum step begin(struct rd_reader *r)
{
	const struct rd_iface iface = {.link = RD_LINK_INFINIBAND};

	return reader_add_file_iface(r, &iface, DLT_ERF) ? STEP_OTHER : STEP_FAIL;
}

uint32_t erf_record_len(const uint8_t *record, size_t len)
{
	if (len < ERF_HEADER || (record[8] & ~ERF_MORE) == ERF_TYPE_PAD)
		return 0;
	return (uint32_t)headers_len(record, len) + rd_be16(record + 14);
}

static enum step next(struct rd_reader *r, struct rd_frame *frame)
{
	const uint8_t *p = reader_at(r);
	uint64_t dropped = 0;
	size_t headers;
	uint32_t record;
	enum step s;

	if (reader_left(r) < ERF_HEADER)
		return reader_more(r, ERF_HEADER);
	record = rd_be16(p + 10);
	if (record < ERF_HEADER)
		return reader_damaged(r, "a record of %u bytes is too short", record);
	if (reader_left(r) < record)
		return reader_more(r, record);
	headers = headers_len(p, record);
	*frame = (struct rd_frame){
		.data = p,
		.caplen = record,
		.len = (uint32_t)headers + rd_be16(p + 14),
		.ts_ns = erf_timestamp_ns(rd_le64(p)),
	};
	s = erf_unwrap(r, &r->ifaces.of_file[0], frame, true, &dropped);
	if (s == STEP_FRAME && dropped && reader_add_note(r, dropped, NULL, 0) == STEP_FAIL)
		return STEP_FAIL;
	if (s != STEP_FAIL)
		r->start += record;
	return s;
}

const struct reader_format reader_erf = {"erf", probe, begin, next, NULL};
