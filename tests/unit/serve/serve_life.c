// SPDX-License-Identifier: MIT
/*
 * A served device, and clients that lie, that send forbidden files, and that are killed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "nvme/emu/link/ask.h"
#include "tests/unit/random.h"
#include "serve_rig.h"
#include "tests/unit/unit.h"

#define MIB (1ull << 20)
#define BLOCKS (MIB / 512)
#define HOSTILE_ROUNDS (UNIT_SANITIZED ? 10u : 40u)
#define HOSTILE_MS 600000u /* at least, with ANNEX_LONG */
#define KILLS 3u           /* of AT_ONCE clients each */
#define AT_ONCE (UNIT_SANITIZED ? 8u : 32u)
#define AT_ONCE_MOST 32u
#define LEAVE_MS 10000u
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

static void begin(struct serve_rig *r, const char *device, bool child)
{
	char part[2] = "a";

	serve_rig_make(r, device);
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(r, child), 0);
	for (; part[0] <= 'd'; part[0]++)
		CU_ASSERT_EQUAL(serve_rig_add(r, part, MIB, getuid(), getgid(), 0600), 0);
}

/* All clients of a part have left: the daemon sees it soon after they have. */
static bool is_left(const struct serve_rig *r, const char *part)
{
	uint64_t deadline = annex_deadline_ms(LEAVE_MS);
	struct annex_serve_part told;

	while (serve_rig_part(r, part, &told) && told.clients)
		if (annex_now() > deadline)
			return false;
	return true;
}

/* Raw commands of every wrong kind, each with its errno, and none of them ends the client. */
static void wrong_commands(void)
{
	static const struct {
		struct annex_serve_sqe sqe;
		int err;
	} all[] = {
		{{.opcode = ANNEX_NVM_READ, .len = 512}, 0},
		{{.opcode = ANNEX_NVM_READ, .len = 512, .pos = MIB - 512}, 0},
		{{.opcode = ANNEX_NVM_READ, .len = 512, .pos = MIB}, -ERANGE},
		{{.opcode = ANNEX_NVM_READ, .len = 1024, .pos = MIB - 512}, -ERANGE},
		{{.opcode = ANNEX_NVM_WRITE, .len = 512, .pos = UINT64_MAX - 511}, -ERANGE},
		{{.opcode = ANNEX_NVM_READ, .len = UINT64_MAX - 511, .pos = 512}, -ERANGE},
		{{.opcode = ANNEX_NVM_READ, .len = 0}, -EINVAL},
		{{.opcode = ANNEX_NVM_READ, .len = 100}, -EINVAL},
		{{.opcode = ANNEX_NVM_READ, .len = 512, .pos = 1}, -EINVAL},
		{{.opcode = ANNEX_NVM_READ, .len = 512, .offset = 2}, -EINVAL},
		{{.opcode = ANNEX_NVM_READ, .len = 512, .offset = ANNEX_SERVE_ARENA}, -EFAULT},
		{{.opcode = ANNEX_NVM_READ, .len = 512, .offset = ANNEX_SERVE_ARENA - 256},
		 -EFAULT},
		{{.opcode = ANNEX_NVM_READ, .len = 512, .offset = UINT64_MAX - 3}, -EFAULT},
		{{.opcode = ANNEX_NVM_READ, .len = 512, .mem = 1}, -EFAULT},
		{{.opcode = ANNEX_NVM_READ, .len = 512, .mem = 64}, -EFAULT},
		{{.opcode = ANNEX_NVM_READ, .len = 512, .mem = 65}, -EINVAL},
		{{.opcode = ANNEX_NVM_READ, .len = 512, .mem = 65535}, -EINVAL},
		{{.opcode = ANNEX_NVM_READ, .len = 512, .flags = 2}, -EINVAL},
		{{.opcode = ANNEX_NVM_COMPARE, .len = 512}, -EINVAL},
		{{.opcode = 6, .len = 512}, -EINVAL},
		{{.opcode = 255, .len = 512}, -EINVAL},
		{{.opcode = ANNEX_NVM_FLUSH}, 0},
		{{.opcode = ANNEX_NVM_WRITE_ZEROES, .len = MIB}, 0},
		{{.opcode = ANNEX_NVM_WRITE_ZEROES, .len = MIB + 512}, -ERANGE},
		{{.opcode = ANNEX_NVM_DSM, .len = MIB}, 0},
		{{.opcode = ANNEX_NVM_DSM, .len = MIB, .pos = 512}, -ERANGE},
		{{.opcode = ANNEX_NVM_WRITE, .len = 512, .flags = ANNEX_SERVE_FUA}, 0},
	};
	struct serve_rig r;
	struct raw c;

	begin(&r, "mem:16M", false);
	raw_open(&r, "a", &c);
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int err = raw_command(&c, &all[i].sqe);

		if (err != all[i].err)
			printf(" [command %u: %d, not %d] ", i, err, all[i].err);
		CU_ASSERT_EQUAL(err, all[i].err);
	}
	raw_close(&c);
	serve_rig_close(&r);
}

