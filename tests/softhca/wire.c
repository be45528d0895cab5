/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What flows see of the frames that queue pairs send, how frames look when they are delivered, and
 * the exchange of sent frames between processes.
 */
#include "transport.h"

enum {
	LRH = 8,
	VLAN_TAG = 4,
	FCS = 4,
	ICRC = 4,
	VCRC = 2,
	PADDING = 8,
	MACS = 12,
	LOG_FRAME_MAX = 16384
};

static const char *const kind_names[TRAFFIC_KINDS] = {
	[TRAFFIC_RC] = "rc",
	[TRAFFIC_UD] = "ud",
	[TRAFFIC_MULTICAST] = "multicast",
	[TRAFFIC_RAW] = "raw",
};

enum vlan { VLAN_KEPT, VLAN_STRIPPED, VLAN_CHANGED, VLAN_DROPPED };
enum icrc { ICRC_KEPT, ICRC_ABSENT, ICRC_ZERO, ICRC_WRONG };

/* How packets of InfiniBand ports end when they are delivered. */
static const char trailer_names[] = "whole|icrc|payload|wrong_vcrc|wrong_icrc|mixed|padded";
enum trailer {
	TRAILER_WHOLE,
	TRAILER_ICRC,
	TRAILER_PAYLOAD,
	TRAILER_WRONG_VCRC,
	TRAILER_WRONG_ICRC,
	TRAILER_MIXED,
	TRAILER_PADDED
};

static struct wire_conf {
	uint8_t copies[TRAFFIC_KINDS]; /* of a frame that stays on its port */
	bool fcs;
	enum vlan vlan;
	enum icrc icrc;
	enum trailer trailer[2]; /* of received and of sent packets */
	uint32_t cut;		 /* bytes that every frame lacks at its end */
	uint32_t longer;	 /* zeros behind every frame */
	uint64_t unseen_every;	 /* of the frames as sent; 0: all are seen */
	uint64_t twice_every;	 /* of those that are seen; 0: all are seen once */
	uint64_t changed_every;	 /* of those that are seen; 0: all are as they were sent */
	uint64_t drop_every;	 /* 0: none */
	bool once;		 /* retransmissions are not seen */
	bool unsegmented;	 /* the copy of a message is made before it is cut into packets */
	bool shared;
} conf = {.copies = {1, 1, 1, 1}};

