/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The C library's waits and clocks. Before a program waits, the model looks at what it did. With
 * --time virtual the clock is one of the run's processes, in a page that they share, and passes
 * only when all their threads sleep: then the earliest end of a wait is now, whatever the machine
 * does meanwhile. There the model has no thread: the thread that waits does its work.
 */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include "softhca.h"

#define NS    UINT64_C(1000000000)
#define NEVER UINT64_MAX

enum {
	THREADS = 128,
	TIMERS = 16,
	TICK_NS = 1000, /* what it takes to ask for the time: loops that do so end */
	TURNS = 100000,
	/* How often a waiting thread looks whether the others sleep in another call. */
	LOOK_FIRST_NS = 200000,
	LOOK_MOST_NS = 20000000,
	YIELDS = 2000,
	TICKS = 16, /* the model looks this often at a loop that asks for the time */
};

static struct shared {
	_Atomic pid_t lock; /* the thread that has it; held without sleeping */
	_Atomic uint64_t now;
	int64_t wall;	     /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	_Atomic int threads; /* of thread[], used ones and unused ones between them */
	struct sleeper {
		_Atomic pid_t tid; /* 0: unused */
		pid_t pid;
		_Atomic uint64_t until; /* NEVER: it runs, or no time ends its wait */
		atomic_bool polite;	/* it runs, and lets others come first */
	} thread[THREADS];
} * all;

static char folder[512]; /* of kick.N, which wakes thread N */
static _Atomic(pthread_cond_t *) waits_on[THREADS];
static int stat_fd[THREADS], kick_fd[THREADS]; /* 0: not open */
static pid_t stat_of[THREADS];
static uint64_t late_ns; /* how much longer each pause lasts */
static __thread __attribute__((tls_model("initial-exec"))) int own = -1, own_kick, ticks, inside;
static pthread_mutex_t model = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t model_next = NEVER;
static struct timer {
	int fd; /* 0: unused */
	uint64_t at, interval;
} timers[TIMERS];
static pthread_mutex_t timers_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t ns_of(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * NS + (uint64_t)t->tv_nsec;
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NS), (long)(ns % NS)};
}

static uint64_t after(uint64_t ns)
{
	return ns < NEVER - time_look() ? time_look() + ns : NEVER;
}

/* ---- threads ---- */

static void lock(void)
{
	pid_t me = (pid_t)syscall(SYS_gettid), free = 0;

	for (unsigned int n = 1; !atomic_compare_exchange_strong(&all->lock, &free, me); n++) {
		/* Its owner may have been killed. */
		if (n % YIELDS == 0 && kill(free, 0) < 0 && errno == ESRCH)
			atomic_compare_exchange_strong(&all->lock, &free, 0);
		free = 0;
		sched_yield();
	}
}

/* The kernel's word: a thread that was woken runs from that moment on. */
static bool sleeps(int i)
{
	pid_t tid = atomic_load(&all->thread[i].tid);
	char text[256], *end;
	ssize_t n;

	if (!tid)
		return true;
	if (stat_of[i] != tid) {
		snprintf(text, sizeof(text), "/proc/%d/task/%d/stat", all->thread[i].pid, tid);
		if (stat_fd[i])
			real_close(stat_fd[i]);
		stat_fd[i] = real_open(text, O_RDONLY | O_CLOEXEC, 0);
		stat_of[i] = tid;
	}
	n = syscall(SYS_pread64, stat_fd[i], text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')');
	if (!end || strchr("ZX", end[2])) {
		/* It has ended, and is seen so before its parent is woken, under a lock that this
		 * waits for. */
		kill(0, 0);
		atomic_store(&all->thread[i].tid, 0);
		return false;
	}
	return strchr("StT", end[2]);
}

static bool each_sleeps(bool polite_ones)
{
	for (int i = 0; i < all->threads; i++)
		if (i != own && !(polite_ones && atomic_load(&all->thread[i].polite)) && !sleeps(i))
			return false;
	return true;
}

/* Twice: what was seen asleep may have been woken by what slept when it was seen in its turn. */
static bool others_sleep(bool polite_ones)
{
	return each_sleeps(polite_ones) && each_sleeps(polite_ones);
}

static int kick_open(int i)
{
	char path[sizeof(folder) + 16];
	snprintf(path, sizeof(path), "%s/kick.%d", folder, i);
	return real_open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC, 0);
}

static void kick(int i)
{
	pthread_cond_t *cond = atomic_load(&waits_on[i]);

	atomic_store(&all->thread[i].until, NEVER);
	if (cond)
		pthread_cond_broadcast(cond);
	if (kick_fd[i] <= 0)
		kick_fd[i] = kick_open(i);
	if (write(kick_fd[i], "", 1) < 0 && errno != EAGAIN)
		perror("softhca: kick");
}

