/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of causes. Places follow from the side of the capture point on which something is
 * missing, and from the host of the capture point where the file says which one it is.
 */
#include "causes.h"
#include <string.h>

#define SH RD_PLACE_SENDER_HOST
#define SN RD_PLACE_SENDER_NIC
#define FA RD_PLACE_FABRIC
#define RN RD_PLACE_RECEIVER_NIC
#define RH RD_PLACE_RECEIVER_HOST

#define LOST	  RD_MIXED_LOST
#define LATE	  RD_MIXED_LATE
#define UP	  RD_MIXED_UPSTREAM
#define DOWN	  RD_MIXED_DOWNSTREAM
#define RESPONSES RD_MIXED_RESPONSES

#define ALL RD_PLACE_ALL

/* Of a capture point at an unknown host, at the sender, at the receiver. */
#define ANYWHERE(p)	p, p, p
#define UPSTREAM	SN | FA, SN, SN | FA
#define DOWNSTREAM	FA | RN, FA | RN, RN
#define BACK_UPSTREAM	RN | FA, RN | FA, RN
#define BACK_DOWNSTREAM FA | SN, SN, FA | SN
#define UNANSWERED	FA | RN | RH, FA | RN | RH, RN | RH

static const struct cause causes[] = {
	{"no-rdma", 0, "The capture shows no RDMA traffic.", {ANYWHERE(0)}, RD_POSSIBLE, NULL, 0},
	{"no-frames-in-time", 0, "No frame is in the time that was asked for.", {ANYWHERE(0)},
		RD_POSSIBLE, NULL, 0},
	{"no-such-qp", 0, "The QP that was asked for has no frame here.", {ANYWHERE(0)},
		RD_POSSIBLE, NULL, 0},
	{"link-down", 1, NULL, {ANYWHERE(0)}, RD_POSSIBLE, NULL, 0},
	{"remote-access", 1,
		"{r} refused a request of {s}: it may not access that memory. The applications "
		"disagree; this is no fault of the network.",
		{ANYWHERE(SH | RH)}, RD_LIKELY, "Requests refused", 0},
	{"invalid-request", 1,
		"{r} refused a request of {s} as invalid. The applications or their settings "
		"disagree; this is no fault of the network.",
		{ANYWHERE(SH | RH)}, RD_LIKELY, "Requests refused", 0},
	{"remote-operational", 1, "{r} could not execute a request of {s}, by its own error.",
		{ANYWHERE(RN | RH)}, RD_CERTAIN, "Requests refused", 0},
	{"gave-up-rnr", 2, "{s} gave up, since {r} was not ready for its request.", {ANYWHERE(RH)},
		RD_LIKELY, "Connections ended", 0},
	{"cm-no-reply", 2, "{s} asks {r} for a connection and gets no reply.", {UNANSWERED},
		RD_LIKELY, "Requests for connections", 0},
	{"gave-up", 2, "{r} stopped responding, and {s} gave up.", {UNANSWERED}, RD_LIKELY,
		"Last rounds without a response", 0},
	{"no-response", 2, "{s} repeats its requests, and no response of {r} is seen.",
		{UNANSWERED}, RD_LIKELY, "Rounds without a response", 0},
	{"responses-stopped", 2, "{r} stopped responding to {s}.", {UNANSWERED}, RD_LIKELY,
		"Last rounds without a response", 0},
	{"damaged", 3, "Frames from {s} to {r} are damaged on the way, and dropped by receivers.",
		{UPSTREAM}, RD_LIKELY, "Frames damaged", 0},
	{"trimmed", 4, "A switch trimmed packets from {s} to {r}, for which it had no room.",
		{ANYWHERE(FA)}, RD_LIKELY, "Packets trimmed", 0},
	{"lost-downstream", 4, NULL, {DOWNSTREAM}, RD_LIKELY, "Packets lost", LOST | DOWN},
	{"lost-upstream", 4, NULL, {UPSTREAM}, RD_LIKELY, "Packets lost", LOST | UP},
	{"unreliable-lost", 4, NULL, {UPSTREAM}, RD_LIKELY, "Packets lost", LOST | UP},
	{"responses-lost-downstream", 5, NULL, {BACK_DOWNSTREAM}, RD_LIKELY,
		"Rounds for lost responses", LOST | DOWN | RESPONSES},
	{"responses-lost-upstream", 5, NULL, {BACK_UPSTREAM}, RD_LIKELY, "Gaps in responses",
		LOST | UP | RESPONSES},
	{"reordered", 5, NULL, {UPSTREAM}, RD_LIKELY, "Packets late", LATE | UP},
	{"reordered-downstream", 5, NULL, {DOWNSTREAM}, RD_LIKELY, "Packets late", LATE | DOWN},
	{"rnr", 6, "{r} was not ready for requests of {s}.", {ANYWHERE(RH)}, RD_LIKELY,
		"Requests refused for the time being (RNR NAK)", 0},
	{"cnp-unmarked", 6,
		"{r} asks {s} to slow down, but no packet reached it with a congestion mark.",
		{ANYWHERE(RN)}, RD_LIKELY, "Congestion notifications", 0},
	{"cnp", 7, "{r} reports congestion on the path from {s}, and asks it to slow down.",
		{ANYWHERE(FA)}, RD_LIKELY, "Congestion notifications", 0},
	{"pause-frames", 7, NULL, {ANYWHERE(0)}, RD_LIKELY, "Pause frames", 0},
	{"paused", 8, "Packets from {s} to {r} wait while a port on their path is paused.",
		{ANYWHERE(SN | FA | RN)}, RD_LIKELY, "Gaps", 0},
	{"priorities-differ", 8, NULL, {ANYWHERE(SH | FA | RH)}, RD_LIKELY,
		"Frames of both directions", 0},
	{"lossy-priority", 8,
		"Packets from {s} to {r} have a priority without PFC, where others have it.",
		{SH | FA, SH, SH | FA}, RD_LIKELY, "Frames", 0},
	{"mad-error", 8, NULL, {ANYWHERE(0)}, RD_LIKELY, "Responses with an error", 0},
	{"mad-no-response", 8, NULL, {ANYWHERE(0)}, RD_LIKELY, "Requests without a response", 0},
	{"cnp-late", 8,
		"The path from {s} to {r} is congested, and {r} asks {s} late to slow down.",
		{ANYWHERE(RN | FA)}, RD_LIKELY, "Congestion notifications", 0},
	{"ecn-no-cnp", 8,
		"The path from {s} to {r} is congested, and {r} does not ask {s} to slow down.",
		{ANYWHERE(RN | FA)}, RD_LIKELY, "Frames marked", 0},
	{"silence", 8, "Several QPs waited for responses at the same time.", {ANYWHERE(ALL)},
		RD_POSSIBLE, "Pauses", 0},
	{"timeout", 9, "{s} repeated requests, since responses of {r} did not come in time.",
		{SN | FA | RN | RH, SN | FA | RN | RH, SN | FA | RN | RH}, RD_LIKELY, "Timeouts",
		0},
	{"timeout-short", 9,
		"{s} repeats requests while their responses are on the way: its timer is too "
		"short.",
		{ANYWHERE(SH)}, RD_LIKELY, "Needless rounds", 0},
	{"stall", 10, "A response of {r} to {s} took very long.", {UNANSWERED}, RD_LIKELY,
		"Long waits", 0},
	{"cm-reject", 10, "{s} rejected a request of {r} for a connection.", {ANYWHERE(SH)},
		RD_LIKELY, "Rejections", 0},
	{"qkey", 10, "{r} drops datagrams of {s}: their Q_Key differs.", {ANYWHERE(SH | RH)},
		RD_LIKELY, "Datagrams", 0},
	{"several-vlans", 11,
		"Frames between {s} and {r} are in several VLANs: if these are several networks "
		"with equal addresses, all that is said of these QPs mixes them.",
		{ANYWHERE(0)}, RD_POSSIBLE, NULL, 0},
	{"duplicated", 11,
		"Frames from {s} to {r} are duplicated on the way or by the mirror port.",
		{UPSTREAM}, RD_POSSIBLE, "Frames twice", 0},
};

const struct cause *cause_of(const char *rule)
{
	static const struct cause other = {NULL, 20, NULL, {ANYWHERE(ALL)}, RD_POSSIBLE, NULL, 0};

	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (!strcmp(causes[i].rule, rule))
			return &causes[i];
	return &other;
}

const char *surer_of(const char *rule)
{
	/* A NIC counts the marks that reach it. */
	if (!strcmp(rule, "cnp-unmarked"))
		return "counters of {r}, if np_cnp_sent grows there and np_ecn_marked_roce_packets "
		       "does not";
	return NULL;
}

/* RNR NAKs to requests that need no receive: the application is not the only place. */
static bool lacks_pages(const struct rd_conversation *c, const struct rd_finding *f)
{
	const struct rd_side *s = &c->side[f->side];

	const uint64_t pages = rd_side_incident(s, RD_INC_RNR_PAGES)->count;

	return !strcmp(f->rule, "rnr") && pages && pages >= rd_side_incident(s, RD_INC_RNR)->count;
}

unsigned int places_of(const struct cause *cause, const struct rd_conversation *c,
	const struct rd_finding *f, enum tap at)
{
	return cause->places[at] | (lacks_pages(c, f) ? RN : 0);
}
