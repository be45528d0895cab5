/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts in the packets what counters of devices count. Names and meanings of counters: rdma_rxe's
 * rxe_hw_counters.c; mlx5's main.c and NVIDIA's list of counters.
 */
#include "facts.h"
#include <stdlib.h>

const struct quantity quantities[QUANTITIES] = {
	/* rxe */
	{HW "sent_pkts", "frames that it sent", SENT, 0, true},
	{HW "rcvd_pkts", "frames that it received", RECEIVED, 0, true},
	{HW "out_of_seq_request", "requests out of sequence", PEERS, KIND(AT_RECEIVER_SEQUENCE),
		true},
	{HW "rcvd_rnr_err", "RNR NAKs that it received", OWN, KIND(RNR), true},
	{HW "send_rnr_err", "RNR NAKs that it sent", PEERS, KIND(RNR), true},
	{HW "rcvd_seq_err", "sequence NAKs that it received", OWN, KIND(NAK_PROGRESS), true},
	{HW "completer_retry_err", "times that it retransmitted requests", OWN,
		KIND(ROUND_NAK) | KIND(ROUND_READ) | KIND(ROUND_TIMEOUT), true},
	/* both */
	{HW "duplicate_request", "duplicate requests", PEERS, KIND(AT_RECEIVER_DUPLICATE), false},
	/* mlx5 */
	{HW "packet_seq_err", "sequence NAKs that it received", OWN, KIND(NAK_SEQUENCE), false},
	{HW "rnr_nak_retry_err", "RNR NAKs that it received", OWN, KIND(RNR), false},
	/* Not rp_cnp_handled: ConnectX counts adaptive retransmissions and timeouts there, too. */
	{HW "np_cnp_sent", "congestion notifications that it sent", PEERS, KIND(CNP), false},
	{HW "np_ecn_marked_roce_packets", "frames that it received marked", PEERS, KIND(CE), false},
	{HW "local_ack_timeout_err", "times that it retransmitted requests without a response", OWN,
		KIND(ROUND_TIMEOUT), false},
	{HW "rx_icrc_encapsulated", "frames that it received with a wrong invariant CRC", PEERS,
		KIND(ICRC), false},
};

/* A multicast frame on this port's link is for this port, unless the port sent it. */
static bool arrives(uint8_t place)
{
	return place & TO_PORT || (place & TO_GROUP && !(place & FROM_PORT));
}

/* Whether the frames between p and this peer, or of a group, were also captured at another port. */
static bool is_captured(
	const struct rd_analysis *a, const struct facts_port *p, const char *peer, bool multicast)
{
	const struct facts_port *other = multicast ? NULL : facts_port_at(a, peer);

	return multicast ? a->facts->n_ports > 1 : other && other != p;
}

uint8_t *quantity_places(const struct rd_analysis *a, const struct facts_port *p)
{
	uint8_t *places = a->flows.n ? calloc(a->flows.n, 1) : NULL;

	for (size_t i = 0; places && i < a->flows.n; i++) {
		const struct flow_id *id = &a->flows.all[i]->id;
		char src[RD_ADDRESS_LEN], dst[RD_ADDRESS_LEN];

		rd_address_text(src, id->net, id->src);
		rd_address_text(dst, id->net, id->dst);
		places[i] = (uint8_t)((facts_is_local(p, src) ? FROM_PORT : 0) |
				      (facts_is_local(p, dst) ? TO_PORT : 0) |
				      (id->multicast ? TO_GROUP : 0));
		if ((places[i] & FROM_PORT && is_captured(a, p, dst, id->multicast)) ||
			(arrives(places[i]) && is_captured(a, p, src, id->multicast)))
			places[i] |= TWICE;
	}
	return places;
}

static uint64_t happened(const struct flow *f, enum rd_incident_kind kind)
{
	const struct rd_incident *e = incident_of(&f->incidents, kind);

	return e ? e->count : 0;
}

static uint64_t of_flow(const struct flow *f, uint8_t place, const struct quantity *q)
{
	uint64_t sum = 0;

	/* A frame that was damaged on the path is counted as sent, but not as received. */
	if (q->whose == SENT)
		return place & FROM_PORT ? f->traffic.frames : 0;
	if (q->whose == RECEIVED)
		return arrives(place) ? f->traffic.frames - happened(f, RD_INC_ICRC) : 0;
	for (uint64_t left = q->incidents; left; left &= left - 1) {
		const unsigned int kind = (unsigned int)__builtin_ctzll(left);
		/* Responses to own requests arrive; responses to the peer's are sent. */
		bool sent = (q->whose == OWN) != side_is_in_peer[kind];

		if (sent ? place & FROM_PORT : arrives(place))
			sum += happened(f, kind);
	}
	return sum;
}

uint64_t quantity_shown(
	const struct rd_analysis *a, const uint8_t *places, uint8_t bits, const struct quantity *q)
{
	uint64_t sum = 0;

	for (size_t i = 0; places && i < a->flows.n; i++)
		if ((places[i] & bits) == bits)
			sum += of_flow(a->flows.all[i], places[i], q);
	return sum;
}
