/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command gateway and the port sniffer over the model's state machine: every fault at every
 * access, and a process that is killed at every access. Whatever happens, no semaphore is held
 * afterwards, nothing is attached, and the model has no violation of the protocol to report.
 */
#include "../softhca/gateway.h"
#include "device/port_sniffer_mlx5.h"
#include "test.h"
#include <rdmadump/log.h>
#include <sys/prctl.h>

#define QPN	   0x123
#define PORT	   1
#define ACCESS_MAX 4000

/* What outlives a killed process. */
static struct {
	struct gw_state state;
	struct sniffer_record record;
} shared;

static struct gw_conf conf;
/* The process that makes an access. No process has such an id: one that was killed does not exist,
 * and none has to be forked. */
static int32_t self = 0x7f000000;
static jmp_buf killed;
static const struct rd_device device = {
	.name = "mlx5_0", .pci = "0000:3b:00.0", .driver = "mlx5_core", .part_id = 0x1017};
static const struct rd_device cx8 = {
	.name = "mlx5_0", .pci = "0000:3b:00.0", .driver = "mlx5_core", .part_id = 0x1023};

static uint64_t waited_us;
static unsigned int kill_at, accesses; /* kill_at 0: never */
static int record_errno;	       /* of writing the record */
static uint32_t noise, noise_rate;     /* noise 0: none; else one reading of noise_rate is random */
static char last_log[1024];

/* --- between the program and the model ------------------------------------------------------ */

/* Killed before this access: what the one before it did has happened. */
static void count_access(void)
{
	if (++accesses == kill_at)
		longjmp(killed, 1);
}

/* What a word is replaced by: numbers that mean something, and any. */
static uint32_t noise_word(uint32_t value)
{
	static const uint32_t special[] = {0, 1, 0x80000000U, 0xc0000000U, 0xfffffffeU, 9, 0xfcfc};

	noise ^= noise << 13;
	noise ^= noise >> 17;
	noise ^= noise << 5;
	if (noise % noise_rate)
		return value;
	return noise & 0x10000 ? noise : special[(noise >> 20) % 7];
}

int __wrap_pci_config_read(int fd, unsigned int at, uint32_t *value)
{
	int rc;

	count_access();
	rc = gw_read(&shared.state, &conf, self, at, value);
	if (noise)
		*value = noise_word(*value);
	return rc < 0 ? ENODATA : rc;
}

int __wrap_pci_config_write(int fd, unsigned int at, uint32_t value)
{
	count_access();
	return gw_write(&shared.state, &conf, self, at, value);
}

void __wrap_pci_config_pause(unsigned int us)
{
	waited_us += us;
}

int __wrap_sniffer_record_write(const struct sniffer_record *r)
{
	if (record_errno)
		return record_errno;
	shared.record = *r;
	return 0;
}

static void keep_log(void *ctx, enum rd_level level, const char *line)
{
	snprintf(last_log, sizeof(last_log), "%s", line);
}

/* --- a capture's use of the gateway --------------------------------------------------------- */

static char spec[64]; /* what the model does */

static void begin_with(const char *format, va_list args)
{
	vsnprintf(spec, sizeof(spec), format, args);
	memset(&shared, 0, sizeof(shared));
	conf = (struct gw_conf){.chip = 0x20d};
	assert_true(gw_conf_parse(&conf, spec));
	waited_us = 0;
	kill_at = accesses = 0;
	record_errno = 0;
	last_log[0] = '\0';
	rd_log_to(keep_log, NULL, RD_LOG_WARNING);
}

static void begin(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	begin_with(format, args);
	va_end(args);
}

static int open_as(struct mlx5_sniffer *s, const struct rd_device *d, struct rd_error *err)
{
	const struct sniffer_record left = shared.record;

	*s = (struct mlx5_sniffer){.record = {.fd = -1, .capture = 1}};
	*err = (struct rd_error){0};
	sniffer_record_inherit(&s->record, &left, self);
	return mlx5_sniffer_open(s, d, -1, PORT, err);
}

struct outcome {
	int open, attach, detach;
	struct rd_error error; /* the first one */
};

static struct outcome capture_on(const struct rd_device *d)
{
	struct outcome o = {.attach = -1, .detach = -1};
	struct mlx5_sniffer s;
	struct rd_error later = {0};

	o.open = open_as(&s, d, &o.error);
	if (o.open == 0)
		o.attach = mlx5_sniffer_attach(&s, QPN, &o.error);
	if (o.attach == 0)
		assert_int_equal(o.error.class, RD_CLASS_NONE);
	o.detach = mlx5_sniffer_detach(&s, o.attach == 0 ? &o.error : &later);
	/* As the process does it at its end: a device that works again is left clean. */
	for (int i = 0; i < 2 && o.detach < 0; i++)
		if (mlx5_sniffer_detach(&s, &later) == 0)
			break;
	return o;
}

