/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loads the BPF programs, attaches them to functions of the kernel, and reads what they report. All
 * of it is bound to descriptors of this process: nothing is left when it ends.
 */

#include "config.h"
#include <errno.h>

#ifdef HAVE_LIBBPF
#include "qp_program.h"
#include "sysfs.h"
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <rdmadump/fd.h>
#include <rdmadump/privilege.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define RING_BYTES (1U << 20) /* 7700 events */
#define KPROBE	   "/sys/bus/event_source/devices/kprobe/type"
#define NEEDS                                                                                      \
	"run it as root, or with CAP_BPF and CAP_PERFMON, to see the owners of short-lived QPs"

static const char *const functions[RD_QP_EVENT_KINDS] = {[RD_QP_CREATED] = "rdma_restrack_add",
	[RD_QP_CONNECTED] = "ib_modify_qp_with_udata",
	[RD_QP_DESTROYED] = "ib_destroy_qp_user"};

struct rd_qp_events {
	int ring, counter;		/* maps */
	int program[RD_QP_EVENT_KINDS]; /* -1: not open */
	int probe[RD_QP_EVENT_KINDS];	/* a link, or a kprobe */
	struct ring_buffer *reader;
	const volatile uint64_t *lost; /* mapped: reading it needs no privilege */
	uint64_t epoch_ns;	       /* of the clock */
	/* While rd_qp_events_read() runs. */
	void (*take)(void *ctx, const struct rd_qp_event *event);
	void *ctx;
};

static size_t page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int on_record(void *ctx, void *data, size_t size)
{
	struct rd_qp_events *e = ctx;
	struct rd_qp_event event;

	if (qp_record_event(data, size, e->epoch_ns, &event))
		e->take(e->ctx, &event);
	return 0;
}

static int quiet(enum libbpf_print_level level, const char *format, va_list values)
{
	(void)level, (void)format, (void)values;
	return 0;
}

static int refused(const char *what, int errnum, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_DEVICE, errnum,
		errnum == EPERM || errnum == EACCES ? NEEDS : NULL, "the kernel refused %s", what);
}

static int make_maps(struct rd_qp_events *e, struct rd_error *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, shared, .map_flags = BPF_F_MMAPABLE);
	void *value;

	e->ring = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "rdmadump", 0, 0, RING_BYTES, NULL);
	if (e->ring < 0)
		return refused("a BPF ring buffer", errno, err);
	e->counter = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rdmadump_lost", 4, 8, 1, &shared);
	if (e->counter < 0)
		return refused("a BPF map", errno, err);
	value = mmap(NULL, page(), PROT_READ, MAP_SHARED, e->counter, 0);
	if (value == MAP_FAILED)
		return refused("reading a BPF map", errno, err);
	e->lost = value;
	e->reader = ring_buffer__new(e->ring, on_record, e, NULL);
	return e->reader ? 0 : refused("reading a BPF ring buffer", errno, err);
}

static int load(const struct qp_program *p, struct bpf_prog_load_opts *how)
{
	return bpf_prog_load(
		BPF_PROG_TYPE_KPROBE, "rdmadump_qp", "Dual BSD/GPL", p->insn, p->n, how);
}

static void detach(struct rd_qp_events *e, unsigned int kind)
{
	rd_fd_close(&e->probe[kind]);
	rd_fd_close(&e->program[kind]);
}

/*
 * Attached by name (bpf(2), BPF_LINK_CREATE), at the beginning of the function. For functions of
 * modules this needs Linux 6.2 and CONFIG_FPROBE, and no more privileges than to load a program.
 */
static int attach_by_link(struct rd_qp_events *e, enum rd_qp_event_kind kind,
	const struct qp_program *p, struct rd_error *err)
{
	LIBBPF_OPTS(bpf_prog_load_opts, how, .expected_attach_type = BPF_TRACE_KPROBE_MULTI);
	LIBBPF_OPTS(bpf_link_create_opts, where,
		.kprobe_multi.syms = (const char **)&functions[kind], .kprobe_multi.cnt = 1);

	e->program[kind] = load(p, &how);
	if (e->program[kind] < 0)
		return refused("a BPF program", errno, err);
	e->probe[kind] = bpf_link_create(e->program[kind], 0, BPF_TRACE_KPROBE_MULTI, &where);
	return e->probe[kind] < 0 ? refused("a BPF program at a function", errno, err) : 0;
}

/* A probe at the beginning of a function (perf_event_open(2), kprobe). */
static int open_probe(const char *function, struct rd_error *err)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .sample_period = 1, .wakeup_events = 1};
	uint64_t type;
	int fd;

	if (rd_sysfs_u64(&type, KPROBE))
		return rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "the kernel has no kprobes");
	attr.type = (uint32_t)type;
	attr.kprobe_func = (uintptr_t)function;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && errno == EACCES && rd_has_capability(CAP_PERFMON))
		return rd_fail(err, RD_CLASS_DEVICE, errno,
			"set the sysctl kernel.perf_event_paranoid to 2, or run it as root",
			"the kernel refused a kprobe");
	return fd >= 0 ? fd : refused("a kprobe", errno, err);
}

