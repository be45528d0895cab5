/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * By how much a counter grew between two readings. A counter wraps at its width, stops at its
 * largest value (IBTA volume 1, 16.1.3.5: PortCounters), or is set back by a reset or a driver that
 * was reloaded; the two values alone do not show which.
 */
#include <rdmadump/array.h>
#include <rdmadump/counters.h>
#include <string.h>

#define WIDTH_LEARNT 32	    /* bits of an unknown counter, until its value exceeds them */
#define FASTEST	     1.6e12 /* bit/s of a port whose speed is not known */
#define LATE	     1.0    /* s: a cached reading is older than its timestamp */

/* Bytes on the wire for one count, at least; a header without payload is 20 bytes or more. */
static const unsigned int wire_bytes[RD_UNITS] = {
	[RD_UNIT_PACKETS] = 20,
	[RD_UNIT_BYTES] = 1,
	[RD_UNIT_WORDS] = 4,
	[RD_UNIT_REQUESTS] = 20,
	[RD_UNIT_EVENTS] = 20,
	[RD_UNIT_ERRORS] = 20,
	[RD_UNIT_MESSAGES] = 20,
	[RD_UNIT_TICKS] = 1,
	[RD_UNIT_OBJECTS] = 1,
	[RD_UNIT_US] = 1,
	[RD_UNIT_SECONDS] = 1,
	[RD_UNIT_PERCENT] = 1,
};

static bool fits(uint64_t value, unsigned int bits)
{
	return bits >= 64 || !(value >> bits);
}

static uint64_t largest(unsigned int bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static unsigned int width_of(const struct rd_counter_kind *kind, uint64_t before, uint64_t after)
{
	unsigned int bits = kind ? kind->bits : WIDTH_LEARNT;

	return fits(before, bits) && fits(after, bits) ? bits : 64;
}

/* Whether a port of that speed can count this amount in that time. */
static bool is_possible(
	uint64_t amount, const struct rd_counter_kind *kind, const struct rd_span *span)
{
	double bits = 8.0 * wire_bytes[kind ? kind->unit : RD_UNIT_BYTES];
	double speed = span->speed ? (double)span->speed : FASTEST;

	return span->seconds <= 0 || (double)amount <= speed / bits * (span->seconds + LATE);
}

/*
 * A wrap starts near the largest value. If most of the range would have had to pass between the two
 * readings, it was a reset.
 */
static struct rd_growth fallen(const struct rd_counter_kind *kind, uint64_t before, uint64_t after,
	const struct rd_span *span)
{
	unsigned int bits = width_of(kind, before, after);
	uint64_t amount = after + (largest(bits) - before) + 1;

	if (bits >= 64 || (kind && kind->flags & RD_COUNTER_SATURATES) ||
		amount > largest(bits) / 2 || !is_possible(amount, kind, span))
		return (struct rd_growth){.verdict = RD_GROWTH_RESET};
	return (struct rd_growth){.amount = amount, .wrapped = true};
}

struct rd_growth rd_counter_growth(const struct rd_counter_kind *kind, const uint64_t *before,
	const uint64_t *after, const struct rd_span *span)
{
	struct rd_growth g = {0};

	if (!before || !after)
		return (struct rd_growth){.verdict = RD_GROWTH_MISSING};
	if (*after < *before)
		return fallen(kind, *before, *after, span);
	g.amount = *after - *before;
	if (kind && rd_counter_is_full(kind, *after))
		g.verdict = RD_GROWTH_AT_LEAST;
	return g;
}

bool rd_counter_shows_reset(const struct rd_counter_kind *kind, const char *name,
	const struct rd_growth *growth, const char *other)
{
	const char *slash = strrchr(name, '/');
	size_t folder = slash ? (size_t)(slash - name) + 1 : 0;

	return kind && !(kind->flags & RD_COUNTER_GAUGE) && growth->verdict == RD_GROWTH_RESET &&
	       !strncmp(name, other, folder) && !strchr(other + folder, '/');
}

bool rd_counter_is_full(const struct rd_counter_kind *kind, uint64_t value)
{
	return kind->flags & RD_COUNTER_SATURATES && kind->bits < 64 &&
	       value == largest(kind->bits);
}

void rd_growth_add(struct rd_growth *sum, const struct rd_growth *more)
{
	sum->wrapped |= more->wrapped;
	sum->verdict = RD_MAX(sum->verdict, more->verdict);
	if (__builtin_add_overflow(sum->amount, more->amount, &sum->amount))
		sum->amount = UINT64_MAX;
	if (!rd_growth_known(sum))
		sum->amount = 0;
}

const char *rd_growth_reason(const struct rd_growth *g)
{
	static const char *const reasons[] = {
		[RD_GROWTH_EXACT] = NULL,
		[RD_GROWTH_AT_LEAST] = "stopped at its largest value",
		[RD_GROWTH_MISSING] = "is missing in one of the readings",
		[RD_GROWTH_RESET] = "was reset",
	};

	return reasons[g->verdict];
}
