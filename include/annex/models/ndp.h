/* SPDX-License-Identifier: MIT */
/*
 * A near-data processor in software. It replaces a CXL memory device that runs kernels on its data
 * (M2NDP sections III and IV), for this process or, through a socket, for others.
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
 * struct annex_ndp_opts - Options of annex_ndp_create(). Zero means the default, from M2NDP's Table
 * IV.
 * @threads: number of host threads (default: the number of processors, at most @units). Threads
 *	that poll for clients' calls run kernels as well.
 * @units: NDP units (default 32).
 * @subcores: sub-cores of each unit (default 4).
 * @slots: micro-thread slots of a sub-core (default 16).
 * @vlen: bits of a vector register, 128 to 1024 (default 256).
 * @piece: bytes of the pool region for one micro-thread, 32 or 64 (default 32).
 * @scratchpad: bytes of a unit's scratchpad (default 128 KiB).
 * @running: most kernel instances at once (default 48). Up to half of these, and of @waiting, are
 *	reserved for processes without an instance: a launch of a process without another launch in
 *	progress may wait, but is never rejected for lack of room.
 * @waiting: most waiting launches (default 64).
 * @budget: most instructions of a kernel instance (default 100 billion).
 * @deadline_ms: time limit of an instance in milliseconds (default 30000).
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
 * annex_ndp_create() - Make a processor. Its threads sleep while they are idle.
 * @opts: the options; NULL means the defaults.
 * @out: the processor; release it with annex_ndp_destroy().
 *
 * Return: 0; -EINVAL (an option out of range); -ENOMEM; -EAGAIN (too many threads).
 */
int annex_ndp_create(const struct annex_ndp_opts *opts, struct annex_ndp **out);

/**
 * annex_ndp_destroy() - End all kernels, and free a processor. Clients get -ENODEV.
 * @ndp: the processor; may be NULL.
 */
void annex_ndp_destroy(struct annex_ndp *ndp);

/**
 * annex_m2_open_local() - Connect to a device in this process.
 * @ndp: the device.
 * @opts: the options; NULL means the defaults.
 * @out: the client; release it with annex_m2_close().
 *
 * The client is privileged: it may call annex_m2_shootdown(). The device may be destroyed first;
 * then all calls, also calls in progress, return -ENODEV.
 *
 * Return: 0; -EINVAL; -ENOSPC; -ENOMEM; -EMFILE; -EAGAIN (too many threads).
 */
int annex_m2_open_local(struct annex_ndp *ndp, const struct annex_m2_opts *opts,
			struct annex_m2 **out);

#ifdef __cplusplus
}
#endif
#endif
