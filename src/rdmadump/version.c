/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* rdmadump --version: version, libraries, features. */
#include "version.h"
#include "commands.h"
#include "config.h"
#include <netlink/version.h>
#include <pcap/pcap.h>
#include <rdmadump/qp_event.h>
#include <rdmadump/verbs.h>
#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

/*
 * The libraries of rdma-core: version 1.14.44.0 is 1.14 of rdma-core 44.0. Written as four numbers
 * it would be taken for an address when a bundle is redacted. "Built with": they do not report
 * their version at run time.
 */
static void put_rdma_core(const char *library, const char *version)
{
	int own = 0;

	sscanf(version, "%*u.%*u%n", &own);
	if (own && version[own] == '.')
		printf("  %s %.*s: built with rdma-core %s\n", library, own, version,
			version + own + 1);
	else
		printf("  %s: built with %s\n", library, version);
}

void rd_cli_version(void)
{
	printf("rdmadump %s (%s)\n  %s\n", PACKAGE_VERSION, RD_GIT_DESCRIPTION, pcap_lib_version());
	put_rdma_core("libibverbs", LIBIBVERBS_VERSION);
	if (!rd_libmlx5_lacks())
		put_rdma_core("libmlx5", LIBMLX5_VERSION);
	else
		printf("  no libmlx5%s: for ConnectX-4 and later install ibverbs-providers "
		       "(Debian, Ubuntu), libibverbs (Fedora, RHEL) or libmlx5-1 (SUSE)\n",
			rd_libmlx5_lacks());
	printf("  jansson %s\n", jansson_version_str());
	printf("  %s: RDMA netlink\n", LIBNL_STRING);
	if (*rd_qp_events_library())
		printf("  %s: owners of short-lived QPs\n", rd_qp_events_library());
	else
		printf("  without libbpf: owners of short-lived QPs may be missed\n");
	printf("  libarchive: bundles, and results of selftest as archives\n");
#ifdef HAVE_SECCOMP
	printf("  libseccomp %u.%u.%u: system calls that a capture does not need are refused\n",
		seccomp_version()->major, seccomp_version()->minor, seccomp_version()->micro);
#else
	printf("  without libseccomp: a capture may make any system call\n");
#endif
	printf("features: capture by verbs (Ethernet, InfiniBand) and on netdevs; pcapng, pcap, "
	       "ERF; compression gz, zst\n");
}
