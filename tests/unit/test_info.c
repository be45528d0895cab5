/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What info is made of: versions, names, masks, functions, messages. */
#include "device/discovery.h"
#include "device/info_parts.h"
#include "device/monitored.h"
#include "device/netlink/netlink.h"
#include "device/sysfs.h"
#include "rdmadump/device/info.h"
#include "test.h"
#include "test_device_tree.h"
#include "test_netlink.h"
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/if_addr.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <rdmadump/device.h>
#include <rdmadump/info.h>

static struct rd_error err;

TEST(versions)
{
	static const struct {
		const char *a, *b;
		int order;
	} cases[] = {
		{"16.35.2000", "16.35.2000", 0},
		{"16.35.2000", "16.35.3006", -1},
		{"16.9.0", "16.35.0", -1},
		{"9.1", "10.0", -1},
		{"1.68", "1.68.0", 0},
		{"1.68", "1.68.1", -1},
		{"1.68.0.0", "1.68", 0},
		{"2.33.1330", "2.33.1330-rc1", 1},
		{"2.33.1330-rc1", "2.33.1330-rc2", -1},
		{"2.33.1330-rc9", "2.33.1330-rc10", -1},
		{"2.33.1330~1", "2.33.1330", -1},
		{"2.33.1330", "2.33.1330b", -1},
		{"2.33.01330", "2.33.1330", 0},
		{"23.10-0.5.5", "23.10-1.1.9", -1},
		{"99999999999999999999.0", "100000000000000000000.0", -1},
		{"8.0 GT/s PCIe", "16.0 GT/s PCIe", -1},
		{"", "1.0", -1},
		{"", "", 0},
		{"0", "", 0},
		{"abc", "abc", 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int there = rd_version_compare(cases[i].a, cases[i].b);
		int back = rd_version_compare(cases[i].b, cases[i].a);

		if ((there > 0) - (there < 0) != cases[i].order ||
			(back > 0) - (back < 0) != -cases[i].order)
			fail_msg("'%s' and '%s': %d, %d", cases[i].a, cases[i].b, there, back);
	}
}

TEST(minimum)
{
	struct rd_device device = {.driver = "mlx4_core", .fw = "2.33.1320"};
	struct rd_port port = {.link = RD_LINK_INFINIBAND};
	const char *why, *todo;

	assert_string_equal(rd_firmware_minimum(&device, &port), "2.33.1330");
	assert_int_equal(rd_port_verdict(&device, &port, &why, &todo), RD_CAPTURE_NO);
	assert_non_null(strstr(why, "firmware"));
	strcpy(device.fw, "2.42.5000");
	assert_int_equal(rd_port_verdict(&device, &port, &why, &todo), RD_CAPTURE_YES);
	strcpy(device.fw, "");
	assert_int_equal(rd_port_verdict(&device, &port, &why, &todo), RD_CAPTURE_YES);
	port.link = RD_LINK_ETHERNET;
	assert_string_equal(rd_firmware_minimum(&device, &port), "2.11.1140");
	strcpy(device.driver, "mlx5_core");
	assert_string_equal(rd_firmware_minimum(&device, &port), "");
}

TEST(models)
{
	static const struct {
		uint32_t vendor, part;
		const char *driver, *name;
	} cases[] = {
		{0x15b3, 0x1017, "mlx5_core", "ConnectX-5"},
		{0x15b3, 0x1025, "mlx5_core", "ConnectX-9"},
		{0x15b3, 0xa2dc, "mlx5_core", "BlueField-3"},
		{0x8086, 0x1592, "ice", "E810-C"},
		{0x8086, 0x12d2, "ice", "E830"},
		{0x8086, 0x37d2, "i40e", "X722"},
		{0x14e4, 0x1750, "bnxt_en", "Thor (BCM57508)"},
		{0x14e4, 0x1760, "bnxt_en", "Thor 2 (BCM57608)"},
		{0x1d0f, 0xefa1, "efa", "EFA, 2nd generation"},
		{0x1d0f, 0xefff, "efa", "EFA"},
		{0x19e5, 0xa226, "hns3", "HNS, 100GE RDMA"},
		{0x1414, 0x00ba, "mana", "MANA"},
		{0x15b3, 0xffff, "mlx5_core", ""},
		{0, 0, "rdma_rxe", "software RoCE"},
		{0, 0, "", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_device device = {.vendor_id = cases[i].vendor, .part_id = cases[i].part};

		strcpy(device.driver, cases[i].driver);
		assert_string_equal(rd_device_model(&device), cases[i].name);
	}
}

TEST(links)
{
	static const struct rd_device devices[] = {{.node_type = "CA"}, {.node_type = "RNIC"}};
	struct rd_port port = {.num = 1};
	char text[24], words[900];

	/* A port without a type of its link */
	expect(" iWARP", rd_link_name(&devices[0], &port), rd_link_name(&devices[1], &port));
	expect("1 4X XDR 1", rd_link_speed(256, 2, text, sizeof(text)) == UINT64_C(800000000000),
		text, rd_link_speed(1, 1, text, sizeof(text)) == UINT64_C(2500000000));
	expect("1X SDR 1 2X HDR 1 ", text,
		rd_link_speed(64, 16, text, sizeof(text)) == UINT64_C(100000000000), text,
		rd_link_speed(3, 2, text, sizeof(text)) == 0, text);
	rd_cap_mask_text(words, sizeof(words), 0x2651e848, RD_LINK_INFINIBAND);
	assert_string_equal(words,
		"Trap, SLMapping, SystemImageGUID, bit 13, ExtendedSpeeds, CapabilityMask2, "
		"CommunicationManagement, VendorClass, CapabilityMaskNotice, ClientReregistration, "
		"OtherLocalChangesNotice, MulticastPKeyTrapSuppression");
	rd_cap_mask_text(words, sizeof(words), 0x04010000, RD_LINK_ETHERNET);
	assert_string_equal(words, "CommunicationManagement, IPBasedGIDs");
	/* What does not fit is left out whole. */
	rd_cap_mask_text(words, 12, 0xffffffff, RD_LINK_INFINIBAND);
	assert_string_equal(words, "bit 0, SM");
}

TEST(representors)
{
	static const struct {
		const char *name;
		enum rd_function_kind kind;
		bool has_controller;
		uint32_t controller, pf, number;
	} cases[] = {
		{"p0", RD_FUNCTION_UPLINK, false, 0, 0, 0},
		{"p12", RD_FUNCTION_UPLINK, false, 0, 0, 12},
		{"pf0", RD_FUNCTION_PF, false, 0, 0, 0},
		{"pf1vf127", RD_FUNCTION_VF, false, 0, 1, 127},
		{"pf0sf88", RD_FUNCTION_SF, false, 0, 0, 88},
		{"c1pf0vf3", RD_FUNCTION_VF, true, 1, 0, 3},
		{"c2pf1sf4294967295", RD_FUNCTION_SF, true, 2, 1, UINT32_MAX},
	};
	static const char *const others[] = {"", "p", "pf", "pf0vf", "pf0xf1", "pf0vf1x", "c1",
		"c1p0", "eth0", "pf4294967296", "pf99999999999999999999vf1", "p0\n"};
	struct rd_representor rep;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		same(rd_representor_parse(cases[i].name, &rep), 0, rep.kind, cases[i].kind,
			rep.has_controller, cases[i].has_controller);
		same(rep.controller, cases[i].controller, rep.pf, cases[i].pf, rep.number,
			cases[i].number);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_int_equal(rd_representor_parse(others[i], &rep), -1);
}

TEST(uevents)
{
	static const char add[] =
		"add@/devices/x/infiniband/mlx5_0\0ACTION=add\0"
		"DEVPATH=/devices/x/infiniband/mlx5_0\0SUBSYSTEM=infiniband\0NAME=mlx5_0\0SEQNUM=7";
	static const char other[] = "add@/devices/x/net/eth0\0ACTION=add\0"
				    "DEVPATH=/devices/x/net/eth0\0SUBSYSTEM=net";
	static const char bound[] = "bind@/devices/x/infiniband/mlx5_0\0ACTION=bind\0"
				    "DEVPATH=/devices/x/infiniband/mlx5_0\0SUBSYSTEM=infiniband";
	static const char odd[] = "x\0ACTION=remove\0DEVPATH=/a/\033[2J\nb\0SUBSYSTEM=infiniband";
	static const char move[] =
		"move@/devices/x/infiniband/roce0\0ACTION=move\0"
		"DEVPATH=/devices/x/infiniband/roce0\0SUBSYSTEM=infiniband\0DEVPATH_OLD=/devices/x/"
		"infiniband/mlx5_0";
	struct device_change event;

	assert_true(rd_uevent_parse(add, sizeof(add), &event));
	assert_int_equal(event.kind, DEVICE_ADDED);
	expect("mlx5_0  1", event.name, event.previous,
		rd_uevent_parse(move, sizeof(move), &event));
	assert_int_equal(event.kind, DEVICE_RENAMED);
	expect("roce0 mlx5_0 0 0", event.name, event.previous,
		rd_uevent_parse(other, sizeof(other), &event),
		rd_uevent_parse(bound, sizeof(bound), &event));
	assert_true(rd_uevent_parse(odd, sizeof(odd), &event));
	same(event.kind, DEVICE_REMOVED, event.name, "?[2J?b");
	for (size_t n = 0; n < sizeof(add); n++) {
		char *copy = malloc(n ? n : 1);

		assert_non_null(copy);
		memcpy(copy, add, n);
		rd_uevent_parse(copy, n, &event);
		free(copy);
	}
}

/* Uevents and the list report the same changes, each at its own time. */
TEST(device_changes)
{
	static const struct {
		enum device_change_kind kind;
		bool from_list;
		const char *name;
		bool is_new;
	} cases[] = {
		{DEVICE_ADDED, true, "a", true},
		{DEVICE_ADDED, false, "a", false},
		{DEVICE_REMOVED, false, "a", true},
		{DEVICE_ADDED, false, "a", true},
		/* removed and added again before its uevents are read; others are kept apart */
		{DEVICE_REMOVED, true, "a", true},
		{DEVICE_ADDED, true, "a", true},
		{DEVICE_ADDED, false, "b", true},
		{DEVICE_REMOVED, false, "a", false},
		{DEVICE_ADDED, false, "a", false},
		{DEVICE_REMOVED, false, "a", true},
		{DEVICE_RENAMED, true, "c", true},
		{DEVICE_RENAMED, false, "c", false},
	};
	static struct monitored all;
	struct rd_event event;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct device_change c = {.kind = cases[i].kind, .from_list = cases[i].from_list};

		memcpy(c.name, cases[i].name, strlen(cases[i].name));
		monitored_change(&all, &c);
		if (events_next(&all.events, &event) != cases[i].is_new)
			fail_msg("case %zu", i);
	}
	/* What never comes is forgotten. */
	for (int i = 0; i < 100; i++) {
		const struct device_change c = {DEVICE_RENAMED, true, "d", ""};

		monitored_change(&all, &c);
	}
	monitored_free(&all);
}

static void assert_events(struct events *events, const char *const *texts)
{
	unsigned int n = 0;

	for (; texts[n]; n++)
		same(n < events->n, true, events->event[n].text, texts[n], events->event[n].port,
			1);
	assert_int_equal(events->n, n);
	events->n = 0;
}

TEST(port_changes)
{
	struct rd_gid old[] = {{.raw = {0xfe, 0x80, [15] = 1}, .type = RD_GID_ROCE_V2},
		{.raw = {[10] = 0xff, 0xff, 10, 0, 0, 1}, .index = 1, .type = RD_GID_ROCE_V1},
		{.raw = {[10] = 0xff, 0xff, 10, 0, 0, 1}, .index = 2, .type = RD_GID_ROCE_V2}};
	struct rd_gid new[] = {{.raw = {0xfe, 0x80, [15] = 2}, .type = RD_GID_ROCE_V2},
		{.raw = {[10] = 0xff, 0xff, 10, 0, 0, 1}, .index = 2, .type = RD_GID_ROCE_V2},
		{.raw = {[10] = 0xff, 0xff, 10, 0, 0, 2},
			.index = 7,
			.type = RD_GID_ROCE_V2,
			.ndev = "eth0"}};
	struct rd_port before = {.num = 1, .gids = old, .n_gids = 3, .state = "active", .lid = 5};
	struct rd_port now = {.num = 1, .gids = new, .n_gids = 3, .state = "down", .lid = 6};
	struct events events = {0};
	const struct event_to to = {&events, {.port = 1}};

	expect("4 1 7 eth0 gid_added", port_gid_changes(&before, &now, false, &to),
		events.event[3].has_gid, events.event[3].gid.index, events.event[3].netdev,
		events.event[3].kind);
	assert_events(&events,
		(const char *const[]){"GID 0 removed: fe80::1, RoCE v2",
			"GID 1 removed: ::ffff:10.0.0.1, RoCE v1", "GID 0 added: fe80::2, RoCE v2",
			"GID 7 added: ::ffff:10.0.0.2, RoCE v2", NULL});
	assert_int_equal(port_gid_changes(&now, &now, false, &to), 0);
	/* A netdev's new name is no change of its GIDs. */
	before = now;
	old[0] = new[0], old[1] = new[1], old[2] = new[2];
	memcpy(old[2].ndev, "eth9", 5);
	before.gids = old;
	assert_int_equal(port_gid_changes(&before, &now, false, &to), 0);
	memcpy(before.state, "active", 7);
	before.lid = 5;
	port_state_changes(&before, &now, &to);
	assert_events(&events, (const char *const[]){"port down", "LID changed from 5 to 6", NULL});
	memcpy(before.state, "init", 5);
	before.lid = 6;
	port_state_changes(&before, &now, &to);
	assert_int_equal(events.n, 0);
	free(events.event);
}

TEST(netdev_changes)
{
	struct rd_port port = {.num = 1,
		.n_netdevs = 2,
		.netdevs = {{.name = "bond0", .ifindex = 70001, .mtu = 1500, .operstate = "up"},
			{.name = "eth0", .ifindex = 70002, .mtu = 1500, .operstate = "up"}}};
	struct rd_link_change change = {.ifindex = 70002,
		.flags = IFF_UP | IFF_RUNNING,
		.name = "eth0",
		.mtu = 1500,
		.has_mac = true};
	struct events events = {0};
	const struct event_to to = {&events, {.port = 1}};

	expect("1 0", netdev_changes(&port, &change, &to), events.n);
	change.mac[0] = 2;
	change.mtu = 9000;
	change.flags = 0;
	memcpy(change.name, "lan0", 5);
	expect("1 lan0 eth0", netdev_changes(&port, &change, &to), events.event[0].netdev,
		events.event[0].previous);
	assert_events(&events, (const char *const[]){"netdev renamed from eth0",
				       "MAC address changed from 00:00:00:00:00:00 to "
				       "02:00:00:00:00:00",
				       "MTU changed from 1500 to 9000", "netdev down", NULL});
	expect("1 0", netdev_changes(&port, &change, &to), events.n);
	change.ifindex = 70003;
	assert_false(netdev_changes(&port, &change, &to));
	change = (struct rd_link_change){.kind = RD_LINK_REMOVED, .ifindex = 70001};
	assert_true(netdev_changes(&port, &change, &to));
	assert_events(&events, (const char *const[]){"netdev removed", NULL});
	expect("1 lan0", port.n_netdevs, port.netdevs[0].name);
	free(events.event);
}

TEST(link_messages)
{
	struct ifinfomsg info = {.ifi_index = 7, .ifi_flags = IFF_UP | IFF_RUNNING};
	struct ifaddrmsg address = {.ifa_family = AF_INET, .ifa_index = 9};
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 7};
	struct rd_link_change link;

	message_begin(RTM_NEWLINK, &info, sizeof(info));
	put(IFLA_IFNAME, "eth7", 5);
	put(IFLA_ADDRESS, mac, sizeof(mac));
	put_u32(IFLA_MTU, 4200);
	expect("1 7 1", rd_link_parse(MESSAGE, &link), link.ifindex,
		(link.flags & IFF_RUNNING) != 0);
	same(link.kind, RD_LINK_STATE, link.name, "eth7", link.has_mac, 1);
	assert_memory_equal(link.mac, mac, sizeof(mac));
	assert_int_equal(link.mtu, 4200);
	for (size_t n = 0; n < m.head.nlmsg_len; n++)
		assert_false(rd_link_parse(&m.head, n, &link));
	for (size_t at = NLMSG_SPACE(sizeof(info)); at < m.head.nlmsg_len; at++) {
		struct message bad = m;

		((uint8_t *)&bad)[at] = 0xff;
		rd_link_parse(&bad.head, bad.head.nlmsg_len, &link);
	}
	m.head.nlmsg_type = RTM_DELLINK;
	assert_true(rd_link_parse(MESSAGE, &link));
	assert_int_equal(link.kind, RD_LINK_REMOVED);
	m.head.nlmsg_type = RTM_NEWQDISC;
	assert_false(rd_link_parse(MESSAGE, &link));
	m.head.nlmsg_type = RTM_DELADDR;
	memcpy(NLMSG_DATA(&m.head), &address, sizeof(address));
	assert_true(rd_link_parse(MESSAGE, &link));
	same(link.kind, RD_LINK_ADDRESS, link.ifindex, 9);
	m.head.nlmsg_len = NLMSG_SPACE(sizeof(address));
	for (size_t n = 0; n < m.head.nlmsg_len; n++)
		assert_false(rd_link_parse(&m.head, n, &link));
	/* A bridge's message on its port, which is not the link's. */
	m.head.nlmsg_type = RTM_NEWLINK;
	info.ifi_family = AF_BRIDGE;
	memcpy(NLMSG_DATA(&m.head), &info, sizeof(info));
	assert_false(rd_link_parse(MESSAGE, &link));
}

