/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which functions' traffic a capture contains. A device's sniffer receives what is steered to its
 * own PCI function; frames of VFs, SFs and representors are forwarded to their eswitch ports before
 * that (kernel: mlx5_ib's fs.c, get_flow_table() takes the sniffer tables of one mdev).
 */
#include "session.h"

static bool is_sniffer(const struct rd_source *source)
{
	return !strcmp(source->ops->name, "verbs") && !source->port_sniffer;
}

void rd_session_scope_text(const struct rd_session_source *from, char out[RD_LOSS_TEXT])
{
	char function[48];

	out[0] = '\0';
	if (from->source->port_sniffer)
		snprintf(out, RD_LOSS_TEXT,
			"what the firmware copies of the port: whether VFs are among it is not "
			"known");
	if (!from->device || !is_sniffer(from->source))
		return;
	rd_function_text(&from->device->function, function, sizeof(function));
	snprintf(out, RD_LOSS_TEXT,
		"traffic of this function only%s%s%s%s%s: not of VFs, SFs, representors or a "
		"bond's second port",
		*function ? " (" : "", function,
		from->device->function.kind == RD_FUNCTION_PF ? " " : "",
		from->device->function.kind == RD_FUNCTION_PF ? from->device->pci : "",
		*function ? ")" : "");
}

static void warn_functions(const struct rd_session *s, const struct rd_device *d)
{
	char others[48];

	rd_other_functions_text(rd_other_functions(&s->in.devices, d), others, sizeof(others));
	if (*others)
		rd_log(RD_LOG_WARNING,
			"%s: the traffic of %s is not captured; capture on their own devices, or "
			"inside the guests",
			d->name, others);
}

static void warn_bond(const struct rd_device *d)
{
	const struct rd_netdev *bond = rd_device_bond(d);

	if (bond)
		rd_log(RD_LOG_WARNING,
			"%s is a bond (%s: %s): the capture may lack its second port's plain "
			"Ethernet frames; capture those on its netdev",
			d->name, bond->name, bond->slaves);
}

void scope_warn(const struct rd_session *s)
{
	for (unsigned int i = 0; i < s->in.n; i++)
		if (s->in.device[i] && !s->in.follows[i] && is_sniffer(s->in.sources[i])) {
			warn_functions(s, s->in.device[i]);
			warn_bond(s->in.device[i]);
		}
}
