/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters as text: findings first, then the numbers, grouped by where they were read. */
#include "../device/info.h"
#include "counters.h"
#include <rdmadump/units.h>
#include <string.h>
#include <time.h>

#define NAME_WIDTH     34
#define FINDINGS_SHOWN 8 /* leaves space for the numbers on one screen */

/* A value with its unit; words are converted to bytes. */
#define COUNTER_TEXT	     (2 * RD_UNITS_LEN)
#define COUNTER_FINDING_TEXT 400

const struct counter_place counter_places[COUNTER_PLACES] = {
	{"hw_counters/", "Transport (hw_counters)", "hw_"},
	{"counters/", "Port (counters)", "port_"},
	{"cm_rx_msgs/", "Connection manager, received (cm_rx_msgs)", "cm_rx_"},
	{"cm_tx_msgs/", "Connection manager, sent (cm_tx_msgs)", "cm_tx_"},
	{"cm_rx_duplicates/", "Connection manager, duplicates received (cm_rx_duplicates)",
		"cm_rx_duplicate_"},
	{"cm_tx_retries/", "Connection manager, retransmitted (cm_tx_retries)", "cm_tx_retry_"},
	{"device/hw_counters/", "Device (hw_counters)", "device_"},
	{"device/mr_cache/", "Cache of memory regions (mr_cache)", "mr_cache_"},
	{"device/nic_vport_context/", "NIC vport (firmware)", "nic_vport_"},
	{"device/hca_vport_context/", "HCA vport (firmware)", "hca_vport_"},
	{"device/vnic_env/", "Resources of the vport (firmware)", "vnic_"},
	{"device/vport_counter/", "Traffic of the vport (firmware)", "vport_"},
	{"device/cong_statistics/", "Congestion control (firmware)", "congestion_"},
	{"device/mad_sa_cc/", "Requests to the subnet administrator (mad_sa_cc)", "sa_"},
	{"netdev/", "Network device, kernel traffic (statistics)", "netdev_"},
	{"ethtool/", "Network device, driver (ethtool -S)", "ethtool_"},
	[COUNTER_PLACE_OTHER] = {"", "Other", ""},
};

size_t counter_place_of(const char *name)
{
	size_t i = 0;

	while (strncmp(name, counter_places[i].path, strlen(counter_places[i].path)))
		i++;
	return i;
}

static unsigned int bytes_each(const struct rd_counter *c)
{
	return c->kind ? rd_unit_bytes(c->kind->unit) : 0;
}

static char *put_amount(char *buf, const struct rd_counter *c, uint64_t amount)
{
	if (bytes_each(c))
		return rd_fmt_bytes(buf, rd_counter_bytes(c->kind, amount));
	rd_fmt_count(buf, amount);
	if (c->kind && c->kind->unit == RD_UNIT_US)
		strcat(buf, " us");
	return buf;
}

static char *put_rate(char *buf, const struct rd_counter *c, uint64_t delta, double seconds)
{
	double rate = seconds > 0 ? (double)delta / seconds : 0;

	*buf = '\0';
	if (seconds <= 0 || (c->kind && c->kind->flags & RD_COUNTER_GAUGE))
		return buf;
	if (bytes_each(c))
		return rd_fmt_bitrate(buf, rate * bytes_each(c) * 8);
	if (rate >= 10 && rate < 1e18)
		strcat(rd_fmt_count(buf, (uint64_t)(rate + 0.5)), "/s");
	else
		snprintf(buf, COUNTER_TEXT, "%.3g/s", rate);
	return buf;
}

/* "unknown" if it is; ">=" is prefixed if there may be more. */
static char *put_growth(char *buf, const struct rd_counter *c, const struct rd_growth *growth)
{
	char amount[COUNTER_TEXT];

	if (!rd_growth_known(growth))
		return strcpy(buf, "unknown");
	snprintf(buf, COUNTER_TEXT, "%s%.*s", growth->verdict == RD_GROWTH_AT_LEAST ? ">=" : "",
		COUNTER_TEXT - 3, put_amount(amount, c, growth->amount));
	return buf;
}

static const char *remark(const struct rd_counter *c, const struct rd_growth *growth)
{
	static const char *const remarks[] = {[RD_GROWTH_EXACT] = "",
		[RD_GROWTH_AT_LEAST] = "saturated: may have grown by more",
		[RD_GROWTH_MISSING] = "new, growth unknown",
		[RD_GROWTH_RESET] = "was reset, growth unknown"};

	if (growth && growth->wrapped)
		return "wrapped";
	if (growth)
		return remarks[growth->verdict];
	return c->kind && rd_counter_is_full(c->kind, c->value) ? "saturated" : "";
}

