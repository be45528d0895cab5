/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes the manifest. */
#include "task.h"
#include <rdmadump/document.h>
#include <rdmadump/json.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Where a member comes from. -1: out of memory. */
static int set_source(json_t *o, const struct task *t)
{
	return json_object_update_new(
		o, json_pack("{s:s, s:o, s:b, s:b}", "what", t->member->what, "command",
			   rd_json_string(t->command), "needs_root", t->member->root,
			   "may_hold_addresses", t->member->addresses));
}

static json_t *exit_status(const struct task *t)
{
	return t->outcome == OUTCOME_ENDED && t->member->form != FORM_COPY && WIFEXITED(t->status)
		       ? json_integer(WEXITSTATUS(t->status))
		       : json_null();
}

static json_t *signal_of(const struct task *t)
{
	bool was = (t->outcome == OUTCOME_ENDED || t->outcome == OUTCOME_TIMED_OUT) &&
		   t->member->form != FORM_COPY && WIFSIGNALED(t->status);

	return was ? json_integer(WTERMSIG(t->status)) : json_null();
}

/* How its command ended. */
static int set_end(json_t *o, const struct task *t)
{
	return json_object_update_new(o,
		json_pack("{s:o, s:o, s:o, s:b, s:o}", "exit_status", exit_status(t), "signal",
			signal_of(t), "duration_s",
			rd_json_seconds((int64_t)(t->ended_ns - t->began_ns)), "cut", t->output.cut,
			"message", rd_json_text(t->errors.n ? t->errors.data : "")));
}

json_t *manifest_member(const struct entry *e)
{
	json_t *o = json_pack("{s:o, s:o, s:o}", "name", rd_json_string(e->name), "size",
		e->kind == RD_ARCHIVE_FILE ? rd_json_u64(e->size) : json_null(), "link",
		rd_json_string(e->target));

	if (o && e->task && (set_source(o, e->task) || set_end(o, e->task))) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static int add_member(void *list, const struct entry *e, struct rd_error *err)
{
	(void)err;
	return json_array_append_new(list, manifest_member(e));
}

/* NULL: an entry could not be added. */
static json_t *json_members(const struct tasks *tasks)
{
	json_t *list = json_array();

	if (!list || entries_each(tasks, add_member, list, NULL) == 0)
		return list;
	json_decref(list);
	return NULL;
}

static json_t *json_planned(const struct tasks *tasks)
{
	json_t *list = json_array();

	for (unsigned int i = 0; list && i < tasks->n; i++) {
		json_t *o = json_pack("{s:o}", "name", rd_json_string(tasks->task[i].name));

		if (tasks->task[i].outcome == OUTCOME_WAITING && o &&
			!set_source(o, &tasks->task[i]))
			json_array_append_new(list, o);
		else
			json_decref(o);
	}
	return list;
}

static json_t *json_missing(const struct tasks *tasks)
{
	json_t *list = json_array();
	char why[512];

	for (unsigned int i = 0; list && i < tasks->n; i++) {
		json_t *o;

		task_why(&tasks->task[i], why, sizeof(why));
		if (!*why)
			continue;
		o = json_pack("{s:o, s:o, s:b}", "name", rd_json_string(tasks->task[i].name), "why",
			rd_json_string(why), "failed", task_failed(&tasks->task[i]));
		if (o)
			set_source(o, &tasks->task[i]);
		json_array_append_new(list, o);
	}
	return list;
}

json_t *manifest_make(const struct tasks *tasks, const struct rd_bundle_config *config,
	const char *host, uint64_t start_ns, uint64_t took_ns)
{
	struct utsname u;

	uname(&u);
	return rd_document(RD_MANIFEST_VERSION, start_ns,
		json_pack("{s:o, s:o, s:o, s:b, s:b, s:o, s:o}", "duration_s",
			took_ns ? rd_json_seconds((int64_t)took_ns) : json_null(), "host",
			rd_json_string(host), "kernel", rd_json_string(u.release), "root",
			geteuid() == 0, "redacted", config->redact, "members",
			took_ns ? json_members(tasks) : json_planned(tasks), "not_taken",
			json_missing(tasks)));
}
