/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files that reports (HTML, JSON, Prometheus) are written to. A capture or an input is never
 * overwritten.
 */
#ifndef RDMADUMP_CLI_REPORT_FILE_H
#define RDMADUMP_CLI_REPORT_FILE_H

#include <rdmadump/outfile.h>
#include <stdio.h>

/*
 * Called before any work. 0 if a report may be written to `path`; -1 with RD_CLASS_USAGE if that is
 * an input or contains a capture. Changes nothing. `option` is named in the error.
 */
int report_file_check(
	const char *path, const char *option, const struct rd_inputs *inputs, struct rd_error *err);
/*
 * The same check, then opens and truncates the file, with the rights of the caller of sudo if there
 * is one; `private`: an existing file gets mode 0600, as a capture does. "/dev/fd/N" is a
 * descriptor of this process. NULL with the error. Close it with report_file_close().
 */
FILE *report_file_open(const char *path, const char *option, const struct rd_inputs *inputs,
	bool private, struct rd_error *err);
/*
 * Closes it. A regular file that is not `whole` is removed, but not a link to one. 0, or -1 with
 * the error.
 */
int report_file_close(
	FILE *file, const char *path, const char *option, bool whole, struct rd_error *err);

#endif
