/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One page without scripts or links to the network: verdict, findings about devices, counters and
 * traffic, then the members that are in the bundle and those that are missing. Text from devices,
 * captures and tools is escaped.
 */
#include "task.h"
#include <ctype.h>
#include <fnmatch.h>
#include <rdmadump/finding.h>
#include <rdmadump/json.h>
#include <rdmadump/units.h>
#include <string.h>

static const char style[] =
#include "analysis/output/page_css.h"
	;

static const char own_style[] =
	"a { color: var(--one); }\n"
	"nav { margin: 10px 0 18px; display: flex; flex-wrap: wrap; gap: 4px 18px; }\n"
	".scroll, .verdict { margin-bottom: 12px; }\n"
	"td:first-child { overflow-wrap: anywhere; min-width: 12ch; }\n";

#define FINDINGS_SHOWN 30 /* the worst ones of a section */
#define HEADLINE       80
#define SINCE_RESET    "counters" /* the section whose findings may be old */

struct page {
	FILE *out;
	unsigned int
		found[RD_SEV_PROBLEM + 1]; /* findings by severity, without those of SINCE_RESET */
	unsigned int earlier;		   /* problems and warnings since counters were reset */
	json_t *findings;		   /* [{"section", "finding", "others", "leads"}] */
	json_t *verdicts;		   /* of the summary */
};

/* --- findings ----------------------------------------------------------------------------- */

static enum rd_severity severity_of(const json_t *finding)
{
	return rd_severity_of(rd_json_text_of(finding, "severity"));
}

/* `others`: findings that are the same elsewhere; `leads`: a verdict is based on it. */
static void add_finding(
	struct page *p, const char *section, json_t *one, json_int_t others, bool leads)
{
	if (!json_is_object(one))
		return;
	if (strcmp(section, SINCE_RESET) != 0)
		p->found[severity_of(one)]++;
	else if (severity_of(one) > RD_SEV_NOTE)
		p->earlier++;
	json_array_append_new(
		p->findings, json_pack("{s:s, s:O, s:I, s:b}", "section", section, "finding", one,
				     "others", others, "leads", leads));
}

/* Findings of one cause at several QPs are one; `rule` is that of the verdict. */
static void add_group(struct page *p, const char *section, const json_t *report,
	const json_t *group, const char *rule)
{
	const json_t *findings = json_object_get(report, "findings");
	const json_int_t all = json_integer_value(json_object_get(group, "findings_in_all"));
	bool leads = strcmp(rd_json_text_of(group, "rule"), rule) == 0;
	const json_t *nth;
	size_t i;

	json_array_foreach (json_object_get(group, "findings"), i, nth) {
		json_t *one = json_array_get(findings, (size_t)json_integer_value(nth));
		const bool of_qps = json_is_integer(json_object_get(one, "conversation")) ||
				    json_object_get(report, "paths");

		add_finding(p, section, one, of_qps ? all - 1 : 0, leads);
		if (of_qps)
			break;
		leads = false;
	}
}

static void add_findings(
	struct page *p, const char *section, const json_t *report, const char *rule)
{
	const json_t *groups = json_object_get(report, "groups");
	json_t *one;
	size_t i;

	json_array_foreach (groups, i, one) {
		add_group(p, section, report, one, rule);
	}
	json_array_foreach (groups ? NULL : json_object_get(report, "findings"), i, one) {
		add_finding(p, section, one, 0, false);
	}
}

/* Reads the findings of a JSON member: its own, those of its ports or captures, and of two ends. */
static void read_findings(struct page *p, const char *section, const struct task *t)
{
	static const char *const lists[] = {"ports", "captures"};
	json_t *root = page_json(t), *one;
	const json_t *ends = json_object_get(root, "ends");
	const json_t *verdict = json_object_get(json_is_object(ends) ? ends : root, "verdict");
	const char *rule = rd_json_text_of(verdict, "rule");
	size_t i;

	add_findings(p, section, root, rule);
	add_findings(p, section, ends, rule);
	for (size_t k = 0; k < RD_COUNT(lists); k++) {
		json_array_foreach (json_object_get(root, lists[k]), i, one) {
			add_findings(p, section, one, rule);
		}
	}
	json_array_foreach (json_object_get(root, "pairs"), i, one) {
		add_findings(p, section, json_object_get(one, "ends"), rule);
	}
	json_decref(root);
}

