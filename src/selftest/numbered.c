/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends numbered frames and counts those that were seen. */
#include "numbered.h"
#include <rdmadump/bytes.h>
#include <rdmadump/clock.h>
#include <stdlib.h>
#include <unistd.h>

#define BURST	    16	/* frames between two polls of the sniffer */
#define SEARCHED    256 /* bytes of a frame: headers of any kind are shorter */
#define SETTLE_MS   5	/* wait for a second copy of the last frame */
#define POLLS_AWAKE 1000
#define MAC_BYTES   6

static const uint8_t magic[8] = {'r', 'd', 'm', 'a', 'd', 'u', 'm', 'p'};

/* Offsets within a block. */
enum { AT_RUN = 8, AT_NUMBER = 12, AT_LENGTH = 16, AT_FILL = 20 };

/* --- counting ----------------------------------------------------------------------------- */

/* A few bits of the time and of the process id differ between runs, which is enough. */
static uint32_t run_id(void)
{
	uint64_t x = rd_monotonic_ns() ^ (uint64_t)getpid() << 40;

	x *= 0x9e3779b97f4a7c15ULL;
	return (uint32_t)(x >> 32);
}

int numbered_init(struct numbered *m, uint32_t count)
{
	*m = (struct numbered){.run = run_id(), .count = count};
	if (count > NUMBERED_MAX)
		return -1;
	m->times = calloc(count ? count : 1, 1);
	return m->times ? 0 : -1;
}

void numbered_free(struct numbered *m)
{
	free(m->times);
	m->times = NULL;
}

void numbered_reset(struct numbered *m)
{
	struct numbered fresh = {.run = m->run,
		.count = m->count,
		.times = m->times,
		.also = m->also,
		.also_ctx = m->also_ctx};

	memset(m->times, 0, m->count);
	*m = fresh;
}

static uint8_t fill(uint32_t number, uint32_t i)
{
	return (uint8_t)(number * 7 + i * 31 + i / 251);
}

void numbered_block(uint8_t *to, uint32_t n, uint32_t run, uint32_t number)
{
	memcpy(to, magic, sizeof(magic));
	rd_put_be32(to + AT_RUN, run);
	rd_put_be32(to + AT_NUMBER, number);
	rd_put_be32(to + AT_LENGTH, n);
	for (uint32_t i = AT_FILL; i < n; i++)
		to[i] = fill(number, i);
}

const uint8_t *numbered_find(const struct numbered *m, const uint8_t *data, uint32_t len)
{
	uint8_t wanted[AT_NUMBER];

	memcpy(wanted, magic, sizeof(magic));
	rd_put_be32(wanted + AT_RUN, m->run);
	return memmem(data, len < SEARCHED ? len : SEARCHED, wanted, sizeof(wanted));
}

static bool is_filled(const uint8_t *block, uint32_t n, uint32_t number)
{
	for (uint32_t i = AT_FILL; i < n; i++)
		if (block[i] != fill(number, i))
			return false;
	return true;
}

/* Counts a block; returns its bytes within the frame, 0 where none begins. */
static uint32_t take_block(struct numbered *m, const uint8_t *block, uint32_t left)
{
	uint32_t number, n;

	if (left < AT_FILL || numbered_find(m, block, AT_NUMBER) != block)
		return 0;
	number = rd_be32(block + AT_NUMBER);
	n = rd_be32(block + AT_LENGTH);
	if (number >= m->count || n < NUMBERED_MIN) {
		m->changed++;
		return 0;
	}
	if (m->times[number] < UINT8_MAX)
		m->times[number]++;
	m->last = number;
	m->cut += n > left;
	n = n > left ? left : n;
	m->changed += !is_filled(block, n, number);
	return n;
}

static void widen(uint32_t *least, uint32_t *most, uint32_t n, bool first)
{
	*least = first || n < *least ? n : *least;
	*most = first || n > *most ? n : *most;
}

bool numbered_take(struct numbered *m, const uint8_t *data, uint32_t len)
{
	const uint8_t *p = numbered_find(m, data, len);
	uint32_t left, n, blocks = 0;

	if (!p)
		return false;
	widen(&m->least_before, &m->most_before, (uint32_t)(p - data), !m->frames);
	left = len - (uint32_t)(p - data);
	while ((n = take_block(m, p, left)) > 0) {
		p += n;
		left -= n;
		blocks++;
	}
	widen(&m->least_after, &m->most_after, left, !m->frames);
	m->most_blocks = blocks > m->most_blocks ? blocks : m->most_blocks;
	m->frames++;
	return true;
}

void numbered_look(void *ctx, const uint8_t *data, uint32_t len)
{
	struct numbered *m = ctx;

	numbered_take(m, data, len);
	if (m->also)
		m->also(m->also_ctx, data, len);
}

struct numbered_counts numbered_counts(const struct numbered *m)
{
	struct numbered_counts c = {0};

	for (uint32_t i = 0; i < m->count; i++) {
		c.never += m->times[i] == 0;
		c.once += m->times[i] == 1;
		c.more += m->times[i] > 1;
	}
	return c;
}

