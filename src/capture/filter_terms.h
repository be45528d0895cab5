/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The filter's terms that BPF cannot say, shared by the files filter*.c only. */
#ifndef RDMADUMP_CAPTURE_FILTER_RDMA_H
#define RDMADUMP_CAPTURE_FILTER_RDMA_H

#include <rdmadump/filter.h>
#include <stdio.h>

/* Sorted, each number once. */
struct rd_numbers {
	uint32_t *values;
	unsigned int n;
};

/* IPv4 as ::ffff:a.b.c.d, in two halves in the order of the host. */
struct rd_prefix {
	uint64_t address[2], mask[2];
};

struct rd_addresses {
	struct rd_prefix *prefixes;
	uint8_t (*macs)[6];
	unsigned int n_prefixes, n_macs;
};

/* What is asked of a packet with a given opcode; bits of rd_opcode_set. */
#define RD_ASK_NOTHING 0x01
#define RD_ASK_ACK     0x02 /* an AETH of this kind */
#define RD_ASK_RNR     0x04
#define RD_ASK_NAK     0x08
#define RD_ASK_MAD     0x10
#define RD_ASK_CM      0x20

struct rd_opcode_set {
	uint8_t ask[256]; /* one of the bits is enough; 0: the opcode is not wanted */
};

struct rd_pairs;

struct rd_terms {
	struct rd_numbers qp, src_qp;
	struct rd_addresses host, gid;
	struct rd_opcode_set *opcodes; /* NULL: not asked for */
	struct rd_pairs *pairs;	       /* with src_qp only */
	bool roce;
};

/* *t is zeroed by the caller; rd_terms_free() after either outcome. */
int rd_terms_compile(struct rd_terms *t, const struct rd_filter_spec *spec, struct rd_error *err);
void rd_terms_free(struct rd_terms *t);
/* Whether there is anything that needs the packet taken apart. */
bool rd_terms_any(const struct rd_terms *t);
bool rd_terms_match(const struct rd_terms *t, const struct rd_packet *p);

/* Walks a comma list: the next entry of *list (not terminated) and its length; NULL at the end. */
const char *rd_list_next(const char **list, size_t *length);

int rd_opcode_set_compile(struct rd_opcode_set *set, const char *list, struct rd_error *err);
bool rd_opcode_set_match(const struct rd_opcode_set *set, const struct rd_packet *p);
void rd_opcode_set_explain(const struct rd_opcode_set *set, FILE *out);

/* Connections as the CM told of them. */
struct rd_pairs *rd_pairs_new(void);
/* Looks for REQ and REP. */
void rd_pairs_learn(struct rd_pairs *pairs, const struct rd_packet *p);
/* Whether the QP that sent a packet of a connected transport is known. */
bool rd_pairs_source(const struct rd_pairs *pairs, const struct rd_packet *p, uint32_t *qp);

#endif
