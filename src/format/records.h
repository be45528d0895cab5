/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Encodes records one after the other, with a pcap header (pcap.c) or without one (erf.c). */
#pragma once
#include "internal.h"

/*
 * Wireshark takes a record without data for damage, unless it is padding. So a frame of which
 * nothing was captured gets bytes that its length does not count.
 */
static inline void erf_fill(uint8_t *record)
{
	rd_put_be64(record + ERF_HEADER, 0);
	rd_put_be16(record + ERF_RLEN, ERF_HEADER + ERF_FILLER);
	rd_put_be16(record + ERF_WLEN, 0);
}

/* unit_ns: of the timestamp in the pcap header; 0: no pcap header. All constant where it counts. */
static inline __attribute__((always_inline)) unsigned int records_put(const struct rd_frame *frames,
	unsigned int n, uint8_t *dst, size_t size, size_t *used, const struct envelope v,
	const uint32_t unit_ns)
{
	const size_t header = unit_ns ? PCAP_RECORD : 0;
	struct second second = {0};
	size_t left = size;
	unsigned int i;

	for (i = 0; i < n; i++) {
		const struct rd_frame *f = &frames[i];
		const uint32_t caplen = envelope_caplen(v, f), len = envelope_len(v, f);
		const bool filled = !unit_ns && v.prefix == ERF_HEADER && !caplen;
		const size_t total = header + v.prefix + (size_t)caplen + (filled ? ERF_FILLER : 0);

		if (__builtin_expect(total > left, 0))
			break;
		if (unit_ns) {
			uint32_t ns = second_split(&second, f->ts_ns), head[4];

			head[0] = (uint32_t)second.number;
			head[1] = ns / unit_ns;
			head[2] = v.prefix + caplen;
			head[3] = v.prefix + len;
			memcpy(dst, head, sizeof(head));
		}
		envelope_put(v, dst + header, &second, f, caplen, len);
		if (__builtin_expect(filled, 0))
			erf_fill(dst);
		else
			memcpy(dst + header + v.prefix, f->data, caplen);
		dst += total;
		left -= total;
	}
	*used = size - left;
	return i;
}

/* Like rd_format.frames(), with a constant envelope in the common cases. */
static inline __attribute__((always_inline)) unsigned int records_encode(const struct rd_encoder *e,
	const struct rd_frame *frames, unsigned int n, uint8_t *dst, size_t size, size_t *used,
	const uint32_t unit_ns)
{
	const struct envelope v = encoder_envelope(e);

	if (unit_ns && !v.prefix)
		return records_put(frames, n, dst, size, used, ENVELOPE_NONE, unit_ns);
	if (v.type == ERF_TYPE_IB)
		return records_put(frames, n, dst, size, used, ENVELOPE_IB, unit_ns);
	return records_put(frames, n, dst, size, used, v, unit_ns);
}
