/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes MTU and MAC address of the port's netdev and back, while a sniffer exists if there is
 * one. */
#include "interface.h"
#include "selftest.h"
#include "sniffer.h"
#include <rdmadump/clock.h>
#include <string.h>

#define WATCH_MS 200 /* wait after a change */
#define LESS	 4 /* bytes less than the MTU: IPv6 still works, and most path MTUs stay the same */
#define MTU_MIN	 1284

/* Returns the frames after the change; errors are counted by the sniffer. */
static uint64_t watch(const struct rd_selftest *st, struct sniffer *s, const char *name,
	struct rd_probe_result *r)
{
	uint64_t end = rd_monotonic_ns() + WATCH_MS * 1000000ULL;

	s->frames = 0;
	while (!probe_over(st) && rd_monotonic_ns() < end) {
		if (s->flow)
			sniffer_drain(s, NULL, NULL);
		probe_sleep_ms(st, 1);
	}
	if (s->flow)
		result_number(r, name, "frames", s->frames);
	return s->frames;
}

static int try_mtu(const struct rd_selftest *st, struct sniffer *s, const struct change *c,
	uint64_t *frames, struct rd_probe_result *r)
{
	int mtu = c->before.mtu, rc;

	rc = interface_set_mtu(c->before.name, mtu >= MTU_MIN ? mtu - LESS : mtu + LESS);
	result_errno(r, "mtu_error", rc);
	if (!rc)
		*frames += watch(st, s, "frames_other_mtu", r);
	interface_restore(&c->before);
	return rc;
}

static int try_mac(const struct rd_selftest *st, struct sniffer *s, const struct change *c,
	uint64_t *frames, struct rd_probe_result *r)
{
	uint8_t mac[6];
	int rc;

	memcpy(mac, c->before.mac, sizeof(mac));
	mac[0] |= 0x02; /* locally administered */
	mac[5] ^= 0x01;
	rc = interface_set_mac(c->before.name, mac);
	result_errno(r, "mac_error", rc);
	if (!rc)
		*frames += watch(st, s, "frames_other_mac", r);
	return rc;
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct sniffer s = {0};
	struct change c;
	uint64_t frames = 0;
	int mtu, mac;

	if (change_begin(&c, st, r) < 0)
		return;
	if (st->sniffer == SNIFFER_WORKS && sniffer_open(&s, st->device, st->port, NULL) == 0)
		sniffer_flow_create(&s);
	mtu = try_mtu(st, &s, &c, &frames, r);
	mac = probe_over(st) ? 0 : try_mac(st, &s, &c, &frames, r);
	if (s.errors)
		result_found(r, "errors_at_change",
			"receives fail when MTU or MAC address change: captures reset their queue "
			"there");
	result_value(
		r, "MTU %s, MAC %s", mtu ? error_name(mtu) : "yes", mac ? error_name(mac) : "yes");
	if (mtu && mac)
		result_skipped(r, "neither can be changed: %s", strerror(mtu));
	else if (frames)
		result_means(r, "frames arrive with another MTU and MAC address, too");
	else
		result_means(r, "the settings can be changed; no frames were seen meanwhile");
	sniffer_close(&s);
	change_end(&c, r);
}

const struct rd_probe rd_probe_netdev = {.name = "netdev",
	.question = "what happens when MTU and MAC address of the netdev change",
	.objects = "PD, MR, CQ, QP, flow; another MTU and MAC address for 0.2 s each",
	.needs = RD_PROBE_DESTRUCTIVE,
	.run = run};
