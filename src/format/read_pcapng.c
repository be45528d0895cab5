/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decodes pcapng, any number of sections of either byte order: draft-ietf-opsawg-pcapng. */
#include "pcapng.h"
#include "reader.h"
#include <rdmadump/log.h>

#define BLOCK_MIN   12		/* type, length, length repeated */
#define FACTS_TOTAL (32u << 20) /* limit for the bytes of facts in a file */

static bool is_magic(const uint8_t *p, bool *swapped)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	*swapped = v != BYTE_ORDER_MAGIC;
	return !*swapped || __builtin_bswap32(v) == BYTE_ORDER_MAGIC;
}

static bool probe(const uint8_t *data, size_t len)
{
	bool swapped;

	return len >= 12 && rd_be32(data) == BLOCK_SHB && is_magic(data + 8, &swapped);
}

static enum step begin(struct rd_reader *r)
{
	(void)r; /* a section header is a block like the others */
	return STEP_OTHER;
}

struct option {
	uint16_t code, len;
	const uint8_t *data;
};

/* The next option; false at the end, or if a length leads outside: the frame is still valid. */
static bool option_next(const struct rd_reader *r, struct rd_view *v, struct option *o)
{
	const uint8_t *head = rd_view_take(v, 4);
	size_t padding;

	if (!head)
		return false;
	o->code = reader_u16(r, head);
	o->len = reader_u16(r, head + 2);
	if (o->code == OPT_END)
		return false;
	o->data = rd_view_take(v, o->len);
	if (!o->data)
		return false;
	padding = (4u - o->len % 4u) % 4u;
	if (!rd_view_take(v, padding))
		v->p = v->end;
	return true;
}

/* Copies the option's text to *to; the first such option counts. */
static enum step option_text(struct rd_reader *r, const struct option *o, const char **to)
{
	if (*to)
		return STEP_OTHER;
	*to = strndup((const char *)o->data, o->len);
	return *to ? STEP_OTHER : reader_nomem(r);
}

static enum step section_next(struct rd_reader *r, struct rd_view *v)
{
	const uint8_t *fixed = rd_view_take(v, 16);
	struct option o;

	if (!fixed)
		return reader_damaged(r, "the section header is too short");
	if (reader_u16(r, fixed + 4) != 1)
		return reader_damaged(r, "pcapng version %u.%u, only 1 is supported",
			reader_u16(r, fixed + 4), reader_u16(r, fixed + 6));
	r->ifaces.n_of_file = 0;
	r->n_sections++;
	if (r->has_section)
		return STEP_OTHER;
	r->has_section = true;
	while (option_next(r, v, &o)) {
		const char **const texts[] = {
			[OPT_COMMENT] = &r->section.comment,
			[OPT_SHB_HARDWARE] = &r->section.hardware,
			[OPT_SHB_OS] = &r->section.os,
			[OPT_SHB_USERAPPL] = &r->section.application,
		};

		if (o.code < RD_COUNT(texts) && option_text(r, &o, texts[o.code]) == STEP_FAIL)
			return STEP_FAIL;
	}
	return STEP_OTHER;
}

/* Prepares the conversion of ticks to ns for an if_tsresol value. */
static void set_resolution(struct file_iface *f, uint8_t resolution)
{
	unsigned int n = resolution & 0x7f;

	f->binary = resolution & 0x80;
	f->shift = (uint8_t)n;
	f->mul = f->div = 1;
	if (f->binary)
		return;
	for (; n < 9; n++)
		f->mul *= 10;
	for (; n > 9 && f->div <= UINT64_MAX / 10; n--)
		f->div *= 10;
	if (n > 9) /* ticks so short that 2^64 of them are less than a nanosecond */
		f->mul = 0;
}

