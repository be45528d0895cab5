/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* softhca: lays out a sysfs tree for modelled ConnectX devices and runs a program on them. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <regex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

enum { SETUP_FAILED = 125, ROOM = 4096, KICKS = 128, MANY = 64, UVERBS_MINOR = 192 };

static char tree[ROOM]; /* the run's directory */
static bool temporary;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static void tree_remove(const char *folder)
{
	char path[ROOM];

	snprintf(path, sizeof(path), "%.3000s%s", tree, folder);
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
	va_list ap;

	fputs("softhca: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	if (temporary)
		tree_remove("");
	exit(SETUP_FAILED);
}

/* The whole text matches, not a part of it. */
static bool matches(const char *text, const char *pattern)
{
	char whole[ROOM];
	regex_t re;
	bool same;

	snprintf(whole, sizeof(whole), "^(%s)$", pattern);
	if (regcomp(&re, whole, REG_EXTENDED | REG_NOSUB))
		fail("the pattern '%s' is wrong", pattern);
	same = !regexec(&re, text, 0, NULL, 0);
	regfree(&re);
	return same;
}

/* A path means the same in the program's directory. */
static const char *absolute(const char *path)
{
	char *whole, here[ROOM];

	if (path[0] == '/' || !getcwd(here, sizeof(here)))
		return path;
	if (asprintf(&whole, "%s/%s", here, path) < 0)
		fail("no memory");
	return whole;
}

static void replace(char *text, char from, char to)
{
	for (; *text; text++)
		*text = *text == from ? to : *text;
}

/* ---- variables: what @NAME@ stands for in the tree ---- */

static struct var {
	char name[24], value[512];
} vars[128];

/* The one of that name, or a new one without a value */
static struct var *var_find(const char *name, size_t len)
{
	for (struct var *v = vars; v < vars + ARRAY_SIZE(vars); v++)
		if (!v->name[0] || (strlen(v->name) == len && !strncmp(v->name, name, len)))
			return v;
	fail("too many variables");
}

__attribute__((format(printf, 2, 3))) static void set(const char *name, const char *format, ...)
{
	struct var *v = var_find(name, strlen(name));
	va_list ap;

	snprintf(v->name, sizeof(v->name), "%s", name);
	va_start(ap, format);
	vsnprintf(v->value, sizeof(v->value), format, ap);
	va_end(ap);
}

static const char *get(const char *name)
{
	return var_find(name, strlen(name))->value;
}

/* ---- the tree ---- */

static void folders_make(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
}

static void file_put(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	if (fd < 0 || dprintf(fd, "%s%s", text, *text ? "\n" : "") < 0)
		fail("cannot write '%s': %s", path, strerror(errno));
	close(fd);
}

/*
 * A folder, and behind it its files: FOLDER/|NAME=TEXT|NAME>TARGET OF A LINK|... A folder that
 * begins with '*' has files that a program writes which gave up root. @NAME@ stands for a variable.
 */
static void put(const char *record)
{
	char text[ROOM], path[ROOM], *save = NULL;
	mode_t mode = *record == '*' ? 0666 : 0644;
	size_t used = 0;

	for (record += *record == '*'; *record && used < sizeof(text) - 1;) {
		const char *end = *record == '@' ? strchr(record + 1, '@') : NULL;

		if (!end) {
			bool new_line = !strncmp(record, "\\n", 2);

			text[used++] = new_line ? '\n' : *record;
			record += 1 + new_line;
			continue;
		}
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
			var_find(record + 1, (size_t)(end - record) - 1)->value);
		record = end + 1;
	}
	text[used < sizeof(text) ? used : sizeof(text) - 1] = 0;
	used = (size_t)snprintf(
		path, sizeof(path), "%.1000s/%.1000s", tree, strtok_r(text, "|", &save));
	folders_make(path);
	for (char *name = strtok_r(NULL, "|", &save); name; name = strtok_r(NULL, "|", &save)) {
		char *value = strpbrk(name, "=>"), kind = *value;

		*value++ = 0;
		snprintf(path + used, sizeof(path) - used, "%s", name);
		if (kind == '=')
			file_put(path, value, mode);
		else if (symlink(value, path))
			fail("cannot create '%s': %s", path, strerror(errno));
	}
}

