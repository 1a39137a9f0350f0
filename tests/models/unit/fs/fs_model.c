// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "fs_model.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define ROOT 1u

const char *fs_model_name(uint32_t i)
{
	static char names[MODEL_NAMES][ANNEX_FS_NAME + 1];
	static const uint32_t lengths[MODEL_NAMES] = {1,  2,  3,   8,   20,  51,  52,
						      53, 54, 112, 113, 172, 200, 255};

	if (!names[i][0])
		for (uint32_t k = 0; k < lengths[i]; k++)
			names[i][k] = (char)(k ? "ab.~\xff "[(i + k) % 6] : 'A' + (int)i);
	return names[i];
}

/* Both have the same outcome; without room the model does nothing. */
static bool same(struct fs_model *m, int got, int want)
{
	if (got == -ENOSPC && !want) {
		m->full++;
		return false;
	}
	if (got != want && m->wrong < 5)
		fprintf(stderr, "fs model: %d, not %d\n", got, want);
	m->wrong += got != want;
	return !want;
}

/* Something is not as in the model. */
static void differs(struct fs_model *m, bool yes, const char *what)
{
	if (yes && m->wrong < 5)
		fprintf(stderr, "fs model: %s\n", what);
	m->wrong += yes;
}

static struct fs_model_file *file(struct fs_model *m, uint32_t f)
{
	return &m->file[f];
}

static bool is_dir(const struct fs_model_file *f)
{
	return S_ISDIR(f->mode);
}

static uint32_t new_file(struct fs_model *m)
{
	for (uint32_t i = 2; i < MODEL_FILES; i++)
		if (!m->file[i].ino && !m->file[i].mode)
			return i;
	return 0;
}

/* A file that exists, and one of a kind if @mode is not 0; 0: there is none. */
static uint32_t any(struct fs_model *m, uint64_t *rng, uint32_t mode)
{
	uint32_t at = (uint32_t)(random_next(rng) % MODEL_FILES);

	for (uint32_t i = 0; i < MODEL_FILES; i++, at = (at + 1) % MODEL_FILES)
		if (m->file[at].ino && (!mode || (m->file[at].mode & S_IFMT) == mode))
			return at;
	return 0;
}

/* A file goes when nothing has it any more. */
static void end_unused(struct fs_model *m, uint32_t f)
{
	struct fs_model_file *x = file(m, f);

	if (x->nlink || x->held)
		return;
	free(x->data);
	memset(x, 0, sizeof(*x));
}

static void hold(struct fs_model *m, uint32_t f, uint64_t *rng)
{
	struct fs_model_file *x = file(m, f);

	/* One in eight references is kept. */
	if (random_next(rng) % 8)
		annex_fs_forget(m->fs, x->ino, 1);
	else
		x->held++;
}

static void make(struct fs_model *m, uint64_t *rng)
{
	static const uint32_t modes[] = {S_IFREG, S_IFREG, S_IFREG, S_IFDIR, S_IFIFO, S_IFLNK};
	const uint32_t mode = modes[random_next(rng) % 6] | (uint32_t)(random_next(rng) % 512);
	const uint32_t d = any(m, rng, 0), name = (uint32_t)(random_next(rng) % MODEL_NAMES);
	const struct annex_fs_new what = {mode, (uint32_t)(random_next(rng) % 1000), 7, 0};
	const uint32_t f = new_file(m);
	struct fs_model_file *dir = file(m, d), *x = file(m, f);
	char target[4000] = {0};
	struct annex_fs_attr a;
	int got, want = 0;

	if (!f)
		return;
	if (!is_dir(dir))
		want = -ENOTDIR;
	else if (!dir->nlink)
		want = -ENOENT;
	else if (dir->entry[name])
		want = -EEXIST;
	memset(target, 't', 1 + random_next(rng) % (random_next(rng) % 4 ? 60 : 3990));
	if (S_ISLNK(mode))
		got = annex_fs_symlink(m->fs, dir->ino, fs_model_name(name), target, &what, &a);
	else
		got = annex_fs_make(m->fs, dir->ino, fs_model_name(name), &what, &a);
	if (!same(m, got, want) || got)
		return;
	*x = (struct fs_model_file){.ino = a.ino, .mode = a.mode, .nlink = is_dir(x) ? 2 : 1};
	x->mode = S_ISLNK(mode) ? S_IFLNK | 0777 : mode;
	x->nlink = S_ISDIR(mode) ? 2 : 1;
	x->uid = what.uid;
	x->gid = what.gid;
	x->parent = d;
	if (S_ISREG(mode))
		x->data = calloc(1, MODEL_BYTES);
	if (S_ISLNK(mode)) {
		x->data = (uint8_t *)strdup(target);
		x->size = strlen(target);
	}
	dir->entry[name] = f;
	dir->nlink += S_ISDIR(mode);
	hold(m, f, rng);
}

