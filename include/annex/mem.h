/* SPDX-License-Identifier: MIT */
/*
 * Unified memory: tensors in a device tier of limited size, in host memory, in CXL memory and on
 * storage, at addresses that stay the same wherever their bytes are (G10 sections 4.5, 4.6).
 *
 *	annex_store_open("file:/data/annex.img?size=8G", NULL, &store);
 *	annex_space_create(&(struct annex_space_opts){.device = 512 << 20, .stores = &store,
 *						      .n_stores = 1}, &space);
 *	annex_alloc(space, "weights", bytes, &ptr);
 *	annex_pre_evict(space, ptr, bytes, ANNEX_TIER_SSD, NULL);
 *	annex_prefetch(space, ptr, bytes, 0, &move);
 *	annex_move_wait(move, 1000);
 *
 * A thread that touches absent bytes waits until they come (userfaultfd, or SIGSEGV where that is
 * refused). When the device tier is full, the least recently used bytes leave it. Nothing here says
 * what moves when: plans do (annex/exec.h).
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
 * @first: first byte of the namespace to use, a multiple of 4096 (0).
 * @bytes: bytes to use, a multiple of 4096 (all from @first on).
 * @nsid: the namespace (1).
 * @read_rate: bytes a second that are read, at most, and at least a page; to rehearse slower
 *	hardware (no limit).
 * @write_rate: bytes a second that are written, likewise.
 * @depth: transfers under way at once, up to half of what the device's queues hold (32).
 * @timeout_ms: of a command (30000).
 * @provider: of its queues and buffers; for spaces in a GPU's memory pinned memory is quicker
 *	(annex_provider_pages()).
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
 * @opts: NULL: the defaults.
 * @out: the storage, to be given back with annex_store_close().
 *
 * Which blocks hold what is known to this process only: with it, everything there is forgotten, and
 * the next one finds all of it free. The part that is used is claimed (annex_dev_claim()): a file
 * serves several stores, also of several processes, by parts.
 *
 * Return: 0; -EINVAL (options); -ENOSPC (no 4096 bytes there); -EBUSY (another store has it, or
 * some of it); as annex_dev_open() and annex_dev_claim(); -ENOMEM; -EAGAIN (no more threads).
 */
int annex_store_open(const char *uri, const struct annex_store_opts *opts,
		     struct annex_store **out);

/**
 * annex_store_close() - Close storage.
 * @store: the storage; NULL is allowed.
 *
 * Return: 0; -EBUSY: a space uses it, and it stays open.
 */
int annex_store_close(struct annex_store *store);

