/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Decodes a byte stream into batches of frames that lie in its one buffer. */
#include "reader.h"
#include <errno.h>
#include <inttypes.h>
#include <rdmadump/log.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Small enough to stay in the second-level cache between read(2) and those who look at frames. */
#define BUFFER_START (256u << 10)
#define BUFFER_MAX   (16u << 20) /* so that a damaged length cannot take all memory */
#define PROBE_LEN    32		 /* enough for pcap and pcapng; more would stall a slow pipe */
#define TEXTS_MAX    ((size_t)4 << 20) /* of all interfaces: those of real captures are short */
#define IFACES_MAX   65535	       /* what a frame's interface index can hold */

static const struct reader_format *const formats[] = {&reader_pcapng, &reader_pcap, &reader_erf};
#define N_FORMATS (sizeof(formats) / sizeof(formats[0]))

/* Files that people take for captures; telling what they are saves a question. */
static const struct {
	uint8_t len;
	uint8_t magic[8];
	const char *name, *todo;
} strangers[] = {
	{2, {0x1f, 0x8b}, "gzip", "uncompress it first"},
	{4, {0x28, 0xb5, 0x2f, 0xfd}, "zstd", "uncompress it first"},
	{4, {0x04, 0x22, 0x4d, 0x18}, "lz4", "uncompress it first"},
	{6, {0xfd, '7', 'z', 'X', 'Z', 0}, "xz", "uncompress it first"},
	{8, {'s', 'n', 'o', 'o', 'p', 0, 0, 0}, "snoop", "convert it with editcap"},
};

static uint64_t position(const struct rd_reader *r)
{
	return r->base + r->start;
}

static const char *what_is_left(const struct rd_reader *r)
{
	return r->n_frames + r->batch ? "the frames before it are good" : NULL;
}

