/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The C library's entry points through which programs reach /sys and /dev/infiniband: paths below
 * them are redirected to the launcher's tree, and calls on a verbs device's descriptors to the
 * model. The exported names are those of glibc 2.36, the *64 and fortified names included.
 */
#include <dirent.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>

#include "softhca.h"

enum { PATH_ROOM = 2 * PATH_MAX };

int real_open(const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int real_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

/* Folders in which the machine's own entries are hidden; elsewhere the tree only adds entries. */
static const char *const replaced[] = {
	"/sys/class/infiniband",
	"/sys/class/infiniband_verbs",
	"/sys/class/infiniband_mad",
	"/sys/class/infiniband_cm",
	"/sys/class/net",
	"/sys/bus/pci/devices",
	"/sys/module/mlx5_core",
	"/sys/module/mlx5_ib",
	"/sys/module/ib_uverbs",
	"/sys/module/ib_core",
	"/sys/kernel/btf",
};

static bool below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

static const char *redirect(const char *path, char *buf)
{
	const struct model_conf *c;
	const char *asked = path;
	struct stat st;

	if (path && !strcmp(path, "/proc/sys/kernel/osrelease"))
		path = "/sys/kernel/osrelease"; /* only a tree has this one */
	if (path && !strcmp(path, "/proc/modules"))
		path = "/sys/kernel/modules";
	if (!path || (strncmp(path, "/sys/", 5) && strncmp(path, "/dev/infiniband", 15) &&
			     !below(path, "/run/rdmadump")))
		return path;
	c = conf_get();
	if (!c)
		return asked;
	if (below(path, "/run/rdmadump")) {
		snprintf(buf, PATH_ROOM, "%s/..%s", c->tree, path);
		return buf;
	}
	if (below(path, "/dev/infiniband")) {
		snprintf(buf, PATH_ROOM, "%s%s", c->dev_dir, path + strlen("/dev/infiniband"));
		return buf;
	}
	snprintf(buf, PATH_ROOM, "%s%s", c->tree, path + strlen("/sys"));
	for (size_t i = 0; i < ARRAY_SIZE(replaced); i++)
		if (below(path, replaced[i]))
			return buf;
	if (!syscall(SYS_newfstatat, AT_FDCWD, buf, &st, AT_SYMLINK_NOFOLLOW))
		return buf;
	return asked;
}

/* The model's device node of this path, or -1. */
static int uverbs_index(const char *path)
{
	const char *name = "/dev/infiniband/uverbs";
	char *end;
	long n;

	if (!path || strncmp(path, name, strlen(name)) || !conf_get())
		return -1;
	n = strtol(path + strlen(name), &end, 10);
	return end == path + strlen(name) || *end || n < 0 || n >= (long)conf_get()->ndevices
		       ? -1
		       : (int)n;
}

/* An unset GID's type and netdev open, but do not read: EINVAL, which an epoll descriptor gives. */
static int gid_attr_unset(int fd, const char *path)
{
	struct stat st;

	if (fd < 0 || !strstr(path, "/gid_attrs/") || syscall(SYS_fstat, fd, &st) ||
		!S_ISREG(st.st_mode) || st.st_size)
		return fd;
	real_close(fd);
	return epoll_create1(EPOLL_CLOEXEC);
}

void counters_refresh(void)
{
	const struct model_conf *c = conf_get();

	for (uint32_t i = 0; c && i < c->ndevices; i++) {
		struct hca *h = hca_get(i);

		if (!h)
			continue;
		hca_lock(h);
		counters_flush(h);
		hca_unlock(h);
	}
}

/* A counter's file is up to date when it is opened, or what the cache has is opened instead. */
static int counter_open(const char *path)
{
	int fd;

	if (!strstr(path, "counters/"))
		return -1;
	fd = counters_open(path);
	if (fd < 0)
		counters_refresh();
	return fd;
}

static int open_path(int dir, const char *path, int flags, mode_t mode)
{
	int index = uverbs_index(path);
	char buf[PATH_ROOM];
	const char *to;
	int fd;

	if (index >= 0)
		return uverbs_open((uint32_t)index, flags);
	if (path && !strcmp(path, "/dev/kmsg") && kmsg_open(flags, &fd))
		return fd;
	to = redirect(path, buf);
	if (to == path)
		return (int)syscall(SYS_openat, dir, path, flags, mode);
	fd = counter_open(to);
	if (fd >= 0)
		return fd;
	return gid_attr_unset((int)syscall(SYS_openat, dir, to, flags, mode), to);
}

static mode_t mode_arg(int flags, va_list ap)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
}