/* The same on older kernels; some refuse it without CAP_SYS_ADMIN (docs/security.md). */
static int attach_by_perf(struct rd_qp_events *e, enum rd_qp_event_kind kind,
	const struct qp_program *p, struct rd_error *err)
{
	e->program[kind] = load(p, NULL);
	if (e->program[kind] < 0)
		return refused("a BPF program", errno, err);
	e->probe[kind] = open_probe(functions[kind], err);
	if (e->probe[kind] < 0)
		return -1;
	if (ioctl(e->probe[kind], PERF_EVENT_IOC_SET_BPF, e->program[kind]) ||
		ioctl(e->probe[kind], PERF_EVENT_IOC_ENABLE, 0))
		return refused("a BPF program at a kprobe", errno, err);
	return 0;
}

static int attach(struct rd_qp_events *e, enum rd_qp_event_kind kind, const struct qp_layout *l,
	struct rd_error *err)
{
	struct qp_program p;

	if (qp_program_make(&p, l, kind, e->ring, e->counter))
		return rd_fail(
			err, RD_CLASS_DEVICE, ENOTSUP, NULL, "no BPF program for this processor");
	if (!attach_by_link(e, kind, &p, err))
		return 0;
	detach(e, kind);
	return attach_by_perf(e, kind, &p, err);
}

/* Processes have other numbers, or starts, in namespaces of their own (linux/proc_ns.h). */
static int check_namespaces(struct rd_error *err)
{
	static const char *const initial[][2] = {{"/proc/self/ns/pid", "pid:[4026531836]"},
		{"/proc/self/ns/time", "time:[4026531834]"}};
	char is[64];

	for (size_t i = 0; i < RD_COUNT(initial); i++)
		if (rd_sysfs_link(is, sizeof(is), "%s", initial[i][0]) == 0 &&
			strcmp(is, initial[i][1]) != 0)
			return rd_fail(err, RD_CLASS_DEVICE, 0, "run it on the host itself",
				"the kernel reports processes by their numbers on the host, and "
				"this is a container (%s)",
				initial[i][0]);
	return 0;
}

/* Before any call that a service's filter of system calls may punish. */
static int check_privileges(struct rd_error *err)
{
	if (rd_has_capability(CAP_SYS_ADMIN) ||
		(rd_has_capability(CAP_BPF) && rd_has_capability(CAP_PERFMON)))
		return 0;
	return refused("to report them", EPERM, err);
}

struct rd_qp_events *rd_qp_events_open(const struct rd_clock *clock, struct rd_error *err)
{
	struct rd_qp_events *e;
	struct qp_layout l;
	int ret = 0;

	libbpf_set_print(quiet);
	if (check_namespaces(err) || (qp_layout_known("") && check_privileges(err)) ||
		qp_layout_read(&l, "", err))
		return NULL;
	e = malloc(sizeof(*e));
	if (!e) {
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot watch for new QPs");
		return NULL;
	}
	*e = (struct rd_qp_events){.ring = -1, .counter = -1, .epoch_ns = clock->epoch_ns};
	for (unsigned int k = 0; k < RD_QP_EVENT_KINDS; k++)
		e->program[k] = e->probe[k] = -1;
	ret = make_maps(e, err);
	/* Destroying first: no QP whose creation was reported may end unnoticed. */
	for (int k = RD_QP_EVENT_KINDS; !ret && k-- > 0;)
		ret = attach(e, (enum rd_qp_event_kind)k, &l, err);
	if (!ret)
		return e;
	rd_qp_events_close(e);
	return NULL;
}

int rd_qp_events_fd(const struct rd_qp_events *e)
{
	return ring_buffer__epoll_fd(e->reader);
}

void rd_qp_events_read(
	struct rd_qp_events *e, void (*take)(void *ctx, const struct rd_qp_event *event), void *ctx)
{
	e->take = take;
	e->ctx = ctx;
	ring_buffer__consume(e->reader);
}

uint64_t rd_qp_events_lost(const struct rd_qp_events *e)
{
	return *e->lost;
}

void rd_qp_events_close(struct rd_qp_events *e)
{
	if (!e)
		return;
	for (unsigned int k = 0; k < RD_QP_EVENT_KINDS; k++)
		detach(e, k);
	ring_buffer__free(e->reader);
	if (e->lost)
		munmap((void *)(uintptr_t)e->lost, page());
	rd_fd_close(&e->counter);
	rd_fd_close(&e->ring);
	free(e);
}

const char *rd_qp_events_library(void)
{
	return "libbpf " LIBBPF_VERSION;
}
#else
struct rd_qp_events *rd_qp_events_open(const struct rd_clock *clock, struct rd_error *err)
{
	(void)clock;
	rd_fail(err, RD_CLASS_DEVICE, ENOTSUP, "build it with libbpf", "this build has no libbpf");
	return NULL;
}

int rd_qp_events_fd(const struct rd_qp_events *e)
{
	(void)e;
	return -1;
}

void rd_qp_events_read(
	struct rd_qp_events *e, void (*take)(void *ctx, const struct rd_qp_event *event), void *ctx)
{
	(void)e, (void)take, (void)ctx;
}

uint64_t rd_qp_events_lost(const struct rd_qp_events *e)
{
	(void)e;
	return 0;
}

void rd_qp_events_close(struct rd_qp_events *e)
{
	(void)e;
}

const char *rd_qp_events_library(void)
{
	return "";
}
#endif
