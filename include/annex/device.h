/* SPDX-License-Identifier: MIT */
/*
 * Devices: an NVMe controller and its namespaces, reached through queue pairs only.
 *
 * A URI names a device: see annex/uri.h.
 *
 * A device is of the process that opened it. In a child of fork() calls return -ECHILD;
 * annex_dev_close() there frees memory and does nothing else. Open the device again in the child.
 *
 * Threads may be cancelled (pthread_cancel(), deferred): that is acted upon outside of the
 * library's waits. Asynchronous cancellation is not supported.
 */
#ifndef ANNEX_DEVICE_H
#define ANNEX_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <annex/log.h>
#include <annex/provider.h>
#include <annex/queue.h>
#include <annex/uri.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_dev;

/**
 * enum annex_place - Where memory lies that a device works with.
 * @ANNEX_PLACE_ANY: ANNEX_PLACE_HOST where there is such memory, else ANNEX_PLACE_PROVIDER.
 * @ANNEX_PLACE_PROVIDER: memory of annex_dev_opts' provider.
 * @ANNEX_PLACE_HOST: host memory that is contiguous for the device (pci: only).
 * @ANNEX_PLACE_CMB: the controller memory buffer (NVMe Base 2.0 section 8.5; pci: only).
 */
enum annex_place {
	ANNEX_PLACE_ANY,
	ANNEX_PLACE_PROVIDER,
	ANNEX_PLACE_HOST,
	ANNEX_PLACE_CMB,
};

/* The largest max_transfer, in bytes. A list of its pages, with its end, fits in a page. */
#define ANNEX_DEV_TRANSFER_MAX (1u << 20)

/**
 * struct annex_dev_opts - How to open a device. Zero means the default.
 * @queues: number of I/O queue pairs (default 16 of a controller in the process, 4 of others; fewer
 *	where the controller has fewer).
 * @depth: entries of each queue, 2 to 65536 (default 1024; less where CAP.MQES is less).
 * @max_transfer: largest command in bytes (default 512 KiB, at most ANNEX_DEV_TRANSFER_MAX;
 *	less where MDTS is less).
 * @timeout_ms: how long a command may take before recovery begins (default 30000).
 * @provider: where queue memory comes from (default annex_provider_pages()).
 * @sq: where submission queues lie (default ANNEX_PLACE_ANY).
 * @cq: where completion queues lie, likewise.
 * @alone: one thread alone submits commands and waits for them. It sees that one has ended when it
 *	looks, or calls the kernel, and others no sooner than that. This saves an interrupt for each
 *	command, and with it a fifth of the time in virtual machines. (serve=alone; io_uring's
 *	IORING_SETUP_COOP_TASKRUN; of no meaning elsewhere)
 */
struct annex_dev_opts {
	uint32_t queues;
	uint32_t depth;
	uint32_t max_transfer;
	uint32_t timeout_ms;
	const struct annex_provider *provider;
	enum annex_place sq, cq;
	bool alone;
};

/**
 * struct annex_ns - A namespace.
 * @nsid: its identifier, from 1.
 * @block: bytes of a logical block.
 * @blocks: number of logical blocks.
 */
struct annex_ns {
	uint32_t nsid;
	uint32_t block;
	uint64_t blocks;
};

/**
 * annex_dev_scheme_at() - Walk over the kinds of devices.
 * @i: from 0 up to the first NULL.
 *
 * Return: the kind, or NULL.
 */
const struct annex_scheme *annex_dev_scheme_at(unsigned int i);

/**
 * annex_dev_traits() - Tell the kind of a device from its URI, without opening it.
 * @uri: its URI.
 *
 * Return: bits of enum annex_trait (annex/uri.h); 0 for what is no device's.
 */
unsigned int annex_dev_traits(const char *uri);

/**
 * annex_dev_open() - Bring a controller up and create its queue pairs.
 * @uri: what to open.
 * @opts: NULL for the defaults.
 * @out: the device, to be given back with annex_dev_close().
 *
 * Return: 0 or a negative errno; annex_last_error() says why. -EINVAL: bad URI or option;
 * -EPROTONOSUPPORT: unknown scheme; -ENOENT, -EACCES, -EISDIR ...: from the file behind it;
 * -EPERM, -ENOSYS: io_uring is refused (ng: and nvme: have no other way);
 * -EBUSY: readonly=1, and somebody else has claimed blocks to write to them;
 * -ETIMEDOUT: the controller did not become ready; -ENODEV, -EIO: it cannot do what Annex needs, or
 * failed; -ENOMEM.
 */
