/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture file as a source, read by rd_reader: its frames are processed like live ones. */
#include "stream.h"
#include <errno.h>
#include <rdmadump/array.h>
#include <rdmadump/facts.h>
#include <rdmadump/source.h>
#include <rdmadump/sum.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_MAX 262144u /* libpcap's MAXIMUM_SNAPLEN: other programs refuse longer frames */

/* Counts of the frames of one of this source's interfaces. */
struct iface_count {
	uint64_t first_ns, last_ns, frames;
	uint64_t dropped; /* sum of the drop counts stored with frames */
};

/* The mapping of one of the reader's interfaces to one of this source. */
struct iface_map {
	uint16_t to;	/* index of this source's interface */
	bool announced; /* false: its next frame gets a comment about its interface */
	bool fits;	/* whether its frames have this source's link type */
};

struct file {
	struct rd_source src;
	struct stream *stream;
	struct rd_reader *reader;
	struct rd_frame first; /* read to know the link type; returned by the first receive() if
				  has_first */
	bool has_first, stopped;
	bool all_links; /* interfaces are the reader's */
	struct rd_iface *ifaces;
	struct iface_count *counts; /* same index as ifaces */
	struct iface_map *maps;	    /* by the index of the reader's interface */
	unsigned int n_maps;
	uint64_t noted; /* bit i: notes[i] belongs to frame i of the batch */
	struct rd_note notes[RD_BATCH];
	char arrival[RD_NOTE_MAX]; /* a comment about the interface, before that of the frame */
	uint64_t left_out, shortened;
	rd_facts_fn *facts;
	void *facts_ctx;
	struct rd_facts early; /* facts read before the maps existed */
};

_Static_assert(RD_BATCH <= 64, "one bit per frame of a batch");

/* --- interfaces ------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_link(const struct rd_iface *a, const struct rd_iface *b)
{
	return a->link == b->link && a->dlt == b->dlt;
}

static bool same_iface(const struct rd_iface *a, const struct rd_iface *b)
{
	return same_text(a->name, b->name) && same_text(a->description, b->description) &&
	       same_text(a->hardware, b->hardware) && same_text(a->filter, b->filter) &&
	       a->has_mac == b->has_mac && memcmp(a->mac, b->mac, sizeof(a->mac)) == 0;
}

/*
 * The file header with the interfaces is written before the first frame. An interface that appears
 * later (in another section) is mapped to an equal one, else to one of equal name, else to the
 * first one; in the last case its first frame gets a comment.
 */
static struct iface_map find_map(const struct file *f, const struct rd_iface *iface)
{
	bool fits = same_link(iface, &f->src.iface);

	for (unsigned int i = 0; i < f->src.n_ifaces; i++)
		if (same_iface(&f->ifaces[i], iface))
			return (struct iface_map){(uint16_t)i, true, fits};
	for (unsigned int i = 0; i < f->src.n_ifaces; i++)
		if (same_text(f->ifaces[i].name, iface->name))
			return (struct iface_map){(uint16_t)i, true, fits};
	return (struct iface_map){0, false, fits};
}

static bool maps_grow(struct file *f, unsigned int n)
{
	struct iface_map *maps = reallocarray(f->maps, n, sizeof(*maps));

	if (!maps)
		return false;
	f->maps = maps;
	return true;
}

/* With all link types: the reader's interfaces as they are now. */
static int ifaces_update(struct file *f, struct rd_error *err)
{
	unsigned int n;
	const struct rd_iface *theirs = rd_reader_ifaces(f->reader, &n);
	struct iface_count *counts;

	if (n > f->n_maps) {
		counts = reallocarray(f->counts, n, sizeof(*counts));
		if (counts)
			f->counts = counts;
		if (!counts || !maps_grow(f, n))
			return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL,
				"'%s': cannot continue reading", stream_name(f->stream));
	}
	for (; f->n_maps < n; f->n_maps++) {
		f->counts[f->n_maps] = (struct iface_count){0};
		f->maps[f->n_maps] = (struct iface_map){(uint16_t)f->n_maps, true, true};
	}
	f->src.ifaces = theirs;
	f->src.n_ifaces = n;
	f->src.iface = theirs[0];
	return 0;
}

