/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's messages about RDMA and its devices (kernel: Documentation/ABI/testing/dev-kmsg). */
#include "parts.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_BYTES 8192 /* the kernel gives one record for each read */

/* Drivers, subsystems, and faults below the driver that stop a device: PCI errors, IOMMU faults. */
static const char *const words[] = {"infiniband", "rdma", "RDMA", "ib_", "mlx", "bnxt", "irdma",
	"i40iw", "efa ", "hns", "erdma", "mana", "qedr", "siw", "rxe", "iw_cxgb4", "usnic",
	"nvme_rdma", "nvmet_rdma", "iser", "srp", "rpcrdma", "nv_peer", "nvidia_peermem",
	"AER:", "pcieport", "DMAR", "AMD-Vi", "IO_PAGE_FAULT", "out of memory", "Out of memory"};

static bool names_device(const struct rd_devices *devices, const char *text)
{
	for (size_t i = 0; i < devices->n; i++) {
		const struct rd_device *d = &devices->dev[i];

		if (strstr(text, d->name) || (*d->pci && strstr(text, d->pci)))
			return true;
		for (unsigned int p = 0; p < d->n_ports; p++)
			for (unsigned int k = 0; k < d->ports[p].n_netdevs; k++)
				if (strstr(text, d->ports[p].netdevs[k].name))
					return true;
	}
	return false;
}

static bool is_of_rdma(const struct rd_devices *devices, const char *text)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(text, words[i]))
			return true;
	return names_device(devices, text);
}

/* "6,339,5140900,-;text\n KEY=value\n": level, number, microseconds since the start. */
static int put_record(FILE *out, const struct rd_devices *devices, char *record)
{
	unsigned long long us = 0;
	char *text = strchr(record, ';');

	if (!text)
		return 0;
	*text++ = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (sscanf(record, "%*u,%*u,%llu", &us) != 1 || !is_of_rdma(devices, text))
		return 0;
	return fprintf(out, "[%5llu.%06llu] %s\n", us / 1000000, us % 1000000, text);
}

int part_kernel_messages(const struct rd_devices *devices, int fd, struct rd_error *err)
{
	int log = open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK), copy = dup(fd);
	FILE *out = copy >= 0 ? fdopen(copy, "w") : NULL;
	char record[RECORD_BYTES];
	int rc = 0;

	if (log < 0 || !out)
		rc = rd_fail(err, RD_CLASS_DEVICE, errno, "run it as root",
			"cannot read the kernel's log /dev/kmsg");
	while (!rc) {
		ssize_t n = read(log, record, sizeof(record) - 1);

		/* EPIPE: records were overwritten before they were read. */
		if (n < 0 && (errno == EINTR || errno == EPIPE))
			continue;
		if (n < 0 && errno != EAGAIN)
			rc = rd_fail(err, RD_CLASS_DEVICE, errno, "run it as root",
				"cannot read the kernel's log /dev/kmsg");
		if (n <= 0)
			break;
		record[n] = '\0';
		put_record(out, devices, record);
	}
	if (out && fclose(out) && !rc)
		rc = rd_fail(err, RD_CLASS_OUTPUT, errno, NULL, "cannot write the part");
	if (log >= 0)
		close(log);
	return rc;
}
