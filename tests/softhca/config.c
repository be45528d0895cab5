/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the configuration that the launcher wrote: lines of a key, a blank and a value. */
#include <inttypes.h>

#include "softhca.h"

static struct model_conf conf;
static bool conf_valid;
static pthread_once_t conf_once = PTHREAD_ONCE_INIT;

struct name_value {
	const char *name;
	int value;
};

static const struct name_value errno_names[] = {
	{"EPERM", EPERM},
	{"ENOENT", ENOENT},
	{"EIO", EIO},
	{"ENOMEM", ENOMEM},
	{"EACCES", EACCES},
	{"EFAULT", EFAULT},
	{"EBUSY", EBUSY},
	{"EINVAL", EINVAL},
	{"EMFILE", EMFILE},
	{"EOPNOTSUPP", EOPNOTSUPP},
};

static const struct name_value event_names[] = {
	{"cq_err", IBV_EVENT_CQ_ERR},
	{"qp_fatal", IBV_EVENT_QP_FATAL},
	{"qp_late", EVENT_QP_LATE},
	{"device_fatal", IBV_EVENT_DEVICE_FATAL},
	{"fatal", IBV_EVENT_DEVICE_FATAL},
	{"port_active", IBV_EVENT_PORT_ACTIVE},
	{"lid_change", IBV_EVENT_LID_CHANGE},
	{"pkey_change", IBV_EVENT_PKEY_CHANGE},
	{"sm_change", IBV_EVENT_SM_CHANGE},
	{"client_reregister", IBV_EVENT_CLIENT_REREGISTER},
	{"gid_change", IBV_EVENT_GID_CHANGE},
};

/* Syndrome and a vendor syndrome such as firmware reports with it. */
static const struct {
	const char *name;
	uint8_t syndrome, vendor;
} cqe_names[] = {
	{"loc_len", MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, 0x68},
	{"loc_prot", MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, 0x52},
	{"flush", MLX5_CQE_SYNDROME_WR_FLUSH_ERR, 0xf9},
};

static int name_find(const struct name_value *t, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(t[i].name, name))
			return t[i].value;
	return atoi(name);
}

/* ---- values ---- */

static void number_store(void *at, size_t size, uint64_t v)
{
	if (size == 8)
		*(uint64_t *)at = v;
	else if (size == 4)
		*(uint32_t *)at = (uint32_t)v;
	else
		*(uint8_t *)at = (uint8_t)v;
}

uint64_t conf_word(const char *words, const char *v)
{
	size_t len = strlen(v);

	for (uint64_t i = 0; words; i++) {
		if (!strncmp(words, v, len) && (words[len] == '|' || !words[len]))
			return i;
		words = strchr(words, '|');
		words += words != NULL;
	}
	return 0;
}

static void value_take(const struct conf_key *k, void *at, char *v)
{
	if (k->read)
		k->read(at, v);
	else if (k->words)
		number_store(at, k->size, conf_word(k->words, v));
	else if (k->scale)
		number_store(at, k->size, strtoull(v, NULL, k->base) * k->scale);
	else
		snprintf(at, k->size, "%s", v);
}

static bool conf_take(const struct conf_key *keys, void *to, const char *name, char *v)
{
	const struct conf_key *k = keys;
	char *at, *save = NULL;

	while (k->name && strcmp(k->name, name) != 0)
		k++;
	if (!k->name)
		return false;
	at = (char *)to + k->at;
	if (!k->stride)
		value_take(k, at, v);
	else
		for (char *t = strtok_r(v, "+", &save); t;
			t = strtok_r(NULL, "+", &save), at += k->stride)
			value_take(k, at, t);
	return true;
}

void conf_list(const struct conf_key *keys, void *to, char *list, const char *separator)
{
	char *save = NULL;

	for (char *t = strtok_r(list, separator, &save); t; t = strtok_r(NULL, separator, &save)) {
		char *v = strchr(t, '=');

		if (v)
			*v++ = 0;
		conf_take(keys, to, t, v ? v : t);
	}
}

