/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over the whole capture: what it lacks, and what concerns no single QP. */
#include "../model/facts.h"
#include "look.h"
#include <inttypes.h>
#include <rdmadump/sum.h>

#define FEW_COPIES 16 /* fewer than one of so many frames are not a second capture */

/* Whether it happened; its count may differ from that of the incident, which is absent if NULL. */
static bool happened(const struct look *l, struct rd_finding *f, uint64_t count,
	const struct rd_incident *incident)
{
	if (l->nth || !count)
		return false;
	if (incident)
		finding_evidence(f, incident);
	f->evidence.count = count;
	return true;
}

/* A rule that applies where this count is not 0. */
#define COUNTED(name, count, incident)                                                             \
	static bool name(const struct look *l, struct rd_finding *f)                               \
	{                                                                                          \
		return happened(l, f, count, incident);                                            \
	}
COUNTED(foreign, l->r->totals.foreign, &l->a->foreign)
COUNTED(absent_icrc, l->r->totals.icrc_absent, NULL)
COUNTED(merged, l->a->merged.count, &l->a->merged)
COUNTED(backwards, l->r->totals.backwards, NULL)
COUNTED(left_out, l->r->totals.frames_left_out, NULL)
COUNTED(facts_left_out, l->a->facts ? l->a->facts->left_out : 0, NULL)

static bool no_rdma(const struct look *l, struct rd_finding *f)
{
	const struct rd_totals *t = &l->r->totals;

	if (l->nth || t->rdma_frames || (!t->frames && l->a->frame) ||
		(t->frames && t->unread == t->frames))
		return false;
	f->evidence.count = t->frames;
	rd_finding_title(f, t->frames ? "there is no RDMA traffic in this capture"
				      : "there are no frames in this capture");
	rd_finding_detail(f, "%llu frame%s, none of them recognized as RoCE or InfiniBand%s",
		n(t->frames), rd_plural(t->frames),
		t->unread		       ? "; some are not understood"
		: t->truncated || t->fragments ? "; some are cut or fragments"
		: t->tunnels_left	       ? "; RDMA traffic in tunnels was left out"
					       : "");
	return true;
}

DOUBT_LIKELY(
	may_be_hidden, "RDMA traffic may be in a form that is not recognized", l->r->totals.frames)

/* What was cut or not understood cannot be recognized. */
static bool may_be_unread(const struct look *l)
{
	const struct rd_totals *t = &l->r->totals;

	return t->frames && (t->truncated || t->fragments || t->unread || t->tunnels_left);
}

/* The name of a link type or Ethertype, in parentheses after its number. */
static void name_of(char *text, size_t capacity, const char *name)
{
	snprintf(text, capacity, "%s%s%s", name ? " (" : "", name ? name : "", name ? ")" : "");
}

static bool not_understood(const struct look *l, struct rd_finding *f)
{
	const struct rd_unread *u = &l->r->unread[l->nth];
	char name[48];

	if (l->nth >= l->r->n_unread)
		return false;
	finding_evidence(f, &u->frames);
	if (!l->r->incomplete)
		f->severity = RD_SEV_NOTE;
	switch (u->why) {
	case RD_UNREAD_LINK:
		name_of(name, sizeof(name), rd_linktype_name(u->number));
		if (u->number < 0)
			rd_finding_title(f, "frames of further link types are not understood");
		else
			rd_finding_title(
				f, "frames of link type %d%s are not understood", u->number, name);
		break;
	case RD_UNREAD_TYPE:
		name_of(name, sizeof(name), rd_ethertype_name((uint16_t)u->number));
		if (u->number > 0)
			rd_finding_title(f, "frames with Ethertype 0x%04x%s are not understood",
				(unsigned int)u->number, name);
		else
			rd_finding_title(f, "frames with other headers are not understood");
		break;
	case RD_UNREAD_CUT:
		rd_finding_title(f, "frames are cut before the headers that show RDMA traffic");
		break;
	}
	rd_finding_detail(f, "%llu of %llu frame%s; they may be RDMA traffic", n(u->frames.count),
		n(l->r->totals.frames), rd_plural(l->r->totals.frames));
	return true;
}