/* Adds maps for interfaces that the reader has found since. */
static int maps_update(struct file *f, struct rd_error *err)
{
	unsigned int n;
	const struct rd_iface *theirs = rd_reader_ifaces(f->reader, &n);

	if (f->all_links && n)
		return ifaces_update(f, err);
	if (n == f->n_maps)
		return 0;
	if (!maps_grow(f, n))
		return rd_fail(err, RD_CLASS_PARTIAL, ENOMEM, NULL, "'%s': cannot continue reading",
			stream_name(f->stream));
	for (; f->n_maps < n; f->n_maps++)
		f->maps[f->n_maps] = find_map(f, &theirs[f->n_maps]);
	return 0;
}

/* libpcap refuses a file whose interfaces have different snaplens: the longest is used for all. */
static uint32_t common_snaplen(const struct rd_iface *ifaces, unsigned int n)
{
	uint32_t most = ifaces[0].snaplen;

	for (unsigned int i = 1; i < n && most; i++)
		if (!ifaces[i].snaplen || ifaces[i].snaplen > most)
			most = ifaces[i].snaplen;
	return most;
}

/* For a file without any interface. */
static const struct rd_iface no_iface = {.link = RD_LINK_ETHERNET};

/* Copies the interfaces of the first frame's link type; an output file holds only one. */
static int take_ifaces(struct file *f, struct rd_error *err)
{
	unsigned int n, ours = 0;
	const struct rd_iface *theirs = rd_reader_ifaces(f->reader, &n);
	const struct rd_iface *model = f->has_first ? &theirs[f->first.iface] : theirs;
	uint32_t snaplen;

	if (!n)
		theirs = model = &no_iface;
	f->ifaces = calloc(n ? n : 1, sizeof(*f->ifaces));
	f->counts = calloc(n ? n : 1, sizeof(*f->counts));
	if (!f->ifaces || !f->counts || !maps_grow(f, n ? n : 1))
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot open '%s'",
			stream_name(f->stream));
	if (f->all_links && n)
		return ifaces_update(f, err);
	for (unsigned int i = 0; i < (n ? n : 1) && ours < RD_SOURCE_IFACES; i++) {
		bool fits = same_link(&theirs[i], model);

		f->n_maps = n ? i + 1 : 0;
		f->maps[i] = fits ? (struct iface_map){(uint16_t)ours, true, true}
				  : (struct iface_map){0};
		if (fits)
			f->ifaces[ours++] = theirs[i];
	}
	snaplen = common_snaplen(f->ifaces, ours);
	for (unsigned int i = 0; i < ours; i++) {
		f->ifaces[i].snaplen = snaplen;
		f->ifaces[i].max_frame = FRAME_MAX;
	}
	f->src.iface = f->ifaces[0];
	f->src.ifaces = f->ifaces;
	f->src.n_ifaces = ours;
	return maps_update(f, err);
}

/* --- facts ------------------------------------------------------------------------------ */

/* Passes on facts about interface `from` of the reader; `said` is the number in the text. */
static void pass_on(
	struct file *f, const struct rd_fact *fact, unsigned int said, unsigned int from)
{
	unsigned int n;
	const struct rd_iface *theirs = rd_reader_ifaces(f->reader, &n);
	struct rd_facts moved = {0};

	/* Facts about an interface whose frames are omitted are omitted too. */
	if (from >= f->n_maps || (!f->all_links && !same_link(&theirs[from], &f->src.iface)))
		return;
	if (f->maps[from].to == said)
		f->facts(f->facts_ctx, fact->json, fact->len);
	else if (rd_facts_add_moved(&moved, fact->json, fact->len, f->maps[from].to) == 0)
		f->facts(f->facts_ctx, moved.fact[0].json, moved.fact[0].len);
	rd_facts_free(&moved);
}

static void on_facts(void *ctx, const char *json, size_t len)
{
	struct file *f = ctx;
	const struct rd_fact fact = {(char *)(uintptr_t)json, len};
	int said = rd_facts_iface(json, len);
	int from = said < 0 ? -1 : rd_reader_facts_iface(f->reader, (unsigned int)said);

	if (from < 0)
		return;
	if (!f->ifaces)
		rd_facts_add_moved(&f->early, json, len, (unsigned int)from);
	else if (maps_update(f, NULL) == 0)
		pass_on(f, &fact, (unsigned int)said, (unsigned int)from);
}

