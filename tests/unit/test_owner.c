/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Owners of QPs: reading a process from a copied /proc, and combining many lists of QPs. */
#include "test.h"
#include <jansson.h>
#include <rdmadump/clock.h>
#include <rdmadump/facts.h>
#include <rdmadump/format.h>
#include <rdmadump/owner.h>
#include <time.h>

#include "test_device_tree.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID "c0ffee00-1234-4abc-8def-0123456789ab"

#define MOST   (1 << 18) /* events that there is room for */
#define LISTED 10240

static struct rd_clock host; /* set by set_clock() */
static struct rd_owners *o;
static struct rd_owned_qp qps[MOST];
static struct rd_qp_res listed[LISTED];
static struct rd_resources list;

static void put_bytes(uint32_t pid, const char *name, const char *data, size_t n)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%u/%s", pid, name);
	tree_write(path, data, n);
}

static void put(uint32_t pid, const char *name, const char *text)
{
	put_bytes(pid, name, text, strlen(text));
}

static void put_stat(uint32_t pid, const char *comm, const char *start)
{
	char text[256];

	snprintf(text, sizeof(text),
		"%u (%s) S 1 1 1 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 %s 1000 10 1844674407\n",
		pid, comm, start);
	put(pid, "stat", text);
}

static void put_status(uint32_t pid, uint32_t tgid)
{
	char text[128];

	snprintf(text, sizeof(text), "Name:\tx\\nTgid:\t1\nUmask:\t0022\nTgid:\t%u\nNgid:\t0\n",
		tgid);
	put(pid, "status", text);
}

static void process(uint32_t pid, const char *comm, const char *start)
{
	char text[64];

	put_stat(pid, comm, start);
	put_status(pid, pid);
	snprintf(text, sizeof(text), "%s\n", comm);
	put(pid, "comm", text);
}

static int set_up(void **state)
{
	tree_make();
	o = rd_owners_new(&host);
	list = (struct rd_resources){.qps = listed};
	return o ? 0 : -1;
}

static int tear_down(void **state)
{
	rd_owners_free(o);
	return 0;
}

/* With an empty /proc, and `o` and `list` without anything. */
#define TEST_IN_PROC(name) TEST_WITH(name, set_up, tear_down)

/* --- a process -------------------------------------------------------------------------------- */

TEST_IN_PROC(process)
{
	static const char variables[] = "PATH=/bin\0XRANK=9\0RANK=12\0RANK=13\0LOCAL_RANK=4x\0"
					"SLURM_JOB_ID=\0SLURM_PROCID=-1\0OMPI_COMM_WORLD_RANK="
					"3\0\0PMIX_RANK=1234567890123456789012";
	struct rd_process p;

	process(71, "a) S 9 (b", "4711");
	put(71, "cgroup", "0::/system.slice/docker-" ID ".scope\n");
	put_bytes(71, "environ", variables, sizeof(variables));
	expect("0 71 4711 1 a) S 9 (b", rd_process_read(tree.root, 71, &host, &p), p.pid,
		p.start_ticks, p.start_ns > UINT64_C(1000000000000000000), p.comm);
	same(p.cgroup, "/system.slice/docker-" ID ".scope", p.container, ID);
	expect(" 12 3", p.pod, p.job[RD_JOB_RANK], p.job[RD_JOB_OMPI_COMM_WORLD_RANK]);
	/* What is no number, or too long for one, is not stored. */
	expect("   ", p.job[RD_JOB_LOCAL_RANK], p.job[RD_JOB_SLURM_JOB_ID],
		p.job[RD_JOB_SLURM_PROCID], p.job[RD_JOB_PMIX_RANK]);
}

/* The kernel names the thread that created a QP. */
TEST_IN_PROC(thread)
{
	struct rd_process p;

	process(80, "trainer", "100");
	put_stat(81, "worker", "200");
	put_status(81, 80);
	expect("0 80 100 trainer", rd_process_read(tree.root, 81, &host, &p), p.pid, p.start_ticks,
		p.comm);
}

