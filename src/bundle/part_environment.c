/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Environment variables that configure verbs, NCCL, UCX and libfabric: of this process and of the
 * owners of queue pairs. No other variable is stored.
 */
#include "../device/sysfs.h"
#include "parts.h"
#include <errno.h>
#include <rdmadump/json.h>
#include <rdmadump/resource.h>
#include <stdlib.h>
#include <string.h>

#define ENVIRONMENT_BYTES ((size_t)1 << 20) /* limit of one process */
#define OWNERS_MAX	  256

extern char **environ;

static bool changes_verbs(const char *variable)
{
	static const char *const starts[] = {
		"RDMAV_", "MLX5_", "MLX4_", "IBV_", "RDMA_", "NCCL_", "UCX_", "FI_"};

	return RD_ANY(s, starts, RD_COUNT(starts), strncmp(variable, *s, strlen(*s)) == 0);
}

static void add_variable(json_t *variables, const char *variable)
{
	size_t n = strcspn(variable, "=");
	char name[256];

	if (!changes_verbs(variable) || !variable[n] || n >= sizeof(name))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)n, variable);
	json_object_set_new(variables, name, rd_json_string(variable + n + 1));
}

static json_t *own_variables(void)
{
	json_t *variables = json_object();

	for (char **v = environ; v && *v; v++)
		add_variable(variables, *v);
	return variables;
}

/* The environment of an owner; null, with the reason, if this user may not read it. */
static json_t *owner(const struct rd_qp_res *qp)
{
	char *text = malloc(ENVIRONMENT_BYTES);
	json_t *variables, *why;
	int n = -1;

	if (text)
		n = (int)rd_sysfs_file(text, ENVIRONMENT_BYTES - 1, "/proc/%u/environ", qp->pid);
	why = n < 0 ? json_string(strerror(errno)) : json_null();
	variables = n < 0 ? json_null() : json_object();
	for (int at = 0; at < n; at += (int)strlen(text + at) + 1)
		add_variable(variables, text + at);
	free(text);
	return json_pack("{s:I, s:o, s:o, s:o, s:o}", "pid", (json_int_t)qp->pid, "comm",
		rd_json_text(qp->comm), "device", rd_json_string(qp->device), "variables",
		variables, "unknown", why);
}

static bool is_listed(const struct rd_resources *r, size_t at)
{
	return RD_ANY(q, r->qps, at, q->pid == r->qps[at].pid);
}

json_t *part_environment(const struct rd_devices *devices, struct rd_error *err)
{
	json_t *owners = json_array(), *why = json_null();
	struct rd_resources r;

	if (rd_resources_load(&r, NULL, err) < 0) {
		json_decref(why);
		why = rd_json_string(err->text);
	}
	for (size_t i = 0; i < devices->n; i++)
		if (rd_resources_unlisted(&r, devices->dev[i].name)) {
			json_decref(why);
			why = rd_json_string("a device has too many queue pairs to list them");
		}
	for (size_t i = 0; i < r.n_qps && json_array_size(owners) < OWNERS_MAX; i++)
		if (r.qps[i].pid && !is_listed(&r, i))
			json_array_append_new(owners, owner(&r.qps[i]));
	rd_resources_free(&r);
	return json_pack(
		"{s:o, s:o, s:o}", "own", own_variables(), "owners", owners, "owners_unknown", why);
}
