/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which device a name means, texts about capture and loss. Trees: tests/e2e/list.sh. */
#include "device/info_parts.h"
#include "test.h"
#include "test_device_tree.h"
#include <linux/capability.h>
#include <rdmadump/counters.h>
#include <rdmadump/device.h>
#include <rdmadump/privilege.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static struct rd_devices devices; /* of the tree */
static struct rd_error err;

static void load(void)
{
	rd_devices_free(&devices);
	assert_int_equal(rd_devices_load(&devices, tree.root, &err), 0);
}

static int leave(void **state)
{
	rd_devices_free(&devices);
	return 0;
}

static void open_tree(const char *name)
{
	tree_unpack(name);
	load();
}

/* mlx4: one function, two ports, the second on InfiniBand; `mode` is the module's parameter. */
static void open_mlx4(const char *mode)
{
	static const char *const files[][2] = {
		{"sys/devices/0000:05:00.0/uevent",
			"DRIVER=mlx4_core\nPCI_SLOT_NAME=0000:05:00.0\n"},
		{"sys/devices/0000:05:00.0/vendor", "0x15b3\n"},
		{"sys/devices/0000:05:00.0/device", "0x1007\n"},
		{"sys/devices/0000:05:00.0/net/eth1/dev_port", "0\n"},
		{"sys/devices/0000:05:00.0/net/eth2/dev_port", "1\n"},
		{"sys/devices/0000:05:00.0/infiniband/mlx4_0/node_type", "1: CA\n"},
		{"sys/devices/0000:05:00.0/infiniband/mlx4_0/ports/1/link_layer", "Ethernet\n"},
		{"sys/devices/0000:05:00.0/infiniband/mlx4_0/ports/1/state", "1: DOWN\n"},
		{"sys/devices/0000:05:00.0/infiniband/mlx4_0/ports/2/link_layer", "InfiniBand\n"},
		{"sys/devices/0000:05:00.0/infiniband/mlx4_0/ports/2/state", "4: ACTIVE\n"},
		{"sys/devices/0000:05:00.0/infiniband/mlx4_0/ports/2/rate", "56 Gb/sec (4X FDR)\n"},
		{"sys/devices/0000:05:00.0/infiniband/mlx4_0/ports/2/phys_state",
			"4: PortConfigurationTraining\n"},
	};

	tree_make();
	for (size_t i = 0; i < COUNT(files); i++)
		tree_text(files[i][0], files[i][1]);
	tree_link("sys/devices/0000:05:00.0/infiniband/mlx4_0/device", "../../../0000:05:00.0");
	tree_link("sys/class/infiniband/mlx4_0", "../../devices/0000:05:00.0/infiniband/mlx4_0");
	if (mode)
		tree_text("sys/module/mlx4_core/parameters/log_num_mgm_entry_size", mode);
	load();
}

/* A software device whose kernel names no netdev: the GID holds its MAC address. */
TEST(siw)
{
	tree_make();
	tree_text("sys/class/infiniband/siw0/node_type", "4: RNIC\n");
	tree_text("sys/class/infiniband/siw0/node_desc", "Software iWARP stack\n");
	tree_text("sys/class/infiniband/siw0/ports/1/link_layer", "Ethernet\n");
	tree_text("sys/class/infiniband/siw0/ports/1/gids/0",
		"5254:0077:0001:0000:0000:0000:0000:0000\n");
	tree_text("sys/class/net/eth7/address", "52:54:00:77:00:01\n");
	tree_text("sys/class/net/eth8/address", "52:54:00:77:00:02\n");
	load();
	expect("siw 1 eth7", devices.dev[0].driver, devices.dev[0].ports[0].n_netdevs,
		devices.dev[0].ports[0].netdevs[0].name);
}