TEST_IN_PROC(list)
{
	struct rd_qp_res q[] = {{.pid = 81}, {.pid = 81}, {.pid = 80}, {.comm = "ib_core"},
		{.pid = 82}, {.pid = 82}};
	struct rd_resources r = {.qps = q, .n_qps = 6};

	process(80, "trainer", "100");
	put_stat(81, "worker", "200");
	put_status(81, 80);
	rd_resources_name(tree.root, &r);
	for (unsigned int i = 0; i < 3; i++)
		expect("80 trainer", q[i].pid, q[i].comm);
	assert_string_equal(q[3].comm, "ib_core");
	for (unsigned int i = 4; i < 6; i++)
		expect("82 ", q[i].pid, q[i].comm);
}

/* Cut files, escape codes, files that are absent. */
TEST_IN_PROC(hostile)
{
	static char big[(256 << 10) + 64];
	struct rd_process p;
	uint64_t ticks;

	assert_int_equal(rd_process_read(tree.root, 90, &host, &p), -1);
	put(90, "stat", "90 (x) S 1 2");
	put_status(90, 90);
	assert_int_equal(rd_process_read(tree.root, 90, &host, &p), -1);
	put(90, "stat", "90 x S 1 1 1 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 5 1 1\n");
	assert_int_equal(rd_process_start(tree.root, 90, &ticks), -1);
	put_stat(90, "x", "0x");
	assert_int_equal(rd_process_start(tree.root, 90, &ticks), -1);
	put_stat(90, "x", "1");
	put(90, "status", "Name:\tx\nTgid:\t0\n");
	assert_int_equal(rd_process_read(tree.root, 90, &host, &p), -1);
	/* Only what is needed is there. */
	put_status(90, 90);
	expect("0  ", rd_process_read(tree.root, 90, &host, &p), p.comm, p.cgroup);
	put(90, "comm", "\033[2Jx\xff\n");
	put(90, "cgroup", "0::/\033]0;x\n");
	/* The number of the last variable may be cut. */
	memset(big, 'x', sizeof(big));
	memcpy(big, "RANK=7", 7);
	memcpy(big + (256 << 10) - 1 - 15, "\0LOCAL_RANK=1234", 16);
	put_bytes(90, "environ", big, sizeof(big));
	expect("0 ?[2Jx? /?]0;x 7 ", rd_process_read(tree.root, 90, &host, &p), p.comm, p.cgroup,
		p.job[RD_JOB_RANK], p.job[RD_JOB_LOCAL_RANK]);
}

TEST_IN_PROC(cgroup)
{
	static const struct {
		const char *file, *cgroup, *container, *pod;
	} cases[] = {
		{"0::/user.slice/user-1000.slice\n", "/user.slice/user-1000.slice", "", ""},
		{"0::/\n", "/", "", ""},
		{"", "", "", ""},
		{"0::relative\nnothing\n1:x\n", "", "", ""},
		/* cgroup v1 and both at once */
		{"12:memory:/docker/" ID "\n11:pids:/docker/" ID2 "\n", "/docker/" ID, ID, ""},
		{"4:cpu:/\n3:memory:/docker/" ID "\n0::/\n", "/docker/" ID, ID, ""},
		{"4:cpu:/a\n0::/b\n3:memory:/c\n", "/b", "", ""},
		/* kubelet with systemd and without */
		{"0::/kubepods.slice/kubepods-burstable.slice/"
		 "kubepods-burstable-podc0ffee00_1234_4abc_8def_0123456789ab.slice/"
		 "cri-containerd-" ID ".scope\n",
			NULL, ID, UID},
		{"0::/kubepods/besteffort/pod" UID "/" ID "\n", NULL, ID, UID},
		{"0::/kubepods/pod0123456789abcdef0123456789abcdef/" ID "\n", NULL, ID,
			"0123456789abcdef0123456789abcdef"},
		{"0::/kubepods/podc0ffee00-1234-4abc-8def_0123456789a/x\n", NULL, "", ""},
		{"0::/kubepods/podc0ffee001234-4abc-8def-0123456-789ab/x\n", NULL, "", ""},
		{"0::/my/pod" UID "/x\n", NULL, "", ""},
		/* containers within one; podman's monitor, which is in none */
		{"0::/docker/" ID "/docker/" ID2 "\n", NULL, ID2, ""},
		{"0::/machine.slice/libpod-conmon-" ID ".scope\n", NULL, "", ""},
		{"0::/machine.slice/libpod-" ID ".scope/container\n", NULL, ID, ""},
		{"0::/x/" ID "0\n", NULL, "", ""},
	};
	struct rd_process p;

	process(95, "x", "1");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		put(95, "cgroup", cases[i].file);
		assert_int_equal(rd_process_read(tree.root, 95, &host, &p), 0);
		if (cases[i].cgroup)
			assert_string_equal(p.cgroup, cases[i].cgroup);
		same(p.container, cases[i].container, p.pod, cases[i].pod);
	}
}

