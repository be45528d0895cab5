/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What each frame is counted as: a list by frame, where the report only has sums. */
#include "state.h"
#include <rdmadump/memory.h>

static const bool is_marked[RD_INC_COUNT] = {
	[RD_INC_GAP] = true,
	[RD_INC_REORDERED] = true,
	[RD_INC_DUPLICATED] = true,
	[RD_INC_RETRANSMITTED] = true,
	[RD_INC_NAK_SEQUENCE] = true,
	[RD_INC_NAK_INVALID] = true,
	[RD_INC_NAK_ACCESS] = true,
	[RD_INC_NAK_OPERATIONAL] = true,
	[RD_INC_NAK_OTHER] = true,
	[RD_INC_RNR] = true,
	[RD_INC_RESPONSE_REPEATED] = true,
	[RD_INC_RESPONSE_DUPLICATED] = true,
	[RD_INC_RESPONSE_REORDERED] = true,
};

void mark_frame(
	struct rd_analysis *a, const struct flow *f, enum rd_incident_kind kind, bool pending)
{
	struct marks *m = &a->marks;
	const struct rd_mark *last = m->n ? &m->rows[m->n - 1] : NULL;
	struct rd_mark *mark;

	if (!a->config.marks || (last && last->frame == a->frame && last->kind == kind))
		return;
	mark = must(a, rd_append(&m->rows, m->n, sizeof(*mark)));
	if (!mark)
		return;
	*mark = (struct rd_mark){
		.frame = a->frame, .flow = f->id.number, .kind = (uint8_t)kind, .pending = pending};
	m->n++;
}

void mark_incident(struct rd_analysis *a, const struct flow *f, enum rd_incident_kind kind)
{
	/* A UD QP may send to many QPs: its gaps need not be losses. */
	if (is_marked[kind] && (kind != RD_INC_GAP || f->id.transport != RD_UD))
		mark_frame(a, f, kind, false);
}

void mark_late_again(struct rd_analysis *a, const struct flow *f)
{
	struct marks *m = &a->marks;

	for (size_t i = m->n; i && m->rows[i - 1].frame >= f->req.late_frame; i--)
		if (m->rows[i - 1].pending && m->rows[i - 1].flow == f->id.number)
			m->rows[i - 1].kind = RD_INC_RETRANSMITTED;
}

void mark_first_was_late(struct rd_analysis *a, const struct flow *f)
{
	struct marks *m = &a->marks;

	if (!a->config.marks)
		return;
	/* The incident was counted at the current frame. */
	if (m->n && m->rows[m->n - 1].frame == a->frame &&
		m->rows[m->n - 1].kind == RD_INC_REORDERED && !m->rows[m->n - 1].pending)
		m->n--;
	for (size_t i = m->n; i && m->rows[i - 1].frame >= f->round.frame; i--)
		if (m->rows[i - 1].frame == f->round.frame &&
			m->rows[i - 1].kind == RD_INC_RETRANSMITTED)
			m->rows[i - 1].kind = RD_INC_REORDERED;
}
