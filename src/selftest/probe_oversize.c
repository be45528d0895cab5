/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The effect of a frame that is longer than its receive buffer. The completion reports a local
 * length error. Whether the queue continues, stops with its receives flushed, or stops without any
 * completion differs between devices and firmware. Then the queue pair is put into the error state
 * and reset, as captures do after a failure, and must receive again.
 */
#include "numbered.h"
#include <rdmadump/clock.h>
#include <string.h>

#define BUFFERS	   64
#define BUFFER	   128 /* bytes: longer than the short frames that this probe sends */
#define SHORT	   96
#define LONG	   1024
#define FRAMES	   8 /* long ones, then short ones */
#define FCS_BYTES  4
#define WAIT_MS	   1000
#define SILENCE_MS 200 /* after an error, further completions arrive at once or never */

enum after { AFTER_NOTHING, AFTER_LIVES, AFTER_FLUSHED, AFTER_HALTED, AFTER_UNCLEAR };
static const char *const after_names[] = {[AFTER_NOTHING] = "no_error",
	[AFTER_LIVES] = "lives",
	[AFTER_FLUSHED] = "flushed",
	[AFTER_HALTED] = "halted",
	[AFTER_UNCLEAR] = "unclear"};

static const char *const meanings[] = {[AFTER_NOTHING] = "",
	[AFTER_LIVES] = "a frame that is too long is lost, and the queue goes on",
	[AFTER_FLUSHED] = "a frame that is too long ends the queue, which says so: captures start "
			  "it again and lose what arrives meanwhile",
	[AFTER_HALTED] = "",
	[AFTER_UNCLEAR] = "a frame that is too long is lost; no frame arrived after it, so nothing "
			  "is known about the queue"};

struct oversize {
	struct sniffer s;
	struct rd_probe_result *result;
	int sender_error;
	uint32_t sent;
	uint64_t before, after; /* frames received before and after the first error */
	uint64_t flushed;
	int state; /* state of the queue pair afterwards; -1: unknown */
	enum after queue;
	struct recovery reset;
	uint64_t after_reset;
	uint64_t own;		/* short frames of this program, all that were received */
	uint64_t own_with_flow; /* after the reset, once the flow was created again */
};

static void count_own(void *ctx, const uint8_t *data, uint32_t len)
{
	static const struct numbered mine;
	struct oversize *o = ctx;

	o->own += numbered_find(&mine, data, len) != NULL;
}

static void poll_once(struct oversize *o)
{
	bool had_error = o->s.first_error.status;
	uint64_t frames = o->s.frames, errors = o->s.errors, flushed = o->s.flushed;
	const void *cqes;
	size_t n;

	sniffer_poll(&o->s, count_own, o);
	if (!had_error && o->s.first_error.status) {
		o->before = o->s.frames;
		cqes = sniffer_cqes(&o->s, &n);
		if (cqes)
			result_cqes(o->result, cqes, n);
		return;
	}
	/* A second length error, like a frame, shows that the queue is alive. */
	if (had_error)
		o->after +=
			o->s.frames - frames + (o->s.errors - errors) - (o->s.flushed - flushed);
}

/* Polls until the first error, or for `ms`. */
static void poll_ms(
	const struct rd_selftest *st, struct oversize *o, unsigned int ms, bool until_error)
{
	uint64_t end = rd_monotonic_ns() + ms * 1000000ULL;

	while (!probe_over(st) && rd_monotonic_ns() < end) {
		poll_once(o);
		if (until_error && o->s.first_error.status)
			return;
		probe_sleep_ms(st, 1);
	}
}

static void send_frames(const struct rd_selftest *st, struct oversize *o, uint32_t len)
{
	struct numbered_sender sender;
	int rc = numbered_sender_open(&sender, o->s.ctx, st->port, 0, len);

	if (!rc)
		o->sent += numbered_send(st, &sender, 0, FRAMES);
	else
		o->sender_error = rc;
	queue_pair_close(&sender.q);
}

static void query_state(struct oversize *o)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	o->state = ibv_query_qp(o->s.qp, &attr, IBV_QP_STATE, &init) ? -1 : (int)attr.qp_state;
}

/* In that case, own short frames should have arrived as well. */
static bool own_frame_failed(const struct oversize *o)
{
	return o->sent > FRAMES && o->s.first_error.byte_len >= LONG &&
	       o->s.first_error.byte_len <= LONG + FCS_BYTES;
}

static enum after judge_queue(const struct oversize *o)
{
	if (o->flushed)
		return AFTER_FLUSHED;
	if (o->state != IBV_QPS_ERR && o->after)
		return AFTER_LIVES;
	return o->state == IBV_QPS_ERR || own_frame_failed(o) ? AFTER_HALTED : AFTER_UNCLEAR;
}