static struct outcome capture(void)
{
	return capture_on(&device);
}

static struct outcome run(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	begin_with(format, args);
	va_end(args);
	return capture();
}

static uint32_t n_attached(void)
{
	uint32_t n = 0;

	for (int p = 0; p < GW_PORTS; p++)
		n += shared.state.rule[p][0].attached + shared.state.rule[p][1].attached;
	return n;
}

/* A process of ours holds nothing, and nothing is attached. */
static void assert_nothing_left(void)
{
	const struct gw_state *s = &shared.state;

	if (s->violations || s->holder > 0 || s->icmd_holder > 0 || n_attached())
		print_error(
			"%s, killed at %u: %u violations (%s), holder %d, icmd %d, attached %u\n",
			spec, kill_at, s->violations, s->first, s->holder, s->icmd_holder,
			n_attached());
	expect("0 1 1 0", s->violations, s->holder <= 0, s->icmd_holder <= 0, n_attached());
}

static bool succeeded(const struct outcome *o)
{
	return o->open == 0 && o->attach == 0 && o->detach == 0;
}

/* What failed, why, and what to do. */
static void assert_message(const struct rd_error *err, const char *part)
{
	assert_int_equal(err->class, RD_CLASS_DEVICE);
	assert_non_null(strstr(err->text, "0000:3b:00.0"));
	assert_non_null(strchr(err->text, ';'));
	assert_non_null(strstr(err->text, part));
	assert_true(strlen(err->text) < sizeof(err->text) - 1);
}

static bool run_killed(unsigned int nth);
static bool run_next(void);

/* --- one fault ------------------------------------------------------------------------------ */

/* A fault from the beginning on, and what the user reads. */
static const struct {
	const char *spec, *message; /* NULL: it works */
} faults[] = {
	{"yes", NULL},
	{"no", "no such capability; this function has no access"},
	{"loops", "no such capability; this function has no access"},
	{"edge", "no such capability; this function has no access"},
	{"held:100", NULL},
	{"held", "its semaphore has been held for 2 s, by ticket 0x5eed0001; another tool uses it"},
	{"held", "'setpci -s 0000:3b:00.0 cc.l=0' releases it"},
	{"stolen:5", NULL},
	{"stolen:100000", "its semaphore has been held for 2 s"},
	{"lacks:2", "does not grant space 0x2 (registers); update the firmware"},
	{"lacks:3", "does not grant space 0x3 (command interface)"},
	{"lacks:0xa", "does not grant space 0xa (semaphores)"},
	{"twins", NULL},
	{"twins+lacks:2+lacks:3+lacks:0xa", NULL},
	{"twins+lacks:2", NULL},
	{"twins+lacks:2+lacks:0x103", "does not grant space 0x2 (registers)"},
	{"moved", NULL},
	{"readonly", "Operation not permitted; kernel lockdown, as with Secure Boot"},
	{"brief",
		"No data available; the kernel shows more than 64 bytes to root of the host only"},
	{"not_ready", "it is not ready for commands; wait until the adapter has started"},
	{"small", "takes no command of this length; update the firmware"},
	{"relocks", NULL},
	{"sealed", "protects itself from this command (status 0x7, syndrome 0x5a17c0); it may be "
		   "locked for the host"},
	{"wipes", NULL},
	{"wipes+slow:5+status:4.4", "it refuses port or queue pair (status 0x4"},
	{"syndrome:5.1", "address 0xf0014 is refused, syndrome 0x5; report this"},
	{"strict", NULL},
	{"by_qpn", NULL},
	{"reversed", NULL},
	{"icmd_held:4242.20", NULL},
	{"icmd_held:4242", "in use for 5 s, by process 4242; end that program"},
	{"busy:10", NULL},
	{"busy", "busy with an earlier command; another tool's command does not end"},
	{"hangs:1", "the command did not end within 30 s; the firmware may hang"},
	{"hangs:3", "cannot attach the sniffer of sent frames of port 1: firmware of 0000:3b:00.0: "
		    "the command did not end within 30 s"},
	{"hangs:6", "cannot detach the sniffer of received frames of port 1"},
	{"slow:50", NULL},
	{"stuck:1", "no access to address 0xf0014 within 0.1 s; see the kernel's log"},
	{"gone:1", "the adapter does not respond (all bits of configuration space are 1)"},
	{"gone:200", "the adapter does not respond"},
	{"fault:1", "reading configuration space at 0x0: Input/output error"},
	{"chip:0x20f", "has chip id 0x20f, but a ConnectX-5 has 0x20d: its registers are not "
		       "known; report this"},
	{"status:1", "it does not know the command (status 0x1"},
	{"status:2", "it does not accept the command (status 0x2"},
	{"status:3.3", "cannot attach the sniffer of sent frames of port 1: firmware of "
		       "0000:3b:00.0: it could not execute the command (status 0x3"},
	{"status:4.4", "cannot attach the sniffer of received frames of port 1: firmware of "
		       "0000:3b:00.0: it refuses port or queue pair (status 0x4"},
	{"status:5", "it is busy (status 0x5, syndrome 0x5a17c0); try again"},
	{"status:6", "it has no memory from the driver (status 0x6, syndrome 0x5a17c0); load the "
		     "driver again"},
	{"status:7", "protects itself from this command"},
	{"status:99", "it refuses the command (status 0x63, syndrome 0x5a17c0); report this"},
	{"status:3.5", "cannot detach the sniffer of sent frames of port 1"},
	{"chip:0x21e", NULL},
	{"chip:0x21e+moved+relocks", NULL},
	{"chip:0x21e+sealed", "protects itself from this command (status 0x7"},
};