/* The sections of the page and their members, in the order of the page. */
static const struct section {
	const char *key, *title, *members, *none;
} sections[] = {
	{"device", "Devices", "rdmadump/info-*.json", "no device"},
	{"growth", "Counters: what grew between two readings", "rdmadump/counters-growth.json",
		"no reading of counters"},
	{SINCE_RESET, "Counters: since they were last reset", "rdmadump/counters.json",
		"no reading of counters"},
	{"traffic", "Traffic", "analysis/*.json",
		"no traffic: rdmadump bundle --capture SECONDS, or --file FILE"},
};

/* The section that shows the task; NULL: none. */
static const struct section *section_of(const struct task *t)
{
	return RD_FIND(
		s, sections, RD_COUNT(sections), fnmatch(s->members, t->name, FNM_PATHNAME) == 0);
}

static bool has_ended_well(const struct task *t)
{
	return t->outcome == OUTCOME_ENDED && t->output.n && !t->output.cut;
}

static void read_all(struct page *p, const struct tasks *tasks)
{
	for (unsigned int i = 0; i < tasks->n; i++) {
		const struct section *s = section_of(&tasks->task[i]);

		if (s && has_ended_well(&tasks->task[i]))
			read_findings(p, s->key, &tasks->task[i]);
	}
}

/* As a sentence; the name of a counter stays as it is. */
static void put_title(FILE *out, const char *title)
{
	if (islower((unsigned char)*title) && strcspn(title, "_0123456789") > strcspn(title, " ")) {
		fputc(toupper((unsigned char)*title), out);
		title++;
	}
	page_put(out, "%s", title);
}

/* As the page of `analyze` shows it. */
static void put_finding(FILE *out, const json_t *f, json_int_t others)
{
	const char *name = rd_severity_name(severity_of(f));

	page_put(out, "<article class=\"finding %s\"><header><h3>", name);
	put_title(out, rd_json_text_of(f, "title"));
	page_put(out, "</h3><span class=mark>%s, %s</span></header>", name,
		rd_json_text_of(f, "certainty"));
	page_element(out, "<p class=where>", rd_json_text_of(f, "where"), "</p>");
	page_element(out, "<p>", rd_json_text_of(f, "detail"), "</p>");
	page_element(
		out, "<p><span class=soft>Usually:</span> ", rd_json_text_of(f, "meaning"), "</p>");
	page_element(out, "<p><span class=soft>Next:</span> ", rd_json_text_of(f, "next"), "</p>");
	page_element(out, "<p class=filter><code>", rd_json_text_of(f, "filter"), "</code></p>");
	if (others > 0)
		page_put(out, "<p class=soft>The same in %d more finding%s of the report.</p>",
			others, others == 1 ? "" : "s");
	fputs("</article>\n", out);
}

/* The findings that verdicts are based on come first, then the worst ones. */
static void put_section(struct page *p, const struct section *s, bool was_read)
{
	unsigned int n = 0;

	for (int severity = RD_SEV_PROBLEM + 1; severity > RD_SEV_NONE; severity--) {
		json_t *one;
		size_t i;

		json_array_foreach (p->findings, i, one) {
			const json_t *f = json_object_get(one, "finding");
			const bool leads = json_is_true(json_object_get(one, "leads"));

			if (strcmp(rd_json_text_of(one, "section"), s->key) != 0 ||
				(leads ? RD_SEV_PROBLEM + 1 : (int)severity_of(f)) != severity)
				continue;
			if (n++ < FINDINGS_SHOWN)
				put_finding(p->out, f,
					json_integer_value(json_object_get(one, "others")));
		}
	}
	if (n > FINDINGS_SHOWN)
		page_put(p->out, "<p class=soft>%d more: see the members below.</p>\n",
			(json_int_t)(n - FINDINGS_SHOWN));
	if (!n)
		page_element(
			p->out, "<p class=soft>", was_read ? "No findings." : s->none, "</p>\n");
}

