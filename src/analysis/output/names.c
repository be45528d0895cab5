/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The words of a report: keys of incidents, verbs, and what its enumerations are called. */
#include "names.h"

const struct rd_incident_name rd_incident_names[RD_INC_COUNT] = {
	[RD_INC_GAP] = {"gaps", "times that the sequence of requests jumped forward"},
	[RD_INC_LOST_UPSTREAM] = {"lost_before",
		"request packets that came only when retransmitted: lost upstream of the capture "
		"point"},
	[RD_INC_LOST_DOWNSTREAM] = {"lost_behind",
		"times that the receiver asked for a request packet that had been seen here"},
	[RD_INC_UNSEEN] = {"unseen", "packets that were acknowledged but never captured"},
	[RD_INC_REORDERED] = {"reordered", "request packets that came late, sent once"},
	[RD_INC_DUPLICATED] = {"duplicated", "request packets that the network duplicated"},
	[RD_INC_RETRANSMITTED] = {"resent", "request packets that the sender retransmitted"},
	[RD_INC_ROUND_NAK] = {"rounds_nak", "times that it went back after a NAK"},
	[RD_INC_ROUND_RNR] = {"rounds_rnr", "times that it went back after an RNR NAK"},
	[RD_INC_ROUND_READ] = {"rounds_read",
		"times that it asked again for READ or atomic responses that were missing"},
	[RD_INC_ROUND_TIMEOUT] = {"rounds_timeout", "times that it went back without any response"},
	[RD_INC_CROSSED] = {"rounds_crossed",
		"of the rounds: began while the response was under way, time-out too short"},
	[RD_INC_SELECTIVE] = {"rounds_selective", "of the rounds: sent only some packets again"},
	[RD_INC_AT_RECEIVER_DUPLICATE] = {"at_receiver_duplicate",
		"requests that a receiver at the capture point counts as duplicates"},
	[RD_INC_AT_RECEIVER_SEQUENCE] = {"at_receiver_sequence",
		"requests that a receiver at the capture point counts as out of sequence"},
	[RD_INC_RESTART] = {"restarts", "times that the sequence restarted: the QP was reused"},
	[RD_INC_NAK_SEQUENCE] = {"nak_sequence", "NAKs: PSN sequence error"},
	[RD_INC_NAK_INVALID] = {"nak_invalid_request", "NAKs: invalid request"},
	[RD_INC_NAK_ACCESS] = {"nak_remote_access", "NAKs: remote access error"},
	[RD_INC_NAK_OPERATIONAL] = {"nak_remote_operational", "NAKs: remote operational error"},
	[RD_INC_NAK_OTHER] = {"nak_other", "NAKs of another kind"},
	[RD_INC_NAK_PROGRESS] = {"nak_progress",
		"of the sequence NAKs: acknowledged packets before the missing one as well"},
	[RD_INC_RNR] = {"rnr", "RNR NAKs: no receive was posted"},
	[RD_INC_RESPONSE_GAP] = {"answer_gaps", "times that READ responses were missing"},
	[RD_INC_RESPONSE_LOST] = {"answers_lost",
		"rounds for requests whose response had been seen "
		"here: it was lost downstream"},
	[RD_INC_RESPONSE_REPEATED] = {"answers_resent",
		"READ or atomic responses that were repeated"},
	[RD_INC_RESPONSE_DUPLICATED] = {"answers_duplicated",
		"responses that the network duplicated"},
	[RD_INC_RESPONSE_REORDERED] = {"answers_reordered", "READ responses that came late"},
	[RD_INC_ZERO_CREDIT] = {"zero_credit", "ACKs that allow no further SEND"},
	[RD_INC_CE] = {"ecn_ce", "frames marked congestion experienced"},
	[RD_INC_CNP] = {"cnp", "congestion notifications that asked this side to slow down"},
	[RD_INC_ICRC] = {"bad_icrc", "frames with a wrong invariant CRC"},
	[RD_INC_CUT] = {"cut", "frames captured without all of their headers"},
	[RD_INC_MALFORMED] = {"malformed", "frames whose lengths contradict each other"},
};

#define NAME(table, i) ((i) < sizeof(table) / sizeof(*(table)) ? (table)[i] : "?")

const char *rd_verb_name(enum rd_verb verb)
{
	static const char *const names[] = {[RD_VERB_SEND] = "SEND",
		[RD_VERB_WRITE] = "WRITE",
		[RD_VERB_READ] = "READ",
		[RD_VERB_ATOMIC] = "ATOMIC",
		[RD_VERB_FLUSH] = "FLUSH"};

	return NAME(names, (unsigned int)verb);
}

const char *kind_name(unsigned int kind)
{
	static const char *const names[] = {[RD_KIND_OTHER] = "other",
		[RD_KIND_ROCE1] = "RoCE v1",
		[RD_KIND_ROCE2] = "RoCE v2",
		[RD_KIND_IB] = "InfiniBand"};

	return NAME(names, kind);
}

const char *pairing_name(unsigned int pairing)
{
	static const char *const names[] = {[RD_PAIR_NONE] = "none",
		[RD_PAIR_PSN] = "psn",
		[RD_PAIR_PORT] = "port",
		[RD_PAIR_CM] = "cm",
		[RD_PAIR_RESOURCE] = "resource"};

	return NAME(names, pairing);
}

const char *ending_name(unsigned int ending)
{
	static const char *const names[] = {[RD_ENDING_OPEN] = "open",
		[RD_ENDING_CLOSED] = "closed",
		[RD_ENDING_RETRY] = "retry_exceeded",
		[RD_ENDING_RNR] = "rnr_retry_exceeded",
		[RD_ENDING_REMOTE_ERROR] = "remote_error"};

	return NAME(names, ending);
}
