/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Limits and features of an opened device (ibv_query_device_ex(3), ibv_query_port(3)). */
#include "config.h"
#include "info_parts.h"
#include "sysfs.h"
#include <rdmadump/bytes.h>
#include <rdmadump/names.h>
#include <rdmadump/verbs.h>

/* The limits that programs run into, in struct ibv_device_attr_ex; ibv_devinfo(1) has all. */
static const struct limit {
	const char *key, *title;
	size_t offset, size;
} limits[] = {
#define LIMIT(field, title)                                                                        \
	{                                                                                          \
#field, title, offsetof(struct ibv_device_attr_ex, orig_attr.field),               \
			sizeof(((struct ibv_device_attr *)0)->field)                               \
	}
#define LIMIT_EX(key, field, title)                                                                \
	{                                                                                          \
		key, title, offsetof(struct ibv_device_attr_ex, field),                            \
			sizeof(((struct ibv_device_attr_ex *)0)->field)                            \
	}
	LIMIT(max_qp, "QPs"),
	LIMIT(max_qp_wr, "work requests per QP"),
	LIMIT(max_sge, "SGEs per work request"),
	LIMIT(max_sge_rd, "SGEs per RDMA read"),
	LIMIT(max_cq, "CQs"),
	LIMIT(max_cqe, "entries per CQ"),
	LIMIT(max_mr, "MRs"),
	LIMIT(max_pd, "PDs"),
	LIMIT(max_mw, "memory windows"),
	LIMIT(max_ah, "AHs"),
	LIMIT(max_srq, "SRQs"),
	LIMIT(max_srq_wr, "work requests per SRQ"),
	LIMIT(max_srq_sge, "SGEs per SRQ entry"),
	LIMIT(max_qp_rd_atom, "RDMA reads and atomics per QP, as responder"),
	LIMIT(max_qp_init_rd_atom, "RDMA reads and atomics per QP, as requester"),
	LIMIT(max_res_rd_atom, "RDMA reads and atomics, all QPs"),
	LIMIT(max_mcast_grp, "multicast groups"),
	LIMIT(max_mcast_qp_attach, "QPs per multicast group"),
	LIMIT(max_raw_ethy_qp, "raw packet QPs"),
	LIMIT(max_pkeys, "P_Keys"),
	LIMIT(local_ca_ack_delay, "ACK delay, 4.096 us x 2^N"),
	LIMIT_EX("hca_core_clock_khz", hca_core_clock, "clock of time stamps, kHz"),
	LIMIT_EX("max_wq_type_rq", max_wq_type_rq, "receive WQs"),
	LIMIT_EX("max_rwq_indirection_tables", rss_caps.max_rwq_indirection_tables,
		"RSS indirection tables"),
	LIMIT_EX("max_rwq_indirection_table_size", rss_caps.max_rwq_indirection_table_size,
		"entries per RSS indirection table"),
	LIMIT_EX("max_cq_count", cq_mod_caps.max_cq_count, "CQ moderation, most completions"),
	LIMIT_EX("max_cq_period", cq_mod_caps.max_cq_period, "CQ moderation, longest wait, us"),
#undef LIMIT
#undef LIMIT_EX
};

static const struct rd_bit_name device_caps[] = {{0, "RESIZE_MAX_WR"}, {1, "BAD_PKEY_CNTR"},
	{2, "BAD_QKEY_CNTR"}, {3, "RAW_MULTI"}, {4, "AUTO_PATH_MIG"}, {5, "CHANGE_PHY_PORT"},
	{6, "UD_AV_PORT_ENFORCE"}, {7, "CURR_QP_STATE_MOD"}, {8, "SHUTDOWN_PORT"}, {9, "INIT_TYPE"},
	{10, "PORT_ACTIVE_EVENT"}, {11, "SYS_IMAGE_GUID"}, {12, "RC_RNR_NAK_GEN"},
	{13, "SRQ_RESIZE"}, {14, "N_NOTIFY_CQ"}, {17, "MEM_WINDOW"}, {18, "UD_IP_CSUM"},
	{20, "XRC"}, {21, "MEM_MGT_EXTENSIONS"}, {23, "MEM_WINDOW_TYPE_2A"},
	{24, "MEM_WINDOW_TYPE_2B"}, {25, "RC_IP_CSUM"}, {26, "RAW_IP_CSUM"},
	{29, "MANAGED_FLOW_STEERING"}, {34, "RAW_SCATTER_FCS"}, {36, "PCI_WRITE_END_PADDING"}};
static const struct rd_bit_name odp_caps[] = {{0, "ODP"}, {1, "implicit ODP"}};
static const struct rd_bit_name raw_caps[] = {
	{0, "CVLAN_STRIPPING"}, {1, "SCATTER_FCS"}, {2, "IP_CSUM"}, {3, "DELAY_DROP"}};
