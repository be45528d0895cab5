/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmadump selftest`: runs the probes of a device. */
#include "cli/command.h"
#include "cli/cli.h"
#include "config.h"
#include "selftest.h"
#include <string.h>

static int add_probe(const struct option_use *use, struct rd_error *err)
{
	struct rd_selftest_config *c = use->settings;
	const struct rd_probe *probe = rd_probe_find(use->arg);

	if (!probe)
		return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
			"--probe '%s': no such probe; --dry-run lists them", use->arg);
	if (c->n_probes < PROBES_MAX)
		c->probe[c->n_probes++] = probe;
	return 0;
}

#define OPTIONS_OF struct rd_selftest_config

static const struct cli_option options[] = {
	{"dry-run", 0, NULL,
		"Change nothing: print what each probe would create, and how long it may take",
		FLAG(dry_run)},
	{"probe", 0, "PROBE", "Run only this probe; may be given several times", .set = add_probe},
	{"hash-addresses", 0, NULL,
		"Replace addresses and host names with random ones, and payload with zeros",
		FLAG(hash_addresses)},
	{"sniffer", 0, "icmd",
		"Test the sniffer that captures with --sniffer icmd use, through the firmware's "
		"command gateway; requires root",
		WORD(sniffer, "icmd")},
	{"vlan", 0, "VID", "Send tagged frames in this VLAN (default: 0, priority tags only)",
		NUMBER(vlan, 0, 4094)},
	{"output", 0, "DIR", "Write the result to DIR", STRING(directory)},
	{"json", 0, NULL, "Print JSON", FLAG(json)}, ONE_WORD(name, "selftest takes one device")};

/* Returns the exit status. */
static int run(const struct rd_selftest_config *config)
{
	char path[PATH_MAX];
	struct rd_error err, later;
	json_t *document;
	int rc, status, printed;

	/* A second one ends the program at once. */
	rd_cli_catch_ending((int)SA_RESETHAND);
	print_beginning(config);
	rc = rd_selftest_run(config, &document, path, &err);
	if (!document)
		return rd_cli_fail(&err);
	status = strcmp(json_string_value(json_object_get(document, "ended")), "complete")
			 ? RD_CLASS_PARTIAL
			 : RD_CLASS_NONE;
	printed = print_end(config, document, &later);
	if (rc < 0) {
		status = rd_cli_fail(&err);
		rd_cli_say("rdmadump: the partial result is in ", path);
		return status;
	}
	rd_log(RD_LOG_INFO, "the result is in %s", path);
	rc = printed < 0 ? rd_cli_fail(&later) : RD_CLASS_NONE;
	return rc ? rc : status;
}

int rd_cmd_selftest(int argc, char **argv)
{
	static const struct argp argp = {.args_doc = "[DEV[:PORT]]",
		.doc = "Tests whether a device can be captured, and how well. Creates only objects "
		       "of its own, and prints the result of each probe and what it means for "
		       "captures. Writes all details to an archive, selftest-HOST-DEV.tar.zst."};
	struct rd_selftest_config config = {0};
	struct rd_wanted_port wanted = {0};
	struct rd_devices devices;
	struct rd_error err;
	int status;

	if (rd_cli_read(options, &argp, argc, argv, &config))
		return RD_CLASS_USAGE;
	rd_cli_log(RD_LOG_INFO);
	if (rd_devices_load(&devices, "", &err) < 0)
		return rd_cli_fail(&err);
	wanted.name = config.name;
	if (rd_wanted_port_find(&devices, &wanted, &config.device, &config.port, &err) < 0)
		status = rd_cli_fail(&err);
	else if (config.dry_run)
		status = print_plan(&config, &err) < 0 ? rd_cli_fail(&err) : RD_CLASS_NONE;
	else
		status = run(&config);
	rd_devices_free(&devices);
	return status;
}
