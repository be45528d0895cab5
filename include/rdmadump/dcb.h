/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Data Center Bridging of a netdev (IEEE 802.1Q clauses 36 to 38; include/uapi/linux/dcbnl.h): PFC,
 * application table, trust.
 */
#pragma once

#include <jansson.h>
#include <linux/dcbnl.h>
#include <rdmadump/device.h>

#define RD_DCB_PRIORITIES 8
#define RD_DCB_TRUST_MAX  8
#define RD_DCB_DSCPS	  64
#define RD_DCB_SEL_PCP	  255 /* DCB_APP_SEL_PCP of Linux 6.2 */

enum rd_dcb_state {
	RD_DCB_NOT_ASKED,
	RD_DCB_KNOWN,
	RD_DCB_UNSUPPORTED, /* by the driver, or the kernel has no DCB */
	RD_DCB_REFUSED,
};

struct rd_dcb {
	char netdev[IF_NAMESIZE];
	enum rd_dcb_state state;
	char why[200]; /* it is not known; "" if it is */
	/* If it is known, which parts the driver reports; the structs are the kernel's. */
	bool has_pfc, has_trust;
	struct ieee_pfc pfc;
	struct dcb_app *apps;
	size_t n_apps;
	uint8_t trust[RD_DCB_TRUST_MAX]; /* selectors, if has_trust (Linux 6.2) */
	size_t n_trust;
};

/*
 * Queries the kernel. A netdev of a copied device or of another network namespace is not queried:
 * another netdev of this namespace may have the same name. Always fills in state and why.
 */
void rd_dcb_load(
	struct rd_dcb *dcb, const struct rd_device *device, const struct rd_netdev *netdev);
void rd_dcb_free(struct rd_dcb *dcb);

/*
 * What a received frame's priority is taken from, first choice first: IEEE_8021QAZ_APP_SEL_DSCP or
 * RD_DCB_SEL_PCP. Drivers that do not report it, as mlx5, trust DSCP if the application table has
 * DSCPs. Returns the number; 0: neither.
 */
size_t rd_dcb_trust(const struct rd_dcb *dcb, uint8_t selectors[RD_DCB_TRUST_MAX]);

/* Masks of priorities: RoCE's in the application table (UDP port 4791, EtherType 0x8915). */
uint8_t rd_dcb_roce_priorities(const struct rd_dcb *dcb);
/* Priorities with PFC that no entry maps to, if priorities are taken only from the DSCP. */
uint8_t rd_dcb_pfc_unmapped(const struct rd_dcb *dcb);
/* RoCE's priorities, if PFC is enabled only on others. */
uint8_t rd_dcb_roce_without_pfc(const struct rd_dcb *dcb);

/*
 * The part that a capture stores (rdmadump-formats(5)): netdev, pfc, trust, dscp_priorities. NULL
 * if it is not known, or out of memory. Owned by the caller.
 */
json_t *rd_dcb_fact(const struct rd_dcb *dcb);

/* The numbers of the priorities in a mask. */
json_t *rd_dcb_priorities_json(uint8_t mask);
/* "priority 3", "priorities 3, 4", "no priority"; 40 bytes are enough. */
#define RD_DCB_PRIORITIES_LEN 40
const char *rd_dcb_priorities_text(char text[RD_DCB_PRIORITIES_LEN], uint8_t mask);
