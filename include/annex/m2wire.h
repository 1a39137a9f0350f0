/* SPDX-License-Identifier: MIT */
/*
 * The layout of M2func: the stores and loads by which a host calls a near-data processor (M2NDP
 * section III-B and Table II). docs/m2func.md describes it for builders of devices.
 *
 * A process maps a region of the device's memory, uncached:
 *
 *	one page		struct annex_m2_head, which the device writes
 *	@slots call slots	one for each thread that calls; each has ANNEX_M2_FUNCTIONS cells
 *	@kernels records	struct annex_m2_record, which the device writes
 *	from the next page on	struct annex_m2_doors: whether each side sleeps
 *
 * A cell has @stride bytes, at offset function * stride of its slot as in Table II. The host stores
 * a call to the cell, the payload first and the word at the cell's end last, by one vector store or
 * several stores in order. It loads the answer from the same cell, once the word has
 * ANNEX_M2_ANSWER set. All numbers are little-endian.
 */
#ifndef ANNEX_M2WIRE_H
#define ANNEX_M2WIRE_H

#include <stdint.h>

#define ANNEX_M2_MAGIC 0x636e75664d326d41ull /* "Am2Mfunc" */
#define ANNEX_M2_VERSION 1u
#define ANNEX_M2_PAGE 4096u
#define ANNEX_M2_STRIDE_MIN 32u
#define ANNEX_M2_STRIDE_MAX 1024u /* a power of two */
#define ANNEX_M2_SLOTS_MAX 1024u
#define ANNEX_M2_RECORDS_MAX 64u /* kernels of a client, on an emulated device */

/* Functions, in the order of Table II; a slot has room for eight. */
enum annex_m2_function {
	ANNEX_M2_REGISTER,
	ANNEX_M2_UNREGISTER,
	ANNEX_M2_LAUNCH,
	ANNEX_M2_POLL,
	ANNEX_M2_SHOOTDOWN, /* privileged */
	/* Mappings, by stores to the device's memory: see struct annex_m2_attach. */
	ANNEX_M2_ATTACH,
	ANNEX_M2_DETACH,
	/* No function: arguments of a launch that do not fit in its own cell. */
	ANNEX_M2_REST,
};
#define ANNEX_M2_FUNCTIONS 8u

/*
 * The word at the end of a cell: bits 0 to 31 are a sequence number, which increases by one with
 * each call of this cell and is never 0; bits 32 to 62 are the low bits of a CRC-32C of the payload
 * and the four bytes of the sequence number; bit 63 marks an answer to the call of that number.
 *
 * A device answers -EBADMSG to a call with a wrong checksum (torn), and -EPROTO to a call whose
 * number is neither the last one nor the next (calls were lost); @addr of that answer is the last
 * number. To a repeated call it gives the last answer once more.
 */
#define ANNEX_M2_ANSWER (1ull << 63)

/*
 * The first page of a region. For a region in annex.ko's table the process writes @stride and
 * @slots, then @version; the device writes the other members, @magic last.
 */
struct annex_m2_head {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes; /* of the region */
	uint32_t stride;
	uint32_t slots;
	uint32_t kernels; /* records behind the slots */
	uint32_t asid;
	uint32_t units;      /* NDP units */
	uint32_t subcores;   /* of a unit */
	uint32_t threads;    /* micro-thread slots of a sub-core */
	uint32_t vlen;       /* bits */
	uint32_t piece;      /* bytes of the pool region for a micro-thread */
	uint32_t scratchpad; /* bytes of a unit */
	uint32_t running;    /* most kernel instances at once */
	uint32_t waiting;    /* most waiting launches, before -EBUSY */
	uint32_t coherent;   /* coherent with the host's caches: no flush before a launch */
	uint32_t gone;       /* the device was removed: -ENODEV */
	uint64_t beat;       /* heartbeat: increases while the device is alive */
};

