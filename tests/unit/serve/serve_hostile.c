// SPDX-License-Identifier: MIT
/*
 * A served device, and clients that want to stop it, or to have more of it than their share: by
 * files that block, places, connections, and their remains.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "serve_rig.h"
#include "tests/unit/unit.h"

#define MIB (1ull << 20)
#define LEAVE_MS 10000u
#define SOON_NS (5 * ANNEX_NSEC_PER_SEC)

static const struct annex_serve_sqe read_one = {.opcode = ANNEX_NVM_READ, .len = 512};

static void begin(struct serve_rig *r, const char *device, bool child)
{
	serve_rig_make(r, device);
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(r, child), 0);
	CU_ASSERT_EQUAL(serve_rig_add(r, "a", MIB, getuid(), getgid(), 0666), 0);
	CU_ASSERT_EQUAL(serve_rig_add(r, "b", MIB, getuid(), getgid(), 0600), 0);
}

/* Some commands, one by one, each of which ends soon. */
static void works(struct raw *c)
{
	uint64_t start = annex_now();

	for (unsigned int i = 0; i < 20; i++)
		CU_ASSERT_EQUAL(raw_command(c, &read_one), 0);
	CU_ASSERT(annex_now() - start < SOON_NS);
}

/* Commands of a client that takes neither results nor wakeups. */
static void flood(struct raw *c, const struct annex_serve_sqe *sqe, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		c->sq[c->tail++ % ANNEX_SERVE_ENTRIES] = *sqe;
	annex_atomic_or(&c->head->client_sleeps.v, 1u, ANNEX_SEQ_CST);
	annex_atomic_store(&c->head->sq_tail.v, c->tail, ANNEX_RELEASE);
	eventfd_write(c->kick, 1);
}

/* A file that both have, a client can make block, or fill. */
static void blocking_files(void)
{
	struct serve_rig r;
	struct raw good, bad;

	begin(&r, "mem:16M", false);
	raw_open(&r, "b", &good);
	raw_open(&r, "a", &bad);
	CU_ASSERT_EQUAL(fcntl(bad.event, F_SETFL, O_RDWR), 0);
	CU_ASSERT_EQUAL(eventfd_write(bad.kick, UINT64_MAX - 1), 0);
	CU_ASSERT_EQUAL(fcntl(bad.kick, F_SETFL, O_RDWR), 0);
	CU_ASSERT(send(bad.event, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0);
	for (unsigned int i = 0; i < 1000; i++) {
		bad.sq[bad.tail++ % ANNEX_SERVE_ENTRIES] = read_one;
		annex_atomic_or(&bad.head->client_sleeps.v, 1u, ANNEX_SEQ_CST);
		annex_atomic_store(&bad.head->sq_tail.v, bad.tail, ANNEX_RELEASE);
		if (i % 50 == 0)
			works(&good);
	}
	raw_close(&bad);
	works(&good);
	raw_close(&good);
	serve_rig_close(&r);
}

/* struct slow - A TCP connection: the last close of @end takes an hour if it is not read. */
struct slow {
	int listener, end;
};

static void make_slow(struct slow *l)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct linger hour = {1, 3600};
	socklen_t len = sizeof(at);
	char buf[4096] = {0};

	l->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	l->end = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CU_ASSERT_EQUAL_FATAL(bind(l->listener, (struct sockaddr *)&at, len), 0);
	CU_ASSERT_EQUAL_FATAL(listen(l->listener, 1), 0);
	CU_ASSERT_EQUAL_FATAL(getsockname(l->listener, (struct sockaddr *)&at, &len), 0);
	CU_ASSERT_EQUAL_FATAL(connect(l->end, (struct sockaddr *)&at, len), 0);
	while (send(l->end, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	CU_ASSERT_EQUAL(setsockopt(l->end, SOL_SOCKET, SO_LINGER, &hour, sizeof(hour)), 0);
}

/* A file that takes long to be closed; one that the daemon has read, and one that it has not. */
static void lingering(void)
{
	struct annex_serve_message m = {.ask = ANNEX_SERVE_LIST,
					.magic = ANNEX_SERVE_MAGIC,
					.version = ANNEX_SERVE_VERSION};
	struct serve_rig r;
	struct slow l[2];
	struct raw good;
	int sock;

	begin(&r, "mem:16M", true);
	raw_open(&r, "b", &good);
	for (unsigned int i = 0; i < 2; i++) {
		make_slow(&l[i]);
		sock = packet_connect("unix", r.path, 1000);
		/* The daemon has the last one, whose close is what lasts. */
		kill(r.child, SIGSTOP);
		CU_ASSERT_EQUAL(waitpid(r.child, NULL, WUNTRACED), r.child);
		if (i) /* no message: the rest is not read */
			CU_ASSERT_EQUAL(annex_packet_send(sock, "x", 1, NULL, 0, 0), 0);
		CU_ASSERT_EQUAL(annex_packet_send(sock, &m, sizeof(m), &l[i].end, 1, 0), 0);
		close(l[i].end);
		kill(r.child, SIGCONT);
		works(&good);
		m.a = 1000;
		CU_ASSERT_EQUAL(raw_ask(good.sock, &m, -1), 0);
		close(sock);
	}
	works(&good);
	raw_close(&good);
	serve_rig_kill(&r);
	serve_rig_remove(&r);
	for (unsigned int i = 0; i < 2; i++)
		close(l[i].listener);
}

/* A priority client that never stops leaves a share for others. */
static void greedy(void)
{
	const struct annex_serve_sqe large = {.opcode = ANNEX_NVM_READ, .len = 4096};
	struct annex_serve_part first = {
		.name = "first", .bytes = MIB, .mode = 0600, .weight = 100, .first = 1};
	struct serve_rig r;
	struct raw good, bad[4];
	uint64_t start;

	first.uid = getuid();
	first.gid = getgid();
	begin(&r, "mem:16M?fault=delay,us=2000,count=0", false);
	CU_ASSERT_EQUAL(annex_serve_add(r.path, &first, NULL), 0);
	raw_open(&r, "b", &good);
	for (unsigned int i = 0; i < 4; i++)
		raw_open(&r, "first", &bad[i]);
	start = annex_now();
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < 4; i++) {
			uint32_t tail = annex_atomic_load(&bad[i].head->cq_tail.v, ANNEX_ACQUIRE);

			annex_atomic_store(&bad[i].head->cq_head.v, tail, ANNEX_RELEASE);
			flood(&bad[i], &large, ANNEX_SERVE_ENTRIES - (bad[i].tail - tail));
		}
		CU_ASSERT_EQUAL(raw_command(&good, &read_one), 0);
	}
	CU_ASSERT(annex_now() - start < SOON_NS);
	for (unsigned int i = 0; i < 4; i++)
		raw_close(&bad[i]);
	raw_close(&good);
	serve_rig_close(&r);
}

