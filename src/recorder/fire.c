/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Handles triggers that fire: passes them to the session, and stores descriptions for its files. */
#include "recorder.h"

static bool counts(enum rd_triggered result)
{
	return result == RD_TRIGGER_BEGINS || result == RD_TRIGGER_EXTENDS;
}

static void account(struct rd_recorder *r, enum rd_triggered result)
{
	struct rd_recorder_counts *c = &r->counts;

	c->fired++;
	c->begun += result == RD_TRIGGER_BEGINS;
	c->extended += result == RD_TRIGGER_EXTENDS;
	c->held += result == RD_TRIGGER_HELD;
	c->closed += result == RD_TRIGGER_CLOSED;
}

/* Called with the lock held. */
static void remember(struct rd_recorder *r, enum rd_triggered result, uint64_t ns, const char *text)
{
	struct firing *f = &r->firings[r->n_firings++ % FIRINGS];
	struct file_triggers *file;

	f->ns = ns;
	snprintf(f->text, sizeof(f->text), "%s", text);
	if (result == RD_TRIGGER_BEGINS) {
		r->newest = (r->newest + 1) % PENDING_FILES;
		file = &r->begun[r->newest];
		*file = (struct file_triggers){.ns = ns};
		snprintf(file->first, sizeof(file->first), "%s", text);
	}
	f->file_ns = r->begun[r->newest].ns;
}

static void announce(const struct rd_recorder *r, const struct trigger *t, enum rd_triggered result,
	const char *text)
{
	if (result == RD_TRIGGER_BEGINS)
		journal_log(r, JOURNAL_TRIGGER, text, t->text, NULL);
	else
		rd_log(RD_LOG_DEBUG, "%s%s", text,
			result == RD_TRIGGER_EXTENDS ? " (within the file before)" : " (ignored)");
}

/* Called with the lock held. Several triggers may fire before the next frame. */
static void add_pending(struct rd_recorder *r, const char *text)
{
	size_t used = r->has_pending ? strlen(r->pending) : 0;

	snprintf(r->pending + used, sizeof(r->pending) - used, "%s%s", used ? "; " : "", text);
	r->has_pending = true;
}

/* `at` is read under the lock: a file that began since would lack the frames before it. */
void recorder_fire(struct rd_recorder *r, struct trigger *t, const uint64_t *at, const char *what)
{
	enum rd_triggered result;
	char text[TRIGGER_TEXT];
	uint64_t ns;

	snprintf(text, sizeof(text), "trigger %s%s%s", t->text, *what ? ": " : "", what);
	atomic_fetch_add_explicit(&t->fired, 1, memory_order_relaxed);
	pthread_mutex_lock(&r->lock);
	ns = at ? *at : rd_session_now(r->session);
	result = rd_session_trigger(r->session, ns);
	account(r, result);
	if (counts(result)) {
		remember(r, result, ns, text);
		r->begun[r->newest].n++;
		add_pending(r, text);
		if (tell_is_own(t, what))
			tell_line(r, result == RD_TRIGGER_BEGINS, ns, text);
	}
	pthread_mutex_unlock(&r->lock);
	announce(r, t, result, text);
}

bool recorder_fire_frame(struct rd_recorder *r, struct trigger *t, const struct rd_frame *frame)
{
	enum rd_triggered result;
	char text[TRIGGER_TEXT] = "";
	uint64_t ns;

	pthread_mutex_lock(&r->lock);
	/* The timestamp of such a frame is not usable. */
	ns = frame->flags & RD_FRAME_BAD_TIME ? rd_session_now(r->session) : frame->ts_ns;
	result = rd_session_trigger(r->session, ns);
	account(r, result);
	if (counts(result)) {
		/* Others are only named. */
		if (result == RD_TRIGGER_BEGINS || r->begun[r->newest].n < DETAILED) {
			wire_describe(t, r->link, frame, text, sizeof(text));
			remember(r, result, ns, text);
		}
		r->begun[r->newest].n++;
		tell_line(r, result == RD_TRIGGER_BEGINS, ns, *text ? text : t->text);
	}
	pthread_mutex_unlock(&r->lock);
	if (*text)
		announce(r, t, result, text);
	return counts(result);
}
