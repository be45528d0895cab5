/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Constants of classic pcap, from draft-ietf-opsawg-pcap. */
#ifndef RDMADUMP_FORMAT_PCAP_H
#define RDMADUMP_FORMAT_PCAP_H

#define PCAP_MAGIC_US 0xa1b2c3d4u
#define PCAP_MAGIC_NS 0xa1b23c4du
#define PCAP_MAGIC_MODIFIED                                                                        \
	0xa1b2cd34u /* variant of A. Kuznetsov: 8 more bytes in each record header */

#define PCAP_HEADER	     24
#define PCAP_RECORD	     16
#define PCAP_RECORD_MODIFIED 24

/* Bits of the link type: the four upper bits have the FCS length in 16-bit units. */
#define PCAP_FCS_PRESENT   0x04000000u
#define PCAP_FCS_SHIFT	   28
#define PCAP_LINKTYPE_MASK 0xffffu

#endif
