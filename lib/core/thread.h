/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_THREAD_H
#define ANNEX_CORE_THREAD_H

#include <pthread.h>

/* annex_thread_start() - A thread that no signal handler of the program runs in, but those of
 * its own faults (SIGBUS, SIGSEGV). Return: 0, -EAGAIN. */
int annex_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
