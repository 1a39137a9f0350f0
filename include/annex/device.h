/* SPDX-License-Identifier: MIT */
/*
 * Devices: an NVMe controller and its namespaces, reached through queue pairs only.
 *
 * A device is named by a URI: see annex/uri.h.
 *
 * A device belongs to the process that opened it. In a child of fork() calls return -ECHILD, and
 * annex_dev_close() only frees memory. Open the device again in the child.
 *
 * Threads may be cancelled (pthread_cancel(), deferred). The library's waits are no cancellation
 * points. Asynchronous cancellation is not supported.
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
 * enum annex_place - Location of memory that a device uses.
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
 * struct annex_dev_opts - Options of annex_dev_open(). Zero means the default.
 * @queues: number of I/O queue pairs (default 16 for a controller in this process, otherwise 4;
 *	fewer if the controller has fewer).
 * @depth: entries of each queue, 2 to 65536 (default 1024; less if CAP.MQES is less).
 * @max_transfer: largest command in bytes (default 512 KiB, at most ANNEX_DEV_TRANSFER_MAX;
 *	less if MDTS is less).
 * @timeout_ms: time limit of a command before recovery begins, in milliseconds (default 30000).
 * @provider: provider of queue memory (default annex_provider_pages()).
 * @sq: location of submission queues (default ANNEX_PLACE_ANY).
 * @cq: location of completion queues, likewise.
 * @alone: a single thread submits commands and waits for them. Completions are noticed when that
 *	thread polls or enters the kernel; other threads see them no earlier. This saves an
 *	interrupt for each command, which in virtual machines is a fifth of the time. Same as
 *	serve=alone (IORING_SETUP_COOP_TASKRUN), unless the URI has serve=; no effect on devices
 *	without io_uring.
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
 * Return: bits of enum annex_trait (annex/uri.h); 0 if the URI names no device.
 */
unsigned int annex_dev_traits(const char *uri);

/**
 * annex_dev_open() - Bring a controller up and create its queue pairs.
 * @uri: the device's URI.
 * @opts: the options; NULL means the defaults.
 * @out: the device; release it with annex_dev_close().
 *
 * Return: 0 or a negative errno; annex_last_error() says why. -EINVAL: bad URI or option;
 * -EPROTONOSUPPORT: unknown scheme; -ENOENT, -EACCES, -EISDIR ...: from the file behind it;
 * -EPERM, -ENOSYS: io_uring is not available (ng: and nvme: require it);
 * -EBUSY: readonly=1, and another handle has claimed blocks for writing;
 * -ETIMEDOUT: the controller did not become ready; -ENODEV, -EIO: the controller failed, or lacks a
 * required feature; -ENOMEM.
 */
int annex_dev_open(const char *uri, const struct annex_dev_opts *opts, struct annex_dev **out);

/**
 * annex_dev_close() - Delete the queues, shut the controller down, free everything.
 * @dev: the device; may be NULL.
 *
 * Deleting a queue ends its outstanding commands before any memory is freed. No other thread may be
 * using the device.
 *
 * Return: 0, or -EBUSY if commands of a file: or ng: device did not end in the kernel within 30 s,
 * for example because the server of a network file system is down. The device is then closed, but
 * the kernel may still read and write mapped memory: the caller must not free or reuse that memory
 * before the process ends. It is the memory for which annex_dev_unmap() returns -EBUSY before the
 * close. The library never frees its own buffers of such commands, and logs a warning with their
 * size.
 */
int annex_dev_close(struct annex_dev *dev);

/**
 * annex_dev_uri() - The URI the device was opened with.
 * @dev: the device.
 *
 * Return: the URI, valid until the device is closed.
 */
const char *annex_dev_uri(const struct annex_dev *dev);

/**
 * annex_dev_provider() - The best provider of memory for a device's data.
 * @dev: the device.
 *
 * Return: annex_provider_shared() for a device that another process serves, where data in other
 * memory is copied; annex_provider_huge() for all others.
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
 * annex_dev_bytes() - The bytes that a namespace stores.
 * @dev: the device.
 * @nsid: its identifier, from 1.
 * @out: all bytes of its blocks; of a file: device whose file ends inside the last block, the size
 *	of the file when it was opened. The rest of that block reads as zeroes, and a write of other
 *	bytes to it fails with ANNEX_SC_LBA_RANGE (-ERANGE).
 *
 * Return: 0, or -ENXIO when the controller has no such namespace.
 */