static void begin(uint8_t command)
{
	message_begin(0, &(struct genlmsghdr){.cmd = command}, sizeof(struct genlmsghdr));
}

static void put_version(int type, const char *name, const char *value)
{
	struct nlattr *a = nest(type);

	put_text(DEVLINK_ATTR_INFO_VERSION_NAME, name);
	put_text(DEVLINK_ATTR_INFO_VERSION_VALUE, value);
	nest_end(a);
}

TEST(devlink)
{
	struct rd_device device = {0};
	struct rd_info info = {.device = &device};

	begin(DEVLINK_CMD_INFO_GET);
	put(DEVLINK_ATTR_INFO_BOARD_SERIAL_NUMBER, "MT2\033X", 6);
	put_version(DEVLINK_ATTR_INFO_VERSION_RUNNING, "fw.version", "22.39.1002");
	put_version(DEVLINK_ATTR_INFO_VERSION_STORED, "fw.version", "22.41.1000");
	put_version(DEVLINK_ATTR_INFO_VERSION_FIXED, "fw.psid", "MT_0000000359");
	expect("0 MT2?X 3 fw.version", rd_devlink_parse_info(MESSAGE, &info), info.serial,
		info.n_firmware, info.firmware[1].name);
	same(info.firmware[1].value, "22.41.1000", info.firmware[1].kind, RD_FW_STORED);
	for (uint32_t n = 0; n < NLMSG_SPACE(sizeof(struct genlmsghdr)); n++) {
		struct message cut = m;

		cut.head.nlmsg_len = n;
		assert_int_equal(rd_devlink_parse_info(&cut.head, m.head.nlmsg_len, &info), -1);
	}
	for (size_t at = 0; at < m.head.nlmsg_len; at++)
		for (int v = 0; v < 256; v += 51) {
			struct message bad = m;

			((uint8_t *)&bad)[at] = (uint8_t)v;
			if (at >= sizeof(m.head.nlmsg_len))
				rd_devlink_parse_info(&bad.head, m.head.nlmsg_len, &info);
		}
	rd_info_free(&info);
}