/* Impossible indices end the client that wrote them, and no other. */
static void wrong_indices(void)
{
	const struct annex_serve_sqe read = {.opcode = ANNEX_NVM_READ, .len = 512};
	struct serve_rig r;
	struct raw c, good;

	begin(&r, "mem:16M", false);
	raw_open(&r, "b", &good);
	for (unsigned int way = 0; way < 2; way++) {
		struct annex_serve_word *word;

		raw_open(&r, "a", &c);
		CU_ASSERT_EQUAL(raw_command(&c, &read), 0);
		word = way ? &c.head->cq_head : &c.head->sq_tail;
		annex_atomic_store(&word->v, 1u << 30, ANNEX_RELEASE);
		if (way)
			annex_atomic_store(&c.head->sq_tail.v, c.tail + 1, ANNEX_RELEASE);
		eventfd_write(c.kick, 1);
		CU_ASSERT(is_left(&r, "a"));
		raw_close(&c);
		CU_ASSERT_EQUAL(raw_command(&good, &read), 0);
	}
	raw_close(&good);
	serve_rig_close(&r);
}

static int map_fd(const struct raw *c, int fd, uint64_t number, uint64_t offset, uint64_t bytes)
{
	struct annex_serve_message m = {
		.ask = ANNEX_SERVE_MAP, .a = number, .b = offset, .c = bytes};

	return raw_ask(c->sock, &m, fd);
}

