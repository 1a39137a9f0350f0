/* SPDX-License-Identifier: MIT */
/*
 * A device for many processes: a daemon that owns it gives each client, over a Unix socket, queues
 * in memory that both see, and a part of the blocks. Clients open unix:PATH?part=NAME
 * (annex/device.h), without any rights on the device.
 *
 * Parts have a name, a size, an owner and permissions, as files have. They are kept in a table, a
 * text file, and outlive the daemon. A new part reads as zeroes.
 */
#ifndef ANNEX_SERVE_H
#define ANNEX_SERVE_H

#include <annex/device.h>
#include <annex/servewire.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_server;

#define ANNEX_SERVE_CLIENTS 64u /* at once, at most */
#define ANNEX_SERVE_PARTS 256u

/**
 * struct annex_serve_opts - How to serve. Zero means the default.
 * @path: the socket. Required, unless there is @listener.
 * @listener: a socket of type SOCK_SEQPACKET that listens already, as systemd passes one; the
 *	server closes it, and leaves its name. 0: there is none.
 * @table: the file of the table of parts, made if there is none; NULL: parts end with the daemon.
 * @mode: who may connect, as of a file (default 0666: parts have permissions of their own).
 * @clients: clients at once (default and at most ANNEX_SERVE_CLIENTS).
 * @memory: bytes that each client may have the daemon map, beside its region (default 1 GiB). What
 *	is beyond that is copied.
 */
struct annex_serve_opts {
	const char *path;
	int listener;
	const char *table;
	uint32_t mode;
	uint32_t clients;
	uint64_t memory;
};

/**
 * annex_serve() - Begin to serve the first namespace of a device.
 * @dev: the device, which no one else uses. All of it is claimed (annex_dev_claim()).
 * @opts: the options.
 * @out: the server, to be given back with annex_server_close().
 *
 * Two threads of the library serve. The device must stay open until annex_server_close().
 *
 * Return: 0; -EADDRINUSE (somebody serves there); -EEXIST (something that is no socket has that
 * name); -ENAMETOOLONG; -EBUSY (somebody else uses the device); -EBADMSG (the table is damaged, or
 * another device's); the errno of the table's file or of the socket; -EMFILE; -ENOMEM.
 */
int annex_serve(struct annex_dev *dev, const struct annex_serve_opts *opts,
		struct annex_server **out);

/**
 * annex_server_close() - End a server: commands of clients that it has begun end, later ones fail,
 * what was written is flushed, and the socket's name is removed.
 * @s: the server; may be NULL.
 *
 * Return: 0, or the errno of the flush.
 */
int annex_server_close(struct annex_server *s);

/**
 * annex_serve_add() - Make a part.
 * @path: the socket of a daemon.
 * @part: its name, bytes, uid, gid, mode, weight, first and rate; nothing else counts. A name is
 *	letters, digits, '.', '_' and '-', not first '.' or '-'; up to ANNEX_SERVE_NAME - 1. Bytes
 *	are a multiple of the device's block. Of the mode, 4 is to read and 2 is to write, as of a
 *	file: 0600.
 * @progress: called now and then while the part is zeroed, by this thread; may be NULL.
 *
 * The device's time goes to clients that want it by the weights of their parts, counted in bytes.
 * Clients of a part that goes first need not wait for others, which then have at most one piece in
 * flight (struct annex_serve_facts): it is for few small commands. A part's rate is for all of its
 * clients together; commands beyond it wait, and are not late by that. For root and the daemon's
 * own user. Its blocks are zeroed first.
 *
 * Return: 0; -EEXIST; -EINVAL (name, size, mode, weight, rate); -ENOSPC (no room of that size on
 * the device, in the table, or for the table's file); -EACCES; or as opening the device.
 */
int annex_serve_add(const char *path, const struct annex_serve_part *part,
		    void (*progress)(uint64_t done, uint64_t bytes));

/**
 * annex_serve_set() - Change who may use a part, and how much.
 * @path: the socket of a daemon.
 * @part: the name of the part, and the uid, gid, mode, weight, first and rate that it has from now
 *	on. Nothing else counts.
 *
 * Clients that have it open may go on as what they have opened it, by the new weight and rate.
 *
 * Return: 0; -ENOENT; -EINVAL; -EACCES; or as annex_serve_add().
 */
int annex_serve_set(const char *path, const struct annex_serve_part *part);

/**
 * annex_serve_remove() - Forget a part, and what is in it.
 * @path: the socket of a daemon.
 * @name: the part.
 *
 * Return: 0; -ENOENT; -EBUSY (it has clients); -EACCES; or as annex_serve_add().
 */
int annex_serve_remove(const char *path, const char *name);

/**
 * struct annex_serve_facts - A device that is served.
 * @bytes: bytes of the device.
 * @block: bytes of a block.
 * @piece: bytes of other clients that the device has at most while a client that goes first is
 *	active. The daemon adapts it to the device.
 * @n: number of parts.
 */
struct annex_serve_facts {
	uint64_t bytes;
	uint64_t block;
	uint64_t piece;
	unsigned int n;
};

/**
 * annex_serve_list() - The parts that a daemon serves, and to how many.
 * @path: its socket.
 * @facts: the device.
 * @parts: its parts, by name.
 *
 * Return: 0; or as opening the device.
 */
int annex_serve_list(const char *path, struct annex_serve_facts *facts,
		     struct annex_serve_part parts[ANNEX_SERVE_PARTS]);

#ifdef __cplusplus
}
#endif
#endif
