/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules that need what the file knows beside its packets: links, counters, owners of QPs. */
#include "../model/facts.h"
#include "look.h"

/* --- the link of the capturing port ----------------------------------------------------------- */

/* The address of the port that captured; NULL: unknown, or there may be several. */
static const char *own_address(const struct rd_analysis *a, const struct rd_report *r)
{
	const char *own = NULL;

	if (r->n_files > 1 || a->in.n_ifaces > 1)
		return NULL;
	for (size_t i = 0; i < 2 * r->n_conversations; i++) {
		const struct rd_conversation *c = &r->conversations[i / 2];

		if (!c->local[i % 2])
			continue;
		if (own && strcmp(own, c->end[i % 2].address) != 0)
			return NULL;
		own = c->end[i % 2].address;
	}
	return own;
}

static bool link_down(const struct look *l, struct rd_finding *f)
{
	unsigned int downs = 0;

	for (unsigned int i = 0; i < l->a->ports.n; i++) {
		const struct link_event *e = &l->a->ports.event[i];

		if (e->what != LINK_DOWN)
			continue;
		if (!downs++)
			f->evidence.first_ns = e->before_ns ? e->before_ns : e->ns;
		f->evidence.last_ns = e->ns;
		rd_finding_frame(f, e->frame);
	}
	if (l->nth || !downs)
		return false;
	f->evidence.count = downs;
	if (own_address(l->a, l->r))
		rd_finding_title(
			f, "the file notes that the link of %s went down", own_address(l->a, l->r));
	return true;
}

/* When the link is noted to be up again after this event. */
static uint64_t up_again(const struct link_events *ports, const struct link_event *down)
{
	const size_t n = ports->n - (size_t)(down - ports->event);
	const struct link_event *up = RD_FIND(e, down, n, e->what == LINK_UP);

	return up ? up->ns : UINT64_MAX;
}

/* Whether the link was down while the finding's evidence came about, or the wait that led to it. */
static bool was_down(const struct look *l, const struct rd_finding *f)
{
	const struct link_events *ports = &l->a->ports;
	uint64_t timeout = latency(l, RD_LATENCY_TIMEOUT)->p50;
	uint64_t waited = RD_MAX(timeout, l->s->stall.ns);
	uint64_t began = f->evidence.first_ns > waited ? f->evidence.first_ns - waited : 0;

	return f->evidence.first_ns &&
	       RD_ANY(e, ports->event, ports->n,
		       e->what == LINK_DOWN && e->before_ns <= f->evidence.last_ns &&
			       began <= up_again(ports, e));
}

/* --- the addresses of the capturing port ------------------------------------------------------ */

#define NOTED_NS UINT64_C(10000000000) /* after the last packet; then it is hardly the reason */

/* A GID of this end that went after the last response of a sender that got no more; NULL: none. */
static const struct link_event *gid_gone(const struct look *l, unsigned int end)
{
	const struct rd_endpoint *at = &l->c->end[end];

	if (l->s->end.how != RD_ENDING_STOPPED && l->s->end.how != RD_ENDING_RETRY)
		return NULL;
	return RD_FIND(e, l->a->ports.event, l->a->ports.n,
		e->what == LINK_GIDS && e->noted_ns >= l->other->traffic.last_ns &&
			e->noted_ns <= l->s->end.ns + NOTED_NS &&
			(*e->gid ? !strcmp(e->gid, at->address) : l->c->local[end]));
}

static bool gid_removed(const struct look *l, struct rd_finding *f, unsigned int end)
{
	const struct link_event *e = gid_gone(l, end);

	if (!e)
		return false;
	f->evidence.count = l->s->end.attempts;
	f->evidence.first_ns = f->evidence.last_ns = e->ns;
	rd_finding_frame(f, e->frame);
	rd_finding_detail(f,
		"the file notes at frame %llu that %s %s; %u retransmission round%s without a "
		"response",
		n(e->frame), *e->gid ? "a GID was removed, that of" : "GIDs changed of the port of",
		l->c->end[end].address, l->s->end.attempts, rd_plural(l->s->end.attempts));
	return true;
}

static bool receiver_moved(const struct look *l, struct rd_finding *f)
{
	return gid_removed(l, f, !l->side);
}

static bool sender_moved(const struct look *l, struct rd_finding *f)
{
	return gid_removed(l, f, l->side);
}

static bool is_gid_unknown(const struct look *l)
{
	const struct link_event *receiver = gid_gone(l, !l->side), *sender = gid_gone(l, l->side);

	return !(receiver && *receiver->gid) && !(sender && *sender->gid);
}

/* --- responses that arrived ------------------------------------------------------------------- */

