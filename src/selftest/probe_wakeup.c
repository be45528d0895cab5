/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Arms the completion queue, sleeps in poll(2) and waits for one frame, many times: if an event is
 * missing, a capture would sleep while its ring is full. Then the same with moderation, which must
 * delay the events. The frames are sent by another thread, so that this one sleeps, or come from
 * other traffic.
 */
#include "measured.h"
#include "numbered.h"
#include "sniffer.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdmadump/clock.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS	      1000
#define BUDGET_MS     2500
#define MISSED_MS     1000 /* a later event is treated as missing */
#define MISSED_ENOUGH 3	   /* ends the probe: each one costs a second */
#define FRAME_BYTES   128
#define LATER_NS                                                                                   \
	200000 /* delay before sending, so that the receiver sleeps; every other frame is sent at  \
		  once */

#define MODERATED_ROUNDS 32
#define MODERATED_COUNT	 1000
#define MODERATED_US	 4000 /* mlx5 can do 4095 */

struct wakeup {
	const struct rd_selftest *st;
	struct sniffer s;
	struct numbered_sender sender;
	bool own; /* this program can send frames */
	pthread_t thread;
	sem_t go;
	atomic_bool end;
	atomic_uint wanted;	  /* the number of the frame to send */
	_Atomic uint64_t sent_ns; /* when it was sent; 0: not yet */
	unsigned int rounds, slept, missed, empty;
	uint64_t delay_us[ROUNDS];
	unsigned int n_delays;
	int moderation_error;
	unsigned int moderated;
	uint64_t interval_us[MODERATED_ROUNDS];
};

/* --- the sender --------------------------------------------------------------------------- */

static void *send_when_asked(void *ctx)
{
	const struct timespec later = {.tv_nsec = LATER_NS};
	struct wakeup *w = ctx;

	while (sem_wait(&w->go) == 0 || errno == EINTR) {
		unsigned int number = atomic_load(&w->wanted);

		if (atomic_load(&w->end))
			return NULL;
		if (number % 2)
			nanosleep(&later, NULL);
		atomic_store(&w->sent_ns, rd_monotonic_ns());
		numbered_send(w->st, &w->sender, number, 1);
	}
	return NULL;
}

static void ask_for_frame(struct wakeup *w, unsigned int number)
{
	if (!w->own)
		return;
	atomic_store(&w->sent_ns, 0);
	atomic_store(&w->wanted, number);
	sem_post(&w->go);
}

/* Whether own frames can be sent and the sniffer shows them. */
static void try_sender(struct wakeup *w)
{
	struct numbered m;

	if (numbered_init(&m, 4) < 0)
		return;
	if (numbered_sender_open(&w->sender, w->s.ctx, w->st->port, m.run, FRAME_BYTES) == 0 &&
		numbered_exchange(w->st, &w->sender, &w->s, &m) == NUMBERED_SEEN)
		w->own = numbered_counts(&m).never == 0;
	numbered_free(&m);
	if (w->own)
		w->own = pthread_create(&w->thread, NULL, send_when_asked, w) == 0;
}

static void stop_sender(struct wakeup *w)
{
	atomic_store(&w->end, true);
	sem_post(&w->go);
	if (w->own)
		pthread_join(w->thread, NULL);
}

/* --- one event ---------------------------------------------------------------------------- */

static void take_event(struct wakeup *w)
{
	struct ibv_cq *cq;
	void *ctx;

	while (ibv_get_cq_event(w->s.channel, &cq, &ctx) == 0)
		ibv_ack_cq_events(cq, 1);
}

static bool sleep_until_event(struct wakeup *w)
{
	struct pollfd fd = {.fd = w->s.channel->fd, .events = POLLIN};
	uint64_t end = rd_monotonic_ns() + MISSED_MS * 1000000ULL, now;

	while (!probe_over(w->st) && (now = rd_monotonic_ns()) < end)
		if (poll(&fd, 1, (int)((end - now) / 1000000) + 1) > 0)
			return true;
	return false;
}

/* True: an event arrived and woke this thread. */
static bool run_round(struct wakeup *w)
{
	uint64_t now, sent;

	w->rounds++;
	ibv_req_notify_cq(w->s.cq, 0);
	/* What arrived before the request has no event. */
	if (sniffer_drain(&w->s, NULL, NULL)) {
		take_event(w);
		return false;
	}
	ask_for_frame(w, w->rounds);
	w->slept++;
	if (sleep_until_event(w)) {
		now = rd_monotonic_ns();
		sent = atomic_load(&w->sent_ns);
		/* Otherwise a frame of others was first. */
		if (sent && sent < now && w->n_delays < ROUNDS)
			w->delay_us[w->n_delays++] = (now - sent) / 1000;
		take_event(w);
		sniffer_drain(&w->s, NULL, NULL);
		return true;
	}
	if (probe_over(w->st))
		w->slept--;
	else if (sniffer_drain(&w->s, NULL, NULL))
		w->missed++;
	else
		w->empty++;
	return false;
}

