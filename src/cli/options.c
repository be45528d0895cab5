/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The options of `rdmadump capture`, in one table with their help. */
#include "options.h"

const struct argp_option capture_argp_options[] = {
	{0, 0, 0, 0, "What to capture:", 1},
	{"device", 'd', "DEV", 0,
		"RDMA device: mlx5_0, mlx5_0:PORT, its netdev or its PCI address; may be repeated "
		"(default: the first active port that can be captured)",
		0},
	{"ib-dev", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
	{"interface", 'i', "NAME|N", 0,
		"the same by name, or a netdev; with -d the number of the port; else a number of "
		"the list",
		0},
	{"ib-port", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
	{"read", 'r', "FILE", 0,
		"take frames from a capture file (pcapng, pcap, ERF; .gz, .zst; '-' is standard "
		"input)",
		0},
	{"netdev", OPT_NETDEV, 0, 0,
		"capture on the netdev even if the device has a sniffer: what the kernel sees", 0},
	{"sniffer", OPT_SNIFFER, 0, 0,
		"ask the device for its sniffer even if none is known for its driver", 0},
	{"no-promiscuous-mode", OPT_NO_PROMISCUOUS, 0, 0,
		"leave a netdev as it is: only frames addressed to it", 0},
	{"list-interfaces", 'D', 0, 0, "the same as 'rdmadump list'", 0},
	{"count", 'c', "N", 0, "stop after N frames", 0},
	{"autostop", 'a', "KEY:N", 0,
		"stop after duration:SECONDS, packets:N, files:N, or when the file has "
		"filesize:kB",
		0},

	{0, 0, 0, 0, "Which frames (all that is given must hold; FILTER is tcpdump's):", 2},
	{"filter", 'f', "FILTER", 0, "the filter as one word", 0},
	{"filter-file", 'F', "FILE", 0, "the filter is in FILE", 0},
	{"qp", OPT_QP, "N[,N]", 0, "destination QP", 0},
	{"src-qp", OPT_SRC_QP, "N[,N]", 0,
		"source QP: of UD packets, and of connections whose CM exchange was seen", 0},
	{"src_qp", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
	{"opcode", OPT_OPCODE, "LIST", 0,
		"names (RC_SEND_ONLY), numbers (0x04) or classes: send, write, read, atomic, "
		"flush, ack, nak, rnr, cnp, cm, mad, ud, rc, uc, rd, xrc",
		0},
	{"host", OPT_HOST, "ADDR[,ADDR]", 0, "IPv4, IPv6, CIDR or MAC address of either end", 0},
	{"gid", OPT_GID, "GID[,GID]", 0, "GID of either end", 0},
	{"roce", OPT_ROCE, 0, 0, "only RDMA: RoCE v1 and v2, InfiniBand", 0},
	{"direction", 'Q', "in|out|inout", 0, "as seen from the port", 0},
	{0, 'I', "rx|tx", OPTION_HIDDEN, 0, 0},
	{"filter-explain", OPT_EXPLAIN, 0, 0, "say what will match, and end", 0},

	{0, 0, 0, 0, "How much of each frame:", 3},
	{"snapshot-length", 's', "N", 0, "the first N bytes (Wireshark grumbles)", 0},
	{"headers-only", OPT_HEADERS_ONLY, 0, 0,
		"up to the last transport header, MADs whole (Wireshark grumbles)", 0},
	{"zero-payload", OPT_ZERO_PAYLOAD, 0, 0,
		"all bytes, payload set to zero: nobody's data, and Wireshark is content", 0},
	{"decap", 'E', "inner|outer", OPTION_ARG_OPTIONAL,
		"look into mirrored traffic (RSPAN, ERSPAN, GRE, VXLAN): write the inner frame, or "
		"filter by it and write the outer one",
		0},

	{"time-stamp-type", 'j', "TYPE", 0,
		"whose clock: host, adapter (the device's, following the system's) or "
		"adapter_unsynced (its PTP clock as it is); default: adapter where there is one",
		0},
	{"time_stamp_type", 0, 0, OPTION_ALIAS | OPTION_HIDDEN, 0, 0},
	{"list-time-stamp-types", 'J', 0, 0, "which of them the device has, and why not, and end",
		0},

	{0, 0, 0, 0, "Where to write it (default: one line per frame on standard output):", 4},
	{"write", 'w', "FILE", 0, "write to FILE, '-' is standard output", 0},
	{"output", 'o', 0, OPTION_ALIAS, 0, 0},
	{"stripe", OPT_STRIPE, "DIR,DIR[,...]", 0,
		"spread the frames over files named FILE in these directories, on disks that are "
		"too slow alone; mergecap puts them together",
		0},
	{"format", OPT_FORMAT, "FORMAT", 0,
		"pcapng, pcap (nanoseconds), pcap-us (microseconds) or erf; ',dlt=247' behind it "
		"writes InfiniBand without ERF, ',dlt=197' Ethernet in ERF (default: by FILE's "
		"ending, else pcapng)",
		0},
	{"compress", OPT_COMPRESS, "gz|zst|none", 0, "default: by FILE's ending", 0},
	{"compress-level", OPT_LEVEL, "N", 0, "default 1", 0},
	{"write-mode", OPT_WRITE_MODE, "auto|buffered|direct|uring", 0,
		"through the page cache, past it (O_DIRECT), or past it by io_uring; auto "
		"(default) "
		"writes past it, and through it when the writer is behind and that is faster",
		0},
	{"sync", OPT_SYNC, "none|file|periodic", 0,
		"when it must be on the disk: whenever the kernel likes (default), at the end of "
		"each file, every 32 MiB",
		0},
	{"packet-buffered", 'U', 0, 0, "hand each frame to the file as soon as traffic pauses", 0},
	{"no-facts", OPT_NO_FACTS, 0, 0,
		"store only frames and statistics: no counters, no facts about the device (pcapng "
		"has them)",
		0},
	{"relinquish-privileges", 'Z', "USER", 0,
		"become USER once all is open (default: the caller of sudo; files are his)", 0},

	{0, 0, 0, 0, "A new file when (each file stands alone, no frame is lost between):", 5},
	{0, 'C', "SIZE", 0, "it has SIZE million bytes; also 64Mi, 2G", 0},
	{0, 'G', "SECONDS", 0, "SECONDS have passed; the name may have strftime's %", 0},
	{0, 'W', "N", 0, "with -C keep N files and overwrite the oldest; with -G end after N files",
		0},
	{"postrotate-command", 'z', "COMMAND", 0, "run COMMAND FILE on each file that is closed",
		0},
	{"ring-buffer", 'b', "KEY:N", 0,
		"duration:SECONDS, interval:SECONDS, filesize:kB, packets:N; files:N keeps the "
		"newest; printname:FILE; names as dumpcap's. A plain number is --max-burst",
		0},
	{"update", OPT_UPDATE, "PID", 0, "tell the rdmadump with this PID to begin a new file", 0},

	{0, 0, 0, 0, "Memory:", 6},
	{"max-burst", 'b', "LOG2", 0, "2^LOG2 receive buffers (default 14)", 0},
	{"max-frame", OPT_MAX_FRAME, "BYTES", 0,
		"size of one receive buffer (default: the longest frame that the port's MTU "
		"allows; grows when a longer one arrives)",
		0},
	{"buffer-size", OPT_BUFFER, "SIZE", 0,
		"memory between receiver and writer, like 512Mi (default 256Mi)", 0},
	{"writer-thread", 'p', 0, OPTION_ALIAS, 0, 0},
	{"kernel-buffer", 'B', "KIB", 0, "a netdev's ring in KiB; also 64Mi (default 32Mi)", 0},
	{"when-full", OPT_WHEN_FULL, "drop|wait", 0,
		"when the writer falls behind by --buffer-size: drop the newest frames and count "
		"them (default), or stop receiving",
		0},
	{"mem-mode", 'M', "SIZE", 0, "keep the capture in SIZE of memory, write it at the end", 0},
	{"rx-mode", OPT_RX_MODE, "auto|wqe|striding|verbs", 0,
		"wqe: a receive buffer for each frame; striding: many frames in a buffer (mlx5); "
		"verbs: through libibverbs; auto (default): wqe on mlx5 (striding where -b asks "
		"for "
		"more than that can have), else verbs",
		0},
	{"queues", OPT_QUEUES, "N|auto", 0,
		"receive by N queues of the device (a power of two) and a thread for each, merged "
		"by "
		"time; auto: one per 50 Gb/s of the port",
		0},
	{"per-queue-files", OPT_PER_QUEUE, 0, 0,
		"do not merge: FILE-q0, FILE-q1, ... for the fastest disks", 0},
	{"contiguous-pages", 'T', 0, OPTION_HIDDEN, 0, 0},

	{0, 0, 0, 0, "What to say:", 7},
	{"analyze", OPT_ANALYZE, 0, 0,
		"tell what the traffic does: on a terminal as it comes, and at the end (see "
		"rdmadump "
		"analyze)",
		0},
	{"verbose", 'v', 0, 0, "print one line per frame also when writing to a file", 0},
	{0, 't', 0, 0, "lines of frames without time; -tt since the epoch, -tttt with the date", 0},
	{0, 'e', 0, 0, "lines of frames with MAC addresses and VLAN, or VL and SL", 0},
	{"json", OPT_JSON, 0, 0, "print the final report as JSON on standard output", 0},
	{"quiet", 'q', 0, 0, "only errors and warnings", 0},
	{"silent", 0, 0, OPTION_ALIAS, 0, 0},
	{"debug", OPT_DEBUG, 0, 0, "tell more of what happens", 0},
	{0, 'n', 0, OPTION_HIDDEN, 0, 0},
	{0, 'l', 0, OPTION_HIDDEN, 0, 0},
	{0, 'K', 0, OPTION_HIDDEN, 0, 0},
	{0, 'x', 0, OPTION_HIDDEN, 0, 0},
	{0, 'X', 0, OPTION_HIDDEN, 0, 0},
	{0, 'A', 0, OPTION_HIDDEN, 0, 0},
	{0, 'L', 0, OPTION_HIDDEN, 0, 0},
	{0, 'P', 0, OPTION_HIDDEN, 0, 0},
	{0, 'g', 0, OPTION_HIDDEN, 0, 0},
	{0, 'H', 0, OPTION_HIDDEN, 0, 0},
	{0, 'm', "DEV", OPTION_HIDDEN, 0, 0},
	{0, 'y', "TYPE", OPTION_HIDDEN, 0, 0},
	{"version", OPT_VERSION, 0, 0, "version, libraries and features", -1},
	{0},
};
