/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over the whole capture: what it lacks, and what concerns no single QP. */
#include "../model/facts.h"
#include "rules.h"
#include <inttypes.h>

#define SILENCE_NS UINT64_C(50000000)

static unsigned long long n(uint64_t value)
{
	return value;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void about(struct rd_finding *f, uint64_t count, enum rd_certainty certainty)
{
	f->evidence.count = count;
	f->certainty = certainty;
}

static bool no_rdma(const struct look *l, struct rd_finding *f)
{
	const struct rd_totals *t = &l->r->totals;

	if (l->nth || l->r->n_conversations)
		return false;
	about(f, t->frames, RD_CERTAIN);
	rd_finding_title(f, t->frames ? "there is no RDMA traffic in this capture"
				      : "there are no frames in this capture");
	rd_finding_detail(f, "%llu frames, none of them RoCE or InfiniBand", n(t->frames));
	return true;
}

static bool lost_by_capture(const struct look *l, struct rd_finding *f)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < l->r->n_files; i++)
		lost += l->r->files[i].dropped;
	if (l->nth || !lost)
		return false;
	finding_evidence(f, &l->a->dropped, RD_CERTAIN);
	f->evidence.count = lost;
	rd_finding_title(f, "the capture itself lost frames");
	rd_finding_detail(f, "%llu frames, %.2f %%; gaps around them are no network loss", n(lost),
		percent(lost, lost + l->r->totals.frames));
	return true;
}

static bool damaged_file(const struct look *l, struct rd_finding *f)
{
	unsigned int nth = l->nth;

	for (size_t i = 0; i < l->r->n_files; i++)
		if (l->r->files[i].damage && !nth--) {
			about(f, 1, RD_CERTAIN);
			rd_finding_frame(f, l->r->files[i].first_frame + l->r->files[i].frames - 1);
			rd_finding_title(f, "a file ends before its end");
			rd_finding_detail(f, "%s; %llu frames of it were analysed",
				l->r->files[i].damage, n(l->r->files[i].frames));
			return true;
		}
	return false;
}

static bool truncated(const struct look *l, struct rd_finding *f)
{
	const struct rd_totals *t = &l->r->totals;

	if (l->nth || !t->truncated)
		return false;
	about(f, t->truncated, RD_CERTAIN);
	rd_finding_title(f, "frames were captured in part");
	rd_finding_detail(f, "%llu of %llu frames; checksums cannot be verified%s", n(t->truncated),
		n(t->frames), t->cut ? ", and of some even headers are missing" : "");
	return true;
}

static bool wrong_icrc(const struct look *l, struct rd_finding *f)
{
	const struct rd_totals *t = &l->r->totals;

	if (l->nth || !t->icrc_bad || t->icrc_trusted)
		return false;
	about(f, t->icrc_bad, RD_LIKELY);
	rd_finding_title(f, "the file does not keep valid checksums");
	rd_finding_detail(f,
		"%llu of %llu invariant CRCs are wrong: payload was zeroed or rewritten, or frames "
		"were captured before the NIC made them; they are not taken for damage",
		n(t->icrc_bad), n(t->icrc_bad + t->icrc_good));
	return true;
}

static bool damaged_strays(const struct look *l, struct rd_finding *f)
{
	if (l->nth || !l->a->icrc_lost.count || !l->r->totals.icrc_trusted)
		return false;
	finding_evidence(f, &l->a->icrc_lost, RD_CERTAIN);
	rd_finding_title(f, "damaged frames name no known QP");
	rd_finding_detail(f,
		"%llu frames with a wrong invariant CRC, whose headers may be wrong too",
		n(f->evidence.count));
	return true;
}

static bool silence(const struct look *l, struct rd_finding *f)
{
	const struct rd_totals *t = &l->r->totals;

	if (l->nth || t->longest_silence_ns < SILENCE_NS)
		return false;
	about(f, t->silences, RD_POSSIBLE);
	rd_finding_frame(f, t->silence_frame);
	rd_finding_title(f, "all traffic stopped while several QPs waited for responses");
	rd_finding_detail(f, "%llu pauses, the longest %.3g ms", n(t->silences),
		(double)t->longest_silence_ns / 1e6);
	return true;
}

static bool backwards(const struct look *l, struct rd_finding *f)
{
	if (l->nth || !l->r->totals.backwards)
		return false;
	about(f, l->r->totals.backwards, RD_CERTAIN);
	rd_finding_title(f, "timestamps go backwards");
	rd_finding_detail(f, "%llu times; latencies there are not counted", n(f->evidence.count));
	return true;
}

static bool left_out(const struct look *l, struct rd_finding *f)
{
	if (l->nth || !l->r->totals.frames_left_out)
		return false;
	about(f, l->r->totals.frames_left_out, RD_CERTAIN);
	rd_finding_title(f, "there are more QPs than are followed");
	rd_finding_detail(f, "%llu frames of QPs beyond the first %llu are only counted",
		n(f->evidence.count), n(l->r->totals.qps));
	return true;
}

static bool facts_left_out(const struct look *l, struct rd_finding *f)
{
	if (l->nth || !l->a->facts || !l->a->facts->left_out)
		return false;
	about(f, l->a->facts->left_out, RD_CERTAIN);
	rd_finding_title(f, "the file has more facts of devices than are taken");
	rd_finding_detail(f,
		"%llu peers of queue pairs, ports or counters were left out; QPs may remain "
		"unpaired "
		"that belong together",
		n(f->evidence.count));
	return true;
}

