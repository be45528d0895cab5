/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shows counters on a terminal: those that grow on top, problems marked. Restores the terminal at
 * the end. */
#include "cli/cli.h"
#include "counters.h"
#include <errno.h>
#include <poll.h>
#include <rdmadump/clock.h>
#include <rdmadump/printable.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* ECMA-48, and xterm's second screen. */
#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"
#define HOME  "\033[H"
#define ERASE "\033[K"
#define BELOW "\033[J"

#define COLUMNS_MAX  512
#define FINDING_ROWS 6

struct watch {
	const struct ports *ports;
	const struct counters_options *o;
	FILE *screen;
	struct termios saved;
	unsigned int rows, columns, row;
	bool paused;
	struct readings now;
};

/* One counter that may be shown. */
struct line {
	const struct reading *p;
	size_t i;
	int rank; /* 3 grows and is a problem, 2 grows and is a warning, 1 grows, 0 grew before */
};

static void measure(struct watch *w)
{
	struct winsize size;

	w->rows = 24;
	w->columns = 80;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col) {
		w->rows = size.ws_row;
		w->columns = size.ws_col < COLUMNS_MAX ? size.ws_col : COLUMNS_MAX;
	}
}

/* One row, cut at the terminal's edge; nothing below the last one. */
static void put_row(struct watch *w, enum rd_colour colour, const char *text)
{
	if (w->row >= w->rows)
		return;
	fprintf(w->screen, "%s%s", w->row ? "\r\n" : "", rd_cli_colour(colour));
	rd_printable_put(w->screen, text, w->columns);
	fputs(RD_COLOUR_END ERASE, w->screen);
	w->row++;
}

static const struct rd_growth *total_before(
	const struct readings *before, const struct reading *p, size_t i)
{
	const struct rd_counter *now = &p->counters.counter[i], *then;

	for (size_t k = 0; k < before->n; k++) {
		const struct rd_counters *c = &before->port[k].counters;

		if (!before->port[k].total || c->port != p->counters.port ||
			strcmp(c->device, p->counters.device))
			continue;
		then = i < c->n && !strcmp(c->counter[i].name, now->name)
			       ? &c->counter[i]
			       : rd_counters_find(c, now->name);
		return then ? &before->port[k].total[then - c->counter] : NULL;
	}
	return NULL;
}

