/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules over management datagrams: errors that responses report, requests without a response. */
#include "look.h"

#define NAME_LEN	96
#define STATUS_REDIRECT 0x0002
#define RETURNING	0x8000 /* the D bit of directed SMPs, beside their status */

static const char *name_of(char text[NAME_LEN], const struct rd_mad_row *row)
{
	rd_mad_text(text, NAME_LEN, row->class, row->method, row->attribute);
	return text;
}

/* The status is in the response itself, so it holds whatever else was captured. */
static bool mad_error(const struct look *l, struct rd_finding *f)
{
	const struct rd_mad_row *row = NTH(one, l, l->r->mads, l->r->n_mads, one->status);
	const char *cause = row ? rd_mad_status_name(row->class, row->status) : NULL;
	char name[NAME_LEN];

	if (!row)
		return false;
	/* Busy and redirect ask for another attempt; they are part of normal operation. */
	if (row->status <= 3)
		f->severity = RD_SEV_NOTE;
	if (row->status == STATUS_REDIRECT)
		f->meaning = "the manager is at another port";
	finding_evidence(f, &row->frames);
	rd_finding_title(f, "%s reports status 0x%04x%s%s%s", name_of(name, row), row->status,
		cause ? " (" : "", cause ? cause : "", cause ? ")" : "");
	rd_finding_filter(f, 0,
		"infiniband.mad.mgmtclass == 0x%02x && infiniband.mad.attributeid == 0x%04x && "
		"infiniband.mad.status == 0x%04x",
		row->class, row->attribute,
		row->status | (row->class == RD_MAD_SMP_DIRECTED ? RETURNING : 0));
	return true;
}

static bool mad_no_response(const struct look *l, struct rd_finding *f)
{
	const struct rd_mad_row *row = NTH(one, l, l->r->mads, l->r->n_mads, one->unanswered.count);
	char name[NAME_LEN];

	if (!row)
		return false;
	if (!RD_ANY(m, l->r->mads, l->r->n_mads, m->class == row->class && m->answers))
		finding_doubt(f, RD_POSSIBLE, "no response of this class was captured");
	finding_evidence(f, &row->unanswered);
	rd_finding_title(f, "%s gets no response", name_of(name, row));
	rd_finding_detail(f,
		"%llu of %llu requests were repeated, or waited for more than a second; %llu got a "
		"response",
		n(row->unanswered.count), n(row->frames.count - row->segments - row->repeated),
		n(row->answered));
	rd_finding_filter(f, 0,
		"infiniband.mad.mgmtclass == 0x%02x && infiniband.mad.method == 0x%02x && "
		"infiniband.mad.attributeid == 0x%04x",
		row->class, row->method, row->attribute);
	return true;
}

DOUBT_LIKELY(has_no_valid_crc, "no frame has a valid ICRC",
	l->r->totals.icrc_bad && !l->r->totals.icrc_good)

DOUBT(may_lack_mads, "responses may be cut, or not in order",
	l->r->totals.truncated || l->r->totals.backwards || l->r->mads_left_out)

const struct rule rules_of_mads[] = {
	{"mad-error", RD_SEV_WARNING, RD_CERTAIN, 0, mad_error, .detail = "{count response}",
		.meaning = "the manager or agent cannot do what was requested: it does not know "
			   "the port, path or group, or does not support the request",
		.next = "look at the request with the same transaction ID, and at the log of the "
			"subnet manager",
		.doubts = {has_no_valid_crc},
		.cause = CAUSE(
			8, "MAD", NULL, RD_LIKELY, "Responses with an error", 0, ANYWHERE(0))},
	{"mad-no-response", RD_SEV_WARNING, RD_LIKELY, 0, mad_no_response,
		.meaning = "the port, its agent or the subnet manager is down or overloaded, or "
			   "the response takes another path",
		.next = "look at the port (ibstat, smpquery), and at the log of the subnet manager",
		.doubts = {CAPTURE_LOST, may_lack_mads},
		.cause = CAUSE(
			8, "MAD", NULL, RD_LIKELY, "Requests without a response", 0, ANYWHERE(0))},
	{0},
};
