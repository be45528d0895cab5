/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends frames into a netdev as fast as packet(7) does, or at a rate: NETDEV COUNT BYTES
 * [FRAMES/S]. The last 4 bytes of the first 46 number them. Prints frames and seconds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH	 64
#define LONGEST	 9000
#define SHORTEST 60

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int fail(const char *what)
{
	fprintf(stderr, "blast: %s: %s\n", what, strerror(errno));
	return 1;
}

static int open_netdev(const char *name)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(name)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || !to.sll_ifindex || bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -1;
	setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on));
	return fd;
}

/* Returns how many were sent. */
static unsigned long send_all(
	int fd, struct mmsghdr *msgs, uint8_t (*frames)[LONGEST], unsigned long count, double rate)
{
	double begun = seconds();
	unsigned long sent = 0;

	while (sent < count) {
		unsigned int n = count - sent < BATCH ? (unsigned int)(count - sent) : BATCH;
		int done;

		while (rate > 0 && (double)sent > (seconds() - begun) * rate)
			;
		for (unsigned int i = 0; i < n; i++) {
			uint32_t number = htonl((uint32_t)(sent + i));

			memcpy(frames[i] + 42, &number, sizeof(number));
		}
		done = sendmmsg(fd, msgs, n, 0);
		if (done > 0)
			sent += (unsigned int)done;
		else if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR)
			break;
	}
	return sent;
}

int main(int argc, char **argv)
{
	static uint8_t frames[BATCH][LONGEST];
	static const uint8_t header[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5};
	struct mmsghdr msgs[BATCH] = {0};
	struct iovec iov[BATCH];
	unsigned long count, len, sent;
	double begun, rate;
	int fd;

	if (argc < 4)
		return fprintf(stderr, "usage: blast NETDEV COUNT BYTES [FRAMES/S]\n"), 1;
	count = strtoul(argv[2], NULL, 10);
	len = strtoul(argv[3], NULL, 10);
	rate = argc > 4 ? strtod(argv[4], NULL) : 0;
	if (len < SHORTEST || len > LONGEST) {
		errno = EMSGSIZE;
		return fail(argv[3]);
	}
	fd = open_netdev(argv[1]);
	if (fd < 0)
		return fail(argv[1]);
	for (int i = 0; i < BATCH; i++) {
		memcpy(frames[i], header, sizeof(header));
		iov[i] = (struct iovec){frames[i], len};
		msgs[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
	}
	begun = seconds();
	sent = send_all(fd, msgs, frames, count, rate);
	printf("%lu %.3f\n", sent, seconds() - begun);
	close(fd);
	return sent == count ? 0 : fail("sendmmsg");
}
