/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Creates a bundle: runs the commands, stores their output, writes the page and the manifest, then
 * the archive. The archive gets its name only when it is complete.
 */
#include "task.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/clock.h>
#include <rdmadump/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MAKE_ROOM	"free some space, or name another file (--write)"
#define ANALYZED_PER_MS 20000 /* bytes, on a slow machine */

struct creation {
	const struct rd_bundle_config *config;
	struct rd_identity identity;
	struct result out, map;
	struct tasks tasks;
	char base[200];		  /* "rdmadump-bundle-HOST-DATE" */
	struct rd_redact *redact; /* NULL: members are not redacted */
	char host[256];		  /* this machine's name, perhaps redacted */
	uint64_t start_ns, began_ns;
	json_t *manifest;
	char *text, *page; /* the manifest, index.html */
	size_t n_page;
};

/* With the rights of the user who called sudo. */
static int open_unnamed(const struct creation *c, struct rd_error *err)
{
	struct rd_identity_before before;
	int fd;

	if (rd_identity_assume(&c->identity, &before, err) < 0)
		return -1;
	fd = unnamed_file(c->out.path, err);
	rd_identity_resume(&before);
	return fd;
}

/* --- output ------------------------------------------------------------------------------- */

static void name_bundle(struct creation *c)
{
	char host[100], date[32];
	struct utsname u;
	time_t now;
	struct tm tm;

	c->start_ns = rd_wall_ns();
	now = (time_t)(c->start_ns / 1000000000);
	uname(&u);
	snprintf(c->host, sizeof(c->host), "%s", u.nodename);
	file_name(host, sizeof(host), c->redact ? "redacted" : u.nodename);
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", gmtime_r(&now, &tm));
	snprintf(c->base, sizeof(c->base), "rdmadump-bundle-%s-%s", host, date);
}

/* Called before any work, with the rights of the user who called sudo. */
static int open_results(struct creation *c, struct rd_error *err)
{
	char path[PATH_MAX], map[PATH_MAX];
	struct rd_inputs inputs = {.n = 0};
	const struct rd_bundle_config *config = c->config;
	int rc;

	snprintf(path, sizeof(path), "%s%s", config->output ? config->output : c->base,
		config->output ? "" : ".tar.zst");
	snprintf(map, sizeof(map), "%.*s%s", PATH_MAX - 8, config->map ? config->map : path,
		config->map ? "" : ".map");
	for (unsigned int i = 0; i < config->n_files; i++)
		rd_inputs_add(&inputs, config->files[i]);
	rc = result_open(&c->out, path, "--write", &inputs, err);
	if (!rc && c->redact)
		rc = result_open(&c->map, map, "--redact-map", &inputs, err);
	return rc;
}

static int open_output(struct creation *c, struct rd_error *err)
{
	struct rd_identity_before before;
	int rc;

	if (rd_identity_choose(&c->identity, NULL, err) < 0 ||
		rd_identity_assume(&c->identity, &before, err) < 0)
		return -1;
	rc = open_results(c, err);
	rd_identity_resume(&before);
	if (rc) {
		result_abandon(&c->out, &c->identity);
		result_abandon(&c->map, &c->identity);
	}
	return rc;
}

struct writing {
	const struct creation *c;
	struct rd_archive *a;
};

static int write_member(void *ctx, const struct entry *e, struct rd_error *err)
{
	const struct writing *w = ctx;
	const struct creation *c = w->c;
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", c->base, e->name) >= (int)sizeof(path))
		return 0;
	return entry_write(
		e, w->a, path, (int64_t)(c->start_ns / 1000000000), c->config->stop, err);
}

static struct entry page_entry(const struct creation *c)
{
	return (struct entry){.name = "index.html", .bytes = c->page, .size = c->n_page};
}

/* Manifest and page come first. */
static int write_members(const struct creation *c, int fd, struct rd_error *err)
{
	const struct entry page = page_entry(c),
			   manifest = {
				   .name = RD_MANIFEST, .bytes = c->text, .size = strlen(c->text)};
	struct writing w = {.c = c};
	int rc;

	if (rd_archive_create(&w.a, fd, true, c->out.path, MAKE_ROOM, err) < 0)
		return -1;
	rc = write_member(&w, &manifest, err);
	if (!rc)
		rc = write_member(&w, &page, err);
	if (!rc)
		rc = entries_each(&c->tasks, write_member, &w, err);
	if (!rc)
		rc = rd_archive_finish(w.a, err);
	rd_archive_free(w.a);
	return rc;
}

/* The map first: without it, a redacted bundle could not be interpreted. */
static int finish_output(struct creation *c, struct rd_error *err)
{
	int fd = result_begin(&c->out, err), map = -1;

	if (fd < 0 || write_members(c, fd, err) < 0)
		return -1;
	if (c->redact) {
		map = result_begin(&c->map, err);
		if (map < 0 || redaction_write_map(c->redact, c->base, c->start_ns, map, err) < 0 ||
			result_finish(&c->map, &c->identity, err) < 0)
			return -1;
	}
	return result_finish(&c->out, &c->identity, err);
}

/* --- members ------------------------------------------------------------------------------ */

