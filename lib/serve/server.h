/* SPDX-License-Identifier: MIT */
/*
 * The inside of a server, shared by the files of lib/serve.
 *
 * Two threads: control.c answers sockets, and worker.c carries out commands. A third one (add.c)
 * lives while a new part is zeroed. The server's lock protects everything that the worker shares
 * with another thread; the worker holds it during each of its rounds, which do not block.
 *
 * A client can write its region and its memory at any time. So each word there is read once, and
 * then checked. The files of both are sealed against shrinking.
 *
 * A part made with --first has priority: its clients are the priority clients below.
 */
#ifndef ANNEX_SERVE_SERVER_H
#define ANNEX_SERVE_SERVER_H

#include <pthread.h>
#include <sys/queue.h>
#include <annex/serve.h>
#include "core/log.h"
#include "core/packet.h"
#include "piece.h"

#define SERVE_PEERS (2 * ANNEX_SERVE_CLIENTS) /* sockets, of clients and others */
#define SERVE_PEERS_OF_USER 40u               /* other than root and the daemon's user */
#define SERVE_PEERS_KEPT 16u                  /* reserved for these two */
#define SERVE_FLYING 1000u                    /* commands in flight, at most */
#define SERVE_BYTES_MAX (16u << 20)           /* bytes in flight, at most */
#define SERVE_BATCH 8u /* so few that the device begins while the worker takes more */

/**
 * struct part - A part.
 * @first: its first byte on the device.
 * @birth: distinguishes parts that had the same name.
 * @told: its public facts, sizes and counters.
 * @live: it is in the file, or will be with the next change of the file. Only live parts can be
 *	opened.
 * @next: when its rate allows a command again (annex_now()).
 * @users: clients that had commands at the last count: they share its weight.
 */
struct part {
	uint64_t first;
	uint32_t birth;
	struct annex_serve_part told;
	bool live;
	uint64_t next;
	unsigned int users;
};

/**
 * struct table - The parts, sorted by name.
 * @path: its file; NULL: it has none.
 * @bytes: of the device.
 * @block: of the device.
 */
struct table {
	char *path;
	uint64_t bytes, block;
	struct part *part[ANNEX_SERVE_PARTS];
	unsigned int n;
};

/**
 * struct memory - Memory of a client.
 * @base: its address in this process.
 * @bytes: its size.
 * @addr: its device address.
 * @flying: commands that use it.
 */
struct memory {
	char *base;
	uint64_t bytes, addr;
	unsigned int flying;
};

/* struct claim - Claimed bytes of a part. @shared: other readers are allowed. */
struct claim {
	uint64_t pos, bytes;
	bool shared;
};

#define SERVE_CLAIMS 16u

/**
 * struct peer - A process that has connected.
 * @s: the server.
 * @sock: its socket.
 * @pid: its process number.
 * @uid: its user.
 * @gid: its group.
 * @part: its part; NULL: none is open yet.
 * @readonly: it must not write.
 * @leaving: it is served no further; freed when @flying is 0.
 * @busy: a thread creates a part for it, and will answer.
 * @heard: when it last sent something (annex_now()).
 * @head: its region; NULL: none.
 * @sq: the commands in it.
 * @cq: the results in it.
 * @mem: memory 0 is the arena.
 * @mapped: bytes of the others.
 * @flying: its commands in flight.
 * @sq_head: commands taken.
 * @cq_tail: results written.
 * @told: results published.
 * @beat: heartbeat published.
 * @credit: bytes that it may move before others are served; negative: bytes that it had too much.
 * @kick: eventfd by which it wakes the daemon.
 * @event: the daemon's end of the socket by which the daemon wakes it.
 * @region: the file of its region; -1: there is none.
 * @stray: unwanted files that it has sent.
 * @claim: its claims.
 * @nclaims: number of @claim.
 * @link: in the server's list.
 */
