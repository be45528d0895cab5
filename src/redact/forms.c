/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Recognizes addresses in text by their form. Versions, PCI addresses and times of day are not
 * network addresses. The replacement has the same form: separators, leading zeros, the case of
 * digits.
 */
#include "redact.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <rdmadump/hash.h>
#include <stdio.h>
#include <string.h>

#define GROUPS_MAX 20 /* bytes of an IPoIB hardware address: flags and QPN, GID */
#define IPOIB_GID  4

#define VERSION_MAX 9 /* first number of a version of four */

static bool is_digit(char c)
{
	return isxdigit((unsigned char)c) != 0;
}

static unsigned int value_of(char c)
{
	return isdigit((unsigned char)c) ? (unsigned int)(c - '0')
					 : (unsigned int)(tolower((unsigned char)c) - 'a' + 10);
}

/* The number of hexadecimal digits at `text`. */
static size_t run_of_digits(const char *text, size_t left)
{
	size_t n = 0;

	while (n < left && is_digit(text[n]))
		n++;
	return n;
}

static void get_bytes(uint8_t *bytes, const char *digits, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)(value_of(digits[2 * i]) << 4 | value_of(digits[2 * i + 1]));
}

static bool has_upper(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isupper((unsigned char)text[i]) && text[i] != 'X')
			return true;
	return false;
}

/* Writes the bytes with digits in the format of the original; everything between them is copied. */
static void put_same(struct form *f, const char *text, size_t n, const uint8_t *bytes, size_t skip)
{
	const char *digits = has_upper(text, n) ? "0123456789ABCDEF" : "0123456789abcdef";
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		bool digit = i >= skip && is_digit(text[i]);

		f->to[i] = text[i];
		if (digit) {
			f->to[i] = digits[k % 2 ? bytes[k / 2] & 0xf : bytes[k / 2] >> 4];
			k++;
		}
	}
	f->n = f->to_n = n;
}

/* --- groups of digits: MAC addresses, GUIDs, GIDs, UUIDs ----------------------------------------
 */

/*
 * Groups of `each` digits with one separator. Returns the number of groups; `out` gets the bytes.
 */
static unsigned int groups_of(const char *text, size_t left, unsigned int each, char separator,
	uint8_t out[GROUPS_MAX], size_t *n)
{
	unsigned int count = 0, most = 2 * GROUPS_MAX / each;
	size_t at = 0;

	while (count < most && run_of_digits(text + at, left - at) == each) {
		get_bytes(out + count * each / 2, text + at, each / 2);
		at += each;
		count++;
		if (at + 1 >= left || text[at] != separator || !is_digit(text[at + 1]))
			break;
		at++;
	}
	*n = at;
	/* Followed by a group of another length, or by a word. */
	if (at < left && name_is_word((unsigned char)text[at]))
		return 0;
	return count;
}

static bool pairs(
	struct rd_redact *r, const char *text, size_t left, char separator, struct form *f)
{
	uint8_t b[GROUPS_MAX];
	size_t n;

	switch (groups_of(text, left, 2, separator, b, &n)) {
	case 6:
		rd_redact_mac(r, b);
		break;
	case 8:
		rd_redact_guid(r, b);
		break;
	case 16:
		rd_redact_ipv6(r, b);
		break;
	case GROUPS_MAX:
		rd_redact_ipv6(r, b + IPOIB_GID);
		break;
	default:
		return false;
	}
	put_same(f, text, n, b, 0);
	return true;
}

/* 0c42:a103:00b3:1234, and GIDs with all their zeros. */
static bool fours(struct rd_redact *r, const char *text, size_t left, struct form *f)
{
	uint8_t b[GROUPS_MAX];
	size_t n;

	switch (groups_of(text, left, 4, ':', b, &n)) {
	case 4:
		rd_redact_guid(r, b);
		break;
	case 8:
		rd_redact_ipv6(r, b);
		break;
	default:
		/* Cisco's notation of MAC addresses */
		if (groups_of(text, left, 4, '.', b, &n) != 3)
			return false;
		rd_redact_mac(r, b);
	}
	put_same(f, text, n, b, 0);
	return true;
}

