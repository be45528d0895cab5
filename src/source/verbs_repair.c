/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Error handling of a receive queue: a frame that is longer than its buffer is counted, and the
 * buffers grow; a queue in error is reset, or replaced if a reset does not help.
 *
 * Sources disagree on the effect of such a frame on an mlx5 queue: DPDK's driver continues to
 * receive, the kernel's mlx5e resets the queue. So it is reset only if other receives are flushed,
 * if its state is error, or if its state cannot be read and nothing arrives for a while.
 */
#include "verbs_port.h"
#include <errno.h>
#include <poll.h>
#include <rdmadump/units.h>
#include <stdio.h>
#include <string.h>

#define REPAIRS_MAX    64 /* limit of consecutive repairs without a frame between them */
#define REPAIRS_LOGGED 8  /* limit of repairs that the log has one by one */
#define EVENT_WAITS    20
#define EVENT_WAIT_MS  50

/* --- larger buffers ----------------------------------------------------------------------- */

/* Larger buffers were refused: logs it, and does not request them again. */
static void warn_kept(const struct verbs_queue *q, const struct rd_error *why)
{
	char size[RD_UNITS_LEN];

	q->port->keep_buffers = true;
	rd_log(RD_LOG_WARNING,
		"%s: the receive buffers stay at %s, longer frames are lost and counted: %.*s; a "
		"capture with --max-frame has larger ones at once",
		q->port->name, rd_fmt_kib(size, q->ring.buffer_size), (int)strcspn(why->text, ";"),
		why->text);
}

static void larger_ring(const struct verbs_queue *q, struct verbs_ring *larger)
{
	uint32_t size = q->ring.buffer_size * 2,
		 wanted = (q->oversize.longest + RD_TRAILER_MAX + 63) & ~63U;
	struct rd_error why = {0};

	size = size > wanted ? size : wanted;
	size = size < FRAME_MAX ? size : FRAME_MAX;
	/*
	 * Both rings are registered for a moment: a ring that was freed first might not be
	 * available again.
	 */
	if (size > q->ring.buffer_size &&
		verbs_ring_init(larger, q->port->pd, q->ring.n, size, q->port->numa_node, &why) < 0)
		warn_kept(q, &why);
}

/* Resets the queue, and replaces its ring by *larger, if that has memory. */
static int reset(struct verbs_queue *q, struct verbs_ring *larger, struct rd_error *err)
{
	bool grow = larger->memory != NULL;
	int rc = verbs_queue_reset(q, grow ? larger : NULL, err);
	char size[RD_UNITS_LEN];

	if (grow && !larger->memory)
		rd_source_note(&q->src, RD_LOG_WARNING, "buffers are now %s",
			rd_fmt_kib(size, q->ring.buffer_size));
	/* On failure *larger is still the new ring, otherwise it is empty. */
	verbs_ring_fini(larger);
	return rc;
}

/* Sets *larger to a larger ring if one is needed and available, else to an empty one. */
static void take_growth(struct verbs_queue *q, struct verbs_ring *larger)
{
	*larger = (struct verbs_ring){0};
	if (q->oversize.grow)
		larger_ring(q, larger);
	q->oversize.grow = false;
	q->oversize.since_grown = 0;
}

/* --- repairs ------------------------------------------------------------------------------ */

/* The error of a repair. It replaces the verb's advice, which is for the start of a capture. */
static int fail_repair(const struct queue_fault *was, struct rd_error *err)
{
	const char *todo = err->errnum == EPERM
				   ? "a new queue needs CAP_NET_RAW, which was dropped at the "
				     "start: as root, 'rdmadump capture' with -Z root keeps it"
				   : "this kernel takes commands only from the user and with the "
				     "capabilities that opened the device: as root, 'rdmadump "
				     "capture' with -Z root keeps them";
	char first[256];

	snprintf(first, sizeof(first), "%.*s", (int)strcspn(err->text, ";"), err->text);
	return rd_fail(err, err->class, 0, todo,
		"the receive queue failed (%s) and could not be replaced: %s", was->text, first);
}

/* A reset needs no privilege; a new queue needs CAP_NET_RAW, which may have been dropped. */
static int queue_renew(struct verbs_queue *q, const struct queue_fault *was, struct rd_error *err)
{
	struct verbs_ring larger;

	if (!was->cq_failed) {
		take_growth(q, &larger);
		if (reset(q, &larger, err) == 0)
			return 0;
	}
	if (err->errnum != EACCES && verbs_queue_replace(q, err) == 0)
		return 0;
	return err->errnum == EPERM || err->errnum == EACCES ? fail_repair(was, err) : -1;
}

int verbs_fail_removed(const struct verbs_queue *q, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_PARTIAL, 0, "see the kernel's log (dmesg)",
		"%s failed fatally or was removed", q->port->name);
}

/*
 * A repair failed: whether the device is gone. Its commands fail with EIO, possibly before the
 * event that reports it can be read. The capture ends in any case, so this may wait.
 */
