/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The frames of a case of one capture: between QP 0x200 of 10.0.0.2 and QP 0x100 of 10.0.0.1. */
#include "cases.h"

#define BTH    (14 + 20 + 8)
#define ABSENT (-1)

enum {
	SEND_LAST = 0x02,
	SEND_ONLY = 0x04,
	WRITE_FIRST = 0x06,
	WRITE_LAST = 0x08,
	READ = 0x0c,
	RESP_FIRST = 0x0d,
	RESP_MIDDLE = 0x0e,
	RESP_ONLY = 0x10,
	ACK = 0x11,
	ATOMIC_ACK = 0x12,
	FETCH_ADD = 0x14,
	UD_ONLY = 0x64,
	CNP = 0x81,
};

static const struct op {
	const char *name;
	uint8_t opcode, syndrome;
} ops[] = {{"send", SEND_ONLY, 0}, {"first", 0x00, 0}, {"middle", 0x01, 0}, {"last", SEND_LAST, 0},
	{"write-first", WRITE_FIRST, 0}, {"write-middle", 0x07, 0}, {"write-last", WRITE_LAST, 0},
	{"write", 0x0a, 0}, {"write-imm", 0x0b, 0}, {"read", READ, 0},
	{"resp-first", RESP_FIRST, 0x1f}, {"resp-middle", RESP_MIDDLE, 0x1f},
	{"resp-last", 0x0f, 0x1f}, {"resp", RESP_ONLY, 0x1f}, {"ack", ACK, 0x1f},
	{"rnr", ACK, 0x2e}, {"nak", ACK, 0x60}, {"nak-invalid", ACK, 0x61},
	{"nak-access", ACK, 0x62}, {"atomic", ATOMIC_ACK, 0x1f}, {"add", FETCH_ADD, 0},
	{"uc-first", 0x20, 0}, {"uc-last", 0x22, 0}, {"uc", 0x24, 0}, {"ud", UD_ONLY, 0},
	{"cnp", CNP, 0}};

struct frame {
	bool back;
	const struct op *op;
	int64_t psn;	 /* ABSENT: that of test_packet_make.h */
	size_t from, to; /* the tokens that change it */
	int64_t slot[N_SLOTS];
};

/* --- parts of a frame ------------------------------------------------------------------------- */

static void put_icrc(struct run *r, size_t at, struct make *m)
{
	struct rd_packet p;
	uint32_t computed, stored;

	if (!rd_packet_parse(RD_LINK_ETHERNET, m->b, m->n, m->n, &p) ||
		!rd_packet_icrc(&p, &computed, &stored))
		bail(r, at, "the frame has no ICRC");
	for (unsigned int i = 0; i < RD_ICRC_LEN; i++)
		m->b[p.icrc + i] = (uint8_t)(computed >> 8 * i);
}

/* Puts an IP header before that of a frame. */
static void tunnel(struct make *m)
{
	uint8_t *ip = m->b + 14;

	memmove(ip + 20, ip, m->n - 14);
	memcpy(ip, "\x45\0\0\0\0\0\0\0\x40\x04\0\0\xc0\0\2\x02\xc0\0\2\x01", 20);
	m->n += 20;
	rd_put_be16(ip + 2, (uint16_t)(m->n - 14));
}

/* Puts Ethernet, IP, UDP and VXLAN headers before a frame. */
static void vxlan(struct make *m, uint32_t vni)
{
	struct make outer = {.n = 0};

	make_fill(&outer, 0, 12);
	make_be16(&outer, 0x0800);
	make_bytes(&outer, "\x45\0\0\0\0\0\0\0\x40\x11\0\0\xc0\0\2\1\xc0\0\2\2", 20);
	make_bytes(&outer, "\x30\x39\x12\xb5\0\0\0\0\x08\0\0\0", 12);
	make_be32(&outer, vni << 8);
	rd_put_be16(outer.b + 16, (uint16_t)(36 + m->n));
	rd_put_be16(outer.b + 38, (uint16_t)(16 + m->n));
	make_bytes(&outer, m->b, m->n);
	*m = outer;
}