/* ---- trees ---- */

#define DEV  "sys/class/infiniband/mlx5_0/"
#define PORT DEV "ports/1/"

/* Names in the order of their numbers; a key that begins like another is another. */
TEST(sysfs)
{
	static const char *const names[] = {"mlx5_0", "mlx5_2", "mlx5_10"};
	struct rd_names found;
	char value[64];

	tree_make();
	for (size_t i = 0; i < 3; i++) {
		char path[64];

		snprintf(path, sizeof(path), "devices/%s", names[2 - i]);
		tree_text(path, "x");
	}
	tree_text("uevent", "PCI_SLOT_NAME=1\nPCI=2\nDRIVER=a=b\n");
	expect("0 3", rd_sysfs_list(&found, "%s/devices", tree.root), found.n);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(found.name[i], names[i]);
	rd_names_free(&found);
	expect("0 2 0 a=b -1", rd_sysfs_uevent(value, sizeof(value), "PCI", "%s/uevent", tree.root),
		value, rd_sysfs_uevent(value, sizeof(value), "DRIVER", "%s/uevent", tree.root),
		value, rd_sysfs_uevent(value, sizeof(value), "DRIVE", "%s/uevent", tree.root));
}

/* A condition that is not known does not prevent a capture, one that is not met does. */
TEST(conditions)
{
	struct rd_device device = {.name = "mlx5_0", .driver = "mlx5_core", .copied = true};
	struct rd_port port = {.num = 1, .link = RD_LINK_ETHERNET};
	struct rd_info info = {.device = &device};
	struct rd_capture_condition conditions[RD_CONDITIONS_MAX];
	enum rd_verdict verdict;

	rd_info_conditions(&info, &port, conditions, &verdict);
	assert_int_equal(verdict, RD_CAPTURE_YES);
	info.mlx5.asked = true;
	info.mlx5.nic_flow_table = RD_ANSWER_YES;
	info.mlx5.shared_tir = info.mlx5.sniffer_rx = info.mlx5.sniffer_tx = RD_ANSWER_YES;
	rd_info_conditions(&info, &port, conditions, &verdict);
	assert_int_equal(verdict, RD_CAPTURE_YES);
	info.mlx5.sniffer_tx = RD_ANSWER_NO;
	rd_info_conditions(&info, &port, conditions, &verdict);
	assert_int_equal(verdict, RD_CAPTURE_NO);
	port.n_netdevs = 1;
	rd_info_conditions(&info, &port, conditions, &verdict);
	assert_int_equal(verdict, RD_CAPTURE_NETDEV);
}