/* --- connections ------------------------------------------------------------------------------ */

static void between(struct rd_finding *f, unsigned int net, const uint8_t *src, const uint8_t *dst)
{
	char from[RD_ADDRESS_LEN], to[RD_ADDRESS_LEN];

	rd_address_text(from, net, src);
	rd_address_text(to, net, dst);
	rd_finding_where(f, "%s -> %s", from, to);
}

static bool rejected(const struct look *l, struct rd_finding *f)
{
	const struct cm_reject *j = &l->a->rejects[l->nth];
	const char *reason;

	if (l->nth >= l->a->n_rejects)
		return false;
	reason = rd_cm_reason_name(j->reason);
	finding_evidence(f, &j->incident, RD_CERTAIN);
	between(f, j->net, j->src, j->dst);
	rd_finding_title(f, "a connection was refused: %s", reason ? reason : "unknown reason");
	rd_finding_detail(f, "%llu rejects with reason %u, service id 0x%016" PRIx64,
		n(f->evidence.count), j->reason, j->service);
	rd_finding_filter(f, 0, "infiniband.cm.rej.reason == 0x%04x", j->reason);
	return true;
}

/* A request that was repeated and never answered. */
static bool not_connected(const struct look *l, struct rd_finding *f)
{
	unsigned int nth = l->nth;

	for (unsigned int i = 0; i < CM_OPEN; i++) {
		const struct cm_request *r = &l->a->cm[i];

		if (!r->used || r->answered || r->rejected || !r->repeats || nth--)
			continue;
		about(f, r->repeats + 1U, RD_CERTAIN);
		f->evidence.first_ns = f->evidence.last_ns = r->ns;
		rd_finding_frame(f, r->frame);
		between(f, r->net, r->src, r->dst);
		rd_finding_title(f, "a connection request gets no reply");
		rd_finding_detail(f, "%u requests from QP 0x%x, service id 0x%016" PRIx64,
			r->repeats + 1U, r->qpn, r->service);
		rd_finding_filter(f, 0, "infiniband.mad.attributeid == 0x0010");
		return true;
	}
	return false;
}

static bool counters_differ(const struct look *l, struct rd_finding *f)
{
	unsigned int nth = l->nth;

	for (size_t i = 0; i < l->r->n_comparisons; i++) {
		const struct rd_comparison *c = &l->r->comparisons[i];

		if (c->agrees || !c->known || nth--)
			continue;
		about(f,
			c->device_count > c->packets ? c->device_count - c->packets
						     : c->packets - c->device_count,
			RD_LIKELY);
		rd_finding_title(f, "%s counted %llu %s, the packets show %llu", c->device,
			n(c->device_count), c->counter, n(c->packets));
		rd_finding_detail(
			f, "%s%s%s", c->meaning, c->why ? "; " : "", c->why ? c->why : "");
		return true;
	}
	return false;
}

const struct rule rules_of_capture[] = {
	{"no-rdma", RD_SEV_NOTE, no_rdma,
		"the wrong interface, a filter, or RDMA that bypasses the kernel and was captured "
		"on the netdev",
		"capture on the RDMA device (rdmadump -d), see 'rdmadump list'"},
	{"capture-lost", RD_SEV_WARNING, lost_by_capture,
		"the capturing machine or its disk was too slow",
		"capture less (a filter, --headers-only), or with a larger buffer"},
	{"file-damaged", RD_SEV_WARNING, damaged_file,
		"the disk was full, the capture was killed, or the copy is not whole",
		"copy it again; what precedes the damage was analysed"},
	{"truncated", RD_SEV_NOTE, truncated, "a snapshot length was set",
		"capture whole frames, or with --zero-payload, to see damage"},
	{"icrc-untrusted", RD_SEV_NOTE, wrong_icrc, "nothing is wrong with the network by that",
		"capture without --zero-payload to see damage"},
	{"damaged-unknown-qp", RD_SEV_WARNING, damaged_strays,
		"the same cause as other damaged frames, or something else on UDP port 4791",
		"look at symbol errors and FCS errors of the links"},
	{"silence", RD_SEV_WARNING, silence,
		"a port that is paused (PFC storm), a link that went down, or hosts that stood "
		"still",
		"look at rx_prio*_pause counters of the NIC and of the switch ports"},
	{"time-backwards", RD_SEV_NOTE, backwards,
		"the clock was set, or files are in the wrong order",
		"look at the clock's source, "
		"give files in order"},
	{"too-many-qps", RD_SEV_NOTE, left_out, "memory is bounded on purpose", "raise --max-qps"},
	{"too-many-facts", RD_SEV_NOTE, facts_left_out, "memory is bounded on purpose",
		"capture fewer devices in one file"},
	{"cm-reject", RD_SEV_WARNING, rejected,
		"nobody listens there, or the listening application refused",
		"look whether the server runs and listens on this port and address"},
	{"cm-no-reply", RD_SEV_PROBLEM, not_connected,
		"the other end is down, filters UDP 4791, or its responses take another path",
		"ping it from this address (ping -I), capture there"},
	{"counters-differ", RD_SEV_WARNING, counters_differ,
		"the capture missed packets, or other traffic used the device",
		"compare with the losses of the capture; look at the difference per counter"},
	{0},
};
