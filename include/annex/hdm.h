/* SPDX-License-Identifier: MIT */
/*
 * Memory ranges: CXL memory, or other memory in its place, that is mapped, allocated in pieces, and
 * persisted if the medium is persistent. HDM is CXL's term: host-managed device memory (CXL 3.1,
 * section 3.3).
 *
 * A range is named by a URI: see annex/uri.h. A table at its beginning records which bytes are
 * allocated. Memory that is all zeroes gets a new table. Other contents are rejected, unless the
 * URI has format=1.
 *
 * A piece with a name is visible to every handle of the range and stays until it is freed, on a
 * persistent range also across restarts. A piece without a name belongs to the handle and is freed
 * with it. The pieces of a killed process are freed by the next process that needs the room.
 *
 * Allocating or freeing a run of pages is a single store of 8 bytes that includes a checksum; the
 * name is written and persisted before. So the table is consistent after a crash at any time, and a
 * piece with a name exists as a whole or not at all. annex_hdm_publish() writes names to a journal
 * first, which the next user of the range completes. Damage to the table is detected at the next
 * open or use.
 *
 * Pieces of up to 8 KiB without a name are allocated within the process from runs of 64 KiB,
 * without a system call. Locks are open file description locks (fcntl(2), F_OFD_SETLK), which do
 * not work between virtual machines. An access to a range whose file was truncated raises SIGBUS,
 * unless the program has called annex_mapping_catch(); calls on the range then return -EIO.
 *
 * A mapping of a cxlssd: range shows a page of the endpoint from its first access on. Stores reach
 * the endpoint, line by line, by annex_hdm_persist() and when the page is evicted from the window
 * (window=SIZE; by default it holds all pages). The endpoint's latencies do not delay the program,
 * since only accesses to absent pages are observed. Memory that devices store to must come from
 * annex_hdm_provider(), which pins it in the window. A cxlssd: file has one handle at a time:
 * another annex_hdm_open() of it, by this or another process, returns -EBUSY.
 *
 * docs/examples/range.c is a complete program.
 */
#ifndef ANNEX_HDM_H
#define ANNEX_HDM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/log.h>
#include <annex/provider.h>
#include <annex/uri.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_hdm;

#define ANNEX_HDM_LINE 64u           /* every piece begins on its own cache line */
#define ANNEX_HDM_ALIGN (2u << 20)   /* the largest alignment of a piece */
#define ANNEX_HDM_PUBLISHED 8u       /* most pieces for one annex_hdm_publish() */
#define ANNEX_HDM_NAME 104u          /* the longest name of a piece, with its NUL */
#define ANNEX_HDM_MIN (256ull << 10) /* the smallest range */

/**
 * struct annex_hdm_opts - Options of annex_hdm_open(). Zero means the default.
 * @timeout_ms: time limit for waiting for other processes, in milliseconds (default 30000).
 */
struct annex_hdm_opts {
	uint32_t timeout_ms;
};

/**
 * annex_hdm_scheme_at() - Walk over the kinds of ranges.
 * @i: from 0 up to the first NULL.
 *
 * Return: the kind, or NULL.
 */
const struct annex_scheme *annex_hdm_scheme_at(unsigned int i);

/**
 * annex_hdm_traits() - Tell the kind of a range from its URI, without opening it.
 * @uri: its URI.
 *
 * Return: bits of enum annex_trait (annex/uri.h); 0 if the URI names no range.
 */
unsigned int annex_hdm_traits(const char *uri);

/**
 * annex_hdm_open() - Map a range, and check or create the table of its pieces.
 * @uri: shm:, dax:, numa:, cxlssd: or pci:.
 * @opts: the options; NULL means the defaults.
 * @out: the range; release it with annex_hdm_close().
 *
 * If the memory of the table is all zeroes, a new table is written. If it has other contents that
 * are no table, they count as foreign data and the call fails, unless the URI has format=1. Any
 * number of threads may use the handle. In a child of fork() it can only be closed: open the range
 * again there.
 *
 * Return: 0; -EINVAL, -ERANGE, -E2BIG (the URI); -EPROTONOSUPPORT (unknown scheme; a table or a
 * module of another version); -EOPNOTSUPP (a kernel without NUMA; no window for these devices; no
 * way to flush the processor's caches); -ENOENT, -EACCES (no such file, or no permission); -EPERM
 * (firmware has locked the device's decoders); -ENODEV (no such device or node; firmware declares
 * no window); -ENXIO (the device is not bound to device_dax; the decoders of a bridge are not
 * described); -EILSEQ (no table, or a damaged one); -EBUSY (format=1, and other handles are open;
 * the cxlssd: file is already open; the device has another range; another driver uses decoders);
 * -EMFILE (1024 handles are open); -EIO (the table is on poisoned memory, the file was truncated,
 * pages are not on the node, or a device rejects its decoders); -ENOTRECOVERABLE (a device neither
 * accepts nor releases its decoders); -ETIMEDOUT; -ENOSPC; -ENOMEM.
 */
