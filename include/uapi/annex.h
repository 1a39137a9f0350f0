/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The calls between annex.ko and its users, on /dev/annex/DDDD:BB:DD.F: one file a controller, one
 * owner a file; for CXL memory see below.
 *
 * The module owns the controller's registers and its admin queue. The owner has I/O queue pairs in
 * memory of its choice, which it fills and rings itself, and says what memory the controller may
 * reach. The first call on a file is ANNEX_IOC_INFO; any other before it, and mmap(), is
 * -EPROTO.
 *
 * Every structure begins with its own size, and grows at its end: members that a shorter one of
 * an older caller has not are zero, and those of a newer caller that the module does not know are
 * -E2BIG unless they are zero. A flag or reserved field that this version does not know is -EINVAL.
 * A controller that was removed, or cannot be brought back, is -ENODEV in every call; poll()
 * reports POLLHUP then. Where somebody has made its IOMMU a lazy one meanwhile, calls that give it
 * memory or queues are -EPERM.
 */
#ifndef _UAPI_ANNEX_H
#define _UAPI_ANNEX_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define ANNEX_ABI 1

/* Flags of ANNEX_IOC_INFO. */
#define ANNEX_INFO_IOMMU (1u << 0)    /* a strict IOMMU domain holds what the owner maps, no more */
#define ANNEX_INFO_SHADOW (1u << 1)   /* shadow doorbells, at ANNEX_MMAP_SHADOW and _EVENTIDX */
#define ANNEX_INFO_CMB_SQ (1u << 2)   /* submission queues may lie in controller memory */
#define ANNEX_INFO_CMB_CQ (1u << 3)   /* completion queues, likewise */
#define ANNEX_INFO_CMB_DATA (1u << 4) /* data to be read and written, likewise */
#define ANNEX_INFO_CMB_LIST (1u << 5) /* PRP and SGL lists, likewise */

/**
 * struct annex_ioc_info - ANNEX_IOC_INFO: the version handshake, and facts.
 * @size: in: bytes of this structure.
 * @abi: in: ANNEX_ABI of the caller; another than the module's is -EPROTONOSUPPORT. out: the
 *	module's, in both cases.
 * @flags: out: ANNEX_INFO_*.
 * @vs: out: the controller's VS register.
 * @cap: out: its CAP register.
 * @cmb_bytes: out: bytes of controller memory that can be had (ANNEX_MAP_CMB).
 * @queues: out: I/O queue pairs that the controller grants; identifiers are 1 to this.
 * @max_depth: out: most entries of a queue.
 * @max_transfer: out: most bytes of a command; 0: no limit.
 * @vectors: out: interrupt vectors for completion queues; 0: poll only.
 * @doorbells: out: bytes that can be mapped at ANNEX_MMAP_DOORBELLS, and of each shadow page.
 * @rsvd: out: 0.
 */
struct annex_ioc_info {
	__u32 size;
	__u32 abi;
	__u32 flags;
	__u32 vs;
	__aligned_u64 cap;
	__aligned_u64 cmb_bytes;
	__u32 queues;
	__u32 max_depth;
	__u32 max_transfer;
	__u32 vectors;
	__u32 doorbells;
	__u32 rsvd;
};

/**
 * struct annex_ioc_identify - ANNEX_IOC_IDENTIFY: the Identify command.
 * @size: in: bytes of this structure.
 * @cns: in: 0 (namespace), 1 (controller) or 2 (list of active namespaces); others are -EINVAL.
 * @nsid: in: the namespace, or where a list begins.
 * @status: out: status field of the completion, without the phase; -EIO when it is not 0.
 * @data: in: address of 4096 bytes to be filled.
 *
 * -EOPNOTSUPP: a namespace with metadata, or whose blocks are not of 512 or 4096 bytes.
 */
struct annex_ioc_identify {
	__u32 size;
	__u32 cns;
	__u32 nsid;
	__u32 status;
	__aligned_u64 data;
};

/* Kinds of memory of ANNEX_IOC_MAP. */
#define ANNEX_MAP_USER 0u   /* the caller's: pinned, and counted against RLIMIT_MEMLOCK */
#define ANNEX_MAP_HOST 1u   /* new host memory, contiguous for the controller, zeroed */
#define ANNEX_MAP_CMB 2u    /* new controller memory; not zeroed */
#define ANNEX_MAP_DMABUF 3u /* of a dma-buf: memory of a GPU or of another driver */