/* The records of one section of tree.txt */
static void put_all(const char *section)
{
	static char line[ROOM];
	FILE *f = fopen(SOFTHCA_TREE, "re");
	bool ours = false;

	if (!f)
		fail("cannot read '%s': %s", SOFTHCA_TREE, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0] == '[')
			ours = !strncmp(line + 1, section, strlen(section));
		else if (ours)
			put(line);
	}
	fclose(f);
}

/* ---- options ---- */

static struct list {
	const char *item[MANY];
	size_t n;
} devices, counter_values, driver_stats;

static const char *keep, *pidfile, *time_kind = "real", *no_devices, *lifespan = "10";
static char lines[1 << 16]; /* of the model's configuration */

static void list_add(struct list *l, const char *text)
{
	if (l->n == MANY)
		fail("more than %d values of one option", MANY);
	l->item[l->n++] = text;
}

__attribute__((format(printf, 1, 2))) static void line_add(const char *format, ...)
{
	size_t used = strlen(lines);
	va_list ap;

	va_start(ap, format);
	if ((size_t)vsnprintf(lines + used, sizeof(lines) - used, format, ap) >=
		sizeof(lines) - used)
		fail("the configuration is too long");
	va_end(ap);
}

#define LIST(one) one "(," one ")*"
#define NUMBER	  "[0-9]+"
#define LOOPBACK  "((rc|ud|multicast|raw)=)?(once|twice|never)"
#define DELIVER                                                                                    \
	"(fcs=yes|vlan=(stripped|changed|dropped)|icrc=(absent|zero|wrong)|"                       \
	"(unseen|twice|changed|cut|longer)=[0-9]+|(sent_)?trailer=[a-z_]+|"                        \
	"(retransmissions|segmented)=no)"
#define FAULT                                                                                      \
	"(kmsg=[^=,]+|fatal|port=(up|down)|(nth|frame|after_ms|device|counter)=[0-9]+|"            \
	"mac=([0-9a-f]{2}:){5}[0-9a-f]{2}|ip=[0-9.]+|ethtool=[a-z0-9_]+:[0-9]+|"                   \
	"cqe=(no_qp|loc_len|loc_prot|flush)|errno=(E[A-Z]+|[0-9]+)|(verb|event)=[a-z_]+)"

/* One without a pattern has no value; README.md says what they do. */
static const struct option {
	const char *name, *value, *pattern;
	enum { TO_MODEL, FILE_TO_MODEL, TO_LIST, TO_PLACE, FILE_TO_PLACE } what;
	void *place;
} options[] = {
	{"dev", "KEY=VALUE,...", ".*", TO_LIST, &devices},
	{"no-devices", "", NULL, TO_PLACE, &no_devices},
	{"pcap", "FILE", ".*", FILE_TO_MODEL, NULL},
	{"pace", "", NULL, TO_MODEL, NULL},
	{"gen", "count=N,size=A[-B],qps=N,seed=N,acks=0|1", ".*", TO_MODEL, NULL},
	{"rate", "FRAMES_PER_S", NUMBER, TO_MODEL, NULL},
	{"burst", "N,PAUSE_US | N,armed", NUMBER ",(" NUMBER "|armed)", TO_MODEL, NULL},
	{"start-delay", "MS", NUMBER, TO_MODEL, NULL},
	{"flowing", "", NULL, TO_MODEL, NULL},
	{"latency", "[VERB=]MS,...", "([a-z_]+=)?[0-9]+(,[a-z_]+=[0-9]+)*", TO_MODEL, NULL},
	{"mode", "lossless|drop", "lossless|drop", TO_MODEL, NULL},
	{"at-end", "idle|sigint", "idle|sigint", TO_MODEL, NULL},
	{"clock", "SPEC", "(none|cycles|realtime)(,[a-z_]+=[^,]+)*", TO_MODEL, NULL},
	{"loopback", "[KIND=]once|twice|never,...", LIST(LOOPBACK), TO_MODEL, NULL},
	{"drop-tx", "N", NUMBER, TO_MODEL, NULL},
	{"deliver", "SPEC", LIST(DELIVER), TO_MODEL, NULL},
	{"shared-wire", "", NULL, TO_MODEL, NULL},
	{"drain", "ROUNDS", NUMBER, TO_MODEL, NULL},
	{"fault", "WHAT,WHEN", LIST(FAULT), TO_MODEL, NULL},
	{"counter", "NAME=VALUE", "[a-z_]+=[0-9]+", TO_LIST, &counter_values},
	{"lifespan", "MS[,SLOW]", NUMBER "(," NUMBER ")?", TO_MODEL, NULL},
	{"slow-while", "FILE", ".*", FILE_TO_MODEL, NULL},
	{"ethtool", "NAME=VALUE", "[a-z0-9_]+=[0-9]+", TO_LIST, &driver_stats},
	{"time", "real|virtual[,MS]", "real|virtual(,[0-9]+)?", TO_PLACE, &time_kind},
	{"stats", "FILE", ".*", FILE_TO_MODEL, NULL},
	{"pidfile", "FILE", ".*", FILE_TO_PLACE, &pidfile},
	{"keep", "DIR", ".*", FILE_TO_PLACE, &keep},
};

