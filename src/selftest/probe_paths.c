/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whether each receive path of captures delivers the same frames: through libibverbs, reading the
 * device directly, and several queues among which the device spreads frames. Each round opens the
 * device as captures do, sends numbered frames, and receives them.
 */
#include "numbered.h"
#include <rdmadump/bytes.h>
#include <rdmadump/clock.h>
#include <rdmadump/hash.h>
#include <rdmadump/json.h>
#include <rdmadump/source.h>
#include <rdmadump/units.h>
#include <rdmadump/verbs.h>

#define ROUNDS	     3		/* repetitions at most, if the device lost frames */
#define RUN	     0x70617468 /* every round sends the same bytes, so that they can be compared */
#define PAYLOAD	     64
#define FRAMES	     128 /* frames sent in one round */
#define FLOWS_IP     16	 /* flows per IP version; all in one of two queues by chance: 2^-15 */
#define FLOWS	     (2 * FLOWS_IP)
#define PER_FLOW     (FRAMES / FLOWS)
#define QUEUES	     4
#define LOG2_ONE     8 /* buffers of a single queue */
#define LOG2_SEVERAL 7 /* ... of each of several queues */
#define WAIT_MS	     1000
#define LISTEN_MS    200 /* how long to listen if nothing can be sent */
#define SETTLE_MS    5	 /* wait for second copies */
#define UDP_BYTES    8
#define UDP_PORT     9 /* discard: there is no response */

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

/* What one path delivered, in its last round. */
struct round {
	bool opened;
	char error[RESULT_TEXT]; /* why it was not opened, or what failed later; "": nothing */
	char details[120];	 /* the source's details: how many queues, and why not more */
	const char *path;	 /* "libibverbs": static */
	unsigned int queues;
	struct rd_source *source[QUEUES];
	uint64_t frames;	       /* all that arrived */
	struct numbered m;	       /* the numbered frames, whose */
	struct numbered_counts counts; /* ... counts outlive it */
	uint64_t hash;	  /* hash of the set of numbered frames, independent of their order */
	uint64_t changed; /* numbered frames that differ from what was sent */
	bool lossless;	  /* the device's counters say that it lost no frame */
	uint64_t by_queue[2][QUEUES]; /* numbered frames of IPv4, of IPv6 */
	uint64_t strayed; /* numbered frames in another queue than the first one of their flow */
	uint8_t queue_of[FLOWS]; /* the queue of the flow's first frame, + 1; 0: none yet */
};

struct run {
	struct rd_selftest *st;
	struct rd_probe_result *result;
	struct ibv_context *ctx; /* context of the sender */
	struct numbered_sender sender;
	bool sending;
	struct round round[RD_COUNT(paths)];
};

/* --- what is sent ------------------------------------------------------------------------- */

/*
 * UDP between addresses for documentation, which no host uses (RFC 5737, RFC 3849), with one hop.
 * All frames are of one length, and so are their IP headers alike.
 */
static const struct header {
	uint16_t ethertype;
	uint8_t n, ip[40];
} headers[] = {{0x0800, 20,
		       {0x45, [3] = 20 + UDP_BYTES + PAYLOAD, [8] = 1, 17, 0x35, 0x8e, 192, 0, 2, 1,
			       192, 0, 2, 2}},
	{0x86dd, 40,
		{0x60, [5] = UDP_BYTES + PAYLOAD, 17, 1, 0x20, 0x01, 0x0d, 0xb8, [23] = 1, 0x20,
			0x01, 0x0d, 0xb8, [39] = 2}}};

/* Ports that differ in many bits, since queues are chosen by a few bits of a linear hash. */
static void set_head(struct numbered_sender *s, unsigned int flow)
{
	const struct header *h = &headers[flow / FLOWS_IP];
	uint8_t *at = s->head + NUMBERED_HEAD, *udp = at + h->n;

	rd_put_be16(at - 2, h->ethertype);
	memcpy(at, h->ip, h->n);
	rd_put_be16(udp, (uint16_t)(49152 + (flow % FLOWS_IP * 40503 & 0x3fff)));
	rd_put_be16(udp + 2, UDP_PORT);
	rd_put_be16(udp + 4, UDP_BYTES + PAYLOAD);
	rd_put_be16(udp + 6, 0); /* no checksum */
	s->head_len = (uint32_t)(udp + UDP_BYTES - s->head);
}

/* --- what arrives ------------------------------------------------------------------------- */

static uint64_t hash_of(const struct rd_frame *f)
{
	struct rd_hash h = rd_hash_begin();
	unsigned int words = rd_hash_add_bytes(&h, f->data, f->caplen);

	return rd_hash_end(&h, words);
}

