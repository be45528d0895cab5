/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* DCB of netdevs: replies of the kernel, whole, cut and hostile; refusals; findings; the output. */
#include "device/netlink/netlink.h"
#include "rdmadump/device/info.h"
#include "test_netlink.h"
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <rdmadump/finding.h>
#include <rdmadump/info.h>

/* ---- the kernel ---- */

static struct {
	int error;
	bool silent; /* no reply before the end */
	bool unopened;
	unsigned int requests;
} kernel;

/* Called by the linker's --wrap. */

int __wrap_rd_netlink_open(struct nl_sock **nl, int protocol, struct rd_error *err)
{
	assert_int_equal(protocol, NETLINK_ROUTE);
	if (kernel.unopened)
		return rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "no netlink here");
	*nl = (struct nl_sock *)&kernel;
	return 0;
}

void __wrap_nl_socket_free(struct nl_sock *nl)
{
	assert_ptr_equal(nl, &kernel);
}

#define TRUST_TABLE 11 /* DCB_ATTR_DCB_APP_TRUST_TABLE of Linux 6.2 */

static void begin(void)
{
	message_begin(RTM_GETDCB, &(struct dcbmsg){.cmd = DCB_CMD_IEEE_GET}, sizeof(struct dcbmsg));
}

static void put_app(uint8_t selector, uint16_t protocol, uint8_t priority)
{
	const struct dcb_app app = {
		.selector = selector, .protocol = protocol, .priority = priority};

	put(selector == RD_DCB_SEL_PCP ? 2 : DCB_ATTR_IEEE_APP, &app, sizeof(app));
}

static const struct ieee_pfc pfc = {.pfc_cap = 8,
	.pfc_en = 0x08,
	.delay = 7,
	.requests = {[3] = 0x123456789a},
	.indications = {[0] = 1, [3] = UINT64_MAX}};

/* What mlx5 answers: trust in DSCP is one entry for each. */
static void make_reply(bool trust)
{
	const uint8_t selectors[] = {IEEE_8021QAZ_APP_SEL_DSCP, RD_DCB_SEL_PCP};
	struct nlattr *ieee, *table;

	begin();
	put(DCB_ATTR_IFNAME, "eth7", 5);
	ieee = put(DCB_ATTR_IEEE | NLA_F_NESTED, NULL, 0);
	put(DCB_ATTR_IEEE_PFC, &pfc, sizeof(pfc));
	table = put(DCB_ATTR_IEEE_APP_TABLE, NULL, 0);
	for (uint16_t dscp = 0; dscp < 64; dscp++)
		put_app(IEEE_8021QAZ_APP_SEL_DSCP, dscp, (uint8_t)(dscp / 8));
	put_app(IEEE_8021QAZ_APP_SEL_DGRAM, 4791, 3);
	put_app(IEEE_8021QAZ_APP_SEL_ETHERTYPE, 0x8915, 3);
	put_app(RD_DCB_SEL_PCP, 6, 9); /* a priority that does not exist */
	nest_end(table);
	if (trust) {
		table = put(TRUST_TABLE, NULL, 0);
		put(1, &selectors[0], 1);
		put(2, &selectors[1], 1);
		nest_end(table);
	}
	nest_end(ieee);
}

TEST(reply)
{
	struct rd_dcb dcb = {0};
	uint8_t trusted[RD_DCB_TRUST_MAX];

	make_reply(false);
	expect("0 1", rd_dcb_parse(MESSAGE, &dcb), dcb.has_pfc);
	assert_memory_equal(&dcb.pfc, &pfc, sizeof(pfc));
	expect("67 63 7", dcb.n_apps, dcb.apps[63].protocol, dcb.apps[63].priority);
	assert_int_equal(dcb.apps[66].selector, RD_DCB_SEL_PCP);
	same(rd_dcb_roce_priorities(&dcb), 0x08, dcb.has_trust, 0, rd_dcb_trust(&dcb, trusted), 1,
		trusted[0], IEEE_8021QAZ_APP_SEL_DSCP);
	rd_dcb_free(&dcb);

	make_reply(true);
	expect("0 1 2", rd_dcb_parse(MESSAGE, &dcb), dcb.has_trust, rd_dcb_trust(&dcb, trusted));
	same(trusted[0], IEEE_8021QAZ_APP_SEL_DSCP, trusted[1], RD_DCB_SEL_PCP);
	rd_dcb_free(&dcb);
}

