/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The frames of a case of two captures, and what the reports of each capture alone have. */
#include "analysis/ends/ends.h"
#include "cases.h"
#include <ctype.h>

#define BTH   (14 + 20 + 8)
#define START 1000000000000ULL

static const char *const taps = "ab";

/* --- frames ----------------------------------------------------------------------------------- */

static struct make in_tunnel(const struct make *inner, uint32_t network)
{
	struct make outer = {.n = 0};

	make_udp_frame(&outer, 4789, 8 + inner->n);
	make_be32(&outer, 0x08000000);
	make_be32(&outer, network << 8);
	make_bytes(&outer, inner->b, inner->n);
	return outer;
}

static void begin(struct run *r)
{
	const struct rd_ends_start start = {.first_ns = {START + (uint64_t)r->slot[S_first_a],
						    START + (uint64_t)r->slot[S_first_b]}};

	if (!r->e && rd_ends_open(&r->e, &start, NULL) < 0)
		abort();
}

/* A packet in the file of one end, at `ns` after the start by a clock without drift. */
static void see(
	struct run *r, enum rd_tap end, bool back, uint32_t psn, uint8_t syndrome, int64_t ns)
{
	const int64_t *slot = r->slot;
	struct make m = {.n = 0};
	struct rd_frame frame;

	make_packet(&m, MAKE_V2_IPV4,
		back		 ? 0x11
		: slot[S_opcode] ? (unsigned int)slot[S_opcode]
				 : 0x04,
		back	     ? 0x200
		: slot[S_qp] ? (uint32_t)slot[S_qp]
			     : 0x100,
		back		   ? 4
		: slot[S_body] > 0 ? (uint32_t)slot[S_body]
				   : 64,
		0);
	if (back) {
		memcpy(m.b + 26, "\x0a\0\0\x01\x0a\0\0\x02", 8);
		m.b[BTH + 12] = syndrome;
	}
	rd_put_be16(m.b + 14 + 4, (uint16_t)slot[S_id]);
	m.b[14 + 8] = (uint8_t)slot[(back ? S_ttl_back_a : S_ttl_a) + (int)end];
	rd_put_be32(m.b + BTH + 8, psn);
	rd_put_be32(m.b + m.n - 4,
		psn * 2654435761U + syndrome + (back ? 0 : (uint32_t)slot[S_changed]));
	if (slot[S_net_a + (int)end])
		m = in_tunnel(&m, (uint32_t)slot[S_net_a + (int)end]);
	frame = make_frame(&m);
	frame.ts_ns = START + (uint64_t)ns;
	if (slot[S_directions] && !(slot[S_only_a] && end == RD_TAP_B))
		frame.direction = (end == RD_TAP_B) == back ? RD_DIR_OUT : RD_DIR_IN;
	if (end == RD_TAP_B) {
		frame.caplen -= (uint32_t)(slot[S_cut] + slot[S_trim]);
		frame.len -= (uint32_t)slot[S_trim];
		frame.ts_ns += (uint64_t)((int64_t)((double)ns * (double)slot[S_drift] / 1e6) +
					  slot[S_ahead]);
	}
	begin(r);
	rd_ends_frames(r->e, end, RD_LINK_ETHERNET, &frame, 1);
}

/* "> PSN", "a> PSN", "< PSN SYNDROME": in both captures, or in one of them, at this time. */
static size_t packet(struct run *r, size_t at, const char *word)
{
	static const struct {
		const char *name;
		uint8_t value;
	} syndromes[] = {{"nak", 0x60}, {"rnr", 0x2c}};
	const char *arrow = strpbrk(word, "<>");
	const bool back = *arrow == '<';
	const uint32_t psn = (uint32_t)value_of(r, at + 1, text_of(r, at + 1));
	const int64_t ns = (int64_t)r->ns;
	uint8_t syndrome = 0;
	size_t next = at + 2;

	if (back && next < r->n && !strncmp(r->tok[next].text, "is=", 3)) {
		syndrome = (uint8_t)value_of(r, next, text_of(r, next) + 3);
		next++;
	}
	for (size_t i = 0; back && next < r->n && i < sizeof(syndromes) / sizeof(*syndromes); i++)
		if (!strcmp(r->tok[next].text, syndromes[i].name)) {
			syndrome = syndromes[i].value;
			next++;
		}
	if (arrow == word) {
		see(r, back ? RD_TAP_B : RD_TAP_A, back, psn, syndrome, ns);
		see(r, back ? RD_TAP_A : RD_TAP_B, back, psn, syndrome, ns + r->slot[S_delay]);
	} else {
		see(r, *word == 'a' ? RD_TAP_A : RD_TAP_B, back, psn, syndrome, ns);
	}
	return next;
}

/* --- the captures alone ----------------------------------------------------------------------- */

static struct alone *alone_by(struct run *r, size_t at)
{
	const char *tap = text_of(r, at);

	if (strlen(tap) != 1 || !strchr(taps, *tap))
		bail(r, at, "'%s' is no capture: a or b", tap);
	return &r->by[*tap - 'a'];
}

