/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hostile sysfs trees: whatever they contain, loading ends, and all texts are printable. */
#include "test.h"
#include "test_device_tree.h"
#include <rdmadump/device.h>
#include <rdmadump/growth.h>
#include <rdmadump/info.h>

#define DEV  "sys/class/infiniband/mlx5_0/"
#define PORT DEV "ports/1/"

static struct rd_error err;

static void assert_printable(const char *text, size_t size)
{
	assert_true(memchr(text, '\0', size) != NULL);
	for (; *text; text++)
		assert_in_range(*text, 0x20, 0x7e);
}
#define ASSERT_PRINTABLE(array) assert_printable(array, sizeof(array))

static void check_port(const struct rd_port *port)
{
	assert_in_range(port->num, 1, 255);
	ASSERT_PRINTABLE(port->state);
	ASSERT_PRINTABLE(port->phys_state);
	ASSERT_PRINTABLE(port->rate);
	assert_in_range(port->n_netdevs, 0, RD_NETDEV_MAX);
	for (unsigned int i = 0; i < port->n_netdevs; i++) {
		ASSERT_PRINTABLE(port->netdevs[i].name);
		ASSERT_PRINTABLE(port->netdevs[i].operstate);
	}
	for (unsigned int i = 0; i < port->n_gids; i++)
		ASSERT_PRINTABLE(port->gids[i].ndev);
}

static void check_info(const struct rd_devices *devices, const struct rd_device *dev)
{
	struct rd_capture_condition checks[RD_CONDITIONS_MAX];
	enum rd_verdict verdict;
	struct rd_info info;

	assert_int_equal(rd_info_load(&info, dev, devices->sysroot, &err), 0);
	ASSERT_PRINTABLE(info.sys_image_guid);
	ASSERT_PRINTABLE(info.hw_rev);
	ASSERT_PRINTABLE(info.pci.speed);
	ASSERT_PRINTABLE(info.pci.max_speed);
	ASSERT_PRINTABLE(info.pci.cpus);
	ASSERT_PRINTABLE(info.lockdown);
	for (size_t k = 0; k < 2; k++) {
		ASSERT_PRINTABLE(info.modules[k].version);
		ASSERT_PRINTABLE(info.modules[k].srcversion);
	}
	for (unsigned int p = 0; p < dev->n_ports; p++) {
		const struct rd_attrs *settings = &info.ports[p].settings;

		for (size_t i = 0; i < settings->n; i++) {
			ASSERT_PRINTABLE(settings->attr[i].key);
			ASSERT_PRINTABLE(settings->attr[i].title);
			assert_printable(
				settings->attr[i].text, strlen(settings->attr[i].text) + 1);
		}
		assert_in_range(rd_info_conditions(&info, &dev->ports[p], checks, &verdict), 1,
			RD_CONDITIONS_MAX);
	}
	rd_info_free(&info);
}

/* Loads, checks and asks everything that can be asked. */
static void check_tree(size_t n_devices)
{
	struct rd_devices devices;

	same(rd_devices_load(&devices, tree.root, &err), 0, devices.n, n_devices);
	for (size_t i = 0; i < devices.n; i++) {
		const struct rd_device *dev = &devices.dev[i], *found;
		const struct rd_port *port;
		struct rd_loss_counters loss;

		ASSERT_PRINTABLE(dev->name);
		ASSERT_PRINTABLE(dev->pci);
		ASSERT_PRINTABLE(dev->driver);
		ASSERT_PRINTABLE(dev->fw);
		ASSERT_PRINTABLE(dev->board_id);
		ASSERT_PRINTABLE(dev->hca_type);
		ASSERT_PRINTABLE(dev->node_type);
		ASSERT_PRINTABLE(dev->node_desc);
		for (unsigned int p = 0; p < dev->n_ports; p++) {
			const char *why, *todo;

			check_port(&dev->ports[p]);
			rd_port_verdict(dev, &dev->ports[p], &why, &todo);
			rd_loss_read(tree.root, dev, dev->ports[p].num, &loss);
		}
		check_info(&devices, dev);
		if (rd_devices_find(&devices, dev->name, 0, &found, &port, &err))
			ASSERT_PRINTABLE(err.text);
		if (rd_devices_default(&devices, &found, &port, &err))
			ASSERT_PRINTABLE(err.text);
	}
	rd_devices_free(&devices);
}

