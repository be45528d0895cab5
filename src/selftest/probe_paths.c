/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether each receive path of captures delivers the same frames: through libibverbs, reading the
 * device directly, and several queues among which the device spreads frames.
 */
#include "paths.h"
#include <rdmadump/units.h>
#include <rdmadump/verbs.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS	  3	     /* repetitions at most, if the device lost frames */
#define RUN	  0x70617468 /* the same bytes in every round */
#define FRAME_LEN (NUMBERED_HEAD + 64)

static const struct path {
	const char *name, *title;
	enum rd_rx_mode mode;
	unsigned int queues;
	const char *key; /* finding if the device does not have it; NULL: the probe then fails */
	const char *meaning;
} paths[] = {
	{"libibverbs", "through libibverbs", RD_RX_VERBS, 1, NULL, NULL},
	{"direct", "as captures do by default", RD_RX_WQE, 1, NULL, NULL},
	{"rss_2", "with two queues", RD_RX_AUTO, 2, "no_rss",
		"frames are not spread among several queues (--queues)"},
	{"rss_4", "with four queues", RD_RX_AUTO, 4, "fewer_queues",
		"fewer than four queues (--queues)"},
};
#define PATHS (sizeof(paths) / sizeof(paths[0]))

struct run {
	struct rd_selftest *st;
	struct rd_probe_result *result;
	struct ibv_context *ctx; /* context of the sender */
	struct numbered_sender sender;
	bool sending;
	struct path_round round[PATHS];
};

static bool usable(const struct run *run, unsigned int i)
{
	return run->round[i].opened && run->round[i].queues == paths[i].queues &&
	       !run->round[i].error[0];
}

/* --- one path ----------------------------------------------------------------------------- */

/* The values of a path begin with its name. */
static const char *full(char name[64], unsigned int i, const char *end)
{
	snprintf(name, 64, "%s_%s", paths[i].name, end);
	return name;
}

static void report(struct run *run, unsigned int i)
{
	static const char *const protocols[PATH_PROTOCOLS] = {"ipv4", "ipv6"};
	const struct path_round *p = &run->round[i];
	struct rd_probe_result *r = run->result;
	json_t *by_queue;
	char name[64];

	result_text(r, full(name, i, "error"), p->error);
	if (!p->opened)
		return;
	result_text(r, full(name, i, "by"), p->path);
	result_text(r, full(name, i, "details"), p->details);
	result_number(r, full(name, i, "queues"), "", p->queues);
	result_number(r, full(name, i, "frames"), "frames", p->frames);
	if (!run->sending)
		return;
	result_number(r, full(name, i, "missing"), "frames", p->seen.never);
	result_number(r, full(name, i, "repeated"), "frames", p->seen.more);
	result_number(r, full(name, i, "changed"), "frames", p->changed);
	if (paths[i].queues < 2)
		return;
	result_number(r, full(name, i, "strayed"), "frames", p->strayed);
	by_queue = json_object();
	for (unsigned int k = 0; k < PATH_PROTOCOLS; k++) {
		json_t *list = json_array();

		for (unsigned int q = 0; q < p->queues; q++)
			json_array_append_new(list, json_integer((json_int_t)p->by_queue[k][q]));
		json_object_set_new(by_queue, protocols[k], list);
	}
	result_json(r, full(name, i, "frames_by_queue"), by_queue);
}

/* Frames that the device lost without a buffer say nothing about the path. */
static void try_path(struct run *run, unsigned int i)
{
	struct path_round *p = &run->round[i];

	for (unsigned int round = 0; round < ROUNDS && !probe_over(run->st); round++) {
		path_round_run(p, paths[i].mode, paths[i].queues, run->st,
			run->sending ? &run->sender : NULL);
		if (!usable(run, i) || p->lossless)
			break;
	}
}

/* --- what that means ---------------------------------------------------------------------- */

static void judge_presence(struct run *run, unsigned int i)
{
	const struct path_round *p = &run->round[i];

	if (usable(run, i))
		return;
	if (p->error[0] && (p->opened || !paths[i].key))
		result_failed(run->result, "%s: %.300s", paths[i].title, p->error);
	else if (i && paths[i].queues > 2 && !usable(run, i - 1))
		return; /* it is already reported that there are no two queues */
	else if (paths[i].key)
		result_found(run->result, paths[i].key, "%s: %.300s", paths[i].meaning,
			p->error[0] ? p->error : p->details);
}

static bool is_complete(const struct path_round *p)
{
	return !p->seen.never && !p->changed;
}

/* What all paths lack is not due to a path: the sniffer does not see such frames. */
struct common {
	uint64_t missing, changed; /* minimum over the paths */
};

static struct common common_of(const struct run *run)
{
	struct common least = {UINT64_MAX, UINT64_MAX};

	for (unsigned int i = 0; i < PATHS; i++) {
		const struct path_round *p = &run->round[i];

		if (usable(run, i) && p->lossless && p->seen.never < least.missing)
			least.missing = p->seen.never;
		if (usable(run, i) && p->changed < least.changed)
			least.changed = p->changed;
	}
	return least;
}

