/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Judges the accesses to configuration space that the port sniffer makes, one by one, by the rules
 * of the registers and nothing else. The device here is plain memory with the registers' own
 * behaviour; it judges nothing, and shares no code with the model of tests/softhca.
 */
#include "device/pci_config.h"
#include "device/port_sniffer_mlx5.h"
#include "test.h"
#include <rdmadump/log.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum {
	CAP = 0x80,
	CTRL = CAP + 4,
	TICKET = CAP + 8,
	SEM = CAP + 12,
	ADDR = CAP + 16,
	DATA = CAP + 20
};
enum { SPACE_CR = 2, SPACE_ICMD = 3, SPACE_SEM = 0xa, TWIN = 0x100 };

#define BIT31	 0x80000000U
#define BIT30	 0x40000000U
#define TRACE	 20000
#define QPN	 0xabcdef
#define PORT	 2
#define KILLED	 9
#define COMMANDS 32

/* --- the device --------------------------------------------------------------------------- */

struct access {
	bool write, failed;
	unsigned int at;
	uint32_t value;
};

static struct shared {
	uint32_t ctrl, ticket, sem, addr, data;	    /* the gateway */
	uint32_t icmd_sem, control, mailbox[4];	    /* the command interface */
	uint32_t commands[COMMANDS][4], n_commands; /* that were started */
	struct sniffer_record record;
	struct access trace[TRACE];
	unsigned int n;
} * dev;

static struct {
	uint16_t chip;
	bool first_empty; /* addresses are in the second spaces only */
	bool second_absent;
	unsigned int fault_at, kill_at, slow; /* slow: readings of ADDR until a word is there */
} how;

static unsigned int pending;
static bool pending_write;

static uint32_t *word_of(uint32_t space, uint32_t address)
{
	static uint32_t constant;

	constant = 0;
	if (how.first_empty && space < TWIN)
		return NULL;
	switch (space & 0xff) {
	case SPACE_CR:
		constant = address == 0xf0014 ? 0x5a000000U | how.chip : 0;
		return &constant;
	case SPACE_SEM:
		return address ? NULL : &dev->icmd_sem;
	case SPACE_ICMD:
		constant = address == 0x1000 ? 0x340 : 0;
		return address == 0 ? &dev->control
		       : address >= 0x100000 && address < 0x100010
			       ? &dev->mailbox[(address - 0x100000) / 4]
			       : &constant;
	default:
		return NULL;
	}
}

static void run_access(void)
{
	uint32_t *word = word_of(dev->ctrl & 0xffff, dev->addr & 0x3fffffff);

	dev->addr = (dev->addr & ~BIT30) ^ BIT31;
	dev->ctrl &= ~0x0f000000U;
	if (!word) {
		dev->addr |= BIT30;
		dev->ctrl |= 3U << 24;
	} else if (!pending_write) {
		dev->data = *word;
	} else if (word == &dev->icmd_sem && *word && dev->data) {
		/* It keeps the first one. */
	} else {
		*word = dev->data;
	}
	if (word != &dev->control || !pending_write || !(dev->control & 1))
		return;
	if (dev->n_commands < COMMANDS)
		memcpy(dev->commands[dev->n_commands++], dev->mailbox, sizeof(dev->mailbox));
	dev->control &= 0xffff0002U;
}

static void set_ctrl(uint32_t value)
{
	uint32_t low = value & 0xff;
	bool known = low == SPACE_CR || low == SPACE_ICMD || low == SPACE_SEM;
	bool twin = value & TWIN;

	/* Other bits keep what they had: here 0x00a5 in the middle. */
	dev->ctrl = (value & 0xffff) | 0x00a50000U |
		    (known && !(twin && how.second_absent) ? 1U << 29 : 0);
}

static void note(bool write, unsigned int at, uint32_t value, bool failed)
{
	if (dev->n < TRACE)
		dev->trace[dev->n++] = (struct access){write, failed, at, value};
}

static unsigned int accesses;

static bool fails(void)
{
	accesses++;
	if (accesses == how.kill_at)
		_exit(KILLED);
	return accesses == how.fault_at;
}

static uint32_t config_word(unsigned int at)
{
	static const uint32_t list[][2] = {
		{0x34, 0x40}, {0x40, 0x00005010}, {0x50, 0x01008009}, {CAP, 0x00000009}};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (list[i][0] == at)
			return list[i][1];
	return 0x101715b3;
}

int __wrap_pci_config_read(int fd, unsigned int at, uint32_t *value)
{
	bool failed = fails();

	if (at == ADDR && pending && --pending == 0)
		run_access();
	*value = at == CTRL	? dev->ctrl
		 : at == TICKET ? ++dev->ticket
		 : at == SEM	? dev->sem
		 : at == ADDR	? dev->addr
		 : at == DATA	? dev->data
				: config_word(at);
	note(false, at, *value, failed);
	return failed ? EIO : 0;
}

