/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The privileges of this process, as the kernel checks them: capabilities(7), getrlimit(2). */
#include <errno.h>
#include <linux/capability.h>
#include <rdmadump/privilege.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Calls capget(2) directly: one bit is not worth a dependency on libcap. */
bool rd_has_capability(unsigned int cap)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data))
		return true;
	return data[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

int rd_drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capset, &header, none) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return errno;
	return 0;
}

uint64_t rd_lockable(void)
{
	struct rlimit limit;

	if (rd_has_capability(CAP_IPC_LOCK) || getrlimit(RLIMIT_MEMLOCK, &limit) ||
		limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}
