/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs the probes in order, and stores what is known after each one. */
#include "../device/sysfs.h"
#include "cli/cli.h"
#include "sniffer.h"
#include <fcntl.h>
#include <rdmadump/clock.h>
#include <rdmadump/document.h>
#include <rdmadump/fd.h>
#include <rdmadump/format.h>
#include <rdmadump/json.h>
#include <rdmadump/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#define NS_PER_S	 1000000000ULL
#define DOCUMENT_VERSION 2

/* --- one probe ---------------------------------------------------------------------------- */

/* Why the probe cannot run; false: it can. */
static bool must_skip(
	const struct rd_selftest *st, const struct rd_probe *probe, struct rd_probe_result *r)
{
	if (probe->needs & RD_PROBE_ICMD && !st->config->sniffer)
		result_skipped(
			r, "it uses the firmware's command gateway (--sniffer icmd allows it)");
	else if (probe->needs & RD_PROBE_ICMD && st->port->link != RD_LINK_INFINIBAND)
		result_skipped(r, "not an InfiniBand port");
	else if (probe->needs & RD_PROBE_SNIFFER && st->sniffer == SNIFFER_REFUSED)
		result_skipped(r, "the device's sniffer cannot be used: see 'objects'");
	else if (probe->needs & RD_PROBE_ACTIVE && strcmp(st->port->state, "active") != 0)
		result_skipped(r, "the port is not active");
	else if (probe->needs & RD_PROBE_SNIFFER && st->compressed)
		result_skipped(r, "the device compresses completions: captures cannot read them");
	return r->outcome == RD_PROBE_SKIPPED;
}

/*
 * Frames not seen before an interruption prove nothing; at the time limit, the finding may be a
 * slow device. A failure stays a failure.
 */
static void judge_time(
	const struct rd_selftest *st, const struct rd_probe *probe, struct rd_probe_result *r)
{
	bool late = rd_monotonic_ns() >= st->deadline_ns;

	if (r->outcome != RD_PROBE_PASSED && r->outcome != RD_PROBE_FOUND)
		return;
	if (rd_cli_ended) {
		json_array_clear(r->found);
		result_skipped(r, "interrupted before it was complete");
	} else if (late && r->outcome == RD_PROBE_FOUND) {
		result_reason(r, "not complete after %u s, which may be why this was found",
			rd_probe_limit(probe));
	} else if (late) {
		result_failed(r, "not complete after %u s", rd_probe_limit(probe));
	}
}

/* A result without the frames that the port may not send. */
static void judge_sending(
	const struct rd_selftest *st, const struct rd_probe *probe, struct rd_probe_result *r)
{
	char why[MAY_SEND_TEXT];

	if (!(probe->needs & RD_PROBE_SENDER) || port_may_send(st->port, why))
		return;
	if (r->outcome != RD_PROBE_FAILED)
		result_reason(r, "%s", why);
}

/* Whether a device that could be used is gone, or answers no command any more. */
static bool is_removed(const struct rd_selftest *st)
{
	struct ibv_context *ctx;
	struct rd_error err;

	if (st->sniffer != SNIFFER_WORKS)
		return false;
	if (rd_verbs_device_open(&ctx, st->device->name, NULL, NULL, &err) == 0) {
		ibv_close_device(ctx);
		return false;
	}
	return err.errnum == EIO || err.errnum == ENODEV || err.errnum == ENXIO ||
	       !rd_sysfs_exists("/sys/class/infiniband/%s", st->device->name);
}

/* Whatever a probe makes of it, one that did not pass is the first that the removal concerns. */
static void judge_removal(struct rd_selftest *st, struct rd_probe_result *r)
{
	if (r->outcome == RD_PROBE_PASSED || !is_removed(st))
		return;
	st->removed = true;
	json_array_clear(r->found);
	result_failed(r, "the device was removed, or has failed fatally: see the kernel's log "
			 "(dmesg)");
}

static void run_look(
	struct rd_selftest *st, const struct rd_probe *probe, struct rd_probe_result *r)
{
	struct sniffer s;

	if (sniffer_begin(&s, st, r, NULL) == 0)
		probe->look(st, r, &s);
	sniffer_close(&s);
}

static void run_probe(
	struct rd_selftest *st, const struct rd_probe *probe, struct rd_probe_result *r)
{
	uint64_t now = rd_monotonic_ns();

	st->deadline_ns = now + rd_probe_limit(probe) * NS_PER_S;
	st->deadline_ns = RD_MIN(st->deadline_ns, st->run_deadline_ns);
	if (must_skip(st, probe, r))
		return;
	print_began(probe);
	if (probe->run)
		probe->run(st, r);
	else
		run_look(st, probe, r);
	judge_sending(st, probe, r);
	st->compressed |= r->compressed;
	judge_time(st, probe, r);
	judge_removal(st, r);
}

