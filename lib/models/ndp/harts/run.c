// SPDX-License-Identifier: MIT
/*
 * Programs in user mode: a file becomes memory and code, and one hart runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "ndp/elf.h"
#include "core/log.h"
#include "user.h"

#define MOVED 0x1000000000ull /* where a program goes that goes anywhere */
#define FILE_MOST (1ll << 30)
#define TURN (1ull << 32)       /* instructions between two looks at the budget */
#define TIMER_TURN (1ull << 16) /* and at timers, while one is armed */

/* struct file - What is in it. */
struct file {
	char *data;
	size_t bytes;
};

static int read_all(int fd, struct file *f)
{
	size_t at = 0;

	f->data = malloc(f->bytes);
	if (!f->data)
		return annex_fail(-ENOMEM, "no memory to read it");
	while (at < f->bytes) {
		ssize_t n = read(fd, f->data + at, f->bytes - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? annex_fail(-errno, "cannot read: %m")
				 : annex_fail(-EINVAL, "became shorter while it was read");
		at += (size_t)n;
	}
	return 0;
}

static int open_file(const char *path, struct file *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;
	struct stat st;

	if (fd < 0)
		return annex_fail(-errno, "cannot open: %m");
	if (fstat(fd, &st)) {
		err = annex_fail(-errno, "cannot read: %m");
	} else if (!S_ISREG(st.st_mode) || !st.st_size) {
		err = annex_fail(-ENOEXEC, "not a file with something in it");
	} else if (st.st_size > FILE_MOST) {
		err = annex_fail(-E2BIG, "a file of %lld bytes", (long long)st.st_size);
	} else {
		f->bytes = (size_t)st.st_size;
		err = read_all(fd, f);
	}
	close(fd);
	return err;
}

/*
 * All of the image is one area at first, since two segments may share a page; then pages without a
 * writable segment in them lose that right.
 */
static int load_image(struct user *u, const struct file *f, const struct annex_elf *elf,
		      uint64_t moved)
{
	uint64_t low = (elf->low + moved) & ~(PAGE - 1), high = page_up(elf->high + moved);
	int err = rv_space_add(&u->space, low, high - low, RV_READ | RV_WRITE);

	for (unsigned int i = 0; i < elf->nsegments && !err; i++) {
		const struct annex_elf_segment *s = &elf->segment[i];

		err = rv_space_write(&u->space, s->va + moved, f->data + s->offset, s->file_bytes);
	}
	if (!err)
		err = rv_space_protect(&u->space, low, high - low, RV_READ);
	for (unsigned int i = 0; i < elf->nsegments && !err; i++) {
		const struct annex_elf_segment *s = &elf->segment[i];
		uint64_t from = (s->va + moved) & ~(PAGE - 1);

		if (s->write)
			err = rv_space_protect(&u->space, from,
					       page_up(s->va + moved + s->bytes) - from,
					       RV_READ | RV_WRITE);
	}
	u->image_low = low;
	u->brk_low = u->brk = high;
	return err ? annex_fail(err, "no memory for its image") : 0;
}

static int load(struct user *u, const char *path, char *const argv[], const struct rv_isa *isa)
{
	struct file f = {0};
	struct annex_elf elf;
	uint64_t moved, sp = 0;
	int err = open_file(path, &f);

	if (!err)
		err = annex_elf_parse(f.data, f.bytes, &elf);
	moved = !err && elf.pie ? MOVED : 0;
	if (!err)
		err = load_image(u, &f, &elf, moved);
	if (!err)
		err = user_text(u, f.data, &elf, moved, isa);
	free(f.data);
	if (err)
		return err;
	err = rv_space_add(&u->space, USER_STACK_TOP - USER_STACK_BYTES, USER_STACK_BYTES,
			   RV_READ | RV_WRITE);
	if (!err)
		err = user_stack(u, &elf, moved, argv, &sp);
	if (err)
		return annex_fail(err, "its stack: %s", strerror(-err));
	rv_start(u->batch, u->code, 1, elf.entry + moved);
	rv_x(u->batch, 2)[0] = sp;
	return 0;
}

static void trap(struct user *u, const struct rv_stop *s)
{
	unsigned long long value = s->value;

	switch (s->why) {
	case RV_ILLEGAL:
		user_kill(u, SIGILL, -EILSEQ, "illegal instruction 0x%08llx", value);
		break;
	case RV_FETCH:
		user_kill(u, SIGSEGV, -EFAULT, "no code at 0x%llx", value);
		break;
	case RV_LOAD:
		user_kill(u, SIGSEGV, -EFAULT, "cannot load from 0x%llx", value);
		break;
	case RV_STORE:
		user_kill(u, SIGSEGV, -EFAULT, "cannot store to 0x%llx", value);
		break;
	case RV_MISALIGNED:
		user_kill(u, SIGBUS, -EFAULT, "atomic access to 0x%llx, misaligned,", value);
		break;
	case RV_BUDGET:
		user_kill(u, SIGXCPU, -ETIME, "the budget of instructions is used up");
		break;
	default:
		user_kill(u, SIGTRAP, -EINTR, "breakpoint");
		break;
	}
}

/* time is the host's monotonic clock; a cycle is an instruction. */
static void read_counter(struct user *u, uint32_t insn)
{
	unsigned int rd = insn >> 7 & 31;
	bool is_time = insn >> 20 == 0xc01;

	if (rd)
		rv_x(u->batch, rd)[0] =
			is_time ? user_now(CLOCK_MONOTONIC) / (USER_NS / USER_TIMEBASE) : u->done;
}

/* Instructions that the batch leaves to its user; whether @why is one. */
static bool help(struct user *u, const struct rv_stop *s)
{
	switch (s->why) {
	case RV_ECALL:
		user_call(u);
		break;
	case RV_FENCE_CODE:
		user_fetch_anew(u);
		rv_pc(u->batch)[0] += 4;
		break;
	case RV_COUNTER:
		read_counter(u, (uint32_t)s->value);
		rv_pc(u->batch)[0] += 4;
		break;
	default:
		return false;
	}
	u->done++;
	return true;
}

static void execute(struct user *u, uint64_t budget)
{
	while (!u->ended) {
		uint64_t turn = user_timers(u) ? TIMER_TURN : TURN;
		uint64_t left = budget && budget - u->done < turn ? budget - u->done : turn;
		struct rv_stop s;

		if (u->ended)
			break;
		s = rv_run(u->batch, left, &u->done);
		if (!help(u, &s) && (s.why != RV_BUDGET || (budget && u->done >= budget)))
			trap(u, &s);
	}
}

static int prepare(struct user *u, const char *path, char *const argv[],
		   const struct annex_rv_opts *opts)
{
	struct rv_opts o = {.isa = {opts->vlen ? opts->vlen : 256, 32, 32, 32}};
	struct rv_mem mem = {rv_space_find, &u->space};
	int err = rv_batch_create(&o, &mem, &u->batch);

	if (err)
		return annex_fail(err,
				  err == -EINVAL ? "vectors of %u bits: not a power of two from "
						   "128 to 1024"
						 : "no memory for vectors of %u bits",
				  o.isa.vlen);
	err = rv_space_create(&u->space);
	if (err)
		return annex_fail(err, "cannot reserve %llu GiB of addresses; see ulimit -v",
				  SPACE_TOP >> 30);
	u->fd[1] = (struct user_fd){.open = opts->out >= 0, .host = opts->out};
	u->fd[2] = (struct user_fd){.open = opts->err >= 0, .host = opts->err};
	return load(u, path, argv, &o.isa);
}

int annex_rv_run(const char *path, char *const argv[], const struct annex_rv_opts *opts,
		 struct annex_rv_result *out)
{
	struct user *u = calloc(1, sizeof(*u));
	int err;

	*out = (struct annex_rv_result){0};
	if (!u)
		return annex_fail(-ENOMEM, "no memory");
	err = prepare(u, path, argv, opts);
	if (!err) {
		execute(u, opts->budget);
		err = u->err;
		out->status = u->signal ? 128 + u->signal : u->status;
		out->signal = u->signal;
		out->instructions = u->done;
		out->pc = rv_pc(u->batch)[0];
	}
	rv_batch_destroy(u->batch);
	rv_code_destroy(u->code);
	rv_space_destroy(&u->space);
	free(u->seen);
	free(u);
	return err;
}
