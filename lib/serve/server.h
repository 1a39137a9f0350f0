/* SPDX-License-Identifier: MIT */
/*
 * The inside of a server, shared by the files of lib/serve.
 *
 * Two threads: control.c answers sockets, and worker.c carries commands out. A third one zeroes a
 * new part (add.c), while it does. The server's lock is for everything that the worker and another
 * thread use; the worker holds it during each of its rounds, which do not block.
 *
 * A client can write all of its region and its memory at any time. So each word there is
 * read once, and checked afterwards. Files of both are sealed: they do not shrink.
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
#define SERVE_PEERS_OF_USER 40u               /* that is neither root nor the daemon's own */
#define SERVE_PEERS_KEPT 16u                  /* for these */
#define SERVE_FLYING 1000u                    /* commands that the device has, at most */
#define SERVE_BYTES_MAX (16u << 20) /* that the device has: later ones wait for their turn here */
#define SERVE_BATCH 8u              /* so few that the device begins while others are taken */

/**
 * struct part - A part.
 * @first: its first byte on the device.
 * @birth: tells it from others of this name.
 * @told: its public facts, sizes and counters.
 * @live: it is in the file, or will be with the next change of that. Others cannot be opened.
 * @next: when its rate allows a command again (annex_now()).
 * @users: clients with commands, a moment ago: they share its weight.
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

/* struct memory - Memory of a client. @addr: its device address. @flying: commands that use it. */
struct memory {
	char *base;
	uint64_t bytes, addr;
	unsigned int flying;
};

/* struct claim - Bytes of a part that its client keeps from others, or from their writers only. */
struct claim {
	uint64_t pos, bytes;
	bool shared;
};

#define SERVE_CLAIMS 16u

/**
 * struct peer - A process that has connected.
 * @sock: its socket.
 * @part: its part; NULL: none is open yet.
 * @readonly: it may not write.
 * @leaving: it is served no further; freed when @flying is 0.
 * @busy: a thread makes a part for it, and will answer.
 * @heard: when it last sent something (annex_now()).
 * @head: its region, with the parts behind it; NULL: none.
 * @mem: memory 0 is the arena.
 * @mapped: bytes of the others.
 * @flying: its commands that have not ended.
 * @sq_head: commands taken.
 * @cq_tail: results put.
 * @told: results that it was told of.
 * @beat: as it was told.
 * @credit: bytes that it may move before others are served; negative: bytes that it had too much.
 * @kick: it wakes us.
 * @event: our end of a socket, by which we wake it.
 * @region: the file of its region; -1: there is none.
 * @stray: files that it has sent in vain.
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
 * struct flying - A command that is being carried out.
 * @token: the device's, of the piece that it has.
 * @peer: whose it is.
 * @since: when the device was given that (annex_now()); of a client that goes first, when the
 *	worker had looked for commands before: it came later.
 * @c: the rest of the command, as it was checked, with that piece.
 * @len: bytes of the piece; 0: of a command without length, which has one piece.
 * @slot: where its range is, if it discards.
 * @first: its part goes first.
 * @waits: a piece has ended, and there is no room for the next one.
 * @beside: others had something in flight when it began.
 * @full: they had as much as they may.
 * @given: pieces that others had been given until then.
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
 * @peers: connected processes, the one to be served next first.
 * @closers: files to be closed for peers that have left, the control thread's.
 * @flying: commands that are being carried out, @nflying of them, at most @most.
 * @load: of these, commands of parts that do not go first [0], and that do [1]; @unsized:
 *	of these, commands without length.
 * @piece: bytes that others may have in flight beside clients that go first.
 * @hold: others are given nothing, until a command of a client that goes first has run alone.
 * @given: pieces of others, for the device.
 * @looked: when the worker looked for commands of clients that go first (annex_now()).
 * @dsm: SERVE_FLYING ranges that the device reads, at device address @dsm_addr; @slot: @nslots that
 *	are free.
 * @adding: a part is being made, by thread @adder; @joinable: there is one to be joined.
 * @went_first: when a command that goes first came last.
 * @taken: commands, for the device.
 * @counted: when the users of parts were counted.
 * @dead: the device is gone: all commands fail.
 * @stop: its threads end.
 * @poll: the control thread's set.
 * @wake: wakes the control thread.
 * @bell: counts what the worker was woken for, where its queue pair cannot sleep.
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
/* Whether a user may read it, and write it. */
bool table_allows(const struct part *p, const struct peer *peer, bool write);

/* wake.c: serve_kick() - The control thread. serve_wake() - The worker. serve_hear() - The control
 * thread is woken by what the process sends. serve_ignore() - It is not. */
void serve_kick(struct annex_server *s);
void serve_wake(struct annex_server *s);
int serve_hear(struct peer *p);
void serve_ignore(const struct peer *p);

/* answer.c: what ANNEX_SERVE_ADD and ANNEX_SERVE_SET ask for. */
struct annex_serve_part serve_part_of(const struct annex_serve_message *m);
/* An answer without numbers, and sending one; a negative errno if it is not taken.
 * serve_tell() - How far it has come, before the answer. */
struct annex_serve_message serve_answer_to(const struct annex_serve_message *m, int result);
void serve_tell(const struct peer *p, const struct annex_serve_message *m, uint64_t done);
int serve_answer(const struct peer *p, const struct annex_serve_message *m, int result);

/*
 * closer.c: serve_close() - Files of strangers, which are closed some day; false: no memory.
 * serve_closing() - Of a user, so often that has not ended. serve_closers_end() - Without waiting.
 * By one thread.
 */
bool serve_close(struct annex_server *s, uid_t uid, const int *fds, unsigned int n);
unsigned int serve_closing(struct annex_server *s, const uid_t *user);
void serve_closers_end(struct annex_server *s);

/* control.c */
void *serve_control(void *arg);

/* peer.c: serve_message() - Take a message and answer it. False: there is nothing more to talk
 * about. serve_free() - It has left, and none of its commands is under way. */
bool serve_message(struct peer *p);
void serve_free(struct peer *p);

/* add.c: a thread that makes a part and answers; -EBUSY: it makes another. */
int serve_add(struct peer *p, const struct annex_serve_message *m);

/*
 * command.c: serve_load() - A command, read once, so that its checked form is carried out.
 * serve_moves() - Whether it moves data. serve_has_length() - Whether it takes the device the
 * longer, the more it is about. serve_judge() - Whether it may be carried out: 0, or the errno of
 * its result. serve_describe() - The piece of it that the device gets.
 */
struct annex_serve_sqe serve_load(const struct annex_serve_sqe *at);
bool serve_moves(const struct annex_serve_sqe *c);
bool serve_has_length(const struct annex_serve_sqe *c);
int serve_judge(const struct peer *p, const struct annex_serve_sqe *c);
struct annex_io serve_describe(struct annex_server *s, const struct flying *f);

/*
 * flight.c: with the lock held, by the worker. serve_put() - A result; there is room for it.
 * serve_begin() - A checked command joins a batch. serve_submit() - The device is given a batch;
 * commands that it does not take fail. serve_reap() - Take results of the device, and have large
 * commands go on. Return: whether anything has changed. serve_beside_first() - Whether a client
 * that goes first has been active of late. serve_room() - Bytes that the device may be
 * given of clients that do not go first. serve_has_others() - Whether it has something of them.
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
