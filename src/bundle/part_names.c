/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collects names of this machine, of hosts in its configuration and of its users, for redaction. */
#include "../device/sysfs.h"
#include "parts.h"
#include <ctype.h>
#include <dirent.h>
#include <pwd.h>
#include <rdmadump/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#define TEXT_BYTES  262144
#define PEOPLE_FROM 1000 /* first user id of people: UID_MIN of login.defs(5) */
/* Services: systemd's dynamic ones, those that Debian assigned (64030: slurm), nobody. */
#define SERVICES_FROM 61184
#define SERVICES_TO   65535

static void add(json_t *list, const char *kind, const char *name)
{
	if (name && *name)
		json_array_append_new(
			list, json_pack("{s:s, s:o}", "kind", kind, "name", rd_json_string(name)));
}

/* A host's name, with and without its domain; the domain alone, unless it is one like "local". */
static void add_host(json_t *list, const char *name)
{
	char first[256];
	size_t n = strcspn(name, ".");

	add(list, "host", name);
	if (!name[n] || n >= sizeof(first) || !n)
		return;
	snprintf(first, sizeof(first), "%.*s", (int)n, name);
	add(list, "host", first);
	if (strchr(name + n + 1, '.'))
		add(list, "host", name + n + 1);
}

/* --- hosts ------------------------------------------------------------------------------------ */

/* Each line: an address (recognized by its form) or a keyword, then names. */
static void add_words(json_t *list, const char *path, const char *keywords)
{
	char *text = malloc(TEXT_BYTES), *lines = NULL;

	if (!text || rd_sysfs_file(text, TEXT_BYTES - 1, "%s", path) < 0) {
		free(text);
		return;
	}
	for (char *line = strtok_r(text, "\n", &lines); line; line = strtok_r(NULL, "\n", &lines)) {
		char *words = NULL, *word;

		line[strcspn(line, "#;")] = '\0';
		word = strtok_r(line, " \t", &words);
		if (!word || (keywords && !strstr(keywords, word)))
			continue;
		while ((word = strtok_r(NULL, " \t", &words)))
			add_host(list, word);
	}
	free(text);
}

static void add_hosts(json_t *list)
{
	char text[256];
	struct utsname u;

	uname(&u);
	add_host(list, u.nodename);
	if (u.domainname[0] != '(')
		add(list, "host", u.domainname);
	if (read_value(text, sizeof(text), "/etc/hostname") > 0)
		add_host(list, text);
	add_words(list, "/etc/hosts", NULL);
	add_words(list, "/etc/resolv.conf", "domain search");
}

/* --- users ------------------------------------------------------------------------------------ */

static bool is_person(uid_t uid)
{
	return uid >= PEOPLE_FROM && (uid < SERVICES_FROM || uid > SERVICES_TO);
}

static void add_user(json_t *list, const struct passwd *p)
{
	char full[256];

	if (!p)
		return;
	add(list, "user", p->pw_name);
	/* The full name; the rest of the field may be a room or a telephone number. */
	snprintf(full, sizeof(full), "%.*s", p->pw_gecos ? (int)strcspn(p->pw_gecos, ",") : 0,
		p->pw_gecos ? p->pw_gecos : "");
	add(list, "user", full);
}

static void add_users(json_t *list)
{
	static const char *const variables[] = {"USER", "LOGNAME", "SUDO_USER"};
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	uid_t last = 0;
	char path[64];
	struct stat st;

	for (size_t i = 0; i < RD_COUNT(variables); i++)
		add(list, "user", getenv(variables[i]));
	setpwent();
	for (const struct passwd *p = getpwent(); p; p = getpwent())
		if (is_person(p->pw_uid))
			add_user(list, p);
	endpwent();
	while (processes && (entry = readdir(processes))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s", entry->d_name);
		if (stat(path, &st) == 0 && st.st_uid != last) {
			add_user(list, is_person(st.st_uid) ? getpwuid(st.st_uid) : NULL);
			last = st.st_uid;
		}
	}
	if (processes)
		closedir(processes);
}

/* --- serial numbers, descriptions of nodes ---------------------------------------------- */

static void add_serials(json_t *list)
{
	static const char *const files[] = {"product_serial", "board_serial", "chassis_serial",
		"board_asset_tag", "chassis_asset_tag"};
	char path[128], text[256];

	for (size_t i = 0; i < RD_COUNT(files); i++) {
		snprintf(path, sizeof(path), "/sys/class/dmi/id/%s", files[i]);
		if (read_value(text, sizeof(text), path) > 0)
			add(list, "serial", text);
	}
}

json_t *part_names(const struct rd_devices *devices, struct rd_error *err)
{
	json_t *list = json_array();

	(void)err;
	if (!list)
		return NULL;
	add_hosts(list);
	add_users(list);
	add_serials(list);
	for (size_t i = 0; i < devices->n; i++)
		add(list, "node", devices->dev[i].node_desc);
	return list;
}
