/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sysfs trees for tests: unpacked from TEST_DATA/sysfs, or written file by file. */
#pragma once

#include "test.h"
#include <limits.h>

/* One at a time: making one removes the one before, and the last goes as the program ends. */
static struct {
	char root[64];
} tree;

static void tree_remove(void)
{
	char command[256];

	if (!*tree.root)
		return;
	snprintf(command, sizeof(command),
		"rm -rf '%s' 2>/dev/null || { chmod -R u+rwX '%s'; rm -rf '%s'; }", tree.root,
		tree.root, tree.root);
	*tree.root = '\0';
	if (system(command))
		abort();
}

static inline void tree_make(void)
{
	static bool removed;

	if (!removed)
		atexit(tree_remove);
	removed = true;
	tree_remove();
	strcpy(tree.root, "/tmp/rdmadump-test-XXXXXX");
	assert_non_null(mkdtemp(tree.root));
}

static inline void tree_unpack(const char *name)
{
	const char *data = getenv("TEST_DATA");
	char command[PATH_MAX + 128];

	if (!data)
		fail_msg("TEST_DATA is not set");
	tree_make();
	snprintf(command, sizeof(command), "tar -xzf '%s/sysfs/%s.tar.gz' -C '%s'", data, name,
		tree.root);
	if (system(command))
		fail_msg("%s", command);
}

/* Makes the directories above `path`, which is relative to the tree; returns the full path. */
static inline const char *tree_path(const char *path)
{
	static char full[PATH_MAX + 64];

	snprintf(full, sizeof(full), "%s/%s", tree.root, path);
	for (char *p = full + strlen(tree.root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	return full;
}

static inline void tree_write(const char *path, const char *bytes, size_t n)
{
	FILE *f = fopen(tree_path(path), "w");
	const size_t put = f ? fwrite(bytes, 1, n, f) : 0;
	const int failed = f ? fclose(f) : EOF;

	same(put, n, failed, 0);
}

static inline void tree_text(const char *path, const char *text)
{
	tree_write(path, text, strlen(text));
}

static inline void tree_link(const char *path, const char *target)
{
	assert_int_equal(symlink(target, tree_path(path)), 0);
}
