/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares the sniffer's copies of frames that this program sent with what was sent: length, FCS,
 * VLAN tags, ICRC; and whether a message of many packets is seen as packets, as on the wire.
 */
#include "../wire/crc.h"
#include "traffic.h"
#include <rdmadump/clock.h>
#include <rdmadump/packet.h>
#include <rdmadump/units.h>
#include <string.h>

#define FRAMES	      4 /* frames of each shape */
#define FCS_BYTES     4
#define WRITES	      16
#define PAYLOAD_BYTES 512
#define TAGGED_BYTES  300
/* A priority. VLAN 0 is none: every other one may be in use on the network. */
#define TCI_PRIORITY 0x2000

enum icrc { ICRC_RIGHT, ICRC_ABSENT, ICRC_ZERO, ICRC_WRONG, ICRC_STATES };

static const char *const icrc_names[ICRC_STATES] = {[ICRC_RIGHT] = "icrc_right",
	[ICRC_ABSENT] = "icrc_absent",
	[ICRC_ZERO] = "icrc_zero",
	[ICRC_WRONG] = "icrc_wrong"};

struct contents {
	const struct rd_selftest *st;
	struct rd_probe_result *r;
	struct sniffer *sniffer;
	struct rd_clock clock;
	struct numbered m; /* what is being sent */
	bool full;	   /* the ring was full in all tries: some results are unknown */
	uint64_t known;	   /* frames that were compared */
	/* Raw frames of one shape. */
	struct numbered_sender sender;
	uint64_t seen, fcs, heads_changed;
	/* Raw frames without tags. */
	uint64_t plain, with_fcs, longer, cut;
	/* WRITEs. */
	uint64_t icrc[ICRC_STATES];
	struct pair pair;
};

/* Sends `count` numbers by t->send; false: nothing is known of them. */
static bool try_shape(struct contents *c, const struct traffic *t)
{
	struct traffic_seen seen;

	seen = traffic_run(c->st, c->sniffer, t, &c->m);
	c->full |= seen.full || seen.failed;
	c->known += c->m.frames;
	if (seen.error)
		result_errno(c->r, t->name, seen.error);
	return !seen.error && c->m.frames > 0;
}

/* --- raw frames: length, FCS, tags -------------------------------------------------------- */

static int send_raw(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct contents *c = ctx;

	c->seen = c->fcs = c->heads_changed = 0;
	return numbered_send(st, &c->sender, 0, w->m->count) == w->m->count ? 0 : EIO;
}

static void look_raw(void *ctx, const uint8_t *data, uint32_t len)
{
	struct contents *c = ctx;
	const uint8_t *block = numbered_find(&c->m, data, len);

	if (!block)
		return;
	c->seen++;
	c->fcs += crc_is_fcs(data, len);
	c->heads_changed += (size_t)(block - data) != c->sender.head_len ||
			    memcmp(data, c->sender.head, c->sender.head_len) != 0;
	result_frame(c->r, data, len, rd_clock_now(&c->clock));
}

static void report_shape(struct contents *c, const char *name)
{
	json_t *o = json_pack("{s:i, s:I, s:i, s:i, s:I, s:I}", "sent_bytes",
		(int)(c->sender.len - NUMBERED_HEAD + c->sender.head_len), "seen",
		(json_int_t)c->seen, "most_before", (int)c->m.most_before, "most_after",
		(int)c->m.most_after, "cut", (json_int_t)c->m.cut, "heads_changed",
		(json_int_t)c->heads_changed);

	result_json(c->r, name, o);
}

static void try_lengths(struct contents *c)
{
	const uint32_t most = c->st->port->netdevs[0].mtu >= 1500 ? 1514 : 512;
	const uint32_t lengths[] = {60, 61, 300, most};
	const struct traffic t = {
		.name = "raw_error", .send = send_raw, .ctx = c, .also = look_raw};

	for (size_t i = 0; i < RD_COUNT(lengths); i++) {
		char name[16];

		c->sender.len = lengths[i];
		if (!try_shape(c, &t))
			continue;
		snprintf(name, sizeof(name), "length_%u", lengths[i]);
		report_shape(c, name);
		c->plain += c->seen;
		c->cut += c->m.cut;
		if (c->fcs && c->m.most_after == FCS_BYTES)
			c->with_fcs += c->fcs;
		else
			c->longer += c->m.most_after ? c->seen : 0;
	}
}

