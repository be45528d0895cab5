/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What received frames have: their length against the lengths in their headers, FCS, ICRC. It sends
 * nothing, and waits for traffic of others.
 */
#include "../wire/crc.h"
#include "traffic.h"
#include <rdmadump/bytes.h>
#include <rdmadump/clock.h>
#include <rdmadump/packet.h>
#include <rdmadump/units.h>
#include <string.h>

#define WAIT_MS	    1000
#define FRAMES_MAX  200 /* ends the probe early; the frames of one more poll are still kept */
#define IPV4_HEADER 20
#define IPV6_HEADER 40

struct seen {
	struct rd_probe_result *result;
	struct rd_local local;
	enum rd_link link;
	uint64_t now_ns;
	uint64_t frames, with_length, fcs;
	uint64_t behind;   /* the maximum number of bytes after the end of the packet */
	uint64_t short_of; /* frames shorter than their headers say */
	struct {
		uint64_t right, wrong;
	} icrc[RD_DIRECTIONS];
};

/* The end of the IP packet by its header, even if it is beyond the end of the frame. */
static uint32_t end_by_header(const struct rd_packet *p)
{
	uint32_t left = p->caplen > p->l3 ? p->caplen - p->l3 : 0;

	if (p->net == RD_NET_IPV4 && left >= IPV4_HEADER)
		return p->l3 + rd_be16(p->data + p->l3 + 2);
	if (p->net == RD_NET_IPV6 && left >= IPV6_HEADER)
		return p->l3 + IPV6_HEADER + rd_be16(p->data + p->l3 + 4);
	return p->end;
}

static void look_at_packet(struct seen *s, const struct rd_frame *frame)
{
	uint32_t computed, stored;
	struct rd_packet p;
	bool is_roce = rd_packet_parse(s->link, frame->data, frame->caplen, frame->len, &p);

	if (p.net != RD_NET_NONE && p.end) {
		s->with_length++;
		if (end_by_header(&p) > frame->len)
			s->short_of++;
		else if (frame->len - p.end > s->behind)
			s->behind = frame->len - p.end;
	}
	if (!is_roce || !rd_packet_icrc(&p, &computed, &stored))
		return;
	if (computed == stored)
		s->icrc[frame->direction].right++;
	else
		s->icrc[frame->direction].wrong++;
}

static void look(void *ctx, const uint8_t *data, uint32_t len)
{
	struct seen *s = ctx;
	struct rd_frame frame = {.data = data, .caplen = len, .len = len};

	rd_direction_mark(&s->local, &frame, 1);
	s->frames++;
	s->fcs += s->link == RD_LINK_ETHERNET && crc_is_fcs(data, len);
	look_at_packet(s, &frame);
	result_frame(s->result, data, len, s->now_ns);
}

static void receive(const struct rd_selftest *st, struct sniffer *s, struct seen *seen)
{
	struct rd_clock clock;
	uint64_t end = rd_monotonic_ns() + WAIT_MS * 1000000ULL;

	rd_clock_set(&clock);
	while (!probe_over(st) && rd_monotonic_ns() < end && seen->frames < FRAMES_MAX) {
		seen->now_ns = rd_clock_now(&clock);
		if (!sniffer_poll(s, look, seen))
			probe_sleep_ms(st, 1);
	}
}

static void report(const struct seen *s, struct rd_probe_result *r, const struct sniffer *from)
{
	result_number(r, "frames", "frames", s->frames);
	result_number(r, "error_completions", "frames", from->errors);
	result_number(r, "with_length", "frames", s->with_length);
	result_number(r, "shorter_than_header", "frames", s->short_of);
	result_number(r, "most_after_packet", "bytes", s->behind);
	result_number(r, "fcs", "frames", s->fcs);
	result_number(r, "icrc_right_received", "frames", s->icrc[RD_DIR_IN].right);
	result_number(r, "icrc_wrong_received", "frames", s->icrc[RD_DIR_IN].wrong);
	result_number(r, "icrc_right_sent", "frames", s->icrc[RD_DIR_OUT].right);
	result_number(r, "icrc_wrong_sent", "frames", s->icrc[RD_DIR_OUT].wrong);
	result_number(r, "icrc_right_unknown", "frames", s->icrc[RD_DIR_UNKNOWN].right);
	result_number(r, "icrc_wrong_unknown", "frames", s->icrc[RD_DIR_UNKNOWN].wrong);
}

static void judge(const struct seen *s, struct rd_probe_result *r)
{
	uint64_t wrong_in = s->icrc[RD_DIR_IN].wrong + s->icrc[RD_DIR_UNKNOWN].wrong;

	if (!s->frames) {
		result_skipped(r, "no frame arrived within 1 s: repeat it while there is traffic");
		return;
	}
	result_value(r, "%llu frame%s", (unsigned long long)s->frames, rd_plural(s->frames));
	/* One frame in 2^32 ends like this by chance. */
	if (s->fcs)
		result_found(r, "fcs_present",
			"%llu frame%s with the FCS at the end, which captures have to cut or "
			"announce",
			(unsigned long long)s->fcs, rd_plural(s->fcs));
	if (s->short_of)
		result_found(r, "frames_cut",
			"%llu frame%s shorter than the headers say: the device cuts frames, "
			"or hands them over before it segments them",
			(unsigned long long)s->short_of, rd_plural(s->short_of));
	if (wrong_in)
		result_found(r, "icrc_wrong_received",
			"%llu received packet%s with a wrong ICRC: ICRC checks of captures mean "
			"nothing here, or the network damages packets",
			(unsigned long long)wrong_in, rd_plural(wrong_in));
	if (s->icrc[RD_DIR_OUT].wrong)
		result_found(r, "icrc_wrong_sent",
			"%llu sent packet%s without a valid ICRC: the device adds it after the "
			"sniffer's copy",
			(unsigned long long)s->icrc[RD_DIR_OUT].wrong,
			rd_plural(s->icrc[RD_DIR_OUT].wrong));
	result_means(r, "frames are whole, without FCS, and their ICRCs are right");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s)
{
	struct seen seen = {.result = r, .link = st->port->link};
	const void *cqes;
	size_t n;

	rd_port_addresses(&seen.local, "", st->device, st->port);
	receive(st, s, &seen);
	cqes = sniffer_cqes(s, &n);
	if (cqes && seen.frames)
		result_cqes(r, cqes, n);
	report(&seen, r, s);
	if (!traffic_is_unreadable(r, s))
		judge(&seen, r);
}

const struct rd_probe rd_probe_receive = {.name = "receive",
	.question = "what received frames have: length, FCS, ICRC",
	.objects = "PD, MR (2.5 MiB), CQ, QP, flow",
	.needs = RD_PROBE_SNIFFER,
	.look = run};
