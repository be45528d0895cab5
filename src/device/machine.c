/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hardware and operating system as text, for the header of a capture file. */
#include "sysfs.h"
#include <rdmadump/info.h>
#include <string.h>
#include <sys/utsname.h>

/* The value of the first line that begins with `key`, without blanks and punctuation around it. */
static void first_value(const char *path, const char *key, char *out, size_t size)
{
	char line[512];
	FILE *f = fopen(path, "re");

	out[0] = '\0';
	while (f && !out[0] && fgets(line, sizeof(line), f)) {
		char *value = line + strlen(key);

		if (strncmp(line, key, strlen(key)))
			continue;
		value += strspn(value, " \t:=\"");
		value[strcspn(value, "\"\n")] = '\0';
		rd_text_clean(out, size, value);
	}
	if (f)
		fclose(f);
}

void rd_machine_hardware(char *buf, size_t size)
{
	char product[100], cpu[120];
	struct utsname u;

	uname(&u);
	rd_sysfs_text(product, sizeof(product), "/sys/class/dmi/id/product_name");
	first_value("/proc/cpuinfo", "model name", cpu, sizeof(cpu));
	snprintf(buf, size, "%s%s%s (%s)", product, product[0] ? ", " : "",
		cpu[0] ? cpu : "unknown CPU", u.machine);
}

void rd_machine_os(char *buf, size_t size)
{
	char distribution[100];
	struct utsname u;

	uname(&u);
	first_value("/etc/os-release", "PRETTY_NAME", distribution, sizeof(distribution));
	snprintf(buf, size, "%s %s%s%s", u.sysname, u.release, distribution[0] ? ", " : "",
		distribution);
}

void rd_lockdown_read(const char *sysroot, char *buf, size_t size)
{
	char text[64];
	const char *from, *to;

	rd_sysfs_text(text, sizeof(text), "%s/sys/kernel/security/lockdown", sysroot);
	from = strchr(text, '[');
	to = from ? strchr(from, ']') : NULL;
	snprintf(buf, size, "%.*s", to ? (int)(to - from - 1) : 0, to ? from + 1 : "");
}
