/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device's clock: a counter that drifts against the host's, its page and that of the driver's
 * conversion (<rdma/mlx5-abi.h>, struct mlx5_ib_clock_info), and the timestamps of completions.
 */
#include <sys/mman.h>

#include "softhca.h"

enum {
	PAGE = 4096,
	CORE_OFFSET = 0,     /* of the register within its page, as the kernel reports it */
	CORE_REAL_TIME = 16, /* words behind it: struct mlx5_init_seg, real_time_h */
	INFO_PERIOD_NS = 10000000,
	INFO_SHIFT = 24,
	MMAP_CORE = 5,
	MMAP_INFO = 7,
};

struct clock {
	int fd;
	volatile __be32 *core; /* high word, low word */
	struct mlx5_ib_clock_info *info;
	uint64_t epoch_ns; /* of the monotonic clock */
	uint64_t begun_ns, info_ns;
	_Atomic uint64_t stamped_ns; /* of the first timestamp; 0: none yet */
	uint64_t stamped;	     /* timestamps given */
	FILE *truth;
};

static struct clock_conf conf;
static struct clock *clocks[MAX_DEVICES];

static void drift_read(void *at, char *v)
{
	*(double *)at = strtod(v, NULL) * 1e-6;
}

static void kind_read(void *at, char *v)
{
	(void)at;
	conf.on = true;
	conf.real_time = v[0] == 'r';
}

#define CLOCK struct clock_conf
static const struct conf_key keys[] = {
	{.name = "cycles", .read = kind_read},
	{.name = "realtime", .read = kind_read},
	KEY_NUMBER("khz", CLOCK, khz, 1),
	KEY_NUMBER("bits", CLOCK, bits, 1),
	KEY_NUMBER("start", CLOCK, start, 1),
	KEY_READ("drift", CLOCK, drift, drift_read),
	KEY_NUMBER("offset_ms", CLOCK, offset_ns, 1000000),
	KEY_NUMBER("step_ms", CLOCK, step_ns, 1000000),
	KEY_NUMBER("step_after_ms", CLOCK, step_after_ns, 1000000),
	KEY_NUMBER("wrong_every", CLOCK, wrong_every, 1),
	KEY_NUMBER("wrong_at", CLOCK, wrong_at, 1),
	KEY_NUMBER("wrong_ms", CLOCK, wrong_ns, 1000000),
	KEY_NUMBER("zero_every", CLOCK, zero_every, 1),
	KEY_NUMBER("tx_lag_us", CLOCK, tx_lag_ns, 1000),
	KEY_WORD("core", CLOCK, no_core, "yes|no"),
	KEY_WORD("refuse", CLOCK, refuse, "no|yes"),
	KEY_TEXT("truth", CLOCK, truth),
	KEY_TEXT("back", CLOCK, back),
	KEY_TEXT("ahead", CLOCK, ahead),
	{0},
};

void clock_conf_read(void *at, char *spec)
{
	(void)at;
	conf.khz = 156250;
	conf.bits = 41;
	conf.wrong_ns = 3600 * INT64_C(1000000000);
	conf_list(keys, &conf, spec, ",");
}

const struct clock_conf *clock_conf(void)
{
	return conf.on ? &conf : NULL;
}

static uint64_t mask(void)
{
	return conf.bits >= 64 ? UINT64_MAX : ((uint64_t)1 << conf.bits) - 1;
}

/* The time since the clock began, as the device's oscillator counts it. */
static double device_ns(const struct clock *k, uint64_t now)
{
	return (double)(now - k->begun_ns) * (1 + conf.drift);
}

static uint64_t ticks_at(const struct clock *k, uint64_t now)
{
	return (conf.start + (uint64_t)(device_ns(k, now) * (double)conf.khz / 1e6)) & mask();
}

/* The PTP clock, which other programs may set. */
static uint64_t ptp_at(const struct clock *k, uint64_t now)
{
	uint64_t first = atomic_load(&k->stamped_ns);
	bool set = first && now >= first + conf.step_after_ns;
	int64_t step = set ? conf.step_ns : 0;

	return k->epoch_ns + k->begun_ns + (uint64_t)device_ns(k, now) +
	       (uint64_t)(conf.offset_ns + step);
}

/* The low word first: a reader sees the high one twice. */
static void core_write(struct clock *k, uint64_t now)
{
	uint64_t ticks = ticks_at(k, now), ptp = ptp_at(k, now);

	if (conf.real_time) {
		k->core[CORE_REAL_TIME + 1] = htobe32((uint32_t)(ptp % 1000000000u));
		k->core[CORE_REAL_TIME] = htobe32((uint32_t)(ptp / 1000000000u));
	}
	k->core[1] = htobe32((uint32_t)ticks);
	k->core[0] = htobe32((uint32_t)(ticks >> 32));
}

static void info_write(struct clock *k, uint64_t now)
{
	struct mlx5_ib_clock_info *i = k->info;
	uint32_t sign = i->sign;

	__atomic_store_n(&i->sign, sign | MLX5_IB_CLOCK_INFO_KERNEL_UPDATING, __ATOMIC_SEQ_CST);
	i->nsec = ptp_at(k, now);
	i->cycles = ticks_at(k, now);
	i->frac = 0;
	i->mult = (uint32_t)(1e6 / (double)conf.khz * (1 << INFO_SHIFT));
	i->shift = INFO_SHIFT;
	i->mask = mask();
	i->overflow_period = (uint64_t)2 * INFO_PERIOD_NS;
	__atomic_store_n(&i->sign, sign + 2, __ATOMIC_SEQ_CST);
	k->info_ns = now;
}