/* --- files of a probe --------------------------------------------------------------------- */

/* The frames as pcapng; NULL: out of memory. */
static uint8_t *capture_file(
	const struct rd_selftest *st, const struct rd_probe_result *r, size_t *n)
{
	char name[RD_NAME_MAX + 8];
	const struct rd_section section = {.application = rd_program()};
	const struct rd_iface iface = {.link = st->port->link,
		.name = name,
		.description = "software clock",
		.speed = st->port->speed};
	struct rd_encoder e;
	struct rd_error err;
	size_t size, used;
	uint8_t *to;

	snprintf(name, sizeof(name), "%s:%u", st->device->name, st->port->num);
	if (rd_encoder_init(&e, "pcapng", NULL, &section, &iface, 1, &err) < 0)
		return NULL;
	size = e.format->header_bound(&e);
	for (unsigned int i = 0; i < r->n_frames; i++)
		size += e.format->bound(r->frame[i].len);
	to = malloc(size);
	if (!to)
		return NULL;
	*n = e.format->header(&e, to, size);
	e.format->frames(&e, r->frame, r->n_frames, to + *n, size - *n, &used);
	*n += used;
	return to;
}

/* `why`: it is missing for this reason; NULL: it is kept, if there are `bytes`. */
static void add_file(struct rd_selftest *st, json_t *files, const char *probe, const char *ending,
	void *bytes, size_t n, const char *why)
{
	char name[SAVED_NAME];

	snprintf(name, sizeof(name), "%s.%s", probe, ending);
	if (why)
		free(bytes);
	else if (!saved_keep(&st->saved, name, bytes, n))
		why = "there are too many files";
	json_array_append_new(files, json_pack("{s:s, s:s?}", "name", name, "missing", why));
}

static json_t *add_files(struct rd_selftest *st, const char *probe, struct rd_probe_result *r)
{
	json_t *files = json_array();
	uint8_t *capture = NULL;
	const char *why = NULL;
	size_t n = 0;

	if (r->n_frames && !redacted_frames(st, r))
		why = "addresses in these frames cannot be replaced";
	else if (r->n_frames)
		capture = capture_file(st, r, &n);
	if (capture || why)
		add_file(st, files, probe, "pcapng", capture, n, why);
	if (r->cqes)
		add_file(st, files, probe, "cqes", r->cqes, r->n_cqes, NULL);
	r->cqes = NULL;
	return files;
}

/*
 * Adds the probe's result to the document, and keeps its capture and raw CQEs for the archive.
 * Frames of *r may be replaced. Returns its object, borrowed; NULL: out of memory.
 */
static const json_t *document_add(struct rd_selftest *st, const struct rd_probe *probe,
	struct rd_probe_result *r, uint64_t took_ns)
{
	static const char *const outcomes[] = {[RD_PROBE_PASSED] = "passed",
		[RD_PROBE_FOUND] = "found",
		[RD_PROBE_FAILED] = "failed",
		[RD_PROBE_SKIPPED] = "skipped"};
	json_t *o = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:O, s:O, s:o, s:o}", "name",
		probe->name, "question", probe->question, "outcome", outcomes[r->outcome], "value",
		rd_json_text(r->value), "reason", rd_json_text(r->reason), "meaning",
		rd_json_text(r->meaning), "found", r->found, "values", r->values, "files",
		add_files(st, probe->name, r), "duration_ms", rd_json_u64(took_ns / 1000000));

	if (!o || redacted_probe(st, o) < 0 ||
		json_array_append_new(json_object_get(st->document, "probes"), o) < 0)
		return NULL;
	return o;
}

/* Returns the outcome, or -1 if the document cannot be extended. */
static int add_probe(struct rd_selftest *st, const struct rd_probe *probe, struct rd_error *err)
{
	uint64_t start = rd_monotonic_ns();
	struct rd_probe_result r = {.values = json_object(), .found = json_array()};
	const json_t *object;
	int outcome;

	run_probe(st, probe, &r);
	outcome = (int)r.outcome;
	object = document_add(st, probe, &r, rd_monotonic_ns() - start);
	result_free(&r);
	if (!object)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "the result");
	print_ended(st->config, object);
	return outcome;
}

/* --- all probes --------------------------------------------------------------------------- */

/* The document as text; NULL: out of memory, with the error. */
static char *text_of(const struct rd_selftest *st, struct rd_error *err)
{
	char *text = json_dumps(st->document, JSON_INDENT(1) | JSON_REAL_PRECISION(17));

	if (!text)
		rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "the result");
	return text;
}

static int store(const struct rd_selftest *st, struct rd_error *err)
{
	char *text = text_of(st, err);
	int rc = text ? saved_write(&st->saved, text, err) : -1;

	free(text);
	return rc;
}

/*
 * If the result cannot be stored, the probes still run: the caller prints them. Returns 0, or -1
 * with the first error of the output.
 */
