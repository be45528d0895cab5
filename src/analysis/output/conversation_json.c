/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A conversation and its two sides as JSON. */
#include "output.h"
#include <rdmadump/json.h>
#include <rdmadump/names.h>

/* --- what a side sent ------------------------------------------------------------------------- */

#define RD_THIS struct rd_verb_use
static json_t *size_of_message(const struct rd_at *at)
{
	const struct rd_verb_use *v = at->object;

	if (v->smallest > v->largest)
		return json_null();
	return rd_json_u64(at->which ? v->largest : v->smallest);
}

static const struct rd_shape verb_shape = RD_SHAPE("verb",
	"New messages of a verb; READ: bytes asked for.", RD_SAME(UINT, messages),
	{"bytes", "of new packets, each once; READ: requested; UC and UD: of whole messages",
		RD_UINT(bytes)},
	RD_SAME(UINT, packets),
	{"smallest", "bytes of a message; null: of none were all packets captured in order",
		RD_MADE(size_of_message, RD_TYPE_UINT_OR)},
	{"largest", "the same", RD_MADE(size_of_message, RD_TYPE_UINT_OR), .which = 1});
#undef RD_THIS

#define RD_THIS struct rd_refusal
static const struct rd_shape refusal_shape = {NULL,
	"the request that a NAK refused for good; null: none, or it was not seen",
	RD_ROWS({"verb", NULL, RD_NAME(verb, rd_verb_name)}, {"psn", "of the NAK", RD_UINT(psn)},
		{"frame", "first packet of the request", RD_UINT(frame)},
		{"address", "16 hexadecimal digits behind 0x; null: not captured, or a SEND",
			RD_HEX(address, RD_TYPE_TEXT_OR), RD_IF(has_address)},
		{"rkey", NULL, RD_UINT(rkey), RD_IF(has_address)},
		{"length", "bytes", RD_UINT(length), RD_IF(has_address)}),
	.nullable = true};
#undef RD_THIS

#define RD_THIS struct rd_timer
static const struct rd_shape timer_shape = RD_SHAPE("timer",
	"Of the longest series of rounds from one PSN without a response; absent: none, or no "
	"known timer waits so.",
	{"adaptive", "resends some milliseconds apart, as of adaptive retransmission",
		RD_UINT(adaptive)},
	{"adaptive_us", "how long they took", RD_UINT(adaptive_us)},
	{"timeouts", "waits of one length, after these", RD_UINT(timeouts)},
	{"timeout_us", "of each of them", RD_UINT(timeout_us)});
#undef RD_THIS

#define RD_THIS struct rd_side
static json_t *verb(const struct rd_at *at)
{
	const struct rd_verb_use *v = rd_side_verb(at->object, at->which);

	return v->messages || v->packets ? rd_shape_part(&verb_shape, v, at) : NULL;
}

static const struct rd_shape verbs_shape =
	RD_SHAPE(NULL, NULL, {"SEND", NULL, RD_MAYBE(verb, verb_shape), .which = RD_VERB_SEND},
		{"WRITE", NULL, RD_MAYBE(verb, verb_shape), .which = RD_VERB_WRITE},
		{"READ", NULL, RD_MAYBE(verb, verb_shape), .which = RD_VERB_READ},
		{"ATOMIC", NULL, RD_MAYBE(verb, verb_shape), .which = RD_VERB_ATOMIC},
		{"FLUSH", NULL, RD_MAYBE(verb, verb_shape), .which = RD_VERB_FLUSH});

static json_t *incident(const struct rd_at *at)
{
	const struct rd_side *s = at->object;

	if (!(s->has_incidents >> at->which & 1))
		return NULL;
	return rd_shape_part(&incident_shape, rd_side_incident(s, at->which), at);
}

