/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Encodes pcapng: draft-ietf-opsawg-pcapng, and how Wireshark 4.0 and libpcap 1.10 read it. */
#include "pcapng.h"
#include "internal.h"
#include <assert.h>

#define TEXT_MAX    1024 /* bytes of a name; a filter expression may be longer */
#define FILTER_MAX  4096
#define EPB_FIXED   28 /* before the frame */
#define EPB_OPTIONS 12 /* flags option and end of options */
#define BLOCK_TAIL  4

/* Code and length of the flags option in one word. */
#if __BYTE_ORDER == __LITTLE_ENDIAN
#define EPB_FLAGS_HEAD (4u << 16 | OPT_EPB_FLAGS)
#else
#define EPB_FLAGS_HEAD ((uint32_t)OPT_EPB_FLAGS << 16 | 4)
#endif

/* An EPB has caplen and len in the order of struct rd_frame, and direction by the same values. */
static_assert(offsetof(struct rd_frame, len) == offsetof(struct rd_frame, caplen) + 4, "");
static_assert(RD_DIR_IN == 1 && RD_DIR_OUT == 2, "");

/* Counts bytes even beyond the buffer's end (or without one), to measure the size needed. */
struct out {
	uint8_t *base;
	size_t used, capacity;
};

static void put(struct out *o, const void *data, size_t len)
{
	if (len && o->used + len <= o->capacity)
		memcpy(o->base + o->used, data, len);
	o->used += len;
}

static void put_u16(struct out *o, uint16_t v)
{
	put(o, &v, sizeof(v));
}

static void put_u32(struct out *o, uint32_t v)
{
	put(o, &v, sizeof(v));
}

static void put_padding(struct out *o)
{
	static const uint8_t zeros[4];

	put(o, zeros, pad4(o->used) - o->used);
}

static size_t block_begin(struct out *o, uint32_t type)
{
	size_t begin = o->used;

	put_u32(o, type);
	put_u32(o, 0);
	return begin;
}

static void block_end(struct out *o, size_t begin)
{
	uint32_t total = (uint32_t)(o->used - begin + BLOCK_TAIL);

	put_u32(o, total);
	if (o->used <= o->capacity)
		memcpy(o->base + begin + 4, &total, sizeof(total));
}

static void put_option(struct out *o, uint16_t code, const void *data, size_t len)
{
	put_u16(o, code);
	put_u16(o, (uint16_t)len);
	put(o, data, len);
	put_padding(o);
}

static void put_option_u64(struct out *o, uint16_t code, uint64_t v)
{
	put_option(o, code, &v, sizeof(v));
}

/* Timestamps are two words, the high one first, each in the byte order of the section. */
static void put_option_time(struct out *o, uint16_t code, uint64_t ns)
{
	uint32_t words[2] = {(uint32_t)(ns >> 32), (uint32_t)ns};

	put_option(o, code, words, sizeof(words));
}

/* Length of s, at most `most`; a UTF-8 character is never cut. */
static size_t text_len(const char *s, size_t most)
{
	size_t len = strnlen(s, most + 1);

	if (len <= most)
		return len;
	len = most;
	while (len > most - 3 && ((uint8_t)s[len] & 0xc0) == 0x80)
		len--;
	return len;
}

static void put_option_text(struct out *o, uint16_t code, const char *s, size_t most)
{
	if (s && *s)
		put_option(o, code, s, text_len(s, most));
}

/* The first byte of the option is 0: a filter expression, not BPF instructions. */
static void put_option_filter(struct out *o, const char *s)
{
	static const uint8_t is_text = 0;
	size_t len;

	if (!s || !*s)
		return;
	len = text_len(s, FILTER_MAX);
	put_u16(o, OPT_IF_FILTER);
	put_u16(o, (uint16_t)(len + 1));
	put(o, &is_text, 1);
	put(o, s, len);
	put_padding(o);
}

static void put_options_end(struct out *o)
{
	put_option(o, OPT_END, NULL, 0);
}