static bool was_read(const struct section *s, const struct tasks *tasks)
{
	return RD_ANY(t, tasks->task, tasks->n, section_of(t) == s && has_ended_well(t));
}

/* --- devices ------------------------------------------------------------------------------ */

static void put_port(FILE *out, const json_t *device, const json_t *port)
{
	const json_t *netdev = json_array_get(json_object_get(port, "netdevs"), 0);
	const json_t *capture = json_object_get(port, "capture");
	const char *state = rd_json_text_of(port, "state"), *why = rd_json_text_of(capture, "why");

	page_put(out,
		"<tr><td>%s<td class=number>%d<td>%s<td>%s<td>%s<td>%s<td%s>%s<td>%s<td>%s%s%s"
		"</tr>\n",
		rd_json_text_of(device, "name"), json_integer_value(json_object_get(port, "port")),
		rd_json_text_of(netdev, "name"), rd_json_text_of(device, "model"),
		rd_json_text_of(device, "firmware"), rd_json_text_of(port, "link"),
		strcmp(state, "active") ? " class=bad" : "", state, rd_json_text_of(port, "rate"),
		rd_json_text_of(capture, "verdict"), *why ? ": " : "", why);
}

static void put_devices(FILE *out, const struct tasks *tasks)
{
	json_t *root = page_json(page_task(tasks, "rdmadump/list.json"));
	json_t *device, *port;
	size_t i, k, n = json_array_size(json_object_get(root, "devices"));

	if (n)
		fputs("<div class=scroll><table><thead><tr><th>Device<th "
		      "class=number>Port<th>Netdev<th>Model<th>Firmware<th>Link<th>State<th>Rate<"
		      "th>Can "
		      "it be captured</thead><tbody>\n",
			out);
	json_array_foreach (json_object_get(root, "devices"), i, device) {
		json_array_foreach (json_object_get(device, "ports"), k, port) {
			put_port(out, device, port);
		}
	}
	if (n)
		fputs("</tbody></table></div>\n", out);
	json_decref(root);
}

/* --- members ------------------------------------------------------------------------------ */

/* The thousands of files of sysfs are one row. */
static bool is_below_tree(const char *name)
{
	return strncmp(name, "sysroot/", 8) == 0;
}

static void put_member(FILE *out, const struct tasks *tasks, const json_t *m)
{
	const char *name = rd_json_text_of(m, "name");
	const json_t *status = json_object_get(m, "exit_status");
	const struct task *t = page_task(tasks, name);
	char why[8] = "";

	if (t)
		task_why(t, why, sizeof(why));
	page_put(out,
		"<tr><td><a href=\"%s\">%s</a><td>%s<td><code>%s</code><td class=number>%d"
		"<td class=\"number%s\">",
		name, name, rd_json_text_of(m, "what"), rd_json_text_of(m, "command"),
		json_integer_value(json_object_get(m, "size")), *why ? " bad" : "");
	if (json_is_integer(status))
		page_put(out, "%d", json_integer_value(status));
	fputs("</tr>\n", out);
}

static void put_members(FILE *out, const struct tasks *tasks, const json_t *manifest)
{
	json_t *m;
	size_t i, below = 0;

	fputs("<h2 id=members>What is in this bundle</h2>\n<p class=soft>Sizes and times of "
	      "all members are in <a href=\"manifest.json\">manifest.json</a>.</p>\n"
	      "<div class=scroll><table><thead><tr><th>Member<th>What it is<th>Command"
	      "<th class=number>Bytes<th class=number>Exit status</thead><tbody>\n",
		out);
	json_array_foreach (json_object_get(manifest, "members"), i, m) {
		if (is_below_tree(rd_json_text_of(m, "name")))
			below++;
		else
			put_member(out, tasks, m);
	}
	if (below)
		page_put(out,
			"<tr><td><a href=\"sysroot/\">sysroot/</a><td>files of sysfs, for rdmadump "
			"list, info and counters<td><code>rdmadump info --sysroot "
			"sysroot</code><td class=number>%d files<td></tr>\n",
			(json_int_t)below);
	fputs("</tbody></table></div>\n", out);
}

