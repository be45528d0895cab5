/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every frame source begins with. */
#pragma once

#include "frames.h"

struct frames {
	bool (*next)(struct frames *f, struct frame *out);
	void (*close)(struct frames *f);
};
