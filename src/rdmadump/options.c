/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of a capture's options, in the order of the help. */
#include "options.h"
#include "commands.h"

#define MEMORY_MIN ((uint64_t)1 << 20)
#define MEMORY_MAX ((uint64_t)1 << 40)
#define TEXT(n)	   TEXT_OF(n)
#define TEXT_OF(n) #n

#define OPTIONS_OF    struct capture_options
#define INSTEAD(what) .set = set_instead, .min = what

/* The option in ibdump mode and in the extcap. */
#define IBDUMP(...)                                                                                \
	.ibdump = &(const struct ibdump_spelling)                                                  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define EXTCAP(...)                                                                                \
	.extcap = &(const struct extcap_field)                                                     \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

const char *const option_groups[] = {
	[GROUP_SOURCE] = "What to capture:",
	[GROUP_FILTER] = "Which frames (all terms must match; FILTER as in pcap-filter(7)):",
	[GROUP_CUT] = "Snap length, decapsulation, timestamps:",
	[GROUP_OUTPUT] = "Where to write it (default: one line per frame on standard output):",
	[GROUP_ROTATION] =
		"When to start a new file (each file is complete; no frame is lost in between):",
	[GROUP_MEMORY] = "Memory and receiving:",
	[GROUP_MESSAGES] = "What to print:",
};

static const char *const clocks[][2] = {
	{"auto", "The adapter's, if it has a clock"},
	{"host", "This host's"},
	{"adapter", "The adapter's"},
	{NULL, NULL},
};

static const char *const directions[][2] = {
	{"inout", "In and out"},
	{"in", "Into the port"},
	{"out", "Out of the port"},
	{NULL, NULL},
};