static void pass_on_early(struct file *f)
{
	for (size_t i = 0; i < f->early.n; i++) {
		const struct rd_fact *fact = &f->early.fact[i];
		unsigned int from = (unsigned int)rd_facts_iface(fact->json, fact->len);

		pass_on(f, fact, from, from);
	}
	rd_facts_free(&f->early);
}

/* --- frames ----------------------------------------------------------------------------- */

/* Adds a comment about an interface that is not in the output file's header. */
static void announce(struct file *f, const struct rd_iface *from, struct rd_note *note)
{
	const char *to = f->ifaces[0].name;

	snprintf(f->arrival, sizeof(f->arrival),
		"frames of interface '%s', which this file's header does not have, are under '%s' "
		"from here on%s%s",
		from->name ? from->name : "without a name", to ? to : "the first one",
		note->comment ? "; " : "", note->comment ? note->comment : "");
	rd_log(RD_LOG_WARNING, "'%s': %s", stream_name(f->stream), f->arrival);
	note->comment = f->arrival;
}

/* Frame i of the reader's batch is frame `to` of this source: copies its note. */
static void take_note(struct file *f, unsigned int i, unsigned int to, struct iface_count *count,
	const struct rd_iface *from, struct iface_map *map)
{
	struct rd_note *note = &f->notes[to];

	*note = (struct rd_note){0};
	if (!rd_reader_note(f->reader, i, note) && map->announced)
		return;
	/* One comment per batch: there is one buffer for its text. */
	if (!map->announced && !f->arrival[0]) {
		announce(f, from, note);
		map->announced = true;
	}
	rd_sum_add(&count->dropped, note->dropped);
	if (note->dropped || note->comment)
		f->noted |= UINT64_C(1) << to;
}

static void shorten(struct file *f, struct rd_frame *frame)
{
	if (!f->shortened++)
		rd_log(RD_LOG_WARNING,
			"'%s': frames longer than %u bytes are cut to that length, as other "
			"programs refuse them",
			stream_name(f->stream), FRAME_MAX);
	frame->caplen = FRAME_MAX;
}

/* Whether all frames belong to one interface and have no notes. */
static bool is_one_iface(const struct file *f)
{
	const struct iface_map *only = &f->maps[0];

	return f->n_maps == 1 && only->fits && only->announced && !rd_reader_has_notes(f->reader);
}

/* route_frames() for that case, which is the most frequent one. */
static unsigned int route_one_iface(struct file *f, struct rd_frame *frames, unsigned int n)
{
	struct iface_count *count = &f->counts[f->maps[0].to];
	uint64_t first = count->frames ? count->first_ns : UINT64_MAX;
	uint64_t last = count->last_ns;
	uint32_t longest = 0;

	for (unsigned int i = 0; i < n; i++) {
		first = RD_MIN(first, frames[i].ts_ns);
		last = RD_MAX(last, frames[i].ts_ns);
		longest = RD_MAX(longest, frames[i].caplen);
	}
	count->first_ns = first;
	count->last_ns = last;
	count->frames += n;
	for (unsigned int i = 0; longest > FRAME_MAX && i < n; i++)
		if (frames[i].caplen > FRAME_MAX)
			shorten(f, &frames[i]);
	return n;
}

/* Assigns the frames to interfaces, and removes those of another link type. */
static unsigned int route_frames(struct file *f, struct rd_frame *frames, unsigned int n)
{
	unsigned int n_theirs, kept = 0;
	const struct rd_iface *theirs = rd_reader_ifaces(f->reader, &n_theirs);
	bool notes = rd_reader_has_notes(f->reader);

	if (is_one_iface(f))
		return route_one_iface(f, frames, n);
	for (unsigned int i = 0; i < n; i++) {
		struct rd_frame *frame = &frames[kept];
		const struct rd_iface *from = &theirs[frames[i].iface];
		struct iface_map *map = &f->maps[frames[i].iface];
		struct iface_count *count = &f->counts[map->to];

		if (!map->fits)
			continue;
		if (kept != i)
			*frame = frames[i];
		frame->iface = map->to;
		if (frame->caplen > FRAME_MAX)
			shorten(f, frame);
		if (!count->frames || frame->ts_ns < count->first_ns)
			count->first_ns = frame->ts_ns;
		count->last_ns = RD_MAX(count->last_ns, frame->ts_ns);
		count->frames++;
		if (notes || !map->announced)
			take_note(f, i, kept, count, from, map);
		kept++;
	}
	f->left_out += n - kept;
	return kept;
}