/* "find A RULE SEVERITY CERTAINTY NEXT": a finding of a capture on requests, at this time. */
static size_t find(struct run *r, size_t at)
{
	struct alone *x = alone_by(r, at + 1);
	struct rd_finding *f = rd_findings_add(&x->report.findings);
	const char *severity = text_of(r, at + 3), *certainty = text_of(r, at + 4);

	f->rule = r->tok[at + 2].text;
	while (strcmp(rd_severity_name(f->severity), severity) && f->severity < RD_SEV_PROBLEM)
		f->severity++;
	f->certainty = RD_POSSIBLE;
	while (strcmp(rd_certainty_name(f->certainty), certainty) && f->certainty < RD_CERTAIN)
		f->certainty++;
	if (strcmp(rd_severity_name(f->severity), severity) ||
		strcmp(rd_certainty_name(f->certainty), certainty))
		bail(r, at, "'%s %s' is no severity and certainty", severity, certainty);
	f->conversation = 1;
	f->evidence = (struct rd_evidence){
		.count = 1, .first_ns = START + r->ns, .last_ns = START + r->ns};
	rd_finding_title(f, "a title");
	rd_finding_where(f, "10.0.0.2 QP 0x200 -> 10.0.0.1 QP 0x100");
	if (goes_on(r, at + 5) && isalnum((unsigned char)*r->tok[at + 5].text)) {
		f->evidence.count = (uint64_t)value_of(r, at + 5, r->tok[at + 5].text);
		at++;
	}
	if (!goes_on(r, at + 5) || *r->tok[at + 5].text != '"')
		return at + 5;
	f->next = text_of(r, at + 5);
	return at + 6;
}

/* Incidents are stored in the order of their kinds. */
static bool incident_set(struct alone *x, const char *key, uint64_t count)
{
	struct rd_side *s = &x->c[0].side[0];
	unsigned int kind = 0, place = 0;

	while (kind < RD_INC_COUNT && strcmp(rd_incident_names[kind].key, key))
		place += (unsigned int)(s->has_incidents >> kind++ & 1);
	if (kind == RD_INC_COUNT)
		return false;
	for (unsigned int i = 7; i > place; i--)
		x->incidents[i] = x->incidents[i - 1];
	x->incidents[place] = (struct rd_incident){.count = count};
	s->has_incidents |= UINT64_C(1) << kind;
	return true;
}

static bool member_set(struct alone *x, const char *key, uint64_t n)
{
	struct rd_side *s = &x->c[0].side[0];

	for (unsigned int i = 0; i < RD_TIME_COUNT; i++)
		if (!strcmp(rd_time_keys[i], key)) {
			x->times.ns[i] = n;
			s->times = &x->times;
			return true;
		}
	if (!strcmp(key, "requests")) {
		s->requests = n;
		x->c[0].side[1].seen = true;
	} else if (!strcmp(key, "messages")) {
		x->verb.messages = n;
		s->verbs = &x->verb;
		s->has_verbs = 1U << RD_VERB_SEND;
	} else if (!strcmp(key, "dropped")) {
		x->file = (struct rd_report_file){.dropped = n, .dropped_known = true};
		x->report.files = &x->file;
		x->report.n_files = 1;
	} else if (!strcmp(key, "damaged")) {
		x->report.totals.icrc_trusted = true;
		x->report.totals.icrc_bad = n;
	} else if (!strcmp(key, "icrc_good")) {
		x->report.totals.icrc_good = n;
	} else if (!strcmp(key, "moved")) {
		x->report.totals.moved_ns = n;
	} else if (!strcmp(key, "qp")) {
		x->c[0].end[1].qp = (uint32_t)n;
	} else {
		return incident_set(x, key, n);
	}
	return true;
}

/* "alone A NAME=VALUE...": counts of incidents, times, and what its file reports. */
static size_t alone(struct run *r, size_t at)
{
	struct alone *x = alone_by(r, at + 1);

	for (at += 2; goes_on(r, at) && strchr(r->tok[at].text, '='); at++) {
		const char *text = text_of(r, at);
		char key[32];

		snprintf(key, sizeof(key), "%.*s", (int)strcspn(text, "="), text);
		if (!member_set(x, key, (uint64_t)value_of(r, at, strchr(text, '=') + 1)))
			bail(r, at, "'%s' is nothing that a report has", key);
	}
	return at;
}

/* "owner A SIDE PID NAME RANK", or "owner A SIDE STATE": of the QP of 10.0.0.2 (0) or .1 (1). */
static size_t owner(struct run *r, size_t at)
{
	struct alone *x = alone_by(r, at + 1);
	int64_t side = value_of(r, at + 2, text_of(r, at + 2)) & 1, n;
	struct rd_owner *o = &x->owner[side];

	if (!strcmp(r->tok[at + 3].text, "unlisted") || !strcmp(r->tok[at + 3].text, "unknown")) {
		x->c[0].owner_state[side] =
			*r->tok[at + 3].text == 'u' && r->tok[at + 3].text[2] == 'l'
				? RD_OWNER_NOT_LISTED
				: RD_OWNER_NO_FACTS;
		return at + 4;
	}
	n = value_of(r, at + 5, text_of(r, at + 5));
	*o = (struct rd_owner){.pid = (uint32_t)value_of(r, at + 3, text_of(r, at + 3)),
		.rank = n < 0 ? UINT32_MAX : (uint32_t)n};
	snprintf(o->comm, sizeof(o->comm), "%s", text_of(r, at + 4));
	x->c[0].owner[side] = o;
	return at + 6;
}

