/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What device and firmware report about captures: the conditions of `rdmadump info`, and queries.
 */
#include "selftest.h"
#include <rdmadump/info.h>
#include <rdmadump/json.h>
#include <stdio.h>
#include <string.h>

static const char *const answers[] = {
	[RD_ANSWER_UNKNOWN] = "unknown", [RD_ANSWER_NO] = "no", [RD_ANSWER_YES] = "yes"};

static const char *const verdicts[] = {[RD_CAPTURE_YES] = "sniffer",
	[RD_CAPTURE_NETDEV] = "netdev only",
	[RD_CAPTURE_NO] = "no capture"};

static void conditions(
	const struct rd_selftest *st, const struct rd_info *info, struct rd_probe_result *r)
{
	struct rd_capture_condition c[RD_CONDITIONS_MAX];
	json_t *list = json_object();
	enum rd_verdict verdict;
	unsigned int n = rd_info_conditions(info, st->port, c, &verdict);

	for (unsigned int i = 0; i < n; i++) {
		char key[64];

		json_object_set_new(list, c[i].key,
			json_pack("{s:s, s:o}", "answer", answers[c[i].answer], "why",
				rd_json_text(c[i].why)));
		if (c[i].answer != RD_ANSWER_NO)
			continue;
		snprintf(key, sizeof(key), "condition_%s", c[i].key);
		result_found(r, key, "%s: %s%s%s", c[i].title, c[i].why, *c[i].todo ? "; " : "",
			c[i].todo);
	}
	result_json(r, "conditions", list);
	result_value(r, "%s", verdicts[verdict]);
}

static void queries(const struct rd_info *info, struct rd_probe_result *r)
{
	json_t *list = json_object();
	unsigned int refused = 0;

	for (size_t i = 0; i < info->n_commands; i++) {
		const struct rd_firmware_command *c = &info->commands[i];
		char syndrome[16];

		snprintf(syndrome, sizeof(syndrome), "0x%08x", c->refusal.syndrome);
		json_object_set_new(list, c->name,
			c->refusal.error ? json_pack("{s:s, s:i, s:s}", "error",
						   error_name(c->refusal.error), "status",
						   (int)c->refusal.status, "syndrome", syndrome)
					 : json_null());
		refused += c->refusal.error != 0;
	}
	result_json(r, "queries", list);
	result_number(r, "queries_refused", "", refused);
	if (refused)
		result_found(r, "queries_refused",
			"the firmware refuses %u of %zu queries: captures have fewer counters and "
			"facts, frames are not affected",
			refused, info->n_commands);
}

static void sniffer_caps(const struct rd_mlx5_caps *caps, struct rd_probe_result *r)
{
	const struct {
		const char *name;
		enum rd_answer answer;
	} rows[] = {{"nic_flow_table", caps->nic_flow_table}, {"shared_tir", caps->shared_tir},
		{"sniffer_rx", caps->sniffer_rx}, {"sniffer_tx", caps->sniffer_tx},
		{"ib_port_sniffer", caps->ib_port_sniffer}};

	if (!caps->asked) {
		result_text(r, "not_asked", caps->reason);
		result_found(r, "not_asked",
			"the device does not report its sniffer (%s): only trying shows it",
			*caps->reason ? caps->reason : "no general commands");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		result_text(r, rows[i].name, answers[rows[i].answer]);
}

static void run(struct rd_selftest *st, struct rd_probe_result *r)
{
	struct rd_error err;
	struct rd_info info;

	if (rd_info_load(&info, st->device, "", &err) < 0) {
		result_failed(r, "%s", err.text);
		return;
	}
	conditions(st, &info, r);
	if (strcmp(info.provider, "mlx5") == 0) {
		sniffer_caps(&info.mlx5, r);
		queries(&info, r);
	}
	result_means(r, "by what it reports, the port can be captured");
	rd_info_free(&info);
}

const struct rd_probe rd_probe_capabilities = {.name = "capabilities",
	.question = "what device and firmware report about captures",
	.objects = "",
	.required = true,
	.run = run};
