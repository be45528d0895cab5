/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which parts of an InfiniBand packet the port sniffer's copies contain: the LRH at the beginning,
 * ICRC and VCRC at the end. WRITEs of this program are compared with what was sent; for other
 * packets, lengths and checksums are verified.
 */
#include "port_capture.h"
#include "traffic.h"
#include <rdmadump/clock.h>
#include <rdmadump/json.h>
#include <rdmadump/packet.h>
#include <rdmadump/trailer.h>
#include <stdio.h>

#define WRITES	  64
#define LISTEN_MS 300
#define ENOUGH	  64 /* packets of each direction */
#define LRH	  8
#define RETH	  16

enum { SENT, RECEIVED, OWN, GROUPS };

static const char *const names[GROUPS] = {"sent", "received", "own"};
static const char *const whats[GROUPS] = {"sent packets", "received packets", "own packets"};

struct packets {
	struct pair pair; /* first: the functions of pairs get this structure */
	const struct port_capture *capture;
	struct rd_probe_result *r;
	struct rd_clock clock;
	struct numbered m;
	struct rd_trailers of[GROUPS];
};

static void look(void *ctx, const uint8_t *data, uint32_t len)
{
	struct packets *p = ctx;
	enum rd_direction direction = port_capture_direction(p->capture, data, len);
	int group;

	if (numbered_find(&p->m, data, len)) {
		group = OWN;
		result_frame(p->r, data, len, rd_clock_now(&p->clock));
	} else if (direction == RD_DIR_UNKNOWN) {
		return;
	} else {
		group = direction == RD_DIR_OUT ? SENT : RECEIVED;
	}
	if (p->of[group].packets + p->of[group].other < ENOUGH)
		rd_trailers_count(&p->of[group], data, len);
}

/* --- how they end ------------------------------------------------------------------------- */

static void report_group(struct rd_probe_result *r, int group, const struct rd_trailers *t)
{
	result_json(r, names[group],
		json_pack("{s:i, s:s, s:s, s:i, s:i, s:i}", "packets", (int)t->packets, "icrc",
			rd_trailer_name(rd_trailers_icrc(t)), "vcrc",
			rd_trailer_name(rd_trailers_vcrc(t)), "icrc_valid", (int)t->icrc_valid,
			"vcrc_valid", (int)t->vcrc_valid, "end_not_found", (int)t->other));
}

/* Without an ICRC there is no VCRC either; a wrong ICRC is more informative than a missing VCRC. */
static void judge_group(struct rd_probe_result *r, int group, const struct rd_trailers *t)
{
	enum rd_trailer icrc = rd_trailers_icrc(t), vcrc = rd_trailers_vcrc(t);
	enum rd_trailer state = icrc == RD_TRAILER_VALID ? vcrc : icrc;
	char text[RD_TRAILER_TEXT], key[48];

	report_group(r, group, t);
	if (state == RD_TRAILER_VALID || t->packets + t->other < RD_TRAILER_ENOUGH)
		return;
	rd_trailers_text(t, text);
	snprintf(key, sizeof(key), "%s_%s_%s",
		state == RD_TRAILER_UNKNOWN ? "length"
		: icrc == RD_TRAILER_VALID  ? "vcrc"
					    : "icrc",
		rd_trailer_name(state), names[group]);
	result_found(r, key, "%s %s", whats[group], text);
}

/* --- how they begin ----------------------------------------------------------------------- */

static void judge_head(struct rd_probe_result *r, const struct numbered *m)
{
	const uint32_t before = LRH + RD_BTH_LEN + RETH;

	result_number(r, "bytes_before_payload", "bytes", m->most_before);
	if (m->most_before > before)
		result_found(r, "bytes_before_lrh",
			"packets have %u bytes before their LRH: captures cannot be decoded",
			m->most_before - before);
	else if (m->least_before < before)
		result_found(r, "no_lrh",
			"packets begin %u bytes after their LRH does: captures cannot be decoded",
			before - m->least_before);
}

static void judge(struct packets *p, int error)
{
	uint64_t known = p->m.frames;

	result_errno(p->r, "write_error", error);
	if (p->m.frames)
		judge_head(p->r, &p->m);
	for (int i = 0; i < GROUPS; i++) {
		known += p->of[i].packets + p->of[i].other;
		judge_group(p->r, i, &p->of[i]);
	}
	result_value(p->r, "%s/%s/%s", rd_trailer_name(rd_trailers_vcrc(&p->of[SENT])),
		rd_trailer_name(rd_trailers_vcrc(&p->of[RECEIVED])),
		rd_trailer_name(rd_trailers_vcrc(&p->of[OWN])));
	if (!known)
		result_skipped(p->r, "no packet arrived, and none could be sent");
	result_means(p->r, "packets begin with the LRH; VCRCs of sent, received and own ones are "
			   "as named");
}

/* --- the probe ---------------------------------------------------------------------------- */

static void try_packets(
	const struct rd_selftest *st, struct port_capture *c, struct rd_probe_result *r)
{
	struct packets p = {.capture = c,
		.r = r,
		.pair = {
			.ctx = {c->ctx, c->ctx}, .port = {st->port, st->port}, .type = IBV_QPT_RC}};
	const struct traffic t = {
		"write", "WRITEs", pair_open, pair_close, pair_send, &p, true, look};
	struct traffic_seen seen;
	struct rd_error err = {0};

	if (numbered_init(&p.m, WRITES) < 0 || port_capture_attach(c, RD_SNIFF_BOTH, &err) < 0) {
		result_failed(r, "%s", err.text);
		numbered_free(&p.m);
		return;
	}
	rd_clock_set(&p.clock);
	seen = traffic_run(st, &c->queue, &t, &p.m);
	sniffer_receive(st, &c->queue, LISTEN_MS, look, &p);
	if (port_capture_detach(c, &err) < 0)
		result_failed(r, "%s", err.text);
	else
		judge(&p, seen.error);
	numbered_free(&p.m);
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct port_capture c = {0};

	if (port_capture_start(&c, st, r) == 0)
		try_packets(st, &c, r);
	port_capture_close(&c);
}

const struct rd_probe rd_probe_packets = {.name = "packets",
	.question = "whether packets are seen with LRH, ICRC and VCRC",
	.objects = "three of each: PD, MR, CQ, QP; 6 firmware commands",
	.frames = TRAFFIC_TRIES * WRITES,
	.needs = RD_PROBE_ICMD | RD_PROBE_ACTIVE,
	.limit_s = 60,
	.run = run};
