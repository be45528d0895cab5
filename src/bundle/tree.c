/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the tar archive that a task of FORM_TREE wrote. */
#include "task.h"

#define FILE_BYTES 65536 /* limit per file; sysfs has no longer ones */

int tree_each(const struct task *t, tree_fn *fn, void *ctx, struct rd_error *err)
{
	char path[PATH_MAX], buf[FILE_BYTES];
	struct rd_archive_entry e;
	struct rd_archive *a =
		t->output.n ? rd_archive_open_bytes(t->output.data, t->output.n) : NULL;
	int rc = 0;

	while (a && !rc && rd_archive_next(a, &e)) {
		size_t n = 0;
		ssize_t got = 0;

		if (snprintf(path, sizeof(path), "%s/%s", t->name, e.path) >= (int)sizeof(path))
			continue;
		while (e.kind == RD_ARCHIVE_FILE && n < sizeof(buf) &&
			(got = rd_archive_get(a, buf + n, sizeof(buf) - n)) > 0)
			n += (size_t)got;
		/* A tree that was cut ends here. */
		if (got < 0)
			break;
		e.path = path;
		rc = fn(ctx, t, &e, buf, n, err);
	}
	rd_archive_free(a);
	return rc;
}
