/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether two files are captures of the same traffic: packets of one are searched in the other. */
#include <rdmadump/ends.h>
#include <rdmadump/order.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE	     4096  /* first packets of a file, which are searched in the other */
#define SLOTS	     16384 /* slots of the hash table; a power of two */
#define COMMON_PART  10	   /* one of this many must be found; a later part may repeat a few */
#define COMMON_LEAST 8	   /* ... and so many, where only the packets of some paths count */

struct rd_ends_search {
	enum rd_tap of; /* the file whose packets are the sample */
	enum rd_ends_need need;
	bool without_icrc;
	bool bare; /* some packets have no ICRC */
	struct {
		uint64_t first, last;
	} ns[RD_TAPS]; /* times of the first and last frame of each file */
	unsigned int n, found;
	int64_t offset_ns[SAMPLE]; /* of those found: the time in the sample minus the other's */
	struct sample {
		uint64_t identity, ns, route;
		bool found;
	} slot[SLOTS];
};

struct rd_ends_search *rd_ends_search_open(enum rd_tap of, enum rd_ends_need need)
{
	struct rd_ends_search *s = calloc(1, sizeof(*s));

	if (s) {
		s->of = of;
		s->need = need;
	}
	return s;
}

static uint64_t identify(
	struct rd_ends_search *s, enum rd_tap file, enum rd_link link, const struct rd_frame *frame)
{
	const uint64_t bare = rd_ends_identity(link, frame, false);
	const uint64_t whole = s->without_icrc ? 0 : rd_ends_identity(link, frame, true);
	/* A file may have the ICRC of its short packets only: these tell as much as any. */
	const bool cut = !s->without_icrc && whole == bare;

	s->bare |= bare && cut;
	if (!s->ns[file].first)
		s->ns[file].first = s->ns[file].last = frame->ts_ns;
	if ((int64_t)frame->ts_ns > (int64_t)s->ns[file].last)
		s->ns[file].last = frame->ts_ns;
	return cut ? 0 : s->without_icrc ? bare : whole;
}

/* The slot of a packet, or an empty one. */
static size_t slot_of(const struct rd_ends_search *s, uint64_t identity)
{
	size_t i = (size_t)(identity & (SLOTS - 1));

	while (s->slot[i].identity && s->slot[i].identity != identity)
		i = (i + 1) & (SLOTS - 1);
	return i;
}

static int by_route(const void *x, const void *y)
{
	const struct sample *const *a = x, *const *b = y;

	return RD_ORDER((*a)->route, (*b)->route);
}

/* Of the packets on paths that have any in common. */
static bool is_common_on_paths(const struct rd_ends_search *s)
{
	const struct sample *all[SAMPLE] = {NULL};
	unsigned int n = 0, of = 0, found = 0;

	for (size_t i = 0; i < SLOTS; i++)
		if (s->slot[i].identity)
			all[n++] = &s->slot[i];
	qsort(all, n, sizeof(*all), by_route);
	for (unsigned int i = 0, next; i < n; i = next) {
		unsigned int here = 0;

		for (next = i; next < n && all[next]->route == all[i]->route; next++)
			here += all[next]->found;
		found += here;
		of += here ? next - i : 0;
	}
	return found >= COMMON_LEAST && found * COMMON_PART >= of;
}

static bool is_common(const struct rd_ends_search *s)
{
	if (s->need == RD_ENDS_NEED_ONE)
		return s->found > 0;
	if (s->n && s->found * COMMON_PART >= s->n)
		return true;
	return s->need == RD_ENDS_NEED_PATH && s->found >= COMMON_LEAST && is_common_on_paths(s);
}

/* Paths are looked at each time that twice as many are found. */
static bool is_time_to_look(const struct rd_ends_search *s)
{
	return s->need != RD_ENDS_NEED_PATH || !(s->found & (s->found - 1));
}

bool rd_ends_search_frame(
	struct rd_ends_search *s, enum rd_tap file, enum rd_link link, const struct rd_frame *frame)
{
	const uint64_t identity = identify(s, file, link, frame);
	const size_t i = slot_of(s, identity);

	if (!identity || (file == s->of && s->n == SAMPLE))
		return true;
	if (file == s->of) {
		s->n += !s->slot[i].identity;
		if (!s->slot[i].identity)
			s->slot[i] = (struct sample){.identity = identity,
				.ns = frame->ts_ns,
				.route = rd_ends_route(link, frame)};
		return s->n < SAMPLE || s->without_icrc;
	}
	if (!s->slot[i].identity || s->slot[i].found)
		return true;
	s->slot[i].found = true;
	s->offset_ns[s->found++] = rd_ends_time(s->slot[i].ns, frame->ts_ns, 0);
	return s->without_icrc || !is_time_to_look(s) || !is_common(s);
}

bool rd_ends_search_again(struct rd_ends_search *s)
{
	if (s->without_icrc || !s->bare || is_common(s))
		return false;
	s->without_icrc = true;
	s->n = s->found = 0;
	memset(s->ns, 0, sizeof(s->ns));
	memset(s->slot, 0, sizeof(s->slot));
	return true;
}

static int by_value(const void *x, const void *y)
{
	return RD_ORDER(*(const int64_t *)x, *(const int64_t *)y);
}

/*
 * The offset is the median: a file that begins after the first transmission of a packet has its
 * retransmission first, far from the one that the other file has first. Without ICRCs, the next
 * part of the same capture may repeat the PSNs: only captures taken at the same time are two ends.
 */
bool rd_ends_search_result(struct rd_ends_search *s, uint64_t first_ns[RD_TAPS], int64_t *offset_ns)
{
	const int64_t here = rd_ends_time(s->ns[RD_TAP_A].first, s->ns[RD_TAP_B].last, 0);
	const int64_t there = rd_ends_time(s->ns[RD_TAP_B].first, s->ns[RD_TAP_A].last, 0);

	for (int i = 0; i < RD_TAPS; i++)
		first_ns[i] = s->ns[i].first;
	qsort(s->offset_ns, s->found, sizeof(*s->offset_ns), by_value);
	*offset_ns = s->offset_ns[s->found / 2] * (s->of == RD_TAP_B ? 1 : -1);
	return is_common(s) &&
	       (!s->without_icrc || s->need == RD_ENDS_NEED_ONE || (here < 0 && there < 0));
}

void rd_ends_search_close(struct rd_ends_search *s)
{
	free(s);
}
