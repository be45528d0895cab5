/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How often the sniffer sees what this port sends: by the kernel's network stack, a raw-packet QP,
 * a multicast datagram, and a WRITE without a response, so that it is retransmitted. Frames go to
 * the port's own address and to a multicast group that ends at the first router.
 */
#include "traffic.h"
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <rdmadump/bytes.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAC_BYTES     6
#define FRAME_BYTES   256
#define WRITE_RETRIES 3

struct sending {
	struct sniffer *sniffer;
	const struct rd_port *port;
	enum ibv_wc_status status; /* status of the WRITE */
	struct numbered_sender sender;
	struct queue_pair q, silent;
};

/* --- a packet socket: packet(7) ----------------------------------------------------------- */

/* Looks the interface up in this socket's namespace: the netdev may be in another one. */
static int find_interface(int fd, const struct rd_netdev *netdev, struct sockaddr_ll *to)
{
	struct ifreq req = {0};

	memcpy(req.ifr_name, netdev->name, IF_NAMESIZE - 1);
	if (ioctl(fd, SIOCGIFINDEX, &req) < 0)
		return errno;
	*to = (struct sockaddr_ll){.sll_family = AF_PACKET,
		.sll_protocol = htons(NUMBERED_TYPE),
		.sll_ifindex = req.ifr_ifindex,
		.sll_halen = MAC_BYTES};
	if (ioctl(fd, SIOCGIFHWADDR, &req) < 0)
		return errno;
	memcpy(to->sll_addr, netdev->mac, MAC_BYTES);
	return memcmp(req.ifr_hwaddr.sa_data, netdev->mac, MAC_BYTES) == 0 ? 0 : ENODEV;
}

static int socket_send_all(int fd, const struct sockaddr_ll *to, const struct numbered *m)
{
	uint8_t frame[FRAME_BYTES];

	memcpy(frame, to->sll_addr, MAC_BYTES);
	memcpy(frame + MAC_BYTES, to->sll_addr, MAC_BYTES);
	rd_put_be16(frame + 2 * MAC_BYTES, NUMBERED_TYPE);
	for (uint32_t i = 0; i < m->count; i++) {
		numbered_block(frame + NUMBERED_HEAD, FRAME_BYTES - NUMBERED_HEAD, m->run, i);
		if (sendto(fd, frame, FRAME_BYTES, MSG_DONTWAIT, (const void *)to, sizeof(*to)) < 0)
			return errno;
	}
	return 0;
}

/* ENODEV if the netdev is not in this network namespace. */
static int open_socket(int *fd, const struct rd_port *port, struct sockaddr_ll *own)
{
	int rc;

	if (port->link != RD_LINK_ETHERNET)
		return EOPNOTSUPP;
	if (!port->n_netdevs)
		return ENODEV;
	/* Protocol 0: it receives nothing. */
	*fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (*fd < 0)
		return errno;
	rc = find_interface(*fd, &port->netdevs[0], own);
	if (rc)
		close(*fd);
	return rc;
}

static int socket_send(const struct rd_port *port, const struct numbered *m)
{
	char why[MAY_SEND_TEXT];
	struct sockaddr_ll to;
	int fd, rc;

	if (!port_may_send(port, why))
		return MAY_SEND_NOT;
	rc = open_socket(&fd, port, &to);
	if (rc)
		return rc;
	rc = socket_send_all(fd, &to, m);
	close(fd);
	return rc;
}

/* --- one kind each ------------------------------------------------------------------------ */

static int open_raw(void *ctx, uint32_t run)
{
	struct sending *sending = ctx;

	return numbered_sender_open(
		&sending->sender, sending->sniffer->ctx, sending->port, run, FRAME_BYTES);
}

static int send_raw(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct sending *sending = ctx;

	return numbered_send(st, &sending->sender, 0, w->m->count) == w->m->count ? 0 : EIO;
}

static int send_socket(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct sending *sending = ctx;

	(void)st;
	return socket_send(sending->port, w->m);
}

static int open_multicast(void *ctx, uint32_t run)
{
	struct sending *sending = ctx;
	char why[MAY_SEND_TEXT];
	int rc;

	(void)run;
	if (!port_may_send(sending->port, why))
		return MAY_SEND_NOT;
	rc = queue_pair_open(&sending->q, sending->sniffer->ctx, sending->port, IBV_QPT_UD);
	return rc ? rc : queue_pair_address(&sending->q, NULL);
}

