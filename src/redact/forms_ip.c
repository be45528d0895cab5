/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* IP addresses in text, and versions that look like them. */
#include "redact.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#define VERSION_MAX 9 /* first number of a version of four */

/*
 * "5.8-2.0.3.0", "2.0.3.0-1" and "version: 1.3.30.0" are versions, whose numbers are small;
 * "10.0.0.1-10.0.0.9" and "10.0.0.1-24" are addresses. If in doubt, the text is replaced.
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
	while (from && strchr(" :=\t\"", text[from - 1]))
		from--;
	if (from >= 7 && strncasecmp(text + from - 7, "version", 7) == 0)
		return true;
	if (!at || text[at - 1] != '-')
		return false;
	for (from = at - 1;
		from && (isdigit((unsigned char)text[from - 1]) || text[from - 1] == '.'); from--)
		dots += text[from - 1] == '.';
	return dots > 0 && dots < 3;
}

static void put_ipv4(struct rd_redact *r, uint8_t ip[4], size_t at, size_t n, struct form *f)
{
	rd_redact_ipv4(r, ip);
	inet_ntop(AF_INET, ip, f->to, sizeof(f->to));
	f->at = at;
	f->n = n;
	f->to_n = strlen(f->to);
}

size_t form_ipv4(const struct place *p, size_t at, size_t end, struct form *f)
{
	char copy[INET_ADDRSTRLEN];
	size_t n = 0, groups = 0, four = 0;
	uint8_t ip[4];

	while (at + n < end && isdigit((unsigned char)p->text[at + n])) {
		size_t digits = 1;

		while (at + n + digits < end && isdigit((unsigned char)p->text[at + n + digits]))
			digits++;
		if (at + n + digits < end && isxdigit((unsigned char)p->text[at + n + digits]))
			break;
		n += digits;
		if (++groups == 4)
			four = n;
		if (at + n < end)
			n++; /* the dot */
	}
	if (groups < 4 || groups > 5 || four >= sizeof(copy))
		return n;
	snprintf(copy, sizeof(copy), "%.*s", (int)four, p->text + at);
	if (inet_pton(AF_INET, copy, ip) != 1 || ((is_version(p->text, at, four, p->n, ip[0]) ||
							  (groups == 5 && ip[0] <= VERSION_MAX)) &&
							 !ipv4_was_seen(p->r, ip)))
		return n;
	put_ipv4(p->r, ip, at, four, f);
	return n;
}

bool form_seen_ipv4(const struct place *p, size_t at, size_t end, char separator, struct form *f)
{
	char copy[INET_ADDRSTRLEN];
	size_t n = 0, groups = 1;
	uint8_t ip[4];

	for (char c; at + n < end && n + 1 < sizeof(copy); n++) {
		c = p->text[at + n];
		if (!isdigit((unsigned char)c) && (c != separator || ++groups > 4))
			break;
		copy[n] = c == separator ? '.' : c;
	}
	copy[n] = '\0';
	if (inet_pton(AF_INET, copy, ip) != 1 || !ipv4_was_seen(p->r, ip))
		return false;
	put_ipv4(p->r, ip, at, n, f);
	for (size_t i = 0; i < f->to_n; i++)
		if (f->to[i] == '.')
			f->to[i] = separator;
	return true;
}

bool form_ipv6(struct rd_redact *r, const char *text, size_t n, struct form *f)
{
	char copy[INET6_ADDRSTRLEN];
	uint8_t old[16], ip[16];

	if (n >= sizeof(copy))
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	if (inet_pton(AF_INET6, copy, ip) != 1)
		return false;
	memcpy(old, ip, sizeof(old));
	rd_redact_ipv6(r, ip);
	inet_ntop(AF_INET6, ip, f->to, sizeof(f->to));
	if (memcmp(old, ip, sizeof(old)) == 0) /* well known: its spelling stays */
		memcpy(f->to, copy, n + 1);
	if (RD_ANY(t, text, n, isupper((unsigned char)*t)))
		for (char *c = f->to; *c; c++)
			*c = (char)toupper((unsigned char)*c);
	f->n = n;
	f->to_n = strlen(f->to);
	return true;
}