enum step reader_damaged(struct rd_reader *r, const char *fmt, ...)
{
	char why[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	rd_fail(&r->error, RD_CLASS_PARTIAL, 0, what_is_left(r),
		"'%s': damaged in frame %" PRIu64 " at byte %" PRIu64 ": %s", r->name,
		r->n_frames + r->batch + 1, position(r), why);
	return STEP_FAIL;
}

static enum step fail_cut(struct rd_reader *r)
{
	rd_fail(&r->error, RD_CLASS_PARTIAL, 0, what_is_left(r),
		"'%s': cut short in frame %" PRIu64 " at byte %" PRIu64, r->name,
		r->n_frames + r->batch + 1, position(r));
	return STEP_FAIL;
}

enum step reader_nomem(struct rd_reader *r)
{
	rd_fail(&r->error, RD_CLASS_DEVICE, ENOMEM, NULL, "'%s': cannot read on", r->name);
	return STEP_FAIL;
}

/* Returns the array with room for one more element of `size` bytes; NULL without memory. */
static void *grow(void *array, unsigned int used, unsigned int *room, size_t size)
{
	unsigned int more = *room ? *room * 2 : 8;
	void *p;

	if (used < *room)
		return array;
	p = reallocarray(array, more, size);
	if (p)
		*room = more;
	return p;
}

enum rd_link reader_link(uint16_t dlt)
{
	switch (dlt) {
	case DLT_EN10MB:
		return RD_LINK_ETHERNET;
	case DLT_ERF: /* until a record says otherwise */
	case DLT_INFINIBAND:
		return RD_LINK_INFINIBAND;
	default:
		return RD_LINK_RAW;
	}
}

/* The strings that a file's interface can have; they are copied and freed alike. */
static const size_t iface_strings[] = {
	offsetof(struct rd_iface, name),
	offsetof(struct rd_iface, description),
	offsetof(struct rd_iface, hardware),
	offsetof(struct rd_iface, filter),
	offsetof(struct rd_iface, os),
};
#define N_STRINGS (sizeof(iface_strings) / sizeof(iface_strings[0]))

static const char **iface_string(struct rd_iface *iface, size_t i)
{
	return (const char **)(void *)((char *)iface + iface_strings[i]);
}

/* The header's strings are const for those who read them; they are all ours. */
static void string_free(const char *s)
{
	free((void *)(uintptr_t)s);
}

static void iface_free(struct rd_iface *iface)
{
	for (size_t i = 0; i < N_STRINGS; i++)
		string_free(*iface_string(iface, i));
}

enum step reader_keep_text(struct rd_reader *r, const char **to, const char *text, size_t len)
{
	r->kept -= *to ? strlen(*to) : 0;
	string_free(*to);
	*to = NULL;
	if (!text)
		return STEP_OTHER;
	len = strnlen(text, len);
	if (len > TEXTS_MAX - r->kept) {
		if (!r->cut)
			rd_log(RD_LOG_WARNING,
				"'%s': names and comments of interfaces are longer than %zu bytes "
				"together; those that come after are left out",
				r->name, TEXTS_MAX);
		r->cut = true;
		return STEP_OTHER;
	}
	*to = strndup(text, len);
	if (!*to)
		return reader_nomem(r);
	r->kept += len;
	return STEP_OTHER;
}

static bool iface_copy(struct rd_reader *r, struct rd_iface *to, const struct rd_iface *from)
{
	struct rd_iface source = *from;

	*to = source;
	for (size_t i = 0; i < N_STRINGS; i++)
		*iface_string(to, i) = NULL;
	for (size_t i = 0; i < N_STRINGS; i++) {
		const char *s = *iface_string(&source, i);

		if (s && reader_keep_text(r, iface_string(to, i), s, SIZE_MAX) == STEP_FAIL) {
			iface_free(to);
			return false;
		}
	}
	return true;
}

int reader_add_iface(struct rd_reader *r, const struct rd_iface *iface)
{
	unsigned int extras_room = r->ifaces_room;
	struct iface_extra *extras;
	struct rd_iface *ifaces;

	if (r->n_ifaces == IFACES_MAX) {
		reader_damaged(r, "more than %d interfaces", IFACES_MAX);
		return -1;
	}
	extras = grow(r->extras, r->n_ifaces, &extras_room, sizeof(*extras));
	if (extras)
		r->extras = extras;
	ifaces = grow(r->ifaces, r->n_ifaces, &r->ifaces_room, sizeof(*ifaces));
	if (ifaces)
		r->ifaces = ifaces;
	if (!extras || !ifaces || !iface_copy(r, &ifaces[r->n_ifaces], iface)) {
		reader_nomem(r);
		return -1;
	}
	extras[r->n_ifaces] = (struct iface_extra){0};
	return (int)r->n_ifaces++;
}

struct file_iface *reader_add_file_iface(
	struct rd_reader *r, const struct rd_iface *iface, uint16_t dlt)
{
	int index = reader_add_iface(r, iface);
	struct file_iface *f;

	if (index < 0)
		return NULL;
	f = grow(r->file_ifaces, r->n_file_ifaces, &r->file_ifaces_room, sizeof(*f));
	if (!f) {
		reader_nomem(r);
		return NULL;
	}
	r->file_ifaces = f;
	f += r->n_file_ifaces++;
	*f = (struct file_iface){.iface = (uint16_t)index,
		.dlt = dlt,
		.mul = 1000,
		.div = 1,
		.fcslen = iface->fcslen};
	return f;
}

static bool add_text(struct rd_reader *r, const char *text, size_t len)
{
	size_t need = r->texts_used + len;
	char *p;

	if (!len)
		return true;
	if (need > r->texts_room) {
		need *= 2;
		p = realloc(r->texts, need);
		if (!p)
			return false;
		r->texts = p;
		r->texts_room = need;
	}
	memcpy(r->texts + r->texts_used, text, len);
	r->texts_used += len;
	return true;
}

static struct frame_note *note_at_hand(struct rd_reader *r)
{
	struct frame_note *note;

	if (r->n_notes && r->notes[r->n_notes - 1].frame == r->batch)
		return &r->notes[r->n_notes - 1];
	note = grow(r->notes, r->n_notes, &r->notes_room, sizeof(*note));
	if (!note)
		return NULL;
	r->notes = note;
	note += r->n_notes++;
	*note = (struct frame_note){.frame = r->batch};
	return note;
}

enum step reader_add_note(struct rd_reader *r, uint64_t dropped, const char *comment, size_t len)
{
	struct frame_note *note = note_at_hand(r);

