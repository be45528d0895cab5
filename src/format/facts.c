/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A list of facts: JSON texts that are to be stored in a capture file; names that they use. */
#include <rdmadump/facts.h>
#include <rdmadump/job.h>
#include <rdmadump/memory.h>
#include <stdlib.h>
#include <string.h>

#define KEEPING 64 /* bytes of memory per text besides the text itself, approximately */

const char *const rd_job_names[RD_JOB_KEYS] = {
	[RD_JOB_SLURM_JOB_ID] = "SLURM_JOB_ID",
	[RD_JOB_SLURM_PROCID] = "SLURM_PROCID",
	[RD_JOB_RANK] = "RANK",
	[RD_JOB_LOCAL_RANK] = "LOCAL_RANK",
	[RD_JOB_OMPI_COMM_WORLD_RANK] = "OMPI_COMM_WORLD_RANK",
	[RD_JOB_PMIX_RANK] = "PMIX_RANK",
};

int rd_facts_add(struct rd_facts *f, const char *json, size_t len)
{
	struct rd_fact *fact;

	if (len + KEEPING > RD_FACTS_LIST_MAX - f->bytes)
		return -1;
	fact = rd_append(&f->fact, f->n, sizeof(*fact));
	if (!fact || !(fact->json = malloc(len + 1)))
		return -1;
	memcpy(fact->json, json, len);
	fact->json[len] = '\0';
	fact->len = len;
	f->n++;
	f->bytes += len + KEEPING;
	return 0;
}

void rd_facts_free(struct rd_facts *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->fact[i].json);
	free(f->fact);
	*f = (struct rd_facts){0};
}

int rd_facts_iface(const char *json, size_t len)
{
	json_t *fact = json_loadb(json, len, 0, NULL);
	const json_t *iface = json_object_get(fact, "interface");
	json_int_t n = json_is_integer(iface) ? json_integer_value(iface) : -1;

	json_decref(fact);
	return n >= 0 && n <= UINT16_MAX ? (int)n : -1;
}

/* As text; consumes it. -1: out of memory, or it is none. */
static int add_object(struct rd_facts *f, json_t *fact)
{
	char *text = fact ? json_dumps(fact, JSON_COMPACT) : NULL;
	int rc = text ? rd_facts_add(f, text, strlen(text)) : -1;

	free(text);
	json_decref(fact);
	return rc;
}

int rd_facts_add_moved(struct rd_facts *f, const char *json, size_t len, unsigned int iface)
{
	json_t *fact = json_loadb(json, len, 0, NULL);

	if (json_object_set_new(fact, "interface", json_integer(iface)) == 0)
		return add_object(f, fact);
	json_decref(fact);
	return -1;
}

static void drop_owners(json_t *fact)
{
	json_t *qp;
	size_t i;

	json_array_foreach (json_object_get(fact, "qps"), i, qp) {
		json_object_del(qp, "pid");
		json_object_del(qp, "comm");
	}
}

int rd_facts_add_no_owners(struct rd_facts *f, const char *json, size_t len)
{
	json_t *fact = json_loadb(json, len, 0, NULL);
	const char *kind = json_string_value(json_object_get(fact, "kind"));

	if (kind && !strcmp(kind, "owners")) {
		json_decref(fact);
		return 0;
	}
	drop_owners(fact);
	return add_object(f, fact);
}