/* Of a device. One without a default has another for each port. */
static const struct key {
	const char *name, *fallback, *pattern;
	enum { OF_DEVICE, OF_PORT, OF_ETHERNET, OF_IB } of;
} keys[] = {
	{"name", NULL, "[^/]+", OF_DEVICE},
	{"pci", NULL, "[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]", OF_DEVICE},
	{"ports", "1", "[12]", OF_DEVICE},
	{"fw", "16.35.2000", ".+", OF_DEVICE},
	{"guid", "", "[0-9a-f]{16}", OF_DEVICE},
	{"board", "MT_0000000010", ".*", OF_DEVICE},
	{"devid", "1017", "[0-9a-f]+", OF_DEVICE},
	{"bond", "", ".*", OF_DEVICE},
	{"sniffer", "yes", "yes|no", OF_DEVICE},
	{"ib_sniffer", "0", "[01]", OF_DEVICE},
	{"devx", "yes", "yes|no", OF_DEVICE},
	{"caps", "shared_tir+sniffer_rx+sniffer_tx", ".*", OF_DEVICE},
	{"fw_refuse", "", ".*", OF_DEVICE},
	{"fw_answer", "zero", "zero|pattern|short", OF_DEVICE},
	{"rss", "yes", "yes|no", OF_DEVICE},
	{"rss_sniffer", "yes", "yes|no", OF_DEVICE},
	{"rss_hash", "toeplitz", "toeplitz|frame|none", OF_DEVICE},
	{"work_queues", "yes", ".*", OF_DEVICE},
	{"moderation", "yes", "yes|no|ignored", OF_DEVICE},
	{"oversize", "kills", "kills|halts|lives|other", OF_DEVICE},
	{"linger_ms", "0", NUMBER, OF_DEVICE},
	{"wqes", "32768", NUMBER, OF_DEVICE},
	{"sniffers", "1000", NUMBER, OF_DEVICE},
	{"cqe_comp", "asked", "asked|forced", OF_DEVICE},
	{"gateway", "yes", ".*", OF_DEVICE},
	{"netlink", "no", "no|yes", OF_DEVICE},
	{"more_qps", "0", NUMBER, OF_DEVICE},
	{"lost_events", "0", NUMBER, OF_DEVICE},
	{"drop_counter", "out_of_buffer", "[a-z0-9_]+", OF_DEVICE},
	{"drop_every", "1", "[1-9][0-9]*", OF_DEVICE},
	{"table", "0", NUMBER, OF_DEVICE},
	{"reset", "keeps", "keeps|deaf", OF_DEVICE},
	{"gen", "", ".*", OF_DEVICE},
	{"link", "eth", "eth|ib", OF_PORT},
	{"state", "active", "active|down", OF_PORT},
	{"mtu", "1500", NUMBER, OF_PORT},
	{"rate", "100", NUMBER, OF_PORT},
	{"mac", NULL, "([0-9a-f]{2}:){5}[0-9a-f]{2}", OF_PORT},
	{"ifindex", NULL, NUMBER, OF_PORT},
	{"netdev", NULL, "[^/]+", OF_ETHERNET},
	{"ip", NULL, "[0-9.]+", OF_ETHERNET},
	{"lid", NULL, NUMBER, OF_IB},
	{"sm_lid", NULL, NUMBER, OF_IB},
};

