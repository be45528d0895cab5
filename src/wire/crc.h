/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The two checksums of InfiniBand packets, over bytes as they come. */
#ifndef RDMADUMP_WIRE_CRC_H
#define RDMADUMP_WIRE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Start with all ones, complement at the end; the result goes on the wire least byte first. */
uint32_t crc_invariant(uint32_t crc, const uint8_t *p, size_t len);
uint16_t crc_variant(uint16_t crc, const uint8_t *p, size_t len);

#endif