static bool is_empty(const struct fs_model_file *d)
{
	for (uint32_t i = 0; i < MODEL_NAMES; i++)
		if (d->entry[i])
			return false;
	return true;
}

static void remove_one(struct fs_model *m, uint64_t *rng)
{
	const uint32_t d = any(m, rng, S_IFDIR), name = (uint32_t)(random_next(rng) % MODEL_NAMES);
	const bool dirs = random_next(rng) % 3 == 0;
	struct fs_model_file *dir = file(m, d);
	const uint32_t f = dir->entry[name];
	struct fs_model_file *x = file(m, f);
	int got, want = 0;

	if (!f)
		want = -ENOENT;
	else if (is_dir(x) != dirs)
		want = dirs ? -ENOTDIR : -EISDIR;
	else if (dirs && !is_empty(x))
		want = -ENOTEMPTY;
	got = dirs ? annex_fs_rmdir(m->fs, dir->ino, fs_model_name(name))
		   : annex_fs_unlink(m->fs, dir->ino, fs_model_name(name));
	if (!same(m, got, want) || got)
		return;
	dir->entry[name] = 0;
	dir->nlink -= dirs;
	x->nlink -= dirs ? 2 : 1;
	end_unused(m, f);
}

static void link_one(struct fs_model *m, uint64_t *rng)
{
	const uint32_t d = any(m, rng, S_IFDIR), name = (uint32_t)(random_next(rng) % MODEL_NAMES);
	const uint32_t f = any(m, rng, 0);
	struct fs_model_file *dir = file(m, d), *x = file(m, f);
	struct annex_fs_attr a;
	int got, want = 0;

	if (is_dir(x))
		want = -EPERM;
	else if (!dir->nlink)
		want = -ENOENT;
	else if (dir->entry[name])
		want = -EEXIST;
	got = annex_fs_link(m->fs, x->ino, dir->ino, fs_model_name(name), &a);
	if (!same(m, got, want) || got)
		return;
	dir->entry[name] = f;
	x->nlink++;
	hold(m, f, rng);
}

static bool within(struct fs_model *m, uint32_t d, uint32_t above)
{
	for (; d != above; d = file(m, d)->parent)
		if (d == ROOT)
			return false;
	return true;
}

static int want_rename(struct fs_model *m, uint32_t from, uint32_t f, uint32_t to, uint32_t old,
		       unsigned int flags)
{
	const struct fs_model_file *x = file(m, f), *o = file(m, old);

	if (flags & ANNEX_FS_EXCHANGE && flags != ANNEX_FS_EXCHANGE)
		return -EINVAL;
	if (!f)
		return -ENOENT;
	if (is_dir(x) && within(m, to, f))
		return -EINVAL;
	if (flags & ANNEX_FS_EXCHANGE && !old)
		return -ENOENT;
	if (flags & ANNEX_FS_EXCHANGE)
		return is_dir(o) && within(m, from, old) ? -EINVAL : 0;
	if (old && flags & ANNEX_FS_NOREPLACE)
		return -EEXIST;
	if (old == f)
		return 0;
	if (old && is_dir(x) != is_dir(o))
		return is_dir(x) ? -ENOTDIR : -EISDIR;
	if (old && is_dir(o) && !is_empty(o))
		return -ENOTEMPTY;
	return !old && !file(m, to)->nlink ? -ENOENT : 0;
}

