// SPDX-License-Identifier: MIT
/*
 * Parts of a served device: data against a model, tables of parts, and permissions.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/unit/random.h"
#include "serve_rig.h"
#include "tests/unit/unit.h"

#define MIB (1ull << 20)
#define BLOCK 512u
#define PATIENCE_MS 10000u /* until the daemon has seen that a client has left */
#define MOST (64u << 10)   /* of a command */
#define ROUNDS (UNIT_SANITIZED ? 500u : 3000u)

/* struct model - A client, its buffer, and what its part should be. */
struct model {
	struct annex_dev *dev;
	const struct annex_provider *memory;
	char *buf, *want;
	uint64_t addr, bytes;
};

static void model_open(struct model *m, const char *uri, const struct annex_provider *memory,
		       uint64_t bytes)
{
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &m->dev), 0);
	m->memory = memory;
	m->bytes = bytes;
	m->want = calloc(1, bytes);
	m->buf = memory->alloc(memory->ctx, 2 * MOST, 4096);
	CU_ASSERT_FATAL(m->buf && m->want);
	CU_ASSERT_EQUAL_FATAL(annex_dev_map(m->dev, m->buf, 2 * MOST, &m->addr), 0);
}

static void model_close(struct model *m)
{
	CU_ASSERT_EQUAL(annex_dev_unmap(m->dev, m->addr, 2 * MOST), 0);
	annex_dev_close(m->dev);
	m->memory->free(m->memory->ctx, m->buf, 2 * MOST);
	free(m->want);
}

/* A random command; its data is anywhere in the buffer, or in two pieces of it. */
static struct annex_io draw(uint64_t *seed, const struct model *m, struct annex_seg segs[2])
{
	static const uint8_t ops[] = {ANNEX_NVM_READ,  ANNEX_NVM_READ,         ANNEX_NVM_WRITE,
				      ANNEX_NVM_WRITE, ANNEX_NVM_WRITE_ZEROES, ANNEX_NVM_FLUSH};
	uint32_t nlb = (uint32_t)(random_next(seed) % (MOST / BLOCK)) + 1;
	struct annex_io io = {.opcode = ops[random_next(seed) % sizeof(ops)], .nsid = 1};

	if (io.opcode == ANNEX_NVM_FLUSH)
		return io;
	io.nlb = nlb;
	io.slba = random_next(seed) % (m->bytes / BLOCK - nlb + 1);
	if (io.opcode == ANNEX_NVM_WRITE_ZEROES)
		return io;
	io.flags = io.opcode == ANNEX_NVM_WRITE && random_next(seed) % 8 == 0 ? ANNEX_IO_FUA : 0;
	io.bytes = nlb * BLOCK;
	io.addr = m->addr + random_next(seed) % ((2 * MOST - io.bytes) / 4 + 1) * 4;
	if (random_next(seed) % 4 || nlb < 2)
		return io;
	segs[0] = (struct annex_seg){io.addr + io.bytes / 2 / 4 * 4,
				     io.bytes - io.bytes / 2 / 4 * 4};
	segs[1] = (struct annex_seg){io.addr, io.bytes / 2 / 4 * 4};
	io.segs = segs;
	io.nsegs = 2;
	return io;
}

/* The data of a command, in its order. */
static void gather(const struct model *m, const struct annex_io *io, char *data)
{
	for (uint32_t i = 0; i < annex_io_pieces(io); i++) {
		struct annex_seg s = annex_io_piece(io, i);

		memcpy(data, m->buf + (s.addr - m->addr), s.len);
		data += s.len;
	}
}

static void step(uint64_t *seed, struct model *m)
{
	static char data[MOST];
	struct annex_seg segs[2];
	struct annex_io io = draw(seed, m, segs);
	char *want = m->want + io.slba * BLOCK;

	random_fill(seed, m->buf + random_next(seed) % MOST, 512);
	if (io.opcode == ANNEX_NVM_WRITE)
		gather(m, &io, want);
	if (io.opcode == ANNEX_NVM_WRITE_ZEROES)
		memset(want, 0, io.nlb * BLOCK);
	CU_ASSERT_EQUAL_FATAL(annex_dev_io(m->dev, &io, 1, NULL), 0);
	if (io.opcode != ANNEX_NVM_READ)
		return;
	gather(m, &io, data);
	CU_ASSERT_EQUAL_FATAL(memcmp(data, want, io.bytes), 0);
}

