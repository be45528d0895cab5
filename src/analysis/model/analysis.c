/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Takes frames in batches: counts each, checks its CRC, passes it to the part that handles it. */
#include "facts.h"
#include "message.h"
#include "request.h"
#include <errno.h>
#include <stdlib.h>

#define VCRC_LEN	      2
#define PAYLOAD_MAX	      4096
#define ETHERTYPE_MAC_CONTROL 0x8808
#define STEP_NS		      UINT64_C(100000000)   /* what a clock is set by */
#define FAR_TOO_LONG_NS	      UINT64_C(10000000000) /* for a request of a sender with a timer */
#define RECENTLY_NS	      UINT64_C(10000000)    /* QPs idle for longer are not counted */

enum part { PART_NONE, PART_REQUEST, PART_RESPONSE, PART_UC, PART_UD, PART_CNP };

static uint8_t part_of(unsigned int opcode)
{
	const struct rd_opcode *op = &rd_opcodes[opcode];

	if (!op->name)
		return PART_NONE;
	switch (opcode >> 5) {
	case RD_RC:
	case RD_XRC:
		return op->bits & RD_OP_RESPONSE ? PART_RESPONSE : PART_REQUEST;
	case RD_UC:
		return PART_UC;
	case RD_UD:
		return PART_UD;
	case RD_CNP:
		return PART_CNP;
	default:
		return PART_NONE;
	}
}

int rd_analysis_open(
	struct rd_analysis **out, const struct rd_analysis_config *config, struct rd_error *err)
{
	struct rd_analysis *a = calloc(1, sizeof(*a));

	if (!a)
		goto fail;
	a->config = *config;
	a->app_budget = (struct app_budget){SAMPLES_ALL, APP_OPEN_ALL, APP_OPERATIONS_ALL};
	a->facts_ns = UINT64_MAX;
	if (!a->config.max_qps)
		a->config.max_qps = RD_ANALYSIS_QPS;
	pair_init(a);
	datagram_init(a);
	a->refused.beginning = calloc(BEGINNINGS, sizeof(*a->refused.beginning));
	a->paths = calloc(1, sizeof(*a->paths));
	if (!a->refused.beginning || !a->paths || !grid_init(&a->grid) ||
		!flow_table_init(&a->flows, a->config.max_qps))
		goto fail;
	if (config->psn_plots)
		a->psn_plots = psn_plots_open();
	if (config->psn_plots && !a->psn_plots)
		goto fail;
	for (unsigned int i = 0; i < 256; i++)
		a->parts[i] = part_of(i);
	*out = a;
	return 0;
fail:
	rd_analysis_close(a);
	return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot start the analysis");
}

/* --- checksums -------------------------------------------------------------------------------- */

/*
 * Wrong CRCs mean damage only among right ones: zeroed payload has none, nor have frames captured
 * before the NIC computed the CRC, which may be those of one direction only.
 */
static inline bool icrc_believed(const struct rd_analysis *a, unsigned int direction)
{
	return a->icrc[direction].good > a->icrc[direction].bad;
}

enum icrc { ICRC_GOOD, ICRC_BAD, ICRC_UNKNOWN, ICRC_ABSENT };

/*
 * Zeros in place of the ICRC: the NIC computes it later, or a capture put them where an InfiniBand
 * adapter delivers neither ICRC nor VCRC. Damage hardly makes zeros of all its bits.
 */
static bool is_left_out(const struct rd_packet *p, uint32_t stored)
{
	return stored == 0 && (p->kind != RD_KIND_IB || (p->caplen >= p->end + VCRC_LEN &&
								rd_be16(p->data + p->end) == 0));
}

static inline enum icrc icrc_of(const struct rd_analysis *a, const struct rd_packet *p)
{
	uint32_t computed, stored;

	if (a->config.skip_icrc || !rd_packet_icrc(p, &computed, &stored))
		return ICRC_UNKNOWN;
	if (computed == stored)
		return ICRC_GOOD;
	return is_left_out(p, stored) ? ICRC_ABSENT : ICRC_BAD;
}

/* A damaged or trimmed frame makes no flow: its addresses may be wrong. Receivers drop it. */
static void damaged(struct rd_analysis *a, const struct item *it, enum rd_incident_kind kind)
{
	const struct rd_packet *p = it->p;
	struct flow *f = flow_made(a, it);

	if (f) {
		f->traffic.frames++;
		flow_unproven(f);
		f->traffic.wire_bytes += p->len;
		flow_incident(a, f, kind, 1);
	} else if (kind == RD_INC_ICRC) {
		incident_add(&a->icrc_lost, 1, a->frame, a->ns);
	}
}

