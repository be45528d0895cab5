/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lane: some sources, the pipe for their frames, and the thread that receives, waits and sleeps.
 * Without threads there is one lane, run by the caller.
 */
#ifndef RDMADUMP_CAPTURE_LANE_H
#define RDMADUMP_CAPTURE_LANE_H

#include "control.h"
#include "pipe.h"

struct lane {
	struct control *control;
	const struct rd_capture_config *config;
	unsigned int index, stride; /* serves sources index, index + stride, ... */
	struct pipe pipe;
	struct rd_error err;
	bool ended[RD_IFACES_MAX];
	struct {
		bool taken;	     /* a nap was taken since the sources were armed */
		unsigned int frames; /* received since the last nap */
		unsigned int longer; /* duration: 2^this times the shortest nap of the sources */
	} nap;			     /* a sleep without arming the sources */
	int epfd, wake_fd; /* an eventfd by which other threads wake this one; -1: there are
			   none */
	pthread_t thread;
};

/*
 * Opens the lane's epoll set of sources, feeds and wake_fd; without a wake_fd also of the watches.
 * Returns 0, or -1 with RD_CLASS_DEVICE. Call lane_close() in both cases.
 */
int lane_open(struct lane *l, struct rd_error *err);
void lane_close(struct lane *l);
/* Receives until the capture ends. */
void lane_run(struct lane *l);
/* Receives the frames that arrived before the sources were stopped. */
void lane_drain(struct lane *l);

/*
 * Starts a new file for all lanes of the capture. If lanes are merged, it starts at a timestamp
 * after the newest frame of any lane; otherwise with the next frame of each lane.
 */
void lanes_rotate(struct lane *lanes, unsigned int n);

#endif