/* Of a VF or an SF the firmware decides, whatever the driver is called. */
TEST(guest_conditions)
{
	static const struct {
		enum rd_function_kind kind;
		const char *name;
	} guests[] = {{RD_FUNCTION_VF, "VF"}, {RD_FUNCTION_SF, "SF"}};

	for (size_t i = 0; i < 2; i++) {
		struct rd_device device = {.name = "mlx5_2",
			.driver = "mlx5_core",
			.copied = true,
			.function.kind = guests[i].kind};
		struct rd_port port = {.num = 1, .link = RD_LINK_ETHERNET};
		struct rd_info info = {.device = &device};
		struct rd_capture_condition conditions[RD_CONDITIONS_MAX];
		enum rd_verdict verdict;
		const char *why, *todo;
		unsigned int n, refused = 0;

		assert_int_equal(rd_port_verdict(&device, &port, &why, &todo), RD_CAPTURE_YES);
		assert_non_null(strstr(why, guests[i].name));
		assert_non_null(strstr(why, "if the firmware grants"));
		info.mlx5 = (struct rd_mlx5_caps){.asked = true,
			.nic_flow_table = RD_ANSWER_YES,
			.shared_tir = RD_ANSWER_YES,
			.sniffer_rx = RD_ANSWER_NO,
			.sniffer_tx = RD_ANSWER_NO};
		n = rd_info_conditions(&info, &port, conditions, &verdict);
		assert_int_equal(verdict, RD_CAPTURE_NO);
		for (unsigned int c = 0; c < n; c++)
			if (conditions[c].answer == RD_ANSWER_NO) {
				refused++;
				assert_non_null(
					strstr(conditions[c].why, "does not grant it to this "));
				assert_non_null(strstr(conditions[c].why, guests[i].name));
				assert_string_equal(
					conditions[c].todo, "mirror the port on the switch");
			}
		assert_int_equal(refused, 2);
		info.mlx5.sniffer_rx = info.mlx5.sniffer_tx = RD_ANSWER_YES;
		rd_info_conditions(&info, &port, conditions, &verdict);
		assert_int_equal(verdict, RD_CAPTURE_YES);
	}
}