/* Largest ANNEX_MAP_HOST and ANNEX_MAP_CMB, largest ANNEX_MAP_USER and ANNEX_MAP_DMABUF. */
#define ANNEX_MAP_NEW_MAX (4u << 20)
#define ANNEX_MAP_MAX (1ull << 36)

/**
 * struct annex_ioc_seg - One run of addresses that the controller sees as contiguous.
 * @addr: device address, a multiple of 4096.
 * @bytes: its length, a multiple of 4096.
 */
struct annex_ioc_seg {
	__aligned_u64 addr;
	__aligned_u64 bytes;
};

/**
 * struct annex_ioc_map - ANNEX_IOC_MAP: let the controller reach memory.
 * @size: in: bytes of this structure.
 * @kind: in: ANNEX_MAP_*.
 * @addr: in: of ANNEX_MAP_USER the address, page aligned; else 0.
 * @offset: in: of ANNEX_MAP_DMABUF the first byte, page aligned; else 0.
 * @bytes: in: how much, whole pages.
 * @segs: in: address of an array of struct annex_ioc_seg, which receives where the controller
 *	sees it, in order.
 * @nsegs: in: room in @segs. out: how many there are; more than there was room for is -ENOSPC, and
 *	nothing is mapped then. One is enough behind an IOMMU, and for ANNEX_MAP_HOST and _CMB.
 * @fd: in: the dma-buf of ANNEX_MAP_DMABUF; else -1.
 * @id: out: what names the mapping, from 1; ANNEX_MMAP_NEW(@id) maps _HOST and _CMB memory.
 * @rsvd: in: 0.
 *
 * -EFAULT: no such memory, or it is not writable; -ENOMEM: beyond RLIMIT_MEMLOCK, or none left;
 * -EOPNOTSUPP: file pages that cannot be pinned for long, no such controller memory, or a dma-buf
 * that the controller cannot reach; -ENOSPC also when the controller memory is taken; -EADDRINUSE:
 * the controller would take its addresses for those of its own memory.
 */
struct annex_ioc_map {
	__u32 size;
	__u32 kind;
	__aligned_u64 addr;
	__aligned_u64 offset;
	__aligned_u64 bytes;
	__aligned_u64 segs;
	__u32 nsegs;
	__s32 fd;
	__u32 id;
	__u32 rsvd;
};

/**
 * struct annex_ioc_unmap - ANNEX_IOC_UNMAP: take it back.
 * @size: in: bytes of this structure.
 * @id: in: of the mapping; -ENOENT when there is none.
 *
 * -EBUSY: a queue lies in it; or there is no IOMMU and the owner has queue pairs, whose commands
 * could still reach the memory. Behind an IOMMU a late command fails there.
 */
struct annex_ioc_unmap {
	__u32 size;
	__u32 id;
};

/**
 * struct annex_ioc_queue - ANNEX_IOC_QUEUE_CREATE: a queue pair in mapped memory.
 * @size: in: bytes of this structure.
 * @qid: in: its identifier, 1 to queues; -EEXIST when it is there already.
 * @depth: in: entries of each of both queues, 2 to max_depth.
 * @sq_map: in: mapping that the submission queue lies in.
 * @cq_map: in: mapping that the completion queue lies in.
 * @eventfd: in: signalled at completions; -1: none, poll.
 * @sq_offset: in: first byte of the submission queue in @sq_map, page aligned. Each queue must be
 *	contiguous for the controller, and the two may not overlap each other or another queue.
 * @cq_offset: in: first byte of the completion queue in @cq_map, page aligned.
 * @status: out: status field of the command that failed, with -EIO.
 * @rsvd: in: 0.
 *
 * The queues' memory is as the caller left it: the completion queue must be zeroed before.
 * -EOPNOTSUPP: the controller does not allow queues in that memory, or has no vector for @eventfd.
 */
struct annex_ioc_queue {
	__u32 size;
	__u32 qid;
	__u32 depth;
	__u32 sq_map;
	__u32 cq_map;
	__s32 eventfd;
	__aligned_u64 sq_offset;
	__aligned_u64 cq_offset;
	__u32 status;
	__u32 rsvd;
};

/**
 * struct annex_ioc_qid - ANNEX_IOC_QUEUE_DELETE: end a queue pair and all commands in it.
 * @size: in: bytes of this structure.
 * @qid: in: which; -ENOENT when there is none.
 *
 * On return the controller uses neither the queues nor the buffers of their commands; when it did
 * not do as told it was reset for that, and all queue pairs are gone: -EIO.
 */
