/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which processes had a queue pair open, and when, by the facts of the file. */
#include "facts.h"
#include <rdmadump/json.h>
#include <rdmadump/owner.h>
#include <rdmadump/units.h>
#include <stdlib.h>

#define MOST  (1U << 17)
#define OF_QP 64 /* processes, one after the other */

void owner_list_init(struct bounded *owners)
{
	bounded_init(owners, MOST, sizeof(struct qp_owner));
}

void owner_list_free(struct bounded *owners)
{
	for (struct qp_owner *own = bounded_oldest(owners); own; own = bounded_newer(owners, own))
		json_decref(own->who.details);
	bounded_free(owners);
}

struct qp_owner *owner_at(const struct bounded *o, uint32_t qp, uint32_t port, uint32_t nth)
{
	return bounded_find(o, (uint64_t)port << 32 | qp, nth);
}

/* The kernel's connection manager, which owns the QP until it names the module that uses it. */
static bool is_manager(const struct rd_owner *who)
{
	return !who->pid && !strcmp(who->comm, RD_CM_MODULE);
}

/* Whether `who` says more than what is known of the same owner. */
static bool is_better(const struct rd_owner *who, const struct rd_owner *known)
{
	if (is_manager(known) != is_manager(who))
		return is_manager(known);
	return who->details && !known->details;
}

/* The command may change; pid and start time do not. Samples have the start time, single lists do
 * not, and whoever is in one of those was sampled at about that time. */
static bool is_same(const struct rd_owner *a, const struct rd_owner *b)
{
	if (a->pid != b->pid)
		return false;
	if (!a->pid && is_manager(a) != is_manager(b))
		return true;
	if (a->start_ticks && b->start_ticks)
		return a->start_ticks == b->start_ticks;
	return a->start_ticks || b->start_ticks || !strcmp(a->comm, b->comm);
}

/* More is known of an owner that is in the list. */
static void merge(
	struct qp_owner *own, const struct rd_owner *who, uint64_t first_ns, uint64_t last_ns)
{
	if (first_ns && (!own->first_ns || first_ns < own->first_ns))
		own->first_ns = first_ns;
	own->last_ns = RD_MAX(own->last_ns, last_ns);
	if (!is_better(who, &own->who))
		return;
	json_decref(own->who.details);
	own->who = *who;
	json_incref(own->who.details);
}

bool owner_add(struct bounded *o, uint32_t qp, uint32_t port, const struct rd_owner *who,
	uint64_t first_ns, uint64_t last_ns)
{
	struct qp_owner *own, *new = NULL;
	uint32_t nth = 0;
	bool made;

	for (; (own = owner_at(o, qp, port, nth)); nth++)
		if (is_same(&own->who, who)) {
			merge(own, who, first_ns, last_ns);
			return true;
		}
	if (nth < OF_QP && !bounded_is_full(o))
		new = bounded_take(o, (uint64_t)port << 32 | qp, nth, &made);
	if (new) {
		*new = (struct qp_owner){.qp = qp,
			.port = port,
			.first_ns = first_ns,
			.last_ns = last_ns,
			.who = *who};
		json_incref(new->who.details);
	} else if ((own = owner_at(o, qp, port, 0))) {
		own->more = true;
	}
	return new;
}

/* --- from facts ------------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
	size_t n = text ? strspn(text, "0123456789") : 0;

	return n && n < RD_JOB_VALUE_MAX && !text[n];
}

static json_t *job_of(const json_t *facts)
{
	const json_t *from = json_object_get(facts, "job");
	json_t *job = json_object();

	for (size_t i = 0; i < RD_JOB_KEYS; i++) {
		json_t *value = json_object_get(from, rd_job_names[i]);

		if (is_number(json_string_value(value)))
			json_object_set(job, rd_job_names[i], value);
	}
	return job;
}

static json_t *details_of(const json_t *facts)
{
	static const struct {
		const char *key;
		size_t max;
	} texts[] = {
		{"cgroup", RD_CGROUP_MAX}, {"container", RD_CONTAINER_MAX}, {"pod", RD_POD_MAX}};
	uint64_t start_ns = rd_json_u64_value(json_object_get(facts, "start_ns"));
	json_t *details = json_object();

	json_object_set_new(details, "start_ns", rd_json_u64_or_null(start_ns));
	for (size_t i = 0; i < RD_COUNT(texts); i++) {
		json_t *value = json_object_get(facts, texts[i].key);
		size_t n = json_string_length(value);

		json_object_set(details, texts[i].key, n && n < texts[i].max ? value : json_null());
	}
	json_object_set_new(details, "job", job_of(facts));
	return details;
}

/* What the connection of a kernel module was made to; NULL: not known. */
static json_t *service_of(const json_t *facts)
{
	uint64_t port = rd_json_u64_value(json_object_get(facts, "service_port"));

	return port && port <= UINT16_MAX ? json_pack("{s:I}", "service_port", (json_int_t)port)
					  : NULL;
}

