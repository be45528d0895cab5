/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options of a capture that contradict each other. */
#include "options.h"
#include <rdmadump/spawn.h>
#include <unistd.h>

/* One contradiction, and its message. */
struct contradiction {
	bool holds;
	const char *message;
};

static int report_first(const struct contradiction *c, size_t n, struct rd_error *err)
{
	for (size_t i = 0; i < n; i++)
		if (c[i].holds)
			return rd_fail(err, RD_CLASS_USAGE, 0, NULL, "%s", c[i].message);
	return 0;
}
#define REPORT_FIRST(list, err) report_first(list, RD_COUNT(list), err)

static int check_input(const struct capture_options *o, struct rd_error *err)
{
	const struct contradiction list[] = {
		{o->session.read && o->session.n_wanted,
			"-r reads a file, -d and -i name a device: give one of them"},
		{o->session.netdev_only && o->session.sniffer_only,
			"--netdev and --sniffer exclude each other"},
		{o->session.port_sniffer && !o->session.n_wanted,
			"--sniffer icmd changes the adapter: name it with -d"},
		{o->session.cut.headers_only && o->session.cut.zero_payload,
			"--headers-only and --zero-payload exclude each other"},
		{o->session.read && o->session.device.stamps != RD_STAMPS_AUTO,
			"-r: the frames of a file have timestamps already: leave -j out"},
		{o->filter_file && o->words,
			"the filter is given by -F and on the command line: give one"},
		{o->session.queues && o->session.read,
			"--queues: not with -r, which opens no device"},
	};

	return REPORT_FIRST(list, err);
}

static int check_output(const struct capture_options *o, struct rd_error *err)
{
	bool rotates = o->session.out.rotation.bytes || o->session.out.rotation.frames ||
		       o->session.slice_s;
	bool named = o->session.out.path && !capture_to_pipe(o);
	const char *packed = o->session.out.compression ? o->session.out.compression
			     : o->session.out.path	? rd_compression_of(o->session.out.path)
							: NULL;
	const struct contradiction list[] = {
		{o->session.out.compression_level && (!packed || !strcmp(packed, "none")),
			"--compress-level is of a compressed file: give -w FILE.zst, or "
			"--compress"},
		{rotates && !named,
			"a series of files needs a name, not standard output: give -w FILE"},
		{(o->files || o->session.out.rotation.ring) && !rotates,
			"-W and -b files:N count files: give -C or -G too"},
		{o->session.out.hold && rotates,
			"-M writes one file at the end: not with -C, -G or -b KEY:VALUE"},
		{capture_to_pipe(o) && o->json && o->print,
			"-w - takes standard output: not with --json and -v together"},
		{o->only_count && (o->session.out.path || o->print || o->analyze || o->json),
			"--count prints a number only: not with -w, -v, --analyze or --json"},
		{capture_to_pipe(o) && isatty(STDOUT_FILENO),
			"-w -: standard output is a terminal; give a file, or another program: "
			"rdmadump -w - | tshark -r -"},
	};

	if (o->session.format && rd_format_check(o->session.format, err) < 0)
		return -1;
	if (o->session.out.path && !o->session.out.compression &&
		rd_compression_check(o->session.out.path, err) < 0)
		return -1;
	if (rd_spawn_check("-z", o->session.out.rotation.command, err) < 0)
		return -1;
	return REPORT_FIRST(list, err);
}

int options_check(const struct capture_options *o, struct rd_error *err)
{
	return check_input(o, err) < 0 || check_output(o, err) < 0 ? -1 : 0;
}
