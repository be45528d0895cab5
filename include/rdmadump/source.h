/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where frames come from. Every source is this struct with its own operations behind it. */
#ifndef RDMADUMP_SOURCE_H
#define RDMADUMP_SOURCE_H

#include <rdmadump/device.h>
#include <rdmadump/error.h>
#include <rdmadump/format.h>
#include <rdmadump/frame.h>
#include <rdmadump/growth.h>
#include <rdmadump/wire.h>

#define RD_BATCH      64 /* frames that one receive() hands out at most */
#define RD_SOURCE_END (-2)

#define RD_SOURCE_IFACES 64 /* interfaces that one source has at most */

struct rd_source;

/* Whose clock stamps the frames; the names are those of tcpdump (pcap-tstamp(7)). */
enum rd_stamp_type {
	RD_STAMPS_AUTO, /* adapter where the device can, else host */
	RD_STAMPS_HOST,
	RD_STAMPS_ADAPTER,
	RD_STAMPS_ADAPTER_UNSYNCED,
	RD_STAMP_TYPES,
};
struct rd_stamp_name {
	const char *name, *help;
};
extern const struct rd_stamp_name rd_stamp_types[RD_STAMP_TYPES];

/* What a device has of one type. */
struct rd_stamp_choice {
	const char *clock; /* "hardware clock (PTP)"; NULL: nothing */
	const char *why;   /* and then why not, as a clause: "its clock cannot be read" */
};

/* What a source knows of itself. Counts are frames since start(). */
struct rd_source_stats {
	uint64_t lost;	     /* lost before the source, at least: sum over `loss` */
	bool loss_known;     /* whether `lost` is exactly what the counters counted */
	const char *missing; /* why more may be missing than any counter shows; NULL or "": no */
	/* The counters count for other users of the device too, and not every loss. */
	bool loss_shared;
	unsigned int loss_delay_ms; /* a loss may show so much later in the counters */
	uint64_t gaps;		    /* times that the queue failed and was brought back */
	uint64_t left_out; /* never delivered: of another link type than the output holds */
	unsigned int n_loss;
	struct {
		const char *name; /* "out_of_buffer" */
		struct rd_growth frames;
		uint64_t least; /* of it, where it is unknown */
	} loss[RD_LOSS_COUNTERS];
};

struct rd_source_ops {
	const char *name;
	/* From here on frames arrive. */
	int (*start)(struct rd_source *s, struct rd_error *err);
	/*
	 * Up to max (<= RD_BATCH) frames, borrowed until release(). Never blocks (once stopped,
	 * 0.2 s at most, for what the kernel has not handed over yet). Returns their number, -1 on
	 * a fault that ends the source, RD_SOURCE_END when there is nothing more to come.
	 */
	int (*receive)(struct rd_source *s, struct rd_frame *frames, unsigned int max,
		struct rd_error *err);
	/* Gives the buffers of the last receive() back. Called after each receive() that returned
	 * frames. */
	void (*release)(struct rd_source *s);
	/* Before sleeping: 0 if `frame_fd` will become readable with the next frame, 1 if one is
	 * there now. */
	int (*arm)(struct rd_source *s, struct rd_error *err);
	/* After one of the fds became readable. -1 on a fault that ends the source. */
	int (*service)(struct rd_source *s, struct rd_error *err);
	/* No new frames after this; those that have arrived can still be received. */
	void (*stop)(struct rd_source *s);
	/* Never waits. After stop() the numbers are final, but for those of measure(). */
	void (*stats)(struct rd_source *s, struct rd_source_stats *stats);
	/* Undoes all; s is gone. Legal at any time. */
	void (*close)(struct rd_source *s);

	/* What follows is NULL where a source does not have it. */

	/*
	 * Reads the device's counters of loss for stats(). May take hundreds of milliseconds, so
	 * it is called from a thread that receives nothing, one at a time, from start() to close().
	 */
	void (*measure)(struct rd_source *s);

	/*
	 * What belongs beside frame i of the last batch, valid until release(); false: nothing.
	 * Asked only while batch_has_notes is set.
	 */
	bool (*note)(struct rd_source *s, unsigned int i, struct rd_note *note);
	/* Bytes of the input consumed, and its size (0: unknown). */
	void (*progress)(struct rd_source *s, uint64_t *done, uint64_t *size);
	/*
	 * What the input says of interface i (counts are 0 where it says nothing), and when its
	 * first and last frame crossed the wire. Final after stop(). False: it had no frame and
	 * nothing is said.
	 */
	bool (*iface_stats)(struct rd_source *s, unsigned int i, struct rd_iface_stats *stats);
	/*
	 * Asked before a receive() that then finds nothing: no later frame has an older stamp. 0:
	 * not known yet. From the thread that receives. A source that has it may receive in one
	 * thread while another calls stop().
	 */
	uint64_t (*watermark)(struct rd_source *s);
};

