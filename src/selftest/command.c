/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump selftest`: runs the probes of a device. */
#include "cli/command.h"
#include "cli/cli.h"
#include "command.h"
#include "config.h"
#include <argp.h>
#include <errno.h>
#include <rdmadump/log.h>
#include <rdmadump/session.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROBES_MAX 64

struct settings {
	const char *device, *output;
	const struct rd_probe *probe[PROBES_MAX + 1];
	unsigned int n_probes;
	uint64_t vlan;
	bool json, dry_run, hash, icmd;
};

static int add_probe(struct arguments *a, const struct option_use *use, struct rd_error *err)
{
	struct settings *s = use->settings;
	const struct rd_probe *probe = rd_probe_find(use->arg);

	(void)a;
	if (!probe)
		return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
			"--probe '%s': no such probe; --dry-run lists them", use->arg);
	if (s->n_probes < PROBES_MAX)
		s->probe[s->n_probes++] = probe;
	return 0;
}

static int set_sniffer(struct arguments *a, const struct option_use *use, struct rd_error *err)
{
	struct settings *s = use->settings;

	(void)a;
	s->icmd = strcmp(use->arg, "icmd") == 0;
	return s->icmd ? 0
		       : rd_fail(err, RD_CLASS_USAGE, 0, NULL,
				 "--sniffer '%s': selftest supports icmd only", use->arg);
}

#define OPTIONS_OF struct settings

static const struct cli_option options[] = {
	{"dry-run", 0, NULL,
		"Change nothing: print what each probe would create, and how long it may take",
		FLAG(dry_run)},
	{"probe", 0, "PROBE", "Run only this probe; may be given several times", .set = add_probe},
	{"hash-addresses", 0, NULL,
		"Replace addresses and host names with random ones, and payload with zeros",
		FLAG(hash)},
	{"sniffer", 0, "icmd",
		"Test the sniffer that captures with --sniffer icmd use, through the firmware's "
		"command gateway; requires root",
		.set = set_sniffer},
	{"vlan", 0, "VID", "Send tagged frames in this VLAN (default: 0, priority tags only)",
		NUMBER(vlan, 0, 4094)},
	{"output", 0, "DIR", "Write the result to DIR", STRING(output)},
	{"json", 0, NULL, "Print JSON", FLAG(json)}, ONE_WORD(device, "selftest takes one device")};

/* --- output ------------------------------------------------------------------------------- */

static int put_json(const json_t *value, struct rd_error *err)
{
	errno = 0;
	if (!value || json_dumpf(value, stdout, JSON_INDENT(1)) || putchar('\n') == EOF)
		return rd_cli_stdout_failed(errno ? errno : ENOMEM, err);
	return 0;
}

/* The first error of standard output, which the stream does not keep. */
static int output_errno;

static void flush_output(void)
{
	errno = 0;
	if (fflush(stdout) && !output_errno)
		output_errno = errno;
}

static int end_output(struct rd_error *err)
{
	flush_output();
	if (output_errno || ferror(stdout))
		return rd_cli_stdout_failed(output_errno, err);
	return 0;
}

static int plan(
	const struct settings *s, const struct rd_selftest_config *config, struct rd_error *err)
{
	json_t *list = s->json ? selftest_plan_json(config) : NULL;
	int rc = s->json ? put_json(list, err) : 0;

	json_decref(list);
	if (!s->json)
		selftest_print_plan(config);
	return rc ? rc : end_output(err);
}

/* --- a run -------------------------------------------------------------------------------- */

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void on_began(void *ctx, const struct rd_probe *probe)
{
	char line[128];

	(void)ctx;
	if (!isatty(STDERR_FILENO))
		return;
	snprintf(line, sizeof(line), "%s: %s (at most %u s)", probe->name, probe->question,
		rd_probe_limit(probe));
	rd_cli_status(line);
}

static void on_ended(void *ctx, const json_t *result)
{
	const struct settings *s = ctx;

	if (isatty(STDERR_FILENO))
		rd_cli_status(NULL);
	if (!s->json)
		selftest_print_probe(stdout, result);
	flush_output();
}

/* Returns the exit status. */
static int run(const struct settings *s, struct rd_selftest_config *config)
{
	char path[PATH_MAX];
	struct rd_error err, later;
	json_t *document;
	int rc, status, printed = 0;

	/* A second one ends the program at once. */
	rd_cli_catch_ending(on_signal, (int)SA_RESETHAND);
	if (!s->json) {
		selftest_print_effects();
		selftest_print_heading(stdout);
	}
	flush_output();
	rc = rd_selftest_run(config, &document, path, &err);
	if (!document)
		return rd_cli_fail(&err);
	status = strcmp(json_string_value(json_object_get(document, "ended")), "complete")
			 ? RD_CLASS_PARTIAL
			 : RD_CLASS_NONE;
	if (s->json)
		printed = put_json(document, &later);
	else
		selftest_print_end(stdout, document);
	json_decref(document);
	if (rc < 0) {
		fflush(stdout);
		status = rd_cli_fail(&err);
		rd_cli_say("rdmadump: the partial result is in ", path);
		return status;
	}
	rd_log(RD_LOG_INFO, "the result is in %s", path);
	rc = printed < 0 || end_output(&later) < 0 ? rd_cli_fail(&later) : RD_CLASS_NONE;
	return rc ? rc : status;
}

static int with_port(const struct settings *s, const struct rd_devices *devices)
{
	const struct rd_wanted_port wanted = {.name = s->device};
	struct rd_selftest_config config = {.directory = s->output,
		.probes = s->n_probes ? s->probe
			  : s->icmd   ? rd_probes_of_icmd
				      : NULL,
		.vlan = (unsigned short)s->vlan,
		.icmd = s->icmd,
		.hash_addresses = s->hash,
		.stop = &stop,
		.ctx = (void *)(uintptr_t)s,
		.began = on_began,
		.ended = on_ended};
	struct rd_error err;

	if (rd_wanted_port_find(devices, &wanted, &config.device, &config.port, &err) < 0)
		return rd_cli_fail(&err);
	if (!s->dry_run)
		return run(s, &config);
	return plan(s, &config, &err) < 0 ? rd_cli_fail(&err) : RD_CLASS_NONE;
}

static int with_device(const struct settings *s)
{
	struct rd_devices devices;
	struct rd_error err;
	int status;

	if (rd_devices_load(&devices, "", &err) < 0)
		return rd_cli_fail(&err);
	status = with_port(s, &devices);
	rd_devices_free(&devices);
	return status;
}

int rd_cmd_selftest(int argc, char **argv)
{
	static const struct argp argp = {.args_doc = "[DEV[:PORT]]",
		.doc = "Tests whether a device can be captured, and how well. Creates only objects "
		       "of its own, and prints the result of each probe and what it means for "
		       "captures. Writes all details to an archive, selftest-HOST-DEV.tar.zst."};
	struct settings s = {0};

	if (rd_cli_read(options, &argp, argc, argv, &s))
		return RD_CLASS_USAGE;
	rd_cli_log(RD_LOG_INFO);
	return with_device(&s);
}