TEST(messages)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		bool is_cx8 = strstr(faults[i].spec, "chip:0x21e") != NULL;
		struct outcome o;

		begin("%s", faults[i].spec);
		o = capture_on(is_cx8 ? &cx8 : &device);
		if (succeeded(&o) == (faults[i].message != NULL) ||
			(faults[i].message && !strstr(o.error.text, faults[i].message)))
			print_error("%s: %s\n", faults[i].spec, o.error.text);
		assert_int_equal(succeeded(&o), !faults[i].message);
		if (faults[i].message) {
			assert_message(&o.error, faults[i].message);
		} else {
			assert_int_equal(shared.state.most_attached, 2);
		}
		assert_int_equal(shared.state.violations, 0);
		/* A device that no longer works keeps what it has. */
		if (!strstr(faults[i].spec, "gone") && !strstr(faults[i].spec, "hangs"))
			assert_nothing_left();
	}
}

/* What another one holds stays his. */
TEST(foreign)
{
	run("held");
	assert_int_equal(shared.state.semaphore, 0x5eed0001);
	assert_in_range(waited_us, 2000000, 7000000);
	run("icmd_held:4242");
	assert_int_equal(shared.state.icmd_semaphore, 4242);
}

/* Another host's process, or one in a container, has the same process id as ours. */
TEST(same_process_id)
{
	const uint32_t own = (uint32_t)self;
	struct outcome o = run("icmd_held:%u", own);

	assert_false(succeeded(&o));
	assert_message(&o.error, "in use for 5 s, by a process of another host or "
				 "container");
	same(shared.state.icmd_semaphore, own, shared.state.violations, 0);
	o = run("icmd_held:%u.20", own);
	assert_true(succeeded(&o));
	assert_nothing_left();
	/* A killed capture of ours had the number that this process has now. */
	begin("yes");
	shared.state = (struct gw_state){
		.started = 1, .counter = 0x100, .icmd_semaphore = own, .icmd_holder = (int32_t)own};
	shared.record = (struct sniffer_record){.fd = -1, .helper = (pid_t)own};
	o = capture();
	assert_true(succeeded(&o));
	assert_non_null(strstr(last_log, "semaphore that a killed capture held"));
	assert_nothing_left();
}

TEST(clean_record)
{
	const struct sniffer_record left[] = {{.rules = 1}, {.ticket = 1}, {.orphans = {1}}, {0}};

	expect("0 0 0 1", sniffer_record_is_clean(&left[0]), sniffer_record_is_clean(&left[1]),
		sniffer_record_is_clean(&left[2]), sniffer_record_is_clean(&left[3]));
}

/* Both are detached first; then two commands attach, and two detach. */
TEST(rules)
{
	struct mlx5_sniffer s;

	begin("strict");
	expect("0 0", open_as(&s, &device, &failure), mlx5_sniffer_attach(&s, QPN, &failure));
	same(gw_copies(&shared.state, PORT, 0, QPN), 1, gw_copies(&shared.state, PORT, 1, QPN), 1);
	same(mlx5_sniffer_detach(&s, &failure), 0, shared.state.commands, 6);
	/* Nothing is left to detach: no command. */
	same(mlx5_sniffer_detach(&s, &failure), 0, shared.state.commands, 6);
	assert_true(sniffer_record_is_clean(&s.record));
	assert_nothing_left();
}

/* The second rule is refused: the first one is undone at once. */
TEST(undone)
{
	struct mlx5_sniffer s;

	begin("status:4.4");
	expect("0 -1 1", open_as(&s, &device, &failure), mlx5_sniffer_attach(&s, QPN, &failure),
		shared.state.most_attached);
	assert_nothing_left();
	assert_true(sniffer_record_is_clean(&s.record));
}

