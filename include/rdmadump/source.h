/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sources of frames. Every source is this struct with its own operations. */
#pragma once

#include <rdmadump/device.h>
#include <rdmadump/format.h>
#include <rdmadump/growth.h>
#include <rdmadump/log.h>
#include <rdmadump/trailer.h>

#define RD_BATCH      64 /* limit of frames per receive() */
#define RD_SOURCE_END (-2)

#define RD_SOURCE_IFACES 64 /* limit of interfaces per source */

struct rd_source;

/* The clock of the timestamps; tcpdump has the same names (pcap-tstamp(7)). */
enum rd_stamp_type {
	RD_STAMPS_AUTO, /* the adapter's if the device supports it, else the host's */
	RD_STAMPS_HOST,
	RD_STAMPS_ADAPTER,
};

/* Statistics of a source. Counts are frames since start(). */
/* The name that frames longer than the receive buffers have among a source's counters. */
#define RD_TOO_LONG "longer_than_buffer"

struct rd_source_stats {
	uint64_t lost;	     /* lost before the source, at least: the sum of `loss` */
	uint64_t too_long;   /* part of `lost`, always exact: longer than the receive buffers */
	bool loss_known;     /* whether `lost` is exact */
	const char *missing; /* why more frames may be missing than the counters show; NULL or "":
				no reason */
	/* The counters include other users of the device, and do not include every loss. */
	bool loss_shared;
	unsigned int loss_delay_ms;	   /* longest delay of the counters */
	const struct rd_error *stop_error; /* what stop() could not undo; NULL: nothing */
	uint64_t gaps;			   /* times that the queue failed */
	uint64_t left_out; /* not delivered: of another link type than that of the output */
	unsigned int n_loss;
	struct {
		const char *name; /* "out_of_buffer"; static */
		struct rd_growth frames;
		uint64_t least; /* lower bound, if the number is unknown */
	} loss[RD_LOSS_COUNTERS];
};

struct rd_source_ops {
	const char *name;
	/* Starts the arrival of frames. Returns 0 or -1. */
	int (*start)(struct rd_source *s, struct rd_error *err);
	/*
	 * Returns up to max (<= RD_BATCH) frames, borrowed until release(). Never blocks (after
	 * stop() 0.2 s at most, for frames still in the kernel, or until a program that captures
	 * has ended: 6 s at most). Returns their number, -1 on a
	 * fault that ends the source, RD_SOURCE_END when there are no more.
	 */
	int (*receive)(struct rd_source *s, struct rd_frame *frames, unsigned int max,
		struct rd_error *err);
	/* Gives the buffers of receive() back. Called after each that returned frames. */
	void (*release)(struct rd_source *s);
	/*
	 * Before sleeping: 0 if `frame_fd` will become readable with the next frame, 1 if there is
	 * a frame now, -1 on a fault.
	 */
	int (*arm)(struct rd_source *s, struct rd_error *err);
	/* After one of them became readable. 0, or -1 on a fault that ends the source. */
	int (*service)(struct rd_source *s, struct rd_error *err);
	/* Stops the arrival of frames; those that arrived can still be received. */
	void (*stop)(struct rd_source *s);
	/*
	 * Never waits, but after stop() for a program to end. Then the numbers are final, except
	 * those of measure().
	 */
	void (*stats)(struct rd_source *s, struct rd_source_stats *stats);
	/* Stops and frees the source. Legal at any time after opening. */
	void (*close)(struct rd_source *s);

	/* The following are NULL if a source does not support them. */

	/*
	 * Reads the device's loss counters for stats(). May take hundreds of milliseconds, so it is
	 * called from a thread that does not receive; one call at a time, between start() and
	 * close().
	 */
	void (*measure)(struct rd_source *s);