/* "VXLAN, GRE" */
static void tunnels_text(char *text, size_t capacity, unsigned int kinds)
{
	size_t used = 0;

	*text = '\0';
	for (; kinds && used < capacity; kinds &= kinds - 1)
		used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? ", " : "",
			rd_tunnel_name(kinds));
}

static bool in_tunnels(const struct look *l, struct rd_finding *f)
{
	const struct rd_totals *t = &l->r->totals;
	char kinds[96];

	if (!happened(l, f, t->tunnelled, &l->a->tunnels))
		return false;
	tunnels_text(kinds, sizeof(kinds), t->tunnel_kinds);
	rd_finding_title(f, "RDMA traffic is in tunnels: %s", kinds);
	rd_finding_detail(f,
		"%llu frame%s; all that is said is of the packets inside, without the tunnels%s%s",
		n(t->tunnelled), rd_plural(t->tunnelled),
		t->tunnelled < t->rdma_frames ? "; others are outside of tunnels" : "",
		t->tunnelled < t->rdma_frames && l->a->config.tunnels == RD_TUNNELS_ALWAYS
			? ", and a packet that was captured twice looks duplicated"
			: "");
	return true;
}

DOUBT_LIKELY(is_tunnel_unproven, "no frame in a tunnel has a valid ICRC", !l->a->tunnels_proven)

#define FOLLOWED "{count frame} left out: each QP is followed where its packets were captured first"

static bool tunnels_left(const struct look *l, struct rd_finding *f)
{
	const struct rd_totals *t = &l->r->totals;
	char kinds[96];

	if (!happened(l, f, t->tunnels_left, &l->a->tunnels))
		return false;
	tunnels_text(kinds, sizeof(kinds), t->tunnel_kinds);
	if (l->a->config.tunnels == RD_TUNNELS_NEVER) {
		rd_finding_title(f, "RDMA traffic in tunnels was left out: %s", kinds);
		f->detail = say(l, "{count frame}, of which nothing is said");
		return true;
	}
	f->severity = RD_SEV_NOTE;
	f->meaning = "the capture is of a host with an overlay network, and saw packets before and "
		     "after the tunnel";
	f->next = "to count both: analyze --decap always";
	rd_finding_title(f, "QPs are in tunnels and outside of them: %s", kinds);
	f->detail = say(l, FOLLOWED);
	return true;
}

DOUBT_LIKELY(may_be_two_networks, "two networks may use the same addresses",
	l->a->config.tunnels != RD_TUNNELS_NEVER)

/* Whether packets come first where they did before the first copy: else they may have moved. */
WHETHER(go_on_beside_copies,
	RD_ANY(c, l->r->conversations, l->r->n_conversations,
		RD_ANY(s, c->side, 2, s->traffic.last_frame > l->a->copies.first_frame)))

static bool copies_left(const struct look *l, struct rd_finding *f)
{
	if (!happened(l, f, l->r->totals.copies_left, &l->a->copies))
		return false;
	f->detail =
		say(l, l->r->totals.moved ? FOLLOWED ", and elsewhere if no more came from there"
					  : FOLLOWED);
	return true;
}

/* A retransmission through the other port of a bond, or a late frame, seems to be a copy. */
static bool may_have_moved(const struct look *l)
{
	const struct rd_totals *t = &l->r->totals;

	return t->moved || t->copies_left * FEW_COPIES < t->rdma_frames || !go_on_beside_copies(l);
}

/* --time: the capture has frames, but none in that time. */
WHETHER(are_none_in_time, !l->nth && l->a->config.to_ns && !l->r->totals.frames && l->a->frame)

static bool no_such_qp(const struct look *l, struct rd_finding *f)
{
	if (l->nth || l->a->config.qp == RD_QP_UNKNOWN || l->r->n_conversations ||
		!l->r->totals.rdma_frames)
		return false;
	rd_finding_title(f, "there is no conversation with QP 0x%x", l->a->config.qp);
	rd_finding_detail(f, "%llu frame%s of RDMA traffic, all of other QPs",
		n(l->r->totals.rdma_frames), rd_plural(l->r->totals.rdma_frames));
	return true;
}

/* A packet names its destination QP only; the sender's may be unknown. */
DOUBT(may_be_left_out, "it may be the sender of frames that are left out or cut",
	l->r->totals.frames_left_out || l->r->totals.cut || l->r->totals.fragments)