/* The running kernel, and the clock behind rd_boot_ticks(). */
TEST(self)
{
	struct rd_process p;
	struct timespec now;

	same(rd_process_read("", (uint32_t)getpid(), &host, &p), 0, p.pid, getpid(),
		p.start_ticks <= rd_boot_ticks(), true);
	clock_gettime(CLOCK_REALTIME, &now);
	assert_true(p.start_ns / 1000000000U <= (uint64_t)now.tv_sec);
	assert_true(p.start_ns / 1000000000U + 86400 > (uint64_t)now.tv_sec);
}

/* --- samples ---------------------------------------------------------------------------------- */

static struct rd_qp_res *add(uint32_t lqpn, uint32_t pid)
{
	struct rd_qp_res *q = &listed[list.n_qps++];

	*q = (struct rd_qp_res){.lqpn = lqpn, .pid = pid, .port = 1};
	return q;
}

/* The QPs of the owner with this pid, in any order. */
static size_t owned(uint32_t pid, uint64_t start)
{
	const struct rd_process *p = NULL;
	size_t n;

	while ((p = rd_owners_next(o, p, &n)))
		if (p->pid == pid && (!pid || p->start_ticks == start)) {
			assert_true(n <= MOST);
			rd_owners_qps(p, qps);
			return n;
		}
	return 0;
}

TEST_IN_PROC(samples)
{
	struct rd_qp_res *q;

	assert_int_equal(rd_owners_worth(o).samples, 0);
	process(100, "one", "50");
	process(101, "two", "60");
	put_bytes(101, "environ", "A=1", 4); /* nothing is left to be read */
	process(102, "late", "1001");
	put_stat(103, "thread", "70");
	put_status(103, 100);
	q = add(17, 100);
	q->has_rqpn = true;
	q->rqpn = 18;
	add(19, 101);
	add(20, 102);		/* its pid belongs to a later process by now */
	add(21, 999);		/* ended */
	add(22, 0);		/* ended, or of another PID namespace */
	add(23, 101)->port = 2; /* of the other port */
	add(24, 101)->port = 0; /* of none yet */
	add(25, 103);		/* of a thread */
	strcpy(add(26, 0)->comm, "nvme_rdma");
	rd_owners_add(o, tree.root, 1, &list, 1000, 5000);
	same(owned(100, 50), 2, qps[0].lqpn + qps[1].lqpn, 17 + 25);
	expect("18 2 0 1 26", qps[0].rqpn + qps[1].rqpn, owned(101, 60), owned(102, 1001),
		owned(0, 0), qps[0].lqpn);

	/* One ends, another process takes the QP's number, a third takes the pid. */
	process(101, "three", "1500");
	list.n_qps = 0;
	add(17, 102);
	add(19, 101);
	rd_owners_add(o, tree.root, 1, &list, 2000, 9000);
	expect("2 4000 1 17 1 19", rd_owners_worth(o).samples, rd_owners_worth(o).interval_ns,
		owned(102, 1001), qps[0].lqpn, owned(101, 1500), qps[0].lqpn);
	expect("9000 2 5000 2", qps[0].first_ns, owned(101, 60), qps[0].last_ns, owned(100, 50));
}

