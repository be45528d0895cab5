/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captures that are compared with several others are read once: what a comparison needs of each
 * packet is kept in a file without a name, in blocks of packets between the same two addresses.
 */
#include "cli/cli.h"
#include "points.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/fd.h>
#include <rdmadump/memory.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#define BLOCK	   16 /* packets */
#define BLOCK_SIZE (BLOCK * sizeof(struct rd_ends_packet))

struct kept_path {
	struct common_path between;
	uint64_t n;    /* packets */
	bool compared; /* by any pair: else they are counted only */
	uint32_t *blocks;
	struct rd_ends_packet *filled; /* the last block, before it is written */
};

struct kept_point {
	struct rd_ends_capture capture;
	struct kept_path *paths; /* sorted */
	size_t n;
};

struct kept {
	int fd;
	atomic_uint blocks;
	unsigned int most; /* of them: half of the room that there was */
	unsigned int n;
	struct kept_point *points;
};

/* --- writing ---------------------------------------------------------------------------------- */

struct writing {
	struct kept *k;
	const struct common *c;
	const struct analyze_points *p;
	const unsigned int *of_point;
};

struct taking {
	struct kept *k;
	struct kept_point *to;
	struct kept_path *last;
	struct rd_ends_search *sampler[2];
	int error; /* number; 0: none */
};

/* 0, or the error number. */
static int write_block(const struct kept *k, const struct kept_path *r)
{
	const size_t size = ((r->n - 1) % BLOCK + 1) * sizeof(*r->filled);
	const off_t at = (off_t)(r->blocks[(r->n - 1) / BLOCK] * BLOCK_SIZE);
	const ssize_t written = pwrite(k->fd, r->filled, size, at);

	if (written < 0)
		return errno;
	return written == (ssize_t)size ? 0 : ENOSPC;
}

static int keep(struct kept *k, struct kept_path *r, const struct rd_ends_packet *packet)
{
	const size_t at = r->n % BLOCK;
	uint32_t *added;

	if (!r->filled && !(r->filled = malloc(BLOCK_SIZE)))
		return ENOMEM;
	if (!at) {
		added = rd_append(&r->blocks, r->n / BLOCK, sizeof(*added));
		if (!added)
			return ENOMEM;
		*added = atomic_fetch_add(&k->blocks, 1);
		if (*added >= k->most)
			return ENOSPC;
	}
	r->filled[at] = *packet;
	r->n++;
	return at + 1 < BLOCK ? 0 : write_block(k, r);
}

static bool take(void *ctx, enum rd_link link, const struct rd_frame *frame)
{
	struct taking *t = ctx;
	struct rd_ends_capture *c = &t->to->capture;
	struct rd_ends_packet packet;
	struct common_path between;

	if (!c->clock.frames || (int64_t)frame->ts_ns > (int64_t)c->latest_ns)
		c->latest_ns = frame->ts_ns;
	rd_ends_clock_add(&c->clock, frame->ts_ns);
	if (!rd_ends_packet(link, frame, &packet))
		return true;
	packet.frame = c->clock.frames;
	packet.latest_ns = c->latest_ns;
	c->packets++;
	rd_ends_sample_add(t->sampler, &c->sample, &packet);
	between = common_path(&packet);
	if (!t->last || common_order(&between, t->last) != 0)
		t->last = bsearch(&between, t->to->paths, t->to->n, sizeof(*t->last), common_order);
	if (!t->last)
		t->error = ESTALE; /* it has other packets than before */
	else if (t->last->compared)
		t->error = keep(t->k, t->last, &packet);
	else
		t->last->n++;
	return !t->error;
}

