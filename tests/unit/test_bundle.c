/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bundles: commands that misbehave, archives that are hostile, the checksum. */
#include "bundle/parts.h"
#include "bundle/task.h"
#include "config.h"
#include "test.h"
#include <dirent.h>
#include <rdmadump/archive.h>
#include <rdmadump/bundle.h>
#include <rdmadump/log.h>
#include <rdmadump/sha256.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char directory[] = "/tmp/rdmadump-bundle-test-XXXXXX";

/* --- SHA-256 ------------------------------------------------------------------------------ */

static void check_sum(const char *bytes, size_t n, size_t piece, const char *wanted)
{
	char text[RD_SHA256_TEXT];
	struct rd_sha256 s;

	rd_sha256_begin(&s);
	for (size_t i = 0; i < n; i += piece)
		rd_sha256_add(&s, bytes + i, n - i < piece ? n - i : piece);
	rd_sha256_end(&s, text);
	assert_string_equal(text, wanted);
}

/* The examples of FIPS 180-4. */
TEST(sha256)
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	char *million = malloc(1000000);

	assert_non_null(million);
	memset(million, 'a', 1000000);
	check_sum("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check_sum("abc", 3, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_sum(two, 56, 56, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	check_sum(two, 56, 5, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	check_sum(million, 1000000, 997,
		"cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);
}

#ifdef HAVE_LIBARCHIVE
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
	FILE *f = fopen(file, "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%ld", &pid), 1);
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
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
	expect("1 1 -1", dies("own"), dies("child"), waitpid(-1, NULL, WNOHANG));
	assert_int_equal(errno, ECHILD);
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

/* --- archives ----------------------------------------------------------------------------- */

static const char of_mtu[] = "d6e02e548a55f01b58ebb4addbe8e78c0a67198d09c6a41af9c6e6f640d7f4dd";

struct hostile {
	enum rd_archive_kind kind;
	const char *path, *bytes, *member; /* member: its name in the manifest, NULL: none */
	const char *sha256;
	const char *error; /* NULL: it is unpacked */
	uint64_t size;	   /* in the manifest; 0: as it is */
};

static void put(struct rd_archive *a, const struct rd_archive_entry *e, const char *bytes)
{
	assert_int_equal(rd_archive_put_entry(a, e, &failure), 0);
	if (e->kind == RD_ARCHIVE_FILE)
		assert_int_equal(rd_archive_put(a, bytes, strlen(bytes), &failure), 0);
}

static void put_file(struct rd_archive *a, const char *path, const char *bytes)
{
	put(a,
		&(struct rd_archive_entry){
			.kind = RD_ARCHIVE_FILE, .path = path, .size = strlen(bytes)},
		bytes);
}

static void write_archive(const char *path, const struct hostile *rows, size_t n, bool has_manifest)
{
	FILE *out = fopen(path, "w");
	char manifest[8192];
	struct rd_archive *a;
	size_t used;

	used = (size_t)snprintf(manifest, sizeof(manifest), "{\"version\": 1, \"members\": [{}");
	for (size_t i = 0; i < n; i++)
		if (rows[i].member)
			used += (size_t)snprintf(manifest + used, sizeof(manifest) - used,
				", {\"name\": \"%s\", \"size\": %llu, \"sha256\": \"%s\"}",
				rows[i].member,
				(unsigned long long)(rows[i].size ? rows[i].size
								  : strlen(rows[i].bytes)),
				rows[i].sha256 ? rows[i].sha256 : "");
	snprintf(manifest + used, sizeof(manifest) - used, "]}");
	assert_non_null(out);
	assert_int_equal(rd_archive_create(&a, fileno(out), true, NULL, &failure), 0);
	if (has_manifest)
		put_file(a, "b/manifest.json", manifest);
	for (size_t i = 0; i < n; i++)
		put(a,
			&(struct rd_archive_entry){.kind = rows[i].kind,
				.path = rows[i].path,
				.target = rows[i].bytes,
				.size = rows[i].kind == RD_ARCHIVE_FILE ? strlen(rows[i].bytes)
									: 0},
			rows[i].bytes);
	assert_int_equal(rd_archive_finish(a, &failure), 0);
	rd_archive_free(a);
	fclose(out);
}

