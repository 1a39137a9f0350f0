// SPDX-License-Identifier: MIT
/*
 * Inodes and their maps during a check.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "core/log.h"
#include "buf.h"
#include "check.h"
#include "dev.h"
#include "map.h"
#include "node.h"

#define NAMES_MAX (UINT32_MAX / FS_LINES) /* blocks of a directory */

int fs_check_read(struct fs_check *c, uint32_t ino, struct fs_inode *i, unsigned int *bad)
{
	static const uint8_t none[FS_PAYLOAD];
	struct check_block *b;
	uint32_t block, line;
	int err;

	fs_node_lines(&c->super, ino, &block, &line);
	err = fs_check_get(c, block, &b);
	if (err)
		return err;
	*bad = (fs_check_good(b, line) ? 0 : 1) | (fs_check_good(b, line + 1) ? 0 : 2);
	fs_inode_unpack(i, *bad & 1 ? none : b->lines[line].payload,
			*bad & 2 ? none : b->lines[line + 1].payload);
	return 0;
}

int fs_check_write(struct fs_check *c, uint32_t ino, const struct fs_inode *i)
{
	uint8_t first[FS_PAYLOAD] = {0}, second[FS_PAYLOAD] = {0};
	struct check_block *b;
	uint32_t block, line;
	int err;

	if (i->mode)
		fs_inode_pack(i, first, second);
	fs_node_lines(&c->super, ino, &block, &line);
	err = fs_check_get(c, block, &b);
	if (err)
		return err;
	fs_check_set(b, line, first);
	fs_check_set(b, line + 1, second);
	return 0;
}

bool fs_check_has(const struct fs_check *c, uint32_t block)
{
	return block >= c->super.data && block < c->super.blocks - 1;
}

bool fs_check_claim(struct fs_check *c, uint32_t block)
{
	const uint32_t i = block - c->super.data;

	if (c->taken[i / 64] >> i % 64 & 1)
		return false;
	c->taken[i / 64] |= 1ull << i % 64;
	c->free--;
	return true;
}

/* Blocks below one pointer of a node. */
static uint64_t span(unsigned int height)
{
	uint64_t n = 1;

	while (height-- > 1)
		n *= FS_FAN;
	return n;
}

static int walk_node(struct check_walk *w, uint32_t node, unsigned int height, uint64_t base);

static int walk_line(struct check_walk *w, uint32_t node, uint32_t line, unsigned int height,
		     uint64_t base)
{
	uint8_t payload[FS_PAYLOAD] = {0};
	struct check_block *b;
	bool changed = false;
	int err = fs_check_get(w->c, node, &b);

	if (err)
		return err;
	if (!fs_check_good(b, line)) {
		fs_check_tell(w->c, "inode %u: line %u of block %u of its map is damaged", w->ino,
			      line, node);
		fs_check_set(b, line, payload);
		return 0;
	}
	memcpy(payload, b->lines[line].payload, FS_PAYLOAD);
	for (uint32_t k = 0; !err && k < FS_POINTERS; k++) {
		const uint64_t at = base + (line * FS_POINTERS + k) * span(height);
		const uint32_t pointer = fs_map_pointer(payload, k);

		if (!pointer)
			continue;
		if (!w->keep(w, at, pointer, height - 1)) {
			memset(payload + (size_t)k * 4, 0, 4);
			changed = true;
		} else if (height > 1) {
			err = walk_node(w, pointer, height - 1, at);
		}
	}
	if (!err && changed)
		err = fs_check_get(w->c, node, &b);
	if (!err && changed)
		fs_check_set(b, line, payload);
	return err;
}

static int walk_node(struct check_walk *w, uint32_t node, unsigned int height, uint64_t base)
{
	int err = 0;

	for (uint32_t line = 0; !err && line < FS_LINES; line++)
		err = walk_line(w, node, line, height, base);
	return err ? err : w->err;
}

int fs_check_walk(struct check_walk *w, struct fs_inode *i, bool *changed)
{
	for (uint32_t k = 0; k < (i->height ? 1 : FS_DIRECT); k++) {
		if (!i->map[k] || w->keep(w, k, i->map[k], i->height))
			continue;
		i->map[k] = 0;
		*changed = true;
	}
	return i->height && i->map[0] ? walk_node(w, i->map[0], i->height, 0) : w->err;
}

