// SPDX-License-Identifier: MIT
/*
 * A program: a static executable's image and code, a heap and a stack, and its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/log.h"
#include "user.h"

#define MOVED 0x1000000000ull /* where a program goes that goes anywhere */
#define FILE_MOST (1ll << 30)
#define CODE_MOST (16ull << 20) /* bytes, from the first to the last executable one */
#define STACK_TOP 0x3ffffff000ull
#define STACK_BYTES (8ull << 20)
#define STRINGS (128u << 10) /* bytes for arguments */
#define ARGUMENTS 1024u

void user_kill(struct user *u, int signal, int err, const char *fmt, ...)
{
	char line[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	u->ended = true;
	u->signal = signal;
	u->err = annex_fail(err, "%s at pc 0x%llx", line, (ull)rv_pc(u->batch)[0]);
}

int user_find(void *ctx, uint64_t va, struct rv_span *span)
{
	const struct user *u = ctx;

	for (unsigned int i = 0; i < u->n; i++) {
		if (va - u->span[i].va < u->span[i].bytes) {
			*span = u->span[i];
			return 0;
		}
	}
	return -EFAULT;
}

/* struct file - The contents of a file. */
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

/* Pages that a writable segment shares with another one are its own. */
static void add_segment(struct user *u, uint64_t low, uint64_t va, uint64_t bytes, bool write)
{
	uint64_t from = va & ~(USER_PAGE - 1), to = user_page_up(va + bytes);
	struct rv_span *last = u->n ? &u->span[u->n - 1] : NULL;

	if (last && from < last->va + last->bytes) {
		if (write)
			last->bytes = from - last->va;
		else
			from = last->va + last->bytes;
	}
	if (from < to)
		u->span[u->n++] = (struct rv_span){from, to - from, u->host + (from - low),
						   write ? RV_READ | RV_WRITE : RV_READ};
}

static int load_image(struct user *u, const struct file *f, const struct annex_elf *elf,
		      uint64_t moved)
{
	const uint64_t low = (elf->low + moved) & ~(USER_PAGE - 1);
	const uint64_t high = user_page_up(elf->high + moved);

	if (high > STACK_TOP - STACK_BYTES - USER_HEAP)
		return annex_fail(-E2BIG,
				  "its image reaches to 0x%llx: no room for a heap and a "
				  "stack",
				  (ull)high);
	u->host_bytes = high - low + USER_HEAP + STACK_BYTES;
	u->host = mmap(NULL, u->host_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (u->host == MAP_FAILED) {
		u->host = NULL;
		return annex_fail(-errno, "cannot reserve %llu bytes of addresses; see ulimit -v",
				  (ull)u->host_bytes);
	}
	for (unsigned int i = 0; i < elf->nsegments; i++) {
		const struct annex_elf_segment *s = &elf->segment[i];

		if (s->write && s->execute)
			return annex_fail(-EINVAL, "code that it may store to is not executed");
		memcpy(u->host + (s->va + moved - low), f->data + s->offset, s->file_bytes);
		add_segment(u, low, s->va + moved, s->bytes, s->write);
	}
	u->heap = &u->span[u->n++];
	*u->heap = (struct rv_span){high, 0, u->host + (high - low), RV_READ | RV_WRITE};
	u->brk = high;
	u->span[u->n++] = (struct rv_span){STACK_TOP - STACK_BYTES, STACK_BYTES,
					   u->host + (u->host_bytes - STACK_BYTES),
					   RV_READ | RV_WRITE};
	return 0;
}

/* Load code as one piece from the first executable byte to the last. Gaps are no instructions. */
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
				  high <= low ? 0ull : (ull)(high - low));
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

/* argc, argv, an empty envp and an empty auxiliary vector, then the strings. */
static int fill_stack(struct user *u, char *const argv[], uint64_t *sp)
{
	char *const top = u->host + u->host_bytes;
	uint64_t word[ARGUMENTS + 5] = {0}, used = 0;
	unsigned int n = 0;

	for (; argv[n]; n++) {
		const uint64_t bytes = strlen(argv[n]) + 1;

		if (n == ARGUMENTS || bytes > STRINGS - used)
			return annex_fail(-E2BIG, "its arguments: more than %u, or %u bytes",
					  ARGUMENTS, STRINGS);
		memcpy(top - STRINGS + used, argv[n], bytes);
		word[1 + n] = STACK_TOP - STRINGS + used;
		used += bytes;
	}
	word[0] = n;
	*sp = (STACK_TOP - STRINGS - (n + 5) * sizeof(*word)) & ~15ull;
	memcpy(top - (STACK_TOP - *sp), word, (n + 5) * sizeof(*word));
	return 0;
}

int user_load(struct user *u, const char *path, char *const argv[], const struct rv_isa *isa)
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
	if (!err)
		err = fill_stack(u, argv, &sp);
	free(f.data);
	if (err)
		return err;
	rv_start(u->batch, u->code, 1, elf.entry + moved);
	rv_x(u->batch, 2)[0] = sp;
	return 0;
}