int __wrap_pci_config_write(int fd, unsigned int at, uint32_t value)
{
	bool failed = fails();

	note(true, at, value, failed);
	if (failed)
		return EIO;
	if (at == CTRL)
		set_ctrl(value);
	else if (at == SEM)
		dev->sem = value && dev->sem ? dev->sem : value;
	else if (at == DATA)
		dev->data = value;
	else if (at == ADDR)
		dev->addr = value, pending_write = value & BIT31, pending = how.slow + 1;
	return 0;
}

void __wrap_pci_config_pause(unsigned int us)
{
}

int __wrap_sniffer_record_write(const struct sniffer_record *r)
{
	dev->record = *r;
	return 0;
}

/* --- the judge: one pass over the accesses ------------------------------------------------ */

struct judge {
	const struct access *a;
	unsigned int i, n;
	bool held, selected, data_written;
	uint32_t ticket, space;
	uint32_t orphan;    /* a ticket that a killed process held */
	unsigned int busy;  /* readings of a semaphore that another one holds */
	unsigned int sem;   /* of the command interface: 0 free, 1 written, 2 ours */
	uint32_t sem_seen;  /* what the word before this one read of it; 1: nothing */
	uint32_t pid, dead; /* own process; the killed one */
	bool idle, wrote_opcode;
	unsigned int mailbox;
	unsigned int violations;
	bool quiet;
};

static void bad(struct judge *j, const char *rule)
{
	const struct access *a = &j->a[j->i];

	j->violations++;
	if (!j->quiet)
		print_error("access %u, %s 0x%x of +0x%x: %s\n", j->i, a->write ? "write" : "read",
			a->value, a->at - CAP, rule);
}

