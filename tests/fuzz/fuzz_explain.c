/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fuzzes what reads logs of others: any bytes as lines, explained as text and as JSON. */
#include "explain/explain.h"
#include "fuzz.h"
#include <stdio.h>

static struct catalogue catalogue;

static void print_all(const struct log *log)
{
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	json_t *document = explain_json(log);

	require(out && document);
	explain_print(out, log, 80);
	require(fclose(out) == 0);
	free(text);
	json_decref(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *in = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;
	struct rd_error err;
	struct log log;

	if (!catalogue.n)
		require(catalogue_make(&catalogue, &err) == 0);
	require(log_open(&log, &err) == 0);
	if (in)
		require(log_read(&log, &catalogue, in, &err) == 0);
	if (in)
		fclose(in);
	require(log.explained <= 2 * log.lines);
	print_all(&log);
	log_free(&log);
	return 0;
}
