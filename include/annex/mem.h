/* SPDX-License-Identifier: MIT */
/*
 * Unified memory: tensors in a device tier of limited size, in host memory, in CXL memory and on
 * storage, at addresses that stay the same wherever their bytes are. It is the software of G10
 * sections 4.5 and 4.6: addresses are mapped to offsets on storage, and not to flash, by a table of
 * the library, and not by the page table of a GPU (annex/simulate.h has a model of that).
 *
 *	annex_store_open("file:/data/annex.img?size=8G", NULL, &store);
 *	annex_space_create(&(struct annex_space_opts){.device = 512 << 20, .stores = &store,
 *						      .n_stores = 1}, &space);
 *	annex_alloc(space, "weights", bytes, &ptr);
 *	annex_pre_evict(space, ptr, bytes, ANNEX_TIER_SSD, NULL);
 *	annex_prefetch(space, ptr, bytes, 0, &move);
 *	annex_move_wait(move, 1000);
 *
 * A thread that accesses absent bytes waits until they are in the device tier (userfaultfd, or
 * SIGSEGV if that is refused). When the device tier is full, the least recently used bytes are
 * evicted. Plans (annex/exec.h) move tensors ahead of their use.
 *
 * Stores, spaces and planners belong to the process that made them. In a child of fork() calls
 * return -ECHILD, counters are 0, iterations over tensors are empty, and calls that close or free
 * them do nothing. An access to a tensor there ends with a SIGSEGV.
 */
#ifndef ANNEX_MEM_H
#define ANNEX_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/hdm.h>
#include <annex/system.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_move;
struct annex_space;
struct annex_store;

#define ANNEX_MEM_PAGE 4096u

/**
 * struct annex_store_opts - How to use storage. Zero means the default.
 * @first: first byte of the namespace to use, a multiple of 4096 (default 0).
 * @bytes: bytes to use, a multiple of 4096 (default: all from @first on).
 * @nsid: the namespace (default 1).
 * @read_rate: largest rate of reads in bytes per second, at least a page per second, to imitate
 *	slower hardware (default: no limit).
 * @write_rate: largest rate of writes, likewise.
 * @depth: transfers in flight, at most half of the entries of the device's queues (default 32).
 * @timeout_ms: time limit of a command in milliseconds (default 30000). After three commands in a
 *	row that exceed it, evictions and prefetches fail for a second.
 * @provider: provider of queues and buffers (default annex_provider_pages()). Pinned memory is
 *	faster for spaces in a GPU's memory.
 */
struct annex_store_opts {
	uint64_t first, bytes;
	uint32_t nsid;
	double read_rate, write_rate;
	uint32_t depth;
	uint32_t timeout_ms;
	const struct annex_provider *provider;
};

/**
 * annex_store_open() - Storage that spaces of this process evict to, each with its fair share.
 * @uri: any device (annex/device.h). Its contents are overwritten.
 * @opts: the options; NULL means the defaults.
 * @out: the storage; release it with annex_store_close().
 *
 * The map of the blocks is in this process only: when it ends, the contents are lost and the next
 * process finds all blocks free. The used part is claimed (annex_dev_claim()), so a file can serve
 * several stores, also of several processes, each with its own part.
 *
 * Return: 0; -EINVAL (options); -ENOSPC (less than 4096 bytes); -EBUSY (another store uses some of
 * these bytes); as annex_dev_open() and annex_dev_claim(); -ENOMEM; -EAGAIN (too many threads).
 */
int annex_store_open(const char *uri, const struct annex_store_opts *opts,
		     struct annex_store **out);

/**
 * annex_store_close() - Close storage.
 * @store: the storage; NULL is allowed.
 *
 * Return: 0; -EBUSY: a space uses the storage, which stays open.
 */
int annex_store_close(struct annex_store *store);

/**
 * struct annex_space_opts - Options of annex_space_create(). Sizes are in bytes and rounded up to
 * pages. Zero means the default.
 * @device: size of the device tier, at least 1 MiB, on a GPU at least two frames of 2 MiB. Held
 *	tensors (annex_hold()) may exceed it. There is then still room for four times @fault_bytes
 *	of other tensors that the program accesses.
 * @host: size of the host tier (default: none).
 * @node: NUMA node of the host tier, if @bind.
 * @bind: allocate the host tier on @node.
 * @cxl: range with CXL memory (default: none).
 * @cxl_bytes: bytes to allocate in that range.
 * @stores: storage: tiers ANNEX_TIER_SSD and up (default: none).
 * @n_stores: number of @stores.
 * @size: largest sum of the sizes of all tensors (default: the size of all tiers together, and at
 *	least that of the device tier).
 * @host_rate: largest rate to and from host memory, each way, in bytes per second (default: no
 *	limit).
 * @cxl_rate: largest rate to and from CXL memory, likewise.
 * @fault_bytes: bytes brought in for one page fault, a power of two of pages (default 65536).
 * @checksum: verify a CRC-32C of bytes that return to the device tier.
 * @frames: the GPU memory that is the device tier (annex/cuda.h: frames); it must outlive the
 *	space, see annex_space_create() (default: memory of the process).
 */
