/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of parts. */
#include "parts.h"
#include "task.h"
#include <errno.h>
#include <rdmadump/clock.h>
#include <rdmadump/document.h>
#include <string.h>
#include <unistd.h>

static const struct part {
	const char *name;
	part_fn *make; /* NULL: part_sysroot() */
} parts[] = {
	{"host", part_host},
	{"modules", part_modules},
	{"environment", part_environment},
	{"names", part_names}, /* not a member: for redaction */
	{"sysroot", NULL},
};

static int write_json(json_t *document, int fd, struct rd_error *err)
{
	int rc = document ? json_dumpfd(document, fd, JSON_INDENT(1)) : -1;

	json_decref(document);
	if (rc == 0 && write(fd, "\n", 1) == 1)
		return 0;
	return rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot write the part");
}

int rd_bundle_part(const char *name, int fd, struct rd_error *err)
{
	const struct part *p = parts;
	struct rd_devices devices;
	json_t *document;
	int rc = -1;

	while (p < parts + RD_COUNT(parts) && strcmp(p->name, name) != 0)
		p++;
	if (p == parts + RD_COUNT(parts))
		return rd_fail(
			err, RD_CLASS_USAGE, 0, NULL, "'%s' is not a part of a bundle", name);
	if (rd_devices_load(&devices, "", err) < 0)
		return -1;
	if (!p->make) {
		rc = part_sysroot(&devices, fd, err);
	} else {
		document = p->make(&devices, err);
		/* "names" is a list, which only the redaction reads. */
		if (json_is_object(document))
			rc = write_json(rd_document(1, rd_wall_ns(), document), fd, err);
		else if (document)
			rc = write_json(document, fd, err);
	}
	rd_devices_free(&devices);
	return rc;
}