struct annex_ioc_qid {
	__u32 size;
	__u32 qid;
};

/**
 * struct annex_ioc_abort - ANNEX_IOC_ABORT: the Abort command.
 * @size: in: bytes of this structure.
 * @qid: in: queue pair of the command to be aborted.
 * @cid: in: its identifier.
 * @aborted: out: 1 when the controller says that it was.
 */
struct annex_ioc_abort {
	__u32 size;
	__u32 qid;
	__u32 cid;
	__u32 aborted;
};

/**
 * struct annex_ioc_state - ANNEX_IOC_STATE: how the controller is.
 * @size: in: bytes of this structure.
 * @csts: out: its CSTS register; all ones when it is gone.
 * @resets: out: how many resets it has had; a change means that all queue pairs are gone.
 * @rsvd: out: 0.
 */
struct annex_ioc_state {
	__u32 size;
	__u32 csts;
	__u32 resets;
	__u32 rsvd;
};

/*
 * A type that Linux's ioctl-number.rst has nobody for. Of its numbers Annex uses 0x00 to 0x08 for
 * controllers, and 0x20 to 0x24 for CXL memory.
 */
#define ANNEX_IOC_TYPE 0xA7

#define ANNEX_IOC_INFO _IOWR(ANNEX_IOC_TYPE, 0x00, struct annex_ioc_info)
#define ANNEX_IOC_IDENTIFY _IOWR(ANNEX_IOC_TYPE, 0x01, struct annex_ioc_identify)
#define ANNEX_IOC_MAP _IOWR(ANNEX_IOC_TYPE, 0x02, struct annex_ioc_map)
#define ANNEX_IOC_UNMAP _IOW(ANNEX_IOC_TYPE, 0x03, struct annex_ioc_unmap)
#define ANNEX_IOC_QUEUE_CREATE _IOWR(ANNEX_IOC_TYPE, 0x04, struct annex_ioc_queue)
#define ANNEX_IOC_QUEUE_DELETE _IOW(ANNEX_IOC_TYPE, 0x05, struct annex_ioc_qid)
#define ANNEX_IOC_ABORT _IOWR(ANNEX_IOC_TYPE, 0x06, struct annex_ioc_abort)
#define ANNEX_IOC_STATE _IOWR(ANNEX_IOC_TYPE, 0x07, struct annex_ioc_state)
/* Reset the controller; queue pairs are gone then, mappings stay. -ENODEV: it did not return. */
#define ANNEX_IOC_RESET _IO(ANNEX_IOC_TYPE, 0x08)

/*
 * Offsets for mmap(), shared, and not inherited by a child; but ANNEX_MAP_HOST memory is, when its
 * owner asks for that (MADV_DOFORK). Doorbell of queue Q: the 32-bit word number 2 * Q for its
 * submission queue and 2 * Q + 1 for its completion queue, at the stride of CAP.DSTRD. After a
 * reset or removal stores to them go nowhere, and never fault.
 */
#define ANNEX_MMAP_DOORBELLS 0ull
#define ANNEX_MMAP_SHADOW (1ull << 32)
#define ANNEX_MMAP_EVENTIDX (2ull << 32)
#define ANNEX_MMAP_NEW(id) (((__u64)(id) + 3) << 32)

/*
 * CXL memory devices. /dev/annex/ADDRESS of one has the calls below and none of those above, may be
 * open any number of times, and its first call is ANNEX_IOC_HDM_INFO (-EPROTO before it).
 *
 * A range is host memory made of the memory of one or several devices. A file has at most one. It
 * is there until its last file, mapping, dma-buf and pinned page is gone. Of a device that is
 * removed while it has one nothing remains: calls are -ENODEV, memory that is touched is SIGBUS.
 * Each call can also be -EFAULT (no such arguments), -EINVAL (another @size), -E2BIG (unknown
 * members), -ENOTTY (no such call).
 */
#define ANNEX_HDM_EVENTS (1u << 0) /* events come with interrupts; else calls look for them */
#define ANNEX_HDM_POISON (1u << 1) /* it has a list of its poison */
#define ANNEX_HDM_HEALTH (1u << 2) /* @health is there */

/* Kinds of memory: lost without power, or kept. */
#define ANNEX_HDM_VOLATILE 0u
#define ANNEX_HDM_PERSISTENT 1u