static void agree(const char *device, const struct annex_provider *memory, const char *query)
{
	uint64_t seed = random_seed("serve");
	struct annex_serve_part told;
	struct serve_rig r;
	struct model a, b;
	char uri[128];

	serve_rig_open(&r, device, "", 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", 8 * MIB, getuid(), getgid(), 0600), 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "b", 4 * MIB, getuid(), getgid(), 0600), 0);
	serve_rig_uri(&r, "a", uri);
	model_open(&a, strcat(uri, query), memory, 8 * MIB);
	model_open(&b, serve_rig_uri(&r, "b", uri), memory, 4 * MIB);
	for (unsigned int i = 0; i < ROUNDS; i++)
		step(&seed, random_next(&seed) % 2 ? &a : &b);
	CU_ASSERT(serve_rig_part(&r, "a", &told));
	CU_ASSERT_EQUAL(told.clients, 1);
	CU_ASSERT(told.commands > 0);
	CU_ASSERT_EQUAL(told.failed, 0);
	if (memory == annex_provider_shared())
		CU_ASSERT(told.copied < told.moved / 2)
	else
		CU_ASSERT_EQUAL(told.copied, told.moved);
	model_close(&a);
	model_close(&b);
	serve_rig_close(&r);
}

static void in_place(void)
{
	agree("mem:32M", annex_provider_shared(), "");
}

static void copied(void)
{
	agree("mem:32M", annex_provider_pages(), "");
}

static void on_a_file(void)
{
	agree("file", annex_provider_shared(), "");
}

static void by_a_thread(void)
{
	agree("file", annex_provider_pages(), "&serve=thread");
}

/* Every byte in a name, alone and behind another; and lengths. */
static void names(void)
{
	char name[ANNEX_SERVE_NAME + 8];
	struct serve_rig r;

	serve_rig_open(&r, "mem:512M", "", 0);
	for (unsigned int c = 1; c < 256; c++) {
		for (unsigned int at = 0; at < 2; at++) {
			bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				      (c >= '0' && c <= '9') || c == '_';
			bool good = letter || (at && (c == '.' || c == '-'));

			snprintf(name, sizeof(name), at ? "x%c" : "%c", (int)c);
			CU_ASSERT_EQUAL(serve_rig_add(&r, name, 4096, 0, 0, 0600),
					good ? 0 : -EINVAL);
		}
	}
	CU_ASSERT_EQUAL(serve_rig_add(&r, "", 4096, 0, 0, 0600), -EINVAL);
	memset(name, 'n', sizeof(name));
	name[ANNEX_SERVE_NAME] = 0;
	CU_ASSERT_EQUAL(serve_rig_add(&r, name, 4096, 0, 0, 0600), -EINVAL);
	name[ANNEX_SERVE_NAME - 1] = 0;
	CU_ASSERT_EQUAL(serve_rig_add(&r, name, 4096, 0, 0, 0600), 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, name, 4096, 0, 0, 0600), -EEXIST);
	serve_rig_close(&r);
}

static void sizes(void)
{
	struct serve_rig r;

	serve_rig_open(&r, "mem:16M", "", 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", 0, 0, 0, 0600), -EINVAL);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", 100, 0, 0, 0600), -EINVAL);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", 512, 0, 0, 0777), -EINVAL);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", 17 * MIB, 0, 0, 0600), -ENOSPC);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", UINT64_MAX / 512 * 512, 0, 0, 0600), -ENOSPC);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", 16 * MIB, 0, 0, 0600), 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "b", 512, 0, 0, 0600), -ENOSPC);
	CU_ASSERT_EQUAL(annex_serve_remove(r.path, "b"), -ENOENT);
	CU_ASSERT_EQUAL(annex_serve_remove(r.path, "a"), 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "b", 512, 0, 0, 0600), 0);
	serve_rig_close(&r);
}

/* No client reads the data of a removed part. */
static void zeroed(void)
{
	struct serve_rig r;
	struct model m;
	struct annex_io io = {.opcode = ANNEX_NVM_WRITE, .nsid = 1, .nlb = 8, .bytes = 4096};
	uint64_t until;
	char uri[128];
	int err;

	serve_rig_open(&r, "mem:16M", "a", MIB);
	model_open(&m, serve_rig_uri(&r, "a", uri), annex_provider_shared(), MIB);
	memset(m.buf, 'x', 4096);
	io.addr = m.addr;
	CU_ASSERT_EQUAL(annex_dev_io(m.dev, &io, 1, NULL), 0);
	CU_ASSERT_EQUAL(annex_serve_remove(r.path, "a"), -EBUSY);
	model_close(&m);
	/* The connection is closed, but the daemon may not have seen that yet. */
	until = annex_deadline_ms(PATIENCE_MS);
	do
		err = annex_serve_remove(r.path, "a");
	while (err == -EBUSY && annex_now() < until);
	CU_ASSERT_EQUAL(err, 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "b", MIB, getuid(), getgid(), 0600), 0);
	model_open(&m, serve_rig_uri(&r, "b", uri), annex_provider_shared(), MIB);
	memset(m.buf, 'y', 4096);
	io.opcode = ANNEX_NVM_READ;
	io.addr = m.addr;
	CU_ASSERT_EQUAL(annex_dev_io(m.dev, &io, 1, NULL), 0);
	CU_ASSERT_EQUAL(memcmp(m.buf, m.want, 4096), 0);
	model_close(&m);
	serve_rig_close(&r);
}