int annex_dev_open(const char *uri, const struct annex_dev_opts *opts, struct annex_dev **out);

/**
 * annex_dev_close() - Delete the queues, shut the controller down, free everything.
 * @dev: the device; may be NULL.
 *
 * Commands still outstanding are ended by the deletion of their queue before any memory is freed.
 * No other thread may be using the device.
 *
 * Return: 0, or -EBUSY when the kernel has commands of file: or ng: that did not end within 30 s,
 * as on a network file system whose server is away. The device is closed, but the kernel may still
 * read and write memory that is mapped: the caller must not free or reuse it before the process
 * ends. Such memory is that for which annex_dev_unmap() returns -EBUSY before the close. The
 * library's own buffers of such commands are never freed; a warning tells their bytes.
 */
int annex_dev_close(struct annex_dev *dev);

/**
 * annex_dev_uri() - The URI the device was opened with.
 * @dev: the device.
 *
 * Return: the URI; it is the device's.
 */
const char *annex_dev_uri(const struct annex_dev *dev);

/**
 * annex_dev_provider() - Where memory for its data is best taken from.
 * @dev: the device.
 *
 * Return: annex_provider_shared() for one that another process serves, which copies any other
 * memory; annex_provider_huge() for all others.
 */
const struct annex_provider *annex_dev_provider(const struct annex_dev *dev);

/**
 * annex_dev_ns() - Facts about a namespace.
 * @dev: the device.
 * @nsid: its identifier, from 1.
 * @out: the facts.
 *
 * Return: 0, or -ENXIO when the controller has no such namespace.
 */
int annex_dev_ns(const struct annex_dev *dev, uint32_t nsid, struct annex_ns *out);

/**
 * annex_dev_max_transfer() - The largest command.
 * @dev: the device.
 *
 * Return: bytes, a multiple of 4096.
 */
uint32_t annex_dev_max_transfer(const struct annex_dev *dev);

/**
 * annex_dev_has_sgl() - Whether commands may describe their data by SGLs (any alignment).
 * @dev: the device.
 *
 * Return: 1: they may; 0: they may not.
 */
int annex_dev_has_sgl(const struct annex_dev *dev);

/**
 * annex_dev_map() - Let the device reach a piece of memory.
 * @dev: the device.
 * @ptr: the memory, page aligned.
 * @len: its bytes, a multiple of the page size.
 * @addr: device address of the first byte; the whole range is contiguous for the device.
 *
 * Return: 0, -EINVAL (alignment), -EEXIST (overlaps a mapped range), -EFAULT (no such memory),
 * -ENOMEM.
 */
int annex_dev_map(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr);

/**
 * annex_dev_map_sparse() - annex_dev_map() for memory most of which does not exist most of the
 * time.
 * @dev: the device.
 * @ptr: as of annex_dev_map().
 * @len: as of annex_dev_map().
 * @addr: as of annex_dev_map().
 *
 * None of it is taken from the system, or pinned, before a command needs it.
 *
 * Return: as annex_dev_map(); -EOPNOTSUPP: this device works with pinned memory only.
 */
int annex_dev_map_sparse(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr);

/**
 * annex_dev_map_dmabuf() - annex_dev_map() for memory of another device, or of another driver.
 * @dev: the device.
 * @fd: the dma-buf.
 * @offset: the first byte in it, page aligned.
 * @ptr: where this process sees that byte; a device that works in the process (not pci:) moves
 *	data there. May be NULL for pci:.
 * @len: as of annex_dev_map().
 * @addr: as of annex_dev_map().
 *
 * Return: as annex_dev_map(); -EOPNOTSUPP: the device cannot reach that memory; -EIO: it may, but
 * data that it transfers gets lost.
 */
int annex_dev_map_dmabuf(struct annex_dev *dev, int fd, uint64_t offset, void *ptr, size_t len,
			 uint64_t *addr);