static void put_section(struct out *o, const struct rd_section *s)
{
	static const struct rd_section nothing;
	const uint64_t unknown_length = UINT64_MAX;
	size_t begin = block_begin(o, BLOCK_SHB);

	if (!s)
		s = &nothing;
	put_u32(o, BYTE_ORDER_MAGIC);
	put_u16(o, 1);
	put_u16(o, 0);
	put(o, &unknown_length, sizeof(unknown_length));
	put_option_text(o, OPT_SHB_HARDWARE, s->hardware, TEXT_MAX);
	put_option_text(o, OPT_SHB_OS, s->os, TEXT_MAX);
	put_option_text(o, OPT_SHB_USERAPPL, s->application, TEXT_MAX);
	put_option_text(o, OPT_COMMENT, s->comment, RD_NOTE_MAX);
	put_options_end(o);
	block_end(o, begin);
}

static void put_iface(struct out *o, const struct rd_encoder *e, const struct rd_iface *i)
{
	static const uint8_t nanoseconds = 9;
	size_t begin = block_begin(o, BLOCK_IDB);

	put_u16(o, (uint16_t)e->dlt);
	put_u16(o, 0);
	put_u32(o, encoder_snaplen(e, i->snaplen));
	put_option_text(o, OPT_IF_NAME, i->name, TEXT_MAX);
	put_option_text(o, OPT_IF_DESCRIPTION, i->description, TEXT_MAX);
	if (i->has_mac)
		put_option(o, OPT_IF_MACADDR, i->mac, sizeof(i->mac));
	if (i->speed)
		put_option_u64(o, OPT_IF_SPEED, i->speed);
	put_option(o, OPT_IF_TSRESOL, &nanoseconds, 1);
	put_option_filter(o, i->filter);
	put_option_text(o, OPT_IF_OS, i->os, TEXT_MAX);
	if (i->fcslen)
		put_option(o, OPT_IF_FCSLEN, &i->fcslen, 1);
	put_option_text(o, OPT_IF_HARDWARE, i->hardware, TEXT_MAX);
	put_options_end(o);
	block_end(o, begin);
}

static void put_header(struct out *o, const struct rd_encoder *e)
{
	put_section(o, e->section);
	for (unsigned int i = 0; i < e->n_ifaces; i++)
		put_iface(o, e, &e->ifaces[i]);
}

static void put_stats(struct out *o, uint32_t iface, const struct rd_iface_stats *s)
{
	size_t begin = block_begin(o, BLOCK_ISB);

	put_u32(o, iface);
	put_u32(o, (uint32_t)(s->end_ns >> 32));
	put_u32(o, (uint32_t)s->end_ns);
	put_option_time(o, OPT_ISB_STARTTIME, s->start_ns);
	put_option_time(o, OPT_ISB_ENDTIME, s->end_ns);
	put_option_u64(o, OPT_ISB_IFRECV, s->received);
	/* Readers take an absent option as unknown, and a number as the full count. */
	if (!s->drops_unknown)
		put_option_u64(o, OPT_ISB_IFDROP, s->dropped);
	put_option_u64(o, OPT_ISB_FILTERACCEPT, s->accepted);
	put_option_u64(o, OPT_ISB_OSDROP, s->dropped_by_us);
	put_option_u64(o, OPT_ISB_USRDELIV, s->delivered);
	put_option_text(o, OPT_COMMENT, s->comment, RD_NOTE_MAX);
	put_options_end(o);
	block_end(o, begin);
}

static size_t header(const struct rd_encoder *e, uint8_t *dst, size_t size)
{
	struct out o = {.base = dst, .capacity = size};

	put_header(&o, e);
	return o.used <= size ? o.used : 0;
}

static size_t trailer(
	const struct rd_encoder *e, const struct rd_iface_stats *stats, uint8_t *dst, size_t size)
{
	struct out o = {.base = dst, .capacity = size};

	for (unsigned int i = 0; i < e->n_ifaces; i++)
		put_stats(&o, i, &stats[i]);
	return o.used <= size ? o.used : 0;
}

