/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds names by the words around them, since the lists of this machine are incomplete. What is
 * found in this machine's text is replaced everywhere, so nothing but a name may complete the line
 * of a pattern; words that name nothing are in names.c.
 */
#include "redact.h"
#include <ctype.h>

/*
 * A small letter stands for itself in any case, other characters for themselves, but
 *   &  first: only in text of captures            ^  no letter or digit is before it
 *   !  a word begins here                         a blank: any number of blanks, "_", "-"
 *   ~  any number of blanks, quotes, : = . < >    #  the same, but one of : = ] or a quote
 *   ?  the rest of the word, perhaps nothing      |  a letter or digit follows
 * The name ends before what follows it in the pattern, and is
 *   *  a word, without "/"     +  a word     $  words, up to a comma or "/"     %  a line
 * Of several patterns at one place, the first one counts.
 */
#define PATTERNS_MAX 20 /* of a row */
static const struct {
	enum rd_redact_kind kind;
	const char *patterns[PATTERNS_MAX];
} labels[] = {
	{RD_REDACT_USER, {"/home/*", "/users/*", "log name#*", "user name#*", "user=~*",
				 "user id=*(", "acct=~*", "uid=\"*\"", "^uid=*,", "name=*, uid=",
				 "!*@?.?.?.?", "unix-user:*", "^account=*", "jobname=*"}},
	/* sshd, PAM, logind */
	{RD_REDACT_USER, {"^for * from ? port ? ssh2", "^for * from ? port ? id ",
				 "^user * from ? not allowed", "invalid user *",
				 "authenticating user *", "disconnected from user *",
				 "opened for user *(uid=?) by *(uid=", "opened for user *",
				 "closed for user *", "found for user *", "session ? of user *",
				 "user slice of *", "login on ? by *"}},
	/* su, sudo, cron */
	{RD_REDACT_USER, {"(to *) * on ", "su for * by *", "!* : tty=", "!* : ? incorrect password",
				 "(*) cmd", "(*) list (", "(*) reload ("}},
	{RD_REDACT_HOST, {"nqn.+", "iqn.+", "node name#*", "hostname set to ~*",
				 "set hostname to ~*", "hostname changed from ~*\" to \"*",
				 "host name#*", "domain name#*", "comm id#*", "host id#*",
				 "rhost=*", "^ip=?:?:?:?:*:", "linux version ? (*@*)"}},
	/* in comments of rdmadump */
	{RD_REDACT_HOST, {"&on host ~*", "&: sent by ~*"}},
	/* servers: URLs, SMB, NFS, scp, Lustre */
	{RD_REDACT_SECRET, {"://*:*@", "iscsi:*:*@", "^pass=+", "^sig=+"}},
	{RD_REDACT_HOST, {"//?:?@*", "://*", "!//*/*", "\\\\*\\*", "vfs: \\\\*", "nfs? server ~*",
				 "nfs?:*:/|", "rpc: server ~*", "lockd: server ~*", "!*:/|",
				 "!*@o2ib?:/*", "!*@o2ib", "!*@tcp?:/*", "!*@tcp", "!*@*:/|",
				 "!*-ost0", "!*-mdt0", "mounted *-client"}},
	/* clusters, containers */
	{RD_REDACT_HOST, {"nodelist=*", "^node=\"*", "namespace=\"*", "^pod=~+", "^pods=~+",
				 "ing pod +", "log/pods/*"}},
	{RD_REDACT_ID, {"container id~*", "container ~*", "^id=~*", "proctitle=*", "sha256:+",
			       "^ssh-? +"}},
	/* subjects of certificates, directories */
	{RD_REDACT_HOST, {"^cn = $", "^ou = $", "^dc = $", "^O = $", ", L = $", "/L=$", ", ST = $",
				 "/ST=$", "x.509 cert '$: *'"}},
	{RD_REDACT_SERIAL, {"serial number [sn]~*", "serial number~*", "serial no~*", "serial~*",
				   "asset tag~*", "service tag~*", "^s/n~*", "^sn~*", "^ppid#*"}},
	{RD_REDACT_SECRET, {"password#+", "passwd#+", "passphrase#+", "token#+", "secret#+",
				   "api key#+", "secret key#+", "access key#+", "access key id#+",
				   "^psk=+", "authorization: ? +"}},
	/* nodes of InfiniBand, an alias of a netdev, switches as LLDP describes them */
	{RD_REDACT_NODE,
		{"node description~%", "node desc~%", "\n    alias %", "mf0;*:", "sysname#%",
			"system name#%", "system name tlv\n %", "chassis.name=%",
			"chassis id#local %", "chassis id tlv\n local#%", "port descr#%",
			"port.descr=%", "port description#%", "port description tlv\n %"}},
};

