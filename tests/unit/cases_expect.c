/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a case expects: values of the report as JSON, findings, text. */
#include "cases.h"
#include <ctype.h>

/* --- values of a report ----------------------------------------------------------------------- */

/* The member at "key.key" as text; NULL: there is none. */
static const char *member(const json_t *object, const char *path, size_t n, char number[24])
{
	const char *dot = memchr(path, '.', n);

	for (; dot; n -= (size_t)(dot + 1 - path), path = dot + 1, dot = memchr(path, '.', n))
		object = json_object_getn(object, path, (size_t)(dot - path));
	object = json_object_getn(object, path, n);
	if (json_is_string(object))
		return json_string_value(object);
	snprintf(number, 24, "%lld", (long long)json_integer_value(object));
	return json_is_integer(object) ? number : json_is_null(object) ? "null" : NULL;
}

/* "[3]", "[rule]" or "[key=value]" of a list: an element; NULL: there is none. */
static json_t *element(const json_t *list, const char *key, size_t n)
{
	static const char *const names[] = {"rule", "counter", "name", "address", "mac", "opcode"};
	const char *is = memchr(key, '=', n), *value = is ? is + 1 : key, *text;
	const size_t length = (size_t)(key + n - value);
	char number[24];
	json_t *one;
	size_t i;

	if (n && strspn(key, "0123456789") == n)
		return json_array_get(list, (size_t)atoi(key));
	json_array_foreach (list, i, one) {
		for (size_t k = 0; k < (is ? 1 : sizeof(names) / sizeof(*names)); k++) {
			text = is ? member(one, key, (size_t)(is - key), number)
				  : member(one, names[k], strlen(names[k]), number);
			if (text && strlen(text) == length && !memcmp(text, value, length))
				return one;
		}
	}
	return NULL;
}

static bool is_incident(const char *key, size_t n)
{
	for (unsigned int i = 0; i < RD_INC_COUNT; i++)
		if (!strncmp(rd_incident_names[i].key, key, n) && !rd_incident_names[i].key[n])
			return true;
	return false;
}

static json_t *first_conversation(const struct run *r)
{
	return json_array_get(json_object_get(r->json, "conversations"), 0);
}

/* "to", "back", "to7": the QP 0x100 or 0x200 of two captures; in a network. */
static json_t *path_of(const struct run *r, const char *name)
{
	const bool back = *name == 'b';
	int network = atoi(name + (back ? 4 : 2));
	json_t *path;
	size_t i;

	json_array_foreach (json_object_get(r->json, "paths"), i, path) {
		const json_t *qp = json_array_get(json_object_get(path, "qps"), 0);

		if (json_integer_value(json_object_get(qp, "qp")) != (back ? 0x200 : 0x100))
			continue;
		if (!network || json_integer_value(json_object_get(path, "network")) == network) {
			json_object_update_missing(path, (json_t *)qp);
			return path;
		}
	}
	return NULL;
}

/* Where a path begins. */
static json_t *root(struct run *r, const char **path)
{
	const size_t n = strcspn(*path, ".[");
	const char *name = *path;
	json_t *c = first_conversation(r), *sides = json_object_get(c, "sides");

	if (r->two && (!strncmp(name, "to", 2) || !strncmp(name, "back", 4))) {
		*path += n;
		return path_of(r, name);
	}
	if (!r->two && n == 1 && strchr("abc", *name)) {
		*path += n;
		return *name == 'c' ? c : json_object_getn(sides, name, n);
	}
	if (!r->two && n == 3 && !strncmp(name, "app", n)) {
		*path += n;
		return json_array_get(json_object_get(r->json, "applications"), 0);
	}
	if (!r->two && is_incident(name, n))
		return json_object_get(json_object_get(sides, "a"), "events");
	return r->json;
}

static json_t *sum_of(json_t *list)
{
	json_int_t sum = 0;
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		sum += json_integer_value(one);
	return json_integer(sum);
}

