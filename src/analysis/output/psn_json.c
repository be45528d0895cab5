/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PSNs over time as JSON: "psn_plot" of docs/schema/analyze.json, as short as plots need it. */
#include "output.h"
#include <rdmadump/json.h>

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void add_range(json_t *list, unsigned int step, const struct rd_psn_range *r)
{
	if (r->high == RD_PSN_NONE)
		return;
	json_array_append_new(
		list, json_pack("[i, I, I]", (int)step, (json_int_t)r->low, (json_int_t)r->high));
}

static json_t *naks_json(const struct rd_psn_plot *p, uint64_t start)
{
	json_t *naks = json_array();

	for (unsigned int i = 0; i < p->n_naks; i++) {
		const struct rd_psn_nak *nak = &p->naks[i];

		json_array_append_new(
			naks, json_pack("{s:I, s:o, s:I, s:b}", "ns", (json_int_t)(nak->ns - start),
				      "frame", rd_json_u64(nak->frame), "psn", (json_int_t)nak->psn,
				      "rnr", nak->rnr));
	}
	return naks;
}

json_t *psn_plot_json(const struct rd_psn_plot *p, uint64_t start)
{
	json_t *o = json_object(), *sent = json_array(), *again = json_array(),
	       *acked = json_array();
	int64_t expected = RD_PSN_NONE;

	for (unsigned int i = 0; i < p->n; i++) {
		const struct rd_psn_step *step = &p->steps[i];

		add_range(sent, i, &step->sent);
		add_range(again, i, &step->again);
		if (step->acked <= expected)
			continue;
		expected = step->acked;
		json_array_append_new(acked, json_pack("[i, I]", (int)i, (json_int_t)step->acked));
	}
	set(o, "start_ns", json_integer((json_int_t)(p->start_ns - start)));
	set(o, "width_ns", rd_json_u64(p->width_ns));
	set(o, "steps", rd_json_u64(p->n));
	set(o, "psn", rd_json_u64(p->psn));
	set(o, "late", json_boolean(p->late));
	set(o, "restarts", rd_json_u64(p->restarts));
	set(o, "sent", sent);
	set(o, "retransmitted", again);
	set(o, "acked", acked);
	set(o, "naks", naks_json(p, start));
	set(o, "naks_in_all", rd_json_u64(p->naks_in_all));
	return o;
}
