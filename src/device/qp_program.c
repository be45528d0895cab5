/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The BPF programs, written as instructions (Documentation/bpf/instruction-set.rst of Linux): they
 * are short, and so no compiler for BPF is needed. Offsets of the kernel's structures are filled in
 * when they are loaded. The kernel checks them before it runs them: they read, and write to a ring
 * buffer and a counter only.
 *
 * Registers: r6 the probed function's registers, r7 the entry (struct rdma_restrack_entry) and
 * r8 the QP (struct ib_qp) that it is within, r9 what is read through. The record is built on the
 * stack.
 */
#include "config.h"
#ifdef HAVE_LIBBPF
#include "qp_program.h"
#include <asm/ptrace.h>

/* Where the arguments of a function are; from the kernel's ABI (uapi/asm/ptrace.h). */
#if defined(__x86_64__)
#define FIRST_ARGUMENT offsetof(struct pt_regs, rdi)
#define NEXT	       (-8) /* rsi, rdx */
#elif defined(__aarch64__)
#define FIRST_ARGUMENT offsetof(struct user_pt_regs, regs)
#elif defined(__powerpc64__)
#define FIRST_ARGUMENT offsetof(struct pt_regs, gpr[3])
#elif defined(__riscv) && __riscv_xlen == 64
#define FIRST_ARGUMENT offsetof(struct user_regs_struct, a0)
#elif defined(__s390x__)
#define FIRST_ARGUMENT offsetof(user_pt_regs, gprs[2])
#else
#define FIRST_ARGUMENT UNKNOWN
#endif
#ifndef NEXT
#define NEXT 8
#endif
#define ARGUMENT(nth) ((int)FIRST_ARGUMENT + NEXT * (nth))
#define UNKNOWN	      UINT16_MAX
#define DEST_QPN      (1 << 20) /* IB_QP_DEST_QPN of enum ib_qp_attr_mask */

#define RECORD	  (-(int)sizeof(struct qp_record)) /* on the stack */
#define AT(field) (RECORD + (int)offsetof(struct qp_record, field))
#define SCRATCH	  (RECORD - 8)

static void put(struct qp_program *p, struct bpf_insn insn)
{
	if (p->n < QP_PROGRAM_MAX)
		p->insn[p->n] = insn;
	p->n++;
}

static void alu(struct qp_program *p, uint8_t code, uint8_t dst, uint8_t src, int32_t imm)
{
	put(p, (struct bpf_insn){
		       .code = code, .dst_reg = dst & 0xfU, .src_reg = src & 0xfU, .imm = imm});
}

static void move(struct qp_program *p, uint8_t dst, uint8_t src)
{
	alu(p, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0);
}

static void set(struct qp_program *p, uint8_t dst, int32_t value)
{
	alu(p, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, value);
}

static void add(struct qp_program *p, uint8_t dst, int32_t value)
{
	alu(p, BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, value);
}

static void load(struct qp_program *p, uint8_t size, uint8_t dst, uint8_t src, int at)
{
	put(p, (struct bpf_insn){.code = BPF_LDX | BPF_MEM | size,
		       .dst_reg = dst & 0xfU,
		       .src_reg = src & 0xfU,
		       .off = (int16_t)at});
}

static void store(struct qp_program *p, uint8_t size, int at, uint8_t src)
{
	put(p, (struct bpf_insn){.code = BPF_STX | BPF_MEM | size,
		       .dst_reg = BPF_REG_10,
		       .src_reg = src & 0xfU,
		       .off = (int16_t)at});
}

static void call(struct qp_program *p, enum bpf_func_id helper)
{
	alu(p, BPF_JMP | BPF_CALL, 0, 0, (int32_t)helper);
}

/* Copies `size` bytes at `offset` of what `base` points to; zeros if they cannot be read. */
static void read_kernel(struct qp_program *p, int to, int32_t size, uint8_t base, uint32_t offset)
{
	move(p, BPF_REG_1, BPF_REG_10);
	add(p, BPF_REG_1, to);
	set(p, BPF_REG_2, size);
	move(p, BPF_REG_3, base);
	add(p, BPF_REG_3, (int32_t)offset);
	call(p, BPF_FUNC_probe_read_kernel);
}

/* Loads the pointer at this offset into r9. */
static void follow(struct qp_program *p, uint8_t base, uint32_t offset)
{
	read_kernel(p, SCRATCH, 8, base, offset);
	load(p, BPF_DW, BPF_REG_9, BPF_REG_10, SCRATCH);
}

/* Ends the program if the comparison of the register with the value is true. */
static void end_if(struct qp_program *p, uint8_t comparison, uint8_t reg, int32_t value)
{
	/* Otherwise jumps over the two instructions that end it. */
	const uint8_t opposite = comparison == BPF_JEQ ? BPF_JNE : BPF_JEQ;

	put(p, (struct bpf_insn){.code = BPF_JMP | opposite | BPF_K,
		       .dst_reg = reg & 0xfU,
		       .off = 2,
		       .imm = value});
	set(p, BPF_REG_0, 0);
	alu(p, BPF_JMP | BPF_EXIT, 0, 0, 0);
}