static int run_all(struct rd_selftest *st, struct rd_error *err)
{
	const struct rd_probe *const *probe = rd_probes_chosen(st->config);
	const char *ended = "complete";
	struct rd_error later, *to = err;
	uint64_t start_ns;

	for (; *probe && strcmp(ended, "complete") == 0; probe++) {
		int outcome;

		if (rd_cli_ended || rd_monotonic_ns() >= st->run_deadline_ns) {
			ended = rd_cli_ended ? "interrupted" : "time_limit";
			break;
		}
		outcome = add_probe(st, *probe, to);
		if (outcome < 0 || store(st, to) < 0)
			to = &later;
		if (rd_cli_ended)
			ended = "interrupted";
		else if (st->removed)
			ended = "removed";
		else if ((*probe)->required && outcome == RD_PROBE_FAILED)
			ended = "required_probe";
	}
	start_ns = rd_json_u64_value(json_object_get(st->document, "start_ns"));
	json_object_set_new(
		st->document, "duration_s", rd_json_seconds((int64_t)(rd_wall_ns() - start_ns)));
	json_object_set_new(st->document, "ended", json_string(ended));
	return to == err ? 0 : -1;
}

/* The archive has the table, too. */
static void keep_table(struct rd_selftest *st)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return;
	print_document(out, st->document);
	if (fclose(out) == 0)
		saved_keep(&st->saved, "result.txt", text, n);
	else
		free(text);
}

static int run_and_store(struct rd_selftest *st, char path[PATH_MAX], struct rd_error *err)
{
	struct rd_error later;
	char *text;
	int rc;

	snprintf(path, PATH_MAX, "%.3800s/%s" SAVED_PARTIAL, st->saved.parent, st->saved.base);
	if (run_all(st, err) < 0) {
		store(st, &later);
		return -1;
	}
	keep_table(st);
	text = text_of(st, err);
	rc = text ? saved_finish(&st->saved, text, path, err) : -1;
	free(text);
	return rc;
}

/* Without its file nothing is run. */
static int begin(struct rd_selftest *st, struct rd_error *err)
{
	char host[128] = "unknown", base[256];

	gethostname(host, sizeof(host) - 1);
	if (redacted_begin(st) < 0 || redacted_name(st, host, sizeof(host)) < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "the result");
	st->document = rd_document(DOCUMENT_VERSION, rd_wall_ns(),
		json_pack("{s:n, s:o, s:s, s:i, s:s, s:b, s:[]}", "duration_s", "host",
			rd_json_string(host), "device", st->device->name, "port",
			(int)st->port->num, "ended", "unfinished", "hashed",
			(int)st->config->hash_addresses, "probes"));
	if (!st->document)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "the result");
	for (char *c = host; *c; c++)
		if (*c == '/')
			*c = '_';
	snprintf(base, sizeof(base), "selftest-%s-%s", host, st->device->name);
	if (saved_open(&st->saved, st->config->directory, base, err) == 0) {
		if (store(st, err) == 0)
			return 0;
		saved_remove(&st->saved);
		saved_close(&st->saved);
	}
	json_decref(st->document);
	st->document = NULL;
	return -1;
}

/*
 * Locks the device's directory in sysfs by flock(2): no file is created, and the kernel releases
 * the lock when the process ends for any reason. -1: with the error.
 */
static int lock_device(const char *device, struct rd_error *err)
{
	char path[128];
	int fd, errnum;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", device);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return rd_fail(err, RD_CLASS_DEVICE, errno, "see 'rdmadump list'", "'%s'", path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	errnum = errno;
	close(fd);
	if (errnum == EWOULDBLOCK)
		return rd_fail(err, RD_CLASS_USAGE, 0, "wait until it has ended",
			"another selftest is running on %s", device);
	return rd_fail(err, RD_CLASS_DEVICE, errnum, NULL, "cannot lock '%s'", path);
}

int rd_selftest_run(const struct rd_selftest_config *config, json_t **document, char path[PATH_MAX],
	struct rd_error *err)
{
	struct rd_selftest *st = calloc(1, sizeof(*st));
	int lock, rc = -1;

	*document = NULL;
	path[0] = '\0';
	if (!st)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the selftest");
	st->config = config;
	st->device = config->device;
	st->port = config->port;
	st->sniffer = config->device->old_switchdev ? SNIFFER_REFUSED : SNIFFER_UNTRIED;
	st->run_deadline_ns = rd_monotonic_ns() + LIMIT_RUN_S * NS_PER_S;
	lock = lock_device(config->device->name, err);
	if (lock >= 0 && begin(st, err) == 0) {
		rc = run_and_store(st, path, err);
		saved_close(&st->saved);
	}
	rd_fd_close(&lock);
	*document = st->document;
	redacted_end(st);
	free(st);
	return rc;
}
