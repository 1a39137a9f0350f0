// SPDX-License-Identifier: MIT
/*
 * The proxy's files: growing, refusing, and failing as a file system does.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "nvme/dev.h"
#include "nvme/emu/file/file.h"
#include "tests/unit/emu_host.h"
#include "tests/unit/unit.h"

static int try_file(const char *path, const char *params)
{
	char uri[512];

	snprintf(uri, sizeof(uri), "file:%s%s", path, params);
	return host_try(uri);
}

static void ready_file(struct host *h, const char *path, const char *params)
{
	char uri[512];

	snprintf(uri, sizeof(uri), "file:%s%s", path, params);
	host_ready(h, uri);
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : st.st_size;
}

static void growing(void)
{
	char path[UNIT_PATH];
	struct stat st;

	unit_tmpfile(path);
	CU_ASSERT_EQUAL(try_file(path, ""), -EINVAL); /* empty */
	CU_ASSERT(strstr(annex_last_error(), "size=") != NULL);
	unlink(path);
	CU_ASSERT_EQUAL(try_file(path, ""), -ENOENT);
	CU_ASSERT_EQUAL(try_file(path, "?size=1M&readonly=1"), -ENOENT);
	CU_ASSERT_EQUAL(size_of(path), -1); /* nothing was left behind */
	CU_ASSERT_EQUAL(try_file(path, "?size=1000"), 0);
	CU_ASSERT_EQUAL(size_of(path), 1000);
	CU_ASSERT_EQUAL(try_file(path, "?size=1001&block=4096"), 0);
	CU_ASSERT_EQUAL(size_of(path), 1001);
	unlink(path);
	CU_ASSERT_EQUAL(try_file(path, "?size=64M"), 0);
	CU_ASSERT_EQUAL_FATAL(stat(path, &st), 0);
	CU_ASSERT_EQUAL(st.st_size, 64 << 20);
	CU_ASSERT(st.st_blocks < 1024); /* sparse */
	CU_ASSERT_EQUAL(try_file(path, "?size=96M&readonly=1"), -EROFS);
	CU_ASSERT_EQUAL(size_of(path), 64 << 20);
	CU_ASSERT_EQUAL(try_file(path, "?size=96M"), 0);
	CU_ASSERT_EQUAL(size_of(path), 96 << 20);
	CU_ASSERT_EQUAL(try_file(path, "?size=1M"), 0); /* never shrunk */
	CU_ASSERT_EQUAL(size_of(path), 96 << 20);
	CU_ASSERT_EQUAL(try_file(path, "?size=9999999999999999K"), -ERANGE);
	unlink(path);
}

static void refused(void)
{
	char path[UNIT_PATH], fifo[UNIT_PATH + 8];

	unit_tmpfile(path);
	CU_ASSERT_EQUAL_FATAL(truncate(path, 4608), 0);
	CU_ASSERT_EQUAL(try_file(path, ""), 0);
	CU_ASSERT_EQUAL(try_file(path, "?block=1536"), -EINVAL);
	CU_ASSERT(strstr(annex_last_error(), "no power of two") != NULL);
	CU_ASSERT_EQUAL(try_file(path, "?direct=2"), -ERANGE);
	CU_ASSERT_EQUAL(try_file(path, "?namespaces=2"), -EINVAL);
	CU_ASSERT_EQUAL(try_file(path, "?serve=tea"), -EINVAL);
	CU_ASSERT_EQUAL(try_file("", ""), -EINVAL);
	CU_ASSERT_EQUAL(try_file(P_tmpdir, ""), -EISDIR);
	CU_ASSERT_EQUAL(try_file(P_tmpdir, "?readonly=1"), -EISDIR);
	CU_ASSERT_EQUAL(try_file("/dev/null", ""), -EINVAL);
	CU_ASSERT_EQUAL(try_file("/no/such/place", "?size=1M"), -ENOENT);
	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	CU_ASSERT_EQUAL_FATAL(mkfifo(fifo, 0600), 0);
	CU_ASSERT_EQUAL(try_file(fifo, ""), -EINVAL);
	unlink(fifo);
	/* The kernel refuses writes to a running program. */
	CU_ASSERT_EQUAL(try_file("/proc/self/exe", ""), -ETXTBSY);
	CU_ASSERT(strstr(annex_last_error(), "use readonly=1 to read it") != NULL);
	CU_ASSERT_EQUAL(try_file("/proc/self/exe", "?readonly=1"), 0);
	if (geteuid()) { /* root may do anything */
		CU_ASSERT_EQUAL_FATAL(chmod(path, 0), 0);
		CU_ASSERT_EQUAL(try_file(path, ""), -EACCES);
		CU_ASSERT(strstr(annex_last_error(), "readonly=1") == NULL);
		CU_ASSERT_EQUAL_FATAL(chmod(path, 0444), 0);
		CU_ASSERT_EQUAL(try_file(path, ""), -EACCES);
		CU_ASSERT(strstr(annex_last_error(), "use readonly=1 to read it") != NULL);
		CU_ASSERT_EQUAL(try_file(path, "?readonly=1"), 0);
	}
	unlink(path);
}

