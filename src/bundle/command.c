/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump bundle`: one file with what support needs. */
#include "cli/command.h"
#include "cli/cli.h"
#include "config.h"
#include "task.h"
#include <errno.h>
#include <rdmadump/json.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_MOST_S 600

static int add_file(const struct option_use *use, struct rd_error *err)
{
	struct rd_bundle_config *s = use->settings;

	if (strcmp(use->arg, "-") == 0 || !*use->arg)
		return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
			"--file '%s': give the name of a capture file", use->arg);
	if (s->n_files == RD_BUNDLE_FILES)
		return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
			"--file '%s': a bundle has at most %d files", use->arg, RD_BUNDLE_FILES);
	s->files[s->n_files++] = use->arg;
	return 0;
}

static void check(const struct rd_bundle_config *s, struct argp_state *state)
{
	static const char *const others[] = {".zip", ".tar", ".gz", ".tgz", ".xz", ".bz2", ".7z"};
	const char *dot = s->output ? strrchr(s->output, '.') : NULL;

	if (dot && RD_ANY(other, others, RD_COUNT(others), !strcmp(*other, dot)))
		rd_cli_usage_error(state->name,
			"-w '%s': a bundle is a tar file that is compressed by zstd: name it "
			".tar.zst",
			s->output);
	if (s->device && !s->capture_s && !s->part)
		rd_cli_usage_error(state->name,
			"'%s': a bundle has all devices; to capture on one: --capture SECONDS",
			s->device);
	if (s->map && !s->redact)
		rd_cli_usage_error(state->name,
			"--redact-map '%s': without --redact nothing is replaced", s->map);
	if (s->map && (!*s->map || strcmp(s->map, "-") == 0))
		rd_cli_usage_error(
			state->name, "--redact-map '%s': give the name of a file", s->map);
	if (s->redact && !s->map && s->output && strcmp(s->output, "-") == 0)
		rd_cli_usage_error(state->name,
			"--redact with -w -: say where the map goes (--redact-map FILE)");
	if (s->map && s->output && strcmp(s->map, s->output) == 0)
		rd_cli_usage_error(state->name, "--redact-map and --write both name '%s'", s->map);
	if (s->json && s->output && strcmp(s->output, "-") == 0 && !s->dry_run)
		rd_cli_usage_error(state->name, "--json and -w - both write to standard output");
}

#define OPTIONS_OF struct rd_bundle_config

static const struct cli_option options[] = {
	{"write", 'w', "FILE",
		"Write the bundle to FILE; '-' is standard output (default: "
		"rdmadump-bundle-HOST-DATE.tar.zst)",
		STRING(output)},
	{"capture", 0, "SECONDS",
		"Include a capture of the port's traffic, without payload, and its analysis",
		NUMBER(capture_s, 1, RD_BUNDLE_CAPTURE_MOST_S)},
	{"file", 0, "FILE",
		"Include this capture file, and its analysis; may be given several times",
		.set = add_file},
	{"dry-run", 0, NULL,
		"Collect nothing: print what the bundle would contain, and the commands",
		FLAG(dry_run)},
	{"json", 0, NULL, "Print the manifest as JSON", FLAG(json)},
	{"redact", 0, NULL,
		"Replace addresses, names of hosts and users, and serial numbers in all members; "
		"zero the payload of captures",
		FLAG(redact)},
	{"redact-map", 0, "FILE",
		"Write the map of originals and replacements to FILE; keep it private (default: "
		"the bundle's name and .map)",
		STRING(map)},
	{"timeout", 0, "SECONDS",
		"Time limit of one tool (default 4); what this program reads by itself may take "
		"three times as long; tools that open an adapter may take 60 s",
		NUMBER(limit_s, 1, LIMIT_MOST_S)},
	{"part", 0, "NAME", "", STRING(part), .flags = OPT_HIDDEN},
	ONE_WORD(device, "bundle takes one device")};

static error_t parse_other(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key == ARGP_KEY_END)
		check(state->input, state);
	return ARGP_ERR_UNKNOWN;
}

/* --- printing ----------------------------------------------------------------------------- */

static void print_plan(const json_t *manifest)
{
	const json_t *m;
	size_t i;

	json_array_foreach (json_object_get(manifest, "members"), i, m) {
		rd_printable_put(stdout, rd_json_text_of(m, "name"), SIZE_MAX);
		printf(": %s%s\n    ", rd_json_text_of(m, "what"),
			json_is_true(json_object_get(m, "needs_root")) && geteuid()
				? " (needs root to be complete)"
				: "");
		rd_printable_put(stdout, rd_json_text_of(m, "command"), SIZE_MAX);
		putchar('\n');
	}
	json_array_foreach (json_object_get(manifest, "not_taken"), i, m) {
		printf("not ");
		rd_printable_put(stdout, rd_json_text_of(m, "name"), SIZE_MAX);
		printf(": %s\n", rd_json_text_of(m, "why"));
	}
}

#define JSON_FLAGS (JSON_INDENT(1) | JSON_REAL_PRECISION(9))

/* A capture or its analysis; a row of the table that nobody requested still has its "@". */
static bool was_requested(const json_t *missing)
{
	const char *name = rd_json_text_of(missing, "name");

	return !strchr(name, '@') &&
	       (strncmp(name, "captures/", 9) == 0 || strncmp(name, "analysis/", 9) == 0) &&
	       strncmp(rd_json_text_of(missing, "why"), "not requested", 13) != 0;
}

/* What is missing, on standard error: the bundle itself may be on standard output. */
static void report(const struct rd_bundle_config *s, const json_t *manifest, const char *path)
{
	const bool named = strcmp(path, "-") != 0;
	unsigned int failed = 0;
	bool no_capture = false;
	const json_t *m;
	size_t i;

	json_array_foreach (json_object_get(manifest, "not_taken"), i, m) {
		bool is_capture = strncmp(rd_json_text_of(m, "name"), "captures/", 9) == 0;

		failed += json_is_true(json_object_get(m, "failed"));
		/* Without a capture there is nothing to analyse. */
		rd_log(was_requested(m) && (is_capture || !no_capture) ? RD_LOG_WARNING
								       : RD_LOG_DEBUG,
			"missing or incomplete: %s: %s", rd_json_text_of(m, "name"),
			rd_json_text_of(m, "why"));
		no_capture |= is_capture && was_requested(m);
	}
	rd_log(RD_LOG_INFO, "%s is complete: %s", named ? path : "the bundle",
		rd_json_text_of(manifest, "headline"));
	json_array_foreach (json_object_get(manifest, "verdicts"), i, m) {
		rd_log(RD_LOG_INFO, "%s: %s", rd_json_text_of(m, "member"),
			rd_json_text_of(m, "what"));
	}
	rd_log(RD_LOG_INFO, "to read it: tar -xf %s, then open %s/index.html in a browser",
		named ? path : "FILE", rd_json_text_of(manifest, "bundle"));
	if (failed)
		rd_log(RD_LOG_INFO, "%u member%s failed or incomplete: index.html says why", failed,
			rd_plural(failed));
	if (s->redact)
		rd_log(RD_LOG_INFO, "%s%s maps replacements to originals: keep it private",
			s->map ? s->map : path, s->map ? "" : ".map");
	if (geteuid())
		rd_log(RD_LOG_INFO, "run it as root for what only root may read");
}

/* --- a run -------------------------------------------------------------------------------- */

static void on_progress(unsigned int done, unsigned int all, const char *doing)
{
	char line[100];

	snprintf(line, sizeof(line), "  %u of %u: %.60s", done, all, doing);
	rd_cli_status(line);
}

static int create(const struct rd_bundle_config *s, struct rd_error *err)
{
	char path[PATH_MAX];
	json_t *manifest;
	int rc;

	rd_cli_catch_ending(0);
	rc = rd_bundle_create(s, path, &manifest, err);
	rd_cli_status(NULL);
	if (rc < 0)
		return -1;
	report(s, manifest, path);
	if (s->json)
		return rd_cli_put_json(manifest, JSON_FLAGS, err);
	json_decref(manifest);
	return 0;
}

static int plan(const struct rd_bundle_config *s, struct rd_error *err)
{
	json_t *manifest = rd_bundle_plan(s);

	if (!manifest)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot plan the bundle");
	if (s->json)
		return rd_cli_put_json(manifest, JSON_FLAGS, err);
	print_plan(manifest);
	json_decref(manifest);
	return 0;
}

static int check_given(const char *path, struct rd_error *err)
{
	int fd = open_given(path);

	if (fd < 0 && errno)
		return rd_fail(
			err, RD_CLASS_DEVICE, errno, rd_open_advice(errno), "--file '%s'", path);
	if (fd < 0)
		return rd_fail(err, RD_CLASS_DEVICE, 0, "give the name of a capture file",
			"--file '%s' is not a regular file", path);
	close(fd);
	return 0;
}

/* Before any work: captures that exist, an output that is neither one nor any other capture. */
static int check_files(const struct rd_bundle_config *s, struct rd_error *err)
{
	struct rd_inputs inputs = {.n = 0};

	for (unsigned int i = 0; i < s->n_files; i++) {
		if (check_given(s->files[i], err) < 0)
			return -1;
		rd_inputs_add(&inputs, s->files[i]);
	}
	if (s->map && report_file_check(s->map, "--redact-map", &inputs, err) < 0)
		return -1;
	if (!s->output || strcmp(s->output, "-") == 0)
		return 0;
	return report_file_check(s->output, "--write", &inputs, err);
}

/*
 * Only a path from the root is replaced as a name: "captures" alone would be replaced in the names
 * of members, too.
 */
static int name_directories(struct rd_bundle_config *s, struct rd_error *err)
{
	static char whole[RD_BUNDLE_FILES][PATH_MAX];
	char here[PATH_MAX];

	for (unsigned int i = 0; s->redact && i < s->n_files; i++) {
		if (*s->files[i] == '/' || !strchr(s->files[i], '/'))
			continue;
		errno = ENAMETOOLONG;
		if (!getcwd(here, PATH_MAX) ||
			snprintf(whole[i], PATH_MAX, "%s/%s", here, s->files[i]) >= PATH_MAX)
			return rd_fail(err, RD_CLASS_DEVICE, errno, "give its path from the root",
				"--file '%s': cannot name its directory", s->files[i]);
		s->files[i] = whole[i];
	}
	return 0;
}

static int run(struct rd_bundle_config *s, struct rd_error *err)
{
	const struct rd_wanted_port wanted = {.name = s->device};
	char port_name[RD_NAME_MAX + 16];
	const struct rd_device *device;
	const struct rd_port *port;

	if (check_files(s, err) < 0)
		return -1;
	if (s->capture_s) {
		if (rd_wanted_port_find(s->devices, &wanted, &device, &port, err) < 0)
			return -1;
		snprintf(port_name, sizeof(port_name), "%s:%u", device->name, port->num);
		s->capture_port = port_name;
	}
	if (s->dry_run)
		return plan(s, err);
	if (s->output && strcmp(s->output, "-") == 0 && isatty(STDOUT_FILENO))
		return rd_fail(err, RD_CLASS_USAGE, 0, "redirect it to a file",
			"-w -: standard output is a terminal");
	return name_directories(s, err) < 0 ? -1 : create(s, err);
}

int rd_cmd_bundle(int argc, char **argv)
{
	static const struct argp argp = {.parser = parse_other,
		.args_doc = "[DEV[:PORT]]",
		.doc = "Collects in one file what support needs: machine, modules, packages, "
		       "devices, counters, a copy of sysfs, kernel messages, output of installed "
		       "tools, and optionally a capture with its analysis. Start with index.html "
		       "in it. DEV is the device of --capture; the rest covers all devices."};
	struct rd_devices devices;
	struct rd_bundle_config s = {.limit_s = RD_BUNDLE_LIMIT_S,
		.adapter_s = RD_BUNDLE_ADAPTER_S,
		.devices = &devices,
		.stop = &rd_cli_ended,
		.progress = on_progress};
	struct rd_error err;
	int rc;

	if (rd_cli_read(options, &argp, argc, argv, &s))
		return RD_CLASS_USAGE;
	rd_cli_log(RD_LOG_INFO);
	if (s.part)
		return rd_bundle_part(s.part, STDOUT_FILENO, &err) < 0 ? rd_cli_fail(&err)
								       : RD_CLASS_NONE;
	if (rd_devices_load(&devices, "", &err) < 0)
		return rd_cli_fail(&err);
	rc = run(&s, &err);
	rd_devices_free(&devices);
	return rc < 0 ? rd_cli_fail(&err) : RD_CLASS_NONE;
}