/* Returns the number of rows. */
static unsigned int put_missing_rows(FILE *out, const struct tasks *tasks, bool failed)
{
	unsigned int n = 0;
	char why[512];

	for (unsigned int i = 0; i < tasks->n; i++) {
		const struct task *t = &tasks->task[i];

		task_why(t, why, sizeof(why));
		if (!*why || task_failed(t) != failed)
			continue;
		page_put(out, "<tr><td>%s<td>%s<td>%s</tr>\n", t->name, t->member->what, why);
		n++;
	}
	return n;
}

/* Failed members come first. */
static void put_missing(FILE *out, const struct tasks *tasks)
{
	unsigned int n;

	fputs("<h2 id=missing>What is missing or incomplete</h2>\n"
	      "<div class=scroll><table><thead><tr><th>Member<th>What it is<th>Why"
	      "</thead><tbody>\n",
		out);
	n = put_missing_rows(out, tasks, true);
	n += put_missing_rows(out, tasks, false);
	fputs(n ? "" : "<tr><td colspan=3>Nothing.</tr>\n", out);
	fputs("</tbody></table></div>\n", out);
}

/* --- the page ----------------------------------------------------------------------------- */

static void put_head(FILE *out, const json_t *manifest)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'\">\n",
		out);
	page_put(out, "<title>%s - rdmadump bundle</title>\n<style>\n",
		rd_json_text_of(manifest, "host"));
	fputs(style, out);
	fputs(own_style, out);
	fputs("</style>\n</head>\n<body>\n<main>\n", out);
	page_origin(out, manifest);
}

/* "3 problems, 1 warning" */
static void make_headline(const struct page *p, const struct tasks *tasks, char text[HEADLINE])
{
	unsigned int problems = p->found[RD_SEV_PROBLEM], warnings = p->found[RD_SEV_WARNING];
	char problem[32] = "", warning[32] = "";

	if (problems)
		snprintf(problem, sizeof(problem), "%u problem%s", problems, rd_plural(problems));
	if (warnings)
		snprintf(warning, sizeof(warning), "%u warning%s", warnings, rd_plural(warnings));
	if (problems || warnings)
		snprintf(text, HEADLINE, "%s%s%s", problem, problems && warnings ? ", " : "",
			warning);
	else
		snprintf(text, HEADLINE, "%s",
			was_read(&sections[0], tasks) ? "No problems and no warnings"
						      : "No RDMA device was read");
}

static void put_headline(const struct page *p, const char *text)
{
	page_put(p->out, "<h1>%s</h1>\n", text);
	if (p->earlier)
		page_put(p->out,
			"<p>Since counters were last reset, they show %d more: perhaps long "
			"ago.</p>\n",
			(json_int_t)p->earlier);
}

static void put_links(FILE *out)
{
	fputs("<nav><a href=\"#device\">Devices</a><a href=\"#growth\">Counters</a>"
	      "<a href=\"#traffic\">Traffic</a><a href=\"#missing\">What is missing</a>"
	      "<a href=\"#members\">What is in this bundle</a></nav>\n",
		out);
}

/* --- the verdicts on the traffic -------------------------------------------------------------- */

/* As the page of `analyze` shows it. */
static void put_rows(FILE *out, const json_t *verdict)
{
	const json_t *row;
	size_t i;

	fputs("<dl class=facts>", out);
	json_array_foreach (json_object_get(verdict, "rows"), i, row) {
		page_element(out, "<dt>", rd_json_text_of(row, "label"), "</dt>");
		page_element(out, "<dd>", rd_json_text_of(row, "text"), "</dd>");
	}
	fputs("</dl>", out);
}

/* "a.pcapng, b.pcapng", without folders; what was read from standard input is a port's capture. */
static void put_files(FILE *out, const json_t *capture, const struct task *t, const char **comma)
{
	const char *base = strrchr(t->name, '/') ? strrchr(t->name, '/') + 1 : t->name;
	const char *dot = strrchr(base, '.');
	char port[256];
	const json_t *files = json_object_get(json_object_get(capture, "capture"), "files");
	json_t *file;
	size_t i;

	snprintf(port, sizeof(port), "%.*s.pcapng", dot ? (int)(dot - base) : 0, base);
	json_array_foreach (files, i, file) {
		const char *name = rd_json_text_of(file, "name"), *slash = strrchr(name, '/');

		if (strcmp(name, "-") == 0)
			name = port;
		page_element(out, *comma, slash ? slash + 1 : name, "");
		*comma = ", ";
	}
}

