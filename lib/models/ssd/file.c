// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "core/crc32c.h"
#include "core/holder.h"
#include "core/log.h"
#include "file.h"

#define MAGIC 0x6473732d78656e61ull /* "anex-ssd" */
#define VERSION 1u
#define HALF_MAX (1ull << 40)
#define TRIES 8

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers of the file are little-endian");

/* struct ssd_header - The header. @sealed: the file is complete; else it is empty. @crc: CRC-32C of
 * the members above. */
struct ssd_header {
	uint64_t magic;
	uint32_t version;
	uint32_t channels, dies, planes, blocks, pages, page;
	uint32_t sealed;
	uint64_t bytes, half, salt;
	uint32_t zero, crc;
};

_Static_assert(sizeof(struct ssd_header) == 72, "the header of version 1");

static uint32_t header_crc(const struct ssd_header *h)
{
	uint64_t words[8];

	memcpy(words, h, sizeof(words));
	return annex_crc32c(words, 8, h->zero);
}

static uint64_t whole_blocks(uint64_t bytes)
{
	return (bytes + SSD_FILE_BLOCK - 1) / SSD_FILE_BLOCK * SSD_FILE_BLOCK;
}

/* Lay out the file. Return: its length. */
static uint64_t lay_out(struct ssd_file *f)
{
	const struct ssd_geometry *g = &f->shape.g;
	uint64_t n = (uint64_t)ssd_blocks(g) * g->pages;

	f->journal = SSD_FILE_BLOCK;
	f->records = f->journal + 2 * f->shape.half;
	f->pages = f->records + whole_blocks(n * SSD_RECORD);
	return f->pages + n * g->page;
}

bool ssd_file_forked(const struct ssd_file *f)
{
	return !*f->alive;
}

static int read_disk(struct ssd_file *f, uint64_t at, void *buf, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(f->fd, (char *)buf + done, len - done, (off_t)(at + done));

		if (n > 0)
			done += (size_t)n;
		else if (!n)
			return annex_fail(-EIO, "%s: the file was cut short", f->path);
		else if (errno != EINTR)
			return annex_fail(-errno, "%s: reading it: %m", f->path);
	}
	return 0;
}

/* Bytes of [@at, @at + @len) up to the end of the block at @at. */
static size_t in_block(uint64_t at, size_t len)
{
	const size_t left = SSD_FILE_BLOCK - at % SSD_FILE_BLOCK;

	return len < left ? len : left;
}

int ssd_file_read(struct ssd_file *f, uint64_t at, void *buf, size_t len)
{
	int err;

	if (f->mem) {
		memcpy(buf, f->mem + at, len);
		return 0;
	}
	err = read_disk(f, at, buf, len);
	for (size_t n, done = 0; !err && f->copies && done < len; done += n) {
		const char *copy = f->copies[(at + done) / SSD_FILE_BLOCK];

		n = in_block(at + done, len - done);
		if (copy)
			memcpy((char *)buf + done, copy + (at + done) % SSD_FILE_BLOCK, n);
	}
	return err;
}

/* Copy block @i of a readonly file, before a write to it. */
static int copy_block(struct ssd_file *f, uint64_t i)
{
	const uint64_t left = f->len - i * SSD_FILE_BLOCK;
	char *copy;
	int err;

	if (f->copies[i])
		return 0;
	copy = calloc(1, SSD_FILE_BLOCK);
	if (!copy)
		return annex_fail(-ENOMEM, "%s: out of memory", f->path);
	err = read_disk(f, i * SSD_FILE_BLOCK, copy, left < SSD_FILE_BLOCK ? left : SSD_FILE_BLOCK);
	if (err)
		free(copy);
	else
		f->copies[i] = copy;
	return err;
}

static int write_copies(struct ssd_file *f, uint64_t at, const char *buf, size_t len)
{
	int err = 0;

	for (size_t n, done = 0; !err && done < len; done += n) {
		const uint64_t i = (at + done) / SSD_FILE_BLOCK;

		n = in_block(at + done, len - done);
		err = copy_block(f, i);
		if (!err)
			memcpy(f->copies[i] + (at + done) % SSD_FILE_BLOCK, buf + done, n);
	}
	return err;
}

/* A child of fork() inherits the lock of the file, but its state is not the owner's. */
static int check_child(struct ssd_file *f)
{
	if (!f->mem && ssd_file_forked(f) && !f->failed)
		f->failed = annex_fail(
			-ECHILD, "%s: opened before fork(): only that process writes it", f->path);
	return f->failed;
}

int ssd_file_write(struct ssd_file *f, uint64_t at, const void *buf, size_t len)
{
	if (check_child(f))
		return f->failed;
	if (f->mem) {
		memcpy(f->mem + at, buf, len);
		return 0;
	}
	if (f->copies)
		return write_copies(f, at, buf, len);
	f->dirty = true;
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(f->fd, (const char *)buf + done, len - done, (off_t)(at + done));

		if (n >= 0) {
			done += (size_t)n;
		} else if (errno != EINTR) {
			f->failed = annex_fail(-errno,
					       "%s: writing it: %m; nothing more is written, and "
					       "fenced stores are safe",
					       f->path);
			return f->failed;
		}
	}
	return 0;
}

