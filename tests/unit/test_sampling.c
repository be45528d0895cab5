/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* src/session/owners.c: how often a session lists QPs, which costs the device a command each. */
#include "session/session.h"
#include "test.h"
#include <rdmadump/resource.h>

#define SECOND UINT64_C(1000000000)

static struct {
	uint64_t now_ns;
	bool whole; /* the kernel reports each QP */
	unsigned int lists;
} world;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	*t = (struct timespec){(time_t)(world.now_ns / SECOND), (long)(world.now_ns % SECOND)};
	return 0;
}

bool __wrap_owner_events_whole(const struct rd_session *s)
{
	return world.whole;
}

int __wrap_rd_resources_qps(struct rd_resources *r, const char *device)
{
	*r = (struct rd_resources){0};
	world.lists++;
	return 0;
}

int __wrap_rd_resources_qp_count(const char *device, uint64_t *n)
{
	*n = 1;
	return 0;
}

uint64_t __wrap_rd_source_now(struct rd_source *source)
{
	return world.now_ns;
}

/* In a minute, of which the thread looks every 100 ms. */
static unsigned int lists_of(bool whole, bool recording)
{
	static const struct rd_clock clock = {0};
	static const struct rd_session_recording around = {.retention.pre_ns = 10 * SECOND};
	const struct rd_session_config config = {.recording = recording ? &around : NULL};
	static struct rd_session s;
	static struct rd_device device = {.name = "mlx5_0"};
	static const struct rd_port port = {.num = 1};

	memset(&s, 0, sizeof(s));
	s.config = &config;
	s.in.n = 1;
	s.in.device[0] = &device;
	s.in.port[0] = &port;
	s.sampling.owners[0] = rd_owners_new(&clock);
	assert_non_null(s.sampling.owners[0]);
	pthread_mutex_init(&s.loss.lock, NULL);
	owners_init(&s);
	world.whole = whole;
	world.lists = 0;
	world.now_ns = SECOND;
	s.sampling.next_ns = world.now_ns;
	for (unsigned int i = 0; i < 600; i++, world.now_ns += SECOND / 10)
		owners_tick(&s);
	owners_free(&s);
	pthread_mutex_destroy(&s.loss.lock);
	return world.lists;
}

TEST(lists)
{
	expect("120 120", lists_of(false, false), lists_of(false, true));
	/* The kernel reports QPs: a capture lists none, a recording one in the time of --pre. */
	expect("0 6", lists_of(true, false), lists_of(true, true));
}
