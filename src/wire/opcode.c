/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opcodes of the BTH and the headers after it: IBTA volume 1, 9.2.1 (tables 38 and 39), XRC annex
 * A14, CNP annex A17.9.3, FLUSH and ATOMIC WRITE annex A19; AETH syndromes 9.5.2 and 9.7.5.2.
 */
#include <rdmadump/names.h>
#include <rdmadump/packet.h>

#define SEND	 RD_OP_SEND
#define WRITE	 RD_OP_WRITE
#define READ	 RD_OP_READ
#define ATOMIC	 RD_OP_ATOMIC
#define ACK	 RD_OP_ACK
#define FLUSH	 RD_OP_FLUSH
#define RESPONSE RD_OP_RESPONSE
#define FIRST	 RD_OP_FIRST
#define LAST	 RD_OP_LAST
#define ONLY	 (RD_OP_FIRST | RD_OP_LAST)

enum {
	LEN_RDETH = 4,
	LEN_DETH = 8,
	LEN_XRCETH = 4,
	LEN_FETH = 4,
	LEN_RETH = 16,
	LEN_ATOMICETH = 28,
	LEN_AETH = 4,
	LEN_ATOMICACKETH = 8,
	LEN_IMMDT = 4,
	LEN_IETH = 4,
	LEN_CNP = 16,
};

/* A list of headers and the sum of their lengths. */
#define H0()                                                                                       \
	0,                                                                                         \
	{                                                                                          \
		0                                                                                  \
	}
#define H1(a)                                                                                      \
	LEN_##a,                                                                                   \
	{                                                                                          \
		RD_H_##a                                                                           \
	}
#define H2(a, b)                                                                                   \
	LEN_##a + LEN_##b,                                                                         \
	{                                                                                          \
		RD_H_##a, RD_H_##b                                                                 \
	}
#define H3(a, b, c)                                                                                \
	LEN_##a + LEN_##b + LEN_##c,                                                               \
	{                                                                                          \
		RD_H_##a, RD_H_##b, RD_H_##c                                                       \
	}
#define H4(a, b, c, d)                                                                             \
	LEN_##a + LEN_##b + LEN_##c + LEN_##d,                                                     \
	{                                                                                          \
		RD_H_##a, RD_H_##b, RD_H_##c, RD_H_##d                                             \
	}

