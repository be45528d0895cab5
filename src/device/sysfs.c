/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads sysfs (kernel: Documentation/filesystems/sysfs.rst), and treats everything as untrusted. */
#include "sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <rdmadump/memory.h>
#include <rdmadump/units.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the path is whole; else errno is ENAMETOOLONG. */
#define MAKE_PATH(path, fmt)                                                                       \
	({                                                                                         \
		int path_len = RD_FORMAT(path, sizeof(path), fmt);                                 \
		(path_len >= 0 && (size_t)path_len < sizeof(path)) || !(errno = ENAMETOOLONG);     \
	})

static void trim_end(char *text)
{
	size_t n = strlen(text);

	while (n && strchr(" \t\r\n", text[n - 1]))
		text[--n] = '\0';
}

/*
 * One read: the first one returns the whole value. Non-blocking, since a copied tree may hold a
 * FIFO or a link to a device node.
 */
static ssize_t read_bytes(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), errnum;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = TEMP_FAILURE_RETRY(read(fd, buf, size));
	errnum = errno;
	close(fd);
	errno = errnum;
	return n;
}

static int read_raw(const char *path, char *buf, size_t size)
{
	ssize_t n = read_bytes(path, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n < 0 ? -1 : 0;
}

ssize_t rd_sysfs_bytes(char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];

	return MAKE_PATH(path, fmt) ? read_bytes(path, buf, size) : -1;
}

static int read_text(const char *path, char *buf, size_t size)
{
	if (read_raw(path, buf, size))
		return -1;
	trim_end(buf);
	rd_text_clean(buf, size, buf);
	return 0;
}

int rd_sysfs_text(char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];

	buf[0] = '\0';
	return MAKE_PATH(path, fmt) ? read_text(path, buf, size) : -1;
}

ssize_t rd_sysfs_file(char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	size_t len = 0;
	ssize_t n = -1;
	int fd;

	buf[0] = '\0';
	fd = MAKE_PATH(path, fmt) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	if (fd < 0)
		return -1;
	do {
		n = read(fd, buf + len, size - len);
		len += n > 0 ? (size_t)n : 0;
	} while ((n > 0 && len < size) || (n < 0 && errno == EINTR));
	close(fd);
	buf[len] = '\0';
	return n < 0 ? -1 : (ssize_t)len;
}

int rd_sysfs_u64(uint64_t *value, const char *fmt, ...)
{
	char path[PATH_MAX], text[32];

	if (!MAKE_PATH(path, fmt) || read_text(path, text, sizeof(text)))
		return -1;
	return rd_parse_u64(text, 0, UINT64_MAX, value);
}

uint32_t rd_sysfs_u32(const char *fmt, ...)
{
	char path[PATH_MAX], text[32];
	uint64_t value;

	if (!MAKE_PATH(path, fmt) || read_text(path, text, sizeof(text)) ||
		rd_parse_u64(text, 0, UINT32_MAX, &value))
		return 0;
	return (uint32_t)value;
}

int rd_sysfs_uevent(char *buf, size_t size, const char *key, const char *fmt, ...)
{
	char path[PATH_MAX], text[RD_SYSFS_MAX], *save = NULL;
	size_t len = strlen(key);

	buf[0] = '\0';
	if (!MAKE_PATH(path, fmt) || read_raw(path, text, sizeof(text)))
		return -1;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, key, len) || line[len] != '=')
			continue;
		rd_text_clean(buf, size, line + len + 1);
		return 0;
	}
	return -1;
}

int rd_sysfs_link(char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t n;

	buf[0] = '\0';
	n = MAKE_PATH(path, fmt) ? readlink(path, target, sizeof(target) - 1) : -1;
	if (n < 0)
		return -1;
	target[n] = '\0';
	slash = strrchr(target, '/');
	rd_text_clean(buf, size, slash ? slash + 1 : target);
	return 0;
}

int rd_sysfs_open(int flags, const char *fmt, ...)
{
	char path[PATH_MAX];

	return MAKE_PATH(path, fmt) ? open(path, flags | O_CLOEXEC | O_NOCTTY) : -1;
}

int rd_sysfs_stat(struct stat *st, const char *fmt, ...)
{
	char path[PATH_MAX];

	return MAKE_PATH(path, fmt) ? stat(path, st) : -1;
}

bool rd_sysfs_exists(const char *fmt, ...)
{
	char path[PATH_MAX];
	struct stat st;

	return MAKE_PATH(path, fmt) && !stat(path, &st);
}

static int by_nature(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

static int read_names(struct rd_names *names, DIR *dir)
{
	const struct dirent *entry;
	char **name;

	while (names->n < RD_SYSFS_ENTRIES && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		name = rd_append(&names->name, names->n, sizeof(*name));
		if (!name || !(*name = strdup(entry->d_name)))
			return -1;
		names->n++;
	}
	return 0;
}

int rd_sysfs_list(struct rd_names *names, const char *fmt, ...)
{
	char path[PATH_MAX];
	DIR *dir;
	int ret;

	*names = (struct rd_names){0};
	dir = MAKE_PATH(path, fmt) ? opendir(path) : NULL;
	if (!dir)
		return -1;
	ret = read_names(names, dir);
	closedir(dir);
	if (ret) {
		rd_names_free(names);
		errno = ENOMEM;
		return -1;
	}
	if (names->n)
		qsort(names->name, names->n, sizeof(*names->name), by_nature);
	return 0;
}

void rd_names_free(struct rd_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->name[i]);
	free(names->name);
	*names = (struct rd_names){0};
}

static int nibble(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

int rd_hex_bytes(const char *text, unsigned int group, uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int high, low;

		if (i && i % group == 0 && *text++ != ':')
			return -1;
		high = nibble(text[0]);
		low = high < 0 ? -1 : nibble(text[1]);
		if (low < 0)
			return -1;
		out[i] = (uint8_t)(high << 4 | low);
		text += 2;
	}
	return *text ? -1 : 0;
}
