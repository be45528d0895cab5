/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command gateway of an adapter, as a state machine. Registers and layouts are those that
 * mstflint's access library and the kernel's pci_vsc.c use. A program that breaks the protocol of
 * tickets, uses a space without its semaphore, writes to an unknown register, or sends a malformed
 * command is reported as a violation.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gateway.h"

enum {
	AT = 0xc0, /* the capability */
	R_CONTROL = AT + 0x04,
	R_COUNTER = AT + 0x08,
	R_SEMAPHORE = AT + 0x0c,
	R_ADDRESS = AT + 0x10,
	R_DATA = AT + 0x14,
};

#define FLAG	     0x80000000U
#define FAULT	     0x40000000U
#define FOREIGN	     0x5eed0001U /* ticket of another tool */
#define ALL_BITS     0xffffffffU
#define ICMD_FOREIGN 4242 /* process of another tool */
#define RIGHT_KEY    0xbadc0ffeU
#define BLINK	     12 /* transfers */

enum space { SPACE_NONE, SPACE_CR, SPACE_ICMD, SPACE_SEMAPHORE };

__attribute__((format(printf, 2, 3))) static void violation(
	struct gw_state *s, const char *fmt, ...)
{
	va_list ap;

	/* After a reset a process cannot detect at once that it holds nothing any more. */
	if (s->was_reset)
		return;
	va_start(ap, fmt);
	if (!s->violations++)
		vsnprintf(s->first, sizeof(s->first), fmt, ap);
	va_end(ap);
}

/* A killed process may wait long for its parent: its state is Z then. */
static bool is_dead(int32_t process)
{
	char text[128] = "";
	const char *state;
	int fd;

	if (process <= 0)
		return false;
	snprintf(text, sizeof(text), "/proc/%d/stat", process);
	fd = (int)syscall(SYS_openat, AT_FDCWD, text, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	memset(text, 0, sizeof(text));
	if (syscall(SYS_read, fd, text, sizeof(text) - 1) <= 0)
		text[0] = '\0';
	syscall(SYS_close, fd);
	state = strrchr(text, ')');
	return !state || state[2] == 'Z' || state[2] == 'X';
}

/* ---- configuration ---- */

struct word_number {
	const char *word;
	size_t at;
};
#define NUMBER(word, field)                                                                        \
	{                                                                                          \
		word, offsetof(struct gw_conf, field)                                              \
	}
static const struct word_number numbers[] = {
	NUMBER("stolen", stolen),
	NUMBER("stuck", stuck),
	NUMBER("fault", fault),
	NUMBER("late", late),
	NUMBER("blink", blink),
	NUMBER("gone", gone),
	NUMBER("reset", reset),
	NUMBER("hangs", hangs),
	NUMBER("vanishes", vanishes),
	NUMBER("locked", locked),
	NUMBER("slow", slow),
	NUMBER("slow_attach", slow_attach),
	NUMBER("slow_detach", slow_detach),
};
static const struct word_number switches[] = {
	NUMBER("twins", twins),
	NUMBER("moved", moved),
	NUMBER("loops", loops),
	NUMBER("readonly", readonly),
	NUMBER("not_ready", not_ready),
	NUMBER("small", small),
	NUMBER("relocks", relocks),
	NUMBER("sealed", sealed),
	NUMBER("strict", strict),
	NUMBER("by_qpn", by_qpn),
	NUMBER("reversed", reversed),
	NUMBER("both", both),
	NUMBER("retaken", retaken),
	NUMBER("keeps", keeps),
	NUMBER("clings", clings),
	NUMBER("brief", brief),
	NUMBER("wipes", wipes),
	NUMBER("edge", edge),
	NUMBER("hurry", hurry),
};

static bool parse_lacks(struct gw_conf *c, uint32_t space)
{
	for (size_t i = 0; i < GW_LACKING; i++) {
		if (c->lacks[i])
			continue;
		c->lacks[i] = (uint16_t)space;
		return true;
	}
	return false;
}

/* a, b: the numbers behind the word, "held:a", "status:a.b". */
static bool parse_word(struct gw_conf *c, const char *word, uint32_t a, uint32_t b, uint32_t last)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!strcmp(word, numbers[i].word)) {
			*(uint32_t *)(void *)((char *)c + numbers[i].at) = a;
			return true;
		}
	for (size_t i = 0; i < sizeof(switches) / sizeof(*switches); i++)
		if (!strcmp(word, switches[i].word)) {
			*(bool *)((char *)c + switches[i].at) = true;
			return true;
		}
	if (!strcmp(word, "held"))
		c->held = true, c->held_reads = a;
	else if (!strcmp(word, "icmd_held"))
		c->icmd_held = true, c->icmd_pid = a, c->icmd_reads = b;
	else if (!strcmp(word, "taken"))
		c->taken = a, c->held_reads = b;
	else if (!strcmp(word, "icmd_taken"))
		c->icmd_taken = a, c->icmd_pid = ICMD_FOREIGN, c->icmd_reads = b;
	else if (!strcmp(word, "syndrome"))
		c->syndrome = a, c->syndrome_at = b;
	else if (!strcmp(word, "busy"))
		c->busy = true, c->busy_reads = a;
	else if (!strcmp(word, "status"))
		c->status = a, c->status_at = b ? b : 1, c->status_last = last ? last : b ? b : ~0U;
	else if (!strcmp(word, "lies"))
		c->lies = a, c->lies_at = b;
	else if (!strcmp(word, "chip"))
		c->chip = (uint16_t)a;
	else if (!strcmp(word, "lacks"))
		return parse_lacks(c, a);
	else if (!strcmp(word, "no"))
		c->present = false;
	else
		return !strcmp(word, "yes");
	return true;
}

