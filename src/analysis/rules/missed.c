/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over one side of a conversation: packets that the capture lacks. */
#include "look.h"
#include <stdlib.h>

#define HALVES_MAX   256 /* conversations among which frames of the other direction are searched */
#define START_FRAMES 512 /* packets that overtook others before the capture began: one window */

/*
 * Whether RC frames to this sender, or from this receiver, are there whose requester or responder
 * is unknown. They may have another address where a device on the path rewrites it.
 */
bool may_have_other_half(const struct look *l)
{
	const char *from = l->s->seen ? l->from->address : l->to->address;
	const char *to = l->s->seen ? l->to->address : l->from->address;

	return l->r->n_conversations > HALVES_MAX ||
	       RD_ANY(c, l->r->conversations, l->r->n_conversations,
		       c != l->c && c->pairing == RD_PAIR_NONE &&
			       (c->transport == l->c->transport || c->transport == RD_CNP) &&
			       (!strcmp(c->end[!c->side[0].seen].address, to) ||
				       !strcmp(c->end[c->side[0].seen].address, from)));
}

/* The LID of an address, as of an InfiniBand packet without GRH; 0: it has a GID. */
static unsigned int lid_of(const struct rd_endpoint *e)
{
	return strncmp(e->address, "LID ", 4) ? 0 : (unsigned int)strtoul(e->address + 4, NULL, 10);
}

/* Whether the one way of `c` may be back from the receiver of `l`, one by GIDs, one by LIDs. */
static bool is_other_notation(const struct look *l, const struct rd_conversation *c)
{
	const unsigned int side = !c->side[0].seen;
	const struct rd_side *s = l->s->seen ? l->s : l->other;
	const unsigned int to = lid_of(l->s->seen ? l->to : l->from);
	const unsigned int back_to = lid_of(&c->end[!side]);

	return c->pairing == RD_PAIR_NONE && s->first.has_lrh && c->side[side].first.has_lrh &&
	       !to != !back_to && (to ? to == c->side[side].first.lid : back_to == s->first.lid);
}

WHETHER(may_be_by_lid, RD_ANY(c, l->r->conversations, RD_MIN(l->r->n_conversations, HALVES_MAX),
			       is_other_notation(l, c)))

static bool sends_back(const struct look *l, const struct rd_conversation *c, int side)
{
	return c->side[side].seen && !strcmp(c->end[side].address, l->to->address) &&
	       !strcmp(c->end[!side].address, l->from->address);
}

bool is_one_direction(const struct look *l)
{
	return !RD_ANY(c, l->r->conversations, RD_MIN(l->r->n_conversations, HALVES_MAX),
		sends_back(l, c, 0) || sends_back(l, c, 1));
}

static bool one_sided(const struct look *l, struct rd_finding *f)
{
	if (!is_rc(l) || l->side || l->c->pairing != RD_PAIR_NONE || l->s->seen == l->other->seen ||
		(rounds(l) && !made_progress(l)) ||
		l->s->traffic.frames + l->other->traffic.frames < 8)
		return false;
	f->evidence.count = l->s->traffic.frames + l->other->traffic.frames;
	rd_finding_frame(f, l->s->seen ? l->s->traffic.first_frame : l->other->traffic.first_frame);
	if (may_be_by_lid(l)) {
		f->meaning = "the two directions are in two rows, one by GIDs, one by LIDs: a port "
			     "sends packets with GRH, and gets others without";
		f->next = "look at the row of the other direction; use a GRH in both or in none";
		rd_finding_title(f, "the other direction is in a row of its own");
		f->detail = say(l, "{count frame} with GRH in one direction only");
	} else if (may_have_other_half(l)) {
		f->meaning = "frames that are out of order in the file, or a capture that begins "
			     "late; or a filter, a mirror of one direction only";
		rd_finding_title(f, "only one direction is known");
		f->detail = say(l, "{count frame}; which frames of the other direction belong to "
				   "them is unknown, and so are latencies and causes");
	}
	return true;
}

/* Frames in several VLANs that nothing else tells apart. */
static bool several_vlans(const struct look *l, struct rd_finding *f)
{
	f->evidence.count = l->s->traffic.frames;
	rd_finding_frame(f, l->s->traffic.first_frame);
	return l->s->vlans_differ && !l->s->shared;
}

/*
 * Where packets overtake each other, those that are absent at first may have come before. So they
 * may where the sender retransmits single packets: the capture may begin with some of these.
 */
DOUBT(is_from_start, "they may have passed before the capture began",
	(count(l, RD_INC_REORDERED) || count(l, RD_INC_REORDERED_DOWNSTREAM) ||
		count(l, RD_INC_SELECTIVE)) &&
		incident(l, RD_INC_UNSEEN)->last_frame < l->s->traffic.first_frame + START_FRAMES)

