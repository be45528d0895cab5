/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts that the sentences of verdicts share: places, times, shares. */
#include "../rules/rules.h"
#include "verdict.h"
#include <ctype.h>
#include <stdlib.h>

/* The address, or "the host" if it is empty. */
static const char *host_name(const char *address)
{
	return *address ? address : "the host";
}

void put_filled(FILE *out, const char *text, const char *s, const char *r)
{
	for (; *text; text++) {
		if (text[0] == '{' && text[1] && text[2] == '}') {
			fputs(text[1] == 'r' ? r : s, out);
			text += 2;
		} else {
			fputc(*text, out);
		}
	}
}

/* --- places ----------------------------------------------------------------------------------- */

/* In the order of `enum rd_place`; `brief` is before another place at the same host. */
static const struct {
	const char *in, *brief; /* "{h}" is the host */
	bool receiver;
} places[RD_PLACES] = {
	{"the application on {h}", "the application", false},
	{"the NIC of {h}", NULL, false},
	{"the fabric", NULL, false},
	{"the NIC of {h}", "the NIC", true},
	{"the application on {h}", NULL, true},
};

void put_places(FILE *out, unsigned int set, const char *sender, const char *receiver)
{
	static const unsigned int applications = RD_PLACE_SENDER_HOST | RD_PLACE_RECEIVER_HOST;
	unsigned int left = (unsigned int)__builtin_popcount(set);

	if (set == applications) {
		fprintf(out, "the application on %s or on %s", host_name(sender),
			host_name(receiver));
		return;
	}
	for (unsigned int i = 0; i < RD_PLACES; i++) {
		const char *of = host_name(places[i].receiver ? receiver : sender);
		const bool brief = places[i].brief && set >> (i + 1) & 1;

		if (!(set >> i & 1))
			continue;
		put_filled(out, brief ? places[i].brief : places[i].in, of, of);
		left--;
		if (left)
			fputs(left > 1 && !(brief && !places[i].receiver) ? ", " : " or ", out);
	}
}

/* --- times and shares ------------------------------------------------------------------------- */

/* From when to when, since the first frame. */
void put_since(FILE *out, const struct rd_judgement *v, uint64_t first)
{
	char text[RD_TIMES_LEN];

	if (v->since_ns)
		fputs(rd_fmt_times(text, first, v->since_ns, v->until_ns), out);
}

/* " of 480 (2.1 %)" */
void put_of(FILE *out, uint64_t some, uint64_t all, const char *what)
{
	char share[RD_UNITS_LEN];

	fprintf(out, " of %llu%s (%s)", (unsigned long long)all, what,
		rd_fmt_percent(share, 100.0 * (double)some / (double)all));
}

/* --- words ------------------------------------------------------------------------------------ */

/* A word in the middle of a sentence; abbreviations and numbers stay. */
void lower_first(char *text)
{
	if (isupper((unsigned char)text[0]) && !isupper((unsigned char)text[1]) &&
		!isdigit((unsigned char)text[1]))
		text[0] = (char)tolower((unsigned char)text[0]);
}

bool what_is_possible(struct rd_judgement *v)
{
	char *what = v->row[RD_ROW_WHAT];

	if (!v->rule || v->certainty != RD_POSSIBLE)
		return true;
	lower_first(what);
	if (asprintf(&v->row[RD_ROW_WHAT], "Possibly: %s", what) < 0)
		v->row[RD_ROW_WHAT] = NULL;
	free(what);
	return v->row[RD_ROW_WHAT];
}

const char *rd_row_label(const struct rd_judgement *v, enum rd_row row)
{
	static const char *const labels[RD_ROWS] = {
		[RD_ROW_WHERE] = "where",
		[RD_ROW_WHO] = "who",
		[RD_ROW_MUCH] = "how much",
		[RD_ROW_WHEN] = "when",
		[RD_ROW_SURE] = "how sure",
		[RD_ROW_NEXT] = "next",
		[RD_ROW_ALSO] = "also",
		[RD_ROW_TIME] = "time",
	};

	return row == RD_ROW_WHAT ? v->label : labels[row];
}