int annex_hdm_open(const char *uri, const struct annex_hdm_opts *opts, struct annex_hdm **out);

/**
 * annex_hdm_close() - Unmap a range, and free the pieces without a name of this handle.
 * @h: the range; may be NULL.
 *
 * No other thread may be using the handle.
 */
void annex_hdm_close(struct annex_hdm *h);

/**
 * struct annex_hdm_info - Properties of a range.
 * @base: address of its mapping.
 * @bytes: its size, including the table.
 * @granule: unit of allocation in bytes, for pieces of more than 8 KiB and pieces with a name.
 * @node: its NUMA node; -1: unknown.
 * @persistent: data passed to annex_hdm_persist() survives a power loss.
 * @flush: instruction or call that annex_hdm_persist() uses: "clwb", "clflushopt", "clflush", "dc
 *	cvap", "dc cvac", "msync"; "none": the range is volatile, and the call does nothing.
 * @scheme: scheme of its URI.
 */
struct annex_hdm_info {
	void *base;
	uint64_t bytes;
	uint64_t granule;
	int node;
	bool persistent;
	const char *flush;
	const char *scheme;
};

/**
 * annex_hdm_get_info() - Read the properties of a range.
 * @h: the range.
 * @info: the properties.
 */
void annex_hdm_get_info(const struct annex_hdm *h, struct annex_hdm_info *info);

/**
 * annex_hdm_persist() - Flush stores to the persistent medium.
 * @h: the range.
 * @addr: first byte.
 * @bytes: number of bytes.
 *
 * Uses the processor's best flush instruction and a fence, or msync() for a file in the page cache.
 * Does nothing on a volatile range.
 *
 * Return: 0; -EINVAL (not in the range); -EIO and other errors of msync().
 */
int annex_hdm_persist(struct annex_hdm *h, const void *addr, size_t bytes);

/**
 * annex_hdm_alloc() - Allocate a piece of the range, with undefined contents.
 * @h: the range.
 * @bytes: size, at least 1.
 * @align: a power of two up to ANNEX_HDM_ALIGN; 0: ANNEX_HDM_LINE. The piece has this alignment in
 *	every process.
 * @name: name by which other handles find the piece until it is freed, in printable ASCII; NULL:
 *	the piece belongs to this handle.
 * @out: the piece; release it with annex_hdm_free().
 *
 * Small pieces without a name rarely need a system call. After a crash, of the process or of the
 * machine, a piece with a name exists as a whole or not at all.
 *
 * Pieces are never allocated on memory that the medium reports as poisoned, even if the poison
 * appeared while the range was open: the medium is asked at each allocation of granules, and for
 * small pieces at most a hundred times a second.
 *
 * Return: 0; -EINVAL; -ENAMETOOLONG; -EEXIST (the name exists); -ENOSPC (no room); -EMFILE (too
 * many names: there is room for one per eight granules, at least 16 and at most 4096); -EILSEQ (the
 * table is damaged); -EIO (the table is on poisoned memory); -ENODEV (the device was removed);
 * -ETIMEDOUT; -ECHILD (the handle was opened before fork()); -ENOMEM.
 */
int annex_hdm_alloc(struct annex_hdm *h, size_t bytes, size_t align, const char *name, void **out);

/**
 * annex_hdm_free() - Free a piece of this handle, or any piece with a name.
 * @h: the range.
 * @ptr: the piece; NULL is allowed.
 *
 * Return: 0, also for NULL; -EINVAL (no such piece); -EPERM (a piece of another handle); -EILSEQ,
 * -ETIMEDOUT, -ECHILD.
 */
int annex_hdm_free(struct annex_hdm *h, void *ptr);

/**
 * annex_hdm_clear() - Zero poisoned pages, so that they can be used again.
 * @h: the range.
 * @ptr: a piece that annex_hdm_free() would free, with a name or of more than 8 KiB; NULL: all free
 *	memory.
 *
 * Other pages keep their data. Other open handles do not allocate the pages until they call this
 * too. If the table is poisoned, open the range with format=1, which clears that too.
 *
 * Return: 0, also if no page is poisoned; -EINVAL (no such piece); -EPERM (a piece of another
 * handle); -EOPNOTSUPP (only annex.ko clears poison, if the device can); -EACCES (a shared range,
 * without CAP_SYS_ADMIN); -EINTR (a signal); -EIO (the table is on poisoned memory, the program has
 * read poisoned memory, see annex_hdm_check(), or the device fails); -ENODEV (the device was
 * removed); -EILSEQ, -ETIMEDOUT, -ECHILD, -ENOMEM. After an error some pages may be cleared.
 */
int annex_hdm_clear(struct annex_hdm *h, void *ptr);

