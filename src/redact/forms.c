/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Recognizes addresses in text by their form. A run of characters that addresses consist of is
 * divided into pieces, and each piece is taken as a whole, so that no part of an address is taken
 * for another one. Versions, PCI addresses and times of day are not network addresses. The
 * replacement has the same form: separators, leading zeros, the case of digits.
 */
#include "redact.h"
#include <ctype.h>
#include <rdmadump/hash.h>
#include <stdio.h>

#define GROUPS_MAX 20 /* bytes of an IPoIB hardware address */
#define NETFILTER  14 /* bytes after "MAC=": two MAC addresses, ethertype */
#define MAC_TEXT   17 /* 12:0c:42:a1:b3:12 */

static bool is_digit(char c)
{
	return isxdigit((unsigned char)c) != 0;
}

static bool is_separator(char c)
{
	return c == ':' || c == '.' || c == '-';
}

/* Letters and digits continue a word; bytes of other alphabets do not. */
static bool is_word(char c)
{
	return isalnum((unsigned char)c) != 0;
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
	return RD_ANY(t, text, n, isupper((unsigned char)*t));
}

static bool has_letter(const char *text, size_t n)
{
	return RD_ANY(t, text, n, isalpha((unsigned char)*t));
}

/* Writes the bytes with digits in the format of the original; separators are copied. */
static void put_same(struct form *f, const char *text, size_t n, const uint8_t *bytes)
{
	const char *digits = has_upper(text, n) ? "0123456789ABCDEF" : "0123456789abcdef";
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		f->to[i] = text[i];
		if (is_digit(text[i])) {
			f->to[i] = digits[k % 2 ? bytes[k / 2] & 0xf : bytes[k / 2] >> 4];
			k++;
		}
	}
	f->n = f->to_n = n;
}

/* --- groups of digits: MAC addresses, GUIDs, GIDs, UUIDs -------------------------------- */

/*
 * Groups of `each` digits with one separator, to the end of `left` bytes, or to another separator.
 * Returns the number of groups, 0 if another group follows; `out` gets the first bytes.
 */
static size_t groups_of(const char *text, size_t left, unsigned int each, char separator,
	uint8_t out[GROUPS_MAX], size_t *n)
{
	size_t count = 0, at = 0;

	while (run_of_digits(text + at, left - at) == each) {
		if ((count + 1) * each / 2 <= GROUPS_MAX)
			get_bytes(out + count * each / 2, text + at, each / 2);
		at += each;
		count++;
		if (at + 1 >= left || text[at] != separator || !is_digit(text[at + 1]))
			break;
		at++;
	}
	*n = at;
	if (at >= left || !is_digit(text[at]))
		return count;
	/* 0c-42-a1-b3-12-34-2.pcap */
	*n = at - 1;
	return count && separator == '-' ? count : 0;
}

static bool pairs(
	struct rd_redact *r, const char *text, size_t left, char separator, struct form *f)
{
	uint8_t b[GROUPS_MAX];
	size_t n, count = groups_of(text, left, 2, separator, b, &n);

	if (count == NETFILTER) {
		rd_redact_mac(r, b + 6);
		rd_redact_mac(r, b);
	} else if (count == 7) { /* BOOTIF=01-MAC: the type of the hardware, as PXE has it */
		rd_redact_mac(r, b + !mac_was_seen(r, b));
	} else if (count == 4 || !rd_redact_address(r, b, count)) {
		return false;
	}
	put_same(f, text, n, b);
	return true;
}