static uint32_t ended(const struct raw *c)
{
	return annex_atomic_load(&c->head->cq_tail.v, ANNEX_ACQUIRE);
}

/* A part does not get more by having more clients. */
static void many(void)
{
	const struct annex_serve_sqe large = {.opcode = ANNEX_NVM_READ, .len = 65536};
	const uint64_t deadline = annex_deadline_ms(LEAVE_MS);
	uint32_t others = 0, from;
	struct serve_rig r;
	struct raw one, crowd[3];

	begin(&r, "mem:16M?fault=delay,us=20000,count=0", false);
	raw_open(&r, "b", &one);
	for (unsigned int i = 0; i < 3; i++) {
		raw_open(&r, "a", &crowd[i]);
		flood(&crowd[i], &large, 2000);
	}
	flood(&one, &large, 2000);
	/* When both are known, and before any of them has nothing to do. */
	while (ended(&one) < 100 && annex_now() < deadline)
		sched_yield();
	from = ended(&one);
	for (unsigned int i = 0; i < 3; i++)
		others -= ended(&crowd[i]);
	while (ended(&one) < from + 500 && annex_now() < deadline)
		sched_yield();
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT(ended(&crowd[i]) < 2000);
		others += ended(&crowd[i]);
	}
	CU_ASSERT(others < 2 * (ended(&one) - from));
	for (unsigned int i = 0; i < 3; i++)
		raw_close(&crowd[i]);
	raw_close(&one);
	serve_rig_close(&r);
}

/* Files that an epoll set of this process watches. */
static unsigned int watched(void)
{
	DIR *dir = opendir("/proc/self/fdinfo");
	unsigned int n = 0;
	struct dirent *e;
	char line[256];

	CU_ASSERT_PTR_NOT_NULL_FATAL(dir);
	while ((e = readdir(dir))) {
		int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC);
		FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

		while (f && fgets(line, sizeof(line), f))
			n += !strncmp(line, "tfd:", 4);
		if (f)
			fclose(f);
	}
	closedir(dir);
	return n;
}

