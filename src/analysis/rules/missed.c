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

	for (size_t i = 0; i < l->r->n_conversations && i < HALVES_MAX; i++) {
		const struct rd_conversation *c = &l->r->conversations[i];
		const bool back = !c->side[0].seen;

		if (c != l->c && c->pairing == RD_PAIR_NONE &&
			(c->transport == l->c->transport || c->transport == RD_CNP) &&
			(!strcmp((back ? &c->b : &c->a)->address, to) ||
				!strcmp((back ? &c->a : &c->b)->address, from)))
			return true;
	}
	return l->r->n_conversations > HALVES_MAX;
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
	const unsigned int back_to = lid_of(side ? &c->a : &c->b);

	return c->pairing == RD_PAIR_NONE && s->has_lrh && c->side[side].has_lrh &&
	       !to != !back_to && (to ? to == c->side[side].lid : back_to == s->lid);
}

static bool may_be_by_lid(const struct look *l)
{
	for (size_t i = 0; i < l->r->n_conversations && i < HALVES_MAX; i++)
		if (is_other_notation(l, &l->r->conversations[i]))
			return true;
	return false;
}

bool is_one_direction(const struct look *l)
{
	for (size_t i = 0; i < l->r->n_conversations && i < HALVES_MAX; i++) {
		const struct rd_conversation *c = &l->r->conversations[i];

		if ((c->side[0].seen && !strcmp(c->a.address, l->to->address) &&
			    !strcmp(c->b.address, l->from->address)) ||
			(c->side[1].seen && !strcmp(c->b.address, l->to->address) &&
				!strcmp(c->a.address, l->from->address)))
			return false;
	}
	return true;
}

static bool one_sided(const struct look *l, struct rd_finding *f)
{
	if (!is_rc(l) || l->side || l->c->pairing != RD_PAIR_NONE || l->s->seen == l->other->seen ||
		(rounds(l) && !made_progress(l)) || l->s->frames + l->other->frames < 8)
		return false;
	f->evidence.count = l->s->frames + l->other->frames;
	rd_finding_frame(f, l->s->seen ? l->s->first_frame : l->other->first_frame);
	if (may_be_by_lid(l)) {
		finding_lower(f, RD_POSSIBLE);
		f->meaning = "the two directions are in two rows, one by GIDs, one by LIDs: a port "
			     "sends packets with GRH, and gets others without";
		f->next = "look at the row of the other direction; use a GRH in both or in none";
		rd_finding_title(f, "the other direction is in a row of its own");
		rd_finding_detail(f, "%llu frame%s with GRH in one direction only",
			n(f->evidence.count), rd_plural(f->evidence.count));
	} else if (may_have_other_half(l)) {
		finding_lower(f, RD_POSSIBLE);
		f->meaning = "frames that are out of order in the file, or a capture that begins "
			     "late; or a filter, a mirror of one direction only";
		rd_finding_title(f, "only one direction is known");
		rd_finding_detail(f,
			"%llu frame%s; which frames of the other direction belong to them is "
			"unknown, and so are latencies and causes",
			n(f->evidence.count), rd_plural(f->evidence.count));
	} else {
		/* The other direction may be in another network of the same addresses. */
		if (l->s->shared || l->other->shared)
			finding_lower(f, RD_POSSIBLE);
		rd_finding_title(f, "only one direction was captured");
		rd_finding_detail(f,
			"%llu frame%s, none in the other direction: latencies and causes are "
			"unknown",
			n(f->evidence.count), rd_plural(f->evidence.count));
	}
	filter_requests(l, f);
	return true;
}

/* Frames in several VLANs that nothing else tells apart. */
static bool several_vlans(const struct look *l, struct rd_finding *f)
{
	if (!l->s->vlans_differ || l->s->shared)
		return false;
	f->evidence.count = l->s->frames;
	rd_finding_frame(f, l->s->first_frame);
	rd_finding_title(f, "frames of a QP pair are in several VLANs, and judged as one");
	rd_finding_detail(f, "%llu frame%s, in different VLANs or some without a tag",
		n(l->s->frames), rd_plural(l->s->frames));
	filter_requests(l, f);
	return true;
}

/*
 * Where packets overtake each other, those that are absent at first may have come before. So they
 * may where the sender retransmits single packets: the capture may begin with some of these.
 */
