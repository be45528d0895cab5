/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of all possible members. A bundle contains nothing else. */
#include "task.h"

#define PART  "rdmadump bundle --part "
#define TREE  ((size_t)64 << 20)
#define LARGE ((size_t)16 << 20)
#define DEBIAN                                                                                     \
	"dpkg-query -W -f=${Package}\\t${Architecture}\\t${Version}\\t${db:Status-Abbrev}\\n "
#define RPM "rpm -qa --queryformat=%{NAME}\\t%{ARCH}\\t%{VERSION}-%{RELEASE}\\n "
#define PACKAGES                                                                                   \
	"rdma* rdma-core* libibverbs* librdmacm* libibumad* libibmad* ibverbs* infiniband-diags* " \
	"perftest* opensm* mlnx* mlx* mft* mst* doca* ofed* libmlx* libefa* ucx* openucx* "        \
	"libucx* "                                                                                 \
	"libnccl* nccl* libfabric* openmpi* mpich* libopenmpi* libnvidia-compute* nvidia-driver* " \
	"nvidia-peermem* nvidia-kernel* iproute2* iproute ethtool* linux-firmware* rdmadump*"

/* One run has several outputs, so that they say the same. */
#define GROWTH	      "rdmadump counters --interval @interval --count 1 --json=/dev/fd/3"
#define ANALYZE_PORT  "rdmadump analyze -v --json=/dev/fd/3 --html=/dev/fd/4 @capture"
#define ANALYZE_FILES "rdmadump analyze -v --json=/dev/fd/3 -- @files"

