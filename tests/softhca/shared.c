/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stores the queue pairs that all processes of a run have on a device, as RDMA netlink lists them.
 * One file per device, of fixed records; a record whose process has ended is ignored.
 */
#include <signal.h>

#include "softhca.h"

enum { RECORDS_MAX = 4096 };

void shared_open(struct hca *h)
{
	char path[1024];

	h->shared_fd = -1;
	if (!h->conf->netlink)
		return;
	snprintf(path, sizeof(path), "%s/../objects.%u", conf_get()->tree, h->conf->minor);
	h->shared_fd = real_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (h->shared_fd < 0)
		perror("softhca: queue pairs");
}

/* The lock is this process', and threads have the device's mutex. */
static void file_lock(struct hca *h, short type)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET};

	while (fcntl(h->shared_fd, F_SETLKW, &l) < 0 && errno == EINTR)
		;
}

static bool record_read(struct hca *h, uint32_t slot, struct shared_qp *o)
{
	return slot <= RECORDS_MAX &&
	       pread(h->shared_fd, o, sizeof(*o), (off_t)((slot - 1) * sizeof(*o))) == sizeof(*o);
}

static void record_write(struct hca *h, uint32_t slot, const struct shared_qp *o)
{
	if (pwrite(h->shared_fd, o, sizeof(*o), (off_t)((slot - 1) * sizeof(*o))) != sizeof(*o))
		perror("softhca: queue pairs");
}

static bool exists(const struct shared_qp *o)
{
	return o->pid && (kill(o->pid, 0) == 0 || errno == EPERM);
}

void shared_add(struct hca *h, struct obj *obj, struct shared_qp *o)
{
	uint32_t slot = 1, free_slot = 0, highest = 0;
	struct shared_qp other;
	bool same = false;

	if (h->shared_fd < 0)
		return;
	o->pid = getpid();
	file_lock(h, F_WRLCK);
	for (; record_read(h, slot, &other); slot++) {
		if (!exists(&other)) {
			free_slot = free_slot ? free_slot : slot;
		} else {
			same |= other.number == o->number;
			highest = other.number > highest ? other.number : highest;
		}
	}
	if (same)
		o->number = highest + 1;
	obj->slot = free_slot ? free_slot : slot;
	record_write(h, obj->slot, o);
	file_lock(h, F_UNLCK);
}

void shared_remove(struct obj *obj)
{
	struct hca *h = obj->ctx->hca;

	if (!obj->slot || h->shared_fd < 0)
		return;
	file_lock(h, F_WRLCK);
	record_write(h, obj->slot, &(struct shared_qp){0});
	file_lock(h, F_UNLCK);
	obj->slot = 0;
}

bool shared_next(struct hca *h, uint32_t *slot, struct shared_qp *o)
{
	while (h->shared_fd >= 0 && record_read(h, ++*slot, o))
		if (exists(o))
			return true;
	return false;
}
