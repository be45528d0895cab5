/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `capture --analyze`: feeds the frames to rdmadump-analyze through a pipe, as pcapng, and takes
 * its report at the end. That program parses them without the privileges of this one.
 */
#include "capture.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/fd.h>
#include <rdmadump/program.h>
#include <rdmadump/spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#define BLOCK_BYTES ((size_t)1 << 20) /* written at once; the longest facts fit */

struct live {
	const struct capture_run *r;
	char program[PATH_MAX];
	struct rd_section section;
	struct rd_encoder encoder;
	struct rd_facts before; /* until they are written */
	uint64_t received;
	pid_t pid;
	int to, from;	/* pipes; from: only for JSON */
	int failure;	/* an errno: nothing more is written; ECANCELED: it does not run */
	bool unprinted; /* the program could not write its report, and said so */
	size_t used;
	uint8_t block[2 * BLOCK_BYTES];
};

static void flush(struct live *l)
{
	if (!l->failure && rd_write_whole(l->to, l->block, l->used) < 0)
		l->failure = errno;
	l->used = 0;
}

/* Room for `size` bytes, at most BLOCK_BYTES. */
static uint8_t *room(struct live *l, size_t size)
{
	if (sizeof(l->block) - l->used < size)
		flush(l);
	return l->block + l->used;
}

static void read_facts(const struct live *l, const char *when, struct rd_facts *to)
{
	if (!l->r->opt->session.no_facts && !rd_session_offline(l->r->session))
		rd_session_facts(l->r->session, when, to);
}

static void give_facts(struct live *l, struct rd_facts *facts)
{
	for (size_t i = 0; i < facts->n; i++) {
		const struct rd_fact *f = &facts->fact[i];
		size_t size = rd_encoder_facts_bound(f->len);

		if (size <= BLOCK_BYTES)
			l->used +=
				rd_encoder_facts(&l->encoder, f->json, f->len, room(l, size), size);
	}
	rd_facts_free(facts);
}

int live_open(struct capture_run *r, struct rd_error *err)
{
	unsigned int n;
	const struct rd_iface *ifaces = rd_session_ifaces(r->session, &n);
	struct live *l = calloc(1, sizeof(*l));

	r->live = l;
	if (!l)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "--analyze");
	l->r = r;
	l->to = l->from = -1;
	l->failure = ECANCELED;
	if (rd_program_find(l->program, "rdmadump-analyze", err) < 0 ||
		rd_encoder_init(&l->encoder, "pcapng", NULL, &l->section, ifaces, n, err) < 0)
		return -1;
	if (l->encoder.format->header_bound(&l->encoder) > BLOCK_BYTES)
		return rd_fail(err, RD_CLASS_USAGE, 0, "name fewer devices",
			"--analyze: the descriptions of %u interfaces are too long", n);
	return 0;
}

/* The program gets no pipe of ours but its input, so that it sees the end of it. */
static int start(struct live *l)
{
	static char json[] = "--json", input[] = "-";
	char *program = l->program;
	char *argv[] = {program, input, l->r->opt->json ? json : NULL, NULL};
	int to[2] = {-1, -1}, from[2] = {-1, -1}, rc = 0;
	struct rd_spawn how = {.own_group = true};

	if (pipe2(to, O_CLOEXEC) < 0 || (l->r->opt->json && pipe2(from, O_CLOEXEC) < 0))
		rc = errno;
	how.in = to[0];
	how.out = l->r->opt->json ? from[1] : capture_to_pipe(l->r->opt) ? STDERR_FILENO : 0;
	if (!rc)
		rc = rd_spawn(&l->pid, argv, &how);
	rd_fd_close(&to[0]);
	rd_fd_close(&from[1]);
	l->to = to[1];
	l->from = from[0];
	return rc;
}

void live_ready(struct live *l)
{
	read_facts(l, "start", &l->before);
}

void live_start(struct live *l)
{
	size_t size = l->encoder.format->header_bound(&l->encoder);

	l->failure = start(l);
	if (l->failure) {
		l->pid = 0;
		return;
	}
	l->used += l->encoder.format->header(&l->encoder, room(l, size), size);
	give_facts(l, &l->before);
	flush(l);
}

void live_see(struct live *l, const struct rd_frame *frames, unsigned int n)
{
	l->received += n;
	while (n && !l->failure) {
		size_t used, size = l->encoder.format->bound(frames->caplen);
		uint8_t *to = room(l, size);
		unsigned int done = l->encoder.format->frames(
			&l->encoder, frames, n, to, sizeof(l->block) - l->used, &used);

		/* It fits into an empty block, unless it is longer than any frame. */
		if (!done)
			done = 1;
		l->used += used;
		frames += done;
		n -= done;
	}
}

void live_stop(struct live *l)
{
	const struct rd_session_result *result = rd_session_result(l->r->session);
	struct rd_iface_stats stats[RD_IFACES_MAX] = {0};
	size_t size = l->encoder.format->header_bound(&l->encoder);
	char sentence[2 * RD_DROPS_TEXT];
	struct rd_facts after = {0};
	struct rd_drops drops;

	if (l->failure)
		return;
	read_facts(l, "end", &after);
	give_facts(l, &after);
	/* Frames that were dropped because no chunk was free were analysed nevertheless. */
	rd_session_drops(l->r->session, &drops);
	rd_drops_sentence(&drops, sentence);
	for (unsigned int i = 0; i < l->encoder.n_ifaces; i++)
		stats[i] = (struct rd_iface_stats){.start_ns = result->start_ns,
			.end_ns = result->end_ns,
			.drops_unknown = !result->lost_known};
	stats[0].comment = sentence;
	stats[0].dropped = result->lost;
	stats[0].received = l->received + result->lost;
	stats[0].accepted = stats[0].delivered = l->received;
	l->used += l->encoder.format->trailer(&l->encoder, stats, room(l, size), size);
	flush(l);
}

static void wait_for_end(struct live *l)
{
	int status = 0;

	rd_fd_close(&l->to);
	if (l->failure == ECANCELED)
		return;
	if (l->pid)
		TEMP_FAILURE_RETRY(waitpid(l->pid, &status, 0));
	l->pid = 0;
	l->unprinted = WIFEXITED(status) && WEXITSTATUS(status) == RD_CLASS_OUTPUT;
	if (l->failure && l->failure != EPIPE)
		rd_log(RD_LOG_WARNING, "--analyze: cannot pass frames to '%s': %s", l->program,
			strerror(l->failure));
	else if (l->failure || !WIFEXITED(status))
		rd_log(RD_LOG_WARNING, "--analyze: '%s' ended early", l->program);
	l->failure = ECANCELED;
}

json_t *live_json(struct live *l)
{
	FILE *in = NULL;
	json_t *json = NULL;

	/* The input ends: the program reports. */
	rd_fd_close(&l->to);
	if (l->from >= 0)
		in = fdopen(l->from, "r");
	if (in) {
		l->from = -1;
		json = json_loadf(in, 0, NULL);
		fclose(in);
	}
	wait_for_end(l);
	return json ? json : json_null();
}

void live_report(struct live *l)
{
	FILE *out = capture_to_pipe(l->r->opt) ? stderr : stdout;

	/* Apart from the capture's own report. */
	if (!l->failure && !l->r->opt->quiet)
		fputc('\n', out);
	fflush(out);
	wait_for_end(l);
}

bool live_close(struct live *l)
{
	bool unprinted;

	if (!l)
		return true;
	if (l->pid)
		wait_for_end(l);
	rd_fd_close(&l->from);
	rd_facts_free(&l->before);
	unprinted = l->unprinted;
	free(l);
	return !unprinted;
}