/**
 * struct annex_space_opts - How to make a space. Sizes in bytes, rounded up to pages. Zero means
 * the default.
 * @device: the device tier. At least a megabyte, and on a GPU two frames of 2 MiB. Held tensors
 *	(annex_hold()) may exceed it; programs that then touch others find room for four times
 *	@fault_bytes beside them.
 * @host: bytes of the process's memory (none).
 * @node: NUMA node of that memory, if @bind.
 * @bind: that memory is on @node.
 * @cxl: range with CXL memory (none).
 * @cxl_bytes: bytes to allocate in that range.
 * @stores: storage: tiers ANNEX_TIER_SSD and up (none).
 * @n_stores: number of @stores.
 * @size: bytes of all tensors together (all tiers together, and at least that of the device tier).
 * @host_rate: bytes a second to and from host memory, each way, at most (no limit).
 * @cxl_rate: bytes a second to and from CXL memory, each way, at most (no limit).
 * @fault_bytes: bytes that are brought for one fault, a power of two of pages (65536).
 * @checksum: bytes that come back are compared with those that left (CRC-32C).
 * @frames: the device tier is memory of this GPU (annex/cuda.h: @frames), which must outlive the
 *	space; see annex_space_create() (memory of the process).
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
 * @opts: its tiers.
 * @out: the space, to be given back with annex_space_destroy().
 *
 * Without the right to handle the kernel's own page faults (CAP_SYS_PTRACE, or
 * vm.unprivileged_userfaultfd), a system call that is given an address whose bytes are not in the
 * device tier fails with EFAULT: hold the tensor and prefetch it first. So does one that writes to
 * bytes that are there and not held, as first writes are to be seen.
 *
 * Where userfaultfd(2) is refused, as in most containers, touches are heard of by a handler of
 * SIGSEGV, which is slower, and system calls fail likewise. The handler is there as long as such a
 * space is; faults elsewhere go to the action that was there before. A handler that the program
 * installs later is covered in turn when bytes next leave, a tensor is made, or an iteration
 * begins; until then a touch of absent bytes goes to it. A thread that blocks SIGSEGV and touches
 * absent bytes ends the process.
 *
 * Memory that the kernel is to read or write there by itself, later (O_DIRECT, io_uring, RDMA),
 * must be held until that is over: pages that leave meanwhile take none of it along.
 *
 * In a GPU's memory (the options' frames) tensors are at addresses of the GPU, and nobody sees who
 * touches them. So before a kernel uses a tensor, also a new one, it is held, then prefetched, and
 * waited for; after the kernel's end it is let go. annex_exec_before() and annex_exec_after() do
 * that, also for kernels that are launched ahead (annex_exec_before_on()). Held tensors count as
 * written, but for tensors that a kernel is said to read only (annex/exec.h). The device tier
 * consists of the GPU's frames (of 2 MiB, mostly), which tensors share, and counts whole ones.
 * Bytes go to and from storage by way of buffers (the bounced bytes of struct annex_space_stats).
 *
 * Return: 0; -EINVAL (an option); -EOPNOTSUPP (this kernel's userfaultfd cannot do it); -ENOSPC
 * (the range); -ENOMEM; -EMFILE (also of more than 64 spaces that use signals); -EAGAIN (no more
 * threads).
 */
int annex_space_create(const struct annex_space_opts *opts, struct annex_space **out);

/**
 * annex_space_destroy() - Wait for transfers under way, and give everything back.
 * @s: the space; NULL is allowed.
 *
 * No other thread may be using the space, or touch its tensors. Moves that were asked for must have
 * been waited for.
 */
void annex_space_destroy(struct annex_space *s);

/**
 * annex_alloc() - A new tensor, all zeroes. It takes no memory before it is written.
 * @s: the space.
 * @name: for messages; copied; may be NULL. Tensors smaller than a page share pages, and have none.
 * @bytes: its size.
 * @ptr: the tensor, aligned to 64 bytes; to be given back with annex_free().
 *
 * Any thread may call this, and all calls below.
 *
 * Return: 0; -EINVAL (no bytes); -ENOSPC (the space's size is used up); -ENOMEM; as
 * annex_move_wait() (a tensor smaller than a page, whose shared page has to come back).
 */
int annex_alloc(struct annex_space *s, const char *name, uint64_t bytes, void **ptr);

/**
 * annex_alloc_uninit() - A new tensor, whose bytes are anything.
 * @s: as of annex_alloc().
 * @name: as of annex_alloc().
 * @bytes: as of annex_alloc().
 * @ptr: as of annex_alloc().
 *
 * When it is freed, what it has in the device tier stays there for the next such tensor of as many
 * pages, which then takes no time to be made. It goes when there is another use for the room, and
 * with annex_space_trim().
 *
 * Return: as annex_alloc(). No page has to come back.
 */
int annex_alloc_uninit(struct annex_space *s, const char *name, uint64_t bytes, void **ptr);

/**
 * annex_free() - Give a tensor back, wherever its bytes are.
 * @s: the space.
 * @ptr: the tensor, where it begins; NULL is allowed.
 *
 * Transfers of it that are under way end by themselves; their moves tell -ECANCELED.
 *
 * Return: 0; -EINVAL: no tensor begins there.
 */
int annex_free(struct annex_space *s, void *ptr);