#define OPEN_BODY(dir)                                                                             \
	va_list ap;                                                                                \
	mode_t mode;                                                                               \
                                                                                                   \
	va_start(ap, flags);                                                                       \
	mode = mode_arg(flags, ap);                                                                \
	va_end(ap);                                                                                \
	return open_path(dir, path, flags, mode)

EXPORT int open(const char *path, int flags, ...)
{
	OPEN_BODY(AT_FDCWD);
}

EXPORT int openat(int dir, const char *path, int flags, ...)
{
	OPEN_BODY(dir);
}

EXPORT int __open_2(const char *path, int flags)
{
	return open_path(AT_FDCWD, path, flags, 0);
}

EXPORT int __openat_2(int dir, const char *path, int flags)
{
	return open_path(dir, path, flags, 0);
}

static FILE *fopen_redirected(const char *to)
{
	int fd = counter_open(to);

	if (fd < 0)
		fd = gid_attr_unset(real_open(to, O_RDONLY | O_CLOEXEC, 0), to);
	return fd < 0 ? NULL : fdopen(fd, "r");
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	char buf[PATH_ROOM];
	const char *to = redirect(path, buf);
	REAL(fopen);

	if (to != path && mode[0] == 'r' && !strchr(mode, '+'))
		return fopen_redirected(to);
	return real(to, mode);
}

EXPORT DIR *opendir(const char *path)
{
	char buf[PATH_ROOM];
	REAL(opendir);

	return real(redirect(path, buf));
}

EXPORT int scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
	int (*order)(const struct dirent **, const struct dirent **))
{
	char buf[PATH_ROOM];
	REAL(scandir);

	return real(redirect(path, buf), list, filter, order);
}

EXPORT int chdir(const char *path)
{
	char buf[PATH_ROOM];
	REAL(chdir);

	return real(redirect(path, buf));
}

/* ---- stat and its relatives ---- */

static void uverbs_stat(struct stat *st, uint32_t index)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = makedev(UVERBS_MAJOR, UVERBS_MINOR + index);
	st->st_size = 0;
}

static int stat_path(int dir, const char *path, struct stat *st, int flags)
{
	char buf[PATH_ROOM];
	int index = uverbs_index(path);
	struct ctx *ctx = path && !path[0] && flags & AT_EMPTY_PATH ? uverbs_from_fd(dir) : NULL;
	int rc = (int)syscall(SYS_newfstatat, dir, redirect(path, buf), st, flags);

	if (!rc && ctx)
		index = (int)ctx->hca->conf->minor;
	if (!rc && index >= 0)
		uverbs_stat(st, (uint32_t)index);
	return rc;
}

static int stat_fd(int fd, struct stat *st)
{
	struct ctx *ctx = uverbs_from_fd(fd);
	int rc = (int)syscall(SYS_fstat, fd, st);

	if (!rc && ctx)
		uverbs_stat(st, ctx->hca->conf->minor);
	return rc;
}

EXPORT int stat(const char *path, struct stat *st)
{
	return stat_path(AT_FDCWD, path, st, 0);
}

