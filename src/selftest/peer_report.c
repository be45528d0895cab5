/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What both ends' counts show about this end's capture. A frame was on the wire if the other
 * end's capture saw it, or if it arrived at its program. A frame that only the receiver's capture
 * lacks shows nothing: the network may have lost it.
 */
#include "peer_round.h"
#include <rdmadump/units.h>
#include <stdio.h>
#include <string.h>

#define TAG 4

struct counts {
	uint32_t sent, arrived;
	struct {
		uint32_t once, more, never;
	} here, there;
	uint32_t missed;   /* were on the wire, but not seen by this end's capture */
	uint32_t on_wire;  /* known to have been on the wire */
	uint32_t doubled;  /* seen here more than once, and by the other end at most once */
	uint32_t vanished; /* seen by the sender's capture, but by nothing at the receiver */
};

static void count_times(uint8_t times, uint32_t *once, uint32_t *more, uint32_t *never)
{
	*once += times == 1;
	*more += times > 1;
	*never += times == 0;
}

static struct counts count(const struct peer_round *p, const struct peer_step *sent,
	const struct peer_seen *mine, const struct peer_seen *theirs)
{
	const struct peer_seen *receiver = p->sends ? theirs : mine;
	struct counts c = {.sent = sent->frames};

	for (uint32_t i = 0; i < c.sent; i++) {
		uint8_t here = mine->times[i], there = theirs->times[i];
		bool arrived = p->kind->acknowledged || receiver->arrived[i];
		bool on_wire = arrived || (p->sends && there);

		count_times(here, &c.here.once, &c.here.more, &c.here.never);
		count_times(there, &c.there.once, &c.there.more, &c.there.never);
		c.arrived += arrived;
		c.on_wire += on_wire;
		c.missed += on_wire && !here;
		c.doubled += here > 1 && there <= 1;
		c.vanished += !arrived && !receiver->times[i] && (p->sends ? here : there);
	}
	return c;
}

/* --- values ------------------------------------------------------------------------------- */

static const char *direction(const struct peer_round *p)
{
	return p->sends ? "sent" : "received";
}

static void put(struct peer_round *p, json_t *o)
{
	char name[48];

	snprintf(name, sizeof(name), "%s_%s", p->kind->name, direction(p));
	result_json(p->result, name, o);
}

void peer_report_error(struct peer_round *p, const char *here, const char *there)
{
	put(p, json_pack("{s:i, s:s, s:s}", "sent", 0, "error", here, "peer_error", there));
}

static json_t *times_json(uint32_t once, uint32_t more, uint32_t never)
{
	return json_pack(
		"{s:i, s:i, s:i}", "once", (int)once, "more", (int)more, "never", (int)never);
}

static void report_values(struct peer_round *p, const struct counts *c,
	const struct peer_step *sent, const struct peer_seen *mine, const struct peer_seen *theirs)
{
	bool known = p->kind->acknowledged || (p->sends ? theirs : mine)->arrival_known;
	json_t *o = json_object();

	json_object_set_new(o, "sent", json_integer(c->sent));
	json_object_set_new(o, "arrived", known ? json_integer(c->arrived) : json_null());
	json_object_set_new(o, "here", times_json(c->here.once, c->here.more, c->here.never));
	json_object_set_new(o, "peer", times_json(c->there.once, c->there.more, c->there.never));
	json_object_set_new(o, "lost_on_the_way", json_integer(c->vanished));
	json_object_set_new(o, "changed", json_integer((json_int_t)p->seen.changed));
	json_object_set_new(o, "cut", json_integer((json_int_t)p->seen.cut));
	json_object_set_new(o, "disordered", json_integer((json_int_t)p->seen.disordered));
	json_object_set_new(o, "bytes_before", json_integer(p->seen.most_before));
	json_object_set_new(o, "bytes_after", json_integer(p->seen.most_after));
	json_object_set_new(o, "ring_full", json_boolean(mine->full));
	json_object_set_new(o, "peer_ring_full", json_boolean(theirs->full));
	json_object_set_new(o, "error", json_string(p->sends ? sent->error : ""));
	json_object_set_new(o, "peer_error", json_string(p->sends ? "" : sent->error));
	put(p, o);
}

/* --- findings ----------------------------------------------------------------------------- */

static void judge_missed(struct peer_round *p, const struct counts *c)
{
	bool all = c->missed == c->on_wire;
	char key[48];

	snprintf(key, sizeof(key), "%s_%s_%s", p->kind->name, direction(p),
		all ? "not_seen" : "lost");
	result_found(p->result, key,
		"%s, %s: %u of %u that were on the wire were not seen, though there was room: "
		"captures lack %s of them",
		p->kind->what, direction(p), c->missed, c->on_wire, all ? "all" : "some");
}