/* ---- devices ---- */

static const struct key *key_find(const char *name)
{
	for (const struct key *k = keys; k < keys + ARRAY_SIZE(keys); k++)
		if (!strcmp(k->name, name))
			return k;
	fail("--dev: unknown key '%s'", name);
}

/* The values that were given; those of ports, joined by '+', become "given_KEY". */
static void spec_read(const char *spec)
{
	char copy[ROOM], name[40], pattern[256], *save = NULL;

	snprintf(copy, sizeof(copy), "%s", spec);
	for (char *kv = strtok_r(copy, ",", &save); kv; kv = strtok_r(NULL, ",", &save)) {
		char *value = strchr(kv, '=');
		const struct key *k;

		if (value)
			*value++ = 0;
		k = key_find(kv);
		snprintf(name, sizeof(name), "%s%s", k->of == OF_DEVICE ? "" : "given_", kv);
		snprintf(pattern, sizeof(pattern), k->of == OF_DEVICE ? "%s" : "(%s)(\\+(%s))*",
			k->pattern, k->pattern);
		if (!value || (*value && !matches(value, pattern)))
			fail("--dev: %s '%s' is not known", kv, value ? value : "");
		set(name, "%s", value);
	}
	replace(var_find("gen", 3)->value, ';', ',');
}

/* The port's part of what was given, the first one where it has none of its own */
static void port_value(const struct key *k, int port)
{
	char given[40], part[512], *save = NULL;

	snprintf(given, sizeof(given), "given_%s", k->name);
	snprintf(part, sizeof(part), "%s", get(given));
	if (!part[0] && k->fallback)
		set(k->name, "%s", k->fallback);
	for (char *p = strtok_r(part, "+", &save); p; p = strtok_r(NULL, "+", &save), port--)
		if (port == 1 || p == part)
			set(k->name, "%s", p);
}

static void guid_set(const char *name, uint64_t guid)
{
	set(name, "%04x:%04x:%04x:%04x", (unsigned int)(guid >> 48),
		(unsigned int)(guid >> 32 & 0xffff), (unsigned int)(guid >> 16 & 0xffff),
		(unsigned int)(guid & 0xffff));
}

/* What a port has unless the device's specification says otherwise */
static void port_defaults(int index, int port, bool ib)
{
	unsigned int bus = 0;

	sscanf(get("pci"), "%*x:%x", &bus);
	set("mac", "0c:42:a1:00:%02x:%02x", (unsigned int)index, (unsigned int)port);
	set("netdev", ib ? "-" : "enp%us0f0np%d", bus, port - 1);
	set("ip", ib ? "0.0.0.0" : "10.77.%d.%d", index, port + 1);
	set("lid", "%d", ib ? index * 2 + port + 1 : 0);
	set("sm_lid", "%d", ib);
	set("ifindex", "%d", 100 + index * 2 + port);
	for (const struct key *k = keys; k < keys + ARRAY_SIZE(keys); k++)
		if (k->of == OF_PORT || k->of == (ib ? OF_IB : OF_ETHERNET))
			port_value(k, port);
}