static void take(struct round *r, const struct rd_frame *f, unsigned int queue)
{
	unsigned int flow;

	r->frames++;
	if (!numbered_take(&r->m, f->data, f->caplen))
		return;
	flow = r->m.last / PER_FLOW;
	r->by_queue[flow / FLOWS_IP][queue]++;
	if (!r->queue_of[flow])
		r->queue_of[flow] = (uint8_t)(queue + 1);
	r->strayed += r->queue_of[flow] != queue + 1;
	/* A copy of a frame, sent and received, does not change the set. */
	if (r->m.times[r->m.last] == 1)
		r->hash += hash_of(f);
}

/* Receives what is there; returns the number of frames. */
static unsigned int drain(struct round *r)
{
	unsigned int all = 0;

	for (unsigned int q = 0; q < r->queues && !r->error[0]; q++) {
		struct rd_source *s = r->source[q];
		struct rd_frame frames[RD_BATCH];
		struct rd_error err;
		int n = s->ops->receive(s, frames, RD_BATCH, &err);

		if (n == -1)
			snprintf(r->error, sizeof(r->error), "%.400s", err.text);
		for (int i = 0; i < n; i++)
			take(r, &frames[i], q);
		if (n <= 0)
			continue;
		s->ops->release(s);
		all += (unsigned int)n;
	}
	return all;
}

/* For `ms`, or until all numbers have arrived and nothing follows. */
static void receive_for(const struct run *run, struct round *r, unsigned int ms)
{
	uint64_t end = rd_monotonic_ns() + ms * 1000000ULL;
	unsigned int settled = 0;

	while (!probe_over(run->st) && rd_monotonic_ns() < end && settled < SETTLE_MS &&
		!r->error[0]) {
		settled += run->sending && numbered_counts(&r->m).never == 0;
		if (!drain(r) || settled)
			probe_sleep_ms(run->st, 1);
	}
}

static void send_all(struct run *run, struct round *r)
{
	for (unsigned int flow = 0; flow < FLOWS; flow++) {
		set_head(&run->sender, flow);
		if (numbered_send(run->st, &run->sender, flow * PER_FLOW, PER_FLOW) != PER_FLOW)
			return;
		drain(r);
		receive_for(run, r, PER_FLOW * 1000 / SEND_PER_S);
	}
}

/* --- one path ----------------------------------------------------------------------------- */

/* Whether the device's counters, read late enough, show no loss. */
static bool is_lossless(const struct run *run, struct rd_source *s)
{
	struct rd_source_stats stats;

	s->ops->stats(s, &stats);
	probe_sleep_ms(run->st, stats.loss_delay_ms + 1);
	if (s->ops->measure)
		s->ops->measure(s);
	s->ops->stats(s, &stats);
	return stats.loss_known && !stats.lost;
}

static void run_opened(struct run *run, struct round *r)
{
	struct rd_source *first = r->source[0];
	struct rd_error err;

	if (first->ops->start(first, &err) < 0) {
		snprintf(r->error, sizeof(r->error), "%.400s", err.text);
		return;
	}
	if (run->sending)
		send_all(run, r);
	receive_for(run, r, run->sending ? WAIT_MS : LISTEN_MS);
	first->ops->stop(first);
	for (unsigned int i = 0; i < FRAMES && drain(r); i++)
		;
	r->counts = numbered_counts(&r->m);
	r->changed = r->m.changed + r->m.cut;
	r->lossless = !r->counts.never || is_lossless(run, first);
}

static void run_round(struct run *run, struct round *r, const struct path *path)
{
	const struct rd_verbs_config config = {.device = run->st->device,
		.port = run->st->port,
		.log2_buffers = path->queues > 1 ? LOG2_SEVERAL : LOG2_ONE,
		.rx_mode = path->mode,
		.stamps = RD_STAMPS_HOST,
		.sysroot = ""};
	struct rd_error err;

	*r = (struct round){.queues = path->queues};
	if (numbered_init(&r->m, FRAMES) < 0) {
		snprintf(r->error, sizeof(r->error), "out of memory");
		return;
	}
	r->m.run = RUN;
	if (rd_verbs_open_queues(r->source, &r->queues, &config, &err) < 0) {
		snprintf(r->error, sizeof(r->error), "%.400s", err.text);
	} else {
		r->opened = true;
		r->path = r->source[0]->path;
		snprintf(r->details, sizeof(r->details), "%s", r->source[0]->details);
		run_opened(run, r);
		r->source[0]->ops->close(r->source[0]);
	}
	numbered_free(&r->m);
}

static bool usable(const struct run *run, unsigned int i)
{
	return run->round[i].opened && run->round[i].queues == paths[i].queues &&
	       !run->round[i].error[0];
}

/* The values of a path begin with its name. */
static const char *full(char name[64], unsigned int i, const char *end)
{
	snprintf(name, 64, "%s_%s", paths[i].name, end);
	return name;
}