/* Adds interval by interval: a reset is visible only between two readings. */
static int carry_totals(const struct readings *before, struct readings *now, struct rd_error *err)
{
	for (size_t k = 0; k < now->n; k++) {
		struct reading *p = &now->port[k];

		if (!p->growth)
			continue;
		p->total = calloc(p->counters.n ? p->counters.n : 1, sizeof(*p->total));
		if (!p->total)
			return rd_fail(
				err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot compare the counters");
		for (size_t i = 0; i < p->counters.n; i++) {
			const struct rd_growth *had = total_before(before, p, i);

			if (had)
				p->total[i] = *had;
			rd_growth_add(&p->total[i], &p->growth[i]);
		}
	}
	return 0;
}

/* Unknown growth is treated as growth. */
static bool has_grown(const struct rd_growth *growth)
{
	return growth->amount || !rd_growth_known(growth);
}

static int by_rank(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	uint64_t dx = x->p->growth[x->i].amount, dy = y->p->growth[y->i].amount;
	uint64_t tx = x->p->total[x->i].amount, ty = y->p->total[y->i].amount;

	if (x->rank != y->rank)
		return y->rank - x->rank;
	if (dx != dy)
		return dx < dy ? 1 : -1;
	if (tx != ty)
		return tx < ty ? 1 : -1;
	return strcmp(x->p->counters.counter[x->i].name, y->p->counters.counter[y->i].name);
}

static int rank_of(const struct rd_counter *c, const struct rd_growth *growth)
{
	if (!has_grown(growth))
		return 0;
	return counter_severity(c) == RD_SEV_PROBLEM   ? 3
	       : counter_severity(c) == RD_SEV_WARNING ? 2
						       : 1;
}

/* What has changed since the view began (with --all: everything), sorted. */
static size_t collect(const struct watch *w, struct line *lines)
{
	size_t n = 0;

	for (size_t k = 0; k < w->now.n; k++) {
		const struct reading *p = &w->now.port[k];

		for (size_t i = 0; p->growth && i < p->counters.n; i++) {
			const struct rd_counter *c = &p->counters.counter[i];

			if (c->kind && c->kind->flags & RD_COUNTER_GAUGE)
				continue;
			if (has_grown(&p->total[i]) || w->o->all)
				lines[n++] = (struct line){p, i, rank_of(c, &p->growth[i])};
		}
	}
	qsort(lines, n, sizeof(*lines), by_rank);
	return n;
}

/* "mlx5_0:1 ", the longest. */
static int port_width(const struct watch *w)
{
	int width = 0;

	for (size_t k = 0; k < w->now.n; k++) {
		const struct rd_counters *c = &w->now.port[k].counters;
		int n = snprintf(NULL, 0, "%s:%u ", c->device, c->port);

		width = n > width ? n : width;
	}
	return width;
}

/* The width that three columns of numbers leave. */
static int name_width(const struct watch *w)
{
	int capacity = (int)w->columns - 3 - 3 * 15 - 2 - (w->now.n > 1 ? port_width(w) : 0);

	return capacity < 16 ? 16 : capacity > 44 ? 44 : capacity;
}

/* The two most common places are not named; their counters have different names. */
static const char *name_shown(const char *name)
{
	static const char *const usual[] = {"hw_counters/", "counters/"};

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (!strncmp(name, usual[i], strlen(usual[i])))
			return name + strlen(usual[i]);
	return name;
}

static void draw_line(struct watch *w, const struct line *l)
{
	const struct rd_counter *c = &l->p->counters.counter[l->i];
	const struct rd_growth *growth = &l->p->growth[l->i];
	char rate[COUNTER_TEXT] = "", since[COUNTER_TEXT], total[COUNTER_TEXT], port[96] = "";
	char text[COLUMNS_MAX + 1];

	if (!rd_growth_known(growth))
		counter_growth(rate, c, growth);
	else if (growth->amount)
		counter_rate(rate, c, growth->amount, l->p->seconds);
	if (w->now.n > 1)
		snprintf(port, sizeof(port), "%s:%u", l->p->counters.device, l->p->counters.port);
	snprintf(text, sizeof(text), "%s %-*s%-*.*s %14s %14s %16s",
		rd_severity_mark(l->rank ? counter_severity(c) : RD_SEV_NONE),
		w->now.n > 1 ? port_width(w) : 0, port, name_width(w), name_width(w),
		name_shown(c->name), rate, counter_growth(since, c, &l->p->total[l->i]),
		counter_amount(total, c, c->value));
	put_row(w,
		l->rank == 3   ? RD_COLOUR_PROBLEM
		: l->rank == 2 ? RD_COLOUR_WARNING
		: l->rank      ? RD_COLOUR_NONE
			       : RD_COLOUR_FAINT,
		text);
}

static void draw_findings(struct watch *w)
{
	unsigned int shown = 0;

	for (size_t k = 0; k < w->now.n; k++)
		for (size_t i = 0; i < w->now.port[k].findings.n; i++) {
			const struct rd_finding *f = &w->now.port[k].findings.finding[i];
			char line[COUNTER_FINDING_TEXT], text[COLUMNS_MAX + 1];

			if (shown++ >= FINDING_ROWS)
				return;
			snprintf(text, sizeof(text), "%s %s", rd_severity_mark(f->severity),
				counter_finding(line, f));
			put_row(w,
				f->severity == RD_SEV_PROBLEM ? RD_COLOUR_PROBLEM
							      : RD_COLOUR_WARNING,
				text);
			if (!f->next)
				continue;
			snprintf(text, sizeof(text), "   next: %s", f->next);
			put_row(w, RD_COLOUR_NONE, text);
		}
}

static void draw(struct watch *w)
{
	struct line *lines;
	size_t all = 1, n;
	char text[COLUMNS_MAX + 1], clock[16];
	time_t now = time(NULL);
	struct tm tm;

	for (size_t k = 0; k < w->now.n; k++)
		all += w->now.port[k].counters.n;
	lines = calloc(all, sizeof(*lines));
	if (!lines)
		return;
	n = collect(w, lines);
	w->row = 0;
	fputs(HOME, w->screen);
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	snprintf(text, sizeof(text),
		"%s  %s%s port %u%s   q quits, space %s   %zu of %zu counters %s", clock,
		w->paused ? "PAUSED  " : "", w->now.port[0].counters.device,
		w->now.port[0].counters.port, w->now.n > 1 ? " and others" : "",
		w->paused ? "continues" : "pauses", n, all - 1, w->o->all ? "shown" : "changed");
	put_row(w, RD_COLOUR_NONE, text);
	draw_findings(w);
	put_row(w, RD_COLOUR_NONE, "");
	snprintf(text, sizeof(text), "   %-*s %14s %14s %16s",
		name_width(w) + (w->now.n > 1 ? port_width(w) : 0), "COUNTER", "PER SECOND",
		"SINCE START", "TOTAL");
	put_row(w, RD_COLOUR_FAINT, text);
	for (size_t i = 0; i < n; i++)
		draw_line(w, &lines[i]);
	if (!n)
		put_row(w, RD_COLOUR_FAINT, "   nothing has changed yet");
	fputs(BELOW, w->screen);
	fflush(w->screen);
	free(lines);
}

/* The next reading is compared with the one shown. */
static int read_again(struct watch *w, struct rd_error *err)
{
	struct readings now;

	if (readings_take(&now, w->ports, w->o, err) < 0)
		return -1;
	if (readings_compare(&w->now, &now, err) < 0 || carry_totals(&w->now, &now, err) < 0) {
		readings_free(&now);
		return -1;
	}
	readings_free(&w->now);
	w->now = now;
	return 0;
}

static bool wants_to_quit(struct watch *w, bool *redraw)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	for (ssize_t i = 0; i < n; i++) {
		if (keys[i] == 'q' || keys[i] == 'Q' || keys[i] == 3)
			return true;
		if (keys[i] == ' ') {
			w->paused = !w->paused;
			*redraw = true;
		}
	}
	return n == 0;
}

