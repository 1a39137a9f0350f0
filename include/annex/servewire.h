/* SPDX-License-Identifier: MIT */
/*
 * A served device to the byte: what a daemon (annex/serve.h) and its clients (unix:) say to each
 * other over a socket, and in the memory that they share then.
 *
 * The socket carries struct annex_serve_message, of which each is answered by one, or more where
 * that is said. ANNEX_SERVE_OPEN gives a client a region, which the daemon made and sealed, and two
 * files to wake and be woken by. The region is
 *
 *	one page			struct annex_serve_head
 *	ANNEX_SERVE_ENTRIES commands	struct annex_serve_sqe
 *	ANNEX_SERVE_ENTRIES results	struct annex_serve_cqe
 *	ANNEX_SERVE_ARENA bytes		memory for data that lies elsewhere
 *
 * Indices are free-running; an entry's place is its index modulo ANNEX_SERVE_ENTRIES. The client
 * adds commands at sq_tail and takes results at cq_head, the daemon adds results at cq_tail. A side
 * that will sleep sets its word, looks once more, and is woken from then on.
 *
 * Both are of one machine: numbers are in its own order.
 */
#ifndef ANNEX_SERVEWIRE_H
#define ANNEX_SERVEWIRE_H

#include <stdint.h>

#define ANNEX_SERVE_MAGIC 0x73584e41u /* "ANXs" */
#define ANNEX_SERVE_VERSION 4u
#define ANNEX_SERVE_NAME 64u /* bytes of a part's name, with its NUL */
#define ANNEX_SERVE_ENTRIES 2048u
#define ANNEX_SERVE_ARENA (32u << 20)
#define ANNEX_SERVE_MEMORIES 64u /* of a client */
#define ANNEX_SERVE_WEIGHTS 1000u
#define ANNEX_SERVE_RATE_LEAST (1ull << 20)
#define ANNEX_SERVE_FIRST (1ull << 63)

/**
 * enum annex_serve_ask - Requests. Numbers a to d of them, and of their answers:
 * @ANNEX_SERVE_OPEN: of the part @name; a: 1 to read only. Answer: a: blocks; b: bytes of a block;
 *	c: bytes of the largest command; d: 1: it is read only; birth. Files: the region, the
 *	eventfd that wakes the daemon, and the end of a stream socket by which it wakes the client.
 * @ANNEX_SERVE_MAP: memory of the memfd that comes along, sealed against shrinking and growing,
 *	with all of its pages there; a: its number, from 1 to ANNEX_SERVE_MEMORIES; b: the first
 *	byte; c: bytes, all whole pages.
 * @ANNEX_SERVE_UNMAP: a: its number. Commands that use it have ended.
 * @ANNEX_SERVE_CLAIM: keep bytes of the part from other clients that ask so, until the socket is
 *	closed; a: the first byte; b: bytes; c: 1: shared with other readers, but with no
 *	writer.
 * @ANNEX_SERVE_ADD: a new part @name; a: bytes; b: owner, and from bit 32 on its group; c: rate;
 *	d: permissions (0600), and from bit 32 on its weight; bit 63: it goes first. Answers, while
 *	it is zeroed, with the result -EINPROGRESS: a: bytes that are zeroes; then the last one.
 * @ANNEX_SERVE_SET: the part @name has other numbers from now on; b, c and d as of
 *	ANNEX_SERVE_ADD.
 * @ANNEX_SERVE_REMOVE: the part @name, of which nobody is a client.
 * @ANNEX_SERVE_LIST: of the parts from number a on. The answer is followed by struct
 *	annex_serve_part; a: how many; b: parts in all; c: bytes of the device; d: of a block, and
 *	from bit 32 on of a piece (struct annex_serve_facts).
 */
enum annex_serve_ask {
	ANNEX_SERVE_OPEN = 1,
	ANNEX_SERVE_MAP,
	ANNEX_SERVE_UNMAP,
	ANNEX_SERVE_CLAIM,
	ANNEX_SERVE_ADD,
	ANNEX_SERVE_SET,
	ANNEX_SERVE_REMOVE,
	ANNEX_SERVE_LIST,
};