	/*
	 * The note of frame i of the last batch, valid until release(); false: there is none.
	 * Called only if batch_has_notes is set.
	 */
	bool (*note)(struct rd_source *s, unsigned int i, struct rd_note *note);
	/* Bytes of the input consumed, and its size (0: unknown). */
	void (*progress)(struct rd_source *s, uint64_t *done, uint64_t *size);
	/*
	 * Statistics of interface i in the input (0 where they are absent), and the times of its
	 * first and last frame. Final after stop(). False: no frame and no statistics.
	 */
	bool (*iface_stats)(struct rd_source *s, unsigned int i, struct rd_iface_stats *stats);
	/*
	 * A timestamp: no frame received later is older. Called before a receive() that then
	 * returns no frames. 0: unknown. From the thread that receives. A source with a watermark
	 * may receive in one thread while another calls stop().
	 */
	uint64_t (*watermark)(struct rd_source *s);
	/*
	 * The timestamp of a frame that arrives now, but for some milliseconds. After start(); from
	 * any thread. NULL: the time of the system clock.
	 */
	uint64_t (*now)(const struct rd_source *s);
	/*
	 * How the packets of an InfiniBand port end, by direction, from the first ones; from any
	 * thread. False: it is not such a port.
	 */
	bool (*trailers)(const struct rd_source *s, struct rd_trailers of[RD_DIRECTIONS]);
};

struct rd_source {
	const struct rd_source_ops *ops;
	struct rd_iface iface; /* the first one; strings are valid as long as the source */
	/* All interfaces, of one link type and one snaplen; n_ifaces 0: only `iface`. */
	const struct rd_iface *ifaces;
	unsigned int n_ifaces;
	/* Description of the capturing machine in the input; NULL: this machine. */
	const struct rd_section *section;
	/* Addresses for the direction of frames; link RD_LINK_UNKNOWN: the source sets it. */
	struct rd_local local;
	/* How a device's queue is read: "libibverbs"; NULL for other sources. Static. */
	const char *path;
	int frame_fd; /* readable after arm() when frames arrived; -1: receive() never waits */
	int event_fd; /* readable when an event is pending for service(); -1: there are none */
	/* Number of empty receive() calls before the thread sleeps; 0: the engine's default. */
	unsigned int idle_polls;
	/*
	 * Frames may wait in the source while the thread sleeps. The thread then sleeps as soon as
	 * batches are no longer full, instead of polling for the next frame.
	 */
	bool gathers;
	/*
	 * If `gathers`: how long the thread may sleep without arm(), in ns; 0: frame_fd reports
	 * frames in time. In this time at most a quarter of the source's buffers is filled at the
	 * port's speed: `least` with the shortest frames, `most` with frames of the port's MTU.
	 */
	struct {
		uint64_t least, most;
	} nap_ns;
	/*
	 * The thread calls receive() again at this time (rd_monotonic_ns()), also without frames
	 * or events; 0: no such time. Set by receive() and arm().
	 */
	uint64_t recheck_ns;
	/* A firmware command copies the frames (RD_SNIFFER_ICMD), not a flow of this function. */
	bool port_sniffer;
	bool batch_has_notes;  /* set by receive(): note() has notes for the batch */
	bool batch_disordered; /* set by receive(): timestamps may be out of order, or frames have
				  RD_FRAME_BAD_TIME or RD_FRAME_NO_TIME */
	char title[160];       /* "mlx5_0 port 1 (enp1s0f0np0, RoCE, 100 Gb/s)" */
	char details[120];     /* "software clock, 16384 buffers of 9.5 KiB" */
	char note[256];	       /* what happened last, one line, until the engine has stored it */
};

/* The receive mode: how receives are posted and completions read. */
enum rd_rx_mode {
	RD_RX_AUTO,  /* RD_RX_WQE if the device supports it, else RD_RX_VERBS */
	RD_RX_WQE,   /* a work queue entry per frame, mlx5 read directly */
	RD_RX_VERBS, /* a work queue entry per frame, through libibverbs only */
};

#define RD_QUEUES_MAX 32 /* per port */

/* How the device copies frames to the receive queue. */
enum rd_sniffer {
	RD_SNIFFER_FLOW, /* IBV_FLOW_ATTR_SNIFFER */
	RD_SNIFFER_ICMD, /* a firmware command of mlx5 (rdmadump/port_sniffer.h); one queue only */
};

struct rd_verbs_config {
	const struct rd_device *device;
	const struct rd_port *port;
	unsigned int log2_buffers; /* log2 of the buffers of each receive ring; not 0 */
	uint32_t max_frame;	   /* longest frame in bytes; 0: derived from the port's MTU */
	enum rd_rx_mode rx_mode;
	enum rd_stamp_type stamps;
	uint32_t latency_ms; /* longest time that frames wait in the ring while the thread sleeps */
	enum rd_sniffer sniffer;
	/* Of RD_SNIFFER_ICMD: see struct rd_port_sniffer_config. */
	bool (*waiting)(void *ctx);
	void *ctx;
	const char *sysroot; /* root of sysfs for counters; "": the running system */
};

