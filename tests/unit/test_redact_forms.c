/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Redaction of addresses in text, as a property: an address in any spelling, beside any byte, is
 * replaced by what replaces its bytes in a frame; and what is no address stays.
 */
#include "test.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <jansson.h>
#include <rdmadump/bytes.h>
#include <rdmadump/redact.h>

#define ARRAY(a)  (sizeof(a) / sizeof(*(a)))
#define ADDRESSES 8
#define SPELLINGS 32

static uint32_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* --- addresses and how they are written -------------------------------------------------- */

struct address {
	uint8_t b[16];
	size_t n; /* 4, 6, 8, 16 */
};

struct spelling {
	char text[80];
	size_t at, n; /* the address in it */
	bool swapped; /* its bytes */
};

struct spellings {
	struct spelling s[SPELLINGS];
	size_t n;
};

static void spell(struct spellings *all, const char *before, const char *address, const char *after)
{
	struct spelling *s = &all->s[all->n++];

	assert_true(all->n <= SPELLINGS);
	snprintf(s->text, sizeof(s->text), "%s%s%s", before, address, after);
	s->at = strlen(before);
	s->n = strlen(address);
	s->swapped = false;
}

static void upper(char *text)
{
	for (; *text; text++)
		*text = (char)toupper((unsigned char)*text);
}

/* Groups of `each` bytes. */
static void hex(char *out, const struct address *a, size_t each, const char *separator)
{
	*out = '\0';
	for (size_t i = 0; i < a->n; i++)
		out += sprintf(out, "%s%02x", i && i % each == 0 ? separator : "", a->b[i]);
}

static void spell_hex(struct spellings *all, const struct address *a)
{
	static const struct {
		size_t each;
		const char *separator, *before, *after;
	} rows[] = {{1, ":", "", ""}, {1, ":", "12:", ""}, {1, ":", "..", ""}, {1, "-", "", ""},
		{1, "-", "", "-2.pcap"}, {2, ".", "", ""}, {2, ":", "", ""}, {2, ":", "A:", ""},
		{8, "", "", ""}, {8, "", "0x", ""}, {8, "", "enx", ""}};
	char text[80];

	for (size_t i = 0; i < ARRAY(rows); i++) {
		bool mac_only = *rows[i].separator == '.' || rows[i].before[0] == 'e';
		bool guid_only = rows[i].each == 2 && *rows[i].separator == ':';

		if ((mac_only && a->n != 6) || (guid_only && a->n != 8))
			continue;
		hex(text, a, rows[i].each, rows[i].separator);
		spell(all, rows[i].before, text, rows[i].after);
		upper(text);
		spell(all, rows[i].before, text, rows[i].after);
	}
	if (a->n == 6)
		snprintf(text, sizeof(text), "%x:%x:%x:%x:%x:%x", a->b[0], a->b[1], a->b[2],
			a->b[3], a->b[4], a->b[5]);
	else
		snprintf(text, sizeof(text), "%jx", (uintmax_t)rd_be64(a->b));
	spell(all, a->n == 6 ? "" : "0x", text, "");
	upper(text);
	spell(all, a->n == 6 ? "" : "0x", text, "");
}

static void spell_ipv4(struct spellings *all, const struct address *a)
{
	static const char *const after[] = {
		"", "/24", ":4791", ".4791", ":/export", ".", "-2.pcap"};
	char text[80];

	inet_ntop(AF_INET, a->b, text, sizeof(text));
	for (size_t i = 0; i < ARRAY(after); i++)
		spell(all, "", text, after[i]);
	for (char *dot = text; (dot = strchr(dot, '.'));)
		*dot = '_';
	spell(all, "", text, "");
	spell(all, "ip-", text, "_");
	spell(all, "node1.", text, "");
	for (int swapped = 0; swapped < 2; swapped++) {
		const uint32_t ip = rd_be32(a->b);

		snprintf(text, sizeof(text), "%08x", swapped ? __builtin_bswap32(ip) : ip);
		spell(all, "0x", text, "");
		all->s[all->n - 1].swapped = swapped;
	}
}