/* Functions of the same port: by sysfs, by their devices, by their representors. */
TEST(other_functions)
{
	struct rd_representor reps[] = {{.kind = RD_FUNCTION_VF}, {.kind = RD_FUNCTION_VF},
		{.kind = RD_FUNCTION_SF}, {.kind = RD_FUNCTION_SF},
		{.kind = RD_FUNCTION_VF, .has_controller = true, .controller = 1}};
	struct rd_device dev[] = {
		{.pci = "0000:3b:00.0", .function = {.kind = RD_FUNCTION_PF, .n_vfs = 3}},
		{.pci = "0000:3b:00.0",
			.function = {.kind = RD_FUNCTION_SF, .parent = "0000:3b:00.0"}},
		{.pci = "0000:3b:00.1", .function = {.kind = RD_FUNCTION_PF}}};
	struct rd_devices devices = {.dev = dev, .n = 3};
	struct rd_other_functions others;
	char text[48];

	/* Of other drivers nothing is claimed. */
	others = rd_other_functions(&devices, &dev[0]);
	assert_int_equal(others.vfs + others.sfs, 0);
	for (size_t i = 0; i < devices.n; i++)
		strcpy(dev[i].driver, "mlx5_core");
	others = rd_other_functions(&devices, &dev[0]);
	expect("3 1", others.vfs, others.sfs);
	rd_other_functions_text(others, text, sizeof(text));
	assert_string_equal(text, "its 3 VFs and 1 SF");
	dev[0].function.n_vfs = 0;
	dev[0].representors = reps;
	dev[0].n_representors = 5;
	others = rd_other_functions(&devices, &dev[0]);
	expect("2 2", others.vfs, others.sfs);
	for (size_t i = 1; i < 3; i++) {
		others = rd_other_functions(&devices, &dev[i]);
		rd_other_functions_text(others, text, sizeof(text));
		assert_string_equal(text, "");
	}
	rd_other_functions_text((struct rd_other_functions){1, 0}, text, sizeof(text));
	assert_string_equal(text, "its 1 VF");
}

