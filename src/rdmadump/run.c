/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One run of the capture command: options become a session's configuration, and prints what the
 * session reports by callbacks. */
#include "capture.h"
#include "config.h"
#include <errno.h>
#include <rdmadump/fd.h>
#include <unistd.h>

/* --- one line per frame: times relative to another line, NAKs in colour ------------------- */

#define LINE_MAX 1024

static enum rd_colour colour_of(const struct rd_frame *frame, enum rd_link link)
{
	struct rd_packet p;
	struct rd_aeth aeth;

	rd_packet_parse(link, frame->data, frame->caplen, frame->len, &p);
	if (!rd_packet_aeth(&p, &aeth))
		return RD_COLOUR_NONE;
	return aeth.kind == RD_AETH_NAK	  ? RD_COLOUR_PROBLEM
	       : aeth.kind == RD_AETH_RNR ? RD_COLOUR_WARNING
					  : RD_COLOUR_NONE;
}

/* `style` is RD_LINE_*. The caller checks the stream for write errors. */
static void frame_line_put(FILE *out, struct frame_lines *lines, const struct rd_frame *frame,
	enum rd_link link, unsigned int style)
{
	struct rd_frame shown = *frame;
	char text[LINE_MAX];

	if (!lines->begun) {
		lines->begun = true;
		lines->colours = rd_cli_has_colours(out);
		lines->base_ns = frame->ts_ns;
	}
	if (style & (RD_LINE_SINCE_LAST | RD_LINE_SINCE_FIRST))
		shown.ts_ns -= lines->base_ns;
	if (style & RD_LINE_SINCE_LAST)
		lines->base_ns = frame->ts_ns;
	rd_packet_line(text, sizeof(text), &shown, link, style);
	rd_cli_put_line(out, lines->colours ? colour_of(frame, link) : RD_COLOUR_NONE, text);
}

/* --- what the session calls back --------------------------------------------------------- */

static bool on_progress(void *ctx, int fd)
{
	struct capture_run *r = ctx;
	char line[160];

	if (!rd_fd_fired(fd))
		return false;
	report_progress(r, false, line, sizeof(line));
	rd_cli_status(line);
	return false;
}

static void on_ready(void *ctx)
{
	struct capture_run *r = ctx;

	ending_open(&r->ending,
		(r->opt->session.out.path || r->live) && !r->opt->quiet ? on_progress : NULL);
	if (r->live)
		live_ready(r->live);
}

/* Only now does the analysis start without the privileges of the capture. */
static void on_started(void *ctx)
{
	struct capture_run *r = ctx;

	if (r->live)
		live_start(r->live);
	if (!r->opt->quiet)
		report_start(r);
}

static void print_frames(struct capture_run *r, const struct rd_source *source,
	const struct rd_frame *frames, unsigned int n)
{
	FILE *out = capture_to_pipe(r->opt) ? stderr : stdout;

	rd_cli_status(NULL);
	for (unsigned int i = 0; i < n; i++)
		frame_line_put(out, &r->lines, &frames[i], source->iface.link, r->opt->line_style);
	if (fflush(out) && out == stdout) {
		r->broken_pipe = errno == EPIPE;
		raise(SIGTERM);
	}
}

static void on_frames(
	void *ctx, const struct rd_source *source, const struct rd_frame *frames, unsigned int n)
{
	struct capture_run *r = ctx;

	if (r->live)
		live_see(r->live, frames, n);
	if (r->opt->print)
		print_frames(r, source, frames, n);
}

static void on_ended(void *ctx)
{
	struct capture_run *r = ctx;

	rd_cli_status(NULL);
	ending_close(&r->ending);
	if (r->live)
		live_stop(r->live);
}

static void on_request(void *ctx, int number, bool ended)
{
	struct capture_run *r = ctx;
	char line[160];

	if (number == SIGUSR2 && !ended)
		rd_session_rotate(r->session);
	if (number != SIGUSR1)
		return;
	report_progress(r, true, line, sizeof(line));
	rd_cli_say("rdmadump: ", line + strspn(line, " "));
}

static void on_abandon(void *ctx)
{
	struct capture_run *r = ctx;

	rd_session_abandon(r->session);
	rd_cli_fail(&r->result->error);
	report_end(r);
}

/* --- from options to a configuration ----------------------------------------------------- */

static void configure(struct capture_run *r)
{
	const struct capture_options *o = r->opt;

	r->ending.requested = on_request;
	r->ending.abandon = on_abandon;
	r->ending.waits[false] = "waiting for the output to take what was captured; Ctrl-C again "
				 "abandons it";
	r->ending.waits[true] =
		"waiting for the commands of -z to end; Ctrl-C again ends without them";
	r->config = o->session;
	r->config.wanted = o->wanted;
	r->config.root_option = r->style ? NULL : "-Z root";
	r->config.calls.ctx = r;
	r->config.calls.ready = on_ready;
	r->config.calls.started = on_started;
	r->config.calls.runs_programs = o->analyze;
	r->config.calls.frames = o->print || o->analyze ? on_frames : NULL;
	r->config.calls.ended = on_ended;
	r->config.calls.waiting = ending_while_waiting;
	r->config.calls.waiting_for_reader = ending_while_fifo_waits;
	ending_configure(&r->ending, &r->config);
}

/* --- the run ------------------------------------------------------------------------------ */

static int run_session(struct capture_run *r, struct rd_error *err)
{
	if ((r->style && r->style->set_format(r, err) < 0) ||
		(r->opt->analyze && live_open(r, err) < 0))
		return -1;
	r->result = rd_session_result(r->session);
	rd_session_run(r->session);
	r->broken_pipe |= r->result->broken_pipe;
	if (r->result->ran)
		report_end(r);
	*err = r->result->error;
	return err->class == RD_CLASS_NONE ? 0 : -1;
}

static int open_and_run(struct capture_run *r, struct rd_error *err)
{
	int rc;

	configure(r);
	if (rd_session_open(&r->session, &r->config, err) < 0)
		return -1;
	/* Opening a file may wait for the other end of a pipe: Ctrl-C must end that. */
	if (r->opt->session.read)
		ending_block(&r->ending);
	rc = run_session(r, err);
	r->unprinted = !live_close(r->live);
	rd_session_close(r->session);
	return rc;
}

int capture_run(struct capture_run *r)
{
	struct rd_error err = {0};
	int rc;

	/* Before any thread exists, so that every thread blocks them. SIGUSR1 and SIGUSR2 are
	 * blocked already. */
	if (!r->opt->session.read)
		ending_block(&r->ending);
	rc = open_and_run(r, &err);
	if (rc == 0)
		return r->unprinted ? RD_CLASS_OUTPUT : 0;
	return r->style ? r->style->fail(&err) : rd_cli_fail(&err);
}
