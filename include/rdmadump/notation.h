/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How addresses and times are written, the same in text and in JSON. */
#pragma once

#include <stdint.h>

#define RD_ADDRESS_LEN 48 /* text of an address, with the NUL */
#define RD_MAC_LEN     18
#define RD_GUID_LEN    20
#define RD_BOOT_ID_LEN 40 /* a UUID */
#define RD_UTC_LEN     40

/* Each writes into buf and returns it. */

/* An address of a packet: `net` is enum rd_net, RD_NET_NONE two bytes of a LID. "LID 12" */
char *rd_address_text(char buf[RD_ADDRESS_LEN], unsigned int net, const uint8_t *address);
/* A GID as an IPv6 address, an IPv4-mapped one too: "fe80::1", "::ffff:10.0.0.1". */
char *rd_gid_text(char buf[RD_ADDRESS_LEN], const uint8_t gid[16]);
/* "10.0.0.1" of an IPv4-mapped GID, "" of others. */
char *rd_gid_ipv4_text(char buf[RD_ADDRESS_LEN], const uint8_t gid[16]);
/* "02:00:00:00:00:01" */
char *rd_mac_text(char buf[RD_MAC_LEN], const uint8_t mac[6]);
/* "0002:c903:0000:0001" */
char *rd_guid_text(char buf[RD_GUID_LEN], uint64_t guid);
/* Nanoseconds since the Unix epoch as ISO 8601: "2024-01-31T12:00:00.000000000Z". */
char *rd_utc_text(char buf[RD_UTC_LEN], uint64_t ns);
