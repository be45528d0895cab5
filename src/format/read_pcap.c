/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decodes classic pcap of either byte order: draft-ietf-opsawg-pcap. */
#include "reader.h"

#define CAPLEN_MAX ((16u << 20) - PCAP_RECORD_MODIFIED)

static const struct magic {
	uint32_t value, fraction_ns, record_header;
} magics[] = {
	{PCAP_MAGIC_US, 1000, PCAP_RECORD},
	{PCAP_MAGIC_NS, 1, PCAP_RECORD},
	{PCAP_MAGIC_MODIFIED, 1000, PCAP_RECORD_MODIFIED},
};

static const struct magic *magic_find(const uint8_t *data, bool *swapped)
{
	uint32_t v;

	memcpy(&v, data, sizeof(v));
	for (size_t i = 0; i < RD_COUNT(magics); i++) {
		*swapped = v != magics[i].value;
		if (!*swapped || __builtin_bswap32(v) == magics[i].value)
			return &magics[i];
	}
	return NULL;
}

static bool probe(const uint8_t *data, size_t len)
{
	bool swapped;

	return len >= 4 && magic_find(data, &swapped);
}

static enum step begin(struct rd_reader *r)
{
	const uint8_t *p = reader_at(r);
	const struct magic *magic = magic_find(p, &r->swapped);
	struct rd_iface iface = {0};
	struct file_iface *f;
	uint32_t network, snaplen;
	uint16_t dlt;

	if (reader_left(r) < PCAP_HEADER) {
		rd_fail(&r->error, RD_CLASS_DEVICE, 0, "the file has no frames",
			"'%s' ends within the file header", r->name);
		return STEP_FAIL;
	}
	if (reader_u16(r, p + 4) != 2) {
		rd_fail(&r->error, RD_CLASS_DEVICE, 0, "only version 2 is supported",
			"'%s' is of pcap version %u.%u", r->name, reader_u16(r, p + 4),
			reader_u16(r, p + 6));
		return STEP_FAIL;
	}
	snaplen = reader_u32(r, p + 16);
	network = reader_u32(r, p + 20);
	dlt = (uint16_t)(network & PCAP_LINKTYPE_MASK);
	r->pcap.record_header = magic->record_header;
	r->pcap.fraction_ns = magic->fraction_ns;
	/* Some writers exceed the limit that they state: it only serves to detect damage. */
	r->pcap.max_caplen = snaplen > SNAPLEN_WHOLE ? snaplen : SNAPLEN_WHOLE;
	r->pcap.max_caplen = RD_MIN(r->pcap.max_caplen, CAPLEN_MAX);
	iface.link = reader_link(dlt);
	iface.dlt = rd_link_keeps_dlt(iface.link) ? dlt : 0;
	iface.snaplen = reader_snaplen(dlt, snaplen);
	if (network & PCAP_FCS_PRESENT)
		iface.fcslen = (uint8_t)(network >> PCAP_FCS_SHIFT << 1);
	f = reader_add_file_iface(r, &iface, dlt);
	r->start += PCAP_HEADER;
	return f ? STEP_OTHER : STEP_FAIL;
}

static enum step next(struct rd_reader *r, struct rd_frame *frame)
{
	const uint8_t *p = reader_at(r);
	struct file_iface *f = &r->ifaces.of_file[0];
	uint64_t dropped = 0;
	uint32_t caplen, len;
	size_t total;
	enum step s;

	if (reader_left(r) < r->pcap.record_header)
		return reader_more(r, r->pcap.record_header);
	caplen = reader_u32(r, p + 8);
	len = reader_u32(r, p + 12);
	if (caplen > r->pcap.max_caplen)
		return reader_damaged(r, "an impossible captured length of %u bytes", caplen);
	total = r->pcap.record_header + (size_t)caplen;
	if (reader_left(r) < total)
		return reader_more(r, total);
	/* Space that was reserved but never written reads as zeros, here as empty records. */
	if (!caplen && !*p && !memcmp(p, p + 1, PCAP_RECORD - 1))
		return reader_damaged(r, "zeros instead of a record");
	*frame = (struct rd_frame){
		.data = p + r->pcap.record_header,
		.caplen = caplen,
		.len = len > caplen ? len : caplen,
		.ts_ns = reader_u32(r, p) * (uint64_t)NS_PER_S +
			 reader_u32(r, p + 4) * (uint64_t)r->pcap.fraction_ns,
		.iface = f->iface,
	};
	s = STEP_FRAME;
	if (f->dlt == DLT_ERF) {
		/* The record's own timestamp is more exact, and Wireshark shows it. */
		if (caplen >= ERF_HEADER)
			frame->ts_ns = erf_timestamp_ns(rd_le64(frame->data));
		s = erf_unwrap(r, f, frame, true, &dropped);
	}
	if (s == STEP_FRAME && dropped && reader_add_note(r, dropped, NULL, 0) == STEP_FAIL)
		return STEP_FAIL;
	if (s != STEP_FAIL)
		r->start += total;
	return s;
}

/*
 * Instantiated for each byte order. All values that stay constant are local variables: the compiler
 * must assume that stores to `frames` change *r.
 */
static inline __attribute__((always_inline)) unsigned int run_order(
	struct rd_reader *r, bool swapped, struct rd_frame *frames, unsigned int max)
{
	const uint8_t *p = reader_at(r), *end = r->buf + r->end;
	const struct rd_reader order = {.swapped = swapped};
	const size_t header = r->pcap.record_header;
	const uint32_t most = r->pcap.max_caplen, fraction_ns = r->pcap.fraction_ns;
	const uint16_t iface = r->ifaces.of_file[0].iface;
	unsigned int n;

	for (n = 0; n < max && (size_t)(end - p) >= header; n++) {
		uint32_t caplen = reader_u32(&order, p + 8), len = reader_u32(&order, p + 12);

		if (!caplen || caplen > most || (size_t)(end - p) - header < caplen)
			break;
		frames[n] = (struct rd_frame){
			.data = p + header,
			.caplen = caplen,
			.len = len > caplen ? len : caplen,
			.ts_ns = reader_u32(&order, p) * (uint64_t)NS_PER_S +
				 reader_u32(&order, p + 4) * (uint64_t)fraction_ns,
			.iface = iface,
		};
		p += header + caplen;
	}
	r->start = (size_t)(p - r->buf);
	return n;
}

/* Does the same as next() for complete records with data and without ERF. */
static unsigned int run(struct rd_reader *r, struct rd_frame *frames, unsigned int max)
{
	if (r->ifaces.of_file[0].dlt == DLT_ERF)
		return 0;
	return r->swapped ? run_order(r, true, frames, max) : run_order(r, false, frames, max);
}

const struct reader_format reader_pcap = {"pcap", probe, begin, next, run};