static size_t put_facts(const char *json, size_t len, uint8_t *dst, size_t size)
{
	struct out o = {.base = dst, .capacity = size};
	size_t begin = block_begin(&o, BLOCK_FACTS);

	put_u32(&o, FACTS_VERSION);
	put_u32(&o, (uint32_t)len);
	put(&o, json, len);
	put_padding(&o);
	block_end(&o, begin);
	return o.used <= size ? o.used : 0;
}

static size_t header_bound(const struct rd_encoder *e)
{
	struct out header = {0}, one = {0};
	static const struct rd_iface_stats stats;
	const size_t comment = 4 + pad4(RD_NOTE_MAX);
	size_t trailer;

	/* The comment may be longer when the header is written again. */
	put_header(&header, e);
	header.used += comment;
	put_stats(&one, 0, &stats);
	trailer = e->n_ifaces * (one.used + comment);
	return header.used > trailer ? header.used : trailer;
}

static size_t bound(uint32_t caplen)
{
	const size_t dropcount = 4 + 8, comment = 4 + pad4(RD_NOTE_MAX);

	return EPB_FIXED + pad4(ERF_HEADER + ERF_ETH_PAD + caplen) + EPB_OPTIONS + dropcount +
	       comment + BLOCK_TAIL;
}

static inline uint32_t epb_flags(const struct rd_frame *f)
{
	uint32_t flags = f->direction;

	if (__builtin_expect(f->flags & RD_FRAME_CRC_ERROR, 0))
		flags |= EPB_FLAG_CRC_ERROR;
	return flags;
}

