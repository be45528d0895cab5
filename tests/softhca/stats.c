/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The statistics file: JSON, replaced as a whole at every close of a device and at exit. */
#include <stdarg.h>

#include "softhca.h"

/* Opened before the consumer gives up its rights; written in place when renaming is refused. */
static int stats_fd = -1;
static pid_t stats_pid;
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const obj_names[OBJ_TYPES] = {
	[OBJ_CHANNEL] = "channels",
	[OBJ_PD] = "pds",
	[OBJ_MR] = "mrs",
	[OBJ_AH] = "ahs",
	[OBJ_CQ] = "cqs",
	[OBJ_WQ] = "wqs",
	[OBJ_TABLE] = "tables",
	[OBJ_QP] = "qps",
	[OBJ_FLOW] = "flows",
};

struct text {
	char *p;
	size_t len, capacity;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (t->len + 512 > t->capacity) {
		char *p = realloc(t->p, t->capacity + 16384);

		if (!p)
			return;
		t->p = p;
		t->capacity += 16384;
	}
	va_start(ap, fmt);
	n = vsnprintf(t->p + t->len, 512, fmt, ap);
	va_end(ap);
	t->len += n > 0 && n < 512 ? (size_t)n : 0;
}

void stats_open(void)
{
	const struct model_conf *c = conf_get();

	stats_pid = getpid();
	if (c && c->stats[0])
		stats_fd = real_open(c->stats, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
}

static int by_speed(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void put_drain(struct text *t, const struct hca *h)
{
	uint32_t n = h->stat.rounds;
	double *speed = calloc(n ? n : 1, sizeof(*speed));

	put(t, ",\n   \"drain\": {\"rounds\": [");
	for (uint32_t i = 0; i < n && speed; i++) {
		const struct drain_round *r = &h->stat.round[i];

		speed[i] = r->ns ? (double)r->frames * 1e9 / (double)r->ns : 0;
		put(t, "%s{\"frames\": %u, \"ns\": %llu}", i ? ", " : "", r->frames,
			(unsigned long long)r->ns);
	}
	if (n && speed)
		qsort(speed, n, sizeof(*speed), by_speed);
	put(t, "], \"median_frames_per_s\": %.0f, \"best_frames_per_s\": %.0f}",
		n && speed ? speed[n / 2] : 0, n && speed ? speed[n - 1] : 0);
	free(speed);
}

struct sums {
	uint64_t offered, copies, delivered, bytes, lost, errored;
	uint64_t leaked[OBJ_TYPES], order, pauses, pause_ns, thread_ns;
	uint64_t errors, flushed, verbs, cqes, events, overruns;
};

static void put_objects(struct text *t, const char *name, const uint64_t *n)
{
	put(t, "\"%s\": {", name);
	for (int i = OBJ_NONE + 1; i < OBJ_TYPES; i++)
		put(t, "%s\"%s\": %llu", i > 1 ? ", " : "", obj_names[i], (unsigned long long)n[i]);
	put(t, "}");
}

/* Objects of contexts that are open when the process ends count as leaked, too. */
static void count_alive(const struct hca *h, uint64_t *leaked)
{
	const struct ctx *ctx;

	LIST_FOREACH (ctx, &h->contexts, link)
		for (uint32_t i = 1; i < ctx->nobj; i++)
			if (ctx->obj[i])
				leaked[ctx->obj[i]->type]++;
}

/* One of the numbers for each of the words, as members of an object. */
static void put_counts(struct text *t, const char *words, const uint64_t *n)
{
	for (const char *w = words; *w; n++) {
		int len = (int)strcspn(w, " ");

		put(t, "%s\"%.*s\": %llu", w == words ? "" : ", ", len, w, (unsigned long long)*n);
		w += len + (w[len] == ' ');
	}
}

static void put_port(struct text *t, const struct port *p, struct sums *s)
{
	put_counts(t, "port frames before_flow offered delivered delivered_bytes dropped errored",
		(const uint64_t[]){p->num, p->offered, p->before_flow, p->copies, p->delivered,
			p->delivered_bytes, p->out_of_buffer, p->errored});
	put(t, ", \"finished\": %s}", p->ended && !p->held ? "true" : "false");
	s->offered += p->offered;
	s->copies += p->copies;
	s->delivered += p->delivered;
	s->bytes += p->delivered_bytes;
	s->lost += p->out_of_buffer;
	s->errored += p->errored;
}

static void put_device(struct text *t, const struct hca *h, struct sums *s)
{
	uint64_t leaked[OBJ_TYPES];

	memcpy(leaked, h->stat.leaked, sizeof(leaked));
	count_alive(h, leaked);
	put(t, "  {\"name\": \"%s\", \"opens\": %llu, ", h->conf->name,
		(unsigned long long)h->stat.opens);
	put_objects(t, "created", h->stat.created);
	put(t, ", ");
	put_objects(t, "leaked", leaked);
	put(t, ",\n   \"ports\": [");
	for (uint32_t i = 0; i < h->conf->nports; i++) {
		put(t, i ? ", {" : "{");
		put_port(t, &h->port[i], s);
	}
	put(t, "],\n   ");
	put_counts(t,
		"order_violations error_completions flushed cq_overruns retransmits "
		"lost_events completion_events waits",
		(const uint64_t[]){h->stat.order_violations, h->stat.errors, h->stat.flushed,
			h->stat.overruns, h->stat.retransmits, h->stat.lost_events,
			h->stat.completion_events, h->stat.waits});
	put(t, ", \"fatal\": %s, \"source_error\": \"%s\"", h->fatal ? "true" : "false",
		h->source_error[0] ? "see stderr" : "");
	if (h->stat.round)
		put_drain(t, h);
	put(t, "}");
	for (int i = 0; i < OBJ_TYPES; i++)
		s->leaked[i] += leaked[i];
	s->order += h->stat.order_violations;
	s->pauses += h->stat.pauses;
	s->pause_ns += h->stat.pause_ns;
	s->thread_ns += hca_thread_ns(h);
	s->errors += h->stat.errors;
	s->flushed += h->stat.flushed;
	s->verbs += h->stat.injected_verbs;
	s->cqes += h->stat.injected_cqes;
	s->events += h->stat.injected_events;
	s->overruns += h->stat.overruns;
}

static void put_sums(struct text *t, const struct sums *s)
{
	struct timespec cpu;
	uint64_t ns;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	ns = (uint64_t)cpu.tv_sec * 1000000000u + (uint64_t)cpu.tv_nsec;
	put_counts(t,
		"frames offered delivered delivered_bytes dropped errored error_completions "
		"flushed cq_overruns order_violations qp_lists qp_answers",
		(const uint64_t[]){s->offered, s->copies, s->delivered, s->bytes, s->lost,
			s->errored, s->errors, s->flushed, s->overruns, s->order, nldev_qp_lists(),
			nldev_qp_answers()});
	put(t, ",\n \"injected\": {");
	put_counts(t, "verbs completions events", (const uint64_t[]){s->verbs, s->cqes, s->events});
	put(t, "},\n \"pauses\": {");
	put_counts(t, "count ns", (const uint64_t[]){s->pauses, s->pause_ns});
	put(t, "},\n ");
	put_objects(t, "leaked", s->leaked);
	put(t, ",\n \"cpu\": {");
	put_counts(t, "process_ns model_ns consumer_ns",
		(const uint64_t[]){ns, s->thread_ns, ns - s->thread_ns});
	put(t, "}\n}\n");
}

static void replace_file(const char *path, const struct text *t)
{
	char tmp[600];
	int fd;

	snprintf(tmp, sizeof(tmp), "%s.%d.tmp", path, (int)getpid());
	fd = real_open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd >= 0) {
		bool done = write(fd, t->p, t->len) == (ssize_t)t->len;

		real_close(fd);
		if (done && !rename(tmp, path))
			return;
		unlink(tmp);
	}
	if (stats_fd >= 0 &&
		(ftruncate(stats_fd, 0) || pwrite(stats_fd, t->p, t->len, 0) != (ssize_t)t->len))
		perror("softhca: statistics file");
}

void stats_write(void)
{
	const struct model_conf *c = conf_get();
	struct text t = {0};
	struct sums s = {0};
	bool first = true;

	if (!c || !c->stats[0] || stats_pid != getpid())
		return;
	time_inside(1);
	pthread_mutex_lock(&stats_lock);
	put(&t, "{\"pid\": %d, \"program\": \"%s\",\n \"devices\": [\n", (int)getpid(),
		program_invocation_short_name);
	for (uint32_t i = 0; i < c->ndevices; i++) {
		const struct hca *h = hca_get(i);

		if (!h)
			continue;
		put(&t, "%s", first ? "" : ",\n");
		put_device(&t, h, &s);
		first = false;
	}
	put(&t, "],\n");
	put_sums(&t, &s);
	if (t.p)
		replace_file(c->stats, &t);
	free(t.p);
	pthread_mutex_unlock(&stats_lock);
	time_inside(-1);
}

/* The thread is asked to stop but not waited for: the program may be ending inside a command. */
__attribute__((destructor)) static void stats_at_exit(void)
{
	if (stats_pid != getpid())
		return;
	for (uint32_t i = 0; i < MAX_DEVICES; i++) {
		struct hca *h = hca_get(i);

		if (!h || LIST_EMPTY(&h->contexts))
			continue;
		atomic_store(&h->stop, true);
		if (!pthread_mutex_trylock(&h->lock)) {
			counters_flush(h);
			pthread_mutex_unlock(&h->lock);
		}
	}
	stats_write();
}
