/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The vendor's ibdump as a source: it writes a classic pcap file into a FIFO, with ERF records on
 * InfiniBand ports, and timestamps of the host's clock in microseconds.
 */
#include "trailer_watch.h"
#include <errno.h>
#include <poll.h>
#include <rdmadump/bytes.h>
#include <rdmadump/clock.h>
#include <rdmadump/format.h>
#include <rdmadump/ibdump.h>
#include <rdmadump/log.h>
#include <rdmadump/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PCAP_HEADER   24
#define MAX_FRAME_LEN 65536
#define OWN_END_NS    UINT64_C(1000000000) /* from the end of its output to its own */
#define LAST_WAIT_MS  200		   /* one receive() after stop() */
/* All of them: longer than ibdump may take to end. */
#define LAST_TOTAL_NS ((RD_IBDUMP_END_MS + 1500) * UINT64_C(1000000))

struct ibdump {
	struct rd_source src;
	struct rd_ibdump_process *process;
	uint8_t head[PCAP_HEADER]; /* until the reader is opened, which needs it whole */
	size_t n_head, head_at;
	struct rd_reader *reader;
	bool stopped, output_ended;
	uint64_t output_ended_ns;
	struct rd_error damage; /* of its output */
	struct rd_error left;	/* how it ended, if that is an error */
	uint64_t deadline_ns;	/* after stop() */
	struct trailer_watch trailer;
	uint8_t *stage; /* frames that were completed */
	size_t staged;
	char name[RD_NAME_MAX + 8], description[160], hardware[400];
};

/* --- its output --------------------------------------------------------------------------- */

/* A FIFO that no process has opened for writing yet reads as if it were at its end. */
static bool has_no_writer_yet(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 0;
}

static ssize_t fifo_read(struct ibdump *d, uint8_t *buf, size_t capacity, struct rd_error *err)
{
	int fd = rd_ibdump_fifo(d->process);
	ssize_t n;

	do
		n = read(fd, buf, capacity);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		return n;
	if (n < 0 && errno != EAGAIN)
		return rd_fail(err, RD_CLASS_DEVICE, errno, NULL, "cannot read the FIFO of ibdump");
	if (n < 0 || (has_no_writer_yet(fd) && !rd_ibdump_ended(d->process)))
		return RD_READ_LATER;
	d->output_ended = true;
	return 0;
}

/* rd_read_fn */
static ssize_t next_bytes(void *ctx, uint8_t *buf, size_t capacity, struct rd_error *err)
{
	struct ibdump *d = ctx;
	size_t n = d->n_head - d->head_at;

	if (!n)
		return fifo_read(d, buf, capacity, err);
	n = n < capacity ? n : capacity;
	memcpy(buf, d->head + d->head_at, n);
	d->head_at += n;
	return (ssize_t)n;
}

static int fail_output(const struct ibdump *d, const char *what, struct rd_error *err)
{
	return rd_fail(err, RD_CLASS_PARTIAL, 0,
		"is it the vendor's ibdump? it is the one found first in PATH; or use --sniffer "
		"icmd",
		"ibdump on %s %s", d->name, what);
}

static int fail_garbage(const struct ibdump *d, struct rd_error *err)
{
	return fail_output(d, "does not write a capture file", err);
}

static bool is_pcap(const uint8_t *p)
{
	static const uint32_t magics[] = {0xa1b2c3d4, 0xa1b23c4d}; /* micro- and nanoseconds */

	for (unsigned int i = 0; i < 2; i++)
		if (rd_le32(p) == magics[i] || rd_be32(p) == magics[i])
			return true;
	return false;
}

/* 1: the reader is open; 0: not yet, or there was no output at all; -1. */
static int open_reader(struct ibdump *d, struct rd_error *err)
{
	ssize_t n = 1;

	while (d->n_head < PCAP_HEADER && n > 0) {
		n = fifo_read(d, d->head + d->n_head, PCAP_HEADER - d->n_head, err);
		if (n > 0)
			d->n_head += (size_t)n;
	}
	if (n < 0 && n != RD_READ_LATER)
		return -1;
	if (d->n_head < PCAP_HEADER)
		return d->output_ended && d->n_head ? fail_garbage(d, err) : 0;
	if (!is_pcap(d->head))
		return fail_garbage(d, err);
	return rd_reader_open(&d->reader, next_bytes, d, "ibdump", err) < 0 ? -1 : 1;
}

/* --- frames ------------------------------------------------------------------------------- */

