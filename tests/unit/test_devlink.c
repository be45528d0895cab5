/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which netlink families are asked for ports and versions; the replies are from `kernel`. */
#include "device/netlink/devlink.h"
#include "test.h"
#include <linux/devlink.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>
#include <rdmadump/device.h>

#define MLXDEVM_ATTR_EXT_PORT_FN_CAP 8193 /* one that devlink does not have */

struct port {
	const char *device, *netdev;
	uint16_t flavour;
	uint32_t number;
	bool cut; /* the reply ends within its last attribute */
};

struct family {
	const char *name;
	bool registered;
	struct port ports[3];
	unsigned int dumps, versions; /* requests */
};

static struct family kernel[2];
static struct family *opened;

/* Called by the linker's --wrap. */

int __wrap_rd_netlink_open(struct rd_netlink **nl, int protocol, struct rd_error *err)
{
	assert_int_equal(protocol, NETLINK_GENERIC);
	opened = NULL;
	*nl = (struct rd_netlink *)kernel;
	return 0;
}

void __wrap_rd_netlink_close(struct rd_netlink *nl)
{
	assert_ptr_equal(nl, kernel);
}

int __wrap_rd_netlink_family(struct rd_netlink *nl, const char *name)
{
	assert_ptr_equal(nl, kernel);
	for (int i = 0; i < 2; i++)
		if (kernel[i].registered && !strcmp(kernel[i].name, name)) {
			opened = &kernel[i];
			return 20 + i;
		}
	return -1;
}

static void reply(const struct port *port, rd_netlink_fn *fn, void *ctx)
{
	static const uint64_t caps[8];
	struct nl_msg *msg = nlmsg_alloc();
	struct nlmsghdr *head;
	uint16_t pf = 1;

	assert_non_null(genlmsg_put(msg, 1, 1, 20, 0, NLM_F_MULTI, DEVLINK_CMD_PORT_NEW, 1));
	nla_put_string(msg, DEVLINK_ATTR_BUS_NAME, "pci");
	nla_put_string(msg, DEVLINK_ATTR_DEV_NAME, port->device);
	nla_put_string(msg, DEVLINK_ATTR_PORT_NETDEV_NAME, port->netdev);
	nla_put_u16(msg, DEVLINK_ATTR_PORT_FLAVOUR, port->flavour);
	nla_put_u16(msg, DEVLINK_ATTR_PORT_PCI_PF_NUMBER, pf);
	nla_put(msg, MLXDEVM_ATTR_EXT_PORT_FN_CAP, sizeof(caps), caps);
	nla_put_u32(msg, DEVLINK_ATTR_PORT_PCI_SF_NUMBER, port->number);
	head = nlmsg_hdr(msg);
	fn(head, port->cut ? head->nlmsg_len - 2 : head->nlmsg_len, ctx);
	nlmsg_free(msg);
}

int __wrap_rd_netlink_request(struct rd_netlink *nl, struct nl_msg *msg, rd_netlink_fn *fn,
	void *ctx, struct rd_error *err)
{
	const struct genlmsghdr *head = nlmsg_data(nlmsg_hdr(msg));

	assert_ptr_equal(nl, kernel);
	assert_non_null(opened);
	assert_int_equal(nlmsg_hdr(msg)->nlmsg_type, 20 + (opened - kernel));
	if (head->cmd == DEVLINK_CMD_PORT_GET) {
		assert_true(nlmsg_hdr(msg)->nlmsg_flags & NLM_F_DUMP);
		opened->dumps++;
		for (size_t i = 0; i < 3 && opened->ports[i].device; i++)
			reply(&opened->ports[i], fn, ctx);
	} else {
		assert_int_equal(head->cmd, DEVLINK_CMD_INFO_GET);
		opened->versions++;
	}
	nlmsg_free(msg);
	return 0;
}

static const struct family families[2] = {
	{.name = "devlink",
		.ports = {{"0000:3b:00.0", "eth0", DEVLINK_PORT_FLAVOUR_PHYSICAL, 0, false},
			{"0000:3b:00.0", "pf1vf3", DEVLINK_PORT_FLAVOUR_PCI_VF, 0, false}}},
	{.name = "mlxdevm",
		.ports = {{"0000:3b:00.0", "en3f1pf1sf88", DEVLINK_PORT_FLAVOUR_PCI_SF, 88, false},
			{"0000:3b:00.0", "broken", DEVLINK_PORT_FLAVOUR_PCI_SF, 89, true},
			{"0000:af:00.0", "other", DEVLINK_PORT_FLAVOUR_PCI_SF, 7, false}}},
};

static unsigned int load(struct rd_device *device, bool devlink, bool mlxdevm)
{
	struct rd_devices devices = {.dev = device, .n = 1};

	memcpy(kernel, families, sizeof(kernel));
	kernel[0].registered = devlink;
	kernel[1].registered = mlxdevm;
	*device = (struct rd_device){.pci = "0000:3b:00.0", .function = {.kind = RD_FUNCTION_PF}};
	rd_devlink_representors(&devices);
	return device->n_representors;
}

TEST(families)
{
	static const struct {
		bool devlink, mlxdevm;
		unsigned int n;
	} cases[] = {{false, false, 0}, {true, false, 1}, {false, true, 1}, {true, true, 2}};
	struct rd_device device;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct rd_representor *last;

		same(load(&device, cases[i].devlink, cases[i].mlxdevm), cases[i].n, kernel[0].dumps,
			cases[i].devlink, kernel[1].dumps, cases[i].mlxdevm);
		last = cases[i].n ? &device.representors[cases[i].n - 1] : NULL;
		if (cases[i].mlxdevm) {
			same(last->netdev, "en3f1pf1sf88", last->kind, RD_FUNCTION_SF);
			expect("88 1", last->number, last->pf);
		}
		free(device.representors);
	}
}

/* A port that both families list is one representor. */
TEST(twice)
{
	struct rd_device device;
	struct rd_devices devices = {.dev = &device, .n = 1};

	assert_int_equal(load(&device, true, true), 2);
	rd_devlink_representors(&devices);
	assert_int_equal(device.n_representors, 2);
	free(device.representors);
}

TEST(versions)
{
	struct rd_device device;
	struct rd_info info = {.device = &device};

	load(&device, false, true);
	rd_devlink_firmware(&info);
	assert_int_equal(kernel[1].versions, 0); /* mlxdevm has no such command */
	free(device.representors);
	load(&device, true, true);
	rd_devlink_firmware(&info);
	expect("1 0", kernel[0].versions, kernel[1].versions);
	free(device.representors);
}