static bool is_from_start(const struct look *l)
{
	return (late_packets(l) || count(l, RD_INC_SELECTIVE)) &&
	       incident(l, RD_INC_UNSEEN)->last_frame < l->s->first_frame + START_FRAMES;
}

static bool unseen(const struct look *l, struct rd_finding *f)
{
	if (!is_rc(l) || !count(l, RD_INC_UNSEEN))
		return false;
	finding_evidence(f, incident(l, RD_INC_UNSEEN));
	if (has_cut_headers(l) || count(l, RD_INC_FROM_BEFORE) || is_disordered(l) ||
		has_doubtful_copies(l) || is_from_start(l))
		finding_lower(f, RD_POSSIBLE);
	if (l->s->gap_doubtful) {
		finding_lower(f, RD_POSSIBLE);
		f->meaning = "the capture was too slow, or packets take a path that it does not "
			     "see; or the QP was used again with PSNs ahead of the last ones, and "
			     "none is missing";
		f->next = "look at the losses of the capture; one that has the CM's messages "
			  "shows where connections begin";
	}
	/* What seems damaged may be what was acknowledged: only its payload was removed. */
	if (count(l, RD_INC_ICRC) + l->a->icrc_lost.count >= f->evidence.count)
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "the capture missed packets that the receiver got");
	rd_finding_detail(f,
		"acknowledged but never captured: %llu packet%s; the network did not lose them",
		n(count(l, RD_INC_UNSEEN)), rd_plural(count(l, RD_INC_UNSEEN)));
	filter_requests(l, f);
	return true;
}

/* The capture ends before it shows whether the requester lacks the responses, too. */
static bool unseen_at_end(const struct look *l, struct rd_finding *f)
{
	if (!l->s->open_gaps || rounds(l) || is_refused(l) || is_disordered(l) ||
		count(l, RD_INC_RESPONSE_REORDERED))
		return false;
	finding_evidence(f, incident(l, RD_INC_RESPONSE_GAP));
	f->evidence.count = l->s->open_gaps;
	finding_lower(f, RD_POSSIBLE);
	f->meaning = "the capture was too slow, or responses take a path that it does not see; or "
		     "they were lost just before the capture ended";
	rd_finding_title(f, "responses are missing, and not requested again up to the end");
	rd_finding_detail(f,
		"%llu gap%s in READ or atomic responses; a requester that lacks one requests it "
		"again",
		n(f->evidence.count), rd_plural(f->evidence.count));
	filter_requests(l, f);
	return true;
}

static bool responses_unseen(const struct look *l, struct rd_finding *f)
{
	uint64_t missed = count(l, RD_INC_RESPONSE_UNSEEN);

	if (!missed)
		return unseen_at_end(l, f);
	if (!l->other->seen) /* the capture is of one direction */
		return false;
	finding_evidence(f, incident(l, RD_INC_RESPONSE_UNSEEN));
	/* A request that is refused has no further response. */
	if (has_cut_headers(l) || is_disordered(l) || has_doubtful_copies(l) || is_refused(l))
		finding_lower(f, RD_POSSIBLE);
	rd_finding_title(f, "the capture missed responses that the requester got");
	rd_finding_detail(f,
		"%llu time%s READ or atomic responses were not captured, and the requester "
		"continued without requesting them again",
		n(missed), rd_plural(missed));
	filter_requests(l, f);
	return true;
}

const struct rule rules_of_missed[] = {
	{{"unseen", RD_SEV_NOTE, RD_LIKELY,
		 "the capture was too slow, or packets take a path that it does not see",
		 "look at the losses of the capture"},
		unseen},
	{{"responses-unseen", RD_SEV_NOTE, RD_LIKELY,
		 "the capture was too slow, or responses take a path that it does not see",
		 "look at the losses of the capture"},
		responses_unseen},
	{{"several-vlans", RD_SEV_WARNING, RD_CERTAIN,
		 "several networks use the same addresses and QP numbers, and what is said of this "
		 "pair mixes them; or frames were captured before and behind a router",
		 "capture or filter one VLAN at a time, and analyse each"},
		several_vlans},
	{{"one-sided", RD_SEV_NOTE, RD_LIKELY,
		 "a mirror of one direction only, or a filter; or the receiver does not respond",
		 "capture both directions"},
		one_sided},
	{{0}, NULL},
};