static uint64_t to_ns(const struct file_iface *f, uint64_t ticks)
{
	unsigned int n = f->shift;
	uint64_t seconds, rest;

	if (!f->binary)
		return (f->div == 1 ? ticks * f->mul : ticks * f->mul / f->div) + f->offset_ns;
	seconds = n < 64 ? ticks >> n : 0;
	rest = n < 64 ? ticks & ((UINT64_C(1) << n) - 1) : ticks;
	/* 10^9 is 5^9 * 2^9. The product must fit; bits below 2^-43 s are less than a ns. */
	for (; n > 43; n--)
		rest >>= 1;
	rest = n >= 9 ? rest * 1953125 >> (n - 9) : rest * 1953125 << (9 - n);
	return seconds * NS_PER_S + rest + f->offset_ns;
}

static uint64_t ticks_at(const struct rd_reader *r, const uint8_t *p)
{
	return (uint64_t)reader_u32(r, p) << 32 | reader_u32(r, p + 4);
}

/* Keeps a text of an interface; the last such option counts. */
static enum step iface_text(struct rd_reader *r, const struct option *o, struct rd_iface *iface)
{
	const char **const texts[] = {
		[OPT_IF_NAME] = &iface->name,
		[OPT_IF_DESCRIPTION] = &iface->description,
		[OPT_IF_FILTER] = &iface->filter,
		[OPT_IF_OS] = &iface->os,
		[OPT_IF_HARDWARE] = &iface->hardware,
	};
	const size_t skip = o->code == OPT_IF_FILTER;

	if (o->code >= RD_COUNT(texts) || !texts[o->code])
		return STEP_OTHER;
	if (skip && (o->len < 2 || o->data[0])) /* another first byte: not an expression */
		return STEP_OTHER;
	return reader_keep_text(r, texts[o->code], (const char *)o->data + skip, o->len - skip);
}

static void iface_number(const struct rd_reader *r, const struct option *o, struct rd_iface *iface,
	struct file_iface *f)
{
	switch (o->code) {
	case OPT_IF_MACADDR:
		iface->has_mac = o->len == sizeof(iface->mac);
		if (iface->has_mac)
			memcpy(iface->mac, o->data, sizeof(iface->mac));
		break;
	case OPT_IF_SPEED:
		if (o->len == 8)
			iface->speed = reader_u64(r, o->data);
		break;
	case OPT_IF_TSRESOL:
		if (o->len == 1)
			set_resolution(f, o->data[0]);
		break;
	case OPT_IF_TSOFFSET:
		if (o->len == 8)
			f->offset_ns = reader_u64(r, o->data) * NS_PER_S;
		break;
	case OPT_IF_FCSLEN:
		if (o->len == 1)
			iface->fcslen = f->fcslen = o->data[0];
		break;
	default:
		break;
	}
}

static enum step iface_next(struct rd_reader *r, struct rd_view *v)
{
	const uint8_t *fixed = rd_view_take(v, 8);
	struct rd_iface iface = {0};
	struct file_iface *f;
	struct option o;
	uint16_t dlt;

	if (!fixed)
		return reader_damaged(r, "the interface description is too short");
	dlt = reader_u16(r, fixed);
	iface.link = reader_link(dlt);
	iface.dlt = rd_link_keeps_dlt(iface.link) ? dlt : 0;
	iface.snaplen = reader_snaplen(dlt, reader_u32(r, fixed + 4));
	f = reader_add_file_iface(r, &iface, dlt);
	if (!f)
		return STEP_FAIL;
	f->snaplen = reader_u32(r, fixed + 4);
	set_resolution(f, 6);
	while (option_next(r, v, &o)) {
		struct rd_iface *added = &r->ifaces.list[f->iface];

		iface_number(r, &o, added, f);
		if (iface_text(r, &o, added) == STEP_FAIL)
			return STEP_FAIL;
	}
	return STEP_OTHER;
}

static enum step stats_next(struct rd_reader *r, struct rd_view *v)
{
	const uint8_t *fixed = rd_view_take(v, 12);
	struct rd_iface_stats s = {.drops_unknown = true};
	uint64_t *const counts[] = {
		[OPT_ISB_IFRECV] = &s.received,
		[OPT_ISB_IFDROP] = &s.dropped,
		[OPT_ISB_FILTERACCEPT] = &s.accepted,
		[OPT_ISB_OSDROP] = &s.dropped_by_us,
		[OPT_ISB_USRDELIV] = &s.delivered,
	};
	const struct file_iface *f;
	struct option o, comment = {0};
	struct iface_extra *extra;
	uint32_t id;

