/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Setters of options that need more than the fields of their rows. */
#include "commands.h"
#include "options.h"
#include <ctype.h>
#include <errno.h>
#include <rdmadump/identity.h>
#include <rdmadump/units.h>
#include <stdlib.h>

#define FILTER_FILE_MAX 65536
#define LIST_PLACES_MAX 4096

/* --- sources ---------------------------------------------------------------------------- */

static int add_wanted(
	struct capture_options *o, const char *name, unsigned int nth, struct rd_error *err)
{
	if (o->session.n_wanted == RD_IFACES_MAX)
		return rd_fail(err, RD_CLASS_USAGE, 0, NULL, "more than %d devices", RD_IFACES_MAX);
	o->wanted[o->session.n_wanted++] = (struct rd_wanted_port){.name = name, .nth = nth};
	return 0;
}

int set_device(const struct option_use *use, struct rd_error *err)
{
	return add_wanted(use->settings, use->arg, 0, err);
}

/* A number is the port of the -d before it; without one, a place in the list. */
int set_interface(const struct option_use *use, struct rd_error *err)
{
	struct capture_options *o = use->settings;
	struct rd_wanted_port *last =
		o->session.n_wanted ? &o->wanted[o->session.n_wanted - 1] : NULL;
	uint64_t n;

	if (!isdigit((unsigned char)use->arg[0]) || strpbrk(use->arg, ":."))
		return add_wanted(o, use->arg, 0, err);
	if (rd_parse_u64(use->arg, 1, LIST_PLACES_MAX, &n))
		return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
			"%s: '%s' is not a whole number from 1 to %d", use->as, use->arg,
			LIST_PLACES_MAX);
	if (!last || !last->name || last->port)
		return add_wanted(o, NULL, (unsigned int)n, err);
	last->port = (unsigned int)n;
	return 0;
}

int set_sniffer(const struct option_use *use, struct rd_error *err)
{
	struct rd_session_config *session = option_field(use);

	session->port_sniffer = strcmp(use->arg, "icmd") == 0;
	session->sniffer_only = true;
	if (session->port_sniffer || strcmp(use->arg, "verbs") == 0)
		return 0;
	return rd_fail(
		err, RD_CLASS_USAGE, 0, NULL, "%s: '%s' is not verbs or icmd", use->as, use->arg);
}

int set_queues(const struct option_use *use, struct rd_error *err)
{
	struct capture_options *o = use->settings;

	o->session.queues_auto = strcmp(use->arg, "auto") == 0;
	o->session.queues = 1;
	return o->session.queues_auto ? 0 : set_number(use, err);
}

/* --- frames ----------------------------------------------------------------------------- */

int options_add_word(struct capture_options *o, const char *word, struct rd_error *err)
{
	size_t had = o->words ? strlen(o->words) : 0;
	char *words = realloc(o->words, had + strlen(word) + 2);

	if (!words)
		return rd_fail(err, RD_CLASS_USAGE, ENOMEM, NULL, "the filter is too long");
	sprintf(words + had, "%s%s", had ? " " : "", word);
	o->words = words;
	return 0;
}

int set_word(const struct option_use *use, struct rd_error *err)
{
	return options_add_word(use->settings, use->arg, err);
}

/* The text lives as long as the program. */
int set_filter_file(const struct option_use *use, struct rd_error *err)
{
	struct capture_options *o = use->settings;
	int fd = rd_open_input(use->arg, 0);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	char *text = f ? calloc(1, FILTER_FILE_MAX) : NULL, *hash;
	size_t n = text ? fread(text, 1, FILTER_FILE_MAX - 1, f) : 0;
	int rc = 0;

	if (!text || ferror(f))
		rc = rd_fail(err, RD_CLASS_USAGE, errno, "name a file that has a filter expression",
			"cannot read the filter in '%s'", use->arg);
	else if (n == FILTER_FILE_MAX - 1)
		rc = rd_fail(err, RD_CLASS_USAGE, 0, NULL,
			"the filter in '%s' is longer than %d bytes", use->arg,
			FILTER_FILE_MAX - 1);
	if (f)
		fclose(f);
	/* Comments, as netsniff-ng and bpf files have them; no operator begins with '#'. */
	while (rc == 0 && (hash = strchr(text, '#')))
		memset(hash, ' ', strcspn(hash, "\n"));
	o->filter_file = text;
	o->session.filter.expression_file = use->arg;
	return rc;
}

int set_snaplen(const struct option_use *use, struct rd_error *err)
{
	struct capture_options *o = use->settings;

	if (!isdigit((unsigned char)use->arg[0]) && strcmp(use->as, "-s") == 0)
		return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
			"-s: '%s' is not a number of bytes; ibdump's -s is called --silent here",
			use->arg);
	if (set_number(use, err) < 0)
		return -1;
	if (o->session.cut.snaplen == SNAPLEN_MAX)
		o->session.cut.snaplen = 0;
	return 0;
}

/* --- output ----------------------------------------------------------------------------- */

int set_file_size(const struct option_use *use, struct rd_error *err)
{
	struct capture_options *o = use->settings;

	o->by_size = true;
	return set_size(use, err);
}

/* --- memory ----------------------------------------------------------------------------- */

/* dumpcap's -b and ibdump's. */
int set_burst_or_ring(const struct option_use *use, struct rd_error *err)
{
	if (strchr(use->arg, ':'))
		return option_ring_buffer(use->settings, use->arg, err);
	if (set_number(use, NULL) == 0)
		return 0;
	return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
		"%s: '%s' is not a whole number from %u to %u, the log2 of the number of buffers",
		use->as, use->arg, (unsigned int)use->min, (unsigned int)use->max);
}

int set_buffer_size(const struct option_use *use, struct rd_error *err)
{
	if (!isdigit((unsigned char)use->arg[0]) && strcmp(use->as, "-p") == 0)
		return rd_fail(err, RD_CLASS_USAGE, 0, NULL,
			"-p: '%s' is not a size; tcpdump's -p is called --no-promiscuous-mode here",
			use->arg);
	return set_size(use, err);
}

int set_mem_mode(const struct option_use *use, struct rd_error *err)
{
	struct capture_options *o = use->settings;

	o->session.out.hold = true;
	o->session.when_full = RD_FULL_END;
	return set_size(use, err);
}

/* --- messages --------------------------------------------------------------------------- */

/* row->min: enum instead. */
int set_instead(const struct option_use *use, struct rd_error *err)
{
	struct capture_options *o = use->settings;

	(void)err;
	o->instead = (enum instead)use->row->min;
	return 0;
}
