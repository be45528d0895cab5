/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a rule over two captures looks at. */
#pragma once

#include "ends.h"

struct sight {
	const struct rd_report *const *reports; /* of each capture alone */
	const struct trust *trust;
	const struct rd_ends_report *r;
	const struct rd_path *p;
	const struct rd_path_qp *w; /* NULL for rules over a path */
};

/* This direction in the report of one capture alone; NULL: it is absent. */
const struct rd_side *side_at(const struct sight *s, enum rd_tap tap);