/* The table agrees with itself: fields lie in the response, and fit into a counter. */
TEST(firmware_table)
{
	for (const struct rd_mlx5_field *f = rd_mlx5_fields; f->name; f++) {
		const struct rd_mlx5_command *c = rd_mlx5_commands;

		while (c->name && strcmp(c->name, f->command) != 0)
			c++;
		assert_non_null(c->name);
		if (f->bit < 0x40 || f->bit + f->width > c->out_bytes * 8)
			fail_msg("%s.%s lies outside of the response", c->name, f->name);
		if (!f->width || f->width > 64)
			fail_msg("%s.%s has a width of %u", c->name, f->name, f->width);
	}
}

/* Responses of every length, in a block of exactly that length: nothing behind it is read. */
TEST(firmware_short)
{
	size_t whole = 0;

	for (const struct rd_mlx5_command *c = rd_mlx5_commands; c->name; c++)
		for (size_t size = 0; size <= c->out_bytes; size++) {
			uint8_t *out = malloc(size + !size);
			struct rd_counters counters = {.driver = "mlx5_core"};

			assert_non_null(out);
			memset(out, 0xff, size + !size);
			assert_int_equal(rd_mlx5_decode_counters(&counters, c, out, size), 0);
			for (size_t i = 0; i < counters.n; i++) {
				const struct rd_counter *k = &counters.counter[i];

				assert_non_null(k->kind);
				assert_true(
					k->value ==
					(k->kind->bits == 64 ? UINT64_MAX
							     : (UINT64_C(1) << k->kind->bits) - 1));
			}
			if (size <= 8)
				assert_int_equal(counters.n, 0);
			if (size == c->out_bytes)
				whole += counters.n;
			rd_counters_free(&counters);
			free(out);
		}
	assert_in_range(whole, 40, 1000);
}

