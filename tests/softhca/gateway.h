/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command gateway of a ConnectX in PCI configuration space, as a state machine: what reading
 * and writing its registers does. Nothing here comes from the program's own headers. It is used by
 * the model (gateway_file.c), and alone by a unit test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GW_PORTS = 2, GW_CONFIG = 256, GW_LACKING = 8, GW_WORDS = 64, GW_TICKETS = 64, GW_ENDS = 8 };

/* Behaviour; README.md has the words of gw_conf_parse(). Counts begin at 1; 0: never. */
struct gw_conf {
	bool present;
	uint16_t chip;
	bool held, icmd_held, busy; /* from the beginning, by another one */
	uint32_t held_reads, icmd_pid, icmd_reads, busy_reads; /* reads until it ends; 0: never */
	uint32_t stolen;
	uint16_t lacks[GW_LACKING];
	bool twins, moved, loops, readonly, not_ready, small, relocks, sealed, strict, by_qpn,
		reversed, retaken, both, keeps, clings, brief, wipes, edge,
		hurry; /* the program's pauses take no time */
	uint32_t stuck, fault, late, blink, gone, reset, hangs, vanishes, locked, taken,
		icmd_taken; /* numbers of accesses, selections or commands */
	uint32_t syndrome, syndrome_at;
	uint32_t lies, lies_at;
	uint32_t slow, slow_attach, slow_detach; /* readings */
	uint32_t status, status_at, status_last;
};

struct gw_rule {
	uint32_t attached, qpn;
	int32_t process; /* that attached it */
};

struct gw_state {
	uint32_t started;
	uint32_t control, counter, semaphore, address, data;
	int32_t holder; /* process that has the semaphore; 0: none, -1: not of this machine */
	int32_t reader[GW_TICKETS]; /* that read a ticket, by its last digits; 0: it is used */
	uint32_t selected;	    /* a space was selected since the semaphore was taken */
	uint32_t icmd_semaphore;
	int32_t icmd_holder;
	uint32_t command, mailbox[GW_WORDS], syndrome, pending; /* pending: reads until it ends */
	uint32_t unlocked, locks, steals, was_reset, icmd_was_reset, was_gone;
	uint32_t accesses, words, selections, commands, busy_left;
	uint32_t was_taken, icmd_was_taken;
	struct gw_count {
		uint32_t accesses, words, selections;
	} end[GW_ENDS]; /* when the first commands ended */
	uint32_t most_attached;
	struct gw_rule rule[GW_PORTS][2]; /* by port - 1, by direction: sent, received */
	uint32_t violations;
	char first[120]; /* the first violation */
};

/* False: `spec` has a word that is not known. */
bool gw_conf_parse(struct gw_conf *conf, const char *spec);
/* Writes the first GW_CONFIG bytes of configuration space, without the gateway's state. */
void gw_config_bytes(const struct gw_conf *conf, uint16_t part_id, uint8_t bytes[GW_CONFIG]);
/* One access of a process to the word at an offset of configuration space. 0, an errno, or -1: the
 * end of what the process may read. */
int gw_read(struct gw_state *s, const struct gw_conf *conf, int32_t process, unsigned int at,
	uint32_t *value);
int gw_write(struct gw_state *s, const struct gw_conf *conf, int32_t process, unsigned int at,
	uint32_t value);
/* A queue pair is destroyed. */
void gw_qp_gone(struct gw_state *s, const struct gw_conf *conf, uint32_t qpn);
/* Whether frames of a port and direction (0 sent, 1 received) go to this queue pair. */
bool gw_copies(const struct gw_state *s, unsigned int port, unsigned int direction, uint32_t qpn);