/* The first characters of patterns lead to them; those that begin with a name have none. */
static unsigned char first_of(const char *pattern)
{
	pattern += strspn(pattern, "&^!");
	return *pattern == '*' ? 0 : (unsigned char)tolower((unsigned char)*pattern);
}

_Static_assert(RD_COUNT(labels) * PATTERNS_MAX <= LABELS_MAX, "each has its place in the index");
void labels_index(struct rd_redact *r)
{
	struct label *label = r->label;

	for (size_t i = RD_COUNT(labels); i-- > 0;)
		for (size_t k = RD_COUNT(labels[i].patterns); k-- > 0;) {
			const char *pattern = labels[i].patterns[k];

			if (!pattern)
				continue;
			*label = (struct label){
				labels[i].kind, pattern, r->labels[first_of(pattern)]};
			r->labels[first_of(pattern)] = label++;
		}
}

static bool is_of(char c, const char *list)
{
	return c && strchr(list, c) != NULL;
}

static bool begins_word(const struct labels *l, size_t at)
{
	return !at || is_of(l->text[at - 1], " \t\n\"'(,=[<");
}

static bool ends_name(const struct labels *l, char extent, char c)
{
	if ((unsigned char)c < 0x20 || c == '"' || (l->data && c == '\\'))
		return true;
	if (extent == '%' || extent == '$')
		return extent == '$' && is_of(c, ",/'");
	if (extent == '*' && l->kind == RD_REDACT_HOST)
		return !isalnum((unsigned char)c) && !is_of(c, ".-_[$");
	return is_of(c, " ',;()<>&{}]") || (extent == '*' && c == '/');
}

static bool match(struct labels *l, const char *pattern, size_t at);

/*
 * The name at `at`: as short as the rest of the pattern permits. Only secrets are longer than any
 * name: text without blanks would be searched to its end for each label in it.
 */
static bool match_name(struct labels *l, const char *pattern, size_t at)
{
	const size_t k = l->n_names;
	const size_t last =
		l->kind == RD_REDACT_SECRET ? l->n : RD_MIN(l->n, at + NAME_MAX_LEN + 1);
	bool found = false;
	size_t end = at;

	for (; k < RD_COUNT(l->name); end++) {
		const bool ends = end == last || ends_name(l, *pattern, l->text[end]);

		l->n_names = k + 1;
		if (end > at && (ends || (pattern[1] && l->text[end] == pattern[1])))
			found = match(l, pattern + 1, end);
		if (ends || found)
			break;
	}
	while (!pattern[1] && end > at &&
		is_of(l->text[end - 1], *pattern == '%' ? " \t" : " \t.:"))
		end--; /* ... and the end of the sentence */
	if (found && end > at)
		l->name[k] = (struct label_name){at, end - at};
	else
		l->n_names = k;
	return found && end > at;
}