/* --- frames ----------------------------------------------------------------------------------- */

/* A new flow may be the other direction of an existing one. */
static struct flow *flow_find_or_pair(struct rd_analysis *a, const struct item *it)
{
	bool made;
	struct flow *f = flow_find(a, it, &made);

	if (f && made) {
		place_new(a, f);
		pair_new_flow(a, f);
	}
	return f;
}

static inline struct flow *flow_of(struct rd_analysis *a, const struct item *it, unsigned int part)
{
	struct flow *f = part == PART_UD ? NULL : flow_recent(&a->flows, it);

	return f ? f : flow_find_or_pair(a, it);
}

static inline uint32_t ip_id(const struct rd_packet *p)
{
	return p->net == RD_NET_IPV4 ? rd_be16(p->data + p->l3 + 4) : 0x10000;
}

static void flow_marks(struct rd_analysis *a, struct flow *f, const struct rd_packet *p)
{
	if (p->flags & (RD_PACKET_CUT | RD_PACKET_MALFORMED)) {
		flow_incident(a, f, p->flags & RD_PACKET_CUT ? RD_INC_CUT : RD_INC_MALFORMED, 1);
		a->totals.malformed += (p->flags & RD_PACKET_MALFORMED) != 0;
		a->totals.cut += (p->flags & RD_PACKET_CUT) != 0;
	}
	if (p->kind == RD_KIND_IB ? p->bth_bits & RD_BTH_FECN : (rd_packet_tclass(p) & 3) == 3) {
		flow_incident(a, f, RD_INC_CE, 1);
		a->point->ce++;
		if (p->op && !(p->op->bits & (RD_OP_ACK | RD_OP_CNP)))
			congestion_marked(a, f);
	}
	priority_take(a, f, p);
}

/* Whether a frame is of the common form: Ethernet, no VLAN tag, the last traffic class, not cut. */
static inline bool is_plain(const struct flow *f, const struct rd_packet *p)
{
	if (p->common)
		return p->data[RD_COMMON_L3 + 1] == f->priority.tclass;
	return !p->flags && p->l3 == RD_COMMON_L3 && rd_packet_tclass(p) == f->priority.tclass;
}

static inline void flow_count(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	const struct rd_packet *p = it->p;

	a->point = grid_point(&a->grid, f->all.row, it->ns);
	if (it->ns - f->rate.since_ns >= RATE_SLOT_NS)
		rate_slot(a, f, it->ns);
	if (a->pauses)
		pause_gap(a, f, it);
	f->traffic.frames++;
	f->traffic.wire_bytes += p->len;
	f->traffic.payload_bytes += p->payload_len;
	f->traffic.last_ns = it->ns;
	f->traffic.last_frame = it->frame;
	a->point->frames++;
	a->point->wire_bytes += p->len;
	host_path_take(a->paths, f->path, p->len, it->ns, it->frame);
	if (!is_plain(f, p))
		flow_marks(a, f, p);
}

/* Messages that a peer has begun as well: one that is farther ahead does not wait. */
#define IN_STEP 8

/* A request, and what its side's time was spent on up to it. */
static inline void request_take(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	const struct flow *peer = f->pair.peer;
	uint32_t next = f->req.next;
	bool refused = f->ack.rnr_frame;
	struct times *t = f->times ? f->times : flow_times(a, f);

	request_rc(a, f, it);
	if (!t)
		return;
	if (f->req.next == next) {
		/* What is late or a copy repeats nothing. */
		times_spend(t,
			refused				    ? RD_TIME_NOT_READY
			: f->trouble && f->trouble->repeats ? RD_TIME_RECOVERY
							    : RD_TIME_SENDING,
			it->ns);
	} else if (it->p->op->bits & RD_OP_FIRST) {
		t->messages++;
		if (f->ack.idle && peer && peer->times &&
			peer->times->messages - t->messages < IN_STEP)
			host_late(f->path->from, t->last_ns, it->ns);
		if (f->ack.idle)
			times_resume(t, peer ? peer->req.message_ns : 0, it->ns);
		else
			times_spend(t, RD_TIME_SENDING, it->ns);
	} else {
		if (it->p->payload_len == f->req.mtu)
			times_gap(t, it->ns);
		times_spend(t, RD_TIME_SENDING, it->ns);
	}
	f->ack.idle = false;
	f->path->to->in_ns = it->ns;
}

