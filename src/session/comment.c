/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The text in a file's header: the machine, and a comment on what was captured and lost. */
#include "session.h"
#include <rdmadump/document.h>
#include <rdmadump/units.h>
#include <unistd.h>

void comment_describe(struct rd_session *s)
{
	const struct rd_section *theirs = s->in.n ? s->in.sources[0]->section : NULL;

	if (theirs) {
		snprintf(s->out.hardware, sizeof(s->out.hardware), "%s",
			theirs->hardware ? theirs->hardware : "");
		snprintf(s->out.os, sizeof(s->out.os), "%s", theirs->os ? theirs->os : "");
	} else if (!is_offline(s)) {
		rd_machine_hardware(s->out.hardware, sizeof(s->out.hardware));
		rd_machine_os(s->out.os, sizeof(s->out.os));
	}
	s->out.section = (struct rd_section){
		.hardware = s->out.hardware, .os = s->out.os, .application = rd_program()};
}

static int comment_head(const struct rd_session *s, char *out, size_t size)
{
	const struct rd_section *theirs = s->in.sources[0]->section;
	char host[65] = "", start[40], scope[RD_LOSS_TEXT];
	struct timespec now;
	struct tm tm;

	if (is_offline(s)) {
		const char *was = theirs && theirs->comment ? theirs->comment : "";
		int len = (int)strlen(was);

		while (len && was[len - 1] == ' ')
			len--;
		return snprintf(out, size, "From %s. %.*s%s", s->in.sources[0]->title,
			len < 300 ? len : 300, was, len ? " Then: " : "");
	}
	gethostname(host, sizeof(host) - 1);
	clock_gettime(CLOCK_REALTIME, &now);
	if (s->capture.start_ns)
		now.tv_sec = (time_t)(s->capture.start_ns / 1000000000U);
	strftime(start, sizeof(start), "%Y-%m-%d %H:%M:%S %z", localtime_r(&now.tv_sec, &tm));
	rd_session_scope_text(&s->listed[0], scope);
	if (*scope)
		scope[0] = 'T';
	return snprintf(out, size, "%s%s on host %s, from %s. %s%s", s->in.sources[0]->title,
		s->n_listed > 1 ? " and others" : "", host, start, scope, *scope ? ". " : "");
}

/* Fills s->out.sentence for the file that ends: the same words as the report's. */
static void make_sentence(struct rd_session *s, const struct rd_file_account *a)
{
	struct rd_drops d;

	s->out.sentence[0] = '\0';
	if (s->config->recording)
		recording_drops(s, &d);
	else if (a->last)
		rd_session_drops(s, &d);
	else if (is_offline(s))
		return;
	else
		d = (struct rd_drops){.why = RD_DROPS_IN_LAST};
	d.no_buffer = d.unwritten = 0;
	for (unsigned int i = 0; i < s->in.n_ifaces; i++) {
		d.no_buffer += a->tally[i].dropped;
		d.unwritten += a->unwritten[i];
		if (s->config->recording)
			d.delivered += a->written[i] + a->tally[i].filtered + a->tally[i].dropped +
				       a->unwritten[i];
	}
	rd_drops_sentence(&d, s->out.sentence);
}

/* The last file has the numbers of the whole capture, the others their own. */
static void comment_numbers(
	const struct rd_session *s, const struct rd_file_account *a, char *out, size_t size)
{
	char written[RD_UNITS_LEN], filtered[RD_UNITS_LEN], dropped[RD_UNITS_LEN],
		related[RD_LOSS_TEXT];
	uint64_t w = 0, f = 0, d = 0;

	for (unsigned int i = 0; i < s->in.n_ifaces; i++) {
		w += a->written[i];
		f += a->tally[i].filtered;
		d += a->tally[i].dropped + a->unwritten[i];
	}
	if (!a->last) {
		snprintf(out, size,
			"File %u: %s frame%s written; filtered out %s, dropped by rdmadump %s; "
			"what the device dropped is in the last file.",
			a->number, rd_fmt_count(written, w), rd_plural(w),
			rd_fmt_count(filtered, f), rd_fmt_count(dropped, d));
		return;
	}
	loss_related_text(s, related, sizeof(related));
	snprintf(out, size, "%s frame%s written in %.1f s; filtered out %s, %s.%s%s%.256s",
		rd_fmt_count(written, w), rd_plural(w),
		(double)(s->capture.end_ns - s->capture.start_ns) / 1e9, rd_fmt_count(filtered, f),
		s->out.sentence, related,
		s->error.class != RD_CLASS_NONE ? " Ended by a fault: " : "",
		s->error.class != RD_CLASS_NONE ? s->error.text : "");
}

/* The length is constant, so that the final comment can overwrite the first one. */
void comment_make(struct rd_session *s, const struct rd_file_account *account)
{
	char *text = s->out.comment;
	const size_t size = sizeof(s->out.comment);
	size_t used;

	if (account)
		make_sentence(s, account);
	used = (size_t)comment_head(s, text, size);
	if (used < size) {
		if (s->config->recording)
			recording_comment(s, account, text + used, size - used);
		else if (account)
			comment_numbers(s, account, text + used, size - used);
		else
			snprintf(text + used, size - used, "%s",
				s->out.rewritable
					? "Not finished: the program still writes, or was killed; "
					  "what was lost is not known."
					: "What was lost is in the interface statistics at "
					  "the end; without them the capture was not finished.");
	}
	used = strlen(text);
	memset(text + used, ' ', size - 1 - used);
	text[size - 1] = '\0';
}