/* --- what is sent ------------------------------------------------------------------------- */

int numbered_sender_open(struct numbered_sender *s, struct ibv_context *ctx,
	const struct rd_port *port, uint32_t run, uint32_t len)
{
	char why[MAY_SEND_TEXT];

	*s = (struct numbered_sender){.run = run, .len = len, .head_len = NUMBERED_HEAD};
	if (port->link != RD_LINK_ETHERNET)
		return EOPNOTSUPP;
	if (!port->n_netdevs)
		return ENODEV;
	if (!port_may_send(port, why))
		return MAY_SEND_NOT;
	if (len < NUMBERED_HEAD + NUMBERED_MIN || len > RING_BUFFER - 8)
		return EINVAL;
	memcpy(s->head, port->netdevs[0].mac, MAC_BYTES);
	memcpy(s->head + MAC_BYTES, port->netdevs[0].mac, MAC_BYTES);
	rd_put_be16(s->head + 2 * MAC_BYTES, NUMBERED_TYPE);
	return queue_pair_open(&s->q, ctx, port, IBV_QPT_RAW_PACKET);
}

void numbered_sender_tag(struct numbered_sender *s, uint16_t tpid, uint16_t tci)
{
	uint8_t *at = s->head + 2 * MAC_BYTES;

	if (s->head_len + 4 > NUMBERED_HEAD + 8)
		return;
	memmove(at + 4, at, s->head_len - 2 * MAC_BYTES);
	rd_put_be16(at, tpid);
	rd_put_be16(at + 2, tci);
	s->head_len += 4;
}

static int post(struct numbered_sender *s, uint32_t number)
{
	size_t at = (size_t)s->slot * RING_BUFFER;
	uint32_t block = s->len - NUMBERED_HEAD;
	int rc;

	memcpy(s->q.memory + at, s->head, s->head_len);
	numbered_block(s->q.memory + at + s->head_len, block, s->run, number);
	rc = queue_pair_post(&s->q, NULL, at, s->head_len + block);
	if (rc)
		return rc;
	s->slot = (s->slot + 1) % QUEUE_PAIR_SLOTS;
	s->outstanding++;
	return 0;
}

/* Waits until at most `most` frames are in flight. False: timeout. */
static bool wait_sent(const struct rd_selftest *st, struct numbered_sender *s, uint32_t most)
{
	enum ibv_wc_status status;
	unsigned int polls = 0;

	while (s->outstanding > most) {
		int n = queue_pair_poll(&s->q, &status);

		if (n > 0) {
			s->outstanding--;
			s->errors += status != IBV_WC_SUCCESS;
		} else if (n < 0 || probe_over(st)) {
			return false;
		} else if (++polls > POLLS_AWAKE) {
			probe_sleep_ms(st, 1);
		}
	}
	return true;
}

uint32_t numbered_send(
	const struct rd_selftest *st, struct numbered_sender *s, uint32_t first, uint32_t n)
{
	uint64_t errors = s->errors;
	uint32_t posted = 0, lost;

	while (posted < n && wait_sent(st, s, QUEUE_PAIR_SLOTS - 1) && post(s, first + posted) == 0)
		posted++;
	lost = wait_sent(st, s, 0) ? 0 : s->outstanding;
	lost += (uint32_t)(s->errors - errors);
	return posted > lost ? posted - lost : 0;
}

/* --- both --------------------------------------------------------------------------------- */

/* A ring that was full has as many completions as buffers. */
static bool drain(struct sniffer *s, struct numbered *m, unsigned int *n)
{
	*n = sniffer_drain(s, numbered_look, m);
	return *n >= s->shape.buffers;
}

bool numbered_collect(const struct rd_selftest *st, struct sniffer *s, struct numbered *m)
{
	uint64_t end = rd_monotonic_ns() + WAIT_NUMBERED_MS * 1000000ULL;
	unsigned int n, settled = 0;
	bool full = false;

	do {
		full |= drain(s, m, &n);
		settled += m->frames && !memchr(m->times, 0, m->count);
		if (!n)
			probe_sleep_ms(st, 1);
	} while (settled <= SETTLE_MS && !probe_over(st) && rd_monotonic_ns() < end);
	full |= drain(s, m, &n);
	return full;
}

bool numbered_exchange(const struct rd_selftest *st, struct numbered_sender *sender,
	struct sniffer *s, struct numbered *m)
{
	bool full = false;
	unsigned int n;

	/* Creating the objects may have taken long enough to fill the ring. */
	sniffer_drain(s, NULL, NULL);
	for (uint32_t i = 0; i < m->count; i += BURST) {
		uint32_t burst = m->count - i < BURST ? m->count - i : BURST;

		if (numbered_send(st, sender, i, burst) != burst)
			return false;
		full |= drain(s, m, &n);
		probe_sleep_ms(st, burst * 1000 / SEND_PER_S);
		full |= drain(s, m, &n);
	}
	return !(numbered_collect(st, s, m) | full);
}
