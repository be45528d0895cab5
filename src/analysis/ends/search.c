/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether two files are captures of the same traffic: packets of one are searched in the other. */
#include <rdmadump/array.h>
#include <rdmadump/ends.h>
#include <rdmadump/hash.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE	     4096     /* first packets of a file, which are searched in the other */
#define SLOTS	     16384    /* slots of the hash tables; a power of two */
#define COMMON_PART  10	      /* one of this many must be found; a later part may repeat a few */
#define COMMON_LEAST 8	      /* ... and so many, where only the packets of some paths count */
#define DELAYS_NS    10000000 /* that the delays of most packets differ by no more than */

struct rd_ends_search {
	enum rd_tap of; /* the file whose packets are the sample */
	enum rd_ends_need need;
	bool without_icrc;
	bool bare; /* some packets have no ICRC */
	bool spans_known, two_adapters;
	struct rd_ends_span span[RD_TAPS];
	unsigned int n, found;
	unsigned int on_paths;	   /* packets of the sample on paths that have any in common */
	unsigned int same;	   /* found, of the same IP identification: in front in offset_ns */
	int64_t offset_ns[SAMPLE]; /* of those found: the time in the sample minus the other's */
	struct sample {
		uint64_t identity, ns;
		struct sampled_path *path;
		uint16_t ip_id;
		bool found;
	} slot[SLOTS];
	struct sampled_path {
		uint64_t id; /* 0: the slot is empty */
		unsigned int n;
		bool found; /* some of these packets */
	} path[SLOTS];
};

struct rd_ends_search *rd_ends_search_open(
	enum rd_tap of, enum rd_ends_need need, const struct rd_ends_span *spans)
{
	struct rd_ends_search *s = calloc(1, sizeof(*s));

	if (s) {
		s->of = of;
		s->need = need;
		s->spans_known = spans;
		if (spans)
			memcpy(s->span, spans, sizeof(s->span));
	}
	return s;
}

static void note_time(struct rd_ends_span *span, uint64_t ns)
{
	if (!span->first_ns)
		span->first_ns = span->last_ns = ns;
	if ((int64_t)ns > (int64_t)span->last_ns)
		span->last_ns = ns;
}

/* What is searched of this packet; 0: nothing. */
static uint64_t identify(const struct rd_ends_search *s, const struct rd_ends_packet *p)
{
	if (s->without_icrc)
		return p->bytes;
	return p->whole ? p->identity : 0;
}

/* The slot of a packet, or an empty one. */
static size_t slot_of(const struct rd_ends_search *s, uint64_t identity)
{
	size_t i = (size_t)(identity & (SLOTS - 1));

	while (s->slot[i].identity && s->slot[i].identity != identity)
		i = (i + 1) & (SLOTS - 1);
	return i;
}

/* The path of a packet of the sample, or an empty slot for it. */
static struct sampled_path *path_of(struct rd_ends_search *s, const struct rd_ends_packet *p)
{
	struct rd_hash h = rd_hash_begin();
	uint64_t id;
	size_t i;

	for (int k = 0; k < 2; k++) {
		rd_hash_add(&h, p->from.word[k]);
		rd_hash_add(&h, p->to.word[k]);
	}
	id = rd_hash_end(&h, 4) | 1;
	for (i = (size_t)(id & (SLOTS - 1)); s->path[i].id && s->path[i].id != id;)
		i = (i + 1) & (SLOTS - 1);
	s->path[i].id = id;
	return &s->path[i];
}

static void add_sample(struct rd_ends_search *s, struct sample *to, uint64_t identity,
	const struct rd_ends_packet *p)
{
	struct sampled_path *path = path_of(s, p);

	*to = (struct sample){.identity = identity, .ns = p->ns, .path = path, .ip_id = p->ip_id};
	path->n++;
	s->n++;
}

static void note_found(struct rd_ends_search *s, struct sample *x, const struct rd_ends_packet *p)
{
	x->found = true;
	s->offset_ns[s->found++] = rd_ends_time(x->ns, p->ns, 0);
	if (p->ip_id && p->ip_id == x->ip_id) {
		s->offset_ns[s->found - 1] = s->offset_ns[s->same];
		s->offset_ns[s->same++] = rd_ends_time(x->ns, p->ns, 0);
	}
	s->on_paths += x->path->found ? 0 : x->path->n;
	x->path->found = true;
}

static bool is_common(const struct rd_ends_search *s)
{
	if (s->need == RD_ENDS_NEED_ONE)
		return s->found > 0;
	if (s->n && s->found * COMMON_PART >= s->n)
		return true;
	return s->need == RD_ENDS_NEED_PATH && s->found >= COMMON_LEAST &&
	       s->found * COMMON_PART >= s->on_paths;
}

void rd_ends_search_two_adapters(struct rd_ends_search *s)
{
	s->two_adapters = true;
}

/*
 * Whether neither can go on where the other one ended: captured at the same time, by their clocks,
 * or by two adapters.
 */
