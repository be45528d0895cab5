/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends messages with a MESSAGE_ID to systemd's journal, by its native protocol and without its
 * library: https://systemd.io/JOURNAL_NATIVE_PROTOCOL. The IDs are also in
 * systemd/rdmadump.catalog.
 */
#include "recorder.h"
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#define SOCKET "/run/systemd/journal/socket"

static const struct {
	const char *id;
	int priority;
	enum rd_level level; /* used without the journal */
} events[] = {
	[JOURNAL_TRIGGER] = {"6f1d0b5c2d7e4e0b9a4d7c55a3f0e8b1", LOG_NOTICE, RD_LOG_INFO},
	[JOURNAL_FILE] = {"b8c25a0f9a3e4d6f8e21f06c7d9314e2", LOG_NOTICE, RD_LOG_INFO},
	[JOURNAL_FAILED] = {"d3a94e617f0c4b58a6c1e2b0795f8d13", LOG_WARNING, RD_LOG_WARNING},
};

/* Whether stderr is connected to the journal: systemd.exec(5), JOURNAL_STREAM. */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uint64_t dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%" SCNu64 ":%" SCNu64, &dev, &ino) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

/* A value with line ends is preceded by its length, 64 bits, little-endian. */
static void put_field(FILE *out, const char *name, const char *value)
{
	uint64_t len = strlen(value);

	if (!strchr(value, '\n')) {
		fprintf(out, "%s=%s\n", name, value);
		return;
	}
	fprintf(out, "%s\n", name);
	for (unsigned int i = 0; i < 64; i += 8)
		fputc((int)(len >> i & 0xff), out);
	fprintf(out, "%s\n", value);
}

static bool send_event(const struct rd_recorder *r, enum journal_event event, const char *text,
	const char *trigger, const struct rd_dump *dump)
{
	unsigned int n;
	const struct rd_session_source *source = rd_session_sources(r->session, &n);
	char *data = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&data, &len);
	bool sent;

	if (!out)
		return false;
	put_field(out, "MESSAGE", text);
	fprintf(out, "MESSAGE_ID=%s\nPRIORITY=%d\nSYSLOG_IDENTIFIER=rdmadump\n", events[event].id,
		events[event].priority);
	if (source->device)
		fprintf(out, "RDMADUMP_DEVICE=%s\nRDMADUMP_PORT=%u\n", source->device->name,
			source->port ? source->port->num : 0);
	if (trigger)
		put_field(out, "RDMADUMP_TRIGGER", trigger);
	if (dump)
		put_field(out, "RDMADUMP_FILE", dump->path);
	if (dump)
		fprintf(out, "RDMADUMP_FRAMES=%" PRIu64 "\n", dump->frames);
	sent = fclose(out) == 0 && notify_datagram(SOCKET, data, len);
	free(data);
	return sent;
}

void journal_log(const struct rd_recorder *r, enum journal_event event, const char *text,
	const char *trigger, const struct rd_dump *dump)
{
	if (!is_journal() || !send_event(r, event, text, trigger, dump))
		rd_log(events[event].level, "%s", text);
}
