/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recognises iWARP in TCP segments: MPA (RFC 5044), DDP (RFC 5041), RDMAP (RFC 5040, RFC 7306). */
#include <rdmadump/packet.h>

#define PROTO_TCP 6

#define KEY_LEN	     16
#define NEGOTIATION  20 /* key, flags, revision, length of private data */
#define PRIVATE_MAX  512
#define REVISION_MAX 2 /* revision 2: RFC 6581 */

#define FPDU_HEAD	2 /* length of the ULPDU */
#define FPDU_CRC	4
#define DDP_TAGGED	14 /* control, RDMAP control, STag, offset */
#define DDP_UNTAGGED	18 /* control, RDMAP control, 4 of RDMAP, queue, MSN, MO */
#define CONTROL_TAGGED	0x80
#define CONTROL_LAST	0x40
#define CONTROL_VERSION 0x3f /* and reserved bits, which are 0 */
#define VERSION_DDP	0x01
#define RDMAP_VERSION	0xf0 /* and reserved bits */
#define VERSION_RDMAP	0x40
#define QUEUE_MAX	3 /* the last one (responses of atomics): RFC 7306 */

static const struct opcode {
	const char *name;
	bool tagged;
} opcodes[16] = {
	[0] = {"RDMA Write", true},
	[1] = {"RDMA Read Request", false},
	[2] = {"RDMA Read Response", true},
	[3] = {"Send", false},
	[4] = {"Send with Invalidate", false},
	[5] = {"Send with SE", false},
	[6] = {"Send with SE and Invalidate", false},
	[7] = {"Terminate", false},
	[8] = {"Immediate Data", false},
	[9] = {"Immediate Data with SE", false},
	[10] = {"Atomic Request", false},
	[11] = {"Atomic Response", false},
};

const char *rd_iwarp_opcode_name(unsigned int opcode)
{
	return opcode < sizeof(opcodes) / sizeof(*opcodes) ? opcodes[opcode].name : NULL;
}

static bool read_negotiation(const uint8_t *p, uint32_t captured, struct rd_iwarp *out)
{
	static const char *const keys[] = {
		[RD_IWARP_REQUEST] = "MPA ID Req Frame", [RD_IWARP_REPLY] = "MPA ID Rep Frame"};

	if (captured < NEGOTIATION)
		return false;
	for (int kind = RD_IWARP_REQUEST; kind <= RD_IWARP_REPLY; kind++) {
		if (memcmp(p, keys[kind], KEY_LEN) != 0)
			continue;
		*out = (struct rd_iwarp){.kind = (enum rd_iwarp_kind)kind,
			.flags = p[KEY_LEN],
			.revision = p[KEY_LEN + 1],
			.private_len = rd_be16(p + KEY_LEN + 2)};
		return out->revision <= REVISION_MAX && out->private_len <= PRIVATE_MAX;
	}
	return false;
}

/* Bytes of an FPDU: the ULPDU padded to a multiple of four, and the CRC. */
static uint32_t fpdu_length(uint32_t ulpdu)
{
	return ((FPDU_HEAD + ulpdu + 3) & ~3U) + FPDU_CRC;
}

static uint32_t ddp_length(const uint8_t *p)
{
	return p[FPDU_HEAD] & CONTROL_TAGGED ? DDP_TAGGED : DDP_UNTAGGED;
}

/* Whether an FPDU can begin with these bytes; FPDU_HEAD + 2 bytes must be present. */
static bool is_fpdu(const uint8_t *p)
{
	uint8_t ddp = p[FPDU_HEAD], rdmap = p[FPDU_HEAD + 1];
	const struct opcode *op = &opcodes[rdmap & 0x0f];

	return (ddp & CONTROL_VERSION) == VERSION_DDP && (rdmap & RDMAP_VERSION) == VERSION_RDMAP &&
	       op->name && op->tagged == !!(ddp & CONTROL_TAGGED) && rd_be16(p) >= ddp_length(p);
}

static bool read_fpdu(const uint8_t *p, uint32_t captured, struct rd_iwarp *out)
{
	const uint8_t *ddp = p + FPDU_HEAD;

	if (captured < FPDU_HEAD + 2 || !is_fpdu(p) || captured < FPDU_HEAD + ddp_length(p))
		return false;
	*out = (struct rd_iwarp){.kind = RD_IWARP_FPDU,
		.opcode = ddp[1] & 0x0f,
		.tagged = ddp[0] & CONTROL_TAGGED,
		.last = ddp[0] & CONTROL_LAST,
		.ulpdu_len = rd_be16(p),
		.payload_len = rd_be16(p) - ddp_length(p),
		.stag = rd_be32(ddp + 2)};
	if (out->tagged) {
		out->offset = rd_be64(ddp + 6);
		return true;
	}
	out->queue = rd_be32(ddp + 6);
	out->msn = rd_be32(ddp + 10);
	out->mo = rd_be32(ddp + 14);
	return out->queue <= QUEUE_MAX;
}

/* Counts the FPDUs; false if they do not fill the segment. */
static bool count_fpdus(const uint8_t *p, uint32_t captured, uint32_t len, unsigned int *n)
{
	uint32_t at = 0;

	for (*n = 0; at < len && captured >= at + FPDU_HEAD + 2; (*n)++) {
		if (!is_fpdu(p + at))
			return false;
		at += fpdu_length(rd_be16(p + at));
	}
	return at == len || (at < len && captured < len);
}

bool rd_packet_iwarp(const struct rd_packet *p, struct rd_iwarp *out)
{
	const uint8_t *data = p->data + p->payload;
	uint32_t captured, len = p->payload_len;

	if (p->proto != PROTO_TCP || !p->l4 || p->flags & RD_PACKET_FRAGMENT ||
		p->payload >= p->caplen)
		return false;
	captured = p->caplen - p->payload;
	if (captured > len)
		captured = len;
	if (read_negotiation(data, captured, out))
		return true;
	return read_fpdu(data, captured, out) && count_fpdus(data, captured, len, &out->fpdus);
}
