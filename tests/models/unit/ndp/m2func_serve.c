// SPDX-License-Identifier: MIT
/*
 * A device for other processes: permissions, forged messages, and servers that come and go.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/models/m2serve.h>
#include <annex/models/ndp.h>
#include "m2_rig.h"
#include "ndp/client/talk.h"

/*
 * struct served - A range, and a device that is served, by @child if that is not -1.
 * @hdm: the range as the server has it, which is another mapping of the same memory.
 */
struct served {
	struct m2_rig r;
	struct annex_hdm *hdm;
	struct annex_m2_server *s;
	pid_t child;
	char dir[32];
	char path[48];
	char uri[56];
};

static int serve_range(struct served *v)
{
	const struct annex_ndp_opts device = {.threads = 2, .units = 2};
	int err = annex_hdm_open(v->r.uri, NULL, &v->hdm);

	if (!err)
		err = annex_ndp_create(&device, &v->r.ndp);
	return err ? err : annex_m2_serve(v->r.ndp, &v->hdm, 1, v->path, &v->s);
}

static void stop_serving(struct served *v)
{
	annex_m2_server_close(v->s);
	annex_ndp_destroy(v->r.ndp);
	annex_hdm_close(v->hdm);
	v->s = NULL;
	v->r.ndp = NULL;
	v->hdm = NULL;
}

static void prepare(struct served *v)
{
	*v = (struct served){.child = -1};
	m2_rig_range(&v->r);
	strcpy(v->dir, "/tmp/annex-test.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(v->dir));
	snprintf(v->path, sizeof(v->path), "%s/ndp", v->dir);
	snprintf(v->uri, sizeof(v->uri), "ndp:%s", v->path);
}

static void begin(struct served *v)
{
	prepare(v);
	CU_ASSERT_EQUAL_FATAL(serve_range(v), 0);
}

static void end(struct served *v)
{
	stop_serving(v);
	annex_hdm_close(v->r.hdm);
	close(v->r.fd);
	CU_ASSERT_EQUAL(rmdir(v->dir), 0); /* the name is gone */
}

static struct annex_m2 *client(struct served *v, const struct annex_m2_opts *opts)
{
	struct annex_m2 *m2 = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_m2_open(v->uri, opts, &m2), 0);
	return m2;
}

static struct annex_m2 *client_with_map(struct served *v, const struct annex_m2_opts *opts)
{
	struct annex_m2 *m2 = client(v, opts);

	CU_ASSERT_EQUAL_FATAL(annex_m2_map(m2, v->r.hdm, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE),
			      0);
	return m2;
}

static void serve_over(const struct annex_m2_opts *opts)
{
	uint64_t one = 1, instance;
	struct annex_m2 *m2;
	struct served v;
	uint32_t id;

	begin(&v);
	m2 = client_with_map(&v, opts);
	id = m2_rig_register(m2, m2_rig_counter(&v.r), 8);
	for (unsigned int i = 0; i < 100; i++) {
		CU_ASSERT_EQUAL(annex_m2_run(m2, id, v.r.pool, 32, &one, 8, NULL), 0);
		CU_ASSERT_EQUAL(annex_m2_launch(m2, id, v.r.pool, 32, &one, 8, &instance), 0);
		CU_ASSERT_EQUAL(annex_m2_wait(m2, instance, M2_RIG_LONG_MS, NULL), 0);
	}
	CU_ASSERT_EQUAL(v.r.pool[0], 200);
	CU_ASSERT_EQUAL(annex_m2_unmap(m2, v.r.pool, 4096), -ENOENT);
	CU_ASSERT_EQUAL(annex_m2_unmap(m2, annex_hdm_at(v.r.hdm, 0), M2_RIG_BYTES), 0);
	CU_ASSERT_EQUAL(annex_m2_run(m2, id, v.r.pool, 32, &one, 8, NULL), -EFAULT);
	annex_m2_close(m2);
	end(&v);
}

static void calls(void)
{
	serve_over(NULL);
	serve_over(&(struct annex_m2_opts){.stride = 64, .slots = 3});
}