bool gw_conf_parse(struct gw_conf *c, const char *spec)
{
	char copy[256], *save = NULL;
	bool known = true;

	c->present = true;
	snprintf(copy, sizeof(copy), "%s", spec);
	for (char *w = strtok_r(copy, "+", &save); w; w = strtok_r(NULL, "+", &save)) {
		char *colon = strchr(w, ':'), *end = NULL;
		uint32_t n[3] = {0};

		if (colon)
			*colon = 0;
		for (int i = 0; colon && i < 3; i++) {
			n[i] = (uint32_t)strtoul(colon + 1, &end, 0);
			colon = *end == '.' ? end : NULL;
		}
		known &= parse_word(c, w, n[0], n[1], n[2]);
	}
	c->twins |= c->moved;
	return known;
}

static void word_set(uint8_t *bytes, unsigned int at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		bytes[at + (unsigned int)i] = (uint8_t)(value >> (8 * i));
}

/* Header; a PCI Express capability; vital product data; MSI-X; a capability of another type. */
void gw_config_bytes(const struct gw_conf *c, uint16_t part_id, uint8_t bytes[GW_CONFIG])
{
	memset(bytes, 0, GW_CONFIG);
	word_set(bytes, 0x00, (uint32_t)part_id << 16 | 0x15b3);
	word_set(bytes, 0x04, 0x00100006);
	word_set(bytes, 0x08, 0x02070000);
	word_set(bytes, 0x34, 0x60);
	word_set(bytes, 0x60, 0x00020010 | 0x48 << 8);
	word_set(bytes, 0x48, 0x00000003 | 0x9c << 8);
	word_set(bytes, 0x9c, 0x003f0011 | 0xb0 << 8);
	/* Vendor-specific, but not the gateway. */
	word_set(bytes, 0xb0,
		0x01080009 | (c->loops		  ? 0x60 << 8
				     : c->edge	  ? 0xf0 << 8
				     : c->present ? AT << 8
						  : 0));
	if (c->present)
		word_set(bytes, AT, 0x00180009);
	if (c->edge)
		word_set(bytes, 0xf0, 0x00180009);
}

