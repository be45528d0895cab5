/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints what each trigger means and whether it can fire on this port. */
#include "recorder.h"

/* The reason why this frame trigger cannot fire here; NULL: it can. */
static const char *why_not_wire(const struct rd_recorder *r, const struct trigger *t)
{
	unsigned int n;
	const struct rd_session_source *source = rd_session_sources(r->session, &n);
	const struct rd_cut *cut = &r->session_config.cut;

	if (source->source->iface.link == RD_LINK_RAW)
		return "frames of this link type are not decoded";
	if (t->name->wire == WIRE_ICRC_ERROR &&
		(cut->headers_only || cut->zero_payload || cut->snaplen))
		return "a packet's CRC can be checked in whole frames only: give --whole-frames";
	return NULL;
}

void explain_warn(const struct rd_recorder *r)
{
	for (unsigned int i = 0; i < r->n_triggers; i++) {
		const struct trigger *t = &r->trigger[i];
		const char *why = t->source == TRIGGER_WIRE || t->source == TRIGGER_STALL
					  ? why_not_wire(r, t)
					  : NULL;

		/* A stall fires when its time has expired. */
		if (t->source == TRIGGER_STALL && t->most >= r->config.retention.pre_ns)
			rd_log(RD_LOG_WARNING,
				"--trigger '%s': the packets before it waited are written only if "
				"--pre is longer than %g s",
				t->text, (double)t->most / 1e9);

		if (why)
			rd_log(RD_LOG_WARNING, "--trigger '%s' cannot fire: %s", t->text, why);
	}
}

static const char *where_counter(
	struct rd_recorder *r, const struct trigger *t, char *out, size_t size)
{
	char name[128];

	if (!counters_watch_find(r, t, name, sizeof(name)))
		return "there is no such counter now";
	snprintf(out, size, "it can fire: %s", name);
	return NULL;
}

char *rd_recorder_explain(struct rd_recorder *r, unsigned int i)
{
	char what[300], here[200] = "it can fire", *text;
	const struct trigger *t;
	const char *why = NULL, *at = "the next frame gets the comment";

	if (i >= r->n_triggers)
		return NULL;
	t = &r->trigger[i];
	trigger_describe(t, what, sizeof(what));
	if (t->source == TRIGGER_WIRE) {
		why = why_not_wire(r, t);
		at = "that frame gets the comment";
	} else if (t->source == TRIGGER_STALL) {
		why = why_not_wire(r, t);
		snprintf(here, sizeof(here),
			"it can fire for QPs whose responses were seen (one from the same UDP "
			"port, else two), at the latest 0.5 s after its time");
	} else if (t->source == TRIGGER_COUNTER) {
		why = where_counter(r, t, here, sizeof(here));
	}
	if (asprintf(&text, "%s\n    %s\n    here: %s%s; %s\n", t->text, what,
		    why ? "it cannot fire: " : here, why ? why : "", at) < 0)
		return NULL;
	return text;
}
