/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Doubts that several rules share: what the file itself shows of what it may lack (doubts.c). */
#ifndef RDMADUMP_ANALYSIS_DOUBTS_H
#define RDMADUMP_ANALYSIS_DOUBTS_H

#include "look.h"

/* Whether frames of a file are not in the order of the wire, or from several places. */
bool is_disordered(const struct look *l);
/* Whether the capture lacks so many frames of this QP pair that all of one kind may be missing. */
bool has_missed_many(const struct look *l);
bool has_cut_headers(const struct look *l);

bool lost_frames(const struct look *l), is_one_way(const struct look *l),
	has_timed_copies(const struct look *l), has_missed(const struct look *l),
	may_lack_frames(const struct look *l), is_overtaken(const struct look *l),
	has_several_paths(const struct look *l), has_late_packets(const struct look *l),
	has_host_copies(const struct look *l), may_be_no_timer(const struct look *l),
	is_once(const struct look *l), may_be_reused(const struct look *l),
	may_be_each_twice(const struct look *l), may_be_discarded(const struct look *l),
	is_refused(const struct look *l), has_coarse_clock(const struct look *l),
	began_before(const struct look *l), is_undeclared(const struct look *l),
	is_shared(const struct look *l);

#define CAPTURE_LOST IF(lost_frames, "the capture lost frames")
#define DISORDERED   IF(is_disordered, "frames may be in another order than on the wire")
#define ONE_WAY	     IF(is_one_way, "only one direction was captured")
#define CUT	     IF(has_cut_headers, "headers are missing: NAKs or lengths may be among them")
#define TIMED_COPIES                                                                               \
	IF(has_timed_copies, "without IP identifications, a copy looks like a retransmission")
#define MISSED	    IF(has_missed, "the capture missed packets of this QP pair")
#define MISSED_MANY IF(has_missed_many, "the capture missed a sixteenth of the packets")
/* What makes it incomplete, of this QP pair. */
#define INCOMPLETE CAPTURE_LOST, DISORDERED, ONE_WAY, CUT, TIMED_COPIES, MISSED

/* That frames were not on the wire here, as they are not in the file. */
#define ABSENCE IF(may_lack_frames, "the capture missed packets, which may be of this QP pair")
/* That the file has the frames in the order of sending. */
#define NO_ORDER DISORDERED, IF(is_overtaken, "packets of this QP pair overtake each other")
/* That packets arrive at the other host in the order of sending. */
#define PATHS                                                                                      \
	IF(has_several_paths, "packets between these hosts overtake each other beyond this point")
/* That a packet after later ones was sent after them. */
#define HOSTS_LATE                                                                                 \
	IF(has_late_packets,                                                                       \
		"packets of these hosts come late here: a late one looks retransmitted")
/* That a packet is in the file as often as it was sent. */
#define HOST_COPIES                                                                                \
	IF(has_host_copies, "frames of these hosts are captured twice: a copy looks "              \
			    "retransmitted")
/* That a sender waited before it sent a packet again. */
#define NO_TIMER IF(may_be_no_timer, "it is sooner than timers: they may be copies")

#define ONCE	     IF(is_once, "it happened once")
#define REUSED	     IF(may_be_reused, "another connection may have used the same PSNs")
#define EACH_TWICE   IF(may_be_each_twice, "the file may have each packet twice")
#define DISCARDED    IF(may_be_discarded, "a receiver that is not ready discards packets, too")
#define REFUSED	     IF(is_refused, "a request was refused")
#define COARSE_CLOCK IF(has_coarse_clock, "the capture's clock has coarse steps")
#define BEFORE	     IF(began_before, "packets were sent before the capture began")
#define UNDECLARED   IF(is_undeclared, "no file says that its capture lost nothing")
#define SHARED	     IF(is_shared, "another network has the same addresses and QPs")

#endif