/**
 * struct annex_m2_record - A registered kernel.
 * @id: its number; 0: none.
 * @scratchpad: bytes of a unit's scratchpad that it needs.
 * @code: the client's address of its image.
 * @nx: integer registers that it uses.
 * @nf: floating-point registers, likewise.
 * @nv: vector registers, likewise.
 * @args: bytes of arguments.
 * @running: instances that are waiting or running.
 * @launches: launches since it was registered.
 */
struct annex_m2_record {
	uint32_t id;
	uint32_t scratchpad;
	uint64_t code;
	uint8_t nx, nf, nv, args;
	uint32_t running;
	uint64_t launches;
};

/*
 * A page with a word for each side, on a cache line of its own.
 *
 * @sleepers: number of host threads that sleep until a cell is answered. The device wakes them if
 *	it can.
 * @asleep: 1: the device sleeps, and the host must wake it after a store. Only for emulated
 *	devices.
 */
struct annex_m2_doors {
	uint32_t sleepers;
	uint32_t of_host[15];
	uint32_t asleep;
	uint32_t of_device[1007];
};

/* Payloads. The bytes after them in a cell are zero, except for the arguments of a launch. */
struct annex_m2_register {
	uint64_t code;       /* address of the kernel's image: struct annex_m2_image */
	uint32_t scratchpad; /* bytes */
	uint8_t nx, nf, nv;  /* registers that it uses, each kind from 0 on */
	uint8_t args;        /* bytes of kernel arguments, a multiple of 8 */
};

struct annex_m2_unregister {
	uint32_t id;
	uint32_t zero;
};

#define ANNEX_M2_ARGS_MAX 248u /* bytes of arguments: the largest multiple of 8 in a byte */

/*
 * Followed by the kernel's arguments. Arguments that do not fit before the word, at most a stride
 * of them, are in the slot's cell ANNEX_M2_REST, followed by zeroes. The checksum covers them after
 * the payload.
 */
struct annex_m2_launch {
	uint32_t id;
	uint8_t sync; /* 1: the answer comes when the kernel has ended */
	uint8_t args; /* bytes that follow */
	uint16_t zero;
	uint64_t base, bound; /* the micro-thread pool region, [base, bound) */
};

struct annex_m2_poll {
	uint64_t instance;
};

struct annex_m2_shootdown {
	uint32_t asid;
	uint32_t zero;
	uint64_t page; /* virtual address / 4096 */
};

/*
 * Report a mapping of the process: @bytes of the range from @offset on, at @va, in whole pages. Bit
 * 0 of @va allows reads, bit 1 writes. Only for regions that the device found in annex.ko's table
 * (struct annex_filter): a process that can open the range can map any part of it, so the device
 * trusts its report.
 */
struct annex_m2_attach {
	uint64_t va;
	uint64_t bytes;
	uint64_t offset; /* 0 for ANNEX_M2_DETACH */
};

/*
 * An answer. Registration: the kernel's id, above 0. Launch: the instance, above 0, after an
 * asynchronous launch at once, after a synchronous one when the kernel has ended without an error.
 * Poll: 0 finished, 1 running. Otherwise 0. Errors are negative errnos (Table II has -1): -ENOENT
 * (no such kernel or instance), -EINVAL, -EBUSY (too many launches wait; the kernel is running),
 * -ENOSPC (too many kernels), -EPERM, -ENOSYS, -EFAULT (memory that is not mapped), -ENOEXEC (bad
 * image, or illegal instruction), -EDOM (ebreak), -ETIME (instruction limit), -ETIMEDOUT
 * (deadline), -EBADMSG, -EPROTO.
 */
struct annex_m2_answer {
	int64_t value;
	uint64_t pc;   /* address of the instruction at which a kernel failed, otherwise 0 */
	uint64_t addr; /* address that it accessed there, or the instruction */
};

