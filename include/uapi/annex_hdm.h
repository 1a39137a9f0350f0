/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The calls for CXL memory devices. Their /dev/annex/ADDRESS has only these, with the rules of
 * annex.h for structures, and can be opened any number of times. The first call is
 * ANNEX_IOC_HDM_INFO (-EPROTO before it).
 *
 * A range is host memory made of the memory of one or several devices. A file has at most one. The
 * range exists until its last file, mapping, dma-buf and pinned page is gone. If one of its devices
 * is removed, calls return -ENODEV, and accesses to its memory raise SIGBUS.
 */
#ifndef _UAPI_ANNEX_HDM_H
#define _UAPI_ANNEX_HDM_H

#include "annex.h"

#define ANNEX_HDM_EVENTS (1u << 0) /* the device announces events by interrupts; else calls poll */
#define ANNEX_HDM_POISON (1u << 1) /* the device has a poison list */
#define ANNEX_HDM_HEALTH (1u << 2) /* @health is valid */

/* Kinds of memory: lost without power, or kept. */
#define ANNEX_HDM_VOLATILE 0u
#define ANNEX_HDM_PERSISTENT 1u

/* Most devices of a range, and least and most bytes on one of them before the next. */
#define ANNEX_HDM_MEMBERS 8u
#define ANNEX_HDM_GRANULARITY_MIN 256u
#define ANNEX_HDM_GRANULARITY_MAX 16384u

/**
 * struct annex_ioc_hdm_info - ANNEX_IOC_HDM_INFO: the version handshake, and facts.
 * @size: in: bytes of this structure.
 * @abi: in: ANNEX_ABI of the caller. out: the module's, also with -EPROTONOSUPPORT: they differ.
 * @flags: out: ANNEX_HDM_*.
 * @decoders: out: HDM decoders of the device.
 * @serial: out: its serial number; 0: none.
 * @volatile_bytes: out: its capacity of volatile memory.
 * @persistent_bytes: out: its capacity of persistent memory.
 * @granule: out: unit of the bytes that a range takes of each member.
 * @status: out: its Memory Device Status register; all ones when it is gone.
 * @range_bytes: out: bytes of the range of the device; 0: it has none.
 * @poison: out: records in its poison list.
 * @users: out: number of open files, including this one.
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
 * @bytes: in: size; 0: all free memory, or the size of the existing range. out: the size.
 * @wc: in: bytes of the write-combining part, before the uncached one, multiple of 2 MiB. They can
 *	only be mapped by mmap(): dma-bufs and direct I/O cannot use them.
 * @uc: in: bytes of the uncached part, at the end, multiple of 2 MiB. They can only be used in
 *	pieces (ANNEX_IOC_HDM_PIECE).
 * @members: in: address of @nmembers descriptors of files of CXL devices, in interleave order, this
 *	file's among them; 0: this device alone.
 * @nmembers: in: 0, 1, 2, 4 or 8.
 * @granularity: in: bytes on one member before the next; 0: the window's. out: the granularity.
 * @base: out: host physical address, for callers with CAP_SYS_ADMIN; 0 for others.
 * @flags: out: ANNEX_HDM_RANGE_SHARED.
 *
 * A range made with the module's parameter shared is shared: users map all but its uncached part by
 * the device's file, with earlier users' data. Otherwise they have pieces (ANNEX_IOC_HDM_PIECE).
 *
 * -EBUSY: the device has a range with other parameters, or one that is still ending; another driver
 * owns the decoders; they were committed out of order; a conflicting memory type of addresses.
 * -EAGAIN: a device is cut off by a PCI error, or not ready after a reset. -ENOSPC: no window with
 * room, no free decoder, not enough memory. -EOPNOTSUPP: no window for these devices in this order,
 * or for this kind of memory; a bridge or switch without decoders; CPU caches cannot be flushed,
 * and the module's allow_stale_caches is not set. -EPERM: firmware has locked decoders, or the
 * device without CXL.mem; persistent memory without the module's shared, or with labels and without
 * allow_labels. -EDQUOT: struct pages would take more than the module's struct_page_percent of the
 * host's memory, and the caller has no CAP_SYS_ADMIN. -EIO, -ETIMEDOUT: a device refuses its
 * settings. -ENOTRECOVERABLE: a decoder stays committed, and its addresses are lost until the next
 * boot. -ENODEV: a device was removed, or there is no window. -ENXIO: firmware does not declare the
 * registers of a host bridge. -EINVAL: impossible numbers, a member twice, @members without this
 * file's device or with a file of another driver, registers at impossible addresses. -EBADF,
 * -EFAULT: invalid @members. -ENOMEM.
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
	__aligned_u64 flags;
};

#define ANNEX_HDM_RANGE_SHARED (1u << 0)

#define ANNEX_M2FUNC_PIECES 31
#define ANNEX_M2FUNC_SHARE 2
#define ANNEX_PART_UNCACHED 0u
#define ANNEX_PART_CACHED 1u
#define ANNEX_PART_COMBINING 2u

/**
 * struct annex_ioc_hdm_piece - ANNEX_IOC_HDM_PIECE: a private piece of the range's memory.
 * @size: in: bytes of this structure.
 * @fd: out: descriptor of the piece's file, closed on exec, for mmap() from offset 0: -EACCES in
 *	another address space, -EINVAL beyond its end, private or executable.
 * @bytes: in: size, in whole pages.
 * @offset: out: first byte in the range. mmap() of the device's file at it returns -EACCES.
 * @part: in: ANNEX_PART_UNCACHED; ANNEX_PART_CACHED or ANNEX_PART_COMBINING of a private range.
 *
 * The piece is zeroed. It is a file of its own, which only the caller's address space can map: a
 * child inherits no mapping. An uncached piece has an entry in the device's filter (struct
 * annex_filter). The piece is freed with the last descriptor, mapping and dma-buf of it, which keep
 * the device's file open. No piece gets a page that the kernel still holds.
 *
 * -ENOSPC: no room, or no free entry; -EMFILE: the address space would have more than
 * ANNEX_M2FUNC_PIECES uncached pieces of the range, or more than 1/ANNEX_M2FUNC_SHARE of its
 * uncached memory, or no descriptor is free; -EINVAL: not whole pages, an unknown part, or one that
 * users of a shared range map by the device's file; -ENXIO: the file has no range; -ENODEV: it has
 * ended; -EIO: the table of uncached pieces is poisoned; -EINTR: killed; -ENOMEM, -ENFILE.
 */