/* The value of a path, which the caller releases. */
static json_t *value_at(struct run *r, size_t at, const char *path)
{
	const char *p = path;
	json_t *now = root(r, &p);

	while (*p && now) {
		size_t n;

		if (*p == '[') {
			n = strcspn(++p, "]");
			now = element(now, p, n);
			p += n + 1;
			continue;
		}
		p += *p == '.';
		n = strcspn(p, ".[");
		if (n == 1 && *p == 'n' && (json_is_array(now) || !json_object_get(now, "n")))
			return json_integer(
				(json_int_t)(json_is_array(now) ? json_array_size(now)
								: json_object_size(now)));
		if (n == 3 && !strncmp(p, "sum", 3) && json_is_array(now))
			return sum_of(now);
		if (!json_object_getn(now, p, n) && !is_incident(p, n) && json_is_object(now))
			bail(r, at, "the report has no '%s' for '%s'", p, path);
		if (!json_object_getn(now, p, n) && is_incident(p, n))
			return json_integer(0);
		now = json_object_getn(now, p, n);
		p += n;
	}
	if (json_is_object(now) && json_object_get(now, "count"))
		now = json_object_get(now, "count");
	return now ? json_incref(now) : json_null();
}

/* As text; elements of a list have commas between them. */
static void print(const json_t *value, char *to, size_t capacity)
{
	json_t *one;
	size_t i, n = 0;

	to[0] = '\0';
	switch (json_typeof(value)) {
	case JSON_STRING:
		snprintf(to, capacity, "%s", json_string_value(value));
		break;
	case JSON_INTEGER:
		snprintf(to, capacity, "%lld", (long long)json_integer_value(value));
		break;
	case JSON_REAL:
		snprintf(to, capacity, "%g", json_real_value(value));
		break;
	case JSON_ARRAY:
		json_array_foreach (value, i, one) {
			n += (size_t)snprintf(to + n, capacity - n, i ? "," : "");
			print(one, to + n, capacity - n);
			n += strlen(to + n);
			if (capacity - n < 2)
				return;
		}
		break;
	default:
		snprintf(to, capacity, "%s",
			json_is_true(value)	? "true"
			: json_is_false(value)	? "false"
			: json_is_object(value) ? "an object"
						: "null");
	}
}

/* --- comparison ------------------------------------------------------------------------------- */

static const char *const operators[] = {"!=", "!~", "<=", ">=", "=", "~", "^", "<", ">"};

/* The operator of an expectation, outside of brackets; NULL: it has none. */
static const char *operator_of(const char *text, const char **at)
{
	unsigned int depth = 0;

	for (const char *p = text; *p; p++) {
		depth += *p == '[';
		depth -= *p == ']';
		for (size_t i = 0;
			!depth && p != text && i < sizeof(operators) / sizeof(*operators); i++)
			if (!strncmp(p, operators[i], strlen(operators[i]))) {
				*at = p;
				return operators[i];
			}
	}
	return NULL;
}

static double number_of(struct run *r, size_t at, const char *text)
{
	double n;
	json_t *other;

	if (*text != '.')
		return (double)value_of(r, at, text);
	other = value_at(r, at, text + 1);
	n = json_number_value(other);
	json_decref(other);
	return n;
}

static bool compare_numbers(const char *op, double a, double b)
{
	if (!strcmp(op, "="))
		return a == b;
	if (!strcmp(op, "!="))
		return a != b;
	if (!strcmp(op, "<="))
		return a <= b;
	if (!strcmp(op, ">="))
		return a >= b;
	return *op == '<' ? a < b : a > b;
}

static bool compare_text(struct run *r, size_t at, const char *op, const char *a, const char *b)
{
	if (!strcmp(op, "="))
		return !strcmp(a, b);
	if (!strcmp(op, "!="))
		return strcmp(a, b) != 0;
	if (!strcmp(op, "~"))
		return strstr(a, b) != NULL;
	if (!strcmp(op, "!~"))
		return !strstr(a, b);
	if (!strcmp(op, "^"))
		return !strncmp(a, b, strlen(b));
	bail(r, at, "'%s' compares numbers, and this is text: '%s'", op, a);
}

