/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How often the sniffer saw one kind of traffic. */
#include "traffic.h"
#include <rdmadump/packet.h>
#include <rdmadump/printable.h>

static void try_once(const struct rd_selftest *st, struct sniffer *s, const struct traffic *t,
	struct numbered *m, struct traffic_seen *seen)
{
	struct watch w = {.sniffer = s, .m = m};
	uint64_t errors = s->errors, too_long = s->too_long;
	struct recovery done;

	numbered_reset(m);
	m->also = t->also;
	m->also_ctx = t->ctx;
	seen->error = t->open ? t->open(t->ctx, m->run) : 0;
	sniffer_drain(s, NULL, NULL);
	if (!seen->error)
		seen->error = t->send(st, t->ctx, &w);
	seen->full = numbered_collect(st, s, m) | w.full;
	if (t->close)
		t->close(t->ctx);
	/* A frame that is too long is no failure of the device, but may end in an error state. */
	seen->failed = s->errors != errors && s->too_long == too_long;
	if (seen->failed)
		recover(s, &done);
	if (seen->failed && done.errnum)
		seen->error = done.errnum;
}

struct traffic_seen traffic_run(const struct rd_selftest *st, struct sniffer *s,
	const struct traffic *t, struct numbered *m)
{
	struct traffic_seen seen = {.full = true};

	for (unsigned int i = 0; i < TRAFFIC_TRIES && !traffic_known(&seen) && !seen.error; i++)
		try_once(st, s, t, m, &seen);
	seen.counts = numbered_counts(m);
	seen.compressed = s->compressed;
	return seen;
}

bool traffic_known(const struct traffic_seen *seen)
{
	return !seen->error && !seen->full && !seen->failed && !seen->compressed;
}

/* Whether completions are compressed; if so, adds this as a finding. */
static bool is_unreadable(struct rd_probe_result *r, const struct sniffer *s)
{
	if (!s->compressed)
		return false;
	r->compressed = true;
	result_found(r, "completions_compressed",
		"the device compresses completions, which nobody requested: captures cannot read "
		"them; please report it with this result, and whether mlxconfig query shows "
		"CQE_COMPRESSION as AGGRESSIVE(1): the default is BALANCED(0)");
	return true;
}

static void report(struct rd_probe_result *r, const struct traffic *t, const struct numbered *m,
	const struct traffic_seen *seen)
{
	const struct numbered_counts *c = &seen->counts;

	result_json(r, t->name,
		json_pack("{s:i, s:i, s:i, s:i, s:I, s:b, s:b, s:s}", "sent",
			seen->error ? 0 : (int)m->count, "once", (int)c->once, "more", (int)c->more,
			"never", seen->error ? 0 : (int)c->never, "changed", (json_int_t)m->changed,
			"ring_full", (int)seen->full, "queue_failed", (int)seen->failed, "error",
			error_name(seen->error)));
}

/* A finding whose key is "NAME_ENDING". */
__attribute__((format(printf, 4, 5))) static void found(struct rd_probe_result *r,
	const struct traffic *t, const char *ending, const char *fmt, ...)
{
	char key[48], text[RESULT_TEXT];

	snprintf(key, sizeof(key), "%s_%s", t->name, ending);
	RD_FORMAT(text, sizeof(text), fmt);
	result_found(r, key, "%s: %s", t->what, text);
}

static void judge(struct rd_probe_result *r, const struct traffic *t, const struct numbered *m,
	const struct numbered_counts *c)
{
	if (c->never == m->count)
		found(r, t, "not_seen", "none of %u was seen: captures lack them", m->count);
	else if (c->never)
		found(r, t, "lost",
			"%u of %u were not seen, though the ring had room: captures lack some of "
			"them",
			c->never, m->count);
	if (c->more && t->reliable && c->once)
		found(r, t, "retransmitted",
			"%u of %u were seen again, the others once: the device loses packets of "
			"its own and retransmits them",
			c->more, m->count);
	else if (c->more)
		found(r, t, "twice",
			"%u of %u were seen more than once: captures have duplicates that are no "
			"retransmissions",
			c->more, m->count);
	if (m->changed)
		found(r, t, "changed", "%llu were seen with other bytes than were sent",
			(unsigned long long)m->changed);
}

