/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DCB of a port's netdevs: a line for each; the JSON has what a capture stores, too. */
#include "info.h"
#include <rdmadump/names.h>
#include <rdmadump/printable.h>
#include <string.h>

#define LINE 640 /* 64 DSCPs without a range, and more */

static const struct rd_name selectors[] = {
	{IEEE_8021QAZ_APP_SEL_ETHERTYPE, "EtherType"},
	{IEEE_8021QAZ_APP_SEL_STREAM, "TCP/SCTP port"},
	{IEEE_8021QAZ_APP_SEL_DGRAM, "UDP/DCCP port"},
	{IEEE_8021QAZ_APP_SEL_ANY, "port"},
	{IEEE_8021QAZ_APP_SEL_DSCP, "DSCP"},
	{RD_DCB_SEL_PCP, "PCP"},
	{0},
};

__attribute__((format(printf, 2, 3))) static void append(char *text, const char *fmt, ...)
{
	size_t used = strlen(text);

	if ((size_t)RD_FORMAT(text + used, LINE - used, fmt) >= LINE - used)
		memcpy(text + LINE - sizeof("..."), "...", sizeof("..."));
}

/* ---- text ---- */

/* "DSCP 24-31, 46": those of the priorities in `mask`; "" if there are none. */
static void put_dscps(char *text, const struct rd_dcb *dcb, uint8_t mask)
{
	bool has[RD_DCB_DSCPS + 1] = {0};
	const char *before = "DSCP ";

	for (size_t i = 0; i < dcb->n_apps; i++) {
		const struct dcb_app *app = &dcb->apps[i];

		if (app->selector == IEEE_8021QAZ_APP_SEL_DSCP && app->protocol < RD_DCB_DSCPS &&
			app->priority < RD_DCB_PRIORITIES && mask & 1U << app->priority)
			has[app->protocol] = true;
	}
	for (unsigned int from = 0, to; from < RD_DCB_DSCPS; from = to + 1) {
		to = from;
		if (!has[from])
			continue;
		while (has[to + 1])
			to++;
		append(text, "%s%u", before, from);
		if (to > from)
			append(text, "-%u", to);
		before = ", ";
	}
}

static void put_trust(char *text, const struct rd_dcb *dcb)
{
	uint8_t trusted[RD_DCB_TRUST_MAX];
	size_t n = rd_dcb_trust(dcb, trusted);

	for (size_t i = 0; i < n; i++)
		append(text, "%s%s", i ? ", " : "",
			rd_name_of(selectors, trusted[i]) ?: "unknown selector");
	if (!n)
		append(text, "none");
}

static void print_summary(const struct info_output *t, const struct rd_dcb *dcb)
{
	char text[LINE] = "", priorities[RD_DCB_PRIORITIES_LEN], dscps[LINE] = "";
	uint8_t roce = rd_dcb_roce_priorities(dcb);

	append(text, "%s: PFC: %s", dcb->netdev,
		dcb->has_pfc ? rd_dcb_priorities_text(priorities, dcb->pfc.pfc_en) : "unknown");
	if (dcb->has_pfc)
		put_dscps(dscps, dcb, dcb->pfc.pfc_en);
	if (*dscps)
		append(text, " (%s)", dscps);
	append(text, "; trust: ");
	put_trust(text, dcb);
	if (roce)
		append(text, "; RoCE: %s", rd_dcb_priorities_text(priorities, roce));
	rd_sheet_row(t->sheet, "DCB", text);
}

static void print_text(const struct info_output *t, const struct rd_dcb *dcb)
{
	char text[sizeof(dcb->netdev) + sizeof(dcb->why) + 4];

	if (dcb->state == RD_DCB_KNOWN) {
		print_summary(t, dcb);
		return;
	}
	snprintf(text, sizeof(text), "%s: %s", dcb->netdev, dcb->why);
	if (t->verbose || dcb->state == RD_DCB_REFUSED)
		rd_sheet_row(t->sheet, "DCB", text);
}

/* ---- JSON ---- */

static json_t *json_dcb(const struct rd_dcb *dcb)
{
	static const char *const states[] = {[RD_DCB_NOT_ASKED] = "not_queried",
		[RD_DCB_KNOWN] = "known",
		[RD_DCB_UNSUPPORTED] = "unsupported",
		[RD_DCB_REFUSED] = "refused"};
	json_t *object = json_pack("{s:s, s:s, s:o}", "netdev", dcb->netdev, "status",
		states[dcb->state], "why", rd_json_text(dcb->why));

	if (dcb->state != RD_DCB_KNOWN)
		return object;
	json_object_update_new(object, rd_dcb_fact(dcb));
	json_object_set_new(
		object, "roce_priorities", rd_dcb_priorities_json(rd_dcb_roce_priorities(dcb)));
	return object;
}

void rd_info_print_dcb(const struct info_output *t, const struct rd_port_info *port)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < port->n_dcb; i++) {
		print_text(t, &port->dcb[i]);
		json_array_append_new(list, json_dcb(&port->dcb[i]));
	}
	rd_sheet_json(t->sheet, "dcb", list);
}