	if (!note)
		return reader_nomem(r);
	note->dropped += dropped;
	if (!comment)
		return STEP_OTHER;
	len = strnlen(comment, len);
	if (note->comment) { /* one more of this frame: replaces the NUL of the one before */
		r->texts_used--;
		if (!add_text(r, "; ", 2))
			return reader_nomem(r);
	} else {
		note->comment = r->texts_used + 1;
	}
	if (!add_text(r, comment, len) || !add_text(r, "", 1))
		return reader_nomem(r);
	return STEP_OTHER;
}

static void notes_reset(struct rd_reader *r)
{
	r->batch = 0;
	r->n_notes = 0;
	r->texts_used = 0;
}

/* Moves what is unread to the front, so that `need` bytes fit behind buf[0]. */
static enum step make_room(struct rd_reader *r, size_t need)
{
	size_t room = r->room;
	uint8_t *p;

	if (r->start) {
		memmove(r->buf, r->buf + r->start, reader_left(r));
		r->base += r->start;
		r->end -= r->start;
		r->start = 0;
	}
	if (need <= r->room)
		return STEP_OTHER;
	if (need > BUFFER_MAX)
		return reader_damaged(r, "its record claims %zu bytes, more than %u are not read",
			need, BUFFER_MAX);
	while (room < need)
		room *= 2;
	p = realloc(r->buf, room);
	if (!p)
		return reader_nomem(r);
	r->buf = p;
	r->room = room;
	return STEP_OTHER;
}

static void drop_skipped(struct rd_reader *r)
{
	size_t n = r->skip < reader_left(r) ? (size_t)r->skip : reader_left(r);

	r->start += n;
	r->skip -= n;
}

/*
 * Reads until r->need bytes are there. STEP_OTHER: they are; STEP_MORE: the file ended before;
 * STEP_LATER: they are not there yet.
 * Invalidates the batch.
 */
static enum step refill(struct rd_reader *r)
{
	while ((reader_left(r) < r->need || r->skip) && !r->at_end) {
		ssize_t n;

		if (make_room(r, r->need) == STEP_FAIL)
			return STEP_FAIL;
		n = r->read(r->ctx, r->buf + r->end, r->room - r->end, &r->error);
		if (n < 0)
			return n == RD_READ_LATER ? STEP_LATER : STEP_FAIL;
		r->at_end = n == 0;
		r->end += (size_t)n;
		drop_skipped(r);
	}
	return reader_left(r) < r->need || r->skip ? STEP_MORE : STEP_OTHER;
}

/* As the format's next(), but reads what is missing and knows the end (STEP_MORE). */
static enum step step(struct rd_reader *r, struct rd_frame *frame)
{
	enum step s;

