/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens a verbs device by its name, and names its asynchronous events (ibv_get_async_event(3)). */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdmadump/array.h>
#include <rdmadump/verbs.h>
#include <string.h>

static const struct rd_async_event events[] = {
	{IBV_EVENT_PORT_ACTIVE, true, "port_active", "port up"},
	{IBV_EVENT_PORT_ERR, true, "port_error", "port down"},
	{IBV_EVENT_LID_CHANGE, true, "lid_change", "LID changed"},
	{IBV_EVENT_PKEY_CHANGE, true, "pkey_change", "P_Key table changed"},
	{IBV_EVENT_GID_CHANGE, true, "gid_change", "GID table changed"},
	{IBV_EVENT_SM_CHANGE, true, "sm_change", "subnet manager changed"},
	{IBV_EVENT_CLIENT_REREGISTER, true, "client_reregister",
		"subnet manager asks for registration"},
	{IBV_EVENT_DEVICE_FATAL, false, "device_fatal", "the device failed fatally or was removed"},
};

const struct rd_async_event *rd_async_event(unsigned int type)
{
	return RD_FIND(e, events, RD_COUNT(events), e->type == type);
}

int rd_fd_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? errno : 0;
}

static const char *advice(int errnum)
{
	if (errnum == EACCES || errnum == EPERM)
		return "needs read and write access to /dev/infiniband/uverbs*: run as root";
	/* libibverbs finds devices in sysfs, which containers have, but opens character devices. */
	if (errnum == ENOENT || errnum == ENXIO || errnum == ENODEV)
		return "its character device in /dev/infiniband is absent: in a container, start "
		       "it with --device=/dev/infiniband; else load ib_uverbs (modprobe ib_uverbs)";
	if (errnum == EMFILE)
		return "raise the limit of open files (ulimit -n)";
	return "see the kernel's log (dmesg)";
}

static struct ibv_device *find(struct ibv_device **list, const char *name)
{
	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return list[i];
	return NULL;
}

int rd_verbs_device_open(struct ibv_context **context, const char *name,
	rd_verbs_open_fn *provider_open, void *ctx, struct rd_error *err)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_device *device = find(list, name);
	int errnum;

	*context = device && provider_open ? provider_open(device, ctx) : NULL;
	errno = 0;
	if (device && !*context)
		*context = ibv_open_device(device);
	errnum = errno;
	if (list)
		ibv_free_device_list(list);
	if (!device)
		return rd_fail(err, RD_CLASS_DEVICE, 0,
			"load the user-space access (modprobe ib_uverbs) and install the device's "
			"provider (package ibverbs-providers)",
			"libibverbs does not know %s", name);
	if (!*context)
		return rd_fail(
			err, RD_CLASS_DEVICE, errnum, advice(errnum), "cannot open %s", name);
	return 0;
}