static void clients_apart(void)
{
	struct annex_m2 *a, *b;
	uint64_t one = 1;
	struct served v;
	uint32_t id;

	begin(&v);
	a = client_with_map(&v, NULL);
	b = client(&v, NULL);
	id = m2_rig_register(a, m2_rig_counter(&v.r), 8);
	/* Kernels of another client are not found, nor is memory before it is mapped. */
	CU_ASSERT_EQUAL(annex_m2_run(b, id, v.r.pool, 32, &one, 8, NULL), -ENOENT);
	CU_ASSERT_EQUAL(annex_m2_map(b, v.r.hdm, v.r.pool, 4096, ANNEX_M2_READ), 0);
	CU_ASSERT_EQUAL(annex_m2_register(b, annex_hdm_at(v.r.hdm, 0),
					  &(struct annex_m2_needs){.nx = 3}, &id),
			-EFAULT);
	annex_m2_close(b);
	CU_ASSERT_EQUAL(annex_m2_run(a, id, v.r.pool, 32, &one, 8, NULL), 0);
	annex_m2_close(a);
	end(&v);
}

/* Memory that is mapped to be read is not written to. */
static void read_only(void)
{
	struct annex_m2 *m2;
	uint64_t one = 1;
	struct served v;
	uint32_t id;

	begin(&v);
	m2 = client(&v, NULL);
	CU_ASSERT_EQUAL(annex_m2_map(m2, v.r.hdm, NULL, 0, ANNEX_M2_READ), 0);
	id = m2_rig_register(m2, m2_rig_counter(&v.r), 8);
	CU_ASSERT_EQUAL(annex_m2_run(m2, id, v.r.pool, 32, &one, 8, NULL), -EFAULT);
	CU_ASSERT_EQUAL(v.r.pool[0], 0);
	annex_m2_close(m2);
	end(&v);
}

static struct annex_m2_message message(uint32_t ask)
{
	return (struct annex_m2_message){
		.magic = ANNEX_M2_MAGIC, .version = ANNEX_M2_VERSION, .ask = ask};
}

/* What the server says to a message; 1: it has hung up instead. */
static int64_t say(int sock, const struct annex_m2_message *m, int fd)
{
	struct annex_m2_message a = {0};

	return annex_m2_talk(sock, m, fd, &a, NULL, 0, NULL, NULL) ? 1 : a.result;
}

/* struct raw - A client without the library. */
struct raw {
	int sock;
	int fds[2]; /* the region, the bell */
};

static struct raw raw_client(struct served *v)
{
	struct annex_m2_message m = message(ANNEX_M2_HELLO), a;
	struct raw raw = {.sock = annex_m2_talk_connect(v->uri, 5000)};

