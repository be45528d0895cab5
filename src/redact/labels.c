/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds names by the labels before them in text, since the lists of this machine are incomplete. */
#include "redact.h"
#include <ctype.h>
#include <strings.h>

/*
 * Where a name ends. In a path or NQN it follows the label directly; else blanks, quotes, ":", "=",
 * "." precede it. A VALUE is a word, and ":", "=", "]" or a quote is between; the label of an
 * OWN_VALUE is no part of a word, as it is in psn. A FOREIGN word counts only in text of captures.
 */
enum extent { WORD, VALUE, OWN_VALUE, FOREIGN, PATH, NQN, LINE };

/* Case is ignored. Longer labels come first. */
static const struct label {
	const char *text;
	enum rd_redact_kind kind;
	enum extent extent;
} labels[] = {
	{"/home/", RD_REDACT_USER, PATH},
	{"/users/", RD_REDACT_USER, PATH},
	{"nqn.", RD_REDACT_HOST, NQN},
	{"iqn.", RD_REDACT_HOST, NQN},
	{"serial number [sn]", RD_REDACT_SERIAL, WORD},
	{"serial number", RD_REDACT_SERIAL, WORD},
	{"serial_number", RD_REDACT_SERIAL, WORD},
	{"serial-number", RD_REDACT_SERIAL, WORD},
	{"serialnumber", RD_REDACT_SERIAL, WORD},
	{"serial no", RD_REDACT_SERIAL, WORD},
	{"_serial", RD_REDACT_SERIAL, WORD},
	{"\"serial\"", RD_REDACT_SERIAL, WORD},
	{"asset tag", RD_REDACT_SERIAL, WORD},
	{"asset_tag", RD_REDACT_SERIAL, WORD},
	{"s/n", RD_REDACT_SERIAL, WORD},
	{"sn", RD_REDACT_SERIAL, OWN_VALUE},
	{"nodename", RD_REDACT_HOST, VALUE},
	{"hostname set to", RD_REDACT_HOST, WORD},
	{"hostname", RD_REDACT_HOST, VALUE},
	{"host name", RD_REDACT_HOST, VALUE},
	{"nfs: server", RD_REDACT_HOST, WORD},
	{"on host", RD_REDACT_HOST, FOREIGN}, /* in comments of rdmadump, as the next one */
	{": sent by", RD_REDACT_HOST, FOREIGN},
	{"logname=", RD_REDACT_USER, WORD},
	{"username", RD_REDACT_USER, VALUE},
	{"user=", RD_REDACT_USER, WORD},
	{"acct=", RD_REDACT_USER, WORD},
	{"password=", RD_REDACT_USER, WORD},
	{"token=", RD_REDACT_USER, WORD},
	{"\n    alias ", RD_REDACT_NODE, LINE}, /* of a netdev */
	{"node_desc", RD_REDACT_NODE, LINE},
	{"node description", RD_REDACT_NODE, LINE},
};

static const struct label *label_at(const char *text, size_t left)
{
	for (size_t i = 0; i < RD_COUNT(labels); i++) {
		size_t n = strlen(labels[i].text);

		if (n <= left && tolower((unsigned char)*text) == labels[i].text[0] &&
			strncasecmp(text, labels[i].text, n) == 0)
			return &labels[i];
	}
	return NULL;
}

static bool is_between(char c)
{
	return c && strchr(" \t:=\"'.[]<", c) != NULL;
}

static bool ends_name(const struct label *label, char c, bool data)
{
	if ((unsigned char)c < 0x20 || c == '"' || (data && c == '\\'))
		return true;
	if (label->extent == LINE)
		return false;
	return isspace((unsigned char)c) || strchr("',;()<>&{}]", c) ||
	       (label->extent == PATH && c == '/');
}

/* A word of a sentence is not a serial number: "serial number is not available". */
static bool is_serial(const char *text, size_t n)
{
	bool digit = false;

	for (size_t i = 0; i < n; i++)
		digit |= isdigit((unsigned char)text[i]) != 0;
	return digit && n >= 4;
}

bool label_find(const char *text, size_t at, size_t n, bool data, struct label_name *name)
{
	const struct label *label = label_at(text + at, n - at);
	bool part = at && isalnum((unsigned char)text[at - 1]), named;
	size_t end;

	if (!label || (label->extent == OWN_VALUE && part))
		return false;
	named = label->extent != VALUE && label->extent != OWN_VALUE;
	at += strlen(label->text);
	for (; label->extent != PATH && label->extent != NQN && at < n && is_between(text[at]);
		at++)
		named |= strchr(":=]\"'", text[at]) != NULL;
	if (!named)
		return false;
	for (end = at; end < n && !ends_name(label, text[end], data);)
		end++;
	while (end > at && (isspace((unsigned char)text[end - 1]) ||
				   (label->extent != LINE && strchr(".:", text[end - 1]))))
		end--; /* ... and the end of the sentence */
	*name = (struct label_name){
		.at = at, .n = end - at, .kind = label->kind, .foreign = label->extent == FOREIGN};
	if (label->kind == RD_REDACT_SERIAL && !is_serial(text + at, end - at))
		name->n = 0;
	return true;
}

void labels_collect(struct rd_redact *r, const char *text, size_t n, bool data)
{
	struct label_name name;

	for (size_t at = 0; at < n;) {
		bool found = label_find(text, at, n, data, &name);

		if (found && !name.foreign)
			rd_redact_name(r, name.kind, text + name.at, name.n);
		at = found ? name.at : at + 1;
	}
}
