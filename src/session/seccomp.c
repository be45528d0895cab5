/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a capture may no longer do once it has started, nor what it runs: a filter of system calls.
 * It lists what is refused, not what is allowed: which calls libc, libibverbs, a provider's library
 * and the command of -z make differs from machine to machine. The reasons are in docs/security.md.
 */
#include "config.h"
#include "session.h"
#include <errno.h>

#ifdef HAVE_SECCOMP
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* The kernel ignores the upper half of these arguments, so the filter must, too. */
#define LOW_HALF UINT32_MAX
#define FAMILIES 64 /* Linux 6.12 has 46 */
#ifndef AF_SMC	    /* glibc before 2.28 */
#define AF_SMC 43
#endif

/* By name: libseccomp and the kernel may be older than a call, and no machine has all of them. */
static const char *const refused[] = {
	/* memory and descriptors of other processes */
	"process_vm_readv", "process_vm_writev", "pidfd_getfd",
#ifndef __SANITIZE_ADDRESS__ /* LeakSanitizer stops threads by ptrace() */
	"ptrace",
#endif
	/* code in the kernel, and what kernels were attacked through most */
	"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "bpf",
	"perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
	/* namespaces and file systems */
	"unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "open_tree",
	"move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
	"open_by_handle_at", "swapon", "swapoff",
	/* the machine */
	"reboot", "acct", "iopl", "ioperm", "sethostname", "setdomainname", "settimeofday",
	"clock_settime", "clock_settime64"};
static const char *const starting[] = {"execve", "execveat"};

static const struct scmp_arg_cmp refused_clone[] = {
#ifdef __s390__
	SCMP_A1_64(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER)
#else
	SCMP_A0_64(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER)
#endif
};

/* What the user of the terminal did not type: it may be the terminal of the root who started us. */
static const struct scmp_arg_cmp refused_ioctl[] = {
	SCMP_A1_64(SCMP_CMP_MASKED_EQ, LOW_HALF, TIOCSTI),
	SCMP_A1_64(SCMP_CMP_MASKED_EQ, LOW_HALF, TIOCLINUX)};

static bool needs_family(unsigned int family)
{
	return family == AF_UNIX || family == AF_INET || family == AF_INET6 ||
	       family == AF_NETLINK || family == AF_SMC;
}

static int refuse(scmp_filter_ctx filter, const char *const *names, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		int call = seccomp_syscall_resolve_name(names[i]);

		if (call != __NR_SCMP_ERROR)
			rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0);
	}
	return rc;
}

/*
 * Where libc makes sockets by socketcall(2), as on s390x, their family is not an argument: then
 * none is refused.
 */
static int refuse_arguments(scmp_filter_ctx filter)
{
	int rc = seccomp_rule_add_array(
		filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, refused_clone);

	/* Its flags are in memory. Libc uses clone() instead, as on kernels without it. */
	if (rc == 0)
		rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	for (size_t i = 0; i < RD_COUNT(refused_ioctl) && rc == 0; i++)
		rc = seccomp_rule_add_array(
			filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1, &refused_ioctl[i]);
	for (unsigned int family = 1; family < FAMILIES && rc == 0; family++)
		if (!needs_family(family))
			seccomp_rule_add_exact(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT),
				SCMP_SYS(socket), 1,
				SCMP_A0_64(SCMP_CMP_MASKED_EQ, LOW_HALF, family));
	return rc;
}

int seccomp_restrict(bool runs)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int rc;

	if (!filter)
		return ENOMEM;
	/* The calls of 32-bit programs have other numbers. */
	seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	/* It is set already, but for a root that keeps its privileges, and so do its commands. */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0);
	/* Threads that a library has started, too. */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	/* Else all code is slower before Linux 5.16: a mitigation against foreign code. */
	seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
	seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	rc = refuse(filter, refused, RD_COUNT(refused));
	if (rc == 0 && !runs)
		rc = refuse(filter, starting, RD_COUNT(starting));
	if (rc == 0)
		rc = refuse_arguments(filter);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return -rc;
}
#else
int seccomp_restrict(bool runs)
{
	(void)runs;
	return ENOTSUP;
}
#endif