static void complete(struct ibdump *d, struct rd_frame *f)
{
	unsigned int bytes = rd_trailer_missing(f->data, f->len);
	uint8_t *copy = d->stage + d->staged;

	if (!bytes || f->caplen != f->len || f->len > MAX_FRAME_LEN)
		return;
	memcpy(copy, f->data, f->len);
	memset(copy + f->len, 0, bytes);
	f->data = copy;
	f->len += bytes;
	f->caplen += bytes;
	d->staged += f->len;
}

/* Keeps those of the port's link layer. */
static int take(struct ibdump *d, struct rd_frame *frames, unsigned int n, struct rd_error *err)
{
	unsigned int known;
	const struct rd_iface *ifaces = rd_reader_ifaces(d->reader, &known);

	for (unsigned int i = 0; i < n; i++) {
		if (frames[i].iface >= known || ifaces[frames[i].iface].link != d->src.iface.link)
			return fail_output(
				d, "writes frames of another link layer than the port's", err);
		frames[i].iface = 0;
	}
	if (d->src.iface.link != RD_LINK_INFINIBAND)
		return (int)n;
	trailer_watch_take(&d->trailer, &d->src.local, frames, n);
	d->staged = 0;
	for (unsigned int i = 0; i < n; i++)
		complete(d, &frames[i]);
	return (int)n;
}

/* Its output has ended: ends the program too, if it does not end by itself. */
static void end_soon(struct ibdump *d)
{
	uint64_t now = rd_monotonic_ns();

	if (!d->output_ended_ns)
		d->output_ended_ns = now;
	else if (now - d->output_ended_ns >= OWN_END_NS)
		rd_ibdump_stop(d->process);
}

/* RD_SOURCE_END or -1 once the program has ended; 0 before. */
static int no_more(struct ibdump *d, struct rd_error *err)
{
	if (!rd_ibdump_ended(d->process)) {
		if (d->output_ended)
			end_soon(d);
		return d->stopped && rd_monotonic_ns() >= d->deadline_ns ? RD_SOURCE_END : 0;
	}
	if (rd_ibdump_result(d->process, &d->left) < 0) {
		*err = d->left;
		return -1;
	}
	/* Of a program that was ended the last record may be incomplete. */
	if (d->stopped || d->damage.class == RD_CLASS_NONE) {
		if (!d->stopped)
			rd_log(RD_LOG_WARNING, "%s: ibdump has ended", d->name);
		return RD_SOURCE_END;
	}
	*err = d->damage;
	return -1;
}

/* After stop(): waits for what ibdump still writes, and for its end. */
static void wait_for_last(const struct ibdump *d)
{
	struct pollfd p[] = {
		{.fd = d->output_ended ? -1 : rd_ibdump_fifo(d->process), .events = POLLIN},
		{.fd = rd_ibdump_event(d->process), .events = POLLIN}};

	poll(p, 2, LAST_WAIT_MS);
}

/* 0: none now, or no more. */
static int read_frames(struct ibdump *d, struct rd_frame *frames, unsigned int max)
{
	int n = 1;

	if (d->damage.class != RD_CLASS_NONE)
		return 0;
	if (!d->reader)
		n = open_reader(d, &d->damage);
	if (n > 0)
		n = rd_reader_next(d->reader, frames, max < RD_BATCH ? max : RD_BATCH, &d->damage);
	return n > 0 ? n : 0;
}

static int ibdump_receive(
	struct rd_source *src, struct rd_frame *frames, unsigned int max, struct rd_error *err)
{
	struct ibdump *d = (struct ibdump *)src;

	for (;;) {
		int n = read_frames(d, frames, max);

		if (n > 0)
			return take(d, frames, (unsigned int)n, err);
		/* The program still runs, but its output cannot be read any more. */
		if (d->damage.class != RD_CLASS_NONE && !d->output_ended && !d->stopped) {
			*err = d->damage;
			return -1;
		}
		n = no_more(d, err);
		if (n || !d->stopped)
			return n;
		wait_for_last(d);
	}
}

static void ibdump_release(struct rd_source *src)
{
	(void)src;
}

/* --- life --------------------------------------------------------------------------------- */

static int ibdump_start(struct rd_source *src, struct rd_error *err)
{
	(void)src;
	(void)err;
	return 0;
}

/* When its output has ended, its end is what is left to wait for. */
static int ibdump_arm(struct rd_source *src, struct rd_error *err)
{
	struct ibdump *d = (struct ibdump *)src;

	(void)err;
	src->recheck_ns = d->output_ended ? rd_monotonic_ns() + 100000000 : 0;
	return 0;
}

