/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages, errors and the progress line, all on stderr; and the one place where control characters
 * in everything printed are escaped: file names, names in capture files and command lines (which
 * argp and getopt quote) may contain any bytes. And text that wraps within the terminal.
 */
#include "cli.h"
#include <errno.h>
#include <pthread.h>
#include <rdmadump/printable.h>
#include <rdmadump/sheet.h>
#include <rdmadump/units.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static struct {
	pthread_mutex_t lock;
	size_t shown; /* characters of the progress line on the terminal */
} screen = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- escaping streams ----------------------------------------------------------------------- */

#define PIECE 1024

/* A stream that writes to a file descriptor. */
struct cleaner {
	int fd;
	FILE *raw; /* the stream that was there before */
	char part[PIECE];
	size_t n_part; /* incomplete UTF-8 character at the end of the last write */
	int errnum;    /* of the first write that failed, or 0 */
};

static struct cleaner out_cleaner = {.fd = STDOUT_FILENO}, err_cleaner = {.fd = STDERR_FILENO};

/* Newlines and tabs pass: code that prints untrusted text inside a line must escape them itself. */
static ssize_t cleaner_write(void *cookie, const char *text, size_t n)
{
	struct cleaner *c = cookie;
	char clean[PIECE * RD_PRINTABLE_GROWTH];

	for (size_t left = n; left;) {
		size_t size = sizeof(c->part) - c->n_part, some = left < size ? left : size, rest;

		memcpy(c->part + c->n_part, text, some);
		text += some;
		left -= some;
		some += c->n_part;
		rest = rd_utf8_unfinished(c->part, some);
		c->n_part = 0;
		if (rd_write_whole(
			    c->fd, clean, rd_printable(clean, c->part, some - rest, "\n\t")) < 0) {
			if (!c->errnum)
				c->errnum = errno;
			return 0;
		}
		memmove(c->part, c->part + some - rest, rest);
		c->n_part = rest;
	}
	return (ssize_t)n;
}

static FILE *cleaner_open(struct cleaner *c, FILE *raw, bool lines)
{
	FILE *stream = fopencookie(c, "w", (cookie_io_functions_t){.write = cleaner_write});

	if (!stream || (lines && setvbuf(stream, NULL, _IOLBF, BUFSIZ))) {
		fputs("rdmadump: out of memory\n", raw);
		exit(RD_CLASS_DEVICE);
	}
	c->raw = raw;
	return stream;
}

int rd_cli_put_json(json_t *document, size_t flags, struct rd_error *err)
{
	const int ret = document ? json_dumpf(document, stdout, flags) : -1;

	json_decref(document);
	putchar('\n');
	return ret && !ferror(stdout) ? rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "the document")
				      : 0;
}

_Atomic bool rd_cli_out_of_memory;

/*
 * For all that commands print, help included: status 0 promises that all of it was written, and 4
 * that what there is was. A reader that closed the pipe has what it wanted.
 */
static void check_output(int status, void *ctx)
{
	struct rd_error err;

	(void)ctx;
	fflush(stdout);
	if (status && status != RD_CLASS_PARTIAL)
		return;
	if (out_cleaner.errnum && out_cleaner.errnum != EPIPE)
		rd_stdout_check(out_cleaner.errnum, &err);
	else if (rd_cli_out_of_memory)
		rd_fail(&err, RD_CLASS_DEVICE, ENOMEM, NULL, "what is printed is not complete");
	else
		return;
	rd_cli_fail(&err);
	_exit((int)err.class);
}

void rd_cli_streams(void)
{
	stdout = cleaner_open(&out_cleaner, stdout, isatty(STDOUT_FILENO));
	stderr = cleaner_open(&err_cleaner, stderr, true);
	on_exit(check_output, NULL);
}

/* --- colours -------------------------------------------------------------------------------- */

/* Bold red, bold magenta (ECMA-48): yellow is hard to read on a light ground. */
static const char *const colours[] = {[RD_COLOUR_NONE] = "",
	[RD_COLOUR_WARNING] = "\033[1;35m",
	[RD_COLOUR_PROBLEM] = "\033[1;31m"};

#define COLOUR_END "\033[0m"

static struct cleaner *cleaner_of(FILE *out)
{
	return out == stdout ? &out_cleaner : &err_cleaner;
}

