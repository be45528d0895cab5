/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Less favourable behaviour of real devices and kernels: commands that take time, and limits. */
#include "softhca.h"

/* "MS" for every command, "VERB=MS" for one; joined by commas, the last one that fits counts. */
void latencies_read(void *at, char *spec)
{
	struct model_conf *c = at;
	char *save = NULL;

	for (char *t = strtok_r(spec, ",", &save); t; t = strtok_r(NULL, ",", &save)) {
		struct latency *l = &c->latency[c->nlatencies];
		char *v = strchr(t, '=');

		if (c->nlatencies == ARRAY_SIZE(c->latency))
			return;
		c->nlatencies++;
		l->ns = strtoull(v ? v + 1 : t, NULL, 0) * 1000000;
		if (v)
			*v = 0;
		strncpy(l->verb, v ? t : "", sizeof(l->verb) - 1);
	}
}

void latency_half(const char *verb)
{
	const struct model_conf *c = conf_get();
	uint64_t ns = 0;

	for (uint32_t i = 0; i < c->nlatencies; i++)
		if (!c->latency[i].verb[0] || !strcmp(c->latency[i].verb, verb))
			ns = c->latency[i].ns / 2;
	if (ns)
		nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000),
				  .tv_nsec = (long)(ns % 1000000000)},
			NULL);
}

/* Frames that are due before the first flow, on the slowest machine too. */
#define FLOWING_FRAMES 25
#define FLOWING_MS     10000

void flowing_wait(struct hca *h, const char *verb)
{
	if (!conf_get()->flowing || strcmp(verb, "create_flow") != 0)
		return;
	for (int ms = 0; ms < FLOWING_MS; ms++) {
		uint64_t frames = 0;
		bool ended = false;

		hca_lock(h);
		for (uint32_t i = 0; i < h->conf->nports; i++) {
			frames += h->port[i].offered;
			ended |= h->port[i].ended || !h->port[i].up;
		}
		hca_unlock(h);
		if (frames >= FLOWING_FRAMES || ended)
			return;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}
