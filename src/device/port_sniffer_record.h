/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device state that a capture by the command gateway has changed and must restore, in a file
 * below /run/rdmadump: the next capture reads it to clean up after a killed one. The file is locked
 * while its process lives.
 */
#ifndef RDMADUMP_DEVICE_PORT_SNIFFER_RECORD_H
#define RDMADUMP_DEVICE_PORT_SNIFFER_RECORD_H

#include <rdmadump/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SNIFFER_ORPHANS 4

/* The rules of the command, which cannot be attached at once: bits. */
#define RD_SNIFF_IN   1U /* frames that the port receives */
#define RD_SNIFF_OUT  2U /* frames that it sends */
#define RD_SNIFF_BOTH (RD_SNIFF_IN | RD_SNIFF_OUT)

struct sniffer_record {
	int fd;	       /* -1: nothing is recorded */
	pid_t capture; /* the process whose queue pair gets the frames */
	pid_t helper;  /* the one that uses the gateway */
	/* Killed processes that may hold the command interface's semaphore; 0: none. */
	pid_t orphans[SNIFFER_ORPHANS];
	unsigned int port;
	uint32_t qpn;
	unsigned int rules; /* RD_SNIFF_...: those that are, or may be, attached */
	uint32_t ticket;    /* ticket of the gateway's semaphore that a killed process may hold; 0:
			       none */
};

/*
 * Opens and locks the file of the PCI function. *left: its previous content; helper 0: it was
 * empty. -1 with RD_CLASS_DEVICE if it cannot be created, or if another capture holds it.
 */
int sniffer_record_open(struct sniffer_record *r, struct sniffer_record *left, const char *pci,
	struct rd_error *err);
/* Takes over what a killed capture left; `helper` is the process that undoes it. */
void sniffer_record_inherit(
	struct sniffer_record *r, const struct sniffer_record *left, pid_t helper);
/* Whether there is nothing to undo. */
bool sniffer_record_is_clean(const struct sniffer_record *r);
/* Stores what has changed. Has no effect if nothing is recorded. Returns 0 or an errno. */
int sniffer_record_write(const struct sniffer_record *r);
/* Nothing is left to undo: the file becomes empty. */
void sniffer_record_clear(struct sniffer_record *r);
/* Closes the file, which releases the lock of this process. */
void sniffer_record_close(struct sniffer_record *r);

#endif