static bool are_ends(const struct rd_ends_search *s)
{
	const struct rd_ends_span *a = &s->span[RD_TAP_A], *b = &s->span[RD_TAP_B];

	return s->two_adapters || (rd_ends_time(a->first_ns, b->last_ns, 0) < 0 &&
					  rd_ends_time(b->first_ns, a->last_ns, 0) < 0);
}

static int by_value(const void *x, const void *y)
{
	return RD_ORDER(*(const int64_t *)x, *(const int64_t *)y);
}

/*
 * Whether most packets found are the same transmissions, by a clock that is far from the other one:
 * they have the same IP identifications, and have kept their distances.
 */
static bool are_same_sent(struct rd_ends_search *s)
{
	const int64_t *sorted = s->offset_ns;

	qsort(s->offset_ns, s->same, sizeof(*s->offset_ns), by_value);
	return s->same >= COMMON_LEAST && s->same * 2 >= s->found &&
	       sorted[s->same - 1 - s->same / 4] - sorted[s->same / 4] <= DELAYS_NS;
}

/* Whether a file must be read to its end, so that the time of its last frame is known. */
static bool needs_spans(const struct rd_ends_search *s)
{
	return s->without_icrc && !s->spans_known && !s->two_adapters;
}

bool rd_ends_search_packet(
	struct rd_ends_search *s, enum rd_tap file, const struct rd_ends_packet *p)
{
	const uint64_t identity = identify(s, p);
	const size_t i = slot_of(s, identity);

	/* A file may have the ICRC of its short packets only: these tell as much as any. */
	s->bare |= !p->whole;
	if (!identity || (file == s->of && s->n == SAMPLE))
		return true;
	if (file == s->of) {
		if (!s->slot[i].identity)
			add_sample(s, &s->slot[i], identity, p);
		return s->n < SAMPLE || needs_spans(s);
	}
	if (!s->n && !needs_spans(s))
		return false;
	if (!s->slot[i].identity || s->slot[i].found)
		return true;
	note_found(s, &s->slot[i], p);
	return needs_spans(s) || !is_common(s);
}

bool rd_ends_search_frame(
	struct rd_ends_search *s, enum rd_tap file, enum rd_link link, const struct rd_frame *frame)
{
	struct rd_ends_packet p;

	if (!s->spans_known)
		note_time(&s->span[file], frame->ts_ns);
	return !rd_ends_packet(link, frame, &p) || rd_ends_search_packet(s, file, &p);
}

void rd_ends_sample_add(
	struct rd_ends_search *const by[2], struct rd_ends_sample *sample, struct rd_ends_packet *p)
{
	sample->bare_until |= !p->whole && by[0]->n < SAMPLE;
	sample->bare |= !p->whole;
	for (int bare = 0; bare < 2; bare++) {
		by[bare]->without_icrc = bare;
		rd_ends_search_packet(by[bare], by[bare]->of, p);
		p->in_sample[bare] = by[bare]->n > sample->n[bare];
		if (p->in_sample[bare])
			sample->last[bare] = p->frame;
		sample->n[bare] = by[bare]->n;
	}
}

bool rd_ends_search_sampled(
	struct rd_ends_search *s, const struct rd_ends_sample *of, const struct rd_ends_packet *p)
{
	const uint64_t identity = identify(s, p);

	if (p->in_sample[s->without_icrc])
		add_sample(s, &s->slot[slot_of(s, identity)], identity, p);
	return p->frame < of->last[s->without_icrc];
}

void rd_ends_search_samples(struct rd_ends_search *s, const struct rd_ends_sample *of,
	const struct rd_ends_sample *other)
{
	s->n = of->n[s->without_icrc];
	s->bare = of->bare_until || other->bare;
}

bool rd_ends_search_again(struct rd_ends_search *s)
{
	if (s->without_icrc || !s->bare || is_common(s))
		return false;
	s->without_icrc = true;
	s->n = s->found = s->same = s->on_paths = 0;
	if (!s->spans_known)
		memset(s->span, 0, sizeof(s->span));
	memset(s->slot, 0, sizeof(s->slot));
	memset(s->path, 0, sizeof(s->path));
	return true;
}

/*
 * The offset is the median: a file that begins after the first transmission of a packet has its
 * retransmission first, far from the one that the other file has first. Without ICRCs, the next
 * part of the same capture may repeat the PSNs: where nothing decides, they may be two ends.
 */
bool rd_ends_search_result(struct rd_ends_search *s, struct rd_ends_start *start)
{
	bool same;

	for (int i = 0; i < RD_TAPS; i++)
		start->first_ns[i] = s->span[i].first_ns;
	same = !s->without_icrc || s->need == RD_ENDS_NEED_ONE || are_ends(s) || are_same_sent(s);
	qsort(s->offset_ns, s->found, sizeof(*s->offset_ns), by_value);
	start->offset_ns = s->offset_ns[s->found / 2] * (s->of == RD_TAP_B ? 1 : -1);
	start->undecided |= is_common(s) && !same;
	return is_common(s) && same;
}

void rd_ends_search_close(struct rd_ends_search *s)
{
	free(s);
}