/* A client that keeps its files is not polled any more. */
static void keepsakes(void)
{
	const uint64_t deadline = annex_deadline_ms(LEAVE_MS);
	struct serve_rig r;
	struct raw c[8];
	unsigned int before;

	begin(&r, "mem:16M", false);
	before = watched();
	for (unsigned int i = 0; i < 8; i++) {
		raw_open(&r, "a", &c[i]);
		close(c[i].sock);
		c[i].sock = -1;
	}
	while (watched() > before && annex_now() < deadline)
		sched_yield();
	CU_ASSERT(watched() <= before);
	for (unsigned int i = 0; i < 8; i++)
		raw_close(&c[i]);
	serve_rig_close(&r);
}

/* A part that has come in the place of another, with its name and size. */
static void another(void)
{
	struct annex_io io = {.opcode = ANNEX_NVM_READ, .nsid = 1, .nlb = 8, .bytes = 4096};
	const uint64_t deadline = annex_deadline_ms(LEAVE_MS);
	struct annex_dev *dev;
	struct serve_rig r;
	uint64_t start;
	char uri[128];
	void *buf;
	int err;

	begin(&r, "file", false);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(serve_rig_uri(&r, "a", uri), NULL, &dev), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_alloc(dev, ANNEX_PLACE_PROVIDER, 4096, &buf, &io.addr), 0);
	CU_ASSERT_EQUAL(annex_dev_io(dev, &io, 1, NULL), 0);
	serve_rig_stop(&r);
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, false), 0);
	/* It goes on with the same one. */
	do
		err = annex_dev_io(dev, &io, 1, NULL);
	while (err && annex_now() < deadline);
	CU_ASSERT_EQUAL(err, 0);
	serve_rig_stop(&r);
	CU_ASSERT(annex_dev_io(dev, &io, 1, NULL) < 0);
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, false), 0);
	CU_ASSERT_EQUAL(annex_serve_remove(r.path, "a"), 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", MIB, getuid(), getgid(), 0600), 0);
	/* For longer than it takes to look for a daemon. */
	start = annex_now();
	while (annex_now() - start < 100 * ANNEX_NSEC_PER_MSEC)
		CU_ASSERT(annex_dev_io(dev, &io, 1, NULL) < 0);
	annex_dev_free(dev, ANNEX_PLACE_PROVIDER, buf, 4096, io.addr);
	annex_dev_close(dev);
	serve_rig_close(&r);
}

/* As many clients as a user gets, up to @most. */
static unsigned int occupy(const struct serve_rig *r, struct annex_dev **dev, unsigned int most)
{
	unsigned int n = 0;
	char uri[128];

	while (n < most && !annex_dev_open(serve_rig_uri(r, "a", uri), NULL, &dev[n]))
		n++;
	return n;
}

/* In a process of user @uid, which stays until it is killed. Return: how many it has got. */
static unsigned int occupy_as(const struct serve_rig *r, uid_t uid, pid_t *child)
{
	unsigned int n = 0;
	int out[2];

	CU_ASSERT_EQUAL_FATAL(pipe(out), 0);
	*child = fork();
	if (!*child) {
		struct annex_dev *dev[16];

		if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
			_exit(1);
		n = occupy(r, dev, 16);
		if (write(out[1], &n, sizeof(n)) != sizeof(n))
			_exit(1);
		pause();
	}
	close(out[1]);
	CU_ASSERT_EQUAL(read(out[0], &n, sizeof(n)), sizeof(n));
	close(out[0]);
	return n;
}

static void places(void)
{
	struct annex_dev *dev[16];
	struct serve_rig r;
	unsigned int n;
	pid_t child[2];

	if (getuid())
		return; /* it is about root, and others */
	serve_rig_make(&r, "mem:16M");
	CU_ASSERT_EQUAL(chmod(r.dir, 0755), 0);
	r.opts.clients = 16;
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, true), 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", MIB, 0, 0, 0666), 0);
	CU_ASSERT_EQUAL(occupy_as(&r, 61234, &child[0]), 8);
	CU_ASSERT_EQUAL(occupy_as(&r, 61235, &child[1]), 4);
	/* Root has the rest. */
	n = occupy(&r, dev, 16);
	CU_ASSERT_EQUAL(n, 4);
	while (n)
		annex_dev_close(dev[--n]);
	for (unsigned int i = 0; i < 2; i++) {
		kill(child[i], SIGKILL);
		CU_ASSERT_EQUAL(waitpid(child[i], NULL, 0), child[i]);
	}
	serve_rig_kill(&r);
	serve_rig_remove(&r);
}

UNIT_SUITE(serve_hostile, {"files that block", blocking_files},
	   {"files that take an hour to close", lingering}, {"a greedy priority client", greedy},
	   {"many clients of a part", many}, {"kept files", keepsakes},
	   {"another part of that name", another}, {"places of a user", places})
