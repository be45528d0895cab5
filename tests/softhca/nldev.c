/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA netlink as far as a counter of one queue pair needs it (drivers/infiniband/core/nldev.c,
 * counters.c; hw/mlx5/qp.c). The socket is one of NETLINK_USERSOCK, so that libnl can bind it;
 * sendmsg() comes here, and recvmsg() takes the responses from a queue.
 *
 * libibverbs lists devices here, too. RDMA_NLDEV_CMD_GET_CHARDEV is refused: it finds the character
 * devices in sysfs.
 */
#include <limits.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <sys/syscall.h>

#include "softhca.h"

enum { FDS = 4096, ATTRS = 128, ROOM = 8192, QPS_AN_ANSWER = 128 };

#define HEAD sizeof(struct nlattr)

static size_t aligned(size_t n)
{
	return (n + NLA_ALIGNTO - 1) / NLA_ALIGNTO * NLA_ALIGNTO;
}

/* Responses that were not received yet, one datagram each. */
struct reply {
	STAILQ_ENTRY(reply) link;
	size_t len;
	union {
		struct nlmsghdr head;
		uint8_t bytes[ROOM];
	};
};

STAILQ_HEAD(queue, reply);
static struct queue *_Atomic sockets[FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t qp_lists;
static _Atomic uint64_t qp_answers;

uint64_t nldev_qp_lists(void)
{
	return qp_lists;
}

uint64_t nldev_qp_answers(void)
{
	return qp_answers;
}

static struct queue *queue_of(int fd)
{
	return fd >= 0 && fd < FDS ? sockets[fd] : NULL;
}

bool nldev_socket(int *fd, int type)
{
	const struct model_conf *c = conf_get();
	struct queue *q;
	bool offered = false;

	for (uint32_t i = 0; c && i < c->ndevices; i++)
		offered |= c->device[i].netlink;
	if (!offered)
		return false;
	*fd = (int)syscall(SYS_socket, AF_NETLINK, type, NETLINK_USERSOCK);
	q = *fd >= 0 && *fd < FDS ? calloc(1, sizeof(*q)) : NULL;
	if (q) {
		STAILQ_INIT(q);
		pthread_mutex_lock(&lock);
		sockets[*fd] = q;
		pthread_mutex_unlock(&lock);
	}
	return true;
}

void nldev_closing(int fd)
{
	struct queue *q;
	struct reply *r;

	if (!queue_of(fd))
		return; /* without the lock, as in kmsg_closing() */
	pthread_mutex_lock(&lock);
	q = queue_of(fd);
	if (q)
		sockets[fd] = NULL;
	pthread_mutex_unlock(&lock);
	while (q && (r = STAILQ_FIRST(q))) {
		STAILQ_REMOVE_HEAD(q, link);
		free(r);
	}
	free(q);
}

/* ---- building responses ---- */

static struct reply *reply_new(struct queue *q, const struct nlmsghdr *to, int type, int flags)
{
	struct reply *r = calloc(1, sizeof(*r));

	if (!r)
		abort();
	r->head = (struct nlmsghdr){
		NLMSG_HDRLEN, (uint16_t)type, (uint16_t)flags, to->nlmsg_seq, to->nlmsg_pid};
	STAILQ_INSERT_TAIL(q, r, link);
	return r;
}

static struct nlattr *put(struct reply *r, int type, const void *data, size_t n)
{
	struct nlattr *a = (struct nlattr *)(r->bytes + r->head.nlmsg_len);

	if (r->head.nlmsg_len + HEAD + aligned(n) > ROOM)
		abort();
	*a = (struct nlattr){(uint16_t)(HEAD + n), (uint16_t)type};
	if (n)
		memcpy(a + 1, data, n);
	r->head.nlmsg_len += (uint32_t)(HEAD + aligned(n));
	return a;
}

static void put_u32(struct reply *r, int type, uint32_t v)
{
	put(r, type, &v, sizeof(v));
}

static void put_text(struct reply *r, int type, const char *text)
{
	put(r, type, text, strlen(text) + 1);
}

static void nest_end(struct reply *r, struct nlattr *a)
{
	a->nla_len = (uint16_t)(r->bytes + r->head.nlmsg_len - (uint8_t *)a);
}

static void put_handle(struct reply *r, uint32_t index)
{
	put_u32(r, RDMA_NLDEV_ATTR_DEV_INDEX, index);
	put_text(r, RDMA_NLDEV_ATTR_DEV_NAME, conf_get()->device[index].name);
}

/* ---- what was asked for ---- */

/* A request's numbers by their attribute; `has` is false for those that it does not have. */
struct request {
	const struct nlmsghdr *head;
	bool has[ATTRS];
	uint32_t number[ATTRS];
};

static void request_parse(struct request *q, const struct nlmsghdr *h, size_t len)
{
	size_t at = NLMSG_HDRLEN;

	*q = (struct request){.head = h};
	while (at + HEAD <= len) {
		struct nlattr a;

		memcpy(&a, (const uint8_t *)h + at, sizeof(a));
		if (a.nla_len < HEAD || at + a.nla_len > len)
			return;
		if (a.nla_type < ATTRS && a.nla_len >= HEAD + sizeof(uint32_t)) {
			q->has[a.nla_type] = true;
			memcpy(&q->number[a.nla_type], (const uint8_t *)h + at + HEAD,
				sizeof(uint32_t));
		}
		at += aligned(a.nla_len);
	}
}

static const struct hca_conf *device_of(const struct request *q)
{
	uint32_t index = q->number[RDMA_NLDEV_ATTR_DEV_INDEX];

	return q->has[RDMA_NLDEV_ATTR_DEV_INDEX] && index < conf_get()->ndevices
		       ? &conf_get()->device[index]
		       : NULL;
}

/* ---- commands: 0 or an errno ---- */

static int get_devices(struct queue *out, const struct request *q)
{
	for (uint32_t i = 0; i < conf_get()->ndevices; i++) {
		struct reply *r = reply_new(out, q->head, q->head->nlmsg_type, NLM_F_MULTI);
		const struct hca_conf *c = &conf_get()->device[i];
		const uint8_t type = IBV_NODE_CA;

		put_handle(r, i);
		put_u32(r, RDMA_NLDEV_ATTR_PORT_INDEX, c->nports);
		put(r, RDMA_NLDEV_ATTR_NODE_GUID, &c->guid, sizeof(c->guid));
		put(r, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, &type, sizeof(type));
	}
	return 0;
}

static void put_qp(struct reply *r, uint32_t qpn, uint8_t type, uint8_t state, uint32_t pid)
{
	struct nlattr *entry = put(r, RDMA_NLDEV_ATTR_RES_QP_ENTRY, NULL, 0);

	put_u32(r, RDMA_NLDEV_ATTR_RES_LQPN, qpn);
	put(r, RDMA_NLDEV_ATTR_RES_TYPE, &type, 1);
	put(r, RDMA_NLDEV_ATTR_RES_STATE, &state, 1);
	put_u32(r, RDMA_NLDEV_ATTR_RES_PID, pid);
	nest_end(r, entry);
}

/* Those of other processes, whose states are not shared. */
static void put_other_qps(struct reply *r, struct hca *h)
{
	struct shared_qp o;
	uint32_t slot = 0;

	while (shared_next(h, &slot, &o) && r->head.nlmsg_len < ROOM - 128)
		if (o.pid != getpid())
			put_qp(r, o.number, (uint8_t)o.type, IBV_QPS_RTR, (uint32_t)o.pid);
}

/* The kernel fills one answer after another, and asks the device of each QP (fill_res_qp_entry). */
static void answer_again(struct queue *out, const struct request *q, uint64_t more_qps)
{
	for (uint64_t n = more_qps / QPS_AN_ANSWER; n; n--) {
		struct reply *r = reply_new(out, q->head, q->head->nlmsg_type, NLM_F_MULTI);

		put_handle(r, q->number[RDMA_NLDEV_ATTR_DEV_INDEX]);
		nest_end(r, put(r, RDMA_NLDEV_ATTR_RES_QP, NULL, 0));
	}
}

/* A byte in "qp_lists" of the tree: a test waits for the next list. */
static void note_list(void)
{
	char path[PATH_MAX];
	int fd;

	qp_lists++;
	snprintf(path, sizeof(path), "%s/../qp_lists", conf_get()->tree);
	fd = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd >= 0 && syscall(SYS_write, fd, "+", 1) == 1)
		syscall(SYS_close, fd);
}

