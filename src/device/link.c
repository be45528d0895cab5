/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Numbers of a link in words: the capability mask (InfiniBand Architecture 1.4, 14.2.5.6; on RoCE
 * the few bits that the kernel sets), speed and width (include/rdma/ib_verbs.h of Linux).
 */
#include <rdmadump/array.h>
#include <rdmadump/info.h>
#include <stdio.h>

static const struct rd_bit_name infiniband[] = {{1, "SM"}, {2, "Notice"}, {3, "Trap"},
	{4, "OptionalIPD"}, {5, "AutomaticMigration"}, {6, "SLMapping"}, {7, "MKeyNVRAM"},
	{8, "PKeyNVRAM"}, {9, "LEDInfo"}, {10, "SMDisabled"}, {11, "SystemImageGUID"},
	{12, "PKeySwitchExternalPortTrap"}, {14, "ExtendedSpeeds"}, {15, "CapabilityMask2"},
	{16, "CommunicationManagement"}, {17, "SNMPTunneling"}, {18, "Reinit"},
	{19, "DeviceManagement"}, {20, "VendorClass"}, {21, "DRNotice"},
	{22, "CapabilityMaskNotice"}, {23, "BootManagement"}, {24, "LinkRoundTripLatency"},
	{25, "ClientReregistration"}, {26, "OtherLocalChangesNotice"},
	{27, "LinkSpeedWidthPairsTable"}, {28, "VendorSpecificMads"},
	{29, "MulticastPKeyTrapSuppression"}, {30, "MulticastFDBTop"}, {31, "HierarchyInfo"}};

static const struct rd_bit_name ethernet[] = {{16, "CommunicationManagement"}, {18, "Reinit"},
	{19, "DeviceManagement"}, {20, "VendorClass"}, {26, "IPBasedGIDs"}};

void rd_cap_mask_text(char *buf, size_t size, uint32_t mask, enum rd_link link)
{
	if (link == RD_LINK_INFINIBAND)
		rd_bits_text(buf, size, mask, infiniband, RD_COUNT(infiniband));
	else
		rd_bits_text(buf, size, mask, ethernet, RD_COUNT(ethernet));
}

/* Speed of one lane, in 100 Mbit/s. */
static const struct {
	uint32_t code;
	const char *name;
	uint32_t rate;
} speeds[] = {
	{1, "SDR", 25},
	{2, "DDR", 50},
	{4, "QDR", 100},
	{8, "FDR10", 100},
	{16, "FDR", 140},
	{32, "EDR", 250},
	{64, "HDR", 500},
	{128, "NDR", 1000},
	{256, "XDR", 2000},
};

static const struct {
	uint32_t code, lanes;
} widths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};

uint64_t rd_link_speed(uint32_t speed, uint32_t width, char *lanes, size_t size)
{
	lanes[0] = '\0';
	for (size_t s = 0; s < RD_COUNT(speeds); s++)
		for (size_t w = 0; w < RD_COUNT(widths); w++) {
			if (speeds[s].code != speed || widths[w].code != width)
				continue;
			snprintf(lanes, size, "%uX %s", widths[w].lanes, speeds[s].name);
			return UINT64_C(100000000) * speeds[s].rate * widths[w].lanes;
		}
	return 0;
}
