/* SPDX-License-Identifier: MIT */
/*
 * A near-data processor in software: it stands in for a CXL memory that runs kernels on what lies
 * in it (M2NDP sections III and IV), in this process or, through a socket, for others.
 */
#ifndef ANNEX_NDP_H
#define ANNEX_NDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/log.h>
#include <annex/m2func.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_ndp;

/**
 * struct annex_ndp_opts - How to make a processor. Zero means the default, which is M2NDP's Table
 * IV.
 * @threads: threads of the host (default: as many as it has processors, at most @units). Threads
 *	that look for clients' calls run kernels as well.
 * @units: NDP units (32).
 * @subcores: sub-cores of each unit (4).
 * @slots: micro-thread slots of a sub-core (16).
 * @vlen: bits of a vector register, 128 to 1024 (256).
 * @piece: bytes of the pool region for one micro-thread, 32 or 64 (32).
 * @scratchpad: bytes of a unit (128 KiB).
 * @running: kernel instances at once (48). Some of these, and of @waiting, are kept for processes
 *	that have none, up to half; a launch of a process that has no other under way waits at
 *	worst, and is not refused.
 * @waiting: launches that wait for one to end (64).
 * @budget: instructions that a kernel instance may execute (100 billion).
 * @deadline_ms: how long an instance may run (30000).
 */
struct annex_ndp_opts {
	uint32_t threads;
	uint32_t units;
	uint32_t subcores;
	uint32_t slots;
	uint32_t vlen;
	uint32_t piece;
	uint32_t scratchpad;
	uint32_t running;
	uint32_t waiting;
	uint64_t budget;
	uint32_t deadline_ms;
};

/**
 * annex_ndp_create() - Make a processor. Its threads sleep while there is nothing to do.
 * @opts: NULL: the defaults.
 * @out: the processor, to be given back with annex_ndp_destroy().
 *
 * Return: 0; -EINVAL (an option out of range); -ENOMEM; -EAGAIN (no more threads).
 */
int annex_ndp_create(const struct annex_ndp_opts *opts, struct annex_ndp **out);

/**
 * annex_ndp_destroy() - End everything that runs, and release it. Clients get -ENODEV.
 * @ndp: the processor; may be NULL.
 */
void annex_ndp_destroy(struct annex_ndp *ndp);

/**
 * annex_m2_open_local() - Become a client of a device in this process.
 * @ndp: the device.
 * @opts: NULL: the defaults.
 * @out: the client, to be given back with annex_m2_close().
 *
 * The client is privileged: it may shoot down translations. The device may be destroyed first; then
 * every call gives -ENODEV, also those under way.
 *
 * Return: 0; -EINVAL; -ENOSPC; -ENOMEM; -EMFILE; -EAGAIN (no more threads).
 */
int annex_m2_open_local(struct annex_ndp *ndp, const struct annex_m2_opts *opts,
			struct annex_m2 **out);

#ifdef __cplusplus
}
#endif
#endif
