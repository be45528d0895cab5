/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collects the tables of codes, counters and rules, and finds their words in a line. */
#include "catalogue.h"
#include <ctype.h>
#include <errno.h>
#include <rdmadump/analysis.h>
#include <rdmadump/hash.h>
#include <stdlib.h>
#include <strings.h>

static const struct phrase table[] = {
#define ROW(words, k, n, w, p)                                                                     \
	{.text = (words), .kind = PHRASE_##k, .needs = (n), .what = (w), .program = (p)},
#define NEEDS_0		   0
#define NEEDS_CQE	   MARK_CQE
#define NEEDS_HEALTH	   MARK_HEALTH
#define NEEDS_COMPLETION   MARK_COMPLETION
#define NEEDS_LND	   MARK_LND
#define ABOUT(words, m)	   ROW(words, ABOUT, 0, MARK_##m, NULL)
#define VALUE(words, n, s) ROW(words, VALUE, NEEDS_##n, SPACE_##s, NULL)
#define HEX(words, n, s)   ROW(words, HEX, NEEDS_##n, SPACE_##s, NULL)
#define FIELD(words, n, m) ROW(words, FIELD, NEEDS_##n, MEMBER_##m, NULL)
#define ALSO		   CALL
#define CALL(id, words)	   ROW(words, CALL, 0, CALL_##id, NULL)
#define FROM(words, p)	   ROW(words, FROM, 0, 0, p)
/* clang-format off */
#include "phrases.def"
#include "calls.def"
	/* clang-format on */
};
#define GAP_MAX 2 /* characters between the words of a phrase: more begin something else */

/* --- words ------------------------------------------------------------------------------------ */

const char *word_next(const char *text, const char *end, size_t *length)
{
	const char *start;

	while (text < end && !isalnum((unsigned char)*text))
		text++;
	for (start = text; text < end && isalnum((unsigned char)*text);)
		text++;
	*length = (size_t)(text - start);
	return *length ? start : NULL;
}

static size_t hash_of(const char *word, size_t n)
{
	uint64_t key = 0;

	/* Eight letters tell the words of the table apart well enough. */
	for (size_t i = 0; i < n && i < 8; i++)
		key = key << 8 | (unsigned char)tolower((unsigned char)word[i]);
	return (size_t)rd_hash2(key, n);
}

/* Other names of rdmadump's own count only if they are asked for. */
bool is_own(const struct code *code)
{
	return code->space > SPACE_RULE;
}

/* Where the text continues after all words of the phrase; NULL: others follow. */
static const char *match(const struct phrase *p, const char *text, const char *end)
{
	const char *word = p->text, *stop = p->text + p->length;
	size_t n, length;

	/* Names of counters and findings are words of English: they count as written only. */
	if (p->code && (p->code->space == SPACE_COUNTER || p->code->space == SPACE_RULE))
		return (size_t)(end - text) >= p->length && !memcmp(text, p->text, p->length)
			       ? text + p->length
			       : NULL;
	for (const char *from; (word = word_next(word, stop, &n)); word += n, text += length) {
		from = text;
		text = word_next(text, end, &length);
		if (!text || length != n || strncasecmp(word, text, n) != 0)
			return NULL;
		/* NCCL has a blank before its colons, too. */
		if (text - from > GAP_MAX && (text - from > 3 || memcmp(from, " : ", 3) != 0))
			return NULL;
	}
	return text;
}

const struct phrase *phrase_at(const struct catalogue *c, const struct phrase *former,
	const char *word, size_t length, const char *end, unsigned int marks, const char **after)
{
	const struct phrase *p =
		former ? former->next : c->first[hash_of(word, length) & (c->n_first - 1)];

	for (; p; p = p->next) {
		if ((p->needs & marks) == p->needs && (*after = match(p, word, end)))
			return p;
	}
	return NULL;
}

/* --- filling it ------------------------------------------------------------------------------- */

const struct code *code_of(
	const struct catalogue *c, enum space space, unsigned int number, unsigned int with)
{
	const struct code *any = NULL;

	for (size_t i = 0; i < c->n; i++) {
		const struct code *code = &c->code[i];

		if (code->space != space || code->number != number)
			continue;
		if (with && code->with == with)
			return code;
		if (!code->with || space == SPACE_SYNDROME)
			any = code;
	}
	return any;
}

/* Logs are full of words like "packets" and "INIT": such a name counts only if it is asked for. */
static bool is_common(const struct code *code, const char *text, size_t n)
{
	return is_own(code) || (code->space != SPACE_ERRNO && !memchr(text, '_', n) &&
				       !memchr(text, '-', n) && !memchr(text, ' ', n));
}

/*
 * "port error" is one of many things, and so are a link that is up and the counters "CRC errors"
 * and tx_bytes: the line must tell that it is of RDMA.
 */
static unsigned int needs_of(const struct code *code, const char *text)
{
	const bool is_state = code->space == SPACE_PORT_STATE || code->space == SPACE_PHYS_STATE;

	if (text == code->name)
		return is_state || strchr(text, ' ') || !strncmp(text + 1, "x_", 2) ? MARK_RDMA : 0;
	return *text != '~' ? 0 : code->space == SPACE_STATUS ? MARK_COMPLETION : MARK_RDMA;
}

/* Phrases of the code: its name and its words; with NULL only counts them. */
static size_t phrases_of(const struct code *code, struct phrase *to)
{
	const char *texts[] = {code->name, code->words};
	size_t n = 0;

	for (size_t i = 0; i < 2; i++) {
		for (const char *at = texts[i]; at && *at;) {
			const size_t length = strcspn(at, "|");
			const bool counts = !is_common(code, at, length);

			if (counts && to)
				to[n] = (struct phrase){.text = at,
					.length = length,
					.kind = PHRASE_CODE,
					.needs = needs_of(code, at),
					.code = code};
			n += counts;
			at += length + (at[length] == '|');
		}
	}
	return n;
}

static int longer_first(const void *a, const void *b)
{
	const struct phrase *x = a, *y = b;

	/* what a mark must allow is more particular */
	return RD_ORDER(y->length, x->length) ?: RD_ORDER(y->needs, x->needs);
}

/* Chains those with the same first word; the longest is first, so it is entered last. */
static void enter_all(struct catalogue *c)
{
	qsort(c->phrase, c->n_phrases, sizeof(*c->phrase), longer_first);
	for (size_t i = c->n_phrases; i-- > 0;) {
		struct phrase *p = &c->phrase[i];
		size_t n;
		const char *word = word_next(p->text, p->text + p->length, &n);
		const struct phrase **slot = &c->first[hash_of(word, n) & (c->n_first - 1)];

		p->next = *slot;
		*slot = p;
	}
}

static size_t count_codes(void)
{
	size_t n = CODES_COMPUTED;
	const struct code *code = codes;

	for (; code->meaning; code++)
		n++;
	for (const struct rd_counter_kind *k = rd_counter_kinds; k->name; k++)
		n++;
	for (const struct rd_counter_relation *r = rd_counter_relations; r->rule; r++)
		n++;
	return n + rd_rule_texts(NULL, 0) + rd_ends_rule_texts(NULL, 0);
}

struct code code_of_counter(const struct rd_counter_kind *k, const char *name)
{
	return (struct code){.space = SPACE_COUNTER,
		.number = ANY_NUMBER,
		.name = name,
		.meaning = k->meaning,
		.causes = k->cause,
		.next = k->todo};
}

static size_t add_counters(struct code *to)
{
	size_t n = 0;

	for (const struct rd_counter_kind *k = rd_counter_kinds; k->name; k++) {
		const char *slash = strrchr(k->name, '/');

		if (!strpbrk(k->name, "*?")) /* what has no row of its own */
			to[n++] = code_of_counter(k, slash ? slash + 1 : k->name);
	}
	return n;
}

/* One of each key. */
static size_t add_relations(struct code *to)
{
	size_t n = 0;

	for (const struct rd_counter_relation *r = rd_counter_relations; r->rule; r++)
		if (r == rd_counter_relations || strcmp(r->rule, r[-1].rule) != 0)
			to[n++] = (struct code){.space = SPACE_RULE,
				.number = ANY_NUMBER,
				.name = r->rule,
				.meaning = r->text,
				.next = r->todo};
	return n;
}

static size_t add_rules(struct code *to)
{
	const size_t one = rd_rule_texts(NULL, 0), n = one + rd_ends_rule_texts(NULL, 0);
	struct rd_rule_text *texts = calloc(n, sizeof(*texts));

	if (!texts)
		return 0;
	rd_rule_texts(texts, one);
	rd_ends_rule_texts(texts + one, n - one);
	for (size_t i = 0; i < n; i++)
		to[i] = (struct code){.space = SPACE_RULE,
			.number = ANY_NUMBER,
			.name = texts[i].key,
			.meaning = texts[i].title ? texts[i].title : texts[i].meaning,
			.causes = texts[i].title ? texts[i].meaning : NULL,
			.next = texts[i].next};
	free(texts);
	return n;
}

int catalogue_make(struct catalogue *c, struct rd_error *err)
{
	size_t n = count_codes();

	*c = (struct catalogue){.code = calloc(n, sizeof(*c->code)),
		.text = calloc(CODES_COMPUTED, sizeof(*c->text)),
		.n_first = 4096};
	c->first = calloc(c->n_first, sizeof(*c->first));
	if (!c->code || !c->text || !c->first)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "tables of codes");
	for (; codes[c->n].meaning; c->n++)
		c->code[c->n] = codes[c->n];
	codes_compute(c->code + c->n, c->text);
	c->n += CODES_COMPUTED;
	c->n += add_counters(c->code + c->n);
	c->n += add_relations(c->code + c->n);
	c->n += add_rules(c->code + c->n);
	for (size_t i = 0; i < c->n; i++)
		c->n_phrases += phrases_of(&c->code[i], NULL);
	c->phrase = calloc(c->n_phrases + RD_COUNT(table), sizeof(*c->phrase));
	if (!c->phrase)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "tables of codes");
	c->n_phrases = 0;
	for (size_t i = 0; i < RD_COUNT(table); i++) {
		c->phrase[i] = table[i];
		c->phrase[c->n_phrases++].length = strlen(table[i].text);
	}
	for (size_t i = 0; i < c->n; i++)
		c->n_phrases += phrases_of(&c->code[i], c->phrase + c->n_phrases);
	enter_all(c);
	return 0;
}

void catalogue_free(struct catalogue *c)
{
	free(c->code);
	free(c->text);
	free(c->phrase);
	free(c->first);
}