const struct cli_option cli_options[] = {
	{"device", 'd', "DEV",
		"RDMA device: mlx5_0, mlx5_0:PORT, its netdev or its PCI address; may be repeated "
		"(default: the first active port that can be captured)",
		"RDMA device, its netdev or PCI address; DEV:PORT", GROUP_SOURCE,
		.set = set_device},
	{"ib-dev", .group = GROUP_SOURCE, .flags = OPT_ALIAS | OPT_HIDDEN},
	{"interface", 'i', "NAME|N",
		"like -d, or the name of a netdev; after -d the port number, otherwise a number "
		"from --list-interfaces",
		NULL, GROUP_SOURCE, .set = set_interface},
	{"ib-port", .group = GROUP_SOURCE, .flags = OPT_ALIAS | OPT_HIDDEN},
	{"read", 'r', "FILE",
		"read frames from a capture file (pcapng, pcap, ERF; .gz, .zst; '-' is standard "
		"input)",
		"read frames from a capture file", GROUP_SOURCE, STRING(session.read)},
	{"netdev", 0, NULL,
		"capture on the netdev even if the device has a sniffer: only what the kernel sees",
		NULL, GROUP_SOURCE, FLAG(session.netdev_only)},
	{"sniffer", 0, "verbs|icmd",
		"verbs: try the device's sniffer even if its driver is not known to have one; "
		"icmd: use a firmware command on ConnectX-4 and later, as root (see "
		"docs/infiniband.md)",
		NULL, GROUP_SOURCE, .set = set_sniffer, FIELD(session)},
	{"force", 0, NULL,
		"start the sniffer in switchdev mode even before Linux 5.10, where the driver "
		"fails unless it has the fix; --sniffer icmd on an Ethernet port, where another "
		"program's queue pair may get the frames",
		NULL, GROUP_SOURCE, FLAG(session.force)},
	{"stop-on-pause", 0, NULL,
		"stop when the port begins to send pause frames or its PCIe writes stall, which "
		"the capture's copies may cause",
		NULL, GROUP_SOURCE, FLAG(session.stop_on_pause),
		EXTCAP(.number = 11, NULL, "Stop on pause frames", "boolflag", "{default=false}",
			"Stop when the port begins to send pause frames or its PCIe writes stall",
			"Memory")},
	{"no-promiscuous-mode", 0, NULL, "do not put a netdev into promiscuous mode", NULL,
		GROUP_SOURCE, FLAG(session.promiscuous_off)},
	{"list-interfaces", 'D', NULL, "the same as 'rdmadump list'", NULL, GROUP_SOURCE,
		INSTEAD(INSTEAD_LIST)},
	{"frames", 'c', "N", "stop after N frames", "stop after N frames", GROUP_SOURCE,
		NUMBER(session.count, 1, UINT64_MAX)},
	{"autostop", 'a', "KEY:N",
		"stop after duration:SECONDS, packets:N, files:N, or filesize:kB in a file",
		"stop after duration:SECONDS, filesize:kB, ...", GROUP_SOURCE, .set = set_autostop},

	{"filter", 'f', "FILTER", "the filter as one argument", NULL, GROUP_FILTER,
		.set = set_word},
	{"filter-file", 'F', "FILE", "read the filter from FILE", NULL, GROUP_FILTER,
		.set = set_filter_file},
	{"qp", 0, "N[,N]", "destination QP", "destination QP", GROUP_FILTER,
		STRING(session.filter.qp),
		EXTCAP(.number = 7, NULL, "Destination QPs", "string", "", "0x18,0x19; empty: all",
			"Filter")},
	{"src-qp", 0, "N[,N]", "source QP of UD packets; others do not contain it", NULL,
		GROUP_FILTER, STRING(session.filter.src_qp),
		IBDUMP('q', "src_qp", .help = "only packets from these queue pairs")},
	{"src_qp", .group = GROUP_FILTER, .flags = OPT_ALIAS | OPT_HIDDEN},
	{"msn", 0, "N[,N]", "message sequence number of ACKs, NAKs and read responses", NULL,
		GROUP_FILTER, STRING(session.filter.msn)},
	{"opcode", 0, "LIST",
		"names (RC_SEND_ONLY), numbers (0x04) or classes: send, write, read, atomic, "
		"flush, ack, nak, rnr, cnp, cm, mad, ud, rc, uc, rd, xrc",
		"opcodes, or classes: write, nak, rnr, cnp, ...", GROUP_FILTER,
		STRING(session.filter.opcode),
		EXTCAP(.number = 8, NULL, "Opcodes", "string", "",
			"Classes or names, as nak,rnr,cnp; empty: all", "Filter")},
	{"host", 0, "ADDR[,ADDR]", "IPv4, IPv6, CIDR or MAC address of either end",
		"address of either end: IPv4, IPv6, CIDR, MAC", GROUP_FILTER,
		STRING(session.filter.host),
		EXTCAP(.number = 9, NULL, "Hosts", "string", "",
			"Addresses or networks of either end; empty: all", "Filter")},
	{"gid", 0, "GID[,GID]", "GID of either end", NULL, GROUP_FILTER,
		STRING(session.filter.gid)},
	{"sample", 0, "N", "one of N pairs of addresses, the same ones on each host", NULL,
		GROUP_FILTER, STRING(session.filter.sample)},
	{"roce", 0, NULL, "only RDMA: RoCE v1 and v2, InfiniBand", "only RDMA", GROUP_FILTER,
		FLAG(session.filter.roce),
		EXTCAP(.number = 6, NULL, "RDMA only", "boolflag", "{default=false}",
			"RoCE v1 and v2, InfiniBand", "Filter")},
	{"direction", 'Q', "in|out|inout", "frames received or sent by the port, or both", NULL,
		GROUP_FILTER,
		WORD(session.filter.direction, "in", "out", "inout", "rx", "tx", "both"),
		EXTCAP(.number = 3, NULL, "Direction", "selector", "", "As seen from the port",
			"Frames", .values = directions)},
	{NULL, 'I', "rx|tx", .group = GROUP_FILTER, .flags = OPT_HIDDEN,
		WORD(session.filter.direction, "rx", "tx"),
		IBDUMP('I', "direction", .help = "only received or sent frames")},

	{"snapshot-length", 's', "N",
		"keep the first N bytes of each frame (Wireshark marks the frames as truncated)",
		"keep the first N bytes of each frame", GROUP_CUT, .set = set_snaplen,
		FIELD(session.cut.snaplen), RANGE(0, SNAPLEN_MAX),
		EXTCAP(.number = 0, "snaplen", "Bytes kept of each frame", "integer",
			"{range=0," TEXT(SNAPLEN_MAX) "}{default=0}", "0 keeps whole frames",
			"Frames")},
	{"snaplen", .group = GROUP_CUT, .flags = OPT_ALIAS | OPT_HIDDEN},
	{"headers-only", 0, NULL,
		"cut each frame after its last transport header; MADs stay whole (Wireshark marks "
		"the frames as truncated)",
		NULL, GROUP_CUT, FLAG(session.cut.headers_only),
		EXTCAP(.number = 1, NULL, "Headers only", "boolflag", "{default=false}",
			"Cut each frame after its last transport header; MADs stay whole",
			"Frames")},
	{"zero-payload", 0, NULL,
		"keep whole frames, but replace payload with zeros: no user data, and Wireshark "
		"decodes them without warnings",
		"keep whole frames, payload replaced with zeros", GROUP_CUT,
		FLAG(session.cut.zero_payload),
		EXTCAP(.number = 2, NULL, "Payload as zeros", "boolflag", "{default=false}",
			"Keep every frame's length and overwrite its payload with zeros",
			"Frames")},
	{"decap", 'E', NULL,
		"decapsulate mirrored and tunnelled frames (RSPAN, ERSPAN, GRE, VXLAN, Geneve): "
		"filter and write the inner frames",
		NULL, GROUP_CUT, FLAG(session.decap),
		IBDUMP('E', .help = "remove the encapsulation of mirrored frames")},
	{"time-stamp-type", 'j', "TYPE",
		"timestamp clock: host, or adapter (the device's clock, kept in step with the "
		"system's); default: adapter if it has a clock",
		NULL, GROUP_CUT,
		/* enum rd_stamp_type */
		CHOICE(session.device.stamps, "auto", "host", "adapter"),
		EXTCAP(.number = 10, NULL, "Timestamps", "selector", "", "Clock of the timestamps",
			"Frames", .values = clocks)},
	{"time_stamp_type", .group = GROUP_CUT, .flags = OPT_ALIAS | OPT_HIDDEN},

	{"write", 'w', "FILE", "write to FILE; '-' is standard output",
		"write to FILE: .pcapng, .pcap, .erf; .gz, .zst", GROUP_OUTPUT,
		STRING(session.out.path),
		IBDUMP('w', .help = "write to FILE (default sniffer.pcap); - is standard output, "
				    "without messages")},
	{"output", 'o', .group = GROUP_OUTPUT, .flags = OPT_ALIAS, IBDUMP('o', .help = "the same")},
	{"format", 0, "FORMAT",
		"pcapng, pcap (nanoseconds), pcap-us (microseconds) or erf; ',dlt=247' after it "
		"writes InfiniBand without ERF, ',dlt=197' Ethernet in ERF (default: from FILE's "
		"suffix, else pcapng)",
		NULL, GROUP_OUTPUT, STRING(session.format)},
	{"compress", 0, "gz|zst|none", "compression (default: from FILE's suffix)", NULL,
		GROUP_OUTPUT, WORD(session.out.compression, "gz", "zst", "none")},
	{"compress-level", 0, "N", "compression level (default 1)", NULL, GROUP_OUTPUT,
		NUMBER(session.out.compression_level, 1, 19)},
	{"write-mode", 0, "auto|buffered|direct",
		"through the page cache, or with O_DIRECT; auto (default) selects the fastest",
		NULL, GROUP_OUTPUT,
		/* enum rd_write_mode */
		CHOICE(session.out.write_mode, "auto", "buffered", "direct")},
	{"sync", 0, "none|file|periodic",
		"force data to disk: never (the kernel decides; default), at the end of each file, "
		"or every 32 MiB",
		NULL, GROUP_OUTPUT,
		CHOICE(session.out.sync, "none", "file", "periodic") /* enum rd_sync */},
	{"packet-buffered", 'U', NULL, "flush the file whenever traffic pauses", NULL, GROUP_OUTPUT,
		FLAG(session.unbuffered)},
	{"no-facts", 0, NULL,
		"store only frames and statistics, not counters and facts about the device (pcapng "
		"only)",
		NULL, GROUP_OUTPUT, FLAG(session.no_facts)},
	{"no-owners", 0, NULL,
		"do not store which process or kernel module owns which QP (pcapng only)", NULL,
		GROUP_OUTPUT, FLAG(session.no_owners)},
	{"all-qps", 0, NULL,
		"list queue pairs and their owners even if the device has more than 4096: each is "
		"a firmware command",
		NULL, GROUP_OUTPUT, FLAG(session.all_qps)},
	{"relinquish-privileges", 'Z', "USER",
		"become USER once the devices are open (default: the caller of sudo, who then owns "
		"the files)",
		NULL, GROUP_OUTPUT, STRING(session.user)},
	{"no-seccomp", 0, NULL,
		"do not let the kernel refuse system calls that a capture does not need", NULL,
		GROUP_OUTPUT, FLAG(session.no_seccomp)},

	{NULL, 'C', "SIZE", "when the file reaches SIZE million bytes; also 64Mi, 2G",
		"new file every SIZE million bytes (-G: seconds)", GROUP_ROTATION,
		.set = set_file_size, FIELD(session.out.rotation.bytes), RANGE(1, UINT64_MAX / 2),
		.unit = 1000000},
	{NULL, 'G', "SECONDS", "every SECONDS; the file name may contain strftime(3) conversions",
		NULL, GROUP_ROTATION, NUMBER(session.slice_s, 1, SECONDS_MAX)},
	{NULL, 'W', "N",
		"with -C keep N files and overwrite the oldest; with -G stop after N files",
		"keep N files: overwrite the oldest (-G: stop)", GROUP_ROTATION,
		NUMBER(files, 1, FILES_MAX)},
	{"postrotate-command", 'z', "COMMAND", "run COMMAND FILE for each completed file", NULL,
		GROUP_ROTATION, STRING(session.out.rotation.command)},
	{"ring-buffer", 'b', "KEY:N",
		"duration:SECONDS, interval:SECONDS, filesize:kB, packets:N; files:N keeps the "
		"newest; file names like dumpcap's. A plain number means --max-burst",
		NULL, GROUP_ROTATION, .set = set_burst_or_ring, FIELD(session.device.log2_buffers),
		RANGE(1, LOG2_BUFFERS_MAX)},

	{"max-burst", 'b', "LOG2", "2^LOG2 receive buffers (default 14)", NULL, GROUP_MEMORY,
		.set = set_burst_or_ring, FIELD(session.device.log2_buffers),
		RANGE(1, LOG2_BUFFERS_MAX),
		IBDUMP('b', .help = "2^LOG2 receive buffers (default 12: 4096)"),
		EXTCAP(.number = 4, "buffers", "Receive buffers (log2)", "integer",
			"{range=1," TEXT(LOG2_BUFFERS_MAX) "}{default=" TEXT(RD_LOG2_BUFFERS) "}",
			"The device fills 2^this buffers while the program is busy", "Memory")},
	{"max-frame", 0, "BYTES",
		"size of one receive buffer (default: the longest frame that the port's MTU "
		"allows; grows when a longer one arrives)",
		NULL, GROUP_MEMORY, BYTES(session.device.max_frame, 256, 65536)},
	{"buffer-size", 0, "SIZE", "memory between receiver and writer, e.g. 512Mi (default 256Mi)",
		NULL, GROUP_MEMORY, .set = set_buffer_size, FIELD(session.out.buffer),
		RANGE(MEMORY_MIN, MEMORY_MAX), .unit = 1,
		IBDUMP('p', "writer-thread", .min = 1,
			.help = "SIZE of each of the writer's two buffers (default: 256Mi "
				"together)"),
		EXTCAP(.number = 5, NULL, "Buffer before Wireshark (MiB)", "integer",
			"{range=1,65536}{default=256}",
			"Frames wait here while Wireshark is slower than the traffic", "Memory",
			.max = (uint64_t)65536 << 20, .unit = 1 << 20)},
	{"writer-thread", 'p', .group = GROUP_MEMORY, .flags = OPT_ALIAS},
	{"kernel-buffer", 'B', "KIB", "ring buffer of a netdev in KiB; also 64Mi (default 32Mi)",
		NULL, GROUP_MEMORY, .set = set_size, FIELD(session.kernel_buffer),
		RANGE(65536, (uint64_t)1 << 31), .unit = 1024},
	{"when-full", 0, "drop|wait",
		"when --buffer-size is full: drop the newest frames and count them (default), or "
		"stop receiving",
		NULL, GROUP_MEMORY,
		CHOICE(session.when_full, "drop", "wait") /* enum rd_when_full */},
	{"mem-mode", 'M', "SIZE", "keep the capture in SIZE bytes of memory, write it at the end",
		NULL, GROUP_MEMORY, .set = set_mem_mode, FIELD(session.out.buffer),
		RANGE(MEMORY_MIN, MEMORY_MAX), .unit = 1,
		IBDUMP('M', .min = 1,
			.help = "keep frames in SIZE bytes of memory, write them at the end; ends "
				"when it is full")},
	{"rx-mode", 0, "auto|wqe|verbs",
		"wqe: read the receive queue of mlx5 directly; verbs: through libibverbs; auto "
		"(default): wqe on mlx5, else verbs",
		NULL, GROUP_MEMORY,
		/* enum rd_rx_mode */
		CHOICE(session.device.rx_mode, "auto", "wqe", "verbs")},
	{"queues", 0, "N|auto",
		"receive with N queues of the device (a power of two), each with its own thread, "
		"and merge by time; auto: one per 50 Gb/s of the port",
		NULL, GROUP_MEMORY, .set = set_queues, FIELD(session.queues),
		RANGE(1, RD_QUEUES_MAX)},
	{"latency", 0, "MS",
		"let frames wait in the receive ring for up to MS milliseconds, so that the "
		"program wakes up less often (default " TEXT(RD_LATENCY_MS) "; 0: wake up for each "
									    "frame)",
		NULL, GROUP_MEMORY, NUMBER(session.device.latency_ms, 0, 1000)},
	{"contiguous-pages", 'T', .group = GROUP_MEMORY, .flags = OPT_HIDDEN, .set = set_nothing,
		IBDUMP('T', "conti", .help = "no effect: contiguous memory is always tried")},

	{"analyze", 0, NULL,
		"analyse the traffic and print a report: at the end, and on a terminal during the "
		"capture (see rdmadump analyze)",
		"analyse the traffic, live and at the end", GROUP_MESSAGES, FLAG(analyze)},
	{"verbose", 'v', NULL, "also print one line per frame when writing to a file", NULL,
		GROUP_MESSAGES, FLAG(print)},
	{"print", .group = GROUP_MESSAGES, .flags = OPT_ALIAS},
	{"count", 0, NULL, "print only the number of frames", NULL, GROUP_MESSAGES,
		FLAG(only_count)},
	{NULL, 't', NULL,
		"print no timestamps; -tt: since the epoch; -ttt: since the previous line; -tttt: "
		"with the date; -ttttt: since the first line",
		NULL, GROUP_MESSAGES, MORE(bare_t)},
	{NULL, 'e', NULL, "print MAC addresses and VLAN, or VL and SL", NULL, GROUP_MESSAGES,
		FLAG(show_link)},
	{"json", 0, NULL, "print the final report as JSON on standard output", NULL, GROUP_MESSAGES,
		FLAG(json)},
	{"quiet", 'q', NULL, "print only errors and warnings", "print only errors and warnings",
		GROUP_MESSAGES, FLAG(quiet), IBDUMP('s', "silent", .help = "only errors")},
	{"silent", .group = GROUP_MESSAGES, .flags = OPT_ALIAS},
	{"debug", 0, NULL, "print debug messages", NULL, GROUP_MESSAGES, MORE(debug)},
	{"help", 'h', NULL, "print the most used options", NULL, GROUP_MESSAGES,
		INSTEAD(INSTEAD_HELP)},
	{NULL, '?', .group = GROUP_MESSAGES, .flags = OPT_ALIAS | OPT_HIDDEN},
	{"help-all", 0, NULL, "print all options", NULL, GROUP_MESSAGES, INSTEAD(INSTEAD_HELP_ALL)},
	{"usage", 0, NULL, "print all options, without explanation", NULL, GROUP_MESSAGES,
		INSTEAD(INSTEAD_USAGE)},
	{"version", 'V', NULL, "print version, libraries and features", NULL, GROUP_MESSAGES,
		INSTEAD(INSTEAD_VERSION)},
	/* rd_cli_read() */
	{"option-list", .group = GROUP_MESSAGES, .flags = OPT_HIDDEN, .set = set_nothing},

/* Letters of other tools: accepted, or refused with the option to use instead. */
#define ACCEPTED(l)                                                                                \
	{                                                                                          \
		NULL, l, .group = GROUP_MESSAGES, .flags = OPT_HIDDEN, .set = set_nothing          \
	}
#define REFUSED(l, argument, text)                                                                 \
	{                                                                                          \
		NULL, l, argument, text, .group = GROUP_MESSAGES, .flags = OPT_HIDDEN,             \
					 .set = set_refused                                        \
	}
	ACCEPTED('n'), /* tcpdump: no names; dumpcap: pcapng */
	ACCEPTED('l'), /* tcpdump: line buffered */
	ACCEPTED('K'), /* tcpdump: no checksums */
	REFUSED('m', "DEV", "ibdump's -m names an mst device, which is not needed: give -d DEV"),
	REFUSED('x', NULL, "bytes are not printed: write with -w and use tshark -x"),
	REFUSED('X', NULL, "bytes are not printed: write with -w and use tshark -x"),
	REFUSED('A', NULL, "payload is not printed: write with -w and read with tshark"),
	REFUSED('L', NULL,
		"link types cannot be chosen: Ethernet, or ERF on InfiniBand (--format)"),
	REFUSED('y', "TYPE",
		"link types cannot be chosen: Ethernet, or ERF on InfiniBand (--format)"),
	REFUSED('P', NULL, "dumpcap's -P is --format pcap here"),
	REFUSED('g', NULL, "dumpcap's -g lets the group read: files are 0600 here, use chmod"),
	REFUSED('H', NULL, "netsniff-ng's -H is not offered: use chrt"),
	{0},
};

const unsigned int n_cli_options = RD_COUNT(cli_options) - 1;

const struct cli_option *option_main(unsigned int i)
{
	while (cli_options[i].flags & OPT_ALIAS)
		i--;
	return &cli_options[i];
}
