/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses the work queue for a frame: the Toeplitz hash over the fields that CREATE_QP requests
 * (<rdma/mlx5-abi.h>; combinations that mlx5_ib refuses are refused). A frame without these fields
 * has hash 0.
 */
#include "softhca.h"

enum {
	KEY_BYTES = 40,
	INPUT_MAX = 36, /* two IPv6 addresses and two ports */
	IPV4 = MLX5_RX_HASH_SRC_IPV4 | MLX5_RX_HASH_DST_IPV4,
	IPV6 = MLX5_RX_HASH_SRC_IPV6 | MLX5_RX_HASH_DST_IPV6,
	TCP = MLX5_RX_HASH_SRC_PORT_TCP | MLX5_RX_HASH_DST_PORT_TCP,
	UDP = MLX5_RX_HASH_SRC_PORT_UDP | MLX5_RX_HASH_DST_PORT_UDP,
	ETHER = 14,
	FRAME_END = 64,
};

struct rss {
	struct table *table;
	uint32_t fields, mask;
	uint32_t part[INPUT_MAX][256]; /* what each value of each byte of input adds */
};

/* The 32 bits of the key that begin at a bit. */
static uint32_t key_window(const uint8_t *key, uint32_t bit)
{
	uint64_t v = 0;

	for (uint32_t i = 0; i < 5; i++)
		v = v << 8 | key[bit / 8 + i];
	return (uint32_t)(v >> (8 - bit % 8));
}

static void key_expand(struct rss *r, const uint8_t *key)
{
	for (uint32_t byte = 0; byte < INPUT_MAX; byte++)
		for (uint32_t v = 0; v < 256; v++)
			for (uint32_t bit = 0; bit < 8; bit++)
				if (v >> (7 - bit) & 1)
					r->part[byte][v] ^= key_window(key, byte * 8 + bit);
}

int rss_new(struct rss **rss, struct table *table, struct cmd *cmd)
{
	struct mlx5_ib_create_qp_rss drv;
	uint64_t f;
	struct rss *r;

	cmd_drv_in(cmd, &drv, sizeof(drv));
	f = drv.rx_hash_fields_mask;
	if (drv.comp_mask || drv.rx_hash_function != MLX5_RX_HASH_FUNC_TOEPLITZ)
		return EOPNOTSUPP;
	if (drv.rx_key_len != KEY_BYTES || f & ~(uint64_t)(IPV4 | IPV6 | TCP | UDP) ||
		(f & IPV4 && f & IPV6) || (f & TCP && f & UDP) || (!f && table->log_size))
		return EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return ENOMEM;
	r->table = table;
	r->fields = (uint32_t)f;
	r->mask = (1u << table->log_size) - 1;
	key_expand(r, drv.rx_hash_key);
	*rss = r;
	return 0;
}

void rss_free(struct rss *rss)
{
	free(rss);
}

struct table *rss_table(const struct rss *rss)
{
	return rss->table;
}

struct input {
	const struct rss *rss;
	uint32_t len, hash;
};

static void add(struct input *in, uint32_t field, const uint8_t *p, uint32_t n)
{
	if (in->rss->fields & field)
		for (uint32_t i = 0; i < n; i++)
			in->hash ^= in->rss->part[in->len++][p[i]];
}

/* In the order that the hash is defined over: addresses, then ports. */
static uint32_t hash(const struct rss *r, const struct frame *f)
{
	const uint8_t *p = f->data, *ports;
	struct input in = {.rss = r};
	uint32_t type = f->len >= ETHER ? (uint32_t)(p[12] << 8 | p[13]) : 0;
	uint8_t proto;

	if (type == 0x0800 && f->len >= ETHER + 20 && !(r->fields & IPV6)) {
		ports = p + ETHER + (p[ETHER] & 15u) * 4;
		proto = p[ETHER + 9];
		add(&in, MLX5_RX_HASH_SRC_IPV4, p + ETHER + 12, 4);
		add(&in, MLX5_RX_HASH_DST_IPV4, p + ETHER + 16, 4);
	} else if (type == 0x86dd && f->len >= ETHER + 40 && !(r->fields & IPV4)) {
		ports = p + ETHER + 40;
		proto = p[ETHER + 6];
		add(&in, MLX5_RX_HASH_SRC_IPV6, p + ETHER + 8, 16);
		add(&in, MLX5_RX_HASH_DST_IPV6, p + ETHER + 24, 16);
	} else {
		return 0;
	}
	if (!(r->fields & (TCP | UDP)))
		return in.hash;
	/* Without the ports that are asked for the rule does not match at all. */
	if (proto != (r->fields & UDP ? 17 : 6) || ports + 4 > p + f->len)
		return 0;
	add(&in, MLX5_RX_HASH_SRC_PORT_UDP | MLX5_RX_HASH_SRC_PORT_TCP, ports, 2);
	add(&in, MLX5_RX_HASH_DST_PORT_UDP | MLX5_RX_HASH_DST_PORT_TCP, ports + 2, 2);
	return in.hash;
}

/* Over all bytes of its end, where a packet's ICRC is: no two frames of a flow are alike there. */
static uint32_t frame_hash(const struct frame *f)
{
	uint32_t n = f->len < FRAME_END ? f->len : FRAME_END;

	return crc32_ib(0, f->data + f->len - n, n);
}

struct qp *rss_choose(const struct rss *rss, const struct frame *f)
{
	switch (rss->table->obj.ctx->hca->conf->rss_hash) {
	case RSS_BY_FRAME:
		return rss->table->wq[frame_hash(f) & rss->mask];
	case RSS_NONE:
		return rss->table->wq[0];
	default:
		return rss->table->wq[hash(rss, f) & rss->mask];
	}
}
