/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Encodes classic pcap with nanoseconds or microseconds: draft-ietf-opsawg-pcap. */
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
	unsigned int n, uint8_t *dst, size_t room, size_t *used, const struct envelope v,
	const uint32_t unit_ns)
{
	struct second second = {0};
	size_t left = room;
	unsigned int i;

	for (i = 0; i < n; i++) {
		const struct rd_frame *f = &frames[i];
		const uint32_t caplen = envelope_caplen(v, f), len = envelope_len(v, f);
		const size_t total = PCAP_RECORD + v.prefix + (size_t)caplen;
		uint32_t ns, head[4];

		if (__builtin_expect(total > left, 0))
			break;
		ns = second_split(&second, f->ts_ns);
		head[0] = (uint32_t)second.number;
		head[1] = ns / unit_ns;
		head[2] = v.prefix + caplen;
		head[3] = v.prefix + len;
		memcpy(dst, head, sizeof(head));
		envelope_put(v, dst + PCAP_RECORD, &second, f, caplen, len);
		memcpy(dst + PCAP_RECORD + v.prefix, f->data, caplen);
		dst += total;
		left -= total;
	}
	*used = room - left;
	return i;
}

/* Encodes with one of the two units, and a constant envelope in the common cases. */
static inline __attribute__((always_inline)) unsigned int encode_unit(const struct rd_encoder *e,
	const struct rd_frame *frames, unsigned int n, uint8_t *dst, size_t room, size_t *used,
	const uint32_t unit_ns)
{
	const struct envelope v = encoder_envelope(e);

	if (!v.prefix)
		return encode(frames, n, dst, room, used, ENVELOPE_NONE, unit_ns);
	if (v.type == ERF_TYPE_IB)
		return encode(frames, n, dst, room, used, ENVELOPE_IB, unit_ns);
	return encode(frames, n, dst, room, used, v, unit_ns);
}

static bool is_micro(const struct rd_encoder *e)
{
	return e->format == &format_pcap_us;
}

static size_t header(const struct rd_encoder *e, uint8_t *dst, size_t room)
{
	return put_header(e, is_micro(e) ? PCAP_MAGIC_US : PCAP_MAGIC_NS, dst, room);
}

static unsigned int encode_frames(const struct rd_encoder *e, const struct rd_frame *frames,
	unsigned int n, uint8_t *dst, size_t room, size_t *used)
{
	return is_micro(e) ? encode_unit(e, frames, n, dst, room, used, 1000)
			   : encode_unit(e, frames, n, dst, room, used, 1);
}

static size_t noted(const struct rd_encoder *e, const struct rd_frame *frame,
	const struct rd_note *note, uint8_t *dst, size_t room)
{
	size_t used;

	if (encode_frames(e, frame, 1, dst, room, &used) && encoder_envelope(e).prefix)
		rd_put_be16(dst + PCAP_RECORD + ERF_LCTR, erf_lctr(note->dropped));
	return used;
}

static size_t record_len(const struct rd_encoder *e, const uint8_t *p, size_t left)
{
	uint32_t caplen;

	(void)e;
	if (left < PCAP_RECORD)
		return 0;
	memcpy(&caplen, p + 8, sizeof(caplen));
	return caplen <= left - PCAP_RECORD ? PCAP_RECORD + (size_t)caplen : 0;
}

static size_t bound(uint32_t caplen)
{
	return PCAP_RECORD + ERF_HEADER + ERF_ETH_PAD + (size_t)caplen;
}

static uint64_t timestamp_ns(const uint8_t *p, uint32_t unit)
{
	uint32_t words[2];

	memcpy(words, p, sizeof(words));
	return (uint64_t)words[0] * NS_PER_S + (uint64_t)words[1] * unit;
}

static uint64_t record_ns(const uint8_t *p)
{
	return timestamp_ns(p, 1);
}

static uint64_t record_us(const uint8_t *p)
{
	return timestamp_ns(p, 1000);
}

static size_t header_bound(const struct rd_encoder *e)
{
	(void)e;
	return PCAP_HEADER;
}

const struct rd_format format_pcap = {
	.name = "pcap",
	.suffixes = ".pcap .cap",
	.help = "classic pcap with nanoseconds",
	.header = header,
	.frames = encode_frames,
	.noted = noted,
	.record_len = record_len,
	.record_ns = record_ns,
	.bound = bound,
	.header_bound = header_bound,
};

const struct rd_format format_pcap_us = {
	.name = "pcap-us",
	.suffixes = ".pcap",
	.help = "classic pcap with microseconds, for old tools",
	.header = header,
	.frames = encode_frames,
	.noted = noted,
	.record_len = record_len,
	.record_ns = record_us,
	.bound = bound,
	.header_bound = header_bound,
};
