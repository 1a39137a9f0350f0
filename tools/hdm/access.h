/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast memory is: loads, stores, copies, chains of pointers. All data read is checked.
 */
#ifndef TOOLS_HDM_ACCESS_H
#define TOOLS_HDM_ACCESS_H

#include <stdint.h>
#include <annex/hdm.h>
#include "tools/common/pool.h"

/* struct memory - Memory that is measured, and its name for errors. */
struct memory {
	char *buf;
	uint64_t bytes;
	const char *name;
};

/*
 * struct access - Results.
 * @load: bytes per second of all threads.
 * @store: likewise.
 * @copy: likewise.
 * @random: random 8-byte loads per second of all threads.
 * @latency: seconds of a dependent load, with no other thread loading.
 * @loaded: the same while other threads load.
 */
struct access {
	double load, store, copy;
	double random;
	double latency, loaded;
};

/* struct persist - Seconds to store and persist a line; bytes a second in blocks of 4 KiB. */
struct persist {
	double line, rate;
};

/*
 * access_run() - Measure @m with the threads of @pool, each thing for at least @seconds. -EBADMSG,
 * with the line, for a word that differs from the one stored.
 */
int access_run(const struct memory *m, struct pool *pool, double seconds, struct access *out);

/* access_persist() - By one thread. */
int access_persist(const struct memory *m, struct annex_hdm *h, double seconds,
		   struct persist *out);

#endif