/* Most devices of a range, and least and most bytes that lie on one of them in a row. */
#define ANNEX_HDM_MEMBERS 8u
#define ANNEX_HDM_GRANULARITY_MIN 256u
#define ANNEX_HDM_GRANULARITY_MAX 16384u

/**
 * struct annex_ioc_hdm_info - ANNEX_IOC_HDM_INFO: the version handshake, and facts.
 * @size: in: bytes of this structure.
 * @abi: in: ANNEX_ABI of the caller; another than the module's is -EPROTONOSUPPORT. out: the
 *	module's, in both cases.
 * @flags: out: ANNEX_HDM_*.
 * @decoders: out: HDM decoders of the device.
 * @serial: out: its serial number; 0: none.
 * @volatile_bytes: out: its capacity of volatile memory.
 * @persistent_bytes: out: its capacity of persistent memory.
 * @granule: out: a range takes a multiple of so many bytes of each member.
 * @status: out: its Memory Device Status register; all ones when it is gone.
 * @range_bytes: out: of the range that it has; 0: none.
 * @poison: out: records in its list of poison.
 * @users: out: files that have it open, this one among them.
 * @health: out: the answer to Get Health Info (18 bytes), then 0.
 * @rsvd: out: 0.
 */
struct annex_ioc_hdm_info {
	__u32 size;
	__u32 abi;
	__u32 flags;
	__u32 decoders;
	__aligned_u64 serial;
	__aligned_u64 volatile_bytes;
	__aligned_u64 persistent_bytes;
	__aligned_u64 granule;
	__aligned_u64 status;
	__aligned_u64 range_bytes;
	__u32 poison;
	__u32 users;
	__u8 health[20];
	__u32 rsvd;
};

/**
 * struct annex_ioc_hdm_range - ANNEX_IOC_HDM_RANGE: create the range of this device, or join it.
 * @size: in: bytes of this structure.
 * @kind: in: ANNEX_HDM_VOLATILE or _PERSISTENT.
 * @bytes: in: how much; 0: all that is free, or as much as there is already. out: how much it is.
 * @wc: in: bytes before the uncached ones that are mapped write-combining, multiple of 2 MiB.
 * @uc: in: bytes at the end that are mapped uncached, multiple of 2 MiB; they are had in pieces, by
 *	ANNEX_IOC_HDM_M2FUNC, and the write-combining ones by mmap() only: neither is in dma-bufs,
 *	nor can files be read into it without a copy.
 * @members: in: address of @nmembers descriptors of files of CXL devices, in interleave order, this
 *	file's among them; 0: this device alone.
 * @nmembers: in: 0, 1, 2, 4 or 8.
 * @granularity: in: bytes on one member before the next; 0: the window's. out: what it is.
 * @base: out: host physical address.
 *
 * -EBUSY: there is one with other numbers, or one on its way out; decoders of another driver's, or
 * committed out of order; addresses that cannot be write-combining; -ENOSPC: no window with room,
 * no free decoder, not so much memory; -EOPNOTSUPP: no window for these devices in this order, or
 * with this kind of memory; a bridge or switch without decoders; a processor whose caches cannot be
 * emptied, unless the module's allow_stale_caches is set; -EPERM: firmware has locked decoders, or
 * the device without CXL.mem; -EIO, -ETIMEDOUT: a device refuses what it is told; -ENOTRECOVERABLE:
 * and keeps a decoder committed, whose addresses are lost until the next boot; -ENODEV: one of them
 * was removed, or firmware declares no window; -ENXIO: it does not say where a host bridge has its
 * registers; -EINVAL: numbers that cannot be, a member twice, without this file's, or no CXL
 * memory, registers that cannot be where they are said to be; -EBADF, -EFAULT: no such @members;
 * -ENOMEM.
 */
struct annex_ioc_hdm_range {
	__u32 size;
	__u32 kind;
	__aligned_u64 bytes;
	__aligned_u64 wc;
	__aligned_u64 uc;
	__aligned_u64 members;
	__u32 nmembers;
	__u32 granularity;
	__aligned_u64 base;
};

/**
 * struct annex_ioc_hdm_dmabuf - ANNEX_IOC_HDM_DMABUF: cacheable memory of the range as a dma-buf.
 * @size: in: bytes of this structure.
 * @fd: out: its descriptor, closed on exec.
 * @offset: in: first byte in the range, page aligned.
 * @bytes: in: how much, whole pages.
 *
 * -ENXIO: the file has no range; -EINVAL: no such pages, or not cacheable ones; -ENODEV: the range
 * has ended; -EMFILE, -ENFILE: no more descriptors; -ENOMEM.
 */
