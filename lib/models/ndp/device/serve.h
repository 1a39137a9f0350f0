/* SPDX-License-Identifier: MIT */
/*
 * A device for other processes: a Unix socket, and for each process that connects a thread, a
 * client and a region of its own.
 */
#ifndef ANNEX_NDP_DEVICE_SERVE_H
#define ANNEX_NDP_DEVICE_SERVE_H

#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/types.h>
#include "core/packet.h"
#include "front.h"

#define NDP_PEERS 64u      /* processes that are served at once */
#define NDP_REFUSED 16u    /* and that are being told that they are not */
#define NDP_PEER_MAPS 256u /* mappings of each */

/**
 * struct ndp_memory - A served file, by device and inode, and where it is mapped.
 */
struct ndp_memory {
	dev_t dev;
	ino_t ino;
	char *base;
	uint64_t bytes;
};

/**
 * struct ndp_peer - A process. The server's lock is for @front, @maps and @mapped, which other
 * threads read.
 * @refused: the errno with which it is turned away; 0: it is served.
 * @over: its thread has ended.
 * @front: its front end; NULL before it has sent ANNEX_M2_HELLO.
 * @maps: its mappings.
 * @mapped: bytes of them.
 */
struct ndp_peer {
	struct ndp_server *s;
	int fd;
	int refused;
	pid_t pid;
	uid_t uid;
	pthread_t thread;
	uint32_t over;
	struct ndp_front *front;
	uint32_t maps;
	uint64_t mapped;
	LIST_ENTRY(ndp_peer) link;
};

/**
 * struct ndp_server - A device that is served at a socket.
 * @name: where it listens.
 * @kick: eventfd that wakes its thread.
 * @lock: for @peers, @served and @refused.
 */
struct ndp_server {
	struct annex_ndp *ndp;
	struct ndp_memory *memory;
	unsigned int memories;
	struct packet_name name;
	int kick;
	uint32_t stop;
	pthread_t thread;
	pthread_mutex_t lock;
	LIST_HEAD(, ndp_peer) peers;
	unsigned int served, refused;
};

/*
 * ndp_server_open() - Serve @ndp and @n memories at @path, where only this user and root may
 * connect. -EADDRINUSE (in use by a server); -EEXIST (not a socket); -ENAMETOOLONG; -EBUSY (another
 * server is starting there); errors of bind().
 */
int ndp_server_open(struct annex_ndp *ndp, const struct ndp_memory *memory, unsigned int n,
		    const char *path, struct ndp_server **out);

/* ndp_server_close() - All its clients are closed, and its name is removed. */
void ndp_server_close(struct ndp_server *s);

/* peer.c: ndp_peer_run() - Serve it, until it goes or the server shuts its socket. */
void ndp_peer_run(struct ndp_peer *p);

/* listing.c: list clients after @answer, in @room bytes at @to. Return: bytes of the answer. */
size_t ndp_listing(struct ndp_server *s, const struct annex_m2_message *ask,
		   struct annex_m2_message *answer, char *to, size_t room);

#endif