/* What follows from the values of the keys */
static void port_derive(int port, bool ib)
{
	static const char *const lanes[][2] = {{"10", "4X QDR"}, {"25", "1X EDR"}, {"40", "4X QDR"},
		{"50", "1X HDR"}, {"56", "4X FDR"}, {"200", "4X HDR"}, {"400", "4X NDR"},
		{"", "4X EDR"}};
	bool up = !strcmp(get("state"), "active");
	unsigned int m[6] = {0}, i[4] = {0};
	const char *mac = get("mac");
	size_t lane = 0;

	while (lanes[lane][0][0] && strcmp(lanes[lane][0], get("rate")) != 0)
		lane++;
	set("SPEED", "%s Gb/sec (%s)", get("rate"), lanes[lane][1]);
	set("STATE", "%s", up ? "4: ACTIVE" : "1: DOWN");
	set("PHYS", "%s", up ? "5: LinkUp" : "3: Disabled");
	set("UPDOWN", "%s", up ? "up" : "down");
	set("CARRIER", "%d", up);
	set("LAYER", "%s", ib ? "InfiniBand" : "Ethernet");
	set("CAP_MASK", "%s", ib ? "0x2651e848" : "0x00010000");
	set("LID", "0x%x", (unsigned int)atoi(get("lid")));
	set("SM_LID", "0x%x", (unsigned int)atoi(get("sm_lid")));
	if (!get("guid")[0])
		set("guid", "%.2s%.2s%.2s0300%.2s%.2s%.2s", mac, mac + 3, mac + 6, mac + 9,
			mac + 12, mac + 15);
	guid_set("GUID", strtoull(get("guid"), NULL, 16));
	guid_set("PORT_GUID", strtoull(get("guid"), NULL, 16) + (unsigned int)port - 1);
	sscanf(mac, "%x:%x:%x:%x:%x:%x", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]);
	set("MAC_GID", "fe80:0000:0000:0000:%02x%02x:%02xff:fe%02x:%02x%02x", m[0] ^ 2, m[1], m[2],
		m[3], m[4], m[5]);
	sscanf(get("ip"), "%u.%u.%u.%u", &i[0], &i[1], &i[2], &i[3]);
	set("IP_GID", "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x", i[0], i[1], i[2], i[3]);
}

/* Files of given values: NAME=VALUE each, in FOLDER */
static void values_put(const char *folder, const struct list *l)
{
	char record[ROOM];

	for (size_t i = 0; i < l->n; i++) {
		snprintf(record, sizeof(record), "%s|%s", folder, l->item[i]);
		put(record);
	}
}

static void port_put(int index, int port)
{
	static int umads;
	bool ib;

	port_value(key_find("link"), port);
	ib = !strcmp(get("link"), "ib");
	port_defaults(index, port, ib);
	port_derive(port, ib);
	set("port", "%d", port);
	set("dev_port", "%d", port - 1);
	set("umad", "%d", umads++);
	set("PORT", "%s/infiniband/%s/ports/%d", get("PCI"), get("name"), port);
	put_all("port");
	values_put("@PORT@/hw_counters/", &counter_values);
	if (!strcmp(get("drop_counter"), "absent")) {
		set("absent", "/%s/hw_counters/out_of_buffer", get("PORT"));
		tree_remove(get("absent"));
	}
	if (ib) {
		put_all("ib");
		return;
	}
	put_all("ethernet");
	values_put("*ethtool/@netdev@/", &driver_stats);
	set("slaves", "%s", get("bond"));
	replace(var_find("slaves", 6)->value, '+', ' ');
	if (get("bond")[0])
		put("@PCI@/net/@netdev@/bonding/|slaves=@slaves@");
}