/*
 * A kernel's image: this header, then position-independent code. Offsets are from the beginning of
 * the image and multiples of 2; 0: the kernel has no such part. A micro-thread ends with ecall.
 */
#define ANNEX_M2_IMAGE_MAGIC 0x4d49324d /* "M2IM" */
#define ANNEX_M2_BODIES 8u
#define ANNEX_M2_IMAGE_MAX 65536u /* bytes */

struct annex_m2_image {
	uint32_t magic;
	uint32_t version;
	uint32_t bytes; /* of the whole image */
	uint32_t bodies;
	uint32_t initializer;
	uint32_t body[ANNEX_M2_BODIES];
	uint32_t finalizer;
	uint32_t zero[2];
};

/* Address of the unit's scratchpad for a kernel: its arguments first, then zeroes. */
#define ANNEX_M2_SCRATCHPAD 0x10000000ull

/*
 * Requests of the host's driver to a device: the region and the mappings of each process (entries
 * of the packet filter, and page tables). An emulated device takes them over a Unix socket of type
 * SOCK_SEQPACKET, one message and one answer at a time.
 */
enum annex_m2_ask {
	/* a is the stride, b the slots. The answer passes two files: the region, and a socket on
	 * which each side sends a byte to wake the other. */
	ANNEX_M2_HELLO = 1,
	/* a is the address, b the bytes, c the offset in the passed file; bit 0 of d allows reads,
	 * bit 1 writes. */
	ANNEX_M2_MAP,
	/* a is the address, b the bytes. */
	ANNEX_M2_UNMAP,
	/* The answer is followed by an array of struct annex_m2_listed; its a is the length. */
	ANNEX_M2_LIST,
	/* a is the asid. The answer is followed by an array of struct annex_m2_record; its a is the
	 * length. */
	ANNEX_M2_RECORDS,
};

struct annex_m2_message {
	uint64_t magic;
	uint32_t version;
	uint32_t ask;
	int64_t result; /* in answers: 0 or a negative errno */
	uint64_t a, b, c, d;
};

/**
 * struct annex_m2_listed - A client of an emulated device.
 * @asid: the device's number for it.
 * @pid: its process.
 * @uid: its user.
 * @zero: padding.
 * @kernels: number of registered kernels.
 * @maps: number of mappings.
 * @mapped: bytes of its mappings.
 * @calls: calls that were accepted, whatever their answer.
 * @launches: launches of its registered kernels.
 * @torn: calls with a wrong checksum.
 * @lost: calls whose number was neither the last one nor the next.
 * @repeated: calls with the number of the last one.
 */
struct annex_m2_listed {
	uint32_t asid;
	uint32_t pid;
	uint32_t uid;
	uint32_t zero;
	uint32_t kernels;
	uint32_t maps;
	uint64_t mapped;
	uint64_t calls;
	uint64_t launches;
	uint64_t torn;
	uint64_t lost;
	uint64_t repeated;
};

#if defined(__cplusplus)
#define ANNEX_M2_ASSERT(what) static_assert(what, #what)
#else
#define ANNEX_M2_ASSERT(what) _Static_assert(what, #what)
#endif
ANNEX_M2_ASSERT(sizeof(struct annex_m2_head) == 80);
ANNEX_M2_ASSERT(sizeof(struct annex_m2_record) == 32);
ANNEX_M2_ASSERT(sizeof(struct annex_m2_register) == 16);
ANNEX_M2_ASSERT(sizeof(struct annex_m2_launch) == 24);
ANNEX_M2_ASSERT(sizeof(struct annex_m2_answer) == 24);
ANNEX_M2_ASSERT(sizeof(struct annex_m2_image) == 64);
ANNEX_M2_ASSERT(sizeof(struct annex_m2_message) == 56);
ANNEX_M2_ASSERT(sizeof(struct annex_m2_listed) == 72);
ANNEX_M2_ASSERT(sizeof(struct annex_m2_doors) == ANNEX_M2_PAGE);

#endif