/* A MAC address without the zeros in front, c:42:a1:b3:12:4, as some tools print it. */
static bool short_mac(struct rd_redact *r, const char *text, size_t n, struct form *f)
{
	uint8_t mac[6] = {0};
	size_t at = 0;

	for (unsigned int i = 0; i < 6; i++) {
		const size_t end = at + run_of_digits(text + at, n - at);

		if (end == at || end > at + 2 || (i < 5 ? end == n || text[end] != ':' : end != n))
			return false;
		for (; at < end; at++)
			mac[i] = (uint8_t)((unsigned int)mac[i] << 4 | value_of(text[at]));
		at++;
	}
	if (!has_letter(text, n) && !mac_was_seen(r, mac))
		return false;
	rd_redact_mac(r, mac);
	f->n = n;
	f->to_n = (size_t)snprintf(f->to, sizeof(f->to),
		has_upper(text, n) ? "%X:%X:%X:%X:%X:%X" : "%x:%x:%x:%x:%x:%x", mac[0], mac[1],
		mac[2], mac[3], mac[4], mac[5]);
	return true;
}

/* 0c42:a103:00b3:1234, and GIDs with all their zeros. */
static bool fours(struct rd_redact *r, const char *text, size_t left, struct form *f)
{
	uint8_t b[GROUPS_MAX];
	size_t n, count = groups_of(text, left, 4, ':', b, &n);

	if (n != left || (count != 4 && count != 8))
		return false;
	rd_redact_address(r, b, 2 * count);
	put_same(f, text, n, b);
	return true;
}

/* 0c42.a1b3.1234, 0c42-a1b3-1234, 0c42a1-b31234, 0c_42_a1_b3_12_34; dates have no letters. */
static bool mac_groups(
	const struct place *p, size_t at, unsigned int each, char separator, struct form *f)
{
	const char *text = p->text + at;
	uint8_t b[GROUPS_MAX];
	size_t n;

	if (groups_of(text, p->n - at, each, separator, b, &n) * each != 12 ||
		!(mac_was_seen(p->r, b) || p->line & LINE_MAC || (each < 6 && has_letter(text, n))))
		return false;
	rd_redact_mac(p->r, b);
	f->at = at;
	put_same(f, text, n, b);
	return true;
}

/* Any identifier of 6, 16 or 32 bytes. The first 6 of a container's name it alone. */
static void opaque(
	struct rd_redact *r, enum rd_redact_kind kind, const char *text, size_t n, struct form *f)
{
	uint8_t old[32] = {0}, b[32];
	char digits[65] = "";
	size_t k = 0;
	uint64_t id;

	for (size_t i = 0; i < n && k < 64; i++)
		if (is_digit(text[i]))
			digits[k++] = text[i];
	get_bytes(old, digits, k / 2);
	memcpy(b, old, sizeof(b));
	for (size_t i = 0; r->replacing && i < k / 2; i += 8)
		rd_put_be64(b + i, rd_hash2(rd_be64(old) ^ i, rd_be64(old + 8)));
	id = part_replace(r, SPACE_ID, rd_be64(old) >> 16) << 16;
	rd_put_be64(b, id | rd_be16(b + 6));
	put_same(f, text, n, b);
	f->to[n] = '\0';
	record_text(r, kind, text, n, f->to);
}

static bool uuid(struct rd_redact *r, const char *text, size_t left, char separator, struct form *f)
{
	static const unsigned int dashes[] = {8, 4, 4, 4, 12}, array[] = {8, 8, 8, 8}; /* mdadm's */
	const unsigned int *lengths = separator == ':' ? array : dashes;
	const unsigned int last = separator == ':' ? 3 : 4;
	size_t at = 0;

	for (unsigned int i = 0; i <= last; i++) {
		if (at > left || run_of_digits(text + at, left - at) != lengths[i])
			return false;
		at += lengths[i];
		if (i < last && (at >= left || text[at++] != separator))
			return false;
	}
	if (!RD_ANY(c, text, at, *c != '0' && *c != separator))
		return false;
	opaque(r, RD_REDACT_UUID, text, at, f);
	return true;
}

/* --- digits without separators ---------------------------------------------------------- */

/* What precedes digits, as a part of the word. */
enum prefix { PREFIX_NONE, PREFIX_HEX, PREFIX_NETDEV };

