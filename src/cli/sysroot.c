/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads devices from a copied tree, with the rights of the user who called sudo. */
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

int run_on_tree(
	const char *sysroot, int (*run)(void *settings, struct rd_error *err), void *settings)
{
	struct rd_error err = {0};
	int rc = *sysroot ? run_as_caller(run, settings, &err) : run(settings, &err);

	return rc < 0 ? rd_cli_fail(&err) : RD_CLASS_NONE;
}