/* After any error the open has removed a file that it created, and restored one that it grew. */
static void failed_open_leaves_nothing(void)
{
	static const char *const wrong[] = {
		"?size=1M&fault=foo",    "?size=1M&serve=foo", "?size=1M&block=513",
		"?size=1M&ns=",          "?size=1M&foo=1",     "?size=1M&ns=/no/such/place",
		"?size=1M&ns=/dev/null",
	};
	char path[UNIT_PATH], other[UNIT_PATH], params[256];

	unit_tmpfile(path);
	unit_tmpfile(other);
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		unlink(path);
		CU_ASSERT(try_file(path, wrong[i]) < 0);
		CU_ASSERT_EQUAL(size_of(path), -1);
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		CU_ASSERT_EQUAL_FATAL(truncate(path, 8192), 0);
		CU_ASSERT(try_file(path, wrong[i]) < 0);
		CU_ASSERT_EQUAL(size_of(path), 8192);
		CU_ASSERT_EQUAL_FATAL(truncate(path, 0), 0);
		CU_ASSERT(try_file(path, wrong[i]) < 0);
		CU_ASSERT_EQUAL(size_of(path), 0);
	}
	/* size= is for the first path only. */
	snprintf(params, sizeof(params), "?size=1M&ns=%s", other);
	CU_ASSERT_EQUAL(try_file(path, params), -EINVAL);
	CU_ASSERT_EQUAL(size_of(path), 0);
	CU_ASSERT_EQUAL(size_of(other), 0);
	unlink(other);
	CU_ASSERT_EQUAL(try_file(path, params), -ENOENT);
	CU_ASSERT_EQUAL(size_of(other), -1);
	unlink(path);
}

static void read_only(void)
{
	struct annex_dsm_range *range;
	char path[UNIT_PATH];
	struct annex_sqe sqe;
	struct host h;
	char *p;

	unit_tmpfile(path);
	CU_ASSERT_EQUAL_FATAL(truncate(path, 1 << 20), 0);
	ready_file(&h, path, "?readonly=1");
	p = host_alloc(&h, 4096);
	range = host_alloc(&h, 4096);
	range->nlb = 1;
	CU_ASSERT_EQUAL(host_io(&h, ANNEX_NVM_WRITE, 0, 1, p), ANNEX_SC_READ_ONLY);
	CU_ASSERT_EQUAL(host_io(&h, ANNEX_NVM_WRITE_ZEROES, 0, 1, p), ANNEX_SC_READ_ONLY);
	sqe = host_rw(ANNEX_NVM_DSM, 0, 1, range, NULL);
	sqe.cdw11 = ANNEX_DSM_DEALLOCATE;
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), ANNEX_SC_READ_ONLY);
	CU_ASSERT_EQUAL(host_io(&h, ANNEX_NVM_READ, 0, 1, p), 0);
	CU_ASSERT_EQUAL(host_io(&h, ANNEX_NVM_FLUSH, 0, 1, p), 0);
	host_close(&h);
	unlink(path);
}

