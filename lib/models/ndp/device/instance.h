/* SPDX-License-Identifier: MIT */
/*
 * Instances: launches from when they are accepted until they are answered.
 */
#ifndef ANNEX_NDP_DEVICE_INSTANCE_H
#define ANNEX_NDP_DEVICE_INSTANCE_H

#include "state.h"

/**
 * struct ndp_reply - The answer of an ended instance, to be given without the lock.
 * @client: NULL: no client waits for it.
 */
struct ndp_reply {
	struct ndp_client *client;
	ndp_done *done;
	void *ctx;
	struct annex_m2_answer answer;
};

/*
 * ndp_launch() - The instance's number, or a negative errno. A synchronous one that is accepted
 * gives its answer to @done. Takes the lock by itself.
 */
int64_t ndp_launch(struct ndp_client *c, const struct annex_m2_launch *asked, const void *args,
		   ndp_done *done, void *ctx);
struct annex_m2_answer ndp_poll(struct ndp_client *c, const struct annex_m2_poll *asked);

/* The following are locked. */

/* ndp_instance_fail() - Stop it; the first error is its answer. Threads leave it soon. */
void ndp_instance_fail(struct ndp_instance *in, int err, uint64_t pc, uint64_t addr);

/* ndp_instance_end() - No thread holds a unit of it: its place is the next one's. */
void ndp_instance_end(struct ndp_instance *in, struct ndp_reply *reply);

/* ndp_instance_admit() - Start waiting instances that may run now. */
void ndp_instance_admit(struct annex_ndp *ndp);

/* ndp_reply() - Lets go of the lock meanwhile. */
void ndp_reply(struct annex_ndp *ndp, const struct ndp_reply *reply);

/*
 * ready.c: ndp_schedule() - Queue the instance again when its number of ready units has changed.
 * ndp_wake() - Wake a thread, if there is work that none is about to take.
 */
void ndp_schedule(struct ndp_instance *in);
void ndp_wake(struct annex_ndp *ndp);

#endif
