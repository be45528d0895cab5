/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the reader of capture files: any bytes, read in pieces, everything it gives is touched;
 * and what runs of plain records give must be what record by record gives.
 */
#include "format/reader.h"
#include "fuzz.h"

struct input {
	const uint8_t *data;
	size_t left, step;
};

static ssize_t input_read(void *ctx, uint8_t *buf, size_t capacity, struct rd_error *err)
{
	struct input *in = ctx;
	size_t n = in->left < capacity ? in->left : capacity;

	(void)err;
	if (n > in->step)
		n = in->step;
	if (n)
		memcpy(buf, in->data, n);
	in->data += n;
	in->left -= n;
	return (ssize_t)n;
}

static uint32_t touch_text(const char *s)
{
	return s ? (uint32_t)strlen(s) : 0;
}

static uint32_t touch_frame(const struct rd_reader *r, unsigned int at, const struct rd_frame *f)
{
	struct rd_note note = {0};
	unsigned int n;
	const struct rd_iface *ifaces = rd_reader_ifaces(r, &n);
	uint32_t sum = 0;

	require(f->iface < n && f->caplen <= f->len && f->direction <= RD_DIR_OUT);
	for (uint32_t i = 0; i < f->caplen; i++)
		sum += f->data[i];
	if (rd_reader_note(r, at, &note))
		sum += touch_text(note.comment);
	return sum + touch_text(ifaces[f->iface].name) + touch_text(ifaces[f->iface].filter);
}

/* A second reader of the same bytes, that goes step by step. */
struct twin {
	struct reader_format format;
	struct rd_reader *r;
};

static void twin_open(struct twin *t, struct input *in)
{
	require(rd_reader_open(&t->r, input_read, in, "twin", NULL) == 0);
	t->format = *t->r->format;
	t->format.run = NULL;
	t->r->format = &t->format;
}

static void twin_compare(
	const struct twin *t, const struct rd_reader *r, unsigned int at, const struct rd_frame *f)
{
	struct rd_note ours = {0}, theirs = {0};
	struct rd_frame g;

	require(rd_reader_next(t->r, &g, 1, NULL) == 1);
	require(f->caplen == g.caplen && f->len == g.len && f->ts_ns == g.ts_ns &&
		f->direction == g.direction && f->flags == g.flags && f->iface == g.iface);
	require(!f->caplen || !memcmp(f->data, g.data, f->caplen));
	require(rd_reader_note(r, at, &ours) == rd_reader_note(t->r, 0, &theirs));
	require(ours.dropped == theirs.dropped && !ours.comment == !theirs.comment);
}

static void touch_facts(void *ctx, const char *json, size_t len)
{
	uint32_t *sum = ctx;

	for (size_t i = 0; i < len; i++)
		*sum += (uint8_t)json[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* ERF is recognised by the records at hand, so both must be given as many. */
	struct input in = {data, size, size % 2 ? SIZE_MAX : 61}, again = in;
	struct rd_frame frames[5], none;
	struct rd_iface_stats stats;
	struct twin twin;
	struct rd_reader *r;
	unsigned int n_ifaces;
	uint32_t sum = 0;
	int n;

	if (rd_reader_open(&r, input_read, &in, "fuzz", NULL) < 0)
		return 0;
	twin_open(&twin, &again);
	rd_reader_on_facts(r, touch_facts, &sum);
	while ((n = rd_reader_next(r, frames, 5, NULL)) > 0)
		for (int i = 0; i < n; i++) {
			sum += touch_frame(r, (unsigned int)i, &frames[i]);
			twin_compare(&twin, r, (unsigned int)i, &frames[i]);
		}
	require(rd_reader_next(twin.r, &none, 1, NULL) == n);
	rd_reader_close(twin.r);
	rd_reader_ifaces(r, &n_ifaces);
	for (unsigned int i = 0; i < n_ifaces; i++)
		if (rd_reader_stats(r, i, &stats))
			sum += touch_text(stats.comment);
	sum += touch_text(rd_reader_section(r)->comment);
	rd_reader_close(r);
	/* A sum that is never asked for would not be computed. */
	__asm__ volatile("" : : "r"(sum));
	return 0;
}