/* A response, and what the requester's time was spent on up to it. */
static inline void response_take(struct rd_analysis *a, struct flow *f, const struct item *it)
{
	unsigned int bits = it->p->op->bits;
	bool further = bits & RD_OP_READ && !(bits & RD_OP_FIRST);
	struct flow *r = f->pair.peer;

	if (bits & RD_OP_READ)
		f->path->to->in_ns = it->ns;
	if (r && r->times && !r->ack.idle) {
		if (further && it->p->payload_len == r->req.mtu)
			times_gap(r->times, it->ns);
		times_spend(r->times,
			r->round.active ? RD_TIME_RECOVERY
			: further	? RD_TIME_RECEIVING
					: RD_TIME_WAITING,
			it->ns);
	}
	response_rc(a, f, it);
	if (!f->pair.peer || !f->pair.peer->times)
		return;
	if (!r) /* this response made them a pair */
		times_spend(f->pair.peer->times, RD_TIME_WAITING, it->ns);
	r = f->pair.peer;
	r->ack.idle = r->ack.acked && r->ack.una == r->req.next;
}

static inline void part_run(
	struct rd_analysis *a, struct flow *f, const struct item *it, unsigned int part)
{
	switch (part) {
	case PART_REQUEST:
		request_take(a, f, it);
		break;
	case PART_RESPONSE:
		response_take(a, f, it);
		break;
	case PART_UC:
		request_uc(a, f, it);
		break;
	case PART_UD:
		request_datagram(a, f, it);
		if (it->p->dest_qp == 1) {
			mad_take(a, it);
			cm_message(a, f, it);
		}
		break;
	case PART_CNP:
		response_cnp(a, f, it);
		break;
	default:
		break;
	}
}

static void other(struct rd_analysis *a, const struct rd_packet *p, uint64_t ns)
{
	struct rd_point *point = grid_point(&a->grid, 0, ns);

	a->totals.other_frames++;
	a->totals.cut += (p->flags & RD_PACKET_CUT) != 0;
	a->totals.fragments += (p->flags & RD_PACKET_FRAGMENT) != 0;
	unread_take(a, p);
	point->frames++;
	point->wire_bytes += p->len;
}

static void packet_take(struct rd_analysis *a, struct item *it, unsigned int direction);

/* The packets of a frame that the host merged; false: it did not. */
static bool parts_take(struct rd_analysis *a, const struct item *it, unsigned int direction)
{
	const uint32_t step = rd_packet_merged(it->p);
	uint8_t bytes[RD_PART_MAX];
	uint32_t len;

	if (!step)
		return false;
	incident_add(&a->merged, 1, a->frame, a->ns);
	for (uint32_t i = 0; (len = rd_packet_part(it->p, step, i, bytes)); i++) {
		struct rd_packet p;
		struct item part = *it;

		a->merged_packets++;
		part.p = &p;
		part.part = true;
		if (rd_packet_parse(a->in.link, bytes, len, len, &p))
			packet_take(a, &part, direction);
	}
	return true;
}

/* False: the frame is damaged, so receivers drop it, or it is not RoCE, or its parts were taken. */
static __attribute__((noinline)) bool unproven_take(
	struct rd_analysis *a, const struct item *it, enum icrc icrc, unsigned int direction)
{
	const bool wrong = icrc == ICRC_BAD && icrc_believed(a, direction);

	/* The ICRC of a part may be over what the host did not keep, as the IP identification. */
	if (it->part) {
		a->totals.icrc_unchecked++;
		return true;
	}
	if (!it->network && !(it->place & 1) && (wrong || it->p->payload_len > PAYLOAD_MAX) &&
		parts_take(a, it, direction))
		return false;
	if (foreign_take(a, it)) {
		a->totals.rdma_frames--;
		other(a, it->p, a->ns);
		return false;
	}
	if ((wrong || it->p->flags & RD_PACKET_MALFORMED) && rd_packet_trimmed(it->p)) {
		damaged(a, it, RD_INC_TRIMMED);
		return false;
	}
	if (icrc != ICRC_BAD) {
		a->totals.icrc_unchecked++;
		a->totals.icrc_absent += icrc == ICRC_ABSENT;
		return true;
	}
	a->totals.icrc_bad++;
	a->icrc[direction].bad++;
	if (!icrc_believed(a, direction))
		return true;
	damaged(a, it, RD_INC_ICRC);
	return false;
}

