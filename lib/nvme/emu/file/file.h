/* SPDX-License-Identifier: MIT */
/*
 * Files and block devices behind namespaces (file:), by an io_uring, or by threads where the kernel
 * refuses one: a backend for each.
 */
#ifndef ANNEX_EMU_FILE_H
#define ANNEX_EMU_FILE_H

#include <linux/falloc.h>
#include "nvme/emu/ring/disk.h"
#include "nvme/emu/ring/ring.h"

/**
 * struct emu_file - The state of both backends.
 * @ring: the io_uring.
 * @pool: the threads; NULL: there is @ring.
 * @created: this open created the first file.
 * @grown: this open made it larger.
 * @grown_from: its size before that.
 */
struct emu_file {
	struct emu_ring ring;
	struct emu_pool *pool;
	bool created;
	bool grown;
	uint64_t grown_from;
};

/* Flags of pwritev2() for an I/O: RWF_DSYNC, whose type only the kernel's build can use. */
static inline int annex_emu_file_rwf(const struct emu_io *io)
{
	return io->opcode == ANNEX_NVM_WRITE && io->fua ? 0x2 : 0;
}

/* The mode of fallocate() for an I/O. */
static inline int annex_emu_file_mode(const struct emu_io *io)
{
	const bool zeroes = io->opcode == ANNEX_NVM_WRITE_ZEROES && !io->deac;

	return (zeroes ? FALLOC_FL_ZERO_RANGE : FALLOC_FL_PUNCH_HOLE) | FALLOC_FL_KEEP_SIZE;
}

/*
 * pool.c: annex_emu_pool - The backend by threads. annex_emu_pool_open() - The threads. -ENOMEM,
 * -EAGAIN (no more threads), -EMFILE, each with a line.
 */
extern const struct emu_backend annex_emu_pool;
int annex_emu_pool_open(struct annex_emu *emu);

/* file.c: annex_emu_file_open() - The files of a URI. annex_emu_file_undo() - The open failed:
 * restore the first file, or remove it. */
int annex_emu_file_open(struct annex_emu *emu, const struct annex_uri *uri);
void annex_emu_file_undo(struct annex_emu *emu, const struct annex_uri *uri);

/* direct.c: direct I/O (O_DIRECT), whether a file has it, and for which blocks. */
#define EMU_DIRECT_WHY 160

/* struct emu_align - Alignments in bytes: of memory, and of offsets (0: there is no direct I/O). */
struct emu_align {
	uint32_t mem;
	uint32_t offset;
};

/*
 * annex_emu_direct_find() - The alignments of a file that is open with O_DIRECT. Return: 0, or the
 * negative errno of a read of its first block.
 */
int annex_emu_direct_find(int fd, struct emu_align *align);

/*
 * annex_emu_direct_fit() - Whether direct I/O works for blocks of @asked bytes (0: any size) of a
 * file of @size bytes, which writes may change unless it is @readonly. Returns 0 with the size of a
 * block in *@block, or -EINVAL or -EOPNOTSUPP with the cause and the remedy in @why.
 */
int annex_emu_direct_fit(struct emu_align align, uint64_t size, bool readonly, uint32_t asked,
			 uint32_t *block, char why[EMU_DIRECT_WHY]);

#endif
