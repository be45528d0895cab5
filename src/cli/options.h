/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The options of `rdmadump capture`: the table, and the keys of those that have no letter. */
#ifndef RDMADUMP_CLI_OPTIONS_H
#define RDMADUMP_CLI_OPTIONS_H

#include <argp.h>

enum {
	OPT_FORMAT = 0x100,
	OPT_MAX_FRAME,
	OPT_BUFFER,
	OPT_WHEN_FULL,
	OPT_JSON,
	OPT_VERSION,
	OPT_QP,
	OPT_SRC_QP,
	OPT_OPCODE,
	OPT_HOST,
	OPT_GID,
	OPT_ROCE,
	OPT_EXPLAIN,
	OPT_HEADERS_ONLY,
	OPT_ZERO_PAYLOAD,
	OPT_COMPRESS,
	OPT_LEVEL,
	OPT_UPDATE,
	OPT_NETDEV,
	OPT_SNIFFER,
	OPT_NO_PROMISCUOUS,
	OPT_DEBUG,
	OPT_RX_MODE,
	OPT_NO_FACTS,
	OPT_QUEUES,
	OPT_PER_QUEUE,
	OPT_STRIPE,
	OPT_WRITE_MODE,
	OPT_SYNC,
	OPT_ANALYZE,
};

extern const struct argp_option capture_argp_options[];

#endif
