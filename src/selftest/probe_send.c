/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How often the sniffer sees what this port sends: by the kernel's network stack, a raw-packet QP,
 * a multicast datagram, and a WRITE that nobody answers, so that it is retransmitted. Frames go to
 * the port's own address and to a multicast group that ends at the first router.
 */
#include "packet_socket.h"
#include "queue_pair.h"
#include "traffic.h"
#include <errno.h>

#define FRAME_BYTES   256
#define PAYLOAD_BYTES 128
#define WRITE_RETRIES 3

struct sending {
	struct sniffer *sniffer;
	const struct rd_port *port;
	enum ibv_wc_status status; /* of the WRITE */
};

/* --- one kind each ------------------------------------------------------------------------ */

static int send_raw(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct sending *sending = ctx;
	struct numbered_sender sender;
	int rc = numbered_sender_open(
		&sender, sending->sniffer->ctx, sending->port, w->m->run, FRAME_BYTES);

	if (!rc && numbered_send(st, &sender, 0, w->m->count) != w->m->count)
		rc = EIO;
	numbered_sender_close(&sender);
	return rc;
}

static int send_socket(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct sending *sending = ctx;

	(void)st;
	return packet_socket_send(sending->port, w->m, FRAME_BYTES);
}

static int send_multicast(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct sending *sending = ctx;
	struct queue_pair q;
	int rc = queue_pair_open(&q, sending->sniffer->ctx, sending->port, IBV_QPT_UD);

	if (!rc)
		rc = queue_pair_address(&q, NULL);
	if (!rc)
		rc = queue_pair_send_numbers(st, &q, NULL, w, PAYLOAD_BYTES);
	queue_pair_close(&q);
	return rc;
}

/* The other queue pair stays in INIT, where it drops all that it receives. */
static int send_write(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct sending *sending = ctx;
	struct queue_pair q, silent = {0};
	int rc = queue_pair_open(&q, sending->sniffer->ctx, sending->port, IBV_QPT_RC);

	q.retries = WRITE_RETRIES;
	if (!rc)
		rc = queue_pair_open(&silent, sending->sniffer->ctx, sending->port, IBV_QPT_RC);
	if (!rc)
		rc = queue_pair_connect(&q, &silent);
	if (!rc) {
		numbered_block(q.memory, PAYLOAD_BYTES, w->m->run, 0);
		rc = queue_pair_send(st, &q, &silent, PAYLOAD_BYTES, w, &sending->status);
	}
	queue_pair_close(&q);
	queue_pair_close(&silent);
	return rc;
}

/* --- what is seen ------------------------------------------------------------------------- */

/* Returns false if nothing is known of the kind. */
static bool try_kind(const struct rd_selftest *st, struct rd_probe_result *r,
	struct sending *sending, const struct traffic *t)
{
	struct traffic_seen seen;
	struct numbered m;

	if (numbered_init(&m, TRAFFIC_FRAMES) < 0)
		return false;
	seen = traffic_run(st, sending->sniffer, t, &m);
	traffic_report(r, t, &m, &seen);
	numbered_free(&m);
	return traffic_known(&seen);
}

static void judge_write(struct rd_probe_result *r, unsigned int times, enum ibv_wc_status status)
{
	const unsigned int most = 1 + WRITE_RETRIES;

	if (!times)
		result_found(r, "rc_not_seen",
			"a WRITE of a reliable connection was not seen: captures lack what this "
			"port sends to itself");
	else if (status != IBV_WC_RETRY_EXC_ERR)
		return;
	else if (times == 1)
		result_found(r, "retransmissions_not_seen",
			"a WRITE that nobody answered was seen once, though the device sent it "
			"up to %u times: captures lack retransmissions",
			most);
	else if (times >= 2 * most)
		result_found(r, "rc_twice",
			"a WRITE that was sent up to %u times was seen %u times: captures have "
			"duplicates that are no retransmissions",
			most, times);
}

/* Its one number counts transmissions. */
static bool try_write(
	const struct rd_selftest *st, struct rd_probe_result *r, struct sending *sending)
{
	const struct traffic t = {.name = "rc", .send = send_write, .ctx = sending};
	struct traffic_seen seen;
	struct numbered m;
	json_t *o;

	if (numbered_init(&m, 1) < 0)
		return false;
	seen = traffic_run(st, sending->sniffer, &t, &m);
	o = json_pack("{s:i, s:i, s:s, s:b, s:s}", "seen", m.times[0], "transmissions_most",
		1 + WRITE_RETRIES, "status", seen.error ? "" : ibv_wc_status_str(sending->status),
		"ring_full", seen.full, "error", error_name(seen.error));
	result_json(r, t.name, o);
	if (traffic_known(&seen))
		judge_write(r, m.times[0], sending->status);
	numbered_free(&m);
	return traffic_known(&seen);
}

static void try_all(const struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s)
{
	struct sending sending = {.sniffer = s, .port = st->port};
	const struct traffic kinds[] = {
		{"socket", "frames of a packet socket", send_socket, &sending, false},
		{"raw", "frames of a raw-packet QP", send_raw, &sending, false},
		{"multicast", "multicast datagrams", send_multicast, &sending, false},
	};
	unsigned int known = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !probe_over(st); i++)
		known += try_kind(st, r, &sending, &kinds[i]);
	if (!probe_over(st))
		known += try_write(st, r, &sending);
	result_value(r, "%u of 4 kinds", known);
	if (!known && !probe_over(st))
		result_skipped(r, "nothing could be sent, or the ring was always full: see the "
				  "errors in result.json");
	result_means(r, "what this port sends is seen once, of the kinds that worked");
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct sniffer s;

	if (traffic_sniffer(st, r, &s) == 0)
		try_all(st, r, &s);
	sniffer_close(&s);
}

const struct rd_probe rd_probe_send = {.name = "send",
	.question = "how often each kind of frames that this port sends is seen",
	.objects = "two of each: PD, MR, CQ, QP; flow, AH, packet socket",
	.frames = TRAFFIC_TRIES * (3 * TRAFFIC_FRAMES + 1 + WRITE_RETRIES),
	.needs = RD_PROBE_SNIFFER,
	.run = run};