static int get_qps(struct queue *out, const struct request *q)
{
	struct nlattr *table;
	struct reply *r;
	struct hca *h;
	struct qp *qp;

	if (!device_of(q))
		return EINVAL;
	note_list();
	h = hca_get(q->number[RDMA_NLDEV_ATTR_DEV_INDEX]);
	r = reply_new(out, q->head, q->head->nlmsg_type, NLM_F_MULTI);
	put_handle(r, q->number[RDMA_NLDEV_ATTR_DEV_INDEX]);
	table = put(r, RDMA_NLDEV_ATTR_RES_QP, NULL, 0);
	if (h) {
		hca_lock(h);
		LIST_FOREACH (qp, &h->qps, link) {
			if (qp->obj.type == OBJ_QP)
				put_qp(r, qp->qpn, (uint8_t)qp->type, (uint8_t)qp->state,
					(uint32_t)getpid());
		}
		put_other_qps(r, h);
		hca_unlock(h);
	}
	nest_end(r, table);
	answer_again(out, q, device_of(q)->more_qps);
	return 0;
}

static uint64_t count_qps(struct hca *h)
{
	struct shared_qp o;
	uint32_t slot = 0;
	uint64_t n = 0;
	struct qp *qp;

	hca_lock(h);
	LIST_FOREACH (qp, &h->qps, link)
		n += qp->obj.type == OBJ_QP;
	while (shared_next(h, &slot, &o))
		n += o.pid != getpid();
	hca_unlock(h);
	return n;
}