int annex_dev_bytes(const struct annex_dev *dev, uint32_t nsid, uint64_t *out);

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
 * Return: 1 if they may, otherwise 0.
 */
int annex_dev_has_sgl(const struct annex_dev *dev);

/**
 * annex_dev_map() - Map memory for the device.
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
 * annex_dev_map_sparse() - annex_dev_map() for a sparse range, most of which has no pages.
 * @dev: the device.
 * @ptr: as for annex_dev_map().
 * @len: as for annex_dev_map().
 * @addr: as for annex_dev_map().
 *
 * Pages are neither allocated nor pinned before a command needs them.
 *
 * Return: as annex_dev_map(); -EOPNOTSUPP: this device requires pinned memory.
 */
int annex_dev_map_sparse(struct annex_dev *dev, void *ptr, size_t len, uint64_t *addr);

/**
 * annex_dev_map_dmabuf() - annex_dev_map() for memory of another device, or of another driver.
 * @dev: the device.
 * @fd: the dma-buf.
 * @offset: the first byte in it, page aligned.
 * @ptr: address of that byte in this process; a device that works in the process (not pci:) copies
 *	data there. May be NULL for pci:.
 * @len: as for annex_dev_map().
 * @addr: as for annex_dev_map().
 *
 * Return: as annex_dev_map(); -EOPNOTSUPP: the device cannot reach that memory; -EIO: a test
 * transfer to that memory did not arrive.
 */
int annex_dev_map_dmabuf(struct annex_dev *dev, int fd, uint64_t offset, void *ptr, size_t len,
			 uint64_t *addr);

/**
 * struct annex_far_move - A copy to or from far memory.
 * @far: address in the far memory.
 * @near: address in this process.
 * @len: number of bytes.
 * @to_far: copy from @near to @far; otherwise from @far to @near.
 */
struct annex_far_move {
	uint64_t far;
	void *near;
	uint32_t len;
	bool to_far;
};

/**
 * struct annex_copier - Access to memory that this process cannot load from or store to, such as a
 * GPU's.
 * @name: for messages.
 * @copy: carry out n moves, in any order, and return when all have ended: 0, or a negative errno if
 *	any of them failed. Called by any thread, one call at a time for each device; it must not
 *	use that device.
 * @ctx: passed to @copy.
 * @provider: provider of the near buffers of all moves, chosen for fast copies; NULL:
 *	annex_provider_pages().
 */
struct annex_copier {
	const char *name;
	int (*copy)(void *ctx, const struct annex_far_move *moves, unsigned int n);
	const struct annex_provider *provider;
	void *ctx;
};

/**
 * annex_dev_map_far() - Map memory that this process cannot reach, for a device in the process.
 * @dev: the device; it works in the process (not pci:).
 * @far: address of the first byte, as @copier uses it; page aligned, and not within other memory
 *	that is mapped for the device.
 * @len: number of bytes, a multiple of the page size.
 * @copier: copies the data; it must outlive the mapping.
 * @addr: as for annex_dev_map().
 *
 * Data of commands passes a bounce buffer of 32 MiB. One call of the copier serves many commands; a
 * failed call ends its commands with a data transfer error (-EFAULT). The data of one command must
 * be all far or all near; lists and queues are always near. A device takes one copier at a time.
 * Unmap with annex_dev_unmap().
 *
 * Return: as annex_dev_map(); -EOPNOTSUPP: the device moves data by DMA; -EBUSY: the device has
 * another copier.
 */
int annex_dev_map_far(struct annex_dev *dev, uint64_t far, size_t len,
		      const struct annex_copier *copier, uint64_t *addr);

/**
 * annex_dev_alloc() - Allocate zeroed memory that the device can reach.
 * @dev: the device.
 * @place: the kind of memory.
 * @len: number of bytes, a multiple of the page size.
 * @ptr: set to its address in this process.
 * @addr: set to its device address.
 *
 * Free it with annex_dev_free(), before the device is closed.
 *
 * Return: 0; -EOPNOTSUPP: this device has no such memory; -ENOSPC: not enough of it is free;
 * -EINVAL, -ENOMEM.
 */