/* Puts a tag behind the MAC addresses of a frame. */
static void tag(struct make *m, uint16_t tci)
{
	memmove(m->b + 16, m->b + 12, m->n - 12);
	rd_put_be16(m->b + 12, 0x8100);
	rd_put_be16(m->b + 14, tci);
	m->n += 4;
}

static uint32_t put_hex(uint8_t *to, const char *hex)
{
	uint32_t n = 0;

	for (unsigned int byte; sscanf(hex, "%2x", &byte) == 1 && hex[1]; hex += 2)
		to[n++] = (uint8_t)byte;
	return n;
}

static bool is_change(const char *text)
{
	return text[strcspn(text, ":=")] == ':' && strchr(text, '=');
}

/* "OFFSET:TYPE=VALUE"; a "+" before the offset: behind the headers up to BTH. */
static void change(struct run *r, size_t at, struct make *m)
{
	const char *text = text_of(r, at), *type = strchr(text, ':'), *is = strchr(text, '=');
	char offset[64], name[8];
	unsigned int bytes = 0;
	uint64_t n = 0;
	bool little;
	uint8_t *p;

	if (!type || !is || is < type || is - type > 7)
		bail(r, at, "'%s' is no 'name=value' of a frame", text);
	snprintf(offset, sizeof(offset), "%.*s", (int)(type - text), text);
	snprintf(name, sizeof(name), "%.*s", (int)(is - type - 1), type + 1);
	p = m->b + (*text == '+' ? BTH + 12 : 0) + value_of(r, at, offset + (*text == '+'));
	if (!strncmp(name, "hex", 3)) { /* "hex*4": four times */
		for (int times = name[3] ? atoi(name + 4) : 1; times > 0; times--)
			p += put_hex(p, is + 1);
		return;
	}
	little = !strncmp(name, "le", 2);
	bytes = (unsigned int)atoi(name + 2 * little) / 8;
	n = (uint64_t)value_of(r, at, is + 1);
	if (!bytes || bytes > 8)
		bail(r, at, "'%s' is no type", name);
	for (unsigned int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(n >> 8 * (little ? i : bytes - 1 - i));
}

/* --- whole frames ----------------------------------------------------------------------------- */

static void analysis(struct run *r)
{
	if (r->a)
		return;
	if (rd_analysis_open(&r->a, &r->config, NULL) < 0 ||
		rd_analysis_file(r->a, "test", "made", NULL, NULL) < 0)
		abort();
}

static void give(struct run *r, const struct make *m, const int64_t *slot, bool back)
{
	struct rd_frame frame = {.ts_ns = r->ns += (uint64_t)slot[S_gap],
		.iface = (uint16_t)slot[S_iface],
		.data = m->b,
		.caplen = m->n,
		.len = m->n};

	if (slot[S_marks])
		frame.direction = back == (slot[S_marks] == 1) ? RD_DIR_OUT : RD_DIR_IN;
	if (slot[S_cut] && slot[S_cut] < m->n)
		frame.caplen = (uint32_t)slot[S_cut];
	analysis(r);
	r->iface.link = slot[S_ib] ? RD_LINK_INFINIBAND : RD_LINK_ETHERNET;
	rd_analysis_frames(r->a, &r->iface, &frame, 1);
}

static uint32_t body_of(const struct frame *f)
{
	switch (f->op->opcode) {
	case READ:
	case CNP:
		return 16;
	case ACK:
		return 4;
	case ATOMIC_ACK:
		return 4 + 8;
	case FETCH_ADD:
		return 28;
	case UD_ONLY:
		return f->slot[S_src] == ABSENT ? 1024 : 8 + 64;
	case WRITE_FIRST:
		return f->slot[S_length] == ABSENT ? 1024 : 16 + 1024;
	default:
		return f->op->syndrome && f->op->opcode != RESP_MIDDLE ? 4 + 1024 : 1024;
	}
}

/* The header behind the BTH. */
static void put_head(const struct frame *f, uint8_t *p)
{
	const int64_t *slot = f->slot;
	const uint8_t opcode = f->op->opcode;

	if (f->op->syndrome && opcode != RESP_MIDDLE) {
		rd_put_be32(p,
			(uint32_t)f->op->syndrome << 24 | (slot[S_msn] ? (uint8_t)slot[S_msn] : 1));
	} else if (opcode == READ || slot[S_length] != ABSENT) {
		memset(p, 0, opcode == FETCH_ADD ? 28 : 16);
		rd_put_be64(p, (uint64_t)slot[S_addr]);
		rd_put_be32(p + 8, (uint32_t)slot[S_rkey]);
		rd_put_be32(p + 12, (uint32_t)(slot[S_length] == ABSENT ? 1024 : slot[S_length]));
	} else if (opcode == UD_ONLY && slot[S_src] != ABSENT) {
		rd_put_be32(p, (uint32_t)slot[S_qkey]);
		rd_put_be32(p + 4, (uint32_t)slot[S_src]);
	}
}

static void put_addresses(const struct frame *f, struct make *m)
{
	uint8_t *ip = m->b + 14;

	ip[1] = (uint8_t)f->slot[S_tos];
	rd_put_be16(ip + 4, (uint16_t)f->slot[S_id]);
	if (f->back) {
		memcpy(ip + 12, "\x0a\0\0\x01\x0a\0\0\x02", 8);
		ip[15] = f->slot[S_other_back] ? 3 : 1;
	}
	if (f->slot[S_third])
		ip[f->back ? 19 : 15] = 9;
	if (f->slot[S_group]) {
		memcpy(ip + 16, "\xef\1\1\1", 4);
		memset(m->b + BTH + 5, 0xff, 3);
	}
}

static void put(struct run *r, const struct frame *f)
{
	const uint8_t opcode = f->op->opcode;
	const int64_t *slot = f->slot;
	const bool ib = slot[S_ib];
	uint8_t *bth;
	struct make m = {.n = 0};
	int64_t body = slot[S_body] != ABSENT ? slot[S_body] : body_of(f);

	make_packet(&m,
		slot[S_ib] == 2 ? MAKE_IB_GRH
		: ib		? MAKE_IB
				: MAKE_V2_IPV4,
		opcode,
		(uint32_t)(slot[S_qp] ? slot[S_qp]
			   : f->back  ? 0x200
				      : 0x100),
		(uint32_t)body, 0);
	bth = m.b + (slot[S_ib] == 2 ? 48 : ib ? 8 : BTH);
	if (!ib)
		put_addresses(f, &m);
	if (f->psn != ABSENT)
		rd_put_be32(bth + 8, (uint32_t)f->psn & 0xffffff);
	if (!ib && (opcode == SEND_ONLY || opcode == SEND_LAST || opcode == WRITE_LAST ||
			   opcode == FETCH_ADD))
		bth[8] |= 0x80; /* asks for an ACK */
	if (slot[S_zero])
		memset(bth + 12, 0, (size_t)body);
	put_head(f, bth + 12);
	bth[4] |= (uint8_t)slot[S_reserved];
	for (size_t at = f->from; at < f->to; at++)
		if (is_change(r->tok[at].text))
			change(r, at, &m);
	if (slot[S_icrc])
		put_icrc(r, f->from, &m);
	if (slot[S_icrc] == 2)
		memset(m.b + m.n - RD_ICRC_LEN, 0, RD_ICRC_LEN);
	if (slot[S_tunnelled])
		tunnel(&m);
	if (slot[S_vlan])
		tag(&m, (uint16_t)slot[S_vlan]);
	if (slot[S_vni])
		vxlan(&m, (uint32_t)(f->back && slot[S_vni_back] ? slot[S_vni_back] : slot[S_vni]));
	give(r, &m, slot, f->back);
}

/* --- statements ------------------------------------------------------------------------------- */

/* The words behind a frame, before what follows; "noid", "copy": its IP identification. */
static size_t frame_words(struct run *r, size_t at, struct frame *f, bool *noid, bool *copy)
{
	f->from = at;
	memcpy(f->slot, r->slot, sizeof(f->slot));
	for (; at < r->n; at++) {
		const char *text = r->tok[at].text;

		if (!strcmp(text, "noid"))
			*noid = true;
		else if (!strncmp(text, "id=", 3))
			r->slot[S_id] = value_of(r, at, text_of(r, at) + 3) - 1;
		else if (!strcmp(text, "copy"))
			*copy = true;
		else if (!strchr(text, '=') || !strcmp(text, "=") || *text == '@')
			break;
		else if (!is_change(text) && !slot_set(r, f->slot, at, text_of(r, at)))
			bail(r, at, "'%s' is no word of a frame", text);
	}
	f->to = at;
	return at;
}

static const struct op *op_by(struct run *r, size_t at, struct op *other)
{
	const char *name = text_of(r, at);

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (!strcmp(ops[i].name, name))
			return &ops[i];
	*other = (struct op){name, (uint8_t)value_of(r, at, name), 0};
	return other;
}

/* "> OP PSN..PSN WORD...": frames of PSNs in order, which may wrap. */
static size_t frames(struct run *r, size_t at)
{
	const bool back = *r->tok[at].text == '<';
	struct op other;
	struct frame f = {.back = back, .op = op_by(r, at + 1, &other)};
	const char *psn = text_of(r, at + 2), *to = strstr(psn, "..");
	bool noid = false, copy = false;
	int64_t last;
	char first[128];
	size_t next;

	snprintf(first, sizeof(first), "%.*s", (int)(to ? to - psn : 127), psn);
	f.psn = strcmp(first, "_") ? value_of(r, at + 2, first) : ABSENT;
	last = to ? value_of(r, at + 2, to + 2) : f.psn;
	next = frame_words(r, at + 3, &f, &noid, &copy);
	for (;; f.psn = (f.psn + 1) & 0xffffff) {
		r->slot[S_id] = noid ? 0 : copy ? r->slot[S_id] : (r->slot[S_id] + 1) & 0xffff;
		f.slot[S_id] = r->slot[S_id];
		put(r, &f);
		if (!to || ((f.psn ^ last) & 0xffffff) == 0)
			return next;
	}
}

/* "raw BYTES OFFSET:TYPE=VALUE...": any frame; all other bytes are 0. */
static size_t raw(struct run *r, size_t at)
{
	struct make m = {.n = 0};
	struct frame f;
	bool noid = false, copy = false;
	size_t next = frame_words(r, at + 2, &f, &noid, &copy);

	make_fill(&m, 0, (size_t)value_of(r, at + 1, text_of(r, at + 1)));
	for (at = f.from; at < f.to; at++)
		if (is_change(r->tok[at].text))
			change(r, at, &m);
	give(r, &m, f.slot, false);
	return next;
}

static void config(struct run *r, size_t at, const char *key, int64_t n)
{
	if (r->a)
		bail(r, at, "a configuration comes before the first frame");
	if (!strcmp(key, "icrc"))
		r->config.skip_icrc = !n;
	else if (!strcmp(key, "max_qps"))
		r->config.max_qps = (size_t)n;
	else if (!strcmp(key, "only_qp"))
		r->config.qp = (uint32_t)n;
	else if (!strcmp(key, "tunnels"))
		r->config.tunnels = (enum rd_tunnels)n;
	else if (!strcmp(key, "psn_plots"))
		r->config.psn_plots = n;
	else
		bail(r, at, "'%s' is no configuration", key);
}

static void iface(struct run *r, size_t at)
{
	static char names[8][16];

	if (r->n_ifaces == 8)
		bail(r, at, "too many interfaces");
	snprintf(names[r->n_ifaces], sizeof(names[0]), "%s", text_of(r, at + 1));
	r->ifaces[r->n_ifaces] = (struct rd_iface){.link = RD_LINK_ETHERNET,
		.name = names[r->n_ifaces],
		.section = (uint32_t)value_of(r, at + 2, text_of(r, at + 2))};
	r->n_ifaces++;
	rd_analysis_ifaces(r->a, r->ifaces, r->n_ifaces);
}

/* What a file has beside its frames. */
static size_t about_file(struct run *r, size_t at)
{
	const char *word = r->tok[at].text, *text = at + 1 < r->n ? text_of(r, at + 1) : "";
	const struct rd_frame next = {.ts_ns = r->ns + (uint64_t)r->slot[S_gap]};

	analysis(r);
	if (!strcmp(word, "fact"))
		rd_analysis_facts(r->a, text, strlen(text));
	else if (!strcmp(word, "speed"))
		r->iface.speed = (uint64_t)value_of(r, at + 1, text);
	else if (!strcmp(word, "dropped"))
		rd_analysis_dropped(r->a, (uint64_t)value_of(r, at + 1, text));
	else if (!strcmp(word, "comment"))
		rd_analysis_comment(r->a, text, &next, 0);
	else if (!strcmp(word, "file")) {
		if (rd_analysis_file(r->a, text, "made", NULL, NULL) < 0)
			abort();
	} else if (!strcmp(word, "file-end")) {
		const bool unknown = !strcmp(text, "unknown");

		rd_analysis_file_end(r->a, unknown ? 0 : (uint64_t)value_of(r, at + 1, text),
			!unknown, NULL, NULL);
	} else {
		return 0;
	}
	return at + 2;
}

size_t frames_statement(struct run *r, size_t at)
{
	const char *word = r->tok[at].text;

	if (!strcmp(word, ">") || !strcmp(word, "<"))
		return frames(r, at);
	if (!strcmp(word, "raw"))
		return raw(r, at);
	if (!strcmp(word, "config")) {
		for (at++; goes_on(r, at) && strchr(r->tok[at].text, '='); at++) {
			char key[24] = "";
			const char *text = text_of(r, at), *value = strchr(text, '=') + 1;

			snprintf(key, sizeof(key), "%.*s", (int)(value - text - 1), text);
			config(r, at, key, value_of(r, at, value));
		}
		return at;
	}
	analysis(r);
	if (!strcmp(word, "iface")) {
		iface(r, at);
		return at + 3;
	}
	if (!strcmp(word, "filtered")) {
		r->iface.filter = "a filter";
		return at + 1;
	}
	return about_file(r, at);
}

static void set_number(json_t *object, const char *key, uint64_t n)
{
	json_object_set_new(object, key, json_integer((json_int_t)n));
}

/* What the tests need and no user does. */
static void add_inner(const struct rd_report *r, json_t *json)
{
	json_t *totals = json_object_get(json, "totals");

	set_number(totals, "icrc_absent", r->totals.icrc_absent);
	set_number(totals, "first_ns", r->totals.first_ns);
	set_number(totals, "last_ns", r->totals.last_ns);
	for (size_t i = 0; i < r->n_mads; i++) {
		const struct rd_mad_row *row = &r->mads[i];
		json_t *o = json_array_get(json_object_get(json, "mads"), i);

		set_number(o, "answers", row->answers);
		set_number(o, "judged", row->answered + row->unjudged);
		set_number(o, "segments", row->segments);
		set_number(o, "unanswered_frame", row->unanswered.first_frame);
	}
	for (size_t i = 0; i < r->n_conversations; i++)
		for (unsigned int k = 0; k < 2; k++) {
			const struct rd_side *s = &r->conversations[i].side[k];
			json_t *c = json_array_get(json_object_get(json, "conversations"), i);
			json_t *o = json_object_get(json_object_get(c, "sides"), k ? "b" : "a");

			json_object_set_new(o, "behind_ack", json_boolean(s->unclear.behind_ack));
			json_object_set_new(o, "vlans_differ", json_boolean(s->vlans_differ));
			json_object_set_new(o, "late_doubtful", json_boolean(s->unclear.late));
		}
}

void frames_report(struct run *r)
{
	const struct rd_report_style style = {.columns = 80};
	size_t size;
	FILE *out = open_memstream(&r->text, &size);

	analysis(r);
	if (!out || rd_analysis_report(r->a, &r->r, NULL) < 0)
		abort();
	r->json = rd_report_json_within(r->r, SIZE_MAX, JSON_COMPACT);
	add_inner(r->r, r->json);
	rd_report_text(r->r, &style, out);
	fclose(out);
}
