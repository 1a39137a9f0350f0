// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "core/log.h"
#include "bitmap.h"
#include "buf.h"
#include "dev.h"
#include "dir.h"
#include "map.h"
#include "node.h"
#include "op.h"
#include "page.h"

int fs_nodes_init(struct fs_nodes *t)
{
	t->chains = calloc(FS_NODE_CHAINS, sizeof(struct fs_node *));
	return t->chains ? 0 : annex_fail(-ENOMEM, "file system: out of memory");
}

static struct fs_node **chain(const struct fs_nodes *t, uint32_t ino)
{
	return &t->chains[ino * 0x9e3779b1u % FS_NODE_CHAINS];
}

static void set_idle(struct fs_nodes *t, struct fs_node *n)
{
	n->idle = true;
	n->newer = NULL;
	n->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = n;
	t->newest = n;
	t->n_idle++;
}

static void set_busy(struct fs_nodes *t, struct fs_node *n)
{
	*(n->older ? &n->older->newer : &t->oldest) = n->newer;
	*(n->newer ? &n->newer->older : &t->newest) = n->older;
	n->idle = false;
	t->n_idle--;
}

void fs_node_give(struct annex_fs *fs, struct fs_node *n)
{
	struct fs_node **at = chain(&fs->nodes, n->ino);

	while (*at != n)
		at = &(*at)->next;
	*at = n->next;
	if (n->idle)
		set_busy(&fs->nodes, n);
	fs_pages_cut(fs, n, 0, UINT32_MAX);
	fs_dir_free(n->dir);
	fs->nodes.n--;
	free(n);
}

void fs_nodes_free(struct annex_fs *fs)
{
	for (uint32_t i = 0; fs->nodes.chains && i < FS_NODE_CHAINS; i++)
		while (fs->nodes.chains[i])
			fs_node_give(fs, fs->nodes.chains[i]);
	free(fs->nodes.chains);
}

void fs_node_lines(const struct fs_super *s, uint32_t ino, uint32_t *block, uint32_t *line)
{
	*block = s->itable + ino / FS_INODES;
	*line = ino % FS_INODES * 2;
}

/* Integers are little-endian and packed. */
static void append_le(uint8_t **at, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		*(*at)++ = (uint8_t)(v >> 8 * i);
}

static uint64_t get(const uint8_t **at, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v |= (uint64_t) * (*at)++ << 8 * i;
	return v;
}

void fs_inode_pack(const struct fs_inode *i, uint8_t *first, uint8_t *second)
{
	append_le(&first, i->mode, 2);
	append_le(&first, i->flags, 1);
	append_le(&first, i->height, 1);
	append_le(&first, i->nlink, 4);
	append_le(&first, i->uid, 4);
	append_le(&first, i->gid, 4);
	append_le(&first, i->size, 8);
	append_le(&first, (uint64_t)i->mtime, 8);
	append_le(&first, (uint64_t)i->ctime, 8);
	append_le(&first, i->blocks, 4);
	append_le(&first, i->generation, 4);
	append_le(&first, i->xattr, 4);
	append_le(&first, i->rdev, 4);
	append_le(&first, i->orphan, 4);
	append_le(&second, (uint64_t)i->atime, 8);
	for (unsigned int k = 0; k < FS_DIRECT; k++)
		append_le(&second, i->map[k], 4);
}

void fs_inode_unpack(struct fs_inode *i, const uint8_t *first, const uint8_t *second)
{
	i->mode = (uint16_t)get(&first, 2);
	i->flags = (uint8_t)get(&first, 1);
	i->height = (uint8_t)get(&first, 1);
	i->nlink = (uint32_t)get(&first, 4);
	i->uid = (uint32_t)get(&first, 4);
	i->gid = (uint32_t)get(&first, 4);
	i->size = get(&first, 8);
	i->mtime = (int64_t)get(&first, 8);
	i->ctime = (int64_t)get(&first, 8);
	i->blocks = (uint32_t)get(&first, 4);
	i->generation = (uint32_t)get(&first, 4);
	i->xattr = (uint32_t)get(&first, 4);
	i->rdev = (uint32_t)get(&first, 4);
	i->orphan = (uint32_t)get(&first, 4);
	i->atime = (int64_t)get(&second, 8);
	for (unsigned int k = 0; k < FS_DIRECT; k++)
		i->map[k] = (uint32_t)get(&second, 4);
}

/* Whether an inode is safe to use. */
static bool sound(const struct annex_fs *fs, const struct fs_inode *i)
{
	if (i->height > FS_HEIGHT || i->size > FS_SIZE_MAX)
		return false;
	if (i->xattr && !fs_map_has(fs, i->xattr))
		return false;
	for (unsigned int k = 0; k < FS_DIRECT; k++)
		if (i->map[k] && !S_ISLNK(i->mode) && !fs_map_has(fs, i->map[k] & ~FS_UNWRITTEN))
			return false;
	return i->orphan < fs->super.inodes;
}