static void device_put(int index, const char *spec)
{
	char joined[ARRAY_SIZE(keys)][256] = {0}, path[2 * ROOM];
	struct utsname host;
	int ports;

	memset(vars, 0, sizeof(vars));
	uname(&host);
	set("host", "%s", host.nodename);
	set("index", "%d", index);
	set("minor", "%d", UVERBS_MINOR + index);
	set("lifespan", "%d", atoi(lifespan));
	set("name", "mlx5_%d", index);
	set("pci", "0000:%02x:00.0", (unsigned int)index + 1);
	for (const struct key *k = keys; k < keys + ARRAY_SIZE(keys); k++)
		if (k->fallback && k->of == OF_DEVICE)
			set(k->name, "%s", k->fallback);
	spec_read(spec);
	set("PCI", "sys/devices/pci0000:00/%s", get("pci"));
	snprintf(path, sizeof(path), "%s/%s", tree, get("PCI"));
	if (!access(path, F_OK))
		fail("--dev: two devices at '%s'", get("pci"));
	ports = atoi(get("ports"));
	for (int port = 1; port <= ports; port++) {
		port_put(index, port);
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
			if (keys[i].of != OF_DEVICE)
				snprintf(joined[i] + strlen(joined[i]),
					sizeof(joined[i]) - strlen(joined[i]), "%s%s",
					port > 1 ? "+" : "", get(keys[i].name));
	}
	set("type", "%lu", strtoul(get("devid"), NULL, 16));
	set("DEVID", "%08lX", strtoul(get("devid"), NULL, 16));
	put_all("device");
	if (!strcmp(get("gateway"), "hidden"))
		set("gateway", "%s", "");
	else
		put("@PCI@/|config=");
	line_add("device ");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		line_add("%s=%s;", keys[i].name, joined[i][0] ? joined[i] : get(keys[i].name));
	line_add("\n");
}

/* ---- the run ---- */

static void usage(void)
{
	puts("Usage: softhca [OPTIONS] -- PROGRAM ARGS...\nRuns PROGRAM on modelled ConnectX "
	     "devices.\n");
	for (const struct option *o = options; o < options + ARRAY_SIZE(options); o++)
		printf("  --%s %s\n", o->name, o->value);
	printf("\nKEY of --dev:");
	for (const struct key *k = keys; k < keys + ARRAY_SIZE(keys); k++)
		printf(" %s", k->name);
	puts("\nPer-port values are joined by '+'. tests/softhca/README.md describes all.");
	exit(0);
}

static void option_take(const struct option *o, const char *value)
{
	char key[32];

	if (o->pattern && !matches(value, o->pattern))
		fail("--%s '%s' is not known; see --help", o->name, value);
	if (o->what == FILE_TO_MODEL || o->what == FILE_TO_PLACE)
		value = absolute(value);
	if (!strcmp(o->name, "pcap") && access(value, R_OK))
		fail("cannot read '%s'", value);
	if (!strcmp(o->name, "lifespan"))
		lifespan = value;
	if (o->what == TO_LIST) {
		list_add(o->place, value);
	} else if (o->place) {
		*(const char **)o->place = value;
	} else {
		snprintf(key, sizeof(key), "%s", o->name);
		replace(key, '-', '_');
		line_add("%s %s\n", key, value);
	}
}

/* Returns the program's place in ARGV. */
static int options_read(int argc, char **argv)
{
	int i = 1;

	while (i < argc && !strncmp(argv[i], "--", 2)) {
		const char *name = argv[i++] + 2, *value = strchr(name, '=');
		size_t len = value ? (size_t)(value - name) : strlen(name);
		const struct option *o = options;

		if (!len)
			break;
		if (!strcmp(name, "help"))
			usage();
		while (o < options + ARRAY_SIZE(options) &&
			(strlen(o->name) != len || strncmp(o->name, name, len) != 0))
			o++;
		if (o == options + ARRAY_SIZE(options))
			fail("unknown option --%s; see --help", name);
		if (o->pattern && !value && i == argc)
			fail("--%s needs a value", o->name);
		option_take(o, !o->pattern ? "1" : value ? value + 1 : argv[i++]);
	}
	if (i >= argc)
		fail("no program given; see --help");
	return i;
}

/* Only what an earlier run laid out here is removed. */
static void kept_tree_clear(void)
{
	char path[ROOM + 64], line[ROOM] = "", wanted[ROOM + 64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/config", tree);
	snprintf(wanted, sizeof(wanted), "tree %s/sys\n", tree);
	f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f) && !strcmp(line, wanted)) {
		tree_remove("/sys");
		tree_remove("/dev");
		tree_remove("/ethtool");
	}
	if (f)
		fclose(f);
	snprintf(path, sizeof(path), "%s/sys", tree);
	if (!access(path, F_OK))
		fail("'%s' holds something else", tree);
}