/* One line per case: the name, the port, then the result. */
static const struct find_case {
	const char *name;
	unsigned int port;
	const char *device;
	unsigned int found;
	const char *error; /* instead of a device */
} find_cases[] = {
	{"mlx5_0", 0, "mlx5_0", 1, NULL},
	{"mlx5_0", 1, "mlx5_0", 1, NULL},
	{"mlx5_10:1", 0, "mlx5_10", 1, NULL},
	{"mlx5_1:1", 1, "mlx5_1", 1, NULL},
	{"enp59s0f1np1", 0, "mlx5_1", 1, NULL},
	{"enp59s0f1np1:1", 0, "mlx5_1", 1, NULL},
	{"vlan100", 0, "mlx5_0", 1, NULL},
	{"0000:3b:00.1", 0, "mlx5_1", 1, NULL},
	{"3B:00.1", 0, "mlx5_1", 1, NULL},
	{"3b:00.1:1", 0, "mlx5_1", 1, NULL},
	{"3b:00.0", 0, "mlx5_0", 1, NULL},
	{"mlx5_9", 0, NULL, 0,
		"no device or netdev 'mlx5_9'; there are: mlx5_0 (enp59s0f0np0), "
		"mlx5_1 (enp59s0f1np1), mlx5_10 (enp59s0f0s88)"},
	{"mlx5_9:1", 0, NULL, 0,
		"no device or netdev 'mlx5_9'; there are: mlx5_0 (enp59s0f0np0), "
		"mlx5_1 (enp59s0f1np1), mlx5_10 (enp59s0f0s88)"},
	{"mlx5_0", 2, NULL, 0, "mlx5_0 has no port 2: it has port 1"},
	{"enp59s0f0np0:7", 0, NULL, 0, "mlx5_0 has no port 7: it has port 1"},
	{"mlx5_0:1", 2, NULL, 0, "'mlx5_0:1' and port 2 contradict each other; name one port"},
	{"pf0vf0", 0, NULL, 0, "netdev 'pf0vf0' exists but has no RDMA device; there are: "},
	{"eth9", 0, NULL, 0, "netdev 'eth9' exists but has no RDMA device; there are: mlx5_0"},
	{"", 0, NULL, 0, "no device or netdev ''"},
	{":1", 0, NULL, 0, "no device or netdev ''"},
	{"mlx5_0:0", 0, NULL, 0, "no device or netdev 'mlx5_0:0'"},
	{"../mlx5_0", 0, NULL, 0, "no device or netdev '../mlx5_0'"},
	{"\033[31mred\n", 0, NULL, 0, "no device or netdev '?[31mred?'"},
};

static void run_find_case(const struct find_case *c)
{
	const struct rd_device *dev = NULL;
	const struct rd_port *port = NULL;
	int ret = rd_devices_find(&devices, c->name, c->port, &dev, &port, &err);

	if (c->error) {
		assert_int_equal(ret, -1);
		if (strncmp(err.text, c->error, strlen(c->error)))
			fail_msg("'%s': %s", c->name, err.text);
		return;
	}
	if (ret)
		fail_msg("'%s': %s", c->name, err.text);
	same(dev->name, c->device, port->num, c->found);
}

TEST(find)
{
	tree_unpack("mlx5-eth");
	tree_text("sys/class/net/eth9/mtu", "1500\n");
	load();
	for (size_t i = 0; i < COUNT(find_cases); i++)
		run_find_case(&find_cases[i]);
}

TEST(find_ports)
{
	static const struct find_case cases[] = {
		{"mlx4_0", 0, "mlx4_0", 2, NULL}, /* the active one */
		{"mlx4_0", 1, "mlx4_0", 1, NULL},
		{"mlx4_0:2", 0, "mlx4_0", 2, NULL},
		{"05:00.0:1", 0, "mlx4_0", 1, NULL},
		{"eth1", 0, "mlx4_0", 1, NULL}, /* the netdev tells, though it is down */
		{"eth1", 2, NULL, 0,
			"netdev 'eth1' is on port 1 of mlx4_0, not on port 2; leave the port out"},
		{"mlx4_0:3", 0, NULL, 0, "mlx4_0 has no port 3: it has ports 1, 2"},
	};

	open_mlx4("-1\n");
	for (size_t i = 0; i < COUNT(cases); i++)
		run_find_case(&cases[i]);
}