struct rd_source {
	const struct rd_source_ops *ops;
	struct rd_iface iface; /* the first one; strings live as long as the source */
	/* All of them, of one link type and one snaplen; 0: `iface` is the only one. */
	const struct rd_iface *ifaces;
	unsigned int n_ifaces;
	/* What the input says of the machine that it comes from; NULL: it is this machine. */
	const struct rd_section *section;
	/* For the direction of frames; link RD_LINK_UNKNOWN: frames come with their direction. */
	struct rd_local local;
	int frame_fd; /* readable after arm() when frames came; -1: receive() is always ready */
	int event_fd; /* readable when the device has an event to report; -1: none */
	/* Empty receives worth trying before sleeping; 0: as many as the engine likes. */
	unsigned int idle_polls;
	/*
	 * Frames may wait in the source while the thread sleeps. It sleeps then as soon as batches
	 * are no longer full, instead of polling for the next frame.
	 */
	bool gathers;
	/*
	 * Of a source that gathers: how long the thread may sleep without arm(), in ns; 0: frame_fd
	 * reports the frames in time. At the port's speed at most a quarter of the source's room
	 * fills meanwhile: `least` with the shortest frames, `most` with frames of the port's MTU.
	 */
	struct {
		uint64_t least, most;
	} nap_ns;
	/* The device takes commands only with the credentials that it was opened with. */
	bool fixed_credentials;
	bool batch_has_notes;  /* set by receive(): note() has something for the batch */
	bool batch_disordered; /* set by receive(): its timestamps may be out of order or marked */
	char title[160];       /* "mlx5_0 port 1 (enp1s0f0np0, RoCE, 100 Gb/s)" */
	char details[120];     /* "software clock, 16384 buffers of 9.5 KiB" */
	char note[256];	       /* what just happened, one line, until the engine has taken it */
};

/* How receives are posted and completions read. */
enum rd_rx_mode {
	RD_RX_AUTO,	/* RD_RX_WQE where the device is known so well, else RD_RX_VERBS */
	RD_RX_WQE,	/* a work queue entry per frame, mlx5 read directly */
	RD_RX_STRIDING, /* many frames per work queue entry, mlx5 only; refused: it fails */
	RD_RX_VERBS,	/* a work queue entry per frame, through libibverbs only */
};

#define RD_QUEUES_MAX 32 /* of one port */

struct rd_verbs_config {
	const struct rd_device *device;
	const struct rd_port *port;
	unsigned int log2_buffers; /* receive ring of 2^this buffers */
	uint32_t max_frame;	   /* longest frame in bytes; 0: from the port's MTU */
	enum rd_rx_mode rx_mode;
	enum rd_stamp_type stamps;
	uint32_t latency_us; /* how long frames may wait in the ring while the thread sleeps */
	const char *sysroot; /* for counters; "" is the running system */
};

/*
 * What the device has of each type of time stamps; opens and closes it, so it needs access to
 * /dev/infiniband/uverbs*, but no CAP_NET_RAW. Strings are static. Fails with RD_CLASS_DEVICE.
 */
int rd_verbs_clocks(const struct rd_device *device, struct rd_stamp_choice choices[RD_STAMP_TYPES],
	struct rd_error *err);

/*
 * The device's own sniffer, received through one or more queues. With several, the device spreads
 * the traffic among them by a hash over addresses and UDP ports; frames of one flow stay in order,
 * in one queue. *n: queues wanted in, queues made out, a power of two; fewer, and the reason in
 * s[0]->details and the log, where the device refuses more. Each has 2^log2_buffers buffers. s has
 * room for the wanted ones. config's pointers must outlive the sources.
 *
 * receive, release, arm and service of each source may be called by a thread of its own. start,
 * stop, stats and close of s[0] are for all of them: those of the others do nothing (stats are
 * zeros), so loss and gaps are counted once. start(s[0]) comes before the others' first receive();
 * close(s[0]) when their threads have ended, and is the last call to any of them. Until then an
 * event_fd also wakes a queue's thread when another queue's thread read an event that concerns it.
 */
int rd_verbs_open_queues(struct rd_source **s, unsigned int *n,
	const struct rd_verbs_config *config, struct rd_error *err);

struct rd_netdev_config {
	const char *netdev; /* "eth0"; "any" is all of them, with cooked headers */
	uint32_t snaplen;   /* bytes kept of a frame; 0: all */
	size_t buffer;	    /* bytes of the kernel's ring; 0: RD_NETDEV_BUFFER */
	bool promiscuous;   /* see what is addressed to others */
	const char *filter; /* tcpdump expression for the kernel; NULL: everything */
	/* The RDMA port whose traffic is looked for on the netdev; NULL: none. */
	const struct rd_device *device;
	const struct rd_port *port;
};

#define RD_NETDEV_BUFFER ((size_t)32 << 20)

/* What passes a network interface of the kernel (netdev.c, libpcap). config is not kept. */
int rd_netdev_open(
	struct rd_source **s, const struct rd_netdev_config *config, struct rd_error *err);

struct rd_file_config {
	const char *path; /* "-" is standard input */
	/* Gets the facts that the file carries, about interfaces as the source counts them; those
	 * in front of the first frame already while it is opened. NULL: they are skipped. */
	rd_facts_fn *facts;
	void *facts_ctx;
};

/*
 * A capture file of any format that rd_reader knows, also gzip or zstd (file.c). Waits for the
 * first frame of a pipe; after that, receive() never waits. config is not kept.
 */
int rd_file_open(struct rd_source **s, const struct rd_file_config *config, struct rd_error *err);

/* A source's interfaces; frames carry an index into them (any, where there is one only). */
static inline const struct rd_iface *rd_source_ifaces(const struct rd_source *s, unsigned int *n)
{
	*n = s->n_ifaces ? s->n_ifaces : 1;
	return s->n_ifaces ? s->ifaces : &s->iface;
}

/* Appends a line to s->note, with the time of day; and to the log as a warning. */
void rd_source_note(struct rd_source *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same, but the log has it only with --debug: for what may happen thousands of times. */
void rd_source_note_only(struct rd_source *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
