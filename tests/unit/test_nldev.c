/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA netlink's messages, valid as the kernel sends them, and invalid: read, or refused. */
#include "device/netlink/netlink.h"
#include "test_netlink.h"
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netlink/msg.h>
#include <netlink/socket.h>
#include <rdma/rdma_netlink.h>

static void begin(int command)
{
	message_begin(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command), NULL, 0);
	m.head.nlmsg_flags = NLM_F_MULTI;
}

static void make_device(void)
{
	begin(RDMA_NLDEV_CMD_GET);
	put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 3);
	put_text(RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
	put_u32(RDMA_NLDEV_ATTR_PORT_INDEX, 2);
	put_text(RDMA_NLDEV_ATTR_FW_VERSION, "16.35.2000");
	put_u64(RDMA_NLDEV_ATTR_NODE_GUID, 0x0c42a10300000001);
	put_u8(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, 1);
	put_text(RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
	put_u32(120, 7); /* newer than we know */
}

static void make_qps(void)
{
	struct nlattr *table, *entry;

	begin(RDMA_NLDEV_CMD_RES_QP_GET);
	put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	put_text(RDMA_NLDEV_ATTR_DEV_NAME, "rxe0");
	table = nest(RDMA_NLDEV_ATTR_RES_QP);
	entry = nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
	put_u32(RDMA_NLDEV_ATTR_PORT_INDEX, 1);
	put_u32(RDMA_NLDEV_ATTR_RES_LQPN, 1);
	put_u32(RDMA_NLDEV_ATTR_RES_SQ_PSN, 0);
	put_u8(RDMA_NLDEV_ATTR_RES_TYPE, 1);
	put_u8(RDMA_NLDEV_ATTR_RES_STATE, 3);
	put_text(RDMA_NLDEV_ATTR_RES_KERN_NAME, "ib_core");
	nest_end(entry);
	entry = nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
	put_u32(RDMA_NLDEV_ATTR_RES_LQPN, 17);
	put_u32(RDMA_NLDEV_ATTR_RES_RQPN, 18);
	put_u32(RDMA_NLDEV_ATTR_RES_RQ_PSN, 0xabcdef);
	put_u32(RDMA_NLDEV_ATTR_RES_SQ_PSN, 0x123456);
	put_u8(RDMA_NLDEV_ATTR_RES_TYPE, 2);
	put_u8(RDMA_NLDEV_ATTR_RES_STATE, 3);
	put_u32(RDMA_NLDEV_ATTR_RES_PID, (uint32_t)getpid());
	nest_end(entry);
	nest_end(table);
}

static void make_summary(void)
{
	static const struct {
		const char *kind;
		uint64_t n;
	} counts[] = {{"qp", 2}, {"cq", 3}, {"mr", 0}, {"pd", UINT64_MAX}};
	struct nlattr *table, *entry;

	begin(RDMA_NLDEV_CMD_RES_GET);
	put_text(RDMA_NLDEV_ATTR_DEV_NAME, "rxe0");
	table = nest(RDMA_NLDEV_ATTR_RES_SUMMARY);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		entry = nest(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
		put_text(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, counts[i].kind);
		put_u64(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, counts[i].n);
		nest_end(entry);
	}
	nest_end(table);
}

static void make_system(void)
{
	begin(RDMA_NLDEV_CMD_SYS_GET);
	put_u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0);
}

TEST(system)
{
	bool exclusive = false;

	make_system();
	expect("0 1", rd_nldev_parse_system(MESSAGE, &exclusive), exclusive);
	begin(RDMA_NLDEV_CMD_SYS_GET);
	put_u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1);
	expect("0 0", rd_nldev_parse_system(MESSAGE, &exclusive), exclusive);
	begin(RDMA_NLDEV_CMD_SYS_GET);
	assert_int_equal(rd_nldev_parse_system(MESSAGE, &exclusive), -1);
}

TEST(device)
{
	struct rd_nldev_device device;

	make_device();
	expect("0 3 mlx5_0", rd_nldev_parse_device(MESSAGE, &device), device.index, device.name);
	m.head.nlmsg_type++;
	assert_int_equal(rd_nldev_parse_device(MESSAGE, &device), -1);
}

TEST(qps)
{
	struct rd_resources r = {0};
	char comm[RD_COMM_MAX] = "", path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", getpid());
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%31s", comm), 1);
	fclose(f);
	make_qps();
	expect("0 2 rxe0 ib_core 0 1", rd_nldev_parse_qps(MESSAGE, &r), r.n_qps, r.qps[0].device,
		r.qps[0].comm, r.qps[0].pid, r.qps[0].port);
	expect("0 GSI RTS 17 1 18", r.qps[0].has_rqpn, rd_qp_type_name(r.qps[0].type),
		rd_qp_state_name(r.qps[0].state), r.qps[1].lqpn, r.qps[1].has_rqpn, r.qps[1].rqpn);
	expect("0xabcdef 0x123456", r.qps[1].rq_psn, r.qps[1].sq_psn);
	same(r.qps[1].pid, getpid(), r.qps[1].comm, "");
	rd_resources_name("", &r);
	same(r.qps[0].comm, "ib_core", r.qps[1].comm, comm, rd_qp_type_name(r.qps[1].type), "RC");
	rd_resources_free(&r);
}