/* Nothing is changed that a later capture could not undo. What is attached is detached. */
TEST(no_record)
{
	struct mlx5_sniffer s;

	begin("yes");
	record_errno = ENOSPC;
	assert_int_equal(open_as(&s, &device, &failure), -1);
	assert_non_null(
		strstr(failure.text, "cannot record the sniffer of 0000:3b:00.0: No space"));
	assert_int_equal(shared.state.accesses, 0);
	begin("yes");
	assert_int_equal(open_as(&s, &device, &failure), 0);
	record_errno = ENOSPC;
	assert_int_equal(mlx5_sniffer_attach(&s, QPN, &failure), -1);
	assert_non_null(
		strstr(failure.text, "cannot record the sniffer of 0000:3b:00.0: No space"));
	assert_int_equal(shared.state.commands, 2);
	begin("yes");
	same(open_as(&s, &device, &failure), 0, mlx5_sniffer_attach(&s, QPN, &failure), 0);
	record_errno = ENOSPC;
	assert_int_equal(mlx5_sniffer_detach(&s, &failure), 0);
	assert_nothing_left();
}

/* A second attachment replaces the first: the queue pair was created again. */
TEST(again)
{
	struct mlx5_sniffer s;

	begin("yes");
	expect("0 0 0 1 0", open_as(&s, &device, &failure), mlx5_sniffer_attach(&s, QPN, &failure),
		mlx5_sniffer_attach(&s, QPN + 1, &failure),
		gw_copies(&shared.state, PORT, 0, QPN + 1), mlx5_sniffer_detach(&s, &failure));
	assert_nothing_left();
}

/* --- a fault at every access ---------------------------------------------------------------- */

static unsigned int count_accesses(const char *what)
{
	struct outcome o = run(what);

	assert_true(succeeded(&o));
	assert_in_range(accesses, 100, ACCESS_MAX);
	return accesses;
}

/* Whichever access fails once, the device is left in the state in which it was found. */
TEST(every_fault)
{
	unsigned int n = count_accesses("yes"), failed = 0;

	for (unsigned int i = 2; i <= 2 * n + 1; i++) {
		struct outcome o = run(i & 1 ? "late:%u" : "fault:%u", i / 2);

		if (!succeeded(&o)) {
			assert_message(&o.error, "Input/output error");
			failed++;
		}
		assert_nothing_left();
	}
	assert_true(failed > n);
}

/*
 * The device does not respond for a moment, and is as before then. Nothing that is held or attached
 * is forgotten: the next capture releases it.
 */
TEST(every_blink)
{
	unsigned int n = count_accesses("by_qpn");

	for (unsigned int i = 1; i <= n; i++) {
		begin("by_qpn+blink:%u", i);
		run_killed(0);
		conf.blink = 0;
		assert_true(run_next());
		assert_nothing_left();
	}
}

/* The same process continues: a semaphore that it could not release does not block it. */
TEST(blink_and_on)
{
	unsigned int n = count_accesses("by_qpn"), left = 0;

	for (unsigned int i = 1; i <= n; i++) {
		struct rd_error err;
		struct mlx5_sniffer s;

		begin("by_qpn+blink:%u", i);
		if (open_as(&s, &device, &err) < 0)
			continue;
		mlx5_sniffer_attach(&s, QPN, &err);
		conf.blink = 0;
		left += s.gateway.ticket != 0;
		waited_us = 0;
		expect("0 1", mlx5_sniffer_detach(&s, &err), waited_us < 1000000);
		if (s.record.rules)
			assert_nothing_left();
	}
	assert_true(left > 0);
}

/* The firmware attaches a rule, and says that it did not. */
TEST(attached_after_all)
{
	static const struct {
		unsigned int status;
		bool executed; /* it may be */
	} statuses[] = {{3, true}, {4, true}, {5, true}, {6, true}, {99, true}, {7, false}};

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		for (unsigned int at = 3; at <= 4; at++) {
			struct outcome o;

			if (statuses[i].executed)
				o = run("lies:%u.%u", statuses[i].status, at);
			else
				o = run("status:7.%u", at);
			assert_int_not_equal(o.attach, 0);
			/* Both are detached first; what may be attached is detached again. */
			assert_int_equal(shared.state.commands,
				at + (statuses[i].executed ? at - 2 : at - 3));
			assert_nothing_left();
		}
}

/* Where it is noticed while a command runs, that is not taken for success. */
TEST(every_reset)
{
	unsigned int n = count_accesses("slow:4"), noticed = 0, protected = 0;

	for (unsigned int i = 1; i <= n; i++) {
		struct outcome o = run("reset:%u+strict+slow:4", i);

		if (!succeeded(&o))
			assert_message(&o.error, "");
		noticed += strstr(o.error.text, "was reset while it executed the command") != NULL;
		/* A reset restores the protection. It comes right before the command is started. */
		protected += strstr(o.error.text, "protects itself") != NULL;
		assert_nothing_left();
	}
	assert_true(noticed > 500 && protected < 100);
}

