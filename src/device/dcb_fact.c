/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A netdev's DCB settings as a fact of a capture: what determines the priority of a packet. */
#include <rdmadump/dcb.h>
#include <rdmadump/json.h>

json_t *rd_dcb_priorities_json(uint8_t mask)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < RD_DCB_PRIORITIES; i++)
		if (mask >> i & 1)
			json_array_append_new(list, json_integer((json_int_t)i));
	return list;
}

static json_t *trust_json(const struct rd_dcb *dcb)
{
	uint8_t selectors[RD_DCB_TRUST_MAX];
	size_t n = rd_dcb_trust(dcb, selectors);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		if (selectors[i] == IEEE_8021QAZ_APP_SEL_DSCP || selectors[i] == RD_DCB_SEL_PCP)
			json_array_append_new(
				list, json_string(selectors[i] == RD_DCB_SEL_PCP ? "pcp" : "dscp"));
	return list;
}

/* The highest configured priority of each DSCP, as the kernel selects it; null: none. */
static json_t *priorities_json(const struct rd_dcb *dcb)
{
	json_t *list = json_array();

	for (unsigned int dscp = 0; dscp < RD_DCB_DSCPS; dscp++) {
		int priority = -1;

		for (size_t i = 0; i < dcb->n_apps; i++) {
			const struct dcb_app *app = &dcb->apps[i];

			if (app->selector == IEEE_8021QAZ_APP_SEL_DSCP && app->protocol == dscp &&
				app->priority < RD_DCB_PRIORITIES && app->priority > priority)
				priority = app->priority;
		}
		json_array_append_new(list, priority < 0 ? json_null() : json_integer(priority));
	}
	return list;
}

json_t *rd_dcb_fact(const struct rd_dcb *dcb)
{
	json_t *o;

	if (dcb->state != RD_DCB_KNOWN)
		return NULL;
	o = json_object();
	json_object_set_new(o, "netdev", rd_json_string(dcb->netdev));
	/* null: the driver does not report it */
	json_object_set_new(
		o, "pfc", dcb->has_pfc ? rd_dcb_priorities_json(dcb->pfc.pfc_en) : json_null());
	json_object_set_new(o, "trust", trust_json(dcb));
	json_object_set_new(o, "dscp_priorities", priorities_json(dcb));
	return o;
}
