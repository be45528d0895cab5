/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A cable between port 1 of the first device and port 1 of the second one, which different
 * processes may have opened: what queue pairs of one send, flows and queue pairs of the other get.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport.h"

enum { ENDS = 2, FRAME_MAX = 16384, GRH = GRH_LEN };

static struct cable_conf {
	bool exists;
	uint64_t lost_every, unseen_every, twice_every, changed_every; /* 0: no frame */
} conf;

static const struct conf_key keys[] = {
	KEY_NUMBER("lost", struct cable_conf, lost_every, 1),
	KEY_NUMBER("unseen", struct cable_conf, unseen_every, 1),
	KEY_NUMBER("twice", struct cable_conf, twice_every, 1),
	KEY_NUMBER("changed", struct cable_conf, changed_every, 1),
	{0},
};

void cable_read(void *at, char *spec)
{
	(void)at;
	conf.exists = true;
	conf_list(keys, &conf, spec, ",");
}

/*
 * One file, to which both ends append, and from which each takes the other's records. Appending is
 * atomic, and a reader that finds part of a record waits for the rest of it.
 */
struct record {
	uint32_t from, len, payload, kind;
	struct packet pk;
	uint8_t dgid[16], grh[GRH];
};

void cable_open(struct hca *h)
{
	char path[1024];

	h->cable.fd = -1;
	if (!conf.exists || h->conf->minor >= ENDS)
		return;
	snprintf(path, sizeof(path), "%s/../cable", conf_get()->tree);
	h->cable.fd = real_open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (h->cable.fd < 0)
		perror("softhca: cable");
	else
		h->cable.at = lseek(h->cable.fd, 0, SEEK_END);
}

/* --- sending ------------------------------------------------------------------------------ */

static bool every(uint64_t n, uint64_t counter)
{
	return n && counter % n == 0;
}

void cable_send(struct port *from, enum traffic kind, const uint8_t *frame, uint32_t len,
	const struct path *path, const struct packet *pk)
{
	static uint64_t sent;
	struct {
		struct record head;
		uint8_t bytes[FRAME_MAX + PAYLOAD_MAX];
	} r = {.head = {.from = from->hca->conf->minor, .len = len, .kind = kind}};
	size_t n = sizeof(r.head) + len;

	if (from->hca->cable.fd < 0 || from->num != 1 || !from->up || len > FRAME_MAX)
		return;
	if (every(conf.lost_every, __atomic_add_fetch(&sent, 1, __ATOMIC_RELAXED)))
		return;
	memcpy(r.bytes, frame, len);
	if (pk) {
		r.head.pk = *pk;
		r.head.pk.payload = NULL;
		r.head.payload = pk->payload ? pk->len : 0;
		memcpy(r.head.dgid, path->dgid, sizeof(r.head.dgid));
		roce_grh(frame, path, r.head.grh);
		if (r.head.payload)
			memcpy(r.bytes + len, pk->payload, r.head.payload);
		n += r.head.payload;
	}
	if (write(from->hca->cable.fd, &r, n) != (ssize_t)n)
		perror("softhca: cable");
}

/* --- receiving ---------------------------------------------------------------------------- */

static void show(struct port *p, const uint8_t *data, uint32_t len)
{
	static uint64_t received;
	uint64_t n = __atomic_add_fetch(&received, 1, __ATOMIC_RELAXED);
	int copies = every(conf.unseen_every, n) ? 0 : every(conf.twice_every, n) ? 2 : 1;

	for (; copies; copies--) {
		struct frame f = {.data = data, .len = len, .origin = ORIGIN_RECEIVED};
		uint8_t other[FRAME_MAX];

		if (every(conf.changed_every, n)) {
			wire_change(&f, other);
			f.data = other;
		}
		wire_shape(&p->shaped_sent, &f);
		frame_distribute(p->hca, p, &f, NULL);
	}
}

static void pass(struct hca *h, const struct record *r, const uint8_t *payload)
{
	struct port *p = &h->port[0];
	struct packet pk = r->pk;
	struct qp *qp;

	pk.payload = payload;
	if (r->kind == TRAFFIC_UD || r->kind == TRAFFIC_MULTICAST)
		ud_deliver(h, p->num, r->dgid, &pk, r->grh);
	if (r->kind != TRAFFIC_RC)
		return;
	qp = qp_by_number(h, pk.dest_qpn, IBV_QPT_RC);
	if (!qp || qp->port != p->num)
		return;
	if (pk.opcode <= READ_REQUEST)
		rc_request(h, qp, &pk);
	else
		rc_response(h, qp, &pk);
}

bool cable_receive(struct hca *h)
{
	uint8_t bytes[FRAME_MAX + PAYLOAD_MAX];
	struct record r;
	int n = 0;

	if (h->cable.fd < 0)
		return false;
	for (; n < TURN_PACKETS; n++) {
		if (pread(h->cable.fd, &r, sizeof(r), h->cable.at) != sizeof(r) ||
			r.len > FRAME_MAX || r.payload > PAYLOAD_MAX ||
			pread(h->cable.fd, bytes, r.len + r.payload,
				h->cable.at + (off_t)sizeof(r)) != r.len + r.payload)
			break;
		h->cable.at += (off_t)(sizeof(r) + r.len + r.payload);
		if (r.from == h->conf->minor || !h->port[0].up)
			continue;
		show(&h->port[0], bytes, r.len);
		pass(h, &r, bytes + r.len);
	}
	return n > 0;
}