static void mac_read(void *at, char *v)
{
	uint8_t *mac = at;

	sscanf(v, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4],
		&mac[5]);
}

static void ip_read(void *at, char *v)
{
	uint8_t *ip = at;

	sscanf(v, "%hhu.%hhu.%hhu.%hhu", &ip[0], &ip[1], &ip[2], &ip[3]);
}

/* ---- faults ---- */

static void cqe_read(void *at, char *name)
{
	struct fault *f = at;

	f->kind = FAULT_CQE;
	f->no_qp = !strcmp(name, "no_qp");
	for (size_t i = 0; i < ARRAY_SIZE(cqe_names); i++) {
		if (!strcmp(cqe_names[i].name, name)) {
			f->syndrome = cqe_names[i].syndrome;
			f->vendor = cqe_names[i].vendor;
		}
	}
}

static void errno_read(void *at, char *name)
{
	*(int *)at = name_find(errno_names, ARRAY_SIZE(errno_names), name);
}

static void event_read(void *at, char *name)
{
	*(uint32_t *)at = (uint32_t)name_find(event_names, ARRAY_SIZE(event_names), name);
}

static void ethtool_read(void *at, char *v)
{
	struct fault *f = at;

	if (sscanf(v, "%31[^:]:%" SCNu64, f->verb, &f->value) != 2)
		fprintf(stderr, "softhca: fault ethtool=%s: NAME:VALUE\n", v);
}

static const struct conf_key fault_keys[] = {
	KEY_TEXT("verb", struct fault, verb),
	KEY_READ("errno", struct fault, error, errno_read),
	KEY_NUMBER("nth", struct fault, nth, 1),
	{.name = "cqe", .read = cqe_read},
	KEY_WORD("port", struct fault, up, "down|up"),
	KEY_READ("event", struct fault, event, event_read),
	KEY_READ("fatal", struct fault, event, event_read),
	KEY_NUMBER("counter", struct fault, value, 1),
	{.name = "ethtool", .read = ethtool_read},
	KEY_READ("mac", struct fault, address, mac_read),
	KEY_READ("ip", struct fault, address, ip_read),
	KEY_TEXT("kmsg", struct fault, text),
	KEY_NUMBER("frame", struct fault, frame, 1),
	KEY_NUMBER("after_ms", struct fault, after_ns, 1000000),
	KEY_NUMBER("device", struct fault, device, 1),
	{0},
};

/* What it is, by its first word; the others set it where they are read, or are of a verb. */
static const struct name_value kind_names[] = {
	{"port", FAULT_PORT},
	{"fatal", FAULT_EVENT},
	{"event", FAULT_EVENT},
	{"counter", FAULT_COUNTER},
	{"ethtool", FAULT_ETHTOOL},
	{"mac", FAULT_MAC},
	{"ip", FAULT_IP},
	{"kmsg", FAULT_KMSG},
};

static void fault_read(void *at, char *spec)
{
	struct model_conf *c = at;
	struct fault *f = &c->fault[c->nfaults];
	char first[16];

	if (c->nfaults == MAX_FAULTS)
		return;
	c->nfaults++;
	f->device = -1;
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(spec, "=,"), spec);
	f->kind = (enum fault_kind)name_find(kind_names, ARRAY_SIZE(kind_names), first);
	conf_list(fault_keys, f, spec, ",");
	f->by_frame = f->frame != 0;
}

/* ---- devices ---- */

static const struct name_value cap_names[] = {
	{"shared_tir", CAP_SHARED_TIR},
	{"sniffer_rx", CAP_SNIFFER_RX},
	{"sniffer_tx", CAP_SNIFFER_TX},
	{"no_flow_table", CAP_NO_FLOW_TABLE},
	{"ib_port_sniffer", CAP_IB_PORT_SNIFFER},
	{"all", CAP_SHARED_TIR | CAP_SNIFFER_RX | CAP_SNIFFER_TX | CAP_IB_PORT_SNIFFER},
};

