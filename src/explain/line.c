/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a line of a log: phrases, the numbers after them, addresses, devices. */
#include "line.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define GLUED	"remoteGids"
#define GAP_MAX 4 /* characters between a phrase and its value */

static struct found *found_of(struct reading *r, enum space space)
{
	return RD_FIND(f, r->found, r->n, f->space == space);
}

unsigned int reading_status(const struct reading *r)
{
	const struct found *found = RD_FIND(f, r->found, r->n, f->space == SPACE_STATUS);

	return found ? found->number : ANY_NUMBER;
}

void reading_add(struct reading *r, enum space space, unsigned int number, const struct code *code)
{
	const bool is_none = space == SPACE_VENDOR && number == 0; /* of other drivers, as rxe */

	if (r->n < LINE_CODES && !is_none && !found_of(r, space))
		r->found[r->n++] = (struct found){.space = space, .number = number, .code = code};
}

/* What a code means may depend on another one of the line, before or after it. */
void reading_finish(const struct catalogue *c, struct reading *r)
{
	struct found *f = found_of(r, SPACE_SYNDROME);
	const struct code *code = f ? code_of(c, SPACE_SYNDROME, f->number, 0) : NULL;

	/* "synd" of a health report without its beginning */
	if (f && !code && found_of(r, SPACE_HEALTH))
		*f = r->found[--r->n];
	/* They are the same; words like "FATAL: Error" may be of the log. */
	if (code && found_of(r, SPACE_STATUS)) {
		*found_of(r, SPACE_STATUS) =
			(struct found){.space = SPACE_STATUS, .number = code->with - 1};
		*f = r->found[--r->n];
	} else if (code)
		*f = (struct found){.space = SPACE_STATUS, .number = code->with - 1};
	/* "Permission denied" of no call of RDMA */
	f = found_of(r, SPACE_ERRNO);
	if (f && !r->call && !r->program)
		*f = r->found[--r->n];
	/* The errno of the call that failed says more than that it did. */
	f = found_of(r, SPACE_MESSAGE);
	if (f && f->code->with && found_of(r, SPACE_ERRNO))
		*f = r->found[--r->n];
	f = found_of(r, SPACE_STATUS);
	for (unsigned int i = 0; i < r->n; i++) {
		struct found *x = &r->found[i];
		const unsigned int with = x->space == SPACE_ERRNO	  ? r->call
					  : x->space == SPACE_VENDOR && f ? f->number + 1
									  : 0;

		if (!x->code || with)
			x->code = code_of(c, x->space, x->number, with);
	}
}

/* QP numbers are of base 16 if they look so: a letter, or zeros in front. */
enum base { BASE_SEEN = 0, BASE_10 = 10, BASE_16 = 16 };

static enum base base_of(const char *text, enum base base)
{
	if (strncasecmp(text, "0x", 2) == 0)
		return BASE_16;
	if (base != BASE_SEEN)
		return base;
	return !text[strspn(text, "0123456789")] && (*text != '0' || !text[1]) ? BASE_10 : BASE_16;
}

/*
 * The number that follows within GAP_MAX characters, and whether it is negative; where it ends,
 * NULL: none follows. It has a digit, unless the base is known to be 16.
 */
static const char *number_after(
	const char *at, const char *end, enum base base, unsigned int *number, bool *negative)
{
	char text[16], *stop;
	size_t n = 0;
	unsigned long value;

	for (int gap = 0; at < end && !isalnum((unsigned char)*at); at++)
		if (++gap > GAP_MAX)
			return NULL;
	*negative = at[-1] == '-';
	while (at < end && isalnum((unsigned char)*at) && n < sizeof(text) - 1)
		text[n++] = *at++;
	text[n] = '\0';
	if ((!text[strcspn(text, "0123456789")] && base != BASE_16) ||
		(at < end && isalnum((unsigned char)*at)))
		return NULL;
	value = strtoul(text, &stop, (int)base_of(text, base));
	if (stop == text || *stop || value > 0xfffffffful)
		return NULL;
	*number = (unsigned int)value;
	return at;
}

/* An IPv4 or IPv6 address, or a GID, as inet_ntop() writes it. Where it ends; NULL: it is none. */
static const char *address_at(const char *at, const char *end, char text[ADDRESS_TEXT])
{
	unsigned char raw[16];
	char copy[ADDRESS_TEXT];
	size_t n = 0;
	int family;

	while (at < end && !isxdigit((unsigned char)*at) && *at != ':' && n++ < GAP_MAX)
		at++;
	for (n = 0; at + n < end && n < sizeof(copy) - 1 &&
		    (isxdigit((unsigned char)at[n]) || at[n] == ':' || at[n] == '.');
		n++)
		copy[n] = at[n];
	copy[n] = '\0';
	family = strchr(copy, ':') && strchr(strchr(copy, ':') + 1, ':') ? AF_INET6 : AF_INET;
	/* "10.0.0.1:4791" */
	if (family == AF_INET && strchr(copy, ':')) {
		n = (size_t)(strchr(copy, ':') - copy);
		copy[n] = '\0';
	}
	if (inet_pton(family, copy, raw) != 1)
		return NULL;
	if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)raw)) {
		family = AF_INET;
		memmove(raw, raw + 12, 4);
	}
	inet_ntop(family, raw, text, ADDRESS_TEXT);
	return at + n;
}