/**
 * struct annex_far_move - Bytes that a copier moves.
 * @far: address in the far memory.
 * @near: address in this process.
 * @len: how many bytes.
 * @to_far: from @near to @far; otherwise the other way.
 */
struct annex_far_move {
	uint64_t far;
	void *near;
	uint32_t len;
	bool to_far;
};

/**
 * struct annex_copier - How to reach memory that loads and stores of this process do not, such as
 * a GPU's.
 * @name: for messages.
 * @copy: carry out n moves, in any order, and return when all have ended: 0, or a negative errno if
 *	any of them failed. One call at a time for each device, from any thread; it must not use
 *	that device.
 * @ctx: passed to @copy.
 * @provider: where the near side of all moves comes from, as memory that is quick to copy from;
 *	NULL: annex_provider_pages().
 */
struct annex_copier {
	const char *name;
	int (*copy)(void *ctx, const struct annex_far_move *moves, unsigned int n);
	const struct annex_provider *provider;
	void *ctx;
};

/**
 * annex_dev_map_far() - Map memory that this process does not reach, for a device in the process.
 * @dev: the device; it works in the process (not pci:).
 * @far: its first byte, as @copier has it: page aligned, and in no other memory that is mapped for
 *	the device.
 * @len: its bytes, a multiple of the page size.
 * @copier: moves its data; it must outlive the mapping.
 * @addr: as of annex_dev_map().
 *
 * Commands read and write data there by way of a buffer of limited size (32 MiB), many commands in
 * one call of the copier; one that fails ends its commands with a data transfer error (-EFAULT).
 * The data of one command is far or is not; lists and queues never are. A device takes one copier
 * at a time. Give the mapping back with annex_dev_unmap().
 *
 * Return: as annex_dev_map(); -EOPNOTSUPP: the device moves data by itself; -EBUSY: it has another
 * copier.
 */
int annex_dev_map_far(struct annex_dev *dev, uint64_t far, size_t len,
		      const struct annex_copier *copier, uint64_t *addr);

/**
 * annex_dev_alloc() - Memory that the device can reach, zeroed.
 * @dev: the device.
 * @place: the kind of memory.
 * @len: its bytes, a multiple of the page size.
 * @ptr: where this process sees it.
 * @addr: its device address.
 *
 * Give it back with annex_dev_free(), before the device is closed.
 *
 * Return: 0; -EOPNOTSUPP: this device has no such memory; -ENOSPC: not so much of it is left;
 * -EINVAL, -ENOMEM.
 */
int annex_dev_alloc(struct annex_dev *dev, enum annex_place place, size_t len, void **ptr,
		    uint64_t *addr);

/**
 * annex_dev_free() - Give back memory of annex_dev_alloc().
 * @dev: the device.
 * @place: as it was allocated.
 * @ptr: where this process sees it.
 * @len: as it was allocated.
 * @addr: its device address.
 */
void annex_dev_free(struct annex_dev *dev, enum annex_place place, void *ptr, size_t len,
		    uint64_t addr);

/**
 * annex_dev_unmap() - Take back a mapping of annex_dev_map() or its kin.
 * @dev: the device.
 * @addr: its device address.
 * @len: the length that it was mapped with.
 *
 * Return: 0, -ENOENT, or -EBUSY while commands in flight use the range: its memory must not be
 * freed or reused. After a call has failed with -ENODEV, only this call tells.
 */
int annex_dev_unmap(struct annex_dev *dev, uint64_t addr, size_t len);

/**
 * annex_dev_qp() - The queue pair of the calling thread.
 * @dev: the device.
 *
 * The rule: threads are numbered in the order in which they first call this function in the
 * process, and thread T uses I/O queue pair T mod N of a device with N of them. Threads may share
 * a queue pair freely; the rule only spreads them. A token belongs to the queue pair that it was
 * submitted to.
 */
struct annex_qp *annex_dev_qp(struct annex_dev *dev);

/**
 * annex_dev_qp_at() - An I/O queue pair by its number.
 * @dev: the device.
 * @index: from 0.
 *
 * Return: the queue pair, or NULL when there are not so many.
 */
struct annex_qp *annex_dev_qp_at(struct annex_dev *dev, unsigned int index);