static const char *const value_files[] = {DEV "fw_ver", DEV "board_id", DEV "hca_type",
	DEV "node_desc", DEV "node_type", DEV "node_guid", DEV "parent", DEV "hw_rev",
	DEV "sys_image_guid", DEV "tc/1/traffic_class", DEV "ttl/1/ttl", PORT "link_layer",
	PORT "state", PORT "phys_state", PORT "rate", PORT "lid", PORT "sm_lid", PORT "cap_mask",
	PORT "lid_mask_count", PORT "sm_sl", PORT "pkeys/0", PORT "pkeys/x", PORT "gids/0",
	PORT "gid_attrs/types/0", PORT "gid_attrs/ndevs/0", PORT "hw_counters/out_of_buffer",
	DEV "device/vendor", DEV "device/device", DEV "device/uevent", DEV "device/numa_node",
	DEV "device/current_link_speed", DEV "device/current_link_width",
	DEV "device/max_link_speed", DEV "device/max_link_width", DEV "device/local_cpulist",
	DEV "device/sriov_numvfs", DEV "device/sfnum", DEV "device/net/eth0/dev_port",
	DEV "device/net/eth0/phys_port_name", "sys/class/net/eth0/address",
	"sys/class/net/eth0/mtu", "sys/class/net/eth0/uevent",
	"sys/class/net/eth0/ecn/roce_np/enable/0", "sys/class/net/eth0/ecn/roce_rp/x\033[2Jy",
	"sys/module/mlx5_core/version", "sys/module/mlx5_core/srcversion",
	"sys/module/mlx5_core/taint", "sys/kernel/security/lockdown",
	"sys/kernel/debug/mlx5/0000:3b:00.0/cc_params/a\nb"};

static void check_value(const char *bytes, size_t n)
{
	tree_make();
	for (size_t i = 0; i < sizeof(value_files) / sizeof(*value_files); i++)
		tree_write(value_files[i], bytes, n);
	check_tree(1);
	/* Enough that the rest is looked for. */
	tree_text(DEV "device/uevent", "DRIVER=mlx5_core\nPCI_SLOT_NAME=0000:3b:00.0\n");
	tree_text(DEV "device/vendor", "0x15b3\n");
	tree_text(PORT "link_layer", "Ethernet\n");
	tree_text("sys/class/net/eth0/mtu", "1500\n");
	check_tree(1);
}

TEST(values)
{
	static const struct {
		const char *bytes;
		size_t n;
	} values[] = {
		{"", 0},
		{"\n", 1},
		{"\n\n\n", 3},
		{"\0\0\0\0", 4},
		{"\033[2J\033]0;gone\007", 14},
		{"4: \033[31mACTIVE\n5: x\n", 20},
		{"\xff\xfe\xc2\x9b"
		 "31m\xe2\x80\xae",
			10},
		{": : : :", 7},
		{"99999999999999999999999 Gb/sec", 30},
		{"1.99999999 Gb/sec", 17},
		{".5 Gb/sec", 9},
		{"../../../../etc/passwd", 22},
		{"-1", 2},
		{"0xffffffffffffffffff", 20},
		{"0000:3b:00.0\nPCI_SLOT_NAME=0000:3b:00.0\nDRIVER=\033\n", 50},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 44},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff", 38},
		{"%s%n%s%n", 8},
		{"[[[]]]", 6},
		{"]x[", 3},
		{"none [integrity", 15},
		{"pf0vf4294967295", 15},
		{"Global tclass=106\nGlobal tclass=1", 33},
		/* Words whose separating space is the last character that there is room for */
		{"aBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaB", 40},
		{"xaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaB", 41},
		{"xxaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaBaB", 42},
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		check_value(values[i].bytes, values[i].n);
}

/* Rates that no link has are unknown, and so is what is no number. */
TEST(rates)
{
	static const struct {
		const char *text, *rate;
		uint64_t speed;
	} rows[] = {{"2.5 Gb/sec (1X SDR)", "2.5 Gb/s", 2500000000},
		{"999999 Gb/sec", "999999 Gb/s", 999999000000000},
		{"1.125 Gb/sec", "1.125 Gb/s", 1125000000}, {"1000000 Gb/sec", "", 0},
		{"1.0625 Gb/sec", "", 0}, {".5 Gb/sec", "", 0}, {"0 Gb/sec", "", 0},
		{"100 Mb/sec", "", 0}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rd_devices devices;

		tree_make();
		tree_write(DEV "ports/1/state", "4: ACTIVE", 9);
		tree_write(DEV "ports/1/rate", rows[i].text, strlen(rows[i].text));
		expect("0 1 1 1", rd_devices_load(&devices, tree.root, &err), devices.n,
			devices.dev[0].n_ports, devices.dev[0].ports[0].speed == rows[i].speed);
		assert_string_equal(devices.dev[0].ports[0].rate, rows[i].rate);
		rd_devices_free(&devices);
	}
}