/* In memory where that is possible: the model counts into files of this tree. */
static void tree_make(void)
{
	const char *base = getenv("TMPDIR");

	if (keep) {
		snprintf(tree, sizeof(tree), "%s/", keep);
		folders_make(tree);
		tree[strlen(tree) - 1] = 0;
		kept_tree_clear();
		return;
	}
	if (!base || !*base)
		base = "/dev/shm";
	snprintf(tree, sizeof(tree), "%s/softhca.XXXXXX", access(base, W_OK) ? "/tmp" : base);
	if (!mkdtemp(tree))
		fail("no temporary directory: %s", strerror(errno));
	temporary = true;
}

/* What the threads of the run share where it has a clock of its own */
static void time_make(void)
{
	const char *late = strchr(time_kind, ',');
	char path[ROOM + 64];

	put("*/|time=");
	snprintf(path, sizeof(path), "%s/time", tree);
	if (truncate(path, 8192))
		fail("cannot write '%s': %s", path, strerror(errno));
	setenv("SOFTHCA_TIME", path, 1);
	setenv("SOFTHCA_LATE_MS", late ? late + 1 : "", 1);
	for (int i = 0; i < KICKS; i++) {
		snprintf(path, sizeof(path), "%s/kick.%d", tree, i);
		mkfifo(path, 0666);
	}
}

static void config_write(void)
{
	char path[ROOM + 64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/config", tree);
	f = fopen(path, "we");
	if (!f || fprintf(f, "tree %s/sys\ndevdir %s/dev/infiniband\n%s", tree, tree, lines) < 0 ||
		fclose(f))
		fail("cannot write '%s': %s", path, strerror(errno));
	chmod(path, 0644);
	setenv("SOFTHCA_CONFIG", path, 1);
}

/* The model is next to this program. */
static void preload_set(void)
{
	const char *first = getenv("SOFTHCA_PRELOAD_FIRST"), *others = getenv("LD_PRELOAD");
	char here[ROOM] = "", all[3 * ROOM];

	if (readlink("/proc/self/exe", here, sizeof(here) - 1) < 0)
		fail("/proc is not mounted");
	snprintf(all, sizeof(all), "%s%s%s.so%s%s", first ? first : "", first && *first ? ":" : "",
		here, others && *others ? ":" : "", others ? others : "");
	setenv("LD_PRELOAD", all, 1);
}

static pid_t child;

static void forward(int sig)
{
	kill(child, sig);
}

static void program_run(char **argv, mode_t mask, const sigset_t *signals)
{
	FILE *f = pidfile ? fopen(pidfile, "we") : NULL;

	if (f) {
		fprintf(f, "%d\n", (int)getpid());
		fclose(f);
	}
	umask(mask);
	preload_set();
	/* A shell's background child starts with these ignored. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	sigprocmask(SIG_SETMASK, signals, NULL);
	execvp(argv[0], argv);
	fprintf(stderr, "softhca: cannot run '%s': %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* The program is a process: the tree is removed after it. Returns its status as a shell does. */
static int run(char **argv, mode_t mask)
{
	static const int forwarded[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGHUP, SIGQUIT};
	sigset_t all, before;
	int status = 0;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	child = fork();
	if (!child)
		program_run(argv, mask, &before);
	if (child < 0)
		fail("cannot start a process: %s", strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
		signal(forwarded[i], forward);
	sigprocmask(SIG_SETMASK, &before, NULL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	mode_t mask = umask(0);
	int program, status;

	program = options_read(argc, argv);
	tree_make();
	/* A program may give up root: what the real tree lets everyone read must stay readable. */
	chmod(tree, 0755);
	put_all("base");
	if (!no_devices && !devices.n)
		list_add(&devices, "name=mlx5_0");
	for (size_t i = 0; i < devices.n && !no_devices; i++)
		device_put((int)i, devices.item[i]);
	config_write();
	if (!strncmp(time_kind, "virtual", strlen("virtual")))
		time_make();
	status = run(argv + program, mask);
	if (temporary)
		tree_remove("");
	return status;
}
