/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sets the link of the port's netdev down and up, while a sniffer exists if the device has one. */
#include "../device/sysfs.h"
#include "interface.h"
#include "selftest.h"
#include "sniffer.h"
#include <errno.h>
#include <rdmadump/clock.h>
#include <string.h>

#define DOWN_MS	 300   /* time that the link stays down */
#define UP_MS	 30000 /* 200 and 400 Gb/s often need more than 8 s to train the link */
#define LIMIT_S	 (UP_MS / 1000 + 10)
#define STEP_MS	 10
#define AFTER_MS 200 /* time in which frames must arrive again */

static bool is_active(const struct rd_selftest *st)
{
	char state[32];

	/* "4: ACTIVE" */
	return rd_sysfs_text(state, sizeof(state), "/sys/class/infiniband/%s/ports/%u/state",
		       st->device->name, st->port->num) >= 0 &&
	       strstr(state, "ACTIVE") != NULL;
}

/* Errors arrive with the change, or a moment later. */
static void drain_for(const struct rd_selftest *st, struct sniffer *s, unsigned int ms)
{
	uint64_t end = rd_monotonic_ns() + ms * 1000000ULL;

	while (!probe_over(st) && rd_monotonic_ns() < end) {
		if (s->flow)
			sniffer_drain(s, NULL, NULL);
		probe_sleep_ms(st, 1);
	}
	if (s->flow)
		sniffer_drain(s, NULL, NULL);
}

/* Waits for a port state and polls the sniffer meanwhile. False: timeout. */
static bool wait_state(
	const struct rd_selftest *st, struct sniffer *s, bool active, unsigned int ms)
{
	uint64_t end = rd_monotonic_ns() + ms * 1000000ULL;

	while (!probe_over(st) && rd_monotonic_ns() < end && is_active(st) != active) {
		if (s->flow)
			sniffer_drain(s, NULL, NULL);
		probe_sleep_ms(st, STEP_MS);
	}
	return is_active(st) == active;
}

static void judge(const struct rd_selftest *st, const struct sniffer *s, bool went, bool back,
	uint64_t ms, struct rd_probe_result *r)
{
	result_bool(r, "port_down", went);
	result_bool(r, "port_active_again", back);
	if (s->flow) {
		result_number(r, "frames", "frames", s->frames);
		result_number(r, "receive_errors", "", s->errors);
	}
	if (back) {
		result_number(r, "up_after", "ms", ms);
		result_value(r, "up after %llu ms", (unsigned long long)ms);
	}
	if (!went)
		result_found(r, "port_stays_active",
			"the port stayed active while its link was down: captures cannot report "
			"that frames are missing");
	if (s->errors)
		result_found(r, "errors_at_link_down",
			"receives fail when the link goes down: captures reset their queue there");
	if (!back && !probe_over(st))
		result_failed(
			r, "the port was not active %u s after its link was set up", UP_MS / 1000);
	result_means(r, "the port's state follows its link: captures report it");
}

static void down_and_up(struct rd_selftest *st, const char *name, struct rd_probe_result *r)
{
	struct sniffer s = {0};
	bool went, back;
	uint64_t start, before, ms;
	int rc = 0;

	if (st->sniffer == SNIFFER_WORKS && sniffer_open(&s, st->device, st->port, NULL) == 0)
		sniffer_flow_create(&s);
	rc = interface_set_up(name, false);
	result_errno(r, "down_error", rc);
	if (rc) {
		result_skipped(r, "%s cannot be set down: %s", name, strerror(rc));
	} else {
		went = wait_state(st, &s, false, DOWN_MS);
		drain_for(st, &s, DOWN_MS);
		before = s.frames;
		start = rd_monotonic_ns();
		rc = interface_set_up(name, true);
		result_errno(r, "up_error", rc);
		back = wait_state(st, &s, true, UP_MS);
		ms = (rd_monotonic_ns() - start) / 1000000;
		drain_for(st, &s, AFTER_MS);
		if (s.flow)
			result_number(r, "frames_after_up", "frames", s.frames - before);
		judge(st, &s, went, back, ms, r);
	}
	sniffer_close(&s);
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	char why[RESULT_TEXT];
	struct change c;

	if (change_begin(&c, st, r) < 0)
		return;
	if (interface_would_lose(c.before.name, why, sizeof(why)))
		result_skipped(r, "%s", why);
	else
		down_and_up(st, c.before.name, r);
	change_end(&c, r);
}

const struct rd_probe rd_probe_link = {.name = "link",
	.question = "what happens when the link goes down and up",
	.objects = "PD, MR, CQ, QP, flow; the netdev's link is down for some 0.3 s",
	.needs = RD_PROBE_DESTRUCTIVE,
	.limit_s = LIMIT_S,
	.run = run};
