/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where counters are read from: the headings of the text and the prefixes of Prometheus' names. */
#include "counters.h"
#include <string.h>

const struct counter_place counter_places[COUNTER_PLACES] = {
	{"hw_counters/", "Transport (hw_counters)", "hw_"},
	{"counters/", "Port (counters)", "port_"},
	{"cm_rx_msgs/", "Connection manager, received (cm_rx_msgs)", "cm_rx_"},
	{"cm_tx_msgs/", "Connection manager, sent (cm_tx_msgs)", "cm_tx_"},
	{"cm_rx_duplicates/", "Connection manager, duplicates received (cm_rx_duplicates)",
		"cm_rx_duplicate_"},
	{"cm_tx_retries/", "Connection manager, retransmitted (cm_tx_retries)", "cm_tx_retry_"},
	{"device/hw_counters/", "Device (hw_counters)", "device_"},
	{"device/mr_cache/", "Cache of memory regions (mr_cache)", "mr_cache_"},
	{"device/nic_vport_context/", "NIC vport (firmware)", "nic_vport_"},
	{"device/hca_vport_context/", "HCA vport (firmware)", "hca_vport_"},
	{"device/vnic_env/", "Resources of the vport (firmware)", "vnic_"},
	{"device/vport_counter/", "Traffic of the vport (firmware)", "vport_"},
	{"device/cong_statistics/", "Congestion control (firmware)", "congestion_"},
	{"device/mad_sa_cc/", "Requests to the subnet administrator (mad_sa_cc)", "sa_"},
	{"netdev/", "Network device, kernel traffic (statistics)", "netdev_"},
	{"ethtool/", "Network device, driver (ethtool -S)", "ethtool_"},
	[COUNTER_PLACE_OTHER] = {"", "Other", ""},
};

size_t counter_place_of(const char *name)
{
	size_t i = 0;

	while (strncmp(name, counter_places[i].path, strlen(counter_places[i].path)))
		i++;
	return i;
}
