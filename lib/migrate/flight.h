/* SPDX-License-Identifier: MIT */
/*
 * Kernels that were launched to a GPU's stream: their tensors are held until an event after the
 * kernel has passed, and then a thread releases them. The program continues meanwhile.
 */
#ifndef ANNEX_MIGRATE_FLIGHT_H
#define ANNEX_MIGRATE_FLIGHT_H

#include "uses.h"

/*
 * Prepare the launch of a kernel to @stream, so that its end can be detected.
 * annex_flight_begin(): its tensors are in the device tier. annex_flight_drop(): it is not
 * launched. annex_flight_launch(): it was launched, and its tensors no longer belong to the
 * executor.
 */
int annex_flight_prepare(struct annex_exec *e, void *stream);
int annex_flight_begin(struct annex_exec *e);
void annex_flight_drop(struct annex_exec *e);
void annex_flight_launch(struct annex_exec *e);

/*
 * Wait for the kernels in flight, and record the times of this iteration's kernels. Return: 0; the
 * error of one of them; -ETIMEDOUT.
 */
int annex_flights_wait(struct annex_exec *e);

/* Wait, and end the thread. */
void annex_flights_end(struct annex_exec *e);

#endif