static void write_table(const struct serve_rig *r, const char *header, const char *lines)
{
	FILE *f = fopen(r->table, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(header, f);
	fputs(lines, f);
	fclose(f);
}

static void refuses_table(struct serve_rig *r, const char *header, const char *lines)
{
	write_table(r, header, lines);
	CU_ASSERT_EQUAL(serve_rig_start(r, false), -EBADMSG);
}

#define HEADER "annex-parts 1 bytes 67108864 block 512\n"
#define HEADER2 "annex-parts 2 bytes 67108864 block 512\n"

static void tables(void)
{
	static const char *const headers[] = {
		"",
		"nonsense\n",
		"annex-parts 3 bytes 67108864 block 512\n",
		"annex-parts 1 bytes 67108864 block 4096\n",
		"annex-parts 1 bytes 671088640 block 512\n",
	};
	static const char *const lines[] = {
		"a 0 4096 0 0 600 100 0",
		"a 0 4096 0 0 600 100\n",
		"a 0 4096 0 0 600 100 0 more\n",
		"a 0 4097 0 0 600 100 0\n",
		"a 1 4096 0 0 600 100 0\n",
		"a 0 0 0 0 600 100 0\n",
		"a 0 67109376 0 0 600 100 0\n",
		"a 67108864 512 0 0 600 100 0\n",
		"../a 0 4096 0 0 600 100 0\n",
		"a 0 4096 0 0 700 100 0\n",
		"a 0 4096 0 0 600 0 0\n",
		"a 0 4096 0 0 600 1001 0\n",
		"a 0 4096 0 0 600 100 2\n",
		"a 0 4096 0 0 600 100 0\na 8192 4096 0 0 600 100 0\n",
		"a 0 4096 0 0 600 100 0\nb 512 4096 0 0 600 100 0\n",
	};
	static const char *const lines2[] = {
		"a 0 4096 0 0 600 100 0\n",           "a 0 4096 0 0 600 100 0 0\n",
		"a 0 4096 0 0 600 100 0 0 7",         "a 0 4096 0 0 600 100 0 0 7 more\n",
		"a 0 4096 0 0 600 100 0 1048575 7\n",
	};
	struct annex_serve_part told;
	struct serve_rig r;

	serve_rig_open(&r, "file", "", 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", MIB, 17, 18, 0640), 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "b", MIB, 1, 2, 0600), 0);
	serve_rig_stop(&r);
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, false), 0);
	CU_ASSERT(serve_rig_part(&r, "a", &told));
	CU_ASSERT(told.bytes == MIB && told.uid == 17 && told.gid == 18 && told.mode == 0640);
	CU_ASSERT(serve_rig_part(&r, "b", &told));
	serve_rig_stop(&r);
	for (unsigned int i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		refuses_table(&r, headers[i], "");
	for (unsigned int i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		refuses_table(&r, HEADER, lines[i]);
	for (unsigned int i = 0; i < sizeof(lines2) / sizeof(lines2[0]); i++)
		refuses_table(&r, HEADER2, lines2[i]);
	/* And one that is right, of a device that was smaller. */
	write_table(&r, "annex-parts 1 bytes 1048576 block 512\n",
		    "a 0 4096 0 0 600 100 0\nb 4096 512 0 0 666 1000 1\n");
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, false), 0);
	CU_ASSERT(serve_rig_part(&r, "b", &told));
	CU_ASSERT(told.bytes == 512 && told.weight == 1000 && told.first == 1);
	serve_rig_close(&r);
}