/* Written data arrives in the file of its namespace. */
static void contents(void)
{
	char path[UNIT_PATH], other[UNIT_PATH], params[256], byte = 0;
	struct annex_sqe sqe;
	struct host h;
	char *p;
	int fd;

	unit_tmpfile(path);
	unit_tmpfile(other);
	CU_ASSERT_EQUAL_FATAL(truncate(other, 1 << 20), 0);
	snprintf(params, sizeof(params), "?size=1M&ns=%s", other);
	ready_file(&h, path, params);
	p = host_alloc(&h, 4096);
	for (uint32_t nsid = 1; nsid <= 2; nsid++) {
		memset(p, (int)(0x10 * nsid), 4096);
		sqe = host_rw(ANNEX_NVM_WRITE, 7, 1, p, NULL);
		sqe.nsid = nsid;
		CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
	}
	sqe = (struct annex_sqe){.opcode = ANNEX_NVM_FLUSH, .nsid = ANNEX_NSID_ALL};
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
	host_close(&h);
	for (int i = 1; i <= 2; i++) {
		fd = open(i == 1 ? path : other, O_RDONLY);
		CU_ASSERT_EQUAL(pread(fd, &byte, 1, 7 * 512 + 511), 1);
		CU_ASSERT_EQUAL(byte, 0x10 * i);
		CU_ASSERT_EQUAL(pread(fd, &byte, 1, 8 * 512), 1);
		CU_ASSERT_EQUAL(byte, 0);
		close(fd);
	}
	unlink(path);
	unlink(other);
}

/* A file that shrinks behind the proxy's back: reads past its end fail, others do not. */
static void shrunk(void)
{
	char path[UNIT_PATH];
	struct annex_sqe sqe;
	struct host h;
	char *p;

	unit_tmpfile(path);
	ready_file(&h, path, "?size=64K");
	p = host_alloc(&h, 65536);
	CU_ASSERT_EQUAL(truncate(path, 4096), 0);
	sqe = host_rw(ANNEX_NVM_READ, 0, 8, p, NULL);
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
	sqe = host_rw(ANNEX_NVM_READ, 0, 16, p, p + 4096);
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), ANNEX_SC_UNRECOVERED_READ);
	CU_ASSERT_EQUAL(host_io(&h, ANNEX_NVM_COMPARE, 64, 1, p), ANNEX_SC_UNRECOVERED_READ);
	host_close(&h);
	unlink(path);
}

/* No space: a file size limit gives what a full disk gives, without filling one. */
static void no_space(void)
{
	struct rlimit old, low;
	char path[UNIT_PATH];
	struct annex_sqe sqe;
	struct host h;
	char *p;

	unit_tmpfile(path);
	ready_file(&h, path, "?size=64K");
	p = host_alloc(&h, 4096);
	CU_ASSERT_EQUAL(truncate(path, 4096), 0);
	signal(SIGXFSZ, SIG_IGN);
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = old;
	low.rlim_cur = 16384;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &low), 0);
	sqe = host_rw(ANNEX_NVM_WRITE, 64, 8, p, NULL);
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), ANNEX_SC_CAPACITY);
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_DFL);
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
	host_close(&h);
	unlink(path);
}

/* Forced unit access: it is durable when it completes. */
static void forced(void)
{
	char path[UNIT_PATH];
	struct annex_sqe sqe;
	struct host h;
	char *p;

	unit_tmpfile(path);
	ready_file(&h, path, "?size=1M");
	p = host_alloc(&h, 4096);
	sqe = host_rw(ANNEX_NVM_WRITE, 0, 1, p, NULL);
	sqe.cdw12 |= ANNEX_RW_FUA;
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
	sqe.opcode = ANNEX_NVM_WRITE_ZEROES;
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
	host_close(&h);
	unlink(path);
}