static void set_parent(struct fs_model *m, uint32_t f, uint32_t from, uint32_t to)
{
	if (!is_dir(file(m, f)))
		return;
	file(m, f)->parent = to;
	file(m, from)->nlink--;
	file(m, to)->nlink++;
}

/* The model's part. @white: the file that takes the old name, or 0. */
static void move(struct fs_model *m, uint32_t from, uint32_t name, uint32_t to, uint32_t other,
		 unsigned int flags, uint32_t white)
{
	const uint32_t f = file(m, from)->entry[name], old = file(m, to)->entry[other];

	if (old == f && !(flags & ANNEX_FS_EXCHANGE))
		return;
	file(m, from)->entry[name] = flags & ANNEX_FS_EXCHANGE ? old : white;
	file(m, to)->entry[other] = f;
	set_parent(m, f, from, to);
	if (flags & ANNEX_FS_EXCHANGE) {
		set_parent(m, old, to, from);
	} else if (old) {
		file(m, to)->nlink -= is_dir(file(m, old));
		file(m, old)->nlink -= is_dir(file(m, old)) ? 2 : 1;
		end_unused(m, old);
	}
}

static void rename_one(struct fs_model *m, uint64_t *rng)
{
	static const unsigned int all[] = {0, 0, 0, 0, 1, 2, 3, 4, 5, 6};
	const uint32_t from = any(m, rng, S_IFDIR), to = any(m, rng, S_IFDIR);
	const uint32_t name = (uint32_t)(random_next(rng) % MODEL_NAMES);
	const uint32_t other = (uint32_t)(random_next(rng) % MODEL_NAMES);
	const unsigned int flags = all[random_next(rng) % 10];
	const uint32_t f = file(m, from)->entry[name], old = file(m, to)->entry[other];
	const uint32_t white = flags & ANNEX_FS_WHITEOUT ? new_file(m) : 0;
	const int want = want_rename(m, from, f, to, old, flags);
	struct annex_fs_attr a;
	int got;

	if (flags & ANNEX_FS_WHITEOUT && !white)
		return;
	got = annex_fs_rename(m->fs, file(m, from)->ino, fs_model_name(name), file(m, to)->ino,
			      fs_model_name(other), flags);
	if (!same(m, got, want) || got)
		return;
	if (white && f != old) {
		same(m, annex_fs_lookup(m->fs, file(m, from)->ino, fs_model_name(name), &a), 0);
		annex_fs_forget(m->fs, a.ino, 1);
		*file(m, white) = (struct fs_model_file){.ino = a.ino,
							 .mode = S_IFCHR,
							 .nlink = 1,
							 .uid = file(m, f)->uid,
							 .gid = file(m, f)->gid};
	}
	move(m, from, name, to, other, flags, f != old ? white : f);
}

static void write_one(struct fs_model *m, uint64_t *rng)
{
	static const uint32_t sizes[] = {1, 64, 200, 4096, 9000, 70000};
	const uint32_t f = any(m, rng, S_IFREG);
	const uint32_t most = sizes[random_next(rng) % 6];
	uint32_t n = 1 + (uint32_t)(random_next(rng) % most);
	uint64_t at = random_next(rng) % MODEL_BYTES;
	struct fs_model_file *x = file(m, f);
	uint8_t *buf;
	ssize_t got;

	if (!f)
		return;
	if (random_next(rng) % 2)
		at = x->size < MODEL_BYTES ? x->size : 0;
	if (random_next(rng) % 4 == 0)
		at = at / 64 * 64;
	n = n < MODEL_BYTES - at ? n : (uint32_t)(MODEL_BYTES - at);
	buf = malloc(n + 8);
	random_fill(rng, buf, 8);
	for (uint32_t i = 8; i < n; i++)
		buf[i] = (uint8_t)(buf[i - 8] + 1);
	got = annex_fs_write(m->fs, x->ino, at, buf, n);
	if (got == -ENOSPC || (got > 0 && got < (ssize_t)n))
		m->full++;
	else
		same(m, (int)got, (int)n);
	if (got > 0) {
		memcpy(x->data + at, buf, (size_t)got);
		x->size = at + (size_t)got > x->size ? at + (size_t)got : x->size;
	}
	free(buf);
}

