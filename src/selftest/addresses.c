/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds addresses by their form. Probes may put text of any origin into their results, so every
 * string is searched. PCI addresses, versions and times of day are no addresses of a network.
 */
#include "addresses.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <rdmadump/hash.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASHED_LEN  14 /* "x-" and 12 digits */
#define ADDRESS_MAX 45 /* INET6_ADDRSTRLEN without the NUL */
#define WORD_MAX    64 /* bytes of a word in which an address is searched */

void address_hash(char *buf, size_t room, const char *text, size_t n)
{
	struct rd_hash h = rd_hash_begin();
	unsigned int words = 0;

	for (size_t i = 0; i < n; i += 8) {
		uint64_t word = 0;

		for (size_t k = i; k < n && k < i + 8; k++)
			word = word << 8 | (unsigned char)tolower((unsigned char)text[k]);
		rd_hash_add(&h, word);
		words++;
	}
	rd_hash_add(&h, n);
	snprintf(buf, room, "x-%012llx",
		(unsigned long long)(rd_hash_end(&h, words + 1) & 0xffffffffffffULL));
}

/* Groups of `digits` hexadecimal digits with `separator` between them. */
static bool is_groups(
	const char *text, size_t n, unsigned int groups, unsigned int digits, char separator)
{
	if (n != groups * (digits + 1) - 1)
		return false;
	for (size_t i = 0; i < n; i++) {
		bool between = i % (digits + 1) == digits;

		if (between ? text[i] != separator : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return true;
}

static bool is_guid_number(const char *text, size_t n)
{
	if (n != 18 || text[0] != '0' || (text[1] != 'x' && text[1] != 'X'))
		return false;
	return is_groups(text + 2, 16, 1, 16, 0);
}

static bool is_ip(const char *text, size_t n)
{
	char copy[ADDRESS_MAX + 1];
	uint8_t raw[16];

	if (n > ADDRESS_MAX || n < 2)
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return inet_pton(AF_INET, copy, raw) == 1 || inet_pton(AF_INET6, copy, raw) == 1;
}

static bool is_address(const char *text, size_t n)
{
	return is_groups(text, n, 6, 2, ':') || is_groups(text, n, 6, 2, '-') ||
	       is_groups(text, n, 4, 4, ':') || is_groups(text, n, 8, 4, ':') ||
	       is_guid_number(text, n) || is_ip(text, n);
}

static bool is_part(char c)
{
	return isxdigit((unsigned char)c) || c == ':' || c == '.' || c == '-' || c == 'x' ||
	       c == 'X';
}

/* The secret at `text`, which must end as a word; 0: none. */
static size_t secret_at(const struct addresses *a, const char *text)
{
	for (unsigned int i = 0; i < a->n; i++) {
		size_t n = strlen(a->secret[i]);

		if (n && strncasecmp(text, a->secret[i], n) == 0 &&
			!isalnum((unsigned char)text[n]))
			return n;
	}
	return 0;
}

/* The length of the address at `text`, without a port or punctuation after it; 0: none. */
static size_t address_at(const char *text)
{
	size_t n = 0;

	while (n < WORD_MAX && is_part(text[n]))
		n++;
	for (; n; n--)
		if (!isalnum((unsigned char)text[n]) && is_address(text, n))
			return n;
	return 0;
}

char *addresses_replace(const struct addresses *a, const char *text)
{
	char *copy = malloc(strlen(text) * (HASHED_LEN / 2 + 1) + HASHED_LEN + 1), *to = copy;
	bool in_word = false, in_number = false; /* which began earlier */

	if (!copy)
		return NULL;
	while (*text) {
		size_t n = in_word ? 0 : secret_at(a, text);

		if (!n && !in_number)
			n = address_at(text);
		if (n) {
			address_hash(to, HASHED_LEN + 1, text, n);
			to += HASHED_LEN;
			text += n;
			in_word = in_number = false;
			continue;
		}
		in_word = isalnum((unsigned char)*text);
		in_number = in_word || *text == '.' || *text == ':';
		*to++ = *text++;
	}
	*to = '\0';
	return copy;
}

static int replace_string(const struct addresses *a, json_t *value)
{
	char *clean = addresses_replace(a, json_string_value(value));
	int rc = clean ? json_string_set(value, clean) : -1;

	free(clean);
	return rc;
}

int addresses_replace_json(const struct addresses *a, json_t *value)
{
	const char *key;
	json_t *part;
	size_t i;
	int rc = 0;

	if (json_is_string(value))
		return replace_string(a, value);
	json_array_foreach (value, i, part) {
		rc |= addresses_replace_json(a, part);
	}
	json_object_foreach (value, key, part) {
		rc |= addresses_replace_json(a, part);
	}
	return rc;
}
