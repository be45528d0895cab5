/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts frames by queue, and tracks flows: frames with the same addresses and ports. */
#include "spread.h"
#include <rdmadump/hash.h>
#include <rdmadump/packet.h>

#define ARP	    0x0806
#define PORTS_BYTES 4
#define FLOWS_MIN   16 /* all in one of two queues by chance once in 32768 times */
#define PROTO_TCP   6
#define PROTO_UDP   17

static const char *const names[SPREAD_CLASSES] = {[SPREAD_IPV4] = "ipv4",
	[SPREAD_IPV6] = "ipv6",
	[SPREAD_ARP] = "arp",
	[SPREAD_OTHER] = "other"};

static enum spread_class class_of(const struct rd_packet *p)
{
	if (p->net == RD_NET_IPV4)
		return SPREAD_IPV4;
	if (p->net == RD_NET_IPV6)
		return SPREAD_IPV6;
	return p->ethertype == ARP ? SPREAD_ARP : SPREAD_OTHER;
}

/* 0: no UDP or TCP over IP, or a fragment, which has no ports. */
static uint64_t flow_key(const struct rd_packet *p)
{
	const uint8_t *from, *to;
	struct rd_hash h = rd_hash_begin();
	unsigned int n, words = 1;
	uint64_t key;

	if ((p->net != RD_NET_IPV4 && p->net != RD_NET_IPV6) || p->flags & RD_PACKET_FRAGMENT ||
		(p->proto != PROTO_UDP && p->proto != PROTO_TCP) || !p->l4 ||
		p->l4 + PORTS_BYTES > p->caplen)
		return 0;
	n = rd_packet_addresses(p, &from, &to);
	rd_hash_add(&h, p->proto);
	words += rd_hash_add_bytes(&h, from, n);
	words += rd_hash_add_bytes(&h, to, n);
	words += rd_hash_add_bytes(&h, p->data + p->l4, PORTS_BYTES);
	key = rd_hash_end(&h, words);
	return key ? key : 1;
}

static void follow(struct spread *s, enum spread_class class, uint64_t key, unsigned int queue)
{
	for (unsigned int i = 0; i < SPREAD_FLOWS; i++) {
		unsigned int at = (unsigned int)(key + i) % SPREAD_FLOWS;

		if (s->flow[at].key == key) {
			s->strayed += s->flow[at].queue != queue;
			return;
		}
		if (!s->flow[at].key) {
			s->flow[at].key = key;
			s->flow[at].queue = queue;
			s->flows[class]++;
			return;
		}
	}
}

void spread_take(struct spread *s, enum rd_link link, const uint8_t *data, uint32_t len,
	unsigned int queue, bool counted)
{
	struct rd_packet p;
	enum spread_class class;
	uint64_t key;

	rd_packet_parse(link, data, len, len, &p);
	class = class_of(&p);
	key = flow_key(&p);
	if (counted)
		s->frames[class][queue]++;
	if (key)
		follow(s, class, key, queue);
}

bool spread_in_one_queue(const struct spread *s, enum spread_class class)
{
	unsigned int used = 0;

	for (unsigned int i = 0; i < SPREAD_QUEUES; i++)
		used += s->frames[class][i] > 0;
	return s->flows[class] >= FLOWS_MIN && used == 1;
}

json_t *spread_json(const struct spread *s, unsigned int queues)
{
	json_t *all = json_object();

	for (int c = 0; c < SPREAD_CLASSES; c++) {
		json_t *list = json_array();

		for (unsigned int q = 0; q < queues && q < SPREAD_QUEUES; q++)
			json_array_append_new(list, json_integer((json_int_t)s->frames[c][q]));
		json_object_set_new(all, names[c], list);
	}
	return all;
}
