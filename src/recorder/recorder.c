/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A recorder from start to end: its session, the triggers that fire, the files that they start. */
#include "recorder.h"
#include <errno.h>
#include <inttypes.h>
#include <rdmadump/fd.h>
#include <rdmadump/json.h>
#include <rdmadump/units.h>
#include <stdlib.h>

#define TICK_NS 250000000
#define STEP_NS 1000000000 /* no smaller step of the system clock is reported */

/* --- frames ------------------------------------------------------------------------------ */

/* Takes the comment for the next frame after a trigger that was not fired by a frame. */
static bool take_pending(struct rd_recorder *r)
{
	if (!atomic_load_explicit(&r->has_pending, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&r->lock);
	memcpy(r->taken, r->pending, sizeof(r->taken));
	r->has_pending = false;
	pthread_mutex_unlock(&r->lock);
	return true;
}

static void fire_stalls(struct rd_recorder *r)
{
	char what[TRIGGER_TEXT];
	struct trigger *t;
	uint64_t ns;

	while ((t = stall_next(&r->stall, &ns, what, sizeof(what))))
		recorder_fire(r, t, &ns, what);
}

static uint64_t on_frames(
	void *ctx, const struct rd_source *source, const struct rd_frame *frames, unsigned int n)
{
	struct rd_recorder *r = ctx;
	uint64_t commented = 0;

	r->link = source->iface.link;
	for (unsigned int i = 0; (r->wire.n || r->wire.stall) && i < n; i++) {
		struct trigger *t = wire_frame(&r->wire, r->link, &frames[i]);

		if (!t || !recorder_fire_frame(r, t, &frames[i]))
			continue;
		r->fired_by[i] = t;
		commented |= UINT64_C(1) << i;
	}
	if (n && r->wire.stall) {
		stall_received(&r->stall, rd_monotonic_ns());
		fire_stalls(r);
	}
	r->taken[0] = '\0';
	if (n && take_pending(r)) {
		if (!(commented & 1))
			r->fired_by[0] = NULL;
		commented |= 1;
	}
	return commented;
}

static const char *on_comment(void *ctx, unsigned int i)
{
	struct rd_recorder *r = ctx;
	const struct trigger *t = r->fired_by[i];
	const char *other = i == 0 ? r->taken : "";

	if (!t)
		return other;
	snprintf(r->comment, sizeof(r->comment), "%s%strigger %s", other, *other ? "; " : "",
		t->text);
	return r->comment;
}

/* --- files, from the writer's thread ----------------------------------------------------- */

/* Called with the lock held. NULL: too many files have begun since, its entry was overwritten. */
static const struct file_triggers *triggers_of(
	const struct rd_recorder *r, const struct rd_dump *dump)
{
	return RD_FIND(b, r->begun, PENDING_FILES, b->ns == dump->trigger_ns);
}

static void on_describe(void *ctx, const struct rd_dump *dump, char *out, size_t size)
{
	struct rd_recorder *r = ctx;
	const struct file_triggers *file;

	*out = '\0';
	pthread_mutex_lock(&r->lock);
	file = dump ? triggers_of(r, dump) : &r->begun[r->newest];
	if (file)
		snprintf(out, size, "Recorded around a %s%s. ", file->first,
			file->n > 1 ? " and later ones" : "");
	pthread_mutex_unlock(&r->lock);
}

/* The file's triggers: {"kind":"trigger", ...}. */
static void on_facts(void *ctx, const struct rd_dump *dump, struct rd_facts *to)
{
	struct rd_recorder *r = ctx;
	unsigned int n;
	const struct rd_session_source *source = rd_session_sources(r->session, &n);

	pthread_mutex_lock(&r->lock);
	for (unsigned int i = 0; i < FIRINGS; i++) {
		const struct firing *f = &r->firings[(r->n_firings + i) % FIRINGS];
		json_t *fact;
		char *text;

		if (!f->ns || f->file_ns != dump->trigger_ns)
			continue;
		fact = json_pack("{s:s, s:I, s:i, s:s, s:i, s:o}", "kind", "trigger", "time_ns",
			(json_int_t)f->ns, "interface", 0, "device",
			source->device ? source->device->name : "", "port",
			source->port ? (int)source->port->num : 0, "text", rd_json_string(f->text));
		text = fact ? json_dumps(fact, JSON_COMPACT) : NULL;
		if (text)
			rd_facts_add(to, text, strlen(text));
		free(text);
		json_decref(fact);
	}
	pthread_mutex_unlock(&r->lock);
}

static void file_free(struct rd_recorder_file *f)
{
	free((char *)(uintptr_t)f->dump.path);
	free(f->reason);
	*f = (struct rd_recorder_file){0};
}

static void on_found(void *ctx, unsigned int files, uint64_t bytes)
{
	struct rd_recorder *r = ctx;
	char size[RD_UNITS_LEN];

	r->counts.files_found = files;
	r->counts.bytes_found = bytes;
	if (files && (r->config.retention.files || r->config.retention.bytes))
		rd_log(RD_LOG_INFO, "%u earlier file%s of this name (%s) count for the limits",
			files, rd_plural(files), rd_fmt_bytes(size, bytes));
}

/* Consecutive failures are logged once. */
static void log_dump(struct rd_recorder *r, const struct rd_dump *dump, const char *reason)
{
	char text[PATH_MAX + 200];

	if (!dump->failed) {
		snprintf(text, sizeof(text), "%s: %" PRIu64 " frame%s", dump->path, dump->frames,
			rd_plural(dump->frames));
		journal_log(r, JOURNAL_FILE, text, reason, dump);
		r->warned = false;
		return;
	}
	snprintf(text, sizeof(text),
		"%s; recording goes on, and the next trigger tries another file", dump->error);
	if (r->warned)
		rd_log(RD_LOG_DEBUG, "%s", text);
	else
		journal_log(r, JOURNAL_FAILED, text, reason, dump);
	r->warned = true;
}

static void add_file(
	struct rd_recorder *r, const struct rd_dump *dump, const struct file_triggers *triggers)
{
	struct rd_recorder_file *f;

	pthread_mutex_lock(&r->lock);
	follow_make_room(r);
	f = &r->files[r->n_files++ % RD_RECORDER_FILES];
	file_free(f);
	*f = (struct rd_recorder_file){
		.dump = *dump, .reason = strdup(triggers->first), .triggers = triggers->n};
	f->dump.path = strdup(dump->path);
	f->dump.error = NULL;
	r->counts.files++;
	r->counts.bytes += dump->bytes;
	r->counts.frames += dump->frames;
	pthread_cond_signal(&r->follow.wake);
	pthread_mutex_unlock(&r->lock);
}

static void on_dump(void *ctx, const struct rd_dump *dump)
{
	struct rd_recorder *r = ctx;
	struct file_triggers triggers = {0};
	const struct file_triggers *known;

	pthread_mutex_lock(&r->lock);
	r->counts.files_failed += dump->failed;
	known = triggers_of(r, dump);
	if (known)
		triggers = *known;
	pthread_mutex_unlock(&r->lock);
	if (!dump->frames && !dump->failed)
		/* A window without a file has no path; a file that was removed again has one. */
		rd_log(RD_LOG_INFO, "%s: no file: %s", triggers.first,
			dump->path ? "what --max-disk leaves is too small for a frame"
				   : "no frame was received that is not in an earlier file");
	else
		log_dump(r, dump, dump->frames ? triggers.first : "");
	if (dump->frames)
		add_file(r, dump, &triggers);
}

/* --- the session ------------------------------------------------------------------------- */

/* Called with the lock held, from the lane's thread, or after its end. */
static void count_forgotten(struct rd_recorder *r)
{
	r->counts.forgotten = r->wire.forgotten + r->stall.forgotten;
}

/* Times of frames and triggers go on as if it had not been set, so that none is held or missed. */
static void check_wall_clock(struct rd_recorder *r)
{
	struct rd_clock now;
	int64_t ahead;

	if (!rd_clock_set(&now))
		return;
	ahead = (int64_t)(now.epoch_ns - r->wall.epoch_ns);
	if (llabs(ahead) < STEP_NS)
		return;
	rd_log(RD_LOG_WARNING,
		"the system clock was set %s by %.3f s: times in the files do not follow it, until "
		"the recorder is started again",
		ahead < 0 ? "back" : "forward", (double)llabs(ahead) / 1e9);
	r->wall = now;
}

/* The lane serves this timer, so it is alive. */
static bool on_tick(void *ctx, int fd)
{
	struct rd_recorder *r = ctx;
	struct rd_session_progress progress;
	uint64_t now = rd_monotonic_ns();

	if (!rd_fd_fired(fd))
		return false;
	check_wall_clock(r);
	if (r->wire.stall) {
		stall_tick(&r->stall, now, r->session_config.device.latency_ms * UINT64_C(1000000));
		fire_stalls(r);
	}
	rd_session_progress(r->session, &progress);
	pthread_mutex_lock(&r->lock);
	r->progress = progress;
	count_forgotten(r);
	pthread_mutex_unlock(&r->lock);
	notify_alive(r);
	return false;
}

static void on_ready(void *ctx)
{
	struct rd_recorder *r = ctx;

	r->counts.memory = rd_session_memory(r->session, &r->counts.locked);
}

/* Privileges are dropped: threads may start. */
static void on_started(void *ctx)
{
	struct rd_recorder *r = ctx;

	follow_start(r);
	watch_start(r);
	if (r->config.started)
		r->config.started(r->config.ctx);
	notify_send(r, "READY=1\nSTATUS=recording");
}

static void on_ended(void *ctx)
{
	struct rd_recorder *r = ctx;
	const struct rd_session_result *result = rd_session_result(r->session);

	watch_stop(r);
	pthread_mutex_lock(&r->lock);
	count_forgotten(r);
	pthread_mutex_unlock(&r->lock);
	if (result->end == RD_END_FAULT)
		watch_fault(r, result->error.text);
	notify_send(r, "STOPPING=1\nSTATUS=completing the last file");
	if (r->config.ended)
		r->config.ended(r->config.ctx);
}

/* The lane has ended. The service manager has a separate time limit for the shutdown. */
static bool on_waiting(void *ctx, bool commands)
{
	struct rd_recorder *r = ctx;

	notify_alive(r);
	return r->config.waiting ? r->config.waiting(r->config.ctx, commands) : true;
}

static void configure(struct rd_recorder *r)
{
	struct rd_session_config *c = &r->session_config;
	const struct rd_recorder_config *from = &r->config;
	unsigned int n = from->session.n_watches;

	*c = from->session;
	r->recording = (struct rd_session_recording){
		.retention = from->retention, .describe = on_describe, .facts = on_facts};
	r->recording.retention.found = on_found;
	r->recording.retention.ended = on_dump;
	r->recording.retention.ctx = r;
	r->tick_fd = rd_timer_open(TICK_NS);
	n = RD_MIN(n, RD_SESSION_WATCHES - 1);
	if (n)
		memcpy(r->watches, c->watches, n * sizeof(*r->watches));
	r->watches[n] = (struct rd_watch){r->tick_fd, on_tick, r};
	c->recording = &r->recording;
	c->out.rotation = (struct rd_rotation){.naming = RD_NAMES_DUMPCAP};
	c->when_full = RD_FULL_DROP;
	c->watches = r->watches;
	c->n_watches = n + 1;
	c->calls.ctx = r;
	c->calls.ready = on_ready;
	c->calls.started = on_started;
	c->calls.runs_programs = true;
	c->calls.ended = on_ended;
	c->calls.waiting = on_waiting;
	c->calls.commented = on_frames;
	c->calls.comment = on_comment;
}

/* --- open, run, close -------------------------------------------------------------------- */

static int parse_all(struct rd_recorder *r, struct rd_error *err)
{
	struct trigger *signal = &r->trigger[0];

	*signal = (struct trigger){.source = TRIGGER_SIGNAL, .text = strdup("SIGUSR1")};
	r->n_triggers = 1;
	if (!signal->text)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for triggers");
	if (r->config.n_triggers > RD_TRIGGERS_MAX)
		return rd_fail(err, RD_CLASS_USAGE, 0, "give fewer", "more than %d triggers",
			RD_TRIGGERS_MAX);
	for (unsigned int i = 0; i < r->config.n_triggers; i++)
		if (trigger_parse(&r->trigger[r->n_triggers++], r->config.triggers[i], err) < 0)
			return -1;
	if (wire_init(&r->wire, r->trigger, r->n_triggers) < 0 ||
		stall_init(&r->stall, r->trigger, r->n_triggers) < 0)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for triggers");
	r->wire.stall = r->stall.n ? &r->stall : NULL;
	return 0;
}

static int check_textfile(const struct rd_recorder *r, struct rd_error *err)
{
	const struct rd_recorder_config *c = &r->config;
	struct rd_identity id;

	if (!c->textfile)
		return 0;
	return rd_identity_choose(&id, c->session.user, err) < 0 ||
			       rd_identity_check_root(&id, c->textfile, err) < 0
		       ? -1
		       : 0;
}

static int open_parts(struct rd_recorder *r, struct rd_error *err)
{
	r->files = calloc(RD_RECORDER_FILES, sizeof(*r->files));
	if (!r->files)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the recorder");
	if (tell_init(&r->tell, r->config.tell, err) < 0 || parse_all(r, err) < 0 ||
		check_textfile(r, err) < 0)
		return -1;
	configure(r);
	if (rd_session_open(&r->session, &r->session_config, err) < 0)
		return -1;
	explain_warn(r);
	return counters_watch_init(r, err) < 0 || watch_open(r, err) < 0 ? -1 : 0;
}

int rd_recorder_open(struct rd_recorder **recorder, const struct rd_recorder_config *config,
	struct rd_error *err)
{
	struct rd_recorder *r = calloc(1, sizeof(*r));

	if (!r)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the recorder");
	r->config = *config;
	r->tick_fd = -1;
	rd_clock_set(&r->wall);
	r->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	r->watch.stop_fd = r->watch.kmsg_fd = -1;
	r->follow.child_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	r->follow.wake = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	if (open_parts(r, err) < 0) {
		rd_recorder_close(r);
		return -1;
	}
	*recorder = r;
	return 0;
}

int rd_recorder_run(struct rd_recorder *r)
{
	int rc = rd_session_run(r->session);

	/* Also called if the session failed before it called ended(). */
	watch_stop(r);
	tell_close(r);
	follow_finish(r);
	state_write(r, true);
	return rc;
}

void rd_recorder_close(struct rd_recorder *r)
{
	if (!r)
		return;
	watch_close(r);
	tell_close(r);
	counters_watch_fini(r);
	rd_session_close(r->session);
	follow_finish(r);
	wire_fini(&r->wire);
	stall_fini(&r->stall);
	for (unsigned int i = 0; i < r->n_triggers; i++)
		trigger_free(&r->trigger[i]);
	for (unsigned int i = 0; r->files && i < RD_RECORDER_FILES; i++)
		file_free(&r->files[i]);
	free(r->files);
	rd_fd_close(&r->tick_fd);
	free(r);
}

void rd_recorder_signal(struct rd_recorder *r)
{
	recorder_fire(r, &r->trigger[0], NULL, "");
}

/* --- queries ----------------------------------------------------------------------------- */

struct rd_session *rd_recorder_session(struct rd_recorder *r)
{
	return r->session;
}

void rd_recorder_counts(struct rd_recorder *r, struct rd_recorder_counts *counts)
{
	pthread_mutex_lock(&r->lock);
	*counts = r->counts;
	pthread_mutex_unlock(&r->lock);
}

bool rd_recorder_trigger(
	const struct rd_recorder *r, unsigned int i, struct rd_recorder_trigger *trigger)
{
	if (i >= r->n_triggers)
		return false;
	*trigger = (struct rd_recorder_trigger){r->trigger[i].text, r->trigger[i].fired};
	return true;
}

const struct rd_recorder_file *rd_recorder_files(
	const struct rd_recorder *r, unsigned int *n, uint64_t *first)
{
	*n = r->n_files < RD_RECORDER_FILES ? (unsigned int)r->n_files : RD_RECORDER_FILES;
	*first = r->n_files - *n;
	return r->files;
}
