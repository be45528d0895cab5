/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The link types of capture files: the numbers of www.tcpdump.org/linktypes.html. */
#include <rdmadump/array.h>
#include <rdmadump/frame.h>

/* Those that are decoded, and others by name. */
static const struct type {
	int number;
	enum rd_link link;
	const char *name;
} types[] = {
	{0, RD_LINK_NULL, "NULL"},
	{1, RD_LINK_ETHERNET, "Ethernet"},
	{9, RD_LINK_RAW, "PPP"},
	{12, RD_LINK_IP, "RAW"}, /* written by programs that take DLT_RAW for a file's number */
	{14, RD_LINK_IP, "RAW"}, /* the same, on OpenBSD */
	{101, RD_LINK_IP, "RAW"},
	{105, RD_LINK_RAW, "IEEE 802.11"},
	{108, RD_LINK_NULL, "LOOP"},
	{113, RD_LINK_SLL, "LINUX_SLL"},
	{127, RD_LINK_RAW, "IEEE 802.11 radiotap"},
	{189, RD_LINK_RAW, "USB"},
	{197, RD_LINK_RAW, "ERF"}, /* records of a type that is not decoded */
	{220, RD_LINK_RAW, "USB"},
	{228, RD_LINK_IP, "IPV4"},
	{229, RD_LINK_IP, "IPV6"},
	{239, RD_LINK_RAW, "NFLOG"},
	{242, RD_LINK_RAW, "IP over InfiniBand"},
	{247, RD_LINK_INFINIBAND, "INFINIBAND"},
	{249, RD_LINK_RAW, "USB"},
	{253, RD_LINK_RAW, "NETLINK"},
	{276, RD_LINK_SLL2, "LINUX_SLL2"},
};

static const struct type *type_of(int linktype)
{
	return RD_FIND(t, types, RD_COUNT(types), t->number == linktype);
}

enum rd_link rd_link_of(int linktype)
{
	const struct type *t = type_of(linktype);

	return t ? t->link : RD_LINK_RAW;
}

const char *rd_linktype_name(int linktype)
{
	const struct type *t = type_of(linktype);

	return t ? t->name : NULL;
}