static bool lost_by_capture(const struct look *l, struct rd_finding *f)
{
	char share[RD_UNITS_LEN];
	uint64_t lost = 0, all = l->r->totals.frames;

	for (size_t i = 0; i < l->r->n_files; i++)
		rd_sum_add(&lost, l->r->files[i].dropped);
	if (!happened(l, f, lost, &l->a->dropped))
		return false;
	rd_sum_add(&all, lost);
	/* Of how many a filter chose, no file says. */
	rd_finding_detail(f, "%llu frame%s%s%s; gaps around them need not be network loss", n(lost),
		rd_plural(lost), l->r->filter ? "" : ", ",
		l->r->filter ? "" : share_text(share, lost, all));
	return true;
}

static bool damaged_file(const struct look *l, struct rd_finding *f)
{
	const struct rd_report_file *file = NTH(one, l, l->r->files, l->r->n_files, one->damage);

	if (!file)
		return false;
	f->evidence.count = 1;
	rd_finding_frame(f, file->first_frame + file->frames - 1);
	rd_finding_detail(f, "%s; analysed of it: %llu frame%s", file->damage, n(file->frames),
		rd_plural(file->frames));
	return true;
}

static bool truncated(const struct look *l, struct rd_finding *f)
{
	const struct rd_totals *t = &l->r->totals;

	if (!happened(l, f, t->truncated, NULL))
		return false;
	rd_finding_title(f, "the capture has only the first bytes of %sframes",
		t->truncated < t->frames ? "some " : "its ");
	rd_finding_detail(f,
		"%llu of %llu frame%s: what the headers show is judged as usual; whether a frame "
		"was damaged, and what its message says, cannot be seen%s",
		n(t->truncated), n(t->frames), rd_plural(t->frames),
		t->cut ? ". Some lack even a part of their headers: what happened to these frames "
			 "is unknown"
		       : "");
	return true;
}

static bool wrong_icrc(const struct look *l, struct rd_finding *f)
{
	const struct rd_totals *t = &l->r->totals;

	rd_finding_title(f, t->icrc_trusted ? "one direction does not contain valid invariant CRCs"
					    : "the file does not contain valid invariant CRCs");
	return happened(l, f, t->icrc_doubted, NULL);
}

static bool is_infiniband(const struct rd_report *r)
{
	return r->n_conversations &&
	       !RD_ANY(c, r->conversations, r->n_conversations, c->kind != RD_KIND_IB);
}

static bool damaged_strays(const struct look *l, struct rd_finding *f)
{
	if (is_infiniband(l->r))
		f->meaning = "the same cause as other damaged frames";
	return l->r->totals.icrc_trusted && happened(l, f, l->a->icrc_lost.count, &l->a->icrc_lost);
}

/* --- connections ------------------------------------------------------------------------------ */

static void between(struct rd_finding *f, unsigned int net, const uint8_t *src, const uint8_t *dst)
{
	char from[RD_ADDRESS_LEN], to[RD_ADDRESS_LEN];

	rd_address_text(from, net, src);
	rd_address_text(to, net, dst);
	rd_finding_where(f, "%s -> %s", from, to);
}

/* The nth one among those that are timeouts, or among the others. */
static const struct cm_reject *nth_reject(const struct look *l, bool timeout)
{
	return NTH(j, l, l->a->cm.rejects, l->a->cm.n_rejects,
		(j->reason == RD_CM_REJ_TIMEOUT) == timeout);
}

static bool reject_found(struct rd_finding *f, const struct cm_reject *j)
{
	char service[48] = "";

	finding_evidence(f, &j->incident);
	between(f, j->net, j->src, j->dst);
	if (j->service)
		snprintf(service, sizeof(service), ", service id 0x%016" PRIx64, j->service);
	rd_finding_detail(
		f, "%llu CM REJ with reason %u%s", n(f->evidence.count), j->reason, service);
	rd_finding_filter(f, 0, "infiniband.cm.rej.reason == 0x%04x", j->reason);
	return true;
}