/* Names joined by '+' */
static void caps_read(void *at, char *v)
{
	uint32_t *caps = at;
	char *save = NULL;

	for (char *t = strtok_r(v, "+", &save); t; t = strtok_r(NULL, "+", &save))
		*caps |= (uint32_t)name_find(cap_names, ARRAY_SIZE(cap_names), t);
}

static void fw_answer_read(void *at, char *v)
{
	struct hca_conf *d = at;

	d->fw_short = !strcmp(v, "short");
	d->fw_pattern = d->fw_short || !strcmp(v, "pattern");
}

#define DEVICE struct hca_conf
/* Of each port; joined by '+' */
#define PORT_KEY(kind, name, member, ...)                                                          \
	kind(name, DEVICE, port[0].member, __VA_ARGS__, .stride = sizeof(struct port_conf))

static const struct conf_key device_keys[] = {
	KEY_TEXT("name", DEVICE, name),
	KEY_TEXT("pci", DEVICE, pci),
	KEY_TEXT("fw", DEVICE, fw),
	KEY_TEXT("board", DEVICE, board),
	KEY_TEXT("gen", DEVICE, gen),
	KEY_TEXT("fw_refuse", DEVICE, fw_refuse),
	{.name = "fw_answer", .read = fw_answer_read},
	KEY_WORD("netlink", DEVICE, netlink, "no|yes"),
	KEY_READ("caps", DEVICE, caps, caps_read),
	KEY_NUMBER("ports", DEVICE, nports, 1),
	KEY_NUMBER("devid", DEVICE, device_id, 1, .base = 16),
	KEY_NUMBER("guid", DEVICE, guid, 1, .base = 16),
	KEY_WORD("devx", DEVICE, devx, "no|yes"),
	KEY_WORD("sniffer", DEVICE, sniffer, "no|yes"),
	KEY_WORD("ib_sniffer", DEVICE, ib_sniffer, "0|1"),
	KEY_WORD("rss", DEVICE, no_rss, "yes|no"),
	KEY_WORD("rss_sniffer", DEVICE, no_rss_sniffer, "yes|no"),
	KEY_WORD("rss_hash", DEVICE, rss_hash, "toeplitz|frame|none"),
	KEY_WORD("work_queues", DEVICE, work_queues, "yes|lossy|changes|longer"),
	KEY_WORD("moderation", DEVICE, moderation, "yes|no|ignored"),
	KEY_WORD("oversize", DEVICE, oversize, "kills|halts|lives|other"),
	KEY_WORD("cqe_comp", DEVICE, compresses, "asked|forced"),
	KEY_WORD("reset", DEVICE, deaf, "keeps|deaf"),
	KEY_TEXT("gateway", DEVICE, gateway),
	KEY_TEXT("drop_counter", DEVICE, drop_counter),
	KEY_NUMBER("drop_every", DEVICE, drop_every, 1),
	KEY_NUMBER("wqes", DEVICE, wqes, 1),
	KEY_NUMBER("table", DEVICE, table, 1),
	KEY_NUMBER("sniffers", DEVICE, sniffers, 1),
	KEY_NUMBER("more_qps", DEVICE, more_qps, 1),
	KEY_NUMBER("lost_events", DEVICE, lost_events, 1),
	KEY_NUMBER("linger_ms", DEVICE, linger_ns, 1000000),
	PORT_KEY(KEY_WORD, "link", ib, "eth|ib"),
	PORT_KEY(KEY_WORD, "state", active, "down|active"),
	PORT_KEY(KEY_TEXT, "netdev", netdev, .scale = 0),
	PORT_KEY(KEY_READ, "mac", mac, mac_read),
	PORT_KEY(KEY_READ, "ip", ip, ip_read),
	PORT_KEY(KEY_NUMBER, "mtu", mtu, 1),
	PORT_KEY(KEY_NUMBER, "rate", gbps, 1),
	PORT_KEY(KEY_NUMBER, "lid", lid, 1),
	PORT_KEY(KEY_NUMBER, "sm_lid", sm_lid, 1),
	PORT_KEY(KEY_NUMBER, "ifindex", ifindex, 1),
	{0},
};