struct annex_space_opts {
	uint64_t device, host;
	int node;
	bool bind;
	struct annex_hdm *cxl;
	uint64_t cxl_bytes;
	struct annex_store *const *stores;
	unsigned int n_stores;
	uint64_t size;
	double host_rate, cxl_rate;
	uint32_t fault_bytes;
	bool checksum;
	const struct annex_frames *frames;
};

/**
 * annex_space_create() - Make a space. Stores and range must outlive it.
 * @opts: the options.
 * @out: the space; release it with annex_space_destroy().
 *
 * Handling the kernel's own page faults requires CAP_SYS_PTRACE or vm.unprivileged_userfaultfd.
 * Without it, a system call fails with EFAULT if it gets an address whose bytes are not in the
 * device tier: hold the tensor, prefetch it, and wait for the move first. A system call that writes
 * to resident bytes that are not held fails likewise, because first writes are tracked by page
 * faults.
 *
 * If userfaultfd(2) is refused, as in most containers, a SIGSEGV handler takes its place. It is
 * slower, and system calls fail in the same way. The handler is installed while such a space exists
 * and passes other faults to the previous action. If the program installs a handler later, the
 * library installs its own in front of that when it next evicts bytes, a tensor is allocated, or an
 * iteration begins; until then accesses to absent bytes reach the program's handler. A thread that
 * blocks SIGSEGV and accesses absent bytes ends the process.
 *
 * Hold memory that the kernel accesses asynchronously (O_DIRECT, io_uring, RDMA) until the
 * operation has ended: data that arrives while a page is being evicted would be lost.
 *
 * In a GPU's memory (the frames of the options) tensors have GPU addresses, and accesses cannot be
 * observed. So each tensor of a kernel, also a new one, must be held, then prefetched, and the
 * prefetch waited for (annex_move_wait()) before the launch, and the hold released after the
 * kernel's end. annex_exec_before() and annex_exec_after() do that, and annex_exec_before_on() for
 * kernels that are launched ahead. Held tensors count as dirty, except those declared as read only
 * (annex/exec.h). The device tier consists of frames of the GPU, usually of 2 MiB, which tensors
 * share; whole frames are charged. Transfers to and from storage pass bounce buffers (bounced in
 * struct annex_space_stats).
 *
 * Return: 0; -EINVAL (an option); -EOPNOTSUPP (this kernel's userfaultfd lacks a feature); -ENOSPC
 * (the range is full); -ENOMEM; -EMFILE (also for more than 64 spaces that use signals); -EAGAIN
 * (too many threads).
 */
int annex_space_create(const struct annex_space_opts *opts, struct annex_space **out);

/**
 * annex_space_destroy() - Wait for transfers in flight, and free the space with its tensors.
 * @s: the space; NULL is allowed.
 *
 * No other thread may use the space or access its tensors. Every move must have been waited for
 * (annex_move_wait()) or forgotten (annex_move_forget()).
 */
void annex_space_destroy(struct annex_space *s);

/**
 * annex_alloc() - Allocate a zeroed tensor. It occupies no memory before it is written.
 * @s: the space.
 * @name: its name in messages; copied; may be NULL. Tensors smaller than a page share pages and
 *	have no name.
 * @bytes: its size.
 * @ptr: set to its address, aligned to 64 bytes. Free it with annex_free().
 *
 * Any thread may call this, and all functions below.
 *
 * Return: 0; -EINVAL (no bytes); -ENOSPC (the space's size is used up); -ENOMEM; as
 * annex_move_wait() (the page of a tensor smaller than a page could not be brought in).
 */
int annex_alloc(struct annex_space *s, const char *name, uint64_t bytes, void **ptr);

/**
 * annex_alloc_uninit() - Allocate a tensor with undefined contents.
 * @s: as for annex_alloc().
 * @name: as for annex_alloc().
 * @bytes: as for annex_alloc().
 * @ptr: as for annex_alloc().
 *
 * When the tensor is freed, its pages in the device tier are kept for the next such tensor of the
 * same number of pages, which is then allocated without delay. Kept pages are freed when the room
 * is needed, and by annex_space_trim().
 *
 * Return: as annex_alloc(), except for the errors of annex_move_wait().
 */
