// SPDX-License-Identifier: MIT
/*
 * Processes that mean harm to the owner of a range, at its socket and in its memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include <annex/hdm.h>
#include "cxlssd_attach_rig.h"
#include "models/ssd/attach.h"
#include "models/ssd/file.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGE 4096u

/* A connection of one who means harm; *@file is the backing file, opened. */
static int break_in(const struct attached_place *p, int *file)
{
	const uint64_t deadline = annex_deadline_ms(ATTACHED_MS);
	char path[32];
	uint64_t number = 0;
	int conn;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->fd);
	*file = open(path, O_RDWR | O_CLOEXEC);
	CU_ASSERT_FATAL(*file >= 0 && ssd_file_locked(*file, &number));
	/* Its backlog may be full. */
	while ((conn = attach_connect(number)) == -EAGAIN && annex_now() < deadline)
		sched_yield();
	CU_ASSERT_FATAL(conn >= 0);
	return conn;
}

/* The answer: 0 or its error; -EPIPE: there is none, as the owner has hung up. */
static int answer_of(int conn, struct attach_packet *p)
{
	struct pollfd fd = {.fd = conn, .events = POLLIN};
	int err;

	CU_ASSERT_EQUAL_FATAL(poll(&fd, 1, ATTACHED_MS), 1);
	err = attach_receive(conn, p);
	return err ? err : p->m.result;
}

static int say(int conn, enum attach_kind kind, uint64_t at, uint64_t len, int fd)
{
	struct attach_packet p = {
		.m = {.magic = ATTACH_MAGIC, .kind = kind, .id = 1, .at = at, .len = len},
		.fd = {fd},
		.files = fd >= 0};

	CU_ASSERT_EQUAL(attach_send(conn, &p), 0);
	return answer_of(conn, &p);
}

/* Past HELLO; *@memory is the window's. */
static int get_in(const struct attached_place *p, int *memory)
{
	struct attach_packet hello = {.m = {.magic = ATTACH_MAGIC, .kind = ATTACH_HELLO},
				      .files = 2};
	int file, conn = break_in(p, &file);

	hello.fd[0] = file;
	hello.fd[1] = attach_pidfd();
	CU_ASSERT_EQUAL(attach_send(conn, &hello), 0);
	close(file);
	close(hello.fd[1]);
	CU_ASSERT_EQUAL_FATAL(answer_of(conn, &hello), 0);
	CU_ASSERT_EQUAL_FATAL(hello.files, 3);
	*memory = attach_take(&hello, 2);
	attach_drop_files(&hello);
	return conn;
}

static void expect_end(int conn)
{
	struct attach_packet p;
	int err;

	while ((err = answer_of(conn, &p)) != -EPIPE)
		CU_ASSERT_FATAL(err == -EINVAL || err == -EACCES);
	close(conn);
}

static void send_garbage(const struct attached_place *p, uint64_t *rng)
{
	struct attach_packet hello = {.m = {.magic = ATTACH_MAGIC, .kind = ATTACH_HELLO},
				      .files = 2};
	char bytes[256];
	int file, conn;

	for (unsigned int i = 0; i < 32; i++) {
		conn = break_in(p, &file);
		close(file);
		random_fill(rng, bytes, sizeof(bytes));
		CU_ASSERT(send(conn, bytes, 1 + random_next(rng) % sizeof(bytes), MSG_NOSIGNAL) >
			  0);
		expect_end(conn);
	}
	/* Requests before HELLO, of each kind and some more. */
	for (unsigned int kind = 1; kind < 9; kind++) {
		conn = break_in(p, &file);
		CU_ASSERT_EQUAL(say(conn, kind, 0, PAGE, -1), -EINVAL);
		expect_end(conn);
		close(file);
	}
	/* The file, but not for writing; then another one; then no process. */
	for (unsigned int i = 0; i < 3; i++) {
		char path[32];

		conn = break_in(p, &file);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
		hello.files = 2;
		hello.fd[0] = !i       ? open(path, O_RDONLY | O_CLOEXEC)
			      : i == 1 ? memfd_create("other", MFD_CLOEXEC)
				       : dup(file);
		hello.fd[1] = i == 2 ? eventfd(1, EFD_CLOEXEC) : attach_pidfd();
		CU_ASSERT_EQUAL(attach_send(conn, &hello), 0);
		close(hello.fd[0]);
		close(hello.fd[1]);
		close(file);
		expect_end(conn);
	}
}