/* A driver that has some of it; attributes of other lengths than this header's structs. */
TEST(lengths)
{
	uint8_t longer[sizeof(pfc) + 8] = {0};
	struct nlattr *ieee, *table;
	struct rd_dcb dcb = {0};

	begin();
	ieee = put(DCB_ATTR_IEEE, NULL, 0);
	memcpy(longer, &pfc, sizeof(pfc));
	put(DCB_ATTR_IEEE_PFC, longer, sizeof(longer));
	table = put(DCB_ATTR_IEEE_APP_TABLE, NULL, 0);
	put(DCB_ATTR_IEEE_APP, longer, sizeof(struct dcb_app) - 1);
	put(77, longer, sizeof(struct dcb_app));
	nest_end(table);
	nest_end(ieee);
	expect("0 1", rd_dcb_parse(MESSAGE, &dcb), dcb.has_pfc);
	assert_memory_equal(&dcb.pfc, &pfc, sizeof(pfc));
	assert_int_equal(dcb.n_apps, 0);
	rd_dcb_free(&dcb);

	make_reply(false);
	m.head.nlmsg_type = RTM_SETDCB;
	assert_int_equal(rd_dcb_parse(MESSAGE, &dcb), -1);
	begin(); /* nothing in it */
	assert_int_equal(rd_dcb_parse(MESSAGE, &dcb), -1);
	make_reply(false);
	((struct dcbmsg *)NLMSG_DATA(&m.head))->cmd = DCB_CMD_CEE_GET;
	assert_int_equal(rd_dcb_parse(MESSAGE, &dcb), -1);
}

static void feed(const struct nlmsghdr *h, size_t len, bool cut)
{
	struct rd_dcb dcb = {0};
	uint8_t trusted[RD_DCB_TRUST_MAX];
	int ret = rd_dcb_parse(h, len, &dcb);

	assert_in_range(rd_dcb_trust(&dcb, trusted), 0, RD_DCB_TRUST_MAX);
	expect("0 1", rd_dcb_pfc_unmapped(&dcb) & ~dcb.pfc.pfc_en, ret == -1 || !cut);
	rd_dcb_free(&dcb);
}

TEST(hostile)
{
	make_reply(true);
	message_damaged(feed);
}

/* ---- refusals ---- */

int __wrap_rd_netlink_request(
	struct nl_sock *nl, struct nl_msg *msg, rd_netlink_fn *fn, void *ctx, struct rd_error *err)
{
	const struct nlmsghdr *head = nlmsg_hdr(msg);
	const struct dcbmsg *dcb = nlmsg_data(head);
	const struct nlattr *name = nlmsg_find_attr(nlmsg_hdr(msg), sizeof(*dcb), DCB_ATTR_IFNAME);

	assert_ptr_equal(nl, &kernel);
	same(head->nlmsg_type, RTM_GETDCB, dcb->cmd, DCB_CMD_IEEE_GET);
	assert_non_null(name);
	assert_string_equal(nla_data(name), "lo");
	nlmsg_free(msg);
	kernel.requests++;
	if (kernel.error)
		return rd_fail(err, RD_CLASS_DEVICE, kernel.error, NULL, "netlink request");
	make_reply(false);
	if (!kernel.silent)
		fn(MESSAGE, ctx);
	return 0;
}