int annex_dev_alloc(struct annex_dev *dev, enum annex_place place, size_t len, void **ptr,
		    uint64_t *addr);

/**
 * annex_dev_free() - Free memory of annex_dev_alloc().
 * @dev: the device.
 * @place: as passed to annex_dev_alloc().
 * @ptr: its address in this process.
 * @len: as passed to annex_dev_alloc().
 * @addr: its device address.
 */
void annex_dev_free(struct annex_dev *dev, enum annex_place place, void *ptr, size_t len,
		    uint64_t addr);

/**
 * annex_dev_unmap() - Undo annex_dev_map(), annex_dev_map_sparse(), _dmabuf() or _far().
 * @dev: the device.
 * @addr: the device address.
 * @len: the length that was mapped.
 *
 * Return: 0; -ENOENT; -EBUSY while commands in flight use the range: its memory must not be freed
 * or reused. After a call has failed with -ENODEV, only this call can tell whether memory is in
 * use.
 */
int annex_dev_unmap(struct annex_dev *dev, uint64_t addr, size_t len);

/**
 * annex_dev_qp() - The queue pair of the calling thread.
 * @dev: the device.
 *
 * Threads are numbered in the order of their first call of this function in the process. Thread T
 * uses I/O queue pair T mod N of a device with N queue pairs. This only spreads the load: any
 * thread may use any queue pair. A token belongs to the queue pair that it was submitted to.
 */
struct annex_qp *annex_dev_qp(struct annex_dev *dev);

/**
 * annex_dev_qp_at() - An I/O queue pair by its number.
 * @dev: the device.
 * @index: from 0.
 *
 * Return: the queue pair, or NULL if the device has fewer.
 */
struct annex_qp *annex_dev_qp_at(struct annex_dev *dev, unsigned int index);

/**
 * struct annex_rings - Entries of a queue pair in memory that this process cannot load from or
 * store to, such as a GPU's.
 * @sq: address of the submission entries for users of the queue pair, 64 bytes each.
 * @cq: address of the completion entries for these users, 16 bytes each.
 * @sq_addr: device address of @sq, page aligned.
 * @cq_addr: device address of @cq, page aligned.
 * @zero: set bytes at ptr, which is within @cq, to zero; return 0 or a negative errno.
 * @ctx: passed to @zero.
 */
struct annex_rings {
	void *sq, *cq;
	uint64_t sq_addr, cq_addr;
	int (*zero)(void *ctx, void *ptr, size_t bytes);
	void *ctx;
};

/**
 * annex_dev_move_rings() - Move the rings of an I/O queue pair to such memory.
 * @dev: the device.
 * @index: the queue pair's number, from 0.
 * @rings: the memory, owned by the caller; it must stay valid until the device is closed.
 *
 * No command may be outstanding on the queue pair. The library does not access the rings itself:
 * now and at every reset it calls @rings->zero() for the completion entries. Afterwards no thread
 * of this process may submit to the queue pair or poll it, so annex_dev_io() must not be used
 * either. Other processors use a copy of its struct annex_qp.
 *
 * Return: 0; -EINVAL; -EBUSY (the queue pair is in use); the error of zero(); or an error of the
 * controller. After any error except -EINVAL the device can only be closed.
 */
int annex_dev_move_rings(struct annex_dev *dev, unsigned int index,
			 const struct annex_rings *rings);

/**
 * annex_dev_io() - Submit commands and wait until all of them have ended.
 * @dev: the device.
 * @ios: the commands.
 * @n: number of commands.
 * @res: NULL, or room for @n results.
 *
 * A call with a deadline, for most programs. A command that does not complete within the device's
 * timeout is aborted; if the abort does not end it, the controller is reset. If the kernel's driver
 * keeps the drive (ANNEX_TRAIT_SHARED), it does both: it aborts after half of the timeout and
 * resets after the whole timeout.
 *
 * On return no command of this call is outstanding and the caller may reuse its buffers, unless the
 * call fails with -ENODEV. After -ENODEV the kernel may still run commands of a file: or ng:
 * device, and accesses their buffers until they end, even after annex_dev_close(). The caller must
 * then not free or reuse a buffer before annex_dev_unmap() has returned 0 for it.
 *
 * Return: 0, or the errno of the first command that failed (annex_nvme_errno()); -ETIMEDOUT if a
 * command was late, even if it succeeded in the end (@res has its status), or could not be
 * submitted in time; -EINVAL or -E2BIG if a command is malformed or too large (nothing was
 * submitted then); -ENODEV if the controller is gone; -ECHILD in a child of fork(). Results of
 * commands that were not submitted have the status ANNEX_SC_ABORTED_BY_HOST.
 */