/* A process that is let in, and asks for what is not there. */
static void ask_wrongly(const struct attached_place *p)
{
	static const uint64_t at[] = {ATTACHED_BYTES, ATTACHED_BYTES + 1, UINT64_MAX,
				      UINT64_MAX - PAGE + 1, 1ull << 63};
	char *base = mmap(NULL, ATTACHED_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int memory, conn, uffd;

	CU_ASSERT_FATAL(base != MAP_FAILED);
	for (unsigned int i = 0; i < 20; i++) {
		uint64_t where = at[i % 5];

		conn = get_in(p, &memory);
		munmap(base, ATTACHED_BYTES);
		base = annex_medium_map(memory, ATTACHED_BYTES, 0, MAP_SHARED | MAP_NORESERVE);
		CU_ASSERT_FATAL(!!base);
		/* The owner must not be able to lose it either. */
		CU_ASSERT(ftruncate(memory, 0) < 0 && errno == EPERM);
		close(memory);
		uffd = window_watch(base, ATTACHED_BYTES);
		CU_ASSERT_FATAL(uffd >= 0);
		if (i < 5)
			CU_ASSERT_EQUAL(say(conn, ATTACH_JOIN, i ? at[i] : 1, 0, uffd),
					i == 4 ? 0 : -EINVAL);
		if (i >= 5)
			CU_ASSERT_EQUAL(say(conn, ATTACH_JOIN, (uintptr_t)base, 0, uffd), 0);
		if (i >= 5 && i < 10)
			CU_ASSERT_EQUAL(say(conn, ATTACH_FAULT, where, 0, -1), -EINVAL);
		if (i >= 10 && i < 15)
			CU_ASSERT_EQUAL(
				say(conn, ATTACH_PERSIST + i % 3, 0, ATTACHED_BYTES + 1 + i, -1),
				-EINVAL);
		if (i >= 15)
			CU_ASSERT_EQUAL(
				say(conn, ATTACH_PERSIST + i % 3, where - PAGE, 2 * PAGE, -1),
				-EINVAL);
		close(uffd);
		close(conn);
	}
	/* Pages that it does not hold; a second HELLO; and no userfaultfd. */
	conn = get_in(p, &memory);
	CU_ASSERT_EQUAL(say(conn, ATTACH_JOIN, (uintptr_t)base, 0, memory), -EINVAL);
	expect_end(conn);
	close(memory);
	conn = get_in(p, &memory);
	close(memory);
	uffd = window_watch(base, ATTACHED_BYTES);
	CU_ASSERT_EQUAL(say(conn, ATTACH_JOIN, (uintptr_t)base, 0, uffd), 0);
	CU_ASSERT_EQUAL(say(conn, ATTACH_HOLD, 0, PAGE, -1), 0);
	CU_ASSERT_EQUAL(say(conn, ATTACH_LET, 0, 2 * PAGE, -1), -EINVAL);
	expect_end(conn);
	close(uffd);
	munmap(base, ATTACHED_BYTES);
}

/* A process that asks and never takes an answer, and many that say nothing. */
static void be_silent(const struct attached_place *p)
{
	struct attach_packet ask = {.m = {.magic = ATTACH_MAGIC, .kind = ATTACH_FAULT}};
	int conn, many[ATTACH_MOST + 8], file, err = 0;
	char *base;
	int memory, uffd;

	conn = get_in(p, &memory);
	base = annex_medium_map(memory, ATTACHED_BYTES, 0, MAP_SHARED | MAP_NORESERVE);
	uffd = window_watch(base, ATTACHED_BYTES);
	close(memory);
	CU_ASSERT_EQUAL(say(conn, ATTACH_JOIN, (uintptr_t)base, 0, uffd), 0);
	for (uint64_t deadline = annex_deadline_ms(ATTACHED_MS);
	     (!err || err == -EAGAIN) && annex_now() < deadline;)
		err = attach_send(conn, &ask);
	CU_ASSERT(err == -EPIPE || err == -ECONNRESET);
	close(conn);
	close(uffd);
	munmap(base, ATTACHED_BYTES);
	for (unsigned int i = 0; i < ATTACH_MOST + 8; i++) {
		many[i] = break_in(p, &file);
		close(file);
	}
	/* All of them are hung up on in a while. */
	for (unsigned int i = 0; i < ATTACH_MOST + 8; i++)
		expect_end(many[i]);
}

static void strangers(void)
{
	uint64_t rng = random_seed("strangers");
	struct annex_hdm *h, *good;
	struct attached_place p;
	struct attached_other o;
	char *data;

	attached_make(&p, "&window=1M");
	attached_spawn(&o, attached_own, &p);
	CU_ASSERT_EQUAL_FATAL(attached_hear(o.fd), 'r');
	h = attached_range(&p);
	data = attached_find(h, "data");
	send_garbage(&p, &rng);
	ask_wrongly(&p);
	be_silent(&p);
	/* All is as it was. */
	for (size_t at = PAGE; at < ATTACHED_DATA; at += PAGE)
		data[at] = 1;
	good = attached_range(&p);
	strcpy(attached_find(good, "data"), "of the other");
	attached_tell(o.fd, 'c');
	CU_ASSERT_EQUAL(attached_hear(o.fd), 'y');
	annex_hdm_close(good);
	CU_ASSERT_EQUAL(annex_hdm_check(h), 0);
	annex_hdm_close(h);
	attached_tell(o.fd, 'e');
	attached_join(&o);
	close(p.fd);
}

/* Pages are taken out of the memory, and put into it, past the mapping. */
static void punched(void)
{
	const uint64_t at = 8 << 20, other = 10 << 20;
	char *base, *mine, page[PAGE];
	int memory, conn, uffd;
	struct annex_hdm *h;
	struct attached_place p;
	struct attached_other o;

	attached_make(&p, "&window=1M");
	attached_spawn(&o, attached_own, &p);
	CU_ASSERT_EQUAL_FATAL(attached_hear(o.fd), 'r');
	h = attached_range(&p);
	base = annex_hdm_at(h, 0);
	strcpy(base + at, "here");
	CU_ASSERT_EQUAL(annex_hdm_persist(h, base + at, PAGE), 0);
	conn = get_in(&p, &memory);
	mine = annex_medium_map(memory, ATTACHED_BYTES, 0, MAP_SHARED | MAP_NORESERVE);
	CU_ASSERT_FATAL(!!mine);
	uffd = window_watch(mine, ATTACHED_BYTES);
	CU_ASSERT_EQUAL(say(conn, ATTACH_JOIN, (uintptr_t)mine, 0, uffd), 0);
	CU_ASSERT_EQUAL(
		fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, ATTACHED_BYTES),
		0);
	memset(page, 'z', PAGE);
	CU_ASSERT_EQUAL(pwrite(memory, page, PAGE, (off_t)other), PAGE);
	CU_ASSERT_EQUAL(say(conn, ATTACH_FAULT, other, 0, -1), 0);
	/* Neither side hangs: both have it from the endpoint again. */
	CU_ASSERT_EQUAL(base[other], 0);
	CU_ASSERT_STRING_EQUAL(base + at, "here");
	attached_tell(o.fd, 'c');
	CU_ASSERT_EQUAL(attached_hear(o.fd), 'n');
	CU_ASSERT_EQUAL(annex_hdm_check(h), 0);
	close(memory);
	close(uffd);
	close(conn);
	munmap(mine, ATTACHED_BYTES);
	annex_hdm_close(h);
	attached_kill(&o);
	close(p.fd);
}

