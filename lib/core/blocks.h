/* SPDX-License-Identifier: MIT */
/*
 * Blocks: storage that is reached by functions.
 *
 * The emulated controller (lib/nvme/emu) sits above this interface and carries NVMe commands out by
 * it; below it is a medium that the controller does not know, such as a CXL-SSD (lib/hdm).
 */
#ifndef ANNEX_CORE_BLOCKS_H
#define ANNEX_CORE_BLOCKS_H

#include <stdint.h>

/**
 * struct annex_blocks - A namespace by functions.
 * @bytes: its size, a multiple of @block.
 * @block: bytes of a block, a power of two from 512 to 16384.
 * @read: read @bytes from offset @at into @buf.
 * @write: write them. A later read() sees them once it has returned.
 * @trim: have @bytes from offset @at be zeroes.
 * @flush: all that write() and trim() have done before lasts when it returns 0.
 * @ctx: passed to each function.
 *
 * Offsets and lengths of bytes are multiples of @block. Functions may be called from any thread and
 * by several at once, and must not use the device above. Each returns 0 or a negative errno. A
 * function that returns before its medium would have been done sets *@due to the time (annex_now())
 * of that: the command is completed then. Otherwise it leaves *@due alone.
 */
struct annex_blocks {
	uint64_t bytes;
	uint32_t block;
	int (*read)(void *ctx, uint64_t at, void *buf, uint32_t bytes, uint64_t *due);
	int (*write)(void *ctx, uint64_t at, const void *buf, uint32_t bytes, uint64_t *due);
	int (*trim)(void *ctx, uint64_t at, uint64_t bytes, uint64_t *due);
	int (*flush)(void *ctx, uint64_t *due);
	void *ctx;
};

#endif