/* Of queue pairs only; as for their list, of devices that this process has opened. */
static int get_counts(struct queue *out, const struct request *q)
{
	for (uint32_t i = 0; i < conf_get()->ndevices; i++) {
		struct reply *r = reply_new(out, q->head, q->head->nlmsg_type, NLM_F_MULTI);
		struct nlattr *table, *entry;
		struct hca *h = hca_get(i);
		const uint64_t n = conf_get()->device[i].more_qps + (h ? count_qps(h) : 0);

		put_handle(r, i);
		table = put(r, RDMA_NLDEV_ATTR_RES_SUMMARY, NULL, 0);
		entry = put(r, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY, NULL, 0);
		put_text(r, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, "qp");
		put(r, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, &n, sizeof(n));
		nest_end(r, entry);
		nest_end(r, table);
	}
	return 0;
}

static const struct {
	int command;
	int (*run)(struct queue *out, const struct request *q);
} commands[] = {
	{RDMA_NLDEV_CMD_GET, get_devices},
	{RDMA_NLDEV_CMD_RES_GET, get_counts},
	{RDMA_NLDEV_CMD_RES_QP_GET, get_qps},
};

static void answer(struct queue *out, const struct nlmsghdr *h, size_t len)
{
	struct request q;
	struct reply *end;
	int rc = EOPNOTSUPP;

	request_parse(&q, h, len);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (h->nlmsg_type == RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, commands[i].command))
			rc = commands[i].run(out, &q);
	if (!rc && (h->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP) {
		end = reply_new(out, h, NLMSG_DONE, NLM_F_MULTI);
		end->head.nlmsg_len += sizeof(int);
	} else if (rc || h->nlmsg_flags & NLM_F_ACK) {
		const struct nlmsgerr e = {.error = -rc, .msg = *h};

		end = reply_new(out, h, NLMSG_ERROR, 0);
		memcpy(end->bytes + NLMSG_HDRLEN, &e, sizeof(e));
		end->head.nlmsg_len += sizeof(e);
	}
}

/* ---- sockets ---- */

bool nldev_send(int fd, const struct msghdr *m, ssize_t *rc)
{
	struct reply in = {0};
	struct queue *q;
	size_t n = 0;

	pthread_mutex_lock(&lock);
	q = queue_of(fd);
	for (size_t i = 0; q && i < m->msg_iovlen; i++) {
		size_t len = m->msg_iov[i].iov_len;

		if (len > ROOM - n)
			len = ROOM - n;
		memcpy(in.bytes + n, m->msg_iov[i].iov_base, len);
		n += len;
	}
	if (q && n >= NLMSG_HDRLEN)
		answer(q, &in.head, n < in.head.nlmsg_len ? n : in.head.nlmsg_len);
	pthread_mutex_unlock(&lock);
	*rc = (ssize_t)n;
	return q != NULL;
}

static bool is_qps(const struct reply *r)
{
	return r->head.nlmsg_type == RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_RES_QP_GET) &&
	       r->head.nlmsg_flags & NLM_F_MULTI;
}

/* All responses are there when a request was sent; those that list QPs take their time. */
bool nldev_receive(int fd, struct msghdr *m, int flags, ssize_t *rc)
{
	bool listed = false;
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	struct queue *q;
	struct reply *r;

	pthread_mutex_lock(&lock);
	q = queue_of(fd);
	r = q ? STAILQ_FIRST(q) : NULL;
	if (r) {
		size_t len = r->head.nlmsg_len, capacity = m->msg_iov[0].iov_len;

		if (m->msg_iov[0].iov_base)
			memcpy(m->msg_iov[0].iov_base, r->bytes, len < capacity ? len : capacity);
		if (m->msg_name && m->msg_namelen >= sizeof(kernel))
			memcpy(m->msg_name, &kernel, sizeof(kernel));
		m->msg_namelen = sizeof(kernel);
		m->msg_controllen = 0;
		m->msg_flags = len > capacity ? MSG_TRUNC : 0;
		*rc = (ssize_t)(flags & MSG_TRUNC || len < capacity ? len : capacity);
		if (!(flags & MSG_PEEK)) {
			listed = is_qps(r);
			STAILQ_REMOVE_HEAD(q, link);
			free(r);
		}
	} else if (q) {
		errno = EAGAIN;
		*rc = -1;
	}
	pthread_mutex_unlock(&lock);
	if (listed) {
		qp_answers++;
		latency_half("list_qps");
		latency_half("list_qps");
	}
	return q != NULL;
}
