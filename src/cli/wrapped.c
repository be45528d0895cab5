/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Remembers allocations that failed, in the programs that are linked with -Wl,--wrap: hundreds of
 * places of a report do without what they have no memory for, and check_output() says that
 * something is missing.
 */
#include "cli.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define WRAP(type, name, parameters, arguments, failed)                                            \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		type result = __real_##name arguments;                                             \
                                                                                                   \
		if (failed)                                                                        \
			rd_cli_out_of_memory = true;                                               \
		return result;                                                                     \
	}

WRAP(void *, malloc, (size_t size), (size), !result && size)
WRAP(void *, calloc, (size_t n, size_t size), (n, size), !result && n && size)
WRAP(void *, realloc, (void *p, size_t size), (p, size), !result && size)
WRAP(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size), !result && n && size)
WRAP(void *, mmap, (void *at, size_t size, int protection, int flags, int fd, off_t offset),
	(at, size, protection, flags, fd, offset), result == MAP_FAILED && errno == ENOMEM)
WRAP(char *, strdup, (const char *text), (text), !result)
WRAP(char *, strndup, (const char *text, size_t n), (text, n), !result)
WRAP(FILE *, open_memstream, (char **text, size_t *size), (text, size), !result)
WRAP(FILE *, fopencookie, (void *cookie, const char *mode, cookie_io_functions_t functions),
	(cookie, mode, functions), !result)
WRAP(int, vasprintf, (char **text, const char *format, va_list list), (text, format, list),
	result < 0)
WRAP(int, __vasprintf_chk, (char **text, int flag, const char *format, va_list list),
	(text, flag, format, list), result < 0)

/* A stream in memory has no text then, and fclose() still returns 0. */
int __real_fclose(FILE *stream);
int __wrap_fclose(FILE *stream);
int __wrap_fclose(FILE *stream)
{
	int result;

	errno = 0;
	result = __real_fclose(stream);
	if (errno == ENOMEM)
		rd_cli_out_of_memory = true;
	return result;
}

#define WRAP_PRINT(name, parameters, call)                                                         \
	int __wrap_##name parameters;                                                              \
	int __wrap_##name parameters                                                               \
	{                                                                                          \
		va_list list;                                                                      \
		int result;                                                                        \
                                                                                                   \
		va_start(list, format);                                                            \
		result = call;                                                                     \
		va_end(list);                                                                      \
		return result;                                                                     \
	}

WRAP_PRINT(asprintf, (char **text, const char *format, ...), __wrap_vasprintf(text, format, list))
WRAP_PRINT(__asprintf_chk, (char **text, int flag, const char *format, ...),
	__wrap___vasprintf_chk(text, flag, format, list))