/* RFC 4291: "::" for groups [from, to), others with up to `digits` digits; the end as IPv4. */
static void groups(char *out, const uint8_t *b, size_t from, size_t to, int digits, bool v4)
{
	size_t n = v4 ? 6 : 8;

	*out = '\0';
	for (size_t i = 0; i < n; i++) {
		if (from < to && i >= from && i < to) {
			out += sprintf(out, "%s", i == from ? "::" : "");
			continue;
		}
		out += sprintf(out, "%s%0*x", i && !(from < to && i == to) ? ":" : "", digits,
			rd_be16(b + 2 * i));
	}
	if (v4)
		sprintf(out, "%s%u.%u.%u.%u", to == n && from < to ? "" : ":", b[12], b[13], b[14],
			b[15]);
}

static void spell_ipv6(struct spellings *all, const struct address *a)
{
	static const char *const after[] = {"/64", "%eth0", ":", ".", ".4791"};
	char text[80];
	size_t first = 0, last;

	hex(text, a, 16, "");
	spell(all, "0x", text, "");
	inet_ntop(AF_INET6, a->b, text, sizeof(text));
	spell(all, "", text, "");
	spell(all, "[", text, "]:4791");
	for (size_t i = 0; i < ARRAY(after); i++)
		spell(all, "", text, after[i]);
	for (int v4 = 0; v4 < 2; v4++) {
		groups(text, a->b, 0, 0, 4, v4);
		spell(all, "", text, v4 ? "" : ":4791");
		upper(text);
		spell(all, v4 ? "" : "..", text, "");
		groups(text, a->b, 0, 0, 0, v4);
		spell(all, "", text, "");
	}
	/* "::" for each run of zeros, and for a part of it. */
	for (first = 0; first < 8 && all->n + 6 < SPELLINGS; first = last + 1) {
		for (last = first; last < 8 && !rd_be16(a->b + 2 * last);)
			last++;
		for (size_t part = first + 1; part <= last && part <= first + 2; part++) {
			groups(text, a->b, first, part, 0, false);
			spell(all, "", text, "");
			groups(text, a->b, first, part, 4, last <= 6);
			spell(all, "", text, "");
		}
	}
	assert_int_equal(inet_pton(AF_INET6, all->s[all->n - 1].text, text), 1);
	assert_memory_equal(text, a->b, 16);
}

static void spell_all(struct spellings *all, const struct address *a)
{
	all->n = 0;
	if (a->n == 4)
		spell_ipv4(all, a);
	else if (a->n == 16)
		spell_ipv6(all, a);
	else
		spell_hex(all, a);
}

/* All sorts in turn; IPv6 with zeros anywhere, so that "::" is anywhere. */
static void make_address(struct address *a, size_t i)
{
	static const size_t sizes[] = {6, 16, 4, 8, 16, 16};

	*a = (struct address){.n = sizes[i % ARRAY(sizes)]};
	for (size_t k = 0; k < a->n; k++)
		a->b[k] = (uint8_t)draw(256);
	if (a->n == 6) {
		a->b[0] &= 0xfc;
		a->b[1] = 0x0c;
	} else if (a->n == 4) {
		a->b[0] = (uint8_t)(10 + draw(100));
	} else if (a->n == 8) {
		a->b[0] = 0x0c;
	} else {
		rd_put_be16(a->b, i % 2 ? 0x2a02 : 0xfe80);
	}
	for (size_t k = 2; a->n == 16 && k < 16; k += 2)
		if (!draw(2) || (a->b[0] == 0xfe && k < 8))
			rd_put_be16(a->b + k, draw(2) ? 0 : (uint16_t)draw(256));
	if (a->n == 16)
		rd_put_be16(a->b + 14, (uint16_t)(0x1000 + draw(0xe000)));
}