/**
 * annex_prefetch() - Bring bytes to the device tier, in the background.
 * @s: the space.
 * @ptr: anywhere in a tensor.
 * @bytes: how many bytes, in that tensor; the pages that they are in are moved.
 * @deadline: when they are wanted (annex_now()); earlier ones go first. 0: at once.
 * @move: for annex_move_wait() or annex_move_forget(), one of which must come; NULL: nobody waits,
 *	and an error is logged only.
 *
 * Bytes that nothing has written are zeroes, and take room when they are touched. If their tensor
 * is held (annex_hold()), they come too: once the move is done, no touch of it waits or fails.
 *
 * Return: 0; -EINVAL (not in one tensor); -ENOMEM.
 */
int annex_prefetch(struct annex_space *s, const void *ptr, uint64_t bytes, uint64_t deadline,
		   struct annex_move **move);

/**
 * annex_pre_evict() - Take bytes out of the device tier, or from another tier, in the background.
 * @s: the space.
 * @ptr: as of annex_prefetch().
 * @bytes: as of annex_prefetch().
 * @tier: where to: ANNEX_TIER_HOST, _CXL, or _SSD and up. Bytes that have a copy below that is
 *	still good keep that one, and are not written again; bytes on storage stay on that storage.
 * @move: as of annex_prefetch(). It tells of a full tier (-ENOSPC), and of a tensor that is held
 *	(-EBUSY).
 *
 * Until the turn of a page has come, a program has it as before, and its writes go along. Bytes
 * that are held (annex_hold()) or prefetched by then stay; bytes that are touched later come back.
 * Neither is an error.
 *
 * Return: as annex_prefetch(); -ENXIO: there is no such tier.
 */
int annex_pre_evict(struct annex_space *s, const void *ptr, uint64_t bytes, unsigned int tier,
		    struct annex_move **move);

/**
 * annex_move_wait() - Wait until a move is done.
 * @move: the move; unless -ETIMEDOUT is returned, it is no more afterwards.
 * @timeout_ms: for up to so long.
 *
 * Return: 0; its error: -EIO and others of the device, -ENOSPC, -EILSEQ (a checksum), -ECANCELED
 * (freed meanwhile), with the tensor's name in annex_last_error(). When bytes cannot come because
 * others that are to leave for them cannot be written, the move has the error of those, and their
 * tensor's name. -ETIMEDOUT: not in time, and it can be waited for again.
 */
int annex_move_wait(struct annex_move *move, uint32_t timeout_ms);

/**
 * annex_move_forget() - Give a move up; it goes on by itself.
 * @move: the move, which is no more afterwards; NULL is allowed.
 *
 * Afterwards an error is logged only.
 */
void annex_move_forget(struct annex_move *move);

/**
 * annex_hold() - Keep bytes of a tensor in the device tier until annex_let_go().
 * @s: the space.
 * @ptr: anywhere in the tensor.
 *
 * Bytes that are in the device tier stay there; others are not brought. Holds are counted. When all
 * that is in the device tier is held, prefetched bytes wait, but bytes that a program touches, and
 * a kernel's tensors (annex_exec_before()), come all the same, beyond the tier's size; that is
 * logged once, and counted (over in struct annex_space_stats).
 *
 * Return: 0, -EINVAL: no tensor there.
 */
int annex_hold(struct annex_space *s, const void *ptr);

/**
 * annex_let_go() - Undo one annex_hold().
 * @s: the space.
 * @ptr: anywhere in the tensor.
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
 * Return: 0, -EINVAL (less than the least, which on a GPU is as much as one transfer needs: 6 MiB
 * with frames of 2 MiB; more than the space's size).
 */
int annex_space_resize(struct annex_space *s, uint64_t device);

/**
 * annex_space_trim() - Give up what freed tensors have left to the next ones.
 * @s: the space.
 *
 * See annex_alloc_uninit(). Frames of a GPU that idle are given back, too.
 */
void annex_space_trim(struct annex_space *s);