#define MUST(j, condition)                                                                         \
	do {                                                                                       \
		if (!(condition))                                                                  \
			bad(j, #condition);                                                        \
	} while (0)

/* What the words of the spaces allow. Of a word that is read, `value` is what was there. */
static void judge_word(struct judge *j, bool write, uint32_t address, uint32_t value)
{
	const uint32_t unlock = how.chip >= 0x21e ? 0x1a023f0 : 0x23f0;
	const uint32_t ready = how.chip >= 0x21e ? 0xa0304 : 0xb5e04;
	const uint32_t seen = j->sem_seen;
	bool ours = j->sem == 2;

	j->sem_seen = 1;
	switch (j->space & 0xff) {
	case SPACE_CR:
		if (write)
			MUST(j, address == unlock && value == 0xbadc0ffeU);
		else
			MUST(j, address == 0xf0014 || address == ready);
		break;
	case SPACE_SEM:
		MUST(j, address == 0);
		if (write && value) {
			/* It is another's if our number is there already. */
			MUST(j, value == j->pid && seen == 0);
			j->sem = 1;
		} else if (write) {
			MUST(j, j->sem != 0 || (j->dead && seen == j->dead));
			j->sem = 0;
		} else {
			j->sem = value == j->pid ? 2 : j->sem == 2 ? 0 : j->sem;
			j->sem_seen = value;
		}
		/* A reading that shows it to be ours changes nothing. */
		if (write || j->sem != 2)
			j->idle = j->wrote_opcode = false;
		break;
	case SPACE_ICMD:
		if (!write && address == 0) {
			j->idle = !(value & 1);
		} else if (!write) {
			MUST(j, address == 0x1000 || address == 0x1008);
		} else if (address == 0 && !(value & 1)) {
			MUST(j, ours && j->idle && value >> 16 == 0xc002 && !(value & 2));
			j->wrote_opcode = true;
			j->mailbox = 0;
		} else if (address == 0) {
			MUST(j, ours && j->idle && j->wrote_opcode && j->mailbox == 4 &&
					value >> 16 == 0xc002 && !(value & 2));
			j->wrote_opcode = false;
		} else {
			MUST(j, ours && j->wrote_opcode && j->mailbox < 4 &&
					address == 0x100000 + 4 * j->mailbox);
			j->mailbox++;
		}
		break;
	default:
		bad(j, "a space that is not known");
	}
}

/* The address register was written: follows the poll, and the word that was read. */
static void judge_access(struct judge *j)
{
	uint32_t address = j->a[j->i].value;
	bool write = address & BIT31;
	uint32_t data = 0, complete = write ? 0 : BIT31;
	unsigned int k = j->i + 1;

	MUST(j, j->held && j->selected && !(address & BIT30));
	MUST(j, !write || j->data_written);
	for (unsigned int m = j->i; write && m-- > 0;)
		if (j->a[m].write && j->a[m].at == DATA) {
			data = j->a[m].value;
			break;
		}
	for (; k < j->n && j->a[k].at == ADDR && !j->a[k].failed; k++)
		if ((j->a[k].value & BIT31) == complete)
			break;
	j->data_written = false;
	if (k >= j->n || j->a[k].at != ADDR || j->a[k].failed || j->a[k].value & BIT30)
		return;
	if (!write && k + 1 < j->n && j->a[k + 1].at == DATA && !j->a[k + 1].failed)
		judge_word(j, false, address & 0x3fffffff, j->a[k + 1].value);
	else if (write)
		judge_word(j, true, address & 0x3fffffff, data);
}

static bool reads(const struct judge *j, unsigned int back, unsigned int at)
{
	return j->i >= back && !j->a[j->i - back].write && j->a[j->i - back].at == at;
}

static void judge_write(struct judge *j)
{
	const struct access *a = &j->a[j->i];

	if (a->at == SEM && a->value) {
		/* Free, then a fresh ticket, which is what is written. */
		MUST(j, reads(j, 1, TICKET) && j->a[j->i - 1].value == a->value);
		MUST(j, reads(j, 2, SEM) && j->a[j->i - 2].value == 0);
		j->ticket = a->value;
	} else if (a->at == SEM) {
		/* Only what was seen to be there, our ticket or that of a killed one. */
		MUST(j, reads(j, 1, SEM));
		/* Ours is seen to be released. */
		MUST(j, a->failed || j->a[j->i - 1].value != j->ticket || j->i + 1 >= j->n ||
				(!a[1].write && a[1].at == SEM));
		MUST(j, (j->ticket && j->a[j->i - 1].value == j->ticket) ||
				(j->orphan && j->a[j->i - 1].value == j->orphan && j->busy >= 100));
		j->held = j->selected = a->failed && j->held;
	} else if (a->at == CTRL) {
		/* Only the space's number changes. */
		MUST(j, j->held && reads(j, 1, CTRL));
		MUST(j, (a->value & ~0xffffU) == (j->a[j->i - 1].value & ~0xffffU));
		j->space = a->value & 0xffff;
		j->selected = false;
	} else if (a->at == DATA) {
		MUST(j, j->held && j->selected);
		j->data_written = true;
	} else if (a->at == ADDR) {
		judge_access(j);
	} else {
		bad(j, "a register that must not be written");
	}
}

static void judge_read(struct judge *j)
{
	const struct access *a = &j->a[j->i];

	if (a->failed)
		return;
	if (a->at == SEM) {
		bool mine = j->ticket && a->value == j->ticket;

		j->busy = !a->value || mine ? 0 : j->busy + 1;
		j->held = mine;
	} else if (a->at == CTRL) {
		MUST(j, j->held);
		j->selected = (a->value & 0xffff) == j->space && a->value >> 29;
	} else if (a->at == ADDR || a->at == DATA) {
		MUST(j, j->held);
	}
}

/* Of one process, from `first`. Returns how many rules were broken. */
static unsigned int judge_all(
	unsigned int first, uint32_t pid, uint32_t orphan, uint32_t dead, bool quiet)
{
	struct judge j = {.a = dev->trace + first,
		.n = dev->n - first,
		.pid = pid,
		.orphan = orphan,
		.dead = dead,
		.quiet = quiet};

	for (; j.i < j.n; j.i++) {
		if (j.a[j.i].write)
			judge_write(&j);
		else
			judge_read(&j);
	}
	return j.violations;
}

static void judge_trace(unsigned int first, uint32_t pid, uint32_t orphan, uint32_t dead)
{
	assert_in_range(dev->n, 1, TRACE - 1);
	assert_int_equal(judge_all(first, pid, orphan, dead, false), 0);
}

/* --- a capture ---------------------------------------------------------------------------- */

static const struct rd_device cx5 = {
	.name = "mlx5_0", .pci = "0000:3b:00.0", .driver = "mlx5_core", .part_id = 0x1017};
static const struct rd_device cx8 = {
	.name = "mlx5_0", .pci = "0000:3b:00.0", .driver = "mlx5_core", .part_id = 0x1023};

static int setup(void **state)
{
	dev = mmap(NULL, sizeof(*dev), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return dev == MAP_FAILED;
}

static void drop_log(void *ctx, enum rd_level level, const char *line)
{
}

static void begin(uint16_t chip)
{
	memset(dev, 0, sizeof(*dev));
	memset(&how, 0, sizeof(how));
	/* The first ticket is 0, which is none; an earlier command had its mailbox elsewhere. */
	dev->ticket = UINT32_MAX;
	dev->control = 2;
	how.chip = chip;
	how.second_absent = chip < 0x21e;
	accesses = pending = 0;
	rd_log_to(drop_log, NULL, RD_LOG_WARNING);
}

static bool capture(void)
{
	const struct sniffer_record left = dev->record;
	struct mlx5_sniffer s = {.record = {.fd = -1, .capture = 1}};
	bool ok;

	sniffer_record_inherit(&s.record, &left, getpid());
	ok = mlx5_sniffer_open(&s, how.chip < 0x21e ? &cx5 : &cx8, -1, PORT, &failure) == 0 &&
	     mlx5_sniffer_attach(&s, QPN, RD_SNIFF_BOTH, &failure) == 0;
	for (int i = 0; i < 3; i++)
		if (mlx5_sniffer_detach(&s, &failure) == 0)
			return ok;
	return false;
}

static void assert_free(void)
{
	expect("0 0", dev->sem, dev->icmd_sem);
}

/* {gvmi, attach << 16 | received, port << 24, QP}: detached, attached, detached; sent first. */
static void assert_commands(void)
{
	static const uint32_t second[6] = {0, 1, 0x10000, 0x10001, 0, 1};

	assert_int_equal(dev->n_commands, 6);
	for (int i = 0; i < 6; i++) {
		same(dev->commands[i][0], 0, dev->commands[i][1], second[i], dev->commands[i][2],
			(uint32_t)PORT << 24);
		if (i >= 2)
			assert_int_equal(dev->commands[i][3], QPN);
	}
}

TEST(accesses)
{
	static const struct {
		uint16_t chip;
		bool first_empty;
		unsigned int slow;
	} cases[] = {{0x20d, false, 0}, {0x20d, false, 40}, {0x21e, false, 0}, {0x21e, true, 0},
		{0x21e, true, 3}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(cases[i].chip);
		how.first_empty = cases[i].first_empty;
		how.slow = cases[i].slow;
		assert_true(capture());
		judge_trace(0, (uint32_t)getpid(), 0, 0);
		assert_commands();
		assert_free();
	}
}

/* Whatever access fails, the following ones keep to the rules, and all is released. */
TEST(faults)
{
	unsigned int n;

	begin(0x20d);
	assert_true(capture());
	n = accesses;
	for (unsigned int i = 1; i <= n; i++) {
		begin(0x20d);
		how.fault_at = i;
		capture();
		judge_trace(0, (uint32_t)getpid(), 0, 0);
		assert_free();
	}
}

static int run_child(unsigned int kill_at)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		how.kill_at = kill_at;
		accesses = 0;
		_exit(!capture());
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	if (kill_at)
		assert_int_equal(WEXITSTATUS(status), KILLED);
	else
		assert_int_equal(WEXITSTATUS(status), 0);
	return pid;
}

/* Killed before each access; the next process releases what is held, and only that. */
TEST(kills)
{
	unsigned int n, first;
	uint32_t orphan, dead;
	int pid;

	begin(0x20d);
	assert_true(capture());
	n = accesses;
	for (unsigned int i = 1; i <= n; i++) {
		begin(0x20d);
		pid = run_child(i);
		if (dev->n)
			judge_trace(0, (uint32_t)pid, 0, 0);
		first = dev->n;
		orphan = dev->sem;
		dead = (uint32_t)pid;
		pid = run_child(0);
		judge_trace(first, (uint32_t)pid, orphan, dead);
		assert_free();
	}
}

/* The judge itself: each rule broken once is found. */
TEST(judge)
{
	static const struct access broken[][4] = {
		{{true, false, SEM, 5}},			 /* no ticket */
		{{false, false, SEM, 7}, {true, false, SEM, 0}}, /* another's */
		{{false, false, CTRL, 0}},			 /* without the semaphore */
		{{true, false, ADDR, 0xf0014}},			 /* no space selected */
		{{true, false, 0x40, 1}},			 /* another capability */
	};

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		begin(0x20d);
		memcpy(dev->trace, broken[i], sizeof(broken[i]));
		while (dev->n < 4 && broken[i][dev->n].at)
			dev->n++;
		assert_true(judge_all(0, 1, 0, 0, true) > 0);
	}
}

/* Of a trace that keeps to the rules, most accesses to the gateway cannot be left out. */
TEST(judge_sees_all)
{
	struct access kept[TRACE];
	unsigned int n, seen = 0, all = 0;

	begin(0x20d);
	assert_true(capture());
	n = dev->n;
	memcpy(kept, dev->trace, n * sizeof(*kept));
	for (unsigned int i = 0; i < n; i++) {
		if (kept[i].at < CAP)
			continue;
		memcpy(dev->trace, kept, i * sizeof(*kept));
		memcpy(dev->trace + i, kept + i + 1, (n - i - 1) * sizeof(*kept));
		dev->n = n - 1;
		all++;
		seen += judge_all(0, (uint32_t)getpid(), 0, 0, true) > 0;
	}
	/* Of two readings of a free semaphore, the one after a release and the one before the next
	 * access, either can. */
	assert_true(seen * 10 > all * 6);
}

ALL_TESTS_WITH(setup, NULL)