	for (;;) {
		r->record = r->start;
		s = r->skip ? reader_more(r, 0) : r->format->next(r, frame);
		if (s != STEP_MORE)
			return s;
		if (r->batch)
			return STEP_MORE;
		s = refill(r);
		if (s == STEP_FAIL || s == STEP_LATER)
			return s;
		if (s == STEP_MORE)
			return reader_left(r) || r->skip ? fail_cut(r) : STEP_MORE;
	}
}

int rd_reader_next(
	struct rd_reader *r, struct rd_frame *frames, unsigned int max, struct rd_error *err)
{
	notes_reset(r);
	while (!r->failed && r->batch < max) {
		enum step s;

		if (r->format->run && !r->skip)
			r->batch += r->format->run(r, frames + r->batch, max - r->batch);
		if (r->batch == max)
			break;
		s = step(r, &frames[r->batch]);
		if (s == STEP_FRAME)
			r->batch++;
		else if (s == STEP_LATER)
			return RD_READ_LATER; /* met only while the batch is empty */
		else if (s == STEP_MORE)
			break;
		else if (s == STEP_FAIL)
			r->failed = true;
	}
	r->n_frames += r->batch;
	if (r->batch || !r->failed)
		return (int)r->batch;
	if (err)
		*err = r->error;
	return -1;
}

void rd_reader_on_facts(struct rd_reader *r, rd_facts_fn *fn, void *ctx)
{
	r->facts = fn;
	r->facts_ctx = ctx;
}

int rd_reader_facts_iface(const struct rd_reader *r, unsigned int in_section)
{
	return in_section < r->n_file_ifaces ? r->file_ifaces[in_section].iface : -1;
}

/* Reads up to the first frame (or the first facts) but not it, so that the interfaces are known
 * from the start. */
static void look_ahead(struct rd_reader *r)
{
	struct rd_frame frame;
	enum step s;

	r->ahead = true;
	do
		s = step(r, &frame);
	while (s == STEP_OTHER);
	r->ahead = false;
	if (s == STEP_FRAME)
		r->start = r->record;
	r->failed = s == STEP_FAIL;
	notes_reset(r);
}

static int fail_stranger(struct rd_reader *r, struct rd_error *err)
{
	const char *todo = "it must be pcapng, pcap or ERF";

	if (!reader_left(r))
		return rd_fail(
			err, RD_CLASS_DEVICE, 0, todo, "'%s' is empty, no capture file", r->name);
	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
		if (reader_left(r) >= strangers[i].len &&
			!memcmp(reader_at(r), strangers[i].magic, strangers[i].len))
			return rd_fail(err, RD_CLASS_DEVICE, 0, strangers[i].todo,
				"'%s' is a %s file", r->name, strangers[i].name);
	return rd_fail(err, RD_CLASS_DEVICE, 0, todo, "'%s' is no capture file", r->name);
}

static int begin(struct rd_reader *r, struct rd_error *err)
{
	r->need = PROBE_LEN;
	if (refill(r) == STEP_FAIL)
		goto fail;
	for (size_t i = 0; i < N_FORMATS && !r->format; i++)
		if (formats[i]->probe(reader_at(r), reader_left(r)))
			r->format = formats[i];
	if (!r->format)
		return fail_stranger(r, err);
	if (r->format->begin(r) == STEP_FAIL)
		goto fail;
	look_ahead(r);
	return 0;
fail:
	if (err)
		*err = r->error;
	return -1;
}

int rd_reader_open(
	struct rd_reader **out, rd_read_fn *read, void *ctx, const char *name, struct rd_error *err)
{
	struct rd_reader *r = calloc(1, sizeof(*r));
	int rc = -1;

	*out = NULL;
	if (r) {
		r->read = read;
		r->ctx = ctx;
		r->room = BUFFER_START;
		r->name = strdup(name);
		r->buf = malloc(r->room);
	}
	if (!r || !r->name || !r->buf)
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot open '%s'", name);
	else
		rc = begin(r, err);
	if (rc < 0)
		rd_reader_close(r);
	else
		*out = r;
	return rc;
}

bool rd_reader_has_notes(const struct rd_reader *r)
{
	return r->n_notes != 0;
}

bool rd_reader_note(const struct rd_reader *r, unsigned int i, struct rd_note *note)
{
	unsigned int low = 0, high = r->n_notes;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;
		const struct frame_note *n = &r->notes[middle];

		if (n->frame == i) {
			note->dropped = n->dropped;
			note->comment = n->comment ? r->texts + n->comment - 1 : NULL;
			return true;
		}
		if (n->frame < i)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

const struct rd_iface *rd_reader_ifaces(const struct rd_reader *r, unsigned int *n)
{
	*n = r->n_ifaces;
	return r->ifaces;
}

bool rd_reader_stats(const struct rd_reader *r, unsigned int i, struct rd_iface_stats *stats)
{
	if (i >= r->n_ifaces || !r->extras[i].has_stats)
		return false;
	*stats = r->extras[i].stats;
	return true;
}

const struct rd_section *rd_reader_section(const struct rd_reader *r)
{
	return &r->section;
}

const char *rd_reader_format(const struct rd_reader *r)
{
	return r->format->name;
}

void rd_reader_close(struct rd_reader *r)
{
	if (!r)
		return;
	for (unsigned int i = 0; i < r->n_ifaces; i++) {
		iface_free(&r->ifaces[i]);
		string_free(r->extras[i].stats.comment);
	}
	string_free(r->section.hardware);
	string_free(r->section.os);
	string_free(r->section.application);
	string_free(r->section.comment);
	free(r->ifaces);
	free(r->extras);
	free(r->file_ifaces);
	free(r->notes);
	free(r->texts);
	free(r->buf);
	free(r->name);
	free(r);
}
