/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables of codes, and the codes that are computed from their number. */
#include "catalogue.h"
#include <errno.h>
#include <rdmadump/packet.h>
#include <rdmadump/units.h>
#include <stdio.h>

const struct space_row code_spaces[SPACES] = {
#define SPACE(id, ...) [SPACE_##id] = {__VA_ARGS__},
#include "spaces.def"
};

const char *const code_calls[] = {
#define CALL(id, words) [CALL_##id] = (words),
#define ALSO(id, words)
#include "calls.def"
};

#define HERE		       WHERE_HERE
#define PEER		       WHERE_PEER
#define PATH		       WHERE_PATH
#define CODE(id, n, text, ...) {.space = SPACE_##id, .number = (n), .name = (text), __VA_ARGS__},

const struct code codes[] = {
/* clang-format off */
#include "status.def"
#include "vendor.def"
#include "syndrome.def"
#include "event.def"
#include "errno.def"
#include "cm.def"
#include "port.def"
#include "mlx5.def"
#include "message.def"
#include "own.def"
#include "value.def"
	/* clang-format on */
	{0},
};

static void rnr_timer(unsigned int number, char *text, size_t size)
{
	char wait[RD_UNITS_LEN];

	snprintf(text, size,
		"the receiver is not ready; the sender waits at least %s before it retransmits",
		rd_fmt_duration(wait, rd_aeth_rnr_us(number) * 1000ull));
}

/* 4.096 us * 2^code; ConnectX as measured on ConnectX-5 and ConnectX-6. */
static void ack_timeout(unsigned int number, char *text, size_t size)
{
	const uint64_t plain = 4096ull << number, connectx = 8192ull << (number < 16 ? 16 : number);
	char wait[RD_UNITS_LEN], longer[RD_UNITS_LEN];

	if (number == 0)
		snprintf(text, size, "the sender waits for an ACK without a limit");
	else
		snprintf(text, size,
			"%s between retransmissions by the specification; ConnectX with its "
			"default "
			"firmware settings waits %s, after some earlier retransmissions of its own",
			rd_fmt_duration(wait, plain), rd_fmt_duration(longer, connectx));
}

static void credits(unsigned int number, char *text, size_t size)
{
	const int n = rd_aeth_credits(number);

	if (n < 0)
		snprintf(text, size,
			"an ACK that does not tell how many receives are posted; no error");
	else
		snprintf(text, size, "an ACK; receives posted: at least %d; no error", n);
}

void codes_compute(struct code code[CODES_COMPUTED], char text[CODES_COMPUTED][CODE_TEXT])
{
	static const struct {
		enum space space;
		unsigned int first, where;
		void (*write)(unsigned int number, char *text, size_t size);
	} kinds[] = {{SPACE_RNR_TIMER, 0, WHERE_PEER, rnr_timer},
		{SPACE_ACK_TIMEOUT, 0, 0, ack_timeout}, {SPACE_AETH, 0, 0, credits},
		{SPACE_AETH, 0x20, WHERE_PEER, rnr_timer}};

	for (unsigned int i = 0; i < CODES_COMPUTED; i++) {
		kinds[i / 32].write(i % 32, text[i], CODE_TEXT);
		code[i] = (struct code){.space = kinds[i / 32].space,
			.number = kinds[i / 32].first + i % 32,
			.meaning = text[i],
			.where = kinds[i / 32].where};
	}
}