/* Any identifier of 16 or 32 bytes; it has no structure to keep. */
static void opaque(
	struct rd_redact *r, enum rd_redact_kind kind, const char *text, size_t n, struct form *f)
{
	uint8_t old[32] = {0}, b[32];
	char digits[65] = "";
	size_t k = 0;

	for (size_t i = 0; i < n && k < 64; i++)
		if (is_digit(text[i]))
			digits[k++] = text[i];
	get_bytes(old, digits, k / 2);
	memcpy(b, old, sizeof(b));
	for (size_t i = 0; r->replacing && i < k / 2; i += 8)
		rd_put_be64(b + i, rd_hash2(rd_be64(old) ^ i, rd_be64(old + 8)));
	put_same(f, text, n, b, 0);
	f->to[n] = '\0';
	record_text(r, kind, text, n, f->to);
}

static bool uuid(struct rd_redact *r, const char *text, size_t left, struct form *f)
{
	static const unsigned int lengths[] = {8, 4, 4, 4, 12};
	size_t at = 0;
	bool zero = true;

	for (unsigned int i = 0; i < 5; i++) {
		if (run_of_digits(text + at, left - at) != lengths[i])
			return false;
		at += lengths[i];
		if (i < 4 && (at >= left || text[at++] != '-'))
			return false;
	}
	if (at < left && name_is_word((unsigned char)text[at]))
		return false;
	for (size_t i = 0; i < at; i++)
		zero &= text[i] == '0' || text[i] == '-';
	if (!zero)
		opaque(r, RD_REDACT_UUID, text, at, f);
	return !zero;
}

/* --- digits without separators ------------------------------------------------------------------
 */

/* The same lines also contain decimal numbers: speeds, times. */
static bool has_letter(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isalpha((unsigned char)text[i]))
			return true;
	return false;
}

static bool bare(
	struct rd_redact *r, const char *text, size_t left, unsigned int line, struct form *f)
{
	bool hex = left > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	size_t skip = hex ? 2 : 0, n = run_of_digits(text + skip, left - skip), end = skip + n;
	uint8_t b[8];

	if ((end < left && name_is_word((unsigned char)text[end])) || !has_letter(text, end))
		return false;
	if (n == 16) {
		get_bytes(b, text + skip, 8);
		/* Small numbers and virtual addresses of user space or the kernel are not GUIDs. */
		if (!(line & LINE_GUID) && (!hex || rd_be16(b) == 0 || rd_be16(b) >= 0xff00))
			return false;
		rd_redact_guid(r, b);
	} else if (n == 12 && !hex && line & LINE_MAC) {
		get_bytes(b, text, 6);
		rd_redact_mac(r, b);
	} else if ((n == 32 || n == 64) && !hex) {
		opaque(r, RD_REDACT_ID, text, n, f);
		return true;
	} else {
		return false;
	}
	put_same(f, text, end, b, skip);
	return true;
}

/* enx0c42a1b31234: netdevs that udev names after their MAC address */
static bool netdev(struct rd_redact *r, const char *text, size_t left, struct form *f)
{
	uint8_t b[6];

	if (left < 15 || strncmp(text, "enx", 3) != 0 || run_of_digits(text + 3, left - 3) != 12)
		return false;
	get_bytes(b, text + 3, 6);
	rd_redact_mac(r, b);
	put_same(f, text, 15, b, 3);
	return true;
}

/* --- IP -----------------------------------------------------------------------------------------
 */

/*
 * "5.8-2.0.3.0" and "2.0.3.0-1" are versions, whose numbers are small; "10.0.0.1-10.0.0.9" and
 * "10.0.0.1-24" are addresses. If in doubt, the text is replaced.
 */
