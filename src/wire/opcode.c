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

/* clang-format off */
/* The headers, and their bytes. */
#define HEADERS(ROW) \
	ROW(RDETH, 4) ROW(DETH, 8) ROW(XRCETH, 4) ROW(FETH, 4) ROW(RETH, 16) ROW(ATOMICETH, 28) \
	ROW(AETH, 4) ROW(ATOMICACKETH, 8) ROW(IMMDT, 4) ROW(IETH, 4) ROW(CNP, 16)

#define LENGTH(header, n) LEN_##header = (n),
enum { HEADERS(LENGTH) };

/*
 * Rows that several transports `t` have, from opcode `base` on. Their headers are those of the
 * transport, `n` bytes (`...`, with a comma after each), and then those of the row.
 */
#define SENDS_AND_WRITES(base, t, n, ...) \
	[(base) + 0x00] = {t "_SEND_FIRST", SEND | FIRST, n, {__VA_ARGS__ RD_H_NONE}}, \
	[(base) + 0x01] = {t "_SEND_MIDDLE", SEND, n, {__VA_ARGS__ RD_H_NONE}}, \
	[(base) + 0x02] = {t "_SEND_LAST", SEND | LAST, n, {__VA_ARGS__ RD_H_NONE}}, \
	[(base) + 0x03] = {t "_SEND_LAST_IMM", SEND | LAST, n + LEN_IMMDT, \
		{__VA_ARGS__ RD_H_IMMDT}}, \
	[(base) + 0x04] = {t "_SEND_ONLY", SEND | ONLY, n, {__VA_ARGS__ RD_H_NONE}}, \
	[(base) + 0x05] = {t "_SEND_ONLY_IMM", SEND | ONLY, n + LEN_IMMDT, \
		{__VA_ARGS__ RD_H_IMMDT}}, \
	[(base) + 0x06] = {t "_WRITE_FIRST", WRITE | FIRST, n + LEN_RETH, \
		{__VA_ARGS__ RD_H_RETH}}, \
	[(base) + 0x07] = {t "_WRITE_MIDDLE", WRITE, n, {__VA_ARGS__ RD_H_NONE}}, \
	[(base) + 0x08] = {t "_WRITE_LAST", WRITE | LAST, n, {__VA_ARGS__ RD_H_NONE}}, \
	[(base) + 0x09] = {t "_WRITE_LAST_IMM", WRITE | LAST, n + LEN_IMMDT, \
		{__VA_ARGS__ RD_H_IMMDT}}, \
	[(base) + 0x0a] = {t "_WRITE_ONLY", WRITE | ONLY, n + LEN_RETH, {__VA_ARGS__ RD_H_RETH}}, \
	[(base) + 0x0b] = {t "_WRITE_ONLY_IMM", WRITE | ONLY, n + LEN_RETH + LEN_IMMDT, \
		{__VA_ARGS__ RD_H_RETH, RD_H_IMMDT}},

#define FETCHES(base, t, n, ...) \
	[(base) + 0x0c] = {t "_READ_REQUEST", READ | ONLY, n + LEN_RETH, {__VA_ARGS__ RD_H_RETH}}, \
	[(base) + 0x13] = {t "_CMP_SWAP", ATOMIC | ONLY, n + LEN_ATOMICETH, \
		{__VA_ARGS__ RD_H_ATOMICETH}}, \
	[(base) + 0x14] = {t "_FETCH_ADD", ATOMIC | ONLY, n + LEN_ATOMICETH, \
		{__VA_ARGS__ RD_H_ATOMICETH}}, \
	[(base) + 0x1c] = {t "_FLUSH", FLUSH | ONLY, n + LEN_FETH + LEN_RETH, \
		{__VA_ARGS__ RD_H_FETH, RD_H_RETH}}, \
	[(base) + 0x1d] = {t "_ATOMIC_WRITE", ATOMIC | ONLY, n + LEN_RETH, {__VA_ARGS__ RD_H_RETH}},

#define INVALIDATES(base, t, n, ...) \
	[(base) + 0x16] = {t "_SEND_LAST_INV", SEND | LAST, n + LEN_IETH, \
		{__VA_ARGS__ RD_H_IETH}}, \
	[(base) + 0x17] = {t "_SEND_ONLY_INV", SEND | ONLY, n + LEN_IETH, {__VA_ARGS__ RD_H_IETH}},

#define RESPONSES(base, t, n, ...) \
	[(base) + 0x0d] = {t "_READ_RESP_FIRST", READ | RESPONSE | FIRST, n + LEN_AETH, \
		{__VA_ARGS__ RD_H_AETH}}, \
	[(base) + 0x0e] = {t "_READ_RESP_MIDDLE", READ | RESPONSE, n, {__VA_ARGS__ RD_H_NONE}}, \
	[(base) + 0x0f] = {t "_READ_RESP_LAST", READ | RESPONSE | LAST, n + LEN_AETH, \
		{__VA_ARGS__ RD_H_AETH}}, \
	[(base) + 0x10] = {t "_READ_RESP_ONLY", READ | RESPONSE | ONLY, n + LEN_AETH, \
		{__VA_ARGS__ RD_H_AETH}}, \
	[(base) + 0x11] = {t "_ACK", ACK | RESPONSE | ONLY, n + LEN_AETH, \
		{__VA_ARGS__ RD_H_AETH}}, \
	[(base) + 0x12] = {t "_ATOMIC_ACK", ATOMIC | RESPONSE | ONLY, n + LEN_AETH + LEN_ATOMICACKETH, \
		{__VA_ARGS__ RD_H_AETH, RD_H_ATOMICACKETH}},

const struct rd_opcode rd_opcodes[256] = {
	SENDS_AND_WRITES(0x00, "RC", 0, )
	FETCHES(0x00, "RC", 0, )
	RESPONSES(0x00, "RC", 0, )
	INVALIDATES(0x00, "RC", 0, )
	SENDS_AND_WRITES(0x20, "UC", 0, )
	SENDS_AND_WRITES(0x40, "RD", LEN_RDETH + LEN_DETH, RD_H_RDETH, RD_H_DETH, )
	FETCHES(0x40, "RD", LEN_RDETH + LEN_DETH, RD_H_RDETH, RD_H_DETH, )
	RESPONSES(0x40, "RD", LEN_RDETH, RD_H_RDETH, )
	[0x55] = {"RD_RESYNC", ONLY, LEN_RDETH + LEN_DETH, {RD_H_RDETH, RD_H_DETH}},
	[0x64] = {"UD_SEND_ONLY", SEND | ONLY, LEN_DETH, {RD_H_DETH}},
	[0x65] = {"UD_SEND_ONLY_IMM", SEND | ONLY, LEN_DETH + LEN_IMMDT, {RD_H_DETH, RD_H_IMMDT}},
	[0x81] = {"CNP", RD_OP_CNP | ONLY, LEN_CNP, {RD_H_CNP}},
	SENDS_AND_WRITES(0xa0, "XRC", LEN_XRCETH, RD_H_XRCETH, )
	FETCHES(0xa0, "XRC", LEN_XRCETH, RD_H_XRCETH, )
	RESPONSES(0xa0, "XRC", 0, )
	INVALIDATES(0xa0, "XRC", LEN_XRCETH, RD_H_XRCETH, )
};
/* clang-format on */

#define LENGTH_OF(header, n) [RD_H_##header] = (n),
const uint8_t rd_header_lengths[] = {HEADERS(LENGTH_OF)};

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
