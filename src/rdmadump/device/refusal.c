/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Formats the refusal of a command as text and as JSON. */
#include "refusal.h"
#include <stdio.h>
#include <string.h>

const char *rd_refusal_text(
	char buf[static RD_REFUSAL_LEN], const struct rd_firmware_refusal *refusal)
{
	const char *error = strerror(refusal->error);

	if (!refusal->error)
		buf[0] = '\0';
	else if (refusal->status)
		snprintf(buf, RD_REFUSAL_LEN, "%.80s (firmware status 0x%x, syndrome 0x%06x)",
			error, refusal->status, refusal->syndrome);
	else
		snprintf(buf, RD_REFUSAL_LEN, "%s", error);
	return buf;
}

json_t *rd_json_refusal(const struct rd_firmware_refusal *refusal)
{
	json_t *o;

	if (!refusal->error)
		return json_null();
	o = json_pack("{s:i, s:s, s:i, s:I}", "errno", refusal->error, "error",
		strerror(refusal->error), "status", (int)refusal->status, "syndrome",
		(json_int_t)refusal->syndrome);
	if (refusal->command)
		json_object_set_new(o, "command", json_string(refusal->command));
	return o;
}
