/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Advice for the case that the kernel refuses an object of the sniffer. An errno has several causes
 * (kernel: ib_umem_get() and the create functions of mlx5_ib); the privileges of this process show
 * which one it is.
 */
#include "verbs_port.h"
#include <errno.h>
#include <linux/capability.h>
#include <rdmadump/privilege.h>
#include <rdmadump/verbs.h>
#include <string.h>

struct advice {
	int errnum;
	const char *todo;
};

static const struct advice cq_advice[] = {
	{EINVAL, "use fewer buffers (-b)"},
	{0, "see the kernel's log (dmesg)"},
};

static const struct advice queue_advice[] = {
	{EOPNOTSUPP, "this device offers no RAW_PACKET queue pair; see 'rdmadump info'"},
	{EINVAL, "use fewer buffers (-b)"},
	{0, "see 'rdmadump info' and the kernel's log (dmesg)"},
};

static const struct advice flow_advice[] = {
	{EOPNOTSUPP, "the device, its firmware or its link layer has no sniffer for verbs; see "
		     "'rdmadump info'"},
	{EBUSY, "another program is sniffing on this device; end it first"},
	{0, "see 'rdmadump info' and the kernel's log (dmesg)"},
};

static const struct {
	const struct advice *advice;
	bool needs_raw, pins; /* CAP_NET_RAW; locked memory */
} objects[] = {
	[VERBS_MEMORY] = {cq_advice, false, true},
	[VERBS_CQ] = {cq_advice, false, true},
	[VERBS_QUEUE] = {queue_advice, true, true},
	[VERBS_FLOW] = {flow_advice, true, false},
};

/* Every capture needs it: with only the limit raised, the next step would be refused. */
static bool lacks_raw(void)
{
	return !rd_has_capability(CAP_NET_RAW);
}

/* With a limit of 0 the kernel refuses to lock memory; else locked memory counts against it. */
static const char *refused(enum verbs_object object)
{
	if (objects[object].needs_raw && lacks_raw())
		return RD_NEEDS_RAW;
	if (objects[object].pins && rd_lockable() == 0)
		return lacks_raw() ? RD_NEEDS_BOTH
				   : "no memory may be locked (ulimit -l is 0): " RD_NEEDS_LOCK;
	if (objects[object].needs_raw)
		return "this process has CAP_NET_RAW: in a container, run it on the host; else see "
		       "the kernel's log (dmesg)";
	return "neither CAP_NET_RAW nor the limit of locked memory is the cause: see the kernel's "
	       "log (dmesg)";
}

static const char *no_memory(enum verbs_object object)
{
	if (objects[object].pins && rd_lockable() != UINT64_MAX)
		return lacks_raw() ? RD_NEEDS_BOTH
				   : "the limit of locked memory (ulimit -l) may be too "
				     "small: " RD_NEEDS_LOCK ", or use fewer buffers (-b)";
	return "use fewer buffers (-b)";
}

const char *verbs_advice(enum verbs_object object, int errnum)
{
	const struct advice *a = objects[object].advice;

	if (errnum == EPERM)
		return refused(object);
	if (errnum == ENOMEM || errnum == EAGAIN)
		return no_memory(object);
	while (a->errnum && a->errnum != errnum)
		a++;
	return a->todo;
}

int verbs_fail(const struct verbs_port *port, struct rd_error *err, int errnum, const char *todo,
	const char *verb)
{
	return rd_fail(err, RD_CLASS_DEVICE, errnum, todo, "%s on %s", verb, port->name);
}

int verbs_fail_object(const struct verbs_port *port, struct rd_error *err, int errnum,
	enum verbs_object object, const char *verb)
{
	const char *todo = verbs_advice(object, errnum);

	/* mlx4_ib supports flows only if mlx4_core was loaded with device-managed steering. */
	if (object == VERBS_FLOW && (errnum == EOPNOTSUPP || errnum == ENOSYS) &&
		strcmp(port->device->driver, "mlx4_core") == 0)
		todo = "on ConnectX-3 set 'options mlx4_core log_num_mgm_entry_size=-1' and reload "
		       "the driver";
	return verbs_fail(port, err, errnum, todo, verb);
}

int verbs_nonblocking(const struct verbs_port *port, int fd, struct rd_error *err)
{
	int rc = rd_fd_nonblocking(fd);

	return rc ? verbs_fail(port, err, rc, NULL, "fcntl") : 0;
}
