/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel reports of QPs: the BPF programs, run here by a small interpreter over structures
 * like the kernel's, and their records, as bytes.
 */
#include "config.h"
#include "device/qp_program.h"
#include "test.h"

/* --- records ---------------------------------------------------------------------------------- */

static struct qp_record record(void)
{
	struct qp_record r = {.time_ns = 5000,
		.start_ns = 1230000000,
		.key = 0xffff888000001000,
		.kind = RD_QP_CREATED,
		.lqpn = 0x123456,
		.port = 2,
		.pid = 4711};

	memcpy(r.device, "mlx5_0", 7);
	memcpy(r.comm, "trainer", 8);
	return r;
}

TEST(record)
{
	struct qp_record r = record();
	struct rd_qp_event e;
	unsigned char bytes[sizeof(r) + 9] = {0};

	memcpy(bytes + 1, &r, sizeof(r)); /* not aligned, and longer */
	assert_true(qp_record_event(bytes + 1, sizeof(r) + 8, 1000000, &e));
	assert_int_equal(e.kind, RD_QP_CREATED);
	expect("1005000 1230000000 0xffff888000001000 0x123456 2 4711 mlx5_0 trainer", e.time_ns,
		e.start_ns, e.key, e.lqpn, e.port, e.pid, e.device, e.comm);
	/* The process that connects or destroys a QP may not be its owner. */
	r.kind = RD_QP_CONNECTED;
	r.rqpn = 0x654321;
	assert_true(qp_record_event(&r, sizeof(r), 0, &e));
	same(e.kind, RD_QP_CONNECTED, e.rqpn, 0x654321, e.pid, 0);
	r.kind = RD_QP_DESTROYED;
	assert_true(qp_record_event(&r, sizeof(r), 0, &e));
	assert_int_equal(e.kind, RD_QP_DESTROYED);
	expect("0 ", e.pid, e.comm);
}

TEST(text_of_a_record)
{
	struct qp_record r = record();
	struct rd_qp_event e;

	memset(r.device, 'd', sizeof(r.device)); /* without an end */
	memset(r.comm, 'c', sizeof(r.comm));
	r.comm[1] = '\x1b';
	assert_true(qp_record_event(&r, sizeof(r), 0, &e));
	same(strlen(e.device), RD_NAME_MAX - 1, e.comm, "c?cccccccccccccc");
}

TEST(no_event)
{
	struct rd_qp_event e;
	struct qp_record r[] = {record(), record(), record(), record(), record(), record(),
		record(), record(), record()};

	r[1].kind = RD_QP_EVENT_KINDS;
	r[2].lqpn = 1; /* the port's own */
	r[3].lqpn = 0;
	r[4].lqpn = 0x1000000;
	r[5].key = 0;
	r[6].pid = 0;
	r[7].kind = r[8].kind = RD_QP_CONNECTED;
	r[8].rqpn = 0x1000000; /* to none, and to none on the wire */
	assert_false(qp_record_event(&r[0], sizeof(r[0]) - 1, 0, &e));
	assert_false(qp_record_event(&r[0], 0, 0, &e));
	for (size_t i = 0; i < sizeof(r) / sizeof(*r); i++)
		assert_int_equal(qp_record_event(&r[i], sizeof(r[i]), 0, &e), i == 0);
}

#ifdef HAVE_LIBBPF
#include <asm/ptrace.h>
#include <bpf/btf.h>

#include "test_device_tree.h"

/* --- programs --------------------------------------------------------------------------------- */

/* As the kernel has them, in a different order. */
static struct task {
	char comm[16];
	struct task *leader;
	uint64_t start;
} leader = {"trainer", &leader, 777}, thread = {"worker", &leader, 999};

static struct device {
	char before[24], name[64];
} device = {.name = "mlx5_3"};

struct entry {
	uint32_t id;
	uint8_t user;
	uint32_t type;
};

static struct qp {
	struct device *device;
	uint32_t port, num;
	struct entry res;
} qp;

static struct attr {
	char before[300];
	uint32_t dest;
} attr;