struct peer {
	struct annex_server *s;
	int sock;
	pid_t pid;
	uid_t uid;
	gid_t gid;
	struct part *part;
	bool readonly, leaving, busy;
	uint64_t heard;
	struct annex_serve_head *head;
	struct annex_serve_sqe *sq;
	struct annex_serve_cqe *cq;
	struct memory mem[ANNEX_SERVE_MEMORIES + 1];
	uint64_t mapped;
	unsigned int flying;
	uint32_t sq_head, cq_tail, told, beat;
	int64_t credit;
	int kick, event, region;
	struct packet_files stray;
	struct claim claim[SERVE_CLAIMS];
	unsigned int nclaims;
	TAILQ_ENTRY(peer) link;
};

TAILQ_HEAD(peers, peer);

/**
 * struct flying - A command in flight.
 * @token: the device's, for the piece in flight.
 * @peer: its client.
 * @since: when the piece was submitted (annex_now()); for a priority client, when the worker last
 *	looked for commands before the command came.
 * @c: the rest of the command, checked, including the piece in flight.
 * @len: bytes of the piece; 0: of a command without length, which has one piece.
 * @slot: index of its range in the server's @dsm, if it discards.
 * @first: its part has priority.
 * @waits: a piece has ended, and there is no room for the next one.
 * @beside: others had commands in flight when it began.
 * @full: others had as much in flight as they may.
 * @given: the server's @given when it began.
 */
struct flying {
	uint64_t token;
	struct peer *peer;
	uint64_t since;
	struct annex_serve_sqe c;
	uint64_t len;
	uint16_t slot;
	bool first, waits, beside, full;
	uint64_t given;
};

/* struct batch - Commands that are submitted together. */
struct batch {
	struct annex_io io[SERVE_BATCH];
	struct flying f[SERVE_BATCH];
	unsigned int n;
};

/**
 * struct annex_server - A device that is served.
 * @dev: the device.
 * @qp: the worker's queue pair.
 * @ns: the namespace.
 * @lock: see above.
 * @opts: its options.
 * @name: its listening socket.
 * @table: its parts.
 * @peers: connected processes, the one to be served next first.
 * @closers: files to be closed for peers that have left, used by the control thread only.
 * @npeers: number of @peers.
 * @clients: number of @peers with a part.
 * @flying: commands in flight.
 * @nflying: number of @flying.
 * @most: limit of @nflying.
 * @load: commands in flight of parts without priority [0] and with priority [1]: their number, the
 *	number of those without length, and bytes.
 * @piece: bytes that others may have in flight beside priority clients.
 * @hold: no command of others begins until a priority command has run alone.
 * @dsm: SERVE_FLYING ranges that the device reads.
 * @dsm_addr: device address of @dsm.
 * @slot: free indices of @dsm.
 * @nslots: number of @slot.
 * @went_first: when the last priority command came.
 * @looked: when the worker looked for commands of priority clients (annex_now()).
 * @counted: when the users of parts were counted.
 * @taken: commands submitted.
 * @given: pieces of others submitted.
 * @dead: the device is gone: all commands fail.
 * @adding: a part is being created.
 * @joinable: @adder must be joined.
 * @adder: the thread that creates a part.
 * @stop: the threads end.
 * @poll: epoll set of the control thread.
 * @wake: eventfd that wakes the control thread.
 * @bell: number of wakeups of the worker, if its queue pair cannot sleep.
 * @worker: a thread.
 * @control: a thread.
 */
struct annex_server {
	struct annex_dev *dev;
	struct annex_qp *qp;
	struct annex_ns ns;
	struct annex_serve_opts opts;
	struct packet_name name;
	struct table table;
	pthread_mutex_t lock;
	struct peers peers;
	TAILQ_HEAD(, closer) closers;
	unsigned int npeers, clients;
	struct flying flying[SERVE_FLYING];
	unsigned int nflying, most;
	struct load {
		unsigned int n, unsized;
		uint64_t bytes;
	} load[2];
	struct piece piece;
	bool hold;
	struct annex_dsm_range *dsm;
	uint64_t dsm_addr;
	uint16_t slot[SERVE_FLYING];
	unsigned int nslots;
	uint64_t went_first, looked, counted, taken, given;
	bool dead;
	bool adding, joinable;
	pthread_t adder;
	uint32_t stop;
	int poll, wake;
	uint32_t bell;
	pthread_t worker, control;
};

