/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which functions' traffic a capture contains. A device's sniffer receives what is steered to its
 * own PCI function; frames of VFs, SFs and representors are forwarded to their eswitch ports before
 * that (kernel: mlx5_ib's fs.c, get_flow_table() takes the sniffer tables of one mdev).
 */
#include "session.h"
#include <rdmadump/log.h>
#include <stdio.h>
#include <string.h>

static bool is_sniffer(const struct rd_source *source)
{
	return !strcmp(source->ops->name, "verbs");
}

void rd_session_scope_text(const struct rd_session_source *from, char out[RD_LOSS_TEXT])
{
	char function[48];

	out[0] = '\0';
	if (!from->device || !is_sniffer(from->source))
		return;
	rd_function_text(&from->device->function, function, sizeof(function));
	snprintf(out, RD_LOSS_TEXT,
		"traffic of %s%s%s alone: not of VFs, SFs, representors or a bond's second port",
		*function ? function : "this function",
		from->device->function.kind == RD_FUNCTION_PF ? " " : "",
		from->device->function.kind == RD_FUNCTION_PF ? from->device->pci : "");
}

/* Representors of this host, and SFs that are RDMA devices here. */
static unsigned int count(
	const struct rd_session *s, const struct rd_device *d, enum rd_function_kind kind)
{
	unsigned int devices = 0, representors = 0;

	for (unsigned int i = 0; i < d->n_representors; i++)
		representors += d->representors[i].kind == kind;
	for (size_t i = 0; i < s->in.devices.n; i++) {
		const struct rd_function *f = &s->in.devices.dev[i].function;

		devices += f->kind == kind && !strcmp(f->parent, d->pci);
	}
	return devices > representors ? devices : representors;
}

static void warn(const struct rd_session *s, const struct rd_device *d)
{
	unsigned int vfs = count(s, d, RD_FUNCTION_VF), sfs = count(s, d, RD_FUNCTION_SF);
	char text[64] = "";

	if (vfs < d->function.n_vfs)
		vfs = d->function.n_vfs;
	if (d->function.kind != RD_FUNCTION_PF || (!vfs && !sfs))
		return;
	if (vfs)
		snprintf(text, sizeof(text), "%u VF%s%s", vfs, vfs > 1 ? "s" : "",
			sfs ? " and " : "");
	if (sfs)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u SF%s", sfs,
			sfs > 1 ? "s" : "");
	rd_log(RD_LOG_WARNING,
		"%s has %s: their traffic is not captured; capture on their own devices, or inside "
		"the guests",
		d->name, text);
}

void scope_warn(const struct rd_session *s)
{
	for (unsigned int i = 0; i < s->in.n; i++)
		if (s->in.device[i] && !s->in.follows[i] && is_sniffer(s->in.sources[i]))
			warn(s, s->in.device[i]);
}
