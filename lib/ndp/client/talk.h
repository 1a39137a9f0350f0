/* SPDX-License-Identifier: MIT */
/*
 * The socket to a server: one message, one answer.
 */
#ifndef ANNEX_NDP_CLIENT_TALK_H
#define ANNEX_NDP_CLIENT_TALK_H

#include <stddef.h>
#include <stdint.h>
#include <annex/m2wire.h>

/* annex_m2_talk_connect() - To the server that @uri names. The socket, or -errno. */
int annex_m2_talk_connect(const char *uri, uint32_t timeout_ms);

/*
 * annex_m2_talk() - Ask, with the file @fd if it is not -1; *@a is the answer, which may say no.
 * @fds: takes the files of the answer.
 * @nfds: files that must come if the answer is yes.
 * @more: takes the bytes that follow the answer; NULL: none may.
 * @nmore: room in @more; then the bytes that came.
 *
 * Return: 0; -ENODEV (the server is gone); -ETIMEDOUT; -EPROTO (what it says makes no sense): then
 * there is nothing more to talk about.
 */
int annex_m2_talk(int sock, const struct annex_m2_message *ask, int fd, struct annex_m2_message *a,
		  int *fds, unsigned int nfds, void *more, size_t *nmore);

#endif
