// SPDX-License-Identifier: MIT
/*
 * Closing files that clients have sent, and their sockets, which may hold more files. A client can
 * make close() of such a file take any time (a socket that lingers, a file of FUSE). So each close
 * has a thread of its own, which is not waited for, and counts as a socket of its user.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/thread.h"
#include "server.h"

enum state { CLOSING, CLOSED, FORGOTTEN };

/**
 * struct closer - Files to be closed.
 * @link: in the server's list.
 * @uid: the user that has sent them.
 * @state: enum state; the last of thread and server frees the structure.
 * @begun: there is a thread.
 * @n: number of @fd.
 * @fd: the files.
 */
struct closer {
	TAILQ_ENTRY(closer) link;
	uid_t uid;
	uint32_t state;
	bool begun;
	unsigned int n;
	int fd[];
};

static void *run(void *arg)
{
	struct closer *c = arg;
	uint32_t state = CLOSING;

	for (unsigned int i = 0; i < c->n; i++)
		close(c->fd[i]);
	/* Acquire and release: the last use of one side comes before the free() of the other. */
	if (!annex_atomic_cas(&c->state, &state, (uint32_t)CLOSED, ANNEX_ACQ_REL))
		free(c);
	return NULL;
}

static void start_thread(struct closer *c)
{
	pthread_t thread;

	if (c->begun || annex_thread_start(&thread, run, c))
		return; /* forget() tries again */
	c->begun = true;
	pthread_detach(thread);
}

bool serve_close(struct annex_server *s, uid_t uid, const int *fds, unsigned int n)
{
	struct closer *c = malloc(sizeof(*c) + n * sizeof(c->fd[0]));

	if (!c)
		return false;
	*c = (struct closer){.uid = uid, .state = CLOSING, .n = n};
	memcpy(c->fd, fds, n * sizeof(c->fd[0]));
	TAILQ_INSERT_TAIL(&s->closers, c, link);
	start_thread(c);
	return true;
}

/* Return: whether the thread has ended, so that it is freed. */
static bool forget(struct annex_server *s, struct closer *c, bool all)
{
	uint32_t state = CLOSING;

	start_thread(c);
	/* Acquire: pairs with run(). */
	if (annex_atomic_load(&c->state, ANNEX_ACQUIRE) != CLOSED && !all)
		return false;
	TAILQ_REMOVE(&s->closers, c, link);
	if (!c->begun)
		run(c); /* there are no more threads */
	/* As in run(). */
	if (!annex_atomic_cas(&c->state, &state, (uint32_t)FORGOTTEN, ANNEX_ACQ_REL))
		free(c);
	return true;
}

unsigned int serve_closing(struct annex_server *s, const uid_t *user)
{
	struct closer *c = TAILQ_FIRST(&s->closers), *next;
	unsigned int n = 0;

	for (; c; c = next) {
		next = TAILQ_NEXT(c, link);
		if (!forget(s, c, false) && c->uid == *user)
			n++;
	}
	return n;
}

void serve_closers_end(struct annex_server *s)
{
	while (!TAILQ_EMPTY(&s->closers))
		forget(s, TAILQ_FIRST(&s->closers), true);
}
