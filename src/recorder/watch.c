/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thread that watches everything except frames: counters, events of the device, kernel
 * messages, FIFOs, logs.
 */
#include "recorder.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdmadump/fd.h>
#include <sys/eventfd.h>

#define STATE_NS 10000000000U /* between two writings of the textfile */
#define RECORD	 8192	      /* longest record of /dev/kmsg: Documentation/ABI/testing/dev-kmsg */

/* --- open ------------------------------------------------------------------------------------ */

static int open_kmsg(struct rd_recorder *r, struct rd_error *err)
{
	if (r->watch.kmsg_fd >= 0)
		return 0;
	r->watch.kmsg_fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (r->watch.kmsg_fd < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno, "run as root, or with CAP_SYSLOG",
			"kernel messages cannot be read from /dev/kmsg");
	lseek(r->watch.kmsg_fd, 0, SEEK_END);
	return 0;
}

static int open_monitor(struct rd_recorder *r, struct rd_error *err)
{
	unsigned int n;
	const struct rd_session_source *source = rd_session_sources(r->session, &n);
	const struct rd_monitor_config config = {
		.device = source->device ? source->device->name : NULL, .async = true};

	return r->watch.monitor ? 0 : rd_monitor_open(&r->watch.monitor, &config, err);
}

int watch_open(struct rd_recorder *r, struct rd_error *err)
{
	r->watch.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->watch.stop_fd < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno,
			"raise the limit of open files (ulimit -n)", "eventfd");
	for (unsigned int i = 0; i < r->n_triggers; i++) {
		struct trigger *t = &r->trigger[i];
		int rc = t->source == TRIGGER_KMSG    ? open_kmsg(r, err)
			 : t->source == TRIGGER_FIFO  ? lines_open(r, t, err)
			 : t->source == TRIGGER_LOG   ? lines_open(r, t, err)
			 : t->source == TRIGGER_EVENT ? open_monitor(r, err)
						      : 0;

		if (rc < 0)
			return -1;
	}
	return 0;
}

/* --- events of the device ---------------------------------------------------------------- */

static bool is_event(const struct trigger *t, const struct rd_event *e)
{
	const char *kind = t->value ? t->value : t->name->event;

	if (strcmp(kind, "gid_change") == 0)
		return strncmp(e->kind, "gid_", 4) == 0;
	return strcmp(kind, e->kind) == 0;
}

static void take_events(struct rd_recorder *r)
{
	struct rd_event e;
	char what[TRIGGER_TEXT];

	while (rd_monitor_next(r->watch.monitor, &e)) {
		for (unsigned int i = 0; i < r->n_triggers; i++) {
			struct trigger *t = &r->trigger[i];

			if (t->source != TRIGGER_EVENT || !is_event(t, &e))
				continue;
			snprintf(what, sizeof(what), "%s%s%s", e.device, *e.device ? ": " : "",
				e.text);
			recorder_fire(r, t, NULL, what);
		}
	}
}

/* --- kernel messages --------------------------------------------------------------------- */

static void match_kmsg(struct rd_recorder *r, const char *message)
{
	for (unsigned int i = 0; i < r->n_triggers; i++) {
		struct trigger *t = &r->trigger[i];

		if (t->source == TRIGGER_KMSG && trigger_matches(t, message))
			recorder_fire(r, t, NULL, message);
	}
}

static void take_kmsg(struct rd_recorder *r)
{
	char record[RECORD + 1];
	ssize_t n;

	for (unsigned int i = 0; i < READS_MAX; i++) {
		char *message;

		n = read(r->watch.kmsg_fd, record, RECORD);
		/*
		 * EPIPE: messages were overwritten before they were read; the next read continues
		 * after them.
		 */
		if (n <= 0)
			return;
		record[n] = '\0';
		message = strchr(record, ';');
		if (!message)
			continue;
		message[strcspn(message, "\n")] = '\0';
		match_kmsg(r, message + 1);
	}
}

/* --- the thread -------------------------------------------------------------------------- */

/* Until `due`, and no longer than `most` ns. */
static int wait_ms(uint64_t due, uint64_t most)
{
	const uint64_t now = rd_monotonic_ns(), left = due <= now ? 0 : due - now,
		       wait = left < most ? left : most;

	return wait ? (int)(wait / 1000000 + 1) : 0;
}

/* Returns ns until there may be more that wakes nobody. */
static uint64_t take_all(struct rd_recorder *r)
{
	struct watch *w = &r->watch;

	if (w->monitor)
		take_events(r);
	if (w->kmsg_fd >= 0)
		take_kmsg(r);
	return lines_take(r);
}

static void *watch_run(void *arg)
{
	struct rd_recorder *r = arg;
	struct watch *w = &r->watch;
	struct pollfd fds[4 + RD_TRIGGERS_MAX] = {{.fd = w->stop_fd, .events = POLLIN},
		{.fd = w->monitor ? rd_monitor_fd(w->monitor) : -1, .events = POLLIN},
		{.fd = w->kmsg_fd, .events = POLLIN}, {.events = POLLIN}};
	uint64_t due = 0;

	for (unsigned int i = 0; i < w->n_lines; i++)
		fds[4 + i] = (struct pollfd){.fd = w->lines[i].wakes, .events = POLLIN};
	lines_check(r);
	while (!(fds[0].revents & POLLIN)) {
		uint64_t now = rd_monotonic_ns(), wait;

		if (now >= due) {
			uint64_t period = counters_watch_read(r);

			due = rd_monotonic_ns() + (period < STATE_NS ? period : STATE_NS);
		}
		wait = take_all(r);
		tell_keep(r);
		tell_take(r);
		fds[3].fd = r->tell.host ? r->tell.out : -1;
		state_write(r, false);
		poll(fds, 4 + w->n_lines, wait_ms(due, wait));
	}
	/* Events since the last check: one of them may have ended the recording. */
	counters_watch_read(r);
	take_all(r);
	return NULL;
}

void watch_fault(struct rd_recorder *r, const char *what)
{
	for (unsigned int i = 0; i < r->n_triggers; i++) {
		struct trigger *t = &r->trigger[i];
		const char *event = t->value ? t->value : t->name ? t->name->event : NULL;

		if (t->source == TRIGGER_EVENT && strcmp(event, "device_fatal") == 0 &&
			!atomic_load_explicit(&t->fired, memory_order_relaxed))
			recorder_fire(r, t, NULL, what);
	}
}

void watch_start(struct rd_recorder *r)
{
	int rc = pthread_create(&r->watch.thread, NULL, watch_run, r);

	if (rc) {
		rd_log(RD_LOG_WARNING,
			"cannot start the thread that watches for triggers: %s; only frames and "
			"SIGUSR1 fire",
			strerror(rc));
		return;
	}
	pthread_setname_np(r->watch.thread, "triggers");
	r->watch.running = true;
}

void watch_stop(struct rd_recorder *r)
{
	if (!r->watch.running)
		return;
	eventfd_write(r->watch.stop_fd, 1);
	pthread_join(r->watch.thread, NULL);
	r->watch.running = false;
}

void watch_close(struct rd_recorder *r)
{
	struct watch *w = &r->watch;

	watch_stop(r);
	lines_close(r);
	if (w->monitor)
		rd_monitor_close(w->monitor);
	rd_fd_close(&w->kmsg_fd);
	rd_fd_close(&w->stop_fd);
}