/**
 * struct annex_serve_message - A request, or its answer.
 * @magic: ANNEX_SERVE_MAGIC.
 * @version: ANNEX_SERVE_VERSION.
 * @ask: enum annex_serve_ask; of an answer, that of the request.
 * @result: of an answer: 0, or a negative errno.
 * @birth: a number that no other part of this name has had, in the answer that says so.
 * @a: a number; see enum annex_serve_ask.
 * @b: likewise.
 * @c: likewise.
 * @d: likewise.
 * @name: of a part, with its NUL.
 */
struct annex_serve_message {
	uint32_t magic;
	uint16_t version;
	uint16_t ask;
	int32_t result;
	uint32_t birth;
	uint64_t a, b, c, d;
	char name[ANNEX_SERVE_NAME];
};

/**
 * struct annex_serve_part - A part, as ANNEX_SERVE_LIST tells of it.
 * @name: its name, with a NUL.
 * @bytes: its size.
 * @uid: its owner.
 * @gid: its group.
 * @mode: who may read and write it, as of a file.
 * @weight: its share of the device's time beside others, 1 to ANNEX_SERVE_WEIGHTS.
 * @first: 1: its commands go before those of parts that do not go first.
 * @rate: bytes a second that its clients together may move, ANNEX_SERVE_RATE_LEAST or more; 0: as
 *	many as they can.
 * @clients: processes that have it open.
 * @commands: commands that they had carried out since the daemon began.
 * @moved: bytes that those read and wrote.
 * @copied: of these, bytes by way of the arena.
 * @failed: commands that ended with an error.
 */
struct annex_serve_part {
	char name[ANNEX_SERVE_NAME];
	uint64_t bytes;
	uint32_t uid, gid;
	uint32_t mode;
	uint32_t weight;
	uint32_t first;
	uint32_t clients;
	uint64_t rate;
	uint64_t commands;
	uint64_t moved;
	uint64_t copied;
	uint64_t failed;
};

/* struct annex_serve_word - A word with a cache line of its own. */
struct annex_serve_word {
	uint32_t v;
	uint32_t line[15];
};

/**
 * struct annex_serve_head - The first page of a region.
 * @sq_tail: the client's.
 * @beat: the daemon's: a number that changes at least each second while it has commands of this
 *	client, so that they are not lost, but wait for their turn.
 * @cq_tail: the daemon's.
 * @cq_head: the client's.
 * @server_sleeps: 1: the daemon has to be woken for new commands.
 * @client_sleeps: 1: the client has to be woken for new results.
 */
struct annex_serve_head {
	struct annex_serve_word sq_tail, beat;
	struct annex_serve_word cq_tail, cq_head;
	struct annex_serve_word server_sleeps, client_sleeps;
};

enum annex_serve_op {
	ANNEX_SERVE_READ = 1,
	ANNEX_SERVE_WRITE,
	ANNEX_SERVE_FLUSH,   /* of the whole device */
	ANNEX_SERVE_ZERO,    /* @len bytes read as zeroes from now on */
	ANNEX_SERVE_DISCARD, /* @len bytes need not be kept */
};

#define ANNEX_SERVE_FUA 1u /* a write is durable when it has ended */

/**
 * struct annex_serve_sqe - A command.
 * @op: enum annex_serve_op.
 * @flags: ANNEX_SERVE_FUA.
 * @mem: where the data is: 0: in the arena; otherwise the number of a memory.
 * @tag: comes back with the result.
 * @pos: first byte in the part, a multiple of the block.
 * @len: bytes, a multiple of the block.
 * @offset: first byte of the data in the memory, a multiple of 4.
 */
struct annex_serve_sqe {
	uint8_t op;
	uint8_t flags;
	uint16_t mem;
	uint32_t tag;
	uint64_t pos;
	uint64_t len;
	uint64_t offset;
};

/**
 * struct annex_serve_cqe - How a command ended.
 * @tag: the command's.
 * @result: 0, or a negative errno.
 */
struct annex_serve_cqe {
	uint32_t tag;
	int32_t result;
};

#define ANNEX_SERVE_SQ 4096u
#define ANNEX_SERVE_CQ (ANNEX_SERVE_SQ + ANNEX_SERVE_ENTRIES * 32u)
#define ANNEX_SERVE_DATA (ANNEX_SERVE_CQ + ANNEX_SERVE_ENTRIES * 8u)
#define ANNEX_SERVE_REGION (ANNEX_SERVE_DATA + ANNEX_SERVE_ARENA)

#endif