/* rxe on top of the HCA's netdev: the name means what can be captured better. */
TEST(find_shared_netdev)
{
	static const struct find_case meant = {"enp59s0f0np0", 0, "mlx5_0", 1, NULL};

	tree_unpack("mlx5-eth");
	tree_text("sys/class/infiniband/arxe/parent", "enp59s0f0np0\n");
	tree_text("sys/class/infiniband/arxe/ports/1/link_layer", "Ethernet\n");
	load();
	expect("4 rdma_rxe", devices.n, devices.dev[0].driver);
	run_find_case(&meant);
}

TEST(no_devices)
{
	const struct rd_device *dev;
	const struct rd_port *port;

	tree_make();
	rd_devices_free(&devices);
	same(rd_devices_load(&devices, tree.root, &err), -1, err.class, RD_CLASS_DEVICE);
	assert_non_null(strstr(err.text, "no directory 'sys' in '/tmp/"));
	tree_text("sys/class/net/eth0/mtu", "1500\n");
	load();
	expect("0 -1", devices.n, rd_devices_find(&devices, "mlx5_0", 0, &dev, &port, &err));
	assert_non_null(strstr(err.text, "no device or netdev 'mlx5_0', and no RDMA device in "));
	assert_non_null(strstr(err.text, "; copy sys/class/infiniband, sys/class/net and"));
	assert_int_equal(rd_devices_default(&devices, &dev, &port, &err), -1);
	assert_non_null(strstr(err.text, "no RDMA device found in "));
}

TEST(default)
{
	static const struct {
		const char *tree, *device; /* NULL: none will do */
	} cases[] = {{"mlx5-eth", "mlx5_0"}, {"rxe", "rxe0"}, {"bnxt_re", "bnxt_re0"},
		{"mlx5-ib", NULL}, {"irdma", NULL}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct rd_device *dev;
		const struct rd_port *port;
		int ret;

		open_tree(cases[i].tree);
		ret = rd_devices_default(&devices, &dev, &port, &err);
		if (cases[i].device) {
			same(ret, 0, dev->name, cases[i].device);
		} else {
			assert_int_equal(ret, -1);
			assert_non_null(strstr(err.text, "no RDMA port can be captured ("));
			assert_non_null(strstr(err.text, ":1: "));
		}
	}
}

TEST(default_prefers_active)
{
	const struct rd_device *dev;
	const struct rd_port *port;

	open_mlx4("-1\n");
	expect("0 2", rd_devices_default(&devices, &dev, &port, &err), port->num);
	strcpy(devices.dev[0].ports[1].state, "down");
	expect("0 1", rd_devices_default(&devices, &dev, &port, &err), port->num);
}

static const struct {
	const char *driver;
	enum rd_link link;
	unsigned int n_netdevs;
	bool no_steering;
	enum rd_verdict verdict;
	const char *todo; /* its beginning */
} verdict_cases[] = {
	{"mlx5_core", RD_LINK_ETHERNET, 1, false, RD_CAPTURE_YES, ""},
	{"mlx5_core", RD_LINK_ETHERNET, 0, false, RD_CAPTURE_YES, ""},
	{"mlx5_core", RD_LINK_INFINIBAND, 1, false, RD_CAPTURE_NO, "use --sniffer icmd as root"},
	{"mlx5_core", RD_LINK_UNKNOWN, 1, false, RD_CAPTURE_NO, "see 'rdma link show'"},
	{"mlx4_core", RD_LINK_INFINIBAND, 0, false, RD_CAPTURE_YES, ""},
	{"mlx4_core", RD_LINK_ETHERNET, 1, true, RD_CAPTURE_NO, "put 'options mlx4_core"},
	{"bnxt_en", RD_LINK_ETHERNET, 1, false, RD_CAPTURE_YES, "if not, mirror"},
	{"rdma_rxe", RD_LINK_ETHERNET, 1, false, RD_CAPTURE_NETDEV, ""},
	{"rdma_rxe", RD_LINK_ETHERNET, 0, false, RD_CAPTURE_NO, "look for the netdev"},
	{"siw", RD_LINK_ETHERNET, 1, false, RD_CAPTURE_NETDEV, ""},
	{"ice", RD_LINK_ETHERNET, 1, false, RD_CAPTURE_NETDEV, "mirror"},
	{"hns3", RD_LINK_ETHERNET, 0, false, RD_CAPTURE_NO, "mirror"},
	{"efa", RD_LINK_UNKNOWN, 0, false, RD_CAPTURE_NO, "read its counters"},
	{"hfi1", RD_LINK_INFINIBAND, 1, false, RD_CAPTURE_NO, "read its counters"},
	{"vmw_pvrdma", RD_LINK_ETHERNET, 1, false, RD_CAPTURE_NETDEV, "capture on the host"},
	{"", RD_LINK_ETHERNET, 1, false, RD_CAPTURE_NETDEV, "mirror"},
	{"brandnew", RD_LINK_INFINIBAND, 1, false, RD_CAPTURE_NO, "mirror"},
};

