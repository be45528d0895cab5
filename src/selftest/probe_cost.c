/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a sniffer costs other traffic: rate of an RC stream between two queue pairs of this program,
 * and the counters of pause frames and discards, first without, then with the sniffer. The stream
 * is short and its numbers are rough; only a large difference is named.
 */
#include "moved.h"
#include "traffic.h"
#include <errno.h>
#include <pthread.h>
#include <rdmadump/clock.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURNS	      3 /* turns of each kind */
#define MESSAGE	      4096
#define UNDER_WAY     4
#define COMPLETION_MS 2000
#define MUCH	      10 /* times slower: more than random variation */

enum kind { WITHOUT, WITH, KINDS };

struct cost {
	const struct rd_selftest *st;
	struct sniffer s;
	struct pair pair;
	struct {
		uint64_t kb_per_s[TURNS];
		unsigned int n;
		struct moved moved;
	} kind[KINDS];
	atomic_bool end;
	int error; /* errno of the stream */
};

/* --- the stream --------------------------------------------------------------------------- */

static int post(struct cost *c, uint32_t bytes)
{
	return queue_pair_post(&c->pair.q[0], &c->pair.q[1], 0, bytes);
}

/* 0 or an errno. */
static int wait_for_one(struct cost *c)
{
	uint64_t end = rd_monotonic_ns() + COMPLETION_MS * 1000000ULL;
	enum ibv_wc_status status;
	int n;

	while (!(n = queue_pair_poll(&c->pair.q[0], &status)))
		if (probe_over(c->st) || rd_monotonic_ns() >= end)
			return ETIMEDOUT;
	return n == 1 && status == IBV_WC_SUCCESS ? 0 : EIO;
}

/* KB/s; 0: the stream failed. */
static uint64_t stream(struct cost *c)
{
	uint64_t start = rd_monotonic_ns(), end = start + STREAM_MS * 1000000ULL;
	uint32_t posted = 0, done = 0;

	while (!c->error && (done < posted || !posted)) {
		while (posted < STREAM_MESSAGES && posted - done < UNDER_WAY && !c->error &&
			(!posted || rd_monotonic_ns() < end)) {
			c->error = post(c, MESSAGE);
			posted += !c->error;
		}
		if (!c->error)
			c->error = wait_for_one(c);
		done += !c->error;
	}
	return (uint64_t)done * MESSAGE * 1000000 / (rd_monotonic_ns() - start + 1);
}

/* --- the sniffer -------------------------------------------------------------------------- */

/* As a capture does: in a thread of its own. */
static void *drain(void *ctx)
{
	const struct timespec step = {.tv_nsec = 1000000};
	struct cost *c = ctx;

	while (!atomic_load(&c->end))
		if (!sniffer_drain(&c->s, NULL, NULL))
			nanosleep(&step, NULL);
	return NULL;
}

static void take_turn(struct cost *c, enum kind kind)
{
	unsigned int n = c->kind[kind].n;
	uint64_t rate = stream(c);

	if (c->error)
		return;
	c->kind[kind].kb_per_s[n] = rate;
	c->kind[kind].n++;
}

/* Returns 0 or an errno. */
static int take_turn_with(struct cost *c)
{
	pthread_t thread;
	int rc = sniffer_flow_create(&c->s);

	if (rc)
		return rc;
	atomic_store(&c->end, false);
	rc = pthread_create(&thread, NULL, drain, c);
	if (!rc) {
		take_turn(c, WITH);
		atomic_store(&c->end, true);
		pthread_join(thread, NULL);
	}
	sniffer_flow_destroy(&c->s);
	sniffer_drain(&c->s, NULL, NULL);
	return rc;
}

static int measure(struct cost *c)
{
	int rc = 0;

	for (int kind = 0; kind < KINDS; kind++)
		moved_begin(&c->kind[kind].moved, c->st, RD_COUNTER_RELATED);
	for (int i = 0; i < TURNS && !rc && !c->error && !probe_over(c->st); i++)
		take_turn(c, WITHOUT);
	moved_read(&c->kind[WITHOUT].moved, c->st);
	for (int i = 0; i < TURNS && !rc && !c->error && !probe_over(c->st); i++)
		rc = take_turn_with(c);
	moved_read(&c->kind[WITH].moved, c->st);
	return rc;
}

/* --- the result --------------------------------------------------------------------------- */

static uint64_t most(const uint64_t *values, unsigned int n)
{
	uint64_t best = 0;

	for (unsigned int i = 0; i < n; i++)
		best = values[i] > best ? values[i] : best;
	return best;
}

static void report(struct rd_probe_result *r, struct cost *c)
{
	static const char *const names[KINDS][2] = {
		{"kb_per_s_without", "moved_without"}, {"kb_per_s_with", "moved_with"}};

	for (int k = 0; k < KINDS; k++) {
		if (c->kind[k].n) {
			result_spread(r, names[k][0], c->kind[k].kb_per_s, c->kind[k].n);
		}
		result_json(r, names[k][1], moved_json(&c->kind[k].moved));
	}
	result_number(r, "frames_sniffed", "frames", c->s.frames);
}

static void judge(struct rd_probe_result *r, struct cost *c, int rc)
{
	uint64_t without = most(c->kind[WITHOUT].kb_per_s, c->kind[WITHOUT].n);
	uint64_t with = most(c->kind[WITH].kb_per_s, c->kind[WITH].n);

	result_errno(r, "stream_error", c->error);
	if (rc || c->error) {
		result_skipped(r, "%s: %s", rc ? "flow" : "the stream between two own queue pairs",
			strerror(rc ? rc : c->error));
		return;
	}
	result_value(r, "%.1f -> %.1f MB/s", (double)without / 1000, (double)with / 1000);
	if (with * MUCH < without)
		result_found(r, "traffic_slowed",
			"an RC stream of the port is more than %d times slower while a sniffer "
			"runs: captures change what they measure",
			MUCH);
	result_means(r, "a short RC stream, without and with a sniffer; a busy machine changes "
			"both");
}

static int open_all(struct cost *c, struct rd_probe_result *r)
{
	const struct rd_port *port = c->st->port;
	int rc = sniffer_open(&c->s, c->st->device, port, NULL, NULL);

	if (rc) {
		result_failed(r, "%s: %s", sniffer_step_name(c->s.reached), strerror(rc));
		return -1;
	}
	c->pair = (struct pair){
		.ctx = {c->s.ctx, c->s.ctx}, .port = {port, port}, .type = IBV_QPT_RC};
	rc = pair_open(&c->pair, 0);
	if (rc)
		result_skipped(r, "no RC queue pairs between own addresses: %s", strerror(rc));
	return rc ? -1 : 0;
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct cost *c = calloc(1, sizeof(*c));
	int rc;

	if (!c) {
		result_failed(r, "%s", strerror(ENOMEM));
		return;
	}
	c->st = st;
	if (open_all(c, r) == 0) {
		rc = measure(c);
		report(r, c);
		judge(r, c, rc);
	}
	pair_close(&c->pair);
	sniffer_close(&c->s);
	for (int kind = 0; kind < KINDS; kind++)
		moved_free(&c->kind[kind].moved);
	free(c);
}

const struct rd_probe rd_probe_cost = {.name = "cost",
	.question = "what a sniffer costs an RC stream of the port",
	.objects = "PD, MR (2.5 MiB), CQ, QP, flow; two RC queue pairs",
	/* Packets of at least 1024 bytes, and their acknowledgements. */
	.frames = 2 * TURNS * 5 * STREAM_MESSAGES,
	.needs = RD_PROBE_SNIFFER,
	.run = run};
