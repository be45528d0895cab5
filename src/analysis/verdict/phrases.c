/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts that the sentences of verdicts share: places, times, shares. */
#include "words.h"
#include <ctype.h>
#include <rdmadump/units.h>
#include <string.h>

#define SHORT_NS UINT64_C(100000000) /* times below it have microseconds */
#define NEAR_NS	 UINT64_C(10000000)  /* so do two that are this near to each other */

const char *host_name(const char *address)
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
void put_since(FILE *out, const struct rd_report *r)
{
	const struct rd_judgement *v = &r->verdict;
	const uint64_t first = r->totals.first_ns;
	const uint64_t since = v->since_ns > first ? v->since_ns - first : 0;
	const uint64_t until = v->until_ns > first ? v->until_ns - first : 0;
	const bool near = until > since && until - since < NEAR_NS;
	const int digits = near || (until > since ? until : since) < SHORT_NS ? 6 : 3;

	if (!v->since_ns)
		return;
	if (until > since)
		fprintf(out, ", from %.*f s to %.*f s", digits, (double)since / 1e9, digits,
			(double)until / 1e9);
	else
		fprintf(out, ", at %.*f s", digits, (double)since / 1e9);
}

/* " of 480 (2.1 %)" */
void put_of(FILE *out, uint64_t some, uint64_t all, const char *what)
{
	char share[RD_UNITS_LEN];

	fprintf(out, " of %llu%s (%s)", (unsigned long long)all, what,
		rd_fmt_percent(share, 100.0 * (double)some / (double)all));
}

/* --- words ---------------------------------------------------------------------------------------
 */

/* A word in the middle of a sentence; abbreviations and numbers stay. */
void lower_first(char *text)
{
	if (isupper((unsigned char)text[0]) && !isupper((unsigned char)text[1]) &&
		!isdigit((unsigned char)text[1]))
		text[0] = (char)tolower((unsigned char)text[0]);
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
