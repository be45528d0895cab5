/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The numbers of a whole capture: its totals and the result. */
#include "session.h"
#include <rdmadump/sum.h>

/* Frames that were delivered after the last file was full do not count. */
static struct rd_tally total(const struct rd_session *s)
{
	struct rd_tally t = rd_capture_total(&s->capture);

	t.encoded -= s->result.written.beyond;
	return t;
}

static uint64_t account_loss(const struct rd_session *s, bool *known)
{
	uint64_t lost = 0;

	*known = true;
	for (unsigned int i = 0; i < s->in.n; i++) {
		rd_sum_add(&lost, s->in.stats[i].lost);
		*known &= s->in.stats[i].loss_known || s->in.follows[i];
	}
	return lost;
}

void account_result(struct rd_session *s)
{
	struct rd_session_result *r = &s->result;

	r->end = s->capture.end;
	r->error = s->error;
	r->start_ns = s->capture.start_ns;
	r->end_ns = s->capture.end_ns;
	r->bytes = rd_capture_bytes(&s->capture);
	r->account = s->capture.account;
	r->total = total(s);
	r->dropped = r->total.dropped + r->written.unwritten;
	r->lost = account_loss(s, &r->lost_known);
	r->gaps = r->left_out = 0;
	for (unsigned int i = 0; i < s->in.n; i++) {
		r->gaps += s->in.stats[i].gaps;
		r->left_out += s->in.stats[i].left_out;
	}
}
