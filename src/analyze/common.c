/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which of many files have packets in common, between whom, and when each begins and ends. */
#include "cli/cli.h"
#include "points.h"
#include <errno.h>
#include <rdmadump/json.h>
#include <rdmadump/memory.h>
#include <stdlib.h>

#define SAMPLE	    4096 /* first packets of a file, which are searched in all others */
#define COMMON_PART 2	 /* one of so many, of one traffic; fewer may be retransmissions */

#define ROUTES 16384 /* of one file; if one has more, none are of use */
#define RECENT 4096  /* slots of those that were seen last: 12 bits */

#define STATUS_FRAMES 262144 /* between two updates of the progress */

static void note_adapter(void *ctx, const char *text, size_t len)
{
	uint64_t *adapter = ctx;
	json_t *facts = json_loadb(text, len, 0, NULL);

	if (!*adapter)
		*adapter = strtoull(rd_json_text_of(facts, "node_guid"), NULL, 16);
	json_decref(facts);
}

int analyze_walk(
	char *const *files, unsigned int n, const struct analyze_walker *w, struct rd_error *err)
{
	bool more = true;

	for (unsigned int i = 0; i < n && more; i++) {
		const struct rd_file_config config = {.path = files[i],
			.facts = w->adapter ? note_adapter : NULL,
			.facts_ctx = w->adapter,
			.all_links = true};
		struct rd_frame frames[RD_BATCH];
		struct rd_source *source;
		uint64_t seen = 0, ran_until_ns;
		int got;

		if (rd_file_open(&source, &config, err) < 0)
			return -1;
		got = source->ops->start(source, err);
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
		analyze_status_end();
		/* Damage is reported by the analysis that follows. */
		ran_until_ns = analyze_close(source, NULL, NULL);
		if (w->ran_until_ns)
			*w->ran_until_ns = ran_until_ns;
	}
	return 0;
}

/* A packet of the sample of a file. */
struct print {
	uint64_t bytes;		    /* of struct rd_ends_packet; 0: the slot is empty */
	unsigned int file, seen_in; /* the last file that was found to have it, + 1 */
};

struct prints {
	struct common *common;
	unsigned int file; /* that is read */
	size_t mask;	   /* slots - 1 */
	struct print *slots;
	struct common_path recent[RECENT];
	bool out_of_memory;
};

static bool take_sample(void *ctx, enum rd_link link, const struct rd_frame *frame)
{
	struct prints *p = ctx;
	struct common_file *f = &p->common->files[p->file];
	struct rd_ends_packet of;
	size_t i;

	if (!rd_ends_packet(link, frame, &of))
		return true;
	for (i = (size_t)of.bytes & p->mask; p->slots[i].bytes; i = (i + 1) & p->mask)
		if (p->slots[i].bytes == of.bytes && p->slots[i].file == p->file)
			return true;
	p->slots[i] = (struct print){.bytes = of.bytes, .file = p->file};
	return ++f->sample < SAMPLE;
}

int common_order(const void *x, const void *y)
{
	const struct common_path *a = x, *b = y;

	return rd_ends_address_order(&a->low, &b->low) ?: rd_ends_address_order(&a->high, &b->high);
}

struct common_path common_path(const struct rd_ends_packet *p)
{
	const bool up = rd_ends_address_order(&p->from, &p->to) < 0;

	return (struct common_path){up ? p->from : p->to, up ? p->to : p->from};
}

size_t sort_unique(void *list, size_t n, size_t size, int (*order)(const void *x, const void *y))
{
	char *at = list;
	size_t kept = 0;

	if (n)
		qsort(list, n, size, order);
	for (size_t i = 0; i < n; i++)
		if (!kept || order(at + i * size, at + (kept - 1) * size) != 0)
			memmove(at + kept++ * size, at + i * size, size);
	return kept;
}

