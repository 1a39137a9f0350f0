/* SPDX-License-Identifier: MIT */
/*
 * Memory ranges: CXL memory and what stands in for it, mapped, given out in pieces, made persistent
 * where the medium is. HDM is CXL's word: host-managed device memory (CXL 3.1, section 3.3).
 *
 * A URI names a range: see annex/uri.h. A table at its beginning says which bytes are taken. Memory
 * that is all zeroes gets a new table. Other contents are refused, unless the URI has format=1.
 *
 * Pieces with a name are for everybody who opens the range, and stay until they are freed: on a
 * persistent range over restarts too. Pieces without one belong to the handle, and end with it;
 * what a process had when it was killed is taken back by whoever needs it.
 *
 * Taking or freeing a run of pages is one store of 8 bytes with a check of its own; its name is
 * written and persisted before. So the table is right after a crash at any moment, and a piece with
 * a name is there as a whole or not at all. Names that annex_hdm_publish() gives are in a journal
 * before, which the next user of the range completes. Damage to the table is found at the next open
 * or use.
 *
 * Pieces of up to 8 KiB without a name are cut from runs of 64 KiB in the process, without a call
 * of the kernel. Locks are those of open file descriptions (fcntl(2), F_OFD_SETLK): they do not
 * reach out of a virtual machine. A program that touches a range whose file somebody truncated gets
 * a SIGBUS, unless it has called annex_mapping_catch(); calls on the range are -EIO then.
 *
 * A mapping of a cxlssd: range shows pages of the endpoint from their first touch on. Stores reach
 * the endpoint, by lines, when annex_hdm_persist() has them and when a page makes room for another
 * (window=BYTES there are at most; all by default). The endpoint's times are not felt, as only
 * touches of pages that are not there are heard. Memory that devices store to must come from
 * annex_hdm_provider(), which keeps it there. A cxlssd: file has one handle at a time: another
 * annex_hdm_open() of it, by this process or by any other, is -EBUSY.
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
#define ANNEX_HDM_PUBLISHED 8u       /* pieces that annex_hdm_publish() takes at most */
#define ANNEX_HDM_NAME 104u          /* the longest name of a piece, with its NUL */
#define ANNEX_HDM_MIN (256ull << 10) /* the smallest range */

/**
 * struct annex_hdm_opts - How to open a range. Zero means the default.
 * @timeout_ms: how long a call waits for other processes (default 30000).
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
 * Return: bits of enum annex_trait (annex/uri.h); 0 for what is no range's.
 */
unsigned int annex_hdm_traits(const char *uri);

/**
 * annex_hdm_open() - Map a range, and check or make the table of its pieces.
 * @uri: shm:, dax:, numa:, cxlssd: or pci:.
 * @opts: NULL: the defaults.
 * @out: the range, to be given back with annex_hdm_close().
 *
 * Memory that is all zeroes where the table goes gets a new one. Anything else that is no table is
 * somebody's data, and is refused unless the URI says format=1. The handle may be used by any
 * number of threads. It is of no use in a child of fork(), but to be closed: open the range there.
 *
 * Return: 0; -EINVAL, -ERANGE, -E2BIG (the URI); -EPROTONOSUPPORT (its scheme, a table or a module
 * of another version); -EOPNOTSUPP (a kernel without NUMA; no window for these devices, or no way
 * to empty the processor's caches); -ENOENT, -EACCES (no such file, or not for this user); -EPERM
 * (firmware has locked the device's decoders); -ENODEV (no such device or node; firmware declares
 * no window); -ENXIO (the driver device_dax does not have it; nothing says where a bridge has its
 * decoders); -EILSEQ (no table, or one that is broken); -EBUSY (format=1, and others use it; the
 * cxlssd: file is open already; the device has another range; another driver has decoders); -EMFILE
 * (1024 handles are open on it); -EIO (its table is on poisoned memory, it was truncated, pages are
 * not on the node, or a device refuses its decoders); -ENOTRECOVERABLE (and does not give them
 * back); -ETIMEDOUT; -ENOSPC; -ENOMEM.
 */
int annex_hdm_open(const char *uri, const struct annex_hdm_opts *opts, struct annex_hdm **out);

/**
 * annex_hdm_close() - Free the pieces without a name that came from this handle, and unmap.
 * @h: the range; may be NULL.
 *
 * No other thread may be using it.
 */
void annex_hdm_close(struct annex_hdm *h);

/**
 * struct annex_hdm_info - Facts about a range.
 * @base: where it is mapped.
 * @bytes: its size with its table.
 * @granule: pieces of more than 8 KiB, and those with a name, take whole ones of so many bytes.
 * @node: the NUMA node that it is on; -1: not known.
 * @persistent: data given to annex_hdm_persist() survives a loss of power.
 * @flush: how that is done: "clwb", "clflushopt", "clflush", "dc cvap", "dc cvac", "msync"; "none":
 *	the range is volatile, and annex_hdm_persist() does nothing.
 * @scheme: of its URI.
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
 * annex_hdm_get_info() - Read the facts about a range.
 * @h: the range.
 * @info: the facts.
 */
void annex_hdm_get_info(const struct annex_hdm *h, struct annex_hdm_info *info);

/**
 * annex_hdm_persist() - Have stores reach a persistent medium.
 * @h: the range.
 * @addr: first byte.
 * @bytes: how many bytes.
 *
 * By the processor's best instruction, and a fence; by msync() for a file in a page cache. Does
 * nothing on a volatile range.
 *
 * Return: 0; -EINVAL (not in the range); -EIO and whatever else msync() says.
 */
int annex_hdm_persist(struct annex_hdm *h, const void *addr, size_t bytes);

