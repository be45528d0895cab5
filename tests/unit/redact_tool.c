/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Redacts files together: redact_tool DIRECTORY FILE... Files that end with .json or .txt are text,
 * the others captures. The copies are in DIRECTORY, under their names; the map is printed.
 */
#include <fcntl.h>
#include <rdmadump/outfile.h>
#include <rdmadump/redact.h>
#include <rdmadump/rewrite.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool frame(
	void *ctx, enum rd_link link, uint8_t *data, uint32_t caplen, uint32_t len, uint32_t extra)
{
	return rd_redact_frame(ctx, link, data, caplen, len, extra);
}

static char *text(void *ctx, const char *bytes, size_t n, size_t *out_n)
{
	return rd_redact_foreign(ctx, bytes, n, out_n);
}

static void address(void *ctx, uint8_t *bytes, size_t n)
{
	rd_redact_address(ctx, bytes, n);
}

static int put(void *ctx, const void *bytes, size_t n)
{
	const int *fd = ctx;

	return *fd < 0 ? 0 : rd_write_whole(*fd, bytes, n);
}

static bool is_text(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (strcmp(dot, ".json") == 0 || strcmp(dot, ".txt") == 0);
}

static int take_text(struct rd_redact *r, const char *path, int *fd)
{
	FILE *in = fopen(path, "r");
	char *bytes = NULL, *copy;
	size_t capacity = 0, n;
	ssize_t got = in ? getdelim(&bytes, &capacity, EOF, in) : -1;
	int rc;

	if (in)
		fclose(in);
	if (got < 0)
		return -1;
	copy = rd_redact_foreign(r, bytes, (size_t)got, &n);
	rc = copy ? put(fd, copy, n) : -1;
	free(bytes);
	free(copy);
	return rc;
}

static int take(struct rd_redact *r, const char *path, int *fd)
{
	struct rd_rewrite w = {.frame = frame,
		.text = text,
		.address = address,
		.ctx = r,
		.put = put,
		.put_ctx = fd};
	struct rd_error err;

	if (is_text(path))
		return take_text(r, path, fd);
	if (rd_rewrite_file(&w, path, &err) >= 0)
		return 0;
	fprintf(stderr, "%s: %s\n", path, err.text);
	return -1;
}

static int copy(struct rd_redact *r, const char *directory, const char *path)
{
	const char *slash = strrchr(path, '/');
	char to[4096];
	int fd, rc;

	snprintf(to, sizeof(to), "%s/%s", directory, slash ? slash + 1 : path);
	fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	rc = fd < 0 ? -1 : take(r, path, &fd);
	if (fd >= 0)
		close(fd);
	return rc;
}

int main(int argc, char **argv)
{
	struct rd_redact *r = rd_redact_new();
	int rc = argc > 2 && r ? 0 : -1, none = -1;
	json_t *map;

	for (int i = 2; i < argc; i++)
		rc |= take(r, argv[i], &none);
	if (r)
		rd_redact_begin(r);
	for (int i = 2; i < argc && !rc; i++)
		rc |= copy(r, argv[1], argv[i]);
	map = r ? rd_redact_map(r) : NULL;
	if (map && !rc)
		json_dumpf(map, stdout, JSON_INDENT(1));
	json_decref(map);
	rd_redact_free(r);
	return rc ? 1 : 0;
}
