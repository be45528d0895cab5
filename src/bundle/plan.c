/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table's rows as tasks: placeholders become devices, netdevs, PCI functions and files. */
#include "task.h"
#include <ctype.h>
#include <rdmadump/fd.h>
#include <rdmadump/resource.h>
#include <stdlib.h>
#include <string.h>

#define SUBJECTS_MAX 256
#define NAME_BYTES   256
#define NVIDIA	     0x15b3 /* PCI vendor */
#define GROWTH_S     2	    /* between two readings of counters */

void file_name(char *buf, size_t size, const char *text)
{
	size_t n = 0;

	for (; n + 1 < size && text[n]; n++)
		buf[n] = isalnum((unsigned char)text[n]) || strchr("._-", text[n]) ? text[n] : '_';
	buf[n] = '\0';
	if (buf[0] == '.' || buf[0] == '-')
		buf[0] = '_';
}

/* --- what a placeholder stands for -------------------------------------------------------- */

struct subjects {
	const char *text[SUBJECTS_MAX]; /* as it is passed to commands; of the configuration */
	unsigned int n;
};

static void add_subject(struct subjects *s, const char *text)
{
	if (!*text || s->n == SUBJECTS_MAX)
		return;
	for (unsigned int i = 0; i < s->n; i++)
		if (strcmp(s->text[i], text) == 0)
			return;
	s->text[s->n++] = text;
}

static void list_devices(struct subjects *s, const struct rd_bundle_config *c)
{
	for (size_t i = 0; i < c->devices->n; i++)
		add_subject(s, c->devices->dev[i].name);
}

static void list_listed(struct subjects *s, const struct rd_bundle_config *c)
{
	uint64_t n;

	for (size_t i = 0; i < c->devices->n; i++) {
		const char *name = c->devices->dev[i].name;

		if (rd_resources_qp_count(name, &n) < 0 || n <= RD_QPS_LISTED_MAX)
			add_subject(s, name);
	}
}

static void list_netdevs(struct subjects *s, const struct rd_bundle_config *c)
{
	for (size_t i = 0; i < c->devices->n; i++)
		for (unsigned int p = 0; p < c->devices->dev[i].n_ports; p++) {
			const struct rd_port *port = &c->devices->dev[i].ports[p];

			for (unsigned int k = 0; k < port->n_netdevs; k++)
				if (port->netdevs[k].name[0] != '-')
					add_subject(s, port->netdevs[k].name);
		}
}

static void list_pcis(struct subjects *s, const struct rd_bundle_config *c)
{
	for (size_t i = 0; i < c->devices->n; i++)
		add_subject(s, c->devices->dev[i].pci);
}

static void list_nvidia(struct subjects *s, const struct rd_bundle_config *c)
{
	for (size_t i = 0; i < c->devices->n; i++)
		if (c->devices->dev[i].vendor_id == NVIDIA)
			add_subject(s, c->devices->dev[i].pci);
}

static void list_port(struct subjects *s, const struct rd_bundle_config *c)
{
	if (c->capture_port)
		add_subject(s, c->capture_port);
}

/* All of them, also if their names are equal. */
static void list_files(struct subjects *s, const struct rd_bundle_config *c)
{
	memcpy(s->text, c->files, c->n_files * sizeof(*s->text));
	s->n = c->n_files;
}

/* The longer ones first: "@files" begins with "@file". */
static const struct placeholder {
	const char *name;
	void (*list)(struct subjects *s, const struct rd_bundle_config *c);
	const char *none; /* the reason why the row has no task */
} placeholders[] = {
	{"@device", list_devices, "no RDMA device"},
	{"@listed", list_listed, "no RDMA device, or more queue pairs than are listed"},
	{"@netdev", list_netdevs, "no netdev of an RDMA device"},
	{"@mlxpci", list_nvidia, "no NVIDIA adapter"},
	{"@pci", list_pcis, "no RDMA device on PCI"},
	{"@port", list_port, "not requested: --capture"},
	{"@files", list_files, "not requested: --file"},
	{"@file", list_files, "not requested: --file"},
};

static const struct placeholder *placeholder_of(const struct member *m)
{
	const char *const texts[] = {m->name, m->command};

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < RD_COUNT(placeholders); i++)
			if (strstr(texts[k], placeholders[i].name))
				return &placeholders[i];
	return NULL;
}

/* --- tasks -------------------------------------------------------------------------------- */

