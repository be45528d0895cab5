/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How often the sniffer saw one kind of traffic. */
#include "traffic.h"
#include "recover.h"
#include <stdio.h>
#include <string.h>

int traffic_sniffer(const struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s)
{
	int rc;

	memset(s, 0, sizeof(*s));
	if (strcmp(st->port->state, "active") != 0) {
		result_skipped(r, "the port is not active");
		return -1;
	}
	rc = sniffer_open(s, st->device, st->port, NULL);
	if (!rc)
		rc = sniffer_flow_create(s);
	if (rc)
		result_failed(r, "%s: %s", sniffer_step_name(s->reached), strerror(rc));
	return rc ? -1 : 0;
}

void watch_drain(struct watch *w)
{
	/* A ring that was full has as many completions as buffers. */
	w->full |= sniffer_drain(w->sniffer, numbered_look, w->m) >= RING_BUFFERS;
}

/* A frame that is too long is not a failure of the device, but may put a queue into error state. */
static bool has_failed(const struct sniffer *s, uint64_t errors, uint64_t too_long)
{
	return s->errors != errors && s->too_long == too_long;
}

static void try_once(const struct rd_selftest *st, struct sniffer *s, const struct traffic *t,
	struct numbered *m, struct traffic_seen *seen)
{
	struct watch w = {.sniffer = s, .m = m};
	uint64_t errors = s->errors, too_long = s->too_long;
	struct recovery done;

	numbered_reset(m);
	seen->error = t->open ? t->open(t->ctx, m->run) : 0;
	sniffer_drain(s, NULL, NULL);
	if (!seen->error)
		seen->error = t->send(st, t->ctx, &w);
	seen->full = numbered_collect(st, s, m) | w.full;
	if (t->close)
		t->close(t->ctx);
	seen->failed = has_failed(s, errors, too_long);
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

bool traffic_is_unreadable(struct rd_probe_result *r, const struct sniffer *s)
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

static void report_values(struct rd_probe_result *r, const struct traffic *t,
	const struct numbered *m, const struct traffic_seen *seen)
{
	json_t *o = json_object();

	json_object_set_new(o, "sent", json_integer(seen->error ? 0 : m->count));
	json_object_set_new(o, "once", json_integer(seen->counts.once));
	json_object_set_new(o, "more", json_integer(seen->counts.more));
	json_object_set_new(o, "never", json_integer(seen->error ? 0 : seen->counts.never));
	json_object_set_new(o, "changed", json_integer((json_int_t)m->changed));
	json_object_set_new(o, "disordered", json_integer((json_int_t)m->disordered));
	json_object_set_new(o, "ring_full", json_boolean(seen->full));
	json_object_set_new(o, "queue_failed", json_boolean(seen->failed));
	json_object_set_new(o, "error", json_string(error_name(seen->error)));
	result_json(r, t->name, o);
}

void traffic_report(struct rd_probe_result *r, const struct traffic *t, const struct numbered *m,
	const struct traffic_seen *seen)
{
	const struct numbered_counts *c = &seen->counts;
	char key[48];

	report_values(r, t, m, seen);
	if (!traffic_known(seen))
		return;
	if (c->never == m->count) {
		snprintf(key, sizeof(key), "%s_not_seen", t->name);
		result_found(
			r, key, "%s: none of %u was seen: captures lack them", t->what, m->count);
	} else if (c->never) {
		snprintf(key, sizeof(key), "%s_lost", t->name);
		result_found(r, key,
			"%s: %u of %u were not seen, though the ring had room: "
			"captures lack some of them",
			t->what, c->never, m->count);
	}
	if (c->more && t->reliable && c->once) {
		snprintf(key, sizeof(key), "%s_retransmitted", t->name);
		result_found(r, key,
			"%s: %u of %u were seen again, the others once: the device "
			"loses packets of its own and retransmits them",
			t->what, c->more, m->count);
	} else if (c->more) {
		snprintf(key, sizeof(key), "%s_twice", t->name);
		result_found(r, key,
			"%s: %u of %u were seen more than once: captures have "
			"duplicates that are no retransmissions",
			t->what, c->more, m->count);
	}
	if (m->changed) {
		snprintf(key, sizeof(key), "%s_changed", t->name);
		result_found(r, key, "%s: %llu were seen with other bytes than were sent", t->what,
			(unsigned long long)m->changed);
	}
}