/* *@sequence: the last transaction that may have changed it. */
static int load(struct annex_fs *fs, uint32_t ino, struct fs_inode *i, uint64_t *sequence)
{
	const uint8_t *first, *second;
	uint32_t block, line;
	struct fs_buf *b;
	int err;

	fs_node_lines(&fs->super, ino, &block, &line);
	err = fs_buf_get(fs, block, ANNEX_FS_INODE, &b);
	if (!err)
		err = fs_line(b, line, &first);
	if (!err)
		err = fs_line(b, line + 1, &second);
	if (err)
		return err;
	fs_inode_unpack(i, first, second);
	*sequence = b->joined ? fs->journal.sequence : 0;
	if (!i->mode)
		return -ESTALE;
	return sound(fs, i) ? 0 : annex_fail(-EIO, "file system: inode %u is damaged", ino);
}

static struct fs_node *add(struct annex_fs *fs, uint32_t ino)
{
	struct fs_node *n = calloc(1, sizeof(*n));

	if (!n) {
		annex_fail(-ENOMEM, "file system: out of memory");
		return NULL;
	}
	n->ino = ino;
	n->next = *chain(&fs->nodes, ino);
	*chain(&fs->nodes, ino) = n;
	fs->nodes.n++;
	set_idle(&fs->nodes, n);
	return n;
}

int fs_node_any(struct annex_fs *fs, uint32_t ino, struct fs_node **out)
{
	struct fs_inode i;
	uint64_t sequence;
	int err;

	if (!ino || ino >= fs->super.inodes)
		return -ESTALE;
	for (*out = *chain(&fs->nodes, ino); *out; *out = (*out)->next)
		if ((*out)->ino == ino)
			return (*out)->i.mode ? 0 : -ESTALE;
	err = load(fs, ino, &i, &sequence);
	if (err)
		return err;
	*out = add(fs, ino);
	if (!*out)
		return -ENOMEM;
	(*out)->i = i;
	(*out)->sequence = sequence;
	return 0;
}

int fs_node_get(struct annex_fs *fs, uint32_t ino, struct fs_node **out)
{
	int err = fs_node_any(fs, ino, out);

	return !err && (*out)->dead ? -ESTALE : err;
}

void fs_node_hold(struct annex_fs *fs, struct fs_node *n)
{
	if (n->idle)
		set_busy(&fs->nodes, n);
	n->refs++;
}

bool fs_node_drop(struct annex_fs *fs, struct fs_node *node, uint64_t n)
{
	if (!node->refs)
		return false;
	node->refs -= n < node->refs ? n : node->refs;
	if (node->refs)
		return false;
	set_idle(&fs->nodes, node);
	return true;
}

int fs_node_new(struct annex_fs *fs, const struct annex_fs_new *what, struct fs_node **out)
{
	const int64_t now = fs_now();
	uint32_t ino;
	int err = fs_inode_take(fs, &ino);

	if (err)
		return err;
	for (*out = *chain(&fs->nodes, ino); *out && (*out)->ino != ino; *out = (*out)->next)
		;
	if (!*out)
		*out = add(fs, ino);
	if (!*out)
		return -ENOMEM;
	err = fs_op_node(fs, *out);
	if (err)
		return err;
	(*out)->goal = 0;
	(*out)->i = (struct fs_inode){
		.mode = (uint16_t)what->mode,
		.nlink = S_ISDIR(what->mode) ? 2 : 1,
		.uid = what->uid,
		.gid = what->gid,
		.atime = now,
		.mtime = now,
		.ctime = now,
		.generation = ++fs->generation,
		.rdev = what->rdev,
	};
	return 0;
}

/* Change the payload of a line, if it differs. */
static int pack_line(struct annex_fs *fs, struct fs_buf *b, uint32_t line, const uint8_t *payload)
{
	const uint8_t *now;
	uint8_t *to;
	int err = fs_line(b, line, &now);

	if (err || !memcmp(now, payload, FS_PAYLOAD))
		return err;
	err = fs_line_change(fs, b, line, &to);
	if (!err)
		memcpy(to, payload, FS_PAYLOAD);
	return err;
}

int fs_node_pack(struct annex_fs *fs, struct fs_node *n)
{
	uint8_t first[FS_PAYLOAD] = {0}, second[FS_PAYLOAD] = {0};
	uint32_t block, line;
	struct fs_buf *b;
	int err;

	if (n->i.mode)
		fs_inode_pack(&n->i, first, second);
	fs_node_lines(&fs->super, n->ino, &block, &line);
	err = fs_buf_get(fs, block, ANNEX_FS_INODE, &b);
	if (!err)
		err = pack_line(fs, b, line, first);
	if (!err)
		err = pack_line(fs, b, line + 1, second);
	n->late = false;
	return err;
}

void fs_node_attr(const struct fs_node *n, struct annex_fs_attr *out)
{
	const struct fs_inode *i = &n->i;

	*out = (struct annex_fs_attr){
		.ino = n->ino,
		.generation = i->generation,
		.mode = i->mode,
		.nlink = i->nlink,
		.uid = i->uid,
		.gid = i->gid,
		.rdev = S_ISDIR(i->mode) ? 0 : i->rdev,
		.size = i->size,
		.blocks = (uint64_t)i->blocks + n->n_holes,
		.atime = i->atime,
		.mtime = i->mtime,
		.ctime = i->ctime,
	};
}
