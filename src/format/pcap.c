/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Encodes classic pcap with nanoseconds or microseconds: draft-ietf-opsawg-pcap. */
#include "records.h"

static bool is_micro(const struct rd_encoder *e)
{
	return e->format == &format_pcap_us;
}

static size_t header(const struct rd_encoder *e, uint8_t *dst, size_t size)
{
	const uint16_t version[2] = {2, 4};
	uint32_t fields[] = {is_micro(e) ? PCAP_MAGIC_US : PCAP_MAGIC_NS, 0, 0, 0, SNAPLEN_WHOLE,
		(uint32_t)e->dlt};

	if (size < PCAP_HEADER)
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

static unsigned int encode_frames(const struct rd_encoder *e, const struct rd_frame *frames,
	unsigned int n, uint8_t *dst, size_t size, size_t *used)
{
	return is_micro(e) ? records_encode(e, frames, n, dst, size, used, 1000)
			   : records_encode(e, frames, n, dst, size, used, 1);
}

static size_t noted(const struct rd_encoder *e, const struct rd_frame *frame,
	const struct rd_note *note, uint8_t *dst, size_t size)
{
	size_t used;

	if (encode_frames(e, frame, 1, dst, size, &used) && encoder_envelope(e).prefix)
		rd_put_be16(dst + PCAP_RECORD + ERF_LCTR, erf_lctr(note->dropped));
	return used;
}

static size_t record_len(const uint8_t *p, size_t left)
{
	uint32_t caplen;

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

#define PCAP(its_name, its_suffixes, its_record_ns)                                                \
	{                                                                                          \
		.name = (its_name), .suffixes = (its_suffixes), .header = header,                  \
		.frames = encode_frames, .noted = noted, .record_len = record_len,                 \
		.record_ns = (its_record_ns), .bound = bound, .header_bound = header_bound         \
	}

const struct rd_format format_pcap = PCAP("pcap", ".pcap .cap", record_ns);
const struct rd_format format_pcap_us = PCAP("pcap-us", ".pcap", record_us);