static const struct qp_layout layout = {.attr_dest = offsetof(struct attr, dest),
	.res_type = offsetof(struct entry, type),
	.res_user = offsetof(struct entry, user),
	.qp_res = offsetof(struct qp, res),
	.qp_num = offsetof(struct qp, num),
	.qp_port = offsetof(struct qp, port),
	.qp_device = offsetof(struct qp, device),
	.device_name = offsetof(struct device, name),
	.task_leader = offsetof(struct task, leader),
	.task_start = offsetof(struct task, start),
	.task_comm = offsetof(struct task, comm),
	.type_qp = 7};

#define RING 31
#define LOST 32

static struct qp_record reported;
static unsigned int n_reported;
static uint64_t n_lost;
static bool is_full;

static uint64_t call(int helper, const uint64_t *r)
{
	switch (helper) {
	case BPF_FUNC_probe_read_kernel:
		memcpy((void *)r[1], (const void *)r[3], r[2]);
		return 0;
	case BPF_FUNC_ktime_get_ns:
		return 123456789;
	case BPF_FUNC_get_current_pid_tgid:
		return UINT64_C(4711) << 32 | 4713;
	case BPF_FUNC_get_current_task:
		return (uintptr_t)&thread;
	case BPF_FUNC_ringbuf_output:
		same(r[1], RING, r[3], sizeof(reported), r[4], 0);
		if (is_full)
			return (uint64_t)-11;
		memcpy(&reported, (const void *)r[2], sizeof(reported));
		n_reported++;
		return 0;
	default:
		fail_msg("helper %d", helper);
		return 0;
	}
}

static uint64_t load(uint8_t code, uint64_t address)
{
	uint64_t value = 0;
	const size_t size = code == (BPF_LDX | BPF_MEM | BPF_DW)  ? 8
			    : code == (BPF_LDX | BPF_MEM | BPF_W) ? 4
			    : code == (BPF_LDX | BPF_MEM | BPF_B) ? 1
								  : 0;

	assert_int_not_equal(size, 0);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	memcpy((char *)&value + 8 - size, (const void *)address, size);
#else
	memcpy(&value, (const void *)address, size);
#endif
	return value;
}

static void store(uint8_t code, uint64_t address, uint64_t value)
{
	const uint32_t half = (uint32_t)value;

	if (code == (BPF_STX | BPF_MEM | BPF_DW))
		memcpy((void *)address, &value, 8);
	else
		memcpy((void *)address, &half, 4);
}

static void run_program(const struct qp_program *p, const void *registers)
{
	uint64_t r[11] = {[1] = (uintptr_t)registers}, stack[64];

	memset(stack, 0xaa, sizeof(stack));
	r[10] = (uintptr_t)(stack + 64);
	for (size_t at = 0; at < p->n; at++) {
		const struct bpf_insn i = p->insn[at];

		switch (i.code) {
		case BPF_ALU64 | BPF_MOV | BPF_X:
			r[i.dst_reg] = r[i.src_reg];
			break;
		case BPF_ALU64 | BPF_MOV | BPF_K:
			r[i.dst_reg] = (uint64_t)(int64_t)i.imm;
			break;
		case BPF_ALU64 | BPF_ADD | BPF_K:
			r[i.dst_reg] += (uint64_t)(int64_t)i.imm;
			break;
		case BPF_ALU64 | BPF_AND | BPF_K:
			r[i.dst_reg] &= (uint64_t)(int64_t)i.imm;
			break;
		case BPF_ALU64 | BPF_RSH | BPF_K:
			r[i.dst_reg] >>= i.imm;
			break;
		case BPF_LDX | BPF_MEM | BPF_DW:
		case BPF_LDX | BPF_MEM | BPF_W:
		case BPF_LDX | BPF_MEM | BPF_B:
			r[i.dst_reg] = load(i.code, r[i.src_reg] + (uint64_t)(int64_t)i.off);
			break;
		case BPF_STX | BPF_MEM | BPF_DW:
		case BPF_STX | BPF_MEM | BPF_W:
			store(i.code, r[i.dst_reg] + (uint64_t)(int64_t)i.off, r[i.src_reg]);
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += r[i.dst_reg] == (uint64_t)(int64_t)i.imm ? (size_t)i.off : 0;
			break;
		case BPF_JMP | BPF_JNE | BPF_K:
			at += r[i.dst_reg] != (uint64_t)(int64_t)i.imm ? (size_t)i.off : 0;
			break;
		case BPF_JMP | BPF_CALL:
			r[0] = call(i.imm, r);
			break;
		case BPF_JMP | BPF_EXIT:
			assert_int_equal(r[0], 0);
			return;
		case BPF_LD | BPF_DW | BPF_IMM:
			r[i.dst_reg] = (uint64_t)i.imm;
			if (i.src_reg == BPF_PSEUDO_MAP_VALUE) {
				assert_int_equal(i.imm, LOST);
				r[i.dst_reg] = (uintptr_t)&n_lost;
			}
			at++;
			break;
		case BPF_STX | BPF_ATOMIC | BPF_DW:
			assert_int_equal(i.imm, BPF_ADD);
			*(uint64_t *)r[i.dst_reg] += r[i.src_reg];
			break;
		default:
			fail_msg("instruction %zu has code %#x", at, i.code);
		}
	}
	fail_msg("the program has no end");
}