static void start(struct gw_state *s, const struct gw_conf *c)
{
	s->started = 1;
	s->counter = 0x100;
	if (c->held) {
		s->semaphore = FOREIGN;
		s->holder = -1;
	}
	if (c->icmd_held) {
		s->icmd_semaphore = c->icmd_pid;
		s->icmd_holder = -1;
	}
	if (c->busy)
		s->command = 0x90010001U;
	s->busy_left = c->busy_reads;
}

static void reset(struct gw_state *s)
{
	s->control = s->semaphore = s->address = s->data = s->command = 0;
	s->icmd_semaphore = s->unlocked = s->selected = s->pending = 0;
	s->holder = s->icmd_holder = 0;
	memset(s->rule, 0, sizeof(s->rule));
	memset(s->mailbox, 0, sizeof(s->mailbox));
	s->was_reset = s->icmd_was_reset = 1;
}

/* ---- commands ---- */

static uint32_t run_detach(
	struct gw_rule *r, const struct gw_conf *c, int32_t process, uint32_t qpn)
{
	if (!r->attached)
		return c->strict ? 3 : 0;
	if (c->by_qpn && r->qpn != qpn)
		return 4;
	if (c->clings && r->process != process)
		return 3;
	r->attached = c->keeps;
	return 0;
}

static uint32_t run(struct gw_state *s, const struct gw_conf *c)
{
	uint32_t flags = s->mailbox[1], port = s->mailbox[2] >> 24, qpn = s->mailbox[3];
	struct gw_rule *r;
	uint32_t attached = 0;

	s->commands++;
	if (c->status_at && s->commands >= c->status_at && s->commands <= c->status_last)
		return c->status;
	if (s->command >> 16 != 0xc002)
		return 1;
	if (!s->unlocked)
		return 7;
	s->unlocked = !c->relocks;
	if (s->mailbox[0] || flags & ~0x10001U || s->mailbox[2] & 0xffffff || qpn >> 24)
		violation(s, "malformed command %08x %08x %08x %08x", s->mailbox[0], flags,
			s->mailbox[2], qpn);
	if (port < 1 || port > GW_PORTS)
		return 4;
	r = &s->rule[port - 1][(flags & 1) ^ c->reversed];
	if (!(flags >> 16))
		return run_detach(r, c, s->icmd_holder, qpn);
	if (r->attached && c->clings)
		return 3;
	if (r->attached && !c->keeps)
		violation(s, "attached twice, to 0x%x and 0x%x", r->qpn, qpn);
	*r = (struct gw_rule){1, qpn, s->icmd_holder};
	for (int p = 0; p < GW_PORTS; p++)
		attached += s->rule[p][0].attached + s->rule[p][1].attached;
	if (attached > s->most_attached)
		s->most_attached = attached;
	return 0;
}

static void complete(struct gw_state *s, const struct gw_conf *c)
{
	uint32_t status = run(s, c);

	if (c->lies_at && s->commands == c->lies_at)
		status = c->lies;
	s->syndrome = status ? 0x5a17c0 : 0;
	s->command = (s->command & (c->wipes ? 2 : 0xffff0002)) | status << 8;
}

static uint32_t command_read(struct gw_state *s, const struct gw_conf *c)
{
	if (s->pending && s->pending != ALL_BITS && --s->pending == 0)
		complete(s, c);
	if (s->busy_left && --s->busy_left == 0)
		s->command &= ~1U;
	return s->command;
}

/* Readings until a command ends. */
static uint32_t duration(const struct gw_state *s, const struct gw_conf *c)
{
	uint32_t own = s->mailbox[1] >> 16 ? c->slow_attach : c->slow_detach;

	if (c->hangs && s->commands + 1 == c->hangs)
		return ALL_BITS;
	return own ? own : c->slow;
}

