/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The calls between annex.ko and its users, on /dev/annex/DDDD:BB:DD.F: one file for each
 * controller. The calls for CXL memory are in annex_hdm.h.
 *
 * The module owns the controller's registers and its admin queue. The owner, a file that was opened
 * for writing, has I/O queue pairs in memory of its choice, which it fills and rings itself, and
 * decides which memory the controller may access. There is one owner at a time (-EBUSY), and none
 * while the controller has virtual functions. A file that was opened for reading is open beside the
 * owner, and can only ask: ANNEX_IOC_INFO, _IDENTIFY, _STATE, _LOG, _FEATURE. The first call on a
 * file is ANNEX_IOC_INFO; before it all other calls, and mmap(), fail with -EPROTO.
 *
 * Every structure begins with its own size, and grows at its end. Members that an older caller does
 * not have are zero. Members that the module does not know must be zero (-E2BIG). Unknown flags and
 * nonzero reserved fields are -EINVAL. If a controller was removed, or failed a reset, every call
 * but ANNEX_IOC_STATE returns -ENODEV, and poll() reports POLLHUP. While it recovers from an error,
 * or has no power, open() for writing and calls that need it return -EAGAIN, without POLLOUT.
 */
#ifndef _UAPI_ANNEX_H
#define _UAPI_ANNEX_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define ANNEX_ABI 1

/* Flags of ANNEX_IOC_INFO. */
#define ANNEX_INFO_IOMMU (1u << 0)    /* a strict IOMMU domain maps the owner's mappings only */
#define ANNEX_INFO_SHADOW (1u << 1)   /* shadow doorbells, at ANNEX_MMAP_SHADOW and _EVENTIDX */
#define ANNEX_INFO_CMB_SQ (1u << 2)   /* submission queues may lie in controller memory */
#define ANNEX_INFO_CMB_CQ (1u << 3)   /* completion queues, likewise */
#define ANNEX_INFO_CMB_DATA (1u << 4) /* data of reads and writes, likewise */
#define ANNEX_INFO_CMB_LIST (1u << 5) /* PRP and SGL lists, likewise */
#define ANNEX_INFO_EVENTS (1u << 6)   /* the controller reports events to poll() */

/**
 * struct annex_ioc_info - ANNEX_IOC_INFO: the version handshake, and facts.
 * @size: in: bytes of this structure.
 * @abi: in: ANNEX_ABI of the caller. out: the module's, also with -EPROTONOSUPPORT: they differ.
 * @flags: out: ANNEX_INFO_*.
 * @vs: out: the controller's VS register.
 * @cap: out: its CAP register.
 * @cmb_bytes: out: bytes of controller memory that can be allocated (ANNEX_MAP_CMB).
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
 * @cns: in: 0, 1, 2, 3, 5, 6 or 8; others are -EINVAL. The command set (CSI) is NVM.
 * @nsid: in: the namespace, or the start of a list.
 * @status: out: status field of the completion, without the phase; -EIO when it is not 0.
 * @data: in: address of a buffer of 4096 bytes.
 *
 * -EOPNOTSUPP: a namespace with metadata, or with blocks of less than 512 bytes or more than 16384.
 * Protection information of 8 bytes is allowed where it is all metadata: commands must set PRACT.
 */
struct annex_ioc_identify {
	__u32 size;
	__u32 cns;
	__u32 nsid;
	__u32 status;
	__aligned_u64 data;
};

/* Kinds of memory of ANNEX_IOC_MAP. */
#define ANNEX_MAP_USER 0u   /* memory of the caller: pinned, and charged to RLIMIT_MEMLOCK */
#define ANNEX_MAP_HOST 1u   /* new host memory, contiguous for the controller, zeroed */
#define ANNEX_MAP_CMB 2u    /* new controller memory; not zeroed */
#define ANNEX_MAP_DMABUF 3u /* a dma-buf: memory of a GPU or of another driver */

/* Largest ANNEX_MAP_HOST and ANNEX_MAP_CMB, largest ANNEX_MAP_USER and ANNEX_MAP_DMABUF. */
#define ANNEX_MAP_NEW_MAX (4u << 20)
#define ANNEX_MAP_MAX (1ull << 36)

/**
 * struct annex_ioc_seg - One run of contiguous device addresses.
 * @addr: device address, a multiple of 4096.
 * @bytes: its length, a multiple of 4096.
 */
struct annex_ioc_seg {
	__aligned_u64 addr;
	__aligned_u64 bytes;
};