static void redact(struct rd_redact *r, struct address *a)
{
	if (a->n == 4)
		rd_redact_ipv4(r, a->b);
	else if (a->n == 6)
		rd_redact_mac(r, a->b);
	else if (a->n == 8)
		rd_redact_guid(r, a->b);
	else
		rd_redact_ipv6(r, a->b);
}

/* The address that `n` bytes of text are: IP, else groups of digits, or the last digits of it. */
static bool parse(const char *text, size_t n, size_t size, struct address *a)
{
	char copy[80], *at = copy;
	size_t k = 0;

	if (n >= sizeof(copy))
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	*a = (struct address){.n = size};
	for (char *c = copy; size == 4 && (c = strchr(c, '_'));)
		*c = '.';
	if ((size == 4 || size == 16) && inet_pton(size == 4 ? AF_INET : AF_INET6, copy, a->b) == 1)
		return true;
	for (char *end; size == 6 && k < 6; at = end + 1) {
		a->b[k++] = (uint8_t)strtoul(at, &end, 16);
		if (*end != (k < 6 ? ':' : '\0'))
			break;
		if (k == 6)
			return true;
	}
	at = copy;
	*a = (struct address){.n = size};
	for (k = 0; *at && k < 2 * size + 1; at++)
		if (isxdigit((unsigned char)*at))
			copy[k++] = *at;
	if (*at || k > 2 * size || k + 1 < 2 * size)
		return false;
	for (size_t i = 2 * size; i-- > 0 && k--;)
		a->b[i / 2] |=
			(uint8_t)(strtoul((char[]){copy[k], 0}, NULL, 16) << (i % 2 ? 0 : 4));
	return true;
}

/* --- the property ------------------------------------------------------------------------ */

/* `text` is the spelling between the same bytes; only the address is another one, `to`. */
static void check(const char *was, const char *text, size_t n, const char *before, size_t before_n,
	const struct spelling *s, const char *after, size_t after_n, const struct address *to)
{
	size_t head = before_n + s->at, tail = strlen(s->text) - s->at - s->n + after_n;
	struct address found;

	if (n < head + tail || memcmp(text, before, before_n) != 0 ||
		memcmp(text + before_n, s->text, s->at) != 0 ||
		memcmp(text + n - tail, s->text + s->at + s->n, tail - after_n) != 0 ||
		memcmp(text + n - after_n, after, after_n) != 0 ||
		!parse(text + head, n - head - tail, to->n, &found))
		fail_msg("%#x '%s' became '%s'", (unsigned char)*was, was + 1, text + 1);
	if (s->swapped)
		rd_put_be32(found.b, __builtin_bswap32(rd_be32(found.b)));
	if (memcmp(found.b, to->b, to->n) != 0)
		fail_msg("%#x '%s' became '%s'", (unsigned char)*was, was + 1, text + 1);
}

static void beside(struct rd_redact *r, const struct spelling *s, const char *before,
	size_t before_n, const char *after, size_t after_n, const struct address *to)
{
	char text[160], *out;
	size_t n = strlen(s->text), out_n;

	memcpy(text, before, before_n);
	memcpy(text + before_n, s->text, n);
	memcpy(text + before_n + n, after, after_n);
	n += before_n + after_n;
	text[n] = '\0';
	out = rd_redact_text(r, text, n, &out_n);
	if (to) /* else it only collects */
		check(text, out, out_n, before, before_n, s, after, after_n, to);
	free(out);
}

/* In JSON: what a parser reads is the same as without JSON. */
static void within_json(struct rd_redact *r, const struct spelling *s, unsigned int code,
	size_t flags, const struct address *to)
{
	char around[4] = "", text[160], *dump, *out;
	const char *value;
	json_t *json;
	size_t n = 1;

	if (code < 0x80) {
		around[0] = (char)code;
	} else {
		around[0] = (char)(0xc0 | code >> 6);
		around[1] = (char)(0x80 | (code & 0x3f));
		n = 2;
	}
	snprintf(text, sizeof(text), "%s%s%s", around, s->text, around);
	json = json_pack("{s:s}", "key", text);
	dump = json_dumps(json, flags);
	json_decref(json);
	out = rd_redact_text(r, dump, strlen(dump), NULL);
	json = json_loads(out, 0, NULL);
	value = json_string_value(json_object_get(json, "key"));
	assert_non_null(value);
	check(dump, value, strlen(value), around, n, s, around, n, to);
	json_decref(json);
	free(dump);
	free(out);
}

