/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of hosts and users, and serial numbers: found anywhere in text, replaced by their hash. */
#include "redact.h"
#include <ctype.h>
#include <rdmadump/hash.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define ANYWHERE_LEN 8 /* a name of this length is also replaced within words */

/* These name no machine and nobody; replacing them would make text unreadable. */
static const char common[] =
	"|localhost|localhost.localdomain|ip6-localhost|ip6-loopback|ip6-localnet|ip6-mcastprefix"
	"|ip6-allnodes|ip6-allrouters|broadcasthost|root|nobody|none|null|unknown|default|home"
	"|infiniband|not specified|not available|to be filled by o.e.m.|default string|n/a|na"
	"|system serial number|chassis serial number|base board serial number|empty|linux|user"
	"|users|true|false|serial|number|kernel|rdma|mlx5_core|admin|name|host|not set"
	"|unspecified|(none)|(null)|invalid|not|is|in|on|at|to|by|for|from|the|has|was|no|"
	"all|any|uid"
	"|data|space|test|error|state|link|port|path|file|device|driver|dev|system|server|client"
	"|service|storage|network|memory|node|core|cpu|mode|page|pages|log|key|tmp|var|usr|opt|mnt"
	"|lib|proc|session|lustre|scratch|nfs|ubuntu|centos|debian|fedora|rocky|daemon|slurm|munge"
	"|sshd|gdm|postgres|mysql|ceph|opensm|buildd|mockbuild|container|pod|target|type|info|";
/* Of the names of devices, which end with a number. */
static const char devices[] = "|eth|ib|bond|team|enp|eno|ens|br|vlan|tty|ttys|nvme|sd|dm|md|cpu|";
/* Vendors and distributions: sites, and the first word of who signs modules. */
static const char known[] =
	"|kernel.org|mellanox.com|nvidia.com|freedesktop.org|w3.org|debian.org"
	"|ubuntu.com|canonical.com|redhat.com|fedoraproject.org|centos.org"
	"|rockylinux.org|suse.com|gnu.org|wireshark.org|github.com|intel.com"
	"|build|canonical|debian|red|microsoft|oracle|suse|fedora|rocky|mellanox"
	"|almalinux|centos|nvidia|amazon|";
/* The last part of a host's name. */
static const char tops[] =
	"|com|net|org|edu|gov|mil|int|local|lan|internal|intranet|intra|corp"
	"|home|arpa|example|cloud|hpc|io|lab|maas|novalocal|de|fr|uk|eu|ch|nl|jp|cn|kr|";
/* What systemd has behind "@" of the names of units. */
static const char units[] = "|service|socket|target|slice|mount|device|timer|path|scope|";

static bool is_listed(const char *list, const char *word, size_t n)
{
	const size_t end = strlen(list);

	for (size_t at = 0; at + n + 2 <= end; at += 1 + strcspn(list + at + 1, "|"))
		if (list[at + 1 + n] == '|' && strncasecmp(list + at + 1, word, n) == 0)
			return true;
	return false;
}

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

static bool is_common(enum rd_redact_kind kind, const char *name, size_t n)
{
	const char *blank = memchr(name, ' ', n);
	size_t letters = n, digits = 0, first = blank ? (size_t)(blank - name) : n;
	bool listed = false;

	while (letters && isdigit((unsigned char)name[letters - 1]))
		letters--;
	for (size_t i = 0; i < n; i++) {
		digits += isdigit((unsigned char)name[i]) || strchr("-.x ", name[i]);
		listed |= i < first && (!i || name[i - 1] == '.') &&
			  is_listed(known, name + i, first - i);
	}
	if (kind == RD_REDACT_SECRET)
		return digits == n || is_listed("|null|true|false|", name, n);
	/* Short numbers are common in text and have other meanings. */
	return listed || n < 2 || n > NAME_MAX_LEN || (digits == n && n < ANYWHERE_LEN) ||
	       (n >= 22 && memcmp(name, "2014-08.org.nvmexpress", 22) == 0) ||
	       is_listed(common, name, n) || is_listed(tops, name, n) ||
	       (letters < n && is_listed(devices, name, letters));
}

