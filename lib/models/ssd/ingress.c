// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include "ingress.h"

bool ssd_ingress_init(struct ssd_ingress *q, uint32_t room)
{
	q->room = room;
	q->done = calloc(room, sizeof(*q->done));
	return q->done;
}

void ssd_ingress_free(struct ssd_ingress *q)
{
	free(q->done);
}

static uint32_t slot(const struct ssd_ingress *q, uint32_t i)
{
	uint32_t at = q->first + i;

	return at < q->room ? at : at - q->room;
}

static void pop(struct ssd_ingress *q)
{
	q->first = slot(q, 1);
	q->n--;
}

uint64_t ssd_ingress_enter(struct ssd_ingress *q, uint64_t now)
{
	while (q->n && q->done[q->first] <= now)
		pop(q);
	if (q->n == q->room) {
		now = q->done[q->first];
		pop(q);
	}
	return now;
}

void ssd_ingress_leave(struct ssd_ingress *q, uint64_t done)
{
	uint32_t i = q->n++;

	for (; i && q->done[slot(q, i - 1)] > done; i--)
		q->done[slot(q, i)] = q->done[slot(q, i - 1)];
	q->done[slot(q, i)] = done;
}

uint64_t ssd_ingress_last(const struct ssd_ingress *q)
{
	return q->n ? q->done[slot(q, q->n - 1)] : 0;
}