/* A child may have entered itself, and wait already, when its parent comes to that. */
static int enter(pid_t pid, pid_t tid, bool by_parent)
{
	int found = -1;

	lock();
	for (int i = THREADS - 1; i >= 0; i--) {
		pid_t have = atomic_load(&all->thread[i].tid);

		if (have == tid || !have)
			found = i;
		if (have == tid)
			break;
	}
	if (found >= 0 && !(by_parent && atomic_load(&all->thread[found].tid) == tid)) {
		all->thread[found].pid = pid;
		atomic_store(&all->thread[found].until, NEVER);
		atomic_store(&all->thread[found].tid, tid);
		if (found >= all->threads)
			all->threads = found + 1;
	}
	atomic_store(&all->lock, 0);
	return found;
}

void time_enter(pid_t pid)
{
	if (all)
		enter(pid, pid, true);
}

void time_enter_own(void)
{
	own = enter((pid_t)syscall(SYS_getpid), (pid_t)syscall(SYS_gettid), false);
	if (own < 0) {
		fprintf(stderr, "softhca: more than %d threads\n", THREADS);
		_exit(125);
	}
	own_kick = kick_open(own);
}

/* The child has none of the threads that may have held a lock. */
static void forked(void)
{
	own = -1;
	inside = 0;
	memset(timers, 0, sizeof(timers));
	pthread_mutex_init(&timers_lock, NULL);
	pthread_mutex_init(&model, NULL);
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("SOFTHCA_TIME"), *late = getenv("SOFTHCA_LATE_MS");
	struct timespec wall, now;
	int fd = path ? real_open(path, O_RDWR | O_CLOEXEC, 0) : -1;

	if (fd < 0)
		return;
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	real_close(fd);
	if (all == MAP_FAILED) {
		perror("softhca: time");
		_exit(125);
	}
	late_ns = late ? strtoull(late, NULL, 10) * 1000000 : 0;
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	lock();
	if (!all->now) {
		syscall(SYS_clock_gettime, CLOCK_REALTIME, &wall);
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
		all->wall = (int64_t)(ns_of(&wall) - ns_of(&now));
		all->now = ns_of(&now);
	}
	atomic_store(&all->lock, 0);
	pthread_atfork(NULL, NULL, forked);
	time_enter_own();
}

bool time_is_virtual(void)
{
	return all;
}

/* ---- the clock ---- */

uint64_t time_look(void)
{
	return atomic_load(&all->now);
}

static void pass_to(uint64_t at)
{
	uint64_t now = time_look();

	while (now < at && !atomic_compare_exchange_weak(&all->now, &now, at))
		;
}

/* Timers that are due; returns when the next one is. */
static uint64_t timers_turn(uint64_t now)
{
	uint64_t next = NEVER, times;

	pthread_mutex_lock(&timers_lock);
	for (struct timer *t = timers; t < timers + TIMERS; t++) {
		if (t->fd && t->at <= now) {
			times = t->interval ? (now - t->at) / t->interval + 1 : 1;
			t->at = t->interval ? t->at + times * t->interval : NEVER;
			if (write(t->fd, &times, sizeof(times)) < 0)
				perror("softhca: timer");
		}
		if (t->fd && t->at < next)
			next = t->at;
	}
	pthread_mutex_unlock(&timers_lock);
	return next;
}

/* All that the process' devices and timers have to do now; returns when there is more. */
static uint64_t model_turn(void)
{
	const struct model_conf *c = conf_get();
	uint64_t now = time_look(), next, wake;

	time_inside(1);
	pthread_mutex_lock(&model);
	next = timers_turn(now);
	for (uint32_t i = 0; c && i < c->ndevices; i++) {
		struct hca *h = hca_get(i);

		wake = NEVER;
		for (int n = 0; h && h->running && n < TURNS; n++)
			if (hca_step(h, now, &wake) != TURN_BUSY)
				break;
		next = wake < next ? wake : next;
	}
	atomic_store(&model_next, next);
	pthread_mutex_unlock(&model);
	time_inside(-1);
	return next;
}

/* A handler of a signal may wait or ask for the time itself. */
static void block_signals(sigset_t *old)
{
	sigset_t full;

	sigfillset(&full);
	pthread_sigmask(SIG_SETMASK, &full, old);
}

/* The clock has come to something that others wait for: they come first. */
static void let_others(uint64_t now)
{
	bool any = false;

	lock();
	for (int i = 0; i < all->threads; i++) {
		if (i == own || !atomic_load(&all->thread[i].tid) ||
			atomic_load(&all->thread[i].until) > now)
			continue;
		kick(i);
		any = true;
	}
	atomic_store(&all->lock, 0);
	atomic_store(&all->thread[own].polite, any);
	for (int n = 0; any && n < YIELDS && !others_sleep(true); n++)
		sched_yield();
	atomic_store(&all->thread[own].polite, false);
}

