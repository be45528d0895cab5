/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How InfiniBand packets end in a capture (rdmadump/trailer.h). */
#include <rdmadump/names.h>
#include <rdmadump/packet.h>
#include <rdmadump/trailer.h>
#include <rdmadump/wire.h>
#include <stdio.h>

#define LRH_LEN	 8
#define VCRC_LEN 2

#define LNH_BTH 2
#define LNH_GRH 3

/* Raw packets have no BTH, and no ICRC. */
static bool has_icrc(const uint8_t *lrh)
{
	unsigned int lnh = lrh[1] & 3;

	return lnh == LNH_BTH || lnh == LNH_GRH;
}

/* Where the VCRC begins; 0: no whole packet can be so short. */
static uint32_t vcrc_at(const uint8_t *lrh)
{
	uint32_t at = (rd_be16(lrh + 4) & 0x7ffU) * 4;
	uint32_t least = LRH_LEN + (has_icrc(lrh) ? RD_BTH_LEN + RD_ICRC_LEN : 0);

	return at >= least ? at : 0;
}

/* False: the end cannot be found. */
static bool missing(const uint8_t *data, uint32_t len, unsigned int *bytes)
{
	uint32_t at = len < LRH_LEN ? 0 : vcrc_at(data);

	if (!at)
		return false;
	*bytes = at + VCRC_LEN - len;
	return len == at + VCRC_LEN || len == at || (len == at - RD_ICRC_LEN && has_icrc(data));
}

unsigned int rd_trailer_missing(const uint8_t *data, uint32_t len)
{
	unsigned int bytes;

	return missing(data, len, &bytes) ? bytes : 0;
}

void rd_trailers_count(struct rd_trailers *t, const uint8_t *data, uint32_t len)
{
	unsigned int bytes;
	uint32_t computed, stored;
	uint16_t computed16, stored16;

	if (!missing(data, len, &bytes)) {
		t->other++;
		return;
	}
	if (!has_icrc(data))
		return;
	t->packets++;
	if (bytes == RD_TRAILER_MAX)
		return;
	t->icrc++;
	if (rd_icrc(RD_LINK_INFINIBAND, data, len, &computed, &stored) == 0)
		t->icrc_valid += computed == stored;
	if (bytes)
		return;
	t->vcrc++;
	if (rd_vcrc(data, len, &computed16, &stored16) == 0)
		t->vcrc_valid += computed16 == stored16;
}

/* Where the field is, some packets may have been damaged: more than half decide. */
static enum rd_trailer state_of(const struct rd_trailers *t, uint32_t there, uint32_t valid)
{
	if (t->packets < RD_TRAILER_ENOUGH || t->other > t->packets)
		return RD_TRAILER_UNKNOWN;
	if (!there)
		return RD_TRAILER_ABSENT;
	if (there < t->packets)
		return RD_TRAILER_MIXED;
	if (valid > there / 2)
		return RD_TRAILER_VALID;
	return valid == 0 ? RD_TRAILER_INVALID : RD_TRAILER_MIXED;
}

enum rd_trailer rd_trailers_icrc(const struct rd_trailers *t)
{
	return state_of(t, t->icrc, t->icrc_valid);
}

enum rd_trailer rd_trailers_vcrc(const struct rd_trailers *t)
{
	return state_of(t, t->vcrc, t->vcrc_valid);
}

RD_NAMES(rd_trailer_name, NULL, [RD_TRAILER_UNKNOWN] = "unknown", [RD_TRAILER_VALID] = "valid",
	[RD_TRAILER_INVALID] = "invalid", [RD_TRAILER_ABSENT] = "absent",
	[RD_TRAILER_MIXED] = "mixed")

static void unknown_text(const struct rd_trailers *t, char *text)
{
	if (t->other > t->packets)
		snprintf(text, RD_TRAILER_TEXT,
			"have lengths that differ from those in their LRHs (%u of %u): they are "
			"written as they arrive, and their checksums are unknown",
			t->other, t->other + t->packets);
	else
		snprintf(text, RD_TRAILER_TEXT,
			"are too few (%u) to say whether they end with ICRC and VCRC: what is "
			"missing by their lengths is written as zeros",
			t->packets);
}

static void valid_text(const struct rd_trailers *t, enum rd_trailer vcrc, char *text)
{
	int n = snprintf(text, RD_TRAILER_TEXT, "end with the ICRC, valid in %u of %u",
		t->icrc_valid, t->packets);

	if (vcrc == RD_TRAILER_VALID)
		snprintf(text, RD_TRAILER_TEXT, "end with ICRC and VCRC, valid in %u and %u of %u",
			t->icrc_valid, t->vcrc_valid, t->packets);
	else if (vcrc == RD_TRAILER_ABSENT)
		snprintf(text + n, (size_t)(RD_TRAILER_TEXT - n),
			", without the VCRC: two zero bytes are written in its place");
	else
		snprintf(text + n, (size_t)(RD_TRAILER_TEXT - n),
			"; a VCRC follows in %u, valid in %u", t->vcrc, t->vcrc_valid);
}

bool rd_trailers_text(const struct rd_trailers *t, char text[RD_TRAILER_TEXT])
{
	enum rd_trailer icrc = rd_trailers_icrc(t), vcrc = rd_trailers_vcrc(t);

	switch (icrc) {
	case RD_TRAILER_UNKNOWN:
		unknown_text(t, text);
		return t->other > t->packets;
	case RD_TRAILER_VALID:
		valid_text(t, vcrc, text);
		return false;
	case RD_TRAILER_ABSENT:
		snprintf(text, RD_TRAILER_TEXT,
			"end with their payload: six zero bytes are written in place of ICRC and "
			"VCRC, and damage on the wire cannot be seen");
		return true;
	case RD_TRAILER_INVALID:
		snprintf(text, RD_TRAILER_TEXT,
			"have four bytes in place of the ICRC that are wrong in all of %u: damage "
			"on the wire cannot be seen",
			t->packets);
		return true;
	default:
		snprintf(text, RD_TRAILER_TEXT,
			"end in different ways: of %u, %u have an ICRC, %u a valid one; what is "
			"missing is written as zeros",
			t->packets, t->icrc, t->icrc_valid);
		return true;
	}
}