struct annex_ioc_hdm_piece {
	__u32 size;
	__s32 fd;
	__aligned_u64 bytes;
	__aligned_u64 offset;
	__aligned_u64 part;
};

#define ANNEX_FILTER_MAGIC 0x32746c46786e6e41ull
#define ANNEX_FILTER_VERSION 1
#define ANNEX_FILTER_ENTRIES 124

/**
 * struct annex_filter_entry - A region of uncached memory that belongs to an address space.
 * @base: offset of its first byte in the range.
 * @bound: offset of the first byte after it.
 * @asid: identifier of the address space; 0: a free entry.
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
 * struct annex_filter - The packet filter of M2NDP (section III-B).
 * @magic: ANNEX_FILTER_MAGIC once the table is valid; 0 after the end, if the device is there.
 * @version: ANNEX_FILTER_VERSION.
 * @entries: number of entries in the table.
 * @change: incremented to an odd number before entries are changed, and to an even one afterwards.
 *	Entries are consistent if @change is the same even number before and after they are read.
 * @generation: random number of this table: entries of an earlier one are not valid any more.
 * @acknowledged: written by the device: the last @change that it acts upon. The module reuses a
 *	piece after the device has acknowledged its removal, or if there is no device.
 * @heartbeat: written by the device: incremented at least ten times a second.
 * @entry: the regions.
 * @rsvd0: 0.
 * @rsvd1: 0.
 *
 * A device that answers M2func calls reads it in the first uncached page, which no file can map.
 */
struct annex_filter {
	__aligned_u64 magic;
	__u32 version;
	__u32 entries;
	__aligned_u64 change;
	__aligned_u64 generation;
	__aligned_u64 rsvd0[4];
	__aligned_u64 acknowledged;
	__aligned_u64 heartbeat;
	__aligned_u64 rsvd1[6];
	struct annex_filter_entry entry[ANNEX_FILTER_ENTRIES];
};

#define ANNEX_POISON_RESCAN (1u << 0) /* ask the devices first */
#define ANNEX_POISON_DEVICE (1u << 1) /* records of this device, with device addresses */