/**
 * struct annex_hdm_piece - A piece to publish, and its name.
 * @ptr: a piece that annex_hdm_alloc() of this handle returned without a name, of more than 8 KiB.
 * @bytes: length for struct annex_hdm_block, at most the allocated size.
 * @name: its name, as for annex_hdm_alloc().
 */
struct annex_hdm_piece {
	void *ptr;
	size_t bytes;
	const char *name;
};

/**
 * annex_hdm_publish() - Name several pieces in one atomic step.
 * @h: the range.
 * @pieces: the pieces, with different names.
 * @n: number of pieces, 1 to ANNEX_HDM_PUBLISHED.
 * @replace: free existing pieces with these names in the same step.
 *
 * From then on the pieces are visible to every handle, and stay when this handle is closed. So a
 * program can build data in private pieces, which are freed if it dies, and then publish the data
 * as a whole. If several processes publish the same names at once, the last one replaces the
 * others, or with @replace false the first one wins. After a crash all pieces have their names, or
 * none has. Persist the contents of the pieces before.
 *
 * Return: 0; -EINVAL (no such piece or name, or one of them twice); -EEXIST (a name exists, and
 * replace is false); -EMFILE (too many names); -EILSEQ, -ETIMEDOUT, -ECHILD, -EIO.
 */
int annex_hdm_publish(struct annex_hdm *h, const struct annex_hdm_piece *pieces, unsigned int n,
		      bool replace);

/**
 * struct annex_hdm_block - An entry of a range's table.
 * @offset: offset from the base, the same in every process.
 * @bytes: requested size of a piece with a name; otherwise whole granules, which may hold many
 *	small pieces.
 * @owned: the piece has no name and belongs to this handle.
 * @dead: the piece has no name, and its handle no longer exists.
 * @name: its name, or "".
 */
struct annex_hdm_block {
	uint64_t offset;
	uint64_t bytes;
	bool owned;
	bool dead;
	char name[ANNEX_HDM_NAME];
};

/**
 * annex_hdm_find() - Look up a piece by its name.
 * @h: the range.
 * @name: the name.
 * @out: the piece.
 *
 * Return: 0; -ENOENT (no such piece; annex_last_error() is not set); -EILSEQ, -ETIMEDOUT, -ECHILD.
 */
int annex_hdm_find(struct annex_hdm *h, const char *name, struct annex_hdm_block *out);

/**
 * annex_hdm_next() - Iterate over the pieces, in the order of their offsets.
 * @h: the range.
 * @cursor: 0 at first; each call advances it.
 * @out: the piece.
 *
 * Return: 1 and a piece in *@out; 0: no more pieces; -EILSEQ, -ETIMEDOUT, -ECHILD.
 */
int annex_hdm_next(struct annex_hdm *h, uint64_t *cursor, struct annex_hdm_block *out);

/**
 * struct annex_hdm_usage - Occupancy of a range, in bytes of whole granules.
 * @table: bytes of the table itself.
 * @poisoned: free bytes that are never allocated.
 * @used: bytes allocated by all handles.
 * @free: bytes that can be allocated.
 * @largest: the longest run of free bytes.
 */
struct annex_hdm_usage {
	uint64_t table;
	uint64_t poisoned;
	uint64_t used;
	uint64_t free;
	uint64_t largest;
};

/**
 * annex_hdm_get_usage() - Count the occupancy of a range.
 * @h: the range.
 * @out: the occupancy.
 *
 * Return: 0; -EILSEQ, -ETIMEDOUT, -ECHILD; -EIO, -ENODEV, -ENOMEM as annex_hdm_alloc().
 */
int annex_hdm_get_usage(struct annex_hdm *h, struct annex_hdm_usage *out);

/**
 * annex_hdm_at() - The address of an offset.
 * @h: the range.
 * @offset: offset from the base, as in struct annex_hdm_block.
 *
 * Return: the address, or NULL if the offset is outside of the range.
 */
void *annex_hdm_at(const struct annex_hdm *h, uint64_t offset);

/**
 * annex_hdm_check() - Check that the memory of the range has been intact so far.
 * @h: the range.
 *
 * A process with write access to the file of a shm: range can truncate it, after which accesses to
 * the mapping raise SIGBUS (annex/mapping.h). Data that was read from a range is valid if this call
 * returns 0 afterwards.
 *
 * Return: 0; -EIO: the range was truncated or removed, or poisoned memory was read.
 */
int annex_hdm_check(struct annex_hdm *h);

/**
 * annex_hdm_provider() - The range as a provider of memory.
 * @h: the range.
 *
 * The provider allocates pieces without a name, for queues, buffers and cache lines.
 *
 * Return: the provider; it lives as long as the handle.
 */
const struct annex_provider *annex_hdm_provider(struct annex_hdm *h);

#ifdef __cplusplus
}
#endif
#endif