/* An IPv4 address as a number, in either order of its bytes, if it was seen elsewhere. */
static bool number_ipv4(struct rd_redact *r, uint8_t b[4])
{
	uint8_t swapped[4] = {b[3], b[2], b[1], b[0]};

	if (ipv4_was_seen(r, b)) {
		rd_redact_ipv4(r, b);
		return true;
	}
	if (!ipv4_was_seen(r, swapped))
		return false;
	rd_redact_ipv4(r, swapped);
	rd_put_be32(b, __builtin_bswap32(rd_be32(swapped)));
	return true;
}

/* Sixteen digits. A switch id is the bytes of a GUID in the memory of a little-endian host. */
static bool long_guid(const struct place *p, uint8_t b[8], bool hex, bool letter)
{
	const bool was_seen = guid_was_seen(p->r, b);
	uint8_t reverse[8];

	rd_put_be64(reverse, rd_le64(b));
	if (!was_seen && guid_was_seen(p->r, reverse)) {
		rd_redact_guid(p->r, reverse);
		rd_put_be64(b, rd_le64(reverse));
		return true;
	}
	/* Small numbers and virtual addresses of user space or the kernel are not GUIDs. */
	if (!(p->line & LINE_GUID && letter) && !(hex && rd_be16(b) != 0 && rd_be16(b) < 0xff00) &&
		!was_seen)
		return false;
	rd_redact_guid(p->r, b);
	return true;
}

/* 0xc42a10300b31234: a GUID whose first digits are zeros. */
static bool short_guid(const struct place *p, const char *text, size_t n, struct form *f)
{
	char digits[17] = "0000000000000000";
	uint8_t b[8];

	memcpy(digits + 16 - n, text, n);
	get_bytes(b, digits, 8);
	if (!(p->line & LINE_GUID) && rd_be16(b) == 0 && !guid_was_seen(p->r, b))
		return false;
	rd_redact_guid(p->r, b);
	f->n = n;
	f->to_n = (size_t)snprintf(f->to, sizeof(f->to), has_upper(text, n) ? "%llX" : "%llx",
		(unsigned long long)rd_be64(b));
	return true;
}

/*
 * Digits with nothing but a prefix before them: GUIDs and MAC addresses where the line or the form
 * says so, or if that address was seen elsewhere. The same lines also contain decimal numbers:
 * speeds, times.
 */
static bool bare(const struct place *p, size_t at, size_t n, enum prefix prefix, struct form *f)
{
	const char *text = p->text + at;
	bool hex = prefix == PREFIX_HEX, letter = hex || has_letter(text, n);
	uint8_t b[16] = {0};

	if (n % 2 == 0 && n <= 32)
		get_bytes(b, text, n / 2);
	if (n == 16 || n == 18) { /* a switch id may have another byte */
		if (!long_guid(p, b, hex, letter))
			return false;
	} else if (n == 12 && part_was_seen(p->r, SPACE_ID, rd_be64(b) >> 16)) {
		opaque(p->r, RD_REDACT_ID, text, n, f);
		return true;
	} else if (n == 12 && !(hex && p->line & LINE_GUID && !mac_was_seen(p->r, b))) {
		if (!(p->line & LINE_MAC && letter && !hex) && prefix != PREFIX_NETDEV &&
			!mac_was_seen(p->r, b))
			return false;
		rd_redact_mac(p->r, b);
	} else if (n == 8) {
		if (!letter || !number_ipv4(p->r, b))
			return false;
	} else if (n > 8 && n < 16) {
		return hex && short_guid(p, text, n, f);
	} else if (n == 32 && (hex || guid_was_seen(p->r, b + 8))) {
		rd_redact_ipv6(p->r, b);
	} else if ((n == 32 || n == 33 || n == 64) && prefix == PREFIX_NONE && letter) {
		f->at += n == 33; /* of a disk: a kind, 16 bytes */
		opaque(p->r, RD_REDACT_ID, p->text + f->at, n & ~(size_t)1, f);
		return true;
	} else {
		return false;
	}
	put_same(f, text, n, b);
	return true;
}

/* 0x0c42a10300b31234; enx0c42a1b31234: netdevs that udev names after their MAC address */
static enum prefix prefix_at(const struct place *p, size_t at)
{
	static const struct {
		const char *text;
		enum prefix prefix;
	} rows[] = {{"0x", PREFIX_HEX}, {"0X", PREFIX_HEX}, {"enx", PREFIX_NETDEV}};