struct annex_ioc_hdm_dmabuf {
	__u32 size;
	__s32 fd;
	__aligned_u64 offset;
	__aligned_u64 bytes;
};

#define ANNEX_M2FUNC_PIECES 31
#define ANNEX_M2FUNC_SHARE 2

/**
 * struct annex_ioc_hdm_m2func - ANNEX_IOC_HDM_M2FUNC: a piece of the uncached memory, as a file of
 * its own, which only the address space of the caller can map. The piece is zeroed, and has an
 * entry in the device's filter, below. It is freed when the last descriptor and mapping of its file
 * is gone. A child that is forked inherits no mapping; the file keeps the device's file open.
 * @size: in: bytes of this structure.
 * @fd: out: its descriptor, closed on exec, for mmap() from offset 0: -EACCES in another address
 *	space, -EINVAL beyond its end, private or executable.
 * @bytes: in: how much, whole pages; -ENOSPC when there is no such piece, or no entry; -EMFILE when
 *	the address space would have more than ANNEX_M2FUNC_PIECES of the range, or more than one
 *	part in ANNEX_M2FUNC_SHARE of its uncached memory, or when there are no more descriptors;
 *	-EINVAL: not whole pages; -ENXIO: the file has no range; -ENODEV: it has ended; -ENOMEM,
 *	-ENFILE.
 * @offset: out: where in the range. mmap() of the device's file there is -EACCES.
 */
struct annex_ioc_hdm_m2func {
	__u32 size;
	__s32 fd;
	__aligned_u64 bytes;
	__aligned_u64 offset;
};

#define ANNEX_FILTER_MAGIC 0x32746c46786e6e41ull
#define ANNEX_FILTER_VERSION 1
#define ANNEX_FILTER_ENTRIES 124

/**
 * struct annex_filter_entry - A region of uncached memory that belongs to an address space.
 * @base: offset of its first byte in the range.
 * @bound: offset of the first byte behind it.
 * @asid: the address space; 0: of none.
 * @rsvd0: 0.
 * @rsvd1: 0.
 */
struct annex_filter_entry {
	__aligned_u64 base;
	__aligned_u64 bound;
	__u32 asid;
	__u32 rsvd0;
	__aligned_u64 rsvd1;
};

/**
 * struct annex_filter - The packet filter of M2NDP (section III-B), which a device that answers
 * M2func calls reads: in the first page of the uncached memory, which no file can map. Written by
 * the module, but for @seen and @beat.
 * @magic: ANNEX_FILTER_MAGIC once the rest is there; 0 when the range ends.
 * @version: ANNEX_FILTER_VERSION.
 * @entries: how many there are room for.
 * @change: goes up before entries are changed, to an odd number, and afterwards; the same even one
 *	before and after they are read: they belong together.
 * @generation: a random number, another one for each table: where it has changed, all of what the
 *	last one said is over, though the same may stand there again.
 * @seen: by the device: the last @change that it acts upon. A piece is given to somebody else when
 *	it has seen that the last owner is gone, or is not there.
 * @beat: by the device: goes up, at least ten times a second.
 * @entry: the regions.
 * @rsvd0: 0.
 * @rsvd1: 0.
 */
struct annex_filter {
	__aligned_u64 magic;
	__u32 version;
	__u32 entries;
	__aligned_u64 change;
	__aligned_u64 generation;
	__aligned_u64 rsvd0[4];
	__aligned_u64 seen;
	__aligned_u64 beat;
	__aligned_u64 rsvd1[6];
	struct annex_filter_entry entry[ANNEX_FILTER_ENTRIES];
};

#define ANNEX_POISON_RESCAN (1u << 0) /* ask the devices first */
#define ANNEX_POISON_DEVICE (1u << 1) /* records of this device, with device addresses */