EXPORT int lstat(const char *path, struct stat *st)
{
	return stat_path(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

EXPORT int fstat(int fd, struct stat *st)
{
	return stat_fd(fd, st);
}

EXPORT int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return stat_path(dir, path, st, flags);
}

EXPORT int statx(int dir, const char *path, int flags, unsigned int mask, struct statx *st)
{
	char buf[PATH_ROOM];
	int index = uverbs_index(path);
	int rc = (int)syscall(SYS_statx, dir, redirect(path, buf), flags, mask, st);

	if (!rc && index >= 0) {
		st->stx_mode = S_IFCHR | 0666;
		st->stx_rdev_major = UVERBS_MAJOR;
		st->stx_rdev_minor = UVERBS_MINOR + (uint32_t)index;
	}
	return rc;
}

EXPORT int access(const char *path, int mode)
{
	char buf[PATH_ROOM];
	REAL(access);

	return real(redirect(path, buf), mode);
}

EXPORT int euidaccess(const char *path, int mode)
{
	char buf[PATH_ROOM];
	REAL(euidaccess);

	return real(redirect(path, buf), mode);
}

EXPORT int faccessat(int dir, const char *path, int mode, int flags)
{
	char buf[PATH_ROOM];
	REAL(faccessat);

	return real(dir, redirect(path, buf), mode, flags);
}

EXPORT int mkdir(const char *path, mode_t mode)
{
	char buf[PATH_ROOM];
	REAL(mkdir);

	return real(redirect(path, buf), mode);
}

EXPORT ssize_t readlink(const char *path, char *out, size_t len)
{
	char buf[PATH_ROOM];
	REAL(readlink);

	return real(redirect(path, buf), out, len);
}

EXPORT ssize_t readlinkat(int dir, const char *path, char *out, size_t len)
{
	char buf[PATH_ROOM];
	REAL(readlinkat);

	return real(dir, redirect(path, buf), out, len);
}

/* Paths inside the tree are returned under the names that the program used. */
static char *path_restore(char *path)
{
	const struct model_conf *c = conf_get();
	size_t n;

	if (!path || !c)
		return path;
	n = strlen(c->tree);
	if (!strncmp(path, c->tree, n) && (path[n] == '/' || !path[n])) {
		memmove(path + strlen("/sys"), path + n, strlen(path + n) + 1);
		memcpy(path, "/sys", strlen("/sys"));
	}
	return path;
}

EXPORT char *realpath(const char *path, char *out)
{
	char buf[PATH_ROOM];
	REAL(realpath);

	return path_restore(real(redirect(path, buf), out));
}

EXPORT char *canonicalize_file_name(const char *path)
{
	return realpath(path, NULL);
}

/* ---- descriptors ---- */

EXPORT ssize_t pread(int fd, void *to, size_t n, off_t at)
{
	ssize_t rc;

	return gateway_pread(fd, to, n, at, &rc) ? rc : syscall(SYS_pread64, fd, to, n, at);
}

EXPORT ssize_t pwrite(int fd, const void *from, size_t n, off_t at)
{
	ssize_t rc;

	return gateway_pwrite(fd, from, n, at, &rc) ? rc : syscall(SYS_pwrite64, fd, from, n, at);
}

EXPORT int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	if (gateway_hurry())
		return 0;
	hca_poke();
	return time_sleep(wanted, left);
}

EXPORT off_t lseek(int fd, off_t at, int from)
{
	return kmsg_seek(fd, from) ? 0 : syscall(SYS_lseek, fd, at, from);
}

EXPORT int close(int fd)
{
	uverbs_closing(fd);
	time_closing(fd);
	kmsg_closing(fd);
	nldev_closing(fd);
	return real_close(fd);
}