/* Delete a queue, reset, and close, with reads under way; nothing is written after that. */
static void in_flight(void)
{
	char path[UNIT_PATH];
	struct annex_cqe cqe;
	struct annex_sqe sqe;
	struct host h;
	char *p;

	unit_tmpfile(path);
	ready_file(&h, path, "?size=4M");
	p = host_alloc(&h, 32 * 4096);
	for (unsigned int round = 0; round < 3; round++) {
		unsigned int got = 0;

		for (uint16_t i = 0; i < 32; i++) {
			sqe = host_rw(ANNEX_NVM_READ, i * 8u, 8, p + i * 4096, NULL);
			sqe.cid = i;
			host_put(&h, 1, &sqe);
		}
		host_ring(&h, 1);
		if (round == 2)
			break; /* closed as it is */
		if (round == 1) {
			CU_ASSERT_EQUAL(h.ctrl->ops->reset(h.ctrl), 0);
			CU_ASSERT_EQUAL(h.ctrl->ops->unmap(h.ctrl, host_addr(h.mem), HOST_MEM), 0);
			CU_ASSERT_EQUAL(h.ctrl->ops->map(h.ctrl, h.mem, HOST_MEM, &(uint64_t){0}),
					0);
		} else {
			CU_ASSERT_EQUAL(host_destroy(&h, 1), 0);
			while (host_poll(&h, 1, &cqe)) {
				CU_ASSERT(!(cqe.status >> 1) ||
					  cqe.status >> 1 == ANNEX_SC_ABORT_SQ_DELETED);
				got++;
			}
			CU_ASSERT_EQUAL(got, 32);
		}
		CU_ASSERT_EQUAL(host_create(&h, 1, 64), 0);
	}
	host_close(&h);
	unlink(path);
}

/* The program has closed the ring's descriptor: I/O fails at once, and one line tells the cause. */
static void ring_taken(void)
{
	struct annex_sqe sqe;
	char path[UNIT_PATH];
	int *ring, kept, other = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct host h;

	unit_tmpfile(path);
	ready_file(&h, path, "?size=1M&direct=0");
	ring = &((struct emu_file *)annex_emu_of(h.ctrl)->own)->ring.uring.ring_fd;
	kept = dup(*ring);
	CU_ASSERT_FATAL(kept >= 0 && other >= 0);
	sqe = host_rw(ANNEX_NVM_READ, 0, 1, host_alloc(&h, 4096), NULL);
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
	unit_log_begin(UNIT_LOG(WARNING), "io_uring takes no more");
	CU_ASSERT_EQUAL(dup2(other, *ring), *ring);
	for (unsigned int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL) & 0x7ff, ANNEX_SC_INTERNAL);
	CU_ASSERT_EQUAL(unit_log_end(), 1);
	CU_ASSERT_EQUAL(dup2(kept, *ring), *ring);
	CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
	close(kept);
	close(other);
	host_close(&h);
	unlink(path);
}

/* This process alone reads queues. They are not pinned: users may pin little, and data is to be. */
static void queues_not_pinned(void)
{
	struct annex_dev_opts opts = {.queues = 2, .depth = 1024};
	const struct emu_ring *ring;
	struct annex_dev *dev;
	char path[UNIT_PATH], uri[512];
	uint64_t lists;

	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=1M&direct=0", path);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, &opts, &dev), 0);
	ring = &((const struct emu_file *)annex_emu_of(dev->ctrl)->own)->ring;
	for (unsigned int i = 0; i < EMU_RING_BUFS; i++)
		CU_ASSERT(!ring->used[i]);
	lists = dev->io[0].addr;
	CU_ASSERT_PTR_NOT_NULL(annex_emu_reach(annex_emu_of(dev->ctrl), lists, 4096));
	annex_dev_close(dev);
	unlink(path);
}

static int refused_with;

int __real_io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
				      struct io_uring_params *p);
int __wrap_io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
				      struct io_uring_params *p);

int __wrap_io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
				      struct io_uring_params *p)
{
	return refused_with ? refused_with : __real_io_uring_queue_init_params(entries, ring, p);
}

/* A file is served without an io_uring too, and one line says why. */
static void by_threads(void)
{
	static void (*const tests[])(void) = {growing, contents,  shrunk,   no_space,
					      forced,  in_flight, odd_files};

	unit_log_begin(UNIT_LOG(WARNING), "by threads, as io_uring is");
	for (unsigned int i = 0; i < 2 * sizeof(tests) / sizeof(tests[0]); i++) {
		refused_with = i % 2 ? -EPERM : -ENOSYS;
		tests[i / 2]();
	}
	refused_with = 0;
	CU_ASSERT_EQUAL(unit_log_end(), 1);
}