/* clang-format off */
const struct rd_opcode rd_opcodes[256] = {
	[0x00] = {"RC_SEND_FIRST", SEND | FIRST, H0()},
	[0x01] = {"RC_SEND_MIDDLE", SEND, H0()},
	[0x02] = {"RC_SEND_LAST", SEND | LAST, H0()},
	[0x03] = {"RC_SEND_LAST_IMM", SEND | LAST, H1(IMMDT)},
	[0x04] = {"RC_SEND_ONLY", SEND | ONLY, H0()},
	[0x05] = {"RC_SEND_ONLY_IMM", SEND | ONLY, H1(IMMDT)},
	[0x06] = {"RC_WRITE_FIRST", WRITE | FIRST, H1(RETH)},
	[0x07] = {"RC_WRITE_MIDDLE", WRITE, H0()},
	[0x08] = {"RC_WRITE_LAST", WRITE | LAST, H0()},
	[0x09] = {"RC_WRITE_LAST_IMM", WRITE | LAST, H1(IMMDT)},
	[0x0a] = {"RC_WRITE_ONLY", WRITE | ONLY, H1(RETH)},
	[0x0b] = {"RC_WRITE_ONLY_IMM", WRITE | ONLY, H2(RETH, IMMDT)},
	[0x0c] = {"RC_READ_REQUEST", READ | ONLY, H1(RETH)},
	[0x0d] = {"RC_READ_RESP_FIRST", READ | RESPONSE | FIRST, H1(AETH)},
	[0x0e] = {"RC_READ_RESP_MIDDLE", READ | RESPONSE, H0()},
	[0x0f] = {"RC_READ_RESP_LAST", READ | RESPONSE | LAST, H1(AETH)},
	[0x10] = {"RC_READ_RESP_ONLY", READ | RESPONSE | ONLY, H1(AETH)},
	[0x11] = {"RC_ACK", ACK | RESPONSE | ONLY, H1(AETH)},
	[0x12] = {"RC_ATOMIC_ACK", ATOMIC | RESPONSE | ONLY, H2(AETH, ATOMICACKETH)},
	[0x13] = {"RC_CMP_SWAP", ATOMIC | ONLY, H1(ATOMICETH)},
	[0x14] = {"RC_FETCH_ADD", ATOMIC | ONLY, H1(ATOMICETH)},
	[0x16] = {"RC_SEND_LAST_INV", SEND | LAST, H1(IETH)},
	[0x17] = {"RC_SEND_ONLY_INV", SEND | ONLY, H1(IETH)},
	[0x1c] = {"RC_FLUSH", FLUSH | ONLY, H2(FETH, RETH)},
	[0x1d] = {"RC_ATOMIC_WRITE", ATOMIC | ONLY, H1(RETH)},
	[0x20] = {"UC_SEND_FIRST", SEND | FIRST, H0()},
	[0x21] = {"UC_SEND_MIDDLE", SEND, H0()},
	[0x22] = {"UC_SEND_LAST", SEND | LAST, H0()},
	[0x23] = {"UC_SEND_LAST_IMM", SEND | LAST, H1(IMMDT)},
	[0x24] = {"UC_SEND_ONLY", SEND | ONLY, H0()},
	[0x25] = {"UC_SEND_ONLY_IMM", SEND | ONLY, H1(IMMDT)},
	[0x26] = {"UC_WRITE_FIRST", WRITE | FIRST, H1(RETH)},
	[0x27] = {"UC_WRITE_MIDDLE", WRITE, H0()},
	[0x28] = {"UC_WRITE_LAST", WRITE | LAST, H0()},
	[0x29] = {"UC_WRITE_LAST_IMM", WRITE | LAST, H1(IMMDT)},
	[0x2a] = {"UC_WRITE_ONLY", WRITE | ONLY, H1(RETH)},
	[0x2b] = {"UC_WRITE_ONLY_IMM", WRITE | ONLY, H2(RETH, IMMDT)},
	[0x40] = {"RD_SEND_FIRST", SEND | FIRST, H2(RDETH, DETH)},
	[0x41] = {"RD_SEND_MIDDLE", SEND, H2(RDETH, DETH)},
	[0x42] = {"RD_SEND_LAST", SEND | LAST, H2(RDETH, DETH)},
	[0x43] = {"RD_SEND_LAST_IMM", SEND | LAST, H3(RDETH, DETH, IMMDT)},
	[0x44] = {"RD_SEND_ONLY", SEND | ONLY, H2(RDETH, DETH)},
	[0x45] = {"RD_SEND_ONLY_IMM", SEND | ONLY, H3(RDETH, DETH, IMMDT)},
	[0x46] = {"RD_WRITE_FIRST", WRITE | FIRST, H3(RDETH, DETH, RETH)},
	[0x47] = {"RD_WRITE_MIDDLE", WRITE, H2(RDETH, DETH)},
	[0x48] = {"RD_WRITE_LAST", WRITE | LAST, H2(RDETH, DETH)},
	[0x49] = {"RD_WRITE_LAST_IMM", WRITE | LAST, H3(RDETH, DETH, IMMDT)},
	[0x4a] = {"RD_WRITE_ONLY", WRITE | ONLY, H3(RDETH, DETH, RETH)},
	[0x4b] = {"RD_WRITE_ONLY_IMM", WRITE | ONLY, H4(RDETH, DETH, RETH, IMMDT)},
	[0x4c] = {"RD_READ_REQUEST", READ | ONLY, H3(RDETH, DETH, RETH)},
	[0x4d] = {"RD_READ_RESP_FIRST", READ | RESPONSE | FIRST, H2(RDETH, AETH)},
	[0x4e] = {"RD_READ_RESP_MIDDLE", READ | RESPONSE, H1(RDETH)},
	[0x4f] = {"RD_READ_RESP_LAST", READ | RESPONSE | LAST, H2(RDETH, AETH)},
	[0x50] = {"RD_READ_RESP_ONLY", READ | RESPONSE | ONLY, H2(RDETH, AETH)},
	[0x51] = {"RD_ACK", ACK | RESPONSE | ONLY, H2(RDETH, AETH)},
	[0x52] = {"RD_ATOMIC_ACK", ATOMIC | RESPONSE | ONLY, H3(RDETH, AETH, ATOMICACKETH)},
	[0x53] = {"RD_CMP_SWAP", ATOMIC | ONLY, H3(RDETH, DETH, ATOMICETH)},
	[0x54] = {"RD_FETCH_ADD", ATOMIC | ONLY, H3(RDETH, DETH, ATOMICETH)},
	[0x55] = {"RD_RESYNC", ONLY, H2(RDETH, DETH)},
	[0x5c] = {"RD_FLUSH", FLUSH | ONLY, H4(RDETH, DETH, FETH, RETH)},
	[0x5d] = {"RD_ATOMIC_WRITE", ATOMIC | ONLY, H3(RDETH, DETH, RETH)},
	[0x64] = {"UD_SEND_ONLY", SEND | ONLY, H1(DETH)},
	[0x65] = {"UD_SEND_ONLY_IMM", SEND | ONLY, H2(DETH, IMMDT)},
	[0x81] = {"CNP", RD_OP_CNP | ONLY, H1(CNP)},
	[0xa0] = {"XRC_SEND_FIRST", SEND | FIRST, H1(XRCETH)},
	[0xa1] = {"XRC_SEND_MIDDLE", SEND, H1(XRCETH)},
	[0xa2] = {"XRC_SEND_LAST", SEND | LAST, H1(XRCETH)},
	[0xa3] = {"XRC_SEND_LAST_IMM", SEND | LAST, H2(XRCETH, IMMDT)},
	[0xa4] = {"XRC_SEND_ONLY", SEND | ONLY, H1(XRCETH)},
	[0xa5] = {"XRC_SEND_ONLY_IMM", SEND | ONLY, H2(XRCETH, IMMDT)},
	[0xa6] = {"XRC_WRITE_FIRST", WRITE | FIRST, H2(XRCETH, RETH)},
	[0xa7] = {"XRC_WRITE_MIDDLE", WRITE, H1(XRCETH)},
	[0xa8] = {"XRC_WRITE_LAST", WRITE | LAST, H1(XRCETH)},
	[0xa9] = {"XRC_WRITE_LAST_IMM", WRITE | LAST, H2(XRCETH, IMMDT)},
	[0xaa] = {"XRC_WRITE_ONLY", WRITE | ONLY, H2(XRCETH, RETH)},
	[0xab] = {"XRC_WRITE_ONLY_IMM", WRITE | ONLY, H3(XRCETH, RETH, IMMDT)},
	[0xac] = {"XRC_READ_REQUEST", READ | ONLY, H2(XRCETH, RETH)},
	[0xad] = {"XRC_READ_RESP_FIRST", READ | RESPONSE | FIRST, H1(AETH)},
	[0xae] = {"XRC_READ_RESP_MIDDLE", READ | RESPONSE, H0()},
	[0xaf] = {"XRC_READ_RESP_LAST", READ | RESPONSE | LAST, H1(AETH)},
	[0xb0] = {"XRC_READ_RESP_ONLY", READ | RESPONSE | ONLY, H1(AETH)},
	[0xb1] = {"XRC_ACK", ACK | RESPONSE | ONLY, H1(AETH)},
	[0xb2] = {"XRC_ATOMIC_ACK", ATOMIC | RESPONSE | ONLY, H2(AETH, ATOMICACKETH)},
	[0xb3] = {"XRC_CMP_SWAP", ATOMIC | ONLY, H2(XRCETH, ATOMICETH)},
	[0xb4] = {"XRC_FETCH_ADD", ATOMIC | ONLY, H2(XRCETH, ATOMICETH)},
	[0xb6] = {"XRC_SEND_LAST_INV", SEND | LAST, H2(XRCETH, IETH)},
	[0xb7] = {"XRC_SEND_ONLY_INV", SEND | ONLY, H2(XRCETH, IETH)},
	[0xbc] = {"XRC_FLUSH", FLUSH | ONLY, H3(XRCETH, FETH, RETH)},
	[0xbd] = {"XRC_ATOMIC_WRITE", ATOMIC | ONLY, H2(XRCETH, RETH)},
};
/* clang-format on */

