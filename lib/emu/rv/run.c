// SPDX-License-Identifier: MIT
/*
 * Programs in user mode: a file becomes memory and code, and one hart runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <core/elf.h>
#include <core/log.h>
#include "user.h"

#define MOVED 0x1000000000ull   /* where a program goes that goes anywhere */
#define CODE_MOST (16ull << 20) /* bytes, from the first to the last executable one */
#define FILE_MOST (1ll << 30)
#define TURN (1ull << 32) /* instructions between two looks at the budget */

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
			return n ? annex_fail(-errno, "cannot read: %s", strerror(errno))
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
		return annex_fail(-errno, "cannot open: %s", strerror(errno));
	if (fstat(fd, &st)) {
		err = annex_fail(-errno, "cannot read: %s", strerror(errno));
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
	u->brk_low = u->brk = high;
	return err ? annex_fail(err, "no memory for its image") : 0;
}

/* One piece from the first executable byte to the last; what lies between is no instruction. */
static int load_code(struct user *u, const struct file *f, const struct annex_elf *elf,
		     uint64_t moved, const struct rv_isa *isa)
{
	uint64_t low = UINT64_MAX, high = 0;
	char *text;
	int err;

	for (unsigned int i = 0; i < elf->nsegments; i++) {
		const struct annex_elf_segment *s = &elf->segment[i];

		if (!s->execute)
			continue;
		low = s->va < low ? s->va & ~1ull : low;
		high = s->va + s->file_bytes > high ? s->va + s->file_bytes : high;
	}
	if (high <= low || high - low > CODE_MOST)
		return annex_fail(high <= low ? -EINVAL : -E2BIG, "%llu bytes of code",
				  high <= low ? 0ull : (unsigned long long)(high - low));
	text = calloc(1, high - low);
	if (!text)
		return annex_fail(-ENOMEM, "no memory for its code");
	for (unsigned int i = 0; i < elf->nsegments; i++) {
		const struct annex_elf_segment *s = &elf->segment[i];

		if (s->execute)
			memcpy(text + (s->va - low), f->data + s->offset, s->file_bytes);
	}
	err = rv_code_create(text, high - low, low + moved, isa, &u->code);
	free(text);
	return err ? annex_fail(err, "no memory for its code") : 0;
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
		err = load_code(u, &f, &elf, moved, isa);
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

static int trap(const struct rv_stop *s)
{
	unsigned long long pc = s->pc, value = s->value;

	switch (s->why) {
	case RV_ILLEGAL:
		return annex_fail(-EILSEQ, "illegal instruction 0x%08llx at pc 0x%llx", value, pc);
	case RV_FETCH:
		return annex_fail(-EFAULT, "no code at pc 0x%llx", value);
	case RV_LOAD:
		return annex_fail(-EFAULT, "cannot load from 0x%llx at pc 0x%llx", value, pc);
	case RV_STORE:
		return annex_fail(-EFAULT, "cannot store to 0x%llx at pc 0x%llx", value, pc);
	case RV_MISALIGNED:
		return annex_fail(-EFAULT, "atomic access to 0x%llx, misaligned, at pc 0x%llx",
				  value, pc);
	case RV_BUDGET:
		return annex_fail(-ETIME, "the budget of instructions is used up at pc 0x%llx", pc);
	default:
		return annex_fail(-EINTR, "breakpoint at pc 0x%llx", pc);
	}
}

static int execute(struct user *u, uint64_t budget, uint64_t *done)
{
	while (!u->exited) {
		uint64_t left = !budget ? TURN : budget - *done < TURN ? budget - *done : TURN;
		struct rv_stop s = rv_run(u->batch, left, done);

		if (s.why == RV_ECALL) {
			user_call(u);
			++*done;
		} else if (s.why != RV_BUDGET || (budget && *done >= budget)) {
			return trap(&s);
		}
	}
	return 0;
}

int annex_rv_run(const char *path, char *const argv[], const struct annex_rv_opts *opts,
		 struct annex_rv_result *out)
{
	struct user *u = calloc(1, sizeof(*u));
	struct rv_opts o = {.isa = {opts->vlen ? opts->vlen : 256, 32, 32, 32}};
	struct rv_mem mem;
	int err;

	*out = (struct annex_rv_result){0};
	if (!u)
		return annex_fail(-ENOMEM, "no memory");
	u->out = opts->out;
	u->err = opts->err;
	mem = (struct rv_mem){rv_space_find, &u->space};
	err = rv_batch_create(&o, &mem, &u->batch);
	if (err)
		annex_fail(err,
			   err == -EINVAL ? "vectors of %u bits: not a power of two from 128 to "
					    "1024"
					  : "no memory for vectors of %u bits",
			   o.isa.vlen);
	if (!err)
		err = load(u, path, argv, &o.isa);
	if (!err)
		err = execute(u, opts->budget, &out->instructions);
	out->status = u->status;
	rv_batch_destroy(u->batch);
	rv_code_destroy(u->code);
	rv_space_destroy(&u->space);
	free(u);
	return err;
}