/* A table that cannot be written: the change does not happen, and the old table stays. */
static void unwritable_table(void)
{
	struct annex_serve_part told;
	struct serve_rig r;
	char new[56], inside[64];

	serve_rig_open(&r, "file", "", 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", MIB, 0, 0, 0600), 0);
	snprintf(new, sizeof(new), "%s.new", r.table);
	snprintf(inside, sizeof(inside), "%s/x", new);
	CU_ASSERT_EQUAL_FATAL(mkdir(new, 0700), 0); /* a name that no file can have */
	CU_ASSERT_EQUAL(serve_rig_add(&r, "b", MIB, 0, 0, 0600), -EISDIR);
	CU_ASSERT(!serve_rig_part(&r, "b", &told));
	CU_ASSERT_EQUAL(annex_serve_remove(r.path, "a"), -EISDIR);
	CU_ASSERT(serve_rig_part(&r, "a", &told));
	CU_ASSERT_EQUAL(rmdir(new), 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "b", MIB, 0, 0, 0600), 0);
	serve_rig_stop(&r);
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, false), 0);
	CU_ASSERT(serve_rig_part(&r, "a", &told));
	CU_ASSERT(serve_rig_part(&r, "b", &told));
	serve_rig_close(&r);
}

/* As another user, in a child: the errno of opening. */
static int open_as(const struct serve_rig *r, uid_t uid, gid_t gid, const char *query)
{
	struct annex_dev *dev = NULL;
	char uri[160];
	int status;
	pid_t pid = fork();

	if (!pid) {
		int err;

		serve_rig_uri(r, "a", uri);
		err = setgroups(0, NULL) || setgid(gid) || setuid(uid)
			      ? -EPERM
			      : annex_dev_open(strcat(uri, query), NULL, &dev);
		_exit(-err);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

static void permissions(void)
{
	struct serve_rig r;

	if (getuid()) {
		printf(" [skipped: other users are root's to be] ");
		return;
	}
	serve_rig_make(&r, "mem:16M");
	CU_ASSERT_EQUAL_FATAL(chmod(r.dir, 0755), 0);
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, true), 0);
	CU_ASSERT_EQUAL(serve_rig_add(&r, "a", MIB, 1000, 2000, 0640), 0);
	CU_ASSERT_EQUAL(open_as(&r, 1000, 1000, ""), 0);
	CU_ASSERT_EQUAL(open_as(&r, 1001, 2000, ""), -EACCES);
	CU_ASSERT_EQUAL(open_as(&r, 1001, 2000, "&readonly=1"), 0);
	CU_ASSERT_EQUAL(open_as(&r, 1001, 1000, "&readonly=1"), -EACCES);
	CU_ASSERT_EQUAL(open_as(&r, 0, 0, ""), 0);
	serve_rig_kill(&r);
	r.opts.mode = 0600;
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, true), 0);
	CU_ASSERT_EQUAL(open_as(&r, 1000, 1000, ""), -EACCES);
	serve_rig_kill(&r);
	serve_rig_remove(&r);
}

static void readonly(void)
{
	struct annex_io io = {.opcode = ANNEX_NVM_WRITE, .nsid = 1, .nlb = 8, .bytes = 4096};
	struct serve_rig r;
	struct model m;
	char uri[128];

	serve_rig_open(&r, "mem:16M", "a", MIB);
	serve_rig_uri(&r, "a", uri);
	model_open(&m, strcat(uri, "&readonly=1"), annex_provider_shared(), MIB);
	io.addr = m.addr;
	CU_ASSERT_EQUAL(annex_dev_io(m.dev, &io, 1, NULL), -EROFS);
	io.opcode = ANNEX_NVM_READ;
	CU_ASSERT_EQUAL(annex_dev_io(m.dev, &io, 1, NULL), 0);
	model_close(&m);
	serve_rig_close(&r);
}

/* Clients of one part keep blocks from each other, but not for longer than they live. */
static void claims(void)
{
	struct annex_dev *a, *b;
	struct serve_rig r;
	uint64_t until;
	char uri[128];
	int err;

	serve_rig_open(&r, "mem:16M", "a", MIB);
	serve_rig_uri(&r, "a", uri);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &a), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &b), 0);
	CU_ASSERT_EQUAL(annex_dev_claim(a, 1, 0, 100), 0);
	CU_ASSERT_EQUAL(annex_dev_claim(b, 1, 99, 10), -EBUSY);
	CU_ASSERT_EQUAL(annex_dev_claim(b, 1, 100, 10), 0);
	annex_dev_close(a);
	until = annex_deadline_ms(PATIENCE_MS);
	do
		err = annex_dev_claim(b, 1, 0, 100);
	while (err == -EBUSY && annex_now() < until);
	CU_ASSERT_EQUAL(err, 0);
	annex_dev_close(b);
	serve_rig_close(&r);
}

