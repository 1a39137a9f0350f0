/* SPDX-License-Identifier: MIT */
/*
 * A queue of requests that are being served: a request that comes when it is full waits for the
 * first that leaves. One thread at a time.
 */
#ifndef ANNEX_HDM_SSD_INGRESS_H
#define ANNEX_HDM_SSD_INGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* struct ssd_ingress - @done: when each request leaves, in this order, a ring of @room from @first
 * on; @n of them. */
struct ssd_ingress {
	uint64_t *done;
	uint32_t room, first, n;
};

/* ssd_ingress_init() - false: out of memory. ssd_ingress_free() may follow that. */
bool ssd_ingress_init(struct ssd_ingress *q, uint32_t room);
void ssd_ingress_free(struct ssd_ingress *q);

/* ssd_ingress_enter() - A request comes at @now. Return: when it is taken in. ssd_ingress_leave()
 * follows: when it will leave. */
uint64_t ssd_ingress_enter(struct ssd_ingress *q, uint64_t now);
void ssd_ingress_leave(struct ssd_ingress *q, uint64_t done);

/* ssd_ingress_last() - When the last of them leaves; 0: there is none. */
uint64_t ssd_ingress_last(const struct ssd_ingress *q);

#endif