static int send_multicast(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct sending *sending = ctx;

	return traffic_messages(st, &sending->q, NULL, w, TRAFFIC_BYTES);
}

/* The other queue pair stays in INIT, where it drops all that it receives. */
static int open_write(void *ctx, uint32_t run)
{
	struct sending *sending = ctx;
	int rc = queue_pair_open(&sending->q, sending->sniffer->ctx, sending->port, IBV_QPT_RC);

	sending->q.retries = WRITE_RETRIES;
	if (!rc)
		rc = queue_pair_open(
			&sending->silent, sending->sniffer->ctx, sending->port, IBV_QPT_RC);
	if (!rc)
		rc = queue_pair_connect(&sending->q, &sending->silent);
	if (!rc)
		numbered_block(sending->q.memory, TRAFFIC_BYTES, run, 0);
	return rc;
}

static int send_write(const struct rd_selftest *st, void *ctx, struct watch *w)
{
	struct sending *sending = ctx;

	return traffic_message(
		st, &sending->q, &sending->silent, TRAFFIC_BYTES, w, &sending->status);
}

static void close_all(void *ctx)
{
	struct sending *sending = ctx;

	queue_pair_close(&sending->sender.q);
	queue_pair_close(&sending->q);
	queue_pair_close(&sending->silent);
}

/* --- what is seen ------------------------------------------------------------------------- */

static void judge_write(struct rd_probe_result *r, unsigned int times, enum ibv_wc_status status)
{
	const unsigned int most = 1 + WRITE_RETRIES;

	if (!times)
		result_found(r, "rc_not_seen",
			"a WRITE of a reliable connection was not seen: captures lack what this "
			"port sends to itself");
	else if (status != IBV_WC_RETRY_EXC_ERR)
		return;
	else if (times == 1)
		result_found(r, "retransmissions_not_seen",
			"a WRITE that nobody answered was seen once, though the device sent it "
			"up to %u times: captures lack retransmissions",
			most);
	else if (times >= 2 * most)
		result_found(r, "rc_twice",
			"a WRITE that was sent up to %u times was seen %u times: captures have "
			"duplicates that are no retransmissions",
			most, times);
}

/* It has one number: how often that is seen is the number of transmissions. */
static bool try_write(
	const struct rd_selftest *st, struct rd_probe_result *r, struct sending *sending)
{
	const struct traffic t = {.name = "rc",
		.open = open_write,
		.close = close_all,
		.send = send_write,
		.ctx = sending};
	struct traffic_seen seen;
	struct numbered m;
	json_t *o;

	if (numbered_init(&m, 1) < 0)
		return false;
	seen = traffic_run(st, sending->sniffer, &t, &m);
	o = json_pack("{s:i, s:i, s:s, s:b, s:b, s:s}", "seen", m.times[0], "transmissions_most",
		1 + WRITE_RETRIES, "status", seen.error ? "" : ibv_wc_status_str(sending->status),
		"ring_full", seen.full, "queue_failed", seen.failed, "error",
		error_name(seen.error));
	result_json(r, t.name, o);
	if (traffic_known(&seen))
		judge_write(r, m.times[0], sending->status);
	numbered_free(&m);
	return traffic_known(&seen);
}

static void try_all(struct rd_selftest *st, struct rd_probe_result *r, struct sniffer *s)
{
	struct sending sending = {.sniffer = s, .port = st->port};
	const struct traffic kinds[] = {
		{"socket", "frames of a packet socket", NULL, NULL, send_socket, &sending, false,
			NULL},
		{"raw", "frames of a raw-packet QP", open_raw, close_all, send_raw, &sending, false,
			NULL},
		{"multicast", "multicast datagrams", open_multicast, close_all, send_multicast,
			&sending, false, NULL},
	};
	unsigned int known = 0;

	for (size_t i = 0; i < RD_COUNT(kinds); i++)
		known += traffic_try(st, r, s, &kinds[i], TRAFFIC_FRAMES);
	if (!probe_over(st))
		known += try_write(st, r, &sending);
	traffic_summarize(st, r, s, known, 4, "what this port sends");
}

const struct rd_probe rd_probe_send = {.name = "send",
	.question = "how often each kind of frames that this port sends is seen",
	.objects = "two of each: PD, MR, CQ, QP; flow, AH, packet socket",
	.frames = TRAFFIC_TRIES * (3 * TRAFFIC_FRAMES + 1 + WRITE_RETRIES),
	.needs = RD_PROBE_SNIFFER | RD_PROBE_SENDER | RD_PROBE_ACTIVE,
	.look = try_all};
