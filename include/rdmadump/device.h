/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The RDMA devices of this machine and their ports as sysfs shows them
 * (Documentation/ABI/stable/sysfs-class-infiniband), without opening them and without privilege.
 */
#pragma once

#include <net/if.h>
#include <rdmadump/error.h>
#include <rdmadump/refusal.h>
#include <rdmadump/wire.h>

#define RD_LATENCY_MS	5
#define RD_LOG2_BUFFERS 14 /* 16384 buffers: the ring holds a burst of that many frames */

#define RD_NETDEV_MAX 4 /* netdevs kept per port (a bond and its slaves, VLANs are not counted) */

enum rd_gid_type { RD_GID_IB, RD_GID_ROCE_V1, RD_GID_ROCE_V2 };

struct rd_gid {
	uint8_t raw[16];
	unsigned int index;
	enum rd_gid_type type;
	char ndev[IF_NAMESIZE]; /* "" if none */
};

struct rd_netdev {
	char name[IF_NAMESIZE];
	uint8_t mac[6];
	uint32_t mtu;	  /* bytes, IP packet */
	uint32_t ifindex; /* 0 if unknown */
	char operstate[16];
	char slaves[64]; /* names of a bond's netdevs, separated by spaces; else "" */
};

struct rd_port {
	unsigned int num;     /* 1-based */
	enum rd_link link;    /* RD_LINK_ETHERNET means RoCE or iWARP */
	char state[16];	      /* "active", "down", "init", ...: lower case, "" if unreadable */
	char phys_state[32];  /* "link up", "disabled", ... */
	char rate[24];	      /* "100 Gb/s", "" if unknown */
	char lanes[16];	      /* width and speed: "4X EDR", "" if unknown */
	uint64_t speed;	      /* bit/s, 0 if unknown */
	uint32_t lid, sm_lid; /* 0 on RoCE */
	struct rd_netdev netdevs[RD_NETDEV_MAX];
	unsigned int n_netdevs;
	struct rd_gid *gids; /* those that are set */
	unsigned int n_gids;
};

enum rd_function_kind {
	RD_FUNCTION_UNKNOWN,
	RD_FUNCTION_PF,
	RD_FUNCTION_VF,
	RD_FUNCTION_SF,
	RD_FUNCTION_UPLINK, /* netdevs only: the port itself */
};

/* Which function of the adapter a device is. */
struct rd_function {
	enum rd_function_kind kind;
	bool has_number;
	uint32_t number;	 /* number of the VF or SF */
	char parent[16];	 /* PCI address of the PF; "" for a PF */
	uint32_t n_vfs, max_vfs; /* PF only: VFs enabled, possible */
};

/* A netdev that represents another function of the adapter (switchdev mode). */
#define RD_REPRESENTORS_MAX 1024
struct rd_representor {
	char netdev[IF_NAMESIZE];
	enum rd_function_kind kind;
	bool has_controller;
	uint32_t controller; /* another host's, if not 0 */
	uint32_t pf, number; /* number: of the VF or SF */
};

enum rd_verdict {
	RD_CAPTURE_YES,	   /* the device's own sniffer, kernel bypass included */
	RD_CAPTURE_NETDEV, /* only what passes the netdev */
	RD_CAPTURE_NO,
};

struct rd_device {
	char name[RD_NAME_MAX];
	char pci[16];	   /* "0000:3b:00.0", "" for virtual devices */
	char driver[32];   /* kernel driver of the PCI device or "rdma_rxe", "siw", "" if unknown */
	char fw[64];	   /* firmware version, "" if the driver has none */
	char board_id[64]; /* PSID on NVIDIA, "" if none */
	char hca_type[64]; /* "MT4119", "" if none */
	char node_type[32]; /* "CA", "RNIC", ... */
	char node_desc[80];
	uint64_t node_guid;	     /* 0 if none */
	uint32_t vendor_id, part_id; /* PCI ids, 0 for virtual devices */
	struct rd_function function;
	struct rd_representor *representors;
	unsigned int n_representors;
	bool no_steering;      /* mlx4_core runs in a mode that cannot sniff */
	bool old_switchdev;    /* mlx5 in switchdev mode before Linux 5.10: cannot sniff there */
	bool unsure_switchdev; /* the same, but the driver may be newer than the kernel's number */
	bool copied; /* read below a sysroot: the privileges of this process do not matter */
	struct rd_port *ports;
	unsigned int n_ports;
};

struct rd_devices {
	struct rd_device *dev;
	size_t n;
	char *sysroot;	 /* where they were read, "" for the running system; owned */
	bool by_netlink; /* the kernel's own list: what this network namespace may use */
};

/*
 * Reads every RDMA device below `sysroot` ("" for the running system; else a directory that holds
 * a copied "sys"). No device is not an error (n = 0); what cannot be read is left empty. Devices
 * come in natural order of their names (mlx5_2 before mlx5_10). Fails only when memory or the
 * directory itself fails.
 */
int rd_devices_load(struct rd_devices *devices, const char *sysroot, struct rd_error *err);

/* The same, but faster: of each port's GIDs only the first is read, for its netdev. */
int rd_devices_glance(struct rd_devices *devices, const char *sysroot, struct rd_error *err);
void rd_devices_free(struct rd_devices *devices);

/*
 * The inode of the port's directory in sysfs; 0: there is none. A device keeps it under another
 * name; one that is created again, as when its driver is reloaded, has another inode.
 */
uint64_t rd_port_identity(const char *sysroot, const char *device, unsigned int port);

/*
 * The addresses of the port as sysfs has them now: the MACs of its netdevs; its GIDs where no MAC
 * is known; InfiniBand: LID and mask.
 */
void rd_port_addresses(struct rd_local *local, const char *root, const struct rd_device *device,
	const struct rd_port *port);

