/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stores what all processes of a run have on a device: queue pairs, as RDMA netlink lists them, and
 * sniffer flows, whose number is limited. One file per device, of fixed records; a record whose
 * process has ended is ignored, unless the device is to keep the objects of killed processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "softhca.h"

enum { RECORDS_MAX = 4096 };

static bool keeps_file(const struct hca_conf *c)
{
	return c->qp_counter != QP_COUNTER_NO_NETLINK || c->all_sniffers != UINT32_MAX;
}

void shared_open(struct hca *h)
{
	char path[1024];

	h->shared_fd = -1;
	if (!keeps_file(h->conf))
		return;
	snprintf(path, sizeof(path), "%s/../objects.%u", conf_get()->tree, h->conf->minor);
	h->shared_fd = real_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (h->shared_fd < 0)
		perror("softhca: shared objects");
}

/* The lock is this process', and threads have the device's mutex. */
static void file_lock(struct hca *h, short type)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET};

	while (fcntl(h->shared_fd, F_SETLKW, &l) < 0 && errno == EINTR)
		;
}

static bool record_read(struct hca *h, uint32_t slot, struct shared_object *o)
{
	return slot <= RECORDS_MAX &&
	       pread(h->shared_fd, o, sizeof(*o), (off_t)((slot - 1) * sizeof(*o))) == sizeof(*o);
}

static void record_write(struct hca *h, uint32_t slot, const struct shared_object *o)
{
	if (pwrite(h->shared_fd, o, sizeof(*o), (off_t)((slot - 1) * sizeof(*o))) != sizeof(*o))
		perror("softhca: shared objects");
}

static bool exists(const struct shared_object *o)
{
	return o->pid && (kill(o->pid, 0) == 0 || errno == EPERM);
}

int shared_add(struct hca *h, struct obj *obj, struct shared_object *o)
{
	uint32_t slot = 1, free_slot = 0, same = 0, highest = 0;
	struct shared_object other;

	if (h->shared_fd < 0)
		return 0;
	o->pid = getpid();
	file_lock(h, F_WRLCK);
	for (; record_read(h, slot, &other); slot++) {
		if (!exists(&other)) {
			free_slot = free_slot ? free_slot : slot;
		} else if (other.type == o->type) {
			same += other.number == o->number;
			highest = other.number > highest ? other.number : highest;
		}
	}
	if (o->type == OBJ_QP && same)
		o->number = highest + 1;
	if (!free_slot)
		free_slot = slot;
	if (o->type == OBJ_FLOW && same >= h->conf->all_sniffers) {
		free_slot = 0;
	} else {
		record_write(h, free_slot, o);
		obj->slot = free_slot;
	}
	file_lock(h, F_UNLCK);
	return free_slot ? 0 : EBUSY;
}

void shared_remove(struct obj *obj)
{
	struct hca *h = obj->ctx->hca;

	if (!obj->slot || h->shared_fd < 0)
		return;
	file_lock(h, F_WRLCK);
	record_write(h, obj->slot, &(struct shared_object){0});
	file_lock(h, F_UNLCK);
	obj->slot = 0;
}

bool shared_next(struct hca *h, uint32_t *slot, struct shared_object *o)
{
	while (h->shared_fd >= 0 && record_read(h, ++*slot, o))
		if (exists(o))
			return true;
	return false;
}