/* Thousands of entries where a handful is usual. */
TEST(many)
{
	struct rd_devices devices;
	struct rd_info info;
	char path[256];

	tree_make();
	tree_text(DEV "device/uevent", "DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:3b:00.0\n");
	tree_text(PORT "link_layer", "Ethernet\n");
	for (int i = 0; i < 1500; i++) {
		snprintf(path, sizeof(path), PORT "pkeys/%d", i);
		tree_text(path, "0xffff\n");
		snprintf(path, sizeof(path), DEV "device/net/r%d/phys_port_name", i);
		tree_text(path, "pf0vf1\n");
		snprintf(path, sizeof(path), "sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/p%d", i);
		tree_text(path, "1\n");
	}
	same(rd_devices_load(&devices, tree.root, &err), 0, devices.dev[0].n_representors,
		RD_REPRESENTORS_MAX, rd_info_load(&info, &devices.dev[0], devices.sysroot, &err), 0,
		info.ports[0].n_pkeys, 1500);
	assert_in_range(info.ports[0].settings.n, 1, 512);
	rd_info_free(&info);
	rd_devices_free(&devices);
}

/* What the kernel has of a netdev, in its order: a link address, IPv4, IPv6; and of another. */
int __wrap_getifaddrs(struct ifaddrs **list)
{
	static struct sockaddr_ll mac = {.sll_family = AF_PACKET};
	static struct sockaddr_in v4 = {.sin_family = AF_INET};
	static struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	static struct ifaddrs all[] = {{.ifa_name = (char *)"p1", .ifa_addr = (void *)&mac},
		{.ifa_name = (char *)"tun0"}, {.ifa_name = (char *)"p1", .ifa_addr = (void *)&v4},
		{.ifa_name = (char *)"p10", .ifa_addr = (void *)&v4},
		{.ifa_name = (char *)"p1", .ifa_addr = (void *)&v6}};

	assert_int_equal(inet_pton(AF_INET, "10.0.0.1", &v4.sin_addr), 1);
	assert_int_equal(inet_pton(AF_INET6, "2001:db8::1", &v6.sin6_addr), 1);
	for (size_t i = 0; i + 1 < sizeof(all) / sizeof(*all); i++)
		all[i].ifa_next = &all[i + 1];
	*list = all;
	return 0;
}

void __wrap_freeifaddrs(struct ifaddrs *list)
{
	(void)list;
}

TEST(netdev_addresses)
{
	char text[64];

	rd_netdev_addresses("p1", text, sizeof(text));
	assert_string_equal(text, "10.0.0.1, 2001:db8::1");
	rd_netdev_addresses("p1", text, 16);
	assert_string_equal(text, "10.0.0.1");
	rd_netdev_addresses("p2", text, sizeof(text));
	assert_string_equal(text, "");
}