static const struct rd_field incidents_fields[] = {
#define INCIDENT(name, key, flow, help)                                                            \
	{key, help, RD_MAYBE(incident, incident_shape), .which = RD_INC_##name},
#include <rdmadump/incident.def>
#undef INCIDENT
};
static const struct rd_shape incidents_shape = {"events",
	"Only what happened. Requests and their responses are counted at the side of the "
	"requester.",
	RD_FIELDS(incidents_fields)};

static json_t *latency(const struct rd_at *at)
{
	return rd_shape_part(&latency_shape, rd_side_latency(at->object, at->which), at);
}

static const struct rd_shape latencies_shape = RD_SHAPE(NULL,
	"Of its requests: last packet sent to ACK; READ request to last response; atomic request "
	"to response; first packet of a message to its ACK.",
	{"ack", NULL, RD_MADE_OF(latency, latency_shape), .which = RD_LATENCY_ACK},
	{"read", NULL, RD_MADE_OF(latency, latency_shape), .which = RD_LATENCY_READ},
	{"atomic", NULL, RD_MADE_OF(latency, latency_shape), .which = RD_LATENCY_ATOMIC},
	{"message", NULL, RD_MADE_OF(latency, latency_shape), .which = RD_LATENCY_MESSAGE},
	{"timeout", NULL, RD_MADE_OF(latency, latency_shape), .which = RD_LATENCY_TIMEOUT});

/* --- a side ----------------------------------------------------------------------------------- */

static json_t *goodput(const struct rd_at *at)
{
	const struct rd_side *s = at->object;

	return rd_json_u64_or_null(rd_goodput(s->goodput_bytes, at->up->object, 1));
}

static json_t *timeout(const struct rd_at *at)
{
	return rd_json_u64_or_null(rd_side_latency(at->object, RD_LATENCY_TIMEOUT)->p50);
}

static json_t *ack_timeout(const struct rd_at *at)
{
	return rd_json_u64(rd_cm_timeout_ns(((const RD_THIS *)at->object)->ack_timeout));
}

static json_t *dscp(const struct rd_at *at)
{
	const int dscp = ((const RD_THIS *)at->object)->priority.dscp;

	return json_integer(dscp < 0 ? 0 : dscp);
}

static json_t *psn_plot(const struct rd_at *at)
{
	const struct rd_psn_plot *plot = ((const RD_THIS *)at->object)->psn_plot;

	return plot ? rd_shape_part(&psn_plot_shape, plot, at) : NULL;
}

static json_t *timer(const struct rd_at *at)
{
	const struct rd_timer *t = &((const RD_THIS *)at->object)->timer;

	return t->adaptive || t->timeouts ? rd_shape_part(&timer_shape, t, at) : NULL;
}

static const struct rd_shape side_shape = RD_SHAPE("side",
	"One side: the frames that it sent, its requests, and the responses to them.",
	{"seen", "false: none of its frames was captured", RD_BOOL(seen)},
	{"frames", "sent by this side", RD_UINT(traffic.frames)},
	{"wire_bytes", "sent by this side", RD_UINT(traffic.wire_bytes)},
	{"payload_bytes", "sent by this side, retransmissions included",
		RD_UINT(traffic.payload_bytes)},
	{"goodput_bytes", "new data: payload that its requests sent, wrote and read, counted once",
		RD_UINT(goodput_bytes)},
	{"goodput_bps",
		"goodput_bytes by the time from the first to the last frame of both sides, bit/s; "
		"null: 0",
		RD_MADE(goodput, RD_TYPE_UINT_OR)},
	{"first_ns", NULL, RD_TIME(traffic.first_ns), RD_IF(seen)},
	{"last_ns", NULL, RD_TIME(traffic.last_ns), RD_IF(seen)},
	{"first_frame", NULL, RD_POSITIVE(traffic.first_frame)},
	{"last_frame", NULL, RD_POSITIVE(traffic.last_frame)},
	{"requests", "request packets, retransmissions included", RD_UINT(requests)},
	{"acks", "positive ACKs that it received", RD_UINT(acks)},
	{"read_responses", "READ response packets that it received", RD_UINT(read_responses)},
	{"verbs", NULL, RD_VIEW(verbs_shape)}, {"events", NULL, RD_VIEW(incidents_shape)},
	{"latency", NULL, RD_VIEW(latencies_shape)},
	{"times", NULL, RD_POINTER(times, times_shape)},
	{"psn_first", NULL, RD_UINT(psn_first), RD_IF(requests)},
	{"psn_last", NULL, RD_UINT(psn_last), RD_IF(requests)},
	{"mtu", "path MTU in bytes as packets show it", RD_POSITIVE(mtu)},
	{"rnr_timer_us", "longest wait that an RNR NAK requested", RD_POSITIVE(rnr_timer_us)},
	{"timeout_ns", "median silence before a retransmission without a NAK",
		RD_MADE(timeout, RD_TYPE_UINT_OR)},
	{"ack_timeout_ns", "local ACK timeout of the CM's request; null: not captured",
		RD_MADE(ack_timeout, RD_TYPE_UINT_OR), RD_IF(ack_timeout)},
	{"timer", NULL, RD_MAYBE(timer, timer_shape)},
	{"reorder_depth", "most packets that overtook a reordered request", RD_UINT(reorder_depth)},
	{"ports_differ", "request packets out of sequence have several UDP source ports",
		RD_BOOL(unclear.ports_differ)},
	{"longest_stall_ns", "longest wait for a response while requests were open",
		RD_UINT(stall.ns)},
	{"stall_frame", "the frame that ended it", RD_POSITIVE(stall.frame)},
	{"credits", "last reported by an ACK; null: no flow control", RD_INT(credits)},
	{"pkey", NULL, RD_UINT(first.pkey)},
	{"lid", "of the sender's first packet; null: no native InfiniBand", RD_UINT(first.lid),
		RD_IF(first.has_lrh)},
	{"sl", "service level of the first packet", RD_UINT(first.sl), RD_IF(first.has_lrh)},
	{"dscp", "of most of its frames, CNPs excluded", RD_MADE(dscp, RD_TYPE_UINT)},
	{"qkey", "UD: Q_Key of the last packet", RD_POSITIVE(qkey)},
	{"ending", NULL, RD_NAME(end.how, ending_name)},
	{"end_frame", NULL, RD_POSITIVE(end.frame)},
	{"end_ns", NULL, RD_TIME(end.ns), RD_IF(end.ns)},
	{"attempts", "retransmission rounds without progress at the end", RD_UINT(end.attempts)},
	{"refused", NULL, RD_POINTER(refusal, refusal_shape)},
	{"ecn", "ECN fields of its frames, CNPs excluded", RD_BITS(priority.ecn, ecn_name),
		.schema = RD_TYPE_LIST("'enum': ['not-ECT', 'ECT(0)', 'ECT(1)', 'CE']")},
	{"priority", NULL, RD_MADE_OF(priority_json, priority_shape)},
	{"congestion", NULL, RD_POINTER(congestion, congestion_shape)},
	{"held", NULL, RD_POINTER(held, held_shape)},
	{"psn_plot", NULL, RD_MAYBE(psn_plot, psn_plot_shape)});
#undef RD_THIS

/* --- series ----------------------------------------------------------------------------------- */

#define RD_THIS struct rd_point
static json_t *mean(const struct rd_at *at)
{
	const struct rd_point *p = at->object;

	return rd_json_u64(p->latency_sum_ns / p->latency_n);
}

static const struct rd_shape point_shape = RD_SHAPE(NULL, NULL, RD_SAME(UINT, wire_bytes),
	RD_SAME(UINT, goodput_bytes), RD_SAME(UINT, frames), RD_SAME(UINT, retransmitted),
	RD_SAME(UINT, cnp), {"ecn_ce", NULL, RD_UINT(ce)}, RD_SAME(UINT, nak),
	{"latency_mean_ns", NULL, RD_MADE(mean, RD_TYPE_UINT_OR), RD_IF(latency_n)},
	{"latency_max_ns", NULL, RD_UINT(latency_max_ns), RD_IF(latency_n)});
#undef RD_THIS

#define RD_THIS struct rd_series
const struct rd_shape series_shape = {"series",
	"Equal steps of time; value i covers start_ns + i * width_ns. null: not kept.",
	RD_ROWS(RD_SAME(TIME, start_ns), RD_SAME(UINT, width_ns), {"points", NULL, RD_UINT(n)}),
	RD_IF(n), RD_COLUMNS(points, n, point_shape)};
#undef RD_THIS

/* --- the ends --------------------------------------------------------------------------------- */

#define RD_THIS struct rd_owner
static const char *const detail_keys[] = {"service_port", "start_ns", "cgroup", "container", "pod"};

static json_t *detail(const struct rd_at *at)
{
	const struct rd_owner *o = at->object;
	json_t *value = json_object_get(o->details, detail_keys[at->which]);

	return value ? json_incref(value) : json_null();
}

static json_t *job(const struct rd_at *at)
{
	json_t *job = json_object_get(((const RD_THIS *)at->object)->details, "job");

	return job ? json_incref(job) : json_object();
}

const struct rd_shape owner_shape = {"owner",
	"the process of a QP, as the files know; null: not known",
	RD_ROWS({"pid", "0: the kernel owns it", RD_UINT(pid)},
		{"comm", "the process' command, or the kernel's module; empty: not known",
			RD_CHARS(comm)},
		{"service_port",
			"of a kernel module: the port that the connection was made to; null: not "
			"known",
			RD_MADE(detail, RD_TYPE_INT_OR ", 'minimum': 1, 'maximum': 65535")},
		{"rank",
			"RANK, else OMPI_COMM_WORLD_RANK, PMIX_RANK, SLURM_PROCID; null: none of "
			"them",
			RD_KNOWN(rank)},
		{"start_ns", "since the Unix epoch; null: not known",
			RD_MADE(detail, RD_TYPE_UINT_OR), .which = 1},
		{"cgroup", NULL, RD_MADE(detail, RD_TYPE_TEXT_OR), .which = 2},
		{"container", "id of 64 hexadecimal digits", RD_MADE(detail, RD_TYPE_TEXT_OR),
			.which = 3},
		{"pod", "UID in Kubernetes", RD_MADE(detail, RD_TYPE_TEXT_OR), .which = 4},
		{"job",
			"variables of the environment that the process was started with: "
			"SLURM_JOB_ID, SLURM_PROCID, RANK, LOCAL_RANK, OMPI_COMM_WORLD_RANK, "
			"PMIX_RANK",
			RD_MADE(job,
				"'type': 'object', 'additionalProperties': {" RD_TYPE_TEXT "}")}),
	.nullable = true};
#undef RD_THIS

#define RD_THIS struct rd_endpoint
static RD_NAMES(unknown_owner_name,
	NULL, [RD_OWNER_NO_FACTS] = "no_facts", [RD_OWNER_NOT_LISTED] = "not_listed",
	[RD_OWNER_SEVERAL] = "several", [RD_OWNER_OTHER_TIME] = "other_time")

static unsigned int side_of(const struct rd_at *at)
{
	return at->object != ((const struct rd_conversation *)at->up->object)->end;
}

static json_t *owner(const struct rd_at *at)
{
	const struct rd_conversation *c = at->up->object;

	return rd_shape_part(&owner_shape, c->owner[side_of(at)], at);
}

static json_t *owner_unknown(const struct rd_at *at)
{
	const struct rd_conversation *c = at->up->object;

	return rd_json_string(unknown_owner_name(c->owner_state[side_of(at)]));
}

static const struct rd_shape endpoint_shape = RD_SHAPE("endpoint", "An address and a QP number.",
	RD_SAME(CHARS, address), {"qp", "null: not known", RD_KNOWN(qp)},
	{"owner", NULL, RD_MADE_OF(owner, owner_shape)},
	{"owner_unknown",
		"why owner is null: no file lists the QPs of this host; lists were made while the "
		"capture ran, and it is in none (created by DEVX, in another namespace, or for a "
		"short time); several processes had a QP of this number, and the frames of the "
		"conversation are of the time of more than one of them, or their clock cannot be "
		"compared with that of the lists; processes had a QP of this number at other times "
		"only",
		RD_MADE(owner_unknown,
			"'enum': [null, 'no_facts', 'not_listed', 'several', 'other_time']")});
#undef RD_THIS

#define RD_THIS struct rd_connection
static const struct rd_shape connection_shape = {NULL,
	"what CM REQ and REP say; null: they were not captured",
	RD_ROWS({"service_id", "16 hexadecimal digits behind 0x", RD_HEX(service_id, RD_TYPE_TEXT)},
		{"frame", "of the REQ", RD_UINT(frame)},
		{"retry_count", "of the REQ", RD_UINT(retry_count)},
		{"rnr_retry", "of the REQ; 7: unlimited", RD_UINT(rnr_retry)},
		{"reply_rnr_retry", "of the REP; 7: unlimited", RD_UINT(reply_rnr_retry)},
		{"ack_timeout", "of the REQ: 4.096 us * 2^n", RD_UINT(ack_timeout)}),
	.nullable = true};
#undef RD_THIS

/* --- a conversation --------------------------------------------------------------------------- */

#define RD_THIS struct rd_conversation
static const struct rd_shape sides_shape = RD_SHAPE(NULL, NULL,
	{"a", NULL, RD_OBJECT(side[0], side_shape)}, {"b", NULL, RD_OBJECT(side[1], side_shape)});

const struct rd_shape conversation_shape = RD_SHAPE("conversation",
	"Two QPs that exchange packets; UD: a source QP and a destination QP.",
	{"id", "from 1, in the order of first frames", RD_UINT(id)},
	{"transport", NULL, RD_NAME(transport, rd_transport_name),
		.schema = "'enum': ['RC', 'UC', 'RD', 'UD', 'CNP', 'XRC', '?']"},
	{"kind", NULL, RD_NAME(kind, kind_name)},
	{"pairing", "how the pair was found; none: the other QP is unknown",
		RD_NAME(pairing, pairing_name)},
	RD_SAME(BOOL, multicast), {"ipoib", "IP over InfiniBand", RD_BOOL(ipoib)},
	{"network",
		"VNI of its VXLAN or Geneve tunnel, VSID of its NVGRE tunnel, or key of its GRE "
		"tunnel: conversations in several networks may have the same addresses and QPs; "
		"null: none",
		RD_POSITIVE(network)},
	{"cm", "connected or disconnected by the CM within the capture", RD_BOOL(cm)},
	{"connection", NULL, RD_POINTER(connection, connection_shape)},
	{"application", NULL, RD_POINTER(application, application_shape)},
	{"a", NULL, RD_OBJECT(end[0], endpoint_shape)},
	{"b", NULL, RD_OBJECT(end[1], endpoint_shape)}, {"sides", NULL, RD_VIEW(sides_shape)},
	{"series", NULL, RD_OBJECT(series, series_shape)});