/* A block belongs to the inode that claims it first. */
static bool keep_claim(struct check_walk *w, uint64_t index, uint32_t pointer, unsigned int height)
{
	const uint32_t block = pointer & ~FS_UNWRITTEN;

	if (!fs_check_has(w->c, block) || (pointer != block && (height || w->directory)) ||
	    index >= (w->directory ? NAMES_MAX : FS_BLOCKS_MAX)) {
		fs_check_tell(w->c, "inode %u: its pointer for block %llu, 0x%08x, cannot be",
			      w->ino, (ull)index, pointer);
		return false;
	}
	if (!fs_check_claim(w->c, block)) {
		fs_check_tell(w->c, "inode %u: block %u is another's already", w->ino, block);
		return false;
	}
	w->blocks++;
	if (!height)
		w->last = index + 1;
	return true;
}

/* Whether a block has a valid list of attributes (xattr.c). */
static bool is_list(const struct check_block *b)
{
	uint8_t bytes[FS_LINES * FS_PAYLOAD + 3] = {0};
	uint32_t at = 0;

	for (uint32_t i = 0; i < FS_LINES; i++) {
		if (!fs_check_good(b, i))
			return false;
		memcpy(bytes + (size_t)i * FS_PAYLOAD, b->lines[i].payload, FS_PAYLOAD);
	}
	while (at < FS_LINES * FS_PAYLOAD && bytes[at])
		at += 3u + bytes[at] + bytes[at + 1] + ((uint32_t)bytes[at + 2] << 8);
	return at <= FS_LINES * FS_PAYLOAD;
}

static int check_xattrs(struct check_walk *w, const struct fs_inode *i)
{
	struct check_block *b;
	int err;

	if (!i->xattr)
		return 0;
	if (!fs_check_claim(w->c, i->xattr)) {
		fs_check_tell(w->c,
			      "inode %u: the block of its extended attributes, %u, is another's "
			      "already",
			      w->ino, i->xattr);
		return 0;
	}
	w->blocks++;
	err = fs_check_get(w->c, i->xattr, &b);
	if (!err && !is_list(b))
		fs_check_tell(w->c, "inode %u: its extended attributes are damaged", w->ino);
	return err;
}

/* Check an inode's size and number of blocks. */
static void check_sums(const struct check_walk *w, const struct fs_inode *i)
{
	if (S_ISREG(i->mode) && i->size > FS_SIZE_MAX)
		fs_check_tell(w->c, "inode %u: no file has %llu bytes", w->ino, (ull)i->size);
	if (i->blocks != w->blocks)
		fs_check_tell(w->c, "inode %u: it has %u blocks, not %u", w->ino, w->blocks,
			      i->blocks);
}

static int forget(struct fs_check *c, uint32_t ino)
{
	const struct fs_inode none = {0};

	c->orphans -= c->inodes[ino].flags & CHECK_ORPHAN;
	c->inodes[ino] = (struct check_inode){0};
	return fs_check_write(c, ino, &none);
}

/* Claim the blocks of an inode. */
static int claim(struct fs_check *c, uint32_t ino)
{
	struct check_walk w = {.c = c, .ino = ino, .keep = keep_claim};
	bool changed = false;
	unsigned int bad;
	struct fs_inode i;
	int err = fs_check_read(c, ino, &i, &bad);

	if (err)
		return err;
	w.directory = !S_ISREG(i.mode);
	if (S_ISLNK(i.mode) && i.size > FS_INLINE &&
	    (!i.map[0] || !keep_claim(&w, 0, i.map[0], 0))) {
		fs_check_tell(c, "inode %u: the target of the link is lost", ino);
		return forget(c, ino);
	}
	if (!S_ISLNK(i.mode))
		err = fs_check_walk(&w, &i, &changed);
	if (!err)
		err = check_xattrs(&w, &i);
	if (err)
		return err;
	check_sums(&w, &i);
	return changed ? fs_check_write(c, ino, &i) : 0;
}

static bool has_type(const struct fs_inode *i)
{
	return S_ISREG(i->mode) || S_ISDIR(i->mode) || S_ISLNK(i->mode) || S_ISCHR(i->mode) ||
	       S_ISBLK(i->mode) || S_ISFIFO(i->mode) || S_ISSOCK(i->mode);
}

/* Whether an inode has pointers from @first on. */
static bool any(const struct fs_inode *i, uint32_t first)
{
	for (uint32_t k = first; k < FS_DIRECT; k++)
		if (i->map[k])
			return true;
	return false;
}