void time_inside(int depth)
{
	inside += depth;
}

static void tick(void)
{
	uint64_t now = atomic_fetch_add(&all->now, TICK_NS) + TICK_NS;
	bool look = ++ticks % TICKS == 0 || now >= atomic_load(&model_next), due = look;
	sigset_t old;

	if (inside)
		return;
	if (own < 0)
		time_enter_own();
	for (int i = 0; i < all->threads && !due; i++)
		due = i != own && now >= atomic_load(&all->thread[i].until);
	if (!due)
		return;
	block_signals(&old);
	if (look)
		model_turn();
	let_others(now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

bool time_get(clockid_t id, struct timespec *t)
{
	bool wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;

	if (!all || (!wall && id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE &&
			    id != CLOCK_MONOTONIC_RAW && id != CLOCK_BOOTTIME))
		return false;
	tick();
	*t = timespec_of(time_look() + (wall ? (uint64_t)all->wall : 0));
	return true;
}

/* ---- waits ---- */

/* Publishes until when this thread waits. True: that is now. */
static bool passes(uint64_t until)
{
	int first = own;
	bool mine = false;

	lock();
	atomic_store(&all->thread[own].until, until);
	if (!others_sleep(false))
		goto out;
	for (int i = 0; i < all->threads; i++)
		if (atomic_load(&all->thread[i].tid) &&
			atomic_load(&all->thread[i].until) < atomic_load(&all->thread[first].until))
			first = i;
	mine = first == own && until != NEVER;
	if (atomic_load(&all->thread[first].until) != NEVER) {
		pass_to(atomic_load(&all->thread[first].until));
		if (!mine)
			kick(first);
	}
out:
	atomic_store(&all->lock, 0);
	return mine;
}

static int real_ppoll(struct pollfd *fds, nfds_t n, uint64_t ns, const sigset_t *mask)
{
	struct timespec t = timespec_of(ns);

	return (int)syscall(SYS_ppoll, fds, n, ns == NEVER ? NULL : &t, mask, 8);
}

/* As ppoll(), until a point of virtual time. */
static int wait_until(struct pollfd *fds, nfds_t n, uint64_t until, const sigset_t *mask)
{
	struct pollfd with_kick[n + 1];
	uint64_t look = LOOK_FIRST_NS, next;
	char drop[64];
	sigset_t old;
	int rc, error;

	block_signals(&old);
	if (own < 0)
		time_enter_own();
	if (n)
		memcpy(with_kick, fds, n * sizeof(*fds));
	with_kick[n] = (struct pollfd){own_kick, POLLIN, 0};
	for (;;) {
		next = model_turn();
		rc = real_ppoll(fds, n, 0, mask ? mask : &old);
		if (rc || time_look() >= until)
			break;
		if (passes(next < until ? next : until))
			continue;
		rc = real_ppoll(with_kick, n + 1, look, mask ? mask : &old);
		if (rc < 0)
			break;
		look = rc ? LOOK_FIRST_NS : look * 2 < LOOK_MOST_NS ? look * 2 : LOOK_MOST_NS;
		while (read(own_kick, drop, sizeof(drop)) > 0)
			;
	}
	error = errno;
	atomic_store(&all->thread[own].until, NEVER);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = error;
	return rc;
}

int time_sleep(const struct timespec *wanted, struct timespec *left)
{
	uint64_t until, now;
	int rc;
	REAL(nanosleep);

	if (!all)
		return real(wanted, left);
	until = after(ns_of(wanted) + late_ns);
	rc = wait_until(NULL, 0, until, NULL);
	now = time_look();
	if (rc < 0 && left)
		*left = timespec_of(until > now ? until - now : 0);
	return rc;
}

EXPORT int clock_nanosleep(
	clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
	uint64_t until = ns_of(wanted);
	REAL(clock_nanosleep);

	hca_poke();
	if (!all)
		return real(id, flags, wanted, left);
	if (!(flags & TIMER_ABSTIME))
		return time_sleep(wanted, left) ? errno : 0;
	if (id == CLOCK_REALTIME)
		until -= (uint64_t)all->wall;
	return wait_until(NULL, 0, until, NULL) ? errno : 0;
}

EXPORT int usleep(useconds_t us)
{
	return nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000L}, NULL);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	uint64_t ns = timeout ? ns_of(timeout) : NEVER;
	REAL(ppoll);

	if (ns)
		hca_poke();
	if (!all)
		return real(fds, n, timeout, mask);
	if (!ns)
		tick();
	return wait_until(fds, n, after(ns), mask);
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int ms)
{
	const struct timespec t = timespec_of((uint64_t)ms * 1000000);
	REAL(poll);

	if (!all) {
		if (ms)
			hca_poke();
		return real(fds, n, ms);
	}
	return ppoll(fds, n, ms < 0 ? NULL : &t, NULL);
}

