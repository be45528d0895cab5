/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The words of a file of cases: tokens, variables, expressions. */
#include "cases.h"
#include <ctype.h>
#include <stdarg.h>

void bail(const struct run *r, size_t at, const char *fmt, ...)
{
	va_list ap;

	printf("Bail out! %s:%d: ", r->path, at < r->n ? r->tok[at].line : 0);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	exit(1);
}

/* --- tokens ----------------------------------------------------------------------------------- */

static char *file_content(const char *path)
{
	FILE *f = fopen(path, "r");
	char *all = NULL;
	size_t size = 0;

	if (!f || getdelim(&all, &size, '\0', f) < 0) {
		printf("Bail out! %s cannot be read\n", path);
		exit(1);
	}
	fclose(f);
	return all;
}

static struct token *token_add(struct run *r, const char *text, int line)
{
	struct token *t;

	if (!(r->n & (r->n + 1)))
		r->tok = realloc(r->tok, (2 * r->n + 2) * sizeof(*r->tok));
	if (!r->tok)
		abort();
	t = &r->tok[r->n++];
	*t = (struct token){.text = text, .line = line};
	t->starts = r->n < 2 || t[-1].line != line;
	return t;
}

/* The quotation mark that is open behind this character: words in one kind may have the other. */
static char quote(char open, char c)
{
	if (c != '"' && c != '\'')
		return open;
	return open == c ? '\0' : open ? open : c;
}

/* Cuts one token off; a line that ends with a backslash goes on in the next one. */
static char *token_cut(struct run *r, char *p, int *line)
{
	bool fact = !strncmp(p, "fact", 4) && isspace((unsigned char)p[4]);
	char quoted = '\0';
	char *start = p;

	if (fact) { /* its text is the rest of the line */
		token_add(r, "fact", *line);
		for (start = p += p[4] == '\n' ? 4 : 5; *p && *p != '\n'; p++)
			if (*p == '\\' && p[1] == '\n') {
				*p++ = ' ';
				*p = ' ';
				++*line;
			}
	}
	while (!fact && *p && *p != '\n' && (quoted || !isspace((unsigned char)*p)))
		quoted = quote(quoted, *p++);
	token_add(r, start, *line);
	if (*p == '\n')
		++*line;
	if (*p)
		*p++ = '\0';
	return p;
}

static void match_braces(struct run *r)
{
	size_t open[32], depth = 0;

	for (size_t i = 1; i < r->n; i++)
		if (!strcmp(r->tok[i - 1].text, "fact"))
			continue;
		else if (!strcmp(r->tok[i].text, "{")) {
			if (depth == 32)
				bail(r, i, "blocks are nested too deep");
			open[depth++] = i;
		} else if (!strcmp(r->tok[i].text, "}")) {
			if (!depth)
				bail(r, i, "'}' without '{'");
			r->tok[open[--depth]].match = i;
		}
	if (depth)
		bail(r, open[0], "'{' without '}'");
}

void words_read(struct run *r, const char *path)
{
	char *p = file_content(path);
	int line = 1;

	*r = (struct run){.path = path};
	token_add(r, p, 0)->starts = true; /* owns the memory */
	while (*p) {
		while (isspace((unsigned char)*p))
			line += *p++ == '\n';
		if (*p == '#')
			while (*p && *p != '\n')
				p++;
		else if (*p)
			p = token_cut(r, p, &line);
	}
	r->tok[0].match = 0;
	match_braces(r);
}

void words_free(struct run *r)
{
	free((char *)r->tok[0].text);
	free(r->tok);
}

bool goes_on(const struct run *r, size_t at)
{
	const char *text = r->tok[at].text;

	return at < r->n && !r->tok[at].starts && strcmp(text, "{") && strcmp(text, "}");
}

/* --- variables -------------------------------------------------------------------------------- */

#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(list)   TEXT_OF(list)

static int slot_by(const char *name, size_t n)
{
	const char *slot = " " TEXT(SLOTS);

	for (int i = 0; i < N_SLOTS; i++, slot = strchr(slot + 1, ' ')) {
		const char *its = slot + strlen(" S_");

		if (!strncmp(its, name, n) && (!its[n] || its[n] == ','))
			return i;
	}
	return -1;
}