bool traffic_try(const struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s,
	const struct traffic *t, uint32_t count)
{
	struct traffic_seen seen;
	struct numbered m;

	if (probe_over(st) || numbered_init(&m, count) < 0)
		return false;
	seen = traffic_run(st, s, t, &m);
	report(r, t, &m, &seen);
	if (traffic_known(&seen))
		judge(r, t, &m, &seen.counts);
	numbered_free(&m);
	return traffic_known(&seen);
}

void traffic_summarize(const struct rd_selftest *st, struct rd_probe_result *r,
	const struct sniffer *s, unsigned int known, unsigned int tried, const char *means)
{
	result_value(r, "%u of %u kinds", known, tried);
	if (is_unreadable(r, s))
		return;
	if (!known && !probe_over(st))
		result_skipped(r, "nothing could be sent, or the ring was always full: see "
				  "result.json");
	result_means(r, "%s is seen once, of the kinds that worked", means);
}

/* --- messages ----------------------------------------------------------------------------- */

int traffic_message(const struct rd_selftest *st, struct queue_pair *q, const struct queue_pair *to,
	uint32_t n, struct watch *w, enum ibv_wc_status *status)
{
	int rc = queue_pair_post(q, to, 0, n), got;

	if (rc)
		return rc;
	while (!(got = queue_pair_poll(q, status)) && !probe_over(st)) {
		/* A ring that was full has as many completions as buffers. */
		w->full |= sniffer_drain(w->sniffer, numbered_look, w->m) >= RING_BUFFERS;
		probe_sleep_ms(st, 1);
	}
	return got > 0 ? 0 : got < 0 ? EIO : ETIMEDOUT;
}

int traffic_messages(const struct rd_selftest *st, struct queue_pair *q,
	const struct queue_pair *to, struct watch *w, uint32_t n)
{
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	int rc = 0;

	for (uint32_t i = 0; i < w->m->count && !rc; i++) {
		numbered_block(q->memory, n, w->m->run, i);
		rc = traffic_message(st, q, to, n, w, &status);
		if (!rc && status != IBV_WC_SUCCESS)
			rc = status == IBV_WC_RETRY_EXC_ERR ? EHOSTUNREACH : EIO;
	}
	return rc;
}

/* --- between two queue pairs -------------------------------------------------------------- */

int pair_open(void *ctx, uint32_t run)
{
	struct pair *p = ctx;
	struct queue_pair *q = p->q;
	int rc = queue_pair_open(&q[0], p->ctx, p->port, p->type);

	(void)run;
	p->acks = 0;
	if (!rc)
		rc = queue_pair_open(&q[1], p->ctx, p->port, p->type);
	if (!rc && p->type == IBV_QPT_UD)
		return queue_pair_address(&q[0], &q[1]);
	if (!rc)
		rc = queue_pair_connect(&q[1], &q[0]);
	return rc ? rc : queue_pair_connect(&q[0], &q[1]);
}

static int pair_send(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct pair *p = ctx;

	return traffic_messages(st, &p->q[0], &p->q[1], w, TRAFFIC_BYTES);
}

void pair_close(void *ctx)
{
	struct pair *p = ctx;

	queue_pair_close(&p->q[0]);
	queue_pair_close(&p->q[1]);
}

static void count_acks(void *ctx, const uint8_t *data, uint32_t len)
{
	struct pair *p = ctx;
	struct rd_packet packet;

	p->acks += rd_packet_parse(p->port->link, data, len, len, &packet) &&
		   packet.op->bits & RD_OP_ACK && p->q[0].qp &&
		   packet.dest_qp == p->q[0].qp->qp_num;
}

unsigned int traffic_within_port(const struct rd_selftest *st, struct rd_probe_result *r,
	struct sniffer *s, unsigned int *acks)
{
	struct pair p = {.ctx = s->ctx, .port = st->port, .type = IBV_QPT_RC};
	const struct traffic rc = {"rc", "WRITEs between two connected QPs of the port", pair_open,
		pair_close, pair_send, &p, true, count_acks};
	const struct traffic ud = {"ud", "datagrams between two QPs of the port", pair_open,
		pair_close, pair_send, &p, false, NULL};
	unsigned int known = traffic_try(st, r, s, &rc, TRAFFIC_FRAMES);

	*acks = p.acks;
	p.type = IBV_QPT_UD;
	return known + traffic_try(st, r, s, &ud, TRAFFIC_FRAMES);
}