static void read_one(struct fs_model *m, uint64_t *rng)
{
	const uint32_t f = any(m, rng, S_IFREG);
	const uint64_t at = random_next(rng) % MODEL_BYTES;
	const uint32_t n = 1 + (uint32_t)(random_next(rng) % (random_next(rng) % 2 ? 200 : 60000));
	struct fs_model_file *x = file(m, f);
	uint64_t want = at < x->size ? x->size - at : 0;
	uint8_t *buf = malloc(n);

	want = want < n ? want : n;
	if (f && same(m, (int)annex_fs_read(m->fs, x->ino, at, buf, n), (int)want) == !want)
		differs(m, want && memcmp(buf, x->data + at, want) != 0, "other data");
	free(buf);
}

static void resize(struct fs_model *m, uint64_t *rng)
{
	const uint32_t f = any(m, rng, random_next(rng) % 8 ? S_IFREG : 0);
	struct annex_fs_attr a = {.size = random_next(rng) % (MODEL_BYTES + 1)};
	struct fs_model_file *x = file(m, f);
	const int want = is_dir(x) ? -EISDIR : S_ISREG(x->mode) ? 0 : -EINVAL;

	if (random_next(rng) % 4 == 0)
		a.size = 0;
	if (!f || !same(m, annex_fs_setattr(m->fs, x->ino, &a, ANNEX_FS_SET_SIZE), want))
		return;
	if (a.size < x->size)
		memset(x->data + a.size, 0, x->size - a.size);
	x->size = a.size;
}

static void allocate(struct fs_model *m, uint64_t *rng)
{
	static const unsigned int modes[] = {0, 1, 3, 16, 17};
	const unsigned int mode = modes[random_next(rng) % 5];
	const uint32_t f = any(m, rng, S_IFREG);
	const uint64_t at = random_next(rng) % MODEL_BYTES;
	const uint64_t n = 1 + random_next(rng) % (MODEL_BYTES - at);
	struct fs_model_file *x = file(m, f);
	int got;

	if (!f)
		return;
	got = annex_fs_fallocate(m->fs, x->ino, at, n, mode);
	if (got == -ENOSPC) {
		/* A range may have become zeroes before there was no room. */
		m->full++;
		if (mode & ~ANNEX_FS_KEEP_SIZE && at < x->size)
			memset(x->data + at, 0, n < x->size - at ? n : x->size - at);
		return;
	}
	if (!same(m, got, 0))
		return;
	if (mode & ~ANNEX_FS_KEEP_SIZE)
		memset(x->data + at, 0, n);
	if (!(mode & ANNEX_FS_KEEP_SIZE) && at + n > x->size)
		x->size = at + n;
}

static void change(struct fs_model *m, uint64_t *rng)
{
	const uint32_t f = any(m, rng, 0);
	struct annex_fs_attr a = {.mode = (uint32_t)(random_next(rng) % 4096),
				  .uid = (uint32_t)random_next(rng),
				  .gid = 9,
				  .atime = 123456789,
				  .mtime = 987654321};
	const unsigned int set = (unsigned int)(random_next(rng) % 64) & ~ANNEX_FS_SET_SIZE;
	struct fs_model_file *x = file(m, f);

	if (!same(m, annex_fs_setattr(m->fs, x->ino, &a, set), 0))
		return;
	if (set & ANNEX_FS_SET_MODE)
		x->mode = (x->mode & S_IFMT) | (a.mode & 07777);
	x->uid = a.uid;
	x->gid = a.gid;
	differs(m, set & ANNEX_FS_SET_ATIME && a.atime != 123456789, "another time of access");
	differs(m, set & ANNEX_FS_SET_MTIME && a.mtime != 987654321, "another time of change");
}

