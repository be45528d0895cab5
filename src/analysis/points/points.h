/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts of the report of captures at several points. */
#pragma once

#include <rdmadump/points.h>

/* Which addresses there are, and of which hosts. -1 if out of memory. */
int points_hosts(struct rd_points *p);
/* The index of an address; p->n_addresses: there is none. */
uint32_t points_address(const struct rd_points *p, const char *address);
/* Which hosts were captured; after points_paths(). */
void points_captured(struct rd_points *p);
/* How far the clocks are apart. -1 if out of memory. */
int points_clocks(struct rd_points *p);
/* What each host sent to each other one. -1 if out of memory. */
int points_paths(struct rd_points *p);
/*
 * Whose the QPs of hosts are; after points_paths(). Conversations get the owners that only the
 * other capture of a pair has. -1 if out of memory.
 */
int points_owners(struct rd_points *p);

/* The only process with QPs at an address, or a host; NULL: there are others, or not known. */
const struct rd_owner *points_owner(const struct rd_points *p, bool address, uint32_t place);
/* Which host the others may wait for; after points_captured(). -1 if out of memory. */
int points_straggler(struct rd_points *p);