	CU_ASSERT_FATAL(raw.sock >= 0);
	m.a = 128;
	m.b = 4;
	CU_ASSERT_EQUAL_FATAL(annex_m2_talk(raw.sock, &m, -1, &a, raw.fds, 2, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(a.result, 0);
	return raw;
}

static void raw_close(struct raw *raw)
{
	close(raw->sock);
	close(raw->fds[0]);
	close(raw->fds[1]);
}

/* struct forged - A forged handle, and messages to it. */
struct forged {
	int fd;
	uint64_t offset, bytes, prot;
	int64_t says;
};

static void forged_handles(void)
{
	struct annex_m2_message m = message(ANNEX_M2_MAP);
	int other = memfd_create("other", MFD_CLOEXEC), path, reads, writes, whole;
	char name[32];
	struct served v;
	struct raw raw;

	begin(&v);
	whole = v.r.fd;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", whole);
	path = open(name, O_PATH | O_CLOEXEC);
	reads = open(name, O_RDONLY | O_CLOEXEC);
	writes = open(name, O_WRONLY | O_CLOEXEC);
	const struct forged all[] = {
		{-1, 0, 4096, 1, -EBADF},
		{path, 0, 4096, 1, -EBADF},
		{other, 0, 4096, 1, -ENXIO},
		{reads, 0, 4096, 3, -EACCES},
		{writes, 0, 4096, 1, -EACCES},
		{whole, 0, 4096, 0, -EINVAL},
		{whole, 0, 4096, 4, -EINVAL},
		{whole, 0, M2_RIG_BYTES + 4096, 1, -EINVAL},
		{whole, M2_RIG_BYTES, 4096, 1, -EINVAL},
		{whole, UINT64_MAX - 4095, 8192, 1, -EINVAL},
		{whole, 100, 4096, 1, -EINVAL},
		{whole, 0, 0, 1, -EINVAL},
		{whole, 0, 100, 1, -EINVAL},
		{reads, 0, 4096, 1, 0},
	};

	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		raw = raw_client(&v);
		m.a = 0x40000000;
		m.b = all[i].bytes;
		m.c = all[i].offset;
		m.d = all[i].prot;
		CU_ASSERT_EQUAL(say(raw.sock, &m, all[i].fd), all[i].says);
		raw_close(&raw);
	}
	close(path);
	close(reads);
	close(writes);
	close(other);
	end(&v);
}

static void out_of_turn(void)
{
	struct annex_m2_message m = message(ANNEX_M2_MAP);
	struct served v;
	struct raw raw;
	int sock;

	begin(&v);
	sock = annex_m2_talk_connect(v.uri, 5000);
	CU_ASSERT_EQUAL(say(sock, &m, -1), -ENOTCONN);
	m = message(ANNEX_M2_UNMAP);
	CU_ASSERT_EQUAL(say(sock, &m, -1), -ENOTCONN);
	m = message(99);
	CU_ASSERT_EQUAL(say(sock, &m, -1), -ENOSYS);
	m.version = 7;
	CU_ASSERT_EQUAL(say(sock, &m, -1), -EPROTONOSUPPORT);
	m = message(ANNEX_M2_HELLO);
	m.a = 48;
	m.b = 1;
	CU_ASSERT_EQUAL(say(sock, &m, -1), -EINVAL);
	close(sock);
	raw = raw_client(&v);
	m.a = 64;
	CU_ASSERT_EQUAL(say(raw.sock, &m, -1), -EISCONN);
	/* Neither cut short nor made longer. */
	CU_ASSERT(ftruncate(raw.fds[0], 0) && ftruncate(raw.fds[0], 1 << 20));
	/* A malformed message ends the connection. */
	CU_ASSERT_EQUAL(send(raw.sock, "hello", 5, MSG_NOSIGNAL), 5);
	m = message(ANNEX_M2_LIST);
	CU_ASSERT_EQUAL(say(raw.sock, &m, -1), 1);
	raw_close(&raw);
	end(&v);
}

/* A client that does not read its answers delays no other client. */
static void slow_clients(void)
{
	struct annex_m2_message m = message(ANNEX_M2_LIST);
	struct annex_m2 *m2;
	struct served v;
	struct raw raw;

	begin(&v);
	raw = raw_client(&v);
	for (unsigned int i = 0; i < 100000; i++)
		if (send(raw.sock, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
	m2 = client_with_map(&v, NULL);
	CU_ASSERT_EQUAL(annex_m2_poll(m2, 1, NULL), -ENOENT);
	annex_m2_close(m2);
	raw_close(&raw);
	end(&v);
}

static void as_many_as_it_can(void)
{
	const struct annex_m2_opts opts = {.slots = 1};
	struct annex_m2 *all[ANNEX_M2_CLIENTS], *more;
	struct annex_m2_listed listed[ANNEX_M2_CLIENTS];
	uint64_t deadline = annex_deadline_ms(M2_RIG_LONG_MS);
	struct served v;
	int err;

	begin(&v);
	for (unsigned int i = 0; i < ANNEX_M2_CLIENTS; i++)
		all[i] = client(&v, &opts);
	CU_ASSERT_EQUAL(annex_m2_open(v.uri, &opts, &more), -ENOSPC);
	CU_ASSERT_EQUAL(annex_m2_list(v.uri, listed), -ENOSPC);
	annex_m2_close(all[7]);
	do
		err = annex_m2_open(v.uri, &opts, &more);
	while (err == -ENOSPC && annex_now() < deadline);
	CU_ASSERT_EQUAL(err, 0);
	annex_m2_close(more);
	for (unsigned int i = 0; i < ANNEX_M2_CLIENTS; i++)
		if (i != 7)
			annex_m2_close(all[i]);
	end(&v);
}

static void listed(void)
{
	struct annex_m2_listed all[ANNEX_M2_CLIENTS];
	struct annex_m2_record kernels[ANNEX_M2_RECORDS_MAX];
	struct annex_m2_info info;
	struct annex_m2 *m2;
	uint64_t one = 1;
	struct served v;
	uint32_t id;

	begin(&v);
	CU_ASSERT_EQUAL(annex_m2_list(v.uri, all), 0);
	m2 = client_with_map(&v, NULL);
	annex_m2_get_info(m2, &info);
	id = m2_rig_register(m2, m2_rig_counter(&v.r), 8);
	for (unsigned int i = 0; i < 3; i++)
		annex_m2_run(m2, id, v.r.pool, 32, &one, 8, NULL);
	CU_ASSERT_EQUAL_FATAL(annex_m2_list(v.uri, all), 1);
	CU_ASSERT(all[0].pid == (uint32_t)getpid() && all[0].uid == getuid());
	CU_ASSERT_EQUAL(all[0].asid, info.asid);
	CU_ASSERT(all[0].kernels == 1 && all[0].launches == 3 && all[0].calls == 4);
	CU_ASSERT(all[0].maps == 1 && all[0].mapped == M2_RIG_BYTES);
	CU_ASSERT(!all[0].torn && !all[0].lost && !all[0].repeated);
	CU_ASSERT_EQUAL_FATAL(annex_m2_list_kernels(v.uri, info.asid, kernels), 1);
	CU_ASSERT(kernels[0].id == id && kernels[0].launches == 3 && kernels[0].args == 8);
	CU_ASSERT_EQUAL(annex_m2_list_kernels(v.uri, 999, kernels), -ENOENT);
	annex_m2_close(m2);
	end(&v);
}

/* A name is one server's; what a dead one left is taken, and nothing else. */
static void names(void)
{
	struct annex_m2_server *second;
	struct annex_m2 *m2;
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char file[64], longer[200];
	struct served v;
	struct stat st;
	int fd;

	begin(&v);
	CU_ASSERT_EQUAL(annex_m2_serve(v.r.ndp, &v.r.hdm, 1, v.path, &second), -EADDRINUSE);
	CU_ASSERT(!lstat(v.path, &st) && (st.st_mode & 0777) == 0600);
	m2 = client(&v, NULL);
	annex_m2_close(m2);
	snprintf(file, sizeof(file), "%s/file", v.dir);
	fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CU_ASSERT_EQUAL(annex_m2_serve(v.r.ndp, &v.r.hdm, 1, file, &second), -EEXIST);
	CU_ASSERT_EQUAL(unlink(file), 0);
	close(fd);
	/* A socket without a listener. */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	strcpy(at.sun_path, file);
	CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	close(fd);
	CU_ASSERT_EQUAL(annex_m2_open("ndp:/tmp", NULL, &m2), -ECONNREFUSED);
	CU_ASSERT_EQUAL(annex_m2_serve(v.r.ndp, &v.r.hdm, 1, file, &second), 0);
	annex_m2_server_close(second);
	CU_ASSERT(lstat(file, &st) && errno == ENOENT);
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	CU_ASSERT_EQUAL(annex_m2_serve(v.r.ndp, &v.r.hdm, 1, longer, &second), -ENAMETOOLONG);
	CU_ASSERT_EQUAL(annex_m2_serve(v.r.ndp, &v.r.hdm, 1, "/nowhere/at/all", &second), -ENOENT);
	end(&v);
}

static void closed_under_its_clients(void)
{
	struct m2_run run;
	struct annex_m2 *m2;
	struct served v;

	begin(&v);
	m2 = client_with_map(&v, NULL);
	run = (struct m2_run){
		.m2 = m2, .id = m2_rig_register(m2, m2_rig_gate(&v.r), 0), .pool = v.r.pool};
	m2_run_start(&run);
	CU_ASSERT(m2_rig_becomes(&v.r.pool[1]));
	stop_serving(&v);
	CU_ASSERT_EQUAL(m2_run_end(&run), -ENODEV);
	CU_ASSERT_EQUAL(annex_m2_poll(m2, 1, NULL), -ENODEV);
	CU_ASSERT_EQUAL(annex_m2_map(m2, v.r.hdm, v.r.pool, 4096, 1), -ENODEV);
	annex_m2_close(m2);
	end(&v);
}

/* In a process of its own. */
static void serve_in_child(struct served *v)
{
	int pipe_of[2];
	char c = 0;

	CU_ASSERT_EQUAL_FATAL(pipe(pipe_of), 0);
	v->child = fork();
	if (!v->child) {
		if (serve_range(v))
			_exit(1);
		if (write(pipe_of[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipe_of[1]);
	CU_ASSERT_EQUAL_FATAL(read(pipe_of[0], &c, 1), 1);
	close(pipe_of[0]);
}

static void killed_and_restarted(void)
{
	const struct annex_m2_opts opts = {.slots = 2};
	uint64_t one = 1, before;
	struct annex_m2 *m2;
	struct m2_run run;
	struct served v;
	uint32_t id;

	prepare(&v);
	serve_in_child(&v);
	memset(v.r.pool, 0, 4096);
	m2 = client_with_map(&v, &opts);
	run = (struct m2_run){
		.m2 = m2, .id = m2_rig_register(m2, m2_rig_gate(&v.r), 0), .pool = v.r.pool};
	m2_run_start(&run);
	CU_ASSERT(m2_rig_becomes(&v.r.pool[1]));
	kill(v.child, SIGKILL);
	waitpid(v.child, NULL, 0);
	CU_ASSERT_EQUAL(m2_run_end(&run), -ENODEV);
	CU_ASSERT_EQUAL(annex_m2_poll(m2, 1, NULL), -ENODEV);
	annex_m2_close(m2);
	CU_ASSERT_EQUAL(annex_m2_open(v.uri, NULL, &m2), -ECONNREFUSED);
	/* Another one takes the name over. */
	serve_in_child(&v);
	m2 = client_with_map(&v, &opts);
	id = m2_rig_register(m2, m2_rig_counter(&v.r), 8);
	before = v.r.pool[8];
	CU_ASSERT_EQUAL(annex_m2_run(m2, id, &v.r.pool[8], 32, &one, 8, NULL), 0);
	CU_ASSERT_EQUAL(v.r.pool[8], before + 1);
	annex_m2_close(m2);
	kill(v.child, SIGKILL);
	waitpid(v.child, NULL, 0);
	CU_ASSERT_EQUAL(unlink(v.path), 0);
	end(&v);
}

/* One that stands still, and its client. */
static struct annex_m2 *stop_server(struct served *v, const struct annex_m2_opts *opts)
{
	struct annex_m2 *m2;
	int status;

	prepare(v);
	serve_in_child(v);
	m2 = client_with_map(v, opts);
	kill(v->child, SIGSTOP);
	waitpid(v->child, &status, WUNTRACED);
	return m2;
}

/* A server that stands still: calls and questions end all the same. */
static void stopped(void)
{
	const struct annex_m2_opts opts = {.timeout_ms = 100};
	struct annex_m2 *m2;
	struct served v;

	m2 = stop_server(&v, &opts);
	CU_ASSERT_EQUAL(annex_m2_poll(m2, 1, NULL), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_m2_map(m2, v.r.hdm, v.r.pool, 4096, 1), -ETIMEDOUT);
	kill(v.child, SIGKILL);
	waitpid(v.child, NULL, 0);
	CU_ASSERT_EQUAL(annex_m2_poll(m2, 1, NULL), -ENODEV);
	annex_m2_close(m2);
	CU_ASSERT_EQUAL(unlink(v.path), 0);
	end(&v);
}

/*
 * The same while an abandoned call holds the slots. A heartbeat older than five seconds means a
 * dead device, long before the deadline of the call.
 */
static void stopped_for_long(void)
{
	const struct annex_m2_opts opts = {.slots = 1, .timeout_ms = 60000};
	struct annex_m2 *m2;
	struct served v;
	uint64_t since;

	m2 = stop_server(&v, &opts);
	since = annex_now();
	CU_ASSERT_EQUAL(annex_m2_wait(m2, 1, 100, NULL), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_m2_poll(m2, 1, NULL), -ENODEV);
	CU_ASSERT(annex_now() - since < 40 * ANNEX_NSEC_PER_SEC);
	kill(v.child, SIGKILL);
	waitpid(v.child, NULL, 0);
	annex_m2_close(m2);
	CU_ASSERT_EQUAL(unlink(v.path), 0);
	end(&v);
}

/* Only root may shoot down translations of others; other users cannot connect. */
static void other_users(void)
{
	struct served v;
	int status = -1;
	pid_t child;

	begin(&v);
	if (!getuid()) {
		CU_ASSERT_EQUAL(chmod(v.path, 0666) | chmod(v.dir, 0755), 0);
		child = fork();
		if (!child) {
			struct annex_m2 *m2;

			_exit(setuid(65534) || annex_m2_open(v.uri, NULL, &m2) != -EACCES);
		}
		waitpid(child, &status, 0);
		CU_ASSERT_EQUAL(status, 0);
	}
	end(&v);
}

UNIT_SUITE(m2func_serve, {"calls", calls}, {"clients apart", clients_apart},
	   {"read only", read_only}, {"forged handles", forged_handles},
	   {"out of turn", out_of_turn}, {"slow clients", slow_clients},
	   {"as many as it can", as_many_as_it_can}, {"listed", listed}, {"names", names},
	   {"closed under its clients", closed_under_its_clients},
	   {"killed and restarted", killed_and_restarted}, {"stopped", stopped},
	   {"stopped for long", stopped_for_long}, {"other users", other_users})
