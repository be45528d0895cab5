/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs the probes in order, and stores what is known after each one. */
#include "../device/sysfs.h"
#include "document.h"
#include "lock.h"
#include "may_send.h"
#include "redacted.h"
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdmadump/clock.h>
#include <rdmadump/log.h>
#include <rdmadump/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ULL

static bool interrupted(const struct rd_selftest *st)
{
	return st->config->stop && *st->config->stop;
}

/* --- one probe ---------------------------------------------------------------------------- */

/* Why the probe cannot run; false: it can. */
static bool must_skip(
	const struct rd_selftest *st, const struct rd_probe *probe, struct rd_probe_result *r)
{
	if (probe->needs & RD_PROBE_ICMD && !st->config->icmd)
		result_skipped(
			r, "it uses the firmware's command gateway (--sniffer icmd allows it)");
	else if (probe->needs & RD_PROBE_ICMD && st->port->link != RD_LINK_INFINIBAND)
		result_skipped(r, "not an InfiniBand port");
	else if (probe->needs & RD_PROBE_SNIFFER && st->sniffer == SNIFFER_REFUSED)
		result_skipped(r, "the device's sniffer cannot be used: see 'objects'");
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
	if (interrupted(st)) {
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

static void run_probe(
	struct rd_selftest *st, const struct rd_probe *probe, struct rd_probe_result *r)
{
	uint64_t now = rd_monotonic_ns();

	st->deadline_ns = now + rd_probe_limit(probe) * NS_PER_S;
	if (st->deadline_ns > st->run_deadline_ns)
		st->deadline_ns = st->run_deadline_ns;
	if (must_skip(st, probe, r))
		return;
	if (st->config->began)
		st->config->began(st->config->ctx, probe);
	probe->run(st, r);
	judge_sending(st, probe, r);
	st->compressed |= r->compressed;
	judge_time(st, probe, r);
	judge_removal(st, r);
}

/* Returns the outcome, or -1 if the document cannot be extended. */
static int add_probe(struct rd_selftest *st, const struct rd_probe *probe, struct rd_error *err)
{
	uint64_t start = rd_monotonic_ns();
	struct rd_probe_result r;
	const json_t *object;
	int outcome;

	result_init(&r);
	run_probe(st, probe, &r);
	outcome = (int)r.outcome;
	object = document_add(st, probe, &r, rd_monotonic_ns() - start);
	result_free(&r);
	if (!object)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "the result");
	if (st->config->ended)
		st->config->ended(st->config->ctx, object);
	return outcome;
}

/* --- all probes --------------------------------------------------------------------------- */

static const struct rd_probe *const *chosen(const struct rd_selftest *st)
{
	return st->config->probes ? st->config->probes : rd_probes;
}

/*
 * If the result cannot be stored, the probes still run: the caller prints them. Returns 0, or -1
 * with the first error of the output.
 */
static int run_all(struct rd_selftest *st, const char **ended, struct rd_error *err)
{
	const struct rd_probe *const *probe = chosen(st);
	struct rd_error later, *to = err;
	int rc = 0;

	*ended = "complete";
	for (; *probe; probe++) {
		int outcome;

		if (interrupted(st) || rd_monotonic_ns() >= st->run_deadline_ns) {
			*ended = interrupted(st) ? "interrupted" : "time_limit";
			break;
		}
		outcome = add_probe(st, *probe, to);
		if (outcome < 0 || document_write(st, to) < 0) {
			to = &later;
			rc = -1;
		}
		if (interrupted(st)) {
			*ended = "interrupted";
			continue;
		}
		if (st->removed) {
			*ended = "removed";
			break;
		}
		if ((*probe)->required && outcome == RD_PROBE_FAILED) {
			*ended = "required_probe";
			break;
		}
	}
	document_end(st->document, *ended);
	return rc;
}

static int finish(struct rd_selftest *st, char path[PATH_MAX], struct rd_error *err)
{
	if (document_write(st, err) < 0 || directory_finish(&st->directory, path, err) < 0)
		return -1;
	if (!st->file_error.class)
		return 0;
	*err = st->file_error;
	return -1;
}

static int run_in_directory(struct rd_selftest *st, char path[PATH_MAX], struct rd_error *err)
{
	const char *ended;

	snprintf(path, PATH_MAX, "%.3800s/%s", st->directory.parent, st->directory.partial);
	if (document_write(st, err) < 0) {
		directory_remove(&st->directory);
		json_decref(st->document);
		st->document = NULL;
		return -1;
	}
	if (run_all(st, &ended, err) < 0) {
		struct rd_error later;

		document_write(st, &later);
		return -1;
	}
	return finish(st, path, err);
}

static int run_locked(struct rd_selftest *st, char path[PATH_MAX], struct rd_error *err)
{
	char host[128], base[256];
	int rc;

	if (redacted_begin(st) < 0 || document_host(st, host, sizeof(host)) < 0)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "the result");
	for (char *c = host; *c; c++)
		if (*c == '/')
			*c = '_';
	snprintf(base, sizeof(base), "selftest-%s-%s", host, st->device->name);
	st->document = document_begin(st);
	if (!st->document)
		return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "the result");
	if (directory_make(&st->directory, st->config->directory, base, err) < 0) {
		json_decref(st->document);
		st->document = NULL;
		return -1;
	}
	rc = run_in_directory(st, path, err);
	directory_close(&st->directory);
	return rc;
}

int rd_selftest_run(const struct rd_selftest_config *config, json_t **document, char path[PATH_MAX],
	struct rd_error *err)
{
	struct rd_selftest *st = calloc(1, sizeof(*st));
	int lock, rc;

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
	rc = lock < 0 ? -1 : run_locked(st, path, err);
	if (lock >= 0)
		close(lock);
	*document = st->document;
	redacted_end(st);
	free(st);
	return rc;
}