WHETHER(may_be_new, l->s->unclear.gap)

/* What seems damaged may be what was acknowledged: only its payload was removed. */
DOUBT(may_be_damaged, "as many frames are damaged, and may be these",
	count(l, RD_INC_ICRC) + l->a->icrc_lost.count >= l->f->evidence.count)

/* A READ request has a number for each of its responses. */
DOUBT(may_be_reads, "a READ request counts as many as its responses",
	rd_side_verb(l->s, RD_VERB_READ)->messages > 0 && count(l, RD_INC_RESPONSE_GAP))

static bool unseen(const struct look *l, struct rd_finding *f)
{
	if (may_be_new(l)) {
		f->meaning = "the capture was too slow, or packets take a path that it does not "
			     "see; or the QP was used again with PSNs ahead of the last ones, and "
			     "none is missing";
		f->next = "look at the losses of the capture; one that has the CM's messages "
			  "shows where connections begin";
	}
	return is_rc(l);
}

static bool responses_unseen(const struct look *l, struct rd_finding *f)
{
	if (count(l, RD_INC_RESPONSE_UNSEEN)) {
		finding_evidence(f, incident(l, RD_INC_RESPONSE_UNSEEN));
		return l->other->seen; /* else the capture is of one direction */
	}
	if (!l->s->open_gaps || rounds(l) || is_refused(l) || is_disordered(l) ||
		count(l, RD_INC_RESPONSE_REORDERED))
		return false;
	finding_evidence(f, incident(l, RD_INC_RESPONSE_GAP));
	f->evidence.count = l->s->open_gaps;
	f->meaning = "the capture was too slow, or responses take a path that it does not see; or "
		     "they were lost just before the capture ended";
	rd_finding_title(f, "responses are missing, and not requested again up to the end");
	f->detail = say(l, "{count gap} in READ or atomic responses; a requester that lacks one "
			   "requests it again");
	return true;
}

DOUBT(is_at_end, "the capture ends before they could be requested again",
	!count(l, RD_INC_RESPONSE_UNSEEN))

DOUBT(is_behind_ack, "packets were captured after their ACKs", l->s->unclear.behind_ack)

const struct rule rules_of_missed[] = {
	{"unseen", RD_SEV_NOTE, RD_LIKELY, HAPPENED(UNSEEN), unseen,
		"the capture missed packets that the receiver got",
		"acknowledged but never captured: {count packet}; the network did not lose them",
		OF_REQUESTS,
		.meaning = "the capture was too slow, or packets take a path that it does not see",
		.next = "look at the losses of the capture",
		.doubts = {CUT, BEFORE, DISORDERED, TIMED_COPIES, is_from_start,
			IF(may_be_new, "another connection may have begun there"), may_be_reads,
			may_be_damaged, is_behind_ack},
		.traits = ENDS_ANSWER},
	{"responses-unseen", RD_SEV_NOTE, RD_LIKELY, 0, responses_unseen,
		"the capture missed responses that the requester got",
		"{responses_unseen time} READ or atomic responses were not captured, and the "
		"requester continued without requesting them again",
		OF_REQUESTS,
		.meaning =
			"the capture was too slow, or responses take a path that it does not see",
		.next = "look at the losses of the capture",
		.doubts = {CUT, NO_ORDER, TIMED_COPIES, REFUSED, is_at_end}},
	{"several-vlans", RD_SEV_WARNING, RD_CERTAIN, 0, several_vlans,
		"frames of a QP pair have different VLAN tags, and are judged as one",
		"{frames frame}, in different VLANs or some without a tag", OF_REQUESTS,
		.meaning =
			"several networks use the same addresses and QP numbers, and what is "
			"said of this pair mixes them; or frames were captured before and behind "
			"a router, or at a port and at the netdev of the VLAN",
		.next = "capture or filter one VLAN at a time, and analyse each",
		.cause = CAUSE(11, "VLANS",
			"Frames between {s} and {r} have different VLAN tags: if these are several "
			"networks with equal addresses, all that is said of these QPs mixes them.",
			RD_POSSIBLE, NULL, 0, ANYWHERE(0))},
	{"one-sided", RD_SEV_NOTE, RD_LIKELY, 0, one_sided, "only one direction was captured",
		"{count frame}, none in the other direction: latencies and causes are unknown",
		OF_REQUESTS,
		.meaning = "a mirror of one direction only, or a filter; or the receiver does not "
			   "respond",
		.next = "capture both directions",
		.doubts = {SHARED, IF(may_be_by_lid, "the other row seems to be the rest of it"),
			IF(may_have_other_half, "other rows may be the rest of it")}},
	{0},
};