TEST(megabyte_values)
{
	size_t n = 1 << 20;
	char *bytes = malloc(n);

	assert_non_null(bytes);
	memset(bytes, 'A', n);
	check_value(bytes, n);
	memset(bytes, '\033', n);
	check_value(bytes, n);
	memset(bytes, '\n', n);
	check_value(bytes, n);
	free(bytes);
}

TEST(names)
{
	static const char *const names[] = {"new\nline", "esc\033[31m", "blank name", "%s%n", "..x",
		"\xff\xfe", "a:1", "'quoted'", "-rf"};
	char path[512];

	tree_make();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(
			path, sizeof(path), "sys/class/infiniband/%s/ports/1/link_layer", names[i]);
		tree_text(path, "Ethernet\n");
		snprintf(path, sizeof(path), "sys/class/infiniband/%s/device/net/%s/dev_port",
			names[i], names[i]);
		tree_text(path, "0\n");
		snprintf(path, sizeof(path), "sys/class/infiniband/%s/device/uevent", names[i]);
		tree_text(path, "PCI_SLOT_NAME=0000:3b:00.0\n");
	}
	/* The longest name that a file system takes; a port is no such thing, nor are these. */
	snprintf(path, sizeof(path), "sys/class/infiniband/%0255d/ports/1/state", 7);
	tree_text(path, "4: ACTIVE\n");
	tree_text("sys/class/infiniband/a:1/ports/0/state", "");
	tree_text("sys/class/infiniband/a:1/ports/256/state", "");
	tree_text("sys/class/infiniband/a:1/ports/1x/state", "");
	tree_text("sys/class/infiniband/a:1/ports/-1/state", "");
	check_tree(sizeof(names) / sizeof(*names) + 1);
}

TEST(loops)
{
	tree_make();
	tree_text(DEV "fw_ver", "1.2\n");
	tree_link("sys/class/infiniband/self", "self");
	tree_link("sys/class/infiniband/up", "..");
	tree_link("sys/class/infiniband/nowhere", "../gone");
	tree_link(DEV "device", "../mlx5_0");
	tree_link(DEV "ports", ".");
	tree_link(DEV "1", ".");
	tree_link(DEV "gids", ".");
	tree_link(DEV "physfn", ".");
	tree_link(DEV "tc", ".");
	tree_link(DEV "pkeys", ".");
	tree_link("sys/module", ".");
	tree_link(DEV "net", ".");
	check_tree(4);
}

/* Neither a FIFO without a writer nor an endless device may hold the program up. */
TEST(not_files)
{
	tree_make();
	tree_text(DEV "fw_ver/is_a_directory", "");
	tree_text(DEV "ports/1", "a file\n");
	assert_int_equal(mkfifo(tree_path(DEV "node_desc"), 0600), 0);
	tree_link(DEV "board_id", "/dev/zero");
	tree_link(DEV "hca_type", "/dev/tty");
	check_tree(1);
	tree_make();
	tree_text("sys/class/infiniband", "a file\n");
	assert_int_equal(rd_devices_load(&(struct rd_devices){0}, tree.root, &err), -1);
	assert_non_null(strstr(err.text, "cannot list "));
}

TEST(unreadable)
{
	tree_make();
	for (size_t i = 0; i < sizeof(value_files) / sizeof(*value_files); i++) {
		tree_text(value_files[i], "1\n");
		assert_int_equal(chmod(tree_path(value_files[i]), 0), 0);
	}
	check_tree(1);
}

/* The largest tables that there can be: each place is read once, and no more are taken. */
TEST(many)
{
	struct rd_devices devices;
	char path[512];

	tree_make();
	tree_text(DEV "ports/1/link_layer", "Ethernet\n");
	for (int i = 0; i < 1024; i++) {
		char text[64];

		snprintf(path, sizeof(path), DEV "ports/1/gids/%d", i);
		snprintf(text, sizeof(text), "fe80:0000:0000:0000:0000:0000:0000:%04x\n", i);
		tree_text(path, text);
		snprintf(path, sizeof(path), DEV "ports/1/gid_attrs/ndevs/%d", i);
		snprintf(text, sizeof(text), "eth%d\n", i);
		tree_text(path, text);
	}
	for (int i = 0; i < 300; i++) {
		snprintf(path, sizeof(path), DEV "ports/%d/state", i);
		tree_text(path, "4: ACTIVE\n");
	}
	expect("0 255 1024 1023", rd_devices_load(&devices, tree.root, &err),
		devices.dev[0].n_ports, devices.dev[0].ports[0].n_gids,
		devices.dev[0].ports[0].gids[1023].index);
	same(devices.dev[0].ports[0].n_netdevs, RD_NETDEV_MAX, devices.dev[0].ports[254].num, 255);
	rd_devices_free(&devices);
}