static int ibdump_service(struct rd_source *src, struct rd_error *err)
{
	(void)src;
	(void)err;
	return 0;
}

static void ibdump_stop(struct rd_source *src)
{
	struct ibdump *d = (struct ibdump *)src;

	if (d->stopped)
		return;
	d->stopped = true;
	d->deadline_ns = rd_monotonic_ns() + LAST_TOTAL_NS;
	rd_ibdump_stop(d->process);
}

/* A capture that has enough frames does not receive until the end. */
static void see_the_end(struct ibdump *d)
{
	struct rd_frame frames[RD_BATCH];
	struct rd_error err;

	while (ibdump_receive(&d->src, frames, RD_BATCH, &err) > 0)
		;
}

static void ibdump_stats(struct rd_source *src, struct rd_source_stats *stats)
{
	struct ibdump *d = (struct ibdump *)src;

	if (d->stopped)
		see_the_end(d);
	*stats = (struct rd_source_stats){.missing = "ibdump does not count what it loses",
		.stop_error = d->left.class == RD_CLASS_NONE ? NULL : &d->left};
}

static bool ibdump_trailers(const struct rd_source *src, struct rd_trailers of[RD_DIRECTIONS])
{
	if (src->iface.link != RD_LINK_INFINIBAND)
		return false;
	trailer_watch_read(&((struct ibdump *)(uintptr_t)src)->trailer, of);
	return true;
}

static void ibdump_close(struct rd_source *src)
{
	struct ibdump *d = (struct ibdump *)src;

	rd_ibdump_close(d->process);
	rd_reader_close(d->reader);
	trailer_watch_fini(&d->trailer);
	free(d->stage);
	free(d);
}

static const struct rd_source_ops ibdump_ops = {
	.name = "ibdump",
	.start = ibdump_start,
	.receive = ibdump_receive,
	.release = ibdump_release,
	.arm = ibdump_arm,
	.service = ibdump_service,
	.stop = ibdump_stop,
	.stats = ibdump_stats,
	.close = ibdump_close,
	.trailers = ibdump_trailers,
};

static void describe(struct ibdump *d, const struct rd_verbs_config *config)
{
	const struct rd_device *device = config->device;
	const char *kind = config->port->link == RD_LINK_INFINIBAND ? "InfiniBand" : "RoCE";
	const char *rate = config->port->rate[0] ? config->port->rate : "unknown rate";

	snprintf(d->src.title, sizeof(d->src.title), "%s port %u (%s, %s)", device->name,
		config->port->num, kind, rate);
	snprintf(d->src.details, sizeof(d->src.details), "by ibdump");
	snprintf(d->description, sizeof(d->description),
		"%s, %s; captured by ibdump, timestamps of the host's clock in microseconds", kind,
		rate);
	snprintf(d->hardware, sizeof(d->hardware), "%s %s%s%s, firmware %s, driver %s%s%s",
		device->name, device->hca_type, device->board_id[0] ? " PSID " : "",
		device->board_id, device->fw[0] ? device->fw : "unknown",
		device->driver[0] ? device->driver : "unknown", device->pci[0] ? ", PCI " : "",
		device->pci);
	d->src.iface = (struct rd_iface){.link = config->port->link,
		.name = d->name,
		.description = d->description,
		.hardware = d->hardware,
		.speed = config->port->speed,
		.max_frame = MAX_FRAME_LEN};
}

int rd_ibdump_source_open(
	struct rd_source **s, const struct rd_verbs_config *config, struct rd_error *err)
{
	const struct rd_ibdump_config how = {config->device, config->port, config->log2_buffers};
	struct ibdump *d = calloc(1, sizeof(*d));

	if (d)
		d->stage = malloc((size_t)RD_BATCH * (MAX_FRAME_LEN + RD_TRAILER_MAX));
	if (!d || !d->stage) {
		free(d);
		return rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "memory for the source");
	}
	d->src.ops = &ibdump_ops;
	snprintf(d->name, sizeof(d->name), "%s:%u", config->device->name, config->port->num);
	trailer_watch_init(&d->trailer, d->name);
	rd_port_addresses(&d->src.local, config->sysroot, config->device, config->port);
	describe(d, config);
	if (rd_ibdump_open(&d->process, &how, err) < 0) {
		ibdump_close(&d->src);
		return -1;
	}
	d->src.frame_fd = rd_ibdump_fifo(d->process);
	d->src.event_fd = rd_ibdump_event(d->process);
	d->src.idle_polls = 1;
	d->src.port_sniffer = true;
	*s = &d->src;
	return 0;
}