TEST(states)
{
	static const struct {
		bool copied;
		uint32_t ifindex;
		int error;
		bool silent, unopened;
		enum rd_dcb_state state;
		const char *why;
	} cases[] = {
		{false, 1, 0, false, false, RD_DCB_KNOWN, ""},
		{true, 1, 0, false, false, RD_DCB_NOT_ASKED,
			"not queried: read from a copied tree"},
		{false, 0, 0, false, false, RD_DCB_NOT_ASKED,
			"not queried: the netdev is not in this network namespace"},
		{false, 99, 0, false, false, RD_DCB_NOT_ASKED,
			"not queried: the netdev is not in this network namespace"},
		{false, 1, EOPNOTSUPP, false, false, RD_DCB_UNSUPPORTED, "the driver has no DCB"},
		{false, 1, ENODEV, false, false, RD_DCB_NOT_ASKED,
			"not queried: the netdev is not in this network namespace"},
		{false, 1, EPERM, false, false, RD_DCB_REFUSED,
			"unknown: the kernel refused: Operation not permitted (errno 1)"},
		{false, 1, 0, true, false, RD_DCB_REFUSED,
			"unknown: the kernel refused: Bad message (errno 74)"},
		{false, 1, 0, false, true, RD_DCB_REFUSED, "unknown: no netlink here"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_device device = {.copied = cases[i].copied};
		struct rd_netdev netdev = {.name = "lo", .ifindex = cases[i].ifindex};
		struct rd_dcb dcb;

		memset(&kernel, 0, sizeof(kernel));
		kernel.error = cases[i].error;
		kernel.silent = cases[i].silent;
		kernel.unopened = cases[i].unopened;
		rd_dcb_load(&dcb, &device, &netdev);
		same(dcb.state, cases[i].state, dcb.why, cases[i].why, dcb.netdev, "lo");
		same(kernel.requests,
			!cases[i].copied && cases[i].ifindex == 1 && !cases[i].unopened,
			dcb.has_pfc, cases[i].state == RD_DCB_KNOWN);
		rd_dcb_free(&dcb);
	}
}

/* ---- what it means ---- */

#define DSCP(dscp, priority)                                                                       \
	{                                                                                          \
		IEEE_8021QAZ_APP_SEL_DSCP, priority, dscp                                          \
	}
#define ROCE(priority)                                                                             \
	{                                                                                          \
		IEEE_8021QAZ_APP_SEL_DGRAM, priority, 4791                                         \
	}

TEST(findings)
{
	static const struct {
		uint8_t pfc;
		bool pcp; /* the driver reports that it also trusts PCP */
		struct dcb_app apps[3];
		size_t n;
		const char *rule;
	} cases[] = {
		/* PFC on no priority is a choice. */
		{0x00, false, {DSCP(26, 3)}, 1, NULL}, {0x00, false, {ROCE(3)}, 1, NULL},
		/* Priorities are in the VLAN tag: nothing says which are used. */
		{0x08, false, {{0, 0, 0}}, 0, NULL}, {0x08, false, {DSCP(26, 3)}, 1, NULL},
		{0x08, false, {DSCP(26, 4)}, 1, "pfc-unmapped"},
		{0x18, false, {DSCP(26, 4)}, 1, "pfc-unmapped"},
		{0x08, true, {DSCP(26, 4)}, 1, NULL},
		/* Priority 0 is that of unmapped DSCPs. */
		{0x01, false, {DSCP(26, 4)}, 1, NULL}, {0x08, false, {ROCE(3)}, 1, NULL},
		{0x18, false, {ROCE(3), ROCE(4)}, 2, NULL},
		{0x10, false, {ROCE(3)}, 1, "pfc-not-roce"},
		{0x10, false, {{IEEE_8021QAZ_APP_SEL_ETHERTYPE, 3, 0x8915}}, 1, "pfc-not-roce"},
		{0x10, false, {{IEEE_8021QAZ_APP_SEL_STREAM, 3, 4791}}, 1, NULL},      /* TCP */
		{0x10, false, {{IEEE_8021QAZ_APP_SEL_ETHERTYPE, 3, 0x8906}}, 1, NULL}, /* FCoE */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rd_dcb dcb = {.netdev = "eth7",
			.state = RD_DCB_KNOWN,
			.has_pfc = true,
			.pfc.pfc_en = cases[i].pfc,
			.apps = (struct dcb_app *)(uintptr_t)cases[i].apps,
			.n_apps = cases[i].n,
			.has_trust = cases[i].pcp,
			.trust = {IEEE_8021QAZ_APP_SEL_DSCP, RD_DCB_SEL_PCP},
			.n_trust = 2};
		struct rd_port port = {.num = 1, .link = RD_LINK_ETHERNET, .state = "active"};
		struct rd_device device = {.name = "mlx5_0", .ports = &port, .n_ports = 1};
		struct rd_port_info ports = {.dcb = &dcb, .n_dcb = 1};
		struct rd_info info = {.device = &device, .ports = &ports};
		struct rd_findings list;

		same(rd_info_judge(&list, &info), 0, list.n, cases[i].rule ? 1 : 0);
		if (cases[i].rule) {
			assert_string_equal(list.finding[0].rule, cases[i].rule);
			assert_int_equal(list.finding[0].certainty, RD_POSSIBLE);
		}
		rd_findings_free(&list);
		dcb.has_pfc = false; /* unknown settings are not judged */
		expect("0 0", rd_info_judge(&list, &info), list.n);
	}
}

TEST(priorities)
{
	char text[RD_DCB_PRIORITIES_LEN];

	expect("no priority priority 7 priorities 3, 4", rd_dcb_priorities_text(text, 0),
		rd_dcb_priorities_text(text, 0x80), rd_dcb_priorities_text(text, 0x18));
	assert_string_equal(
		rd_dcb_priorities_text(text, 0xff), "priorities 0, 1, 2, 3, 4, 5, 6, 7");
}

/* ---- the output ---- */

static json_t *print(const struct rd_dcb *dcb, bool verbose, char **text)
{
	struct rd_port_info port = {.dcb = (struct rd_dcb *)(uintptr_t)dcb, .n_dcb = 1};
	struct rd_sheet sheet;
	struct info_output t = {.sheet = &sheet, .verbose = verbose};
	size_t size;
	FILE *out = open_memstream(text, &size);
	json_t *root;

	assert_non_null(out);
	rd_sheet_open(&sheet, out, json_object());
	rd_sheet_section(&sheet, "port", "Port 1");
	rd_info_print_dcb(&t, &port);
	rd_sheet_end(&sheet);
	root = rd_sheet_close(&sheet);
	fclose(out);
	return root;
}

static void expect_lines(const struct rd_dcb *dcb, bool verbose, const char *wanted)
{
	char *text;
	json_t *root = print(dcb, verbose, &text);

	assert_string_equal(text, wanted);
	free(text);
	json_decref(root);
}

static const char summary[] =
	"\nPort 1\n"
	"  DCB  lo: PFC: priority 3 (DSCP 24-31); trust: DSCP; RoCE: priority 3\n";

/* tests/e2e/dcb.sh compares it with the schema. */
static void check_json(const struct rd_dcb *dcb)
{
	const char *file = getenv("DCB_JSON");
	char *text;
	json_t *root = print(dcb, false, &text);
	json_t *list = json_object_get(json_object_get(root, "port"), "dcb");
	json_t *first = json_array_get(list, 0), *part;

	same(json_array_size(list), 1, json_string_value(json_object_get(first, "status")), "known",
		json_integer_value(json_array_get(json_object_get(first, "pfc"), 0)), 3);
	part = json_array_get(json_object_get(first, "roce_priorities"), 0);
	assert_int_equal(json_integer_value(part), 3);
	part = json_array_get(json_object_get(first, "trust"), 0);
	assert_string_equal(json_string_value(part), "dscp");
	if (file)
		assert_int_equal(json_dump_file(list, file, 0), 0);
	free(text);
	json_decref(root);
}

static void check_fact(const struct rd_dcb *dcb)
{
	json_t *fact = rd_dcb_fact(dcb), *map = json_object_get(fact, "dscp_priorities");

	assert_string_equal(json_string_value(json_object_get(fact, "netdev")), "lo");
	assert_int_equal(json_array_size(json_object_get(fact, "pfc")), 1);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(fact, "pfc"), 0)), 3);
	assert_int_equal(json_array_size(json_object_get(fact, "trust")), 1);
	same(json_string_value(json_array_get(json_object_get(fact, "trust"), 0)), "dscp",
		json_array_size(map), RD_DCB_DSCPS);
	for (size_t i = 0; i < RD_DCB_DSCPS; i++) {
		int wanted = -1;

		for (size_t k = 0; k < dcb->n_apps; k++)
			if (dcb->apps[k].selector == IEEE_8021QAZ_APP_SEL_DSCP &&
				dcb->apps[k].protocol == i && dcb->apps[k].priority > wanted)
				wanted = dcb->apps[k].priority;
		assert_int_equal(json_is_null(json_array_get(map, i)), wanted < 0);
		if (wanted >= 0)
			assert_int_equal(json_integer_value(json_array_get(map, i)), wanted);
	}
	json_decref(fact);
}

