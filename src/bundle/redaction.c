/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Redacts a bundle in two passes over all members: the first pass collects addresses and names, the
 * second pass replaces them.
 */
#include "task.h"
#include <errno.h>
#include <rdmadump/document.h>
#include <rdmadump/fd.h>
#include <rdmadump/json.h>
#include <rdmadump/rewrite.h>
#include <stdlib.h>
#include <string.h>

struct redaction {
	struct rd_redact *r;
	struct tasks *tasks;
	const char *path; /* of the output */
	const struct rd_bundle_config *config;
	bool replacing; /* in the second pass */
};

/* --- names of this machine -------------------------------------------------------------------- */

static enum rd_redact_kind kind_of(const char *text)
{
	return !strcmp(text, "user")	 ? RD_REDACT_USER
	       : !strcmp(text, "serial") ? RD_REDACT_SERIAL
	       : !strcmp(text, "node")	 ? RD_REDACT_NODE
					 : RD_REDACT_HOST;
}

static void add_names(struct redaction *x, const json_t *names)
{
	const json_t *row;
	size_t i;

	json_array_foreach (names, i, row) {
		const char *name = json_string_value(json_object_get(row, "name"));
		const char *kind = json_string_value(json_object_get(row, "kind"));

		if (name && kind)
			rd_redact_name(x->r, kind_of(kind), name, strlen(name));
	}
}

/* Runs in a separate process with a time limit: the user database may be on another machine. */
static int collect_names(struct redaction *x, struct rd_error *err)
{
	static char program[] = "rdmadump", command[] = "bundle", option[] = "--part",
		    name[] = "names";
	static const struct member member = {
		.name = name, .command = "", .form = FORM_OUTPUT, .phase = PHASE_READ};
	char *const argv[] = {program, command, option, name};
	struct task t = task_new(&member);
	struct tasks one = {.task = &t, .n = 1};
	json_t *names = NULL;
	char why[512];
	int rc = 0;

	t.name = t.command = name;
	memcpy(t.argv, argv, sizeof(argv));
	t.own = true;
	if (!tasks_run(&one, PHASE_READ, x->config))
		rc = rd_fail(err, RD_CLASS_PARTIAL, 0, NULL, BUNDLE_INTERRUPTED);
	task_why(&t, why, sizeof(why));
	if (!rc && t.output.n)
		names = json_loadb(t.output.data, t.output.n, 0, NULL);
	if (!rc && (*why || !json_is_array(names)))
		rc = rd_fail(err, RD_CLASS_DEVICE, 0, "give more time (--timeout)",
			"cannot redact the bundle: the names of this machine are unknown: %s",
			*why ? why : "no list was written");
	add_names(x, names);
	json_decref(names);
	free(t.output.data);
	free(t.errors.data);
	return rc;
}

/* Directories of the files that the user named. Their names stay, but for hosts and users. */
static void collect_paths(struct redaction *x)
{
	for (unsigned int i = 0; i < x->config->n_files; i++) {
		const char *path = x->config->files[i], *slash = strrchr(path, '/');

		if (path[0] == '/' && slash > path)
			rd_redact_name(x->r, RD_REDACT_PATH, path, (size_t)(slash - path));
	}
}

/* --- text ------------------------------------------------------------------------------------- */

/* What a command wrote; reports have text of captures in them. */
static char *output_redact(
	struct redaction *x, const struct task *t, const struct bytes *o, size_t *n)
{
	return (t->member->phase == PHASE_ANALYZE ? rd_redact_foreign : rd_redact_text)(
		x->r, o->data, o->n, n);
}

/*
 * "captures/NAME": only the name of a file that was given is a text; the directory is not, nor are
 * names of devices.
 */
static char *name_redact(struct redaction *x, const struct task *t)
{
	const char *slash = strrchr(t->name, '/');
	char *base, *name = NULL;

	if (t->member->form != FORM_COPY || !slash)
		return rd_redact_path(x->r, t->name);
	base = rd_redact_text(x->r, slash + 1, strlen(slash + 1), NULL);
	if (base && asprintf(&name, "%.*s/%s", (int)(slash - t->name), t->name, base) < 0)
		name = NULL;
	free(base);
	return name;
}

/* Replaces *text by `to`, its redacted copy. The first pass only collects: nothing is changed. */
static int text_set(struct redaction *x, char **text, char *to, struct rd_error *err)
{
	char *old = x->replacing ? *text : to;

	if (!to)
		return redaction_failed(err);
	if (x->replacing)
		*text = to;
	free(old);
	return 0;
}

static int text_redact(struct redaction *x, char **text, struct rd_error *err)
{
	return *text ? text_set(x, text, rd_redact_text(x->r, *text, strlen(*text), NULL), err) : 0;
}

static int output_set(
	struct redaction *x, const struct task *t, struct bytes *o, struct rd_error *err)
{
	return o->n ? text_set(x, &o->data, output_redact(x, t, o, &o->n), err) : 0;
}

/* --- captures --------------------------------------------------------------------------------- */

static bool frame_redact(
	void *ctx, enum rd_link link, uint8_t *data, uint32_t caplen, uint32_t len, uint32_t extra)
{
	const struct redaction *x = ctx;

	return rd_redact_frame(x->r, link, data, caplen, len, extra);
}

static char *option_redact(void *ctx, const char *text, size_t n, size_t *out_n)
{
	const struct redaction *x = ctx;

	return rd_redact_foreign(x->r, text, n, out_n);
}

