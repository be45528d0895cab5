/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The filter of system calls, each in a process of its own, which it never loses. */
#include "config.h"
#include "session/session.h"
#include "test.h"
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifdef HAVE_SECCOMP
#define NOT_HERE 77 /* the kernel has no filters: qemu-user, containers */

static const struct {
	const char *name;
	long number;
	int want;
} calls[] = {
#define REFUSED(name)	     {#name, SYS_##name, EPERM},
#define REFUSED_AS(name, as) {#name, SYS_##name, as},
/* clang-format off */
#ifndef __SANITIZE_ADDRESS__
	REFUSED(ptrace)
#endif
	REFUSED(process_vm_readv) REFUSED(process_vm_writev)
	REFUSED(init_module) REFUSED(finit_module) REFUSED(delete_module) REFUSED(kexec_load)
	REFUSED(bpf) REFUSED(perf_event_open) REFUSED(userfaultfd)
	REFUSED(unshare) REFUSED(setns) REFUSED(mount) REFUSED(umount2) REFUSED(pivot_root)
	REFUSED(chroot) REFUSED(open_by_handle_at) REFUSED(swapon) REFUSED(swapoff)
	REFUSED(reboot) REFUSED(acct) REFUSED(sethostname) REFUSED(setdomainname)
	REFUSED(settimeofday) REFUSED(clock_settime)
#ifdef SYS_io_uring_setup
	REFUSED(io_uring_setup) REFUSED(io_uring_enter) REFUSED(io_uring_register)
#endif
#ifdef SYS_fsopen
	REFUSED(open_tree) REFUSED(move_mount) REFUSED(fsopen) REFUSED(fsconfig)
	REFUSED(fsmount) REFUSED(fspick)
#endif
#ifdef SYS_mount_setattr
	REFUSED(mount_setattr)
#endif
#ifdef SYS_pidfd_getfd
	REFUSED(pidfd_getfd)
#endif
#ifdef SYS_kexec_file_load
	REFUSED(kexec_file_load)
#endif
#ifdef SYS_iopl
	REFUSED(iopl) REFUSED(ioperm)
#endif
#ifdef SYS_clone3
	REFUSED_AS(clone3, ENOSYS)
#endif
	/* clang-format on */
};

static int failures;

static void want(const char *what, long got, long wanted)
{
	if (got == wanted)
		return;
	fprintf(stderr, "%s: %ld, not %ld\n", what, got, wanted);
	failures++;
}

/* Arguments of which nothing could come. */
static int error_of(long number, long a, long b)
{
	errno = 0;
	return syscall(number, a, b, -1L, -1L, -1L, -1L) < 0 ? errno : 0;
}

/* The mode of this thread, as the kernel prints it: 2 is a filter. */
static int mode(void)
{
	FILE *f = fopen("/proc/thread-self/status", "r");
	char line[256];
	int mode = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	if (f)
		fclose(f);
	return mode;
}

static void restrict_here(bool runs)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (seccomp_restrict(runs))
		_exit(NOT_HERE);
}

static void in_child(void (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		run();
		_exit(failures != 0);
	}
	same(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
		skip();
	same(status, 0);
}

static void try_all(void)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		want(calls[i].name, error_of(calls[i].number, -1, -1), calls[i].want);
}

static void all_refused(void)
{
	restrict_here(false);
	try_all();
	want("execve", error_of(SYS_execve, -1, -1), EPERM);
	want("execveat", error_of(SYS_execveat, -1, -1), EPERM);
}

TEST(calls_are_refused)
{
	in_child(all_refused);
}

static void none_refused(void)
{
	want("process_vm_readv", error_of(SYS_process_vm_readv, -1, -1) == EPERM, false);
	want("unshare", error_of(SYS_unshare, -1, -1) == EPERM, false);
	want("userfaultfd", error_of(SYS_userfaultfd, -1, -1) == EPERM, false);
}

TEST(without_it_they_are_not)
{
	in_child(none_refused);
}

static void arguments(void)
{
	const long high = sizeof(long) > 4 ? (long)((uint64_t)1 << 40) : 0;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

	restrict_here(false);
	want("TIOCSTI", error_of(SYS_ioctl, fd, TIOCSTI), EPERM);
	want("TIOCSTI, upper half", error_of(SYS_ioctl, fd, TIOCSTI | high), EPERM);
	want("TIOCLINUX", error_of(SYS_ioctl, fd, TIOCLINUX), EPERM);
	want("TIOCGWINSZ", error_of(SYS_ioctl, fd, TIOCGWINSZ), ENOTTY);
#ifndef __s390__
	want("clone", error_of(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0), EPERM);
	want("AF_PACKET", error_of(SYS_socket, AF_PACKET, SOCK_RAW), EAFNOSUPPORT);
	want("AF_ALG, upper half", error_of(SYS_socket, AF_ALG | high, SOCK_SEQPACKET),
		EAFNOSUPPORT);
	want("AF_VSOCK", error_of(SYS_socket, AF_VSOCK, SOCK_STREAM), EAFNOSUPPORT);
#endif
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		want("socket", socket(families[i], SOCK_DGRAM, 0) < 0 && errno != EAFNOSUPPORT, 0);
}

TEST(arguments_are_looked_at)
{
	in_child(arguments);
}

static int gate[2];

static void *wait_and_tell(void *mode_of_it)
{
	char c;

	if (read(gate[0], &c, 1) == 1)
		*(int *)mode_of_it = mode();
	return NULL;
}

static void threads(void)
{
	pthread_t before, after;
	int modes[2] = {-1, -1};

	want("pipe", pipe(gate), 0);
	pthread_create(&before, NULL, wait_and_tell, &modes[0]);
	restrict_here(false);
	want("a new thread", pthread_create(&after, NULL, wait_and_tell, &modes[1]), 0);
	want("write", write(gate[1], "go", 2), 2);
	pthread_join(before, NULL);
	pthread_join(after, NULL);
	want("mode of an earlier thread", modes[0], 2);
	want("mode of a later thread", modes[1], 2);
}

TEST(all_threads_have_it)
{
	in_child(threads);
}

/* A shell, which runs another program. */
static void commands(void)
{
	static char shell[] = "/bin/sh", option[] = "-c",
		    text[] = "grep -qx 'Seccomp:.2' /proc/self/status && ! unshare -U true "
			     "2>/dev/null";
	char *argv[] = {shell, option, text, NULL};
	int status = -1;
	pid_t pid;

	restrict_here(true);
	want("spawn", posix_spawn(&pid, shell, NULL, NULL, argv, environ), 0);
	want("wait", waitpid(pid, &status, 0), pid);
	want("status of the command", status, 0);
	pid = fork();
	if (!pid) {
		try_all();
		_exit(failures != 0);
	}
	want("wait", waitpid(pid, &status, 0), pid);
	want("the same in a child", status, 0);
}

TEST(commands_run_and_inherit_it)
{
	in_child(commands);
}
#endif
