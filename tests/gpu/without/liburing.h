/* SPDX-License-Identifier: MIT */
/*
 * What headers of lib/nvme/emu need of liburing on a machine that has none; see ring.c.
 */
#ifndef ANNEX_TESTS_GPU_LIBURING_H
#define ANNEX_TESTS_GPU_LIBURING_H

struct io_uring {
	int ring_fd;
};

#endif