/* Calls the probed function with three arguments. */
static void probe3(enum rd_qp_event_kind kind, void *first, void *second, uint64_t third)
{
	const uint64_t arguments[] = {(uintptr_t)first, (uintptr_t)second, third};
	uint64_t registers[64] = {0};
	struct qp_program p;

	for (unsigned int i = 0; i < 3; i++)
#if defined(__x86_64__)
		registers[14 - i] = arguments[i]; /* rdi, rsi, rdx */
#elif defined(__powerpc64__)
		registers[3 + i] = arguments[i]; /* from r3 on */
#elif defined(__riscv)
		registers[10 + i] = arguments[i]; /* from a0 on */
#elif defined(__s390x__)
		registers[5 + i] = arguments[i]; /* from r2 on, after three words */
#else
		registers[i] = arguments[i];
#endif
	if (qp_program_make(&p, &layout, kind, RING, LOST))
		skip();
	run_program(&p, registers);
}

static void probe(enum rd_qp_event_kind kind, void *argument)
{
	probe3(kind, argument, NULL, 0);
}

static int set_up(void **state)
{
	qp = (struct qp){.device = &device, .port = 1, .num = 0xabc, .res = {.user = 1, .type = 7}};
	n_reported = 0;
	n_lost = 0;
	is_full = false;
	return 0;
}

TEST_WITH(created, set_up, NULL)
{
	struct rd_qp_event e;

	probe(RD_QP_CREATED, &qp.res);
	expect("1 1", n_reported, qp_record_event(&reported, sizeof(reported), 0, &e));
	same(e.kind, RD_QP_CREATED, e.time_ns, 123456789, e.key, (uintptr_t)&qp.res);
	expect("0xabc 1 mlx5_3", e.lqpn, e.port, e.device);
	/* Of the process, not of the thread. */
	expect("4711 777 trainer 0", e.pid, e.start_ns, e.comm, n_lost);
}

/* Only the change that sets the remote QP is reported, whatever else is in the register. */
TEST_WITH(connected, set_up, NULL)
{
	struct rd_qp_event e;

	attr.dest = 0x4321;
	probe3(RD_QP_CONNECTED, &qp, &attr, ~(UINT64_C(1) << 20));
	assert_int_equal(n_reported, 0);
	probe3(RD_QP_CONNECTED, &qp, &attr, UINT64_C(0xabcd000000000000) | 1 << 20 | 1);
	expect("1 1", n_reported, qp_record_event(&reported, sizeof(reported), 0, &e));
	same(e.kind, RD_QP_CONNECTED, e.key, (uintptr_t)&qp.res);
	expect("0xabc 0x4321 mlx5_3", e.lqpn, e.rqpn, e.device);
	qp.res.user = 0;
	probe3(RD_QP_CONNECTED, &qp, &attr, 1 << 20);
	expect("1 0", n_reported, n_lost);
}