static const struct rd_process *nth(unsigned int i, size_t *n)
{
	const struct rd_process *p = rd_owners_next(o, NULL, n);

	while (p && i--)
		p = rd_owners_next(o, p, n);
	return p;
}

/* An environment that cannot be read at first: the process may be giving up its privileges. */
TEST_IN_PROC(later)
{
	size_t n;

	process(100, "x", "5");
	add(1, 100);
	rd_owners_add(o, tree.root, 1, &list, 10, 1);
	assert_string_equal(nth(0, &n)->job[RD_JOB_RANK], "");
	put_bytes(100, "environ", "RANK=3", 7);
	rd_owners_add(o, tree.root, 1, &list, 10, 2);
	assert_string_equal(nth(0, &n)->job[RD_JOB_RANK], "3");
	assert_null(nth(1, &n));
	/* Once it was read, it is not read again. */
	put_bytes(100, "environ", "RANK=4", 7);
	rd_owners_add(o, tree.root, 1, &list, 10, 3);
	assert_string_equal(nth(0, &n)->job[RD_JOB_RANK], "3");
}

static size_t all(void)
{
	const struct rd_process *p = NULL;
	size_t n = 0, sum = 0;

	while ((p = rd_owners_next(o, p, &n)))
		sum += n;
	return sum;
}

/* So many new processes that one sample does not read all; no QP is there twice. */
TEST_IN_PROC(many)
{
	for (uint32_t i = 0; i < 1100; i++) {
		put_stat(1000 + i, "x", "5");
		put_status(1000 + i, 1000 + i);
		add(i + 1, 1000 + i);
	}
	rd_owners_add(o, tree.root, 1, &list, 10, 1);
	assert_int_equal(all(), 1024);
	rd_owners_add(o, tree.root, 1, &list, 10, 2);
	assert_int_equal(all(), 1100);
}

/* --- as facts --------------------------------------------------------------------------------- */

static const struct rd_device device = {.name = "mlx5_0", .node_guid = 1};
static const struct rd_port port = {.num = 1};

TEST_IN_PROC(facts)
{
	struct rd_facts facts = {0};
	size_t n = 0;

	/* Never listed: nothing is said. */
	rd_facts_add_owners(&facts, &device, &port, 0, o);
	assert_int_equal(facts.n, 0);
	process(300, "x", "5");
	put(300, "cgroup", "0::/docker/" ID "\n");
	put_bytes(300, "environ", "RANK=3", 7);
	for (uint32_t i = 0; i < LISTED; i++)
		add(0xffffff - i, 300)->has_rqpn = true;
	for (uint32_t i = 0; i < LISTED; i++)
		listed[i].rqpn = 0xffffff;
	rd_owners_add(o, tree.root, 1, &list, 10, UINT64_C(1795234971116967177));
	rd_facts_add_owners(&facts, &device, &port, 2, o);
	assert_int_equal(facts.n, 3);
	for (size_t i = 0; i < facts.n; i++) {
		json_t *f = json_loadb(facts.fact[i].json, facts.fact[i].len, 0, NULL);
		const json_t *who = json_array_get(json_object_get(f, "owners"), 0);

		assert_true(facts.fact[i].len < RD_FACTS_MAX);
		assert_string_equal(json_string_value(json_object_get(f, "kind")), "owners");
		assert_int_equal(json_integer_value(json_object_get(f, "interface")), 2);
		assert_int_equal(json_integer_value(json_object_get(f, "samples")), 1);
		assert_int_equal(json_integer_value(json_object_get(f, "since_ns")),
			UINT64_C(1795234971116967177));
		/* No clock was read for this list. */
		assert_null(json_object_get(f, "clock_error_ns"));
		assert_int_equal(json_integer_value(json_object_get(who, "pid")), 300);
		assert_int_equal(json_integer_value(json_object_get(who, "start_ticks")), 5);
		assert_string_equal(json_string_value(json_object_get(who, "container")), ID);
		assert_null(json_object_get(who, "pod"));
		assert_string_equal(
			json_string_value(json_object_get(json_object_get(who, "job"), "RANK")),
			"3");
		n += json_array_size(json_object_get(who, "qps"));
		json_decref(f);
	}
	assert_int_equal(n, LISTED);
	rd_facts_free(&facts);
}

