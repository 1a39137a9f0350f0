// SPDX-License-Identifier: MIT
/*
 * A new part is zeroed before a client can open it, so that no client reads data of an earlier
 * part. That may take minutes, so it has a thread.
 */
#include <errno.h>
#include <stdlib.h>
#include "core/least.h"
#include "core/thread.h"
#include "server.h"

#define BLOCKS 65536u                       /* of a Write Zeroes command */
#define TELL_NS (100 * ANNEX_NSEC_PER_MSEC) /* between two messages of progress */

struct add {
	struct peer *peer;
	struct annex_serve_message m;
	struct part *part;
};

static int zero(const struct add *add)
{
	const struct annex_server *s = add->peer->s;
	const struct part *part = add->part;
	uint64_t at = part->first / s->ns.block, left = part->told.bytes / s->ns.block;
	uint64_t next = annex_now() + TELL_NS;
	int err = 0;

	while (left && !err && !annex_atomic_load(&s->stop, ANNEX_ACQUIRE)) {
		struct annex_io io = {.opcode = ANNEX_NVM_WRITE_ZEROES,
				      .nsid = s->ns.nsid,
				      .slba = at,
				      .nlb = (uint32_t)least(left, BLOCKS)};

		err = annex_dev_io(s->dev, &io, 1, NULL);
		at += io.nlb;
		left -= io.nlb;
		if (!err && annex_now() >= next) {
			serve_tell(add->peer, &add->m, part->told.bytes - left * s->ns.block);
			next = annex_now() + TELL_NS;
		}
	}
	return left && !err ? -ESHUTDOWN : err;
}

static int zero_and_flush(const struct add *add)
{
	const struct annex_server *s = add->peer->s;
	struct annex_io flush = {.opcode = ANNEX_NVM_FLUSH, .nsid = s->ns.nsid};
	int err = zero(add);

	return err ? err : annex_dev_io(s->dev, &flush, 1, NULL);
}

/* Add the part to the table, or drop it after an error. With the lock held. */
static int settle(struct annex_server *s, struct part *part, int err)
{
	if (!err) {
		part->live = true;
		err = table_save(&s->table);
	}
	if (err)
		table_drop(&s->table, part);
	return err;
}

static void *run(void *arg)
{
	struct add *add = arg;
	struct peer *p = add->peer;
	struct annex_server *s = p->s;
	int err = zero_and_flush(add);

	pthread_mutex_lock(&s->lock);
	/* A client with this answer can open the part, and add another one. */
	if (serve_answer(p, &add->m, settle(s, add->part, err)))
		p->leaving = true;
	s->adding = p->busy = false;
	if (serve_hear(p))
		p->leaving = true;
	pthread_mutex_unlock(&s->lock);
	serve_kick(s);
	free(add);
	return NULL;
}

int serve_add(struct peer *p, const struct annex_serve_message *m)
{
	const struct annex_serve_part told = serve_part_of(m);
	struct annex_server *s = p->s;
	struct add *add = malloc(sizeof(*add));
	int err;

	if (!add)
		return -ENOMEM;
	*add = (struct add){.peer = p, .m = *m};
	pthread_mutex_lock(&s->lock);
	err = s->adding ? -EBUSY : table_add(&s->table, &told, &add->part);
	if (!err) {
		/* The last thread does not need the lock any more. */
		if (s->joinable)
			pthread_join(s->adder, NULL);
		s->joinable = !annex_thread_start(&s->adder, run, add);
		s->adding = p->busy = s->joinable;
		if (p->busy)
			serve_ignore(p);
		if (!s->joinable) {
			table_drop(&s->table, add->part);
			err = -EAGAIN;
		}
	}
	pthread_mutex_unlock(&s->lock);
	if (err)
		free(add);
	return err;
}