/* "mlx5_0", "mlx5_bond_0:1", "rocep3s0f0" */
static size_t device_at(const char *at, const char *end, struct reading *r)
{
	static const char *const names[] = {"mlx5_", "mlx4_", "bnxt_re", "irdma", "rxe", "siw",
		"rocep", "roceP", "ibp", "ibP", "rdmap", "hns_", "efa_", "erdma_", "qedr", "ocrdma",
		"cxgb"};
	size_t n = 0, length = (size_t)(end - at);
	unsigned int port;
	const char *after;
	bool negative;

	for (size_t i = 0; i < RD_COUNT(names); i++) {
		const size_t prefix = strlen(names[i]);

		if (*at == *names[i] && length > prefix && !strncmp(at, names[i], prefix))
			n = prefix;
	}
	if (!n || *r->device)
		return 0;
	while (n < length && (isalnum((unsigned char)at[n]) || at[n] == '_'))
		n++;
	/* a module's name: "mlx5_core" */
	if (n >= sizeof(r->device) || !isdigit((unsigned char)at[n - 1]))
		return 0;
	memcpy(r->device, at, n);
	if (n + 1 < length && at[n] == ':' &&
		(after = number_after(at + n, end, BASE_10, &port, &negative)) && port &&
		port < 256) {
		r->port = port;
		n = (size_t)(after - at);
	}
	return n;
}

static const char *take_field(struct reading *r, enum member m, const char *at, const char *end)
{
	unsigned int *qpn = m == MEMBER_QPN ? &r->qpn : &r->peer_qpn;
	char *address = m == MEMBER_LOCAL_GID ? r->local : r->peer;
	char text[ADDRESS_TEXT];
	const char *after;
	unsigned int n;
	bool negative;

	if (m == MEMBER_QPN || m == MEMBER_PEER_QPN) {
		after = number_after(at, end, BASE_SEEN, &n, &negative);
		if (after && *qpn == QPN_UNKNOWN && n <= 0xffffff)
			*qpn = n;
		return after;
	}
	after = address_at(at, end, text);
	if (after && (m == MEMBER_PEER_GID ? !r->has_peer_gid : !*address)) {
		strcpy(address, text);
		r->has_peer_gid |= m == MEMBER_PEER_GID;
	}
	return after;
}

/* Uses the phrase; returns where the line continues, NULL: what should follow it does not. */
static const char *take(struct reading *r, const struct phrase *p, const char *at, const char *end,
	unsigned int *marks)
{
	const char *after = at;
	unsigned int number;
	bool negative;

	switch (p->kind) {
	case PHRASE_CODE:
		reading_add(r, p->code->space, p->code->number, p->code);
		if (p->code->space == SPACE_MESSAGE && !r->call)
			r->call = p->code->with;
		break;
	case PHRASE_ABOUT:
		*marks |= p->what | MARK_RDMA;
		break;
	case PHRASE_CALL:
		if (!r->call)
			r->call = p->what;
		*marks |= MARK_RDMA;
		break;
	case PHRASE_FROM:
		if (!r->program)
			r->program = p->program;
		*marks |= MARK_RDMA;
		break;
	case PHRASE_VALUE:
	case PHRASE_HEX:
		after = number_after(
			at, end, p->kind == PHRASE_HEX ? BASE_16 : BASE_10, &number, &negative);
		/* The kernel returns errors as negative numbers. */
		if (after && (number > code_spaces[p->what].most ||
				     (negative && p->what != SPACE_ERRNO)))
			after = NULL;
		if (after)
			reading_add(r, p->what, number, NULL);
		break;
	case PHRASE_FIELD:
		after = take_field(r, p->what, at, end);
		break;
	}
	return after;
}

/* Returns the marks at the end of the line. */
static unsigned int read_once(const struct catalogue *c, const char *line, size_t length,
	unsigned int marks, struct reading *r)
{
	const char *at = line, *end = line + length, *after;
	size_t n;

	*r = (struct reading){.qpn = QPN_UNKNOWN, .peer_qpn = QPN_UNKNOWN};
	while ((at = word_next(at, end, &n))) {
		const struct phrase *p = NULL;
		const char *rest = NULL;
		size_t device = device_at(at, end, r);

		if (device) {
			marks |= MARK_RDMA;
			at += device;
			continue;
		}
		/* NCCL writes the GID right behind the word. */
		if (n > strlen(GLUED) && !strncasecmp(at, GLUED, strlen(GLUED)))
			rest = take_field(r, MEMBER_PEER_GID, at + strlen(GLUED), end);
		while (!rest && (p = phrase_at(c, p, at, n, end, marks, &after)))
			rest = take(r, p, after, end, &marks);
		at = rest ? rest : at + n;
	}
	return marks;
}

void line_read(const struct catalogue *c, const char *line, size_t length, unsigned int marks,
	struct reading *r)
{
	const unsigned int found = read_once(c, line, length, marks, r);

	/* "port error on mlx5_0": what a line is about may come last. */
	if (found & ~marks & MARK_RDMA)
		read_once(c, line, length, marks | MARK_RDMA, r);
	reading_finish(c, r);
}
