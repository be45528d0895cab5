/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What places a process in a job of many, as facts name it. */
#pragma once

#define RD_JOB_VALUE_MAX 21 /* a decimal number of 64 bits */

/* Environment variables that place a process in its job; each is a decimal number. */
enum rd_job_key {
	RD_JOB_SLURM_JOB_ID,
	RD_JOB_SLURM_PROCID,
	RD_JOB_RANK,
	RD_JOB_LOCAL_RANK,
	RD_JOB_OMPI_COMM_WORLD_RANK,
	RD_JOB_PMIX_RANK,
	RD_JOB_KEYS
};

extern const char *const rd_job_names[RD_JOB_KEYS]; /* "SLURM_JOB_ID" */