TEST_WITH(destroyed, set_up, NULL)
{
	struct qp_record zero = {0};
	struct rd_qp_event e;

	probe(RD_QP_DESTROYED, &qp);
	expect("1 1", n_reported, qp_record_event(&reported, sizeof(reported), 0, &e));
	same(e.kind, RD_QP_DESTROYED, e.key, (uintptr_t)&qp.res, e.lqpn, 0xabc, e.device, "mlx5_3");
	/* Nothing of the stack is in what is not filled in. */
	assert_memory_equal(reported.comm, zero.comm, sizeof(zero.comm));
	assert_int_equal(reported.pid, 0);
}

TEST_WITH(not_of_a_process, set_up, NULL)
{
	qp.res.user = 0;
	probe(RD_QP_CREATED, &qp.res);
	probe(RD_QP_DESTROYED, &qp);
	qp.res = (struct entry){.user = 1, .type = 6}; /* no QP */
	probe(RD_QP_CREATED, &qp.res);
	expect("0 0", n_reported, n_lost);
}

TEST_WITH(lost, set_up, NULL)
{
	is_full = true;
	probe(RD_QP_CREATED, &qp.res);
	probe(RD_QP_DESTROYED, &qp);
	expect("0 2", n_reported, n_lost);
}
/* --- the kernel's BTF ------------------------------------------------------------------------- */

/* In what kernels differ. */
struct kernel {
	const char *start;	/* how task_struct calls it */
	unsigned int port_size; /* of ib_qp.port */
	bool port_bits;		/* ... is a bit field */
	bool no_qp;		/* the enum lacks the value */
	struct btf *base;	/* of a module: the kernel's */
};

/* Of the structure that was added last, at an offset in bytes. */
static void member(struct btf *btf, const char *name, int type, unsigned int at)
{
	assert_int_equal(btf__add_field(btf, name, type, at * 8, 0), 0);
}

static struct btf *make_btf(const struct kernel *k)
{
	struct btf *btf = btf__new_empty_split(k->base);
	const int u8 = btf__add_int(btf, "u8", 1, 0), u32 = btf__add_int(btf, "u32", 4, 0),
		  u64 = btf__add_int(btf, "u64", 8, 0), pointer = btf__add_ptr(btf, 0),
		  name64 = btf__add_array(btf, u32, u8, 64),
		  name16 = btf__add_array(btf, u32, u8, 16);
	int entry, inner, outer, values;

	assert_true(btf__add_enum(btf, "rdma_restrack_type", 4) > 0);
	assert_int_equal(btf__add_enum_value(btf, "RDMA_RESTRACK_PD", 0), 0);
	if (!k->no_qp)
		assert_int_equal(btf__add_enum_value(btf, "RDMA_RESTRACK_QP", 2), 0);
	entry = btf__add_struct(btf, "rdma_restrack_entry", 96);
	member(btf, "user", u8, 3);
	member(btf, "type", u32, 40);
	btf__add_struct(btf, "ib_qp", 400);
	member(btf, "device", pointer, 0);
	member(btf, "qp_num", u32, 72);
	if (k->port_bits)
		assert_int_equal(btf__add_field(btf, "port", u32, 84 * 8, 4), 0);
	else
		member(btf, "port", k->port_size == 1 ? u8 : u32, 84);
	member(btf, "res", entry, 200);
	btf__add_struct(btf, "ib_qp_attr", 300);
	member(btf, "dest_qp_num", u32, 44);
	btf__add_struct(btf, "ib_device", 2000);
	member(btf, "name", name64, 1200);
	/* Members within unnamed ones, as kernels with randomized structures have them. */
	inner = btf__add_struct(btf, NULL, 64);
	member(btf, k->start, u64, 8);
	member(btf, "comm", name16, 24);
	/* Its values have names, and are no members. */
	values = btf__add_enum(btf, NULL, 4);
	assert_int_equal(btf__add_enum_value(btf, k->start, u64), 0);
	outer = btf__add_union(btf, NULL, 64);
	member(btf, NULL, inner, 0);
	btf__add_struct(btf, "task_struct", 4000);
	member(btf, "group_leader", pointer, 16);
	member(btf, NULL, values, 32);
	member(btf, NULL, outer, 2000);
	return btf;
}

