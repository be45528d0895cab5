/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A short description of a management datagram. */
#include "text.h"
#include <inttypes.h>
#include <rdmadump/array.h>

#define NS_PER_US 1000

static void add_timeout(struct rd_line *line, const char *name, unsigned int value)
{
	double us = (double)rd_cm_timeout_ns(value) / NS_PER_US;

	if (us < 1000000)
		rd_line_add(line, " %s %.1f ms", name, us / 1000);
	else
		rd_line_add(line, " %s %.1f s", name, us / 1000000);
}

/* The parameters that a side offers in REQ and REP. */
static void add_offer(struct rd_line *line, const struct rd_cm *cm)
{
	rd_line_add(line, " first PSN %u resources %u depth %u", cm->psn, cm->responder_resources,
		cm->initiator_depth);
	if (cm->rnr_retry == 7)
		rd_line_add(line, " RNR retries unlimited");
	else
		rd_line_add(line, " RNR retries %u", cm->rnr_retry);
	if (cm->srq)
		rd_line_add(line, " SRQ");
}

static void add_sockets(struct rd_line *line, const struct rd_cm *cm)
{
	struct rd_cm_ip ip;

	if (!rd_cm_ip(cm, &ip))
		return;
	if (!ip.length) {
		rd_line_add(line, " port %u", ip.port);
		return;
	}
	rd_line_add(line, " ");
	rd_line_address(line, ip.src, ip.length);
	rd_line_add(line, ":%u > ", ip.src_port);
	rd_line_address(line, ip.dst, ip.length);
	rd_line_add(line, ":%u", ip.port);
}

static void add_req(struct rd_line *line, const struct rd_cm *cm)
{
	static const char *const services[] = {"RC", "UC", "RD", "reserved transport"};

	add_sockets(line, cm);
	add_offer(line, cm);
	rd_line_add(line, " retries %u MTU %u", cm->retry_count, rd_cm_mtu(cm->mtu));
	if (cm->local_gid)
		add_timeout(line, "ACK timeout", cm->ack_timeout);
	add_timeout(line, "CM timeout", cm->remote_timeout);
	rd_line_add(line, " %s", cm->xrc ? "XRC" : services[cm->transport & 3]);
}

/* The message that a REJ or an MRA refers to; only the third name differs between the two. */
static void add_about(struct rd_line *line, const struct rd_cm *cm, const char *third)
{
	const char *const names[] = {"REQ", "REP", third, "reserved"};

	rd_line_add(line, " of %s", names[cm->message & 3]);
}

static void add_rej(struct rd_line *line, const struct rd_cm *cm)
{
	const char *reason = rd_cm_reason_name(cm->reason);

	add_about(line, cm, "none");
	rd_line_add(line, " reason %u (%s)", cm->reason, reason ? reason : "unknown");
}

static void add_mra(struct rd_line *line, const struct rd_cm *cm)
{
	add_about(line, cm, "LAP");
	add_timeout(line, "service timeout", cm->local_timeout);
}

static void add_sidr_rep(struct rd_line *line, const struct rd_cm *cm)
{
	rd_line_add(line, " qkey 0x%08x status %u (%s)", cm->qkey, cm->status,
		rd_cm_sidr_status_name(cm->status));
}

static void add_lap(struct rd_line *line, const struct rd_cm *cm)
{
	if (!cm->local_gid)
		return;
	rd_line_add(line, " ");
	rd_line_address(line, cm->local_gid, 16);
	rd_line_add(line, " > ");
	rd_line_address(line, cm->remote_gid, 16);
}

static void add_apr(struct rd_line *line, const struct rd_cm *cm)
{
	rd_line_add(line, " status %u (%s)", cm->status, rd_cm_apr_status_name(cm->status));
}

static void add_cm(struct rd_line *line, const struct rd_mad *mad)
{
	static void (*const adds[])(struct rd_line * line, const struct rd_cm *cm) = {
		[RD_CM_REQ - RD_CM_REQ] = add_req,
		[RD_CM_MRA - RD_CM_REQ] = add_mra,
		[RD_CM_REJ - RD_CM_REQ] = add_rej,
		[RD_CM_REP - RD_CM_REQ] = add_offer,
		[RD_CM_SIDR_REP - RD_CM_REQ] = add_sidr_rep,
		[RD_CM_SIDR_REQ - RD_CM_REQ] = add_sockets,
		[RD_CM_LAP - RD_CM_REQ] = add_lap,
		[RD_CM_APR - RD_CM_REQ] = add_apr,
		[RD_CM_SPR - RD_CM_REQ] = NULL,
	};
	struct rd_cm cm;

	if (!rd_mad_cm(mad, &cm))
		return;
	if (cm.local_id)
		rd_line_add(line, " id 0x%08x", cm.local_id);
	if (cm.remote_id)
		rd_line_add(line, " peer's id 0x%08x", cm.remote_id);
	if (cm.service_id)
		rd_line_add(line, " service 0x%016" PRIx64, cm.service_id);
	if (cm.qpn)
		rd_line_add(line, " own QP 0x%06x", cm.qpn);
	if (cm.remote_qpn)
		rd_line_add(line, " peer's QP 0x%06x", cm.remote_qpn);
	if (adds[mad->attribute - RD_CM_REQ])
		adds[mad->attribute - RD_CM_REQ](line, &cm);
}

static void add_smp(struct rd_line *line, const struct rd_mad *mad)
{
	struct rd_smp smp;

	if (rd_mad_smp(mad, &smp) && smp.directed)
		rd_line_add(line, " hop %u of %u%s", smp.hop_pointer, smp.hop_count,
			smp.returning ? " back" : "");
}

static void add_sa(struct rd_line *line, const struct rd_mad *mad)
{
	static const char *const types[] = {
		"", " RMPP data", " RMPP ack", " RMPP stop", " RMPP abort"};
	struct rd_sa sa;

	if (!rd_mad_sa(mad, &sa) || !(sa.rmpp_flags & 1))
		return;
	if (sa.rmpp_type < RD_COUNT(types))
		rd_line_add(line, "%s", types[sa.rmpp_type]);
	rd_line_add(line, " segment %u", sa.segment);
}

static void add_status(struct rd_line *line, const struct rd_mad *mad)
{
	uint16_t status = rd_mad_status(mad);
	const char *name = rd_mad_status_name(mad->class, status);

	if (status)
		rd_line_add(line, " status 0x%04x", status);
	if (name)
		rd_line_add(line, " (%s)", name);
}

void rd_line_mad(struct rd_line *line, const struct rd_packet *p)
{
	char text[96];
	struct rd_mad mad;

	if (!rd_packet_mad(p, &mad))
		return;
	rd_mad_text(text, sizeof(text), mad.class, mad.method, mad.attribute);
	rd_line_add(line, " %s", text);
	add_status(line, &mad);
	add_smp(line, &mad);
	add_sa(line, &mad);
	add_cm(line, &mad);
}
