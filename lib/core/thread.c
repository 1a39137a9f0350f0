// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include "thread.h"

int annex_thread_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	/* A handler that runs in a thread of ours could touch what only that thread can bring. */
	sigfillset(&all);
	sigdelset(&all, SIGBUS);  /* annex_mapping_catch() */
	sigdelset(&all, SIGSEGV); /* a space's memory: lib/migrate/signal.c */
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err ? -EAGAIN : 0;
}
