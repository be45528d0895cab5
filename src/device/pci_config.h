/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The configuration space of a PCI function, word by word, through sysfs (kernel:
 * Documentation/PCI/sysfs-pci.rst). Words have the CPU's byte order here.
 */
#ifndef RDMADUMP_DEVICE_PCI_CONFIG_H
#define RDMADUMP_DEVICE_PCI_CONFIG_H

#include <stdint.h>

/*
 * Reads or writes the aligned word at this offset. 0 or an errno; a short transfer is EIO. ENODATA:
 * it is beyond the part that this process may read.
 */
int pci_config_read(int fd, unsigned int at, uint32_t *value);
int pci_config_write(int fd, unsigned int at, uint32_t value);
/* Sleeps; between two readings of a register that changes by itself. */
void pci_config_pause(unsigned int us);

#endif