/* --- users of the connection manager, as a kernel with nvme_rdma and nvmet_rdma lists them  */

static void put_address(int type, int family, uint16_t port)
{
	struct sockaddr_storage address = {.ss_family = (sa_family_t)family};

	((struct sockaddr_in *)&address)->sin_port = htons(port);
	put(type, &address, sizeof(address));
}

static void put_cm_id(uint32_t lqpn, int state, const char *module, int family, uint16_t source,
	uint16_t destination)
{
	struct nlattr *entry = nest(RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY);

	if (lqpn)
		put_u32(RDMA_NLDEV_ATTR_RES_LQPN, lqpn);
	put_u8(RDMA_NLDEV_ATTR_RES_STATE, (uint8_t)state);
	put_address(RDMA_NLDEV_ATTR_RES_SRC_ADDR, family, source);
	put_address(RDMA_NLDEV_ATTR_RES_DST_ADDR, family, destination);
	if (*module)
		put_text(RDMA_NLDEV_ATTR_RES_KERN_NAME, module);
	else
		put_u32(RDMA_NLDEV_ATTR_RES_PID, 4711);
	nest_end(entry);
}

static void make_cm_ids(void)
{
	const int listens = 8, connected = 5;
	struct nlattr *table;

	begin(RDMA_NLDEV_CMD_RES_CM_ID_GET);
	put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 0);
	put_text(RDMA_NLDEV_ATTR_DEV_NAME, "rxe0");
	table = nest(RDMA_NLDEV_ATTR_RES_CM_ID);
	put_cm_id(0, listens, "nvmet_rdma", AF_INET, 4420, 0);
	put_cm_id(0, listens, "rds_rdma", AF_INET6, 35990, 0);
	put_cm_id(0, listens, "nvme_rdma", AF_INET, 4422, 0);
	put_cm_id(24, connected, "nvme_rdma", AF_IB, 35991, 4420);
	put_cm_id(23, connected, "nvme_rdma", AF_INET6, 35990, 4420);
	put_cm_id(22, connected, "nvmet_rdma", AF_INET, 4420, 49514);
	put_cm_id(25, connected, "rpcrdma", AF_INET, 700, 20049);
	put_cm_id(25, connected, "nvme_rdma", AF_INET, 701, 4420);
	put_cm_id(26, connected, "nvme_rdma", AF_INET, 702, 4421);
	put_cm_id(26, connected, "nvme_rdma", AF_INET, 703, 4420);
	put_cm_id(27, connected, "", AF_INET, 704, 4420);
	put_cm_id(17, connected, "nvme_rdma", AF_INET, 705, 4420);
	nest_end(table);
}

TEST(cm_ids)
{
	static const struct {
		const char *device;
		uint32_t lqpn, pid;
		const char *comm, *user;
		uint16_t port;
	} rows[] = {
		{"rxe0", 22, 0, "rdma_cm", "nvmet_rdma", 4420}, /* its own port */
		{"rxe0", 23, 0, "rdma_cm", "nvme_rdma", 4420},	/* the other one's */
		{"rxe0", 24, 0, "rdma_cm", "nvme_rdma", 0},	/* no IP address */
		{"rxe0", 25, 0, "rdma_cm", "rdma_cm", 0},	/* of two modules */
		{"rxe0", 26, 0, "rdma_cm", "nvme_rdma", 0},	/* of two ports */
		{"rxe0", 27, 0, "rdma_cm", "rdma_cm", 0},	/* of a process */
		{"rxe0", 28, 0, "rdma_cm", "rdma_cm", 0},	/* of none */
		{"rxe1", 22, 0, "rdma_cm", "rdma_cm", 0},	/* of another device */
		{"rxe0", 17, 0, "ib_ipoib", "ib_ipoib", 0},	/* not by rdma_cm */
		{"rxe0", 17, 9, "rdma_cm", "rdma_cm", 0},	/* a process of this name */
		{"rxe0", 0, 0, "rdma_cm", "rdma_cm", 0},
	};
	struct rd_qp_res qps[sizeof(rows) / sizeof(rows[0])] = {0};
	struct rd_resources r = {.qps = qps};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rd_qp_res *q = &qps[r.n_qps++];

		q->lqpn = rows[i].lqpn;
		q->pid = rows[i].pid;
		strcpy(q->device, rows[i].device);
		strcpy(q->comm, rows[i].comm);
	}
	assert_true(cm_users_wanted(&r));
	make_cm_ids();
	expect("0 12", rd_nldev_parse_cm_ids(MESSAGE, &r), r.n_cm_ids);
	cm_users_find(&r);
	for (size_t i = 0; i < r.n_qps; i++)
		if (strcmp(qps[i].comm, rows[i].user) || qps[i].service_port != rows[i].port)
			fail_msg("QP %u of %s: %s, port %u", rows[i].lqpn, rows[i].device,
				qps[i].comm, qps[i].service_port);
	r.qps += 8;
	r.n_qps = 2;
	assert_false(cm_users_wanted(&r));
	r.qps = NULL;
	rd_resources_free(&r);
}

