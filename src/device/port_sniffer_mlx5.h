/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The firmware command SET_PORT_SNIFFER, which copies a port's traffic to a queue pair; as ibdump
 * uses it. docs/infiniband.md describes what is known and unknown about it.
 */
#pragma once

#include <rdmadump/port_sniffer.h>
#include <sys/types.h>

/*
 * The configuration space of a PCI function, word by word, through sysfs (kernel:
 * Documentation/PCI/sysfs-pci.rst). Words have the CPU's byte order here.
 */

/*
 * Reads or writes the aligned word at this offset. 0 or an errno; a short transfer is EIO. ENODATA:
 * it is beyond the part that this process may read.
 */
int pci_config_read(int fd, unsigned int at, uint32_t *value);
int pci_config_write(int fd, unsigned int at, uint32_t value);
/* Sleeps; between two readings of a register that changes by itself. */
void pci_config_pause(unsigned int us);

/*
 * The device state that a capture by the command gateway has changed and must restore, in a file
 * below /run/rdmadump: the next capture reads it to clean up after a killed one. The file is locked
 * while its process lives.
 */

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
 * empty. -1 with RD_CLASS_DEVICE if it cannot be created, or if another capture holds it. Closing
 * r->fd releases this process' lock.
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

/*
 * The gateway of a ConnectX-4 or later adapter into its own address spaces: a vendor-specific
 * capability in PCI configuration space. The kernel's driver uses the same one
 * (drivers/net/ethernet/mellanox/mlx5/core/lib/pci_vsc.c).
 */

enum gateway_space {
	GATEWAY_ICMD,	   /* the command interface */
	GATEWAY_REGISTERS, /* "CR space" */
	GATEWAY_SEMAPHORES,
	GATEWAY_SPACES
};

struct gateway {
	const char *pci; /* for messages */
	int fd;		 /* configuration space, open for reading and writing */
	struct sniffer_record *record;
	/* The ticket that a killed process of this program may hold; 0: none. Cleared once the
	 * semaphore is free. */
	uint32_t orphan;
	unsigned int at; /* the capability */
	uint32_t ticket; /* the ticket that holds, or may hold, the semaphore; 0: it is not held */
	bool twins;	 /* each space has a second number (ConnectX-8 and later) */
	bool second;	 /* the second numbers are in use */
};

/*
 * Finds the capability and checks that the spaces exist. The caller has set pci, fd, record and
 * orphan, and still owns them. -1 with RD_CLASS_DEVICE. No function of this header returns with the
 * semaphore held.
 */
int gateway_open(struct gateway *g, struct rd_error *err);
/*
 * Reads or writes one word of a space. Takes the gateway's semaphore, waits at most about 2 s for
 * it, and releases it. -1 with RD_CLASS_DEVICE.
 */
int gateway_read(struct gateway *g, enum gateway_space space, uint32_t address, uint32_t *value,
	struct rd_error *err);
int gateway_write(struct gateway *g, enum gateway_space space, uint32_t address, uint32_t value,
	struct rd_error *err);
/* Releases the semaphore if an earlier release failed. -1 with RD_CLASS_DEVICE. */
int gateway_close(struct gateway *g, struct rd_error *err);

/* Commands to the firmware of a ConnectX-4 or later through its command interface (ICMD). */

/* Status of a command, as the firmware returns it. */
enum icmd_status {
	ICMD_OK,
	ICMD_INVALID_OPCODE,
	ICMD_INVALID_COMMAND,
	ICMD_OPERATIONAL_ERROR,
	ICMD_BAD_PARAMETER,
	ICMD_BUSY,
	ICMD_NO_MEMORY,
	ICMD_WRITE_PROTECTED,
	ICMD_NOT_RUN = -1, /* the firmware did not receive it, or did not complete it */
};

struct icmd {
	struct gateway *gateway;
	uint32_t not_ready; /* the register whose bit 31 is set until the firmware is ready */
	uint32_t unlock;    /* the register that ends the write protection before each command */
	/*
	 * The interface's semaphore contains the process id record->helper while this process holds
	 * it. It is taken over from record->orphans, which are killed processes of this program.
	 */
	struct sniffer_record *record;
	bool held;  /* it may be held: releasing it failed */
	bool hangs; /* a command of this process did not end */
};

/*
 * Runs a command whose mailbox is `words` long, and waits at most 30 s for it. *status: what the
 * firmware returned. Returns 0 if that is ICMD_OK, else -1 with RD_CLASS_DEVICE. The interface's
 * semaphore is released in any case, if the gateway works.
 */
int icmd_run(struct icmd *icmd, uint16_t opcode, const uint32_t *mailbox, unsigned int words,
	enum icmd_status *status, struct rd_error *err);
/* Releases the semaphores that a failed command could not release. -1 with RD_CLASS_DEVICE. */
int icmd_close(struct icmd *icmd, struct rd_error *err);

/* The PID of an ibdump that uses the function's gateway; 0: none was found. */
int sniffer_other_process(const char *pci);
/*
 * Takes those processes out of what a killed capture left that use a gateway of this adapter now:
 * they got the number of a killed one, and what they hold is theirs. Reads the descriptors of other
 * processes, which takes root's capabilities.
 */
void sniffer_forget_living(struct sniffer_record *left, const char *pci);

/* Differences between adapters. */
struct sniffer_chip {
	uint16_t id;	   /* chip id in register 0xf0014 */
	uint16_t recovery; /* PCI device id while the flash has no firmware */
	const char *name;
	uint16_t pci[3];    /* device ids of its physical functions; ended by 0 */
	uint32_t not_ready; /* register: bit 31 is set until the firmware is ready */
	uint32_t unlock;    /* register that disables the write protection of firmware commands */
};

/* The chip of this PCI device id; NULL: unknown, or none that has the command. */
const struct sniffer_chip *sniffer_chip_find(uint32_t part_id);
/* Whether it is the ID of an adapter whose flash has no firmware. */
bool sniffer_chip_in_recovery(uint32_t part_id);
/* Whether it is a known adapter with unknown registers. */
bool sniffer_chip_undocumented(uint32_t part_id);

struct mlx5_sniffer {
	const struct sniffer_chip *chip;
	struct gateway gateway;
	struct icmd icmd;
	struct sniffer_record record; /* record.rules: what is, or may be, attached */
	unsigned int absent; /* rules that the firmware did not find when it detached them */
};

/*
 * Opens the gateway and checks that the chip matches the table. fd: configuration space. s->record
 * describes what a killed capture left attached. This is detached, and so is any sniffer on `port`,
 * which this capture uses; it also shows whether the firmware accepts the command. -1 with
 * RD_CLASS_DEVICE.
 */
int mlx5_sniffer_open(struct mlx5_sniffer *s, const struct rd_device *device, int fd,
	unsigned int port, struct rd_error *err);
/*
 * Attaches both rules to the QP, or none, after detaching those that this capture
 * attached to another QP. -1 with RD_CLASS_DEVICE.
 */
int mlx5_sniffer_attach(struct mlx5_sniffer *s, uint32_t qpn, struct rd_error *err);
/* Detaches what may be attached. -1 with RD_CLASS_DEVICE if something may be left. */
int mlx5_sniffer_detach(struct mlx5_sniffer *s, struct rd_error *err);
/*
 * Releases the semaphores that could not be released before; detaches nothing. May be called
 * whatever mlx5_sniffer_open() returned. -1 with RD_CLASS_DEVICE if one may be held.
 */
int mlx5_sniffer_close(struct mlx5_sniffer *s, struct rd_error *err);