/**
 * struct annex_mem_page - Where a page is.
 * @device: it is in the device tier.
 * @below: there is a good copy below, in @tier.
 * @busy: it moves.
 * @tier: the tier of that copy.
 * @at: byte offset of that copy from where the space's part of @tier begins; on storage, from the
 *	first byte that is used of it.
 */
struct annex_mem_page {
	bool device, below, busy;
	uint8_t tier;
	uint64_t at;
};

/**
 * annex_mem_lookup() - Where a page is.
 * @s: the space.
 * @ptr: an address in the page.
 * @out: the page.
 *
 * Return: 0; -EINVAL: in no tensor.
 */
int annex_mem_lookup(struct annex_space *s, const void *ptr, struct annex_mem_page *out);

#define ANNEX_MEM_NAME 64u

/**
 * struct annex_mem_tensor - Where a tensor's pages are; small tensors that share pages are one.
 * @name: as it was given, as far as there is room for it.
 * @ptr: its first page.
 * @bytes: bytes of its pages.
 * @device: bytes in the device tier.
 * @zero: bytes in no tier, as they are zeroes.
 * @moving: bytes on their way.
 * @below: bytes with a good copy in a tier below, by tier; a byte that is in the device tier too
 *	counts in both.
 * @held: number of holds on it (annex_hold()).
 */
struct annex_mem_tensor {
	char name[ANNEX_MEM_NAME];
	void *ptr;
	uint64_t bytes;
	uint64_t device, zero, moving, below[ANNEX_TIERS];
	uint32_t held;
};

/**
 * annex_mem_next() - Walk over the tensors, in the order of addresses.
 * @s: the space.
 * @cursor: NULL in the beginning; the call moves it on. Tensors that are made or freed meanwhile
 *	may be seen or not.
 * @out: the tensor; annex_mem_lookup() tells of its pages.
 *
 * Return: 1; 0: there are no more.
 */
int annex_mem_next(struct annex_space *s, const void **cursor, struct annex_mem_tensor *out);

/**
 * struct annex_space_stats - Counters since the space was made.
 * @device: bytes of the device tier in use now.
 * @kept: of these, bytes that freed tensors left to the next ones (annex_alloc_uninit()).
 * @host: bytes of host memory in use now.
 * @cxl: bytes of CXL memory in use now.
 * @stored: bytes on storage now.
 * @in: bytes moved into the device tier.
 * @out: bytes moved out of the device tier.
 * @below: bytes moved between lower tiers.
 * @clean: bytes that left the device tier and were not written, as they had not changed.
 * @bounced: bytes that passed a buffer on the way, as the device cannot reach the memory itself.
 * @faults: faults of programs on absent bytes.
 * @write_faults: faults of programs that wrote to clean bytes.
 * @reclaimed: bytes that left because others wanted the room.
 * @over: the most bytes by which held and touched tensors were above the device tier's size.
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
 * enum annex_watch - How a space hears of touches of its memory.
 * @ANNEX_WATCH_NONE: it does not, as it is in a GPU's memory.
 * @ANNEX_WATCH_SYSCALL: userfaultfd(2).
 * @ANNEX_WATCH_DEVICE: /dev/userfaultfd.
 * @ANNEX_WATCH_USER: userfaultfd(2), of the program's own touches only: see annex_space_create().
 * @ANNEX_WATCH_SIGNAL: SIGSEGV, of the program's own touches only: see annex_space_create().
 */
enum annex_watch {
	ANNEX_WATCH_NONE,
	ANNEX_WATCH_SYSCALL,
	ANNEX_WATCH_DEVICE,
	ANNEX_WATCH_USER,
	ANNEX_WATCH_SIGNAL,
};

/**
 * annex_space_get_watch() - How a space hears of touches.
 * @s: the space.
 * @how: the way.
 * @writes: whether first writes are seen.
 *
 * Where they are not, a page that a program has touched counts as written: more is written out,
 * and that is all. An ANNEX_LOG_WARNING tells why, once in a process.
 */
void annex_space_get_watch(const struct annex_space *s, enum annex_watch *how, bool *writes);

#ifdef __cplusplus
}
#endif
#endif
