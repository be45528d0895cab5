/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The filter: the terms that the user gave. All of them must match. */
#include "filter_terms.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A term that the user gave. */
struct wanted {
	const struct rd_term *term;
	rd_term_match *match;
	void *state;
};

struct rd_filter {
	struct wanted wanted[RD_TERMS_MAX]; /* those without packet first */
	unsigned int n, n_bare;		    /* n_bare: the number that need no packet */
	enum rd_link link;
};

/* The text of a term; NULL: not given. */
static const char *text_of(const struct rd_filter_spec *spec, const struct rd_term *term)
{
	const char *field = (const char *)spec + term->at;
	const char *text;

	if (term->flag)
		return *(const bool *)field ? "" : NULL;
	text = *(const char *const *)field;
	return text && *text ? text : NULL;
}

void rd_filter_spec_text(const struct rd_filter_spec *spec, char *text, size_t size)
{
	size_t used = 0;

	*text = '\0';
	for (unsigned int i = 0; i < n_rd_terms; i++) {
		const char *value = text_of(spec, &rd_terms[i]), *option = rd_terms[i].option;

		if (value && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s%s%s",
				used ? " " : "", option, *option && *value ? " " : "", value);
	}
}

static void drop(struct wanted *w)
{
	if (w->term->free)
		w->term->free(w->state);
}

static int add_term(
	struct rd_filter *f, const struct rd_term *term, const char *text, struct rd_error *err)
{
	struct wanted *w = &f->wanted[f->n];
	const struct rd_term_use use = {.term = term, .text = text, .link = f->link};
	int rc;

	*w = (struct wanted){.term = term, .match = term->match};
	rc = term->compile ? term->compile(&w->state, &use, err) : 0;
	if (rc) {
		drop(w);
		return rc;
	}
	f->n++;
	f->n_bare += !term->packet;
	return 0;
}

int rd_filter_compile(struct rd_filter **out, const struct rd_filter_spec *spec, enum rd_link link,
	struct rd_error *err)
{
	struct rd_filter *f = calloc(1, sizeof(*f));
	int rc = 0;

	*out = NULL;
	if (!f)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "compiling the filter");
	f->link = link;
	for (unsigned int i = 0; i < n_rd_terms && rc >= 0; i++) {
		const char *text = text_of(spec, &rd_terms[i]);

		if (text)
			rc = add_term(f, &rd_terms[i], text, err);
		if (rc < 0 && spec->expression_file && text == spec->expression)
			rd_fail(err, err->class, 0, "'tcpdump -d -F FILE' says why",
				"the expression in '%s' is no filter for this link type",
				spec->expression_file);
	}
	if (rc >= 0 && f->n)
		*out = f;
	else
		rd_filter_free(f);
	return rc < 0 ? -1 : 0;
}

void rd_filter_free(struct rd_filter *f)
{
	if (!f)
		return;
	for (unsigned int i = 0; i < f->n; i++)
		drop(&f->wanted[i]);
	free(f);
}

bool rd_filter_parses(const struct rd_filter *f)
{
	return f && f->n > f->n_bare;
}

static bool keeps(const struct rd_filter *f, const struct rd_frame *frame, struct rd_packet *p)
{
	unsigned int i = 0;

	for (; i < f->n_bare; i++)
		if (!f->wanted[i].match(f->wanted[i].state, frame, NULL))
			return false;
	if (i < f->n)
		rd_packet_parse(f->link, frame->data, frame->caplen, frame->len, p);
	for (; i < f->n; i++)
		if (!f->wanted[i].match(f->wanted[i].state, frame, p))
			return false;
	return true;
}

unsigned int rd_filter_run(
	struct rd_filter *f, struct rd_frame *frames, unsigned int n, struct rd_packet *packets)
{
	struct rd_packet scratch;
	unsigned int kept = 0;

	if (!f)
		return n;
	for (unsigned int i = 0; i < n; i++)
		if (keeps(f, &frames[i], packets ? &packets[kept] : &scratch)) {
			const struct rd_frame behind = frames[kept];

			frames[kept++] = frames[i];
			frames[i] = behind;
		}
	return kept;
}
