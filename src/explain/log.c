/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads logs: lines by their codes; machines that report, and those that only others name. */
#include "log.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

int log_open(struct log *log, struct rd_error *err)
{
	*log = (struct log){.group = calloc(GROUPS_MAX, sizeof(*log->group))};
	return parties_open(&log->parties) && log->group
		       ? 0
		       : rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "tables of a log");
}

static bool is_same(const struct reading *a, const struct reading *b)
{
	bool same = a->n == b->n;

	for (unsigned int i = 0; same && i < a->n; i++)
		same = a->found[i].space == b->found[i].space &&
		       a->found[i].number == b->found[i].number &&
		       (a->found[i].number != ANY_NUMBER || a->found[i].code == b->found[i].code);
	return same;
}

static int add(struct log *log, const struct reading *r, const char *line, size_t length,
	struct rd_error *err)
{
	struct group *g = RD_FIND(one, log->group, log->n_groups, is_same(&one->first, r));

	log->explained++;
	parties_note(&log->parties, r, log->lines);
	if (g || log->n_groups == GROUPS_MAX) {
		*(g ? &g->count : &log->left_out) += 1;
		return 0;
	}
	g = &log->group[log->n_groups];
	*g = (struct group){.first = *r,
		.text = malloc(length + 1),
		.length = length,
		.line = log->lines,
		.count = 1};
	if (!g->text)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "a line of a log");
	for (size_t i = 0; i < length; i++)
		g->text[i] = line[i] ? line[i] : '?';
	log->n_groups++;
	return 0;
}

int log_line(struct log *log, const struct catalogue *c, const char *line, size_t length,
	unsigned int marks, struct rd_error *err)
{
	struct reading r;

	log->lines++;
	line_read(c, line, length, marks, &r);
	if (!r.n)
		return 0;
	prefix_read(line, length, &r);
	return add(log, &r, line, length, err);
}

/* A line of the input, or the first LINE_MAX_BYTES of it; false at the end of the input. */
static bool next_line(struct log *log, FILE *in, char *line, size_t *length)
{
	int c = getc_unlocked(in);

	*length = 0;
	if (c == EOF)
		return false;
	for (; c != EOF && c != '\n'; c = getc_unlocked(in)) {
		if (*length == LINE_MAX_BYTES) {
			log->cut++;
			for (; c != EOF && c != '\n'; log->bytes++)
				c = getc_unlocked(in);
			break;
		}
		line[(*length)++] = (char)c;
	}
	log->bytes += *length + 1;
	return true;
}

#define STATUS_LINES 65536 /* between two calls of progress() */

int log_read(struct log *log, const struct catalogue *c, FILE *in, struct rd_error *err)
{
	char *line = malloc(LINE_MAX_BYTES);
	struct stat input = {0};
	size_t length;
	int ret = 0;

	if (!line)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "a line of a log");
	if (fstat(fileno(in), &input) < 0 || !S_ISREG(input.st_mode))
		input.st_size = 0;
	while (!ret && next_line(log, in, line, &length)) {
		struct reading r;

		if (log->progress && log->lines && log->lines % STATUS_LINES == 0)
			log->progress(log, (uint64_t)input.st_size);
		ret = log_line(log, c, line, length, 0, err);
		if (!ret && cqe_line(c, line, length, &r)) {
			prefix_read(line, length, &r);
			ret = add(log, &r, line, length, err);
		}
	}
	if (!ret && ferror(in))
		ret = rd_fail(err, RD_CLASS_DEVICE, errno,
			"give lines of a log: rdmadump explain - <FILE", "'standard input'");
	free(line);
	return ret;
}

void log_free(struct log *log)
{
	for (size_t i = 0; i < log->n_groups; i++)
		free(log->group[i].text);
	json_decref(log->joined);
	free(log->group);
	parties_free(&log->parties);
}