void clock_begin(struct hca *h)
{
	struct clock *k;
	struct timespec wall;
	uint8_t *pages;

	if (!conf.on || clocks[h->index])
		return;
	k = calloc(1, sizeof(*k));
	if (!k)
		return;
	k->fd = memfd_create("softhca-clock", MFD_CLOEXEC);
	if (k->fd < 0 || ftruncate(k->fd, 2 * PAGE)) {
		free(k);
		return;
	}
	pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, k->fd, 0);
	if (pages == MAP_FAILED) {
		real_close(k->fd);
		free(k);
		return;
	}
	k->core = (volatile __be32 *)(void *)pages;
	k->info = (struct mlx5_ib_clock_info *)(void *)(pages + PAGE);
	/* Where another thread runs between both, the device's time would be that far off. */
	for (int i = 0; i < 100 && (!i || now_ns() - k->begun_ns > 50000); i++) {
		k->begun_ns = now_ns();
		clock_gettime(CLOCK_REALTIME, &wall);
	}
	k->epoch_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec - k->begun_ns;
	if (conf.truth[0])
		k->truth = fopen(conf.truth, "w");
	core_write(k, k->begun_ns);
	info_write(k, k->begun_ns);
	__atomic_store_n(&clocks[h->index], k, __ATOMIC_RELEASE);
}

void clock_flush(struct hca *h)
{
	if (clocks[h->index] && clocks[h->index]->truth)
		fflush(clocks[h->index]->truth);
}

bool clock_housekeeping(struct hca *h, uint64_t now)
{
	struct clock *k = clocks[h->index];

	if (k && now - k->info_ns >= INFO_PERIOD_NS)
		info_write(k, now);
	return k;
}

static bool due(uint64_t n, uint64_t every)
{
	return every && n % every == 0;
}

/* Copies of sent frames get their timestamp on another path than received ones. */
static bool is_sent(const struct hca *h, const struct frame *f)
{
	if (f->origin != ORIGIN_UNKNOWN)
		return f->origin == ORIGIN_SENT;
	for (unsigned int i = 0; i < MAX_PORTS; i++)
		if (h->port[i].conf && f->len >= 12 &&
			!memcmp(f->data + 6, h->port[i].conf->mac, 6))
			return true;
	return false;
}

uint64_t clock_stamp(const struct cq *cq, const struct frame *f)
{
	const struct hca *h = cq->obj.ctx->hca;
	struct clock *k = clocks[h->index];
	uint64_t now, ns, n;

	if (!k)
		return 0;
	now = now_ns();
	n = ++k->stamped;
	if (n == 1)
		atomic_store(&k->stamped_ns, now);
	if (conf.tx_lag_ns && is_sent(h, f))
		now -= conf.tx_lag_ns;
	if (k->truth)
		fprintf(k->truth, "%llu\n", (unsigned long long)(k->epoch_ns + now));
	if (due(n, conf.zero_every))
		return 0;
	if (due(n, conf.wrong_every) || n == conf.wrong_at)
		now += (uint64_t)conf.wrong_ns;
	if (!cq->real_time)
		return ticks_at(k, now);
	ns = ptp_at(k, now);
	return ns / 1000000000u << 32 | ns % 1000000000u;
}

/*
 * A device's register counts by itself. This one is updated whenever the program asks for the time,
 * which it does around each reading.
 */
void clock_look(uint64_t now)
{
	for (int i = 0; i < MAX_DEVICES; i++) {
		struct clock *k = __atomic_load_n(&clocks[i], __ATOMIC_ACQUIRE);

		if (k)
			core_write(k, now);
	}
}

void clock_context(const struct hca *h, struct mlx5_ib_alloc_ucontext_resp *resp)
{
	if (!clocks[h->index])
		return;
	if (!conf.no_core) {
		resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET;
		resp->hca_core_clock_offset = CORE_OFFSET;
	}
	resp->clock_info_versions = 1 << MLX5_IB_CLOCK_INFO_V1;
	if (conf.real_time)
		resp->comp_mask |= MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_REAL_TIME_TS;
}

uint64_t clock_mask(void)
{
	return conf.on ? mask() : 0;
}

void *clock_mmap(const struct hca *h, size_t len, uint32_t command)
{
	struct clock *k = clocks[h->index];

	if (!k || len != PAGE || (command != MMAP_CORE && command != MMAP_INFO)) {
		errno = EOPNOTSUPP;
		return MAP_FAILED;
	}
	return mmap(NULL, len, PROT_READ, MAP_SHARED, k->fd, command == MMAP_CORE ? 0 : PAGE);
}

int clock_cq(struct cq *cq, uint32_t driver_flags)
{
	bool real_time = driver_flags & MLX5_IB_CREATE_CQ_FLAGS_REAL_TIME_TS;

	if (real_time && (!conf.real_time || conf.refuse))
		return EOPNOTSUPP;
	cq->real_time = real_time;
	return 0;
}