static const uint8_t header_lengths[] = {
	[RD_H_NONE] = 0,
	[RD_H_RDETH] = LEN_RDETH,
	[RD_H_DETH] = LEN_DETH,
	[RD_H_XRCETH] = LEN_XRCETH,
	[RD_H_FETH] = LEN_FETH,
	[RD_H_RETH] = LEN_RETH,
	[RD_H_ATOMICETH] = LEN_ATOMICETH,
	[RD_H_AETH] = LEN_AETH,
	[RD_H_ATOMICACKETH] = LEN_ATOMICACKETH,
	[RD_H_IMMDT] = LEN_IMMDT,
	[RD_H_IETH] = LEN_IETH,
	[RD_H_CNP] = LEN_CNP,
};

unsigned int rd_header_length(enum rd_header h)
{
	return h < sizeof(header_lengths) ? header_lengths[h] : 0;
}

RD_NAMES(rd_transport_name, "?", [RD_RC] = "RC", [RD_UC] = "UC", [RD_RD] = "RD", [RD_UD] = "UD",
	[RD_CNP] = "CNP", [RD_XRC] = "XRC")

int rd_aeth_credits(unsigned int value)
{
	static const uint16_t credits[31] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128,
		192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
		24576, 32768};

	return (value & 0x1f) == 0x1f ? -1 : credits[value & 0x1f];
}

uint32_t rd_aeth_rnr_us(unsigned int value)
{
	static const uint32_t us[32] = {655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480,
		640, 960, 1280, 1920, 2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960,
		61440, 81920, 122880, 163840, 245760, 327680, 491520};

	return us[value & 0x1f];
}

RD_NAMES(rd_aeth_nak_name, "reserved NAK code", "PSN sequence error", "invalid request",
	"remote access error", "remote operational error", "invalid RD request")