static void networks(struct run *r, uint32_t first)
{
	for (int end = 0; end < RD_TAPS; end++) {
		struct alone *x = &r->by[end];

		x->c[1] = x->c[0];
		x->c[1].id = 2;
		x->c[0].network = first;
		x->c[1].network = first ? first + 1 : 0;
		x->report.n_conversations = 2;
	}
}

static void file_end(struct run *r, enum rd_tap end, uint64_t until)
{
	begin(r);
	if (!r->ended[end])
		rd_ends_file_end(r->e, end, until);
	r->ended[end] = true;
}

void ends_begin(struct run *r)
{
	r->ended[0] = r->ended[1] = false;
	for (int end = 0; end < RD_TAPS; end++) {
		struct alone *x = &r->by[end];

		memset(x, 0, sizeof(*x));
		x->c[0] = (struct rd_conversation){.id = 1,
			.transport = RD_RC,
			.end = {{"10.0.0.2", 0x200}, {"10.0.0.1", 0x100}}};
		x->c[0].side[0].incidents = x->incidents;
		x->report.conversations = x->c;
		x->report.n_conversations = 1;
		x->report.totals.first_ns = START;
	}
}

size_t ends_statement(struct run *r, size_t at)
{
	const char *word = r->tok[at].text, *arrow = strpbrk(word, "<>");

	if (arrow && !arrow[1] && (arrow == word || (arrow == word + 1 && strchr(taps, *word))))
		return packet(r, at, word);
	if (!strcmp(word, "find"))
		return find(r, at);
	if (!strcmp(word, "alone"))
		return alone(r, at);
	if (!strcmp(word, "owner"))
		return owner(r, at);
	if (!strcmp(word, "networks")) {
		networks(r, (uint32_t)value_of(r, at + 1, text_of(r, at + 1)));
		return at + 2;
	}
	if (!strcmp(word, "end")) {
		const enum rd_tap end = alone_by(r, at + 1) == r->by ? RD_TAP_A : RD_TAP_B;

		file_end(r, end,
			START + (uint64_t)(value_of(r, at + 2, text_of(r, at + 2)) +
					   (end == RD_TAP_B ? r->slot[S_ahead] : 0)));
		return at + 3;
	}
	return 0;
}

/* --- the report ------------------------------------------------------------------------------- */

/* What the tests need and no user does. */
static void add_inner(struct run *r)
{
	json_t *clock = json_object_get(r->json, "clock");
	const int64_t off = r->er->offset_ns - r->slot[S_ahead];

	if (json_is_object(clock))
		json_object_set_new(clock, "off_by_ns", json_integer(off < 0 ? -off : off));
	for (size_t i = 0; i < r->er->n_paths; i++) {
		const struct rd_path *p = &r->er->paths[i];
		json_t *o = json_array_get(json_object_get(r->json, "paths"), i);

		json_object_set_new(o, "shared", json_boolean(p->shared));
		json_object_set_new(o, "doubtful", json_boolean(p->doubtful));
	}
}

void ends_report(struct run *r, size_t at)
{
	const struct rd_report *const reports[RD_TAPS] = {&r->by[0].report, &r->by[1].report};
	const struct rd_report_style style = {0};
	size_t size;
	FILE *out = open_memstream(&r->text, &size);

	for (int end = 0; end < RD_TAPS; end++) {
		r->by[end].report.n_conversations *= r->slot[S_alone] != 0;
		if (verdict_make(&r->by[end].report) < 0)
			abort();
		file_end(r, (enum rd_tap)end, 0);
	}
	if (!out || rd_ends_report(r->e, reports, &r->er, NULL) < 0)
		abort();
	r->json = rd_ends_json(r->er);
	add_inner(r);
	rd_ends_text(r->er, &style, out);
	fclose(out);
	for (size_t i = 0; i < r->er->n_paths && r->slot[S_known]; i++) {
		const struct rd_path *p = &r->er->paths[i];

		if (p->sender_known && p->sender == (p->qps[0].qp == 0x100 ? RD_TAP_A : RD_TAP_B))
			continue;
		printf("# %s:%d: which capture is at the sender of QP 0x%x is not known, or "
		       "wrong\n",
			r->path, r->tok[at].line, p->qps[0].qp);
		r->failed++;
	}
}

void ends_close(struct run *r)
{
	for (int end = 0; end < RD_TAPS; end++) {
		struct rd_report *x = &r->by[end].report;

		verdict_free(&x->verdict);
		groups_free(&x->groups);
		rd_findings_free(&x->findings);
		free(x->place_of);
		free(x->flow_slots);
	}
	rd_ends_report_free(r->er);
	rd_ends_close(r->e);
}
