/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Addresses of the interface. In its own space: control 0x0 (bit 0 go and busy, bit 1 mailbox
 * elsewhere, 15:8 status, 31:16 opcode), longest mailbox 0x1000, syndrome 0x1008, mailbox 0x100000.
 * In the space of semaphores: 0x0, which keeps the process id that is written to it while it is
 * free.
 */
#include "port_sniffer_mlx5.h"
#include <rdmadump/array.h>
#include <rdmadump/log.h>
#include <stdio.h>
#include <string.h>

#define CONTROL	    0x0
#define MAILBOX_MAX 0x1000
#define SYNDROME    0x1008
#define MAILBOX	    0x100000
#define SEMAPHORE   0x0

#define GO	     0x1U
#define ELSEWHERE    0x2U
#define STATUS_SHIFT 8
#define OPCODE_SHIFT 16
#define NOT_READY    0x80000000U
#define UNLOCK_VALUE 0xbadc0ffeU

#define TAKE_TRIES    256 /* with pauses of 20 ms: 5 s */
#define TAKE_US	      20000
#define ORPHAN_TRIES  25  /* tries after which an unchanged process id is stale */
#define BUSY_TRIES    500 /* with pauses of 10 ms, 5 s: a command whose process was killed */
#define BUSY_US	      10000
#define RUN_QUICK     16 /* readings with pauses of 0.1 ms, then of 8 ms: 30 s */
#define RUN_TRIES     3766
#define RELEASE_TRIES 3

static int fail(const struct icmd *icmd, struct rd_error *err, const char *todo, const char *text)
{
	return rd_fail(
		err, RD_CLASS_DEVICE, 0, todo, "firmware of %s: %s", icmd->gateway->pci, text);
}

/* --- the interface's semaphore ------------------------------------------------------------ */

static int sem_read(const struct icmd *icmd, uint32_t *holder, struct rd_error *err)
{
	return gateway_read(icmd->gateway, GATEWAY_SEMAPHORES, SEMAPHORE, holder, err);
}

static int sem_write(const struct icmd *icmd, uint32_t value, struct rd_error *err)
{
	return gateway_write(icmd->gateway, GATEWAY_SEMAPHORES, SEMAPHORE, value, err);
}

static uint32_t owner_of(const struct icmd *icmd)
{
	return (uint32_t)icmd->record->helper;
}

static bool is_orphan(const struct icmd *icmd, uint32_t holder)
{
	return holder &&
	       RD_ANY(pid, icmd->record->orphans, SNIFFER_ORPHANS, holder == (uint32_t)*pid);
}

/* This process holds the semaphore, so no killed process does. */
static void forget_orphans(const struct icmd *icmd)
{
	memset(icmd->record->orphans, 0, sizeof(icmd->record->orphans));
	sniffer_record_write(icmd->record);
}

static int release_orphan(const struct icmd *icmd, uint32_t orphan, struct rd_error *err)
{
	if (sem_write(icmd, 0, err) < 0)
		return -1;
	rd_log(RD_LOG_WARNING,
		"firmware of %s: released the command interface's semaphore that a killed capture "
		"held (process %u)",
		icmd->gateway->pci, orphan);
	return 0;
}

/* After a reset of the adapter it may be free or held by another process: it is released only if it
 * is still held by this one. */
static int release_once(const struct icmd *icmd, struct rd_error *err)
{
	uint32_t holder;

	if (sem_read(icmd, &holder, err) < 0)
		return -1;
	if (holder != owner_of(icmd))
		return 0;
	if (sem_write(icmd, 0, err) < 0 || sem_read(icmd, &holder, err) < 0)
		return -1;
	return holder != owner_of(icmd)
		       ? 0
		       : fail(icmd, err, "see the kernel's log (dmesg), or reset the adapter",
				 "the command interface's semaphore is not released");
}

static int release(struct icmd *icmd, struct rd_error *err)
{
	for (unsigned int i = 0; i < RELEASE_TRIES && icmd->held; i++)
		icmd->held = release_once(icmd, err) < 0;
	return icmd->held ? -1 : 0;
}

static int fail_taken(const struct icmd *icmd, uint32_t holder, struct rd_error *err)
{
	char text[128], todo[200];

	snprintf(text, sizeof(text),
		holder == owner_of(icmd)
			? "the command interface has been in use for 5 s, by a "
			  "process of another host or container (%u)"
			: "the command interface has been in use for 5 s, by process "
			  "%u",
		holder);
	snprintf(todo, sizeof(todo),
		"end that program, or wait for it; if there is no such process here, it may be "
		"another host's, or was killed: resetting the adapter frees it (mlxfwreset -d %s "
		"reset)",
		icmd->gateway->pci);
	return fail(icmd, err, todo, text);
}

