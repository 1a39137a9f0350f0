/* SPDX-License-Identifier: MIT */
/*
 * A near-data processor for other processes: a socket where they become its clients, each with a
 * region of its own (annex/m2func.h), and what there is to see of them.
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

#define ANNEX_M2_SERVED 16u  /* ranges, at most */
#define ANNEX_M2_CLIENTS 64u /* processes at once */

/**
 * annex_m2_serve() - Have a device serve this user's processes, and root's, at a socket.
 * @ndp: the device.
 * @ranges: ranges whose memory clients may map, each as far as it can open its file itself.
 * @n: number of ranges, up to ANNEX_M2_SERVED.
 * @path: the socket.
 * @out: the server, to be given back with annex_m2_server_close().
 *
 * A name that a dead server left is replaced. Threads of the library serve; the device and the
 * ranges must stay until annex_m2_server_close(). Users who may write to a range's file are trusted
 * not to truncate it.
 *
 * Return: 0; -EINVAL (too many ranges); -EADDRINUSE (somebody serves there); -EEXIST (something
 * that is no socket has that name); -ENAMETOOLONG; -ENOENT, -EACCES (no such directory); -EBUSY
 * (another server is being started there); -EPERM (another user has made a file @path.lock);
 * -EAGAIN (no more threads); -EMFILE; -ENOMEM.
 */
int annex_m2_serve(struct annex_ndp *ndp, struct annex_hdm *const *ranges, unsigned int n,
		   const char *path, struct annex_m2_server **out);

/**
 * annex_m2_serve_guest() - Have a device serve the processes of a virtual machine.
 * @ndp: the device.
 * @path: the file that is the machine's CXL memory.
 * @uncached: how many bytes at its end are the range's uncached part (pci:...?m2func=), a multiple
 *	of 2 MiB. The guest's annex.ko says there whose regions lie where (struct annex_filter), so
 *	all of the file must be one device's, and one range's.
 * @out: the server, to be given back with annex_m2_server_close().
 *
 * Return: 0; -EINVAL (sizes, no regular file); -EBUSY (another serves it); errors of open();
 * -EAGAIN (no more threads); -ENOMEM.
 */
int annex_m2_serve_guest(struct annex_ndp *ndp, const char *path, uint64_t uncached,
			 struct annex_m2_server **out);

/**
 * annex_m2_server_close() - End a server: its clients' calls end with -ENODEV, and the socket's
 * name is removed.
 * @s: the server; may be NULL.
 */
void annex_m2_server_close(struct annex_m2_server *s);

/**
 * annex_m2_list() - The processes that a server serves.
 * @uri: ndp:/path/to/socket.
 * @out: room for ANNEX_M2_CLIENTS.
 *
 * Return: how many; or as annex_m2_open().
 */
int annex_m2_list(const char *uri, struct annex_m2_listed out[ANNEX_M2_CLIENTS]);

/**
 * annex_m2_list_kernels() - The kernels of a process that a server serves.
 * @uri: ndp:/path/to/socket.
 * @asid: the server's number of the process, as annex_m2_list() has it.
 * @out: room for ANNEX_M2_RECORDS_MAX.
 *
 * Return: how many; -ENOENT (no such process); or as annex_m2_open().
 */
int annex_m2_list_kernels(const char *uri, uint32_t asid,
			  struct annex_m2_record out[ANNEX_M2_RECORDS_MAX]);

#ifdef __cplusplus
}
#endif
#endif
