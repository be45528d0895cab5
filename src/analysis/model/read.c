/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* READ requests: as many PSNs as responses, which depends on a path MTU that may be unknown. */
#include "request.h"

#define FAR	  (1 << 20) /* packets: larger than any window */
#define RETRY_MTU 5

static const uint32_t mtus[RETRY_MTU] = {256, 512, 1024, 2048, 4096};

static uint32_t packets(uint32_t length, uint32_t mtu)
{
	return length ? (length - 1) / mtu + 1 : 1;
}

static void read_opens(struct flow *f, uint32_t psn, uint32_t length)
{
	f->req.read_open = true;
	f->req.read_psn = psn;
	f->req.read_length = length;
}

/* The last request waits for responses up to `next`. */
static void read_waits(struct flow *f, uint32_t next)
{
	struct waiting *w;

	if (!f->ack.waiting_n || psn_diff(next, f->req.read_psn) <= 0)
		return;
	w = waiting_at(f, f->ack.waiting_n - 1U);
	if (w->psn == f->req.read_psn && w->verb == RD_VERB_READ)
		w->span = (uint32_t)psn_diff(next, f->req.read_psn) & 0xffffff;
}

/* The last READ ends before `next`. */
static void read_ends(struct flow *f, uint32_t next)
{
	uint32_t provisional = psn_add(f->req.read_psn, 1);

	read_waits(f, next);
	if (f->req.next == provisional)
		f->req.next = next;
	if (f->req.at == provisional)
		f->req.at = next;
	if (f->receiver.expected == provisional)
		f->receiver.expected = next;
	f->req.read_open = false;
}

uint32_t read_span(struct flow *f, const struct rd_packet *p)
{
	struct rd_reth reth;
	bool repeated = f->req.read_open; /* the same READ: read_followed() ended others */
	uint32_t span;

	f->req.read_open = false;
	if (!rd_packet_reth(p, &reth)) {
		read_opens(f, p->psn, READ_UNKNOWN);
		return 1;
	}
	if (!f->req.mtu && f->pair.peer)
		f->req.mtu = f->pair.peer->req.mtu;
	if (f->req.mtu) {
		span = packets(reth.length, f->req.mtu);
		if (repeated)
			read_ends(f, psn_add(p->psn, span));
		return span;
	}
	if (reth.length > mtus[0])
		read_opens(f, p->psn, reth.length);
	return 1;
}

void request_read_is_single(struct flow *f)
{
	read_ends(f, psn_add(f->req.read_psn, 1));
}

void request_learn_mtu(struct flow *f, uint32_t mtu)
{
	f->req.mtu = RD_MAX(f->req.mtu, mtu);
	if (f->req.read_open && f->req.read_length != READ_UNKNOWN)
		read_ends(f, psn_add(f->req.read_psn, packets(f->req.read_length, f->req.mtu)));
}

/*
 * The path MTU if a READ requests the rest of the last one, `span` PSNs later: what it leaves out
 * fits exactly into so many responses. 0: it does not.
 */
static uint32_t mtu_of_rest(const struct flow *f, const struct rd_packet *p, int32_t span)
{
	struct rd_reth reth;
	uint32_t left;

	if (span <= 0 || !(p->op->bits & RD_OP_READ) || !rd_packet_reth(p, &reth) || !reth.length ||
		reth.length >= f->req.read_length)
		return 0;
	left = f->req.read_length - reth.length;
	for (unsigned int i = 0; i < RETRY_MTU; i++)
		if (left == (uint64_t)mtus[i] * (uint32_t)span)
			return mtus[i];
	return 0;
}

void read_followed(struct flow *f, const struct rd_packet *p)
{
	uint32_t psn = p->psn;
	int32_t span = psn_diff(psn, f->req.read_psn);
	unsigned int fit = 0;
	uint32_t mtu = 0;

	if (f->req.read_length == READ_UNKNOWN) {
		if (span > 0 && span < FAR)
			read_ends(f, psn);
		f->req.read_open = false;
		return;
	}
	for (unsigned int i = 0; i < RETRY_MTU; i++)
		if (span > 0 && packets(f->req.read_length, mtus[i]) == (uint32_t)span) {
			mtu = mtus[i];
			fit++;
		}
	if (fit == 1) /* else several MTUs explain it, and the next READ may tell */
		f->req.mtu = mtu;
	if (fit)
		read_ends(f, psn);
	else
		mtu = mtu_of_rest(f, p, span);
	if (!fit && mtu)
		request_learn_mtu(f, mtu);
	f->req.read_open = false;
}

/* Whether [psn, psn + n) is the rest of [whole, whole + of), without its beginning. */
static bool is_rest_of(uint32_t psn, uint32_t n, uint32_t whole, uint32_t of)
{
	return psn_diff(psn, whole) > 0 && psn_add(psn, n) == psn_add(whole, of);
}

bool read_is_rest(const struct flow *f, uint32_t psn, uint32_t span)
{
	if (psn_diff(psn, f->ack.una) <= 0)
		return false;
	for (unsigned int i = 0; i < f->ack.waiting_n; i++) {
		const struct waiting *w = waiting_at(f, i);

		if (w->verb == RD_VERB_READ && is_rest_of(psn, span, w->psn, w->span))
			return true;
	}
	return f->trouble && is_rest_of(psn, span, f->trouble->read, f->trouble->read_n);
}
