/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of parts, and those that are small. */
#include "parts.h"
#include <errno.h>
#include <fcntl.h>
#include <rdmadump/archive.h>
#include <rdmadump/bundle.h>
#include <rdmadump/json.h>
#include <rdmadump/log.h>
#include <rdmadump/resource.h>
#include <rdmadump/tree.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int read_text(char *buf, size_t size, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), errnum;
	size_t n = 0;
	ssize_t got = 0;

	buf[0] = '\0';
	if (fd < 0)
		return -1;
	while (n + 1 < size && (got = read(fd, buf + n, size - 1 - n)) > 0)
		n += (size_t)got;
	errnum = errno;
	close(fd);
	errno = errnum;
	buf[n] = '\0';
	return got < 0 ? -1 : (int)n;
}

/* --- sysfs ---------------------------------------------------------------------------------------
 */

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

	if (rd_archive_create(&c.a, fd, false, NULL, err) < 0)
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

/* --- resources
 * ---------------------------------------------------------------------------------------- */

static json_t *json_qp(const struct rd_qp_res *qp)
{
	return json_pack("{s:o, s:I, s:I, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "device",
		rd_json_string(qp->device), "port", (json_int_t)qp->port, "lqpn",
		(json_int_t)qp->lqpn, "type", rd_qp_type_name(qp->type), "state",
		rd_qp_state_name(qp->state), "rqpn",
		qp->has_rqpn ? json_integer(qp->rqpn) : json_null(), "sq_psn",
		qp->has_psn ? json_integer(qp->sq_psn) : json_null(), "rq_psn",
		qp->has_rqpn ? json_integer(qp->rq_psn) : json_null(), "pid",
		rd_json_u64_or_null(qp->pid), "comm", rd_json_text(qp->comm));
}

json_t *part_resources(const struct rd_devices *devices, struct rd_error *err)
{
	json_t *counts = json_array(), *qps = json_array();
	struct rd_resources r;

	(void)devices;
	if (rd_resources_load(&r, NULL, err) < 0) {
		json_decref(counts);
		json_decref(qps);
		return NULL;
	}
	for (size_t i = 0; i < r.n_counts; i++)
		json_array_append_new(counts,
			json_pack("{s:o, s:s, s:o}", "device", rd_json_string(r.counts[i].device),
				"kind", r.counts[i].kind, "count", rd_json_u64(r.counts[i].n)));
	for (size_t i = 0; i < r.n_qps; i++)
		json_array_append_new(qps, json_qp(&r.qps[i]));
	rd_resources_free(&r);
	return json_pack("{s:o, s:o}", "counts", counts, "qps", qps);
}

/* --- the list
 * -------------------------------------------------------------------------------------------- */

static const struct part {
	const char *name;
	part_fn *make; /* NULL: it writes by itself */
	int (*write)(const struct rd_devices *devices, int fd, struct rd_error *err);
} parts[] = {
	{"host", part_host, NULL},
	{"modules", part_modules, NULL},
	{"environment", part_environment, NULL},
	{"resources", part_resources, NULL},
	{"kernel-messages", NULL, part_kernel_messages},
	{"sysroot", NULL, part_sysroot},
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

	while (p < parts + sizeof(parts) / sizeof(*parts) && strcmp(p->name, name) != 0)
		p++;
	if (p == parts + sizeof(parts) / sizeof(*parts))
		return rd_fail(err, RD_CLASS_USAGE, 0, NULL, "'%s' is no part of a bundle", name);
	if (rd_devices_load(&devices, "", err) < 0)
		return -1;
	if (p->write) {
		rc = p->write(&devices, fd, err);
	} else {
		document = p->make(&devices, err);
		if (document)
			rc = write_json(document, fd, err);
	}
	rd_devices_free(&devices);
	return rc;
}
