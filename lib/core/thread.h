/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_CORE_THREAD_H
#define ANNEX_CORE_THREAD_H

#include <pthread.h>

/* annex_thread_start() - A thread that no signal handler of the program runs in, but that of
 * annex_mapping_catch(). Return: 0, -EAGAIN. */
int annex_thread_start(pthread_t *thread, void *(*run)(void *), void *arg);

#endif