/* Differences of a few frames between paths are random. */
static bool is_more(uint64_t n, uint64_t common)
{
	return common ? n / 2 > common : n > 0;
}

/*
 * The sets are compared with that of the first path that delivered all. Returns whether there is
 * one.
 */
static bool judge_frames(struct run *run)
{
	const struct common common = common_of(run);
	const struct path_round *first = NULL;

	for (unsigned int i = 0; i < PATHS; i++) {
		const struct path_round *p = &run->round[i];

		if (!usable(run, i))
			continue;
		if (p->lossless && is_more(p->seen.never, common.missing))
			result_found(run->result, "frames_missing",
				"%s, %u of %u frames never arrived, and no counter of the device "
				"shows a loss",
				paths[i].title, p->seen.never, PATH_FRAMES);
		if (is_more(p->changed, common.changed))
			result_found(run->result, "frames_changed",
				"%s, %llu frame%s with other bytes than were sent", paths[i].title,
				(unsigned long long)p->changed, rd_plural(p->changed));
		if (!is_complete(p))
			continue;
		if (first && first->hash != p->hash)
			result_found(run->result, "frames_differ",
				"%s, frames have other bytes than through libibverbs",
				paths[i].title);
		first = first ? first : p;
	}
	return first != NULL;
}

static bool in_one_queue(const uint64_t by_queue[PATH_QUEUES])
{
	unsigned int used = 0;

	for (unsigned int q = 0; q < PATH_QUEUES; q++)
		used += by_queue[q] > 0;
	return used == 1;
}

static void judge_spread(struct run *run)
{
	uint64_t strayed = 0;
	bool one = false;

	for (unsigned int i = 0; i < PATHS; i++) {
		const struct path_round *p = &run->round[i];

		if (paths[i].queues < 2 || !usable(run, i))
			continue;
		strayed += p->strayed;
		/* The hash has the fields of one IP version only: mlx5_ib refuses both. */
		one |= in_one_queue(p->by_queue[0]) && in_one_queue(p->by_queue[1]);
	}
	if (strayed)
		result_found(run->result, "flow_in_several_queues",
			"%llu frame%s on another queue than the first one of the flow: with "
			"--queues only timestamps show the order",
			(unsigned long long)strayed, rd_plural(strayed));
	if (one)
		result_found(run->result, "all_in_one_queue",
			"all flows go to the same queue: --queues does not help");
}

static void judge(struct run *run)
{
	struct rd_probe_result *r = run->result;
	unsigned int works = 0;
	uint64_t frames = 0;
	bool lost = false, whole = true;

	for (unsigned int i = 0; i < PATHS; i++) {
		report(run, i);
		judge_presence(run, i);
		works += usable(run, i);
		frames += run->round[i].frames;
		lost |= usable(run, i) && !run->round[i].lossless;
	}
	if (run->sending)
		whole = judge_frames(run);
	judge_spread(run);
	result_value(r, "%u of %zu", works, PATHS);
	if (!frames && r->outcome == RD_PROBE_PASSED)
		result_skipped(r, "no frame arrived, and none could be sent");
	else if (!run->sending)
		result_means(r, "each path receives; nothing could be sent to compare them");
	else if (lost)
		result_means(
			r, "paths work, but the device lost frames: repeat it with less traffic");
	else if (!whole)
		result_means(r,
			"each way to receive lacks or changes as many frames: see 'send' and "
			"'contents'");
	else
		result_means(r, "each way to receive delivers the same frames");
}

/* --- the probe ---------------------------------------------------------------------------- */

/* Where the sniffer does not see what the port sends, paths are tried with the traffic there is. */
static void try_all(struct run *run)
{
	try_path(run, 0);
	if (run->sending && usable(run, 0) && run->round[0].seen.never == PATH_FRAMES) {
		run->sending = false;
		try_path(run, 0);
	}
	for (unsigned int i = 1; i < PATHS; i++)
		try_path(run, i);
}

static void run_all(struct run *run)
{
	int rc = numbered_sender_open(&run->sender, run->ctx, run->st->port, RUN, FRAME_LEN);

	run->sending = rc == 0;
	result_errno(run->result, "send_error", rc);
	try_all(run);
	result_bool(run->result, "compared", run->sending);
	judge(run);
	numbered_sender_close(&run->sender);
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct run run = {.st = st, .result = r};
	struct rd_error err;

	if (rd_verbs_device_open(&run.ctx, st->device->name, NULL, NULL, &err) < 0) {
		result_failed(r, "%s", err.text);
	} else {
		run_all(&run);
		ibv_close_device(run.ctx);
	}
}

const struct rd_probe rd_probe_paths = {.name = "paths",
	.question = "whether each way to receive delivers the same frames",
	.objects = "PD, up to 4 of each: MR (2.5 MiB), CQ, WQ; QP, table, flow",
	.frames = ROUNDS * PATHS * PATH_FRAMES,
	.limit_s = 30,
	.needs = RD_PROBE_SNIFFER | RD_PROBE_SENDER,
	.run = run};
