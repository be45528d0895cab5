/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bundles: commands that misbehave. */
#include "bundle/parts.h"
#include "bundle/task.h"
#include "test.h"
#include <rdmadump/archive.h>
#include <rdmadump/log.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

static char directory[] = "/tmp/rdmadump-bundle-test-XXXXXX";

/* --- commands ----------------------------------------------------------------------------- */

static volatile sig_atomic_t stop;

static struct task shell(const struct member *m, const char *script)
{
	static const char *const argv[] = {"sh", "-c"};
	struct task t = task_new(m);

	memcpy(t.argv, argv, sizeof(argv));
	memcpy(&t.argv[2], &script, sizeof(script));
	return t;
}

static const struct member text = {.name = "text", .command = "", .form = FORM_TEXT, .bytes = 4096};
static const struct member json = {
	.name = "json", .command = "", .form = FORM_OUTPUT, .bytes = 4096};
static const struct member whole = {
	.name = "json", .command = "", .form = FORM_OUTPUT, .also_whole = 3, .bytes = 4096};

static void free_outputs(struct task *t, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		free(t[i].output.data);
		free(t[i].errors.data);
	}
}

static const char *why(const struct task *t)
{
	static char buf[512];

	task_why(t, buf, sizeof(buf));
	return buf;
}

TEST(commands)
{
	struct task t[] = {shell(&text, "echo out; echo err >&2"),
		shell(&json, "echo out; echo err >&2; exit 3"), shell(&whole, "echo out; exit 3"),
		shell(&json, "kill -9 $$"), shell(&json, "yes"),
		shell(&json, "exec head -c 4096 /dev/zero"),
		shell(&json, "cat; printf \"$LC_ALL\""), shell(&json, "exit 0")};
	struct tasks tasks = {.task = t, .n = sizeof(t) / sizeof(*t)};
	struct rd_bundle_config config = {.limit_s = 100, .stop = &stop};
	static char absent[] = "there-is-no-such-tool";

	t[7].argv[0] = absent;
	expect("1 out\nerr\n  out\n err\n", tasks_run(&tasks, PHASE_COLLECT, &config),
		t[0].output.data, why(&t[0]), t[1].output.data, t[1].errors.data);
	expect("exit status 3: err  ended by signal 9 1 4096 cut after 4096 bytes", why(&t[1]),
		why(&t[2]), why(&t[3]), t[4].output.cut, t[4].output.n, why(&t[4]));
	expect("0 4096 C", t[5].output.cut, t[5].output.n, t[6].output.data);
	same(t[7].outcome, OUTCOME_ABSENT, why(&t[7]), "there-is-no-such-tool is not installed");
	free_outputs(t, tasks.n);
}

/* Whether a process whose id is in the file still runs; a zombie of the shell's does not. */
static bool lives(const char *file)
{
	char path[64], line[256] = "", name;
	long pid = 0;
	bool ended;
	FILE *f = fopen(file, "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld", &pid), 1);
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	ended = !fgets(line, sizeof(line), f); /* since it was opened */
	fclose(f);
	if (ended)
		return false;
	assert_int_equal(sscanf(strrchr(line, ')'), ") %c", &name), 1);
	return name != 'Z';
}

static bool dies(const char *file)
{
	while (lives(file))
		usleep(10000);
	return true;
}

/* It ignores SIGTERM, and so does the process that it starts. */
static const char stubborn[] =
	"trap '' TERM; echo begun; sleep 1000 & echo $! >child; echo $$ >own; wait; wait";

TEST(timeout)
{
	struct task t[] = {shell(&json, stubborn)};
	struct tasks tasks = {.task = t, .n = 1};
	struct rd_bundle_config config = {.limit_s = 3, .stop = &stop};

	assert_true(tasks_run(&tasks, PHASE_COLLECT, &config));
	assert_int_equal(t[0].outcome, OUTCOME_TIMED_OUT);
	expect("begun\n it took longer than its limit and was killed 1 1", t[0].output.data,
		why(&t[0]), dies("own"), dies("child"));
	free_outputs(t, 1);
}

/* A command that ends, but leaves a process with its output behind. */
TEST(leftover)
{
	struct task t[] = {shell(&json, "sleep 1000 & echo $! >child; echo done")};
	struct tasks tasks = {.task = t, .n = 1};
	struct rd_bundle_config config = {.limit_s = 100, .stop = &stop};

	assert_true(tasks_run(&tasks, PHASE_COLLECT, &config));
	assert_int_equal(t[0].outcome, OUTCOME_ENDED);
	expect("done\n 1", t[0].output.data, dies("child"));
	free_outputs(t, 1);
}

static void request_stop(unsigned int done, unsigned int all, const char *doing)
{
	(void)done, (void)all, (void)doing;
	if (access("own", F_OK) == 0)
		stop = 1;
}

