/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `capture --analyze`: analyses frames as they are captured; on a terminal and at the end. */
#include "capture.h"
#include "cli.h"
#include <errno.h>
#include <rdmadump/analysis.h>
#include <rdmadump/clock.h>
#include <rdmadump/printable.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Drawing takes the receiving thread's time: at most this fraction (1/N). */
#define DRAW_SHARE 50

struct live {
	struct rd_analysis *analysis;
	FILE *out;
	bool view;	  /* a terminal shows the report so far */
	uint64_t next_ns; /* no drawing before this time of the monotonic clock */
	const struct capture_run *r;
};

static void give_facts(struct live *l, const char *when)
{
	struct rd_facts facts = {0};

	if (!l->r->opt->session.no_facts && !rd_session_offline(l->r->session))
		rd_session_facts(l->r->session, when, &facts);
	for (size_t i = 0; i < facts.n; i++)
		rd_analysis_facts(l->analysis, facts.fact[i].json, facts.fact[i].len);
	rd_facts_free(&facts);
}

int live_open(struct capture_run *r, struct rd_error *err)
{
	const struct rd_analysis_config config = {.qp = RD_QP_UNKNOWN};
	static const struct rd_section no_section;
	unsigned int n;
	const struct rd_session_source *sources = rd_session_sources(r->session, &n);
	struct live *l = calloc(1, sizeof(*l));

	r->live = l;
	if (!l)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "--analyze");
	l->r = r;
	l->out = capture_to_pipe(r->opt) ? stderr : stdout;
	l->view = !r->opt->quiet && !r->opt->print && !r->opt->json && !capture_to_pipe(r->opt) &&
		  isatty(STDOUT_FILENO) && !rd_session_offline(r->session);
	if (rd_analysis_open(&l->analysis, &config, err) < 0 ||
		rd_analysis_file(l->analysis, sources[0].source->title,
			rd_session_offline(r->session) ? "file" : "live", &no_section, err) < 0)
		return -1;
	if (*rd_session_filter_text(r->session))
		rd_analysis_filtered(l->analysis);
	give_facts(l, "start");
	return 0;
}

void live_see(struct live *l, const struct rd_source *source, const struct rd_frame *frames,
	unsigned int n)
{
	rd_analysis_speed(l->analysis, source->iface.speed);
	if (source->iface.link == RD_LINK_RAW)
		rd_analysis_undecoded(l->analysis, source->iface.dlt, frames, n);
	else
		rd_analysis_frames(l->analysis, source->iface.link, frames, n);
}

/* --- the live view -------------------------------------------------------------------------- */

static void view_begin(const struct live *l)
{
	if (l->view)
		fputs("\033[?1049h\033[?25l", rd_cli_screen()); /* alternate screen, no cursor */
}

static void view_end(const struct live *l)
{
	if (l->view) {
		fputs("\033[?25h\033[?1049l", rd_cli_screen());
		fflush(rd_cli_screen());
	}
}

/* At most `rows` lines, none wider than `columns`. */
static void put_fitting(FILE *to, const char *text, unsigned int rows, unsigned int columns)
{
	for (unsigned int row = 0; *text && row < rows; row++) {
		size_t len = strcspn(text, "\n");

		rd_printable_put(to, text, len < columns ? len : columns);
		fputs("\033[K\n", to);
		text += len + (text[len] == '\n');
	}
}

static void draw(const struct rd_report *report, const char *status)
{
	static const struct winsize usual = {.ws_row = 24, .ws_col = 80};
	struct winsize size;
	struct rd_report_style style = {0};
	char *text = NULL;
	size_t capacity;
	FILE *memory = open_memstream(&text, &capacity);

	if (!memory)
		return;
	/* A serial line does not know its size. */
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
		size = usual;
	style.columns = size.ws_col;
	rd_report_text(report, &style, memory);
	if (fclose(memory) == 0 && size.ws_row > 3) {
		FILE *to = rd_cli_screen();

		fputs("\033[H", to);
		rd_printable_put(to, status, size.ws_col);
		fputs("\033[K\n\033[K\n", to);
		put_fitting(to, text, size.ws_row - 3U, size.ws_col);
		fputs("\033[J", to);
		fflush(to);
	}
	free(text);
}

bool live_show(struct live *l, const char *status)
{
	uint64_t now = rd_monotonic_ns();
	struct rd_report *report;

	if (!l->view)
		return false;
	if (!l->next_ns)
		view_begin(l);
	if (now < l->next_ns || rd_analysis_look(l->analysis, &report, NULL) < 0)
		return true;
	draw(report, status);
	rd_report_free(report);
	l->next_ns = now + (rd_monotonic_ns() - now) * DRAW_SHARE;
	return true;
}

/* --- the end ---------------------------------------------------------------------------------- */

void live_stop(struct live *l)
{
	const struct rd_session_result *result = rd_session_result(l->r->session);
	char sentence[2 * RD_DROPS_TEXT];
	struct rd_drops drops;

	if (l->next_ns)
		view_end(l);
	l->view = false;
	give_facts(l, "end");
	/* Frames that were dropped because no chunk was free were analysed nevertheless. */
	rd_session_drops(l->r->session, &drops);
	rd_drops_sentence(&drops, sentence);
	rd_analysis_file_end(l->analysis, result->lost, result->lost_known, sentence, NULL);
}

json_t *live_json(struct live *l)
{
	struct rd_report *report;
	json_t *json;

	if (rd_analysis_report(l->analysis, &report, NULL) < 0)
		return NULL;
	json = rd_report_json(report);
	rd_report_free(report);
	return json;
}

void live_report(struct live *l)
{
	static const struct rd_report_style style;
	struct rd_report *report;

	if (rd_analysis_report(l->analysis, &report, NULL) < 0)
		return;
	fputc('\n', l->out);
	rd_report_text(report, &style, l->out);
	fflush(l->out);
	rd_report_free(report);
}

void live_close(struct live *l)
{
	if (l && l->analysis)
		rd_analysis_close(l->analysis);
	free(l);
}
