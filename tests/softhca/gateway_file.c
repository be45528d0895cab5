/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command gateway of each device as the file `config` of its PCI function. Its state is in a
 * file of the tree, since the process that uses it is not the one that captures, and since it
 * outlives both. Nothing is kept open, and a killed process leaves a complete state.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "gateway.h"
#include "softhca.h"

enum { POLL_NS = 1000000 };

static const struct {
	uint32_t part_id;
	uint16_t chip;
} chips[] = {{0x1011, 0x1ff}, {0x1013, 0x209}, {0x1015, 0x20b}, {0x1017, 0x20d}, {0x1019, 0x20d},
	{0x101b, 0x20f}, {0x101d, 0x212}, {0x101f, 0x216}, {0x1021, 0x218}, {0x1023, 0x21e},
	{0x1025, 0x224}, {0xa2d2, 0x211}, {0xa2d6, 0x214}, {0xa2d9, 0x21c}, {0xa2dc, 0x21c},
	{0xa2df, 0x224}};

static struct gw_conf confs[MAX_DEVICES];
static struct stat files[MAX_DEVICES]; /* of the configuration spaces */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_confs(void)
{
	const struct model_conf *c = conf_get();
	char path[1024];

	for (uint32_t i = 0; c && i < c->ndevices; i++) {
		const struct hca_conf *d = &c->device[i];

		for (size_t k = 0; k < ARRAY_SIZE(chips); k++)
			if (chips[k].part_id == d->device_id)
				confs[i].chip = chips[k].chip;
		if (!gw_conf_parse(&confs[i], d->gateway))
			fprintf(stderr, "softhca: --dev: gateway '%s' is not known\n", d->gateway);
		snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/config", c->tree, d->pci);
		if (syscall(SYS_newfstatat, AT_FDCWD, path, &files[i], 0) < 0)
			memset(&files[i], 0, sizeof(files[i]));
	}
}

static int device_of(int fd)
{
	const struct model_conf *c = conf_get();
	struct stat st;

	if (!c || syscall(SYS_fstat, fd, &st) < 0)
		return -1;
	pthread_once(&once, read_confs);
	for (uint32_t i = 0; i < c->ndevices; i++)
		if (files[i].st_ino && files[i].st_ino == st.st_ino && files[i].st_dev == st.st_dev)
			return (int)i;
	return -1;
}

static int state_open(int device, int flags)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/../gateway.%d", conf_get()->tree, device);
	return real_open(path, flags | O_CLOEXEC, 0);
}

/* False: the state has never been written. */
static bool state_read(int fd, struct gw_state *s)
{
	if (syscall(SYS_pread64, fd, s, sizeof(*s), 0) == sizeof(*s))
		return true;
	memset(s, 0, sizeof(*s));
	return false;
}

/* The lock ends with the descriptor or the process. One write is not interrupted by a signal. */
static int state_lock(int device, struct gw_state *s)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = state_open(device, O_RDWR);

	if (fd < 0)
		return -1;
	while (fcntl(fd, F_SETLKW, &l) < 0 && errno == EINTR)
		;
	state_read(fd, s);
	return fd;
}

static void state_unlock(int fd, const struct gw_state *s)
{
	if (syscall(SYS_pwrite64, fd, s, sizeof(*s), 0) != sizeof(*s))
		perror("softhca: gateway");
	real_close(fd);
}

static ssize_t done(int rc)
{
	if (!rc)
		return 4;
	if (rc < 0)
		return 0;
	errno = rc;
	return -1;
}

/* One word, as the program uses it. False: it is another file. Else *rc is not positive. */
static bool transfer(int fd, bool writes, uint32_t *word, size_t n, off_t at, ssize_t *rc)
{
	int device = device_of(fd), file;
	struct gw_state s;
	unsigned int where = (unsigned int)at;

	if (device < 0)
		return false;
	*rc = 0;
	file = n == 4 && !(at & 3) ? state_lock(device, &s) : -1;
	if (file < 0)
		return true;
	*rc = done(writes ? gw_write(&s, &confs[device], getpid(), where, *word)
			  : gw_read(&s, &confs[device], getpid(), where, word));
	state_unlock(file, &s);
	return true;
}