static const struct rd_bit_name rss_functions[] = {{0, "Toeplitz"}};
static const struct rd_bit_name rss_fields[] = {{0, "SRC_IPV4"}, {1, "DST_IPV4"}, {2, "SRC_IPV6"},
	{3, "DST_IPV6"}, {4, "SRC_PORT_TCP"}, {5, "DST_PORT_TCP"}, {6, "SRC_PORT_UDP"},
	{7, "DST_PORT_UDP"}, {8, "IPSEC_SPI"}, {31, "INNER"}};

/* The offset of a mask in struct ibv_device_attr_ex. */
static const struct mask {
	struct limit at;
	const struct rd_bit_name *names;
	size_t n;
} masks[] = {
#define MASK(key, field, title, names)                                                             \
	{                                                                                          \
		{key, title, offsetof(struct ibv_device_attr_ex, field),                           \
			sizeof(((struct ibv_device_attr_ex *)0)->field)},                          \
			names, RD_COUNT(names)                                                     \
	}
	MASK("raw_packet_caps", raw_packet_caps, "raw packets", raw_caps),
	MASK("rss_hash_function", rss_caps.rx_hash_function, "RSS hash", rss_functions),
	MASK("rss_hash_fields", rss_caps.rx_hash_fields_mask, "RSS hash fields", rss_fields),
	MASK("odp", odp_caps.general_caps, "on-demand paging", odp_caps),
#undef MASK
};

static RD_NAMES(atomic_name, "unknown", "none", "within the HCA", "with the whole system")

static void query_limits(struct ibv_context *context, struct rd_info *info)
{
	struct ibv_device_attr_ex attr = {0};
	struct rd_attrs *f = &info->limits;
	uint64_t ports;

	if (ibv_query_device_ex(context, NULL, &attr))
		return;
	ports = attr.orig_attr.phys_port_cnt;
#ifdef HAVE_IBV_PHYS_PORT_CNT_EX
	if (attr.phys_port_cnt_ex)
		ports = attr.phys_port_cnt_ex;
#endif
	rd_text_clean(info->verbs_fw, sizeof(info->verbs_fw), attr.orig_attr.fw_ver);
	rd_attrs_hex(f, "vendor_id", "vendor id", attr.orig_attr.vendor_id);
	rd_attrs_number(f, "vendor_part_id", "vendor part id", attr.orig_attr.vendor_part_id);
	rd_attrs_hex(f, "hw_ver", "hardware version", attr.orig_attr.hw_ver);
	rd_attrs_number(f, "phys_port_cnt", "ports", ports);
	rd_attrs_number(f, "num_comp_vectors", "completion vectors",
		context->num_comp_vectors > 0 ? (uint64_t)context->num_comp_vectors : 0);
	for (size_t i = 0; i < RD_COUNT(limits); i++)
		rd_attrs_number(f, limits[i].key, limits[i].title,
			rd_number_at((const char *)&attr + limits[i].offset, limits[i].size));
	rd_attrs_hex(f, "max_mr_size", "bytes per MR", attr.orig_attr.max_mr_size);
	rd_attrs_hex(f, "page_size_cap", "page sizes", attr.orig_attr.page_size_cap);
	rd_attrs_text(f, "atomics", "atomics", atomic_name(attr.orig_attr.atomic_cap));
	rd_attrs_hex(f, "completion_timestamp_mask", "time stamps of completions, mask",
		attr.completion_timestamp_mask);
	rd_attrs_bits(f, "device_cap_flags", "device features",
		attr.device_cap_flags_ex | attr.orig_attr.device_cap_flags, device_caps,
		RD_COUNT(device_caps));
	for (size_t i = 0; i < RD_COUNT(masks); i++)
		rd_attrs_bits(f, masks[i].at.key, masks[i].at.title,
			rd_number_at((const char *)&attr + masks[i].at.offset, masks[i].at.size),
			masks[i].names, masks[i].n);
}

static uint32_t mtu_bytes(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << mtu : 0;
}

static void query_port(struct ibv_context *context, unsigned int num, struct rd_port_info *port)
{
	struct ibv_port_attr attr = {0};
	uint32_t speed;

	if (ibv_query_port(context, (uint8_t)num, &attr))
		return;
	port->active_mtu = mtu_bytes(attr.active_mtu);
	port->max_mtu = mtu_bytes(attr.max_mtu);
	speed = attr.active_speed;
#ifdef HAVE_IBV_ACTIVE_SPEED_EX
	if (attr.active_speed_ex)
		speed = attr.active_speed_ex;
#endif
	port->speed = rd_link_speed(speed, attr.active_width, port->lanes, sizeof(port->lanes));
}

void rd_query_verbs(struct rd_info *info)
{
	struct ibv_context *context;
	struct rd_error why;
	bool devx = false;

	if (rd_verbs_device_open(&context, info->device->name, rd_mlx5_open, &devx, &why) < 0) {
		rd_text_clean(info->closed_why, sizeof(info->closed_why), why.text);
		return;
	}
	info->opened = true;
	query_limits(context, info);
	for (unsigned int i = 0; i < info->device->n_ports; i++)
		query_port(context, info->device->ports[i].num, &info->ports[i]);
	rd_mlx5_query(context, devx, info);
	ibv_close_device(context);
}