/* Clients that read share a part, and keep those from it that write, as those keep them. */
static void readers(void)
{
	struct annex_dev *a, *b, *w, *none;
	char uri[128], read[160];
	struct serve_rig r;

	serve_rig_open(&r, "mem:16M", "a", MIB);
	serve_rig_uri(&r, "a", uri);
	snprintf(read, sizeof(read), "%s&readonly=1", uri);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(read, NULL, &a), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(read, NULL, &b), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &w), 0);
	CU_ASSERT_EQUAL(annex_dev_claim(w, 1, 99, 1), -EBUSY);
	CU_ASSERT_EQUAL(annex_dev_claim_shared(w, 1, 99, 1), 0);
	CU_ASSERT_EQUAL(annex_dev_claim(a, 1, 99, 1), -EROFS);
	annex_dev_close(a);
	annex_dev_close(b);
	CU_ASSERT_EQUAL(annex_dev_claim(w, 1, 99, 1), 0);
	CU_ASSERT_EQUAL(annex_dev_open(read, NULL, &none), -EBUSY);
	annex_dev_close(w);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(read, NULL, &a), 0);
	annex_dev_close(a);
	serve_rig_close(&r);
}

static void refusals(void)
{
	static const struct {
		const char *query;
		int err;
	} bad[] = {
		{"", -EINVAL},         {"?part=", -EINVAL},      {"?part=nobody", -ENOENT},
		{"?part=..", -ENOENT}, {"?part=a&x=1", -EINVAL},
	};
	struct serve_rig r, twice;
	struct annex_dev *dev = NULL;
	char uri[160];

	serve_rig_make(&r, "file");
	snprintf(uri, sizeof(uri), "unix:%s?part=a", r.path);
	CU_ASSERT_EQUAL(annex_dev_open(uri, NULL, &dev), -ENOENT);
	CU_ASSERT_EQUAL_FATAL(serve_rig_start(&r, false), 0);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(uri, sizeof(uri), "unix:%s%s", r.path, bad[i].query);
		CU_ASSERT_EQUAL(annex_dev_open(uri, NULL, &dev), bad[i].err);
	}
	/* Two daemons of one device, and two at one name. */
	twice = r;
	twice.opts.path = twice.table;
	CU_ASSERT_EQUAL(serve_rig_start(&twice, false), -EBUSY);
	strcpy(twice.device, "mem:1M");
	twice.opts.path = twice.path;
	twice.opts.table = NULL;
	CU_ASSERT_EQUAL(serve_rig_start(&twice, false), -EADDRINUSE);
	serve_rig_stop(&r);
	/* A name that is no socket. */
	CU_ASSERT_EQUAL(mkdir(r.path, 0700), 0);
	CU_ASSERT_EQUAL(serve_rig_start(&twice, false), -EEXIST);
	CU_ASSERT_EQUAL(rmdir(r.path), 0);
	serve_rig_remove(&r);
}

static unsigned int tellings;
static uint64_t told_last;

static void note(uint64_t done, uint64_t bytes)
{
	CU_ASSERT_EQUAL(bytes, 256 * MIB);
	CU_ASSERT(done > told_last && done <= bytes);
	told_last = done;
	tellings++;
}

/* A large part on a slow device: its creator reads the progress, or does not. */
static void told_how_far(void)
{
	struct annex_serve_part part = {.name = "a", .bytes = 256 * MIB, .weight = 100};
	struct serve_rig r;

	serve_rig_open(&r, "mem:256M?fault=delay,op=zeroes,us=60000,count=0", "", 0);
	tellings = 0;
	told_last = 0;
	CU_ASSERT_EQUAL(annex_serve_add(r.path, &part, note), 0);
	CU_ASSERT(tellings >= 2);
	CU_ASSERT_EQUAL(annex_serve_remove(r.path, "a"), 0);
	CU_ASSERT_EQUAL(annex_serve_add(r.path, &part, NULL), 0);
	serve_rig_close(&r);
}

UNIT_SUITE(serve, {"data in place", in_place}, {"data that is copied", copied},
	   {"on a file", on_a_file}, {"served by a thread", by_a_thread}, {"names", names},
	   {"sizes", sizes}, {"a new part reads as zeroes", zeroed}, {"tables", tables},
	   {"a table that cannot be written", unwritable_table}, {"permissions", permissions},
	   {"read only", readonly}, {"claims", claims}, {"readers", readers},
	   {"refusals", refusals}, {"how far a new part has come", told_how_far})
