/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The arguments of the program traffic. */
#include "traffic.h"
#include <argp.h>

static const struct kind kinds[] = {
	{"send", IBV_WR_SEND},
	{"send_imm", IBV_WR_SEND_WITH_IMM},
	{"send_inv", IBV_WR_SEND_WITH_INV},
	{"write", IBV_WR_RDMA_WRITE},
	{"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM},
	{"read", IBV_WR_RDMA_READ},
	{"cas", IBV_WR_ATOMIC_CMP_AND_SWP},
	{"fadd", IBV_WR_ATOMIC_FETCH_AND_ADD},
};

static const struct argp_option options[] = {
	{"side", 's', "a|b", 0, "which end this is (default: $SIDE)", 0},
	{"exchange", 'x', "PREFIX", 0, "of the files where both ends meet", 0},
	{"device", 'd', "DEV", 0, "RDMA device (default rxe0)", 0},
	{"address", 'l', "IP", 0, "this end's address (default: $SELF)", 0},
	{"advertise", 'L', "IP", 0, "the address that the peer gets (default: that of -l)", 0},
	{"class", 'c', "N", 0, "traffic class (default 0)", 0},
	{"type", 'T', "rc|uc|ud", 0, "service (default rc)", 0},
	{"mtu", 'm', "BYTES", 0, "path MTU (default 1024)", 0},
	{"qps", 'q', "N", 0, "QPs (default 1)", 0},
	{"srq", 'S', 0, 0, "receive through one SRQ", 0},
	{"recvs", 'r', "N", 0, "receives posted on each QP, or on the SRQ (default 0)", 0},
	{"recv-size", 'R', "BYTES", 0, "of each (default 65536)", 0},
	{"allow", 'A', "rwa", 0, "what the peer may: read, write, atomic (default all; '-' none)",
		0},
	{"timeout", 't', "N", 0, "local ACK timeout, 4.096 us * 2^N (default 18)", 0},
	{"retry", 'y', "N", 0, "retries (default 6; 7 is for ever in rxe)", 0},
	{"rnr-retry", 'n', "N", 0, "RNR retries (default 7)", 0},
	{"rnr-timer", 'N', "N", 0, "encoded RNR timer of this end (default 1: 10 us)", 0},
	{"read-depth", 'D', "N", 0, "outstanding reads and atomics (default 4)", 0},
	{"depth", 'p', "N", 0, "operations in flight on each QP (default 16)", 0},
	{"bad-rkey", 'k', 0, 0, "use a key that the peer never gave", 0},
	{"multicast", 'M', "IP", 0, "UD to this group; with --recvs join it", 0},
	{"expect", 'e', "STATUS", 0, "the completion status that must come (number)", 0},
	{0},
};

static unsigned int number(struct argp_state *state, const char *arg, unsigned long most)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 0);

	if (*end || n > most)
		argp_error(state, "'%s' is no number up to %lu", arg, most);
	return (unsigned int)n;
}

static enum ibv_qp_type qp_type(struct argp_state *state, const char *arg)
{
	static const struct {
		const char *name;
		enum ibv_qp_type type;
	} types[] = {{"rc", IBV_QPT_RC}, {"uc", IBV_QPT_UC}, {"ud", IBV_QPT_UD}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(arg, types[i].name) == 0)
			return types[i].type;
	argp_error(state, "'%s' is none of rc, uc, ud", arg);
	return IBV_QPT_RC;
}

static int access_of(const char *arg)
{
	return IBV_ACCESS_LOCAL_WRITE | (strchr(arg, 'r') ? IBV_ACCESS_REMOTE_READ : 0) |
	       (strchr(arg, 'w') ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (strchr(arg, 'a') ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static void add_op(struct argp_state *state, struct options *o, const char *arg)
{
	struct op op = {0};
	char name[16] = "";

	if (sscanf(arg, "%15[a-z_]:%" SCNu32 ":%u", name, &op.size, &op.count) == 3)
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strcmp(name, kinds[i].name) == 0)
				op.kind = &kinds[i];
	if (!op.kind || op.size > SEND_HALF || o->n_ops == OPS_MAX)
		argp_error(state, "'%s' is no KIND:BYTES:COUNT", arg);
	o->ops[o->n_ops++] = op;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct {
		int key;
		unsigned int *to;
		unsigned long most;
	} const numbers[] = {{'m', &o->mtu, 4096}, {'q', &o->qps, QPS_MAX}, {'r', &o->recvs, 4096},
		{'R', &o->recv_size, SEND_HALF - GRH_BYTES}, {'t', &o->timeout, 31},
		{'y', &o->retry, 7}, {'n', &o->rnr_retry, 7}, {'N', &o->rnr_timer, 31},
		{'D', &o->read_depth, 128}, {'p', &o->depth, 1024}, {'c', &o->traffic_class, 255}};
	struct {
		int key;
		const char **to;
	} const texts[] = {{'s', &o->side}, {'x', &o->exchange}, {'d', &o->device},
		{'l', &o->address}, {'L', &o->advertised}, {'M', &o->multicast}};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (numbers[i].key == key) {
			*numbers[i].to = number(state, arg, numbers[i].most);
			return 0;
		}
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].key == key) {
			*texts[i].to = arg;
			return 0;
		}
	}
	switch (key) {
	case 'T':
		o->type = qp_type(state, arg);
		break;
	case 'S':
		o->srq = true;
		break;
	case 'A':
		o->access = access_of(arg);
		break;
	case 'k':
		o->bad_rkey = true;
		break;
	case 'e':
		o->expect = (int)number(state, arg, STATUSES - 1);
		break;
	case ARGP_KEY_ARG:
		add_op(state, o, arg);
		break;
	case ARGP_KEY_END:
		if (!o->side || !o->exchange || !o->address || !o->qps || !o->depth)
			argp_error(state, "needs --side, --exchange and --address");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[KIND:BYTES:COUNT...]",
	.doc = "Does these operations on each QP, against a traffic that runs at the other end. "
	       "KIND is send, send_imm, send_inv, write, write_imm, read, cas or fadd.",
};

void read_options(struct options *o, int argc, char **argv)
{
	*o = (struct options){.side = getenv("SIDE"),
		.device = "rxe0",
		.address = getenv("SELF"),
		.type = IBV_QPT_RC,
		.mtu = 1024,
		.qps = 1,
		.recv_size = 65536,
		.timeout = 18,
		.retry = 6,
		.rnr_retry = 7,
		.rnr_timer = 1,
		.read_depth = 4,
		.depth = 16,
		.access = access_of("rwa")};
	argp_parse(&argp, argc, argv, 0, NULL, o);
}
