/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bytes <-> frames: capture file formats, encoded into memory and decoded from a byte stream.
 * Encoders keep no state between frames, so that any thread may encode any frame.
 */
#ifndef RDMADUMP_FORMAT_H
#define RDMADUMP_FORMAT_H

#include <rdmadump/error.h>
#include <rdmadump/frame.h>
#include <stddef.h>
#include <sys/types.h>

struct rd_encoder;

/* One per format, chosen once, never per frame. */
struct rd_format {
	const char *name;     /* as in --format */
	const char *suffixes; /* file name endings, blank separated, the first one is the default */
	const char *help;
	bool notes; /* whether drop counts, comments and statistics can be stored */

	/*
	 * Each writes at most `room` bytes at dst and returns the bytes written, 0 if they do
	 * not fit. header(): what a file begins with. trailer(): what it ends with, one
	 * statistics record per interface (`stats[n_ifaces]`); NULL if the format has none. ERF's
	 * header is always 0 bytes.
	 */
	size_t (*header)(const struct rd_encoder *e, uint8_t *dst, size_t room);
	size_t (*trailer)(const struct rd_encoder *e, const struct rd_iface_stats *stats,
		uint8_t *dst, size_t room);

	/*
	 * Encodes frames[0..n) one behind the other until one does not fit; returns how many
	 * were encoded, *used the bytes written. The hot path.
	 */
	unsigned int (*frames)(const struct rd_encoder *e, const struct rd_frame *frames,
		unsigned int n, uint8_t *dst, size_t room, size_t *used);
	/* One frame with a note (a format that cannot store it drops the note). */
	size_t (*noted)(const struct rd_encoder *e, const struct rd_frame *frame,
		const struct rd_note *note, uint8_t *dst, size_t room);
	/* Length of the record that starts at p, 0 if it is not whole within `left` bytes. */
	size_t (*record_len)(const struct rd_encoder *e, const uint8_t *p, size_t left);
	/* Interface of the whole record at p; NULL: the format knows only one. */
	unsigned int (*record_iface)(const uint8_t *p);
	/* A block of facts, see rd_encoder_facts(); NULL: the format has none. */
	size_t (*facts)(const char *json, size_t len, uint8_t *dst, size_t room);
	/* Time stamp of the whole record at p, as exact as the format keeps it. */
	uint64_t (*record_ns)(const uint8_t *p);
	/* See rd_encoder_bound() and rd_encoder_header_bound(). */
	size_t (*bound)(uint32_t caplen);
	size_t (*header_bound)(const struct rd_encoder *e);
};

struct rd_encoder {
	const struct rd_format *format;
	const struct rd_section *section;
	const struct rd_iface *ifaces; /* all of one link type and one snaplen */
	unsigned int n_ifaces;
	int dlt; /* LINKTYPE_ value in the file: 1 Ethernet, 197 ERF, 247 bare InfiniBand */
};

/*
 * Prepares *e for the interfaces: finds the format by `spec` ("pcapng", "pcap", "pcap-us",
 * "erf", "pcapng,dlt=247") or, when spec is NULL, by the file's name (default pcapng; endings of
 * compressors are ignored). section and ifaces are borrowed and must outlive e.
 * Fails (RD_CLASS_USAGE) on an unknown format, and on interfaces that one file cannot hold.
 */
int rd_encoder_init(struct rd_encoder *e, const char *spec, const char *filename,
	const struct rd_section *section, const struct rd_iface *ifaces, unsigned int n_ifaces,
	struct rd_error *err);

/* Upper bound of the bytes that a frame of caplen bytes takes, with the longest note allowed. */
size_t rd_encoder_bound(const struct rd_encoder *e, uint32_t caplen);
/* Upper bound of what header() or trailer() need. */
size_t rd_encoder_header_bound(const struct rd_encoder *e);

/*
 * Facts: what only we read (counters, QPs, the device), as JSON text in a block of its own that
 * every other reader skips; rdmadump-formats(5) describes block and objects. They may be
 * anywhere behind the interfaces. Longer texts are neither written nor read.
 */
#define RD_FACTS_MAX ((size_t)1 << 20)

/* Returns the bytes written; 0 if the format has no such block, or they do not fit. */
size_t rd_encoder_facts(
	const struct rd_encoder *e, const char *json, size_t len, uint8_t *dst, size_t room);
/* Bytes that rd_encoder_facts() takes for a text of len bytes. */
size_t rd_encoder_facts_bound(size_t len);

#define RD_NOTE_MAX                                                                                \
	1024 /* bytes of a comment that are stored; longer ones are cut at a character */

/*
 * Decoding. The reader recognises pcap (micro- and nanosecond, both byte orders), pcapng (any
 * number of sections, both byte orders, any tsresol/tsoffset, SPB and obsolete PB blocks too) and
 * ERF from the first bytes. DLT_ERF records of type InfiniBand and of type Ethernet are unwrapped:
 * the frame is what follows the ERF headers, the interface's link says which.
 */
struct rd_reader;

/*
 * Fills buf with up to room bytes; 0 at the end, -1 with *err set. RD_READ_LATER: there are none
 * now; rd_reader_next() then returns it too, and goes on at the next call. rd_reader_open() must
 * not meet it.
 */
#define RD_READ_LATER (-2)
typedef ssize_t rd_read_fn(void *ctx, uint8_t *buf, size_t room, struct rd_error *err);

/* `name` is used in messages. Fails with RD_CLASS_DEVICE if it is no capture file. Owned by the
 * caller. */
int rd_reader_open(
	struct rd_reader **r, rd_read_fn *read, void *ctx, const char *name, struct rd_error *err);
/*
 * Up to max frames (max >= 1), valid until the next call. Returns the number, 0 at the end,
 * RD_READ_LATER if read() did, -1 on a damaged or cut file: every frame before the damage has been
 * delivered by then.
 */
int rd_reader_next(
	struct rd_reader *r, struct rd_frame *frames, unsigned int max, struct rd_error *err);
/* Comment and drop count of the frame frames[i] of the last batch; false if it has none. */
bool rd_reader_note(const struct rd_reader *r, unsigned int i, struct rd_note *note);
/* Whether rd_reader_note() has anything for the last batch. */
bool rd_reader_has_notes(const struct rd_reader *r);
/*
 * Hands out the facts that a file carries, in file order, during rd_reader_next(): before that call
 * returns the frames behind them (it may return some in front of them as well). The
 * text is valid during the call only, is not ended by NUL and, like all that comes from files, not
 * to be trusted. Without fn (NULL) facts are skipped.
 */
typedef void rd_facts_fn(void *ctx, const char *json, size_t len);
void rd_reader_on_facts(struct rd_reader *r, rd_facts_fn *fn, void *ctx);
/*
 * Facts count interfaces as their section does: the reader's number of interface `in_section` of
 * the section at hand, -1 if there is none. For use during rd_facts_fn.
 */
int rd_reader_facts_iface(const struct rd_reader *r, unsigned int in_section);
/* Interfaces seen so far; later sections' ones are appended. Valid until the next call. */
const struct rd_iface *rd_reader_ifaces(const struct rd_reader *r, unsigned int *n);
/* Statistics that the file carries for interface i; false if it has none (yet). */
bool rd_reader_stats(const struct rd_reader *r, unsigned int i, struct rd_iface_stats *stats);
const struct rd_section *rd_reader_section(const struct rd_reader *r);
/* "pcapng", "pcap" ...: what the file is. */
const char *rd_reader_format(const struct rd_reader *r);
void rd_reader_close(struct rd_reader *r);

#endif