/* Returns whether there was a finding. */
static bool judge_tag(struct contents *c, const char *name, bool known)
{
	if (!known && c->plain && !c->full && !c->sender.errors)
		result_found(c->r, "vlan_not_seen",
			"frames with a VLAN tag (%s) are not seen: captures lack them", name);
	else if (c->heads_changed && c->m.most_before < c->sender.head_len)
		result_found(c->r, "vlan_stripped",
			"VLAN tags are removed before the sniffer's copy (%s: %u of %u bytes of "
			"headers are left): captures do not show the VLAN",
			name, c->m.most_before, c->sender.head_len);
	else if (c->heads_changed)
		result_found(c->r, "vlan_changed",
			"headers with VLAN tags are seen with other bytes than were sent (%s)",
			name);
	else
		return false;
	return true;
}

/* One tag, then two. What is found with one is not repeated for two. */
static void try_tags(struct contents *c)
{
	static const struct {
		const char *name;
		uint16_t tpid;
	} tags[] = {{"vlan", 0x8100}, {"qinq", 0x88a8}};
	const struct traffic t = {
		.name = "tag_error", .send = send_raw, .ctx = c, .also = look_raw};
	bool found = false;

	result_number(c->r, "vlan_id", "", c->st->config->vlan);
	c->sender.len = TAGGED_BYTES;
	for (size_t i = 0; i < RD_COUNT(tags); i++) {
		bool known;

		numbered_sender_tag(
			&c->sender, tags[i].tpid, (uint16_t)(TCI_PRIORITY | c->st->config->vlan));
		known = try_shape(c, &t);
		report_shape(c, tags[i].name);
		if (!found)
			found = judge_tag(c, tags[i].name, known);
	}
}

static void judge_lengths(struct contents *c)
{
	if (c->with_fcs)
		result_found(c->r, "fcs_present",
			"%llu of %llu frames have four bytes more than were sent, their FCS: "
			"captures have to cut or announce it",
			(unsigned long long)c->with_fcs, (unsigned long long)c->plain);
	if (c->longer)
		result_found(c->r, "frames_longer",
			"%llu of %llu frames are longer than they were sent: bytes behind a packet "
			"are not the sender's",
			(unsigned long long)c->longer, (unsigned long long)c->plain);
	if (c->cut)
		result_found(c->r, "frames_cut",
			"%llu of %llu frames are shorter than they were sent: captures lack their "
			"ends",
			(unsigned long long)c->cut, (unsigned long long)c->plain);
}

static void try_raw(struct contents *c)
{
	int rc = numbered_sender_open(
		&c->sender, c->sniffer->ctx, c->st->port, c->m.run, TAGGED_BYTES);

	if (rc) {
		result_errno(c->r, "raw_error", rc);
	} else {
		try_lengths(c);
		judge_lengths(c);
		try_tags(c);
	}
	queue_pair_close(&c->sender.q);
}

/* --- WRITEs: ICRC, packets ---------------------------------------------------------------- */

static int open_own(void *ctx, uint32_t run)
{
	struct contents *c = ctx;

	memset(c->icrc, 0, sizeof(c->icrc));
	return pair_open(&c->pair, run);
}

static void close_own(void *ctx)
{
	struct contents *c = ctx;

	pair_close(&c->pair);
}

static int send_writes(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct contents *c = ctx;

	return traffic_messages(st, &c->pair.q[0], &c->pair.q[1], w, PAYLOAD_BYTES);
}

static enum icrc icrc_of(enum rd_link link, const uint8_t *data, uint32_t len, uint32_t after)
{
	uint32_t computed, stored;
	struct rd_packet p;

	if (after < RD_ICRC_LEN)
		return ICRC_ABSENT;
	if (!rd_packet_parse(link, data, len, len, &p) || !rd_packet_icrc(&p, &computed, &stored))
		return ICRC_WRONG;
	if (computed == stored)
		return ICRC_RIGHT;
	return stored ? ICRC_WRONG : ICRC_ZERO;
}

static void look_write(void *ctx, const uint8_t *data, uint32_t len)
{
	struct contents *c = ctx;
	const uint8_t *block = numbered_find(&c->m, data, len);
	uint32_t end;

	if (!block)
		return;
	result_frame(c->r, data, len, rd_clock_now(&c->clock));
	if (c->with_fcs && len > FCS_BYTES)
		len -= FCS_BYTES;
	end = (uint32_t)(block - data) + PAYLOAD_BYTES;
	c->icrc[icrc_of(c->st->port->link, data, len, len > end ? len - end : 0)]++;
}