/* https://no-color.org: any value that is not empty counts. */
bool rd_cli_has_colours(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(cleaner_of(out)->fd) && !(no && *no) && term && *term && strcmp(term, "dumb");
}

static void put_coloured(struct cleaner *c, enum rd_colour colour, const char *text)
{
	fputs(colours[colour], c->raw);
	rd_printable_put(c->raw, text, SIZE_MAX);
	fputs(COLOUR_END, c->raw);
	fflush(c->raw);
}

void rd_cli_put_line(FILE *out, enum rd_colour colour, const char *line)
{
	if (colour) {
		fflush(out);
		put_coloured(cleaner_of(out), colour, line);
	} else {
		fputs(line, out);
	}
	fputc('\n', out);
}

/* --- messages ------------------------------------------------------------------------------- */

static void wipe(void)
{
	if (screen.shown)
		fprintf(err_cleaner.raw, "\r%*s\r", (int)screen.shown, "");
	screen.shown = 0;
}

/* The column to which text reaches that begins in column `at` of a terminal. */
static size_t edge(size_t at)
{
	const unsigned int columns = rd_cli_columns(STDERR_FILENO);

	return columns <= 2 * at ? SIZE_MAX : columns;
}

static void say_coloured(
	const char *prefix, enum rd_colour colour, const char *line, size_t columns)
{
	const size_t at = strlen(prefix);

	pthread_mutex_lock(&screen.lock);
	wipe();
	if (colour)
		put_coloured(&err_cleaner, colour, prefix);
	else
		fputs(prefix, stderr);
	rd_put_wrapped(stderr, line, at, at, columns);
	pthread_mutex_unlock(&screen.lock);
}

void rd_cli_say(const char *prefix, const char *line)
{
	say_coloured(prefix, RD_COLOUR_NONE, line, edge(strlen(prefix)));
}

void rd_cli_note(const char *format, ...)
{
	char text[1024];

	RD_FORMAT(text, sizeof(text), format);
	rd_cli_say("  ", text);
}

/* Coloured by the level. Warnings and errors are one line, to be copied and searched for. */
static void say(void *ctx, enum rd_level level, const char *line)
{
	static const struct {
		const char *text;
		enum rd_colour colour;
	} prefixes[] = {
		[RD_LOG_ERROR] = {"rdmadump: ", RD_COLOUR_PROBLEM},
		[RD_LOG_WARNING] = {"rdmadump: warning: ", RD_COLOUR_WARNING},
		[RD_LOG_INFO] = {"rdmadump: ", RD_COLOUR_NONE},
		[RD_LOG_DEBUG] = {"rdmadump: ", RD_COLOUR_NONE},
	};
	const char *prefix = prefixes[level].text;
	enum rd_colour colour = prefixes[level].colour;

	(void)ctx;
	say_coloured(prefix, colour && rd_cli_has_colours(stderr) ? colour : 0, line,
		colour ? SIZE_MAX : edge(strlen(prefix)));
}

void rd_cli_log(enum rd_level most)
{
	rd_log_to(say, NULL, most);
}

bool rd_cli_is_closed_pipe(const struct rd_error *err)
{
	return err->class == RD_CLASS_OUTPUT && err->errnum == EPIPE;
}

int rd_cli_fail(const struct rd_error *err)
{
	/* The reader of the pipe has what it wanted. */
	if (out_cleaner.errnum == EPIPE && rd_cli_is_closed_pipe(err))
		return RD_CLASS_NONE;
	say(NULL, RD_LOG_ERROR, err->text);
	return (int)err->class;
}

void rd_cli_status(const char *line)
{
	pthread_mutex_lock(&screen.lock);
	wipe();
	if (line && isatty(STDERR_FILENO)) {
		/* What continues on a second row of the terminal cannot be wiped. */
		screen.shown = rd_utf8_fit(line, rd_cli_columns(STDERR_FILENO) ?: SIZE_MAX);
		rd_printable_put(err_cleaner.raw, line, screen.shown);
		fflush(err_cleaner.raw);
	}
	pthread_mutex_unlock(&screen.lock);
}

unsigned int rd_cli_columns(int fd)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t wide;

	if (!isatty(fd))
		return 0;
	if (text && !rd_parse_u64(text, 20, 10000, &wide))
		return (unsigned int)wide;
	return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}
