/* SPDX-License-Identifier: MIT */
/*
 * Protocol between the daemon of a served device (annex/serve.h) and its clients (unix:): messages
 * on a socket, and the layout of shared memory.
 *
 * The socket carries struct annex_serve_message. Each request has one answer, or several if its
 * description says so. ANNEX_SERVE_OPEN gives a client a region of memory, which the daemon created
 * and sealed, and two files for wakeups in both directions. The region consists of
 *
 *	one page			struct annex_serve_head
 *	ANNEX_SERVE_ENTRIES commands	struct annex_serve_sqe
 *	ANNEX_SERVE_ENTRIES results	struct annex_serve_cqe
 *	ANNEX_SERVE_ARENA bytes		bounce buffer for data in other memory
 *
 * Indices are free-running; an entry's slot is its index modulo ANNEX_SERVE_ENTRIES. The client
 * adds commands at sq_tail and takes results at cq_head, the daemon adds results at cq_tail. Before
 * a side sleeps, it sets its word and checks the queue once more; from then on the other side wakes
 * it.
 *
 * Both sides run on one machine: numbers are in native byte order.
 */
#ifndef ANNEX_SERVEWIRE_H
#define ANNEX_SERVEWIRE_H

#include <stdint.h>

#define ANNEX_SERVE_MAGIC 0x73584e41u /* "ANXs" */
#define ANNEX_SERVE_VERSION 5u
#define ANNEX_SERVE_NAME 64u /* bytes of a part's name, with its NUL */
#define ANNEX_SERVE_ENTRIES 2048u
#define ANNEX_SERVE_ARENA (32u << 20)
#define ANNEX_SERVE_MEMORIES 64u /* most mappings of a client */
#define ANNEX_SERVE_WEIGHTS 1000u
#define ANNEX_SERVE_RATE_LEAST (1ull << 20)
#define ANNEX_SERVE_FIRST (1ull << 63)

/**
 * enum annex_serve_ask - Requests, with members a to d of struct annex_serve_message.
 * @ANNEX_SERVE_OPEN: open the part @name; a: 1 to read only. Answer: a: blocks; b: bytes of a
 *	block; c: bytes of the largest command; d: 1: it is read only; birth. Passed files: the
 *	region, the eventfd that wakes the daemon, and a stream socket by which the daemon wakes the
 *	client.
 * @ANNEX_SERVE_MAP: map memory of the passed memfd, sealed against shrinking and growing, with all
 *	of its pages allocated; a: number of the mapping, from 1 to ANNEX_SERVE_MEMORIES; b: first
 *	byte; c: bytes; both multiples of the page size.
 * @ANNEX_SERVE_UNMAP: a: number of the mapping. No command that uses it may be in flight.
 * @ANNEX_SERVE_CLAIM: claim bytes of the part until the socket is closed; a: first byte; b: bytes;
 *	c: 0: exclusive; 1: shared with other readers.
 * @ANNEX_SERVE_ADD: create the part @name; a: bytes; b: owner, and from bit 32 on its group; c:
 *	rate; d: permissions (0600), and from bit 32 on its weight; bit 63: priority (first). While
 *	the part is zeroed there are answers with the result -EINPROGRESS; a: zeroed bytes. One more
 *	answer follows.
 * @ANNEX_SERVE_SET: change the part @name; b, c and d as for ANNEX_SERVE_ADD.
 * @ANNEX_SERVE_REMOVE: remove the part @name, which must have no clients.
 * @ANNEX_SERVE_LIST: list parts from number a on. The answer is followed by an array of struct
 *	annex_serve_part; a: its length; b: number of all parts; c: bytes of the device; d: bytes of
 *	a block, and from bit 32 on of a piece (struct annex_serve_facts).
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
 * @ask: enum annex_serve_ask; an answer repeats that of the request.
 * @result: of an answer: 0, or a negative errno.
 * @birth: in the answer to ANNEX_SERVE_OPEN: a number that no other part of this name has had.
 * @a: see enum annex_serve_ask.
 * @b: likewise.
 * @c: likewise.
 * @d: likewise.
 * @name: name of a part, with its NUL.
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
 * struct annex_serve_part - A part, in the answer to ANNEX_SERVE_LIST.
 * @name: its name, with a NUL.
 * @bytes: its size.
 * @uid: its owner.
 * @gid: its group.
 * @mode: its permissions, as for a file.
 * @weight: its share of the device's bandwidth relative to other parts, 1 to ANNEX_SERVE_WEIGHTS.
 * @first: 1: its commands have priority over those of parts with 0.
 * @rate: limit for all of its clients together in bytes per second, at least
 *	ANNEX_SERVE_RATE_LEAST; 0: no limit.
 * @clients: number of processes that have it open.
 * @commands: number of commands since the daemon began, without rejected ones.
 * @moved: bytes that these commands were to read and write.
 * @copied: of these, bytes copied through the arena.
 * @failed: number of commands that ended with an error or were rejected.
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

/* struct annex_serve_word - A word on a cache line of its own. */
struct annex_serve_word {
	uint32_t v;
	uint32_t line[15];
};

/**
 * struct annex_serve_head - The first page of a region.
 * @sq_tail: written by the client.
 * @beat: heartbeat, written by the daemon: it changes at least once a second while the daemon has
 *	commands of this client, which are then delayed and not lost.
 * @cq_tail: written by the daemon.
 * @cq_head: written by the client.
 * @server_sleeps: 1: the client must wake the daemon for new commands.
 * @client_sleeps: 1: the daemon must wake the client for new results.
 */
struct annex_serve_head {
	struct annex_serve_word sq_tail, beat;
	struct annex_serve_word cq_tail, cq_head;
	struct annex_serve_word server_sleeps, client_sleeps;
};

#define ANNEX_SERVE_FUA 1u /* the write is durable when it has ended */

/**
 * struct annex_serve_sqe - An NVMe command, decoded.
 * @opcode: ANNEX_NVM_READ, ANNEX_NVM_WRITE, ANNEX_NVM_FLUSH (of the whole device),
 *	ANNEX_NVM_WRITE_ZEROES or ANNEX_NVM_DSM (deallocate one range); see annex/nvme.h.
 * @flags: ANNEX_SERVE_FUA.
 * @mem: location of the data: 0: the arena; otherwise the number of a mapping.
 * @tag: returned with the result.
 * @pos: first byte in the part, a multiple of the block.
 * @len: bytes, a multiple of the block.
 * @offset: first byte of the data in the memory, a multiple of 4.
 */
struct annex_serve_sqe {
	uint8_t opcode;
	uint8_t flags;
	uint16_t mem;
	uint32_t tag;
	uint64_t pos;
	uint64_t len;
	uint64_t offset;
};

/**
 * struct annex_serve_cqe - Result of a command.
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
