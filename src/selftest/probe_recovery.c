/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Puts this program's queue pair into the error state, resets it and receives again, as captures do
 * after a failure.
 */
#include "numbered.h"
#include <rdmadump/clock.h>
#include <string.h>

#define FRAMES	    64
#define FRAME_BYTES 128
#define FOREIGN_MS  200

struct trial {
	struct sniffer *s;
	struct numbered m;
	struct numbered_sender sender;
	int sender_error;
	uint32_t own_before, own_after; /* frames of this program that were seen */
	uint64_t before, after;		/* all frames */
	struct recovery done;
};

/* Returns how many frames of this program were seen; `all`: including others. */
static uint32_t receive(const struct rd_selftest *st, struct trial *t, uint64_t *all)
{
	uint64_t end = rd_monotonic_ns() + FOREIGN_MS * 1000000ULL, first = t->s->frames;

	numbered_reset(&t->m);
	if (!t->sender_error)
		numbered_exchange(st, &t->sender, t->s, &t->m);
	while (t->s->frames == first && !probe_over(st) && rd_monotonic_ns() < end)
		if (!sniffer_drain(t->s, NULL, NULL))
			probe_sleep_ms(st, 1);
	*all = t->s->frames - first;
	return t->m.count - numbered_counts(&t->m).never;
}

static void judge_here(struct rd_probe_result *r, const struct trial *t)
{
	result_text(r, "step", t->done.step);
	result_errno(r, "error", t->done.errnum);
	result_number(r, "flushed", "frames", t->done.flushed);
	result_number(r, "restart_us", "us", t->done.us);
	result_errno(r, "sender_error", t->sender_error);
	result_number(r, "own_before", "frames", t->own_before);
	result_number(r, "own_after", "frames", t->own_after);
	result_number(r, "frames_before", "frames", t->before);
	result_number(r, "frames_after", "frames", t->after);
	if (t->done.errnum) {
		result_failed(r, "%s: %s: a capture whose queue fails cannot go on", t->done.step,
			strerror(t->done.errnum));
		return;
	}
	result_value(r, "restart %.1f ms", (double)t->done.us / 1000);
	if (t->own_before && !t->after)
		result_found(r, "deaf_after_restart",
			"the queue restarts and receives nothing: a capture has to create its flow "
			"again");
	if (t->after)
		result_means(r, "a capture goes on after its queue failed");
	else
		result_means(r, "the queue restarts; no frame arrived that could show it");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s)
{
	struct trial t = {.s = s};

	if (numbered_init(&t.m, FRAMES) < 0)
		return;
	t.sender_error = numbered_sender_open(&t.sender, s->ctx, st->port, t.m.run, FRAME_BYTES);
	t.own_before = receive(st, &t, &t.before);
	recover(s, &t.done);
	if (!t.done.errnum)
		t.own_after = receive(st, &t, &t.after);
	judge_here(r, &t);
	queue_pair_close(&t.sender.q);
	numbered_free(&t.m);
}

const struct rd_probe rd_probe_recovery = {.name = "recovery",
	.question = "whether a queue in error can be made to receive again",
	.objects = "PD, MR (2.5 MiB), CQ, QP, flow; a QP that sends",
	.frames = 2 * FRAMES,
	.needs = RD_PROBE_SNIFFER | RD_PROBE_SENDER,
	.look = run};