/* Advice for a machine without any device. Static. */
const char *rd_devices_none_todo(const struct rd_devices *devices);

/* The product name of the adapter: "ConnectX-5", "" if it is not known. Static. */
const char *rd_device_model(const struct rd_device *device);

/* "IB", "RoCE v1", "RoCE v2". */
const char *rd_gid_type_name(unsigned int type);

/* "PF", "VF", ...; "" for RD_FUNCTION_UNKNOWN. */
const char *rd_function_name(unsigned int kind);
/* "PF with 4 VFs", "VF 3 of 0000:3b:00.0"; 48 bytes are enough. */
void rd_function_text(const struct rd_function *function, char *buf, size_t size);

/*
 * Finds the device and port that the user named: "mlx5_0", "mlx5_0:1", a netdev "enp1s0f0np0", a
 * PCI address "0000:3b:00.0" or "3b:00.0" (a function with several ports needs ":N" at the end,
 * like "3b:00.0:2"). `port` 0 asks for the port that the name implies, or the first active one, or
 * the first. The result points into `devices`. Where a netdev or a PCI function has several RDMA
 * devices, the one that can be captured best is meant. The error (RD_CLASS_DEVICE) names the
 * existing ones; ports that contradict each other are RD_CLASS_USAGE.
 */
int rd_devices_find(const struct rd_devices *devices, const char *name, unsigned int port,
	const struct rd_device **device, const struct rd_port **found, struct rd_error *err);

/*
 * The same for a device as a whole, ports or none. `name` NULL means the only one there is; where
 * there are several, the failure names them.
 */
int rd_devices_one(const struct rd_devices *devices, const char *name,
	const struct rd_device **device, struct rd_error *err);

/*
 * The device to use when none is named: the first active port of which all RDMA traffic can be
 * captured (by a sniffer before by a netdev, which sees all of rxe and siw), else the first such
 * one that is not active, else fails with the reasons.
 */
int rd_devices_default(const struct rd_devices *devices, const struct rd_device **device,
	const struct rd_port **port, struct rd_error *err);

/*
 * Whether this port can be captured, judged by driver, link layer and this process's capabilities,
 * without opening it. `why` (always set) gives the reason in a few words, `todo` what to do about
 * it ("" if nothing: RD_CAPTURE_YES has it when CAP_NET_RAW is missing or when only opening the
 * device can show it; RD_CAPTURE_NETDEV lacks it when the netdev sees everything). Both are static.
 */
#define RD_RUN_IN_NETNS                                                                            \
	"run rdmadump there ('ip netns exec NAME rdmadump ...', or 'nsenter "                      \
	"--net=/proc/PID/ns/net "                                                                  \
	"rdmadump ...')"
enum rd_verdict rd_port_verdict(const struct rd_device *device, const struct rd_port *port,
	const char **why, const char **todo);

/* Why and what to do where rd_device.old_switchdev or .unsure_switchdev is set. */
#define RD_OLD_SWITCHDEV "Linux before 5.10 fails when a sniffer starts in switchdev mode"
#define RD_OLD_SWITCHDEV_TODO                                                                      \
	"update the kernel, capture on the netdev ('rdmadump capture --netdev'), or use --force "  \
	"if the driver has the fix"
#define RD_UNSURE_SWITCHDEV                                                                        \
	"before Linux 5.10 a sniffer failed in switchdev mode, but this driver may have the fix"
#define RD_UNSURE_SWITCHDEV_TODO                                                                   \
	"try it where the machine may fail, or capture on the netdev ('rdmadump capture "          \
	"--netdev')"

/*
 * True if a sniffer sees its own function only (Linux, drivers/infiniband/hw/mlx5/fs.c: the
 * tables of one mlx5_core_dev). For other drivers this is unknown.
 */
bool rd_sniffer_is_of_function(const struct rd_device *device);

/* The netdev of the device's ports that is a bond, whose slaves share the device; NULL: none is. */
const struct rd_netdev *rd_device_bond(const struct rd_device *device);

/* Functions of the same adapter whose traffic such a sniffer does not show. */
struct rd_other_functions {
	uint32_t vfs, sfs;
};
struct rd_other_functions rd_other_functions(
	const struct rd_devices *devices, const struct rd_device *device);
/* "its 2 VFs and 1 SF", "" if there are none; 48 bytes are enough. */
void rd_other_functions_text(struct rd_other_functions others, char *buf, size_t size);

#define RD_CPUS_MAX 1024
/*
 * CPUs near the device (its NUMA node) that this process may run on, ascending; returns how many of
 * them there are in cpus[size]. 0: unknown, or none is allowed.
 */
unsigned int rd_device_cpus(
	const char *sysroot, const struct rd_device *device, int *cpus, unsigned int size);
/* The NUMA node that its PCI slot belongs to; -1: unknown, or the machine has one only. */
int rd_device_numa_node(const char *sysroot, const struct rd_device *device);

/* This machine's "PowerEdge R750, Intel(R) ... (x86_64)", and operating system; 320 bytes do. */
void rd_machine_hardware(char *buf, size_t size);
void rd_machine_os(char *buf, size_t size);

/* A port as the user names it: by name, or the nth of the list. */
struct rd_wanted_port {
	const char
		*name; /* device, device:port, netdev, PCI address; NULL: the default, or `nth` */
	unsigned int nth;  /* from 1; 0: by name */
	unsigned int port; /* 0: the one that the name implies */
};

/* The port that is meant. -1 with RD_CLASS_USAGE or RD_CLASS_DEVICE. */
int rd_wanted_port_find(const struct rd_devices *devices, const struct rd_wanted_port *wanted,
	const struct rd_device **device, const struct rd_port **port, struct rd_error *err);
