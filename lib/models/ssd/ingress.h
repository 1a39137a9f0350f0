/* SPDX-License-Identifier: MIT */
/*
 * A queue of requests in service. A request that arrives when it is full waits until one leaves.
 * One thread at a time.
 */
#ifndef ANNEX_HDM_SSD_INGRESS_H
#define ANNEX_HDM_SSD_INGRESS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * struct ssd_ingress - A queue.
 * @done: times at which requests leave, ascending, in a ring.
 * @room: size of the ring.
 * @first: index of the first request.
 * @n: number of requests.
 */
struct ssd_ingress {
	uint64_t *done;
	uint32_t room, first, n;
};

/* ssd_ingress_init() - Return: false: out of memory, and ssd_ingress_free() is safe. */
bool ssd_ingress_init(struct ssd_ingress *q, uint32_t room);
void ssd_ingress_free(struct ssd_ingress *q);

/* ssd_ingress_enter() - A request arrives at @now. Return: time at which service begins.
 * ssd_ingress_leave() - Then set the time at which it leaves. */
uint64_t ssd_ingress_enter(struct ssd_ingress *q, uint64_t now);
void ssd_ingress_leave(struct ssd_ingress *q, uint64_t done);

/* ssd_ingress_last() - Time at which the last request leaves; 0: none. */
uint64_t ssd_ingress_last(const struct ssd_ingress *q);

#endif