/*
 * After a reset another tool has the semaphore: it is not taken from that, unless the reset comes
 * between the last look at the semaphore and its release, one access of a dozen.
 */
TEST(reset_and_retaken)
{
	unsigned int n = count_accesses("yes"), released = 0;

	for (unsigned int i = 1; i <= n; i++) {
		run("reset:%u+retaken", i);
		released += shared.state.semaphore != 0x5eed0001;
	}
	assert_true(released * 10 <= n);
}

/* The device disappears: an error soon, and no endless wait. */
TEST(every_end)
{
	unsigned int n = count_accesses("yes");

	/* The last access of all is a write, whose loss nothing shows. */
	for (unsigned int i = 1; i < n; i++) {
		struct outcome o = run("gone:%u", i);

		assert_false(succeeded(&o));
		assert_message(&o.error, "");
		expect("1 0", waited_us < 10000000, shared.state.violations);
	}
}

/* Each command gets each status, once or from then on. */
TEST(every_status)
{

	for (unsigned int status = 1; status <= 8; status++) {
		for (unsigned int at = 1; at <= 6; at++) {
			struct outcome o;
			/* Nothing was there to be detached. */
			bool harmless = at <= 2 && (status == 3 || status == 4);

			o = run("status:%u.%u", status, at);
			assert_int_equal(succeeded(&o), harmless);
			if (!harmless)
				assert_message(&o.error, "");
			assert_int_equal(o.attach == 0, harmless || at > 4);
			assert_nothing_left();
		}
	}
}

/*
 * The second rule cannot be attached, and the first one not be detached: no status of that command
 * may count as proof that it is not attached.
 */
TEST(undo_refused)
{

	for (unsigned int status = 1; status <= 8; status++) {
		struct rd_error err;
		struct mlx5_sniffer s;

		begin("status:%u.4.99", status);
		expect("0 -1", open_as(&s, &device, &err), mlx5_sniffer_attach(&s, QPN, &err));
		assert_message(&err, "");
		expect("1 1", n_attached(), (s.record.rules & RD_SNIFF_OUT) != 0);
		conf.status_at = 0;
		assert_int_equal(mlx5_sniffer_detach(&s, &err), 0);
		assert_nothing_left();
	}
}

/* What could not be released is released at the end, if the device responds again. */
TEST(closed_after_blink)
{
	unsigned int n = count_accesses("by_qpn"), held = 0;

	for (unsigned int i = 1; i <= n; i++) {
		struct rd_error err;
		struct mlx5_sniffer s;

		begin("by_qpn+blink:%u", i);
		open_as(&s, &device, &err);
		held += s.gateway.ticket != 0;
		shared.state.was_gone = true;
		same(mlx5_sniffer_close(&s, &err), s.gateway.ticket || s.icmd.held ? -1 : 0);
		conf.blink = shared.state.was_gone = 0;
		expect("0 0 0 0 0", mlx5_sniffer_close(&s, &err), shared.state.semaphore,
			shared.state.icmd_semaphore, s.record.ticket, shared.state.violations);
	}
	assert_true(held > 0);
}

/*
 * From a word on the gateway completes nothing: an error soon, and the semaphore that other
 * programs need is free; only a word of its own could release the command interface.
 */
TEST(every_standstill)
{
	unsigned int words;

	count_accesses("stuck:1000000");
	words = shared.state.words;
	assert_in_range(words, 20, ACCESS_MAX);
	for (unsigned int i = 1; i <= words; i++) {
		struct outcome o = run("stuck:%u", i);

		assert_false(succeeded(&o));
		assert_message(&o.error, "");
		expect("1 0 0", waited_us < 10000000, shared.state.semaphore,
			shared.state.violations);
	}
}

/* A command that never ends: no other command is started. */
TEST(every_hang)
{

	for (unsigned int i = 1; i <= 6; i++) {
		struct outcome o = run("hangs:%u", i);

		assert_false(succeeded(&o));
		assert_message(&o.error, "");
		assert_int_equal(o.attach == 0, i > 4);
		assert_in_range(waited_us, 30000000, 150000000);
		expect("0 0", shared.state.semaphore, shared.state.violations);
	}
}

/* --- another tool at every access ------------------------------------------------------------ */

/*
 * Another tool takes what is free, at every access. For a while: the capture waits. For ever: it
 * fails, and touches nothing that is the other one's; when that has gone, the next capture undoes
 * what is left.
 */