int annex_alloc_uninit(struct annex_space *s, const char *name, uint64_t bytes, void **ptr);

/**
 * annex_free() - Free a tensor in all tiers.
 * @s: the space.
 * @ptr: the tensor's first byte; NULL is allowed.
 *
 * Transfers in flight end by themselves; their moves end with -ECANCELED.
 *
 * Return: 0; -EINVAL: no tensor begins there.
 */
int annex_free(struct annex_space *s, void *ptr);

/**
 * annex_prefetch() - Bring bytes into the device tier, in the background.
 * @s: the space.
 * @ptr: any address in a tensor.
 * @bytes: number of bytes, within that tensor; whole pages are moved.
 * @deadline: time at which they are needed (annex_now()). Earlier deadlines go first. 0: at once.
 * @move: set to the move, for one call of annex_move_wait() or annex_move_forget(). NULL: errors
 *	are only logged.
 *
 * Pages that were never written are zeroes and get memory when they are accessed. If their tensor
 * is held (annex_hold()), they get memory now: once the move is done, no access to it waits or
 * fails.
 *
 * Return: 0; -EINVAL (not in one tensor); -ENOMEM.
 */
int annex_prefetch(struct annex_space *s, const void *ptr, uint64_t bytes, uint64_t deadline,
		   struct annex_move **move);

/**
 * annex_pre_evict() - Evict bytes from the device tier or another tier, in the background.
 * @s: the space.
 * @ptr: as for annex_prefetch().
 * @bytes: as for annex_prefetch().
 * @tier: the destination: ANNEX_TIER_HOST, _CXL, or _SSD and up. Bytes with a valid copy in a lower
 *	tier keep that copy and are not written again; bytes on storage stay on that storage.
 * @move: as for annex_prefetch(). It ends with -ENOSPC if the tier is full, and with -EBUSY if the
 *	tensor is held.
 *
 * Each page stays accessible until it is evicted, with all writes made until then. Pages that are
 * held (annex_hold()) or prefetched by that time stay; pages that are accessed later return.
 * Neither is an error.
 *
 * Return: as annex_prefetch(); -ENXIO: no such tier.
 */
int annex_pre_evict(struct annex_space *s, const void *ptr, uint64_t bytes, unsigned int tier,
		    struct annex_move **move);

/**
 * annex_move_wait() - Wait until a move is done.
 * @move: the move; it is freed unless -ETIMEDOUT is returned.
 * @timeout_ms: time limit in milliseconds.
 *
 * Return: 0, or the move's error, with the tensor's name in annex_last_error(): -EIO (also if the
 * device timed out) and other errors of the device, -ENOSPC, -EILSEQ (a checksum), -ECANCELED (the
 * tensor was freed). If bytes could not be brought in because others could not be evicted, the
 * error and the name are those of the failed eviction. -ETIMEDOUT: the move goes on and can be
 * waited for again.
 */
int annex_move_wait(struct annex_move *move, uint32_t timeout_ms);

/**
 * annex_move_forget() - Free a move without waiting; the transfer goes on.
 * @move: the move; NULL is allowed.
 *
 * A later error is only logged.
 */
void annex_move_forget(struct annex_move *move);

/**
 * annex_hold() - Keep bytes of a tensor in the device tier until annex_let_go().
 * @s: the space.
 * @ptr: any address in the tensor.
 *
 * Bytes that are in the device tier stay there; others are not brought in. Holds are counted. When
 * all bytes in the device tier are held, prefetches wait, but bytes that the program accesses and
 * tensors of a kernel (annex_exec_before()) are brought in beyond the tier's size. The excess is
 * logged once and counted (over in struct annex_space_stats).
 *
 * Return: 0, -EINVAL: no tensor there.
 */
int annex_hold(struct annex_space *s, const void *ptr);

/**
 * annex_let_go() - Undo one annex_hold().
 * @s: the space.
 * @ptr: any address in the tensor.
 *
 * Return: as annex_hold().
 */
int annex_let_go(struct annex_space *s, const void *ptr);

/**
 * annex_space_resize() - Change the device tier's budget while it is used.
 * @s: the space.
 * @device: bytes of the device tier.
 *
 * Shrinking evicts the excess in the background.
 *
 * Return: 0; -EINVAL (more than the space's size; less than the minimum, which on a GPU is the room
 * of one transfer: 6 MiB with frames of 2 MiB).
 */
int annex_space_resize(struct annex_space *s, uint64_t device);

/**
 * annex_space_trim() - Free the pages that annex_alloc_uninit() keeps of freed tensors.
 * @s: the space.
 *
 * Idle frames of a GPU are freed, too.
 */