EXPORT int epoll_pwait(int fd, struct epoll_event *events, int n, int ms, const sigset_t *mask)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	REAL(epoll_pwait);

	if (ms)
		hca_poke();
	if (!all)
		return real(fd, events, n, ms, mask);
	if (!ms)
		tick();
	if (wait_until(&ready, 1, after(ms < 0 ? NEVER : (uint64_t)ms * 1000000), mask) < 0)
		return -1;
	return (int)syscall(SYS_epoll_pwait, fd, events, n, 0, NULL, 8);
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int n, int ms)
{
	REAL(epoll_wait);

	if (all)
		return epoll_pwait(fd, events, n, ms, NULL);
	if (ms)
		hca_poke();
	return real(fd, events, n, ms);
}

/* Where the C library has two versions, dlsym() returns the older one. */
static __typeof__(&pthread_cond_timedwait) newest(__typeof__(&pthread_cond_timedwait) found)
{
	static __typeof__(&pthread_cond_timedwait) versioned;
	Dl_info of_found, of_versioned;

	if (!versioned && !(*(void **)&versioned = dlvsym(
				    RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2")))
		return found;
	dladdr(*(void **)&found, &of_found);
	dladdr(*(void **)&versioned, &of_versioned);
	return of_found.dli_fbase == of_versioned.dli_fbase ? versioned : found;
}

/* The mutex is held while the clock passes. Others who may wait for it have their turn before. */
EXPORT int pthread_cond_timedwait(
	pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *end)
{
	uint64_t until = ns_of(end), look = LOOK_FIRST_NS;
	struct timespec t;
	sigset_t old;
	bool over;
	REAL(pthread_cond_timedwait);

	real = newest(real);
	if (!all)
		return real(cond, mutex, end);
	if (own < 0)
		time_enter_own();
	if (until > (uint64_t)all->wall)
		until -= (uint64_t)all->wall;
	atomic_store(&waits_on[own], cond);
	atomic_store(&all->thread[own].until, until);
	while (!(over = time_look() >= until)) {
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
		t = timespec_of(ns_of(&t) + look);
		look = look * 2 < LOOK_MOST_NS ? look * 2 : LOOK_MOST_NS;
		if (pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &t) != ETIMEDOUT)
			break;
		block_signals(&old);
		passes(until);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	atomic_store(&all->thread[own].until, NEVER);
	atomic_store(&waits_on[own], NULL);
	return over ? ETIMEDOUT : 0;
}

/* A completion channel's, which libibverbs reads without a poll before. */
EXPORT ssize_t read(int fd, void *to, size_t n)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	REAL(read);

	if (event_fd_waits(fd) && !(fcntl(fd, F_GETFL) & O_NONBLOCK)) {
		hca_poke();
		if (all && wait_until(&ready, 1, NEVER, NULL) < 0)
			return -1;
	}
	return real(fd, to, n);
}

/* ---- timers ---- */

EXPORT int timerfd_create(int id, int flags)
{
	int fd = all ? eventfd(0, flags) : (int)syscall(SYS_timerfd_create, id, flags);

	pthread_mutex_lock(&timers_lock);
	for (int i = 0; all && fd >= 0 && i < TIMERS; i++) {
		if (timers[i].fd)
			continue;
		timers[i] = (struct timer){.fd = fd, .at = NEVER};
		break;
	}
	pthread_mutex_unlock(&timers_lock);
	return fd;
}

EXPORT int timerfd_settime(
	int fd, int flags, const struct itimerspec *to, struct itimerspec *before)
{
	uint64_t at = ns_of(&to->it_value), drop;
	int rc = -1;

	if (!all)
		return (int)syscall(SYS_timerfd_settime, fd, flags, to, before);
	/* Only CLOCK_REALTIME is used for points of time. */
	at = !at ? NEVER : flags & TFD_TIMER_ABSTIME ? at - (uint64_t)all->wall : after(at);
	pthread_mutex_lock(&timers_lock);
	for (struct timer *t = timers; t < timers + TIMERS && rc; t++) {
		if (t->fd != fd)
			continue;
		rc = read(fd, &drop, sizeof(drop)) < 0 && errno != EAGAIN;
		*t = (struct timer){fd, at, ns_of(&to->it_interval)};
	}
	pthread_mutex_unlock(&timers_lock);
	return rc;
}

void time_closing(int fd)
{
	if (!all)
		return;
	pthread_mutex_lock(&timers_lock);
	for (int i = 0; i < TIMERS; i++)
		if (timers[i].fd == fd)
			timers[i].fd = 0;
	pthread_mutex_unlock(&timers_lock);
}