/* A description that a driver or vendor sets: "mlx5_0", "MT4119 ConnectX5 ...", "swp1". */
static bool is_default_node(const char *text, size_t n)
{
	static const char *const drivers[] = {"mlx4_", "mlx5_", "rxe", "siw", "irdma", "bnxt_re",
		"efa_", "hns_", "qedr", "hfi1_", "erdma_", "mana_", "roce", "ibp", "ocrdma",
		"cxgb4_", "Ethernet", "swp", "eth", "Eth", "et-", "xe-",
		"ge-"}; /* ports of switches */

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

const char *const kind_names[RD_REDACT_KINDS] = {"mac", "guid", "ipv4", "ipv6", "uuid", "id",
	"host", "user", "serial", "node", "path", "secret"};

/* "host-2b1c07d4" */
char *name_replacement(struct rd_redact *r, enum rd_redact_kind kind, const char *name, size_t n)
{
	struct rd_hash h = rd_hash_begin();
	char *lower, *to = NULL;
	unsigned int words;

	if (is_common(kind, name, n) || (kind == RD_REDACT_NODE && is_default_node(name, n)))
		return NULL;
	lower = malloc(n);
	for (size_t i = 0; lower && i < n; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	words = lower ? rd_hash_add_bytes(&h, lower, n) : 0;
	free(lower);
	if (!lower ||
		asprintf(&to, "%s%s-%08llx", kind == RD_REDACT_PATH ? "/" : "", kind_names[kind],
			(unsigned long long)rd_hash_end(&h, words) & 0xffffffff) < 0)
		to = NULL;
	r->no_memory |= !to;
	return to;
}

/* Whether it means the same wherever it is: "ab" is in hexadecimal dumps, "token=link" anywhere. */
static bool is_rare(enum rd_redact_kind kind, const char *text, size_t n)
{
	size_t digits = 0, hex = 0;

	for (size_t i = 0; i < n; i++) {
		digits += isdigit((unsigned char)text[i]) != 0;
		hex += isxdigit((unsigned char)text[i]) != 0;
	}
	return (n > 2 || hex < n) &&
	       (kind != RD_REDACT_SECRET || (n >= ANYWHERE_LEN && digits && digits < n));
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
	to = r->replacing || !is_rare(kind, text, n) ? NULL : name_replacement(r, kind, text, n);
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
	for (struct name *name = r->names[bucket(text)]; name; name = name->next)
		if (name->n <= left && strncasecmp(name->text, text, name->n) == 0 &&
			(name->n >= ANYWHERE_LEN ||
				(!name_is_word(before) &&
					(name->n == left ||
						!name_is_word((unsigned char)text[name->n])))))
			return name;
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

/* A host's name in `n` bytes: to the end of the last domain that is known, or is one of all. */
static size_t host_length(const struct rd_redact *r, const char *text, size_t n)
{
	size_t end = 0;

	for (size_t i = 2; i < n; i++) {
		size_t part = run_of(text + i, n - i, "-");
		const struct name *domain =
			text[i - 1] == '.' ? name_at(r, text + i, n - i, '.') : NULL;

		if (domain && domain->kind == RD_REDACT_HOST &&
			memchr(domain->text, '.', domain->n) &&
			(i + domain->n == n || text[i + domain->n] == '.'))
			end = i + domain->n;
		else if (text[i - 1] == '.' && is_listed(tops, text + i, part))
			end = i + part;
	}
	return end;
}

size_t host_at(const struct rd_redact *r, const char *text, size_t left, size_t *run)
{
	*run = run_of(text, left, ".-");
	if (*run && !isalnum((unsigned char)*text))
		*run = 1;
	return is_listed("|nqn|iqn|", text, run_of(text, *run, "")) ? 0
								    : host_length(r, text, *run);
}

size_t mail_at(const struct rd_redact *r, const char *text, size_t left, size_t *run)
{
	size_t n = *run = run_of(text, left, ".-_+%"), top, host;

	if (!n || n == left || text[n] != '@')
		return 0;
	top = run_of(text + n + 1, left - n - 1, ".-");
	host = host_length(r, text + n + 1, top);
	if (host)
		return n + 1 + host;
	n += 1 + top;
	while (text[n - 1] != '@' && !isalnum((unsigned char)text[n - 1]))
		n--;
	for (top = n; isalpha((unsigned char)text[top - 1]);)
		top--;
	return n - top > 1 && text[top - 1] == '.' && text[top - 2] != '@' &&
			       !is_listed(units, text + top, n - top)
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