static struct var *var_by(struct run *r, const char *name, size_t n)
{
	for (unsigned int i = r->n_vars; i-- > 0;)
		if (!strncmp(r->var[i].name, name, n) && !r->var[i].name[n])
			return &r->var[i];
	for (unsigned int i = 0; i < r->n_made; i++)
		if (!strncmp(r->made[i].name, name, n) && !r->made[i].name[n])
			return &r->made[i];
	return NULL;
}

bool is_expression(struct run *r, const char *text)
{
	while (*text) {
		size_t n = 0;

		while (isalnum((unsigned char)text[n]) || text[n] == '_')
			n++;
		if (n && !isdigit((unsigned char)*text) && !var_by(r, text, n) &&
			slot_by(text, n) < 0 && (n != 3 || strncmp(text, "now", 3)))
			return false;
		text += n ? n : 1;
	}
	return true;
}

const char *text_in(struct run *r, const char *name)
{
	const struct var *v = var_by(r, name, strlen(name));

	return v ? v->text : NULL;
}

static void name_var(struct run *r, size_t at, struct var *v, unsigned int n, const char *name)
{
	if (n == VARS || strlen(name) >= sizeof(v->name))
		bail(r, at, "too many variables, or a long name: '%s'", name);
	snprintf(v->name, sizeof(v->name), "%s", name);
	v->text = NULL;
	v->n = 0;
}

void var_set(struct run *r, size_t at, const char *name, const char *text, int64_t n)
{
	struct var *v = &r->var[r->n_vars];

	name_var(r, at, v, r->n_vars++, name);
	v->text = text;
	v->n = n;
}

bool slot_set(struct run *r, int64_t *slots, size_t at, const char *assignment)
{
	size_t n = strcspn(assignment, "=");
	int slot = slot_by(assignment, n);
	struct var *v;
	char name[24];

	if (!assignment[n])
		bail(r, at, "'%s' is no 'name=value'", assignment);
	if (slot >= 0) {
		slots[slot] = value_of(r, at, assignment + n + 1);
		return true;
	}
	if (slots != r->slot)
		return false;
	v = var_by(r, assignment, n);
	if (!v) {
		snprintf(name, sizeof(name), "%.*s", (int)n, assignment);
		v = &r->made[r->n_made];
		name_var(r, at, v, r->n_made++, name);
	}
	v->n = value_of(r, at, assignment + n + 1);
	v->text = NULL;
	return true;
}

/* --- expressions ------------------------------------------------------------------------------ */

struct parser {
	struct run *r;
	size_t at;
	const char *p;
};

static int64_t choice(struct parser *x);

static int64_t number(struct parser *x)
{
	static const struct {
		const char *unit;
		int64_t factor;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"k", 1024}};
	char *end;
	int64_t n = (int64_t)strtoull(x->p, &end, 0);

	x->p = end;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		size_t length = strlen(units[i].unit);

		if (strncmp(end, units[i].unit, length) || isalnum((unsigned char)end[length]))
			continue;
		x->p += length;
		return n * units[i].factor;
	}
	return n;
}

static int64_t primary(struct parser *x)
{
	const char *start = x->p;
	const struct var *v;
	int64_t n;
	size_t length;

	if (*x->p == '-' || *x->p == '!' || *x->p == '(') {
		x->p++;
		n = *start == '(' ? choice(x) : primary(x);
		if (*start == '(' && *x->p++ != ')')
			bail(x->r, x->at, "')' is missing in '%s'", start);
		return *start == '-' ? -n : *start == '!' ? !n : n;
	}
	if (isdigit((unsigned char)*x->p))
		return number(x);
	while (isalnum((unsigned char)*x->p) || *x->p == '_')
		x->p++;
	length = (size_t)(x->p - start);
	v = length ? var_by(x->r, start, length) : NULL;
	if (v)
		return v->text ? value_of(x->r, x->at, v->text) : v->n;
	if (slot_by(start, length) >= 0)
		return x->r->slot[slot_by(start, length)];
	if (length == 3 && !strncmp(start, "now", 3))
		return (int64_t)x->r->ns;
	bail(x->r, x->at, "'%s' is no number and no variable", start);
}