/* The paths of all files of a point, and which of them its pairs compare. False: no memory. */
static bool list_paths(const struct writing *w, unsigned int point, struct kept_point *to)
{
	size_t n = 0;

	for (unsigned int i = 0; i < w->c->n; i++)
		for (size_t k = 0; k < w->c->files[i].paths.n && w->of_point[i] == point; k++) {
			struct kept_path *added = rd_append(&to->paths, n, sizeof(*added));

			if (!added)
				return false;
			added->between = w->c->files[i].paths.list[k];
			n++;
		}
	to->n = sort_unique(to->paths, n, sizeof(*to->paths), common_order);
	for (unsigned int i = 0; i < w->p->n_pairs; i++) {
		const struct analyze_pair *pair = &w->p->pairs[i];

		if (pair->number[RD_TAP_A] != point && pair->number[RD_TAP_B] != point)
			continue;
		for (size_t k = 0; k < to->n; k++)
			to->paths[k].compared |= rd_ends_known(&pair->start,
				&to->paths[k].between.low, &to->paths[k].between.high);
	}
	return true;
}

static int write_point(void *ctx, unsigned int i, struct rd_error *err)
{
	const struct writing *w = ctx;
	struct kept_point *to = &w->k->points[i];
	const struct analyze_point *point = &w->p->points[i];
	struct taking t = {.k = w->k, .to = to};
	const struct analyze_walker walker = {take, &t, &to->capture.ran_until_ns, NULL};
	int ret = 0;

	for (int bare = 0; bare < 2; bare++)
		t.sampler[bare] = rd_ends_search_open(RD_TAP_A, RD_ENDS_NEED_PATH, NULL);
	if (!t.sampler[0] || !t.sampler[1] || !list_paths(w, i, to))
		t.error = ENOMEM;
	else
		ret = analyze_walk(point->files, point->n, &walker, err);
	for (size_t k = 0; k < to->n; k++) {
		struct kept_path *r = &to->paths[k];

		if (!t.error && r->filled && r->n % BLOCK)
			t.error = write_block(w->k, r);
		free(r->filled);
	}
	for (int bare = 0; bare < 2; bare++)
		rd_ends_search_close(t.sampler[bare]);
	return t.error ? rd_fail(err, RD_CLASS_OUTPUT, t.error, NULL, "packets of '%s'",
				 point->name)
		       : ret;
}

static int unnamed(struct kept *k, struct rd_error *err)
{
	const char *named = getenv("TMPDIR"), *directory = named && *named ? named : "/var/tmp";
	struct statvfs room;

	k->fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (k->fd < 0 || fstatvfs(k->fd, &room) < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "a file in '%s'", directory);
	room.f_bavail = room.f_bavail / 2 * room.f_frsize / BLOCK_SIZE;
	k->most = room.f_bavail < UINT32_MAX ? (unsigned int)room.f_bavail : UINT32_MAX;
	return 0;
}

struct kept *kept_make(const struct common *c, const struct analyze_points *p,
	const unsigned int *of_point, unsigned int n, unsigned int threads)
{
	static const struct job_kind kind = {"reading captures", write_point};
	struct kept *k = calloc(1, sizeof(*k));
	struct writing w = {k, c, p, of_point};
	struct rd_error err;

	if (!k)
		return NULL;
	k->fd = -1;
	k->points = calloc(n, sizeof(*k->points));
	k->n = k->points ? n : 0;
	if (k->points && unnamed(k, &err) == 0 && jobs_run(&kind, &w, n, threads, &err) == 0)
		return k;
	if (k->points)
		rd_log(RD_LOG_WARNING,
			"each capture is read again for each one that it is compared with: cannot "
			"keep %s; name a directory with room in TMPDIR",
			err.text);
	kept_free(k);
	return NULL;
}

void kept_free(struct kept *k)
{
	if (!k)
		return;
	for (unsigned int i = 0; i < k->n; i++) {
		for (size_t r = 0; r < k->points[i].n; r++)
			free(k->points[i].paths[r].blocks);
		free(k->points[i].paths);
	}
	rd_fd_close(&k->fd);
	free(k->points);
	free(k);
}

/* --- reading ---------------------------------------------------------------------------------- */