static void try_icrc(struct contents *c)
{
	const struct traffic t = {
		"write_error", "", open_own, close_own, send_writes, c, true, look_write};
	static const char *const how[ICRC_STATES] = {[ICRC_ABSENT] = "end without their ICRC",
		[ICRC_ZERO] = "have zeros in place of their ICRC",
		[ICRC_WRONG] = "have a wrong ICRC"};

	if (!try_shape(c, &t))
		return;
	for (int i = 0; i < ICRC_STATES; i++) {
		result_number(c->r, icrc_names[i], "frames", c->icrc[i]);
		if (i != ICRC_RIGHT && c->icrc[i])
			result_found(c->r, icrc_names[i],
				"%llu copies of %u packets that this port sent %s: the device adds "
				"it later, so that ICRC checks mean nothing for sent packets",
				(unsigned long long)c->icrc[i], c->m.count, how[i]);
	}
}

static int send_message(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	struct contents *c = ctx;
	struct queue_pair *q = &c->pair.q[0];
	int rc;

	for (uint32_t i = 0; i < w->m->count; i++)
		numbered_block(q->memory + (size_t)i * q->mtu, q->mtu, w->m->run, i);
	rc = traffic_message(st, q, &c->pair.q[1], w->m->count * q->mtu, w, &status);
	return !rc && status != IBV_WC_SUCCESS ? EIO : rc;
}

/*
 * Packets of the largest message. Last, since a frame that is longer than a buffer may end the
 * sniffer's queue pair.
 */
static void try_message(struct contents *c)
{
	const struct traffic t = {
		"message_error", "", open_own, close_own, send_message, c, true, NULL};
	uint64_t errors = c->sniffer->errors;
	struct numbered_counts counts;

	try_shape(c, &t);
	errors = c->sniffer->errors - errors;
	counts = numbered_counts(&c->m);
	result_number(c->r, "message_packets", "frames", c->m.count);
	result_number(c->r, "message_seen", "frames", c->m.frames);
	result_number(c->r, "message_packets_lost", "frames", counts.never);
	result_number(c->r, "message_errors", "frames", errors);
	if (c->m.most_blocks > 1 || (errors && c->sniffer->last_status == IBV_WC_LOC_LEN_ERR))
		result_found(c->r, "not_segmented",
			"a message of 64 KiB is seen in frames longer than the path MTU: the copy "
			"is made before the device cuts it into packets; buffers must be large "
			"enough for that");
}

/* --- the probe ---------------------------------------------------------------------------- */

/* Runs a part with `count` numbers. */
static void try_part(struct contents *c, uint32_t count, void (*part)(struct contents *c))
{
	if (probe_over(c->st) || numbered_init(&c->m, count) < 0)
		return;
	part(c);
	numbered_free(&c->m);
}

static void try_all(struct contents *c)
{
	try_part(c, FRAMES, try_raw);
	try_part(c, WRITES, try_icrc);
	try_part(c, QUEUE_PAIR_BYTES / QUEUE_PAIR_MTU, try_message);
	result_bool(c->r, "ring_full", c->full);
	result_value(c->r, "%llu frame%s", (unsigned long long)c->known, rd_plural(c->known));
	if (!c->known && c->r->outcome == RD_PROBE_PASSED && !probe_over(c->st))
		result_skipped(c->r, "no frame could be sent, or none was seen: see 'send'");
	result_means(
		c->r, "frames are as they were sent, without FCS, with VLAN tags and valid ICRCs");
}

static void look(struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s)
{
	struct contents c = {.st = st,
		.r = r,
		.sniffer = s,
		.pair = {.ctx = s->ctx, .port = st->port, .type = IBV_QPT_RC}};

	rd_clock_set(&c.clock);
	try_all(&c);
}

const struct rd_probe rd_probe_contents = {.name = "contents",
	.question = "whether frames are seen as sent: length, FCS, VLAN tags, ICRC",
	.objects = "three of each: PD, MR, CQ, QP; flow",
	.frames = TRAFFIC_TRIES * (6 * FRAMES + WRITES + QUEUE_PAIR_BYTES / QUEUE_PAIR_MTU),
	.needs = RD_PROBE_SNIFFER | RD_PROBE_SENDER | RD_PROBE_ACTIVE,
	.look = look};