/* On a network that loses packets, the sender's capture sees the packets of a connection again. */
static void judge_doubled(struct peer_round *p, const struct counts *c)
{
	bool again = p->kind->acknowledged && c->here.once;
	char key[48];

	if (again && p->sends)
		return;
	snprintf(key, sizeof(key), "%s_%s_%s", p->kind->name, direction(p),
		again ? "retransmitted" : "twice");
	result_found(p->result, key,
		again ? "%s, %s: %u of %u were seen again, and once by the sender's capture: that "
			"one lacks retransmissions, or this one has duplicates"
		      : "%s, %s: %u of %u were seen more than once, and once by the other end's "
			"capture: captures have duplicates",
		p->kind->what, direction(p), c->doubled, c->sent);
}

static void judge_headers(struct peer_round *p)
{
	const struct numbered *m = &p->seen;
	bool other = p->kind->before && m->frames &&
		     (m->least_before != p->kind->before || m->most_before != p->kind->before);

	p->contents->cut += m->cut;
	if (other && p->kind->before > NUMBERED_HEAD && m->least_before == NUMBERED_HEAD)
		p->contents->tag[p->sends].stripped++;
	else
		p->contents->tag[p->sends].other += other;
}

bool peer_report(struct peer_round *p, const struct peer_step *sent, const struct peer_seen *mine,
	const struct peer_seen *theirs)
{
	const struct counts c = count(p, sent, mine, theirs);
	bool watched = *p->eye->name, peer_watched = *p->there->watches;
	char key[48];

	report_values(p, &c, sent, mine, theirs);
	if (!watched)
		return false;
	judge_headers(p);
	if (c.missed && !mine->full)
		judge_missed(p, &c);
	if (c.doubled && peer_watched && !theirs->full)
		judge_doubled(p, &c);
	if (p->seen.changed) {
		snprintf(key, sizeof(key), "%s_%s_changed", p->kind->name, direction(p));
		result_found(p->result, key,
			"%s, %s: %llu were seen with other bytes than were sent", p->kind->what,
			direction(p), (unsigned long long)p->seen.changed);
	}
	return !mine->full && (c.on_wire || c.here.once || c.here.more);
}

/* Reports the contents of one direction's frames. */
static void report_direction(struct rd_probe_result *r, const struct peer_contents *c, bool sent)
{
	const char *name = sent ? "sent" : "received";
	char key[48];

	snprintf(key, sizeof(key), "icrc_right_%s", name);
	result_number(r, key, "frames", c->icrc[sent].right);
	snprintf(key, sizeof(key), "icrc_absent_%s", name);
	result_number(r, key, "frames", c->icrc[sent].absent);
	if (c->icrc[sent].absent)
		result_found(r, key,
			"%llu %s packet%s without an ICRC: the device adds it after its copy, or "
			"cuts "
			"frames",
			(unsigned long long)c->icrc[sent].absent, name,
			rd_plural(c->icrc[sent].absent));
	snprintf(key, sizeof(key), "icrc_wrong_%s", name);
	result_number(r, key, "frames", c->icrc[sent].wrong);
	if (c->icrc[sent].wrong)
		result_found(r, key,
			"%llu %s packet%s with a wrong ICRC: ICRC checks of captures mean nothing "
			"in "
			"this direction",
			(unsigned long long)c->icrc[sent].wrong, name,
			rd_plural(c->icrc[sent].wrong));
	snprintf(key, sizeof(key), "vlan_stripped_%s", name);
	if (c->tag[sent].stripped)
		result_found(r, key, "%s frames lack their VLAN tags: captures do not show them%s",
			name, sent ? "" : ", or a switch removed them");
	snprintf(key, sizeof(key), "headers_changed_%s", name);
	if (c->tag[sent].other)
		result_found(r, key, "%s frames have other headers than were sent", name);
}

void peer_report_contents(struct rd_probe_result *r, const struct peer_contents *c)
{
	report_direction(r, c, false);
	report_direction(r, c, true);
	if (c->fcs)
		result_found(r, "fcs_present",
			"%llu frame%s with the FCS at the end, which captures have to cut or "
			"announce",
			(unsigned long long)c->fcs, rd_plural(c->fcs));
	if (c->cut)
		result_found(r, "frames_cut", "%llu frame%s without the end of the payload",
			(unsigned long long)c->cut, rd_plural(c->cut));
}