struct head {
	const struct kept_path *of;
	uint64_t at;
	struct rd_ends_packet block[BLOCK];
};

struct kept_reader {
	const struct kept *k;
	struct head **heap; /* by the frames of their next packets */
	size_t n;
	struct head *heads;
	int error; /* number; 0: none */
};

static const struct rd_ends_packet *next_of(const struct head *h)
{
	return &h->block[h->at % BLOCK];
}

static void read_block(struct kept_reader *r, struct head *h)
{
	const uint64_t left = h->of->n - h->at, n = left < BLOCK ? left : BLOCK;
	const off_t at = (off_t)(h->of->blocks[h->at / BLOCK] * BLOCK_SIZE);
	const ssize_t got = pread(r->k->fd, h->block, n * sizeof(*h->block), at);

	if (got != (ssize_t)(n * sizeof(*h->block)))
		r->error = got < 0 ? errno : EIO;
}

static void sink(const struct kept_reader *r, size_t i)
{
	for (size_t k; (k = 2 * i + 1) < r->n; i = k) {
		struct head *h = r->heap[i];

		k += k + 1 < r->n && next_of(r->heap[k + 1])->frame < next_of(r->heap[k])->frame;
		if (next_of(h)->frame < next_of(r->heap[k])->frame)
			break;
		r->heap[i] = r->heap[k];
		r->heap[k] = h;
	}
}

const struct rd_ends_capture *kept_capture(const struct analyze_pair *pair, enum rd_tap tap)
{
	return &pair->kept->points[pair->number[tap]].capture;
}

/* Whether this pair compares the packets of a path. */
static bool is_compared(const struct analyze_pair *pair, const struct kept_path *r)
{
	return rd_ends_known(&pair->start, &r->between.low, &r->between.high);
}

uint64_t kept_packets(const struct analyze_pair *pair, enum rd_tap tap)
{
	const struct kept_point *point = &pair->kept->points[pair->number[tap]];
	uint64_t n = 0;

	for (size_t i = 0; i < point->n; i++)
		n += is_compared(pair, &point->paths[i]) ? point->paths[i].n : 0;
	return n;
}

struct kept_reader *kept_open(
	const struct analyze_pair *pair, enum rd_tap tap, struct rd_error *err)
{
	const struct kept_point *point = &pair->kept->points[pair->number[tap]];
	struct kept_reader *r = calloc(1, sizeof(*r));
	size_t n = 0;

	for (size_t i = 0; i < point->n; i++)
		n += is_compared(pair, &point->paths[i]);
	if (r) {
		r->k = pair->kept;
		r->heap = calloc(n, sizeof(*r->heap));
		r->heads = calloc(n, sizeof(*r->heads));
	}
	if (!r || !r->heap || !r->heads) {
		kept_close(r, NULL);
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory to compare two files");
		return NULL;
	}
	for (size_t i = 0; i < point->n; i++)
		if (is_compared(pair, &point->paths[i])) {
			r->heads[r->n].of = &point->paths[i];
			r->heap[r->n] = &r->heads[r->n];
			read_block(r, r->heap[r->n++]);
		}
	for (size_t i = n / 2; i-- > 0;)
		sink(r, i);
	return r;
}

const struct rd_ends_packet *kept_peek(const struct kept_reader *r)
{
	return r->n && !r->error ? next_of(r->heap[0]) : NULL;
}

void kept_step(struct kept_reader *r)
{
	struct head *h = r->heap[0];

	if (++h->at == h->of->n)
		r->heap[0] = r->heap[--r->n];
	else if (h->at % BLOCK == 0)
		read_block(r, h);
	sink(r, 0);
}

int kept_close(struct kept_reader *r, struct rd_error *err)
{
	const int error = r ? r->error : 0;

	if (r) {
		free(r->heap);
		free(r->heads);
		free(r);
	}
	return error ? rd_fail(err, RD_CLASS_DEVICE, error, NULL, "cannot read kept packets") : 0;
}