/* The lock does not keep other processes from truncating or overwriting the file. */
static int check_foreign(struct ssd_file *f)
{
	struct ssd_header h = {0};
	struct stat st;

	if (f->mem)
		return 0;
	if (fstat(f->fd, &st))
		return annex_fail(-errno, "%s: %m; nothing more is written", f->path);
	if ((uint64_t)st.st_size < f->len)
		return annex_fail(-EIO, "%s: another process has cut it; nothing more is written",
				  f->path);
	if (read_disk(f, 0, &h, sizeof(h)) || h.magic != MAGIC || h.salt != f->salt)
		return annex_fail(
			-EIO, "%s: another process has written over it; nothing more is written",
			f->path);
	return 0;
}

int ssd_file_sync(struct ssd_file *f)
{
	if (check_child(f) || !f->dirty)
		return f->failed;
	f->failed = check_foreign(f);
	if (f->failed)
		return f->failed;
	/* The kernel may have dropped pages that it could not write, so a retry proves nothing. */
	if (f->durable && fdatasync(f->fd))
		f->failed = annex_fail(-errno, "%s: fdatasync: %m; nothing more is written",
				       f->path);
	if (f->failed)
		return f->failed;
	f->dirty = false;
	f->syncs++;
	return 0;
}

static int check_shape(const char *path, const struct ssd_shape *s)
{
	if (!s->half || s->half % SSD_FILE_BLOCK || s->half > HALF_MAX)
		return annex_fail(-EINVAL,
				  "%s: a journal of 2 x %llu bytes: blocks of %u, 1 TiB at most",
				  path, (ull)s->half, SSD_FILE_BLOCK);
	return ssd_geometry_check(&s->g, s->bytes);
}

/* Allocate the whole file, so that no later write finds the disk full. */
static int grow(struct ssd_file *f, uint64_t bytes)
{
	if (bytes > INT64_MAX / 2)
		return annex_fail(-EFBIG, "%s: %llu bytes", f->path, (ull)bytes);
	if (!fallocate(f->fd, 0, 0, (off_t)bytes))
		return 0;
	if (errno == EOPNOTSUPP && !ftruncate(f->fd, (off_t)bytes))
		return 0;
	return annex_fail(-errno, "%s: no %llu bytes: %m", f->path, (ull)bytes);
}

static int write_header(struct ssd_file *f, bool sealed)
{
	const struct ssd_shape *s = &f->shape;
	unsigned char block[SSD_FILE_BLOCK] = {0};
	struct ssd_header h = {
		.magic = MAGIC,
		.version = VERSION,
		.channels = s->g.channels,
		.dies = s->g.dies,
		.planes = s->g.planes,
		.blocks = s->g.blocks,
		.pages = s->g.pages,
		.page = s->g.page,
		.sealed = sealed,
		.bytes = s->bytes,
		.half = s->half,
		.salt = f->salt,
	};

	h.crc = header_crc(&h);
	memcpy(block, &h, sizeof(h));
	return ssd_file_write(f, 0, block, sizeof(block));
}

static int make(struct ssd_file *f, const struct ssd_shape *shape)
{
	int err;

	if (!shape->bytes)
		return annex_fail(-ENOENT, "%s: it is empty; a size makes it, unless readonly=1",
				  f->path);
	if (getrandom(&f->salt, sizeof(f->salt), 0) != sizeof(f->salt))
		return annex_fail(-EIO, "%s: no random number: %m", f->path);
	f->shape = *shape;
	f->fresh = true;
	f->len = lay_out(f);
	err = ftruncate(f->fd, 0) ? annex_fail(-errno, "%s: %m", f->path) : write_header(f, false);
	if (!err)
		err = grow(f, f->len);
	return err;
}

int ssd_file_seal(struct ssd_file *f)
{
	int err = ssd_file_sync(f);

	if (f->mem)
		return 0;
	if (!err)
		err = write_header(f, true);
	if (!err)
		err = ssd_file_sync(f);
	f->fresh = err;
	return err;
}

static int check_header(struct ssd_file *f, const struct ssd_header *h)
{
	if (h->magic != MAGIC)
		return annex_fail(-EILSEQ, "%s: no backing file of a CXL-SSD", f->path);
	if (h->version != VERSION)
		return annex_fail(-EPROTONOSUPPORT, "%s: of version %u, this is version %u",
				  f->path, h->version, VERSION);
	if (h->crc != header_crc(h))
		return annex_fail(-EILSEQ, "%s: its header is damaged", f->path);
	return 0;
}

static uint64_t n_copies(const struct ssd_file *f)
{
	return whole_blocks(f->len) / SSD_FILE_BLOCK;
}