/* Nothing is left in $TMPDIR once a bundle is closed, or was refused. */
static unsigned int left_behind(void)
{
	DIR *dir = opendir("tmp");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2;
}

static void check_rows(const struct hostile *rows, size_t n, enum rd_bundle_want want)
{
	struct rd_bundle b;
	struct rd_error err = {.text = ""};
	int rc;

	write_archive("bundle", rows, n, true);
	rc = rd_bundle_open(&b, "bundle", want, &err);
	if (rows[n - 1].error) {
		assert_int_equal(rc, -1);
		if (!strstr(err.text, rows[n - 1].error))
			fail_msg("'%s' lacks '%s'", err.text, rows[n - 1].error);
	} else {
		if (rc)
			fail_msg("%s", err.text);
		rd_bundle_close(&b);
	}
	expect("0 -1", left_behind(), access("escaped", F_OK));
}

#define FILE_ROW(path, error)                                                                      \
	{                                                                                          \
		RD_ARCHIVE_FILE, "b/" path, "1500\n", path, of_mtu, error, 0                       \
	}
#define LINK_ROW(path, target, error)                                                              \
	{                                                                                          \
		RD_ARCHIVE_LINK, "b/" path, target, path, of_mtu, error, 5                         \
	}

TEST(hostile)
{
	static const struct hostile rows[] = {
		FILE_ROW("sysroot/sys/../../../escaped", "not a name of a member of a bundle"),
		{RD_ARCHIVE_FILE, "/b/sysroot/sys/a", "1500\n", "sysroot/sys/a", of_mtu,
			"not a name of a member of a bundle", 0},
		{RD_ARCHIVE_FILE, "b/sysroot//sys/a", "1500\n", "sysroot//sys/a", of_mtu,
			"not a name of a member of a bundle", 0},
		{RD_ARCHIVE_FILE, "b/sysroot/sys/a\033[2J", "1500\n", NULL, of_mtu,
			"not a name of a member of a bundle", 0},
		{RD_ARCHIVE_FILE, "b/sysroot/sys/a", "1500\n", NULL, of_mtu,
			"is not in the manifest", 0},
		{RD_ARCHIVE_FILE, "b/sysroot/sys/a", "1501\n", "sysroot/sys/a", of_mtu,
			"is not what the manifest describes", 0},
		{RD_ARCHIVE_FILE, "b/sysroot/sys/a", "1500\n", "sysroot/sys/a", NULL,
			"is not what the manifest describes", 0},
		LINK_ROW("sysroot/sys/l", "/etc", "leads out of the bundle"),
		LINK_ROW("sysroot/sys/l", "../..", "leads out of the bundle"),
		LINK_ROW("sysroot/sys/l", "../../a", "leads out of the bundle"),
		LINK_ROW("sysroot/sys/l", "a/../../..", "leads out of the bundle"),
		LINK_ROW("sysroot/sys/l", "a/..", "leads out of the bundle"),
		LINK_ROW("sysroot/sys/l", "", "leads out of the bundle"),
		LINK_ROW("sysroot/l", "../captures", "leads out of the bundle"),
		LINK_ROW("sysroot/sys/class/l", "../../proc/a", NULL),
		LINK_ROW("sysroot/sys/l", "..", NULL),
		LINK_ROW("sysroot/sys/l", "l", NULL),
		FILE_ROW("sysroot/sys/mtu", NULL),
		{RD_ARCHIVE_FILE, "b/sysroot/sys/a", "1", "sysroot/sys/a",
			"6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b", NULL,
			0},
		/* Sizes: refused before, and while they are unpacked. */
		{RD_ARCHIVE_FILE, "b/sysroot/sys/a", "1500\n", "sysroot/sys/a", of_mtu,
			"is larger than this program unpacks", (UINT64_C(256) << 20) + 1},
		{RD_ARCHIVE_FILE, "b/sysroot/sys/a", "1500\n", "sysroot/sys/a", of_mtu,
			"is larger than the manifest says", 4},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct hostile both[] = {FILE_ROW("sysroot/sys/first", NULL), rows[i]};

		check_rows(both, 2, RD_BUNDLE_TREE);
	}
}

