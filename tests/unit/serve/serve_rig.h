/* SPDX-License-Identifier: MIT */
/*
 * A device that is served, in this process or in a child, and a raw client of it.
 */
#ifndef ANNEX_TESTS_SERVE_RIG_H
#define ANNEX_TESTS_SERVE_RIG_H

#include <stdbool.h>
#include <sys/types.h>
#include <annex/serve.h>
#include "core/packet.h"

/* struct serve_rig - @device: its URI; a file of its own if it is "file". @child: the process that
 * serves; 0: this one. @table: its table of parts. */
struct serve_rig {
	char dir[32];
	char path[48];
	char table[48];
	char device[80];
	struct annex_serve_opts opts;
	struct annex_dev *dev;
	struct annex_server *server;
	pid_t child;
};

/*
 * serve_rig_make() - A place for all of it. serve_rig_start() - Serve, here or in a child.
 * serve_rig_stop() - Regularly. serve_rig_kill() - A child. serve_rig_remove() - Nothing is left.
 */
void serve_rig_make(struct serve_rig *r, const char *device);
int serve_rig_start(struct serve_rig *r, bool child);
void serve_rig_stop(struct serve_rig *r);
void serve_rig_kill(struct serve_rig *r);
void serve_rig_remove(struct serve_rig *r);

/*
 * serve_rig_open() - Make and serve it here, with a part of @bytes of this user for each letter of
 * @parts. serve_rig_close() - Stop serving and remove it.
 */
void serve_rig_open(struct serve_rig *r, const char *device, const char *parts, uint64_t bytes);
void serve_rig_close(struct serve_rig *r);

/* serve_rig_add() - As annex_serve_add(), of the usual weight. */
int serve_rig_add(const struct serve_rig *r, const char *name, uint64_t bytes, uint32_t uid,
		  uint32_t gid, uint32_t mode);

/* serve_rig_uri() - Of a part, in @buf of 128 bytes. */
const char *serve_rig_uri(const struct serve_rig *r, const char *part, char *buf);

/* serve_rig_part() - A part, as the daemon tells of it. False: there is none. */
bool serve_rig_part(const struct serve_rig *r, const char *part, struct annex_serve_part *out);

/* serve_rig_rounds() - @n rounds; with ANNEX_LONG=N in the environment N times as many. */
unsigned int serve_rig_rounds(unsigned int n);

/* struct raw - A client without the library. */
struct raw {
	int sock, kick, event;
	char *region;
	struct annex_serve_head *head;
	struct annex_serve_sqe *sq;
	struct annex_serve_cqe *cq;
	uint32_t tail, seen;
};

/* raw_ask() - The result of the answer. raw_open() - Of a part, which there is. raw_close(). */
int raw_ask(int sock, struct annex_serve_message *m, int fd);
void raw_open(const struct serve_rig *r, const char *part, struct raw *out);
void raw_close(struct raw *c);

/* raw_command() - One command, and its result; -ETIME: none within ten seconds; -EPIPE: the daemon
 * has hung up. */
int raw_command(struct raw *c, const struct annex_serve_sqe *sqe);

#endif