/**
 * struct annex_rings - Submission and completion entries of a queue pair in memory that no load or
 * store of this process reaches, such as a GPU's.
 * @sq: where users of the queue pair see its submission entries, 64 bytes each.
 * @cq: where they see its completion entries, 16 bytes each.
 * @sq_addr: device address of @sq, page aligned.
 * @cq_addr: device address of @cq, page aligned.
 * @zero: have bytes at ptr, which is in @cq, be zero; return 0 or a negative errno.
 * @ctx: passed to @zero.
 */
struct annex_rings {
	void *sq, *cq;
	uint64_t sq_addr, cq_addr;
	int (*zero)(void *ctx, void *ptr, size_t bytes);
	void *ctx;
};

/**
 * annex_dev_move_rings() - Have the rings of an I/O queue pair lie in such memory from now on.
 * @dev: the device.
 * @index: the queue pair's number, from 0.
 * @rings: the memory.
 *
 * No command is outstanding there. The memory stays the caller's, and is needed until the device
 * was closed. The library looks at none of it: now and at every reset it asks @rings to zero the
 * future completion entries. From now on no thread of this process may submit to the queue pair or
 * look for completions, which annex_dev_io() might do; a copy of its struct annex_qp is for others
 * to use.
 *
 * Return: 0; -EINVAL; -EBUSY (it is in use); the error that the rings' zero() returned; or that of
 * the controller. After an error but -EINVAL the device can only be closed.
 */
int annex_dev_move_rings(struct annex_dev *dev, unsigned int index,
			 const struct annex_rings *rings);

/**
 * annex_dev_io() - Carry out commands and wait for all of them, however that ends.
 * @dev: the device.
 * @ios: the commands.
 * @n: how many.
 * @res: NULL, or room for @n results.
 *
 * The bounded call that most programs want. A command that does not complete within the device's
 * timeout is aborted; if the abort does not end it either, the controller is reset. The kernel's
 * driver does both where it keeps the drive (ANNEX_TRAIT_SHARED), after half of the timeout and
 * after all of it.
 *
 * On return no command of this call is outstanding, so its buffers are the caller's again, unless
 * the call fails with -ENODEV. The kernel may still have commands of file: or ng: then, and it
 * reads and writes their buffers until it answers, also after annex_dev_close(). After -ENODEV the
 * caller must not free or reuse a buffer before annex_dev_unmap() has returned 0 for it.
 *
 * Return: 0, or the errno of the first command that failed (annex_nvme_errno()); -ETIMEDOUT when
 * one was late, even if it succeeded in the end (@res has its status), or could not be submitted in
 * time; -EINVAL or -E2BIG when a command is malformed or too large (nothing was submitted then);
 * -ENODEV when the controller is gone; -ECHILD in a child of fork(). Results of commands that were
 * not submitted have the status ANNEX_SC_ABORTED_BY_HOST.
 */
int annex_dev_io(struct annex_dev *dev, const struct annex_io *ios, unsigned int n,
		 struct annex_result *res);

/**
 * annex_dev_recover() - End commands that did not complete in time: abort, then controller reset.
 * @dev: the device.
 * @qp: the queue pair that @token was submitted to.
 * @token: the command that is late.
 *
 * Afterwards @token is complete (annex_qp_poll() takes its result), or the device is dead, which
 * completes it too. Any thread may call it; one at a time does the work.
 *
 * Return: 0; -ENODEV when the controller could not be brought back.
 */
int annex_dev_recover(struct annex_dev *dev, struct annex_qp *qp, uint64_t token);

/**
 * annex_dev_claim() - Keep blocks for oneself, to write to them, until the device is closed.
 * @dev: the device.
 * @nsid: the namespace.
 * @first: the first block.
 * @blocks: how many.
 *
 * No other device, in any process, can claim any of them meanwhile, and none can be opened by
 * readonly=1. A claim hinders only devices that claim: a program should claim blocks before it
 * overwrites them, and open a device by readonly=1 if it only reads. A killed process keeps no
 * claim, once the kernel has ended its I/O, for which half a second is waited. A device is the same
 * under each of its names, and as file: and ng:, if this user may open the kernel's own node of the
 * block device in /dev. Memory (mem:) and controllers with one owner (pci:) have one user anyway.
 *
 * Return: 0; -EBUSY: somebody else has claimed some of them, or the kernel uses them; -EROFS: the
 * file is read only; -ENXIO: there are no such blocks, or none; or the errno of a file system that
 * has no locks.
 */