static inline void put_word(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* The high word first, both in the host's byte order. */
static inline void put_time(uint8_t *p, uint64_t ns)
{
#if __BYTE_ORDER == __LITTLE_ENDIAN
	ns = ns << 32 | ns >> 32;
#endif
	memcpy(p, &ns, sizeof(ns));
}

/* Most frames are small: two overlapping copies of constant length, no call of memcpy(). */
static inline void put_frame(uint8_t *p, const uint8_t *data, size_t len)
{
	enum { HALF = 32 };

	if (len < HALF || len > 2 * HALF) {
		memcpy(p, data, len);
		return;
	}
	memcpy(p, data, HALF);
	p += len;
	data += len;
	memcpy(p - HALF, data - HALF, HALF);
}

/*
 * Writes a block of `total` bytes without its options. The padding's zeros are written before the
 * frame: values needed after the copy would have to be saved across the call.
 */
static inline __attribute__((always_inline)) void epb_put(uint8_t *p, const struct rd_frame *f,
	uint32_t caplen, size_t total, struct second *second, const struct envelope v)
{
	const size_t padded = pad4(v.prefix + (size_t)caplen);

	put_word(p + EPB_FIXED + padded - 4, 0);
	put_word(p + total - BLOCK_TAIL, (uint32_t)total);
	put_word(p, BLOCK_EPB);
	put_word(p + 4, (uint32_t)total);
	put_word(p + 8, f->iface);
	put_time(p + 12, f->ts_ns);
	if (v.prefix) {
		const uint32_t len = envelope_len(v, f);

		put_word(p + 20, v.prefix + caplen);
		put_word(p + 24, v.prefix + len);
		envelope_put(v, p + EPB_FIXED, second, f, caplen, len);
	} else {
		memcpy(p + 20, &f->caplen, 8);
	}
	put_frame(p + EPB_FIXED + v.prefix, f->data, caplen);
}

/* Writes a frame's block if it fits into `size`; returns its length or 0. */
static inline __attribute__((always_inline)) size_t epb_encode(uint8_t *p, size_t size,
	const struct rd_frame *f, struct second *second, const struct envelope v)
{
	const uint32_t flags = epb_flags(f), caplen = envelope_caplen(v, f);
	const size_t behind = EPB_FIXED + pad4(v.prefix + (size_t)caplen);

	if (__builtin_expect(!flags, 0)) {
		if (behind + BLOCK_TAIL > size)
			return 0;
		epb_put(p, f, caplen, behind + BLOCK_TAIL, second, v);
		return behind + BLOCK_TAIL;
	}
	if (behind + EPB_OPTIONS + BLOCK_TAIL > size)
		return 0;
	put_word(p + behind, EPB_FLAGS_HEAD);
	put_word(p + behind + 4, flags);
	put_word(p + behind + 8, OPT_END);
	epb_put(p, f, caplen, behind + EPB_OPTIONS + BLOCK_TAIL, second, v);
	return behind + EPB_OPTIONS + BLOCK_TAIL;
}

static inline __attribute__((always_inline)) unsigned int encode(const struct rd_frame *frames,
	unsigned int n, uint8_t *dst, size_t size, size_t *used, const struct envelope v)
{
	const struct rd_frame *f, *stop = frames + n;
	uint8_t *p = dst;
	struct second second = {0};

	for (f = frames; f != stop; f++) {
		const size_t total = epb_encode(p, size, f, &second, v);

		if (__builtin_expect(!total, 0))
			break;
		p += total;
		size -= total;
	}
	*used = (size_t)(p - dst);
	return (unsigned int)(f - frames);
}

static unsigned int encode_frames(const struct rd_encoder *e, const struct rd_frame *frames,
	unsigned int n, uint8_t *dst, size_t size, size_t *used)
{
	const struct envelope v = encoder_envelope(e);

	if (!v.prefix)
		return encode(frames, n, dst, size, used, ENVELOPE_NONE);
	if (v.type == ERF_TYPE_IB)
		return encode(frames, n, dst, size, used, ENVELOPE_IB);
	return encode(frames, n, dst, size, used, v);
}

static size_t noted(const struct rd_encoder *e, const struct rd_frame *f,
	const struct rd_note *note, uint8_t *dst, size_t size)
{
	const struct envelope v = encoder_envelope(e);
	const uint32_t flags = epb_flags(f), caplen = envelope_caplen(v, f);
	const size_t padded = pad4(v.prefix + (size_t)caplen);
	struct out o = {.base = dst, .used = EPB_FIXED + padded, .capacity = size};
	struct second second = {0};

	/* The options first: the block's length depends on them. */
	if (flags)
		put_option(&o, OPT_EPB_FLAGS, &flags, sizeof(flags));
	if (note->dropped)
		put_option_u64(&o, OPT_EPB_DROPCOUNT, note->dropped);
	put_option_text(&o, OPT_COMMENT, note->comment, RD_NOTE_MAX);
	if (o.used > EPB_FIXED + padded)
		put_options_end(&o);
	o.used += BLOCK_TAIL;
	if (o.used > size)
		return 0;
	epb_put(dst, f, caplen, o.used, &second, v);
	if (v.prefix)
		rd_put_be16(dst + EPB_FIXED + ERF_LCTR, erf_lctr(note->dropped));
	return o.used;
}

static unsigned int record_iface(const uint8_t *p)
{
	uint32_t id;

	memcpy(&id, p + 8, sizeof(id));
	return id;
}

static size_t record_len(const uint8_t *p, size_t left)
{
	uint32_t total;

	if (left < 12)
		return 0;
	memcpy(&total, p + 4, sizeof(total));
	return total >= 12 && total % 4 == 0 && total <= left ? total : 0;
}

static uint64_t record_ns(const uint8_t *p)
{
	uint32_t words[2];

	memcpy(words, p + 12, sizeof(words));
	return (uint64_t)words[0] << 32 | words[1];
}

const struct rd_format format_pcapng = {
	.name = "pcapng",
	.suffixes = ".pcapng",
	.header = header,
	.trailer = trailer,
	.frames = encode_frames,
	.noted = noted,
	.record_len = record_len,
	.record_iface = record_iface,
	.facts = put_facts,
	.record_ns = record_ns,
	.bound = bound,
	.header_bound = header_bound,
};