static void address_redact(void *ctx, uint8_t *bytes, size_t n)
{
	const struct redaction *x = ctx;

	rd_redact_address(x->r, bytes, n);
}

static int put_bytes(void *ctx, const void *bytes, size_t n)
{
	return rd_write_whole(*(const int *)ctx, bytes, n);
}

static struct rd_rewrite rewriting(struct redaction *x, int *to)
{
	return (struct rd_rewrite){.frame = frame_redact,
		.text = option_redact,
		.address = address_redact,
		.ctx = x,
		.put = to ? put_bytes : NULL,
		.put_ctx = to};
}

static bool is_capture(const struct task *t)
{
	return t->member->form == FORM_CAPTURE || t->member->form == FORM_COPY;
}

/* The open file of the task; -1: none. */
static int open_file(struct task *t)
{
	if (t->member->form == FORM_CAPTURE)
		return t->file >= 0 && t->outcome > OUTCOME_RUNNING ? dup(t->file) : -1;
	return task_open_file(t);
}

/*
 * A redacted copy; none in the first pass. A capture that cannot be read is omitted. -1: the bundle
 * fails.
 */
static int capture_rewrite(struct redaction *x, struct task *t, int *to, struct rd_error *err)
{
	struct rd_rewrite w = rewriting(x, to);
	struct rd_error why;
	char path[64];
	int fd = open_file(t), rc;

	if (fd < 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = rd_rewrite_file(&w, path, &why);
	close(fd);
	if (*x->config->stop)
		return rd_fail(err, RD_CLASS_PARTIAL, 0, NULL, BUNDLE_INTERRUPTED);
	if (rc < 0 && why.class != RD_CLASS_DEVICE) {
		*err = why;
		return -1;
	}
	if (rc == 0)
		return 0;
	t->outcome = OUTCOME_LEFT_OUT;
	free(t->left_out);
	/* An empty capture has no header. */
	t->left_out = strdup(w.frames ? why.text
				      : "it is not a capture that this program reads, or "
					"its link type is unknown");
	return 0;
}

/* The copy is not compressed. */
static void drop_suffix(char *name)
{
	static const char *const suffixes[] = {".zst", ".zstd", ".gz"};
	size_t n = strlen(name);

	for (size_t i = 0; i < RD_COUNT(suffixes); i++) {
		size_t len = strlen(suffixes[i]);

		if (n > len && strcmp(name + n - len, suffixes[i]) == 0) {
			name[n - len] = '\0';
			return;
		}
	}
}

static int capture_redact(struct redaction *x, struct task *t, struct rd_error *err)
{
	int to, rc;
	bool kept;

	if (t->outcome == OUTCOME_LEFT_OUT || t->outcome == OUTCOME_NOTHING)
		return 0;
	if (!x->replacing)
		return capture_rewrite(x, t, NULL, err);
	to = unnamed_file(x->path, err);
	if (to < 0)
		return -1;
	rc = capture_rewrite(x, t, &to, err);
	rd_fd_close(&t->file);
	kept = !rc && (t->outcome == OUTCOME_ENDED || t->outcome == OUTCOME_TIMED_OUT);
	t->file = kept ? to : -1;
	if (kept)
		drop_suffix(t->name);
	else
		close(to);
	return rc;
}

/* --- both passes ------------------------------------------------------------------------------ */

static int task_redact(struct redaction *x, struct task *t, struct rd_error *err)
{
	if (text_set(x, &t->name, name_redact(x, t), err) < 0 ||
		text_redact(x, &t->command, err) < 0 || text_redact(x, &t->left_out, err) < 0 ||
		output_set(x, t, &t->errors, err) < 0)
		return -1;
	if (is_capture(t))
		return capture_redact(x, t, err);
	if (t->member->form == FORM_TREE)
		return x->replacing ? 0 : tree_each(t, x->r, NULL, NULL, err);
	return output_set(x, t, &t->output, err);
}

static int tasks_redact(struct redaction *x, struct rd_error *err)
{
	int rc = 0;

	for (unsigned int i = 0; i < x->tasks->n && !rc; i++)
		rc = task_redact(x, &x->tasks->task[i], err);
	return rc;
}

int redaction_run(struct rd_redact *r, struct tasks *tasks, const char *path,
	const struct rd_bundle_config *config, struct rd_error *err)
{
	struct redaction x = {.r = r, .tasks = tasks, .path = path, .config = config};
	int rc = collect_names(&x, err);

	collect_paths(&x);
	if (!rc)
		rc = tasks_redact(&x, err);
	rd_redact_begin(r);
	x.replacing = true;
	tasks->redact = r;
	if (!rc)
		rc = tasks_redact(&x, err);
	return !rc && rd_redact_failed(r) ? redaction_failed(err) : rc;
}

int redaction_write_map(const struct rd_redact *r, const char *bundle, uint64_t start_ns, int fd,
	struct rd_error *err)
{
	json_t *map = rd_document(1, start_ns,
		json_pack("{s:o, s:o}", "bundle", rd_json_string(bundle), "replaced",
			rd_redact_map(r)));
	int rc = map ? json_dumpfd(map, fd, JSON_INDENT(1)) : -1;

	json_decref(map);
	if (rc == 0 && rd_write_whole(fd, "\n", 1) == 0)
		return 0;
	return rd_fail(err, RD_CLASS_OUTPUT, errno,
		"free some space, or name another file (--redact-map)",
		"cannot write the map of what was replaced");
}
