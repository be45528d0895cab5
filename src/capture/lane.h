/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lane: some sources, the pipe that their frames go through, and the thread that receives, waits
 * and sleeps. Without threads there is one lane, run by the caller.
 */
#ifndef RDMADUMP_CAPTURE_LANE_H
#define RDMADUMP_CAPTURE_LANE_H

#include "control.h"
#include "pipe.h"

struct lane {
	struct control *control;
	const struct rd_capture_config *config;
	unsigned int index, stride; /* it serves the sources index, index + stride, ... */
	struct pipe pipe;
	struct rd_error err;
	bool ended[RD_IFACES_MAX];
	struct {
		bool taken;	     /* the lane slept so since it armed its sources */
		unsigned int frames; /* received since the last one */
		unsigned int longer; /* its length: 2^this times the sources' least */
	} nap;			     /* a sleep without arming the sources */
	int epfd, bell; /* an eventfd by which other threads wake this one; -1: there are none */
	pthread_t thread;
};

/* Opens the lane's epoll set over its sources, feeds and bell, and where it has no bell the
 * watches. -1 with RD_CLASS_DEVICE; then too lane_close() is due. */
int lane_open(struct lane *l, struct rd_error *err);
void lane_close(struct lane *l);
/* Receives until the capture is to end. */
void lane_run(struct lane *l);
/* Receives what arrived before the sources were stopped. */
void lane_drain(struct lane *l);

/*
 * A new file, for all lanes of the capture. Where lanes are merged it begins at a moment of the
 * frames' time, after the newest frame of any lane; where they are not, each lane begins one with
 * its next frame.
 */
void lanes_rotate(struct lane *lanes, unsigned int n);

#endif