/* Whether the requester's device counted all captured frames for it as received. */
static bool received_all(const struct look *l)
{
	const struct facts_port *p = facts_port_at(l->a, l->from->address);
	const struct rd_comparison *c =
		p ? RD_FIND(one, l->r->comparisons, l->r->n_comparisons,
			    !strcmp(one->counter, "rcvd_pkts") && !strcmp(one->device, p->device))
		  : NULL;

	return c && c->known && c->agrees;
}

/* Frames that are not captured may be counted instead of those that were dropped after capture. */
bool responses_arrived(const struct look *l)
{
	return count(l, RD_INC_RESPONSE_LOST) && l->other->seen && !capture_lost_frames(l->r) &&
	       !l->missed && received_all(l);
}

static bool timeout_early(const struct look *l, struct rd_finding *f)
{
	char waited[RD_UNITS_LEN];

	if (!responses_arrived(l))
		return false;
	rd_finding_detail(f,
		"%llu time%s, after %s; the requester's device counted all captured frames as "
		"received",
		n(f->evidence.count), rd_plural(f->evidence.count),
		rd_fmt_duration(waited, latency(l, RD_LATENCY_TIMEOUT)->p50));
	return true;
}

/* --- what is added to findings of other rules ------------------------------------------------- */

static void add_owner(struct rd_finding *f, const struct rd_conversation *c, unsigned int side)
{
	const struct rd_endpoint *e = &c->end[side];
	char text[RD_OWNER_TEXT_MAX];

	if (c->owner[side])
		finding_append(f, "QP 0x%x is of %s", e->qp, rd_owner_text(text, c->owner[side]));
	else if (c->owner_state[side] == RD_OWNER_NOT_LISTED)
		finding_append(f, "the owner of QP 0x%x is unknown", e->qp);
}

static void add_failures(const struct look *l, struct rd_finding *f, bool rnr)
{
	struct rd_growth grown;

	if (facts_gave_up(l->a, l->from->address, rnr, l->s->traffic.last_ns, l->a->totals.last_ns,
		    &grown))
		finding_append(f, "its device counted %llu such failure%s", n(grown.amount),
			rd_plural(grown.amount));
}

void facts_add(const struct look *l, unsigned int traits, struct rd_finding *f)
{
	if (traits & GAVE_UP)
		add_failures(l, f, l->s->end.how == RD_ENDING_RNR);
	if (traits & SILENT && was_down(l, f))
		finding_append(f, "the link of a capturing port was down at that time");
	add_owner(f, l->c, 0);
	add_owner(f, l->c, 1);
}

const struct rule rules_of_links[] = {
	{"link-down", RD_SEV_PROBLEM, RD_CERTAIN, 0, link_down,
		"the file notes that the link of a capturing port went down",
		"{count time}; what is missing then needs no other cause",
		.meaning = "a cable, a switch port, the other end, or an administrator (ip link "
			   "set down)",
		.next = "look at the system's log at that time, and at link_downed on both ends of "
			"the link",
		.cause = CAUSE(1, "LINK", NULL, RD_POSSIBLE, NULL, 0, ANYWHERE(0))},
	{0},
};

#define GID_TEXTS                                                                                  \
	.meaning = "an address, VLAN or MAC address of its netdev was removed or changed (DHCP, "  \
		   "NetworkManager, a bond, an administrator), or the netdev went down: a QP "     \
		   "whose GID is gone neither gets nor sends packets",                             \
	.next = "look at that host's log at that time; 'rdmadump events' there names each change", \
	.doubts = {CAPTURE_LOST, CUT, MISSED_MANY, DISORDERED,                                     \
		IF(is_gid_unknown, "the file does not say which GIDs changed")}

const struct rule rules_of_facts[] = {
	{"gid-removed", RD_SEV_PROBLEM, RD_LIKELY, 0, receiver_moved,
		"the receiver lost its GID, and responses stopped", NULL, OF_REQUESTS, GID_TEXTS,
		.cause = CAUSE(1, "GID", "{r} lost the GID at which {s} reaches it.", RD_LIKELY,
			"Last rounds without a response", 0, ANYWHERE(RN))},
	{"gid-removed-sender", RD_SEV_PROBLEM, RD_LIKELY, 0, sender_moved,
		"the sender lost its GID, and responses stopped", NULL, OF_REQUESTS, GID_TEXTS,
		.cause = CAUSE(1, "GID",
			"{s} lost its own GID, and gets no responses of {r} any more.", RD_LIKELY,
			"Last rounds without a response", 0, ANYWHERE(SN))},
	{"timeout-early", RD_SEV_WARNING, RD_LIKELY, HAPPENED(RESPONSE_LOST), timeout_early,
		"requests were retransmitted although their responses had arrived", NULL,
		.meaning = "the requester's timer is shorter than the path and the responder need, "
			   "or the host was slow to process the responses; nothing was lost",
		.next = "raise the QP's timeout attribute; look at the load of the requester"},
	{0},
};
