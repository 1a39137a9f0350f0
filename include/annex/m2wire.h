/* SPDX-License-Identifier: MIT */
/*
 * M2func to the byte: what a host stores and loads to have a near-data processor do something.
 * M2NDP section III-B and Table II; docs/m2func.md is the same as prose, for who builds a device.
 *
 * A process has a region of the device's memory, which it maps uncached:
 *
 *	one page		struct annex_m2_head, which the device writes
 *	@slots call slots	one for each thread that calls; each has ANNEX_M2_FUNCTIONS cells
 *	@kernels records	struct annex_m2_record, which the device writes
 *	from the next page on	struct annex_m2_doors: whether each side sleeps
 *
 * A cell is @stride bytes, at offset function * stride of its slot as in Table II. A call is stored
 * to it, payload first and the word at its end last, by one vector store or several stores in
 * order; the answer is loaded from the same place, when the word says that it is one. All numbers
 * are little-endian.
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
#define ANNEX_M2_RECORDS_MAX 64u /* kernels of a client, at an emulated device */

/* Functions, in the order of Table II; a slot has room for eight. */
enum annex_m2_function {
	ANNEX_M2_REGISTER,
	ANNEX_M2_UNREGISTER,
	ANNEX_M2_LAUNCH,
	ANNEX_M2_POLL,
	ANNEX_M2_SHOOTDOWN, /* privileged */
	/* Requests to a device by its own memory: see struct annex_m2_attach. */
	ANNEX_M2_ATTACH,
	ANNEX_M2_DETACH,
	/* No function: the arguments of a launch that its own cell has no room for. */
	ANNEX_M2_REST,
};
#define ANNEX_M2_FUNCTIONS 8u

/*
 * The word at the end of a cell: bits 0 to 31 a sequence number, which goes up by one from call to
 * call of this cell and is never 0; bits 32 to 62 the low bits of CRC-32C over the payload and the
 * four bytes of the sequence number; bit 63 says that it is an answer, to the call of that number.
 *
 * A device answers -EBADMSG to a call whose checksum is wrong (torn), -EPROTO to one whose number
 * is neither the last one nor the next (calls were lost), and gives the last answer once more to
 * one it has answered already (repeated). With -EPROTO, @addr of the answer is the last number.
 */
#define ANNEX_M2_ANSWER (1ull << 63)

/*
 * Of a region in annex.ko's table the process writes @stride and @slots, then @version, and the
 * device the rest, @magic last.
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
	uint32_t running;    /* kernel instances at once */
	uint32_t waiting;    /* and launches that wait for their turn, before -EBUSY */
	uint32_t coherent; /* sees the host's caches: nothing needs to be flushed before a launch */
	uint32_t gone;     /* the device is no more: -ENODEV */
	uint64_t beat;     /* goes up while the device lives */
};

/**
 * struct annex_m2_record - A registered kernel.
 * @id: its number; 0: none.
 * @scratchpad: bytes that it needs of a unit's.
 * @code: the client's address of its image.
 * @nx: integer registers that it uses.
 * @nf: floating-point registers, likewise.
 * @nv: vector registers, likewise.
 * @args: bytes of arguments.
 * @running: instances that wait or run.
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
 * A page, where each side's word has a line of its own.
 *
 * @sleepers: threads of the host that sleep until a cell is answered: the device wakes them, if it
 *	can.
 * @asleep: 1: the device sleeps, and wants its bell to be rung after a store; only an emulated one
 *	does.
 */
struct annex_m2_doors {
	uint32_t sleepers;
	uint32_t of_host[15];
	uint32_t asleep;
	uint32_t of_device[1007];
};

/* Payloads. Bytes behind them in a cell are zero, but for the arguments of a launch. */
struct annex_m2_register {
	uint64_t code;       /* where the kernel's image lies: struct annex_m2_image */
	uint32_t scratchpad; /* bytes */
	uint8_t nx, nf, nv;  /* registers that it uses, each kind from 0 on */
	uint8_t args;        /* bytes of kernel arguments, a multiple of 8 */
};

struct annex_m2_unregister {
	uint32_t id;
	uint32_t zero;
};

#define ANNEX_M2_ARGS_MAX 248u /* bytes of arguments: a byte says how many, in steps of 8 */

