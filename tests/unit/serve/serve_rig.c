// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "serve_rig.h"
#include "tests/unit/unit.h"

#define PATIENCE_MS 10000

void serve_rig_make(struct serve_rig *r, const char *device)
{
	*r = (struct serve_rig){.child = 0};
	strcpy(r->dir, "/tmp/annex-test.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(r->dir));
	snprintf(r->path, sizeof(r->path), "%s/s", r->dir);
	snprintf(r->table, sizeof(r->table), "%s/t", r->dir);
	if (!strcmp(device, "file"))
		snprintf(r->device, sizeof(r->device), "file:%s/d?size=64M", r->dir);
	else
		snprintf(r->device, sizeof(r->device), "%s", device);
	r->opts = (struct annex_serve_opts){.path = r->path, .table = r->table};
}

static int serve_here(struct serve_rig *r)
{
	const struct annex_dev_opts opts = {.depth = 2048, .timeout_ms = 5000};
	int err = annex_dev_open(r->device, &opts, &r->dev);

	if (err)
		return err;
	err = annex_serve(r->dev, &r->opts, &r->server);
	if (!err)
		return 0;
	annex_dev_close(r->dev);
	r->dev = NULL;
	return err;
}

static void serve_and_tell(struct serve_rig *r, int out)
{
	int err = serve_here(r);

	if (write(out, &err, sizeof(err)) == sizeof(err) && !err)
		for (;;)
			pause();
	_exit(1);
}

int serve_rig_start(struct serve_rig *r, bool child)
{
	int pipes[2], err = -EPIPE;

	if (!child)
		return serve_here(r);
	CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
	r->child = fork();
	if (!r->child) {
		close(pipes[0]);
		serve_and_tell(r, pipes[1]);
	}
	close(pipes[1]);
	if (read(pipes[0], &err, sizeof(err)) != sizeof(err))
		err = -EPIPE;
	close(pipes[0]);
	return err;
}

void serve_rig_stop(struct serve_rig *r)
{
	CU_ASSERT_EQUAL(annex_server_close(r->server), 0);
	annex_dev_close(r->dev);
	r->server = NULL;
	r->dev = NULL;
}

void serve_rig_kill(struct serve_rig *r)
{
	int status;

	CU_ASSERT_EQUAL(kill(r->child, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(r->child, &status, 0), r->child);
	CU_ASSERT(WIFSIGNALED(status));
	r->child = 0;
}

void serve_rig_remove(struct serve_rig *r)
{
	char file[64];

	unlink(r->table);
	snprintf(file, sizeof(file), "%s/d", r->dir);
	unlink(file);
	if (r->child)
		serve_rig_kill(r);
	unlink(r->path); /* what a killed one left */
	CU_ASSERT_EQUAL(rmdir(r->dir), 0);
}

unsigned int serve_rig_rounds(unsigned int n)
{
	const char *text = getenv("ANNEX_LONG");
	unsigned long times = text ? strtoul(text, NULL, 10) : 1;

	return (unsigned int)(n * (times ? times : 1));
}

int serve_rig_add(const struct serve_rig *r, const char *name, uint64_t bytes, uint32_t uid,
		  uint32_t gid, uint32_t mode)
{
	struct annex_serve_part part = {
		.bytes = bytes, .uid = uid, .gid = gid, .mode = mode, .weight = 100};

	if (strlen(name) >= sizeof(part.name))
		memset(part.name, 'n', sizeof(part.name));
	else
		strcpy(part.name, name);
	return annex_serve_add(r->path, &part, NULL);
}

void serve_rig_open(struct serve_rig *r, const char *device, const char *parts, uint64_t bytes)
{
	serve_rig_make(r, device);
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(r, false), 0);
	for (; *parts; parts++) {
		const char name[] = {*parts, '\0'};

		CU_ASSERT_EQUAL_FATAL(serve_rig_add(r, name, bytes, getuid(), getgid(), 0600), 0);
	}
}

void serve_rig_close(struct serve_rig *r)
{
	serve_rig_stop(r);
	serve_rig_remove(r);
}

const char *serve_rig_uri(const struct serve_rig *r, const char *part, char *buf)
{
	snprintf(buf, 128, "unix:%s?part=%s", r->path, part);
	return buf;
}

bool serve_rig_part(const struct serve_rig *r, const char *part, struct annex_serve_part *out)
{
	struct annex_serve_part *all = calloc(ANNEX_SERVE_PARTS, sizeof(*all));
	struct annex_serve_facts facts = {.n = 0};
	bool found = false;

	CU_ASSERT_PTR_NOT_NULL_FATAL(all);
	CU_ASSERT_EQUAL(annex_serve_list(r->path, &facts, all), 0);
	for (unsigned int i = 0; i < facts.n; i++) {
		if (strcmp(all[i].name, part))
			continue;
		*out = all[i];
		found = true;
	}
	free(all);
	return found;
}

static int ask(int sock, struct annex_serve_message *m, int fd, struct packet_files *files)
{
	struct annex_serve_message a = {0};
	struct iovec iov = {&a, sizeof(a)};
	ssize_t n;

	m->magic = ANNEX_SERVE_MAGIC;
	if (!m->version)
		m->version = ANNEX_SERVE_VERSION;
	files->n = 0;
	if (annex_packet_send(sock, m, sizeof(*m), &fd, fd >= 0, 0))
		return -EPIPE;
	n = annex_packet_receive(sock, &iov, 1, files, 0);
	*m = a;
	return n == sizeof(a) ? a.result : -EPIPE;
}

int raw_ask(int sock, struct annex_serve_message *m, int fd)
{
	struct packet_files files;
	int err = ask(sock, m, fd, &files);

	annex_packet_close(&files);
	return err;
}

void raw_open(const struct serve_rig *r, const char *part, struct raw *out)
{
	struct annex_serve_message m = {.ask = ANNEX_SERVE_OPEN};
	struct packet_files files;

	*out = (struct raw){.sock = packet_connect("unix", r->path, PATIENCE_MS)};
	CU_ASSERT_FATAL(out->sock >= 0);
	strcpy(m.name, part);
	CU_ASSERT_EQUAL_FATAL(ask(out->sock, &m, -1, &files), 0);
	CU_ASSERT_EQUAL_FATAL(files.n, 3);
	out->region = mmap(NULL, ANNEX_SERVE_REGION, PROT_READ | PROT_WRITE, MAP_SHARED,
			   files.fd[0], 0);
	CU_ASSERT_FATAL(out->region != MAP_FAILED);
	/* The region stays as large as it is. */
	CU_ASSERT_EQUAL(ftruncate(files.fd[0], 4096), -1);
	close(files.fd[0]);
	out->kick = files.fd[1];
	out->event = files.fd[2];
	out->head = (struct annex_serve_head *)(void *)out->region;
	out->sq = (struct annex_serve_sqe *)(void *)(out->region + ANNEX_SERVE_SQ);
	out->cq = (struct annex_serve_cqe *)(void *)(out->region + ANNEX_SERVE_CQ);
}

void raw_close(struct raw *c)
{
	munmap(c->region, ANNEX_SERVE_REGION);
	close(c->kick);
	close(c->event);
	close(c->sock);
}

int raw_command(struct raw *c, const struct annex_serve_sqe *sqe)
{
	struct pollfd fds[] = {{.fd = c->event, .events = POLLIN},
			       {.fd = c->sock, .events = POLLRDHUP}};
	eventfd_t any;

	c->sq[c->tail++ % ANNEX_SERVE_ENTRIES] = *sqe;
	annex_atomic_or(&c->head->client_sleeps.v, 1u, ANNEX_SEQ_CST);
	annex_atomic_store(&c->head->sq_tail.v, c->tail, ANNEX_RELEASE);
	eventfd_write(c->kick, 1);
	while (annex_atomic_load(&c->head->cq_tail.v, ANNEX_ACQUIRE) == c->seen) {
		if (poll(fds, 2, PATIENCE_MS) <= 0)
			return -ETIME;
		if (fds[1].revents)
			return -EPIPE;
		if (read(c->event, &any, sizeof(any)) < 0)
			return -errno;
		annex_atomic_or(&c->head->client_sleeps.v, 1u, ANNEX_SEQ_CST);
	}
	c->seen++;
	annex_atomic_store(&c->head->cq_head.v, c->seen, ANNEX_RELEASE);
	return c->cq[(c->seen - 1) % ANNEX_SERVE_ENTRIES].result;
}
