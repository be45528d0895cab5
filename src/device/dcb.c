/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interprets a netdev's DCB settings: trust, RoCE's priorities, and contradictory settings. */
#include "netlink/netlink.h"
#include <errno.h>
#include <stdlib.h>

#define ROCE_V1_ETHERTYPE 0x8915
#define ROCE_V2_PORT	  4791

void rd_dcb_load(struct rd_dcb *dcb, const struct rd_device *device, const struct rd_netdev *netdev)
{
	static const char elsewhere[] = "not queried: the netdev is not in this network namespace";
	struct rd_error err = {0};
	const char *why = "";

	*dcb = (struct rd_dcb){.state = RD_DCB_NOT_ASKED};
	snprintf(dcb->netdev, sizeof(dcb->netdev), "%s", netdev->name);
	if (device->copied) {
		why = "not queried: read from a copied tree";
	} else if (!netdev->ifindex || if_nametoindex(netdev->name) != netdev->ifindex) {
		why = elsewhere;
	} else if (!rd_dcb_request(dcb, &err)) {
		dcb->state = RD_DCB_KNOWN;
	} else if (err.errnum == ENODEV) {
		why = elsewhere;
	} else if (err.errnum == EOPNOTSUPP) {
		dcb->state = RD_DCB_UNSUPPORTED;
		why = "the driver has no DCB";
	} else {
		dcb->state = RD_DCB_REFUSED;
	}
	if (dcb->state != RD_DCB_REFUSED)
		snprintf(dcb->why, sizeof(dcb->why), "%s", why);
	else if (err.errnum)
		snprintf(dcb->why, sizeof(dcb->why), "unknown: the kernel refused: %s (errno %d)",
			strerror(err.errnum), err.errnum);
	else
		snprintf(dcb->why, sizeof(dcb->why), "unknown: %.180s", err.text);
}

void rd_dcb_free(struct rd_dcb *dcb)
{
	free(dcb->apps);
	*dcb = (struct rd_dcb){0};
}

size_t rd_dcb_trust(const struct rd_dcb *dcb, uint8_t selectors[RD_DCB_TRUST_MAX])
{
	if (dcb->has_trust) {
		memcpy(selectors, dcb->trust, dcb->n_trust);
		return dcb->n_trust;
	}
	selectors[0] = RD_DCB_SEL_PCP;
	for (size_t i = 0; i < dcb->n_apps; i++)
		if (dcb->apps[i].selector == IEEE_8021QAZ_APP_SEL_DSCP)
			selectors[0] = IEEE_8021QAZ_APP_SEL_DSCP;
	return 1;
}

static bool is_roce(const struct dcb_app *app)
{
	switch (app->selector) {
	case IEEE_8021QAZ_APP_SEL_ETHERTYPE:
		return app->protocol == ROCE_V1_ETHERTYPE;
	case IEEE_8021QAZ_APP_SEL_DGRAM:
	case IEEE_8021QAZ_APP_SEL_ANY:
		return app->protocol == ROCE_V2_PORT;
	default:
		return false;
	}
}

static uint8_t priority_bit(const struct dcb_app *app)
{
	if (app->priority >= RD_DCB_PRIORITIES)
		return 0;
	return (uint8_t)(1U << app->priority);
}

uint8_t rd_dcb_roce_priorities(const struct rd_dcb *dcb)
{
	uint8_t mask = 0;

	for (size_t i = 0; i < dcb->n_apps; i++)
		if (is_roce(&dcb->apps[i]))
			mask |= priority_bit(&dcb->apps[i]);
	return mask;
}

uint8_t rd_dcb_pfc_unmapped(const struct rd_dcb *dcb)
{
	uint8_t trusted[RD_DCB_TRUST_MAX], mapped = 1; /* 0 is the priority of all other frames */

	if (!dcb->has_pfc || rd_dcb_trust(dcb, trusted) != 1 ||
		trusted[0] != IEEE_8021QAZ_APP_SEL_DSCP)
		return 0;
	for (size_t i = 0; i < dcb->n_apps; i++)
		mapped |= priority_bit(&dcb->apps[i]);
	return dcb->pfc.pfc_en & (uint8_t)~mapped;
}

uint8_t rd_dcb_roce_without_pfc(const struct rd_dcb *dcb)
{
	uint8_t roce = rd_dcb_roce_priorities(dcb);

	return dcb->has_pfc && dcb->pfc.pfc_en && !(dcb->pfc.pfc_en & roce) ? roce : 0;
}

const char *rd_dcb_priorities_text(char text[RD_DCB_PRIORITIES_LEN], uint8_t mask)
{
	bool several = mask & (mask - 1);
	size_t n = (size_t)snprintf(text, RD_DCB_PRIORITIES_LEN, "%s",
		!mask	  ? "no priority"
		: several ? "priorities"
			  : "priority");

	for (unsigned int i = 0, shown = 0; i < RD_DCB_PRIORITIES; i++)
		if (mask & 1U << i)
			n += (size_t)snprintf(text + n, RD_DCB_PRIORITIES_LEN - n, "%s%u",
				shown++ ? ", " : " ", i);
	return text;
}
