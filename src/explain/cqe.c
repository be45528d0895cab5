/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads dumps of error CQEs. Layout: struct mlx5_err_cqe, include/linux/mlx5/device.h of Linux. */
#include "line.h"
#include <ctype.h>
#include <string.h>

#define LINE_BYTES 16
/* Of the last line, which begins with byte 48. */
#define RESERVED    4
#define AT_VENDOR   6
#define AT_SYNDROME 7
#define AT_QPN	    9  /* three bytes */
#define AT_OPCODE   15 /* upper four bits */
#define REQ_ERR	    0xd
#define RESP_ERR    0xe

static int digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* The bytes of a line's last words, each of `digits` digits, from its end backwards. */
static bool take_bytes(const char *line, size_t n, size_t digits, unsigned char out[LINE_BYTES])
{
	size_t left = LINE_BYTES;

	while (n && isspace((unsigned char)line[n - 1]))
		n--;
	while (left) {
		for (size_t i = 0; i < digits; i += 2, n -= 2) {
			if (n < 2 || !isxdigit((unsigned char)line[n - 1]) ||
				!isxdigit((unsigned char)line[n - 2]))
				return false;
			out[--left] = (unsigned char)(digit(line[n - 2]) << 4 | digit(line[n - 1]));
		}
		if (n && line[n - 1] != ' ')
			return false;
		while (n && line[n - 1] == ' ')
			n--;
	}
	return true;
}

bool cqe_line(const struct catalogue *c, const char *line, size_t length, struct reading *r)
{
	unsigned char b[LINE_BYTES];

	if (!take_bytes(line, length, 8, b) && !take_bytes(line, length, 2, b))
		return false;
	if ((b[AT_OPCODE] >> 4 != REQ_ERR && b[AT_OPCODE] >> 4 != RESP_ERR) ||
		memcmp(b, (const char[RESERVED]){0}, RESERVED) != 0 ||
		!code_of(c, SPACE_SYNDROME, b[AT_SYNDROME], 0))
		return false;
	*r = (struct reading){.program = "mlx5",
		.peer_qpn = QPN_UNKNOWN,
		.qpn = (unsigned int)(b[AT_QPN] << 16 | b[AT_QPN + 1] << 8 | b[AT_QPN + 2])};
	reading_add(r, SPACE_SYNDROME, b[AT_SYNDROME], NULL);
	reading_add(r, SPACE_VENDOR, b[AT_VENDOR], NULL);
	reading_finish(c, r);
	return true;
}
