/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernels that take verbs commands by write() refuse them with EACCES once the credentials differ
 * from those that opened the device (uverbs_main.c, ib_safe_file_access()). Since Linux 5.0
 * rdma-core uses ioctl(), which has no such check.
 */
#include "verbs_port.h"
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Credentials belong to a thread: this one changes its own, and tries a harmless command. */
static void *try_command(void *arg)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	struct verbs_port *port = arg;
	struct ibv_port_attr attr;

	if (syscall(SYS_capget, &head, sets))
		return NULL;
	for (unsigned int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].effective = 0;
	if (syscall(SYS_capset, &head, sets))
		return NULL;
	return ibv_query_port(port->ctx, (uint8_t)port->num, &attr) == EACCES ? port : NULL;
}

bool verbs_creds_fixed(struct verbs_port *port)
{
	void *refused = NULL;
	pthread_t thread;

	if (pthread_create(&thread, NULL, try_command, port))
		return false;
	pthread_join(thread, &refused);
	return refused != NULL;
}