TEST(every_intruder)
{
	static const struct {
		const char *word, *message;
		unsigned int reads;
	} intruders[] = {
		{"taken", "its semaphore has been held for 2 s, by ticket 0x5eed0001", 40},
		{"icmd_taken", "in use for 5 s, by process 4242", 10},
	};
	unsigned int n = count_accesses("by_qpn");

	for (size_t k = 0; k < sizeof(intruders) / sizeof(intruders[0]); k++) {
		unsigned int refused = 0;

		for (unsigned int i = 1; i <= n; i += 2) {
			struct outcome o =
				run("by_qpn+%s:%u.%u", intruders[k].word, i, intruders[k].reads);
			struct gw_state *s = &shared.state;

			if (!succeeded(&o))
				print_error("%s: %s\n", spec, o.error.text);
			assert_true(succeeded(&o));
			assert_nothing_left();
			o = run("by_qpn+%s:%u", intruders[k].word, i);
			if (!succeeded(&o)) {
				assert_message(&o.error, intruders[k].message);
				refused++;
			}
			assert_int_equal(s->violations, 0);
			/* Only by the gateway could the command interface be released. */
			assert_true(s->holder <= 0 && (k == 0 || s->icmd_holder <= 0));
			assert_true(s->was_taken ? s->semaphore == 0x5eed0001
						 : s->icmd_semaphore == 4242 || succeeded(&o));
		}
		assert_true(refused * 4 > n);
	}
}

/* The same, and what is left is undone when the other tool has ended. */
TEST(after_an_intruder)
{
	static const char *const words[] = {"taken", "icmd_taken", "locked", "vanishes"};
	unsigned int n = count_accesses("by_qpn"), attached = 0;

	for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
		for (unsigned int i = 1; i <= n; i += 5) {
			struct gw_state *s = &shared.state;

			begin("by_qpn+%s:%u", words[k], i);
			run_killed(0);
			assert_int_equal(s->violations, 0);
			attached += n_attached() > 0;
			conf.taken = conf.icmd_taken = conf.locked = conf.vanishes = 0;
			if (s->holder < 0)
				s->semaphore = 0, s->holder = 0;
			if (s->icmd_holder < 0)
				s->icmd_semaphore = 0, s->icmd_holder = 0;
			assert_true(run_next());
			assert_nothing_left();
		}
	assert_true(attached > 50);
}

/* --- a hostile gateway ------------------------------------------------------------------------ */

/* Lockdown that begins, or spaces that vanish, while it is used: an error soon. */
TEST(every_loss_of_access)
{
	static const struct {
		const char *word, *message;
	} losses[] = {
		{"locked", "kernel lockdown, as with Secure Boot, forbids it"},
		{"vanishes", "the firmware does not grant space 0x"},
	};
	unsigned int n[2];

	n[0] = count_accesses("yes");
	count_accesses("vanishes:1000000");
	n[1] = shared.state.selections;
	assert_in_range(n[1], 50, ACCESS_MAX);
	for (size_t k = 0; k < 2; k++)
		for (unsigned int i = 1; i <= n[k]; i++) {
			struct outcome o = run("%s:%u", losses[k].word, i);

			/* The last access of all is a reading. */
			if (succeeded(&o) && k == 0 && i == n[k])
				continue;
			assert_false(succeeded(&o));
			assert_message(&o.error, losses[k].message);
			expect("1 0 1", waited_us < 10000000, shared.state.violations,
				k == 0 || shared.state.semaphore == 0);
		}
}

/* A word that is refused once: nothing is left. Second spaces are tried for one syndrome only. */
TEST(every_syndrome)
{
	unsigned int words, failed = 0;

	count_accesses("yes");
	words = shared.state.words;
	assert_in_range(words, 20, ACCESS_MAX);
	for (unsigned int i = 1; i <= words; i++)
		for (unsigned int syndrome = 1; syndrome < 16; syndrome += 2) {
			bool twins = i & 1;
			struct outcome o =
				run("%ssyndrome:%u.%u", twins ? "twins+" : "", syndrome, i);

			assert_true(succeeded(&o) || !twins || syndrome != 3);
			if (!succeeded(&o)) {
				char number[24];

				assert_message(&o.error, "");
				snprintf(number, sizeof(number), "syndrome 0x%x;", syndrome);
				assert_non_null(strstr(o.error.text, number));
				failed++;
			}
			assert_nothing_left();
		}
	assert_true(failed > words);
}

/* Whatever is read, it comes to an end. */
TEST(noise)
{
	unsigned int failed = 0;

	for (unsigned int seed = 1; seed <= 3000; seed++) {
		struct outcome o;

		begin("twins");
		noise = seed * 2654435761U | 1;
		noise_rate = 4U << seed % 10;
		o = capture();
		noise = 0;
		failed += !succeeded(&o);
		expect("1 1", accesses < 3000000, waited_us < 200000000);
	}
	assert_true(failed > 1000);
}

/* --- killed at every access ----------------------------------------------------------------- */

