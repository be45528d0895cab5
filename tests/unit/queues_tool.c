/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Receives through several queues of a device, each in a thread of its own, and prints the counts:
 * for the tests of the verbs source. The sum is one number for all frames, their bytes and their
 * order within a flow, and is right only if no flow was split over queues.
 */
#include <getopt.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <pthread.h>
#include <rdmadump/bytes.h>
#include <rdmadump/device.h>
#include <rdmadump/log.h>
#include <rdmadump/source.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

static const char usage[] =
	"usage: queues_tool [-n QUEUES] [-m auto|wqe|verbs] [-b LOG2] [-y MS] DEVICE\n"
	"       queues_tool -r PCAP\n"
	"  -y MS  each thread sleeps so long before its first look\n";

#define FLOWS 4096

struct flows {
	uint64_t key[FLOWS], chain[FLOWS];
	uint64_t frames, bytes;
};

struct worker {
	struct rd_source *source;
	pthread_t thread;
	struct flows flows;
	struct rd_error error;
	unsigned int index;
	unsigned int delay_ms;
};

static atomic_bool stopping;
static int stop_fd;

static void on_signal(int signal_number)
{
	(void)signal_number;
	eventfd_write(stop_fd, 1);
}

static void on_log(void *ctx, enum rd_level level, const char *line)
{
	(void)ctx;
	(void)level;
	fprintf(stderr, "log: %s\n", line);
}

static uint64_t hash_bytes(uint64_t hash, const uint8_t *p, size_t len)
{
	while (len--)
		hash = (hash ^ *p++) * UINT64_C(0x100000001b3);
	return hash;
}

/* Addresses and ports of UDP over IPv4 without options; all else is one flow. */
static uint64_t flow_key(const uint8_t *p, uint32_t len)
{
	if (len < 42 || rd_be16(p + 12) != 0x0800 || p[14] != 0x45 || p[23] != 17)
		return 1;
	return hash_bytes(0x9e3779b97f4a7c15, p + 26, 12) | 1;
}

static void take(struct flows *f, const uint8_t *p, uint32_t len)
{
	uint64_t key = flow_key(p, len), at = key >> 20;

	for (at %= FLOWS; f->key[at] && f->key[at] != key; at = (at + 1) % FLOWS)
		;
	f->key[at] = key;
	f->chain[at] = hash_bytes(f->chain[at] ^ len, p, len);
	f->frames++;
	f->bytes += len;
}

static uint64_t sum(const struct flows *f)
{
	uint64_t s = 0;

	for (unsigned int i = 0; i < FLOWS; i++)
		s += f->chain[i];
	return s;
}

