/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Less favourable behaviour of real devices and kernels: commands that take time, limits, and the
 * check of credentials in uverbs_main.c, ib_safe_file_access().
 */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "softhca.h"

/* "MS" for every command, "VERB=MS" for one; joined by commas, the last one that fits counts. */
void latencies_parse(struct model_conf *c, char *spec)
{
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

bool quirks_key(struct hca_conf *d, const char *key, const char *v)
{
	if (!strcmp(key, "oversize"))
		d->oversize = !strcmp(v, "lives")   ? OVERSIZE_LIVES
			      : !strcmp(v, "halts") ? OVERSIZE_HALTS
			      : !strcmp(v, "other") ? OVERSIZE_OTHER
						    : OVERSIZE_KILLS;
	else if (!strcmp(key, "cqe_comp"))
		d->compresses = !strcmp(v, "forced");
	else if (!strcmp(key, "creds"))
		d->checks_creds = !strcmp(v, "checked");
	else if (!strcmp(key, "wqes"))
		d->wqes = (uint32_t)strtoul(v, NULL, 0);
	else if (!strcmp(key, "table"))
		d->table = (uint32_t)strtoul(v, NULL, 0);
	else if (!strcmp(key, "sniffers"))
		d->sniffers = (uint32_t)strtoul(v, NULL, 0);
	else if (!strcmp(key, "all_sniffers"))
		d->all_sniffers = (uint32_t)strtoul(v, NULL, 0);
	else if (!strcmp(key, "leftovers"))
		d->leftovers = !strcmp(v, "yes");
	else if (!strcmp(key, "rss_hash"))
		d->rss_hash = !strcmp(v, "frame")  ? RSS_BY_FRAME
			      : !strcmp(v, "none") ? RSS_NONE
						   : RSS_TOEPLITZ;
	else if (!strcmp(key, "netdev_set"))
		d->netdev_set = !strcmp(v, "follows")  ? NETDEV_FOLLOWS
				: !strcmp(v, "stays")  ? NETDEV_STAYS
				: !strcmp(v, "errors") ? NETDEV_ERRORS
				: !strcmp(v, "slow")   ? NETDEV_SLOW
						       : NETDEV_FIXED;
	else if (!strcmp(key, "lost_events"))
		d->lost_events = strtoull(v, NULL, 0);
	else if (!strcmp(key, "context"))
		d->ioctl_context = !strcmp(v, "ioctl");
	else if (!strcmp(key, "gateway") && strcmp(v, "hidden") != 0)
		snprintf(d->gateway, sizeof(d->gateway), "%s", v);
	else if (!strcmp(key, "drop_counter"))
		snprintf(d->drop_counter, sizeof(d->drop_counter), "%s", v);
	else if (!strcmp(key, "drop_every"))
		d->drop_every = strtoull(v, NULL, 0);
	else if (!strcmp(key, "slow_ms"))
		d->slow_ns = strtoull(v, NULL, 0) * 1000000;
	else if (!strcmp(key, "reset"))
		d->deaf = !strcmp(v, "deaf");
	else if (!strcmp(key, "linger_ms"))
		d->linger_ns = strtoull(v, NULL, 0) * 1000000;
	else
		return false;
	return true;
}

void creds_get(struct creds *c)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2] = {{0}};

	syscall(SYS_capget, &head, data);
	*c = (struct creds){(uint32_t)syscall(SYS_geteuid), (uint32_t)syscall(SYS_getegid),
		{data[0].effective, data[1].effective}};
}

bool creds_same(const struct ctx *ctx)
{
	struct creds now;

	creds_get(&now);
	return !memcmp(&now, &ctx->creds, sizeof(now));
}
