/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Follows a device's clock: compares it with the host's, and converts batches of timestamps. */
#ifndef RDMADUMP_SOURCE_VERBS_CLOCK_FOLLOW_H
#define RDMADUMP_SOURCE_VERBS_CLOCK_FOLLOW_H

#include "verbs_clock.h"

/* verbs_clock_follow.c */

/* *ns: the host's clock minus the real-time clock. False: it cannot be read. */
bool verbs_clock_difference(struct verbs_clock *c, int64_t *ns);

bool verbs_refresh_fit(struct verbs_clock *c);
bool verbs_refresh_real_time(struct verbs_clock *c);
/* At the start of the capture. */
void verbs_clock_first_refresh(struct verbs_clock *c);
/* Refreshes a clock that was not refreshed for its interval, and brings the queue's copy up to
 * date. */
void verbs_clock_keep_fresh(struct verbs_clock *c, struct verbs_stamps *s, uint64_t now);
/* An extra refresh: a timestamp suggests that the clock was set. */
void verbs_clock_recheck(struct verbs_clock *c, struct verbs_stamps *s, uint64_t now);

/* verbs_clock_batch.c: the rows of struct verbs_clock_kind */

void verbs_stamp_fit(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n);
void verbs_stamp_real_time(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n);
void verbs_stamp_host(
	struct verbs_clock *c, struct verbs_stamps *s, struct rd_frame *frames, unsigned int n);
uint64_t verbs_watermark_fit(struct verbs_clock *c, struct verbs_stamps *s);
uint64_t verbs_watermark_real_time(struct verbs_clock *c, struct verbs_stamps *s);
uint64_t verbs_watermark_host(struct verbs_clock *c, struct verbs_stamps *s);

#endif
