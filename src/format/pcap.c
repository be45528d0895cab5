/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Encodes classic pcap with nano- or microseconds: draft-ietf-opsawg-pcap. */
#include "pcap.h"
#include "internal.h"
#include <string.h>

static size_t put_header(const struct rd_encoder *e, uint32_t magic, uint8_t *dst, size_t room)
{
	const uint16_t version[2] = {2, 4};
	uint32_t fields[] = {magic, 0, 0, 0, SNAPLEN_WHOLE, (uint32_t)e->dlt};

	if (room < PCAP_HEADER)
		return 0;
	memcpy(&fields[1], version, sizeof(version));
	if (e->n_ifaces) {
		fields[4] = encoder_snaplen(e, e->ifaces[0].snaplen);
		if (e->ifaces[0].fcslen)
			fields[5] |= PCAP_FCS_PRESENT | (uint32_t)e->ifaces[0].fcslen / 2
								<< PCAP_FCS_SHIFT;
	}
	memcpy(dst, fields, PCAP_HEADER);
	return PCAP_HEADER;
}

static inline __attribute__((always_inline)) unsigned int encode(const struct rd_frame *frames,
	unsigned int n, uint8_t *dst, size_t room, size_t *used, const bool wrap,
	const uint32_t unit_ns)
{
	const uint32_t prefix = wrap ? ERF_HEADER : 0;
	struct second second = {0};
	size_t left = room;
	unsigned int i;

	for (i = 0; i < n; i++) {
		const struct rd_frame *f = &frames[i];
		const uint32_t caplen = wrap ? erf_clamp(f->caplen, ERF_MAX_CAPTURED) : f->caplen;
		const uint32_t len = wrap ? erf_clamp(f->len, ERF_MAX_WIRE) : f->len;
		const size_t total = PCAP_RECORD + prefix + (size_t)caplen;
		uint32_t ns, head[4];

		if (__builtin_expect(total > left, 0))
			break;
		ns = second_split(&second, f->ts_ns);
		head[0] = (uint32_t)second.number;
		head[1] = ns / unit_ns;
		head[2] = prefix + caplen;
		head[3] = prefix + len;
		memcpy(dst, head, sizeof(head));
		if (wrap)
			erf_put(dst + PCAP_RECORD, erf_stamp(&second, f->ts_ns), f, ERF_TYPE_IB,
				ERF_HEADER + caplen, len);
		memcpy(dst + PCAP_RECORD + prefix, f->data, caplen);
		dst += total;
		left -= total;
	}
	*used = room - left;
	return i;
}

static size_t note_put(
	const struct rd_encoder *e, const struct rd_note *note, uint8_t *dst, size_t used)
{
	if (used && encoder_wraps(e))
		rd_put_be16(dst + PCAP_RECORD + ERF_LCTR, erf_lctr(note->dropped));
	return used;
}

size_t pcap_header(const struct rd_encoder *e, uint8_t *dst, size_t room)
{
	return put_header(e, PCAP_MAGIC_NS, dst, room);
}

unsigned int pcap_frames(const struct rd_encoder *e, const struct rd_frame *frames, unsigned int n,
	uint8_t *dst, size_t room, size_t *used)
{
	if (encoder_wraps(e))
		return encode(frames, n, dst, room, used, true, 1);
	return encode(frames, n, dst, room, used, false, 1);
}

size_t pcap_noted(const struct rd_encoder *e, const struct rd_frame *frame,
	const struct rd_note *note, uint8_t *dst, size_t room)
{
	size_t used;

	pcap_frames(e, frame, 1, dst, room, &used);
	return note_put(e, note, dst, used);
}

size_t pcap_us_header(const struct rd_encoder *e, uint8_t *dst, size_t room)
{
	return put_header(e, PCAP_MAGIC_US, dst, room);
}

unsigned int pcap_us_frames(const struct rd_encoder *e, const struct rd_frame *frames,
	unsigned int n, uint8_t *dst, size_t room, size_t *used)
{
	if (encoder_wraps(e))
		return encode(frames, n, dst, room, used, true, 1000);
	return encode(frames, n, dst, room, used, false, 1000);
}

size_t pcap_us_noted(const struct rd_encoder *e, const struct rd_frame *frame,
	const struct rd_note *note, uint8_t *dst, size_t room)
{
	size_t used;

	pcap_us_frames(e, frame, 1, dst, room, &used);
	return note_put(e, note, dst, used);
}

size_t pcap_record_len(const struct rd_encoder *e, const uint8_t *p, size_t left)
{
	uint32_t caplen;

	(void)e;
	if (left < PCAP_RECORD)
		return 0;
	memcpy(&caplen, p + 8, sizeof(caplen));
	return caplen <= left - PCAP_RECORD ? PCAP_RECORD + (size_t)caplen : 0;
}

size_t pcap_bound(uint32_t caplen)
{
	return PCAP_RECORD + ERF_HEADER + ERF_ETH_PAD + (size_t)caplen;
}
