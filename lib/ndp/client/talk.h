/* SPDX-License-Identifier: MIT */
/*
 * The socket to a server: one message, one answer.
 */
#ifndef ANNEX_NDP_CLIENT_TALK_H
#define ANNEX_NDP_CLIENT_TALK_H

#include <stddef.h>
#include <stdint.h>
#include <annex/m2wire.h>

/* annex_m2_talk_connect() - Connect to the server at @uri. The socket, or a negative errno. */
int annex_m2_talk_connect(const char *uri, uint32_t timeout_ms);

/*
 * annex_m2_talk() - Send a request and receive the answer.
 * @sock: the socket.
 * @ask: the request.
 * @fd: a file to pass with it, or -1.
 * @a: the answer, which may be an error.
 * @fds: receives the files of the answer.
 * @nfds: number of files that an answer without an error must have.
 * @more: receives the bytes that follow the answer; NULL: there must be none.
 * @nmore: size of @more; set to the number of bytes received.
 *
 * Return: 0; -ENODEV (the server is gone); -ETIMEDOUT; -EPROTO (an invalid answer): the socket is
 * then unusable.
 */
int annex_m2_talk(int sock, const struct annex_m2_message *ask, int fd, struct annex_m2_message *a,
		  int *fds, unsigned int nfds, void *more, size_t *nmore);

#endif
