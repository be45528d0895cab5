/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens capture files and feeds their frames, notes and facts to an analysis. */
#include "analyze.h"
#include "cli/cli.h"
#include <poll.h>

#define STATUS_BATCHES 4096 /* between two updates of the progress */

void analyze_status(const char *doing, const char *name, uint64_t done, uint64_t size)
{
	char line[160];

	if (!size || jobs_working())
		return;
	snprintf(line, sizeof(line), "  %s %.60s: %u %%", doing, name,
		(unsigned int)(100.0 * (double)done / (double)size));
	rd_cli_status(line);
}

void analyze_status_end(void)
{
	if (!jobs_working())
		rd_cli_status(NULL);
}

void analyze_progress(struct rd_source *source, const char *name)
{
	uint64_t done = 0, size = 0;

	source->ops->progress(source, &done, &size);
	analyze_status("reading", name, done, size);
}

/* Losses and comments stored with the batch, before its frames. */
static void take_notes(struct rd_analysis *a, struct rd_source *source,
	const struct rd_frame *frames, unsigned int n)
{
	struct rd_note note;

	for (unsigned int i = 0; i < n; i++) {
		if (!source->ops->note(source, i, &note))
			continue;
		if (note.dropped)
			rd_analysis_dropped(a, note.dropped);
		if (note.comment)
			rd_analysis_comment(a, note.comment, frames, i);
	}
}

unsigned int analyze_run(
	const struct rd_source *source, const struct rd_frame *frames, unsigned int n)
{
	const struct rd_iface *first = rd_source_iface(source, frames);
	unsigned int i = 1;

	if (source->n_ifaces <= 1)
		return n;
	while (i < n) {
		const struct rd_iface *iface = rd_source_iface(source, &frames[i]);

		if (iface->link != first->link || iface->dlt != first->dlt ||
			iface->speed != first->speed)
			break;
		i++;
	}
	return i;
}

static void take_frames(struct rd_analysis *a, const struct rd_source *source,
	const struct rd_frame *frames, unsigned int n)
{
	if (source->n_ifaces > 1)
		rd_analysis_ifaces(a, source->ifaces, source->n_ifaces);
	while (n) {
		const unsigned int run = analyze_run(source, frames, n);

		rd_analysis_frames(a, rd_source_iface(source, frames), frames, run);
		frames += run;
		n -= run;
	}
}

int analyze_batch(struct rd_analysis *a, struct rd_source *source, struct rd_frame frames[RD_BATCH],
	struct rd_error *err)
{
	int n;

	while ((n = source->ops->receive(source, frames, RD_BATCH, err)) == 0) {
		struct pollfd fd = {.fd = source->frame_fd, .events = POLLIN};

		if (source->ops->arm(source, err) == 0)
			poll(&fd, 1, -1);
	}
	if (n > 0 && a && source->batch_has_notes)
		take_notes(a, source, frames, (unsigned int)n);
	if (n > 0 && a)
		take_frames(a, source, frames, (unsigned int)n);
	return n;
}

/* All frames. 0 at the end of the file, -1 if it is damaged. */
static int read_frames(
	struct rd_analysis *a, struct rd_source *source, const char *name, struct rd_error *err)
{
	struct rd_frame frames[RD_BATCH];
	uint64_t batches = 0;
	int n;

	while ((n = analyze_batch(a, source, frames, err)) > 0) {
		source->ops->release(source);
		if (++batches % STATUS_BATCHES == 0)
			analyze_progress(source, name);
	}
	analyze_status_end();
	return n == RD_SOURCE_END ? 0 : -1;
}

static void take_facts(void *ctx, const char *json, size_t len)
{
	rd_analysis_facts(ctx, json, len);
}

int analyze_open(
	struct rd_source **source, struct rd_analysis *a, const char *path, struct rd_error *err)
{
	const struct rd_file_config config = {
		.path = path, .facts = a ? take_facts : NULL, .facts_ctx = a, .all_links = true};
	char format[16];

	if (rd_file_open(source, &config, err) < 0)
		return -1;
	/* The first word of the details is the name of the format. */
	snprintf(format, sizeof(format), "%.*s", (int)strcspn((*source)->details, " ,"),
		(*source)->details);
	if ((!a || rd_analysis_file(a, path, format, (*source)->section, err) == 0) &&
		(*source)->ops->start(*source, err) == 0)
		return 0;
	(*source)->ops->close(*source);
	*source = NULL;
	return -1;
}

uint64_t analyze_close(struct rd_source *source, struct rd_analysis *a, const char *damage)
{
	struct rd_source_stats stats;
	struct rd_iface_stats first;

	source->ops->stop(source);
	source->ops->stats(source, &stats);
	if (!source->ops->iface_stats(source, 0, &first))
		first = (struct rd_iface_stats){0};
	if (a)
		rd_analysis_file_end(a, stats.lost, stats.loss_known, first.comment, damage);
	source->ops->close(source);
	return first.end_ns;
}

/* A file that is damaged is analysed as far as it goes. */
static int read_file(struct rd_analysis *a, const char *path, struct analyze_faults *faults,
	struct rd_error *err)
{
	struct rd_source *source;
	bool damaged;

	if (analyze_open(&source, a, path, err) < 0)
		return -1;
	damaged = read_frames(a, source, path, err) < 0;
	analyze_close(source, a, damaged ? err->text : NULL);
	faults->damaged |= damaged;
	return 0;
}

int analyze_files(const struct analyze_settings *s, struct rd_report **report,
	struct analyze_faults *faults, struct rd_error *err)
{
	struct rd_analysis *a;
	int ret = 0;

	*faults = (struct analyze_faults){0};
	if (rd_analysis_open(&a, &s->config, err) < 0)
		return -1;
	for (unsigned int i = 0; i < s->n_files && !ret; i++)
		ret = read_file(a, s->files[i], faults, err);
	if (!ret)
		ret = rd_analysis_report(a, report, err);
	rd_analysis_close(a);
	return ret;
}
