/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs a fuzz target over the files named, for compilers without libFuzzer. */
#include "fuzz.h"
#include <stdint.h>
#include <stdio.h>

static int replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	long size;
	int rc = -1;

	if (!f || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0)
		goto out;
	rewind(f);
	/* Exactly as long as the file, so that a sanitizer sees a byte too far. */
	data = malloc(size ? (size_t)size : 1);
	if (!data || fread(data, 1, (size_t)size, f) != (size_t)size)
		goto out;
	rc = LLVMFuzzerTestOneInput(data, (size_t)size);
out:
	if (rc)
		perror(path);
	free(data);
	if (f)
		fclose(f);
	return rc;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]) != 0;
	return failed;
}
