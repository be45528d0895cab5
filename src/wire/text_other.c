/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A short description of packets that are not InfiniBand: ARP (RFC 826), ICMP (RFC 792, 4443,
 * 4861), TCP, UDP, MAC control and known Ethertypes.
 */
#include "text.h"
#include <rdmadump/names.h>

#define ETHERTYPE_ARP 0x0806
#define ARP_LEN	      28

#define ETHERTYPE_MAC_CONTROL 0x8808

static void add_arp(struct rd_line *line, const struct rd_packet *p)
{
	const uint8_t *arp = p->data + p->l3;

	if (p->caplen - p->l3 < ARP_LEN || rd_be16(arp + 2) != 0x0800 || arp[5] != 4) {
		rd_line_add(line, "ARP");
	} else if (rd_be16(arp + 6) == 1) {
		rd_line_add(line, "ARP who-has ");
		rd_line_address(line, arp + 24, 4);
		rd_line_add(line, " tell ");
		rd_line_address(line, arp + 14, 4);
	} else if (rd_be16(arp + 6) == 2) {
		rd_line_add(line, "ARP reply ");
		rd_line_address(line, arp + 14, 4);
		rd_line_add(line, " is-at ");
		rd_line_address(line, arp + 8, 6);
	} else {
		rd_line_add(line, "ARP operation %u", rd_be16(arp + 6));
	}
}

static void add_tcp(struct rd_line *line, const struct rd_packet *p)
{
	static const char letters[] = "FSRP.UEW"; /* as tcpdump prints them, FIN first */
	const uint8_t *tcp = p->data + p->l4;
	char flags[sizeof(letters)];
	size_t n = 0;

	if (p->caplen < p->l4 + 20) {
		rd_line_add(line, "TCP");
		return;
	}
	for (unsigned int i = 0; i < sizeof(letters) - 1; i++)
		if (tcp[13] >> i & 1)
			flags[n++] = letters[i];
	flags[n] = '\0';
	rd_line_add(line, "TCP [%s] seq %u ack %u win %u payload %u", flags, rd_be32(tcp + 4),
		rd_be32(tcp + 8), rd_be16(tcp + 14), p->payload_len);
}

static void add_icmp(struct rd_line *line, const struct rd_packet *p)
{
	static const struct rd_name names[] = {
		{0, "echo reply"},
		{3, "unreachable"},
		{4, "source quench"},
		{5, "redirect"},
		{8, "echo request"},
		{11, "time exceeded"},
		{12, "parameter problem"},
		{0},
	};
	static const struct rd_name names6[] = {
		{1, "unreachable"},
		{2, "packet too big"},
		{3, "time exceeded"},
		{4, "parameter problem"},
		{128, "echo request"},
		{129, "echo reply"},
		{130, "multicast listener query"},
		{131, "multicast listener report"},
		{132, "multicast listener done"},
		{133, "router solicitation"},
		{134, "router advertisement"},
		{135, "neighbor solicitation"},
		{136, "neighbor advertisement"},
		{137, "redirect"},
		{143, "multicast listener report"},
		{0},
	};
	const uint8_t *icmp = p->data + p->l4;
	bool v6 = p->proto == 58;
	const char *name;

	rd_line_add(line, v6 ? "ICMPv6" : "ICMP");
	if (p->caplen < p->l4 + 8)
		return;
	name = v6 ? rd_name_of(names6, icmp[0]) : rd_name_of(names, icmp[0]);
	if (name)
		rd_line_add(line, " %s", name);
	else
		rd_line_add(line, " type %u", icmp[0]);
	if (v6 ? icmp[0] == 128 || icmp[0] == 129 : icmp[0] == 0 || icmp[0] == 8)
		rd_line_add(line, " id %u seq %u", rd_be16(icmp + 4), rd_be16(icmp + 6));
	else if (icmp[1])
		rd_line_add(line, " code %u", icmp[1]);
	if (v6 && (icmp[0] == 135 || icmp[0] == 136) && p->caplen >= p->l4 + 24) {
		rd_line_add(line, icmp[0] == 135 ? " who-has " : " of ");
		rd_line_address(line, icmp + 8, 16);
	}
}

static void add_ip(struct rd_line *line, const struct rd_packet *p)
{
	static const struct rd_name names[] = {
		{1, "ICMP"},
		{2, "IGMP"},
		{6, "TCP"},
		{17, "UDP"},
		{47, "GRE"},
		{50, "ESP"},
		{51, "AH"},
		{58, "ICMPv6"},
		{89, "OSPF"},
		{103, "PIM"},
		{112, "VRRP"},
		{132, "SCTP"},
		{0},
	};
	const char *name = rd_name_of(names, p->proto);

	if (p->l4 && p->proto == 6)
		add_tcp(line, p);
	else if (p->l4 && p->proto == 17)
		rd_line_add(line, "UDP payload %u", p->payload_len);
	else if (p->l4 && (p->proto == 1 || p->proto == 58))
		add_icmp(line, p);
	else if (name)
		rd_line_add(line, "%s", name);
	else
		rd_line_add(line, "IP protocol %u", p->proto);
	if (p->flags & RD_PACKET_FRAGMENT)
		rd_line_add(line, " fragment");
}

const char *rd_ethertype_name(uint16_t ethertype)
{
	static const struct rd_name names[] = {
		{0x0800, "IPv4"},
		{0x8035, "RARP"},
		{0x86dd, "IPv6"},
		{0x8808, "MAC control"},
		{0x8809, "LACP"},
		{0x8847, "MPLS"},
		{0x8863, "PPPoE discovery"},
		{0x8864, "PPPoE"},
		{0x888e, "EAPOL"},
		{0x8906, "FCoE"},
		{0x8914, "FIP"},
		{0x8915, "RoCEv1"},
		{0x88cc, "LLDP"},
		{0x88e5, "MACsec"},
		{0x88f7, "PTP"},
		{0x8902, "CFM"},
		{0x0806, "ARP"},
		{0},
	};

	return rd_name_of(names, ethertype);
}

void rd_line_other(struct rd_line *line, const struct rd_packet *p)
{
	const char *name = rd_ethertype_name(p->ethertype);

	if (p->flags & RD_PACKET_LINK)
		rd_line_add(line, "InfiniBand flow control");
	else if (p->net != RD_NET_NONE)
		add_ip(line, p);
	else if (p->flags & RD_PACKET_CUT)
		rd_line_add(line, "headers not captured");
	else if (!p->ethertype)
		rd_line_add(line, "unknown headers");
	else if (p->ethertype == ETHERTYPE_ARP)
		add_arp(line, p);
	else if (p->ethertype == ETHERTYPE_MAC_CONTROL)
		rd_line_mac_control(line, p);
	else if (name)
		rd_line_add(line, "%s", name);
	else if (p->ethertype <= 1500)
		rd_line_add(line, "802.3");
	else
		rd_line_add(line, "Ethertype 0x%04x", p->ethertype);
}
