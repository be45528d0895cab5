/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Internals of the reader: one buffer, a table of interfaces, and a step function per format. */
#pragma once

#include "internal.h"

/* The result of one step. */
enum step {
	STEP_FRAME, /* *frame is filled, the record is consumed */
	STEP_OTHER, /* the record is consumed and had no frame */
	STEP_MORE,  /* reader.need bytes must be in the buffer first */
	STEP_FAIL,  /* reader.error has the reason */
	STEP_LATER, /* the bytes are not available yet */
};

struct reader_format {
	const char *name;
	/* Whether the file begins like this format; data may be short. */
	bool (*probe)(const uint8_t *data, size_t len);
	/* Called once with the first bytes; consumes the file's header. */
	enum step (*begin)(struct rd_reader *r);
	enum step (*next)(struct rd_reader *r, struct rd_frame *frame);
	/*
	 * Fast path: decodes ordinary records (complete in the buffer, without notes or errors)
	 * until another one follows. Returns their number; next() decodes the other ones. NULL: the
	 * format has no fast path.
	 */
	unsigned int (*run)(struct rd_reader *r, struct rd_frame *frames, unsigned int max);
};

extern const struct reader_format reader_pcapng, reader_pcap, reader_erf;

#define ERF_PORTS 4
enum erf_kind { ERF_KIND_IB, ERF_KIND_ETH, ERF_KIND_OTHER, ERF_KINDS };

/* The reader's interfaces for the ERF records of one interface of the file; 0: none yet. */
struct erf_map {
	bool claimed; /* the file's interface is assigned to a kind */
	uint16_t iface_plus_1[ERF_KINDS][ERF_PORTS];
};

/* An interface of the file, as numbered in its section. */
struct file_iface {
	uint16_t iface; /* index in ifaces */
	uint16_t dlt;
	uint32_t snaplen; /* as in the file */
	uint8_t fcslen;
	/* ns = ticks * mul / div, or ticks * 10^9 / 2^shift if binary; then offset_ns is added */
	bool binary;
	uint8_t shift;
	uint64_t mul, div, offset_ns;
	struct erf_map erf;
};

struct iface_extra {
	bool has_stats;
	struct rd_iface_stats stats;
};

struct frame_note {
	unsigned int frame; /* index in the batch */
	uint64_t dropped;
	size_t comment; /* offset in texts, plus 1; 0 for none */
};

/*
 * Gets all bytes of the file in order, each record once: a frame's record as a whole when its batch
 * is read, all others in one or more pieces. Not called for bytes that cannot be read.
 */
typedef void reader_raw_fn(
	void *ctx, const struct rd_reader *r, const uint8_t *data, size_t len, bool is_frame);

struct reader_input {
	rd_read_fn *read;
	void *ctx;
	const char *name;
	reader_raw_fn *raw; /* NULL: none */
	void *raw_ctx;
};

struct reader_facts {
	rd_facts_fn *take; /* NULL: facts are skipped */
	void *ctx;
	uint64_t bytes; /* seen so far */
	bool ahead;	/* before the first rd_reader_next(): they are not consumed */
};

/* Interfaces of the section, and those of the whole file. */
struct reader_ifaces {
	struct rd_iface *list;
	struct iface_extra *extras; /* same index */
	unsigned int n;
	size_t kept; /* bytes of their texts */
	bool cut;    /* further texts were discarded */
	struct file_iface *of_file;
	unsigned int n_of_file;
};

/* Comments of the frames in the batch. */
struct reader_notes {
	unsigned int batch; /* frames in it so far */
	struct frame_note *list;
	unsigned int n;
	char *texts; /* each NUL-terminated */
	size_t texts_used, texts_room;
};

struct rd_reader {
	rd_read_fn *read;
	void *ctx;
	reader_raw_fn *raw;
	void *raw_ctx;
	const struct rd_frame *raw_frame; /* for raw(): of its record, within its bytes */
	char *name;
	const struct reader_format *format;

