/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The grammar of triggers:
 *
 *   NAME[=VALUE][>N[/s]][,qp=QP][,host=ADDRESS]     a frame
 *   stall>TIME[,qp=QP][,host=ADDRESS]               a QP that waits
 *   COUNTER[>N[/s]][,device=DEVICE[:PORT]]          a counter
 *   port-down, fatal, gid-change, event=NAME        an event of the device
 *   kmsg=PATTERN   fifo=PATH   log=PATH[,match=PATTERN]
 *                                                   the rest of the text belongs to the value
 */
#include "trigger.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <rdmadump/array.h>
#include <rdmadump/units.h>
#include <rdmadump/words.h>
#include <stdio.h>
#include <stdlib.h>

static const struct trigger_name trigger_names[] = {
#define TRIGGER(name, source, value, wire, event, help)                                            \
	{name, TRIGGER_##source, VALUE_##value, wire, event, help},
#include <rdmadump/trigger.def>
#undef TRIGGER
	{0}};

/* By code. */
static const char *const nak_names[] = {"sequence", "invalid", "access", "operational"};

static const char *const event_names[] = {
#define EVENT(name, help) name,
#include <rdmadump/event.def>
#undef EVENT
};

#define MATCH ",match="

/*
 * What libraries and programs print of a completion with an error (tests/data/explain/lines): NCCL,
 * UCX, libfabric, Open MPI, libiscsi, perftest, drivers, and names and texts of ibv_wc_status.
 * rdmadump-record(1) lists them.
 */
static const char *const failures[] = {"*Got completion from peer*", "*[Cc]ompletion with error*",
	"*Failed status*", "*IBV_WC_*_ERR*", "*prov_err:*", "*remote access error*",
	"*retry count*", "*(synd 0x*", "*for ioctx * with status*", "*vend_err*", "*vendor err*",
	"*vendor syndrome*"};

#define STALL_LEAST_NS 1000000U
#define STALL_MOST_NS  3600000000000U

static int refuse(const struct trigger *t, struct rd_error *err, const char *why)
{
	return rd_fail(err, RD_CLASS_USAGE, 0,
		"rdmadump-record(1) lists the triggers, 'rdmadump counters' the counters",
		"--trigger '%s': %s", t->text, why);
}

static const struct trigger_name *find_name(const char *word)
{
	for (const struct trigger_name *n = trigger_names; n->name; n++)
		if (strcmp(n->name, word) == 0)
			return n;
	return NULL;
}

static int parse_nak(struct trigger *t, const char *value, struct rd_error *err)
{
	uint64_t code;

	for (code = 0; code < RD_COUNT(nak_names) && strcmp(nak_names[code], value); code++)
		;
	if (code == RD_COUNT(nak_names) && rd_parse_u64(value, 0, 31, &code))
		return refuse(t, err,
			"the code of a NAK must be sequence, invalid, access, operational or 0 to "
			"31");
	t->nak = (uint8_t)code;
	return 0;
}

/* "N" or "N/s"; of a stall a time. */
static int parse_limit(struct trigger *t, char *limit, struct rd_error *err)
{
	char *slash = strchr(limit, '/');

	if (t->source == TRIGGER_STALL)
		return rd_parse_duration(limit, STALL_LEAST_NS, STALL_MOST_NS, &t->most)
			       ? refuse(t, err, "after '>' there must be a time from 1ms to 1h")
			       : 0;

	if (slash && strcmp(slash, "/s"))
		return refuse(t, err, "a rate must be a number and /s, like 5/s");
	if (slash)
		*slash = '\0';
	t->rate = slash != NULL;
	if (rd_parse_size(limit, 0, UINT64_MAX / 2, &t->most))
		return refuse(t, err, "after '>' there must be a number, or a rate like 5/s");
	return 0;
}

static int parse_host(struct trigger *t, const char *value, struct rd_error *err)
{
	t->host_len = inet_pton(AF_INET, value, t->host) == 1	 ? 4
		      : inet_pton(AF_INET6, value, t->host) == 1 ? 16
								 : 0;
	return t->host_len ? 0 : refuse(t, err, "host must be an IPv4 or IPv6 address, or a GID");
}

/* "qp=QP", "host=ADDRESS", "device=DEVICE". */
static int parse_key(struct trigger *t, char *key, struct rd_error *err)
{
	bool of_packets = t->source == TRIGGER_WIRE || t->source == TRIGGER_STALL;
	char *value = strchr(key, '=');
	uint64_t qp;

	if (!value)
		return refuse(t, err, "after a comma there must be qp=, host= or device=");
	*value++ = '\0';
	if (strcmp(key, "device") == 0 && t->source == TRIGGER_COUNTER && *value) {
		t->device = value;
		return 0;
	}
	if (strcmp(key, "host") == 0 && of_packets)
		return parse_host(t, value, err);
	if (strcmp(key, "qp") == 0 && of_packets) {
		if (rd_parse_u64(value, 0, 0xffffff, &qp))
			return refuse(t, err, "qp must be a QP number from 0 to 0xffffff");
		t->qp = (uint32_t)qp;
		return 0;
	}
	return refuse(t, err,
		"qp= and host= are for frames, device= is for counters; no other key is known");
}

static int parse_value(struct trigger *t, const char *value, struct rd_error *err)
{
	enum trigger_value wanted = t->name ? t->name->value : VALUE_NONE;

	if (!value)
		return wanted == VALUE_TEXT || wanted == VALUE_EVENT
			       ? refuse(t, err, "it needs a value: NAME=VALUE")
			       : 0;
	if (!*value)
		return refuse(t, err, "it needs a value: NAME=VALUE");
	if (wanted == VALUE_NONE)
		return refuse(t, err, "this trigger takes no value: leave out '='");
	t->value = value;
	if (wanted == VALUE_EVENT &&
		!RD_ANY(e, event_names, RD_COUNT(event_names), !strcmp(*e, value)))
		return refuse(t, err, "there is no event of that name");
	return wanted == VALUE_NAK ? parse_nak(t, value, err) : 0;
}

static bool is_counter_name(const char *word)
{
	if (!*word)
		return false;
	for (; *word; word++)
		if (!isalnum((unsigned char)*word) && !strchr("_/-.", *word))
			return false;
	return true;
}

/*
 * The name that was probably meant; NULL: none is similar. Any other name may be a counter of the
 * device; a name with a "/" always is.
 */
static const struct trigger_name *meant(const char *word)
{
	unsigned int most = strlen(word) < 8 ? 1 : 2;

	for (const struct trigger_name *n = trigger_names; n->name && !strchr(word, '/'); n++)
		if (rd_word_edits(word, n->name) <= most)
			return n;
	return NULL;
}

static int refuse_unknown(const struct trigger *t, const char *word, struct rd_error *err)
{
	const struct trigger_name *near = meant(word);

	if (!is_counter_name(word))
		return refuse(t, err, "it is the name of neither a trigger nor a counter");
	if (!near)
		return 0;
	return rd_fail(err, RD_CLASS_USAGE, 0,
		"rdmadump-record(1) lists the triggers; for a counter give its full name, with '/'",
		"--trigger '%s': there is no trigger '%s'; did you mean '%s'?", t->text, word,
		near->name);
}

/* NAME[=VALUE][>LIMIT], without the keys. */
static int parse_main(struct trigger *t, char *word, struct rd_error *err)
{
	char *limit = strchr(word, '>'), *value;

	if (limit)
		*limit++ = '\0';
	value = strchr(word, '=');
	if (value)
		*value++ = '\0';
	t->name = find_name(word);
	t->source = t->name ? t->name->source : TRIGGER_COUNTER;
	if (!t->name && refuse_unknown(t, word, err) < 0)
		return -1;
	if (!t->name)
		t->counter = word;
	if (parse_value(t, value, err) < 0)
		return -1;
	if (!limit)
		return t->source == TRIGGER_STALL
			       ? refuse(t, err, "the time is missing: stall>TIME")
			       : 0;
	if (t->source != TRIGGER_WIRE && t->source != TRIGGER_COUNTER && t->source != TRIGGER_STALL)
		return refuse(t, err, "'>' is only for triggers of frames and counters");
	if (parse_limit(t, limit, err) < 0)
		return -1;
	if (t->source == TRIGGER_WIRE && !t->rate)
		return refuse(t, err, "for frames the limit must be a rate, like 5/s");
	return 0;
}

/* Names whose value is the rest of the text, commas included. */
static bool takes_rest(struct trigger *t)
{
	char *value = strchr(t->words, '=');
	const struct trigger_name *name;

	if (!value)
		return false;
	*value = '\0';
	name = find_name(t->words);
	if (!name || name->value != VALUE_TEXT || !value[1]) {
		*value = '=';
		return false;
	}
	t->name = name;
	t->source = name->source;
	t->value = value + 1;
	return true;
}

/* The pattern of such a trigger. */
static int parse_pattern(struct trigger *t, struct rd_error *err)
{
	char *match = t->source == TRIGGER_LOG ? strstr(t->value, MATCH) : NULL;
	const char *pattern = t->source == TRIGGER_KMSG	  ? t->value
			      : t->source == TRIGGER_FIFO ? ""
			      : match			  ? match + strlen(MATCH)
							  : NULL;

	if (match)
		*match = '\0';
	if (match && (!*t->value || !*pattern))
		return refuse(t, err, "it needs a value: log=PATH,match=PATTERN");
	if (pattern && asprintf(&t->glob, "*%s*", pattern) < 0) {
		t->glob = NULL;
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for triggers");
	}
	return 0;
}

int trigger_parse(struct trigger *t, const char *text, struct rd_error *err)
{
	char *next, *word;

	*t = (struct trigger){.nak = TRIGGER_NAK_ANY, .qp = TRIGGER_QP_ANY};
	t->text = strdup(text);
	t->words = strdup(text);
	if (!t->text || !t->words)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for triggers");
	if (takes_rest(t))
		return parse_pattern(t, err);
	next = t->words;
	word = strsep(&next, ",");
	if (parse_main(t, word, err) < 0)
		return -1;
	while ((word = strsep(&next, ",")))
		if (parse_key(t, word, err) < 0)
			return -1;
	return 0;
}

void trigger_free(struct trigger *t)
{
	free(t->text);
	free(t->words);
	free(t->glob);
	t->text = t->words = t->glob = NULL;
}

bool trigger_matches(const struct trigger *t, const char *text)
{
	if (t->glob)
		return fnmatch(t->glob, text, 0) == 0;
	return RD_ANY(f, failures, RD_COUNT(failures), fnmatch(*f, text, 0) == 0);
}

/* --- in words --------------------------------------------------------------------------- */

/* The kinds of packets: a name after what the packet shows. */
static void describe_scope(const struct trigger *t, const char *qp, char *out, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "";
	size_t n = strlen(out);

	if (t->qp != TRIGGER_QP_ANY)
		n += (size_t)snprintf(out + n, size - n, "; %s QP 0x%06x", qp, t->qp);
	if (t->host_len && n < size) {
		inet_ntop(t->host_len == 4 ? AF_INET : AF_INET6, t->host, host, sizeof(host));
		snprintf(out + n, size - n, "; from or to %s", host);
	}
}

static void describe_wire(const struct trigger *t, char *out, size_t size)
{
	int n = snprintf(out, size, "%s", t->name->help);

	if (t->nak != TRIGGER_NAK_ANY)
		n = snprintf(out, size, "a NAK '%s'", rd_aeth_nak_name(t->nak));
	else if (t->name->wire == WIRE_NAK)
		n = snprintf(out, size, "a NAK of any code");
	if (t->rate && (size_t)n < size)
		snprintf(out + n, size - (size_t)n, ": more than %llu within a second",
			(unsigned long long)t->most);
	describe_scope(t, "to", out, size);
}

void trigger_describe(const struct trigger *t, char *out, size_t size)
{
	switch (t->source) {
	case TRIGGER_SIGNAL:
		snprintf(out, size, "the signal SIGUSR1");
		return;
	case TRIGGER_WIRE:
		describe_wire(t, out, size);
		return;
	case TRIGGER_STALL:
		snprintf(
			out, size, "%s for longer than %g s", t->name->help, (double)t->most / 1e9);
		describe_scope(t, "of", out, size);
		return;
	case TRIGGER_COUNTER:
		snprintf(out, size, "counter %s%s%s grows by more than %llu %s", t->counter,
			t->device ? " of " : "", t->device ? t->device : "",
			(unsigned long long)t->most,
			t->rate ? "within a second" : "since the start, or since it fired last");
		return;
	case TRIGGER_EVENT:
		snprintf(out, size, "%s%s", t->value ? "event " : t->name->help,
			t->value ? t->value : "");
		return;
	case TRIGGER_KMSG:
		snprintf(out, size, "a kernel message that matches '%s'", t->value);
		return;
	case TRIGGER_FIFO:
		snprintf(out, size, "a line written to %s", t->value);
		return;
	case TRIGGER_LOG:
		snprintf(out, size, "a new line of %s that %s%s", t->value,
			t->glob ? "matches " : "tells of a completion with an error",
			t->glob ? t->glob : "");
		return;
	}
}