/**
 * annex_hdm_alloc() - Take a piece of the range; its contents are undefined.
 * @h: the range.
 * @bytes: at least 1.
 * @align: a power of two up to ANNEX_HDM_ALIGN; 0: ANNEX_HDM_LINE. It holds in every process.
 * @name: other handles find it by this name, as long as nobody frees it; NULL: it is this handle's
 *	alone. Printable ASCII.
 * @out: the piece, to be given back with annex_hdm_free().
 *
 * Small pieces without a name cost no call of the kernel most of the time. After a crash, of the
 * process or of the machine, a piece with a name is there as a whole or not at all.
 *
 * No piece lies on poison that the medium knows of, also when it has come while the range was open:
 * it is asked whenever granules are taken, and for small pieces a hundred times a second at most.
 *
 * Return: 0; -EINVAL; -ENAMETOOLONG; -EEXIST (there is one of that name); -ENOSPC (no room);
 * -EMFILE (no room for more names, of which there can be one for eight granules, 16 to 4096);
 * -EILSEQ (the table was damaged); -EIO (it is on poisoned memory); -ENODEV (the device was
 * removed); -ETIMEDOUT; -ECHILD (the handle is of before fork()); -ENOMEM.
 */
int annex_hdm_alloc(struct annex_hdm *h, size_t bytes, size_t align, const char *name, void **out);

/**
 * annex_hdm_free() - Give a piece back: one that this handle has, or any that has a name.
 * @h: the range.
 * @ptr: the piece; NULL is allowed.
 *
 * Return: 0, also for NULL; -EINVAL (no such piece); -EPERM (another handle's); -EILSEQ,
 * -ETIMEDOUT, -ECHILD.
 */
int annex_hdm_free(struct annex_hdm *h, void *ptr);

/**
 * struct annex_hdm_piece - A piece that gets a name.
 * @ptr: from annex_hdm_alloc() of this handle, without a name, and larger than 8 KiB when it was
 *	taken.
 * @bytes: length that struct annex_hdm_block will tell, at most as many as were taken.
 * @name: printable ASCII, as of annex_hdm_alloc().
 */
struct annex_hdm_piece {
	void *ptr;
	size_t bytes;
	const char *name;
};

/**
 * annex_hdm_publish() - Give pieces their names, all in one step.
 * @h: the range.
 * @pieces: the pieces, with different names.
 * @n: number of pieces, 1 to ANNEX_HDM_PUBLISHED.
 * @replace: pieces that have these names are freed in the same step.
 *
 * They are for everybody from then on, and stay when the handle is closed. So data is built in
 * pieces that nobody else sees, which are free if the process dies, and is there as a whole then:
 * of several processes that do so at once the last one has replaced all of the others, or the first
 * one remains if @replace is false. After a crash all of them have their names, or none. Persist
 * the contents of the pieces before.
 *
 * Return: 0; -EINVAL (no such piece or name, or one of them twice); -EEXIST (@replace is false);
 * -EMFILE (no room for more names); -EILSEQ, -ETIMEDOUT, -ECHILD, -EIO.
 */
int annex_hdm_publish(struct annex_hdm *h, const struct annex_hdm_piece *pieces, unsigned int n,
		      bool replace);

/**
 * struct annex_hdm_block - A piece of the range as its table knows it.
 * @offset: from the base; the same in every process.
 * @bytes: of a piece with a name, the bytes that were asked for; else whole granules, small pieces
 *	together.
 * @owned: it has no name and is this handle's.
 * @dead: it has no name, and its handle is no more.
 * @name: "": none.
 */
struct annex_hdm_block {
	uint64_t offset;
	uint64_t bytes;
	bool owned;
	bool dead;
	char name[ANNEX_HDM_NAME];
};

/**
 * annex_hdm_find() - Look a piece up by its name.
 * @h: the range.
 * @name: the name.
 * @out: the piece.
 *
 * Return: 0; -ENOENT (there is none: no line for annex_last_error()); -EILSEQ, -ETIMEDOUT, -ECHILD.
 */
int annex_hdm_find(struct annex_hdm *h, const char *name, struct annex_hdm_block *out);

/**
 * annex_hdm_next() - Walk over the pieces, in the order of their offsets.
 * @h: the range.
 * @cursor: 0 at first; the call moves it on.
 * @out: the piece.
 *
 * Return: 1 and a piece in *@out; 0: there are no more; -EILSEQ, -ETIMEDOUT, -ECHILD.
 */
int annex_hdm_next(struct annex_hdm *h, uint64_t *cursor, struct annex_hdm_block *out);

/**
 * struct annex_hdm_usage - Occupancy of a range, in bytes of whole granules.
 * @table: taken by the table itself.
 * @poisoned: free, but never given out.
 * @used: taken by all handles.
 * @free: all that is left.
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
 * @offset: from the base, as struct annex_hdm_block has it.
 *
 * Return: the address; NULL: it is outside.
 */
void *annex_hdm_at(const struct annex_hdm *h, uint64_t offset);

/**
 * annex_hdm_check() - Whether the memory of the range is there still, and has been so far.
 * @h: the range.
 *
 * Writers of a shm: range's file can cut it short, which is a SIGBUS for all who have it mapped
 * (annex/mapping.h). Data that was read from a range is good if this is called afterwards.
 *
 * Return: 0; -EIO: it was truncated or removed, or its memory was poisoned when it was read.
 */
int annex_hdm_check(struct annex_hdm *h);

/**
 * annex_hdm_provider() - The range as a provider of memory.
 * @h: the range.
 *
 * Queues, buffers and cache lines created with it live in the range, as pieces without a name.
 *
 * Return: the provider; it lives as long as the handle.
 */
const struct annex_provider *annex_hdm_provider(struct annex_hdm *h);

#ifdef __cplusplus
}
#endif
#endif
