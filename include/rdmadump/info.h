/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Everything that can be read from one device: sysfs, the driver, verbs, the device itself. */
#pragma once

#include <rdmadump/dcb.h>
#include <rdmadump/finding.h>

/* ---- attributes: values that are shown and not interpreted ---- */

#define RD_ATTR_LEN 320

struct rd_attr {
	char key[48];	/* for JSON: "max_qp" */
	char title[64]; /* shown to users: "QPs" */
	char text[RD_ATTR_LEN];
	json_t *value;
	bool empty; /* 0, or no word */
};

struct rd_attrs {
	struct rd_attr *attr;
	size_t n;
};

void rd_attrs_free(struct rd_attrs *attrs);
/* Append an attribute; not if out of memory, or beyond a limit that no device reaches. */
void rd_attrs_number(struct rd_attrs *f, const char *key, const char *title, uint64_t n);
void rd_attrs_hex(struct rd_attrs *f, const char *key, const char *title, uint64_t n);
void rd_attrs_text(struct rd_attrs *f, const char *key, const char *title, const char *text);
/* The names of the bits of `mask` that are set; unnamed ones as "bit 17". */
struct rd_bit_name {
	unsigned int bit;
	const char *name;
};
void rd_attrs_bits(struct rd_attrs *f, const char *key, const char *title, uint64_t mask,
	const struct rd_bit_name *names, size_t n);
void rd_bits_text(char *buf, size_t size, uint64_t mask, const struct rd_bit_name *names, size_t n);

/* ---- the parts ---- */

struct rd_pci_link {
	char speed[24], max_speed[24]; /* "16.0 GT/s PCIe"; "" if unknown */
	uint32_t width, max_width;     /* lanes, 0 if unknown */
	int numa_node;		       /* -1 if unknown or none */
	char cpus[128];		       /* near it: "0-15,32-47" */
	uint32_t subsystem_vendor, subsystem_device;
};

/* A kernel module, and where it comes from, if that can be determined. */
enum rd_origin { RD_ORIGIN_UNKNOWN, RD_ORIGIN_KERNEL, RD_ORIGIN_OFED, RD_ORIGIN_OTHER };
struct rd_module {
	char name[32], version[64], srcversion[40];
	char path[256]; /* below /lib/modules/RELEASE, "" if unknown or built in */
	enum rd_origin origin;
	bool loaded;
};

struct rd_port_info {
	bool has_cap_mask;
	uint32_t cap_mask;
	uint32_t lmc, sm_sl;
	struct rd_pkey {
		uint16_t index, value;
	} * pkeys; /* those that are set */
	unsigned int n_pkeys;
	struct rd_attrs settings; /* RoCE settings, if they can be read */
	struct rd_dcb *dcb;	  /* one for each of the port's netdevs, if it is Ethernet */
	unsigned int n_dcb;
	/* By verbs, if rd_info.opened. MTUs in bytes, 0 if unknown. */
	uint32_t active_mtu, max_mtu;
	char lanes[24]; /* "4X XDR": older kernels do not report XDR in sysfs */
	uint64_t speed; /* bit/s */
};

/* A version that devlink reports: name "fw.version" or "fw.psid". */
struct rd_firmware_version {
	char name[48], value[64];
	enum { RD_FW_FIXED, RD_FW_RUNNING, RD_FW_STORED } kind;
};

enum rd_answer { RD_ANSWER_UNKNOWN, RD_ANSWER_NO, RD_ANSWER_YES };

/* Capabilities of a ConnectX for its sniffer (QUERY_HCA_CAP). */
struct rd_mlx5_caps {
	bool asked;	  /* the query succeeded */
	char reason[160]; /* why not; "" if it succeeded */
	enum rd_answer nic_flow_table, shared_tir, sniffer_rx, sniffer_tx, ib_port_sniffer;
	char psid[20]; /* QUERY_ADAPTER; "" if it is not reported */
};

/* One condition of a capture. */
struct rd_capture_condition {
	const char *key, *title;
	enum rd_answer answer;
	char why[320], todo[200]; /* todo: "" when there is nothing to do */
};
#define RD_CONDITIONS_MAX 20

struct rd_info {
	const struct rd_device *device;
	const char *sysroot;
	char sys_image_guid[24], hw_rev[16];
	struct rd_pci_link pci;
	struct rd_module modules[2]; /* the NIC's, the RDMA one's; name "" if there is none */
	const char *provider;	     /* libibverbs provider: "mlx5" */
	struct rd_port_info *ports;  /* one for each of device->ports */
	struct rd_firmware_version *firmware;
	size_t n_firmware;
	char serial[64]; /* serial number of the board, from devlink */

	bool opened;	      /* verbs could open the device */
	char closed_why[320]; /* why not */
	char verbs_fw[64];
	struct rd_attrs limits;		/* by ibv_query_device_ex */
	struct rd_attrs provider_attrs; /* by the provider (mlx5dv_query_device) */
	struct rd_mlx5_caps mlx5;
	char lockdown[32]; /* "none", "integrity", "confidentiality"; "" if unknown */
};

/* The word of /sys/kernel/security/lockdown in effect: "none", "integrity"; "" if unknown. */
void rd_lockdown_read(const char *sysroot, char *buf, size_t size);

/*
 * Collects all that can be read; the rest is left empty, with its reason where there is one. With a
 * sysroot only files are read. `device` must outlive the result. -1 if out of memory.
 */
int rd_info_load(struct rd_info *info, const struct rd_device *device, const char *sysroot,
	struct rd_error *err);
void rd_info_free(struct rd_info *info);

/*
 * Whether this port can be captured, condition by condition. More accurate than rd_port_verdict(),
 * since the device was queried. Returns the number of conditions; *verdict follows from all of
 * them.
 */
unsigned int rd_info_conditions(const struct rd_info *info, const struct rd_port *port,
	struct rd_capture_condition checks[RD_CONDITIONS_MAX], enum rd_verdict *verdict);

/*
 * Faults of the device, and settings below its best. -1 if out of memory; rd_findings_free() in any
 * case.
 */
int rd_info_judge(struct rd_findings *findings, const struct rd_info *info);

/* ---- small facts ---- */

/*
 * <0, 0, >0, as a is older than, the same as or newer than b. Numbers are compared as numbers, a
 * missing part is 0 (1.68 is 1.68.0), "-rc1" is older than nothing, any other suffix newer.
 */
int rd_version_compare(const char *a, const char *b);
/* The oldest firmware that is known to sniff on this port; "" if none is known. */
const char *rd_firmware_minimum(const struct rd_device *device, const struct rd_port *port);

/* "10.0.0.1, fe80::1": the addresses of a netdev of the running system; "" if it has none. */
void rd_netdev_addresses(const char *netdev, char *buf, size_t size);

/* Words for the bits of a port's capability mask (InfiniBand: PortInfo.CapabilityMask). */
void rd_cap_mask_text(char *buf, size_t size, uint32_t mask, enum rd_link link);

/* "4X XDR" and bit/s from verbs' active_speed and active_width; "" and 0 if they are unknown. */
uint64_t rd_link_speed(uint32_t speed, uint32_t width, char *lanes, size_t size);