TEST(summary)
{
	struct rd_resources r = {0};
	uint64_t n;

	make_summary();
	expect("0 4 1 3", rd_nldev_parse_summary(MESSAGE, &r), r.n_counts,
		rd_resources_count(&r, "rxe0", "cq", &n), n);
	expect("1 0 1 1 0", rd_resources_count(&r, "rxe0", "mr", &n), n,
		rd_resources_count(&r, "rxe0", "pd", &n), n == UINT64_MAX,
		rd_resources_count(&r, "rxe0", "srq", &n));
	assert_false(rd_resources_count(&r, "rxe1", "cq", &n));
	/* So many QPs are not listed, but counted. */
	r.counts[0] = (struct rd_res_count){"rxe0", "qp", RD_QPS_LISTED_MAX};
	expect("0 0", rd_resources_unlisted(&r, "rxe0"), rd_resources_unlisted(&r, "rxe1"));
	r.counts[0].n++;
	expect("4097", rd_resources_unlisted(&r, "rxe0"));
	rd_resources_free(&r);
}

/* Text without an end, text of escape codes, integers that are too short. */
TEST(bad_values)
{
	static const char unending[] = {'a', '\033', 'c', 'd'};
	struct rd_nldev_device device;
	struct rd_resources r = {0};
	struct nlattr *table, *entry;
	char long_name[500];

	begin(RDMA_NLDEV_CMD_GET);
	put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 3);
	put(RDMA_NLDEV_ATTR_DEV_NAME, unending, sizeof(unending));
	expect("0 a?cd", rd_nldev_parse_device(MESSAGE, &device), device.name);

	begin(RDMA_NLDEV_CMD_GET);
	put(RDMA_NLDEV_ATTR_DEV_INDEX, unending, 2);
	put_text(RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0");
	assert_int_equal(rd_nldev_parse_device(MESSAGE, &device), -1);

	memset(long_name, 'x', sizeof(long_name));
	begin(RDMA_NLDEV_CMD_GET);
	put_u32(RDMA_NLDEV_ATTR_DEV_INDEX, 3);
	put(RDMA_NLDEV_ATTR_DEV_NAME, long_name, sizeof(long_name));
	same(rd_nldev_parse_device(MESSAGE, &device), 0, strlen(device.name), RD_NAME_MAX - 1);

	/* An entry without a number is none; one that claims more than there is, neither. */
	begin(RDMA_NLDEV_CMD_RES_QP_GET);
	put_text(RDMA_NLDEV_ATTR_DEV_NAME, "rxe0");
	table = nest(RDMA_NLDEV_ATTR_RES_QP);
	entry = nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
	put_u8(RDMA_NLDEV_ATTR_RES_TYPE, 2);
	nest_end(entry);
	nest_end(table);
	assert_int_equal(rd_nldev_parse_qps(MESSAGE, &r), -1);
	entry->nla_len = 4000;
	rd_nldev_parse_qps(MESSAGE, &r);
	assert_int_equal(r.n_qps, 0);
	rd_resources_free(&r);
}

static void feed(const struct nlmsghdr *h, size_t len, bool cut)
{
	struct rd_resources r = {0};
	struct rd_nldev_device device;
	bool exclusive;

	rd_nldev_parse_device(h, len, &device);
	rd_nldev_parse_qps(h, len, &r);
	rd_nldev_parse_cm_ids(h, len, &r);
	cm_users_find(&r);
	rd_nldev_parse_summary(h, len, &r);
	rd_nldev_parse_system(h, len, &exclusive);
	rd_resources_free(&r);
}

/* Every message cut at every length, and with every byte of it changed. */
TEST(hostile)
{
	static void (*const makers[])(void) = {
		make_device, make_qps, make_cm_ids, make_summary, make_system};

	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++) {
		makers[i]();
		message_damaged(feed);
	}
}

TEST(names)
{
	expect("RAW_PACKET DRIVER unknown unknown ERR", rd_qp_type_name(8), rd_qp_type_name(255),
		rd_qp_type_name(7), rd_qp_type_name(99), rd_qp_state_name(6));
	assert_string_equal(rd_qp_state_name(7), "unknown");
}

/* What the kernel refuses is an error with its reason, not an empty answer. */
TEST(refused)
{
	const struct ifinfomsg nobody = {.ifi_index = 0x7ffffff0};
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETLINK, 0);
	struct nl_sock *nl;

	assert_non_null(msg);
	assert_int_equal(nlmsg_append(msg, (void *)(uintptr_t)&nobody, sizeof(nobody), 4), 0);
	assert_int_equal(rd_netlink_open(&nl, NETLINK_ROUTE, &failure), 0);
	same(rd_netlink_request(nl, msg, NULL, NULL, &failure), -1, failure.errnum, ENODEV);
	nl_socket_free(nl);
}