/* A letter is no digit of an IPv4 address, but one of a number. */
static bool continues(unsigned int c, const struct spelling *s, const struct address *to)
{
	if (to->n == 4 && memcmp(s->text, "0x", 2) != 0 && isalpha((int)c) && c < 0x80)
		return false;
	return c < 0x80 && (isxdigit((int)c) || strchr(":.-", (int)c)) && c;
}

static void everywhere(struct rd_redact *r, const struct spelling *s, const struct address *to)
{
	static const char *const escapes[] = {
		"", "\\n", "\\t", "\\r", "\\u00e9", "\\x0a", "\\040", "\\\"", "\\\\", "\xc3\xa9"};

	for (unsigned int c = 0; c < 256; c++) {
		const char byte = (char)c;

		/* The rest of a zone is any text. */
		if (continues(c, s, to))
			continue;
		beside(r, s, &byte, 1, "", 0, to);
		beside(r, s, "", 0, &byte, 1, to);
		beside(r, s, &byte, 1, &byte, 1, to);
	}
	for (size_t i = 0; i < ARRAY(escapes); i++)
		beside(r, s, escapes[i], strlen(escapes[i]), escapes[i], strlen(escapes[i]), to);
	for (unsigned int c = 1; c < 0x180; c++)
		if (!continues(c, s, to)) {
			within_json(r, s, c, JSON_ENSURE_ASCII, to);
			within_json(r, s, c, JSON_ESCAPE_SLASH, to);
		}
}

TEST(everywhere)
{
	const char *full = getenv("TEST_FULL");
	struct address from[ADDRESSES], to;

	for (seed = 1; seed < (full && *full ? 9 : 2); seed++) {
		struct rd_redact *r = rd_redact_new();
		const uint32_t began = seed;

		for (size_t i = 0; i < ADDRESSES; i++)
			make_address(&from[i], i);
		for (int pass = 0; pass < 2; pass++) {
			for (size_t i = 0; i < ADDRESSES; i++) {
				struct spellings all;

				to = from[i];
				redact(r, &to);
				spell_all(&all, &from[i]);
				assert_true(all.n >= 6);
				if (pass)
					assert_memory_not_equal(to.b, from[i].b, to.n);
				for (size_t k = 0; k < all.n; k++)
					if (pass)
						everywhere(r, &all.s[k], &to);
					else
						beside(r, &all.s[k], " ", 1, " ", 1, NULL);
			}
			if (!pass)
				rd_redact_begin(r);
		}
		assert_false(rd_redact_failed(r));
		rd_redact_free(r);
		seed = began;
	}
}

/* --- what is no address ------------------------------------------------------------------ */

