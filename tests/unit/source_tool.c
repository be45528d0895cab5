/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs one source as the engine does, and prints the frames: for the tests of sources. */
#include <getopt.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <rdmadump/clock.h>
#include <rdmadump/log.h>
#include <rdmadump/source.h>
#include <rdmadump/wire.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
	"usage: source_tool [OPTIONS] file PATH | netdev NAME\n"
	"  -w      frames as nanosecond pcap on standard output; the rest on standard error\n"
	"  -q      frames are not looked at: for measuring\n"
	"  -i      interfaces, notes and statistics too\n"
	"  -n N    ends after N frames\n"
	"  -t MS   ends when nothing came for so long\n"
	"  -s N    -f EXPR  -b BYTES  -p  snapshot length, filter, ring, promiscuous (netdev)\n";

struct tool {
	struct rd_source *source;
	pcap_t *dead;
	pcap_dumper_t *dumper;
	bool write, quick, details;
	uint64_t most, idle_ms;
	uint64_t frames, bytes, hash, dropped;
	uint64_t dirs[3];
};

static volatile sig_atomic_t ended;

static void on_signal(int signal_number)
{
	(void)signal_number;
	ended = 1;
}

static void on_log(void *ctx, enum rd_level level, const char *line)
{
	(void)ctx;
	(void)level;
	fprintf(stderr, "log: %s\n", line);
}

static void hash_bytes(uint64_t *hash, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len--)
		*hash = (*hash ^ *p++) * UINT64_C(0x100000001b3);
}

static void dump(struct tool *t, const struct rd_frame *f)
{
	const struct pcap_pkthdr h = {
		.ts = {(time_t)(f->ts_ns / 1000000000U), (suseconds_t)(f->ts_ns % 1000000000U)},
		.caplen = f->caplen,
		.len = f->len,
	};

	pcap_dump((u_char *)t->dumper, &h, f->data);
}

static void show_notes(struct tool *t, unsigned int n)
{
	struct rd_note note;

	for (unsigned int i = 0; i < n; i++) {
		if (!t->source->ops->note(t->source, i, &note))
			continue;
		t->dropped += note.dropped;
		if (t->details)
			printf("note %" PRIu64 ": %" PRIu64 " %s\n", t->frames + i + 1,
				note.dropped, note.comment ? note.comment : "-");
	}
}

static void take(struct tool *t, const struct rd_frame *frames, unsigned int n)
{
	if (t->source->batch_has_notes)
		show_notes(t, n);
	for (unsigned int i = 0; i < n; i++) {
		const struct rd_frame *f = &frames[i];

		t->bytes += f->caplen;
		if (f->direction <= RD_DIR_OUT)
			t->dirs[f->direction]++;
		if (t->write)
			dump(t, f);
		if (t->quick)
			continue;
		hash_bytes(&t->hash, &f->caplen, 8);
		hash_bytes(&t->hash, &f->ts_ns, 8);
		hash_bytes(&t->hash, &f->iface, 2);
		hash_bytes(&t->hash, f->data, f->caplen);
	}
	t->frames += n;
}

/* Sleeps until a descriptor is ready; false when nothing came for the time allowed. */
static bool await(struct tool *t, struct rd_error *err)
{
	struct rd_source *s = t->source;
	struct pollfd p[2] = {{s->frame_fd, POLLIN, 0}, {s->event_fd, POLLIN, 0}};
	uint64_t start = rd_monotonic_ns();

	if (s->ops->arm(s, err))
		return true;
	for (;;) {
		int n = poll(p, 2, 20);

		if (n > 0 || ended)
			return s->ops->service(s, err) == 0;
		if (t->idle_ms && rd_monotonic_ns() - start > t->idle_ms * 1000000)
			return false;
	}
}

static int run(struct tool *t, struct rd_error *err)
{
	struct rd_source *s = t->source;
	struct rd_frame frames[RD_BATCH];
	bool going = true;

	if (s->ops->start(s, err) < 0)
		return -1;
	for (;;) {
		uint64_t left = t->most - t->frames;
		int n = s->ops->receive(
			s, frames, left < RD_BATCH ? (unsigned int)left : RD_BATCH, err);

		if (n < 0) {
			s->ops->stop(s);
			return n;
		}
		if (n > 0) {
			if (s->local.link != RD_LINK_UNKNOWN)
				rd_direction_mark(&s->local, frames, (unsigned int)n);
			take(t, frames, (unsigned int)n);
			s->ops->release(s);
		}
		if (t->frames >= t->most)
			return 0;
		if (going && (ended || (!n && !await(t, err)))) {
			going = false;
			s->ops->stop(s);
		} else if (!going && !n) {
			return RD_SOURCE_END;
		}
	}
}

