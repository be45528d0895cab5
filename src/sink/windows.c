/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a sink that retains frames writes: the times around triggers, joined where they overlap. */
#include "retained.h"
#include <rdmadump/array.h>
#include <string.h>

static struct window *newest(struct windows *w)
{
	return w->n ? &w->queue[(w->first + w->n - 1) % WINDOWS_MAX] : NULL;
}

static struct window window_around(const struct windows *w, uint64_t ns, uint64_t now_ns)
{
	const struct rd_retention *c = w->config;

	return (struct window){.from = ns > c->pre_ns ? ns - c->pre_ns : 0,
		.until = ns + c->post_ns,
		.trigger = ns,
		.due_ns = now_ns + c->post_ns};
}

static void join(struct window *w, const struct window *other)
{
	w->from = RD_MIN(w->from, other->from);
	w->until = RD_MAX(w->until, other->until);
	w->due_ns = RD_MAX(w->due_ns, other->due_ns);
}

static enum rd_triggered add(struct windows *w, const struct window *new)
{
	struct window *last = newest(w);
	uint64_t ended = last ? last->until : w->ended;

	if (w->closed)
		return RD_TRIGGER_CLOSED;
	if (last && (new->from <= last->until || w->n == WINDOWS_MAX)) {
		join(last, new);
		return RD_TRIGGER_EXTENDS;
	}
	if (ended && new->trigger < ended + w->config->holdoff_ns)
		return RD_TRIGGER_HELD;
	if (w->config->files && w->begun >= w->config->files)
		return RD_TRIGGER_CLOSED;
	w->queue[(w->first + w->n++) % WINDOWS_MAX] = *new;
	w->begun++;
	return RD_TRIGGER_BEGINS;
}

enum rd_triggered windows_add(struct windows *w, uint64_t ns, uint64_t now_ns)
{
	const struct window new = window_around(w, ns, now_ns);
	enum rd_triggered result;

	pthread_mutex_lock(&w->lock);
	result = add(w, &new);
	pthread_mutex_unlock(&w->lock);
	return result;
}

bool windows_next(struct windows *w, struct window *next)
{
	bool any;

	pthread_mutex_lock(&w->lock);
	any = w->n > 0;
	if (any)
		*next = w->queue[w->first];
	pthread_mutex_unlock(&w->lock);
	return any;
}

static void remove_oldest(struct windows *w)
{
	w->first = (w->first + 1) % WINDOWS_MAX;
	w->n--;
}

bool windows_complete(struct windows *w, uint64_t until)
{
	bool complete;

	pthread_mutex_lock(&w->lock);
	complete = w->n && w->queue[w->first].until <= until;
	if (complete) {
		w->ended = w->queue[w->first].until;
		remove_oldest(w);
	}
	pthread_mutex_unlock(&w->lock);
	return complete;
}

static void miss(struct windows *w, const struct window *new)
{
	struct window *last = w->n_missed ? &w->missed[w->n_missed - 1] : NULL;

	if (last && (new->from <= last->until || w->n_missed == WINDOWS_MAX))
		join(last, new);
	else
		w->missed[w->n_missed++] = *new;
}

void windows_drop(struct windows *w)
{
	pthread_mutex_lock(&w->lock);
	if (w->n) {
		miss(w, &w->queue[w->first]);
		remove_oldest(w);
	}
	pthread_mutex_unlock(&w->lock);
}

bool windows_missed(const struct windows *w, uint64_t ns, uint64_t slack_ns)
{
	return RD_ANY(
		m, w->missed, w->n_missed, ns + slack_ns >= m->from && ns <= m->until + slack_ns);
}

void windows_missed_until(struct windows *w, uint64_t ns)
{
	unsigned int n = 0;

	while (n < w->n_missed && w->missed[n].until < ns)
		n++;
	w->n_missed -= n;
	memmove(w->missed, w->missed + n, w->n_missed * sizeof(*w->missed));
}

void windows_forget(struct windows *w)
{
	pthread_mutex_lock(&w->lock);
	w->begun--;
	pthread_mutex_unlock(&w->lock);
}

void windows_close(struct windows *w)
{
	pthread_mutex_lock(&w->lock);
	w->closed = true;
	w->n = 0;
	pthread_mutex_unlock(&w->lock);
}
