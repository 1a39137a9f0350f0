/* SPDX-License-Identifier: MIT */
/*
 * Unix sockets whose messages are whole (SOCK_SEQPACKET), and may carry files.
 */
#ifndef ANNEX_CORE_PACKET_H
#define ANNEX_CORE_PACKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define PACKET_FILES 253u /* in a message: SCM_MAX_FD, so that the kernel itself closes none */

/**
 * struct packet_name - A socket that listens at a path.
 * @path: where.
 * @fd: the socket, which does not block.
 * @dev: device number of its name.
 * @ino: inode number of it; 0: it has none.
 */
struct packet_name {
	char *path;
	int fd;
	dev_t dev;
	ino_t ino;
};

/* struct packet_files - Files that came with a message; its receiver closes them. */
struct packet_files {
	int fd[PACKET_FILES];
	unsigned int n;
};

/*
 * annex_packet_listen() - Listen at @path, which has the permissions @mode. The name that a dead
 * server left is replaced, a live one's is not. Meanwhile there is a file @path.lock.
 *
 * Return: 0; -EADDRINUSE (another process serves there); -EEXIST (something that is no socket);
 * -ENAMETOOLONG; -EBUSY (another is being started there); -EPERM (@path.lock is another user's);
 * what bind() says.
 */
int annex_packet_listen(const char *path, mode_t mode, struct packet_name *out);

/* annex_packet_unlisten() - Close it, and remove its name, if that is not another's by now. Nothing
 * for one that was not opened. */
void annex_packet_unlisten(struct packet_name *name);

/*
 * packet_connect() - To a server at @path; @scheme is for messages. Sending and receiving have
 * @timeout_ms then. Return: the socket, or -errno, with a line.
 */
int packet_connect(const char *scheme, const char *path, uint32_t timeout_ms);

/* annex_packet_send() - @flags as of sendmsg(). Return: 0 or -errno. */
int annex_packet_send(int sock, const void *bytes, size_t n, const int *fds, unsigned int nfds,
		      int flags);

/*
 * annex_packet_receive() - @flags as of recvmsg(). Return: bytes, 0 at the end, or -errno;
 * -EBADMSG: the message was larger than @iov has room for. In any case @files has the received
 * files.
 */
ssize_t annex_packet_receive(int sock, struct iovec *iov, unsigned int niov,
			     struct packet_files *files, int flags);

/* annex_packet_close() - Close all files that came. */
void annex_packet_close(struct packet_files *files);

/*
 * packet_ring() - Wake the waiter at the other end of a stream socket, which may be hostile: it
 * never waits. packet_hear() - Forget the rings so far.
 */
void packet_ring(int sock);
void packet_hear(int sock);

#endif