TEST(layout)
{
	static const char *const starts[] = {"start_boottime", "real_start_time"};
	struct qp_layout l;

	for (unsigned int i = 0; i < 2; i++) {
		struct btf *btf = make_btf(&(struct kernel){.start = starts[i]});

		expect("0 40 3 0 72 84 200", qp_layout_find(&l, btf, &failure), l.res_type,
			l.res_user, l.qp_device, l.qp_num, l.qp_port, l.qp_res);
		expect("1200 44 16 2008 2024 2", l.device_name, l.attr_dest, l.task_leader,
			l.task_start, l.task_comm, l.type_qp);
		btf__free(btf);
	}
}

/* Of a kernel that differs nothing is guessed. */
TEST(other_layouts)
{
	static const struct {
		struct kernel kernel;
		const char *lacks;
	} cases[] = {
		{{.start = "begun"}, "start_boottime of task_struct"},
		{{.start = "start_boottime", .port_size = 1}, "port of ib_qp"},
		{{.start = "start_boottime", .port_bits = true}, "port of ib_qp"},
		{{.start = "start_boottime", .no_qp = true}, "RDMA_RESTRACK_QP of rdma_restrack"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct btf *btf = make_btf(&cases[i].kernel);
		struct rd_error err = {0};
		struct qp_layout l;

		assert_int_equal(qp_layout_find(&l, btf, &err), -1);
		assert_non_null(strstr(err.text, cases[i].lacks));
		assert_int_equal(err.class, RD_CLASS_DEVICE);
		btf__free(btf);
	}
}

/* --- where the types are ---------------------------------------------------------------------- */

#define KERNEL_BTF "sys/kernel/btf/vmlinux"
#define MODULE	   "sys/module/ib_core"

static void put_btf(const char *path, const struct btf *btf)
{
	uint32_t size;
	const void *data = btf__raw_data(btf, &size);

	assert_non_null(data);
	tree_write(path, data, size);
}

/* In a tree of its own; "" if the layout was read, else why not. */
static const char *reads(void (*lay_out)(void))
{
	struct qp_layout l;
	bool known, read;

	tree_make();
	lay_out();
	known = qp_layout_known(tree.root);
	read = !qp_layout_read(&l, tree.root, &failure);
	if (read)
		expect("72 2008", l.qp_num, l.task_start);
	same(known, read);
	return read ? "" : failure.text;
}

static void built_in(void)
{
	struct btf *btf = make_btf(&(struct kernel){.start = "start_boottime"});

	put_btf(KERNEL_BTF, btf);
	tree_text(MODULE "/parameters/force_mr", "N");
	btf__free(btf);
}

/* All types in the kernel's would be those of another ib_core than the one that runs. */
static void out_of_tree(void)
{
	built_in();
	tree_text(MODULE "/initstate", "live");
	tree_text(MODULE "/taint", "OE");
}

static void without_btf(void)
{
	built_in();
	tree_text(MODULE "/initstate", "live");
	tree_text(MODULE "/taint", "");
}

static void a_module(void)
{
	struct btf *kernel = btf__new_empty(), *btf;

	assert_true(btf__add_int(kernel, "u8", 1, 0) > 0);
	btf = make_btf(&(struct kernel){.start = "start_boottime", .base = kernel});
	put_btf(KERNEL_BTF, kernel);
	put_btf("sys/kernel/btf/ib_core", btf);
	tree_text(MODULE "/initstate", "live");
	btf__free(btf);
	btf__free(kernel);
}

static void nothing(void)
{
}

TEST(where_the_types_are)
{
	expect(" ", reads(built_in), reads(a_module));
	assert_non_null(strstr(reads(out_of_tree),
		"module ib_core has no BTF, as those of MLNX_OFED and DOCA that DKMS built"));
	assert_non_null(strstr(reads(without_btf),
		"no BTF of the module ib_core; use a kernel with CONFIG_DEBUG_INFO_BTF_MODULES"));
	assert_non_null(strstr(reads(nothing), "kernel has no BTF of the module"));
}
#endif