static int read_batch(
	struct file *f, struct rd_frame *frames, unsigned int max, struct rd_error *err)
{
	if (!f->has_first)
		return rd_reader_next(f->reader, frames, max < RD_BATCH ? max : RD_BATCH, err);
	f->has_first = false;
	frames[0] = f->first;
	return 1;
}

static int file_receive(
	struct rd_source *src, struct rd_frame *frames, unsigned int max, struct rd_error *err)
{
	struct file *f = (struct file *)src;
	int n;

	f->noted = 0;
	f->arrival[0] = '\0';
	src->batch_has_notes = false;
	if (f->stopped)
		return RD_SOURCE_END;
	do {
		n = read_batch(f, frames, max, err);
		if (n == 0)
			return RD_SOURCE_END;
		if (n == RD_READ_LATER)
			return 0;
		if (n < 0 || maps_update(f, err) < 0)
			return -1;
		n = (int)route_frames(f, frames, (unsigned int)n);
	} while (!n);
	src->batch_has_notes = f->noted != 0;
	return n;
}

static bool file_note(struct rd_source *src, unsigned int i, struct rd_note *note)
{
	struct file *f = (struct file *)src;

	if (i >= RD_BATCH || !(f->noted >> i & 1))
		return false;
	*note = f->notes[i];
	return true;
}

/* --- life ------------------------------------------------------------------------------- */

/* A pipe can be polled; the next frame of a file is always available. */
static int file_arm(struct rd_source *src, struct rd_error *err)
{
	(void)err;
	return src->frame_fd < 0;
}

static void file_stop(struct rd_source *src)
{
	struct file *f = (struct file *)src;
	char n[RD_UNITS_LEN];

	f->stopped = true;
	if (f->left_out)
		rd_log(RD_LOG_WARNING,
			"'%s': %s frame%s left out: one file holds one link type, that of the "
			"first frame",
			stream_name(f->stream), rd_fmt_count(n, f->left_out),
			rd_plural(f->left_out));
}

/* Adds the file's statistics of all interfaces that are mapped to interface i. */
static bool add_stats(const struct file *f, unsigned int i, struct rd_iface_stats *sum)
{
	unsigned int n;
	const struct rd_iface *theirs = rd_reader_ifaces(f->reader, &n);
	struct rd_iface_stats s;
	bool any = false;

	/* With all link types, the interfaces have the same numbers. */
	for (unsigned int k = f->all_links ? i : 0; k < n && k < f->n_maps; k++) {
		if (f->all_links && k > i)
			break;
		if (f->maps[k].to != i ||
			(!f->all_links && !same_link(&theirs[k], &f->src.iface)) ||
			!rd_reader_stats(f->reader, k, &s))
			continue;
		any = true;
		if (s.start_ns && (!sum->start_ns || s.start_ns < sum->start_ns))
			sum->start_ns = s.start_ns;
		sum->end_ns = RD_MAX(sum->end_ns, s.end_ns);
		rd_sum_add(&sum->received, s.received);
		rd_sum_add(&sum->dropped, s.dropped);
		sum->drops_unknown |= s.drops_unknown;
		rd_sum_add(&sum->accepted, s.accepted);
		rd_sum_add(&sum->dropped_by_us, s.dropped_by_us);
		rd_sum_add(&sum->delivered, s.delivered);
		if (!sum->comment)
			sum->comment = s.comment;
	}
	return any;
}