	uint8_t *buf;
	size_t capacity, start, end; /* unread bytes: buf[start..end) */
	size_t record;		     /* start of the current record */
	size_t need;		     /* for STEP_MORE, from start on */
	uint64_t base;		     /* position of buf[0] in the file */
	uint64_t skip;		     /* bytes after the buffer to be discarded */
	bool at_end;
	bool swapped; /* the file's byte order is not the host's */

	struct reader_facts facts;
	uint64_t n_frames; /* delivered so far */
	bool failed;
	bool cooked; /* an interface is rd_link_is_cooked() */
	struct rd_error error;

	struct rd_section section;
	bool has_section;
	unsigned int n_sections; /* pcapng sections so far */
	struct reader_ifaces ifaces;
	struct reader_notes notes;
	struct {
		uint32_t record_header, max_caplen, fraction_ns;
	} pcap;
};

static inline uint16_t reader_u16(const struct rd_reader *r, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return r->swapped ? __builtin_bswap16(v) : v;
}

static inline uint32_t reader_u32(const struct rd_reader *r, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return r->swapped ? __builtin_bswap32(v) : v;
}

static inline uint64_t reader_u64(const struct rd_reader *r, const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return r->swapped ? __builtin_bswap64(v) : v;
}

static inline size_t reader_left(const struct rd_reader *r)
{
	return r->end - r->start;
}

static inline const uint8_t *reader_at(const struct rd_reader *r)
{
	return r->buf + r->start;
}

static inline enum step reader_more(struct rd_reader *r, size_t need)
{
	r->need = need;
	return STEP_MORE;
}

/*
 * Like rd_reader_open(), with a function for the raw bytes, which may be called before this one
 * returns.
 */
int reader_open(struct rd_reader **out, const struct reader_input *in, struct rd_error *err);

/* reader_fault.c: each returns STEP_FAIL with reader.error set. */

/* fmt describes what is wrong with the current record. */
enum step reader_damaged(struct rd_reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The file ends within the current record. */
enum step reader_cut_short(struct rd_reader *r);
enum step reader_nomem(struct rd_reader *r);

/* reader_ifaces.c */

/* Adds an interface (strings are copied) and returns its index; -1 with reader.error set. */
int reader_add_iface(struct rd_reader *r, const struct rd_iface *iface);
/* Adds an interface of the file; its number in its section is the count of those before it. */
struct file_iface *reader_add_file_iface(
	struct rd_reader *r, const struct rd_iface *iface, uint16_t dlt);
/*
 * Stores a copy of an interface's text in *to, and frees the former one. `text` may be NULL. *to
 * becomes NULL if the limit for all texts is reached.
 */
enum step reader_keep_text(struct rd_reader *r, const char **to, const char *text, size_t len);
/* Frees a text of the reader, which is const for its users. */
void reader_free_text(const char *text);
void reader_free_ifaces(struct rd_reader *r);

/* reader_notes.c */

/* Adds a drop count and a comment to the frame's note. comment has len bytes and may be NULL. */
enum step reader_add_note(struct rd_reader *r, uint64_t dropped, const char *comment, size_t len);
/* Starts a new batch, without frames and notes. */
void reader_reset_notes(struct rd_reader *r);

/* Converts the snap length of a file; zero if it truncates nothing. */
static inline uint32_t reader_snaplen(uint16_t dlt, uint32_t snaplen)
{
	if (snaplen >= SNAPLEN_WHOLE)
		return 0;
	return dlt == DLT_ERF && snaplen > ERF_HEADER ? snaplen - ERF_HEADER : snaplen;
}

/* The enum rd_link for a file's link type. */
enum rd_link reader_link(uint16_t dlt);

/*
 * Removes the ERF headers from *frame, which belongs to f, and assigns it to the interface for its
 * content. `ports`: one interface per port of the card. A loss counter is returned in *dropped.
 */
enum step erf_unwrap(struct rd_reader *r, struct file_iface *f, struct rd_frame *frame, bool ports,
	uint64_t *dropped);

/*
 * The length on the wire of a whole ERF record with its headers, as libpcap reports it; 0 for a
 * padding record.
 */
uint32_t erf_record_len(const uint8_t *record, size_t len);