/* The member with the page of an analysis, whose member is NAME.json; NULL: there is none. */
static const char *report_of(const struct tasks *tasks, const char *name)
{
	const char *end = strrchr(name, '.');

	for (unsigned int i = 0; end && i < tasks->n; i++) {
		const struct task *t = &tasks->task[i];
		const char *dot = strrchr(t->name, '.');

		if (dot && dot - t->name == end - name && strcmp(dot, ".html") == 0 &&
			strncmp(t->name, name, (size_t)(end - name)) == 0 && has_ended_well(t))
			return t->name;
	}
	return NULL;
}

/* Two ends have a verdict on both, which knows more than that on either. */
static void put_verdict(const struct page *p, const struct tasks *tasks, const struct task *t)
{
	FILE *out = p->out;
	json_t *root = page_json(t), *one;
	const json_t *ends = json_object_get(root, "ends");
	const json_t *verdict = json_object_get(json_is_object(ends) ? ends : root, "verdict");
	const char *report = report_of(tasks, t->name), *comma = "Traffic in ";
	size_t i;

	if (json_is_object(verdict)) {
		fputs("<section class=verdict aria-label=Verdict><p class=\"soft small\">", out);
		put_files(out, root, t, &comma);
		json_array_foreach (json_object_get(root, "captures"), i, one) {
			put_files(out, one, t, &comma);
		}
		if (report)
			page_element(out, ": <a href=\"", report, "\">the whole report</a>");
		fputs("</p>", out);
		put_rows(out, verdict);
		fputs("</section>\n", out);
		json_array_append_new(p->verdicts,
			json_pack("{s:o, s:O}", "member", rd_json_string(report ? report : t->name),
				"what", json_object_get(verdict, "what")));
	}
	json_decref(root);
}

static void put_verdicts(const struct page *p, const struct tasks *tasks)
{
	const struct section *traffic = &sections[RD_COUNT(sections) - 1];

	for (unsigned int i = 0; i < tasks->n; i++)
		if (section_of(&tasks->task[i]) == traffic && has_ended_well(&tasks->task[i]))
			put_verdict(p, tasks, &tasks->task[i]);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Traffic that has its own page. */
static void put_reports(FILE *out, const struct tasks *tasks)
{
	for (unsigned int i = 0; i < tasks->n; i++) {
		const char *name = tasks->task[i].name;
		size_t n = strlen(name);

		if (strncmp(name, "analysis/", 9) != 0 || strcmp(name + n - 5, ".html") != 0 ||
			!has_ended_well(&tasks->task[i]))
			continue;
		page_put(out, "<p><a href=\"%s\">The whole report of the traffic</a></p>\n", name);
	}
}

int page_write(FILE *out, const struct tasks *tasks, const json_t *manifest, json_t **summary)
{
	struct page p = {.out = out, .findings = json_array(), .verdicts = json_array()};
	char headline[HEADLINE];

	if (!p.findings)
		return -1;
	read_all(&p, tasks);
	make_headline(&p, tasks, headline);
	put_head(out, manifest);
	put_headline(&p, headline);
	put_verdicts(&p, tasks);
	page_facts(out, tasks, manifest);
	put_links(out);
	for (size_t i = 0; i < RD_COUNT(sections); i++) {
		page_put(out, "<h2 id=%s>%s</h2>\n", sections[i].key, sections[i].title);
		if (i == 0)
			put_devices(out, tasks);
		put_section(&p, &sections[i], was_read(&sections[i], tasks));
	}
	put_reports(out, tasks);
	put_missing(out, tasks);
	put_members(out, tasks, manifest);
	fputs("</main>\n</body>\n</html>\n", out);
	json_decref(p.findings);
	*summary = json_pack("{s:s, s:o}", "headline", headline, "verdicts", p.verdicts);
	return ferror(out) || !*summary ? -1 : 0;
}