static void device_read(void *at, char *spec)
{
	struct model_conf *c = at;

	if (c->ndevices == MAX_DEVICES)
		return;
	c->device[c->ndevices].minor = c->ndevices;
	conf_list(device_keys, &c->device[c->ndevices], spec, ";");
	c->ndevices++;
}

/* ---- the model ---- */

static void burst_read(void *at, char *v)
{
	struct model_conf *c = at;
	unsigned long long frames, us;

	c->burst_armed = sscanf(v, "%llu,%llu", &frames, &us) < 2;
	c->burst = strtoull(v, NULL, 0);
	c->burst_pause_ns = c->burst_armed ? 0 : us * 1000;
}

static void lifespan_read(void *at, char *v)
{
	struct model_conf *c = at;
	unsigned long long ms = 0, slow_ms = 0;

	sscanf(v, "%llu,%llu", &ms, &slow_ms);
	c->lifespan_ns = ms * 1000000;
	c->slow_ns = slow_ms * 1000000;
}

#define MODEL struct model_conf
static const struct conf_key model_keys[] = {
	KEY_TEXT("tree", MODEL, tree),
	KEY_TEXT("devdir", MODEL, dev_dir),
	KEY_TEXT("stats", MODEL, stats),
	KEY_TEXT("pcap", MODEL, pcap),
	KEY_TEXT("gen", MODEL, gen),
	KEY_TEXT("slow_while", MODEL, slow_while),
	KEY_WORD("mode", MODEL, drop, "lossless|drop"),
	KEY_WORD("at_end", MODEL, sigint, "idle|sigint"),
	KEY_NUMBER("pace", MODEL, paced, 1),
	KEY_NUMBER("flowing", MODEL, flowing, 1),
	KEY_NUMBER("rate", MODEL, rate, 1),
	KEY_NUMBER("drain", MODEL, drain_rounds, 1),
	KEY_NUMBER("start_delay", MODEL, start_delay_ns, 1000000),
	{.name = "burst", .read = burst_read},
	{.name = "lifespan", .read = lifespan_read},
	{.name = "latency", .read = latencies_read},
	{.name = "clock", .read = clock_conf_read},
	{.name = "loopback", .read = loopback_read},
	{.name = "deliver", .read = deliver_read},
	{.name = "drop_tx", .read = drop_tx_read},
	{.name = "shared_wire", .read = shared_wire_read},
	{.name = "fault", .read = fault_read},
	{.name = "device", .read = device_read},
	{0},
};

/* Read with bare descriptors: this runs inside the program's own calls of open() and fopen(). */
static void conf_read(void)
{
	const char *path = getenv("SOFTHCA_CONFIG");
	char *buf = NULL, *save = NULL;
	size_t used = 0, capacity = 0;
	ssize_t n;
	int fd;

	if (!path)
		return;
	fd = real_open(path, 0, 0);
	if (fd < 0)
		return;
	conf.start_delay_ns = START_DELAY_UNSET;
	do {
		if (used + 4096 > capacity) {
			char *p = realloc(buf, capacity + 16384);

			if (!p)
				break;
			buf = p;
			capacity += 16384;
		}
		n = read(fd, buf + used, capacity - used - 1);
		if (n > 0)
			used += (size_t)n;
	} while (n > 0);
	real_close(fd);
	if (!buf)
		return;
	buf[used] = 0;
	for (char *l = strtok_r(buf, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *v = strchr(l, ' ');

		if (!v)
			continue;
		*v++ = 0;
		conf_take(model_keys, &conf, l, v);
	}
	free(buf);
	conf_valid = conf.tree[0] != 0;
}

const struct model_conf *conf_get(void)
{
	pthread_once(&conf_once, conf_read);
	return conf_valid ? &conf : NULL;
}
