/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /dev/kmsg, as Documentation/ABI/testing/dev-kmsg describes it: a read returns one record, of a
 * prefix, the text and lines about the device; a new descriptor begins with earlier messages
 * unless it is moved to the end. Only with a fault `kmsg`.
 */
#include "softhca.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int reader = -1;
static int writer = -1;
static unsigned int sequence;

static void put(const char *text)
{
	char record[512];
	int n = snprintf(record, sizeof(record),
		"3,%u,%llu,-;mlx5_core 0000:3b:00.0: %s\n SUBSYSTEM=pci\n "
		"DEVICE=+pci:0000:3b:00.0\n",
		++sequence, (unsigned long long)now_ns() / 1000, text);

	if (send(writer, record, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		perror("softhca: a kernel message");
}

bool kmsg_open(int flags, int *fd)
{
	const struct model_conf *c = conf_get();
	bool any = false;
	int ends[2];

	for (uint32_t i = 0; c && i < c->nfaults; i++)
		any |= c->fault[i].kind == FAULT_KMSG;
	if (!any)
		return false;
	*fd = -1;
	if (socketpair(AF_UNIX,
		    SOCK_SEQPACKET | (flags & O_NONBLOCK ? SOCK_NONBLOCK : 0) |
			    (flags & O_CLOEXEC ? SOCK_CLOEXEC : 0),
		    0, ends))
		return true;
	pthread_mutex_lock(&lock);
	if (writer >= 0)
		real_close(writer);
	reader = *fd = ends[0];
	writer = ends[1];
	for (uint32_t i = 0; i < c->nfaults; i++)
		if (c->fault[i].kind == FAULT_KMSG)
			put(c->fault[i].text);
	pthread_mutex_unlock(&lock);
	return true;
}

bool kmsg_seek(int fd, int from)
{
	char record[512];
	bool is_kmsg;

	pthread_mutex_lock(&lock);
	is_kmsg = fd >= 0 && fd == reader;
	while (is_kmsg && from == SEEK_END && recv(fd, record, sizeof(record), MSG_DONTWAIT) > 0)
		;
	pthread_mutex_unlock(&lock);
	return is_kmsg;
}

void kmsg_write(const char *text)
{
	pthread_mutex_lock(&lock);
	if (writer >= 0)
		put(text);
	pthread_mutex_unlock(&lock);
}

/* Others are closed without the lock: a child may do that after a fork beside its holder. */
void kmsg_closing(int fd)
{
	if (fd < 0 || fd != atomic_load(&reader))
		return;
	pthread_mutex_lock(&lock);
	if (fd == reader) {
		real_close(writer);
		reader = writer = -1;
	}
	pthread_mutex_unlock(&lock);
}