	for (size_t i = 0; i < RD_COUNT(rows); i++) {
		size_t n = strlen(rows[i].text);

		if (at >= p->begin + n && memcmp(p->text + at - n, rows[i].text, n) == 0 &&
			(at == p->begin + n || !isdigit((unsigned char)p->text[at - n - 1])))
			return rows[i].prefix;
	}
	return PREFIX_NONE;
}

/* --- runs ------------------------------------------------------------------------------- */

/* The last digits before `end` may begin a UUID, after a word like "pod". */
static bool late_uuid(const struct place *p, size_t at, size_t end, struct form *f)
{
	if (end < at + 8 || end == p->n)
		return false;
	f->at = end - 8;
	return uuid(p->r, p->text + f->at, p->n - f->at, p->text[end], f);
}

/* ip-172_29_3_4: the run ends after its first number. */
static bool with_underscores(const struct place *p, size_t at, size_t end, struct form *f)
{
	size_t from = end;

	if (end == p->n || p->text[end] != '_')
		return false;
	while (from > at && isdigit((unsigned char)p->text[from - 1]))
		from--;
	return late_uuid(p, at, end, f) || form_seen_ipv4(p, from, p->n, '_', f) ||
	       mac_groups(p, at, 2, '_', f);
}

/* Most names in front of "::" have no digit, as in std::dec. */
static bool begins_ipv6(const char *text, size_t n)
{
	size_t digits = run_of_digits(text, n), decimal = 0;

	for (size_t i = 0; i < digits; i++)
		decimal += isdigit((unsigned char)text[i]) != 0;
	return digits > 2 && decimal;
}

static bool colons(const struct place *p, size_t at, size_t end, bool in_word, struct form *f)
{
	const char *text = p->text + at;
	size_t n = end - at;

	f->at = at;
	return uuid(p->r, text, n, ':', f) || pairs(p->r, text, n, ':', f) ||
	       fours(p->r, text, n, f) ||
	       ((!in_word || begins_ipv6(text, n)) && form_ipv6(p->r, text, n, f));
}

/* A whole piece with at least two colons, without colons and dots of the sentence. */
static void with_colons(const struct place *p, size_t at, size_t end, bool in_word, struct form *f)
{
	const char *text = p->text;
	size_t port, label;

	while (end > at && text[end - 1] == '.')
		end--;
	while (at < end && text[at] == '.')
		at++;
	if (end - at > 2 && text[at] == ':' && (text[at + 1] != ':' || text[at + 2] == ':'))
		at++;
	if (end - at > 2 && text[end - 1] == ':' && (text[end - 2] != ':' || text[end - 3] == ':'))
		end--;
	if (colons(p, at, end, in_word, f) || short_mac(p->r, text + at, end - at, f))
		return;
	/* A:fe80::7, 12:0c:42:a1:b3:12:34, an MTU before the MAC address */
	label = at + run_of_digits(text + at, end - at) + 1;
	if ((label - at < 4 || (label - at < 6 && end - label == MAC_TEXT)) && label < end &&
		is_digit(text[label]) && colons(p, label, end, in_word, f))
		return;
	for (port = end; port > at && isdigit((unsigned char)text[port - 1]); port--)
		;
	/* 2001:db8::7.4791, as tcpdump prints a port */
	f->at = at;
	if (port > at && port < end && is_separator(text[port - 1]))
		form_ipv6(p->r, text + at, port - 1 - at, f);
}

/* A piece without colons: groups with dots between them. */
static void with_dots(const struct place *p, size_t at, size_t end, struct form *f)
{
	if (mac_groups(p, at, 4, '.', f))
		return;
	while (at < end) {
		size_t digits = run_of_digits(p->text + at, end - at), numbers, from;

		f->at = at;
		if (bare(p, at, digits, PREFIX_NONE, f))
			return;
		numbers = form_ipv4(p, at, end, f);
		for (from = at + digits; from > at && isdigit((unsigned char)p->text[from - 1]);)
			from--;
		/* a10.0.0.1, 10.0.0.1a */
		if (f->n ||
			((from > at || (at + numbers < end && is_digit(p->text[at + numbers]))) &&
				form_seen_ipv4(p, from, end, '.', f)))
			return;
		at += numbers > digits ? numbers : digits + 1;
	}
}

