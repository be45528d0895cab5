/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes with queue pairs, for tests/e2e/owners.sh and tests/vm/owners*.sh.
 *
 *     owned_qps_tool DEVICE LONG SHORT [PEER]
 *
 * LONG processes keep one queue pair each until standard input ends. Meanwhile SHORT others at a
 * time have one for 100 ms each and end. Each process has its number as RANK in its environment.
 * Prints "long" or "short", pid, RANK and number of the queue pair, one line each.
 *
 * With PEER, the address of a machine where it runs as well, or "listen" there, each process waits
 * for the one of the same number, and their queue pairs exchange one message each way.
 */
#include "owned_qps_meet.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHORT_US  100000
#define SHORT_MAX 200

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			return ibv_open_device(list[i]);
	return NULL;
}

/* `socket`: to its peer, -1: it has none. */
static int hold(const char *device, bool is_short, int end, int socket)
{
	struct ibv_context *context = open_device(device);
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
	struct ibv_cq *cq = pd ? ibv_create_cq(context, 16, NULL, NULL, 0) : NULL;
	struct ibv_qp_init_attr attr = {.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = cq ? ibv_create_qp(pd, &attr) : NULL;
	struct pollfd wait = {.fd = end, .events = POLLIN};

	if (!qp) {
		fprintf(stderr, "owned_qps_tool: no queue pair: %s\n", strerror(errno));
		return 1;
	}
	printf("%s %d %s %u\n", is_short ? "short" : "long", (int)getpid(), getenv("RANK"),
		qp->qp_num);
	fflush(stdout);
	if (socket >= 0 && talk(socket, context, pd, cq, qp))
		return 1;
	if (is_short)
		usleep(SHORT_US);
	else if (poll(&wait, 1, -1) < 0)
		perror("poll");
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	ibv_close_device(context);
	return 0;
}

/* One process: `end` is readable at its end, or if it has not met its peer until then. */
static int process(const char *device, bool is_short, int end, const char *peer)
{
	int socket = peer ? meet(peer, (unsigned int)atoi(getenv("RANK")), end) : -1;

	return peer && socket < 0 ? 0 : hold(device, is_short, end, socket);
}

/* Executed once more, so that the environment is its own from the start. */
static void start(char **argv, unsigned int rank, bool is_short, int end)
{
	char number[16], fd[16];

	if (fork())
		return;
	snprintf(number, sizeof(number), "%u", rank);
	snprintf(fd, sizeof(fd), "%d", end);
	setenv("RANK", number, 1);
	execl("/proc/self/exe", argv[0], "process", argv[1], is_short ? "short" : "long", fd,
		argv[4], (char *)NULL);
	_exit(1);
}

int main(int argc, char **argv)
{
	unsigned int n_long, n_short, rank = 0;
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	int held[2], status = 0;

	if (argc > 4 && !strcmp(argv[1], "process"))
		return process(argv[2], !strcmp(argv[3], "short"), atoi(argv[4]), argv[5]);
	if (argc < 4 || argc > 5 || pipe(held))
		return 2;
	/* Closed in all processes when this one closes it. */
	fcntl(held[1], F_SETFD, FD_CLOEXEC);
	n_long = (unsigned int)atoi(argv[2]);
	n_short = (unsigned int)atoi(argv[3]);
	while (rank < n_long)
		start(argv, rank++, false, held[0]);
	for (unsigned int i = 0; i < n_short; i++)
		start(argv, rank++, true, STDIN_FILENO);
	/* One that ended is followed by another one, until the input ends. */
	while (rank < SHORT_MAX && poll(&input, 1, 0) == 0 && wait(&status) > 0 && !status)
		start(argv, rank++, true, STDIN_FILENO);
	while (poll(&input, 1, -1) == 0)
		;
	close(held[0]);
	close(held[1]);
	while (wait(&status) > 0)
		;
	return 0;
}