/* dst becomes the map, or the address of its only value. */
static void load_map(struct qp_program *p, uint8_t dst, uint8_t what, int fd)
{
	alu(p, BPF_LD | BPF_DW | BPF_IMM, dst, what, fd);
	put(p, (struct bpf_insn){0});
}

/* Only QPs of processes: the owners of the kernel's QPs are in lists of cm_ids. */
static void begin(struct qp_program *p, const struct qp_layout *l, enum rd_qp_event_kind kind)
{
	move(p, BPF_REG_6, BPF_REG_1);
	set(p, BPF_REG_1, 0);
	for (int at = SCRATCH; at < 0; at += 8)
		store(p, BPF_DW, at, BPF_REG_1);
	load(p, BPF_DW, BPF_REG_7, BPF_REG_6, ARGUMENT(0));
	if (kind != RD_QP_CREATED)
		add(p, BPF_REG_7, (int32_t)l->qp_res);
	read_kernel(p, SCRATCH, 4, BPF_REG_7, l->res_type);
	load(p, BPF_W, BPF_REG_1, BPF_REG_10, SCRATCH);
	end_if(p, BPF_JNE, BPF_REG_1, (int32_t)l->type_qp);
	read_kernel(p, SCRATCH, 1, BPF_REG_7, l->res_user);
	load(p, BPF_B, BPF_REG_1, BPF_REG_10, SCRATCH);
	end_if(p, BPF_JEQ, BPF_REG_1, 0);
	move(p, BPF_REG_8, BPF_REG_7);
	add(p, BPF_REG_8, -(int32_t)l->qp_res);
}

static void take_qp(struct qp_program *p, const struct qp_layout *l, enum rd_qp_event_kind kind)
{
	store(p, BPF_DW, AT(key), BPF_REG_7);
	set(p, BPF_REG_1, (int32_t)kind);
	store(p, BPF_W, AT(kind), BPF_REG_1);
	read_kernel(p, AT(lqpn), 4, BPF_REG_8, l->qp_num);
	read_kernel(p, AT(port), 4, BPF_REG_8, l->qp_port);
	follow(p, BPF_REG_8, l->qp_device);
	read_kernel(p, AT(device), RECORD_DEVICE, BPF_REG_9, l->device_name);
	call(p, BPF_FUNC_ktime_get_ns);
	store(p, BPF_DW, AT(time_ns), BPF_REG_0);
}

/* The current thread, and what identifies its process. */
static void take_process(struct qp_program *p, const struct qp_layout *l)
{
	call(p, BPF_FUNC_get_current_pid_tgid);
	alu(p, BPF_ALU64 | BPF_RSH | BPF_K, BPF_REG_0, 0, 32);
	store(p, BPF_W, AT(pid), BPF_REG_0);
	call(p, BPF_FUNC_get_current_task);
	move(p, BPF_REG_9, BPF_REG_0);
	follow(p, BPF_REG_9, l->task_leader);
	read_kernel(p, AT(start_ns), 8, BPF_REG_9, l->task_start);
	read_kernel(p, AT(comm), RECORD_COMM, BPF_REG_9, l->task_comm);
}

/* The remote QP, if it is set. */
static void take_peer(struct qp_program *p, const struct qp_layout *l)
{
	load(p, BPF_DW, BPF_REG_1, BPF_REG_6, ARGUMENT(2));
	alu(p, BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_1, 0, DEST_QPN);
	end_if(p, BPF_JEQ, BPF_REG_1, 0);
	load(p, BPF_DW, BPF_REG_9, BPF_REG_6, ARGUMENT(1));
	read_kernel(p, AT(rqpn), 4, BPF_REG_9, l->attr_dest);
}

static void report(struct qp_program *p, int ring, int lost)
{
	load_map(p, BPF_REG_1, BPF_PSEUDO_MAP_FD, ring);
	move(p, BPF_REG_2, BPF_REG_10);
	add(p, BPF_REG_2, RECORD);
	set(p, BPF_REG_3, sizeof(struct qp_record));
	set(p, BPF_REG_4, 0);
	call(p, BPF_FUNC_ringbuf_output);
	end_if(p, BPF_JEQ, BPF_REG_0, 0);
	load_map(p, BPF_REG_1, BPF_PSEUDO_MAP_VALUE, lost);
	set(p, BPF_REG_2, 1);
	put(p, (struct bpf_insn){.code = BPF_STX | BPF_ATOMIC | BPF_DW,
		       .dst_reg = BPF_REG_1,
		       .src_reg = BPF_REG_2,
		       .imm = BPF_ADD});
	set(p, BPF_REG_0, 0);
	alu(p, BPF_JMP | BPF_EXIT, 0, 0, 0);
}

int qp_program_make(struct qp_program *p, const struct qp_layout *l, enum rd_qp_event_kind kind,
	int ring, int lost)
{
	*p = (struct qp_program){0};
	if (FIRST_ARGUMENT == UNKNOWN)
		return -1;
	begin(p, l, kind);
	if (kind == RD_QP_CONNECTED)
		take_peer(p, l);
	take_qp(p, l, kind);
	if (kind == RD_QP_CREATED)
		take_process(p, l);
	report(p, ring, lost);
	return p->n <= QP_PROGRAM_MAX ? 0 : -1;
}
#endif