	if (!fixed)
		return reader_damaged(r, "the interface statistics are too short");
	id = reader_u32(r, fixed);
	if (id >= r->ifaces.n_of_file)
		return reader_damaged(
			r, "statistics of interface %u, which has no description", id);
	f = &r->ifaces.of_file[id];
	while (option_next(r, v, &o)) {
		if (o.code == OPT_COMMENT && !comment.data)
			comment = o;
		if (o.len != 8)
			continue;
		if (o.code == OPT_ISB_STARTTIME)
			s.start_ns = to_ns(f, ticks_at(r, o.data));
		else if (o.code == OPT_ISB_ENDTIME)
			s.end_ns = to_ns(f, ticks_at(r, o.data));
		else if (o.code >= OPT_ISB_IFRECV && o.code <= OPT_ISB_USRDELIV)
			*counts[o.code] = reader_u64(r, o.data);
		if (o.code == OPT_ISB_IFDROP)
			s.drops_unknown = false;
	}
	/* All of them are unknown, but not fewer. */
	if (s.dropped < s.dropped_by_us)
		s.dropped = s.dropped_by_us;
	extra = &r->ifaces.extras[f->iface];
	if (reader_keep_text(r, &extra->stats.comment, (const char *)comment.data, comment.len) ==
		STEP_FAIL)
		return STEP_FAIL;
	s.comment = extra->stats.comment;
	extra->stats = s;
	extra->has_stats = true;
	return STEP_OTHER;
}

/* Reads the options of an EPB or PB. */
static enum step frame_options(struct rd_reader *r, struct rd_view *v, const struct file_iface *f,
	struct rd_frame *frame, uint64_t *dropped)
{
	struct option o;

	while (option_next(r, v, &o)) {
		if (o.code == OPT_EPB_FLAGS && o.len == 4) {
			uint32_t flags = reader_u32(r, o.data);
			uint32_t fcs = flags >> EPB_FLAG_FCS_SHIFT & EPB_FLAG_FCS_MASK;

			frame->direction = flags & EPB_FLAG_DIRECTION;
			if (frame->direction > RD_DIR_OUT)
				frame->direction = RD_DIR_UNKNOWN;
			if (flags & EPB_FLAG_CRC_ERROR)
				frame->flags |= RD_FRAME_CRC_ERROR;
			/* If only some frames have an FCS, readers would take it for data. */
			if (fcs && !f->fcslen && fcs <= frame->len) {
				frame->len -= fcs;
				frame->caplen = RD_MIN(frame->caplen, frame->len);
			}
		} else if (o.code == OPT_EPB_DROPCOUNT && o.len == 8) {
			*dropped = reader_u64(r, o.data);
		} else if (o.code == OPT_COMMENT &&
			   reader_add_note(r, 0, (const char *)o.data, o.len) == STEP_FAIL) {
			return STEP_FAIL;
		}
	}
	return STEP_OTHER;
}

/* The fields of EPB, PB and SPB in a common form. */
struct packet {
	uint32_t iface, caplen, len;
	uint64_t ticks, dropped;
	bool no_time;
};

static bool packet_head(
	const struct rd_reader *r, uint32_t type, struct rd_view *v, struct packet *k)
{
	const uint8_t *p = rd_view_take(v, type == BLOCK_SPB ? 4 : 20);

	*k = (struct packet){0};
	if (!p)
		return false;
	if (type == BLOCK_SPB) {
		size_t left = rd_view_left(v);

		k->len = reader_u32(r, p);
		k->caplen = k->len < left ? k->len : (uint32_t)left;
		k->no_time = true;
		return true;
	}
	if (type == BLOCK_PB) {
		k->iface = reader_u16(r, p);
		k->dropped = reader_u16(r, p + 2);
		if (k->dropped == 0xffff) /* unknown */
			k->dropped = 0;
	} else {
		k->iface = reader_u32(r, p);
	}
	k->ticks = ticks_at(r, p + 4);
	k->caplen = reader_u32(r, p + 12);
	k->len = reader_u32(r, p + 16);
	return true;
}