/*
 * The semaphore keeps the first process id that is written. It is written where it was free only:
 * another host's process, or one in a container, may have the same number as this one.
 */
static int try_to_take(struct icmd *icmd, uint32_t *holder, struct rd_error *err)
{
	struct rd_error later;

	if (sem_read(icmd, holder, err) < 0)
		return -1;
	if (*holder)
		return 0;
	icmd->held = true;
	if (sem_write(icmd, owner_of(icmd), err) < 0 || sem_read(icmd, holder, err) < 0) {
		/* It may have been taken all the same. */
		release(icmd, &later);
		return -1;
	}
	icmd->held = *holder == owner_of(icmd);
	return 0;
}

static int take(struct icmd *icmd, struct rd_error *err)
{
	unsigned int same = 0;
	uint32_t holder = 0;

	/* An earlier command may have failed to release it. */
	if (icmd->held && release(icmd, err) < 0)
		return -1;
	for (unsigned int i = 0; i < TAKE_TRIES; i++) {
		if (try_to_take(icmd, &holder, err) < 0)
			return -1;
		if (icmd->held) {
			if (icmd->record->orphans[0])
				forget_orphans(icmd);
			return 0;
		}
		same = is_orphan(icmd, holder) ? same + 1 : 0;
		if (same == ORPHAN_TRIES && release_orphan(icmd, holder, err) < 0)
			return -1;
		pci_config_pause(TAKE_US);
	}
	return fail_taken(icmd, holder, err);
}

/* --- a command ---------------------------------------------------------------------------- */

static int icmd_read(
	const struct icmd *icmd, uint32_t address, uint32_t *value, struct rd_error *err)
{
	return gateway_read(icmd->gateway, GATEWAY_ICMD, address, value, err);
}

static int icmd_write(
	const struct icmd *icmd, uint32_t address, uint32_t value, struct rd_error *err)
{
	return gateway_write(icmd->gateway, GATEWAY_ICMD, address, value, err);
}

static int check_ready(const struct icmd *icmd, struct rd_error *err)
{
	uint32_t word;

	if (gateway_read(icmd->gateway, GATEWAY_REGISTERS, icmd->not_ready, &word, err) < 0)
		return -1;
	if (!(word & NOT_READY))
		return 0;
	return fail(icmd, err,
		"wait until the adapter has started; if that does not help, load the driver again",
		"it is not ready for commands");
}

static int fail_hangs(struct icmd *icmd, const char *text, struct rd_error *err)
{
	icmd->hangs = true;
	return fail(icmd, err,
		"the firmware may hang: see the kernel's log (dmesg), and reset the adapter", text);
}

/* No other process holds the interface: it can be busy only with an abandoned command. */
static int wait_idle(struct icmd *icmd, uint32_t *control, struct rd_error *err)
{
	for (unsigned int i = 0; i < BUSY_TRIES; i++) {
		if (icmd_read(icmd, CONTROL, control, err) < 0)
			return -1;
		if (!(*control & GO)) {
			icmd->hangs = false;
			return 0;
		}
		pci_config_pause(BUSY_US);
	}
	if (icmd->hangs)
		return fail_hangs(icmd, "an earlier command has not ended yet", err);
	return fail(icmd, err,
		"another tool's command does not end: load the driver again, or reset the adapter",
		"the command interface is busy with an earlier command");
}

/* A reset frees the interface and clears what was written: another process may have it by now. */
static int check_held(const struct icmd *icmd, struct rd_error *err)
{
	uint32_t holder;

	if (sem_read(icmd, &holder, err) < 0)
		return -1;
	if (holder == owner_of(icmd))
		return 0;
	return fail(icmd, err, "start again when the port is active",
		"the adapter was reset while it executed the command");
}

static int start(struct icmd *icmd, uint16_t opcode, const uint32_t *mailbox, unsigned int words,
	struct rd_error *locked, struct rd_error *err)
{
	uint32_t control, most;