TEST(priorities_not_set)
{
	const struct rd_dcb none = {.state = RD_DCB_KNOWN, .netdev = "lo"};
	json_t *fact = rd_dcb_fact(&none), *map = json_object_get(fact, "dscp_priorities");

	for (size_t i = 0; i < RD_DCB_DSCPS; i++)
		assert_true(json_is_null(json_array_get(map, i)));
	json_decref(fact);
}

TEST(text)
{
	struct rd_device device = {0};
	struct rd_netdev netdev = {.name = "lo", .ifindex = 1};
	struct rd_dcb dcb;

	memset(&kernel, 0, sizeof(kernel));
	rd_dcb_load(&dcb, &device, &netdev);
	expect_lines(&dcb, false, summary);
	expect_lines(&dcb, true, summary);
	check_json(&dcb);
	check_fact(&dcb);
	dcb.has_trust = true;
	expect_lines(&dcb, false,
		"\nPort 1\n  DCB  lo: PFC: priority 3 (DSCP 24-31); trust: none; RoCE: priority "
		"3\n");
	rd_dcb_free(&dcb);
	kernel.error = EOPNOTSUPP;
	rd_dcb_load(&dcb, &device, &netdev);
	expect_lines(&dcb, false, "");
	expect_lines(&dcb, true, "\nPort 1\n  DCB  lo: the driver has no DCB\n");
	assert_null(rd_dcb_fact(&dcb));
	rd_dcb_free(&dcb);
}