/* The packet in a tunnel instead of the frame; false: there is none, or tunnels stay closed. */
static bool tunnel_take(struct rd_analysis *a, enum rd_link link, const struct rd_frame *frame,
	struct rd_packet *p, struct item *it)
{
	bool proven = false;
	struct rd_inner in;

	if (!rd_packet_inner(link, frame, p, &in))
		return false;
	if (!a->tunnels_proven || foreign_may_be(p))
		proven = icrc_of(a, p) == ICRC_GOOD;
	it->network = in.network;
	if (!proven && foreign_take(a, it))
		return false;
	a->tunnels_proven |= proven;
	incident_add(&a->tunnels, 1, a->frame, a->ns);
	a->totals.tunnel_kinds |= in.tunnels;
	if (a->config.tunnels == RD_TUNNELS_NEVER) {
		a->totals.tunnels_left++;
		return false;
	}
	a->totals.tunnelled++;
	it->place |= a->config.tunnels == RD_TUNNELS_AUTO;
	return true;
}

/* A long pause of all traffic. */
static void silence(struct rd_analysis *a, uint64_t ns)
{
	uint64_t pause = ns - a->ns;
	unsigned int open = 0;

	a->stops++;
	a->stopped_ns += pause;
	for (size_t i = 0; i < a->flows.n && i < 4096; i++)
		open += a->flows.all[i]->ack.open_since_ns &&
			a->ns - a->flows.all[i]->traffic.last_ns < RECENTLY_NS;
	if (pause > (open < 2 ? FAR_TOO_LONG_NS : STEP_NS)) {
		a->pause_ns = pause;
		a->pause_end_ns = ns;
	}
	if (open < 2)
		return;
	a->totals.silences++;
	if (pause > a->totals.longest_silence_ns) {
		a->totals.longest_silence_ns = pause;
		a->totals.silence_frame = a->frame + 1;
	}
}

/* The first frame, one with an earlier time than the one before, or one after a pause. */
static __attribute__((noinline)) void time_jumps(struct rd_analysis *a, uint64_t ns)
{
	if (!a->totals.first_ns)
		a->totals.first_ns = ns;
	if (ns < a->ns) {
		a->totals.backwards++;
		a->totals.first_ns = RD_MIN(a->totals.first_ns, ns);
	} else if (a->ns) {
		silence(a, ns);
	}
}

#define FINE_NS	   1000U /* a clock's step may be smaller: it does not matter */
#define ADJUSTED   16	 /* a step's part by which multiples of it may differ */
#define STEPS_MOST 256	 /* in more steps, adjustments add up to more than that */

/*
 * The greatest common divisor of the times between frames, about: whoever sets a clock's rate makes
 * its steps unequal.
 */
static __attribute__((noinline)) void clock_step(struct rd_analysis *a, uint64_t longer)
{
	uint64_t step = a->totals.step_ns, rest;

	if (!step || longer < step) {
		rest = step;
		step = longer;
		longer = rest;
	}
	while (longer / step < STEPS_MOST && (rest = longer % step) > step / ADJUSTED) {
		longer = step;
		step = rest;
	}
	a->totals.step_ns = step;
}

static inline void time_take(struct rd_analysis *a, uint64_t ns)
{
	uint64_t step = ns - a->ns;

	if (step > WAITED_NS || !a->ns)
		time_jumps(a, ns);
	if (a->totals.step_ns - 1 >= FINE_NS && a->ns && ns > a->ns) /* 0: none yet */
		clock_step(a, step);
	a->totals.last_ns = RD_MAX(a->totals.last_ns, ns);
	a->ns = ns;
}

void times_begin(struct rd_analysis *a, uint64_t ns)
{
	if (!a->frame)
		a->totals.moved_ns = rd_time_move(ns);
}

/* Whether a frame is within --time, counted from the first frame. */
static bool in_time(struct rd_analysis *a, uint64_t ns)
{
	if (!a->origin_ns)
		a->origin_ns = ns;
	ns = ns > a->origin_ns ? ns - a->origin_ns : 0;
	return ns >= a->config.from_ns && ns <= a->config.to_ns;
}