static int take_header(struct ssd_file *f, const struct ssd_header *h, uint64_t len)
{
	struct ssd_shape *s = &f->shape;

	*s = (struct ssd_shape){
		{h->channels, h->dies, h->planes, h->blocks, h->pages, h->page}, h->bytes, h->half};
	f->salt = h->salt;
	if (check_shape(f->path, s))
		return -EILSEQ;
	f->len = lay_out(f);
	if (f->len > len)
		return annex_fail(-EIO, "%s: the file was cut short", f->path);
	if (!f->readonly)
		return 0;
	f->copies = calloc(n_copies(f), sizeof(*f->copies));
	return f->copies ? 0 : annex_fail(-ENOMEM, "%s: out of memory", f->path);
}

/* Create a file only if it is empty or unfinished. */
static int read_header(struct ssd_file *f, const struct ssd_shape *want)
{
	struct ssd_header h = {0};
	struct stat st;
	int err;

	if (fstat(f->fd, &st))
		return annex_fail(-errno, "%s: %m", f->path);
	if (!S_ISREG(st.st_mode))
		return annex_fail(-EINVAL, "%s: no regular file", f->path);
	if (!st.st_size)
		return make(f, want);
	if (st.st_size < SSD_FILE_BLOCK)
		return annex_fail(-EILSEQ, "%s: no backing file of a CXL-SSD", f->path);
	err = ssd_file_read(f, 0, &h, sizeof(h));
	if (!err)
		err = check_header(f, &h);
	if (err)
		return err;
	return h.sealed ? take_header(f, &h, (uint64_t)st.st_size) : make(f, want);
}

/* Create a file only if it does not exist and a size is given. */
static int open_path(struct ssd_file *f, bool may_make)
{
	for (int i = 0; i < TRIES; i++) {
		f->fd = open(f->path, (f->readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC);
		if (f->fd >= 0 || errno != ENOENT || !may_make)
			break;
		f->fd = open(f->path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0600);
		f->made = f->fd >= 0;
		if (f->made || errno != EEXIST)
			break;
	}
	return f->fd >= 0 ? 0 : annex_fail(-errno, "%s: %m", f->path);
}

static int take_lock(struct ssd_file *f)
{
	struct flock whole = {.l_type = f->readonly ? F_RDLCK : F_WRLCK, .l_whence = SEEK_SET};
	char name[HOLDER_NAME];

	if (!fcntl(f->fd, F_OFD_SETLK, &whole))
		return 0;
	f->made = false;
	if (errno == EAGAIN || errno == EACCES) {
		annex_holder_name(f->fd, 0, name);
		return annex_fail(-EBUSY, "%s: %s has it", f->path, name);
	}
	return annex_fail(-errno, "%s: locking it: %m", f->path);
}

static int open_memory(struct ssd_file *f, const struct ssd_shape *shape)
{
	void *mem;

	f->shape = *shape;
	f->fresh = true;
	f->len = lay_out(f);
	mem = mmap(NULL, f->len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED)
		return annex_fail(-errno, "%s: no %llu bytes: %m", f->path, (ull)f->len);
	f->mem = mem;
	return 0;
}

/* Map a page that fork() clears in a child. */
static int mark_process(struct ssd_file *f)
{
	void *alive = mmap(NULL, SSD_FILE_BLOCK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (alive == MAP_FAILED)
		return annex_fail(-errno, "%s: %m", f->path);
	f->alive = alive;
	if (madvise(alive, SSD_FILE_BLOCK, MADV_WIPEONFORK))
		return annex_fail(-errno, "%s: no page that fork() empties: %m", f->path);
	*f->alive = 1;
	return 0;
}

static int open_disk(struct ssd_file *f, const struct ssd_shape *shape)
{
	int err = open_path(f, shape->bytes);

	if (!err)
		err = take_lock(f);
	return err ? err : read_header(f, shape);
}

int ssd_file_open(const char *path, const struct ssd_shape *shape, enum ssd_file_use use,
		  struct ssd_file **out)
{
	const char *name = path ? path : "a CXL-SSD in memory";
	struct ssd_file *f;
	int err = shape->bytes ? check_shape(name, shape) : 0;

	if (err)
		return err;
	f = calloc(1, sizeof(*f));
	if (f)
		f->path = strdup(name);
	if (!f || !f->path) {
		free(f);
		return annex_fail(-ENOMEM, "%s: out of memory", name);
	}
	f->fd = -1;
	f->durable = use == SSD_FILE_DURABLE;
	f->readonly = use == SSD_FILE_READONLY;
	err = mark_process(f);
	if (!err)
		err = path ? open_disk(f, shape) : open_memory(f, shape);
	if (err) {
		ssd_file_close(f);
		return err;
	}
	*out = f;
	return 0;
}

/* Remove an unfinished file, or truncate it, before the lock is released. */
void ssd_file_close(struct ssd_file *f)
{
	if (!f)
		return;
	if (f->made && f->fresh)
		unlink(f->path);
	else if (f->fresh && f->fd >= 0 && ftruncate(f->fd, 0))
		annex_log(ANNEX_LOG_WARNING, "%s: it is left unfinished: %m", f->path);
	if (f->mem)
		munmap(f->mem, f->len);
	if (f->alive)
		munmap(f->alive, SSD_FILE_BLOCK);
	for (uint64_t i = 0; f->copies && i < n_copies(f); i++)
		free(f->copies[i]);
	free(f->copies);
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f);
}
