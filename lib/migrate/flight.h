/* SPDX-License-Identifier: MIT */
/*
 * Kernels that were launched to a GPU's stream: their tensors stay until a mark behind the kernel
 * has passed, and then a thread lets them go. The program goes on meanwhile.
 */
#ifndef ANNEX_MIGRATE_FLIGHT_H
#define ANNEX_MIGRATE_FLIGHT_H

#include "uses.h"

/*
 * A kernel is about to be launched to @stream: see that its end can be known.
 * annex_flight_begin(): its tensors are there. annex_flight_drop(): it is not launched.
 * annex_flight_launch(): it was, and its tensors are no longer the executor's.
 */
int annex_flight_prepare(struct annex_exec *e, void *stream);
int annex_flight_begin(struct annex_exec *e);
void annex_flight_drop(struct annex_exec *e);
void annex_flight_launch(struct annex_exec *e);

/*
 * Wait for the kernels under way, and write down how long those of this iteration took. Return: 0;
 * the error of one of them; -ETIMEDOUT.
 */
int annex_flights_wait(struct annex_exec *e);

/* Wait, and end the thread. */
void annex_flights_end(struct annex_exec *e);

#endif