/* --- events ----------------------------------------------------------------------------------- */

static struct rd_qp_event created(uint32_t lqpn, uint64_t key, uint32_t pid, uint64_t ticks)
{
	return (struct rd_qp_event){.kind = RD_QP_CREATED,
		.time_ns = 1000,
		.key = key,
		.lqpn = lqpn,
		.pid = pid,
		.start_ns = ticks * (1000000000U / (uint64_t)sysconf(_SC_CLK_TCK)) + 1,
		.comm = "reported"};
}

static struct rd_qp_event destroyed(uint64_t key, uint64_t ns)
{
	return (struct rd_qp_event){.kind = RD_QP_DESTROYED, .time_ns = ns, .key = key};
}

static void event(struct rd_qp_event e)
{
	struct rd_process who = {.pid = e.pid,
		.start_ticks = e.start_ns * (uint64_t)sysconf(_SC_CLK_TCK) / 1000000000U,
		.start_ns = e.start_ns};

	strcpy(who.comm, e.comm);
	rd_owners_event(o, 1, &e, e.kind == RD_QP_CREATED ? &who : NULL);
}

TEST_IN_PROC(process_of_event)
{
	struct rd_qp_event e = created(17, 1, 100, 50);
	struct rd_process p;

	process(100, "one", "50");
	put(100, "cgroup", "0::/job\n");
	rd_process_of_event(tree.root, &e, &host, &p);
	expect("one /job", p.comm, p.cgroup);
	/* Another process has the pid now: what the kernel reported is kept, no more. */
	process(100, "two", "51");
	rd_process_of_event(tree.root, &e, &host, &p);
	expect("100 50 reported  0", p.pid, p.start_ticks, p.comm, p.cgroup, p.has_environ);
	e.pid = 101; /* there is none */
	rd_process_of_event(tree.root, &e, &host, &p);
	expect("101 50 reported", p.pid, p.start_ticks, p.comm);
}

TEST_IN_PROC(events)
{
	struct rd_qp_event later = created(17, 9, 101, 60), other = created(30, 12, 100, 50);

	assert_false(rd_owners_worth(o).watched);
	rd_owners_watched(o, 3);
	expect("1 3", rd_owners_worth(o).watched, rd_owners_worth(o).lost);
	/* A number that two processes had, one after the other: each has its own time. */
	event(created(17, 8, 100, 50));
	event(destroyed(8, 2000));
	event(destroyed(8, 2500)); /* of nothing */
	later.time_ns = 3000;
	event(later);
	event(destroyed(9, 4000));
	expect("1 17 1000 2000 1 3000 4000", owned(100, 50), qps[0].lqpn, qps[0].first_ns,
		qps[0].last_ns, owned(101, 60), qps[0].first_ns, qps[0].last_ns);
	/* Bound to another port. */
	other.port = 2;
	event(other);
	assert_int_equal(owned(100, 50), 1);
	/* A sample that was begun before the QP was created, and one after. */
	process(102, "both", "70");
	event(created(40, 10, 102, 70));
	add(40, 102);
	rd_owners_add(o, tree.root, 1, &list, 1000, 900);
	expect("1 1000 1000", owned(102, 70), qps[0].first_ns, qps[0].last_ns);
	rd_owners_add(o, tree.root, 1, &list, 1000, 5000);
	expect("1 5000", owned(102, 70), qps[0].last_ns);
	event(destroyed(10, 6000));
	expect("1 6000", owned(102, 70), qps[0].last_ns);
}

