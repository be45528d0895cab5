/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Netlink sockets through libnl-3. */
#include "netlink.h"
#include <errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#define WAIT_SECONDS 5

static const char *protocol_name(int protocol)
{
	switch (protocol) {
	case NETLINK_RDMA:
		return "RDMA";
	case NETLINK_ROUTE:
		return "route";
	default:
		return "generic";
	}
}

int rd_netlink_open(struct nl_sock **out, int protocol, struct rd_error *err)
{
	const struct timeval wait = {.tv_sec = WAIT_SECONDS};
	struct nl_sock *nl = nl_socket_alloc();

	*out = NULL;
	if (!nl)
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for a netlink socket");
	errno = 0;
	if (nl_connect(nl, protocol) < 0) {
		rd_fail(err, RD_CLASS_DEVICE, errno,
			protocol == NETLINK_RDMA ? "load the driver (modprobe ib_core)" : NULL,
			"%s netlink", protocol_name(protocol));
		nl_socket_free(nl);
		return -1;
	}
	setsockopt(nl_socket_get_fd(nl), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	/* By default, receiving a message larger than a page fails. */
	nl_socket_enable_msg_peek(nl);
	*out = nl;
	return 0;
}

struct answer {
	rd_netlink_fn *fn;
	void *ctx;
	int error; /* the kernel's error */
	bool done, unwanted;
};

static int on_valid(struct nl_msg *msg, void *arg)
{
	struct answer *a = arg;
	struct nlmsghdr *h = nlmsg_hdr(msg);

	a->unwanted = a->fn && a->fn(h, h->nlmsg_len, a->ctx) > 0;
	return a->unwanted ? NL_STOP : NL_OK;
}

static int on_done(struct nl_msg *msg, void *arg)
{
	(void)msg;
	((struct answer *)arg)->done = true;
	return NL_OK;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *error, void *arg)
{
	struct answer *a = arg;

	(void)from;
	a->error = -error->error;
	a->done = true;
	return NL_STOP;
}

static struct nl_cb *answers_to(struct answer *a)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);

	if (!cb)
		return NULL;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, a);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_done, a);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_done, a);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, a);
	return cb;
}

int rd_netlink_request(
	struct nl_sock *nl, struct nl_msg *msg, rd_netlink_fn *fn, void *ctx, struct rd_error *err)
{
	struct answer a = {.fn = fn, .ctx = ctx};
	struct nl_cb *cb = answers_to(&a);
	int rc = cb && msg ? nl_send_auto(nl, msg) : -NLE_NOMEM;

	nlmsg_free(msg);
	while (rc >= 0 && !a.done && !a.unwanted)
		rc = nl_recvmsgs(nl, cb);
	nl_cb_put(cb);
	if (a.error)
		return rd_fail(err, RD_CLASS_DEVICE, a.error, NULL, "netlink request");
	if (!a.done)
		return rd_fail(err, RD_CLASS_DEVICE, 0, NULL, "netlink request: %s",
			rc < 0 ? nl_geterror(rc) : "the replies are incomplete");
	return 0;
}

int rd_netlink_join(struct nl_sock *nl, unsigned int group)
{
	nl_socket_disable_seq_check(nl);
	nl_socket_set_nonblocking(nl);
	return nl_socket_add_memberships(nl, (int)group, 0) < 0 ? -1 : 0;
}

void rd_netlink_take(struct nl_sock *nl, rd_netlink_fn *fn, void *ctx)
{
	struct answer a = {.fn = fn, .ctx = ctx};
	struct nl_cb *cb = answers_to(&a);

	while (cb && nl_recvmsgs(nl, cb) >= 0)
		;
	nl_cb_put(cb);
}