/* Two long texts are never compared at once: the report's has its own place. */
static bool holds(struct run *r, size_t at, const char *text, char *got, size_t capacity)
{
	const char *p = NULL, *op = operator_of(text, &p);
	char path[256];
	json_t *value;
	bool held;

	if (!op)
		bail(r, at, "'%s' is no expectation", text);
	snprintf(path, sizeof(path), "%.*s", (int)(p - text), text);
	p += strlen(op);
	if (!strcmp(path, "text")) {
		snprintf(got, capacity, "another text:\n%s", r->text);
		return compare_text(r, at, op, r->text, p);
	}
	value = value_at(r, at, path);
	print(value, got, capacity);
	if (json_is_number(value) && strcmp(p, "null"))
		held = compare_numbers(op, json_number_value(value), number_of(r, at, p));
	else if (json_is_boolean(value) && strcmp(p, "true") && strcmp(p, "false"))
		held = (json_is_true(value) == (value_of(r, at, p) != 0)) == (*op == '=');
	else if (json_is_null(value) && strchr("<>", *op))
		held = false;
	else
		held = compare_text(r, at, op, got, p);
	json_decref(value);
	return held;
}

/* "RULE:CERTAINTY", of all findings of a rule, "RULE:any" or "!RULE". */
static bool finds(const struct run *r, const char *text, char *got, size_t capacity)
{
	const bool none = *text == '!';
	const char *rule = text + none, *certainty = strchr(rule, ':');
	const size_t length = certainty ? (size_t)(certainty - rule) : strlen(rule);
	size_t i, n = (size_t)snprintf(got, capacity, "these findings:"), found = 0, wrong = 0;
	json_t *one;

	json_array_foreach (json_object_get(r->json, "findings"), i, one) {
		const char *name = json_string_value(json_object_get(one, "rule"));
		const char *is = json_string_value(json_object_get(one, "certainty"));

		if (n < capacity)
			n += (size_t)snprintf(got + n, capacity - n, " %s:%s", name, is);
		if (strncmp(name, rule, length) || name[length])
			continue;
		found++;
		wrong += certainty && strcmp(certainty, ":any") && strcmp(certainty + 1, is);
	}
	return none ? !found : found && !wrong;
}

static bool is_finding(const char *text)
{
	size_t n = strspn(text + (*text == '!'), "abcdefghijklmnopqrstuvwxyz-");

	return *text == '!' ? !text[1 + n] : text[n] == ':' && isalpha((unsigned char)text[n + 1]);
}

static void complain(const struct run *r, size_t at, const char *text, const char *got)
{
	printf("# %s:%d: expected %s", r->path, r->tok[at].line, text);
	for (unsigned int i = 0; i < r->n_vars; i++)
		if (r->var[i].text)
			printf("%s%s=%s", i ? " " : ", with ", r->var[i].name, r->var[i].text);
		else
			printf("%s%s=%lld", i ? " " : ", with ", r->var[i].name,
				(long long)r->var[i].n);
	fputs("\n# got ", stdout);
	for (; *got; got++) {
		putchar(*got);
		if (*got == '\n')
			fputs("# ", stdout);
	}
	putchar('\n');
}

/* Whatever a case is about: each finding says all, and one of a QP pair names frames. */
static void check_findings(struct run *r, size_t at, const struct rd_findings *l)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct rd_finding *f = &l->finding[i];
		const struct rd_evidence *e = &f->evidence;

		if (f->title && f->detail && f->where && f->meaning && f->next &&
			e->first_ns <= e->last_ns && (e->n_frames || !f->conversation))
			continue;
		printf("# %s:%d: %s lacks a text, or its frames\n", r->path, r->tok[at].line,
			f->rule);
		r->failed++;
	}
}

size_t expect_line(struct run *r, size_t at)
{
	static char got[8192];

	if (!r->json) {
		if (r->two)
			ends_report(r, at);
		else
			frames_report(r);
		check_findings(r, at, r->two ? &r->er->findings : &r->r->findings);
	}
	for (at++; goes_on(r, at); at++) {
		const char *text = text_of(r, at);

		r->expected++;
		if (is_finding(text) ? finds(r, text, got, sizeof(got))
				     : holds(r, at, text, got, sizeof(got)))
			continue;
		complain(r, at, text, got);
		r->failed++;
	}
	return at;
}