TEST(verdicts)
{
	for (size_t i = 0; i < COUNT(verdict_cases); i++) {
		struct rd_port port = {.num = 1,
			.link = verdict_cases[i].link,
			.n_netdevs = verdict_cases[i].n_netdevs};
		struct rd_device dev = {.copied = true,
			.no_steering = verdict_cases[i].no_steering,
			.part_id = 0x1013};
		const char *why = NULL, *todo = NULL;

		strcpy(dev.driver, verdict_cases[i].driver);
		assert_int_equal(
			rd_port_verdict(&dev, &port, &why, &todo), verdict_cases[i].verdict);
		assert_true(*why);
		if (strncmp(todo, verdict_cases[i].todo, strlen(verdict_cases[i].todo)) ||
			!*todo != !*verdict_cases[i].todo)
			fail_msg("%s: %s", dev.driver, todo);
	}
}

/* Without CAP_NET_RAW: that is why not, unless only the netdev can be captured. */
TEST(verdict_without_privilege)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct had[2], less[2];
	const struct rd_port port = {.num = 1,
		.link = RD_LINK_ETHERNET,
		.n_netdevs = 1,
		.netdevs = {{.name = "lo", .ifindex = 1}}};
	const struct rd_device mlx5 = {.driver = "mlx5_core"}, siw = {.driver = "siw"};
	const char *why, *todo, *privilege;
	struct rlimit limit;

	assert_int_equal(syscall(SYS_capget, &head, had), 0);
	memcpy(less, had, sizeof(less));
	less[0].effective &= ~(1U << CAP_NET_RAW);
	same(syscall(SYS_capset, &head, less), 0, rd_port_verdict(&mlx5, &port, &privilege, &todo),
		RD_CAPTURE_YES, rd_port_verdict(&siw, &port, &why, &todo), RD_CAPTURE_NETDEV);
	getrlimit(RLIMIT_MEMLOCK, &limit);
	setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){4096, limit.rlim_max});
	less[0].effective |= 1U << CAP_IPC_LOCK;
	same(syscall(SYS_capset, &head, less), 0, rd_lockable(), UINT64_MAX);
	less[0].effective &= ~(1U << CAP_IPC_LOCK);
	same(syscall(SYS_capset, &head, less), 0, rd_lockable(), 4096);
	setrlimit(RLIMIT_MEMLOCK, &limit);
	same(syscall(SYS_capset, &head, had), 0, privilege, RD_WHY_PRIVILEGE);
	assert_string_not_equal(why, RD_WHY_PRIVILEGE);
	assert_string_equal(todo, RD_RUN_PRIVILEGED);
}

TEST(modules)
{
	struct rd_module modules[2] = {0};

	open_mlx4("-1\n");
	tree_text("sys/module/mlx4_core/version", "4.0-0\n");
	tree_text("sys/module/mlx4_core/srcversion", "0123456789ABCDEF\n");
	rd_modules_load(modules, &devices.dev[0], tree.root);
	expect("mlx4_core 1 4.0-0 0123456789ABCDEF", modules[0].name, modules[0].loaded,
		modules[0].version, modules[0].srcversion);
}