static void command_write(struct gw_state *s, const struct gw_conf *c, uint32_t value)
{
	if (s->command & 1) {
		violation(s, "a command is written while another one runs");
		return;
	}
	s->command = value;
	if (!(value & 1))
		return;
	s->pending = duration(s, c);
	if (!s->pending)
		complete(s, c);
}

/* ---- words of the spaces ---- */

static bool icmd_word(
	struct gw_state *s, const struct gw_conf *c, int32_t process, bool write, uint32_t address)
{
	if (write && s->icmd_holder != process && !s->icmd_was_reset)
		violation(s, "0x%x is written without the command interface's semaphore", address);
	if (address == 0 && write)
		command_write(s, c, s->data);
	else if (address == 0)
		s->data = command_read(s, c);
	else if (address == 0x1000 && !write)
		s->data = c->small ? 8 : 0x340;
	else if (address == 0x1008 && !write)
		s->data = s->syndrome;
	else if (address >= 0x100000 && address < 0x100000 + 4 * GW_WORDS && write)
		s->mailbox[(address - 0x100000) / 4] = s->data;
	else if (address >= 0x100000 && address < 0x100000 + 4 * GW_WORDS)
		s->data = s->mailbox[(address - 0x100000) / 4];
	else
		return false;
	return true;
}

static bool semaphore_word(
	struct gw_state *s, const struct gw_conf *c, int32_t process, bool write, uint32_t address)
{
	if (address)
		return false;
	if (!write) {
		s->data = s->icmd_semaphore;
		if (c->icmd_reads && s->icmd_holder == -1 && ++s->locks >= c->icmd_reads)
			s->icmd_semaphore = 0, s->icmd_holder = 0;
	} else if (s->data) {
		if (s->data != (uint32_t)process)
			violation(s, "process %d writes %u to the command interface's semaphore",
				process, s->data);
		if (!s->icmd_semaphore)
			s->icmd_semaphore = s->data, s->icmd_holder = process,
			s->icmd_was_reset = 0;
	} else {
		if (s->icmd_semaphore && s->icmd_holder != process && !is_dead(s->icmd_holder))
			violation(s, "the command interface's semaphore of process %d is released",
				s->icmd_holder);
		s->icmd_semaphore = 0, s->icmd_holder = 0;
	}
	return true;
}

static bool cr_word(struct gw_state *s, const struct gw_conf *c, bool write, uint32_t address)
{
	uint32_t unlock = c->chip >= 0x21e ? 0x1a023f0 : 0x23f0;
	uint32_t ready = c->chip >= 0x21e			? 0xa0304
			 : c->chip <= 0x20b			? 0xb0004
			 : c->chip == 0x20d || c->chip == 0x211 ? 0xb5e04
								: 0xb5f04;

	if (write) {
		/* What 0x23f0 is on ConnectX-8 and later is not known. */
		if (address != unlock || s->data != RIGHT_KEY)
			violation(s, "register 0x%x is set to 0x%x", address, s->data);
		else
			s->unlocked = !c->sealed;
	} else if (address == 0xf0014) {
		s->data = 0x00a10000 | c->chip;
	} else if (address == ready) {
		s->data = c->not_ready ? FLAG : 0x1234;
	} else {
		violation(s, "register 0x%x is read", address);
		s->data = 0;
	}
	return true;
}

static enum space space_of(const struct gw_conf *c, uint32_t number, bool *exists)
{
	uint32_t low = number & 0xff;

	*exists = number < 0x100 || c->twins;
	for (size_t i = 0; i < GW_LACKING; i++)
		if (c->lacks[i] && c->lacks[i] == number)
			*exists = false;
	return low == 2	    ? SPACE_CR
	       : low == 3   ? SPACE_ICMD
	       : low == 0xa ? SPACE_SEMAPHORE
			    : SPACE_NONE;
}