/* Another user may open the file, but not attach. */
static void attach_as_nobody(int fd, const struct attached_place *p)
{
	struct annex_hdm *h = NULL;
	uint64_t number = 0;
	char path[32], byte;
	int conn, file;

	ATTACHED_NEED(attached_hear(fd) == 'g');
	ATTACHED_NEED(!setresuid(65534, 65534, 65534));
	ATTACHED_NEED(annex_hdm_open(p->uri, NULL, &h) == -EACCES);
	/* Nor does the owner hear of it. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->fd);
	file = open(path, O_RDWR | O_CLOEXEC);
	ATTACHED_NEED(file >= 0 && ssd_file_locked(file, &number));
	conn = attach_connect(number);
	ATTACHED_NEED(conn >= 0 && poll(&(struct pollfd){.fd = conn}, 1, 1000) == 1);
	ATTACHED_NEED(recv(conn, &byte, 1, MSG_DONTWAIT) == 0);
}

static void another_user(void)
{
	struct attached_other o;
	struct attached_place p;
	struct annex_hdm *h;

	/* Only root can be another one. */
	if (geteuid())
		return;
	attached_make(&p, "");
	attached_spawn(&o, attach_as_nobody, &p);
	h = attached_range(&p);
	attached_tell(o.fd, 'g');
	attached_join(&o);
	annex_hdm_close(h);
	close(p.fd);
}

UNIT_SUITE(cxlssd_strangers, {"at the socket", strangers}, {"in the memory", punched},
	   {"of another user", another_user})
