/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the two ends of the program traffic meet: by files in a directory that both see. */
#include "traffic.h"
#include <time.h>

#define WAIT_MS 60000

void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static void path_of(
	const struct options *o, char *path, size_t capacity, const char *side, const char *what)
{
	snprintf(path, capacity, "%s.%s.%s", o->exchange, side, what);
}

static const char *other_side(const struct options *o)
{
	return o->side[0] == 'a' ? "b" : "a";
}

void publish(const struct traffic *t, const char *what)
{
	char path[512], made[520];
	FILE *f;

	path_of(&t->o, path, sizeof(path), t->o.side, what);
	snprintf(made, sizeof(made), "%s.new", path);
	f = fopen(made, "we");
	if (!f)
		die(made);
	fprintf(f, "%" PRIu32 " %" PRIu64, t->me.rkey, t->me.address);
	for (int i = 0; i < 16; i++)
		fprintf(f, " %u", (unsigned int)t->me.gid.raw[i]);
	for (unsigned int i = 0; i < t->o.qps; i++)
		fprintf(f, " %" PRIu32 " %" PRIu32, t->me.qpn[i], t->me.psn[i]);
	if (fclose(f) || rename(made, path))
		die(path);
}

bool published(const struct traffic *t, const char *what)
{
	char path[512];

	path_of(&t->o, path, sizeof(path), other_side(&t->o), what);
	return access(path, F_OK) == 0;
}

void wait_for(const struct traffic *t, const char *what)
{
	for (long waited = 0; !published(t, what); waited += 2) {
		if (waited > WAIT_MS) {
			errno = ETIMEDOUT;
			die(what);
		}
		pause_ms(2);
	}
}

void read_peer(struct traffic *t)
{
	char path[512];
	FILE *f;
	bool good;

	path_of(&t->o, path, sizeof(path), other_side(&t->o), "info");
	f = fopen(path, "re");
	if (!f)
		die(path);
	good = fscanf(f, "%" SCNu32 " %" SCNu64, &t->peer.rkey, &t->peer.address) == 2;
	for (int i = 0; i < 16; i++) {
		unsigned int byte = 0;

		good = good && fscanf(f, "%u", &byte) == 1;
		t->peer.gid.raw[i] = (uint8_t)byte;
	}
	for (unsigned int i = 0; i < t->o.qps; i++)
		good = good &&
		       fscanf(f, "%" SCNu32 " %" SCNu32, &t->peer.qpn[i], &t->peer.psn[i]) == 2;
	fclose(f);
	errno = EINVAL;
	if (!good)
		die(path);
}
