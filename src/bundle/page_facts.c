/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first lines of the page: whose machine it is, and which software it runs;
 * and text that is not trusted, for all of the page. */
#include "task.h"
#include <rdmadump/json.h>
#include <rdmadump/notation.h>
#include <rdmadump/printable.h>
#include <rdmadump/units.h>
#include <string.h>

#define TEXT_MAX 400

/* --- text of devices, captures and tools, escaped for a page ------------------------------ */

static void put_text(FILE *out, const char *text)
{
	char clean[RD_PRINTABLE_GROWTH];
	size_t n;

	for (; *text; text++) {
		const char *escape = *text == '<'   ? "&lt;"
				     : *text == '>' ? "&gt;"
				     : *text == '&' ? "&amp;"
				     : *text == '"' ? "&quot;"
						    : NULL;

		/* JSON is always valid UTF-8: bytes of a character are copied unchanged. */
		if (escape) {
			fputs(escape, out);
		} else if ((unsigned char)*text < 0x80) {
			n = rd_printable(clean, text, 1, "\n\t");
			fwrite(clean, 1, n, out);
		} else {
			fputc(*text, out);
		}
	}
}

void page_put(FILE *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	for (const char *p = format; *p; p++) {
		if (*p != '%')
			fputc(*p, out);
		else if (*++p == 'd')
			fprintf(out, "%lld", (long long)va_arg(args, json_int_t));
		else
			put_text(out, va_arg(args, const char *));
	}
	va_end(args);
}

void page_element(FILE *out, const char *open, const char *text, const char *close)
{
	if (!*text)
		return;
	fputs(open, out);
	put_text(out, text);
	fputs(close, out);
}

const struct task *page_task(const struct tasks *tasks, const char *name)
{
	return RD_FIND(t, tasks->task, tasks->n, strcmp(t->name, name) == 0);
}

json_t *page_json(const struct task *t)
{
	return t && t->output.n ? json_loadb(t->output.data, t->output.n, 0, NULL) : NULL;
}

void page_origin(FILE *out, const json_t *manifest)
{
	char start[RD_UTC_LEN];

	rd_utc_text(start, rd_json_u64_value(json_object_get(manifest, "start_ns")));
	start[10] = start[19] = '\0'; /* date and time of day */
	page_put(out,
		"<p class=\"soft small\">Support bundle of %s, collected %s %s UTC by %s%s</p>\n",
		rd_json_text_of(manifest, "host"), start, start + 11,
		rd_json_text_of(manifest, "program"),
		json_is_true(json_object_get(manifest, "root"))
			? ""
			: ", not as root: some members are missing or incomplete");
}

static void put_fact(FILE *out, const char *title, const char *text)
{
	if (*text)
		page_put(out, "<dt>%s<dd>%s\n", title, text);
}

static void put_uptime(FILE *out, const json_t *host)
{
	uint64_t seconds = rd_json_u64_value(json_object_get(host, "uptime_s"));
	char text[64], hms[RD_UNITS_LEN];

	if (!seconds)
		return;
	snprintf(text, sizeof(text), "%llu day%s, %s h", (unsigned long long)(seconds / 86400),
		rd_plural(seconds / 86400), rd_fmt_hms(hms, seconds % 86400));
	put_fact(out, "Up", text);
}

/* "mlx5_core 6.1.0, the kernel's own", each only once, of all devices */
static void put_drivers(FILE *out, const struct tasks *tasks)
{
	char text[TEXT_MAX] = "", one[TEXT_MAX / 2];
	json_t *info, *module;
	size_t k;

	for (unsigned int i = 0; i < tasks->n; i++) {
		if (strncmp(tasks->task[i].command, "rdmadump info --json", 20) != 0)
			continue;
		info = page_json(&tasks->task[i]);
		json_array_foreach (
			json_object_get(json_object_get(info, "driver"), "modules"), k, module) {
			const char *version = rd_json_text_of(module, "version");
			const char *origin = rd_json_text_of(module, "origin");
			size_t n = strlen(text);

			snprintf(one, sizeof(one), "%s%s%s%s%s", rd_json_text_of(module, "name"),
				*version ? " " : "", version, *origin ? ", " : "", origin);
			if (!strstr(text, one))
				snprintf(text + n, sizeof(text) - n, "%s%s", n ? "; " : "", one);
		}
		json_decref(info);
	}
	put_fact(out, "Driver", text);
}

/* The field that follows the package's name and architecture, as members.c prints them. */
static void put_rdma_core(FILE *out, const struct tasks *tasks)
{
	static const char *const rows[][2] = {{"host/packages-dpkg.txt", "libibverbs1\t"},
		{"host/packages-rpm.txt", "libibverbs\t"}};
	char text[TEXT_MAX];

	for (size_t i = 0; i < RD_COUNT(rows); i++) {
		const struct task *t = page_task(tasks, rows[i][0]);
		const char *at = t && t->output.n ? strstr(t->output.data, rows[i][1]) : NULL;

		at = at ? strchr(at + strlen(rows[i][1]), '\t') : NULL;
		if (!at)
			continue;
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(at + 1, "\t\n"), at + 1);
		put_fact(out, "rdma-core", text);
	}
}

/* "MLNX_OFED_LINUX-24.10-1.1.4.0:" */
static void put_ofed(FILE *out, const struct tasks *tasks)
{
	const struct task *t = page_task(tasks, "tools/ofed_info.txt");
	char text[TEXT_MAX] = "";

	if (t && t->outcome == OUTCOME_ENDED && t->status == 0 && t->output.n)
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(t->output.data, ":\n"),
			t->output.data);
	put_fact(out, "OFED", text);
}

void page_facts(FILE *out, const struct tasks *tasks, const json_t *manifest)
{
	json_t *host = page_json(page_task(tasks, "host/host.json"));

	fputs("<dl class=facts>\n", out);
	put_fact(out, "System", rd_json_text_of(host, "distribution"));
	put_fact(out, "Kernel", rd_json_text_of(manifest, "kernel"));
	put_uptime(out, host);
	put_drivers(out, tasks);
	put_ofed(out, tasks);
	put_rdma_core(out, tasks);
	fputs("</dl>\n", out);
	json_decref(host);
}