static uint64_t size_of(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Data appended during the copy is ignored. */
static int copy_file(struct creation *c, struct task *t, struct rd_error *err)
{
	int fd = task_open_file(t), rc = -1;

	if (fd < 0)
		return 0;
	t->file = open_unnamed(c, err);
	if (t->file >= 0)
		rc = copy_bytes(fd, t->file, size_of(fd), t->name, c->config->stop, err);
	close(fd);
	t->ended_ns = rd_monotonic_ns();
	return rc;
}

/* The file of --capture as input and output; each reader has its own file position. */
static int connect_capture(struct creation *c, struct rd_error *err)
{
	char path[64] = "";

	for (unsigned int i = 0; i < c->tasks.n && c->config->capture_port; i++) {
		struct task *t = &c->tasks.task[i];

		if (t->member->form == FORM_CAPTURE) {
			t->out = t->file = open_unnamed(c, err);
			if (t->file < 0)
				return -1;
			snprintf(path, sizeof(path), "/proc/self/fd/%d", t->file);
		}
		/* A row after that of the capture */
		if (!strstr(t->member->command, "@capture"))
			continue;
		t->in = open(path, O_RDONLY | O_CLOEXEC);
		if (t->in < 0)
			return rd_fail(
				err, RD_CLASS_OUTPUT, errno, NULL, "cannot read the capture");
	}
	return 0;
}

/* A large capture takes longer than other commands. */
static void allow_for_size(struct creation *c)
{
	uint64_t given = 0;
	struct stat st;

	for (unsigned int i = 0; i < c->config->n_files; i++)
		if (stat(c->config->files[i], &st) == 0)
			given += (uint64_t)st.st_size;
	for (unsigned int i = 0; i < c->tasks.n; i++) {
		struct task *t = &c->tasks.task[i];
		uint64_t bytes = t->in >= 0 ? size_of(t->in) : given;

		if (t->member->phase == PHASE_ANALYZE)
			t->more_ms = bytes / ANALYZED_PER_MS < UINT_MAX / 2
					     ? (unsigned int)(bytes / ANALYZED_PER_MS)
					     : UINT_MAX / 2;
	}
}

static int add_index(struct creation *c, struct rd_error *err)
{
	FILE *out = open_memstream(&c->page, &c->n_page);
	json_t *summary = NULL;
	struct entry page;
	int rc = -1;

	c->manifest = manifest_make(
		&c->tasks, c->config, c->host, c->start_ns, rd_monotonic_ns() - c->began_ns);
	if (out && c->manifest)
		rc = page_write(out, &c->tasks, c->manifest, &summary);
	if (out && fclose(out))
		rc = -1;
	page = page_entry(c);
	json_array_append_new(json_object_get(c->manifest, "members"), manifest_member(&page));
	json_object_set_new(c->manifest, "bundle", rd_json_string(c->base));
	json_object_update(c->manifest, summary);
	json_decref(summary);
	if (!rc)
		c->text = json_dumps(c->manifest, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	return c->text ? 0
		       : rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL,
				 "cannot write the page and the manifest");
}

/* The bundle's name contains the host's: in the archive, the manifest, by default the file name. */
static int redact_all(struct creation *c, struct rd_error *err)
{
	char *host;

	if (redaction_run(c->redact, &c->tasks, c->out.path, c->config, err) < 0)
		return -1;
	host = rd_redact_text(c->redact, c->host, strlen(c->host), NULL);
	if (!host)
		return redaction_failed(err);
	snprintf(c->host, sizeof(c->host), "%s", host);
	free(host);
	return 0;
}

static int collect(struct creation *c, struct rd_error *err)
{
	/* A slow tool must not use up the time of members that are needed to read the bundle. */
	static const enum phase order[] = {PHASE_READ, PHASE_COLLECT, PHASE_ADAPTER, PHASE_ANALYZE};
	int rc = 0;

	if (tasks_make(&c->tasks, c->config) < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "cannot plan the bundle");
	if (connect_capture(c, err) < 0)
		return -1;
	for (unsigned int i = 0; i < c->tasks.n && !rc; i++)
		if (!c->redact && c->tasks.task[i].member->form == FORM_COPY &&
			!c->tasks.task[i].outcome)
			rc = copy_file(c, &c->tasks.task[i], err);
	for (size_t i = 0; i < RD_COUNT(order) && !rc; i++) {
		allow_for_size(c);
		if (!tasks_run(&c->tasks, order[i], c->config))
			rc = rd_fail(err, RD_CLASS_PARTIAL, 0, NULL, BUNDLE_INTERRUPTED);
	}
	return !rc && c->redact ? redact_all(c, err) : rc;
}

int rd_bundle_create(const struct rd_bundle_config *config, char path[PATH_MAX], json_t **manifest,
	struct rd_error *err)
{
	struct creation c = {.config = config,
		.out.out.fd = -1,
		.map.out.fd = -1,
		.began_ns = rd_monotonic_ns()};
	int rc;

	*manifest = NULL;
	c.redact = config->redact ? rd_redact_new() : NULL;
	if (config->redact && !c.redact)
		return redaction_failed(err);
	name_bundle(&c);
	if (open_output(&c, err) < 0) {
		rd_redact_free(c.redact);
		return -1;
	}
	rc = collect(&c, err);
	if (!rc)
		rc = add_index(&c, err);
	if (!rc)
		rc = finish_output(&c, err);
	if (rc)
		json_decref(c.manifest);
	else
		*manifest = c.manifest;
	result_abandon(&c.out, &c.identity);
	result_abandon(&c.map, &c.identity);
	free(c.text);
	free(c.page);
	tasks_free(&c.tasks);
	rd_redact_free(c.redact);
	memcpy(path, c.out.path, sizeof(c.out.path));
	return rc;
}

json_t *rd_bundle_plan(const struct rd_bundle_config *config)
{
	struct tasks tasks;
	struct utsname u;
	json_t *plan = NULL;

	uname(&u);
	if (tasks_make(&tasks, config) == 0)
		plan = manifest_make(&tasks, config, u.nodename, rd_wall_ns(), 0);
	tasks_free(&tasks);
	return plan;
}