/* "once", "twice" or "never" for every kind of traffic, "KIND=..." for one; joined by commas. */
void loopback_read(void *at, char *spec)
{
	char *save = NULL;

	(void)at;
	for (char *t = strtok_r(spec, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
		char *v = strchr(t, '=');

		if (v)
			*v++ = 0;
		for (int i = 0; i < TRAFFIC_KINDS; i++)
			if (!v || !strcmp(t, kind_names[i]))
				conf.copies[i] = (uint8_t)conf_word("never|once|twice", v ? v : t);
	}
}

static void trailer_read(void *at, char *v)
{
	enum trailer *trailer = at;

	trailer[0] = trailer[1] = (enum trailer)conf_word(trailer_names, v);
}

#define WIRE struct wire_conf
static const struct conf_key deliver_keys[] = {
	KEY_WORD("fcs", WIRE, fcs, "no|yes"),
	KEY_WORD("vlan", WIRE, vlan, "kept|stripped|changed|dropped"),
	KEY_WORD("icrc", WIRE, icrc, "kept|absent|zero|wrong"),
	KEY_WORD("retransmissions", WIRE, once, "yes|no"),
	KEY_WORD("segmented", WIRE, unsegmented, "yes|no"),
	KEY_READ("trailer", WIRE, trailer, trailer_read),
	KEY_WORD("sent_trailer", WIRE, trailer[1], trailer_names),
	KEY_NUMBER("cut", WIRE, cut, 1),
	KEY_NUMBER("longer", WIRE, longer, 1),
	KEY_NUMBER("unseen", WIRE, unseen_every, 1),
	KEY_NUMBER("twice", WIRE, twice_every, 1),
	KEY_NUMBER("changed", WIRE, changed_every, 1),
	{0},
};

void deliver_read(void *at, char *spec)
{
	(void)at;
	conf_list(deliver_keys, &conf, spec, ",");
}

void drop_tx_read(void *at, char *v)
{
	(void)at;
	conf.drop_every = strtoull(v, NULL, 0);
}

void shared_wire_read(void *at, char *v)
{
	(void)at, (void)v;
	conf.shared = true;
}

bool wire_loses(uint64_t nth)
{
	return conf.drop_every && nth % conf.drop_every == 0;
}

bool wire_hides_retransmissions(void)
{
	return conf.once;
}

bool wire_shows_whole_messages(void)
{
	return conf.unsegmented;
}

static bool has_vlan(const struct frame *f)
{
	return f->len > MACS + VLAN_TAG &&
	       (!memcmp(f->data + MACS, "\x81\x00", 2) || !memcmp(f->data + MACS, "\x88\xa8", 2));
}

static bool has_room(struct shaped *buffer, uint32_t len)
{
	uint8_t *mem = buffer->capacity < len ? realloc(buffer->data, len) : buffer->data;

	if (!mem)
		return false;
	buffer->data = mem;
	buffer->capacity = buffer->capacity < len ? len : buffer->capacity;
	return true;
}

/* The packet at f ends with ICRC and VCRC, as on the wire. */
void wire_trailer(struct port *p, struct shaped *buffer, struct frame *f)
{
	bool own = f->len > 8 && ((uint32_t)f->data[6] << 8 | f->data[7]) == p->conf->lid;
	bool sent = f->origin ? f->origin == ORIGIN_SENT : own;
	enum trailer how = conf.trailer[sent];
	uint8_t *end;

	/* A frame that is in the buffer already was shaped otherwise. */
	if (!p->conf->ib || how == TRAILER_WHOLE || f->len < LRH + ICRC + VCRC ||
		f->data == buffer->data || !has_room(buffer, f->len + PADDING))
		return;
	memcpy(buffer->data, f->data, f->len);
	f->data = buffer->data;
	end = buffer->data + f->len - VCRC;
	if (how == TRAILER_MIXED)
		how = p->offered % 2 ? TRAILER_WHOLE : TRAILER_PAYLOAD;
	if (how == TRAILER_ICRC)
		f->len -= VCRC;
	else if (how == TRAILER_PAYLOAD)
		f->len -= ICRC + VCRC;
	else if (how == TRAILER_WRONG_VCRC)
		end[0] ^= 0xff;
	else if (how == TRAILER_WRONG_ICRC)
		end[-1] ^= 0xff;
	if (how == TRAILER_PADDED) {
		memset(end + VCRC, 0, PADDING);
		f->len += PADDING;
	}
}

/* The FCS is the one that the wire had, with the tag. */
void wire_shape(struct shaped *buffer, struct frame *f)
{
	bool strip = conf.vlan == VLAN_STRIPPED && has_vlan(f);
	bool change = conf.vlan == VLAN_CHANGED && has_vlan(f);
	uint32_t fcs;
	uint8_t *to;

	if (f->len > MACS + conf.cut)
		f->len -= conf.cut;
	if (!conf.fcs && !strip && !change && !conf.longer)
		return;
	fcs = htole32(~crc32_ib(0xffffffff, f->data, f->len));
	if (!has_room(buffer, f->len + conf.longer + FCS))
		return;
	to = buffer->data;
	memcpy(to, f->data, f->len);
	if (change)
		to[MACS + VLAN_TAG - 1] ^= 1;
	if (strip) {
		memmove(to + MACS, to + MACS + VLAN_TAG, f->len - MACS - VLAN_TAG);
		f->len -= VLAN_TAG;
	}
	memset(to + f->len, 0, conf.longer);
	f->len += conf.longer;
	if (conf.fcs) {
		memcpy(to + f->len, &fcs, FCS);
		f->len += FCS;
	}
	f->data = to;
}

/* ---- between processes ---- */

/*
 * One file per device, to which each process appends what it sends. Appending is atomic, and a
 * reader that finds part of a record waits for the rest of it.
 */
struct record {
	int32_t pid;
	uint32_t port, len, origin;
};

void wire_open(struct hca *h)
{
	char path[1024];

	h->wire.fd = -1;
	if (!conf.shared)
		return;
	snprintf(path, sizeof(path), "%s/../wire.%u", conf_get()->tree, h->conf->minor);
	h->wire.fd = real_open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (h->wire.fd < 0)
		perror("softhca: shared wire");
	else
		h->wire.at = lseek(h->wire.fd, 0, SEEK_END);
}

static void log_append(struct port *p, const struct frame *f)
{
	struct {
		struct record head;
		uint8_t data[LOG_FRAME_MAX];
	} r = {.head = {getpid(), p->num, f->len, f->origin}};
	size_t n = sizeof(r.head) + f->len;

	if (p->hca->wire.fd < 0 || f->len > sizeof(r.data))
		return;
	memcpy(r.data, f->data, f->len);
	if (write(p->hca->wire.fd, &r, n) != (ssize_t)n)
		perror("softhca: shared wire");
}

bool wire_receive(struct hca *h)
{
	uint8_t data[LOG_FRAME_MAX];
	struct record r;
	int n = 0;

	if (h->wire.fd < 0)
		return false;
	for (; n < TURN_PACKETS; n++) {
		if (pread(h->wire.fd, &r, sizeof(r), h->wire.at) != sizeof(r) ||
			r.len > sizeof(data) || r.port < 1 || r.port > h->conf->nports ||
			pread(h->wire.fd, data, r.len, h->wire.at + (off_t)sizeof(r)) != r.len)
			break;
		h->wire.at += (off_t)(sizeof(r) + r.len);
		if (r.pid != getpid())
			frame_distribute(h, &h->port[r.port - 1],
				&(struct frame){.data = data,
					.len = r.len,
					.origin = (enum origin)r.origin},
				NULL);
	}
	return n > 0;
}

/* ---- sending ---- */

static bool every(uint64_t n, uint64_t counter)
{
	return n && counter % n == 0;
}

/* The frame with another byte of its payload, to `to`, which has room for it. */
static void wire_change(const struct frame *f, uint8_t *to)
{
	memcpy(to, f->data, f->len);
	to[f->len - ICRC - 1] ^= 0x55;
}

static void show(struct port *p, struct frame f)
{
	static uint64_t sent;
	uint8_t other[PACKET_MAX];
	uint64_t n = 0;

	if (conf.vlan == VLAN_DROPPED && has_vlan(&f))
		return;
	if (f.origin == ORIGIN_SENT)
		n = __atomic_add_fetch(&sent, 1, __ATOMIC_RELAXED);
	if (n && every(conf.unseen_every, n))
		return;
	if (n && every(conf.changed_every, n) && f.len > MACS + ICRC && f.len <= sizeof(other)) {
		wire_change(&f, other);
		f.data = other;
	}
	if (p->conf->ib)
		wire_trailer(p, &p->shaped_sent, &f);
	else
		wire_shape(&p->shaped_sent, &f);
	frame_distribute(p->hca, p, &f, NULL);
	if (n && every(conf.twice_every, n))
		frame_distribute(p->hca, p, &f, NULL);
	log_append(p, &f);
}

void wire_send(struct port *from, struct port *to, enum traffic kind, bool lost,
	const uint8_t *data, uint32_t len)
{
	struct frame sent = {.data = data, .len = len, .origin = ORIGIN_SENT};
	const struct frame received = {.data = data, .len = len, .origin = ORIGIN_RECEIVED};
	/* What leaves the port is seen as sent; what varies is the loopback inside the device. */
	bool loops = to == from;
	uint8_t other[PACKET_MAX];

	if (!from->up)
		return;
	if (from->conf->ib) {
		/* What was attached before is in effect. wire_trailer() decides how packets end. */
		gateway_follow(from->hca);
	} else if (kind != TRAFFIC_RAW && conf.icrc == ICRC_ABSENT) {
		sent.len -= ICRC;
	} else if (kind != TRAFFIC_RAW && conf.icrc != ICRC_KEPT) {
		memcpy(other, data, len);
		for (uint32_t i = len - ICRC; i < len; i++)
			other[i] = conf.icrc == ICRC_ZERO ? 0 : other[i] ^ 0x55;
		sent.data = other;
	}
	if (!loops || conf.copies[kind] >= 1)
		show(from, sent);
	if (to && to->up && !lost && (!loops || conf.copies[kind] == 2))
		show(to, received);
}
