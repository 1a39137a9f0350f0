/* SPDX-License-Identifier: MIT */
/*
 * A device for many processes. A daemon owns the device and gives each client, over a Unix socket,
 * queues in shared memory and a part of the blocks. Clients open unix:PATH?part=NAME
 * (annex/device.h), and need no permission on the device.
 *
 * A part has a name, a size, an owner and permissions, like a file. The table of parts is a text
 * file and outlives the daemon. A new part reads as zeroes.
 */
#ifndef ANNEX_SERVE_H
#define ANNEX_SERVE_H

#include <annex/device.h>
#include <annex/servewire.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_server;

#define ANNEX_SERVE_CLIENTS 64u /* most clients at once */
#define ANNEX_SERVE_PARTS 256u

/**
 * struct annex_serve_opts - Options of annex_serve(). Zero means the default.
 * @path: path of the socket. Required without @listener.
 * @listener: a listening socket of type SOCK_SEQPACKET, for example from systemd. The server closes
 *	it and does not unlink its name. 0: none.
 * @table: path of the table of parts, created if it does not exist; NULL: parts are lost when the
 *	daemon ends.
 * @mode: file mode of the socket (default 0666: parts have permissions of their own).
 * @clients: most clients at once (default and maximum ANNEX_SERVE_CLIENTS).
 * @memory: most bytes that the daemon maps for each client, in addition to its region (default
 *	1 GiB). Data in other memory is copied.
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
 * @dev: the device, without other users. All of its blocks are claimed (annex_dev_claim()).
 * @opts: the options.
 * @out: the server; release it with annex_server_close().
 *
 * The server runs in two threads of the library. The device must stay open until
 * annex_server_close().
 *
 * Return: 0; -EADDRINUSE (a daemon serves at this path); -EEXIST (the path is not a socket);
 * -ENAMETOOLONG; -EBUSY (the device has another user); -EBADMSG (the table is damaged, or belongs
 * to another device); the errno of the table's file or of the socket; -EMFILE; -ENOMEM.
 */
int annex_serve(struct annex_dev *dev, const struct annex_serve_opts *opts,
		struct annex_server **out);

/**
 * annex_server_close() - End a server.
 * @s: the server; may be NULL.
 *
 * Waits for commands in flight, fails later ones, flushes the device, and unlinks the socket.
 *
 * Return: 0, or the errno of the flush.
 */
int annex_server_close(struct annex_server *s);

/**
 * annex_serve_add() - Make a part.
 * @path: the socket of a daemon.
 * @part: its name, bytes, uid, gid, mode, weight, first and rate; other members are ignored. The
 *	name consists of letters, digits, '.', '_' and '-', does not begin with '.' or '-', and has
 *	at most ANNEX_SERVE_NAME - 1 bytes. Bytes must be a multiple of the device's block. The mode
 *	has read and write bits, as for a file, for example 0600.
 * @progress: called from time to time by this thread while the part is zeroed; may be NULL.
 *
 * Busy parts share the device's bandwidth in proportion to their weights. A part with first set has
 * priority: while its clients are active, other clients have at most one piece in flight (struct
 * annex_serve_facts). Use it for few small commands. The rate limits all clients of a part
 * together; delayed commands do not time out. Requires root or the daemon's user. The blocks are
 * zeroed before the part can be opened.
 *
 * Return: 0; -EEXIST; -EINVAL (name, size, mode, weight, rate); -ENOSPC (no such run of free
 * blocks, or no room in the table or for its file); -EACCES; or as opening the device.
 */
int annex_serve_add(const char *path, const struct annex_serve_part *part,
		    void (*progress)(uint64_t done, uint64_t bytes));

/**
 * annex_serve_set() - Change the owner, permissions and limits of a part.
 * @path: the socket of a daemon.
 * @part: the name of the part, and its new uid, gid, mode, weight, first and rate. Other members
 *	are ignored.
 *
 * The new weight and rate apply at once; new permissions do not affect clients that have the part
 * open.
 *
 * Return: 0; -ENOENT; -EINVAL; -EACCES; or as annex_serve_add().
 */
int annex_serve_set(const char *path, const struct annex_serve_part *part);

/**
 * annex_serve_remove() - Remove a part and its data.
 * @path: the socket of a daemon.
 * @name: the part.
 *
 * Return: 0; -ENOENT; -EBUSY (it has clients); -EACCES; or as annex_serve_add().
 */
int annex_serve_remove(const char *path, const char *name);

/**
 * struct annex_serve_facts - A served device.
 * @bytes: size of the device.
 * @block: bytes of a block.
 * @piece: largest number of bytes of other clients in flight while a client with priority is
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
 * annex_serve_list() - List the parts of a daemon's device.
 * @path: the daemon's socket.
 * @facts: the device.
 * @parts: its parts, sorted by name.
 *
 * Return: 0; or as opening the device.
 */
int annex_serve_list(const char *path, struct annex_serve_facts *facts,
		     struct annex_serve_part parts[ANNEX_SERVE_PARTS]);

#ifdef __cplusplus
}
#endif
#endif