/* table.c: with the lock held, but for open and close. -EBADMSG: damaged, with a line. */
int table_open(struct table *t, const char *path, uint64_t bytes, uint64_t block);
void table_close(struct table *t);
struct part *table_find(const struct table *t, const char *name);
/* A place for a part, not yet in the file. -EEXIST, -EINVAL, -ENOSPC, -ENOMEM. */
int table_add(struct table *t, const struct annex_serve_part *told, struct part **out);
void table_drop(struct table *t, struct part *p);
/* Another owner, mode, weight and rate, in the file too. -ENOENT, -EINVAL, the file's. */
int table_set(struct table *t, const struct annex_serve_part *told);
int table_save(const struct table *t);
/* Whether a user may read it, or write it too. */
bool table_allows(const struct part *p, const struct peer *peer, bool write);

/* wake.c: serve_kick() - Wake the control thread. serve_wake() - Wake the worker. serve_hear() -
 * Poll the socket of a peer. serve_ignore() - Do not poll it any more. */
void serve_kick(struct annex_server *s);
void serve_wake(struct annex_server *s);
int serve_hear(struct peer *p);
void serve_ignore(const struct peer *p);

/* The part of an ANNEX_SERVE_ADD or ANNEX_SERVE_SET. */
struct annex_serve_part serve_part_of(const struct annex_serve_message *m);
/* serve_answer_to() - An answer without numbers. serve_answer() - Send one. Return: 0, or the
 * negative errno of the socket. serve_tell() - Send progress before the answer. */
struct annex_serve_message serve_answer_to(const struct annex_serve_message *m, int result);
void serve_tell(const struct peer *p, const struct annex_serve_message *m, uint64_t done);
int serve_answer(const struct peer *p, const struct annex_serve_message *m, int result);

/*
 * closer.c: serve_close() - Close files of clients in the background; false: no memory.
 * serve_closing() - Number of such calls for a user that have not ended. serve_closers_end() -
 * Forget all of them, without waiting. All by one thread.
 */
bool serve_close(struct annex_server *s, uid_t uid, const int *fds, unsigned int n);
unsigned int serve_closing(struct annex_server *s, const uid_t *user);
void serve_closers_end(struct annex_server *s);

/* control.c */
void *serve_control(void *arg);

/* peer.c: serve_message() - Receive a message and answer it. Return: false: the peer has to leave.
 * serve_free() - Free a peer without commands. */
bool serve_message(struct peer *p);
void serve_free(struct peer *p);

/* add.c: start a thread that creates a part and answers; -EBUSY: it creates another. */
int serve_add(struct peer *p, const struct annex_serve_message *m);

/*
 * command.c: serve_load() - Read a command once, so that its checked form is carried out.
 * serve_moves() - Whether it moves data. serve_has_length() - Whether its time grows with its
 * length. serve_judge() - Check it: 0, or the errno of its result. serve_describe() - The command
 * for the next piece of it.
 */
struct annex_serve_sqe serve_load(const struct annex_serve_sqe *at);
bool serve_moves(const struct annex_serve_sqe *c);
bool serve_has_length(const struct annex_serve_sqe *c);
int serve_judge(const struct peer *p, const struct annex_serve_sqe *c);
struct annex_io serve_describe(struct annex_server *s, const struct flying *f);

/*
 * flight.c: with the lock held, by the worker. serve_put() - Write a result; there is room for it.
 * serve_begin() - Add a checked command to a batch. serve_submit() - Submit a batch; commands that
 * the device does not take fail. serve_reap() - Take results of the device, and submit further
 * pieces. Return: whether anything has changed. serve_beside_first() - Whether a priority client
 * has been active recently. serve_room() - Bytes that others may still have in flight.
 * serve_has_others() - Whether they have any.
 */
void serve_put(struct peer *p, uint32_t tag, int result);
bool serve_beside_first(const struct annex_server *s, uint64_t now);
uint64_t serve_room(const struct annex_server *s, uint64_t now);
bool serve_has_others(const struct annex_server *s);
void serve_begin(struct annex_server *s, struct peer *p, const struct annex_serve_sqe *c,
		 struct batch *b, uint64_t now);
void serve_submit(struct annex_server *s, struct batch *b);
bool serve_reap(struct annex_server *s);

/* worker.c */
void *serve_worker(void *arg);

#endif
