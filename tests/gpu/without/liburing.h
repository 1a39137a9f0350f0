/* SPDX-License-Identifier: MIT */
/*
 * The part of liburing that headers of lib/nvme/emu use, for machines without it; see ring.c.
 */
#ifndef ANNEX_TESTS_GPU_LIBURING_H
#define ANNEX_TESTS_GPU_LIBURING_H

struct io_uring_sqe;

struct io_uring {
	int ring_fd;
};

struct io_uring_sqe *io_uring_get_sqe(struct io_uring *ring);

#endif