const struct member members[] = {
	/* What this program reads by itself. The members that are needed to read the bundle back
	   come first. */
	{"sysroot", "files of sysfs that this program reads, for --sysroot", PART "sysroot",
		.form = FORM_TREE, .phase = PHASE_READ, .root = true, .addresses = true,
		.bytes = TREE},
	{"rdmadump/list.json", "devices and ports", "rdmadump list --json", .form = FORM_OUTPUT,
		.phase = PHASE_READ, .addresses = true, .bytes = LARGE},
	{"rdmadump/info-@device.json", "firmware, ports, limits, open queue pairs",
		"rdmadump info --json @device", .form = FORM_OUTPUT, .phase = PHASE_READ,
		.root = true, .addresses = true, .bytes = LARGE},
	{"rdmadump/counters.json", "every counter", "rdmadump counters --json --all",
		.form = FORM_OUTPUT, .phase = PHASE_READ, .addresses = true, .bytes = LARGE},
	{"host/host.json", "kernel, distribution, CPUs, memory, limits of this process",
		PART "host", .form = FORM_OUTPUT, .phase = PHASE_READ, .addresses = true},
	{"host/modules.json", "RDMA kernel modules with their parameters", PART "modules",
		.form = FORM_OUTPUT, .phase = PHASE_READ},
	{"host/environment.json",
		"variables that change verbs: of this process, and of owners of queue pairs",
		PART "environment", .form = FORM_OUTPUT, .phase = PHASE_READ, .root = true,
		.addresses = true},
	{"rdmadump/version.txt", "this program and its libraries", "rdmadump --version",
		.form = FORM_TEXT, .phase = PHASE_READ},
	{"rdmadump/list.txt", "devices and ports", "rdmadump list -v", .form = FORM_TEXT,
		.phase = PHASE_READ, .addresses = true},
	{"rdmadump/info-@device.txt", "firmware, ports, limits, open queue pairs",
		"rdmadump info -v @device", .form = FORM_TEXT, .phase = PHASE_READ, .root = true,
		.addresses = true},
	{"rdmadump/counters.txt", "every counter", "rdmadump counters --all", .form = FORM_TEXT,
		.phase = PHASE_READ, .addresses = true, .bytes = LARGE},
	/* Members that take time to measure. */
	{"rdmadump/counters-growth.txt", "what counters grew by between two readings", GROWTH,
		.form = FORM_TEXT, .addresses = true, .bytes = LARGE},
	{"rdmadump/counters-growth.json", "every counter: a second reading, and the growth", GROWTH,
		.form = FORM_OUTPUT, .addresses = true, .bytes = LARGE, .also = true},
	/* Traffic. */
	{"captures/@port.pcapng", "traffic of the port, without payload",
		"rdmadump capture --quiet -d @port --headers-only -w - -a duration:@seconds",
		.form = FORM_CAPTURE, .root = true, .addresses = true},
	{"captures/@file", "a capture that was given", "copy @file", .form = FORM_COPY,
		.addresses = true},
	{"analysis/@port.txt", "findings in the port's traffic", ANALYZE_PORT, .form = FORM_TEXT,
		.phase = PHASE_ANALYZE, .addresses = true, .bytes = LARGE},
	{"analysis/@port.json", "findings in the port's traffic", ANALYZE_PORT, .form = FORM_OUTPUT,
		.phase = PHASE_ANALYZE, .addresses = true, .bytes = LARGE, .also = true},
	{"analysis/@port.html", "findings in the port's traffic", ANALYZE_PORT, .form = FORM_OUTPUT,
		.phase = PHASE_ANALYZE, .addresses = true, .bytes = LARGE, .also = true},
	{"analysis/files.txt", "findings in the given captures", ANALYZE_FILES, .form = FORM_TEXT,
		.phase = PHASE_ANALYZE, .addresses = true, .bytes = LARGE},
	{"analysis/files.json", "findings in the given captures", ANALYZE_FILES,
		.form = FORM_OUTPUT, .phase = PHASE_ANALYZE, .addresses = true, .bytes = LARGE,
		.also = true},
	/* Alone: captures at several points have no page. */
	{"analysis/files.html", "findings in the given captures",
		"rdmadump analyze --html - -- @files", .form = FORM_OUTPUT, .phase = PHASE_ANALYZE,
		.addresses = true, .bytes = LARGE},
	/* Output of other tools. */
	{"host/packages-dpkg.txt", "packages of RDMA user space", DEBIAN PACKAGES,
		.form = FORM_OUTPUT, .also_whole = 1 /* a pattern that matches no package */},
	{"host/packages-rpm.txt", "packages of RDMA user space", RPM PACKAGES, .form = FORM_OUTPUT,
		.unless = "dpkg-query"}, /* Debian's makes a database in the home directory */
	{"tools/ethtool-i-@netdev.txt", "driver and firmware", "ethtool -i @netdev",
		.form = FORM_TEXT},
	{"tools/ethtool-k-@netdev.txt", "offloads", "ethtool -k @netdev", .form = FORM_TEXT},
	{"tools/ethtool-a-@netdev.txt", "global pause frames", "ethtool -a @netdev",
		.form = FORM_TEXT},
	{"tools/ethtool-m-@netdev.txt", "the cable or transceiver", "ethtool -m @netdev",
		.form = FORM_TEXT, .root = true, .addresses = true},
	{"tools/ethtool-S-@netdev.txt", "statistics of the driver", "ethtool -S @netdev",
		.form = FORM_TEXT},
	{"tools/ethtool-priv-flags-@netdev.txt", "private flags of the driver",
		"ethtool --show-priv-flags @netdev", .form = FORM_TEXT},
	{"tools/devlink-dev.txt", "devlink devices", "devlink dev show", .form = FORM_TEXT},
	{"tools/devlink-dev-info.txt", "versions of firmware and boards", "devlink dev info",
		.form = FORM_TEXT, .addresses = true},
	{"tools/devlink-port.txt", "devlink ports", "devlink port show", .form = FORM_TEXT,
		.addresses = true},
	{"tools/devlink-health.txt", "health reporters", "devlink health show", .form = FORM_TEXT},
	{"tools/rdma-dev.txt", "RDMA devices", "rdma -d dev show", .form = FORM_TEXT,
		.addresses = true},
	{"tools/rdma-link.txt", "RDMA ports", "rdma -d link show", .form = FORM_TEXT,
		.addresses = true},
	{"tools/rdma-system.txt", "mode of network namespaces", "rdma system show",
		.form = FORM_TEXT},
	{"tools/rdma-resource.txt", "numbers of objects", "rdma resource show", .form = FORM_TEXT},
	{"tools/rdma-resource-qp-@listed.txt", "queue pairs",
		"rdma -d resource show qp link @listed", .form = FORM_TEXT, .root = true,
		.addresses = true},
	{"tools/rdma-resource-cm_id.txt", "connection identifiers", "rdma -d resource show cm_id",
		.form = FORM_TEXT, .root = true, .addresses = true},
	{"tools/rdma-statistic.txt", "hardware counters", "rdma statistic show", .form = FORM_TEXT},
	{"tools/dcb-pfc-@netdev.txt", "priority flow control", "dcb -s pfc show dev @netdev",
		.form = FORM_TEXT},
	{"tools/dcb-ets-@netdev.txt", "bandwidth of traffic classes", "dcb ets show dev @netdev",
		.form = FORM_TEXT},
	{"tools/dcb-buffer-@netdev.txt", "receive buffers", "dcb buffer show dev @netdev",
		.form = FORM_TEXT},
	{"tools/dcb-app-@netdev.txt", "priorities of DSCP values", "dcb app show dev @netdev",
		.form = FORM_TEXT},
	{"tools/mlnx_qos-@netdev.txt", "quality of service", "mlnx_qos -i @netdev",
		.form = FORM_TEXT, .root = true},
	{"tools/tc-qdisc-@netdev.txt", "queueing disciplines", "tc -s qdisc show dev @netdev",
		.form = FORM_TEXT},
	{"tools/ip-link-@netdev.txt", "the netdev", "ip -d -s link show dev @netdev",
		.form = FORM_TEXT, .addresses = true},
	{"tools/lspci-@pci.txt", "PCI configuration", "lspci -nn -vvv -s @pci", .form = FORM_TEXT,
		.root = true, .addresses = true},
	{"tools/mstflint-@mlxpci.txt", "firmware image", "mstflint -d @mlxpci query full",
		.form = FORM_TEXT, .phase = PHASE_ADAPTER, .root = true, .addresses = true},
	{"tools/mlxconfig-@mlxpci.txt", "settings of the firmware", "mlxconfig -d @mlxpci query",
		.form = FORM_TEXT, .phase = PHASE_ADAPTER, .root = true},
	{"tools/mstconfig-@mlxpci.txt", "settings of the firmware", "mstconfig -d @mlxpci query",
		.form = FORM_TEXT, .phase = PHASE_ADAPTER, .root = true, .unless = "mlxconfig"},
	{"tools/mlxlink-@mlxpci.txt", "the physical link", "mlxlink -d @mlxpci -m -c",
		.form = FORM_TEXT, .phase = PHASE_ADAPTER, .root = true, .addresses = true},
	{"tools/mstlink-@mlxpci.txt", "the physical link", "mstlink -d @mlxpci -m -c",
		.form = FORM_TEXT, .phase = PHASE_ADAPTER, .root = true, .addresses = true,
		.unless = "mlxlink"},
	{"tools/ibv_devinfo.txt", "all limits by verbs", "ibv_devinfo -v", .form = FORM_TEXT,
		.addresses = true},
	{"tools/ibstat.txt", "ports", "ibstat", .form = FORM_TEXT, .addresses = true},
	{"tools/ibdev2netdev.txt", "netdevs of RDMA devices", "ibdev2netdev -v", .form = FORM_TEXT,
		.addresses = true},
	{"tools/ofed_info.txt", "version of MLNX_OFED", "ofed_info -s", .form = FORM_TEXT},
	{"tools/nvidia-smi-topo.txt", "topology of GPUs and adapters", "nvidia-smi topo -m",
		.form = FORM_TEXT},
	{"tools/numactl.txt", "NUMA nodes", "numactl -H", .form = FORM_TEXT},
	{"tools/dmesg.txt", "the kernel's log", "dmesg", .form = FORM_TEXT, .root = true,
		.addresses = true, .bytes = LARGE},
};

const unsigned int n_members = RD_COUNT(members);