static void sleep_until_something(struct worker *w)
{
	struct rd_source *s = w->source;
	struct pollfd p[3] = {
		{s->frame_fd, POLLIN, 0}, {s->event_fd, POLLIN, 0}, {stop_fd, POLLIN, 0}};

	if (s->ops->arm(s, &w->error))
		return;
	poll(p, 3, -1);
	s->ops->service(s, &w->error);
	/* The lead stops all, and the others may not end before. */
	if (p[2].revents && w->index == 0 && !atomic_load(&stopping)) {
		s->ops->stop(s);
		atomic_store(&stopping, true);
	} else if (p[2].revents) {
		poll(NULL, 0, 1);
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct rd_source *s = w->source;
	struct rd_frame frames[RD_BATCH];

	poll(NULL, 0, (int)w->delay_ms);
	for (;;) {
		bool last = atomic_load(&stopping);
		int n = s->ops->receive(s, frames, RD_BATCH, &w->error);

		if (n < 0 || (n == 0 && last))
			break;
		for (int i = 0; i < n; i++)
			take(&w->flows, frames[i].data, frames[i].caplen);
		if (n > 0)
			s->ops->release(s);
		else
			sleep_until_something(w);
	}
	/* Nobody waits for what ended by itself. */
	if (w->index == 0 && !atomic_exchange(&stopping, true)) {
		s->ops->stop(s);
		eventfd_write(stop_fd, 1);
	}
	return NULL;
}

static int file_sum(const char *path)
{
	char why[PCAP_ERRBUF_SIZE];
	struct flows *f = calloc(1, sizeof(*f));
	pcap_t *p = pcap_open_offline(path, why);
	struct pcap_pkthdr *h;
	const u_char *data;

	if (!p || !f) {
		fprintf(stderr, "queues_tool: %s\n", why);
		return 1;
	}
	while (pcap_next_ex(p, &h, &data) == 1)
		take(f, data, h->caplen);
	printf("sum %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", f->frames, f->bytes, sum(f));
	pcap_close(p);
	free(f);
	return 0;
}

static int run(struct worker *w, unsigned int n)
{
	struct rd_source_stats stats, other;
	uint64_t frames = 0, bytes = 0, total = 0, others = 0;
	struct rd_error err = {0};
	int status = 0;

	if (w[0].source->ops->start(w[0].source, &err) < 0) {
		printf("error %s\n", err.text);
		return 2;
	}
	for (unsigned int i = 0; i < n; i++)
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	for (unsigned int i = n; i-- > 0;)
		pthread_join(w[i].thread, NULL);
	w[0].source->ops->stop(w[0].source);
	w[0].source->ops->measure(w[0].source);
	for (unsigned int i = 0; i < n; i++) {
		printf("queue %u %" PRIu64 "\n", i, w[i].flows.frames);
		if (*w[i].error.text)
			printf("error %s\n", w[i].error.text);
		status |= *w[i].error.text ? 4 : 0;
		frames += w[i].flows.frames;
		bytes += w[i].flows.bytes;
		total += sum(&w[i].flows);
		w[i].source->ops->stats(w[i].source, i ? &other : &stats);
		others += i ? other.lost + other.gaps : 0;
	}
	printf("sum %" PRIu64 " %" PRIu64 " %016" PRIx64 "\n", frames, bytes, total);
	printf("lost %" PRIu64 " gaps %" PRIu64 " others %" PRIu64 "\n", stats.lost, stats.gaps,
		others);
	return status;
}

static int capture(const char *name, const struct rd_verbs_config *config, unsigned int wanted,
	unsigned int delay_ms)
{
	struct worker *w = calloc(RD_QUEUES_MAX, sizeof(*w));
	struct rd_source *sources[RD_QUEUES_MAX];
	struct rd_verbs_config c = *config;
	struct rd_devices devices = {0};
	struct rd_error err = {0};
	unsigned int n = wanted;
	int status = 2;

	if (w && rd_devices_load(&devices, "", &err) == 0 &&
		rd_devices_find(&devices, name, 0, &c.device, &c.port, &err) == 0 &&
		rd_verbs_open_queues(sources, &n, &c, &err) == 0) {
		printf("queues %u\ndetails %s\n", n, sources[0]->details);
		for (unsigned int i = 0; i < n; i++) {
			w[i].source = sources[i];
			w[i].index = i;
			w[i].delay_ms = delay_ms;
		}
		status = run(w, n);
		for (unsigned int i = n; i-- > 0;)
			sources[i]->ops->close(sources[i]);
	} else {
		printf("error %s\n", err.text);
	}
	rd_devices_free(&devices);
	free(w);
	return status;
}

int main(int argc, char **argv)
{
	static const char *const modes[] = {"auto", "wqe", "verbs"};
	struct rd_verbs_config config = {.log2_buffers = 10, .sysroot = ""};
	unsigned int n = 1, delay_ms = 0;
	int c;

	rd_log_to(on_log, NULL, RD_LOG_DEBUG);
	stop_fd = eventfd(0, EFD_NONBLOCK);
	signal(SIGINT, on_signal);
	while ((c = getopt(argc, argv, "n:m:b:y:r:")) != -1) {
		if (c == 'r')
			return file_sum(optarg);
		if (c == 'n')
			n = (unsigned int)atoi(optarg);
		else if (c == 'b')
			config.log2_buffers = (unsigned int)atoi(optarg);
		else if (c == 'y')
			delay_ms = (unsigned int)atoi(optarg);
		else if (c == 'm')
			for (int m = RD_RX_AUTO; m <= RD_RX_VERBS; m++)
				config.rx_mode = strcmp(optarg, modes[m]) ? config.rx_mode
									  : (enum rd_rx_mode)m;
		else
			break;
	}
	if (c != -1 || optind != argc - 1 || n > RD_QUEUES_MAX) {
		fputs(usage, stderr);
		return 1;
	}
	return capture(argv[optind], &config, n, delay_ms);
}