/* An access by the address register; sets or clears its flag unless it is stuck. */
static void access_word(struct gw_state *s, const struct gw_conf *c, int32_t process)
{
	bool write = s->address & FLAG, exists, known = false;
	uint32_t address = s->address & 0x3fffffff, number = s->control & 0xffff;
	enum space space = space_of(c, number, &exists);

	s->words++;
	if (c->stuck && s->words >= c->stuck)
		return;
	s->address ^= FLAG;
	s->address &= ~FAULT;
	s->control &= ~0x0f000000U;
	if (c->syndrome_at && s->words == c->syndrome_at) {
		s->address |= FAULT;
		s->control |= c->syndrome << 24;
		return;
	}
	if (exists && !(c->moved && number < 0x100)) {
		if (space == SPACE_CR)
			known = cr_word(s, c, write, address);
		else if (space == SPACE_ICMD)
			known = icmd_word(s, c, process, write, address);
		else if (space == SPACE_SEMAPHORE)
			known = semaphore_word(s, c, process, write, address);
	}
	if (known)
		return;
	s->address |= FAULT;
	s->control |= 3U << 24;
}

/* ---- the gateway's registers ---- */

static bool is_holder(struct gw_state *s, int32_t process, unsigned int at)
{
	if (s->holder == process)
		return true;
	violation(s, "register +0x%x is used without the semaphore", at - AT);
	return false;
}

/* Another tool takes the semaphore first. */
static bool steal(struct gw_state *s, const struct gw_conf *c)
{
	if (s->steals >= c->stolen)
		return false;
	s->steals++;
	s->semaphore = FOREIGN;
	s->holder = -2;
	s->locks = 0;
	return true;
}

/* The command interface is free again: the last word of a command was written. */
static void note_end(struct gw_state *s)
{
	uint32_t n = s->commands - 1;

	if (n < GW_ENDS && !s->icmd_semaphore && !s->end[n].accesses)
		s->end[n] = (struct gw_count){s->accesses, s->words, s->selections};
}

static void semaphore_write(
	struct gw_state *s, const struct gw_conf *c, int32_t process, uint32_t value)
{
	int32_t *reader = &s->reader[value % GW_TICKETS];
	const bool is_old = value <= s->counter && s->counter - value >= GW_TICKETS;

	if (!value) {
		if (s->semaphore && s->holder != process && !is_dead(s->holder))
			violation(s, "the semaphore of %d is released by %d", s->holder, process);
		s->semaphore = 0;
		s->holder = 0;
		s->selected = 0;
		note_end(s);
		return;
	}
	/* A ticket is for one attempt. Who read it is remembered for the last ones only. */
	if (!is_old && (*reader != process || value > s->counter))
		violation(s, "0x%x is no ticket of this process", value);
	if (!is_old)
		*reader = 0;
	if (s->semaphore || steal(s, c))
		return;
	s->semaphore = value;
	s->holder = process;
	s->selected = 0;
	s->was_reset = 0;
}

static uint32_t semaphore_read(struct gw_state *s, const struct gw_conf *c)
{
	uint32_t value = s->semaphore;
	bool foreign = s->holder == -1 && c->held_reads && ++s->locks >= c->held_reads;
	bool thief = s->holder == -2 && ++s->locks >= 3;

	if (foreign || thief)
		s->semaphore = 0, s->holder = 0;
	return value;
}

/* While the device does not respond, writes are lost. */
static bool is_away(const struct gw_state *s, const struct gw_conf *c)
{
	return s->was_gone ||
	       (c->blink && s->accesses >= c->blink && s->accesses < c->blink + BLINK);
}

/* Another tool takes a free semaphore. */
static void intrude(struct gw_state *s, const struct gw_conf *c)
{
	if (c->taken && s->accesses >= c->taken && !s->was_taken && !s->semaphore) {
		s->semaphore = FOREIGN;
		s->holder = -1;
		s->was_taken = 1;
	}
	if (c->icmd_taken && s->accesses >= c->icmd_taken && !s->icmd_was_taken &&
		!s->icmd_semaphore) {
		s->icmd_semaphore = c->icmd_pid;
		s->icmd_holder = -1;
		s->icmd_was_taken = 1;
	}
}