TEST(stop)
{
	struct task t[] = {shell(&json, stubborn), shell(&json, "sleep 1000")};
	struct tasks tasks = {.task = t, .n = 2};
	struct rd_bundle_config config = {.limit_s = 1000, .stop = &stop, .progress = request_stop};

	unlink("own");
	unlink("child");
	assert_false(tasks_run(&tasks, PHASE_COLLECT, &config));
	stop = 0;
	assert_int_not_equal(t[1].outcome, OUTCOME_RUNNING);
	same(dies("own"), 1, dies("child"), 1, waitpid(-1, NULL, WNOHANG), -1, errno, ECHILD);
	free_outputs(t, 2);
}

static void keep_line(void *ctx, enum rd_level level, const char *line)
{
	snprintf(ctx, 512, "%s", line);
}

static struct task adapter_tool(const char *function, const char *script)
{
	static const struct member m = {.name = "adapter",
		.command = "",
		.form = FORM_TEXT,
		.phase = PHASE_ADAPTER,
		.bytes = 4096};
	struct task t = shell(&m, script);
	static char command[] = "tool -d FUNCTION";

	t.command = command;
	snprintf(t.function, sizeof(t.function), "%s", function);
	return t;
}

/* At its limit a tool that opens an adapter gets SIGINT; if that does not end it, it runs on. */
TEST(adapter_limit)
{
	struct task t[] = {
		adapter_tool("0000:5e:00.0", "trap 'echo INT; exit' INT; trap 'echo TERM' TERM; "
					     "sleep 1000"),
		adapter_tool(
			"0000:3b:00.1", "trap '' INT; echo $$ >own; read x <gate; echo >child"),
		adapter_tool("0000:3b:00.0", "echo out")};
	struct tasks tasks = {.task = t, .n = 3};
	struct rd_bundle_config config = {.limit_s = 100, .adapter_s = 1, .stop = &stop};
	char line[512] = "", wanted[128];
	FILE *gate;

	unlink("own");
	unlink("child");
	assert_int_equal(mkfifo("gate", 0600), 0);
	rd_log_to(keep_line, line, RD_LOG_WARNING);
	/* As in the background of a script: a tool must not inherit that, or it would not end. */
	signal(SIGINT, SIG_IGN);
	assert_true(tasks_run(&tasks, PHASE_ADAPTER, &config));
	signal(SIGINT, SIG_DFL);
	rd_log_to(NULL, NULL, RD_LOG_ERROR);
	assert_int_equal(t[0].outcome, OUTCOME_TIMED_OUT);
	expect("INT\n it took longer than its limit and was interrupted (SIGINT)", t[0].output.data,
		why(&t[0]));
	assert_int_equal(t[1].outcome, OUTCOME_STUCK);
	assert_true(lives("own"));
	snprintf(wanted, sizeof(wanted), "was left running: process %d", (int)t[1].pid);
	assert_non_null(strstr(why(&t[1]), wanted));
	snprintf(wanted, sizeof(wanted), "was left running (process %d)", (int)t[1].pid);
	assert_non_null(strstr(line, wanted));
	/* Another function of the same adapter. */
	snprintf(wanted, sizeof(wanted), "not run: sh still uses the adapter (process %d)",
		(int)t[1].pid);
	assert_string_equal(why(&t[2]), wanted);
	gate = fopen("gate", "w");
	assert_non_null(gate);
	fputs("\n", gate);
	fclose(gate);
	same(waitpid(t[1].pid, NULL, 0), t[1].pid, access("child", F_OK), 0);
	free_outputs(t, 3);
}

/* --- the plan ----------------------------------------------------------------------------- */

static bool has_task(const struct tasks *tasks, const char *name)
{
	for (unsigned int i = 0; i < tasks->n; i++)
		if (strcmp(tasks->task[i].name, name) == 0 && !tasks->task[i].outcome)
			return true;
	return false;
}

/* Tools of NVIDIA run on its functions only. */
TEST(plan)
{
	struct rd_device device[2] = {
		{.name = "mlx5_0", .pci = "0000:3b:00.0", .vendor_id = 0x15b3},
		{.name = "bnxt_re0", .pci = "0000:5e:00.0", .vendor_id = 0x14e4}};
	struct rd_devices devices = {.dev = device, .n = 2};
	struct rd_bundle_config config = {.devices = &devices, .limit_s = 1};
	struct tasks tasks;

	expect("0 1 1", tasks_make(&tasks, &config),
		has_task(&tasks, "tools/mstflint-0000_3b_00.0.txt"),
		has_task(&tasks, "tools/mlxconfig-0000_3b_00.0.txt"));
	expect("0 1 1", has_task(&tasks, "tools/mstflint-0000_5e_00.0.txt"),
		has_task(&tasks, "tools/lspci-0000_3b_00.0.txt"),
		has_task(&tasks, "tools/lspci-0000_5e_00.0.txt"));
	tasks_free(&tasks);
}

