/* SPDX-License-Identifier: MIT */
/*
 * Ranges for tests: in a memfd that processes share, and on a medium that can lose its power.
 */
#ifndef ANNEX_TESTS_HDM_RIG_H
#define ANNEX_TESTS_HDM_RIG_H

#include <stdio.h>
#include <annex/hdm.h>
#include "hdm/hdm.h"

#define RIG_URI 96

/* struct hdm_rig - @uri: shm: and a file in memory, @fd. */
struct hdm_rig {
	char uri[RIG_URI];
	int fd;
	struct annex_hdm *h;
};

/* A range in a new file, opened; @more: "&KEY=VALUE" or "". */
void hdm_rig_open(struct hdm_rig *r, uint64_t bytes, const char *more);
void hdm_rig_close(struct hdm_rig *r);

/* Open it once more, or give up the test. */
struct annex_hdm *hdm_rig_again(const struct hdm_rig *r);

/* The number of pieces in the table; they must not overlap and must lie inside the range. */
unsigned int hdm_rig_count(struct annex_hdm *h);

/*
 * struct hdm_fake - A persistent medium that can lose its power.
 * @image: its contents after a power failure
 * @step: called before stores reach @image
 * @ctx: of @step
 * @steps: how often stores have reached @image
 */
struct hdm_fake {
	struct annex_medium m;
	char *image;
	void (*step)(struct hdm_fake *f);
	void *ctx;
	uint64_t steps;
};

/* A medium of @bytes, with a copy of @from, or zeroes. annex_hdm_close() frees it. */
struct hdm_fake *hdm_fake_make(uint64_t bytes, const char *from);

#endif
