/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attaches one of the port sniffer's two rules at a time. No document says which of them is for
 * received frames. Needs traffic with other ports: what a port sends to itself has no direction.
 */
#include "port_capture.h"
#include <rdmadump/clock.h>
#include <rdmadump/json.h>

#define LISTEN_MS 600
#define LEAST	  8 /* frames of one direction; fewer are not significant */

enum { SENT, RECEIVED, RULES };

static const unsigned int rules[RULES] = {RD_SNIFF_OUT, RD_SNIFF_IN};
static const char *const names[RULES] = {"sent_rule", "received_rule"};
static const enum rd_direction own[RULES] = {RD_DIR_OUT, RD_DIR_IN};

struct counts {
	const struct port_capture *capture;
	uint64_t of[RD_DIRECTIONS];
};

static void count(void *ctx, const uint8_t *data, uint32_t len)
{
	struct counts *c = ctx;

	c->of[port_capture_direction(c->capture, data, len)]++;
}

static int try_rule(const struct rd_selftest *st, struct port_capture *c, unsigned int rule,
	struct counts *n, struct rd_error *err)
{
	uint64_t end;

	sniffer_drain(&c->queue, NULL, NULL);
	if (port_capture_attach(c, rules[rule], err) < 0)
		return -1;
	end = rd_monotonic_ns() + LISTEN_MS * 1000000ULL;
	/* There may be many frames of one direction before the first of the other. */
	while (!probe_over(st) && rd_monotonic_ns() < end &&
		(n->of[RD_DIR_IN] < LEAST || n->of[RD_DIR_OUT] < LEAST))
		if (!sniffer_drain(&c->queue, count, n))
			probe_sleep_ms(st, 1);
	return port_capture_detach(c, err);
}

static void report(struct rd_probe_result *r, unsigned int rule, const struct counts *n)
{
	result_json(r, names[rule],
		json_pack("{s:o, s:o, s:o}", "sent", rd_json_u64(n->of[RD_DIR_OUT]), "received",
			rd_json_u64(n->of[RD_DIR_IN]), "unknown",
			rd_json_u64(n->of[RD_DIR_UNKNOWN])));
}

/* Returns whether there is a result. */
static bool judge(struct rd_probe_result *r, const struct counts n[RULES])
{
	bool known = false, both = false, other = false;

	for (int i = 0; i < RULES; i++) {
		uint64_t right = n[i].of[own[i]], wrong = n[i].of[own[!i]];

		known |= right + wrong >= LEAST;
		both |= right >= LEAST && wrong >= LEAST;
		other |= !right && wrong >= LEAST;
	}
	if (both)
		result_found(r, "rules_undirected",
			"one rule delivers both directions: --direction does not reduce what is "
			"copied, and captures of both directions may have frames twice");
	if (other)
		result_found(r, "rules_reversed",
			"the rule for sent frames delivers the received ones, or the reverse: "
			"leave --direction out");
	return known;
}

static void try_both(
	const struct rd_selftest *st, struct port_capture *c, struct rd_probe_result *r)
{
	struct counts n[RULES] = {{.capture = c}, {.capture = c}};
	struct rd_error err = {0};

	for (unsigned int i = 0; i < RULES; i++) {
		if (try_rule(st, c, i, &n[i], &err) < 0) {
			result_failed(r, "%s: %s", names[i], err.text);
			return;
		}
		report(r, i, &n[i]);
	}
	if (!judge(r, n))
		result_skipped(r, "too few frames from or to other ports");
	result_value(r, "%llu out, %llu in", (unsigned long long)n[SENT].of[RD_DIR_OUT],
		(unsigned long long)n[RECEIVED].of[RD_DIR_IN]);
	result_means(r, "each rule delivers its own direction only: --direction can be used");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct port_capture c;

	if (port_capture_start(&c, st, r) == 0)
		try_both(st, &c, r);
	port_capture_close(&c);
}

const struct rd_probe rd_probe_directions = {.name = "directions",
	.question = "whether each rule of the port sniffer delivers its own direction",
	.objects = "PD, MR (2.5 MiB), CQ, QP; 6 firmware commands",
	.needs = RD_PROBE_ICMD | RD_PROBE_ACTIVE,
	.limit_s = 60,
	.run = run};