/* A copy with `mark` replaced; NULL: out of memory. */
static char *replaced(const char *text, const char *mark, const char *by)
{
	const char *at = strstr(text, mark);
	char *out;

	if (asprintf(&out, "%.*s%s%s", at ? (int)(at - text) : (int)strlen(text), text,
		    at ? by : "", at ? at + strlen(mark) : "") < 0)
		return NULL;
	return out;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* "captures/2-NAME": the number keeps files of the same name apart. */
static char *member_name(const struct member *m, const struct placeholder *p, const char *subject,
	unsigned int index)
{
	char clean[NAME_BYTES], number[NAME_BYTES + 16];

	if (!p || !strstr(m->name, p->name))
		return strdup(m->name);
	file_name(clean, sizeof(clean), p->list == list_files ? base_name(subject) : subject);
	snprintf(number, sizeof(number), "%u-%s", index + 1, clean);
	return replaced(m->name, p->name, p->list == list_files ? number : clean);
}

static const char *word_for(const char *word, const struct placeholder *p, const char *subject,
	char text[32], const struct rd_bundle_config *c)
{
	const unsigned int seconds = (unsigned int)c->capture_s;

	if (strcmp(word, "@interval") == 0)
		snprintf(text, 32, "%u", seconds ? seconds + 1 : GROWTH_S);
	else if (strcmp(word, "duration:@seconds") == 0)
		snprintf(text, 32, "duration:%u", seconds);
	else if (strcmp(word, "@capture") == 0)
		return "-";
	else if (p && strcmp(word, p->name) == 0)
		return subject;
	else
		return word;
	return text;
}

/*
 * The words of the command, stored one after another in `words`, each terminated by NUL, and the
 * command as it is shown: words joined by spaces.
 */
static int make_argv(struct task *t, const struct placeholder *p, const char *subject,
	const struct rd_bundle_config *c)
{
	char *copy = strdup(t->member->command), *save = NULL, text[32];
	size_t length = 0;
	FILE *out = open_memstream(&t->words, &length);
	unsigned int n = 0;

	if (!copy || !out) {
		free(copy);
		if (out)
			fclose(out);
		return -1;
	}
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		bool all = strcmp(w, "@files") == 0;

		for (unsigned int i = 0; i < (all ? c->n_files : 1) && n < TASK_ARGS; i++, n++)
			fprintf(out, "%s%c", all ? c->files[i] : word_for(w, p, subject, text, c),
				'\0');
	}
	free(copy);
	t->command = fclose(out) ? NULL : malloc(length);
	if (!t->command)
		return -1;
	memcpy(t->command, t->words, length);
	for (size_t at = 0, i = 0; i < n; i++) {
		t->argv[i] = t->words + at;
		at += strlen(t->argv[i]) + 1;
		if (i + 1 < n)
			t->command[at - 1] = ' ';
	}
	return 0;
}

struct task task_new(const struct member *m)
{
	return (struct task){.member = m,
		.in = -1,
		.out = -1,
		.file = -1,
		.out_pipe = -1,
		.error_pipe = -1,
		.output.most = m->bytes ? m->bytes : MEMBER_BYTES,
		.errors.most = TASK_ERROR_TEXT};
}

static int add_task(struct tasks *tasks, const struct member *m, const struct placeholder *p,
	const char *subject, unsigned int index, const struct rd_bundle_config *c)
{
	struct task *t = &tasks->task[tasks->n++];

	*t = task_new(m);
	if (m->phase == PHASE_ADAPTER)
		snprintf(t->function, sizeof(t->function), "%s", subject);
	if (strstr(m->command, "@seconds") || strstr(m->command, "@interval"))
		t->more_ms = (unsigned int)c->capture_s * 1000;
	t->name = member_name(m, p, subject, index);
	if (!t->name || make_argv(t, p, subject, c) < 0)
		return -1;
	if (m->form == FORM_COPY)
		t->path = t->argv[1];
	t->own = strcmp(t->argv[0], "rdmadump") == 0;
	return 0;
}

/* A row without a subject becomes a task that has already ended, so that the reason is recorded. */
static int add_empty(struct tasks *tasks, const struct member *m)
{
	struct task *t = &tasks->task[tasks->n++];

	*t = task_new(m);
	t->outcome = OUTCOME_NOTHING;
	t->name = strdup(m->name);
	t->command = strdup(m->command);
	return t->name && t->command ? 0 : -1;
}

static int add_row(struct tasks *tasks, const struct member *m, const struct rd_bundle_config *c)
{
	const struct placeholder *p = placeholder_of(m);
	struct subjects s = {.n = 0};
	unsigned int n = 1;
	struct task *grown;
	int rc = 0;

	if (p)
		p->list(&s, c);
	if (p && !(s.n && strcmp(p->name, "@files") == 0))
		n = s.n;
	grown = reallocarray(tasks->task, tasks->n + n + 1, sizeof(*grown));
	if (grown)
		tasks->task = grown;
	else
		rc = -1;
	if (!rc && !n)
		rc = add_empty(tasks, m);
	for (unsigned int i = 0; i < n && !rc; i++)
		rc = add_task(tasks, m, p, p && s.n ? s.text[i] : "", i, c);
	return rc;
}

