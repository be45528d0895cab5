/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Unit tests of triggers of counters that are reset while a set of them is read, file by file. */
#include "recorder/recorder.h"
#include "test.h"
#include <rdmadump/device.h>

/* A reset from there looks like a wrap, where no other counter fell. */
#define NEAR_END 4290000000

static const uint64_t (*readings)[2]; /* out_of_buffer, rx_write_requests */
static unsigned int n_read, n_fired;
static struct rd_recorder recorder;
static struct trigger trigger = {.source = TRIGGER_COUNTER};

int __wrap_rd_counters_load(struct rd_counters *counters, const char *sysroot,
	const struct rd_device *device, const struct rd_port *port, struct rd_error *err);
uint64_t __wrap_rd_port_identity(const char *sysroot, const char *device, unsigned int port);
void __wrap_recorder_fire(
	struct rd_recorder *r, struct trigger *t, const uint64_t *at, const char *what);

int __wrap_rd_counters_load(struct rd_counters *counters, const char *sysroot,
	const struct rd_device *device, const struct rd_port *port, struct rd_error *err)
{
	static const char *const names[] = {
		"hw_counters/out_of_buffer", "hw_counters/rx_write_requests"};

	*counters = (struct rd_counters){.driver = "mlx5_core", .n = 2};
	counters->counter = calloc(2, sizeof(*counters->counter));
	for (unsigned int i = 0; i < 2; i++)
		counters->counter[i] = (struct rd_counter){strdup(names[i]), readings[n_read][i],
			rd_counter_kind("mlx5_core", names[i])};
	n_read++;
	return 0;
}

uint64_t __wrap_rd_port_identity(const char *sysroot, const char *device, unsigned int port)
{
	return 1;
}

void __wrap_recorder_fire(
	struct rd_recorder *r, struct trigger *t, const uint64_t *at, const char *what)
{
	n_fired++;
}

/* How often the trigger fires at two readings after the first one. */
static unsigned int fired_by(const uint64_t script[][2])
{
	static const struct rd_device device;
	static const struct rd_port port;
	struct counters_watch *w = &recorder.watch.counters;

	*w = (struct counters_watch){.n_ports = 1, .n = 1};
	w->ports[0].device = &device;
	w->ports[0].port = &port;
	w->counter[0].trigger = &trigger;
	trigger.counter = "out_of_buffer";
	trigger.most = 5;
	readings = script;
	n_read = n_fired = 0;
	for (unsigned int i = 0; i < 3; i++)
		counters_watch_read(&recorder);
	counters_watch_fini(&recorder);
	return n_fired;
}

TEST(reset_between_two_files)
{
	static const uint64_t first_fell[][2] = {{NEAR_END, 5000}, {9, 5000}, {9, 0}, {9, 0}};
	static const uint64_t second_fell[][2] = {{NEAR_END, 5000}, {NEAR_END, 0}, {9, 0}, {9, 0}};

	expect("0 0", fired_by(first_fell), fired_by(second_fell));
}

TEST(wrap)
{
	static const uint64_t wrapped[][2] = {{NEAR_END, 0}, {9, 0}, {9, 0}, {9, 0}};
	static const uint64_t grown[][2] = {{0, 0}, {6, 0}, {12, 0}};

	expect("1 2", fired_by(wrapped), fired_by(grown));
	trigger.rate = true; /* above the rate once, and then still */
	expect("1", fired_by(grown));
}