static enum step packet_next(
	struct rd_reader *r, uint32_t type, struct rd_view *v, struct rd_frame *frame)
{
	struct file_iface *f;
	struct packet k;
	uint64_t lost = 0;
	enum step s = STEP_FRAME;

	if (!packet_head(r, type, v, &k))
		return reader_damaged(r, "the block is too short");
	if (k.iface >= r->ifaces.n_of_file)
		return reader_damaged(r, "interface %u has no description", k.iface);
	f = &r->ifaces.of_file[k.iface];
	if (type == BLOCK_SPB && f->snaplen && k.caplen > f->snaplen)
		k.caplen = f->snaplen;
	*frame = (struct rd_frame){
		.data = rd_view_take(v, k.caplen),
		.caplen = k.caplen,
		.len = k.len > k.caplen ? k.len : k.caplen,
		.ts_ns = k.no_time ? 0 : to_ns(f, k.ticks),
		.iface = f->iface,
	};
	if (!frame->data)
		return reader_damaged(
			r, "a captured length of %u bytes in a smaller block", k.caplen);
	if (f->dlt == DLT_ERF)
		s = erf_unwrap(r, f, frame, false, &lost);
	if (s != STEP_FRAME)
		return s;
	if (!rd_view_take(v, (4 - k.caplen % 4) % 4))
		v->p = v->end;
	if (rd_view_left(v) && frame_options(r, v, f, frame, &k.dropped) == STEP_FAIL)
		return STEP_FAIL;
	if (!k.dropped)
		k.dropped = lost; /* the same loss; the option has more bits */
	if (k.dropped && reader_add_note(r, k.dropped, NULL, 0) == STEP_FAIL)
		return STEP_FAIL;
	return STEP_FRAME;
}

static enum step block_next(
	struct rd_reader *r, uint32_t type, struct rd_view *v, struct rd_frame *frame)
{
	switch (type) {
	case BLOCK_EPB:
	case BLOCK_SPB:
	case BLOCK_PB:
		return packet_next(r, type, v, frame);
	case BLOCK_SHB:
		return section_next(r, v);
	case BLOCK_IDB:
		return iface_next(r, v);
	default:
		return stats_next(r, v);
	}
}

static bool is_known(uint32_t type)
{
	return type == BLOCK_EPB || type == BLOCK_SPB || type == BLOCK_PB || type == BLOCK_IDB ||
	       type == BLOCK_ISB || type == BLOCK_SHB;
}

/* Skips a block that may be larger than the buffer. */
static enum step block_skip(struct rd_reader *r, uint32_t total)
{
	if (total <= reader_left(r)) {
		r->start += total;
	} else {
		r->skip = total - reader_left(r);
		r->start = r->end;
	}
	return STEP_OTHER;
}

/* Limits the time that crafted facts, which compress well, can cost a JSON parser. */
static bool facts_fit(struct rd_reader *r, uint32_t len)
{
	bool before = r->facts.bytes <= FACTS_TOTAL;

	r->facts.bytes += len;
	if (before && r->facts.bytes > FACTS_TOTAL)
		rd_log(RD_LOG_WARNING, "'%s': more than %u MiB of facts; the rest is left out",
			r->name, FACTS_TOTAL >> 20);
	return r->facts.bytes <= FACTS_TOTAL;
}

/* Facts are optional: unreadable ones are skipped, and all else is still read. */
static enum step facts_next(struct rd_reader *r, uint32_t total)
{
	const uint8_t *p = reader_at(r);
	uint32_t len;

	if (r->facts.ahead)
		return STEP_FRAME;
	if (!r->facts.take || total < BLOCK_MIN + FACTS_FIXED ||
		total > rd_encoder_facts_bound(RD_FACTS_MAX))
		return block_skip(r, total);
	if (reader_left(r) < total)
		return reader_more(r, total);
	len = reader_u32(r, p + 12);
	if (reader_u32(r, p + 8) == FACTS_VERSION && len <= total - BLOCK_MIN - FACTS_FIXED &&
		len <= RD_FACTS_MAX && facts_fit(r, len))
		r->facts.take(r->facts.ctx, (const char *)p + 8 + FACTS_FIXED, len);
	r->start += total;
	return STEP_OTHER;
}

