/* SPDX-License-Identifier: MIT */
#ifndef ANNEX_EMU_ASK_H
#define ANNEX_EMU_ASK_H

#include <annex/servewire.h>
#include "core/packet.h"

/*
 * annex_emu_ask() - One question to a daemon (annex/servewire.h) at @path, and the answer in *@m,
 * with its files.
 * @fd: a file that goes with the question; -1: none.
 * @more: buffer for the bytes that follow the answer; NULL: none may follow.
 * @nmore: size of @more; then the number of bytes that came.
 *
 * Return: 0, and m->result is the result; -ETIMEDOUT; -ESHUTDOWN (the daemon is gone); -EPROTO
 * (a malformed answer); -EPROTONOSUPPORT (a daemon of another version), each with a
 * line, and without files.
 */
int annex_emu_ask(int sock, const char *path, struct annex_serve_message *m, int fd,
		  struct packet_files *files, void *more, size_t *nmore);

/* annex_emu_hear() - The next answer to the same question; *@m is the last one. As above. */
int annex_emu_hear(int sock, const char *path, struct annex_serve_message *m);

/* annex_emu_no_daemon() - The line of -EPROTO. */
int annex_emu_no_daemon(const char *path);

#endif