bool gateway_pread(int fd, void *to, size_t n, off_t at, ssize_t *rc)
{
	uint32_t word;
	bool ours = transfer(fd, false, &word, n, at, rc);

	if (ours && *rc > 0) {
		word = htole32(word);
		memcpy(to, &word, sizeof(word));
	}
	return ours;
}

bool gateway_pwrite(int fd, const void *from, size_t n, off_t at, ssize_t *rc)
{
	uint32_t word = 0;

	memcpy(&word, from, n < sizeof(word) ? n : sizeof(word));
	word = le32toh(word);
	return transfer(fd, true, &word, n, at, rc);
}

/* Of the process that uses the gateway only: its pauses are between two readings, whose number
 * alone decides how long something lasts. */
bool gateway_hurry(void)
{
	const struct model_conf *c = conf_get();
	char name[16] = "";

	if (!c || prctl(PR_GET_NAME, name) < 0 || strcmp(name, "rdmadump-icmd") != 0)
		return false;
	pthread_once(&once, read_confs);
	for (uint32_t i = 0; i < c->ndevices; i++)
		if (confs[i].hurry)
			return true;
	return false;
}

/* ---- the device's part ---- */

void gateway_poll(struct hca *h, uint64_t now)
{
	if (now - h->gateway.polled_ns < POLL_NS)
		return;
	h->gateway.polled_ns = now;
	gateway_follow(h);
}

void gateway_follow(struct hca *h)
{
	struct gw_state s;
	int fd;

	fd = state_open((int)h->conf->minor, O_RDONLY);
	if (fd < 0)
		return;
	if (state_read(fd, &s) && memcmp(s.rule, h->gateway.rule, sizeof(s.rule)) != 0) {
		memcpy(h->gateway.rule, s.rule, sizeof(s.rule));
		hca_retarget(h);
	}
	real_close(fd);
}

/*
 * Receive queues, send queues and queue pairs are numbered apart. A raw-packet queue pair has its
 * send queue's number, and without one its receive queue's, which is no queue pair of the command.
 */
static bool is_named(const struct gw_rule *r, const struct qp *qp)
{
	bool has_number = qp->type != IBV_QPT_RAW_PACKET || qp->sq_count;

	return r->attached && r->qpn == qp->qpn && has_number;
}

bool gateway_wants(const struct port *p, const struct qp *qp)
{
	const struct gw_rule *r = p->hca->gateway.rule[p->num - 1];

	if (confs[p->hca->conf->minor].both && !(r[0].attached && r[1].attached))
		return false;
	return is_named(&r[0], qp) || is_named(&r[1], qp);
}

/* Sent is what has the port's own LID or MAC address as source. */
bool gateway_copies(const struct port *p, const struct qp *qp, const struct frame *f)
{
	const struct gw_rule *r = p->hca->gateway.rule[p->num - 1];
	bool sent;

	if (f->len < 14)
		return false;
	sent = p->conf->ib ? ((uint32_t)f->data[6] << 8 | f->data[7]) == p->conf->lid
			   : !memcmp(f->data + 6, p->conf->mac, 6);
	if (f->origin != ORIGIN_UNKNOWN)
		sent = f->origin == ORIGIN_SENT;
	return is_named(&r[!sent], qp);
}

void gateway_qp_gone(struct hca *h, uint32_t qpn)
{
	struct gw_state s;
	bool known = false;
	int fd;

	for (uint32_t i = 0; i < h->conf->nports; i++)
		known |= gateway_wants(&h->port[i], &(struct qp){.qpn = qpn});
	if (!known)
		return;
	fd = state_lock((int)h->conf->minor, &s);
	if (fd < 0)
		return;
	gw_qp_gone(&s, &confs[h->conf->minor], qpn);
	state_unlock(fd, &s);
}