static void report(struct run *run, unsigned int i)
{
	static const char *const protocols[] = {"ipv4", "ipv6"};
	const struct round *p = &run->round[i];
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
	result_number(r, full(name, i, "missing"), "frames", p->counts.never);
	result_number(r, full(name, i, "repeated"), "frames", p->counts.more);
	result_number(r, full(name, i, "changed"), "frames", p->changed);
	if (paths[i].queues < 2)
		return;
	result_number(r, full(name, i, "strayed"), "frames", p->strayed);
	by_queue = json_object();
	for (unsigned int k = 0; k < 2; k++)
		json_object_set_new(by_queue, protocols[k],
			RD_JSON_LIST(n, p->by_queue[k], p->queues, json_integer((json_int_t)*n)));
	result_json(r, full(name, i, "frames_by_queue"), by_queue);
}

/* Frames that the device lost without a buffer say nothing about the path. */
static void try_path(struct run *run, unsigned int i)
{
	struct round *p = &run->round[i];

	for (unsigned int round = 0; round < ROUNDS && !probe_over(run->st); round++) {
		run_round(run, p, &paths[i]);
		if (!usable(run, i) || p->lossless)
			break;
	}
}

/* --- what that means ---------------------------------------------------------------------- */

static void judge_presence(struct run *run, unsigned int i)
{
	const struct round *p = &run->round[i];

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

/* What all paths lack is not due to a path: the sniffer does not see such frames. */
struct common {
	uint64_t missing, changed; /* minimum over the paths */
};

static struct common common_of(const struct run *run)
{
	struct common least = {UINT64_MAX, UINT64_MAX};

	for (unsigned int i = 0; i < RD_COUNT(paths); i++) {
		const struct round *p = &run->round[i];

		if (usable(run, i) && p->lossless && p->counts.never < least.missing)
			least.missing = p->counts.never;
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

/* The sets are compared with that of the first path that delivered all. Whether there is one. */
static bool judge_frames(struct run *run)
{
	const struct common common = common_of(run);
	const struct round *first = NULL;

	for (unsigned int i = 0; i < RD_COUNT(paths); i++) {
		const struct round *p = &run->round[i];

		if (!usable(run, i))
			continue;
		if (p->lossless && is_more(p->counts.never, common.missing))
			result_found(run->result, "frames_missing",
				"%s, %u of %u frames never arrived, and no counter of the device "
				"shows a loss",
				paths[i].title, p->counts.never, FRAMES);
		if (is_more(p->changed, common.changed))
			result_found(run->result, "frames_changed",
				"%s, %llu frame%s with other bytes than were sent", paths[i].title,
				(unsigned long long)p->changed, rd_plural(p->changed));
		if (p->counts.never || p->changed)
			continue;
		if (first && first->hash != p->hash)
			result_found(run->result, "frames_differ",
				"%s, frames have other bytes than through libibverbs",
				paths[i].title);
		first = first ? first : p;
	}
	return first != NULL;
}

static bool in_one_queue(const uint64_t by_queue[QUEUES])
{
	unsigned int used = 0;

	for (unsigned int q = 0; q < QUEUES; q++)
		used += by_queue[q] > 0;
	return used == 1;
}

static void judge_spread(struct run *run)
{
	uint64_t strayed = 0;
	bool one = false;

	for (unsigned int i = 0; i < RD_COUNT(paths); i++) {
		const struct round *p = &run->round[i];

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

	for (unsigned int i = 0; i < RD_COUNT(paths); i++) {
		report(run, i);
		judge_presence(run, i);
		works += usable(run, i);
		frames += run->round[i].frames;
		lost |= usable(run, i) && !run->round[i].lossless;
	}
	if (run->sending)
		whole = judge_frames(run);
	judge_spread(run);
	result_value(r, "%u of %zu", works, RD_COUNT(paths));
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
	if (run->sending && usable(run, 0) && run->round[0].counts.never == FRAMES) {
		run->sending = false;
		try_path(run, 0);
	}
	for (unsigned int i = 1; i < RD_COUNT(paths); i++)
		try_path(run, i);
}

static void run_all(struct run *run)
{
	int rc = numbered_sender_open(
		&run->sender, run->ctx, run->st->port, RUN, NUMBERED_HEAD + PAYLOAD);

	run->sending = rc == 0;
	result_errno(run->result, "send_error", rc);
	try_all(run);
	result_bool(run->result, "compared", run->sending);
	judge(run);
	queue_pair_close(&run->sender.q);
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
	.frames = ROUNDS * RD_COUNT(paths) * FRAMES,
	.limit_s = 30,
	.needs = RD_PROBE_SNIFFER | RD_PROBE_SENDER,
	.run = run};