/**
 * struct annex_ioc_hdm_poison - ANNEX_IOC_HDM_POISON: the list of poisoned memory.
 * @size: in: bytes of this structure.
 * @flags: in: ANNEX_POISON_*.
 * @list: in: address of an array of struct annex_ioc_seg: whole pages, by their offset in the
 *	range, ascending; with ANNEX_POISON_DEVICE device addresses.
 * @count: in: room in @list. out: number of runs; @list receives as many as it has room for.
 * @first: in: number of runs to skip, to read a list in parts.
 *
 * -EINVAL: unknown flags, room for more than 65536; -ENXIO: the file has no range; -EFAULT: invalid
 * @list; -ENOMEM; with ANNEX_POISON_RESCAN also -EOPNOTSUPP: a device has no such list; -EIO,
 * -EPROTO, -EBUSY, -ETIMEDOUT: a device does not return its list, or returns an impossible one.
 *
 * Further pages may be poisoned at any time. poll() reports POLLPRI if pages were poisoned since
 * the call with @first 0 that began the last complete reading of the list by this file. Pages that
 * are poisoned between two parts may join runs: start again from 0 to read all of them. poll() asks
 * devices without interrupts, and repeats that once a second while it waits.
 */
struct annex_ioc_hdm_poison {
	__u32 size;
	__u32 flags;
	__aligned_u64 list;
	__u32 count;
	__u32 first;
};

/**
 * struct annex_ioc_hdm_clear - ANNEX_IOC_HDM_CLEAR: zero poisoned pages, to clear their poison.
 * @size: in: bytes of this structure.
 * @rsvd: in: 0.
 * @offset: in: first byte in the range, page aligned.
 * @bytes: in: size, in whole pages. -EACCES: no CAP_SYS_ADMIN, and not in a piece of the caller's.
 *
 * Other pages keep their data. After an error ANNEX_IOC_HDM_POISON returns the remaining pages.
 * -EINVAL: not whole pages of the range; -ENXIO: the file has no range; -ENODEV: it has ended;
 * -EOPNOTSUPP: a device cannot clear poison; -EINTR: a signal; -EIO: the table of uncached pieces
 * is poisoned, for as long as the range exists; also the errors of ANNEX_POISON_RESCAN.
 */
struct annex_ioc_hdm_clear {
	__u32 size;
	__u32 rsvd;
	__aligned_u64 offset;
	__aligned_u64 bytes;
};

/**
 * struct annex_hdm_event - An event record of the device.
 * @seq: number of the record since the device was bound, from 1.
 * @log: 0 information, 1 warning, 2 failure, 3 fatal.
 * @lost: number of earlier records that this file missed, because it or the device was too slow.
 * @record: as the device gave it (Common Event Record Format, CXL 3.1 section 8.2.9.2.1).
 *
 * read() returns whole records that arrived after the file was opened; without O_NONBLOCK it waits
 * for the next one. poll() reports POLLIN if there are unread records. The poison of a record is in
 * the range's list before the record can be read, if the device lists it. A device without
 * interrupts is asked once a second by waiting callers. Records of firmware's logs are left out.
 */
struct annex_hdm_event {
	__aligned_u64 seq;
	__u32 log;
	__u32 lost;
	__u8 record[128];
};

#define ANNEX_IOC_HDM_INFO _IOWR(ANNEX_IOC_TYPE, 0x20, struct annex_ioc_hdm_info)
#define ANNEX_IOC_HDM_RANGE _IOWR(ANNEX_IOC_TYPE, 0x21, struct annex_ioc_hdm_range)
#define ANNEX_IOC_HDM_DMABUF _IOWR(ANNEX_IOC_TYPE, 0x22, struct annex_ioc_dmabuf)
#define ANNEX_IOC_HDM_PIECE _IOWR(ANNEX_IOC_TYPE, 0x23, struct annex_ioc_hdm_piece)
#define ANNEX_IOC_HDM_POISON _IOWR(ANNEX_IOC_TYPE, 0x24, struct annex_ioc_hdm_poison)
#define ANNEX_IOC_HDM_CLEAR _IOW(ANNEX_IOC_TYPE, 0x25, struct annex_ioc_hdm_clear)

/* Sizes must be the same in the kernel and in user space. */
#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#ifdef __KERNEL__
#include <linux/build_bug.h>
#else
#include <assert.h>
#endif
static_assert(sizeof(struct annex_ioc_hdm_info) == 96, "annex_ioc_hdm_info");
static_assert(sizeof(struct annex_ioc_hdm_range) == 64, "annex_ioc_hdm_range");
static_assert(sizeof(struct annex_ioc_hdm_piece) == 32, "annex_ioc_hdm_piece");
static_assert(sizeof(struct annex_filter_entry) == 32, "annex_filter_entry");
static_assert(sizeof(struct annex_filter) == 4096, "annex_filter");
static_assert(sizeof(struct annex_ioc_hdm_poison) == 24, "annex_ioc_hdm_poison");
static_assert(sizeof(struct annex_ioc_hdm_clear) == 24, "annex_ioc_hdm_clear");
static_assert(sizeof(struct annex_hdm_event) == 144, "annex_hdm_event");
#endif

#endif