void annex_space_trim(struct annex_space *s);

/**
 * struct annex_mem_page - Location of a page.
 * @device: the page is in the device tier.
 * @below: there is a valid copy in @tier.
 * @busy: the page is being moved.
 * @tier: the tier of that copy.
 * @at: byte offset of that copy from the start of the space's part of @tier; on storage, from the
 *	first byte that the storage uses.
 */
struct annex_mem_page {
	bool device, below, busy;
	uint8_t tier;
	uint64_t at;
};

/**
 * annex_mem_lookup() - Look up the location of a page.
 * @s: the space.
 * @ptr: an address in the page.
 * @out: its location.
 *
 * Return: 0; -EINVAL: no tensor has this page.
 */
int annex_mem_lookup(struct annex_space *s, const void *ptr, struct annex_mem_page *out);

#define ANNEX_MEM_NAME 64u

/**
 * struct annex_mem_tensor - Location of a tensor's pages. Small tensors that share pages count as
 * one.
 * @name: its name, truncated to ANNEX_MEM_NAME.
 * @ptr: its first page.
 * @bytes: bytes of its pages.
 * @device: bytes in the device tier.
 * @zero: bytes in no tier, which are zeroes.
 * @moving: bytes being moved.
 * @below: bytes with a valid copy in each lower tier. Bytes that are in the device tier too count
 *	in both.
 * @held: number of holds (annex_hold()).
 */
struct annex_mem_tensor {
	char name[ANNEX_MEM_NAME];
	void *ptr;
	uint64_t bytes;
	uint64_t device, zero, moving, below[ANNEX_TIERS];
	uint32_t held;
};

/**
 * annex_mem_next() - Iterate over the tensors, in the order of addresses.
 * @s: the space.
 * @cursor: NULL at first; each call advances it. Tensors that are allocated or freed meanwhile may
 *	be missed.
 * @out: the tensor; annex_mem_lookup() has its pages.
 *
 * Return: 1; 0: no more tensors.
 */
int annex_mem_next(struct annex_space *s, const void **cursor, struct annex_mem_tensor *out);

/**
 * struct annex_space_stats - Counters since the space was created.
 * @device: bytes of the device tier in use now.
 * @kept: of these, bytes kept of freed tensors (annex_alloc_uninit()).
 * @host: bytes of host memory in use now.
 * @cxl: bytes of CXL memory in use now.
 * @stored: bytes on storage now.
 * @in: bytes moved into the device tier.
 * @out: bytes moved out of the device tier.
 * @below: bytes moved between lower tiers.
 * @clean: bytes evicted without a write, because they had not changed.
 * @bounced: bytes copied through a bounce buffer, because the device cannot reach the memory.
 * @faults: page faults of the program on absent bytes.
 * @write_faults: page faults of the program that wrote to clean bytes.
 * @reclaimed: bytes evicted to make room for others.
 * @over: largest excess of held and accessed bytes over the device tier's size.
 */
struct annex_space_stats {
	uint64_t device, kept, host, cxl, stored;
	uint64_t in, out, below, clean, bounced;
	uint64_t faults, write_faults, reclaimed;
	uint64_t over;
};

/**
 * annex_space_get_stats() - Read the counters.
 * @s: the space.
 * @out: the counters.
 */
void annex_space_get_stats(struct annex_space *s, struct annex_space_stats *out);

/**
 * enum annex_watch - How a space observes accesses to its memory.
 * @ANNEX_WATCH_NONE: not at all: the space is in a GPU's memory.
 * @ANNEX_WATCH_SYSCALL: userfaultfd(2).
 * @ANNEX_WATCH_DEVICE: /dev/userfaultfd.
 * @ANNEX_WATCH_USER: userfaultfd(2), for accesses from user space only: see annex_space_create().
 * @ANNEX_WATCH_SIGNAL: SIGSEGV, for accesses from user space only: see annex_space_create().
 */
enum annex_watch {
	ANNEX_WATCH_NONE,
	ANNEX_WATCH_SYSCALL,
	ANNEX_WATCH_DEVICE,
	ANNEX_WATCH_USER,
	ANNEX_WATCH_SIGNAL,
};

/**
 * annex_space_get_watch() - How a space observes accesses.
 * @s: the space.
 * @how: set to the mechanism.
 * @writes: set to whether first writes are observed.
 *
 * If first writes are not observed, a page counts as dirty as soon as the program accesses it, so
 * more bytes are written out. An ANNEX_LOG_WARNING gives the reason, once per process.
 */
void annex_space_get_watch(const struct annex_space *s, enum annex_watch *how, bool *writes);

#ifdef __cplusplus
}
#endif
#endif
