/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The entries of the tar archive that a task of FORM_TREE wrote. */
#include "task.h"
#include <errno.h>
#include <stdlib.h>

#define FILE_BYTES 65536 /* limit per file; sysfs has no longer ones */

int redaction_failed(struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_OUTPUT, ENOMEM, NULL, "cannot redact the bundle");
}

static int redacted(
	struct rd_redact *r, struct entry e, entry_fn *fn, void *ctx, struct rd_error *err)
{
	char *name = rd_redact_path(r, e.name), *target = NULL;
	size_t n = 0;
	char *text = rd_redact_text(r, e.bytes, (size_t)e.size, &n);
	int rc = 0;

	e.size = n;
	if (e.target)
		target = rd_redact_path(r, e.target);
	/* Also behind the check of redaction_run(): no original leaves without a replacement. */
	if (!name || !text || (e.target && !target) || rd_redact_failed(r))
		rc = redaction_failed(err);
	e.name = name;
	e.target = target;
	e.bytes = text;
	if (!rc && fn)
		rc = fn(ctx, &e, err);
	free(name);
	free(target);
	free(text);
	return rc;
}

int tree_each(const struct task *t, struct rd_redact *redact, entry_fn *fn, void *ctx,
	struct rd_error *err)
{
	char path[PATH_MAX], buf[FILE_BYTES];
	struct rd_archive_entry e;
	struct rd_archive *a =
		t->output.n ? rd_archive_open_bytes(t->output.data, t->output.n) : NULL;
	int rc = 0;

	while (a && !rc && rd_archive_next(a, &e)) {
		struct entry entry = {.name = path,
			.target = e.kind == RD_ARCHIVE_LINK ? e.target : NULL,
			.kind = e.kind,
			.bytes = buf,
			.task = t};
		ssize_t got = 0;

		if (snprintf(path, sizeof(path), "%s/%s", t->name, e.path) >= (int)sizeof(path))
			continue;
		if (e.kind == RD_ARCHIVE_FILE)
			got = rd_archive_get(a, buf, sizeof(buf));
		/* A tree that was cut ends here. */
		if (got < 0)
			break;
		entry.size = (uint64_t)got;
		rc = redact ? redacted(redact, entry, fn, ctx, err) : fn(ctx, &entry, err);
	}
	rd_archive_free(a);
	return rc;
}