static bool gone(struct verbs_queue *q, int errnum)
{
	struct pollfd async = {.fd = q->port->ctx->async_fd, .events = POLLIN};

	verbs_events_take(q);
	for (unsigned int i = 0; i < EVENT_WAITS && errnum == EIO && !q->port->removed; i++) {
		poll(&async, 1, EVENT_WAIT_MS);
		verbs_events_take(q);
	}
	return q->port->removed;
}

/* In the file every gap has a comment; the log would show nothing else where long frames are
 * frequent. */
static void note_repair(struct verbs_queue *q, const char *why)
{
	static const char text[] =
		"the receive queue failed (%s) and was restored: frames are missing before "
		"this one";

	rd_source_note(
		&q->src, q->gaps <= REPAIRS_LOGGED ? RD_LOG_WARNING : RD_LOG_DEBUG, text, why);
	if (q->gaps > REPAIRS_LOGGED && !(q->gaps & (q->gaps - 1)))
		rd_log(RD_LOG_WARNING,
			"%s: the receive queue failed and was restored (%llu so far): %s",
			q->port->name, (unsigned long long)q->gaps, why);
}

int verbs_repair(struct verbs_queue *q, struct rd_error *err)
{
	struct queue_fault was;

	/* The queues of a removed device fail before its event arrives: read the events first. */
	verbs_completion_events_take(q);
	verbs_events_take(q);
	verbs_events_apply(q);
	was = q->fault;
	if (q->port->removed)
		return verbs_fail_removed(q, err);
	if (was.todo)
		return rd_fail(
			err, RD_CLASS_PARTIAL, 0, was.todo, "%s: %s", q->port->name, was.text);
	q->gaps++;
	if (++q->repairs > REPAIRS_MAX)
		return rd_fail(err, RD_CLASS_PARTIAL, 0, "see the kernel's log (dmesg)",
			"the receive queue of %s fails repeatedly: %s", q->port->name, was.text);
	if (queue_renew(q, &was, err) < 0)
		return gone(q, err->errnum) ? verbs_fail_removed(q, err) : -1;
	*err = (struct rd_error){0};
	q->fault = (struct queue_fault){0};
	verbs_oversize_over(q);
	note_repair(q, was.text);
	return 0;
}

/* Resets a queue that still receives: frames that arrive during the reset are lost. */
static void grow_idle(struct verbs_queue *q)
{
	const uint8_t *before = q->ring.memory;
	struct rd_error why = {0};
	struct verbs_ring larger;

	take_growth(q, &larger);
	if (!larger.memory)
		return;
	if (reset(q, &larger, &why) == 0) {
		verbs_oversize_over(q);
		q->gaps++;
		rd_source_note(&q->src, RD_LOG_WARNING, "frames may be missing before this one");
		return;
	}
	if (q->ring.memory != before)
		q->fault.text = "receives cannot be posted";
	else
		warn_kept(q, &why);
}

static const char in_error[] = "a frame was longer than its buffer";

bool verbs_oversize_pending(const struct verbs_queue *q)
{
	return (q->oversize.unsure && !q->oversize.checked) || verbs_oversize_growing(q);
}

void verbs_oversize_settle(struct verbs_queue *q)
{
	bool check = q->oversize.unsure && !q->oversize.checked;

	q->oversize.checked = true;
	if (check && verbs_queue_state(q) == VERBS_STATE_ERROR)
		q->fault.text = in_error;
	else if (verbs_oversize_growing(q) && !q->port->stopped)
		grow_idle(q);
}

/* The queue may be in error, or there may have been no traffic: the reset is right for both. */
static void reset_silent(struct verbs_queue *q)
{
	struct verbs_ring larger;
	struct rd_error why = {0};

	take_growth(q, &larger);
	if (reset(q, &larger, &why) < 0) {
		q->fault.text = in_error;
		return;
	}
	q->gaps++;
	rd_source_note(&q->src, RD_LOG_WARNING,
		"no frame arrived for 1 s after one that was longer than the receive buffers: the "
		"queue was reset, frames may be missing before this one");
}

void verbs_oversize_overdue(struct verbs_queue *q)
{
	enum verbs_state state = q->port->stopped ? VERBS_STATE_READY : verbs_queue_state(q);

	verbs_oversize_over(q);
	if (state == VERBS_STATE_ERROR)
		q->fault.text = in_error;
	else if (state == VERBS_STATE_UNKNOWN)
		reset_silent(q);
}

/* --- the start ---------------------------------------------------------------------------- */

int verbs_queue_empty(struct verbs_queue *q, struct rd_error *err)
{
	struct rd_frame frames[RD_BATCH];
	struct queue_fault was;
	unsigned int n;

	/* Bounded, even if the device misbehaves: without a flow nothing arrives. */
	for (uint64_t i = 0; i < 2 * (uint64_t)q->ring.n; i += n) {
		n = q->path->poll(q, frames, RD_BATCH);
		if (q->path->post(q) && !q->fault.text)
			q->fault.text = "receives cannot be posted";
		if (!n)
			break;
	}
	verbs_events_apply(q);
	was = q->fault;
	if ((was.text || q->oversize.unsure) && queue_renew(q, &was, err) < 0)
		return -1;
	q->fault = (struct queue_fault){0};
	q->oversize = (struct verbs_oversize){0};
	q->src.recheck_ns = 0;
	return 0;
}