/* The end of a QP was not reported: its key, or its number, is used again. */
TEST_IN_PROC(lost_ends)
{
	event(created(17, 8, 100, 50));
	event(created(18, 8, 101, 60));
	event(destroyed(8, 2000));
	expect("1 1000 1 2000", owned(100, 50), qps[0].last_ns, owned(101, 60), qps[0].last_ns);
	event(created(20, 9, 102, 70));
	event(created(20, 10, 102, 70));
	event(destroyed(9, 3000)); /* no longer its key */
	expect("1 1000", owned(102, 70), qps[0].last_ns);
	event(destroyed(10, 4000));
	expect("1 4000", owned(102, 70), qps[0].last_ns);
}

/* The same of every second one of many: the others are still found by their keys. */
TEST_IN_PROC(many_lost_ends)
{
	for (uint32_t i = 0; i < 8000; i++)
		event(created(100 + i, 64 * i + 1, 100, 50));
	for (uint32_t i = 0; i < 8000; i += 2)
		event(created(100 + i, 64 * i + 2, 100, 50));
	for (uint32_t i = 1; i < 8000; i += 2)
		event(destroyed(64 * i + 1, 3000));
	assert_int_equal(owned(100, 50), 8000);
	for (uint32_t i = 0; i < 8000; i++)
		assert_int_equal(qps[i].last_ns, qps[i].lqpn % 2 ? 3000 : 1000);
}

TEST_IN_PROC(many_events)
{
	for (uint32_t i = 0; i < 20000; i++)
		event(created(100 + i, 64 * i + 1, 100, 50));
	for (uint32_t i = 0; i < 20000; i++)
		event(destroyed(64 * i + 1, 2000 + i));
	assert_int_equal(owned(100, 50), 20000);
	for (uint32_t i = 0; i < 20000; i++)
		assert_int_equal(qps[i].last_ns, 2000 + qps[i].lqpn - 100);
}

/* Ended long ago: forgotten, once there are many; the others stay as they are. */
TEST_IN_PROC(forget)
{
	size_t n;

	event(created(17, 1, 100, 50));
	event(destroyed(1, 2000));
	rd_owners_forget(o, 3000); /* not worth it */
	assert_int_equal(owned(100, 50), 1);
	for (uint32_t i = 0; i < 4500; i++) {
		event(created(100 + i, 64 * i + 2, 101 + i % 2, 60 + i % 2));
		if (i >= 10)
			event(destroyed(64 * i + 2, i % 3 ? 2000 : 4000));
	}
	rd_owners_forget(o, 3000);
	assert_int_equal(owned(100, 50), 0); /* has no other */
	n = owned(101, 60) + owned(102, 61);
	assert_int_equal(n, 10 + 1496); /* alive, or of every third number from 12 on */
	/* Their keys and owners are still known. */
	event(destroyed(2, 5000));
	n = owned(101, 60);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(qps[i].last_ns, qps[i].lqpn == 100  ? 5000
						 : qps[i].lqpn < 110 ? 1000
								     : 4000);
	event(created(100, 9, 101, 60));
	assert_int_equal(owned(101, 60), n);
	assert_non_null(nth(1, &n));
	assert_null(nth(2, &n));
}

/*
 * A service with very many queue pairs, and short-lived processes beside it: those that have ended
 * make room for others before the list of processes is full.
 */
TEST_IN_PROC(many_processes)
{
	uint64_t key = 8;
	uint32_t pid = 1000;

	rd_owners_watched(o, 0);
	for (uint32_t i = 0; i < 40000; i++, key += 8)
		event(created(100000 + i, key, 100, 50));
	rd_owners_forget(o, 0);
	for (uint32_t i = 0; i < 40000; i++, key += 8) {
		/* A pid is used again after 30000 others. */
		event(created(2 + i, key, pid + i % 30000, 60 + i / 30000));
		event(destroyed(key, 2000 + i));
		if (i % 1000 == 0)
			rd_owners_forget(o, i > 1000 ? 2000 + i - 1000 : 0);
	}
	expect("1 0 1 40000", rd_owners_worth(o).watched, rd_owners_worth(o).lost,
		owned(pid + 9999, 61), owned(100, 50));
}

