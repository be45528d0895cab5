/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pause frames: MAC control frames (IEEE 802.3 clause 31) that stop the sender at the other end of
 * the link, for all traffic (annex 31B) or for some priorities (annex 31D, IEEE 802.1Q clause 36).
 */
#include "text.h"

#define ETHERTYPE_MAC_CONTROL 0x8808
#define OPCODE_PAUSE	      0x0001
#define OPCODE_PFC	      0x0101
#define PAUSE_LEN	      4	 /* opcode, time */
#define PFC_LEN		      20 /* opcode, class enable vector, eight times */
#define QUANTUM_BITS	      512

static bool is_mac_control(const struct rd_packet *p)
{
	return p->net == RD_NET_NONE && p->kind == RD_KIND_OTHER &&
	       p->ethertype == ETHERTYPE_MAC_CONTROL && !(p->flags & RD_PACKET_CUT);
}

bool rd_packet_pause(const struct rd_packet *p, struct rd_pause *out)
{
	const uint8_t *control = p->data + p->l3;
	uint32_t left = is_mac_control(p) && p->caplen > p->l3 ? p->caplen - p->l3 : 0;

	if (left >= PAUSE_LEN && rd_be16(control) == OPCODE_PAUSE) {
		*out = (struct rd_pause){.enabled = 0xff};
		for (unsigned int i = 0; i < RD_PRIORITIES; i++)
			out->quanta[i] = rd_be16(control + 2);
		return true;
	}
	if (left >= PFC_LEN && rd_be16(control) == OPCODE_PFC) {
		*out = (struct rd_pause){.pfc = true, .enabled = control[3]};
		for (unsigned int i = 0; i < RD_PRIORITIES; i++)
			out->quanta[i] = rd_be16(control + 4 + 2 * i);
		return true;
	}
	return false;
}

uint64_t rd_pause_ns(uint16_t quanta, uint64_t speed)
{
	return speed ? quanta * UINT64_C(1000000000) * QUANTUM_BITS / speed : 0;
}

static void add_time(struct rd_line *line, uint16_t quanta)
{
	if (quanta)
		rd_line_add(line, "pause %u quanta", quanta);
	else
		rd_line_add(line, "resume");
}

void rd_line_mac_control(struct rd_line *line, const struct rd_packet *p)
{
	bool first = true;
	struct rd_pause pause;

	if (!rd_packet_pause(p, &pause)) {
		rd_line_add(line, "MAC control");
		if (p->caplen >= p->l3 + 2)
			rd_line_add(line, " opcode 0x%04x", rd_be16(p->data + p->l3));
		return;
	}
	rd_line_add(line, pause.pfc ? "PFC " : "MAC ");
	if (!pause.pfc) {
		add_time(line, pause.quanta[0]);
		return;
	}
	for (unsigned int i = 0; i < RD_PRIORITIES; i++) {
		if (!(pause.enabled >> i & 1))
			continue;
		rd_line_add(line, first ? "priority %u " : ", priority %u ", i);
		add_time(line, pause.quanta[i]);
		first = false;
	}
	if (first)
		rd_line_add(line, "no priority");
}