static bool file_iface_stats(struct rd_source *src, unsigned int i, struct rd_iface_stats *stats)
{
	const struct file *f = (const struct file *)src;
	const struct iface_count *p = &f->counts[i];
	bool any;

	*stats = (struct rd_iface_stats){0};
	any = add_stats(f, i, stats) || p->frames;
	if (!stats->start_ns)
		stats->start_ns = p->first_ns;
	/* A part of a capture may have the statistics of the whole. */
	if (!stats->end_ns || stats->delivered != p->frames)
		stats->end_ns = p->last_ns;
	/* Losses are stored with frames, in the statistics, or in both. */
	stats->dropped = RD_MAX(stats->dropped, p->dropped);
	return any;
}

/* Reports losses that are recorded in the file. */
static void file_stats(struct rd_source *src, struct rd_source_stats *stats)
{
	struct file *f = (struct file *)src;

	bool unknown = false;

	*stats = (struct rd_source_stats){.left_out = f->left_out};
	for (unsigned int i = 0; i < src->n_ifaces; i++) {
		struct rd_iface_stats s = {0};

		stats->loss_known |= add_stats(f, i, &s) || f->counts[i].dropped;
		rd_sum_add(&stats->lost,
			s.dropped > f->counts[i].dropped ? s.dropped : f->counts[i].dropped);
		unknown |= s.drops_unknown;
	}
	stats->loss_known &= !unknown;
	if (!stats->loss_known)
		return;
	stats->n_loss = 1;
	stats->loss[0].name = "as the file says";
	stats->loss[0].frames.amount = stats->loss[0].least = stats->lost;
}

static void file_progress(struct rd_source *src, uint64_t *done, uint64_t *size)
{
	stream_progress(((struct file *)src)->stream, done, size);
}

static void file_close(struct rd_source *src)
{
	struct file *f = (struct file *)src;

	rd_reader_close(f->reader);
	stream_close(f->stream);
	free(f->ifaces);
	free(f->counts);
	free(f->maps);
	rd_facts_free(&f->early);
	free(f);
}

static const struct rd_source_ops file_ops = {
	.name = "file",
	.start = rd_source_no_work,
	.receive = file_receive,
	.release = rd_source_ignore,
	.arm = file_arm,
	.service = rd_source_no_work,
	.stop = file_stop,
	.stats = file_stats,
	.close = file_close,
	.note = file_note,
	.progress = file_progress,
	.iface_stats = file_iface_stats,
};

static void describe(struct file *f)
{
	const char *compression = stream_compression(f->stream);
	char bytes[RD_UNITS_LEN];
	uint64_t done, size;

	stream_progress(f->stream, &done, &size);
	snprintf(f->src.title, sizeof(f->src.title), "'%s'", stream_name(f->stream));
	snprintf(f->src.details, sizeof(f->src.details), "%s%s%s%s%s", rd_reader_format(f->reader),
		*compression ? " in " : "", compression, size ? ", " : "",
		size ? rd_fmt_bytes(bytes, size) : "");
}

int rd_file_open(struct rd_source **s, const struct rd_file_config *config, struct rd_error *err)
{
	struct file *f = calloc(1, sizeof(*f));
	struct rd_error later; /* a fault before the first frame is reported again by receive() */

	if (!f)
		return rd_fail(
			err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot open '%s'", config->path);
	f->src.ops = &file_ops;
	f->src.event_fd = -1;
	if (stream_open(&f->stream, config->path, err) < 0)
		goto fail;
	if (rd_reader_open(&f->reader, stream_read, f->stream, stream_name(f->stream), err) < 0) {
		err->class = RD_CLASS_DEVICE; /* nothing has been done in part */
		goto fail;
	}
	f->all_links = config->all_links;
	if (config->facts) {
		f->facts = config->facts;
		f->facts_ctx = config->facts_ctx;
		rd_reader_on_facts(f->reader, on_facts, f);
	}
	f->has_first = rd_reader_next(f->reader, &f->first, 1, &later) == 1;
	if (take_ifaces(f, err) < 0)
		goto fail;
	pass_on_early(f);
	stream_never_wait(f->stream);
	f->src.frame_fd = stream_fd(f->stream);
	f->src.section = rd_reader_section(f->reader);
	f->src.idle_polls = 1;
	describe(f);
	*s = &f->src;
	return 0;
fail:
	file_close(&f->src);
	return -1;
}
