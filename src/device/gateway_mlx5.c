/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Registers of the gateway, from the start of the capability:
 *
 *   0x04 control: address space (15:0), syndrome (27:24), status of the space (31:29, 0: absent)
 *   0x08 counter: each reading returns another number, a ticket
 *   0x0c semaphore: 0, or the ticket of its holder; a ticket is written, and held if it stays
 *   0x10 address (29:0), syndrome (30), flag (31), which changes when an access is complete
 *   0x14 data
 */
#include "port_sniffer_mlx5.h"
#include <errno.h>
#include <rdmadump/log.h>
#include <rdmadump/printable.h>

enum { CONTROL = 0x04, COUNTER = 0x08, SEMAPHORE = 0x0c, ADDRESS = 0x10, DATA = 0x14 };

#define CAPABILITIES 0x34 /* where the list begins */
#define VENDOR_CAP   9
#define CAPS_MAX     48		    /* the number that fits into 192 bytes */
#define CAP_LAST     (0x100 - 0x18) /* a later one has registers beyond the end */
#define GONE	     0xffffffffU

#define SPACE_MASK     0xffffU
#define SPACE_STATUS   0xe0000000U
#define SYNDROME_SHIFT 24
#define OUT_OF_RANGE   3 /* syndrome: no such address in this space */
#define ADDRESS_FLAG   0x80000000U
#define ADDRESS_FAULT  0x40000000U
#define ADDRESS_MASK   0x3fffffffU

#define LOCK_TRIES   2048 /* with pauses of 1 ms */
#define ORPHAN_TRIES 200  /* tries without a change after which a ticket is considered stale */
#define FLAG_TRIES   2048
#define FLAG_QUIET   16 /* reads between two pauses */
#define IO_TRIES     3	/* where nothing else is left to try */

static const uint16_t numbers[GATEWAY_SPACES][2] = {
	[GATEWAY_ICMD] = {0x3, 0x103},
	[GATEWAY_REGISTERS] = {0x2, 0x102},
	[GATEWAY_SEMAPHORES] = {0xa, 0x10a},
};
static const char *const titles[GATEWAY_SPACES] = {
	[GATEWAY_ICMD] = "command interface",
	[GATEWAY_REGISTERS] = "registers",
	[GATEWAY_SEMAPHORES] = "semaphores",
};

#define TODO_RESET                                                                                 \
	"see the kernel's log (dmesg); if the adapter was reset, start again when its port is "    \
	"active"
#define TODO_NAMESPACE                                                                             \
	"the kernel shows more than 64 bytes to root of the host only: run it there, outside of "  \
	"any container and user namespace"
#define TODO_LOCKDOWN                                                                              \
	"kernel lockdown, as with Secure Boot, forbids it: boot without, or mirror the port on "   \
	"the switch"

__attribute__((format(printf, 5, 6))) static int fail(const struct gateway *g, struct rd_error *err,
	int errnum, const char *todo, const char *fmt, ...)
{
	char text[256];

	RD_FORMAT(text, sizeof(text), fmt);
	return rd_fail(
		err, RD_CLASS_DEVICE, errnum, todo, "command gateway of %s: %s", g->pci, text);
}

/* --- configuration space ---------------------------------------------------------------- */

static int config_read(
	const struct gateway *g, unsigned int at, uint32_t *value, struct rd_error *err)
{
	uint32_t ids = 0;
	int rc = pci_config_read(g->fd, at, value);

	if (!rc && *value == GONE && at)
		rc = pci_config_read(g->fd, 0, &ids);
	/* It may have come back in between. */
	if (!rc && *value == GONE && at && ids != GONE)
		rc = pci_config_read(g->fd, at, value);
	if (rc)
		return fail(g, err, rc, rc == ENODATA ? TODO_NAMESPACE : TODO_RESET,
			"reading configuration space at 0x%x", at);
	if (*value != GONE || (ids != GONE && at))
		return 0;
	return fail(g, err, 0, TODO_RESET,
		"the adapter does not respond (all bits of configuration space are 1)");
}

static int config_write(
	const struct gateway *g, unsigned int at, uint32_t value, struct rd_error *err)
{
	int rc = pci_config_write(g->fd, at, value);

	if (!rc)
		return 0;
	return fail(g, err, rc, rc == EPERM || rc == EACCES ? TODO_LOCKDOWN : TODO_RESET,
		"writing configuration space at 0x%x", at);
}

static int get(const struct gateway *g, unsigned int reg, uint32_t *value, struct rd_error *err)
{
	return config_read(g, g->at + reg, value, err);
}

static int put(const struct gateway *g, unsigned int reg, uint32_t value, struct rd_error *err)
{
	return config_write(g, g->at + reg, value, err);
}

/* --- the semaphore ------------------------------------------------------------------------ */

/* Nothing else releases the semaphore of a killed capture of this program. */
static int release_orphan(struct gateway *g, struct rd_error *err)
{
	if (put(g, SEMAPHORE, 0, err) < 0)
		return -1;
	rd_log(RD_LOG_WARNING,
		"command gateway of %s: released the semaphore that a killed capture held (ticket "
		"0x%x)",
		g->pci, g->orphan);
	g->orphan = 0;
	return 0;
}