static const struct task *first_of(const struct tasks *tasks, enum phase phase, unsigned int nth)
{
	for (unsigned int i = 0; i < tasks->n; i++)
		if (tasks->task[i].member->phase == phase && nth-- == 0)
			return &tasks->task[i];
	return NULL;
}

/* The copy of sysfs needs no other tool, and is started before everything else. */
TEST(order)
{
	static const char *const needed[] = {"sysroot", "rdmadump/list.json",
		"rdmadump/info-mlx5_0.json", "rdmadump/counters.json", "host/host.json"};
	struct rd_device device = {.name = "mlx5_0"};
	struct rd_devices devices = {.dev = &device, .n = 1};
	struct rd_bundle_config config = {.devices = &devices, .limit_s = 1};
	const struct task *t;
	struct tasks tasks;

	assert_int_equal(tasks_make(&tasks, &config), 0);
	for (unsigned int i = 0; i < sizeof(needed) / sizeof(*needed); i++) {
		t = first_of(&tasks, PHASE_READ, i);
		assert_non_null(t);
		assert_string_equal(t->name, needed[i]);
	}
	for (unsigned int i = 0; (t = first_of(&tasks, PHASE_READ, i)); i++) {
		assert_true(t->own);
		/* It does not wait for a second reading. */
		assert_int_equal(t->more_ms, 0);
		assert_null(strstr(t->command, "--interval"));
	}
	tasks_free(&tasks);
}

static const struct member own = {
	.name = "read", .command = "", .form = FORM_OUTPUT, .phase = PHASE_READ, .bytes = 4096};

/* With one CPU two are read at once, in order: the third one finds that the first one has ended. */
TEST(read_at_once)
{
	struct task t[] = {shell(&own, "sleep .3; echo >own"),
		shell(&own, "while ! [ -e child ]; do sleep .1; done"),
		shell(&own, "echo >child; test -e own")};
	struct tasks tasks = {.task = t, .n = 3};
	struct rd_bundle_config config = {.limit_s = 100, .stop = &stop};
	cpu_set_t before, one;
	unsigned int cpu = 0;

	unlink("own");
	unlink("child");
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	expect("0 1 0", sched_setaffinity(0, sizeof(one), &one),
		tasks_run(&tasks, PHASE_READ, &config),
		sched_setaffinity(0, sizeof(before), &before));
	for (unsigned int i = 0; i < 3; i++)
		assert_string_equal(why(&t[i]), "");
	free_outputs(t, 3);
}

/* What this program reads by itself has more time than a tool. */
TEST(read_limit)
{
	struct task t[] = {shell(&own, "exec sleep 1000"), shell(&json, "echo out")};
	struct tasks tasks = {.task = t, .n = 2};
	struct rd_bundle_config config = {.limit_s = 1, .stop = &stop};

	assert_true(tasks_run(&tasks, PHASE_READ, &config));
	same(t[0].outcome, OUTCOME_TIMED_OUT, t[0].ended_ns - t[0].began_ns >= 3000000000U, true,
		t[1].outcome, OUTCOME_WAITING);
	/* The next phase has its own time. */
	config.limit_s = 100;
	assert_true(tasks_run(&tasks, PHASE_COLLECT, &config));
	same(t[1].outcome, OUTCOME_ENDED, t[1].output.data, "out\n");
	free_outputs(t, 2);
}

static int set_up(void **state)
{
	if (!mkdtemp(directory) || chdir(directory))
		return -1;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const files[] = {"own", "child", "gate"};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		remove(files[i]);
	return chdir("/") || rmdir(directory);
}

/* Of a file that is larger than the buffer, only what there is room for, and its end. */
TEST(read_value)
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	char path[64], buf[17];

	expect("1 36", fd >= 0, write(fd, "0123456789abcdefghijklmnopqrstuvwxyz", 36));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(buf, 0x7f, sizeof(buf));
	expect("15 0123456789abcde 0x7f 0 ", read_value(buf, sizeof(buf) - 1, path), buf, buf[16],
		read_value(buf, 1, path), buf);
	close(fd);
	expect("-1 ", read_value(buf, sizeof(buf), path), buf);
}

/* Of the devices that there are, and no other. */
TEST(names_of_devices)
{
	struct rd_device two[2] = {{.node_desc = "node of one"}, {.node_desc = "node of two"}};
	const struct rd_devices devices = {.dev = two, .n = 1};
	json_t *list = part_names(&devices, &failure);
	char *names = json_dumps(list, 0);

	expect("1 0", strstr(names, "node of one") != NULL, strstr(names, "node of two") != NULL);
	free(names);
	json_decref(list);
}

ALL_TESTS_WITH(set_up, tear_down)
