/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Readings as JSON (docs/schema/counters.json), written and read. */
#include "../device/info.h"
#include "counters.h"
#include <errno.h>
#include <rdmadump/document.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((uint64_t)64 << 20) /* bytes; a port has some 50 kB */
#define VERSION	 3		      /* earlier ones differ in what is not read */

/* Marks of a verdict; exact growth has none. */
static const char *const marks[] = {[RD_GROWTH_EXACT] = NULL,
	[RD_GROWTH_AT_LEAST] = "at_least",
	[RD_GROWTH_MISSING] = "new",
	[RD_GROWTH_RESET] = "reset"};

static void put_growth(json_t *o, const struct rd_growth *growth, double seconds)
{
	bool known = rd_growth_known(growth);

	json_object_set_new(o, "delta", known ? rd_json_u64(growth->amount) : json_null());
	if (seconds > 0)
		json_object_set_new(o, "per_second",
			known ? json_real((double)growth->amount / seconds) : json_null());
	if (growth->wrapped)
		json_object_set_new(o, "wrapped", json_true());
	if (growth->verdict == RD_GROWTH_EXACT)
		return;
	json_object_set_new(o, marks[growth->verdict], json_true());
	json_object_set_new(o, "reason", json_string(rd_growth_reason(growth)));
}

static json_t *counter_object(const struct reading *p, size_t i)
{
	const struct rd_counter *c = &p->counters.counter[i];
	const struct rd_growth *growth = p->growth ? &p->growth[i] : NULL;
	json_t *o = json_pack("{s:s, s:o}", "name", c->name, "value", rd_json_u64(c->value));

	if (c->kind) {
		json_object_set_new(o, "unit", json_string(rd_unit_name(c->kind->unit)));
		json_object_set_new(o, "meaning", json_string(c->kind->meaning));
		json_object_set_new(
			o, "severity", json_string(rd_severity_name(c->kind->severity)));
		if (c->kind->unit == RD_UNIT_WORDS)
			json_object_set_new(
				o, "bytes", rd_json_u64(rd_counter_bytes(c->kind, c->value)));
	}
	if (growth)
		put_growth(o, growth, p->seconds);
	return o;
}

static json_t *port_object(const struct reading *p, bool all)
{
	const struct rd_counters *c = &p->counters;
	json_t *list = json_array(), *o;

	for (size_t i = 0; i < c->n; i++)
		if (all || !p->growth || p->growth[i].amount || !rd_growth_known(&p->growth[i]))
			json_array_append_new(list, counter_object(p, i));
	o = json_pack("{s:s, s:I, s:s, s:s, s:s, s:I, s:I, s:I}", "device", c->device, "port",
		(json_int_t)c->port, "driver", c->driver, "netdev", c->netdev, "link_layer",
		c->infiniband ? "InfiniBand" : "Ethernet", "time_ns", (json_int_t)c->time_ns,
		"lifespan_ms", (json_int_t)c->lifespan_ms, "unreadable",
		(json_int_t)c->n_unreadable);
	json_object_set_new(o, "refused",
		RD_JSON_LIST(refusal, c->refusal, c->n_refusals, rd_json_refusal(refusal)));
	json_object_set_new(o, "firmware_not_asked", rd_json_text(c->not_asked));
	json_object_set_new(o, "duration_s", p->seconds > 0 ? json_real(p->seconds) : json_null());
	json_object_set_new(o, "counters", list);
	json_object_set_new(o, "findings", rd_findings_json(&p->findings, 0));
	return o;
}

int counters_json(FILE *out, const struct readings *r, bool all, size_t indent)
{
	json_t *ports = RD_JSON_LIST(p, r->port, r->n, port_object(p, all)), *root;
	int ret;

	root = rd_document(VERSION, r->n ? r->port[0].counters.time_ns : 0,
		json_pack("{s:o}", "ports", ports));
	if (!root || json_array_size(ports) != r->n) {
		json_decref(root);
		return -1;
	}
	ret = json_dumpf(root, out, JSON_INDENT(indent) | JSON_REAL_PRECISION(15));
	json_decref(root);
	fputc('\n', out);
	return ret;
}

/* --- reading ---------------------------------------------------------------------------- */

static void take_text(char *to, size_t size, const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	size_t n = 0;

	/* A file may hold anything: only printable ASCII is kept. */
	for (; text && text[n] && n + 1 < size; n++)
		to[n] = text[n] < 0x20 || text[n] > 0x7e ? '?' : text[n];
	to[n] = '\0';
}

static int take_port(struct rd_counters *c, const json_t *o)
{
	const json_t *list = json_object_get(o, "counters"), *one;
	char link[16];
	size_t i;

	take_text(c->device, sizeof(c->device), o, "device");
	take_text(c->driver, sizeof(c->driver), o, "driver");
	take_text(c->netdev, sizeof(c->netdev), o, "netdev");
	take_text(link, sizeof(link), o, "link_layer");
	c->infiniband = !strcmp(link, "InfiniBand");
	c->port = (unsigned int)rd_json_u64_value(json_object_get(o, "port"));
	c->time_ns = rd_json_u64_value(json_object_get(o, "time_ns"));
	json_array_foreach (list, i, one) {
		const char *name = json_string_value(json_object_get(one, "name"));

		if (name && rd_counters_add(c, rd_json_u64_value(json_object_get(one, "value")),
				    "%s", name))
			return -1;
	}
	return 0;
}

static bool is_known(json_int_t version)
{
	return version >= 1 && version <= VERSION;
}

int counters_json_read(struct readings *r, const char *path, struct rd_error *err)
{
	static const char todo[] = "it must be what 'rdmadump counters --json' wrote";
	struct rd_json_failure f;
	json_t *root = rd_json_read_file(path, FILE_MAX, 0, &f), *ports;
	int ret = 0;

	if (f.errnum)
		return rd_fail(err, RD_CLASS_DEVICE, f.errnum,
			"name a file that 'rdmadump counters --json' wrote", "cannot read '%s'",
			path);
	if (f.too_long)
		return rd_fail(err, RD_CLASS_DEVICE, 0, todo, "'%s' is larger than %u MiB", path,
			(unsigned int)(FILE_MAX >> 20));
	ports = json_object_get(root, "ports");
	if (!json_is_array(ports)) {
		json_decref(root);
		return rd_fail(err, RD_CLASS_DEVICE, 0, todo, "'%s' holds no counters: %s", path,
			*f.why.text ? f.why.text : "no list 'ports'");
	}
	if (!is_known(json_integer_value(json_object_get(root, "version"))))
		ret = rd_fail(err, RD_CLASS_DEVICE, 0, todo,
			"'%s' is of another version than 1 to %d", path, VERSION);
	r->port = calloc(json_array_size(ports) + 1, sizeof(*r->port));
	if (!r->port)
		ret = rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot read '%s'", path);
	for (; ret == 0 && r->n < json_array_size(ports); r->n++)
		if (take_port(&r->port[r->n].counters, json_array_get(ports, r->n)))
			ret = rd_fail(err, RD_CLASS_DEVICE, ENOMEM, NULL, "cannot read '%s'", path);
	json_decref(root);
	return ret;
}