static void set_xattr(struct fs_model *m, uint64_t *rng)
{
	static const char *const names[MODEL_XATTRS] = {"user.a", "user.second", "trusted.x"};
	const uint32_t f = any(m, rng, 0), k = (uint32_t)(random_next(rng) % MODEL_XATTRS);
	const unsigned int flags = (unsigned int)(random_next(rng) % 3);
	const uint32_t n = (uint32_t)(random_next(rng) % 900);
	const bool gone = random_next(rng) % 4 == 0;
	struct fs_model_file *x = file(m, f);
	const uint8_t byte = (uint8_t)random_next(rng);
	uint8_t value[900];
	int want = 0;

	memset(value, byte, sizeof(value));
	if (x->xattr[k] && flags & ANNEX_FS_XATTR_CREATE)
		want = -EEXIST;
	else if (!x->xattr[k] && (gone || flags & ANNEX_FS_XATTR_REPLACE))
		want = -ENODATA;
	if (!same(m, annex_fs_setxattr(m->fs, x->ino, names[k], gone ? NULL : value, n, flags),
		  want))
		return;
	/* Without room nothing changed. */
	if (annex_fs_getxattr(m->fs, x->ino, names[k], NULL, 0) == (gone ? -ENODATA : (ssize_t)n)) {
		x->xattr[k] = gone ? 0 : n + 1;
		x->xattr_byte[k] = byte;
	}
	if (x->xattr[k] && annex_fs_getxattr(m->fs, x->ino, names[k], value, sizeof(value)) > 0)
		differs(m, value[0] != x->xattr_byte[k], "another attribute");
}

static void forget(struct fs_model *m, uint64_t *rng)
{
	const uint32_t f = any(m, rng, 0);
	struct fs_model_file *x = file(m, f);

	if (!x->held || f == ROOT)
		return;
	annex_fs_forget(m->fs, x->ino, x->held);
	x->held = 0;
	end_unused(m, f);
}

static void seek(struct fs_model *m, uint64_t *rng)
{
	const uint32_t f = any(m, rng, S_IFREG);
	const uint64_t from = random_next(rng) % MODEL_BYTES;
	const bool hole = random_next(rng) & 1;
	struct fs_model_file *x = file(m, f);
	uint64_t at = from;
	int err;

	if (!f)
		return;
	err = annex_fs_seek(m->fs, x->ino, &at, hole);
	if (from >= x->size) {
		same(m, err, -ENXIO);
		return;
	}
	/* Between data there may be holes, and holes are zeroes. */
	differs(m, !(err == 0 || (err == -ENXIO && !hole)) || at < from || at > x->size, "seek");
	for (uint64_t i = from; !hole && i < (err ? x->size : at); i++)
		differs(m, x->data[i] != 0, "a hole has data");
}

void fs_model_step(struct fs_model *m, uint64_t *rng)
{
	switch (random_next(rng) % 40) {
	case 0 ... 6:
		make(m, rng);
		break;
	case 7 ... 9:
		remove_one(m, rng);
		break;
	case 10 ... 11:
		link_one(m, rng);
		break;
	case 12 ... 15:
		rename_one(m, rng);
		break;
	case 16 ... 24:
		write_one(m, rng);
		break;
	case 25 ... 29:
		read_one(m, rng);
		break;
	case 30:
		resize(m, rng);
		break;
	case 31:
		allocate(m, rng);
		break;
	case 32 ... 33:
		change(m, rng);
		break;
	case 34 ... 35:
		set_xattr(m, rng);
		break;
	case 36:
		forget(m, rng);
		break;
	case 37:
		seek(m, rng);
		break;
	default:
		same(m,
		     annex_fs_fsync(m->fs, random_next(rng) % 4 ? file(m, any(m, rng, 0))->ino : 0),
		     0);
	}
}

static void compare_data(struct fs_model *m, const struct fs_model_file *x)
{
	static uint8_t buf[MODEL_BYTES + 1];

	if (S_ISREG(x->mode)) {
		same(m, (int)annex_fs_read(m->fs, x->ino, 0, buf, sizeof(buf)), (int)x->size);
		differs(m, memcmp(buf, x->data, x->size) != 0, "other data of a file");
	} else if (S_ISLNK(x->mode)) {
		same(m, annex_fs_readlink(m->fs, x->ino, (char *)buf, sizeof(buf)), 0);
		differs(m, strcmp((char *)buf, (char *)x->data) != 0, "another target");
	}
}