static bool is_version(const char *text, size_t at, size_t n, size_t len, uint8_t major)
{
	size_t from = at, dots = 0;

	if (major > VERSION_MAX)
		return false;
	if (at + n + 1 < len && text[at + n] == '-' && isdigit((unsigned char)text[at + n + 1])) {
		for (size_t i = at + n + 1;
			i < len && (isdigit((unsigned char)text[i]) || text[i] == '.'); i++)
			dots += text[i] == '.';
		return dots < 3;
	}
	if (at < 2 || text[at - 1] != '-' || !isdigit((unsigned char)text[at - 2]))
		return false;
	for (from = at - 1;
		from && (isdigit((unsigned char)text[from - 1]) || text[from - 1] == '.'); from--)
		dots += text[from - 1] == '.';
	return dots > 0 && dots < 3;
}

static bool ipv4(struct rd_redact *r, const char *text, size_t at, size_t len, struct form *f)
{
	char copy[INET_ADDRSTRLEN];
	uint8_t ip[4];
	size_t n = 0;

	while (at + n < len && (isdigit((unsigned char)text[at + n]) || text[at + n] == '.'))
		n++;
	while (n && text[at + n - 1] == '.')
		n--;
	if (n < 7 || n >= sizeof(copy) ||
		(at + n < len && name_is_word((unsigned char)text[at + n])))
		return false;
	/* Whether this is part of a longer number; the address in "dump.10.0.0.1.pcap" is not. */
	if (at > 1 && text[at - 1] == '.' && isdigit((unsigned char)text[at - 2]))
		return false;
	memcpy(copy, text + at, n);
	copy[n] = '\0';
	if (inet_pton(AF_INET, copy, ip) != 1 || is_version(text, at, n, len, ip[0]))
		return false;
	rd_redact_ipv4(r, ip);
	inet_ntop(AF_INET, ip, f->to, sizeof(f->to));
	f->n = n;
	f->to_n = strlen(f->to);
	return true;
}

static bool ipv6(struct rd_redact *r, const char *text, size_t left, struct form *f)
{
	char copy[INET6_ADDRSTRLEN];
	size_t n = 0, colons = 0;
	uint8_t ip[16];

	while (n < left && n < sizeof(copy) &&
		(is_digit(text[n]) || text[n] == ':' || text[n] == '.'))
		colons += text[n++] == ':';
	/* A port, a full stop, or a colon may follow. */
	for (; n > 2 && colons > 1; n--) {
		bool ends = n == left || !name_is_word((unsigned char)text[n]);

		if (n < sizeof(copy) && ends && (is_digit(text[n - 1]) || text[n - 1] == ':')) {
			memcpy(copy, text, n);
			copy[n] = '\0';
			if (inet_pton(AF_INET6, copy, ip) == 1)
				break;
		}
	}
	if (n <= 2 || colons < 2)
		return false;
	rd_redact_ipv6(r, ip);
	inet_ntop(AF_INET6, ip, f->to, sizeof(f->to));
	for (char *c = f->to; has_upper(text, n) && *c; c++)
		*c = (char)toupper((unsigned char)*c);
	f->n = n;
	f->to_n = strlen(f->to);
	return true;
}

void form_at(struct rd_redact *r, const char *text, size_t at, size_t n, unsigned int line,
	struct form *f)
{
	const char *here = text + at;
	size_t left = n - at;

	f->n = 0;
	if (left < 3)
		return;
	if (*here == 'e' && netdev(r, here, left, f))
		return;
	if (!is_digit(*here) && *here != ':')
		return;
	if (pairs(r, here, left, ':', f) || pairs(r, here, left, '-', f) ||
		uuid(r, here, left, f) || fours(r, here, left, f) || bare(r, here, left, line, f) ||
		ipv4(r, text, at, n, f))
		return;
	ipv6(r, here, left, f);
}