	if (wait_idle(icmd, &control, err) < 0 || icmd_read(icmd, MAILBOX_MAX, &most, err) < 0)
		return -1;
	if (most < words * sizeof(*mailbox))
		return fail(icmd, err, "update the firmware, or mirror the port on the switch",
			"the command interface takes no command of this length");
	/* No earlier command runs that could enable the protection again. */
	gateway_write(icmd->gateway, GATEWAY_REGISTERS, icmd->unlock, UNLOCK_VALUE, locked);
	control = (control & 0xffffU & ~ELSEWHERE) | (uint32_t)opcode << OPCODE_SHIFT;
	if (icmd_write(icmd, CONTROL, control, err) < 0)
		return -1;
	for (unsigned int i = 0; i < words; i++)
		if (icmd_write(icmd, MAILBOX + i * (uint32_t)sizeof(*mailbox), mailbox[i], err) < 0)
			return -1;
	if (check_held(icmd, err) < 0)
		return -1;
	return icmd_write(icmd, CONTROL, control | GO, err);
}

static int wait_done(struct icmd *icmd, uint32_t *control, struct rd_error *err)
{
	for (unsigned int i = 0; i < RUN_TRIES; i++) {
		if (icmd_read(icmd, CONTROL, control, err) < 0)
			return -1;
		if (!(*control & GO))
			return 0;
		pci_config_pause(i < RUN_QUICK ? 100 : 8000);
	}
	return fail_hangs(icmd, "the command did not end within 30 s", err);
}

static const struct {
	const char *text, *todo;
} refusals[] = {
	[ICMD_INVALID_OPCODE] = {"does not know the command",
		"update the firmware, or mirror the port on the switch"},
	[ICMD_INVALID_COMMAND] = {"does not accept the command",
		"update the firmware, or mirror the port on the switch"},
	[ICMD_OPERATIONAL_ERROR] = {"could not execute the command",
		"end other programs that capture on this port (ibdump), or see docs/infiniband.md"},
	[ICMD_BAD_PARAMETER] = {"refuses port or queue pair",
		"report this with the firmware's version ('rdmadump info')"},
	[ICMD_BUSY] = {"is busy", "try again"},
	[ICMD_NO_MEMORY] = {"has no memory from the driver", "load the driver again"},
	[ICMD_WRITE_PROTECTED] = {"protects itself from this command",
		"it may be locked for the host (secure firmware): mirror the port on the switch"},
};

static int fail_refused(const struct icmd *icmd, unsigned int status, struct rd_error *err)
{
	static const unsigned int known = RD_COUNT(refusals);
	struct rd_error ignored;
	uint32_t syndrome = 0;
	char text[128];

	icmd_read(icmd, SYNDROME, &syndrome, &ignored);
	snprintf(text, sizeof(text), "it %s (status 0x%x, syndrome 0x%x)",
		status < known ? refusals[status].text : "refuses the command", status,
		syndrome & 0xffffff);
	return fail(icmd, err,
		status < known ? refusals[status].todo
			       : "report this with the firmware's version ('rdmadump info')",
		text);
}

static int run(struct icmd *icmd, uint16_t opcode, const uint32_t *mailbox, unsigned int words,
	enum icmd_status *status, struct rd_error *err)
{
	struct rd_error locked = {0};
	uint32_t control;
	unsigned int answer;

	if (start(icmd, opcode, mailbox, words, &locked, err) < 0 ||
		wait_done(icmd, &control, err) < 0)
		return -1;
	/* A reset clears the register, which would look like success; so may the firmware. */
	if (control >> OPCODE_SHIFT != opcode && check_held(icmd, err) < 0)
		return -1;
	answer = control >> STATUS_SHIFT & 0xff;
	*status = (enum icmd_status)answer;
	if (answer == ICMD_OK)
		return 0;
	fail_refused(icmd, answer, err);
	if (answer == ICMD_WRITE_PROTECTED && locked.text[0])
		*err = locked;
	return -1;
}

int icmd_run(struct icmd *icmd, uint16_t opcode, const uint32_t *mailbox, unsigned int words,
	enum icmd_status *status, struct rd_error *err)
{
	struct rd_error later = {0};
	int rc;

	*status = ICMD_NOT_RUN;
	if (check_ready(icmd, err) < 0 || take(icmd, err) < 0)
		return -1;
	rc = run(icmd, opcode, mailbox, words, status, err);
	if (release(icmd, &later) == 0 || rc < 0)
		return rc;
	*err = later;
	return -1;
}

int icmd_close(struct icmd *icmd, struct rd_error *err)
{
	return icmd->held ? release(icmd, err) : 0;
}