/* Readers share a file, and keep writers from it, as writers keep readers. */
static void readers(void)
{
	struct annex_dev *a, *b, *w;
	char path[UNIT_PATH], read[256], write[256];

	unit_tmpfile(path);
	CU_ASSERT_EQUAL_FATAL(truncate(path, 1 << 20), 0);
	snprintf(write, sizeof(write), "file:%s", path);
	snprintf(read, sizeof(read), "file:%s?readonly=1", path);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(read, NULL, &a), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(read, NULL, &b), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(write, NULL, &w), 0);
	CU_ASSERT_EQUAL(annex_dev_claim(w, 1, 7, 1), -EBUSY);
	CU_ASSERT(strstr(annex_last_error(), "something else uses it") != NULL);
	CU_ASSERT_EQUAL(annex_dev_claim_shared(w, 1, 7, 1), 0);
	CU_ASSERT_EQUAL(annex_dev_claim_shared(w, 1, 2047, 2), -ENXIO);
	annex_dev_close(a);
	CU_ASSERT_EQUAL(annex_dev_claim(w, 1, 7, 1), -EBUSY);
	annex_dev_close(b);
	CU_ASSERT_EQUAL(annex_dev_claim(w, 1, 7, 1), 0);
	CU_ASSERT_EQUAL(annex_dev_open(read, NULL, &a), -EBUSY);
	CU_ASSERT(strstr(annex_last_error(), "something else writes to it") != NULL);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(write, NULL, &b), 0);
	CU_ASSERT_EQUAL(annex_dev_claim_shared(b, 1, 0, 8), -EBUSY);
	CU_ASSERT_EQUAL(annex_dev_claim_shared(b, 1, 0, 7), 0);
	annex_dev_close(b);
	annex_dev_close(w);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(read, NULL, &a), 0);
	CU_ASSERT_EQUAL(annex_dev_claim(a, 1, 0, 1), -EROFS);
	annex_dev_close(a);
	unlink(path);
}

static int lock_errno;

int __real_fcntl(int fd, int cmd, ...);
int __wrap_fcntl(int fd, int cmd, ...);

int __wrap_fcntl(int fd, int cmd, ...)
{
	va_list more;
	void *arg;

	va_start(more, cmd);
	arg = va_arg(more, void *);
	va_end(more);
	errno = lock_errno;
	return lock_errno && cmd == F_OFD_SETLK ? -1 : __real_fcntl(fd, cmd, arg);
}

/* A file system without locks: readers are warned and go on, a claim to write fails. */
static void no_locks(void)
{
	struct annex_dev *dev;
	char path[UNIT_PATH], uri[256];

	unit_tmpfile(path);
	CU_ASSERT_EQUAL_FATAL(truncate(path, 1 << 20), 0);
	unit_log_begin(UNIT_LOG(WARNING), "the file system has no locks");
	lock_errno = ENOLCK;
	snprintf(uri, sizeof(uri), "file:%s?readonly=1", path);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &dev), 0);
	CU_ASSERT_EQUAL(unit_log_lines(), 1);
	annex_dev_close(dev);
	snprintf(uri, sizeof(uri), "file:%s", path);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &dev), 0);
	CU_ASSERT_EQUAL(annex_dev_claim(dev, 1, 0, 1), -ENOLCK);
	annex_dev_close(dev);
	lock_errno = 0;
	unit_log_end();
	unlink(path);
}

static struct {
	unsigned int times;
	int error;
} synced;

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
	synced.times++;
	errno = synced.error;
	return synced.error ? -1 : __real_fdatasync(fd);
}

/* File systems that are read only refuse to flush. Only written files are flushed. */
static void nothing_to_flush(void)
{
	struct annex_sqe sqe;
	char path[UNIT_PATH];
	struct host h;
	char *p;

	unit_tmpfile(path);
	CU_ASSERT_EQUAL_FATAL(truncate(path, 1 << 20), 0);
	unit_log_begin(UNIT_LOG(WARNING), "writes may be lost");
	refused_with = -EPERM;
	synced.error = EINVAL;
	synced.times = 0;
	for (unsigned int i = 0; i < 3; i++) {
		ready_file(&h, path, i ? "" : "?readonly=1");
		p = host_alloc(&h, 4096);
		sqe = host_rw(i < 2 ? ANNEX_NVM_READ : ANNEX_NVM_WRITE, 0, 1, p, NULL);
		CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
		if (!i) {
			sqe.opcode = ANNEX_NVM_FLUSH;
			CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
			sqe.nsid = ANNEX_NSID_ALL;
			CU_ASSERT_EQUAL(host_do(&h, 1, &sqe, NULL), 0);
		}
		host_close(&h);
		CU_ASSERT_EQUAL(synced.times, i < 2 ? 0 : 1);
	}
	synced.error = 0;
	refused_with = 0;
	CU_ASSERT_EQUAL(unit_log_end(), 1);
	unlink(path);
}