const char *label_of(const struct rd_judgement *v, const struct cause *cause)
{
	static const char *const severities[] = {
		[RD_SEV_NONE] = "OK",
		[RD_SEV_NOTE] = "NOTE",
		[RD_SEV_WARNING] = "WARNING",
		[RD_SEV_PROBLEM] = "PROBLEM",
	};

	return cause && cause->label ? cause->label : severities[v->severity];
}

bool row_close(FILE *out, char **row)
{
	if (!text_close(out, row))
		return false;
	if (**row && (*row)[strlen(*row) - 1] == '.')
		(*row)[strlen(*row) - 1] = '\0';
	return true;
}

/* Loss and reordering, and the side of the capture point on which they are. */
static void put_mixed(
	FILE *out, const struct rd_judgement *v, unsigned int mixed, const char *point)
{
	static const char *const how[] = {"?", "lost", "late", "lost or late"};
	static const char *const where[] = {
		"?", "upstream", "downstream", "upstream or downstream"};
	const bool back = mixed & RD_MIXED_RESPONSES;

	fprintf(out, "%s %s -> %s are %s %s of %s.", back ? "Responses" : "Packets",
		v->incast ? "from several hosts"
		: back	  ? v->receiver
			  : v->sender,
		back ? v->sender : v->receiver, how[mixed & 3], where[mixed >> 2 & 3], point);
}

/* The title as a sentence; with the place where no conversation names it. */
static void put_title(FILE *out, const struct rd_report *r, const struct rd_finding *f)
{
	const char *title = f->title ? f->title : f->rule;
	/* The name of a counter or a device stays as it is. */
	const bool name = strcspn(title, "_0123456789") < strcspn(title, " ");

	fprintf(out, "%c%s", name ? *title : toupper((unsigned char)*title), title + 1);
	if (!f->conversation && f->where && strcmp(f->where, "the capture") != 0)
		fprintf(out, pauser_of(r, f) ? ", sent by %s" : ", at %s", f->where);
	fputc('.', out);
}

void put_event(FILE *out, const struct rd_report *r, const struct rd_judgement *v,
	const struct rd_finding *f, unsigned int mixed, const char *point)
{
	const struct cause *cause = cause_of(v->rule);
	const struct rule *rule = rule_of(v->rule);

	if (mixed)
		put_mixed(out, v, mixed, point);
	else if (cause->what)
		put_filled(out, v->incast && rule->several ? rule->several : cause->what,
			host_name(v->sender), host_name(v->receiver));
	else
		put_title(out, r, f);
	if (rule->unknown)
		fprintf(out, " %s", rule->unknown);
	if (v->incast)
		fprintf(out, " Up to %u hosts send to %s within %g us (incast).", v->incast,
			v->receiver, (double)RD_BURST_NS / 1e3);
}

void put_delayed(FILE *out, const struct rd_judgement *v)
{
	if (!v->delayed || v->messages < v->delayed)
		return;
	fprintf(out, "; messages retransmitted: at least %llu", (unsigned long long)v->delayed);
	put_of(out, v->delayed, v->messages, "");
}

void put_other_title(FILE *out, const struct rd_finding *f, size_t n)
{
	static const char mine[] = "this sender";
	const char *title = f->title ? f->title : f->rule, *at = strstr(title, mine);

	if (!at) {
		fputs(title, out);
		return;
	}
	fprintf(out, "%.*sthe sender%s%s", (int)(at - title), title, n > 1 ? "s" : "",
		at + strlen(mine));
}

bool put_other_advice(FILE *out, const char *next)
{
	static const char capture[] = "capture ", then[] = "; capture ";
	const char *end = strstr(next, then);

	if (!strncmp(next, capture, strlen(capture)))
		return false;
	fprintf(out, "%.*s", (int)(end ? end - next : (ptrdiff_t)strlen(next)), next);
	return true;
}