static void block_signals(sigset_t *set)
{
	static const int ours[] = {SIGQUIT, SIGWINCH, SIGTSTP};

	rd_cli_ending_signals(set);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		sigaddset(set, ours[i]);
	sigprocmask(SIG_BLOCK, set, NULL);
}

static void terminal_enter(struct watch *w)
{
	struct termios raw = w->saved;

	/* Keys as they come; Ctrl-C and Ctrl-Z stay signals, and those are read like keys. */
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	fputs(ENTER, w->screen);
	fflush(w->screen);
}

static void terminal_leave(const struct watch *w)
{
	fputs(RD_COLOUR_END LEAVE, w->screen);
	fflush(w->screen);
	tcsetattr(STDIN_FILENO, TCSANOW, &w->saved);
}

/* False when the view is to end. */
static bool handle_signal(struct watch *w, int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return true;
	if (info.ssi_signo == SIGTSTP) {
		terminal_leave(w);
		raise(SIGSTOP);
		terminal_enter(w);
	} else if (info.ssi_signo != SIGWINCH) {
		return false;
	}
	measure(w);
	fputs(HOME BELOW, w->screen);
	draw(w);
	return true;
}

static int loop(struct watch *w, int signals, uint64_t step, struct rd_error *err)
{
	struct pollfd fds[] = {
		{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	uint64_t next = rd_monotonic_ns() + step, left = w->o->count;

	for (;;) {
		uint64_t now = rd_monotonic_ns();
		bool redraw = false;

		if (poll(fds, 2, next > now ? (int)((next - now) / 1000000) + 1 : 0) < 0 &&
			errno != EINTR)
			return 0;
		if (fds[0].revents && wants_to_quit(w, &redraw))
			return 0;
		if (fds[1].revents && !handle_signal(w, signals))
			return 0;
		if (rd_monotonic_ns() >= next) {
			next += step;
			if (!w->paused && read_again(w, err) < 0)
				return -1;
			if (w->o->count && !--left)
				return 0;
			redraw = true;
		}
		if (redraw)
			draw(w);
	}
}

int counters_watch(
	const struct ports *ports, const struct counters_options *o, struct rd_error *err)
{
	struct watch w = {.ports = ports, .o = o, .screen = rd_cli_screen()};
	sigset_t set;
	int signals, ret = -1;

	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &w.saved) < 0)
		return rd_fail(err, RD_CLASS_USAGE, 0, "use --interval for a file or pipe",
			"--watch needs a terminal");
	if (readings_take(&w.now, ports, o, err) < 0)
		return -1;
	block_signals(&set);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0) {
		rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "cannot wait for signals");
		goto out;
	}
	if (read_again(&w, err) < 0)
		goto out;
	measure(&w);
	terminal_enter(&w);
	draw(&w);
	ret = loop(&w, signals, counters_step(&w.now, o), err);
	terminal_leave(&w);
out:
	if (signals >= 0)
		close(signals);
	readings_free(&w.now);
	return ret;
}
