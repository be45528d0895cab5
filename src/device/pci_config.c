/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PCI configuration space by pread() and pwrite(): each transfer of one word is one bus cycle. */
#include "port_sniffer_mlx5.h"
#include <endian.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

int pci_config_read(int fd, unsigned int at, uint32_t *value)
{
	uint32_t word = 0;
	ssize_t n = pread(fd, &word, sizeof(word), (off_t)at);

	*value = le32toh(word);
	if (n < 0)
		return errno;
	if (n == 0)
		return ENODATA;
	return n == sizeof(word) ? 0 : EIO;
}

int pci_config_write(int fd, unsigned int at, uint32_t value)
{
	uint32_t word = htole32(value);
	ssize_t n = pwrite(fd, &word, sizeof(word), (off_t)at);

	if (n < 0)
		return errno;
	return n == sizeof(word) ? 0 : EIO;
}

void pci_config_pause(unsigned int us)
{
	struct timespec t = {.tv_nsec = (long)us * 1000};

	nanosleep(&t, NULL);
}