/* Whether the rest of a pattern is at `at`. */
static bool match(struct labels *l, const char *pattern, size_t at)
{
	const char *text = l->text, *between = l->data ? " \t:=\"'.[]<>\\" : " \t:=\"'.[]<>";
	const char before = at ? text[at - 1] : '\n', here = at < l->n ? text[at] : '\0';

	switch (*pattern) {
	case '\0':
		return true;
	case '^':
		if (isalnum((unsigned char)before))
			return false;
		break;
	case '|':
		if (!isalnum((unsigned char)here))
			return false;
		break;
	case '!':
		if (!begins_word(l, at))
			return false;
		break;
	case ' ':
		while (at < l->n && is_of(text[at], " \t_-"))
			at++;
		break;
	case '~':
	case '#':
		if (isalnum((unsigned char)before) && isalnum((unsigned char)here))
			return false;
		for (l->marked = is_of(before, ":="); at < l->n && is_of(text[at], between); at++)
			l->marked |= is_of(text[at], ":=]\"'");
		if (*pattern == '#' && !l->marked)
			return false;
		break;
	case '?':
		for (size_t n = 0; at < l->n && n < NAME_MAX_LEN && text[at] != pattern[1] &&
				   !isspace((unsigned char)text[at]);
			n++)
			at++;
		break;
	case '*':
	case '+':
	case '$':
	case '%':
		return match_name(l, pattern, at);
	default:
		if (*pattern !=
			(islower((unsigned char)*pattern) ? tolower((unsigned char)here) : here))
			return false;
		at++;
	}
	return match(l, pattern + 1, at);
}

/* A word of a sentence, a number, a version or an address is no name. */
static bool is_name(const struct labels *l, const char *text, size_t n)
{
	size_t digits = 0, capitals = 0, hex = 0, signs = 0;

	for (size_t i = 0; i < n; i++) {
		digits += isdigit((unsigned char)text[i]) != 0;
		capitals += isupper((unsigned char)text[i]) != 0;
		hex += isxdigit((unsigned char)text[i]) != 0;
		signs += text[i] == '.' || text[i] == ':';
	}
	if (n > 1 && *text == '0' && tolower((unsigned char)text[1]) == 'x')
		return false;
	switch (l->kind) {
	case RD_REDACT_SERIAL:
		return digits && n >= (l->marked ? 4 : 7) && (!signs || digits + signs < n) &&
		       (l->marked || (capitals && digits > 1));
	case RD_REDACT_ID:
		return hex == n ? n >= 12 && digits && digits < n : n >= 40;
	case RD_REDACT_HOST:
	case RD_REDACT_USER:
		return isalnum((unsigned char)*text) && !memchr(text, '=', n) &&
		       digits + signs + (signs > 2) < n;
	default:
		return true;
	}
}

/* The first pattern of a list that is at `at`. */
static bool find(struct labels *l, const struct label *label, size_t at)
{
	for (; label; label = label->next) {
		const bool foreign = *label->pattern == '&';

		l->kind = label->kind;
		l->n_names = 0;
		if ((!foreign || l->foreign) && match(l, label->pattern + foreign, at))
			break;
	}
	for (size_t i = 0; i < l->n_names; i++)
		if (!is_name(l, l->text + l->name[i].at, l->name[i].n))
			l->name[i].n = 0;
	return label;
}

bool label_find(const struct rd_redact *r, struct labels *l, size_t at)
{
	return find(l, r->labels[tolower((unsigned char)l->text[at])], at) ||
	       (begins_word(l, at) && find(l, r->labels[0], at));
}

void labels_collect(struct rd_redact *r, const char *text, size_t n, bool data)
{
	struct labels l = {.text = text, .n = n, .data = data};

	for (size_t at = 0; at < n; at++) {
		if (!label_find(r, &l, at))
			continue;
		for (size_t i = 0; i < l.n_names; i++)
			rd_redact_name(r, l.kind, text + l.name[i].at, l.name[i].n);
		if (l.n_names && l.name[0].n > NAME_MAX_LEN) /* what is in it is no label */
			at = l.name[0].at + l.name[0].n - 1;
	}
}
