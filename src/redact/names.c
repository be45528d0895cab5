/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of hosts and users, and serial numbers: found anywhere in text, replaced by their hash. */
#include "redact.h"
#include <ctype.h>
#include <rdmadump/hash.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define ANYWHERE_LEN 8 /* a name of this length is also replaced within words */
#define NAME_MAX_LEN 1024

/* These do not identify a host or user; replacing them would make text unreadable. */
static const char *const common[] = {"localhost", "localhost.localdomain", "ip6-localhost",
	"ip6-loopback", "ip6-localnet", "ip6-mcastprefix", "ip6-allnodes", "ip6-allrouters",
	"broadcasthost", "root", "nobody", "none", "null", "unknown", "default", "home",
	"infiniband", "not specified", "not available", "to be filled by o.e.m.", "default string",
	"n/a", "na", "system serial number", "chassis serial number", "base board serial number",
	"empty", "linux", "user", "users", "true", "false", "serial", "number", "kernel", "rdma",
	"mlx5_core", "admin", "name", "host", "not set", "unspecified", "(none)", "(null)",
	"invalid"};

/* Letters and digits continue a word. */
static bool name_is_word(unsigned char c)
{
	return isalnum(c) || c >= 0x80;
}

static unsigned int bucket(const char *text)
{
	return ((unsigned int)tolower((unsigned char)text[0]) * 31 +
		       (unsigned int)tolower((unsigned char)text[1])) %
	       NAME_BUCKETS;
}

static bool is_common(const char *name, size_t n)
{
	bool digits = true;

	for (size_t i = 0; i < RD_COUNT(common); i++)
		if (strlen(common[i]) == n && strncasecmp(common[i], name, n) == 0)
			return true;
	for (size_t i = 0; i < n; i++)
		digits &= isdigit((unsigned char)name[i]) || strchr("-.x ", name[i]);
	/* Short numbers are common in text and have other meanings. */
	return n < 2 || n > NAME_MAX_LEN ||
	       (n >= 22 && memcmp(name, "2014-08.org.nvmexpress", 22) == 0) ||
	       (digits && n < ANYWHERE_LEN);
}

/* A node description that a driver or vendor sets: "mlx5_0", "MT4119 ConnectX5 ...". */
static bool is_default_node(const char *text, size_t n)
{
	static const char *const drivers[] = {"mlx4_", "mlx5_", "rxe", "siw", "irdma", "bnxt_re",
		"efa_", "hns_", "qedr", "hfi1_", "erdma_", "mana_", "roce", "ibp", "ocrdma",
		"cxgb4_"};

	if (memmem(text, n, "Mellanox Technologies", 21) || memmem(text, n, "ConnectX", 8))
		return true;
	for (size_t i = 0; i < RD_COUNT(drivers); i++) {
		size_t len = strlen(drivers[i]);

		if (n > len && n < len + 12 && strncmp(text, drivers[i], len) == 0 &&
			!memchr(text, ' ', n))
			return true;
	}
	return false;
}

/* "host-2b1c07d4" */
char *name_replacement(struct rd_redact *r, enum rd_redact_kind kind, const char *name, size_t n)
{
	static const char *const starts[RD_REDACT_KINDS] = {[RD_REDACT_HOST] = "host",
		[RD_REDACT_USER] = "user",
		[RD_REDACT_SERIAL] = "serial",
		[RD_REDACT_NODE] = "node",
		[RD_REDACT_PATH] = "/path"};
	struct rd_hash h = rd_hash_begin();
	char lower[NAME_MAX_LEN], *to;
	unsigned int words;

	if (is_common(name, n) || (kind == RD_REDACT_NODE && is_default_node(name, n)))
		return NULL;
	for (size_t i = 0; i < n; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	words = rd_hash_add_bytes(&h, lower, n);
	if (asprintf(&to, "%s-%08llx", starts[kind],
		    (unsigned long long)rd_hash_end(&h, words) & 0xffffffff) < 0)
		to = NULL;
	r->no_memory |= !to;
	return to;
}

void rd_redact_name(struct rd_redact *r, enum rd_redact_kind kind, const char *text, size_t n)
{
	struct name **at, *name;
	char *to;

	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	while (n && isspace((unsigned char)*text)) {
		text++;
		n--;
	}
	to = r->replacing ? NULL : name_replacement(r, kind, text, n);
	if (!to)
		return;
	/* Of equal names, the first one is kept. */
	for (at = &r->names[bucket(text)]; *at && (*at)->n >= n; at = &(*at)->next)
		if ((*at)->n == n && strncasecmp((*at)->text, text, n) == 0) {
			free(to);
			return;
		}
	name = calloc(1, sizeof(*name));
	if (name)
		*name = (struct name){
			.text = strndup(text, n), .to = to, .n = n, .kind = kind, .next = *at};
	if (name && name->text) {
		*at = name;
		return;
	}
	r->no_memory = true;
	free(to);
	free(name);
}

struct name *name_at(const struct rd_redact *r, const char *text, size_t left, unsigned char before)
{
	if (left < 2)
		return NULL;
	for (struct name *name = r->names[bucket(text)]; name; name = name->next) {
		bool anywhere = name->n >= ANYWHERE_LEN;

		if (name->n > left || strncasecmp(name->text, text, name->n) != 0)
			continue;
		if (anywhere ||
			(!name_is_word(before) &&
				(name->n == left || !name_is_word((unsigned char)text[name->n]))))
			return name;
	}
	return NULL;
}

/* The bytes that are letters, digits, or one of `others`. */
static size_t run_of(const char *text, size_t left, const char *others)
{
	size_t n = 0;

	while (n < left && text[n] && (isalnum((unsigned char)text[n]) || strchr(others, text[n])))
		n++;
	return n;
}

size_t host_at(const struct rd_redact *r, const char *text, size_t left, size_t *run)
{
	size_t n = *run = run_of(text, left, ".-");

	while (n && !isalnum((unsigned char)text[n - 1]))
		n--;
	for (size_t i = 2; i < n; i++) {
		const struct name *domain =
			text[i - 1] == '.' ? name_at(r, text + i, n - i, '.') : NULL;

		if (domain && domain->kind == RD_REDACT_HOST && domain->n == n - i &&
			memchr(domain->text, '.', domain->n))
			return n;
	}
	return 0;
}

size_t mail_at(const char *text, size_t left, size_t *run)
{
	/* What systemd has behind "@" of the names of units. */
	static const char units[] = " service socket target slice mount device timer path scope ";
	size_t n = *run = run_of(text, left, ".-_+%"), top;
	char last[16];

	if (!n || n == left || text[n] != '@')
		return 0;
	n += 1 + run_of(text + n + 1, left - n - 1, ".-");
	while (text[n - 1] != '@' && !isalnum((unsigned char)text[n - 1]))
		n--;
	for (top = n; isalpha((unsigned char)text[top - 1]);)
		top--;
	snprintf(last, sizeof(last), " %.*s ", (int)(n - top), text + top);
	return n - top > 1 && text[top - 1] == '.' && text[top - 2] != '@' && !strstr(units, last)
		       ? n
		       : 0;
}

void names_free(struct rd_redact *r)
{
	for (unsigned int i = 0; i < NAME_BUCKETS; i++)
		while (r->names[i]) {
			struct name *name = r->names[i];

			r->names[i] = name->next;
			free(name->text);
			free(name->to);
			free(name);
		}
}
