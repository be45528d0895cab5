/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Capture file formats: frames are encoded into memory and decoded from a byte stream. Encoders
 * have no state between frames, so that any thread may encode any frame.
 */
#pragma once

#include <rdmadump/error.h>
#include <rdmadump/frame.h>
#include <stddef.h>
#include <sys/types.h>

struct rd_encoder;

/* One row per format; chosen once per file. */
struct rd_format {
	const char *name;     /* as in --format */
	const char *suffixes; /* of file names, separated by blanks; the first is the default */

	/*
	 * Each writes at most `size` bytes at dst and returns the bytes written, 0 if they do not
	 * fit. header(): the start of a file. trailer(): its end, one statistics record per
	 * interface (`stats[n_ifaces]`); NULL if the format has none. ERF's header is always 0
	 * bytes.
	 */
	size_t (*header)(const struct rd_encoder *e, uint8_t *dst, size_t size);
	size_t (*trailer)(const struct rd_encoder *e, const struct rd_iface_stats *stats,
		uint8_t *dst, size_t size);

	/*
	 * Encodes frames[0..n) one after the other until one does not fit; returns the number
	 * encoded, and in *used the bytes written. The hot path.
	 */
	unsigned int (*frames)(const struct rd_encoder *e, const struct rd_frame *frames,
		unsigned int n, uint8_t *dst, size_t size, size_t *used);
	/* One frame with a note, which a format without notes omits. */
	size_t (*noted)(const struct rd_encoder *e, const struct rd_frame *frame,
		const struct rd_note *note, uint8_t *dst, size_t size);
	/* Length of the record at p, 0 if it is not complete within `left` bytes. */
	size_t (*record_len)(const uint8_t *p, size_t left);
	/* Interface of the complete record at p; NULL: the format has only one. */
	unsigned int (*record_iface)(const uint8_t *p);
	/* A block of facts, see rd_encoder_facts(); NULL: the format has no facts. */
	size_t (*facts)(const char *json, size_t len, uint8_t *dst, size_t size);
	/* Timestamp of the record at p, ns since the Unix epoch, as precise as the format. */
	uint64_t (*record_ns)(const uint8_t *p);
	/* Upper bounds, in bytes: of a frame with the longest note; of header(), trailer(). */
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
 * Prepares *e for the interfaces: finds the format by `spec` ("pcapng", "pcap", "pcap-us", "erf",
 * "pcapng,dlt=247") or, if spec is NULL, by the file name (default pcapng; endings of compressors
 * are ignored). section and ifaces are borrowed and must outlive e. Returns 0, or -1 with
 * RD_CLASS_USAGE on an unknown format, and on interfaces that one file cannot hold.
 */
int rd_encoder_init(struct rd_encoder *e, const char *spec, const char *filename,
	const struct rd_section *section, const struct rd_iface *ifaces, unsigned int n_ifaces,
	struct rd_error *err);

/* Whether `spec` is one that rd_encoder_init() knows. Returns 0, or -1 with RD_CLASS_USAGE. */
int rd_format_check(const char *spec, struct rd_error *err);

/*
 * Facts: counters, QPs and device data as JSON text, in a block type that only this program reads
 * and other readers skip; rdmadump-formats(5) describes block and objects. Facts may be anywhere
 * after the interfaces. Texts longer than this are neither written nor read.
 */
#define RD_FACTS_MAX ((size_t)1 << 20)

/* Returns the bytes written; 0 if the format has no such block, or the text does not fit. */
size_t rd_encoder_facts(
	const struct rd_encoder *e, const char *json, size_t len, uint8_t *dst, size_t size);
/* Bytes that rd_encoder_facts() writes for a text of len bytes. */
size_t rd_encoder_facts_bound(size_t len);

/* Limit of a stored comment in bytes; longer ones are cut, never within a character. */
#define RD_NOTE_MAX 1024

/*
 * Decoding. The reader recognizes by the first bytes: pcap (micro- and nanosecond, both byte
 * orders), pcapng (any number of sections, both byte orders, any tsresol/tsoffset, also SPB and
 * obsolete PB blocks) and ERF. DLT_ERF records of type InfiniBand and Ethernet are unwrapped: the
 * frame begins after the ERF headers, and the interface has its link. A reader is used by one
 * thread at a time.
 */
struct rd_reader;

/*
 * Fills buf with up to `size` bytes; returns their number, 0 at the end, -1 with *err set,
 * RD_READ_LATER if there are none now: rd_reader_next() then returns it too, and continues at the
 * next call. Not allowed during rd_reader_open().
 */
#define RD_READ_LATER (-2)
typedef ssize_t rd_read_fn(void *ctx, uint8_t *buf, size_t size, struct rd_error *err);

/*
 * `name` is used in messages and copied. Returns 0 with *r, which the caller closes, or -1 with
 * RD_CLASS_DEVICE if it is not a capture file.
 */
int rd_reader_open(
	struct rd_reader **r, rd_read_fn *read, void *ctx, const char *name, struct rd_error *err);
/*
 * Reads up to max frames (max >= 1), valid until the next call. Returns their number, 0 at the end,
 * RD_READ_LATER if read() did, -1 on a damaged or truncated file, after all frames before the
 * damage were returned.
 */
int rd_reader_next(
	struct rd_reader *r, struct rd_frame *frames, unsigned int max, struct rd_error *err);
/*
 * Comment and drop count of frames[i] of the last batch; false if it has none. The comment is valid
 * until the next rd_reader_next().
 */
bool rd_reader_note(const struct rd_reader *r, unsigned int i, struct rd_note *note);
/* Whether rd_reader_note() has anything for the last batch. */
bool rd_reader_has_notes(const struct rd_reader *r);
/*
 * Called during rd_reader_next() with each block of facts, in file order: before that call returns
 * any frame stored after it (frames stored before it may be returned later). The text is untrusted,
 * valid during the call only, and not NUL-terminated. fn NULL: facts are skipped.
 */
typedef void rd_facts_fn(void *ctx, const char *json, size_t len);
void rd_reader_on_facts(struct rd_reader *r, rd_facts_fn *fn, void *ctx);
/*
 * The reader's index of interface `in_section` of the current section, as facts number them; -1 if
 * there is none. Only during rd_facts_fn.
 */
int rd_reader_facts_iface(const struct rd_reader *r, unsigned int in_section);
/*
 * Interfaces read so far; those of later sections are appended. Valid until the next
 * rd_reader_next().
 */
const struct rd_iface *rd_reader_ifaces(const struct rd_reader *r, unsigned int *n);
/* Statistics of interface i in the file; false if none were read so far. */
bool rd_reader_stats(const struct rd_reader *r, unsigned int i, struct rd_iface_stats *stats);
/* The first section's header, valid until close; NULL strings where it says nothing. */
const struct rd_section *rd_reader_section(const struct rd_reader *r);
/* The file's format: "pcapng", "pcap", "erf"; static. */
const char *rd_reader_format(const struct rd_reader *r);
void rd_reader_close(struct rd_reader *r);