/**
 * struct annex_ioc_map - ANNEX_IOC_MAP: give the controller access to memory.
 * @size: in: bytes of this structure.
 * @kind: in: ANNEX_MAP_*.
 * @addr: in: for ANNEX_MAP_USER the address, page aligned; else 0.
 * @offset: in: for ANNEX_MAP_DMABUF the first byte, page aligned; else 0.
 * @bytes: in: size, in whole pages.
 * @segs: in: address of an array of struct annex_ioc_seg for the device addresses, in order.
 * @nsegs: in: room in @segs. out: number of runs; if there is no room for them, the call returns
 *	-ENOSPC, and maps nothing. One is enough with an IOMMU, and for ANNEX_MAP_HOST and _CMB.
 * @fd: in: the dma-buf of ANNEX_MAP_DMABUF; else -1.
 * @id: out: identifier of the mapping, from 1; ANNEX_MMAP_NEW(@id) maps _HOST and _CMB memory.
 * @rsvd: in: 0.
 *
 * -EFAULT: no such memory, or it is not writable; -ENOMEM: beyond RLIMIT_MEMLOCK, or out of memory;
 * -EOPNOTSUPP: file pages that cannot be pinned for long, no controller memory, or a dma-buf that
 * the controller cannot access; -ENOSPC: also no room in controller memory; -EADDRINUSE: the
 * controller would decode the addresses as its own memory.
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
 * struct annex_ioc_unmap - ANNEX_IOC_UNMAP: remove a mapping.
 * @size: in: bytes of this structure.
 * @id: in: identifier of the mapping; -ENOENT: no such mapping.
 *
 * -EBUSY: a queue is in the mapping; or there is no IOMMU, and the owner has queue pairs, whose
 * commands could still access the memory; or another device still has a dma-buf of the mapping
 * mapped. All of these have ended, so repeat the call. With an IOMMU a late command fails.
 */
struct annex_ioc_unmap {
	__u32 size;
	__u32 id;
};

/**
 * struct annex_ioc_queue - ANNEX_IOC_QUEUE_CREATE: a queue pair in mapped memory.
 * @size: in: bytes of this structure.
 * @qid: in: its identifier, 1 to queues; -EEXIST: it exists.
 * @depth: in: entries of each of both queues, 2 to max_depth.
 * @sq_map: in: mapping that contains the submission queue.
 * @cq_map: in: mapping that contains the completion queue.
 * @eventfd: in: signalled at completions; -1: none, poll.
 * @sq_offset: in: first byte of the submission queue in @sq_map, page aligned. Each queue must be
 *	contiguous for the controller, and the two may not overlap each other or another queue.
 * @cq_offset: in: first byte of the completion queue in @cq_map, page aligned.
 * @status: out: status field of the command that failed, with -EIO.
 * @rsvd: in: 0.
 *
 * The module does not change the queues' memory: the caller must zero the completion queue before.
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
 * @qid: in: its identifier; -ENOENT: no such queue pair.
 *
 * On return the controller uses neither the queues nor the buffers of their commands. -EIO: it did
 * not delete them, and was reset, which ends all queue pairs.
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
 * @aborted: out: 1 if the controller reports that it aborted the command.
 */
struct annex_ioc_abort {
	__u32 size;
	__u32 qid;
	__u32 cid;
	__u32 aborted;
};

/**
 * struct annex_ioc_state - ANNEX_IOC_STATE: the state of the controller.
 * @size: in: bytes of this structure.
 * @csts: out: its CSTS register; all ones when it is gone, or cut off by an error.
 * @resets: out: number of resets; a change means that all queue pairs are gone.
 * @unread: out: bit N: an event has named log page N, which this file has not read since.
 *
 * A controller with ANNEX_INFO_EVENTS reports events: errors (log page 01h), and new critical
 * warnings (02h). poll() reports POLLPRI while @unread is not 0; ANNEX_IOC_LOG of a page clears its
 * bit. A file begins with 0. Events arrive at most ten times a second, and none during a reset.
 */
struct annex_ioc_state {
	__u32 size;
	__u32 csts;
	__u32 resets;
	__u32 unread;
};

/**
 * struct annex_ioc_log - ANNEX_IOC_LOG: the Get Log Page command.
 * @size: in: bytes of this structure.
 * @lid: in: 01h (errors), 02h (SMART), 03h (firmware slots) or 05h (effects); others are -EINVAL.
 * @nsid: in: the namespace; 0xffffffff: the controller.
 * @bytes: in: bytes to read, a multiple of 4, up to 4096.
 * @offset: in: first byte of the page to read, a multiple of 4.
 * @data: in: address of a buffer of @bytes.
 * @status: out: status field of the completion, without the phase; -EIO when it is not 0.
 * @rsvd: 0.
 */
struct annex_ioc_log {
	__u32 size;
	__u32 lid;
	__u32 nsid;
	__u32 bytes;
	__aligned_u64 offset;
	__aligned_u64 data;
	__u32 status;
	__u32 rsvd;
};

