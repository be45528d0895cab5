/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The result of a probe: outcome, values, findings, frames to keep. */
#include "config.h"
#include "selftest.h"
#include <rdmadump/json.h>
#include <rdmadump/printable.h>
#include <stdlib.h>
#include <string.h>

void result_free(struct rd_probe_result *r)
{
	json_decref(r->values);
	json_decref(r->found);
	free(r->frame);
	free(r->bytes);
	free(r->cqes);
	*r = (struct rd_probe_result){0};
}

/* --- values ------------------------------------------------------------------------------- */

static void put(struct rd_probe_result *r, const char *name, const char *unit, json_t *value)
{
	json_object_set_new(r->values, name, json_pack("{s:o, s:s}", "value", value, "unit", unit));
}

void result_json(struct rd_probe_result *r, const char *name, json_t *value)
{
	put(r, name, "", value);
}

void result_number(struct rd_probe_result *r, const char *name, const char *unit, uint64_t n)
{
	put(r, name, unit, rd_json_u64(n));
}

void result_real(struct rd_probe_result *r, const char *name, const char *unit, double value)
{
	int64_t tenths = (int64_t)(value * 10 + (value < 0 ? -0.5 : 0.5));

	put(r, name, unit, json_real((double)tenths / 10));
}

void result_text(struct rd_probe_result *r, const char *name, const char *text)
{
	result_json(r, name, rd_json_text(text));
}

void result_bool(struct rd_probe_result *r, const char *name, bool value)
{
	result_json(r, name, json_boolean(value));
}

uint64_t result_spread(
	struct rd_probe_result *r, const char *name, uint64_t *values, unsigned int n)
{
	qsort(values, n, sizeof(*values), rd_order_u64);
	result_json(r, name,
		json_pack("{s:I, s:I, s:I}", "least", (json_int_t)values[0], "median",
			(json_int_t)values[n / 2], "most", (json_int_t)values[n - 1]));
	return values[n / 2];
}

const char *error_name(int errnum)
{
	const char *name = NULL;

	if (!errnum)
		return "";
#ifdef HAVE_STRERRORNAME_NP
	name = strerrorname_np(errnum);
#else
	name = strerror(errnum);
#endif
	return name ? name : "unknown";
}

void result_errno(struct rd_probe_result *r, const char *name, int errnum)
{
	result_text(r, name, error_name(errnum));
}

/* --- outcome ------------------------------------------------------------------------------ */

void result_value(struct rd_probe_result *r, const char *fmt, ...)
{
	RD_FORMAT(r->value, sizeof(r->value), fmt);
}

void result_means(struct rd_probe_result *r, const char *fmt, ...)
{
	RD_FORMAT(r->meaning, sizeof(r->meaning), fmt);
}

void result_found(struct rd_probe_result *r, const char *key, const char *fmt, ...)
{
	char text[RESULT_TEXT];

	RD_FORMAT(text, sizeof(text), fmt);
	json_array_append_new(
		r->found, json_pack("{s:s, s:o}", "key", key, "meaning", rd_json_string(text)));
	if (r->outcome == RD_PROBE_PASSED)
		r->outcome = RD_PROBE_FOUND;
}

void result_reason(struct rd_probe_result *r, const char *fmt, ...)
{
	RD_FORMAT(r->reason, sizeof(r->reason), fmt);
}

void result_failed(struct rd_probe_result *r, const char *fmt, ...)
{
	RD_FORMAT(r->reason, sizeof(r->reason), fmt);
	r->outcome = RD_PROBE_FAILED;
}

void result_skipped(struct rd_probe_result *r, const char *fmt, ...)
{
	RD_FORMAT(r->reason, sizeof(r->reason), fmt);
	r->outcome = RD_PROBE_SKIPPED;
}

/* --- frames ------------------------------------------------------------------------------- */

void result_frame(struct rd_probe_result *r, const uint8_t *data, uint32_t len, uint64_t ts_ns)
{
	if (!r->frame)
		r->frame = calloc(KEPT_FRAMES, sizeof(*r->frame));
	if (!r->bytes)
		r->bytes = malloc(KEPT_BYTES);
	if (!r->frame || !r->bytes || r->n_frames == KEPT_FRAMES || len > KEPT_BYTES - r->n_bytes)
		return;
	memcpy(r->bytes + r->n_bytes, data, len);
	r->frame[r->n_frames++] = (struct rd_frame){
		.data = r->bytes + r->n_bytes, .caplen = len, .len = len, .ts_ns = ts_ns};
	r->n_bytes += len;
}

void result_cqes(struct rd_probe_result *r, const void *cqes, size_t n)
{
	if (r->cqes || !n)
		return;
	n = RD_MIN(n, RAW_CQE_BYTES);
	r->cqes = malloc(n);
	if (!r->cqes)
		return;
	memcpy(r->cqes, cqes, n);
	r->n_cqes = n;
}