static bool with_dashes(const struct place *p, size_t at, size_t end, struct form *f)
{
	f->at = at;
	return pairs(p->r, p->text + at, end - at, '-', f) ||
	       uuid(p->r, p->text + at, end - at, '-', f) || form_seen_ipv4(p, at, end, '-', f) ||
	       mac_groups(p, at, 4, '-', f) || mac_groups(p, at, 6, '-', f);
}

/* The first address of the piece at `at`; returns where the next piece begins. */
static size_t piece(const struct place *p, size_t at, size_t end, struct form *f)
{
	size_t stop = at, colons = 0, next;
	uint8_t unused[GROUPS_MAX];

	for (; stop < end && p->text[stop] != '-'; stop++)
		colons += p->text[stop] == ':';
	if (colons > 1)
		with_colons(p, at, stop, false, f);
	for (; at < stop && !f->n; at = next + 1) {
		if (with_dashes(p, at, end, f))
			break;
		/* Bytes of something else. */
		if (groups_of(p->text + at, end - at, 2, '-', unused, &next) > 6)
			return at + next;
		for (next = at; next < stop && p->text[next] != ':'; next++)
			;
		with_dots(p, at, next, f);
	}
	return stop + 1;
}

/* Digits without separators. */
static bool seen(const struct place *p, const char *text, size_t n, struct form *f)
{
	uint8_t b[GROUPS_MAX];

	if ((n != 12 && n != 16) || run_of_digits(text, n) != n)
		return false;
	get_bytes(b, text, n / 2);
	return (n == 12 ? mac_was_seen(p->r, b) : guid_was_seen(p->r, b)) &&
	       bare(p, f->at, n, PREFIX_NONE, f);
}

/* All of a run beside a letter: only what can be nothing else, or is an address seen elsewhere. */
static bool whole(const struct place *p, size_t at, size_t end, struct form *f)
{
	const char *text = p->text + at, *dash = memchr(text, '-', end - at);
	size_t n = end - at;

	with_colons(p, at, dash ? (size_t)(dash - p->text) : end, true, f);
	if (f->n || form_seen_ipv4(p, at, end, '.', f))
		return true;
	while (n && is_separator(text[n - 1]))
		n--;
	for (; n && is_separator(*text); n--)
		text++;
	f->at = (size_t)(text - p->text);
	dash = memchr(text, '-', n);
	return pairs(p->r, text, n, '-', f) || mac_groups(p, f->at, 4, '.', f) ||
	       seen(p, text, n, f) || (dash && late_uuid(p, f->at, (size_t)(dash - p->text), f));
}

void form_find(const struct place *p, size_t at, struct form *f)
{
	const size_t begin = at, digits = run_of_digits(p->text + at, p->n - at);
	const bool before = at > p->begin && is_word(p->text[at - 1]);
	size_t end = at;

	while (end < p->n && (is_digit(p->text[end]) || is_separator(p->text[end])))
		end++;
	f->n = 0;
	f->end = end;
	if ((before || (end < p->n && is_word(p->text[end]))) && whole(p, at, end, f))
		return;
	/* A group that continues a word is no part of an address. */
	if (before) {
		enum prefix prefix = prefix_at(p, at);

		f->at = at;
		if (prefix && bare(p, at, digits, prefix, f))
			return;
		at += digits + 1;
	}
	if (end < p->n && is_word(p->text[end])) {
		while (end > at && is_digit(p->text[end - 1]))
			end--;
		end -= end > at;
	}
	while (at < end && !f->n)
		at = piece(p, at, end, f);
	if (!f->n)
		with_underscores(p, begin, f->end, f);
}