static bool rejected(const struct look *l, struct rd_finding *f)
{
	const struct cm_reject *j = nth_reject(l, false);
	const char *reason = j ? rd_cm_reason_name(j->reason) : NULL;

	if (!j)
		return false;
	rd_finding_title(f, "a connection was rejected: %s", reason ? reason : "unknown reason");
	if (j->reason != RD_CM_REJ_SERVICE && j->reason != RD_CM_REJ_CONSUMER) {
		f->meaning =
			"the CM there cannot make this connection, or still has an earlier one";
		f->next = "see what the reason means: rdmadump explain 'CM REJ reason NUMBER'";
	} else if (!j->of_request) {
		f->meaning =
			"the program that asked for the connection refused what it was offered, "
			"or had ended";
		f->next = "look at the log of that program";
	}
	return reject_found(f, j);
}

/* Whoever waits for a reply, or for the message after its own reply, sends this one. */
static bool connecting_ended(const struct look *l, struct rd_finding *f)
{
	const struct cm_reject *j = nth_reject(l, true);

	return j && reject_found(f, j);
}

/* Whether MADs of the reverse direction were captured. */
static bool has_reverse(const struct look *l, const struct cm_request *r)
{
	const struct flow_key key = flow_key(r->net, r->dst, r->src, 1, 1);

	return flow_in(&l->a->flows, &key, r->network);
}

/* A request that was repeated without a reply. */
static bool not_connected(const struct look *l, struct rd_finding *f)
{
	const struct cm_request *r = NTH(one, l, l->a->cm.open, CM_OPEN,
		one->used && !one->answered && !one->rejected && one->tries.count > 1);

	if (!r)
		return false;
	if (is_infiniband(l->r))
		f->meaning = "the other end is down or in another partition, or its replies take "
			     "another path";
	finding_evidence(f, &r->tries);
	if (!has_reverse(l, r))
		finding_doubt(f, RD_POSSIBLE, "no MAD of the other direction was captured");
	between(f, r->net, r->src, r->dst);
	rd_finding_detail(f, "%llu requests from QP 0x%x, service id 0x%016" PRIx64,
		n(r->tries.count), r->qpn, r->made.service_id);
	return true;
}

static bool counters_differ(const struct look *l, struct rd_finding *f)
{
	const struct rd_comparison *c = NTH(one, l, l->r->comparisons, l->r->n_comparisons,
		!one->agrees && one->known && !one->explained);

	if (!c)
		return false;
	if (c->unsure)
		finding_doubt(f, RD_POSSIBLE, "frames at its ends may explain it");
	f->evidence.count = c->device_count > c->packets ? c->device_count - c->packets
							 : c->packets - c->device_count;
	rd_finding_title(f, "%s counted %llu %s, the packets show %llu", c->device,
		n(c->device_count), c->counter, n(c->packets));
	rd_finding_detail(f, "%s%s%s", c->meaning, c->why ? "; " : "", c->why ? c->why : "");
	return true;
}

static bool may_be_ends(const struct look *l, struct rd_finding *f)
{
	f->evidence.count = l->r->n_files;
	return l->a->config.may_be_ends && !l->nth;
}