static int fail_held(const struct gateway *g, uint32_t holder, struct rd_error *err)
{
	char todo[256];

	snprintf(todo, sizeof(todo),
		"another tool uses it (mstflint, mlxlink, ibdump): try again when that has ended; "
		"if none runs, its holder was killed: 'setpci -s %s %x.l=0' releases it",
		g->pci, g->at + SEMAPHORE);
	return fail(g, err, 0, todo, "its semaphore has been held for 2 s, by ticket 0x%x", holder);
}

/* The ticket is written; it is held if it can be read back. A failed reading decides nothing. */
static int confirm(const struct gateway *g, bool *held, struct rd_error *err)
{
	uint32_t holder;

	for (unsigned int i = 0; i < IO_TRIES; i++) {
		if (get(g, SEMAPHORE, &holder, err) < 0)
			continue;
		*err = (struct rd_error){0};
		*held = holder == g->ticket;
		return 0;
	}
	return -1;
}

/* After a reset of the adapter the semaphore may be free or held by another process: it is released
 * only if it is still held by this one. */
static int release_once(const struct gateway *g, struct rd_error *err)
{
	uint32_t holder;

	if (get(g, SEMAPHORE, &holder, err) < 0)
		return -1;
	if (holder != g->ticket)
		return 0;
	/* A transient link failure loses writes. */
	if (put(g, SEMAPHORE, 0, err) < 0 || get(g, SEMAPHORE, &holder, err) < 0)
		return -1;
	return holder != g->ticket
		       ? 0
		       : fail(g, err, 0, TODO_RESET, "its semaphore cannot be released");
}

static int release(struct gateway *g, struct rd_error *err)
{
	int rc = -1;

	for (unsigned int i = 0; i < IO_TRIES && rc < 0; i++)
		rc = release_once(g, err);
	if (rc < 0)
		return -1;
	g->ticket = 0;
	g->record->ticket = 0;
	sniffer_record_write(g->record);
	return 0;
}

static int take_ticket(struct gateway *g, bool *held, struct rd_error *err)
{
	struct rd_error later;
	uint32_t ticket;

	*held = false;
	if (get(g, COUNTER, &ticket, err) < 0)
		return -1;
	/* 0 means free. */
	if (!ticket)
		return 0;
	g->ticket = g->record->ticket = ticket;
	sniffer_record_write(g->record);
	if (put(g, SEMAPHORE, ticket, err) < 0 || confirm(g, held, err) < 0) {
		/* It may have been acquired nevertheless. */
		release(g, &later);
		return -1;
	}
	if (!*held)
		g->ticket = 0;
	return 0;
}

static int lock(struct gateway *g, struct rd_error *err)
{
	unsigned int same = 0;
	uint32_t holder = 0;
	bool held;

	/* An earlier access may have failed to release it. */
	if (g->ticket && release(g, err) < 0)
		return -1;
	for (unsigned int i = 0; i < LOCK_TRIES; i++) {
		if (get(g, SEMAPHORE, &holder, err) < 0)
			return -1;
		same = g->orphan && holder == g->orphan ? same + 1 : 0;
		if (same == ORPHAN_TRIES && release_orphan(g, err) < 0)
			return -1;
		if (!holder) {
			if (take_ticket(g, &held, err) < 0)
				return -1;
			if (held)
				return 0;
		}
		pci_config_pause(1000);
	}
	return fail_held(g, holder, err);
}

/* Releases the semaphore; the first error is the one that is reported. */
static int unlock_after(struct gateway *g, int rc, struct rd_error *err)
{
	struct rd_error later = {0};

	if (release(g, &later) == 0 || rc < 0)
		return rc;
	*err = later;
	return -1;
}

/* --- one access --------------------------------------------------------------------------- */

static int select_space(
	const struct gateway *g, uint16_t number, bool *exists, struct rd_error *err)
{
	uint32_t control;

	if (get(g, CONTROL, &control, err) < 0 ||
		put(g, CONTROL, (control & ~SPACE_MASK) | number, err) < 0 ||
		get(g, CONTROL, &control, err) < 0)
		return -1;
	*exists = (control & SPACE_MASK) == number && control & SPACE_STATUS;
	return 0;
}

/* Waits until the flag shows that the access is complete. *fault: a syndrome, 0: none. */
static int wait_flag(
	const struct gateway *g, uint32_t complete, unsigned int *fault, struct rd_error *err)
{
	uint32_t address = 0, control;

	for (unsigned int i = 0; i < FLAG_TRIES; i++) {
		if (get(g, ADDRESS, &address, err) < 0)
			return -1;
		if ((address & ADDRESS_FLAG) == complete)
			break;
		if (i % FLAG_QUIET == FLAG_QUIET - 1)
			pci_config_pause(1000);
	}
	*fault = 0;
	if ((address & ADDRESS_FLAG) != complete)
		return fail(g, err, 0, TODO_RESET, "no access to address 0x%x within 0.1 s",
			address & ADDRESS_MASK);
	if (!(address & ADDRESS_FAULT))
		return 0;
	if (get(g, CONTROL, &control, err) < 0)
		return -1;
	*fault = control >> SYNDROME_SHIFT & 0xf;
	return fail(g, err, 0, "report this with the firmware's version ('rdmadump info')",
		"address 0x%x is refused, syndrome 0x%x", address & ADDRESS_MASK, *fault);
}

