/* SPDX-License-Identifier: MIT */
/*
 * A CXL-SSD as a range of several processes, for tests: other processes, and what they do.
 */
#ifndef ANNEX_TESTS_CXLSSD_ATTACH_RIG_H
#define ANNEX_TESTS_CXLSSD_ATTACH_RIG_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>
#include <annex/hdm.h>
#include <annex/log.h>

#define ATTACHED_BYTES (16ull << 20)
#define ATTACHED_DATA (4u << 20) /* of the piece "data": four windows of 1 MiB */
#define ATTACHED_MS 60000        /* after which a test has failed */

/* struct attached_other - A process, and a socket to it. */
struct attached_other {
	pid_t pid;
	int fd;
};

/* struct attached_place - A backing file that goes with the process. */
struct attached_place {
	int fd;
	char uri[160];
};

/* In a child, which has no report of its own. */
#define ATTACHED_NEED(x)                                                                           \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x,                 \
				annex_last_error());                                               \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

void attached_make(struct attached_place *p, const char *more);

/* A child that does @run, and then ends; @fd is a socket to its parent. */
void attached_spawn(struct attached_other *o, void (*run)(int fd, const struct attached_place *p),
		    const struct attached_place *p);
/* attached_join() - Wait for the end of a child, whose report must be good.
 * attached_halt() - Stop all of its threads. */
void attached_join(struct attached_other *o);
void attached_kill(struct attached_other *o);
void attached_halt(const struct attached_other *o);

/* Words over the socket; 0: the other one has ended. */
void attached_tell(int fd, char word);
char attached_hear(int fd);

/* Open the range in the test, and in a child. */
struct annex_hdm *attached_range(const struct attached_place *p);
struct annex_hdm *attached_open(const struct attached_place *p);
char *attached_find(struct annex_hdm *h, const char *name);

/* attached_expect_gone() - A dead owner is noticed in a while. */
void attached_expect_gone(struct annex_hdm *h);

/* A child that owns the range, with a piece "data"; it says 'r', and answers each 'c' by 'y' if
 * that is "of the other", else by 'n'; then it closes. */
void attached_own(int fd, const struct attached_place *p);

#endif