/*
 * Followed by the kernel's arguments. Arguments that do not fit before the word, up to a stride of
 * them, lie in the slot's cell ANNEX_M2_REST, zeroes behind them; the checksum is over them too,
 * behind the payload.
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
 * The process has @bytes of the range, from @offset on, mapped at @va, whole pages; the low bits of
 * @va are 1 to read, 2 to write. Only of regions that the device found in annex.ko's table (struct
 * annex_filter): who can open the range can map any of it, so a process says for itself what it has
 * where.
 */
struct annex_m2_attach {
	uint64_t va;
	uint64_t bytes;
	uint64_t offset; /* of ANNEX_M2_DETACH: 0 */
};

/*
 * An answer. Registration: the kernel's id, above 0. Launch: asynchronous, the instance, above 0;
 * synchronous, the same when the kernel has ended well. Poll: 0 finished, 1 running. Else 0. A
 * negative errno is an error (Table II has -1): -ENOENT (no such kernel or instance), -EINVAL,
 * -EBUSY (too many launches wait; the kernel runs), -ENOSPC (too many kernels), -EPERM, -ENOSYS,
 * -EFAULT (memory that cannot be reached), -ENOEXEC (image, or illegal instruction), -EDOM
 * (ebreak), -ETIME (instruction budget), -ETIMEDOUT (deadline), -EBADMSG, -EPROTO.
 */
struct annex_m2_answer {
	int64_t value;
	uint64_t pc;   /* where a kernel ended in an error; else 0 */
	uint64_t addr; /* what it wanted to reach there, or the instruction */
};

/*
 * A kernel's image: this, then position-independent code. Offsets are from the image's beginning,
 * multiples of 2; 0: there is none of it. A micro-thread ends with ecall.
 */
#define ANNEX_M2_IMAGE_MAGIC 0x4d49324d /* "M2IM" */
#define ANNEX_M2_BODIES 8u
#define ANNEX_M2_IMAGE_MAX 65536u /* bytes */

struct annex_m2_image {
	uint32_t magic;
	uint32_t version;
	uint32_t bytes; /* all of it */
	uint32_t bodies;
	uint32_t initializer;
	uint32_t body[ANNEX_M2_BODIES];
	uint32_t finalizer;
	uint32_t zero[2];
};

/*
 * Where a kernel sees its unit's scratchpad: its arguments at the beginning, zeroes behind them.
 */
#define ANNEX_M2_SCRATCHPAD 0x10000000ull

/*
 * Questions of the host's driver to a device, before and beside all that: which process has which
 * region and which memory (the packet filter's entries and the page tables). An emulated device is
 * asked over a Unix socket of type SOCK_SEQPACKET, one message and one answer at a time.
 */
enum annex_m2_ask {
	/* a is the stride, b the slots. The answer has two files: the region, and a socket where
	 * each side sends a byte to wake the other. */
	ANNEX_M2_HELLO = 1,
	/* a is the address, b the bytes, c the offset in the file that comes along; d has bit 0 to
	 * read the memory, bit 1 to write it. */
	ANNEX_M2_MAP,
	/* a is the address, b the bytes. */
	ANNEX_M2_UNMAP,
	/* The answer is followed by as many struct annex_m2_listed as its a says. */
	ANNEX_M2_LIST,
	/* a is the asid. The answer is followed by as many struct annex_m2_record as its a says. */
	ANNEX_M2_RECORDS,
};

struct annex_m2_message {
	uint64_t magic;
	uint32_t version;
	uint32_t ask;
	int64_t result; /* of answers: 0 or a negative errno */
	uint64_t a, b, c, d;
};

/**
 * struct annex_m2_listed - A client of an emulated device.
 * @asid: the device's number of it.
 * @pid: its process.
 * @uid: its user.
 * @zero: nothing.
 * @kernels: kernels that it has registered.
 * @maps: mappings.
 * @mapped: bytes of its mappings.
 * @calls: calls that were taken up.
 * @launches: launches of the kernels that it has registered.
 * @torn: calls whose checksum was wrong.
 * @lost: calls whose number was neither that of the last one nor the next.
 * @repeated: calls that came again with the number of the last one.
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
