/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One round: both ends open, one sends, both count, and each reads the other's counts. */
#include "peer_round.h"
#include "../wire/crc.h"
#include <errno.h>
#include <rdmadump/clock.h>
#include <rdmadump/packet.h>
#include <stdio.h>
#include <string.h>

#define KEPT_OF_ROUND 8 /* frames for the capture file */
#define BURST	      4 /* frames, after which the sender waits */
#define SETTLE_MS     5 /* wait for a second copy of the last frame */

/* --- what the capture sees ---------------------------------------------------------------- */

static void look_at_icrc(struct peer_round *p, const uint8_t *data, uint32_t len)
{
	uint32_t computed, stored;
	struct rd_packet packet;

	if (!rd_packet_parse(p->st->port->link, data, len, len, &packet))
		return;
	if (!rd_packet_icrc(&packet, &computed, &stored))
		p->contents->icrc[p->sends].absent++;
	else if (computed == stored)
		p->contents->icrc[p->sends].right++;
	else
		p->contents->icrc[p->sends].wrong++;
}

/* Called for all frames; those of this round have a block. */
static void look(void *ctx, const uint8_t *data, uint32_t len)
{
	struct peer_round *p = ctx;

	if (!numbered_find(&p->seen, data, len))
		return;
	look_at_icrc(p, data, len);
	p->contents->fcs += p->st->port->link == RD_LINK_ETHERNET && crc_is_fcs(data, len);
	if (p->kept++ < KEPT_OF_ROUND)
		result_frame(p->result, data, len, rd_clock_now(&p->contents->clock));
}

static void drain(void *ctx)
{
	struct peer_round *p = ctx;

	if (*p->eye->name)
		watch_drain(&p->watch);
	if (!p->sends && p->arrival_known && p->kind->receive)
		p->kind->receive(p);
}

static bool has_all(const struct numbered *m, uint32_t sent)
{
	return !sent || !memchr(m->times, 0, sent);
}

static void collect(struct peer_round *p, uint32_t sent)
{
	uint64_t end = rd_monotonic_ns() + WAIT_NUMBERED_MS * 1000000ULL;
	bool arrives = !p->sends && p->arrival_known;
	unsigned int settled = 0;

	while (settled <= SETTLE_MS && !probe_over(p->st) && rd_monotonic_ns() < end) {
		drain(p);
		settled += (!*p->eye->name || has_all(&p->seen, sent)) &&
			   (!arrives || has_all(&p->arrived, sent));
		probe_sleep_ms(p->st, 1);
	}
	drain(p);
}

/* --- steps -------------------------------------------------------------------------------- */

/* Both ends send first; a message fits into any socket's buffer. */
static int exchange(
	struct peer_link *l, const struct peer_message *mine, struct peer_message *theirs)
{
	return peer_link_send(l, mine) < 0 ? -1 : peer_link_receive(l, mine->type, theirs);
}

static void put_error(char text[PEER_NAME], int error)
{
	snprintf(text, PEER_NAME, "%s", error_name(error));
}

/* Returns 0 if the round can run; 1 if one of the ends cannot run it; -1 if the connection is lost.
 */
static int exchange_ready(struct peer_round *p, struct peer_link *l)
{
	struct peer_message mine = {.type = PEER_READY}, theirs;

	p->mine.kind = p->number;
	p->mine.from_listener = p->sends == p->st->config->listen;
	p->mine.run = p->seen.run;
	put_error(p->mine.error, p->kind->open(p));
	mine.ready = p->mine;
	if (exchange(l, &mine, &theirs) < 0)
		return -1;
	p->theirs = theirs.ready;
	if (p->theirs.kind != p->mine.kind || p->theirs.from_listener != p->mine.from_listener)
		return peer_link_out_of_step(l);
	if (!p->sends)
		p->seen.run = p->arrived.run = p->theirs.run;
	if (!*p->mine.error && !*p->theirs.error)
		return 0;
	peer_report_error(p, p->mine.error, p->theirs.error);
	return 1;
}

static int exchange_go(struct peer_round *p, struct peer_link *l)
{
	struct peer_message mine = {.type = PEER_GO}, theirs;

	put_error(mine.step.error, p->kind->connect ? p->kind->connect(p) : 0);
	if (exchange(l, &mine, &theirs) < 0)
		return -1;
	if (!*mine.step.error && !*theirs.step.error)
		return 0;
	peer_report_error(p, mine.step.error, theirs.step.error);
	return 1;
}

static struct peer_step send_all(struct peer_round *p)
{
	uint64_t end = rd_monotonic_ns() + PEER_SEND_MS * 1000000ULL;
	struct peer_step sent = {0};
	int rc = 0;

	while (sent.frames < PEER_FRAMES && !rc && !probe_over(p->st)) {
		rc = rd_monotonic_ns() < end ? p->kind->send(p, sent.frames) : ETIMEDOUT;
		sent.frames += !rc;
		drain(p);
		if (sent.frames % BURST == 0)
			probe_sleep_ms(p->st, 1);
	}
	put_error(sent.error, rc);
	return sent;
}

static int exchange_sent(struct peer_round *p, struct peer_link *l, struct peer_step *sent)
{
	struct peer_message m = {.type = PEER_SENT};

	if (p->sends) {
		*sent = m.step = send_all(p);
		return peer_link_send(l, &m);
	}
	if (peer_link_receive(l, PEER_SENT, &m) < 0)
		return -1;
	*sent = m.step;
	return 0;
}

static void fill_seen(const struct peer_round *p, struct peer_seen *seen)
{
	*seen = (struct peer_seen){
		.full = p->watch.full, .arrival_known = !p->sends && p->arrival_known};
	memcpy(seen->times, p->seen.times, PEER_FRAMES);
	for (uint32_t i = 0; i < PEER_FRAMES; i++)
		seen->arrived[i] = p->arrived.times[i] > 0;
}

static int do_round(struct peer_round *p, struct peer_link *l, bool *known)
{
	struct peer_message mine = {.type = PEER_SEEN}, theirs;
	struct peer_step sent;
	int rc = exchange_ready(p, l);

	if (rc == 0)
		rc = exchange_go(p, l);
	if (rc)
		return rc < 0 ? -1 : 0;
	l->idle = drain;
	l->ctx = p;
	if (exchange_sent(p, l, &sent) < 0)
		return -1;
	collect(p, sent.frames);
	fill_seen(p, &mine.seen);
	if (exchange(l, &mine, &theirs) < 0)
		return -1;
	*known = peer_report(p, &sent, &mine.seen, &theirs.seen);
	return 0;
}

int peer_round_run(struct peer_round *p, struct peer_link *l, bool *known)
{
	int rc = -1;

	*known = false;
	p->fd = p->arrival_fd = -1;
	if (numbered_init(&p->seen, PEER_FRAMES) == 0 &&
		numbered_init(&p->arrived, PEER_FRAMES) == 0) {
		p->arrived.run = p->seen.run;
		p->seen.also = look;
		p->seen.also_ctx = p;
		p->watch = (struct watch){.sniffer = &p->eye->sniffer, .m = &p->seen};
		if (p->eye->tap.fd >= 0)
			p->watch.tap = &p->eye->tap;
		rc = do_round(p, l, known);
	}
	l->idle = NULL;
	peer_kind_close(p);
	numbered_free(&p->seen);
	numbered_free(&p->arrived);
	return rc;
}
