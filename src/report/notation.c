/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes addresses and times as text. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <rdmadump/notation.h>
#include <rdmadump/packet.h>
#include <stdio.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

static bool is_mapped(const uint8_t gid[16])
{
	return !memcmp(gid, mapped, sizeof(mapped));
}

char *rd_address_text(char buf[RD_ADDRESS_LEN], unsigned int net, const uint8_t *address)
{
	if (net == RD_NET_IPV4)
		inet_ntop(AF_INET, address, buf, RD_ADDRESS_LEN);
	else if (net == RD_NET_NONE)
		snprintf(buf, RD_ADDRESS_LEN, "LID %u", rd_be16(address));
	else if (net == RD_NET_GRH && is_mapped(address))
		inet_ntop(AF_INET, address + sizeof(mapped), buf, RD_ADDRESS_LEN);
	else
		inet_ntop(AF_INET6, address, buf, RD_ADDRESS_LEN);
	return buf;
}

char *rd_gid_text(char buf[RD_ADDRESS_LEN], const uint8_t gid[16])
{
	inet_ntop(AF_INET6, gid, buf, RD_ADDRESS_LEN);
	return buf;
}

char *rd_gid_ipv4_text(char buf[RD_ADDRESS_LEN], const uint8_t gid[16])
{
	*buf = '\0';
	if (is_mapped(gid))
		inet_ntop(AF_INET, gid + sizeof(mapped), buf, RD_ADDRESS_LEN);
	return buf;
}

char *rd_mac_text(char buf[RD_MAC_LEN], const uint8_t mac[6])
{
	snprintf(buf, RD_MAC_LEN, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		mac[4], mac[5]);
	return buf;
}

char *rd_guid_text(char buf[RD_GUID_LEN], uint64_t guid)
{
	snprintf(buf, RD_GUID_LEN, "%04x:%04x:%04x:%04x", (unsigned int)(guid >> 48),
		(unsigned int)(guid >> 32 & 0xffff), (unsigned int)(guid >> 16 & 0xffff),
		(unsigned int)(guid & 0xffff));
	return buf;
}

char *rd_utc_text(char buf[RD_UTC_LEN], uint64_t ns)
{
	/* pcapng's if_tsoffset may be negative: times before 1970 are those from 2262 on. */
	const int64_t since = (int64_t)ns, rest = since % NS_PER_S;
	const int64_t fraction = rest < 0 ? rest + NS_PER_S : rest;
	time_t seconds = (time_t)((since - fraction) / NS_PER_S);
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(buf, RD_UTC_LEN, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + n, RD_UTC_LEN - n, ".%09" PRId64 "Z", fraction);
	return buf;
}