static void run_rounds(struct wakeup *w)
{
	uint64_t end = rd_monotonic_ns() + BUDGET_MS * 1000000ULL;

	while (w->rounds < ROUNDS && w->missed < MISSED_ENOUGH && !w->empty && !probe_over(w->st) &&
		rd_monotonic_ns() < end)
		run_round(w);
}

/* --- moderation --------------------------------------------------------------------------- */

static void run_moderated(struct wakeup *w)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = {.cq_count = MODERATED_COUNT, .cq_period = MODERATED_US}};
	uint64_t last = 0, now;

	w->moderation_error = ibv_modify_cq(w->s.cq, &attr);
	if (w->moderation_error || w->missed || w->empty)
		return;
	for (unsigned int i = 0; i < 2 * MODERATED_ROUNDS && w->moderated < MODERATED_ROUNDS &&
				 !w->missed && !w->empty && !probe_over(w->st);
		i++) {
		if (!run_round(w))
			continue;
		now = rd_monotonic_ns();
		if (last)
			w->interval_us[w->moderated++] = (now - last) / 1000;
		last = now;
	}
}

/* --- the result --------------------------------------------------------------------------- */

static void judge_moderation(struct wakeup *w, struct rd_probe_result *r)
{
	result_errno(r, "moderation_error", w->moderation_error);
	if (w->moderation_error) {
		result_found(r, "moderation_refused",
			"events cannot be gathered (%s): captures wake up for each frame, or wait "
			"by time",
			strerror(w->moderation_error));
		return;
	}
	if (w->moderated < MODERATED_ROUNDS)
		return;
	if (measured(r, "moderated_interval_us", w->interval_us, w->moderated) < MODERATED_US / 2)
		result_found(r, "moderation_ignored",
			"the device accepts that events are gathered for %u us, and sends them at "
			"once: captures wake up for each frame, or wait by time",
			MODERATED_US);
}

static void judge(struct wakeup *w, struct rd_probe_result *r)
{
	uint64_t longest = 0;

	result_bool(r, "own_frames", w->own);
	result_number(r, "rounds", "", w->rounds);
	result_number(r, "slept", "", w->slept);
	result_number(r, "missed", "", w->missed);
	if (w->n_delays) {
		measured(r, "delay_us", w->delay_us, w->n_delays);
		longest = w->delay_us[w->n_delays - 1];
	}
	if (w->slept <= w->empty) {
		result_skipped(r, "no frame arrived while this program slept");
		return;
	}
	result_value(r, "%u missed of %u", w->missed, w->slept);
	if (w->missed)
		result_found(r, "missed_events",
			"%u of %u times a frame arrived and no event did within %u ms: captures "
			"have to look at the queue by time, too",
			w->missed, w->slept, MISSED_MS);
	judge_moderation(w, r);
	result_means(r, "a sleeping capture wakes up for each frame, the longest delay was %.1f ms",
		(double)longest / 1000);
}

static int open_all(struct wakeup *w)
{
	const struct sniffer_shape shape = {.channel = true};
	int rc = sniffer_open_shaped(&w->s, w->st->device, w->st->port, NULL, &shape);

	if (rc)
		return rc;
	if (fcntl(w->s.channel->fd, F_SETFL, O_NONBLOCK) < 0)
		return errno;
	return sniffer_flow_create(&w->s);
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct wakeup *w = calloc(1, sizeof(*w));
	int rc;

	if (!w) {
		result_failed(r, "%s", strerror(ENOMEM));
		return;
	}
	w->st = st;
	sem_init(&w->go, 0, 0);
	rc = open_all(w);
	if (rc) {
		result_failed(r, "%s: %s", sniffer_step_name(w->s.reached), strerror(rc));
	} else {
		try_sender(w);
		run_rounds(w);
		run_moderated(w);
		stop_sender(w);
		judge(w, r);
	}
	numbered_sender_close(&w->sender);
	sniffer_close(&w->s);
	sem_destroy(&w->go);
	free(w);
}

const struct rd_probe rd_probe_wakeup = {.name = "wakeup",
	.question = "whether each frame wakes up a sleeping capture",
	.objects = "PD, MR (2.5 MiB), channel, CQ, QP, flow; a QP that sends",
	.frames = 4 + ROUNDS + 2 * MODERATED_ROUNDS,
	.needs = RD_PROBE_SNIFFER | RD_PROBE_SENDER,
	.run = run};
