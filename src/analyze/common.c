/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which of many files have packets in common, and when each begins and ends. */
#include "cli/cli.h"
#include "points.h"
#include <errno.h>
#include <stdlib.h>

#define SAMPLE	    4096 /* first packets of a file, which are searched in all others */
#define COMMON_PART 2	 /* one of so many, of one traffic; fewer may be retransmissions */

#define STATUS_FRAMES 262144 /* between two updates of the progress */

int analyze_walk(
	char *const *files, unsigned int n, const struct analyze_walker *w, struct rd_error *err)
{
	bool more = true;

	for (unsigned int i = 0; i < n && more; i++) {
		const struct rd_file_config config = {.path = files[i], .all_links = true};
		struct rd_frame frames[RD_BATCH];
		struct rd_source *source;
		uint64_t seen = 0;
		int got = 0;

		if (rd_file_open(&source, &config, err) < 0)
			return -1;
		if (source->ops->start(source, err) < 0)
			got = -1;
		while (more && got >= 0 &&
			(got = source->ops->receive(source, frames, RD_BATCH, err)) >= 0) {
			for (int k = 0; k < got && more; k++) {
				more = w->frame(w->ctx, rd_source_iface(source, &frames[k])->link,
					&frames[k]);
				if (++seen % STATUS_FRAMES == 0)
					analyze_progress(source, files[i]);
			}
			if (got)
				source->ops->release(source);
		}
		rd_cli_status(NULL);
		source->ops->close(source); /* damage is reported by the analysis that follows */
	}
	return 0;
}

/* A packet of the sample of a file. */
struct print {
	uint64_t identity;	    /* 0: the slot is empty */
	unsigned int file, seen_in; /* the last file that was found to have it, + 1 */
};

struct prints {
	struct common *common;
	unsigned int file; /* that is read */
	size_t mask;	   /* slots - 1 */
	struct print *slots;
};

static bool take_sample(void *ctx, enum rd_link link, const struct rd_frame *frame)
{
	struct prints *p = ctx;
	const uint64_t identity = rd_ends_identity(link, frame, false);
	struct common_file *f = &p->common->files[p->file];
	size_t i = (size_t)identity & p->mask;

	if (!identity)
		return true;
	while (p->slots[i].identity &&
		(p->slots[i].identity != identity || p->slots[i].file != p->file))
		i = (i + 1) & p->mask;
	if (!p->slots[i].identity) {
		p->slots[i] = (struct print){.identity = identity, .file = p->file};
		f->sample++;
	}
	return f->sample < SAMPLE;
}

static bool find(void *ctx, enum rd_link link, const struct rd_frame *frame)
{
	struct prints *p = ctx;
	const uint64_t identity = rd_ends_identity(link, frame, false);
	struct common_file *f = &p->common->files[p->file];
	size_t i = (size_t)identity & p->mask;

	if (!f->frames++ || (int64_t)frame->ts_ns < (int64_t)f->first_ns)
		f->first_ns = frame->ts_ns;
	if (f->frames == 1 || (int64_t)frame->ts_ns > (int64_t)f->last_ns)
		f->last_ns = frame->ts_ns;
	for (; identity && p->slots[i].identity; i = (i + 1) & p->mask) {
		struct print *print = &p->slots[i];

		if (print->identity != identity || print->seen_in == p->file + 1)
			continue;
		print->seen_in = p->file + 1;
		p->common->found[print->file * p->common->n + p->file]++;
	}
	return true;
}

int common_find(struct common *c, char *const *files, unsigned int n, struct rd_error *err)
{
	struct prints p = {.common = c, .mask = 1};
	const struct analyze_walker sampler = {take_sample, &p}, finder = {find, &p};
	int ret = 0;

	while (p.mask < (size_t)2 * SAMPLE * n)
		p.mask *= 2;
	p.slots = calloc(p.mask--, sizeof(*p.slots));
	c->n = n;
	c->files = calloc(n, sizeof(*c->files));
	c->found = calloc((size_t)n * n, sizeof(*c->found));
	if (!p.slots || !c->files || !c->found)
		ret = rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare %u files", n);
	for (p.file = 0; p.file < n && !ret; p.file++)
		ret = analyze_walk(&files[p.file], 1, &sampler, err);
	for (p.file = 0; p.file < n && !ret; p.file++)
		ret = analyze_walk(&files[p.file], 1, &finder, err);
	free(p.slots);
	return ret;
}

void common_free(struct common *c)
{
	free(c->files);
	free(c->found);
}

bool common_any(const struct common *c, unsigned int a, unsigned int b)
{
	return c->found[a * c->n + b] || c->found[b * c->n + a];
}

bool common_most(const struct common *c, unsigned int a, unsigned int b)
{
	const unsigned int of_a = c->found[a * c->n + b], of_b = c->found[b * c->n + a];

	return (of_a && of_a * COMMON_PART >= c->files[a].sample) ||
	       (of_b && of_b * COMMON_PART >= c->files[b].sample);
}