static int64_t apply(struct parser *x, const char *op, int64_t a, int64_t b)
{
	if (strchr("/%", *op) && !b)
		bail(x->r, x->at, "division by 0");
	switch (op[0] << 8 | op[1]) {
	case '*' << 8:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case '/' << 8:
		return a / b;
	case '%' << 8:
		return a % b;
	case '+' << 8:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	case '-' << 8:
		return (int64_t)((uint64_t)a - (uint64_t)b);
	case '<' << 8 | '<':
		return (int64_t)((uint64_t)a << b);
	case '>' << 8 | '>':
		return (int64_t)((uint64_t)a >> b);
	case '=' << 8 | '=':
		return a == b;
	case '!' << 8 | '=':
		return a != b;
	case '<' << 8 | '=':
		return a <= b;
	case '>' << 8 | '=':
		return a >= b;
	case '<' << 8:
		return a < b;
	case '>' << 8:
		return a > b;
	case '^' << 8:
		return a ^ b;
	case '&' << 8:
		return a & b;
	case '|' << 8:
		return a | b;
	case '&' << 8 | '&':
		return a && b;
	default:
		return a || b;
	}
}

static int64_t binary(struct parser *x, unsigned int level)
{
	/* By rank; of operators that begin alike, the longer one first. */
	static const char *const ranks[][5] = {{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="},
		{"<=", ">=", "<", ">"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};
	int64_t n;

	if (level == sizeof(ranks) / sizeof(*ranks))
		return primary(x);
	n = binary(x, level + 1);
	for (unsigned int i = 0; i < 5 && ranks[level][i]; i++) {
		const char *op = ranks[level][i];
		size_t length = strlen(op);

		if (strncmp(x->p, op, length))
			continue;
		if (length == 1 && strchr("<>|&", *op) && (x->p[1] == *op || x->p[1] == '='))
			continue;
		x->p += length;
		n = apply(x, op, n, binary(x, level + 1));
		i = UINT32_MAX; /* from the first one again */
	}
	return n;
}

static int64_t choice(struct parser *x)
{
	int64_t n = binary(x, 0), then;

	if (*x->p != '?')
		return n;
	x->p++;
	then = choice(x);
	if (*x->p++ != ':')
		bail(x->r, x->at, "':' is missing behind '?'");
	return n ? (choice(x), then) : choice(x);
}

int64_t value_of(struct run *r, size_t at, const char *expression)
{
	struct parser x = {r, at, expression};
	int64_t n = choice(&x);

	if (*x.p)
		bail(r, at, "'%s' is left of '%s'", x.p, expression);
	return n;
}

/* Appends the value of "$name" or "$(expression)"; returns where the text goes on. */
static const char *substitute(struct run *r, size_t at, const char *p, char *to, size_t capacity)
{
	size_t length = strcspn(p, ")") + 1;
	const struct var *v;
	char expression[128];

	if (*p != '(')
		for (length = 0; isalnum((unsigned char)p[length]) || p[length] == '_';)
			length++;
	v = *p != '(' ? var_by(r, p, length) : NULL;
	if (length >= sizeof(expression))
		bail(r, at, "'$%s' is too long", p);
	snprintf(expression, sizeof(expression), "%.*s", (int)length, p);
	if (v && v->text)
		snprintf(to, capacity, "%s", v->text);
	else
		snprintf(to, capacity, "%lld", (long long)value_of(r, at, expression));
	return p + length;
}

const char *text_of(struct run *r, size_t at)
{
	static char ring[4][8192];
	static unsigned int next;
	const char *p = r->tok[at].text;
	const bool fact = at && !strcmp(r->tok[at - 1].text, "fact");
	char *buffer, quoted = '\0', before;
	size_t n = 0;

	if (!strpbrk(p, fact ? "$" : "$\"'"))
		return p;
	buffer = ring[next++ % 4];
	while (*p && n < sizeof(ring[0]) - 1)
		if (*p == '$') {
			p = substitute(r, at, p + 1, buffer + n, sizeof(ring[0]) - n);
			n += strlen(buffer + n);
		} else {
			before = quoted;
			quoted = fact ? '\0' : quote(quoted, *p);
			if (quoted == before)
				buffer[n++] = *p;
			p++;
		}
	buffer[n] = '\0';
	return buffer;
}