const struct rule rules_of_capture[] = {
	{"no-rdma", RD_SEV_NOTE, RD_CERTAIN, 0, no_rdma,
		.meaning = "the wrong interface, a filter, an encrypted tunnel, or RDMA that "
			   "bypasses the kernel and was captured on the netdev",
		.next = "capture whole frames on the RDMA device (rdmadump -d); see 'rdmadump "
			"list'",
		.doubts = {may_be_hidden,
			IF(may_be_unread, "frames are cut, fragments, or not understood")},
		.cause = CAUSE(SAYS_NOTHING, "NOTHING", "The capture shows no RDMA traffic.",
			RD_POSSIBLE, NULL, 0, ANYWHERE(0))},
	{"no-frames-in-time", RD_SEV_NOTE, RD_CERTAIN, 0, NULL,
		"no frame of the capture is in the time that was asked for",
		"{all_frames frame} outside of --time; nothing more is known",
		.when = are_none_in_time,
		.meaning = "--time counts seconds from the first frame of the first file",
		.next = "look at the times of the files: analyze -v without --time",
		.cause = CAUSE(SAYS_NOTHING, "NOTHING",
			"No frame is in the time that was asked for.", RD_POSSIBLE, NULL, 0,
			ANYWHERE(0))},
	{"not-understood", RD_SEV_WARNING, RD_CERTAIN, 0, not_understood,
		.meaning = "a capture on another kind of interface, an encrypted tunnel, or a "
			   "snapshot length shorter than the headers",
		.next = "capture on the netdev or RDMA device itself, with 128 bytes of each frame "
			"or more"},
	{"in-tunnels", RD_SEV_NOTE, RD_CERTAIN, 0, in_tunnels,
		.meaning = "the capture is of an overlay network or a mirror port",
		.next = "for the outer addresses: rdmadump -r; --decap never leaves tunnels closed",
		.doubts = {is_tunnel_unproven}},
	{"tunnels-left-out", RD_SEV_WARNING, RD_CERTAIN, 0, tunnels_left,
		.meaning = "--decap=never was given", .next = "analyze without --decap",
		.doubts = {is_tunnel_unproven, may_be_two_networks}},
	{"several-interfaces", RD_SEV_NOTE, RD_LIKELY, 0, copies_left,
		"QPs were captured at several interfaces",
		.meaning = "captures of two hosts in one file, or two ports of one host that talk "
			   "to each other",
		.next = "to see what happens between them: analyze with one file of each",
		.doubts = {IF(may_have_moved,
			"retransmissions through another port of a bond look the same")}},
	{"may-be-ends", RD_SEV_WARNING, RD_POSSIBLE, 0, may_be_ends,
		"the files may be captures of the same traffic at several points",
		"many packets of one are in another, without checksums that tell; their times are "
		"apart, so they were read as parts of one capture",
		.meaning = "clocks of two hosts that are far apart; or PSNs that were used again",
		.next = "if they are of two hosts: analyze --ends always A B; if not, each alone"},
	{"foreign-udp", RD_SEV_NOTE, RD_LIKELY, 0, foreign, "frames to UDP port 4791 are not RoCE",
		"{count frame}: no valid invariant CRC, and headers that no sender of RoCE writes",
		.filter = "udp.dstport == 4791",
		.meaning = "another program uses the port, or a port scan; frames that are damaged "
			   "all over",
		.next = "look at the frames", .doubts = {ONCE}},
	{"no-such-qp", RD_SEV_NOTE, RD_LIKELY, 0, no_such_qp,
		.meaning = "another number, another time (--time), or a sender whose packets name "
			   "only the other QP",
		.next = "look at the table of all QP pairs: analyze -v without --qp",
		.doubts = {may_be_left_out},
		.cause = CAUSE(SAYS_NOTHING, "NOTHING",
			"The QP that was asked for has no frame here.", RD_POSSIBLE, NULL, 0,
			ANYWHERE(0))},
	{"capture-lost", RD_SEV_WARNING, RD_CERTAIN, 0, lost_by_capture,
		"the file reports frames that the capture lost",
		.meaning = "the capturing machine or its disk was too slow; a device's counter may "
			   "include drops that are not of this capture",
		.next = "capture less (a filter, --headers-only), or with a larger buffer",
		.unknown = "What was lost, refused or repeated among these frames, and the times "
			   "near them, cannot be known."},
	{"file-damaged", RD_SEV_WARNING, RD_CERTAIN, 0, damaged_file,
		"a file is damaged or incomplete",
		.meaning =
			"the disk was full, the capture was killed, or the file was copied in part",
		.next = "copy it again; the part before the damage was analysed",
		.unknown = "What the rest of the file had cannot be known."},
	{"truncated", RD_SEV_NOTE, RD_CERTAIN, 0, truncated,
		.meaning = "the capture was made with a snapshot length (snaplen), or with "
			   "--headers-only, for a smaller file",
		.next = "if headers are missing, or damage or an application is suspected, capture "
			"with a longer snapshot length, or without one"},
	{"icrc-untrusted", RD_SEV_NOTE, RD_LIKELY, 0, wrong_icrc,
		.detail = "{count} of {icrcs_checked} invariant CRCs are wrong: payload was zeroed "
			  "or rewritten, or frames were captured before the NIC computed them; "
			  "they do not count as damage",
		.meaning = "this is no sign of a network problem",
		.next = "capture without --zero-payload to see damage"},
	{"icrc-absent", RD_SEV_NOTE, RD_CERTAIN, 0, absent_icrc,
		"frames have zeros in place of their checksums",
		"{count} of {icrcs}; damage on the wire cannot be seen in them",
		.meaning =
			"frames were captured before the sending NIC computed the invariant CRC, "
			"or by an adapter that delivers InfiniBand packets without ICRC and VCRC",
		.next = "look at the counters of link errors for damage: symbol_error, "
			"port_rcv_errors"},
	{"damaged-unknown-qp", RD_SEV_WARNING, RD_POSSIBLE, 0, damaged_strays,
		"damaged frames belong to no known QP",
		"{count frame} with a wrong invariant CRC, whose headers may be damaged, too",
		.meaning =
			"the same cause as other damaged frames, or other traffic on UDP port 4791",
		.next = "look at the frames; look at symbol errors and FCS errors of the links"},
	{"merged-frames", RD_SEV_NOTE, RD_CERTAIN, 0, merged,
		"the host merged packets before they were captured (GRO)",
		"{merged_packets packet} in {count frame}; each is judged by itself, with the "
		"time of its frame",
		.meaning =
			"times within such a frame are not known, nor what was between its packets",
		.next = "switch it off: ethtool -K NETDEV gro off (or rx-gro-list off, "
			"rx-udp-gro-forwarding off); or capture on the RDMA device (rdmadump -d)"},
	{"time-backwards", RD_SEV_NOTE, RD_CERTAIN, 0, backwards, "timestamps go backwards",
		"{count time}; latencies are not measured there",
		.meaning = "the clock was set, or files are in the wrong order",
		.next = "look at the source of the clock, name files in the order of their times"},
	{"too-many-qps", RD_SEV_NOTE, RD_CERTAIN, 0, left_out,
		"there are more QPs than the analysis follows",
		"{count frame} of QPs beyond the first {qps}, only counted",
		.meaning = "the memory of the analysis is limited", .next = "raise --max-qps"},
	{"too-many-facts", RD_SEV_NOTE, RD_CERTAIN, 0, facts_left_out,
		"the file has more facts of devices than the analysis keeps",
		"{count} peers of queue pairs, ports, addresses or counters were left out; pairs "
		"of QPs may not be found",
		.meaning = "the memory of the analysis is limited",
		.next = "capture fewer devices in one file"},
	{"cm-reject", RD_SEV_WARNING, RD_CERTAIN, 0, rejected,
		.meaning = "no process listens there, or the listening application refused",
		.next = "look whether the server runs and listens on this port and address",
		.cause = CAUSE(10, "REJECTED", "{s} rejected a connection with {r}.", RD_LIKELY,
			"Rejections", 0, ANYWHERE(SH))},
	{"cm-gave-up", RD_SEV_WARNING, RD_LIKELY, 0, connecting_ended,
		"a connection was given up: its CM message was not answered in time",
		.meaning = "the other end is slow, or a message is lost on the way there or back; "
			   "or the program that connects ended meanwhile",
		.next = "capture at the other end, to see which message is missing",
		.cause = CAUSE(10, "NO REPLY",
			"{s} gave up a connection with {r}, which did not respond in time.",
			RD_LIKELY, "Connections given up", 0, UNANSWERED)},
	{"cm-no-reply", RD_SEV_PROBLEM, RD_LIKELY, 0, not_connected,
		"a connection request gets no reply",
		.filter = "infiniband.mad.attributeid == 0x0010",
		.meaning = "the other end is down or filters UDP port 4791; or its replies take "
			   "another path",
		.next = "ping it from this address (ping -I), capture there",
		.doubts = {CAPTURE_LOST},
		.cause = CAUSE(2, "NO REPLY", "{s} asks {r} for a connection and gets no reply.",
			RD_LIKELY, "Requests for connections", 0, UNANSWERED)},
	{"counters-differ", RD_SEV_WARNING, RD_LIKELY, 0, counters_differ,
		.meaning = "the capture missed packets, or other traffic used the device",
		.next = "look at the losses of the capture, and at the difference for each "
			"counter",
		.unknown = "If the capture missed packets, what happened to them cannot be known."},
	{0},
};