static bool add_path(struct prints *p, const struct common_path *path)
{
	struct common_paths *r = &p->common->files[p->file].paths;
	struct common_path *added;

	if (r->n == (size_t)2 * ROUTES) {
		r->n = sort_unique(r->list, r->n, sizeof(*r->list), common_order);
		p->common->incomplete |= r->n > ROUTES;
	}
	added = p->common->incomplete ? NULL : rd_append(&r->list, r->n, sizeof(*added));
	if (!added)
		return p->common->incomplete;
	*added = *path;
	r->n++;
	return true;
}

/* Most packets follow another one between the same addresses. */
static void note_path(struct prints *p, const struct rd_ends_packet *of)
{
	const struct common_path path = common_path(of);
	const uint64_t place =
		(path.low.word[0] + path.low.word[1]) * UINT64_C(0x9e3779b97f4a7c15) +
		path.high.word[0] + path.high.word[1];
	struct common_path *recent = &p->recent[place * UINT64_C(0x9e3779b97f4a7c15) >> 52];

	if (common_order(recent, &path) == 0)
		return;
	*recent = path;
	p->out_of_memory |= !add_path(p, &path);
}

static bool find(void *ctx, enum rd_link link, const struct rd_frame *frame)
{
	struct prints *p = ctx;
	struct common_file *f = &p->common->files[p->file];
	struct rd_ends_packet of;

	if (!f->frames++ || (int64_t)frame->ts_ns < (int64_t)f->first_ns)
		f->first_ns = frame->ts_ns;
	if (f->frames == 1 || (int64_t)frame->ts_ns > (int64_t)f->last_ns)
		f->last_ns = frame->ts_ns;
	if (!rd_ends_packet(link, frame, &of))
		return true;
	note_path(p, &of);
	for (size_t i = (size_t)of.bytes & p->mask; p->slots[i].bytes; i = (i + 1) & p->mask) {
		struct print *print = &p->slots[i];

		if (print->bytes != of.bytes || print->seen_in == p->file + 1)
			continue;
		print->seen_in = p->file + 1;
		p->common->found[print->file * p->common->n + p->file]++;
	}
	return true;
}

static int read_all(struct prints *p, char *const *files, struct rd_error *err)
{
	const struct analyze_walker sampler = {take_sample, p, NULL, NULL};
	struct common *c = p->common;
	int ret = 0;

	for (p->file = 0; p->file < c->n && !ret; p->file++)
		ret = analyze_walk(&files[p->file], 1, &sampler, err);
	for (p->file = 0; p->file < c->n && !ret; p->file++) {
		struct common_paths *paths = &c->files[p->file].paths;

		memset(p->recent, 0, sizeof(p->recent));
		ret = analyze_walk(&files[p->file], 1,
			&(struct analyze_walker){find, p, NULL, &c->files[p->file].adapter}, err);
		paths->n = sort_unique(paths->list, paths->n, sizeof(*paths->list), common_order);
	}
	return ret;
}

int common_find(struct common *c, char *const *files, unsigned int n, struct rd_error *err)
{
	struct prints *p = calloc(1, sizeof(*p));
	size_t slots = 1;
	int ret = -1;

	while (slots < (size_t)2 * SAMPLE * n)
		slots *= 2;
	c->n = n;
	c->files = calloc(n, sizeof(*c->files));
	c->found = calloc((size_t)n * n, sizeof(*c->found));
	if (p) {
		p->common = c;
		p->mask = slots - 1;
		p->slots = calloc(slots, sizeof(*p->slots));
		p->out_of_memory = !p->slots || !c->files || !c->found;
		if (!p->out_of_memory)
			ret = read_all(p, files, err);
	}
	if (!p || p->out_of_memory)
		ret = rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare %u files", n);
	if (p)
		free(p->slots);
	free(p);
	return ret;
}

void common_free(struct common *c)
{
	for (unsigned int i = 0; i < c->n && c->files; i++)
		free(c->files[i].paths.list);
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