/*
 * Own frames must arrive afterwards. If nothing does, and they do arrive once the flow was created
 * again, the reset was the reason.
 */
static void reset(const struct rd_selftest *st, struct oversize *o)
{
	uint64_t after = o->after, own;

	recover(&o->s, &o->reset);
	if (o->reset.errnum)
		return;
	send_frames(st, o, SHORT);
	poll_ms(st, o, SILENCE_MS, false);
	o->after_reset = o->after - after;
	own = o->own;
	if (!o->after_reset && !sniffer_flow_destroy(&o->s) && !sniffer_flow_create(&o->s)) {
		send_frames(st, o, SHORT);
		poll_ms(st, o, SILENCE_MS, false);
	}
	o->own_with_flow = o->own - own;
	o->after = after;
}

static void measure(const struct rd_selftest *st, struct oversize *o)
{
	send_frames(st, o, LONG);
	poll_ms(st, o, WAIT_MS, true);
	if (!o->s.first_error.status)
		return;
	send_frames(st, o, SHORT);
	poll_ms(st, o, SILENCE_MS, false);
	query_state(o);
	o->flushed = o->s.flushed;
	o->queue = judge_queue(o);
	reset(st, o);
}

static void report(struct rd_probe_result *r, const struct oversize *o)
{
	result_number(r, "buffer", "bytes", BUFFER);
	result_errno(r, "sender_error", o->sender_error);
	result_number(r, "own_frames", "frames", o->sent);
	result_number(r, "frames_before", "frames", o->before);
	result_number(r, "completions_after", "frames", o->after);
	result_number(r, "flushed", "frames", o->flushed);
	result_number(r, "wc_status", "", o->s.first_error.status);
	result_number(r, "vendor_syndrome", "", o->s.first_error.vendor);
	result_number(r, "wc_byte_len", "bytes", o->s.first_error.byte_len);
	if (o->state >= 0)
		result_number(r, "qp_state", "", (uint64_t)o->state);
	result_text(r, "queue", after_names[o->queue]);
	if (o->queue == AFTER_NOTHING)
		return;
	result_text(r, "reset_step", o->reset.step);
	result_errno(r, "reset_error", o->reset.errnum);
	result_number(r, "reset_flushed", "frames", o->reset.flushed);
	result_number(r, "reset_us", "us", o->reset.us);
	result_number(r, "completions_after_reset", "frames", o->after_reset);
	result_number(r, "own_with_new_flow", "frames", o->own_with_flow);
}

static void judge(struct rd_probe_result *r, const struct oversize *o)
{
	uint32_t status = o->s.first_error.status;

	report(r, o);
	result_value(r, "%s", after_names[o->queue]);
	if (o->queue == AFTER_NOTHING) {
		result_skipped(r, "no frame longer than %u bytes arrived: %s", BUFFER,
			o->sender_error ? strerror(o->sender_error)
					: "repeat it while there is traffic");
		return;
	}
	if (o->reset.errnum) {
		result_failed(r, "%s: %s: a capture whose queue fails cannot go on", o->reset.step,
			strerror(o->reset.errnum));
		return;
	}
	if (o->own_with_flow)
		result_found(r, "deaf_after_restart",
			"the queue restarts and receives nothing: a capture has to create its flow "
			"again");
	if (status != IBV_WC_LOC_LEN_ERR)
		result_found(r, "other_status",
			"a frame that is too long completes with \"%s\": captures mistake that for "
			"a failure of the device",
			ibv_wc_status_str((enum ibv_wc_status)status));
	if (o->queue == AFTER_HALTED)
		result_found(r, "halts_silently",
			"after a frame that is too long nothing arrives and no buffer is given "
			"back: only the state of the queue shows it. Make buffers as long as the "
			"longest frame");
	result_means(r, "%s", meanings[o->queue]);
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	const struct sniffer_shape shape = {.buffers = BUFFERS, .buffer_size = BUFFER};
	struct oversize o = {.result = r, .state = -1};

	if (sniffer_begin(&o.s, st, r, &shape) == 0) {
		measure(st, &o);
		judge(r, &o);
	}
	sniffer_close(&o.s);
}

const struct rd_probe rd_probe_oversize = {.name = "oversize",
	.question = "what a frame does that is longer than its buffer, and a reset",
	.objects = "PD, MR, CQ, QP, flow; a QP that sends",
	.frames = 4 * FRAMES,
	.needs = RD_PROBE_SNIFFER | RD_PROBE_SENDER,
	.run = run};