int tasks_make(struct tasks *tasks, const struct rd_bundle_config *config)
{
	*tasks = (struct tasks){.n = 0};
	for (unsigned int i = 0; i < n_members; i++)
		if (add_row(tasks, &members[i], config) < 0)
			return -1;
	for (unsigned int i = 0, first = 0; i < tasks->n; i++) {
		if (!tasks->task[i].member->also) {
			first = i;
			continue;
		}
		tasks->task[i].first = &tasks->task[first];
		tasks->task[first].n_also++;
	}
	return 0;
}

void tasks_free(struct tasks *tasks)
{
	for (unsigned int i = 0; i < tasks->n; i++) {
		struct task *t = &tasks->task[i];

		free(t->name);
		free(t->words);
		free(t->command);
		free(t->left_out);
		free(t->output.data);
		free(t->errors.data);
		rd_fd_close(&t->in);
		rd_fd_close(&t->file);
	}
	free(tasks->task);
	*tasks = (struct tasks){.n = 0};
}

/* --- why something is missing ------------------------------------------------------------- */

static const char *none_of(const struct task *t)
{
	const struct placeholder *p = placeholder_of(t->member);

	return p ? p->none : "";
}

/* The first line that the command wrote on standard error, else the last one of its output. */
static void first_line(const struct task *t, char *buf, size_t size)
{
	const char *text;

	t = t->first ? t->first : t;
	text = t->errors.n ? t->errors.data : t->output.data;
	if (t->member->form != FORM_TEXT && !t->errors.n)
		text = NULL;
	snprintf(buf, size, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
}

static void why_ended(const struct task *t, char *buf, size_t size)
{
	char line[200];

	if (t->output.cut) {
		snprintf(buf, size, "cut after %zu bytes", t->output.most);
	} else if (WIFSIGNALED(t->status)) {
		snprintf(buf, size, "ended by signal %d", WTERMSIG(t->status));
	} else if (WEXITSTATUS(t->status) && WEXITSTATUS(t->status) != t->member->also_whole) {
		first_line(t, line, sizeof(line));
		snprintf(buf, size, "exit status %d%s%s%s", WEXITSTATUS(t->status),
			*line ? ": " : "", line,
			t->member->root && geteuid() && !strstr(line, "root") ? "; it needs root"
									      : "");
	}
}

/* Nothing that opens an adapter is killed. */
static void why_not_ended(const struct task *t, char *buf, size_t size)
{
	bool stuck = t->outcome == OUTCOME_STUCK;

	if (*t->function && stuck)
		snprintf(buf, size,
			"it took longer than its limit, did not end when interrupted (SIGINT), and "
			"was left running: process %d",
			(int)t->pid);
	else if (*t->function)
		snprintf(buf, size, "it took longer than its limit and was interrupted (SIGINT)");
	else if (stuck)
		snprintf(buf, size,
			"it took longer than its limit and cannot be killed: the kernel or the "
			"device does not respond");
	else
		snprintf(buf, size, "it took longer than its limit and was killed");
}

void task_why(const struct task *t, char *buf, size_t size)
{
	buf[0] = '\0';
	switch (t->outcome) {
	case OUTCOME_ABSENT:
		snprintf(buf, size, "%s is not installed", t->argv[0]);
		break;
	case OUTCOME_NOTHING:
		snprintf(buf, size, "%s", none_of(t));
		break;
	case OUTCOME_SAME:
		snprintf(buf, size, "%s is installed, which prints the same", t->member->unless);
		break;
	case OUTCOME_TIMED_OUT:
	case OUTCOME_STUCK:
		why_not_ended(t, buf, size);
		break;
	case OUTCOME_BUSY:
		snprintf(buf, size, "not run: %s still uses the adapter (process %d)",
			t->holder->argv[0], (int)t->holder->pid);
		break;
	case OUTCOME_LATE:
		snprintf(buf, size, "the time limit of all commands had expired");
		break;
	case OUTCOME_FAILED:
		snprintf(buf, size, "%s", strerror(t->errnum));
		break;
	case OUTCOME_LEFT_OUT:
		snprintf(buf, size, "left out, since it cannot be redacted: %s",
			t->left_out ? t->left_out : "no memory");
		break;
	case OUTCOME_ENDED:
		why_ended(t, buf, size);
		break;
	case OUTCOME_WAITING:
	case OUTCOME_RUNNING:
		break;
	}
}

bool task_failed(const struct task *t)
{
	char why[512];

	if (t->outcome == OUTCOME_NOTHING || t->outcome == OUTCOME_ABSENT ||
		t->outcome == OUTCOME_SAME)
		return false;
	task_why(t, why, sizeof(why));
	/* How programs call EOPNOTSUPP and EPROTONOSUPPORT: not by this kernel or driver. */
	return *why && !(t->outcome == OUTCOME_ENDED && strstr(why, "not supported"));
}
