/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each way to get memory, when there is none: programs that report remember it. */
#include "cli/cli.h"
#include "test.h"
#include <sys/mman.h>
#include <sys/resource.h>

/* A sanitizer ends the program instead. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

static char text[100000], *made;
static size_t size;
static void *block;
/* From before there is none */
static void *held;
static FILE *stream;

/* As fclose() does of a stream in memory whose text it cannot make */
static int close_short(void *cookie)
{
	errno = ENOMEM;
	return 0;
}

int __wrap_asprintf(char **to, const char *format, ...);
int __wrap___asprintf_chk(char **to, int flag, const char *format, ...);
int __wrap_vasprintf(char **to, const char *format, va_list list);
int __wrap___vasprintf_chk(char **to, int flag, const char *format, va_list list);

/* A compiler calls one of the two, by its options. */
static int print(int checked, ...)
{
	va_list list;
	int n;

	va_start(list, checked);
	n = checked ? __wrap___vasprintf_chk(&made, 1, "%s", list)
		    : __wrap_vasprintf(&made, "%s", list);
	va_end(list);
	return n;
}

/* clang-format off: the names are options of the linker, by scripts/sources */
#define WAYS(X)                                                                                    \
	X(__wrap_malloc, !(block = malloc(50000)))                                                 \
	X(__wrap_calloc, !(block = calloc(50, 1000)))                                              \
	X(__wrap_realloc, !(block = realloc(held, 50000)))                                         \
	X(__wrap_reallocarray, !(block = reallocarray(NULL, 50, 1000)))                            \
	X(__wrap_mmap,                                                                             \
		mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)  \
	X(__wrap_strdup, !(block = strdup(text)))                                                  \
	X(__wrap_strndup, !(block = strndup(text, 50000)))                                         \
	X(__wrap_open_memstream, !(block = open_memstream(&made, &size)))                          \
	X(__wrap_fopencookie, !(block = fopencookie(text, "w", (cookie_io_functions_t){0})))       \
	X(__wrap_fclose, !fclose(stream))                                                          \
	X(__wrap_asprintf, __wrap_asprintf(&made, "%s", text) < 0)                                 \
	X(__wrap___asprintf_chk, __wrap___asprintf_chk(&made, 1, "%s", text) < 0)                  \
	X(__wrap_vasprintf, print(0, text) < 0)                                                    \
	X(__wrap___vasprintf_chk, print(1, text) < 0)
/* clang-format on */

static void use_all_memory(void)
{
	static const struct rlimit none;

	memset(text, 'x', sizeof(text) - 1);
	held = malloc(100);
	stream = fopencookie(text, "w", (cookie_io_functions_t){.close = close_short});
	setrlimit(RLIMIT_AS, &none);
	for (size_t n = 1 << 17; n; n -= n > 4096 ? 4096 : 16)
		while ((block = malloc(n)))
			;
}

TEST(each_way)
{
	pid_t pid;
	int status;

	free(calloc(0, 1));
	assert_false(rd_cli_out_of_memory);
	if (SANITIZED)
		return;
	pid = fork();
	if (pid == 0) {
		int n = 0;

		use_all_memory();
#define TRY(name, way)                                                                             \
	rd_cli_out_of_memory = false;                                                              \
	n++;                                                                                       \
	if (!(way) || !rd_cli_out_of_memory)                                                       \
		_exit(n);
		WAYS(TRY)
		_exit(0);
	}
	same(waitpid(pid, &status, 0), pid, status, 0);
}
