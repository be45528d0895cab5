/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdmadump --version: version, libraries, features. */
#include "version.h"
#include "cli.h"
#include "config.h"
#include <argp.h>
#include <jansson.h>
#ifdef HAVE_LIBNL
#include <netlink/version.h>
#endif
#include <pcap/pcap.h>
#include <rdmadump/archive.h>
#include <rdmadump/sink.h>
#include <stdio.h>

/* "built with": the library does not report its version at run time. */
void rd_cli_version(void)
{
	printf("rdmadump %s (%s)\n", PACKAGE_VERSION, RD_GIT_DESCRIPTION);
	printf("  %s\n", pcap_lib_version());
	printf("  libibverbs: built with %s\n", LIBIBVERBS_VERSION);
	printf("  libmlx5: %s\n", LIBMLX5_VERSION);
	printf("  jansson %s\n", jansson_version_str());
#ifdef HAVE_LIBNL
	printf("  %s: RDMA netlink\n", LIBNL_STRING);
#else
	printf("  without libnl: no RDMA netlink\n");
#endif
	printf("  %s\n", rd_archive_library());
	printf("features: capture by verbs (Ethernet, InfiniBand) and on netdevs; pcapng, pcap, "
	       "ERF; compression %s; writing %s\n",
		rd_compressions(), rd_write_modes());
}