static inline void packet_take(struct rd_analysis *a, struct item *it, unsigned int direction)
{
	const struct rd_packet *p = it->p;
	const enum icrc icrc = icrc_of(a, p);
	unsigned int part;
	struct flow *f;

	if (icrc != ICRC_GOOD && !unproven_take(a, it, icrc, direction))
		return;
	a->totals.icrc_good += icrc == ICRC_GOOD;
	a->icrc[direction].good += icrc == ICRC_GOOD;
	/* Of InfiniBand: SMPs use a separate virtual lane (VL15), and do not belong to a QP. */
	if (p->kind == RD_KIND_IB && !p->dest_qp && rd_packet_is_mad(p)) {
		mad_take_smp(a, it);
		return;
	}
	part = a->parts[p->opcode];
	f = part ? flow_of(a, it, part) : NULL;
	if (!f) {
		a->totals.frames_left_out += part != PART_NONE;
		other(a, p, it->ns);
		return;
	}
	it->ip_id = ip_id(p);
	if (it->place != f->place.home && place_leaves(a, f, it)) {
		other(a, p, it->ns);
		return;
	}
	flow_count(a, f, it);
	f->all.directions |= (uint8_t)(1U << direction);
	if (icrc != ICRC_GOOD)
		flow_unproven(f);
	part_run(a, f, it, part);
}

static inline void frame_take(
	struct rd_analysis *a, enum rd_link link, const struct rd_frame *frame)
{
	struct rd_packet p;
	struct item it = {.p = &p,
		.ns = frame->ts_ns + a->totals.moved_ns,
		.place = (uint8_t)((unsigned int)frame->iface << 1)};

	a->frame++;
	if (it.ns >= a->facts_ns)
		facts_pass(a, it.ns);
	if (a->config.to_ns && !in_time(a, it.ns))
		return;
	time_take(a, it.ns);
	it.frame = a->frame;
	a->totals.frames++;
	a->totals.wire_bytes += frame->len;
	if (frame->caplen < frame->len)
		a->totals.truncated++;
	if (!rd_packet_parse(link, frame->data, frame->caplen, frame->len, &p) &&
		!tunnel_take(a, link, frame, &p, &it)) {
		other(a, &p, it.ns);
		if (p.ethertype == ETHERTYPE_MAC_CONTROL)
			pause_take(a, &p, frame);
		return;
	}
	a->totals.rdma_frames++;
	packet_take(a, &it, frame->direction < RD_DIRECTIONS ? frame->direction : RD_DIR_UNKNOWN);
}

void rd_analysis_frames(struct rd_analysis *a, const struct rd_iface *iface,
	const struct rd_frame *frames, unsigned int n)
{
	struct rd_report_file *file = a->in.n_files ? &a->in.files[a->in.n_files - 1] : NULL;

	if (!n)
		return;
	times_begin(a, frames[0].ts_ns);
	if (a->in.pending_dropped) {
		incident_add(&a->dropped, a->in.pending_dropped, a->frame + 1,
			frames[0].ts_ns + a->totals.moved_ns);
		a->in.pending_dropped = 0;
	}
	a->in.link = iface->link;
	a->in.linktype = iface->link == RD_LINK_RAW ? iface->dlt : -1;
	a->in.speed = iface->speed;
	if (iface->filter && !a->in.filter)
		a->in.filter = strdup(iface->filter);
	for (unsigned int i = 0; i < n; i++)
		frame_take(a, iface->link, &frames[i]);
	if (!file)
		return;
	if (!file->frames)
		file->first_ns = frames[0].ts_ns + a->totals.moved_ns;
	file->frames += n;
	file->last_ns = frames[n - 1].ts_ns + a->totals.moved_ns;
}

void rd_analysis_close(struct rd_analysis *a)
{
	if (!a)
		return;
	report_files_free(a->in.files, a->in.n_files);
	apps_free(a);
	flow_table_free(&a->flows);
	analysis_facts_free(a->facts);
	grid_free(&a->grid);
	free(a->refused.beginning);
	free(a->refused.request);
	psn_plots_free(a->psn_plots);
	free(a->paths);
	free(a->marks.rows);
	free(a->pauses);
	bounded_free(&a->psns);
	bounded_free(&a->qkeys);
	mad_free(a->mads);
	bounded_free(&a->links);
	free(a->in.application);
	free(a->in.hardware);
	free(a->in.os);
	free(a->in.filter);
	free(a);
}