struct word {
	bool write;
	enum gateway_space space;
	uint32_t address, value;
};

static int fail_space(
	const struct gateway *g, unsigned int space, uint16_t number, struct rd_error *err)
{
	return fail(g, err, 0, "update the firmware, or mirror the port on the switch",
		"the firmware does not grant space 0x%x (%s)", number, titles[space]);
}

static int access_space(const struct gateway *g, uint16_t number, struct word *w,
	unsigned int *fault, struct rd_error *err)
{
	bool exists;

	*fault = 0;
	if (select_space(g, number, &exists, err) < 0)
		return -1;
	if (!exists)
		return fail_space(g, w->space, number, err);
	if (w->write)
		return put(g, DATA, w->value, err) < 0 ||
				       put(g, ADDRESS, w->address | ADDRESS_FLAG, err) < 0 ||
				       wait_flag(g, 0, fault, err) < 0
			       ? -1
			       : 0;
	return put(g, ADDRESS, w->address, err) < 0 || wait_flag(g, ADDRESS_FLAG, fault, err) < 0 ||
			       get(g, DATA, &w->value, err) < 0
		       ? -1
		       : 0;
}

/* On ConnectX-8 and later, a register may be in either of two spaces. */
static int access_word(struct gateway *g, struct word *w, struct rd_error *err)
{
	struct rd_error first;
	unsigned int fault;

	if (access_space(g, numbers[w->space][g->second], w, &fault, &first) == 0)
		return 0;
	if (fault != OUT_OF_RANGE || !g->twins) {
		*err = first;
		return -1;
	}
	if (access_space(g, numbers[w->space][!g->second], w, &fault, err) < 0)
		return -1;
	g->second = !g->second;
	return 0;
}

static int access_locked(struct gateway *g, struct word *w, struct rd_error *err)
{
	if (lock(g, err) < 0)
		return -1;
	return unlock_after(g, access_word(g, w, err), err);
}

int gateway_read(struct gateway *g, enum gateway_space space, uint32_t address, uint32_t *value,
	struct rd_error *err)
{
	struct word w = {false, space, address, 0};
	int rc = access_locked(g, &w, err);

	*value = w.value;
	return rc;
}

int gateway_write(struct gateway *g, enum gateway_space space, uint32_t address, uint32_t value,
	struct rd_error *err)
{
	struct word w = {true, space, address, value};

	return access_locked(g, &w, err);
}

int gateway_close(struct gateway *g, struct rd_error *err)
{
	return g->ticket ? release(g, err) : 0;
}

/* --- opening ------------------------------------------------------------------------------ */

/* Type 0, in bits 31:24 of the capability's first word, is the gateway. */
static int find_capability(struct gateway *g, struct rd_error *err)
{
	uint32_t word;
	unsigned int at;

	if (config_read(g, 0, &word, err) < 0 || config_read(g, CAPABILITIES, &word, err) < 0)
		return -1;
	at = word & 0xfc;
	for (unsigned int i = 0; at >= 0x40 && i < CAPS_MAX; i++, at = word >> 8 & 0xfc) {
		if (config_read(g, at, &word, err) < 0)
			return -1;
		if ((word & 0xff) == VENDOR_CAP && word >> 24 == 0 && at <= CAP_LAST) {
			g->at = at;
			return 0;
		}
	}
	return fail(g, err, 0,
		"this function has no access to it: capture on the host that owns the adapter, or "
		"mirror the port on the switch",
		"PCI configuration space has no such capability");
}

/* Which of a space's two numbers exist. */
static int find_spaces(struct gateway *g, bool exists[GATEWAY_SPACES][2], struct rd_error *err)
{
	for (unsigned int i = 0; i < GATEWAY_SPACES; i++)
		for (unsigned int k = 0; k < 2; k++)
			if (select_space(g, numbers[i][k], &exists[i][k], err) < 0)
				return -1;
	return 0;
}

int gateway_open(struct gateway *g, struct rd_error *err)
{
	bool exists[GATEWAY_SPACES][2], first = true, second = true;
	unsigned int missing = 0;

	g->ticket = 0;
	if (find_capability(g, err) < 0 || lock(g, err) < 0 ||
		unlock_after(g, find_spaces(g, exists, err), err) < 0)
		return -1;
	for (unsigned int i = GATEWAY_SPACES; i-- > 0;) {
		first &= exists[i][0];
		second &= exists[i][1];
		missing = exists[i][0] ? missing : i;
	}
	g->twins = first && second;
	g->second = second && !first;
	return first || second ? 0 : fail_space(g, missing, numbers[missing][0], err);
}