/* What happens at an access by its number; *rc: what it returns instead, ALL_BITS: nothing. */
static bool strikes(struct gw_state *s, const struct gw_conf *c, int *rc)
{
	if (!s->started)
		start(s, c);
	s->accesses++;
	intrude(s, c);
	*rc = 0;
	if (c->fault && s->accesses == c->fault)
		*rc = EIO;
	if (c->reset && s->accesses == c->reset)
		reset(s);
	if (c->reset && s->accesses == c->reset && c->retaken)
		s->semaphore = FOREIGN, s->holder = -1;
	if (c->gone && s->accesses >= c->gone)
		s->was_gone = 1;
	return *rc != 0;
}

int gw_read(struct gw_state *s, const struct gw_conf *c, int32_t process, unsigned int at,
	uint32_t *value)
{
	uint8_t bytes[GW_CONFIG];
	int rc;

	*value = ALL_BITS;
	if (strikes(s, c, &rc))
		return rc;
	if (c->brief && at >= 64)
		return -1;
	if (is_away(s, c))
		return 0;
	if (c->present && at == R_COUNTER) {
		*value = ++s->counter;
		s->reader[*value % GW_TICKETS] = process;
	} else if (c->present && at == R_SEMAPHORE) {
		*value = semaphore_read(s, c);
	} else if (c->present && at >= R_CONTROL && at <= R_DATA) {
		is_holder(s, process, at);
		*value = at == R_CONTROL ? s->control : at == R_ADDRESS ? s->address : s->data;
	} else if (at + 4 <= GW_CONFIG) {
		gw_config_bytes(c, 0, bytes);
		memcpy(value, bytes + at, 4);
	}
	return c->late && s->accesses == c->late ? EIO : 0;
}

static void control_write(struct gw_state *s, const struct gw_conf *c, uint32_t value)
{
	bool exists;

	space_of(c, value & 0xffff, &exists);
	s->selections++;
	if (c->vanishes && s->selections >= c->vanishes)
		exists = false;
	/* The status of a space that does not exist is 0. */
	s->control = (value & 0xffff) | (exists ? 1U << 29 : 0);
	s->selected = 1;
}

int gw_write(struct gw_state *s, const struct gw_conf *c, int32_t process, unsigned int at,
	uint32_t value)
{
	int rc;

	if (c->readonly)
		return EPERM;
	if (strikes(s, c, &rc))
		return rc;
	if (c->locked && s->accesses >= c->locked)
		return EPERM;
	if (is_away(s, c))
		return 0;
	rc = c->late && s->accesses == c->late ? EIO : 0;
	if (c->present && at == R_SEMAPHORE) {
		semaphore_write(s, c, process, value);
	} else if (c->present && (at == R_CONTROL || at == R_ADDRESS || at == R_DATA)) {
		if (!is_holder(s, process, at))
			return rc;
		if (at == R_CONTROL)
			control_write(s, c, value);
		else if (at == R_DATA)
			s->data = value;
		else if (s->selected) {
			s->address = value;
			access_word(s, c, process);
		} else {
			violation(s, "an access without selecting a space");
		}
	} else {
		violation(s, "configuration space is written at 0x%x", at);
	}
	return rc;
}

void gw_qp_gone(struct gw_state *s, const struct gw_conf *c, uint32_t qpn)
{
	for (int p = 0; p < GW_PORTS; p++)
		for (int i = 0; i < 2; i++)
			if (s->rule[p][i].attached && s->rule[p][i].qpn == qpn && !c->keeps)
				violation(s,
					"queue pair 0x%x is destroyed while frames are copied to "
					"it",
					qpn);
}

bool gw_copies(const struct gw_state *s, unsigned int port, unsigned int direction, uint32_t qpn)
{
	const struct gw_rule *r = &s->rule[port - 1][direction];

	return r->attached && r->qpn == qpn;
}