/* A file that does not answer before it is let: reads wait here. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool held;
	unsigned int begun, ended;
} slow = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

ssize_t __real_preadv2(int fd, const struct iovec *v, int n, off_t at, int flags);
ssize_t __wrap_preadv2(int fd, const struct iovec *v, int n, off_t at, int flags);

ssize_t __wrap_preadv2(int fd, const struct iovec *v, int n, off_t at, int flags)
{
	ssize_t got;

	pthread_mutex_lock(&slow.lock);
	slow.begun++;
	pthread_cond_broadcast(&slow.changed);
	while (slow.held)
		pthread_cond_wait(&slow.changed, &slow.lock);
	pthread_mutex_unlock(&slow.lock);
	got = __real_preadv2(fd, v, n, at, flags);
	pthread_mutex_lock(&slow.lock);
	slow.ended++;
	pthread_cond_broadcast(&slow.changed);
	pthread_mutex_unlock(&slow.lock);
	return got;
}

static void hold_reads(bool held)
{
	pthread_mutex_lock(&slow.lock);
	slow.held = held;
	pthread_cond_broadcast(&slow.changed);
	while (!held && slow.begun != slow.ended)
		pthread_cond_wait(&slow.changed, &slow.lock);
	pthread_mutex_unlock(&slow.lock);
}

/*
 * A read that is given up, into memory at @offset of a page (with 4, through a buffer of the
 * library's). The device ends at once, and says that the kernel still has memory of the caller's.
 */
static void give_up(const char *uri, char *buf, unsigned int offset)
{
	struct annex_dev_opts opts = {.timeout_ms = 20, .queues = 1};
	struct annex_io io = {.opcode = ANNEX_NVM_READ, .nsid = 1, .nlb = 8, .bytes = 4096};
	struct annex_dev *dev;

	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, &opts, &dev), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_map(dev, buf, 8192, &io.addr), 0);
	io.addr += offset;
	CU_ASSERT_EQUAL(annex_dev_io(dev, &io, 1, NULL), 0);
	hold_reads(true);
	CU_ASSERT_EQUAL(annex_dev_io(dev, &io, 1, NULL), -ENODEV);
	CU_ASSERT_EQUAL(annex_dev_unmap(dev, io.addr - offset, 8192), -EBUSY);
	CU_ASSERT_EQUAL(annex_dev_close(dev), -EBUSY);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), ": 4096 bytes of memory"));
	/* The read ends now, into memory that is still there. */
	hold_reads(false);
}

static void given_up(void)
{
	const uint32_t patience = annex_emu_drain_ms;
	char *buf = aligned_alloc(4096, 8192);
	char path[UNIT_PATH], uri[512];

	CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=1M&direct=0", path);
	annex_emu_drain_ms = 20;
	refused_with = -EPERM;
	unit_log_begin(UNIT_LOG(WARNING), "are never freed");
	give_up(uri, buf, 0);
	give_up(uri, buf, 4);
	refused_with = 0;
	annex_emu_drain_ms = patience;
	CU_ASSERT_EQUAL(unit_log_end(), 2);
	free(buf);
	unlink(path);
}

UNIT_SUITE(emu_file, {"growing", growing}, {"refusals", refused},
	   {"a failed open leaves nothing", failed_open_leaves_nothing}, {"read only", read_only},
	   {"contents and namespaces", contents}, {"shrunk file", shrunk}, {"no space", no_space},
	   {"forced unit access", forced}, {"readers", readers}, {"no locks", no_locks},
	   {"I/O in flight", in_flight}, {"a ring that was taken away", ring_taken},
	   {"queues are not pinned", queues_not_pinned}, {"by threads", by_threads},
	   {"nothing to flush", nothing_to_flush}, {"a file that never answers", given_up})