static void compare_names(struct fs_model *m, uint32_t f)
{
	const struct fs_model_file *x = file(m, f);
	uint32_t seen = 0, names = 2;
	struct annex_fs_entry e = {0};
	int more;

	for (uint32_t i = 0; i < MODEL_NAMES; i++)
		names += x->entry[i] != 0;
	for (uint64_t at = 0; (more = annex_fs_readdir(m->fs, x->ino, at, &e)) > 0; at = e.next) {
		uint32_t i = 0;

		seen++;
		if (seen <= 2) {
			differs(m,
				strcmp(e.name, seen == 1 ? "." : "..") != 0 ||
					e.ino != file(m, seen == 1 ? f : x->parent)->ino,
				"dots");
			continue;
		}
		while (i < MODEL_NAMES && strcmp(e.name, fs_model_name(i)) != 0)
			i++;
		differs(m,
			i == MODEL_NAMES || file(m, x->entry[i])->ino != e.ino ||
				(file(m, x->entry[i])->mode & S_IFMT) != e.type,
			"another name");
	}
	same(m, more, 0);
	same(m, (int)seen, (int)names);
	/* From numbers that no entry had as its next one, too. */
	for (uint64_t at = 2; at < 2 + ANNEX_FS_BLOCK / 64; at++) {
		uint32_t i = 0;

		more = annex_fs_readdir(m->fs, x->ino, at, &e);
		while (more > 0 && i < MODEL_NAMES && strcmp(e.name, fs_model_name(i)) != 0)
			i++;
		differs(m, more < 0 || i == MODEL_NAMES, "no entry from within a name");
	}
}

void fs_model_compare(struct fs_model *m)
{
	struct annex_fs_attr a;

	for (uint32_t f = 1; f < MODEL_FILES; f++) {
		const struct fs_model_file *x = file(m, f);

		if (!x->ino)
			continue;
		same(m, annex_fs_getattr(m->fs, x->ino, &a), 0);
		differs(m, a.mode != x->mode || a.nlink != x->nlink,
			"another mode or number of links");
		differs(m, a.uid != x->uid || a.gid != x->gid, "another owner");
		differs(m, !is_dir(x) && a.size != x->size, "another size");
		if (is_dir(x))
			compare_names(m, f);
		else
			compare_data(m, x);
	}
}

void fs_model_open(struct fs_model *m, struct annex_cxlssd *s, enum annex_fs_design design,
		   const struct annex_fs_opts *opts)
{
	const struct annex_fs_mkfs_opts how = {.design = design};

	memset(m, 0, sizeof(*m));
	m->s = s;
	m->opts = opts ? *opts : m->opts;
	CU_ASSERT_EQUAL_FATAL(annex_fs_mkfs(s, &how), 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, &m->opts, &m->fs), 0);
	m->file[ROOT] = (struct fs_model_file){
		.ino = ANNEX_FS_ROOT, .mode = S_IFDIR | 0755, .nlink = 2, .parent = ROOT};
}

void fs_model_lose(struct fs_model *m)
{
	annex_fs_unmount(m->fs);
	m->fs = NULL;
}

void fs_model_find(struct fs_model *m, struct annex_cxlssd *s)
{
	m->s = s;
	for (uint32_t f = 2; f < MODEL_FILES; f++) {
		m->file[f].held = 0;
		if (m->file[f].ino)
			end_unused(m, f);
	}
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(m->s, &m->opts, &m->fs), 0);
}

void fs_model_remount(struct fs_model *m)
{
	same(m, annex_fs_unmount(m->fs), 0);
	fs_model_find(m, m->s);
}

void fs_model_close(struct fs_model *m)
{
	same(m, annex_fs_unmount(m->fs), 0);
	for (uint32_t f = 2; f < MODEL_FILES; f++)
		free(m->file[f].data);
}