/*
 * Launchers of each process come before those that may have started a launcher: mpirun below srun
 * inherits the variables of Slurm, torchrun below mpirun those of Open MPI.
 */
static uint32_t rank_of(const json_t *details)
{
	static const enum rd_job_key order[] = {
		RD_JOB_RANK, RD_JOB_OMPI_COMM_WORLD_RANK, RD_JOB_PMIX_RANK, RD_JOB_SLURM_PROCID};
	const json_t *job = json_object_get(details, "job");
	uint64_t rank;

	for (size_t i = 0; i < RD_COUNT(order); i++) {
		const char *text = json_string_value(json_object_get(job, rd_job_names[order[i]]));

		if (text && rd_parse_u64(text, 0, UINT32_MAX - 1, &rank) == 0)
			return (uint32_t)rank;
	}
	return UINT32_MAX;
}

bool owner_read(const json_t *facts, struct rd_owner *who)
{
	const char *comm = json_string_value(json_object_get(facts, "comm"));
	json_int_t pid = json_integer_value(json_object_get(facts, "pid"));

	*who = (struct rd_owner){
		.pid = pid > 0 && pid <= UINT32_MAX ? (uint32_t)pid : 0, .rank = UINT32_MAX};
	snprintf(who->comm, sizeof(who->comm), "%s", comm ? comm : "");
	if (!who->pid) {
		who->details = service_of(facts);
		return *who->comm;
	}
	who->start_ticks = rd_json_u64_value(json_object_get(facts, "start_ticks"));
	if (who->start_ticks) {
		who->details = details_of(facts);
		who->rank = rank_of(who->details);
	}
	return true;
}

/* --- for reports ------------------------------------------------------------------------------ */

void owner_free(struct rd_owner *owner)
{
	if (owner)
		json_decref(owner->details);
	free(owner);
}

const char *rd_owner_job(const struct rd_owner *owner)
{
	return json_string_value(json_object_get(
		json_object_get(owner->details, "job"), rd_job_names[RD_JOB_SLURM_JOB_ID]));
}

const char *rd_owner_text(char buf[RD_OWNER_TEXT_MAX], const struct rd_owner *owner)
{
	const char *job = rd_owner_job(owner);
	const char *container = json_string_value(json_object_get(owner->details, "container"));
	const char *pod = json_string_value(json_object_get(owner->details, "pod"));
	const json_t *service = json_object_get(owner->details, "service_port");
	const char *comm = *owner->comm ? owner->comm : "a process";
	size_t n;

	if (!owner->pid) {
		n = (size_t)snprintf(buf, RD_OWNER_TEXT_MAX, "%s in the kernel", comm);
		if (service)
			snprintf(buf + n, RD_OWNER_TEXT_MAX - n, " (service port %d)",
				(int)json_integer_value(service));
		return buf;
	}
	n = (size_t)snprintf(buf, RD_OWNER_TEXT_MAX, "%s (pid %u", comm, owner->pid);
	if (owner->rank != UINT32_MAX)
		n += (size_t)snprintf(buf + n, RD_OWNER_TEXT_MAX - n, ", rank %u", owner->rank);
	if (job)
		n += (size_t)snprintf(buf + n, RD_OWNER_TEXT_MAX - n, ", SLURM job %s", job);
	if (pod)
		n += (size_t)snprintf(buf + n, RD_OWNER_TEXT_MAX - n, ", pod %s", pod);
	else if (container) /* as long as docker and podman print it */
		n += (size_t)snprintf(
			buf + n, RD_OWNER_TEXT_MAX - n, ", container %.12s", container);
	snprintf(buf + n, RD_OWNER_TEXT_MAX - n, ")");
	return buf;
}

void rd_owners_put(FILE *out, const struct rd_owner *const owner[2])
{
	static const char *const does[] = {"sent", "received"};
	char text[RD_OWNER_TEXT_MAX];

	for (int i = 0; i < 2; i++)
		if (owner[i])
			fprintf(out, "%s %s by %s", i && owner[0] ? " and" : ";", does[i],
				rd_owner_text(text, owner[i]));
}
