/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The interfaces that a file describes, and their texts. */
#include "reader.h"
#include <rdmadump/log.h>
#include <rdmadump/memory.h>
#include <stdlib.h>

#define TEXTS_MAX  ((size_t)4 << 20) /* bytes, of all interfaces; real ones are short */
#define IFACES_MAX 65535	     /* limit of a frame's interface index */

enum rd_link reader_link(uint16_t dlt)
{
	/* ERF: until a record shows another link */
	return dlt == DLT_ERF ? RD_LINK_INFINIBAND : rd_link_of(dlt);
}

/* The strings of an interface, which are copied and freed in the same way. */
static const size_t iface_strings[] = {
	offsetof(struct rd_iface, name),
	offsetof(struct rd_iface, description),
	offsetof(struct rd_iface, hardware),
	offsetof(struct rd_iface, filter),
	offsetof(struct rd_iface, os),
};

static const char **iface_string(struct rd_iface *iface, size_t i)
{
	return (const char **)(void *)((char *)iface + iface_strings[i]);
}

void reader_free_text(const char *s)
{
	free((void *)(uintptr_t)s);
}

static void iface_free(struct rd_iface *iface)
{
	for (size_t i = 0; i < RD_COUNT(iface_strings); i++)
		reader_free_text(*iface_string(iface, i));
}

enum step reader_keep_text(struct rd_reader *r, const char **to, const char *text, size_t len)
{
	r->ifaces.kept -= *to ? strlen(*to) : 0;
	reader_free_text(*to);
	*to = NULL;
	if (!text)
		return STEP_OTHER;
	len = strnlen(text, len);
	if (len > TEXTS_MAX - r->ifaces.kept) {
		if (!r->ifaces.cut)
			rd_log(RD_LOG_WARNING,
				"'%s': names and comments of interfaces are longer than %zu bytes "
				"together; the rest is left out",
				r->name, TEXTS_MAX);
		r->ifaces.cut = true;
		return STEP_OTHER;
	}
	*to = strndup(text, len);
	if (!*to)
		return reader_nomem(r);
	r->ifaces.kept += len;
	return STEP_OTHER;
}

static bool iface_copy(struct rd_reader *r, struct rd_iface *to, const struct rd_iface *from)
{
	struct rd_iface source = *from;

	*to = source;
	for (size_t i = 0; i < RD_COUNT(iface_strings); i++)
		*iface_string(to, i) = NULL;
	for (size_t i = 0; i < RD_COUNT(iface_strings); i++) {
		const char *s = *iface_string(&source, i);

		if (s && reader_keep_text(r, iface_string(to, i), s, SIZE_MAX) == STEP_FAIL) {
			iface_free(to);
			return false;
		}
	}
	return true;
}

int reader_add_iface(struct rd_reader *r, const struct rd_iface *iface)
{
	struct iface_extra *extra;
	struct rd_iface *added;

	if (r->ifaces.n == IFACES_MAX) {
		reader_damaged(r, "more than %d interfaces", IFACES_MAX);
		return -1;
	}
	extra = rd_append(&r->ifaces.extras, r->ifaces.n, sizeof(*extra));
	added = rd_append(&r->ifaces.list, r->ifaces.n, sizeof(*added));
	if (!extra || !added || !iface_copy(r, added, iface)) {
		reader_nomem(r);
		return -1;
	}
	r->cooked |= rd_link_is_cooked(iface->link);
	added->section = r->n_sections ? r->n_sections - 1 : 0;
	return (int)r->ifaces.n++;
}

struct file_iface *reader_add_file_iface(
	struct rd_reader *r, const struct rd_iface *iface, uint16_t dlt)
{
	int index = reader_add_iface(r, iface);
	struct file_iface *f;

	if (index < 0)
		return NULL;
	f = rd_append(&r->ifaces.of_file, r->ifaces.n_of_file, sizeof(*f));
	if (!f) {
		reader_nomem(r);
		return NULL;
	}
	r->ifaces.n_of_file++;
	*f = (struct file_iface){.iface = (uint16_t)index,
		.dlt = dlt,
		.mul = 1000,
		.div = 1,
		.fcslen = iface->fcslen};
	return f;
}

void reader_free_ifaces(struct rd_reader *r)
{
	for (unsigned int i = 0; i < r->ifaces.n; i++) {
		iface_free(&r->ifaces.list[i]);
		reader_free_text(r->ifaces.extras[i].stats.comment);
	}
	free(r->ifaces.list);
	free(r->ifaces.extras);
	free(r->ifaces.of_file);
}

const struct rd_iface *rd_reader_ifaces(const struct rd_reader *r, unsigned int *n)
{
	*n = r->ifaces.n;
	return r->ifaces.list;
}

bool rd_reader_stats(const struct rd_reader *r, unsigned int i, struct rd_iface_stats *stats)
{
	if (i >= r->ifaces.n || !r->ifaces.extras[i].has_stats)
		return false;
	*stats = r->ifaces.extras[i].stats;
	return true;
}

int rd_reader_facts_iface(const struct rd_reader *r, unsigned int in_section)
{
	return in_section < r->ifaces.n_of_file ? r->ifaces.of_file[in_section].iface : -1;
}