/*
 * Opens the sniffer of a device with one or more receive queues. With several, the device
 * distributes the traffic by a hash of addresses and UDP ports; frames of one flow stay in order,
 * in one queue. *n: in, the number of queues wanted; out, the number created, a power of two; if
 * the device supports fewer, the reason is in s[0]->details and the log. Each queue has
 * 2^log2_buffers buffers. s has room for the wanted ones. config's pointers must outlive the
 * sources. Returns 0, or -1 with RD_CLASS_DEVICE.
 *
 * receive, release, arm and service of each source may be called by a separate thread. start, stop,
 * stats and close of s[0] are for all of them; those of the others do nothing (stats are zeros), so
 * that loss and gaps are counted once. start(s[0]) comes before the first receive() of the others;
 * close(s[0]) is the last call, after their threads have ended. Until then an event_fd also wakes a
 * queue's thread when another thread read an event for it.
 */
int rd_verbs_open_queues(struct rd_source **s, unsigned int *n,
	const struct rd_verbs_config *config, struct rd_error *err);

struct rd_netdev_config {
	const char *netdev; /* "eth0"; "any": all netdevs, with cooked headers */
	uint32_t snaplen;   /* bytes kept of each frame; 0: all */
	size_t buffer;	    /* bytes of the kernel's ring; 0: RD_NETDEV_BUFFER */
	bool promiscuous;   /* also receive frames that are addressed to others */
	const char *filter; /* tcpdump expression, run in the kernel; NULL: all frames */
	/* The RDMA port of the netdev, for descriptions and events; NULL: none. */
	const struct rd_device *device;
	const struct rd_port *port;
};

#define RD_NETDEV_BUFFER ((size_t)32 << 20)

/*
 * Captures on a network interface of the kernel (netdev.c, libpcap). config is not kept. Returns 0,
 * or -1 with RD_CLASS_DEVICE, or RD_CLASS_USAGE for a wrong filter.
 */
int rd_netdev_open(
	struct rd_source **s, const struct rd_netdev_config *config, struct rd_error *err);

struct rd_file_config {
	const char *path; /* "-" is standard input */
	/*
	 * Called with the facts in the file, with this source's interface numbers; during
	 * rd_file_open() for those before the first frame. NULL: facts are skipped.
	 */
	rd_facts_fn *facts;
	void *facts_ctx;
	/*
	 * Frames of all interfaces, each of the link of its own: rd_source_iface(). `ifaces` is
	 * then valid until the next receive(), and grows. Else those of the first frame's link
	 * type.
	 */
	bool all_links;
};

/*
 * Opens a capture file of any format that rd_reader knows, also gzip or zstd (file.c). Waits for
 * the first frame of a pipe; after that, receive() never waits. config is not kept. Returns 0, or
 * -1 with RD_CLASS_DEVICE.
 */
int rd_file_open(struct rd_source **s, const struct rd_file_config *config, struct rd_error *err);

/* A source's interfaces; frames have an index into them (ignored if there is only one). */
static inline const struct rd_iface *rd_source_ifaces(const struct rd_source *s, unsigned int *n)
{
	*n = s->n_ifaces ? s->n_ifaces : 1;
	return s->n_ifaces ? s->ifaces : &s->iface;
}

/* The interface of a frame of this source. */
static inline const struct rd_iface *rd_source_iface(
	const struct rd_source *s, const struct rd_frame *frame)
{
	return s->n_ifaces > 1 ? &s->ifaces[frame->iface] : &s->iface;
}

/* The timestamp of a frame that arrives now, by ops->now(). After start(); from any thread. */
uint64_t rd_source_now(const struct rd_source *s);
/* Operations of sources that have nothing to do for them. */
static inline int rd_source_no_work(struct rd_source *s, struct rd_error *err)
{
	(void)s, (void)err;
	return 0;
}

static inline void rd_source_ignore(struct rd_source *s)
{
	(void)s;
}

/*
 * Appends a line with the time of day to s->note, and writes it to the log: as a warning, or with
 * --debug only what may happen thousands of times. In the source's thread.
 */
void rd_source_note(struct rd_source *s, enum rd_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