/* Runs a capture that ends before its nth access; false: it came to its end before. */
static bool run_killed(unsigned int nth)
{
	self++;
	kill_at = nth;
	accesses = 0;
	if (setjmp(killed))
		return true;
	capture();
	return false;
}

/* What the next capture does, in a process of its own; false: it failed. */
static bool run_next(void)
{
	struct outcome o;

	self++;
	kill_at = 0;
	o = capture();
	if (!succeeded(&o))
		print_error("%s\n", o.error.text);
	return succeeded(&o) && sniffer_record_is_clean(&shared.record);
}

TEST(every_kill)
{
	/* A command that goes on protects the firmware again while the next capture begins. */
	static const char slow[] = "by_qpn+relocks+slow:3";
	unsigned int n = count_accesses(slow), attached = 0, held = 0, icmd = 0;

	for (unsigned int i = 1; i <= n; i++) {
		begin(slow);
		assert_true(run_killed(i));
		attached += n_attached() > 0;
		held += shared.state.semaphore != 0;
		icmd += shared.state.icmd_semaphore != 0;
		assert_true(run_next());
		assert_nothing_left();
	}
	/* The states that must be undone did occur. */
	assert_true(attached > 100 && held > 100 && icmd > 100);
}

/* The one that undoes it is killed, too, and once more. */
TEST(killed_again)
{
	unsigned int n = count_accesses("by_qpn");

	for (unsigned int i = 1; i <= n; i += 3) {
		begin("by_qpn");
		assert_true(run_killed(i));
		run_killed(i * 7 % n + 1);
		run_killed(i * 31 % n + 1);
		assert_true(run_next());
		assert_nothing_left();
	}
}

/* A ticket that comes back after a reset, held by another tool, is not taken from it. */
TEST(not_an_orphan)
{
	struct mlx5_sniffer s;

	begin("held:150");
	shared.record = (struct sniffer_record){.fd = -1, .helper = 999999, .ticket = 0x5eed0001};
	expect("0 0 ", open_as(&s, &device, &failure), shared.state.violations, last_log);
}

/* --- what is refused without touching the device -------------------------------------------- */

TEST(refusals)
{
	static const struct {
		const char *driver;
		uint32_t part_id;
		enum rd_function_kind kind;
		const char *why; /* NULL: possible */
	} cases[] = {
		{"mlx5_core", 0x1013, RD_FUNCTION_PF, NULL},
		{"mlx5_core", 0x1019, RD_FUNCTION_PF, NULL},
		{"mlx5_core", 0x101f, RD_FUNCTION_PF, NULL},
		{"mlx5_core", 0xa2d2, RD_FUNCTION_PF, NULL},
		{"mlx5_core", 0xa2dc, RD_FUNCTION_PF, NULL},
		{"mlx5_core", 0x1025, RD_FUNCTION_PF, NULL},
		{"mlx4_core", 0x1007, RD_FUNCTION_PF, "only ConnectX-4 and later"},
		{"mlx5_core", 0x1018, RD_FUNCTION_VF, "a VF has no command gateway"},
		{"mlx5_core", 0x1017, RD_FUNCTION_SF, "an SF has no command gateway"},
		{"mlx5_core", 0x20d, RD_FUNCTION_PF, "recovery mode"},
		{"mlx5_core", 0x220, RD_FUNCTION_PF, "recovery mode"},
		{"mlx5_core", 0x1027, RD_FUNCTION_PF, "gateway of a ConnectX-10 is not documented"},
		{"mlx5_core", 0x1029, RD_FUNCTION_PF, "registers of this adapter are not known"},
		{"mlx5_core", 0xa2de, RD_FUNCTION_PF, "registers of this adapter are not known"},
		{"mlx5_core", 0, RD_FUNCTION_PF, "registers of this adapter are not known"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rd_device d = {.copied = true, .part_id = cases[i].part_id};
		struct rd_sniffer_refusal why = {NULL, NULL};

		snprintf(d.driver, sizeof(d.driver), "%s", cases[i].driver);
		d.function.kind = cases[i].kind;
		assert_int_equal(rd_port_sniffer_possible(&d, &why), !cases[i].why);
		if (!cases[i].why)
			continue;
		assert_non_null(strstr(why.why, cases[i].why));
		assert_true(*why.todo);
	}
}

/* For an adapter with undocumented registers, ibdump is not recommended. */
TEST(advice)
{
	static const struct {
		uint32_t part_id;
		bool ibdump;
	} cases[] = {{0x1027, false}, {0x1029, true}, {0xa2de, true}};
	const struct rd_port port = {.num = 1, .link = RD_LINK_INFINIBAND};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rd_device d = {
			.copied = true, .driver = "mlx5_core", .part_id = cases[i].part_id};
		const char *why, *todo;

		assert_int_equal(rd_port_verdict(&d, &port, &why, &todo), RD_CAPTURE_NO);
		assert_int_equal(strstr(todo, "ibdump") != NULL, cases[i].ibdump);
		assert_non_null(strstr(todo, RD_SNIFFER_ELSEWHERE));
	}
}