/* What is known of a process that had ended is replaced by what a sample reads of it. */
TEST_IN_PROC(event_before_sample)
{
	size_t n;

	event(created(17, 8, 100, 50));
	assert_string_equal(nth(0, &n)->comm, "reported");
	process(100, "one", "50");
	put_bytes(100, "environ", "RANK=3", 7);
	add(17, 100);
	rd_owners_add(o, tree.root, 1, &list, 1000, 5000);
	expect("one 3 1", nth(0, &n)->comm, nth(0, &n)->job[RD_JOB_RANK], n);
	assert_null(nth(1, &n));
}

/* How far the clock that frames have their times from is from that of QPs, at most. */
TEST_IN_PROC(clocks)
{
	const struct rd_clock clock = {.epoch_ns = 1795234971000000000};
	uint64_t least;

	rd_owners_free(o);
	o = rd_owners_new(&clock);
	assert_false(rd_owners_worth(o).clock_known);
	rd_owners_frame_clock(o, 1795234971000001000, 1000);
	assert_true(rd_owners_worth(o).clock_known);
	least = rd_owners_worth(o).clock_error_ns;
	assert_in_range(least, 5000000, 100000000);
	rd_owners_frame_clock(o, 1795234974000001000, 3000001000);
	rd_owners_frame_clock(o, 1795234973000001000, 4000001000); /* 2 s behind */
	rd_owners_frame_clock(o, 1795234977500001000, 5000001000); /* 1.5 s ahead */
	expect("1 3500000000", rd_owners_worth(o).clock_known,
		rd_owners_worth(o).clock_error_ns - least);
	rd_owners_free(o);
	/* One reading of it is enough: its distance from the clock of QPs counts. */
	o = rd_owners_new(&clock);
	assert_non_null(o);
	rd_owners_frame_clock(o, 1795234973000001000, 1000);
	expect("1 2000000000", rd_owners_worth(o).clock_known,
		rd_owners_worth(o).clock_error_ns - least);
}

/* The start of a process is a time of the clock that is given, whatever the system clock says. */
TEST_IN_PROC(start_by_clock)
{
	const struct rd_clock ahead = {.epoch_ns = host.epoch_ns + UINT64_C(86400000000000)};
	struct rd_process p, q;

	process(72, "x", "4711");
	expect("0 0", rd_process_read(tree.root, 72, &host, &p),
		rd_process_read(tree.root, 72, &ahead, &q));
	/* Both are as exact as a tick. */
	assert_in_range(
		q.start_ns - p.start_ns, UINT64_C(86399000000000), UINT64_C(86401000000000));
}

/* The remote QP of one that no sample has seen; only of the QP that the report is about. */
TEST_IN_PROC(connected)
{
	struct rd_qp_event e = created(17, 9, 100, 50);

	event(e);
	event(created(18, 10, 100, 50));
	e.kind = RD_QP_CONNECTED;
	e.rqpn = 77;
	event(e);
	e.lqpn = 18; /* another QP has the key: its creation was not reported */
	e.rqpn = 78;
	event(e);
	event(destroyed(9, 3000));
	e.lqpn = 17;
	e.rqpn = 79;
	event(e);
	assert_int_equal(owned(100, 50), 2);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(qps[i].rqpn, qps[i].lqpn == 17 ? 77 : 0);
}

/* Events that do not fit are counted: an incomplete list does not count as complete. */
TEST_IN_PROC(no_room)
{

	for (uint32_t i = 0; i < MOST; i++)
		event(created(2 + i, 64 * (uint64_t)i + 1, 100, 50));
	rd_owners_watched(o, 3);
	expect("1 3", rd_owners_worth(o).watched, rd_owners_worth(o).lost);
	event(created(2 + MOST, 7, 100, 50));
	expect("1 4", rd_owners_worth(o).watched, rd_owners_worth(o).lost);
}

static int set_clock(void **state)
{
	rd_clock_set(&host);
	return 0;
}

ALL_TESTS_WITH(set_clock, NULL)