int annex_dev_io(struct annex_dev *dev, const struct annex_io *ios, unsigned int n,
		 struct annex_result *res);

/**
 * annex_dev_recover() - End commands that timed out, by an abort, then by a controller reset.
 * @dev: the device.
 * @qp: the queue pair that @token was submitted to.
 * @token: the command that timed out.
 *
 * Afterwards @token is complete (annex_qp_poll() takes its result), also if the device is dead. Any
 * number of threads may call this; recovery runs once at a time.
 *
 * Return: 0; -ENODEV if the reset failed.
 */
int annex_dev_recover(struct annex_dev *dev, struct annex_qp *qp, uint64_t token);

/**
 * annex_dev_claim() - Claim blocks for exclusive writing, until the device is closed.
 * @dev: the device.
 * @nsid: the namespace.
 * @first: the first block.
 * @blocks: number of blocks.
 *
 * Meanwhile no other handle, in any process, can claim any of these blocks or be opened with
 * readonly=1. Claims are advisory: a program should claim blocks before it overwrites them, and
 * open a device with readonly=1 if it only reads. The claims of a killed process end when the
 * kernel has ended its I/O; a new claim waits up to half a second for that. The claim covers the
 * device under each of its names, by file: and by ng:, if this user may open the kernel's node of
 * the block device in /dev. Memory (mem:) and pci: controllers have a single user anyway.
 *
 * Return: 0; -EBUSY: some of the blocks are claimed by another handle or used by the kernel;
 * -EROFS: the file is read only; -ENXIO: no such blocks, or @blocks is 0; or the errno of a file
 * system without locks.
 */
int annex_dev_claim(struct annex_dev *dev, uint32_t nsid, uint64_t first, uint64_t blocks);

/**
 * annex_dev_claim_shared() - Claim blocks for reading, until the device is closed.
 * @dev: the device. Opening a device with readonly=1 claims all of its blocks in this way.
 * @nsid: the namespace.
 * @first: the first block.
 * @blocks: number of blocks.
 *
 * Other handles can claim the same blocks for reading, but not by annex_dev_claim(). Any user who
 * may read a file can thus keep writers from it. On a file system without locks the claim excludes
 * no writers, and a warning is logged. annex_dev_claim() of the same handle makes the claim
 * exclusive.
 *
 * Return: 0; -EBUSY: some of the blocks are claimed for writing; -ENXIO: no such blocks, or @blocks
 * is 0.
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
 * enum annex_fault_kind - Errors that can be injected into an emulated controller.
 * @ANNEX_FAULT_ERROR: complete with @status and do not carry the command out.
 * @ANNEX_FAULT_DELAY: complete the command late by @delay_us.
 * @ANNEX_FAULT_LOSE: carry the command out and never post its completion.
 * @ANNEX_FAULT_REORDER: hold the completion back until a later command has completed.
 * @ANNEX_FAULT_TORN: carry out the first block only, then complete with @status.
 * @ANNEX_FAULT_FATAL: set CSTS.CFS and stop fetching commands (until the next reset).
 * @ANNEX_FAULT_REMOVE: vanish: registers read as all ones, no command completes any more.
 * @ANNEX_FAULT_FLIP: complete a read successfully, with bit 6 of its last byte inverted.
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
 * @count: then inject the fault into this many; 0: all that follow. (count=N, default 1)
 * @lba: first block of the range; commands that access it match. (lba=N)
 * @blocks: blocks of that range; 0: any command matches. (blocks=N)
 * @status: status to complete with (status=0xSSS as SCT << 8 | SC; default Internal Error).
 * @delay_us: microseconds, for delay. (us=N)
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
 * Return: 0; -ENOTSUP (real hardware); -ENOSPC (sixteen faults are active); -EINVAL.
 */
int annex_dev_inject(struct annex_dev *dev, const struct annex_fault *fault);

#ifdef __cplusplus
}
#endif
#endif