/* Members that meet: nothing is written through a link, or twice. */
TEST(through_links)
{
	static const struct hostile rows[][2] = {
		{LINK_ROW("sysroot/sys", "proc", NULL),
			FILE_ROW("sysroot/sys/a", "occurs twice, or is below a file")},
		{FILE_ROW("sysroot/sys/a", NULL), FILE_ROW("sysroot/sys/a", "occurs twice")},
		{FILE_ROW("sysroot/sys/a", NULL), FILE_ROW("sysroot/sys/a/b", "below a file")},
		{LINK_ROW("sysroot/sys/a", "b", NULL), FILE_ROW("sysroot/sys/a", "occurs twice")},
		{FILE_ROW("sysroot/sys/a", NULL), LINK_ROW("sysroot/sys/a", "b", "occurs twice")},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		check_rows(rows[i], 2, RD_BUNDLE_TREE);
}

TEST(captures)
{
	static const struct hostile links[] = {
		LINK_ROW("captures/a.pcapng", "../sysroot/a", "is not a file")};
	static const struct hostile none[] = {FILE_ROW("sysroot/sys/a", "has no capture")};
	static const struct hostile tree[] = {FILE_ROW("captures/a", "has no files of sysfs")};
	static const struct hostile two[] = {
		FILE_ROW("captures/b.pcapng", NULL), FILE_ROW("captures/a.pcapng", NULL)};
	struct rd_bundle b;
	char got[8] = "";
	FILE *f;

	check_rows(links, 1, RD_BUNDLE_CAPTURES);
	check_rows(none, 1, RD_BUNDLE_CAPTURES);
	check_rows(tree, 1, RD_BUNDLE_TREE);
	write_archive("bundle", two, 2, true);
	expect("0 2", rd_bundle_open(&b, "bundle", RD_BUNDLE_CAPTURES, &failure), b.n_captures);
	assert_non_null(strstr(b.captures[0], "/captures/b.pcapng"));
	f = fopen(b.captures[1], "r");
	assert_non_null(f);
	assert_non_null(fgets(got, sizeof(got), f));
	assert_string_equal(got, "1500\n");
	fclose(f);
	rd_bundle_close(&b);
	assert_int_equal(left_behind(), 0);
}

/* What this machine lacks is not blamed on the archive, and nothing is left behind then either. */
TEST(too_few_descriptors)
{
	static const struct hostile row[] = {FILE_ROW("sysroot/sys/a/b/c", NULL)};
	struct rlimit before, limit;
	unsigned int refused = 0;
	int lowest = dup(STDIN_FILENO), rc = -1;

	write_archive("bundle", row, 1, true);
	close(lowest);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	for (limit.rlim_cur = (rlim_t)lowest; rc < 0; limit.rlim_cur++) {
		struct rd_error err = {.text = ""};
		struct rd_bundle b;

		assert_in_range(limit.rlim_cur, lowest, lowest + 20);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		rc = rd_bundle_open(&b, "bundle", RD_BUNDLE_TREE, &err);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		refused += rc < 0 && strstr(err.text, "cannot unpack");
		if (strstr(err.text, "damaged"))
			fail_msg("%s", err.text);
		if (rc == 0)
			rd_bundle_close(&b);
		if (left_behind())
			fail_msg("%s: left behind", err.text);
	}
	assert_true(refused >= 2);
}

TEST(no_bundle)
{
	static const struct hostile row[] = {FILE_ROW("sysroot/sys/a", NULL)};
	static const struct hostile other[] = {FILE_ROW("tools/a", NULL)};
	struct rd_bundle b;

	write_archive("bundle", row, 1, false);
	assert_int_equal(rd_bundle_open(&b, "bundle", RD_BUNDLE_TREE, &failure), -1);
	assert_non_null(strstr(failure.text, "does not begin with a manifest"));
	write_archive("bundle", other, 1, false);
	assert_int_equal(rd_bundle_open(&b, "bundle", RD_BUNDLE_TREE, &failure), -1);
	assert_non_null(strstr(failure.text, "has no manifest.json"));
	same(rd_bundle_open(&b, "/dev/null", RD_BUNDLE_TREE, &failure), -1,
		rd_bundle_open(&b, "absent", RD_BUNDLE_TREE, &failure), -1, failure.class,
		RD_CLASS_DEVICE, left_behind(), 0);
}

/* What bsdtar or Python would make: devices, FIFOs, hard links, and an archive that grows. */
TEST(not_files)
{
	static const char script[] =
		"import io, json, sys, tarfile\n"
		"name = 'sysroot/sys/a'\n"
		"rows = [{'name': name, 'size': 5, 'sha256': sys.argv[2]}]\n"
		"def add(t, info, data=b''):\n"
		"    info.size = len(data)\n"
		"    t.addfile(info, io.BytesIO(data))\n"
		"with tarfile.open('bundle', 'w') as t:\n"
		"    text = json.dumps({'version': 1, 'members': rows}).encode()\n"
		"    add(t, tarfile.TarInfo('b/manifest.json'), text)\n"
		"    huge = tarfile.TarInfo('b/captures/huge')\n"
		"    huge.size = 1 << 40\n"
		"    if sys.argv[1] == 'huge':\n"
		"        t.fileobj.write(huge.tobuf())\n"
		"        sys.exit(0)\n"
		"    info = tarfile.TarInfo('b/' + name)\n"
		"    info.type = {'chr': tarfile.CHRTYPE, 'blk': tarfile.BLKTYPE, 'fifo': "
		"tarfile.FIFOTYPE,\n"
		"        'hard': tarfile.LNKTYPE, 'bomb': tarfile.REGTYPE}[sys.argv[1]]\n"
		"    info.linkname = '/etc/passwd' if sys.argv[1] == 'hard' else ''\n"
		"    info.devmajor, info.devminor = 1, 3\n"
		"    add(t, info, bytes(64 << 20) if sys.argv[1] == 'bomb' else b'')\n";
	static const struct {
		const char *type, *error;
	} rows[] = {{"chr", "is not a file"}, {"blk", "is not a file"}, {"fifo", "is not a file"},
		{"hard", "is not a file"}, {"bomb", "is larger than the manifest says"},
		{"huge", "has members of more than 64 GiB"}};
	struct rd_bundle b;
	char command[256];
	FILE *f = fopen("script", "w");

	assert_non_null(f);
	fputs(script, f);
	fclose(f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(command, sizeof(command), "python3 script %s %s", rows[i].type, of_mtu);
		expect("0 -1", system(command),
			rd_bundle_open(&b, "bundle", RD_BUNDLE_TREE, &failure));
		if (!strstr(failure.text, rows[i].error))
			fail_msg("%s: '%s' lacks '%s'", rows[i].type, failure.text, rows[i].error);
		assert_int_equal(left_behind(), 0);
	}
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

/* What `--bundle` reads needs no other tool, and is started before everything else. */
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

/* With one CPU two are read at once, in order: the third one finds that the first one has ended. */
TEST(read_at_once)
{
	static const struct member read = {.name = "read",
		.command = "",
		.form = FORM_OUTPUT,
		.phase = PHASE_READ,
		.bytes = 4096};
	struct task t[] = {shell(&read, "sleep .3; echo >own"),
		shell(&read, "while ! [ -e child ]; do sleep .1; done"),
		shell(&read, "echo >child; test -e own")};
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
	static const struct member read = {.name = "read",
		.command = "",
		.form = FORM_OUTPUT,
		.phase = PHASE_READ,
		.bytes = 4096};
	struct task t[] = {shell(&read, "exec sleep 1000"), shell(&json, "echo out")};
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

/* The directory goes with the process that opened the bundle, even if that is killed. */
TEST(killed)
{
	static const struct hostile row[] = {FILE_ROW("sysroot/sys/a", NULL)};
	pid_t pid;
	int status;

	write_archive("bundle", row, 1, true);
	pid = fork();
	if (pid == 0) {
		struct rd_bundle b;
		struct rd_error err;

		_exit(rd_bundle_open(&b, "bundle", RD_BUNDLE_TREE, &err) == 0 && left_behind() == 1
				? raise(SIGKILL)
				: 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (left_behind())
		usleep(10000);
}

static int set_up(void **state)
{
	if (!mkdtemp(directory) || chdir(directory) || mkdir("tmp", 0700))
		return -1;
	return setenv("TMPDIR", "tmp", 1);
}

static int tear_down(void **state)
{
	static const char *const files[] = {"bundle", "own", "child", "script", "gate", "tmp"};

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

ALL_TESTS_WITH(set_up, tear_down)
#endif