static int sealed(size_t bytes, unsigned int flags, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(ftruncate(fd, (off_t)bytes), 0);
	CU_ASSERT_EQUAL(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void fill(int fd, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CU_ASSERT_FATAL(p != MAP_FAILED);
	memset(p, 0, bytes);
	munmap(p, bytes);
}

static void descriptors(void)
{
	struct annex_serve_message unmap = {.ask = ANNEX_SERVE_UNMAP, .a = 1};
	const struct annex_serve_sqe read = {.opcode = ANNEX_NVM_READ, .len = 4096, .mem = 1};
	struct annex_serve_sqe past = read;
	int good = sealed(MIB, 0, SEALS), holes = sealed(MIB, 0, SEALS);
	int open_ended = sealed(MIB, 0, F_SEAL_SHRINK), large = sealed(3 * MIB, 0, SEALS);
	int frozen = sealed(MIB, 0, F_SEAL_SHRINK | F_SEAL_WRITE);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), dir = open("/", O_PATH | O_CLOEXEC);
	struct serve_rig r;
	struct raw c;

	fill(good, MIB);
	serve_rig_make(&r, "mem:16M");
	r.opts.memory = 2 * MIB;
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, false), 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", MIB, getuid(), getgid(), 0600), 0);
	raw_open(&r, "a", &c);
	CU_ASSERT_EQUAL(map_fd(&c, -1, 1, 0, MIB), -EBADF);
	CU_ASSERT_EQUAL(map_fd(&c, null, 1, 0, MIB), -EPERM);
	CU_ASSERT(map_fd(&c, dir, 1, 0, MIB) < 0);
	CU_ASSERT_EQUAL(map_fd(&c, c.sock, 1, 0, MIB), -EPERM);
	CU_ASSERT_EQUAL(map_fd(&c, open_ended, 1, 0, MIB), -EPERM);
	CU_ASSERT(map_fd(&c, frozen, 1, 0, MIB) < 0);
	CU_ASSERT_EQUAL(map_fd(&c, good, 0, 0, MIB), -EINVAL);
	CU_ASSERT_EQUAL(map_fd(&c, good, 65, 0, MIB), -EINVAL);
	CU_ASSERT_EQUAL(map_fd(&c, good, 1, 0, MIB + 4096), -EINVAL);
	CU_ASSERT_EQUAL(map_fd(&c, good, 1, 4096, MIB), -EINVAL);
	CU_ASSERT_EQUAL(map_fd(&c, good, 1, UINT64_MAX - 4095, 8192), -EINVAL);
	CU_ASSERT_EQUAL(map_fd(&c, good, 1, 1, 4096), -EINVAL);
	CU_ASSERT_EQUAL(map_fd(&c, good, 1, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(map_fd(&c, good, 1, 0, MIB), 0);
	CU_ASSERT_EQUAL(map_fd(&c, good, 1, 0, MIB), -EINVAL);
	CU_ASSERT_EQUAL(map_fd(&c, good, 2, 0, MIB), 0);
	CU_ASSERT_EQUAL(map_fd(&c, good, 3, 0, MIB), -EDQUOT);
	CU_ASSERT_EQUAL(map_fd(&c, large, 3, 0, 4096), -EDQUOT);
	CU_ASSERT_EQUAL(raw_command(&c, &read), 0);
	past.offset = MIB - 512;
	CU_ASSERT_EQUAL(raw_command(&c, &past), -EFAULT);
	CU_ASSERT_EQUAL(raw_ask(c.sock, &unmap, -1), 0);
	CU_ASSERT_EQUAL(raw_ask(c.sock, &unmap, -1), -EINVAL);
	CU_ASSERT_EQUAL(raw_command(&c, &read), -EFAULT);
	CU_ASSERT_EQUAL(map_fd(&c, holes, 1, 0, MIB), -ENODATA);
	fill(holes, 4096);
	CU_ASSERT_EQUAL(map_fd(&c, holes, 1, 0, 8192), -ENODATA);
	CU_ASSERT_EQUAL(map_fd(&c, holes, 1, 0, 4096), 0);
	raw_close(&c);
	close(good);
	close(holes);
	close(large);
	close(open_ended);
	close(frozen);
	close(null);
	close(dir);
	serve_rig_close(&r);
}

static void messages(void)
{
	struct annex_serve_message m = {.ask = ANNEX_SERVE_LIST,
					.version = ANNEX_SERVE_VERSION + 1};
	char byte = 'x', large[4096] = {0};
	struct serve_rig r;
	struct raw c;
	int sock;

	begin(&r, "mem:16M", false);
	sock = packet_connect("unix", r.path, 1000);
	CU_ASSERT_EQUAL(raw_ask(sock, &m, -1), -EPROTONOSUPPORT);
	m = (struct annex_serve_message){.ask = 77};
	CU_ASSERT_EQUAL(raw_ask(sock, &m, -1), -ENOSYS);
	m = (struct annex_serve_message){.ask = ANNEX_SERVE_MAP};
	CU_ASSERT_EQUAL(raw_ask(sock, &m, -1), -ENOTCONN);
	m = (struct annex_serve_message){.ask = ANNEX_SERVE_CLAIM, .b = 1};
	CU_ASSERT_EQUAL(raw_ask(sock, &m, -1), -ENOTCONN);
	/* Bytes that are no message end the connection. */
	CU_ASSERT_EQUAL(send(sock, &byte, 1, 0), 1);
	CU_ASSERT_EQUAL(recv(sock, large, sizeof(large), 0), 0);
	close(sock);
	sock = packet_connect("unix", r.path, 1000);
	CU_ASSERT_EQUAL(send(sock, large, sizeof(large), 0), sizeof(large));
	CU_ASSERT_EQUAL(recv(sock, large, sizeof(large), 0), 0);
	close(sock);
	raw_open(&r, "a", &c);
	m = (struct annex_serve_message){.ask = ANNEX_SERVE_OPEN, .name = "b"};
	CU_ASSERT_EQUAL(raw_ask(c.sock, &m, -1), -EISCONN);
	raw_close(&c);
	serve_rig_close(&r);
}

/* struct user - A thread that works properly, with @blocks from @first on, until it is told to
 * stop. */
struct user {
	const struct serve_rig *r;
	char part[2];
	uint64_t first, blocks;
	uint32_t stop;
	unsigned int wrong, rounds;
};

static void *use(void *arg)
{
	const struct annex_provider *memory = annex_provider_shared();
	struct user *u = arg;
	struct annex_dev *dev;
	char uri[128], *buf = memory->alloc(memory->ctx, 8192, 4096);
	uint64_t addr, seed = (uint64_t)u->part[0];

	u->wrong = 1;
	if (!buf || annex_dev_open(serve_rig_uri(u->r, u->part, uri), NULL, &dev))
		return NULL;
	u->wrong = annex_dev_map(dev, buf, 8192, &addr) ? 1 : 0;
	do {
		struct annex_io io[2] = {{.opcode = ANNEX_NVM_WRITE,
					  .nsid = 1,
					  .slba = u->first + random_next(&seed) % (u->blocks - 7),
					  .nlb = 8,
					  .bytes = 4096,
					  .addr = addr}};

		io[1] = io[0];
		io[1].opcode = ANNEX_NVM_READ;
		io[1].addr += 4096;
		random_fill(&seed, buf, 4096);
		u->wrong += annex_dev_io(dev, &io[0], 1, NULL) != 0;
		u->wrong += annex_dev_io(dev, &io[1], 1, NULL) != 0;
		u->wrong += memcmp(buf, buf + 4096, 4096) != 0;
		u->rounds++;
	} while (!annex_atomic_load(&u->stop, ANNEX_ACQUIRE) && !u->wrong);
	annex_dev_unmap(dev, addr, 8192);
	annex_dev_close(dev);
	memory->free(memory->ctx, buf, 8192);
	return NULL;
}

static void scribble(uint64_t *seed, struct raw *c)
{
	for (unsigned int i = 0; i < 200; i++) {
		struct annex_serve_sqe *sqe = &c->sq[c->tail % ANNEX_SERVE_ENTRIES];

		random_fill(seed, sqe, sizeof(*sqe));
		if (random_next(seed) % 2) { /* nearly right */
			sqe->opcode = (uint8_t)(random_next(seed) % 11);
			sqe->flags = 0;
			sqe->mem = (uint16_t)(random_next(seed) % 3);
			sqe->pos %= 2 * MIB;
			sqe->len = random_next(seed) % 9 * 512;
			sqe->offset = random_next(seed) % ANNEX_SERVE_ARENA / 4 * 4;
		}
		annex_atomic_store(&c->head->sq_tail.v, ++c->tail, ANNEX_RELEASE);
		if (random_next(seed) % 8 == 0)
			eventfd_write(c->kick, 1);
		if (random_next(seed) % 4)
			annex_atomic_store(&c->head->cq_head.v,
					   annex_atomic_load(&c->head->cq_tail.v, ANNEX_ACQUIRE),
					   ANNEX_RELEASE);
	}
	if (random_next(seed) % 2)
		random_fill(seed, c->region, ANNEX_SERVE_DATA);
	else if (random_next(seed) % 2)
		random_fill(seed, c->head, sizeof(*c->head));
	eventfd_write(c->kick, 1);
}

static void send_nonsense(uint64_t *seed, const struct raw *c)
{
	struct annex_serve_message m;

	for (unsigned int i = 0; i < 20; i++) {
		random_fill(seed, &m, sizeof(m));
		m.magic = ANNEX_SERVE_MAGIC;
		m.version = ANNEX_SERVE_VERSION;
		m.ask = (uint16_t)(random_next(seed) % 9);
		if (send(c->sock, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			return;
	}
}

/* A client that writes anything anywhere, beside four that are verified. */
static void hostile(void)
{
	uint64_t seed = random_seed("serve_life");
	const uint64_t until = getenv("ANNEX_LONG") ? annex_deadline_ms(HOSTILE_MS) : 0;
	struct user users[] = {{.part = "b", .blocks = BLOCKS},
			       {.part = "c", .blocks = BLOCKS},
			       {.part = "d", .blocks = BLOCKS / 2},
			       {.part = "d", .first = BLOCKS / 2, .blocks = BLOCKS / 2}};
	const unsigned int n = sizeof(users) / sizeof(users[0]);
	pthread_t threads[sizeof(users) / sizeof(users[0])];
	struct serve_rig r;

	begin(&r, "mem:16M", false);
	for (unsigned int i = 0; i < n; i++) {
		users[i].r = &r;
		CU_ASSERT_EQUAL(pthread_create(&threads[i], NULL, use, &users[i]), 0);
	}
	for (unsigned int i = 0; i < serve_rig_rounds(HOSTILE_ROUNDS) || annex_now() < until; i++) {
		struct raw c;

		raw_open(&r, "a", &c);
		scribble(&seed, &c);
		if (i % 2)
			send_nonsense(&seed, &c);
		raw_close(&c);
	}
	CU_ASSERT(is_left(&r, "a"));
	for (unsigned int i = 0; i < n; i++) {
		annex_atomic_store(&users[i].stop, 1u, ANNEX_RELEASE);
		pthread_join(threads[i], NULL);
		CU_ASSERT_EQUAL(users[i].wrong, 0);
		CU_ASSERT(users[i].rounds > 0);
	}
	serve_rig_close(&r);
}

static void work_until_killed(const struct serve_rig *r, unsigned int number, int out)
{
	const uint64_t blocks = BLOCKS / AT_ONCE;
	struct user u = {.r = r, .part = "a", .first = number * blocks, .blocks = blocks};
	char byte = 1;

	if (write(out, &byte, 1) == 1)
		use(&u);
	_exit(1);
}

/* A client with blocks of its own, which has begun. */
static pid_t start_one(const struct serve_rig *r, unsigned int number)
{
	int pipes[2];
	char byte;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
	pid = fork();
	if (!pid)
		work_until_killed(r, number, pipes[1]);
	close(pipes[1]);
	CU_ASSERT_EQUAL(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
	return pid;
}

/* Several, each at any moment of connecting or of work. */
static void kill_some(const struct serve_rig *r, uint64_t *seed, unsigned int n)
{
	pid_t pid[AT_ONCE_MOST];
	int status;

	for (unsigned int i = 0; i < n; i++)
		pid[i] = start_one(r, i);
	for (unsigned int i = 0; i < n; i++) {
		for (uint64_t k = random_next(seed) % 3000; k; k--)
			sched_yield();
		CU_ASSERT_EQUAL(kill(pid[i], SIGKILL), 0);
		CU_ASSERT_EQUAL(waitpid(pid[i], &status, 0), pid[i]);
		CU_ASSERT(WIFSIGNALED(status));
	}
}

static unsigned int count_maps(pid_t pid)
{
	char path[40], line[512];
	unsigned int n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, "annex-serve") || strstr(line, "annex-shared");
	if (f)
		fclose(f);
	return n;
}

/* Nothing is left of clients that are killed: no client, no memory. */
static void killed_clients(void)
{
	uint64_t seed = random_seed("serve_life kills");
	struct serve_rig r;

	begin(&r, "mem:16M", true);
	for (unsigned int i = 0; i < serve_rig_rounds(KILLS); i++)
		kill_some(&r, &seed, AT_ONCE);
	CU_ASSERT(is_left(&r, "a"));
	CU_ASSERT_EQUAL(count_maps(r.child), 0);
	serve_rig_kill(&r);
	serve_rig_remove(&r);
}

/* No more than it takes, and one more when one has left. */
static void limits(void)
{
	struct annex_dev *dev[3] = {NULL};
	struct serve_rig r;
	uint64_t until;
	char uri[128];
	int err;

	serve_rig_make(&r, "mem:16M");
	r.opts.clients = 2;
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, false), 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", MIB, getuid(), getgid(), 0600), 0);
	serve_rig_uri(&r, "a", uri);
	CU_ASSERT_EQUAL(annex_dev_open(uri, NULL, &dev[0]), 0);
	CU_ASSERT_EQUAL(annex_dev_open(uri, NULL, &dev[1]), 0);
	CU_ASSERT_EQUAL(annex_dev_open(uri, NULL, &dev[2]), -EUSERS);
	annex_dev_close(dev[0]);
	until = annex_deadline_ms(LEAVE_MS);
	do
		err = annex_dev_open(uri, NULL, &dev[2]);
	while (err == -EUSERS && annex_now() < until);
	CU_ASSERT_EQUAL(err, 0);
	annex_dev_close(dev[1]);
	annex_dev_close(dev[2]);
	serve_rig_close(&r);
}

#define CROWD 200u /* more sockets than a daemon has */

/* Idle connections make room for new ones; clients stay. */
static void idle_processes(void)
{
	static const struct annex_serve_sqe look = {.opcode = ANNEX_NVM_READ, .len = 512};
	struct annex_dev *dev = NULL;
	int sock[CROWD];
	struct serve_rig r;
	struct raw client;
	char uri[128];

	begin(&r, "mem:8M", false);
	raw_open(&r, "a", &client);
	for (unsigned int i = 0; i < CROWD; i++) {
		sock[i] = packet_connect("unix", r.path, LEAVE_MS);
		CU_ASSERT_FATAL(sock[i] >= 0);
	}
	CU_ASSERT_EQUAL(annex_dev_open(serve_rig_uri(&r, "b", uri), NULL, &dev), 0);
	CU_ASSERT_EQUAL(raw_command(&client, &look), 0);
	annex_dev_close(dev);
	for (unsigned int i = 0; i < CROWD; i++)
		close(sock[i]);
	raw_close(&client);
	serve_rig_close(&r);
}

/* Each question to a daemon of another version ends with the same line. */
static void other_version(void)
{
	const struct annex_serve_message answer = {.magic = ANNEX_SERVE_MAGIC,
						   .version = ANNEX_SERVE_VERSION - 1,
						   .ask = ANNEX_SERVE_LIST,
						   .result = -EPROTONOSUPPORT};
	struct annex_serve_message m = {.ask = ANNEX_SERVE_LIST};
	struct packet_files files;
	int ends[2];

	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	CU_ASSERT_EQUAL(annex_packet_send(ends[1], &answer, sizeof(answer), NULL, 0, 0), 0);
	CU_ASSERT_EQUAL(annex_emu_ask(ends[0], "/run/x", &m, -1, &files, NULL, NULL),
			-EPROTONOSUPPORT);
	CU_ASSERT_STRING_EQUAL(annex_last_error(), "unix:/run/x: the daemon is of another version");
	close(ends[0]);
	close(ends[1]);
}

UNIT_SUITE(serve_life, {"commands that are wrong", wrong_commands},
	   {"indices that are wrong", wrong_indices}, {"descriptors", descriptors},
	   {"messages", messages}, {"another version", other_version},
	   {"a client that writes anything", hostile}, {"clients that are killed", killed_clients},
	   {"limits", limits}, {"idle processes", idle_processes})