static enum step next(struct rd_reader *r, struct rd_frame *frame)
{
	const uint8_t *p = reader_at(r);
	uint32_t type, total;
	struct rd_view v;
	enum step s;

	if (reader_left(r) < BLOCK_MIN)
		return reader_more(r, BLOCK_MIN);
	type = reader_u32(r, p);
	/* The type of a section header reads the same in both orders; it sets that of the rest. */
	if (type == BLOCK_SHB && !is_magic(p + 8, &r->swapped))
		return reader_damaged(r, "a section header without byte-order magic");
	total = reader_u32(r, p + 4);
	if (total < BLOCK_MIN || total % 4 != 0)
		return reader_damaged(r, "an impossible block length of %u bytes", total);
	if (type == BLOCK_FACTS)
		return facts_next(r, total);
	if (!is_known(type))
		return block_skip(r, total);
	if (reader_left(r) < total)
		return reader_more(r, total);
	if (reader_u32(r, p + total - 4) != total)
		return reader_damaged(r, "a block's two lengths are %u and %u", total,
			reader_u32(r, p + total - 4));
	v = (struct rd_view){p + 8, p + total - 4};
	s = block_next(r, type, &v, frame);
	if (s != STEP_FAIL)
		r->start += total;
	return s;
}

#define EPB_BARE      32 /* bytes of an EPB without options and without its frame */
#define EPB_DIRECTION 12 /* bytes of options that consist of flags and the end of options */

/*
 * Reads the direction from an EPB's options; false if there are other options. Files of this
 * program have none or only this one.
 */
static inline bool run_options(
	const struct rd_reader *r, const uint8_t *o, size_t len, uint8_t *direction)
{
	uint32_t flags;

	*direction = RD_DIR_UNKNOWN;
	if (!len)
		return true;
	if (len != EPB_DIRECTION || reader_u16(r, o) != OPT_EPB_FLAGS ||
		reader_u16(r, o + 2) != 4 || reader_u16(r, o + 8) != OPT_END)
		return false;
	flags = reader_u32(r, o + 4);
	*direction = (uint8_t)flags;
	return flags <= RD_DIR_OUT;
}

/* Does the same as next() for complete EPBs with no option but the direction, and without ERF. */
static unsigned int run(struct rd_reader *r, struct rd_frame *frames, unsigned int max)
{
	const uint8_t *p = reader_at(r), *end = r->buf + r->end;
	unsigned int n;

	for (n = 0; n < max && (size_t)(end - p) >= EPB_BARE; n++) {
		uint32_t total = reader_u32(r, p + 4), iface = reader_u32(r, p + 8);
		uint32_t caplen = reader_u32(r, p + 20), len = reader_u32(r, p + 24);
		uint32_t padded = caplen + (-caplen & 3);
		const struct file_iface *f;
		uint8_t direction;

		if (reader_u32(r, p) != BLOCK_EPB || iface >= r->ifaces.n_of_file || total % 4 ||
			total > (size_t)(end - p) || total < EPB_BARE || padded < caplen ||
			padded > total - EPB_BARE || reader_u32(r, p + total - 4) != total)
			break;
		f = &r->ifaces.of_file[iface];
		if (f->dlt == DLT_ERF || f->binary || f->div != 1 ||
			!run_options(r, p + 28 + padded, total - EPB_BARE - padded, &direction))
			break;
		frames[n] = (struct rd_frame){
			.data = p + 28,
			.caplen = caplen,
			.len = len > caplen ? len : caplen,
			.ts_ns = ticks_at(r, p + 12) * f->mul + f->offset_ns,
			.direction = direction,
			.iface = f->iface,
		};
		p += total;
	}
	r->start = (size_t)(p - r->buf);
	return n;
}

const struct reader_format reader_pcapng = {"pcapng", probe, begin, next, run};