static bool check_map(struct fs_check *c, uint32_t ino, struct fs_inode *i)
{
	const bool mapped = S_ISREG(i->mode) || S_ISDIR(i->mode);
	bool changed = false;

	if (i->height > (mapped ? FS_HEIGHT : 0)) {
		fs_check_tell(c, "inode %u: its map cannot have a height of %u", ino, i->height);
		i->height = 0;
		if (!S_ISLNK(i->mode))
			memset(i->map, 0, sizeof(i->map));
		changed = true;
	}
	if (i->height && any(i, 1)) {
		fs_check_tell(c, "inode %u: its map has more than one root", ino);
		memset(i->map + 1, 0, sizeof(i->map) - sizeof(i->map[0]));
		changed = true;
	}
	if (mapped || S_ISLNK(i->mode) || (!i->size && !any(i, 0)))
		return changed;
	fs_check_tell(c, "inode %u: it is no file that has data", ino);
	i->size = 0;
	memset(i->map, 0, sizeof(i->map));
	return true;
}

/* Check the fields of an inode in use. */
static bool check_fields(struct fs_check *c, uint32_t ino, struct fs_inode *i)
{
	bool changed = check_map(c, ino, i);

	if (i->flags & ~FS_ORPHAN) {
		fs_check_tell(c, "inode %u: unknown flags 0x%02x", ino, i->flags);
		i->flags &= FS_ORPHAN;
		changed = true;
	}
	if (i->orphan >= c->super.inodes || (i->orphan && !(i->flags & FS_ORPHAN))) {
		fs_check_tell(c, "inode %u: inode %u cannot be the next orphan", ino, i->orphan);
		i->orphan = 0;
		changed = true;
	}
	if (i->xattr && !fs_check_has(c, i->xattr)) {
		fs_check_tell(c, "inode %u: its extended attributes cannot lie in block %u", ino,
			      i->xattr);
		i->xattr = 0;
		changed = true;
	}
	return changed;
}

static void note(struct fs_check *c, uint32_t ino, const struct fs_inode *i)
{
	struct check_inode *f = &c->inodes[ino];

	f->type = (uint8_t)(i->mode >> 12);
	if (!(i->flags & FS_ORPHAN))
		return;
	f->flags = i->nlink || ino == ANNEX_FS_ROOT ? CHECK_ORPHAN : CHECK_ORPHAN | CHECK_ENDS;
	c->orphans++;
}

static int check_inode(struct fs_check *c, uint32_t ino)
{
	unsigned int bad;
	struct fs_inode i;
	int err = fs_check_read(c, ino, &i, &bad);

	if (err)
		return err;
	for (uint32_t line = 0; line < 2; line++)
		if (bad >> line & 1)
			fs_check_tell(c, "inode %u: line %u is damaged", ino, line);
	if (bad)
		return forget(c, ino);
	if (!i.mode)
		return 0;
	if (!ino || !has_type(&i) || (S_ISLNK(i.mode) && (!i.size || i.size >= FS_BLOCK))) {
		fs_check_tell(c, "inode %u: no file has mode 0%o and %llu bytes%s", ino, i.mode,
			      (ull)i.size, ino ? "" : ", nor this number");
		return forget(c, ino);
	}
	note(c, ino, &i);
	return check_fields(c, ino, &i) ? fs_check_write(c, ino, &i) : 0;
}

/* Replace a root that is not a directory by an empty one, in memory. */
static int make_root(struct fs_check *c)
{
	const struct fs_inode root = {.mode = S_IFDIR, .nlink = 2, .rdev = ANNEX_FS_ROOT};
	int err;

	if (c->inodes[ANNEX_FS_ROOT].type == S_IFDIR >> 12)
		return 0;
	fs_check_tell(c, "inode %u: it is the root, and no directory", ANNEX_FS_ROOT);
	err = forget(c, ANNEX_FS_ROOT);
	c->inodes[ANNEX_FS_ROOT].type = S_IFDIR >> 12;
	return err ? err : fs_check_write(c, ANNEX_FS_ROOT, &root);
}

int fs_check_inodes(struct fs_check *c)
{
	int err = 0;

	for (uint32_t ino = 0; !err && ino < c->super.inodes; ino++)
		err = check_inode(c, ino);
	return err ? err : make_root(c);
}

int fs_check_claims(struct fs_check *c)
{
	int err = 0;

	for (uint32_t ino = 1; !err && ino < c->super.inodes; ino++)
		if (c->inodes[ino].type)
			err = claim(c, ino);
	return err;
}
