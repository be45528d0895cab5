/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lists of findings: filling, ordering and freeing them, and their JSON. */
#include <inttypes.h>
#include <rdmadump/finding.h>
#include <rdmadump/json.h>
#include <rdmadump/memory.h>
#include <rdmadump/names.h>
#include <rdmadump/shape.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

RD_NAMES(rd_severity_name, "?", [RD_SEV_NONE] = "none", [RD_SEV_NOTE] = "note",
	[RD_SEV_WARNING] = "warning", [RD_SEV_PROBLEM] = "problem")

enum rd_severity rd_severity_of(const char *name)
{
	enum rd_severity s = RD_SEV_PROBLEM;

	while (s > RD_SEV_NOTE && strcmp(rd_severity_name(s), name) != 0)
		s--;
	return s;
}

RD_NAMES(rd_certainty_name,
	"?", [RD_POSSIBLE] = "possible", [RD_LIKELY] = "likely", [RD_CERTAIN] = "certain")

RD_NAMES(rd_severity_mark, "?", [RD_SEV_NONE] = "  ", [RD_SEV_NOTE] = "  ", [RD_SEV_WARNING] = " !",
	[RD_SEV_PROBLEM] = "!!")

/* --- lists ---------------------------------------------------------------------------------- */

struct rd_finding *rd_findings_add(struct rd_findings *list)
{
	struct rd_finding *f = rd_append(&list->finding, list->n, sizeof(*f));

	if (!f)
		return NULL;
	list->n++;
	f->number = list->added++;
	return f;
}

static void free_texts(struct rd_finding *f)
{
	free(f->where);
	free(f->title);
	free(f->detail);
	free(f->evidence.filter);
}

void rd_findings_drop_last(struct rd_findings *list)
{
	free_texts(&list->finding[--list->n]);
}

void rd_findings_free(struct rd_findings *list)
{
	while (list->n)
		rd_findings_drop_last(list);
	free(list->finding);
	free(list->tally);
	*list = (struct rd_findings){0};
}

/* --- limits --------------------------------------------------------------------------------- */

const struct rd_rule_tally *rd_findings_tally(const struct rd_findings *list, const char *rule)
{
	return RD_FIND(t, list->tally, list->n_tally, !strcmp(t->rule, rule));
}

/* Made if it is absent; NULL if out of memory. */
static struct rd_rule_tally *tally_of(struct rd_findings *list, const char *rule)
{
	const struct rd_rule_tally *known = rd_findings_tally(list, rule);
	struct rd_rule_tally *tally;

	if (known)
		return &list->tally[known - list->tally];
	tally = rd_append(&list->tally, list->n_tally, sizeof(*tally));
	if (!tally)
		return NULL;
	list->n_tally++;
	tally->rule = rule;
	return tally;
}

bool rd_findings_count(struct rd_findings *list)
{
	const struct rd_finding *f = &list->finding[list->n - 1];
	struct rd_rule_tally *t = tally_of(list, f->rule);

	if (!t)
		return false;
	t->n++;
	t->conversations += f->conversation && f->conversation != t->last;
	t->last = f->conversation;
	t->count += f->evidence.count;
	if (f->evidence.first_ns && (!t->first_ns || f->evidence.first_ns < t->first_ns))
		t->first_ns = f->evidence.first_ns;
	t->last_ns = RD_MAX(t->last_ns, f->evidence.last_ns);
	return true;
}

/* Which finding of its rule each one is, from 0. NULL if out of memory. */
static size_t *ranks_of(struct rd_findings *list)
{
	size_t *rank = calloc(list->n + 1, sizeof(*rank)), *seen = NULL;
	bool complete = rank != NULL;

	for (size_t i = 0; i < list->n && complete; i++)
		complete = tally_of(list, list->finding[i].rule) != NULL;
	if (complete)
		seen = calloc(list->n_tally + 1, sizeof(*seen));
	if (!seen) {
		free(rank);
		return NULL;
	}
	for (size_t i = 0; i < list->n; i++)
		rank[i] = seen[rd_findings_tally(list, list->finding[i].rule) - list->tally]++;
	free(seen);
	return rank;
}

bool rd_findings_cut(struct rd_findings *list, size_t most, size_t each)
{
	size_t *rank = list->n > most ? ranks_of(list) : NULL, kept = 0, free_places = most;

	if (list->n <= most)
		return true;
	if (!rank)
		return false;
	for (size_t i = 0; i < list->n; i++)
		free_places -= rank[i] < each && free_places;
	for (size_t i = 0; i < list->n; i++) {
		struct rd_finding *f = &list->finding[i];

		if (rank[i] < each || free_places) {
			free_places -= rank[i] >= each;
			list->finding[kept++] = *f;
		} else {
			tally_of(list, f->rule)->left_out[f->severity]++;
			free_texts(f);
		}
	}
	list->n = kept;
	free(rank);
	return true;
}