static const struct port_conf *netdev_find(const char *name, uint32_t index)
{
	const struct model_conf *c = conf_get();

	for (uint32_t i = 0; c && i < c->ndevices; i++) {
		for (uint32_t k = 0; k < c->device[i].nports; k++) {
			const struct port_conf *p = &c->device[i].port[k];

			if (p->ifindex && (name ? !strcmp(p->netdev, name) : p->ifindex == index))
				return p;
		}
	}
	return NULL;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	struct ctx *ctx = uverbs_from_fd(fd);
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (ctx)
		return uverbs_ioctl(ctx, request, arg);
	if (request == SIOCETHTOOL && netdev_find(((struct ifreq *)arg)->ifr_name, 0))
		return ethtool_ioctl(
			((struct ifreq *)arg)->ifr_name, ((struct ifreq *)arg)->ifr_data);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

EXPORT void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	struct ctx *ctx = uverbs_from_fd(fd);

	if (ctx)
		return uverbs_mmap(ctx, len, prot, offset);
	return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, offset);
}

static bool exists(const char *file)
{
	return *file && syscall(SYS_faccessat, AT_FDCWD, file, F_OK) == 0;
}

/* Reading a register cannot be detected: it is updated when the program reads the system clock. */
EXPORT int clock_gettime(clockid_t id, struct timespec *t)
{
	struct timespec now;
	int rc;
	REAL(clock_gettime);

	rc = time_get(id, t) ? 0 : real(id, t);
	if (clock_conf() && (time_is_virtual() || !real(CLOCK_MONOTONIC, &now)))
		clock_look(time_is_virtual()
				   ? time_look()
				   : (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	if (id != CLOCK_REALTIME || !clock_conf())
		return rc;
	if (exists(clock_conf()->back))
		t->tv_sec -= 86400;
	if (exists(clock_conf()->ahead))
		t->tv_sec += 86400;
	return rc;
}

EXPORT int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*t = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
	return 0;
}

EXPORT time_t time(time_t *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}

/* Without netlink, and with that of nldev.c, libibverbs finds devices in sysfs. */
EXPORT int socket(int domain, int type, int protocol)
{
	int fd;

	if (domain == AF_NETLINK && protocol == NETLINK_RDMA && conf_get()) {
		if (nldev_socket(&fd, type))
			return fd;
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return (int)syscall(SYS_socket, domain, type, protocol);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	ssize_t rc;

	return nldev_send(fd, m, &rc) ? rc : syscall(SYS_sendmsg, fd, m, flags);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	ssize_t rc;

	return nldev_receive(fd, m, flags, &rc) ? rc : syscall(SYS_recvmsg, fd, m, flags);
}

EXPORT unsigned int if_nametoindex(const char *name)
{
	const struct port_conf *p = netdev_find(name, 0);
	REAL(if_nametoindex);

	return p ? p->ifindex : real(name);
}

EXPORT char *if_indextoname(unsigned int index, char name[IF_NAMESIZE])
{
	const struct port_conf *p = netdev_find(NULL, index);
	REAL(if_indextoname);

	return p ? memcpy(name, p->netdev, IF_NAMESIZE) : real(index, name);
}

/*
 * Other names of these functions. On 64-bit systems, offsets and structures of both sorts are one;
 * the fortified ones have the room as one more argument at their end.
 */
#define ALIAS(name, of) __asm__(".globl " #name "\n.set " #name ", " #of)
ALIAS(open64, open);
ALIAS(openat64, openat);
ALIAS(__open64_2, __open_2);
ALIAS(__openat64_2, __openat_2);
ALIAS(fopen64, fopen);
ALIAS(scandir64, scandir);
ALIAS(stat64, stat);
ALIAS(lstat64, lstat);
ALIAS(fstat64, fstat);
ALIAS(fstatat64, fstatat);
ALIAS(eaccess, euidaccess);
ALIAS(__readlink_chk, readlink);
ALIAS(__readlinkat_chk, readlinkat);
ALIAS(__realpath_chk, realpath);
ALIAS(pread64, pread);
ALIAS(__pread_chk, pread);
ALIAS(__pread64_chk, pread);
ALIAS(pwrite64, pwrite);
ALIAS(lseek64, lseek);
ALIAS(mmap64, mmap);
