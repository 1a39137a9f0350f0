/* SPDX-License-Identifier: MIT */
/*
 * A near-data processor for other processes: a server to which they connect as clients, each with a
 * region of its own (annex/m2func.h), and a list of the clients.
 */
#ifndef ANNEX_M2SERVE_H
#define ANNEX_M2SERVE_H

#include <annex/hdm.h>
#include <annex/m2wire.h>
#include <annex/models/ndp.h>

#ifdef __cplusplus
extern "C" {
#endif

struct annex_m2_server;

#define ANNEX_M2_SERVED 16u  /* most ranges */
#define ANNEX_M2_CLIENTS 64u /* most processes at once */

/**
 * annex_m2_serve() - Serve a device on a socket, for processes of this user and of root.
 * @ndp: the device.
 * @ranges: ranges that clients may map; a client must be able to open a range's file itself.
 * @n: number of ranges, up to ANNEX_M2_SERVED.
 * @path: the socket.
 * @out: the server; release it with annex_m2_server_close().
 *
 * Replaces a socket that a dead server left. The server runs in threads of the library; the device
 * and the ranges must stay open until annex_m2_server_close(). Users with write permission on a
 * range's file are trusted not to truncate it.
 *
 * Return: 0; -EINVAL (too many ranges); -EADDRINUSE (a server runs at this path); -EEXIST (the path
 * is not a socket); -ENAMETOOLONG; -ENOENT, -EACCES (no such directory); -EBUSY (another server is
 * starting at this path); -EPERM (another user has created the file @path.lock); -EAGAIN (too many
 * threads); -EMFILE; -ENOMEM.
 */
int annex_m2_serve(struct annex_ndp *ndp, struct annex_hdm *const *ranges, unsigned int n,
		   const char *path, struct annex_m2_server **out);

/**
 * annex_m2_serve_guest() - Serve a device to the processes of a virtual machine.
 * @ndp: the device.
 * @path: the file with the machine's CXL memory.
 * @uncached: bytes of the range's uncached part at its end (pci:...?m2func=), a multiple of 2 MiB.
 *	The guest's annex.ko lists the regions of processes there (struct annex_filter), so the file
 *	must be all of one device and of one range.
 * @out: the server; release it with annex_m2_server_close().
 *
 * Return: 0; -EINVAL (sizes, not a regular file); -EBUSY (another server uses it); errors of
 * open(); -EAGAIN (too many threads); -ENOMEM.
 */
int annex_m2_serve_guest(struct annex_ndp *ndp, const char *path, uint64_t uncached,
			 struct annex_m2_server **out);

/**
 * annex_m2_server_close() - End a server, and unlink its socket.
 * @s: the server; may be NULL.
 *
 * Calls of its clients end with -ENODEV.
 */
void annex_m2_server_close(struct annex_m2_server *s);

/**
 * annex_m2_list() - List the clients of a server.
 * @uri: ndp:/path/to/socket.
 * @out: room for ANNEX_M2_CLIENTS.
 *
 * Return: number of clients; or as annex_m2_open().
 */
int annex_m2_list(const char *uri, struct annex_m2_listed out[ANNEX_M2_CLIENTS]);

/**
 * annex_m2_list_kernels() - List the kernels of a client.
 * @uri: ndp:/path/to/socket.
 * @asid: the client's number, from annex_m2_list().
 * @out: room for ANNEX_M2_RECORDS_MAX.
 *
 * Return: number of kernels; -ENOENT (no such client); or as annex_m2_open().
 */
int annex_m2_list_kernels(const char *uri, uint32_t asid,
			  struct annex_m2_record out[ANNEX_M2_RECORDS_MAX]);

#ifdef __cplusplus
}
#endif
#endif