/* Each adapter that mstflint 4.36 lists and mlx5_core drives: its name, and that it works. */
TEST(adapters)
{
	static const struct {
		uint16_t part_id, chip;
		const char *name, *model;
	} adapters[] = {
		{0x1011, 0x1ff, "Connect-IB", "Connect-IB"},
		{0x1013, 0x209, "ConnectX-4", "ConnectX-4"},
		{0x1015, 0x20b, "ConnectX-4 Lx", "ConnectX-4 Lx"},
		{0x1017, 0x20d, "ConnectX-5", "ConnectX-5"},
		{0x1019, 0x20d, "ConnectX-5", "ConnectX-5 Ex"},
		{0x101b, 0x20f, "ConnectX-6", "ConnectX-6"},
		{0x101d, 0x212, "ConnectX-6 Dx", "ConnectX-6 Dx"},
		{0x101f, 0x216, "ConnectX-6 Lx", "ConnectX-6 Lx"},
		{0x1021, 0x218, "ConnectX-7", "ConnectX-7"},
		{0x1023, 0x21e, "ConnectX-8", "ConnectX-8"},
		{0x1025, 0x224, "ConnectX-9", "ConnectX-9"},
		{0xa2d2, 0x211, "BlueField", "BlueField"},
		{0xa2d6, 0x214, "BlueField-2", "BlueField-2"},
		{0xa2d9, 0x21c, "BlueField-3", "BlueField-3 Lx"},
		{0xa2dc, 0x21c, "BlueField-3", "BlueField-3"},
		{0xa2df, 0x224, "BlueField-4", "BlueField-4"},
	};

	for (size_t i = 0; i < sizeof(adapters) / sizeof(adapters[0]); i++) {
		struct rd_device d = device;
		struct outcome o;

		d.vendor_id = 0x15b3;
		d.part_id = adapters[i].part_id;
		assert_string_equal(sniffer_chip_find(d.part_id)->name, adapters[i].name);
		assert_string_equal(rd_device_model(&d), adapters[i].model);
		begin("chip:0x%x", adapters[i].chip);
		o = capture_on(&d);
		assert_true(succeeded(&o));
		assert_nothing_left();
		/* Another chip than the table says. */
		begin("chip:0x220");
		o = capture_on(&d);
		assert_non_null(strstr(o.error.text, "its registers are not known"));
	}
}

/* --- other processes ------------------------------------------------------------------------ */

#define CONFIG "/0000:3b:00.0/config"

int __real_stat(const char *path, struct stat *st);

static struct {
	char fds[32]; /* "/proc/PID/fd/" of the process that is ibdump */
	unsigned int asked;
} other;

/* Configuration space of the machine, and what the process has open: one file. */
int __wrap_stat(const char *path, struct stat *st)
{
	const bool its = *other.fds && !strncmp(path, other.fds, strlen(other.fds));

	other.asked += its;
	if (!its && strcmp(path, "/sys/bus/pci/devices" CONFIG))
		return __real_stat(path, st);
	*st = (struct stat){.st_ino = 7, .st_dev = 7};
	return 0;
}

static pid_t start_ibdump(const char *file)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_NAME, "ibdump");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (open(file, O_RDWR | O_CREAT, 0600) < 0 || write(ready[1], "", 1) < 0)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	snprintf(other.fds, sizeof(other.fds), "/proc/%d/fd/", (int)pid);
	other.asked = 0;
	return pid;
}

/* Files on a server that is gone block stat(2): only what can be configuration space is asked. */
TEST(files_of_ibdump)
{
	char folder[] = "/tmp/rdmadump-test-XXXXXX", file[64], data[64];
	int found[2];
	pid_t pid[2];

#if defined(__GLIBC__) && !__GLIBC_PREREQ(2, 33)
	skip(); /* stat() is a function of another name there, which is not replaced */
#endif
	assert_non_null(mkdtemp(folder));
	snprintf(data, sizeof(data), "%s/config", folder);
	snprintf(file, sizeof(file), "%s" CONFIG, folder);
	*strrchr(file, '/') = '\0';
	assert_int_equal(mkdir(file, 0700), 0);
	file[strlen(file)] = '/';
	for (int i = 0; i < 2; i++) {
		pid[i] = start_ibdump(i ? file : data);
		found[i] = sniffer_other_process(device.pci);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
		unlink(i ? file : data);
		assert_int_equal(other.asked, i);
	}
	*strrchr(file, '/') = '\0';
	rmdir(file);
	rmdir(folder);
	same(found[0], 0, found[1], pid[1]);
}
