/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Error completions, and among them frames that were longer than their receive buffers. */
#include "verbs_port.h"
#include <rdmadump/units.h>
#include <stdio.h>

#define GROW_AFTER 16 /* a reset of a working queue loses frames: not for a few long ones */
#define RECHECK_NS UINT64_C(1000000000)

static void count_oversize(struct verbs_queue *q, uint32_t len)
{
	bool known = len && len <= FRAME_MAX && len > q->ring.buffer_size;

	atomic_fetch_add_explicit(&q->oversize.frames, 1, memory_order_relaxed);
	q->oversize.unsure = true;
	q->oversize.checked = false;
	q->src.recheck_ns = rd_monotonic_ns() + RECHECK_NS;
	q->oversize.grow = !q->port->keep_buffers;
	q->oversize.since_grown++;
	if (known && len > q->oversize.longest)
		q->oversize.longest = len;
}

bool verbs_completion_error(
	struct verbs_queue *q, enum ibv_wc_status status, uint32_t syndrome, uint32_t len)
{
	if (status == IBV_WC_LOC_LEN_ERR) {
		count_oversize(q, len);
		return true;
	}
	if (q->port->stopped || q->fault.text)
		return false;
	q->fault.text = q->oversize.unsure && status == IBV_WC_WR_FLUSH_ERR
				? "a frame was longer than its buffer"
				: ibv_wc_status_str(status);
	rd_log(RD_LOG_DEBUG, "%s: completion with status %d, vendor syndrome 0x%x", q->port->name,
		status, syndrome);
	return false;
}

void verbs_oversize_report(struct verbs_queue *q)
{
	uint64_t frames = atomic_load_explicit(&q->oversize.frames, memory_order_relaxed);
	char size[RD_UNITS_LEN], longest[48] = "";

	/* A note for each one would hide other notes. */
	if (frames < q->oversize.reported * 2)
		return;
	q->oversize.reported = frames;
	if (q->oversize.longest)
		snprintf(longest, sizeof(longest), "%s of %u bytes",
			frames > 1 ? ", the longest" : "", q->oversize.longest);
	rd_source_note(&q->src, RD_LOG_WARNING,
		"lost %llu frame%s%s: longer than the receive buffers of %s",
		(unsigned long long)frames, frames > 1 ? "s" : "", longest,
		rd_fmt_kib(size, q->ring.buffer_size));
}

void verbs_oversize_over(struct verbs_queue *q)
{
	q->oversize.unsure = false;
	q->src.recheck_ns = 0;
}

bool verbs_oversize_growing(const struct verbs_queue *q)
{
	return q->oversize.grow && q->oversize.since_grown >= GROW_AFTER;
}