TEST(steering_parameter)
{
	static const struct {
		const char *mode;
		bool off;
	} cases[] = {{NULL, false}, {"-1\n", false}, {"-10\n", false}, {"0\n", false},
		{"10\n", true}, {"", false}};

	for (size_t i = 0; i < COUNT(cases); i++) {
		open_mlx4(cases[i].mode);
		assert_int_equal(devices.dev[0].no_steering, cases[i].off);
	}
}

static struct rd_growth loss_after(struct rd_loss_counters now, uint64_t value)
{
	struct rd_loss loss = {.last = now};

	now.counter[0].value = value;
	rd_loss_update(&loss, &now, 0);
	return loss.growth[0];
}

TEST(loss)
{
	struct rd_loss_counters read;
	struct rd_growth g;

	open_tree("mlx5-eth");
	rd_loss_read(tree.root, &devices.dev[0], 1, &read);
	expect("1 out_of_buffer 32", read.n, read.counter[0].name, read.counter[0].kind->bits);
	g = loss_after(read, read.counter[0].value);
	assert_true(g.verdict == RD_GROWTH_EXACT && g.amount == 0);
	/* From 2^32 - 6 over the edge to 4. */
	g = loss_after(read, 4);
	assert_true(g.verdict == RD_GROWTH_EXACT && g.amount == 10 && g.wrapped);

	open_tree("bnxt_re");
	rd_loss_read(tree.root, &devices.dev[0], 1, &read);
	expect("1 64 1", read.n, read.counter[0].kind->bits, read.counter[0].value == 6);
	g = loss_after(read, 2);
	assert_int_equal(g.verdict, RD_GROWTH_RESET);
}

/* The CPUs of the list that this process may use, in its order, as many as there is room for. */
TEST(cpus)
{
	static const char path[] = "sys/class/infiniband/mlx5_0/device/local_cpulist";
	static const struct rd_device device = {.name = "mlx5_0"};
	cpu_set_t allowed, two;
	char list[64];
	int all[2], cpus[4], n = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	for (size_t i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &allowed))
			all[n++] = (int)i;
	if (n < 2)
		skip();
	tree_make();
	assert_int_equal(rd_device_cpus(tree.root, &device, cpus, 4), 0);
	snprintf(list, sizeof(list), "%d,%d\n", all[1], all[0]);
	tree_text(path, list);
	same(rd_device_cpus(tree.root, &device, cpus, 4), 2, cpus[0], all[1], cpus[1], all[0],
		rd_device_cpus(tree.root, &device, cpus, 1), 1);
	snprintf(list, sizeof(list), "%d-%d,%d\n", all[0], all[1], all[0]);
	tree_text(path, list);
	same(rd_device_cpus(tree.root, &device, cpus, 4), 3, cpus[1], all[1], cpus[2], all[0]);
	/* Others are left out. */
	CPU_ZERO(&two);
	CPU_SET((size_t)all[1], &two);
	same(sched_setaffinity(0, sizeof(two), &two), 0,
		rd_device_cpus(tree.root, &device, cpus, 4), 1, cpus[0], all[1],
		sched_setaffinity(0, sizeof(allowed), &allowed), 0);
	tree_text(path, "\n");
	assert_int_equal(rd_device_cpus(tree.root, &device, cpus, 4), 0);
}

TEST(numa_node)
{
	static const struct {
		const char *text;
		int node;
	} cases[] = {{"1\n", 1}, {"0\n", 0}, {"-1\n", -1}, {"\n", -1}, {"2147483648\n", -1}};
	static const char path[] = "sys/class/infiniband/mlx5_0/device/numa_node";
	static const struct rd_device device = {.name = "mlx5_0"};

	tree_make();
	assert_int_equal(rd_device_numa_node(tree.root, &device), -1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tree_text(path, cases[i].text);
		assert_int_equal(rd_device_numa_node(tree.root, &device), cases[i].node);
	}
}

ALL_TESTS_WITH(NULL, leave)