static void make_other(char *text, size_t size, uint32_t kind)
{
	uint32_t n[5];

	for (size_t i = 0; i < ARRAY(n); i++)
		n[i] = draw(60);
	switch (kind) {
	case 0:
		snprintf(text, size, "%02u:%02u:%02u.%06u", n[0], n[1], n[2], draw(1000000));
		break;
	case 1:
		snprintf(text, size, "2026-11-%02uT%02u:%02u:%02u+01:00", n[0], n[1], n[2], n[3]);
		break;
	case 2:
		snprintf(text, size, "%u.%u.%u", n[0], n[1], 1000 + draw(3000));
		break;
	case 3:
		snprintf(text, size, "%04x:%02x:%02x.%u", draw(2), draw(256), n[0], n[1] % 8);
		break;
	case 4:
		snprintf(text, size, "%x%08x%08x%08x%08x", 16 + draw(15), draw(1 << 24),
			draw(1 << 24), draw(1 << 24), draw(1 << 24));
		break;
	case 5:
		snprintf(text, size, "%u%06u%06u", 1 + n[0], draw(1000000), draw(1000000));
		break;
	case 6:
		snprintf(text, size, "%06x%06x", draw(1 << 24), draw(1 << 24));
		break;
	case 7:
		snprintf(text, size, "0x%x 0x%08x", draw(1 << 24), draw(1 << 24));
		break;
	case 8:
		snprintf(text, size, "5.8-2.0.%u.0 v1.%u.3.4 16.35.%u.4rc1 std::string", n[0] % 10,
			n[1], n[2]);
		break;
	default:
		snprintf(text, size, "%04x:%04x %u:%u %u-%u", draw(65536), draw(65536), n[0], n[1],
			n[2], n[3]);
	}
}

TEST(others_stay)
{
	struct rd_redact *r = rd_redact_new();
	uint32_t began;

	seed = 7;
	for (size_t i = 0; i < ADDRESSES; i++) {
		struct address a;

		make_address(&a, i);
		redact(r, &a);
	}
	began = seed;
	for (int pass = 0; pass < 2; pass++) {
		seed = began;
		for (uint32_t i = 0; i < 20000; i++) {
			char text[80], *to;

			make_other(text, sizeof(text), i % 10);
			to = rd_redact_text(r, text, strlen(text), NULL);
			assert_string_equal(to, text);
			free(to);
		}
		rd_redact_begin(r);
	}
	rd_redact_free(r);
}

/* What netfilter logs after "MAC=": both addresses, as they are in the frame. */
TEST(netfilter)
{
	static const char text[] =
		"IN=eth0 MAC=52:54:00:12:34:56:0c:42:a1:b3:12:34:08:00 SRC=10.1.2.3 LEN=60";
	struct address to[] = {
		{{0x52, 0x54, 0, 0x12, 0x34, 0x56}, 6}, {{0x0c, 0x42, 0xa1, 0xb3, 0x12, 0x34}, 6}};
	struct rd_redact *r = rd_redact_new();
	struct address found;
	char *out;

	free(rd_redact_text(r, text, strlen(text), NULL));
	rd_redact_begin(r);
	out = rd_redact_text(r, text, strlen(text), NULL);
	assert_int_equal(strlen(out) > 60, 1);
	for (size_t i = 0; i < 2; i++) {
		redact(r, &to[i]);
		assert_true(parse(out + 12 + 18 * i, 17, 6, &found));
		assert_memory_equal(found.b, to[i].b, 6);
	}
	assert_non_null(strstr(out, ":08:00 SRC="));
	free(out);
	rd_redact_free(r);
}

/* Clouds name hosts after their addresses; other numbers with dashes stay. */
TEST(dashes)
{
	static const char text[] =
		"10.1.2.3 ip-10-1-2-3.rack 10-1-2-3-2.pcap node:10-1-2-3 10-1-2-4 1-10-1-2-3x";
	struct address to = {{10, 1, 2, 3}, 4};
	struct rd_redact *r = rd_redact_new();
	char dots[INET_ADDRSTRLEN], dashes[INET_ADDRSTRLEN], wanted[200], *out;

	free(rd_redact_text(r, text, strlen(text), NULL));
	rd_redact_begin(r);
	out = rd_redact_text(r, text, strlen(text), NULL);
	redact(r, &to);
	inet_ntop(AF_INET, to.b, dots, sizeof(dots));
	snprintf(dashes, sizeof(dashes), "%u-%u-%u-%u", to.b[0], to.b[1], to.b[2], to.b[3]);
	snprintf(wanted, sizeof(wanted), "%s ip-%s.rack %s-2.pcap node:%s 10-1-2-4 1-10-1-2-3x",
		dots, dashes, dashes, dashes);
	assert_string_equal(out, wanted);
	free(out);
	rd_redact_free(r);
}