/**
 * struct annex_ioc_hdm_poison - ANNEX_IOC_HDM_POISON: what must not be touched.
 * @size: in: bytes of this structure.
 * @flags: in: ANNEX_POISON_*.
 * @list: in: address of an array of struct annex_ioc_seg: whole pages, by their offset in the
 *	range, ascending; with ANNEX_POISON_DEVICE device addresses.
 * @count: in: room in @list. out: how many there are; @list has as many of them as it has room for.
 * @first: in: so many are left out, from the beginning: for a list that is read in parts.
 *
 * -EINVAL: unknown flags, room for more than 65536; -ENXIO: the file has no range; -EFAULT: no such
 * @list; -ENOMEM; with ANNEX_POISON_RESCAN also -EOPNOTSUPP: a device has no such list; -EIO,
 * -EPROTO, -EBUSY, -ETIMEDOUT: it does not tell it, or does not tell it right.
 *
 * More pages may become poison at any time. poll() reports POLLPRI when there are some that this
 * file has not been told of, that is, since the last call here with @first 0 after which all of the
 * list was told, by it or by further ones. When there are some between two parts, runs may have
 * become one: whoever wants all begins anew. A device without interrupts is asked by poll(), and
 * once a second while it waits; poll() of a file that has no range yet looks at its device alone.
 */
struct annex_ioc_hdm_poison {
	__u32 size;
	__u32 flags;
	__aligned_u64 list;
	__u32 count;
	__u32 first;
};

/**
 * struct annex_hdm_event - An event record of the device, as read() gives it, whole ones only.
 * A file sees those that come after it was opened; without O_NONBLOCK read() waits for the next.
 * poll() reports POLLIN when there are some; whoever is woken by one that tells of poison finds the
 * pages in the range's list, if the device could list them. A device without interrupts is asked
 * once a second meanwhile. Of logs that are firmware's nothing is seen.
 * @seq: number of the record since the device was bound, from 1.
 * @log: 0 information, 1 warning, 2 failure, 3 fatal.
 * @lost: how many came before it that this file has not seen: it was too slow, or the device was.
 * @record: as the device gave it (Common Event Record Format, CXL 3.1 section 8.2.9.2.1).
 */
struct annex_hdm_event {
	__aligned_u64 seq;
	__u32 log;
	__u32 lost;
	__u8 record[128];
};

#define ANNEX_IOC_HDM_INFO _IOWR(ANNEX_IOC_TYPE, 0x20, struct annex_ioc_hdm_info)
#define ANNEX_IOC_HDM_RANGE _IOWR(ANNEX_IOC_TYPE, 0x21, struct annex_ioc_hdm_range)
#define ANNEX_IOC_HDM_DMABUF _IOWR(ANNEX_IOC_TYPE, 0x22, struct annex_ioc_hdm_dmabuf)
#define ANNEX_IOC_HDM_M2FUNC _IOWR(ANNEX_IOC_TYPE, 0x23, struct annex_ioc_hdm_m2func)
#define ANNEX_IOC_HDM_POISON _IOWR(ANNEX_IOC_TYPE, 0x24, struct annex_ioc_hdm_poison)

/* Both sides have the same. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#ifdef __KERNEL__
#include <linux/build_bug.h>
#else
#include <assert.h>
#endif
static_assert(sizeof(struct annex_ioc_info) == 56, "annex_ioc_info");
static_assert(sizeof(struct annex_ioc_identify) == 24, "annex_ioc_identify");
static_assert(sizeof(struct annex_ioc_seg) == 16, "annex_ioc_seg");
static_assert(sizeof(struct annex_ioc_map) == 56, "annex_ioc_map");
static_assert(sizeof(struct annex_ioc_unmap) == 8, "annex_ioc_unmap");
static_assert(sizeof(struct annex_ioc_queue) == 48, "annex_ioc_queue");
static_assert(sizeof(struct annex_ioc_qid) == 8, "annex_ioc_qid");
static_assert(sizeof(struct annex_ioc_abort) == 16, "annex_ioc_abort");
static_assert(sizeof(struct annex_ioc_state) == 16, "annex_ioc_state");
static_assert(sizeof(struct annex_ioc_hdm_info) == 96, "annex_ioc_hdm_info");
static_assert(sizeof(struct annex_ioc_hdm_range) == 56, "annex_ioc_hdm_range");
static_assert(sizeof(struct annex_ioc_hdm_dmabuf) == 24, "annex_ioc_hdm_dmabuf");
static_assert(sizeof(struct annex_ioc_hdm_m2func) == 24, "annex_ioc_hdm_m2func");
static_assert(sizeof(struct annex_filter_entry) == 32, "annex_filter_entry");
static_assert(sizeof(struct annex_filter) == 4096, "annex_filter");
static_assert(sizeof(struct annex_ioc_hdm_poison) == 24, "annex_ioc_hdm_poison");
static_assert(sizeof(struct annex_hdm_event) == 144, "annex_hdm_event");
#endif

#endif
