/* SPDX-License-Identifier: MIT */
/*
 * A cxlssd: range of several processes. One owns it: it has the backing file, the endpoint, and the
 * window. The others attach at its socket: they map the window's memory, forward their page faults,
 * and ask for what only the owner can do.
 *
 * The socket has an abstract name with a random number. A process that opens the file learns the
 * number from the length of the lock that the owner has on it. So there is no name without an
 * owner, and nothing to be removed after one that died.
 *
 *	attaching process			owner
 *	HELLO, the file, its pidfd	->
 *					<-	the file, its pidfd, the window's memory
 *	JOIN, its userfaultfd		->
 *					<-	result
 *	FAULT, PERSIST, HOLD, LET	->
 *					<-	result
 *
 * Each side shows the backing file, opened for writing, before the other believes that it may have
 * the range. An owner waits for no message, nor for one to be read.
 */
#ifndef ANNEX_HDM_ATTACH_H
#define ANNEX_HDM_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <annex/uri.h>
#include "core/medium.h"
#include "window.h"

#define ATTACH_MAGIC 0x31746b7344535843ull /* its first byte is the version */
#define ATTACH_NAME 32u                    /* of a socket, with its NULs */
#define ATTACH_NUMBER (1ull << 62)         /* the first number: no file has bytes there */
#define ATTACH_FILES 3u                    /* in a message, at most */
#define ATTACH_MOST 64u                    /* processes at an owner */
#define ATTACH_FAULTS 64u                  /* of one process, unanswered at a time */

enum attach_kind {
	ATTACH_HELLO,
	ATTACH_JOIN,
	ATTACH_FAULT,
	ATTACH_PERSIST,
	ATTACH_HOLD,
	ATTACH_LET,
};

/*
 * struct attach_message - A request, and its answer, which has the same @kind and @id.
 * @id: of a call; 0: of a fault.
 * @at: JOIN: address of the mapping. FAULT, PERSIST, HOLD, LET: offset in bytes. The answer to
 * HELLO: bytes of the window.
 * @len: PERSIST, HOLD, LET: bytes. FAULT: 1: the page is there, but protected. The answer to HELLO:
 * bytes of the endpoint.
 * @result: of the answer: 0 or a negative errno.
 */
struct attach_message {
	uint64_t magic;
	uint32_t kind;
	int32_t result;
	uint64_t id, at, len;
};

/* struct attach_packet - With the files that it carries. */
struct attach_packet {
	struct attach_message m;
	int fd[ATTACH_FILES];
	unsigned int files;
};

/* attach_socket.c: none of it blocks. */

/* attach_listen() - A socket at a new name, *@number of which is a length for ssd_file_open().
 * attach_connect() - To that of a name. Return: the socket, or a negative errno without a line. */
int attach_listen(uint64_t *number);
int attach_connect(uint64_t number);
/* attach_uid() - The user whose process has the other side; -1: it is not known. */
uid_t attach_uid(int conn);
/* attach_send() - 0, or a negative errno without a line. */
int attach_send(int conn, const struct attach_packet *p);
/* attach_receive() - 0; without a line: -EAGAIN (nothing yet), -EPIPE (the other side is gone),
 * -EPROTO (no message of ours). Files of it are to be closed. */
int attach_receive(int conn, struct attach_packet *p);
void attach_drop_files(struct attach_packet *p);
/* attach_take() - One of its files, which is the caller's now; -1: there is none. */
int attach_take(struct attach_packet *p, unsigned int i);
/* attach_shows() - Whether @fd is that file, opened for reading and writing. */
bool attach_shows(int fd, const struct stat *file);
/* attach_pidfd() - This process, as a file that is readable when it has ended. */
int attach_pidfd(void);

/* attach_owner.c */

struct attach_owner;

/*
 * attach_serve() - Let processes attach to @w, @bytes large, at @listener, which is closed with it.
 * @file: the backing file. @memory: that the window has its pages in.
 * @shown: bytes of the endpoint.
 * attach_end() - All of them lose the range.
 */
int attach_serve(struct window *w, int listener, int file, int memory, uint64_t bytes,
		 uint64_t shown, struct attach_owner **out);
void attach_end(struct attach_owner *o);

/* attach.c: attach_open() - Attach to the owner of a file, or of what will be one. @fd: the file,
 * which stays the caller's. @number: of the socket. @size: of the URI, or 0. Until @deadline; calls
 * wait for up to @timeout_ms. -EAGAIN, without a line: there is no owner any more. */
int attach_open(const char *path, int fd, uint64_t number, uint64_t size, uint64_t deadline,
		uint32_t timeout_ms, struct annex_medium **out);

#endif