static void print_counter(FILE *out, const struct reading *p, size_t i, const char *name)
{
	const struct rd_counter *c = &p->counters.counter[i];
	const struct rd_growth *growth = p->growth ? &p->growth[i] : NULL;
	char amount[COUNTER_TEXT], total[COUNTER_TEXT], rate[COUNTER_TEXT];
	const char *unit = "", *said = remark(c, growth);
	/* A row with growth fills 80 columns, and has no room for the unit. */
	unsigned int columns = growth && out == stdout ? rd_cli_columns(STDOUT_FILENO) : 0;

	if (c->kind && (!columns || columns >= 90) && !bytes_each(c) && c->kind->unit != RD_UNIT_US)
		unit = rd_unit_name(c->kind->unit);
	fprintf(out, "%s  %-*s ",
		growth && growth->amount
			? rd_severity_mark(c->kind ? c->kind->severity : RD_SEV_NONE)
			: "  ",
		NAME_WIDTH, name);
	if (growth)
		fprintf(out, "%s%12s  %11s  %13s",
			growth->amount && !(c->kind && c->kind->flags & RD_COUNTER_GAUGE) ? "+"
											  : " ",
			put_growth(amount, c, growth),
			rd_growth_known(growth) ? put_rate(rate, c, growth->amount, p->seconds)
						: "",
			put_amount(total, c, c->value));
	else
		fprintf(out, "%22s", put_amount(amount, c, c->value));
	fprintf(out, "%s%s%s%s\n", *unit ? "  " : "", unit, *said ? "  " : "", said);
}

/* Whether a counter gets a line. */
static bool is_shown(const struct reading *p, size_t i, bool all)
{
	const struct rd_counter *c = &p->counters.counter[i];

	if (all)
		return true;
	if (!p->growth)
		return c->value != 0;
	return !(c->kind && c->kind->flags & RD_COUNTER_GAUGE) &&
	       (p->growth[i].amount || p->growth[i].verdict == RD_GROWTH_RESET ||
		       (p->growth[i].verdict == RD_GROWTH_MISSING && c->value));
}

static void print_place(FILE *out, const struct reading *p, size_t place, bool all)
{
	bool any = false;

	for (size_t i = 0; i < p->counters.n; i++) {
		const char *name = p->counters.counter[i].name;

		if (counter_place_of(name) != place || !is_shown(p, i, all))
			continue;
		if (!any)
			fprintf(out, "\n%s\n", counter_places[place].title);
		any = true;
		print_counter(out, p, i, name + strlen(counter_places[place].path));
	}
}

static void print_head(FILE *out, const struct reading *p, bool all, bool again)
{
	const struct rd_counters *c = &p->counters;
	size_t shown = 0;

	for (size_t i = 0; i < c->n; i++)
		shown += is_shown(p, i, all);
	fprintf(out, "%s port %u", c->device, c->port);
	if (!again)
		fprintf(out, " (%s%s%s, %s)", c->netdev, *c->netdev ? ", " : "",
			c->infiniband ? "InfiniBand" : "Ethernet",
			*c->driver ? c->driver : "driver unknown");
	fputs(": ", out);
	if (!c->n)
		fprintf(out, "no counters");
	else if (all)
		fprintf(out, "%zu counter%s", c->n, rd_plural(c->n));
	else
		fprintf(out, "%zu of %zu counters %s", shown, c->n,
			p->growth ? "changed" : "are not zero");
	if (p->growth && p->seconds > 0)
		fprintf(out, " in %.1f s", p->seconds);
	fprintf(out, ", %zu finding%s", p->findings.n, p->findings.n == 1 ? "" : "s");
	if (c->n_unreadable)
		fprintf(out, "; %zu could not be read", c->n_unreadable);
	fputc('\n', out);
	for (unsigned int i = 0; all && i < c->n_refusals; i++) {
		char text[RD_REFUSAL_LEN];

		fprintf(out, "  firmware, %s: %s\n", c->refusal[i].command,
			rd_refusal_text(text, &c->refusal[i]));
	}
	if (all && *c->not_asked)
		fprintf(out, "  firmware not queried: %s\n", c->not_asked);
}

/* One line: what grew, what that means, the usual cause. */
static char *put_finding(char *buf, const struct rd_finding *f)
{
	snprintf(buf, COUNTER_FINDING_TEXT, "%s: %s%s%s", f->title, f->detail,
		f->meaning ? "; usually " : "", f->meaning ? f->meaning : "");
	return buf;
}

static void print_findings(FILE *out, const struct rd_findings *f, bool all)
{
	size_t n = all || f->n <= FINDINGS_SHOWN + 1 ? f->n : FINDINGS_SHOWN;

	for (size_t i = 0; i < n; i++) {
		char text[COUNTER_FINDING_TEXT];

		fprintf(out, "%s %s\n", rd_severity_mark(f->finding[i].severity),
			put_finding(text, &f->finding[i]));
		if (f->finding[i].next)
			fprintf(out, "   next: %s\n", f->finding[i].next);
	}
	if (n < f->n)
		fprintf(out, "   and %zu more, less bad: --all shows them\n", f->n - n);
}

void counters_print(FILE *out, const struct readings *r, const struct counters_options *o)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct reading *p = &r->port[i];

		if (i)
			fputc('\n', out);
		if (o->interval > 0) {
			time_t now = (time_t)(p->counters.time_ns / 1000000000);
			struct tm tm;
			char text[32];

			strftime(text, sizeof(text), "%H:%M:%S", localtime_r(&now, &tm));
			fprintf(out, "%s  ", text);
		}
		print_head(out, p, o->all, o->interval > 0);
		print_findings(out, &p->findings, o->all);
		for (size_t place = 0; place < COUNTER_PLACES; place++)
			print_place(out, p, place, o->all);
	}
	if (o->interval > 0)
		fputc('\n', out);
}