size_t rd_findings_left_out(
	const struct rd_findings *list, const char *rule, enum rd_severity least)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n_tally; i++)
		for (unsigned int k = least; k <= RD_SEV_PROBLEM; k++)
			if (!rule || !strcmp(list->tally[i].rule, rule))
				n += list->tally[i].left_out[k];
	return n;
}

bool rd_findings_are_complete(const struct rd_findings *list)
{
	if (list->incomplete)
		return false;
	return !RD_ANY(f, list->finding, list->n, !f->where || !f->title);
}

static int worse(const void *x, const void *y, void *ctx)
{
	const struct rd_finding *a = x, *b = y;
	int (*const *tie)(const struct rd_finding *, const struct rd_finding *) = ctx;

	return RD_ORDER(b->severity, a->severity) ?: RD_ORDER(b->certainty, a->certainty)
		?: (*tie ? (*tie)(a, b) : 0) ?: RD_ORDER(a->number, b->number);
}

void rd_findings_sort(struct rd_findings *list,
	int (*tie)(const struct rd_finding *a, const struct rd_finding *b))
{
	if (list->n)
		qsort_r(list->finding, list->n, sizeof(*list->finding), worse, &tie);
}

/* --- texts and evidence --------------------------------------------------------------------- */

/* In place of what is there; the arguments may be of that. */
static void print(char **text, const char *fmt, va_list args)
{
	char *was = *text;

	if (vasprintf(text, fmt, args) < 0)
		*text = NULL;
	free(was);
}

#define PRINT(text, fmt)                                                                           \
	do {                                                                                       \
		va_list args;                                                                      \
		va_start(args, fmt);                                                               \
		print(text, fmt, args);                                                            \
		va_end(args);                                                                      \
	} while (0)

void rd_finding_where(struct rd_finding *f, const char *fmt, ...)
{
	PRINT(&f->where, fmt);
}

void rd_finding_title(struct rd_finding *f, const char *fmt, ...)
{
	PRINT(&f->title, fmt);
}

void rd_finding_detail(struct rd_finding *f, const char *fmt, ...)
{
	PRINT(&f->detail, fmt);
}

void rd_finding_filter(struct rd_finding *f, uint64_t first_frame, const char *fmt, ...)
{
	char *text = NULL;

	PRINT(&text, fmt);
	free(f->evidence.filter);
	if (!text || !first_frame) {
		f->evidence.filter = text;
		return;
	}
	if (asprintf(&f->evidence.filter, "%s && frame.number >= %" PRIu64, text, first_frame) < 0)
		f->evidence.filter = NULL;
	free(text);
}

void rd_finding_frame(struct rd_finding *f, uint64_t frame)
{
	struct rd_evidence *e = &f->evidence;

	if (frame && e->n_frames < RD_EVIDENCE_FRAMES &&
		!RD_ANY(known, e->frames, e->n_frames, *known == frame))
		e->frames[e->n_frames++] = frame;
}

/* --- as JSON: one object, the same in all documents ---------------------------------------- */

#define RD_THIS struct rd_finding
static json_t *doubts(const struct rd_at *at)
{
	const RD_THIS *f = at->object;

	return *f->doubts ? RD_JSON_LIST(d, f->doubts, RD_DOUBTS, json_string(*d)) : NULL;
}

static json_t *frames(const struct rd_at *at)
{
	const struct rd_evidence *e = &((const RD_THIS *)at->object)->evidence;

	return RD_JSON_LIST(frame, e->frames, e->n_frames, rd_json_u64(*frame));
}

static const char *side_name(unsigned int side)
{
	return side ? "b" : "a";
}

static const struct rd_shape finding_shape = RD_SHAPE(NULL, NULL, RD_SAME(TEXT, rule),
	{"severity", NULL, RD_NAME(severity, rd_severity_name)},
	{"certainty", NULL, RD_NAME(certainty, rd_certainty_name)},
	{"doubts", NULL, .kind = RD_FIELD_MAYBE, .make = doubts}, RD_SAME(TEXT, where),
	RD_SAME(TEXT, counter), RD_SAME(POSITIVE, conversation),
	{"side", NULL, RD_NAME(side, side_name), RD_IF(conversation)}, RD_SAME(TEXT, title),
	RD_SAME(TEXT, detail), RD_SAME(TEXT, meaning), RD_SAME(TEXT, next),
	{"filter", NULL, RD_TEXT(evidence.filter)}, {"count", NULL, RD_UINT(evidence.count)},
	{"first_ns", NULL, RD_TIME(evidence.first_ns), RD_IF(evidence.first_ns)},
	{"last_ns", NULL, RD_TIME(evidence.last_ns), RD_IF(evidence.last_ns)},
	{"frames", NULL, RD_MADE(frames, NULL)});
#undef RD_THIS

json_t *rd_finding_json(const struct rd_finding *f, uint64_t origin_ns)
{
	return rd_shape_json(&finding_shape, &(struct rd_at){.object = f, .start_ns = origin_ns});
}

json_t *rd_findings_json(const struct rd_findings *list, uint64_t origin_ns)
{
	return RD_JSON_LIST(f, list->finding, list->n, rd_finding_json(f, origin_ns));
}
