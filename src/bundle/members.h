/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of all possible members of a bundle. */
#ifndef RDMADUMP_BUNDLE_MEMBERS_H
#define RDMADUMP_BUNDLE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>

enum form {
	FORM_TEXT,    /* standard output and error of the command */
	FORM_OUTPUT,  /* standard output only; errors are noted in the manifest */
	FORM_TREE,    /* a tar archive, whose entries become members below `name` */
	FORM_CAPTURE, /* written to a file: may be long */
	FORM_COPY,    /* a file, copied */
};

/*
 * When a command is started. Commands of a phase run in parallel, after those of the previous
 * phase.
 */
enum phase {
	PHASE_COLLECT, /* second, and the default: other tools, and members that wait */
	PHASE_READ,    /* first: what this program reads by itself, with more time than a tool */
	PHASE_ADAPTER, /* third: tools that open an adapter (@mlxpci), as run.c describes */
	PHASE_ANALYZE, /* fourth */
};

/*
 * Name and command may have one placeholder, and the row is repeated for each of its values:
 * @device (RDMA devices), @netdev (of their ports), @pci (their PCI functions), @mlxpci (those of
 * NVIDIA's adapters), @port (the port that is captured), @file (a given capture). @files in a
 * command are all given captures, @seconds the capture's length, @capture its file as standard
 * input.
 */
struct member {
	const char *name, *what;
	const char *command; /* "rdmadump" is that of this installation; words are separated by one
				blank */
	enum form form;
	enum phase phase;
	bool root;	    /* without root it is incomplete or fails */
	bool addresses;	    /* may contain addresses, names of hosts and users, serial numbers */
	int also_whole;	    /* a nonzero exit status that does not mean incomplete output */
	size_t bytes;	    /* limit of the output, which is truncated there; 0: MEMBER_BYTES */
	const char *unless; /* a tool that prints the same: not run where that is installed */
	bool also; /* a further output of the command of the row before: its descriptors are
		      3, 4 */
};

#define MEMBER_BYTES ((size_t)4 << 20)

extern const struct member members[];
extern const unsigned int n_members;

#endif
