/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The copy of sysfs, as a tar archive. */
#include "parts.h"
#include <errno.h>
#include <rdmadump/archive.h>
#include <rdmadump/log.h>
#include <rdmadump/tree.h>
#include <time.h>

struct copy {
	struct rd_archive *a;
	struct rd_error *err;
	int64_t time;
};

static int copy_item(void *ctx, const struct rd_tree_item *item)
{
	static const enum rd_archive_kind kinds[] = {[RD_TREE_FILE] = RD_ARCHIVE_FILE,
		[RD_TREE_DIRECTORY] = RD_ARCHIVE_DIRECTORY,
		[RD_TREE_LINK] = RD_ARCHIVE_LINK};
	struct copy *c = ctx;
	struct rd_archive_entry e = {
		.path = item->path, .target = item->bytes, .size = item->n, .time = c->time};

	if (item->kind == RD_TREE_UNREADABLE) {
		rd_log(RD_LOG_WARNING, "this user may not read %s", item->path);
		return 0;
	}
	if (item->kind == RD_TREE_CUT) {
		rd_log(RD_LOG_WARNING, "there are more than %d files: the tree is cut",
			RD_TREE_ITEMS);
		return 0;
	}
	e.kind = kinds[item->kind];
	if (rd_archive_put_entry(c->a, &e, c->err) < 0)
		return -1;
	return e.kind == RD_ARCHIVE_FILE ? rd_archive_put(c->a, item->bytes, item->n, c->err) : 0;
}

int part_sysroot(const struct rd_devices *devices, int fd, struct rd_error *err)
{
	struct copy c = {.err = err, .time = time(NULL)};
	int rc;

	if (rd_archive_create(&c.a, fd, false, "sysroot", NULL, err) < 0)
		return -1;
	*err = (struct rd_error){.class = RD_CLASS_NONE};
	rc = rd_tree_walk(devices, copy_item, &c);
	if (rc && err->class == RD_CLASS_NONE)
		rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot copy sysfs");
	if (!rc)
		rc = rd_archive_finish(c.a, err);
	rd_archive_free(c.a);
	return rc;
}