/**
 * struct annex_ioc_feature - ANNEX_IOC_FEATURE: the Get Features command.
 * @size: in: bytes of this structure.
 * @fid: in: 02h (power), 04h (temperature threshold), 06h (volatile write cache); else -EINVAL.
 * @select: in: 0 (current), 1 (default) or 2 (saved value).
 * @dw11: in: command dword 11.
 * @value: out: dword 0 of the completion.
 * @status: out: status field of the completion, without the phase; -EIO when it is not 0.
 */
struct annex_ioc_feature {
	__u32 size;
	__u32 fid;
	__u32 select;
	__u32 dw11;
	__u32 value;
	__u32 status;
};

/**
 * struct annex_ioc_dmabuf - ANNEX_IOC_DMABUF, ANNEX_IOC_HDM_DMABUF: memory as a dma-buf.
 * @size: in: bytes of this structure.
 * @fd: out: its descriptor, closed on exec.
 * @offset: in: first byte, page aligned: of the range; of controller memory, as for mmap().
 * @bytes: in: size, in whole pages.
 *
 * A dma-buf of controller memory ends with its mapping, and at a reset or removal: importers must
 * unmap it. Before that, open() for writing returns -EBUSY, and unbinding waits. Importing returns
 * -EOPNOTSUPP if the device cannot access the memory, or if its driver needs struct pages. Errors:
 * -ENOENT: no such mapping of ANNEX_MAP_CMB; -ENXIO: the file has no range; -EINVAL: pages outside
 * of it, or of its cacheable part; -EACCES: not in one piece of the caller's in a private range;
 * -ENODEV; -EOPNOTSUPP: no CONFIG_PCI_P2PDMA, or shifted addresses; -EMFILE, -ENFILE, -ENOMEM.
 */
struct annex_ioc_dmabuf {
	__u32 size;
	__s32 fd;
	__aligned_u64 offset;
	__aligned_u64 bytes;
};

/* Free in Linux's ioctl-number.rst. Numbers 0x00 to 0x0b: controllers, 0x20 to 0x25: CXL memory. */
#define ANNEX_IOC_TYPE 0xA7

#define ANNEX_IOC_INFO _IOWR(ANNEX_IOC_TYPE, 0x00, struct annex_ioc_info)
#define ANNEX_IOC_IDENTIFY _IOWR(ANNEX_IOC_TYPE, 0x01, struct annex_ioc_identify)
#define ANNEX_IOC_MAP _IOWR(ANNEX_IOC_TYPE, 0x02, struct annex_ioc_map)
#define ANNEX_IOC_UNMAP _IOW(ANNEX_IOC_TYPE, 0x03, struct annex_ioc_unmap)
#define ANNEX_IOC_QUEUE_CREATE _IOWR(ANNEX_IOC_TYPE, 0x04, struct annex_ioc_queue)
#define ANNEX_IOC_QUEUE_DELETE _IOW(ANNEX_IOC_TYPE, 0x05, struct annex_ioc_qid)
#define ANNEX_IOC_ABORT _IOWR(ANNEX_IOC_TYPE, 0x06, struct annex_ioc_abort)
#define ANNEX_IOC_STATE _IOWR(ANNEX_IOC_TYPE, 0x07, struct annex_ioc_state)
/* Reset the controller, which ends all queue pairs; mappings stay. -ENODEV: the reset failed. */
#define ANNEX_IOC_RESET _IO(ANNEX_IOC_TYPE, 0x08)
#define ANNEX_IOC_LOG _IOWR(ANNEX_IOC_TYPE, 0x09, struct annex_ioc_log)
#define ANNEX_IOC_FEATURE _IOWR(ANNEX_IOC_TYPE, 0x0a, struct annex_ioc_feature)
#define ANNEX_IOC_DMABUF _IOWR(ANNEX_IOC_TYPE, 0x0b, struct annex_ioc_dmabuf)

/*
 * Offsets for mmap(). Mappings must be shared, and are not inherited by a child, except for
 * ANNEX_MAP_HOST memory with MADV_DOFORK. The doorbells of queue Q are the 32-bit words number
 * 2 * Q (submission queue) and 2 * Q + 1 (completion queue), at the stride of CAP.DSTRD. After a
 * reset or removal, stores to mapped doorbells have no effect, and do not fault.
 */
#define ANNEX_MMAP_DOORBELLS 0ull
#define ANNEX_MMAP_SHADOW (1ull << 32)
#define ANNEX_MMAP_EVENTIDX (2ull << 32)
#define ANNEX_MMAP_NEW(id) (((__u64)(id) + 3) << 32)

/* Sizes must be the same in the kernel and in user space. */
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
static_assert(sizeof(struct annex_ioc_log) == 40, "annex_ioc_log");
static_assert(sizeof(struct annex_ioc_feature) == 24, "annex_ioc_feature");
static_assert(sizeof(struct annex_ioc_dmabuf) == 24, "annex_ioc_dmabuf");
#endif

#endif