static void show_ifaces(const struct rd_source *s)
{
	unsigned int n;
	const struct rd_iface *ifaces = rd_source_ifaces(s, &n);

	printf("source %s; %s\n", s->title, s->details);
	for (unsigned int i = 0; i < n; i++)
		printf("iface %u: link %d dlt %d snaplen %u name %s filter %s hardware %s "
		       "description %s\n",
			i, (int)ifaces[i].link, ifaces[i].dlt, ifaces[i].snaplen,
			ifaces[i].name ? ifaces[i].name : "-",
			ifaces[i].filter ? ifaces[i].filter : "-",
			ifaces[i].hardware ? ifaces[i].hardware : "-",
			ifaces[i].description ? ifaces[i].description : "-");
	if (s->section)
		printf("section hardware %s os %s application %s comment %s\n",
			s->section->hardware ? s->section->hardware : "-",
			s->section->os ? s->section->os : "-",
			s->section->application ? s->section->application : "-",
			s->section->comment ? s->section->comment : "-");
}

static void show_stats(struct tool *t, FILE *out)
{
	struct rd_source *s = t->source;
	struct rd_source_stats st;
	struct rd_iface_stats is;
	uint64_t done, size;

	if (s->ops->measure)
		s->ops->measure(s);
	s->ops->stats(s, &st);
	fprintf(out, "lost %" PRIu64 " known %d upper %d noted %" PRIu64 " left_out %" PRIu64,
		st.lost, st.loss_known, st.loss_shared, t->dropped, st.left_out);
	for (unsigned int i = 0; i < st.n_loss; i++)
		fprintf(out, " %s %" PRIu64, st.loss[i].name, st.loss[i].frames.amount);
	fprintf(out, "\ndirections %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", t->dirs[0], t->dirs[1],
		t->dirs[2]);
	if (s->note[0])
		fprintf(out, "said %s\n", s->note);
	if (s->ops->progress) {
		s->ops->progress(s, &done, &size);
		fprintf(out, "progress %" PRIu64 " of %" PRIu64 "\n", done, size);
	}
	for (unsigned int i = 0; s->ops->iface_stats && i < s->n_ifaces; i++)
		if (s->ops->iface_stats(s, i, &is))
			fprintf(out,
				"stats %u: %" PRIu64 "..%" PRIu64 " received %" PRIu64
				" dropped %" PRIu64 "\n",
				i, is.start_ns, is.end_ns, is.received, is.dropped);
}

static int open_dump(struct tool *t)
{
	const struct rd_iface *iface = &t->source->iface;
	int dlt = iface->link == RD_LINK_ETHERNET ? DLT_EN10MB : iface->dlt ? iface->dlt : 247;

	t->dead = pcap_open_dead_with_tstamp_precision(dlt, 262144, PCAP_TSTAMP_PRECISION_NANO);
	t->dumper = t->dead ? pcap_dump_fopen(t->dead, stdout) : NULL;
	return t->dumper ? 0 : -1;
}

static int open_source(
	struct tool *t, char **argv, struct rd_netdev_config *netdev, struct rd_error *err)
{
	const struct rd_file_config file = {.path = argv[1]};

	netdev->netdev = argv[1];
	if (strcmp(argv[0], "netdev") == 0)
		return rd_netdev_open(&t->source, netdev, err);
	return rd_file_open(&t->source, &file, err);
}

static bool parse(struct tool *t, struct rd_netdev_config *netdev, int argc, char **argv)
{
	struct {
		int key;
		uint64_t *to;
	} const numbers[] = {{'n', &t->most}, {'t', &t->idle_ms}, {'b', &netdev->buffer}};
	struct {
		int key;
		bool *to;
	} const flags[] = {{'w', &t->write}, {'q', &t->quick}, {'i', &t->details},
		{'p', &netdev->promiscuous}};
	int c;

	while ((c = getopt(argc, argv, "wqin:t:s:f:b:p")) != -1) {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
			if (numbers[i].key == c)
				*numbers[i].to = strtoull(optarg, NULL, 0);
		for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
			if (flags[i].key == c)
				*flags[i].to = true;
		if (c == 's')
			netdev->snaplen = (uint32_t)strtoul(optarg, NULL, 0);
		if (c == 'f')
			netdev->filter = optarg;
		if (c == '?')
			return false;
	}
	t->quick |= t->write;
	return argc == optind + 2;
}

int main(int argc, char **argv)
{
	struct tool t = {.most = UINT64_MAX, .hash = UINT64_C(0xcbf29ce484222325)};
	struct rd_netdev_config netdev = {0};
	struct rd_error err = {0};
	int rc;

	rd_log_to(on_log, NULL, RD_LOG_INFO);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	if (!parse(&t, &netdev, argc, argv)) {
		fputs(usage, stderr);
		return 1;
	}
	if (open_source(&t, argv + optind, &netdev, &err) < 0) {
		fprintf(stderr, "error: %s\n", err.text);
		return (int)err.class;
	}
	if (t.details)
		show_ifaces(t.source);
	fprintf(stderr, "ready\n");
	if (t.write && open_dump(&t) < 0)
		return 3;
	rc = run(&t, &err);
	if (t.dumper) {
		pcap_dump_close(t.dumper);
		pcap_close(t.dead);
	} else {
		printf("%" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", t.frames, t.bytes, t.hash);
	}
	if (rc == -1)
		fprintf(stderr, "error: %s\n", err.text);
	if (t.details || t.write)
		show_stats(&t, t.write ? stderr : stdout);
	t.source->ops->close(t.source);
	return rc == -1 ? (int)err.class : 0;
}
