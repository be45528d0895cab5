/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads devices from a bundle, or from a copied tree. */
#include "read_back.h"
#include "cli.h"
#include <rdmadump/identity.h>

int run_as_caller(int (*run)(void *ctx, struct rd_error *err), void *ctx, struct rd_error *err)
{
	struct rd_identity_before before;
	struct rd_identity caller;
	int rc;

	if (rd_identity_choose(&caller, NULL, err) < 0 ||
		rd_identity_assume(&caller, &before, err) < 0)
		return -1;
	rc = run(ctx, err);
	rd_identity_resume(&before);
	return rc;
}

static int run_within(struct tree_settings *tree, int (*run)(void *settings, struct rd_error *err),
	void *settings, struct rd_error *err)
{
	struct rd_bundle b;
	int rc;

	if (!tree->bundle)
		return *tree->sysroot ? run_as_caller(run, settings, err) : run(settings, err);
	if (*tree->sysroot)
		return rd_fail(err, RD_CLASS_USAGE, 0, "give one of them",
			"--bundle '%s' and --sysroot '%s' both name a tree", tree->bundle,
			tree->sysroot);
	if (rd_bundle_open(&b, tree->bundle, RD_BUNDLE_TREE, err) < 0)
		return -1;
	tree->sysroot = b.sysroot;
	rc = run(settings, err);
	rd_bundle_close(&b);
	return rc;
}

int bundle_read_back(struct tree_settings *tree, int (*run)(void *settings, struct rd_error *err),
	void *settings)
{
	struct rd_error err = {0};

	return run_within(tree, run, settings, &err) < 0 ? rd_cli_fail(&err) : RD_CLASS_NONE;
}