int annex_dev_claim(struct annex_dev *dev, uint32_t nsid, uint64_t first, uint64_t blocks);

/**
 * annex_dev_claim_shared() - Keep writers from blocks that are read, until the device is closed.
 * @dev: the device. One that was opened by readonly=1 has claimed all of its blocks so.
 * @nsid: the namespace.
 * @first: the first block.
 * @blocks: how many.
 *
 * Other devices can claim them so too, but not by annex_dev_claim(). Whoever may read a file can
 * thereby keep writers from it. A file system without locks keeps nobody out; a warning says so.
 * annex_dev_claim() of the same device turns a shared claim into its own.
 *
 * Return: 0; -EBUSY: somebody else has claimed some of them to write to them; -ENXIO: there are no
 * such blocks, or none.
 */
int annex_dev_claim_shared(struct annex_dev *dev, uint32_t nsid, uint64_t first, uint64_t blocks);

/**
 * annex_dev_timeout_ms() - The device's command timeout.
 * @dev: the device.
 *
 * Return: milliseconds.
 */
uint32_t annex_dev_timeout_ms(const struct annex_dev *dev);

/**
 * enum annex_fault_kind - Errors that an emulated controller can be told to make.
 * @ANNEX_FAULT_ERROR: complete with @status and do not carry the command out.
 * @ANNEX_FAULT_DELAY: complete @delay_us later than it otherwise would.
 * @ANNEX_FAULT_LOSE: carry the command out and never post its completion.
 * @ANNEX_FAULT_REORDER: hold the completion back until a later command has completed.
 * @ANNEX_FAULT_TORN: carry out the first block only, then complete with @status.
 * @ANNEX_FAULT_FATAL: set CSTS.CFS and stop fetching commands (until the next reset).
 * @ANNEX_FAULT_REMOVE: vanish: registers read as all ones, nothing completes any more.
 * @ANNEX_FAULT_FLIP: complete a read as if all were well, with bit 6 of its last byte inverted.
 */
enum annex_fault_kind {
	ANNEX_FAULT_ERROR,
	ANNEX_FAULT_DELAY,
	ANNEX_FAULT_LOSE,
	ANNEX_FAULT_REORDER,
	ANNEX_FAULT_TORN,
	ANNEX_FAULT_FATAL,
	ANNEX_FAULT_REMOVE,
	ANNEX_FAULT_FLIP,
};

/**
 * struct annex_fault - One injected fault. In a URI: fault=KIND[,FIELD=VALUE]...
 * @kind: error, delay, lose, reorder, torn, fatal, remove, flip.
 * @opcode: I/O commands with this opcode only; -1: any. (op=read|write|flush|compare|zeroes|dsm)
 * @after: let this many matching commands pass first. (after=N)
 * @count: then strike this many; 0: all that follow. (count=N, default 1)
 * @lba: first block of the range that commands must touch. (lba=N)
 * @blocks: blocks of that range; 0: any command. (blocks=N)
 * @status: status to complete with (status=0xSSS as SCT << 8 | SC; default Internal Error).
 * @delay_us: for delay. (us=N)
 */
struct annex_fault {
	enum annex_fault_kind kind;
	int opcode;
	uint64_t after;
	uint64_t count;
	uint64_t lba;
	uint64_t blocks;
	uint16_t status;
	uint32_t delay_us;
};

/**
 * annex_fault_parse() - Read a fault from its URI form.
 * @spec: KIND[,FIELD=VALUE]...
 * @out: the fault.
 *
 * Return: 0 or -EINVAL, with the reason in annex_last_error().
 */
int annex_fault_parse(const char *spec, struct annex_fault *out);

/**
 * annex_dev_inject() - Add a fault to an emulated controller.
 * @dev: the device.
 * @fault: the fault; copied.
 *
 * Return: 0, -ENOTSUP (real hardware), -ENOSPC (sixteen are active), -EINVAL.
 */
int annex_dev_inject(struct annex_dev *dev, const struct annex_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
