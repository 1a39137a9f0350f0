// SPDX-License-Identifier: MIT
/*
 * Damage to a file system: each kind is told in its words, and a check changes nothing.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "models/fs/dir.h"
#include "models/fs/node.h"
#include "fs_check_rig.h"
#include "tests/unit/unit.h"

/* struct spoil - @how damages it, in one of its ways; a check tells it in these words. */
struct spoil {
	void (*how)(struct annex_cxlssd *s, uint32_t way);
	uint32_t way;
	const char *words;
};

static void tells(const struct spoil *spoils, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		struct annex_cxlssd *s = fsck_make(FSCK_URI);

		spoils[k].how(s, spoils[k].way);
		CU_ASSERT(fsck_check(s, spoils[k].words).problems > 0);
		CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	}
}

#define TELLS(...)                                                                                 \
	do {                                                                                       \
		static const struct spoil spoils_[] = {__VA_ARGS__};                               \
		tells(spoils_, sizeof(spoils_) / sizeof(spoils_[0]));                              \
	} while (0)

static void clean(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	const struct annex_fs_report r = fsck_check(s, NULL);

	CU_ASSERT_EQUAL(r.problems, 0);
	CU_ASSERT_EQUAL(r.files, FSCK_MANY - 1 + 13);
	CU_ASSERT_EQUAL(r.directories, 4);
	CU_ASSERT_EQUAL(fsck_walk(s), r.files);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static void spoil_super(struct annex_cxlssd *s, uint32_t way)
{
	struct fs_line l = {0};
	struct annex_fs *fs;

	if (way == 0) {
		fsck_spoil(s, 0, 0);
		CU_ASSERT_EQUAL(annex_fs_mount(s, NULL, &fs), -EILSEQ);
	} else if (way == 1) {
		fsck_spoil(s, fsck_super.blocks - 1, 0);
	} else if (way == 2) {
		memset(&l, 7, sizeof(l));
		fsck_put_line(s, fsck_super.blocks - 1, 0, &l);
	} else if (way == 3) {
		fsck_spoil(s, 0, 1);
	} else {
		l.payload[0] = 9;
		fsck_put_line(s, 0, 1, &l);
	}
}

static void superblocks(void)
{
	struct annex_fs_report out;
	struct annex_cxlssd *s;
	struct fs_line l;

	TELLS({spoil_super, 0, "superblock in block 0 is damaged"},
	      {spoil_super, 1, "superblock in block 4095 is damaged"},
	      {spoil_super, 2, "superblock in block 4095 is damaged"},
	      {spoil_super, 3, "line 1 of the superblock is damaged"},
	      {spoil_super, 4, "list of orphans is damaged"});
	s = fsck_make(FSCK_URI);
	l = fsck_get_line(s, 0, 0);
	l.payload[8] = 2;
	fsck_put_line(s, 0, 0, &l);
	CU_ASSERT_EQUAL(annex_fs_check(s, NULL, NULL, &out), -EPROTONOSUPPORT);
	fsck_spoil(s, 0, 0);
	fsck_spoil(s, fsck_super.blocks - 1, 0);
	CU_ASSERT_EQUAL(annex_fs_check(s, NULL, NULL, &out), -EILSEQ);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
	CU_ASSERT_EQUAL_FATAL(annex_cxlssd_open("cxlssd:?size=4M&page=512", &s), 0);
	CU_ASSERT_EQUAL(annex_fs_check(s, NULL, NULL, &out), -EILSEQ);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static uint32_t root = ANNEX_FS_ROOT;

#define FIELD(name) offsetof(struct fs_inode, name), sizeof(((struct fs_inode *)0)->name)

/* A field of an inode gets a value. */
static const struct {
	uint32_t *ino;
	size_t at, bytes;
	uint64_t value;
	const char *want;
} values[] = {
	{&fsck.b, FIELD(height), 9, "height of 9"},
	{&fsck.b, FIELD(size), 1ull << 60, "no file has"},
	{&fsck.fast, FIELD(size), 1ull << 60, "no file has"},
	{&fsck.b, FIELD(map[1]), 0xfffffff, "cannot be"},
	{&fsck.b, FIELD(map[0]), 3, "cannot be"},
	{&fsck.tall, FIELD(map[0]), 4095, "cannot be"},
	{&fsck.tall, FIELD(map[0]), FS_UNWRITTEN | 4000, "cannot be"},
	{&fsck.tall, FIELD(map[5]), 200, "more than one root"},
	{&fsck.tall, FIELD(height), 0, "blocks, not"},
	{&fsck.tall, FIELD(height), 4, "of its map is damaged"},
	{&fsck.b, FIELD(xattr), 5, "cannot lie in block 5"},
	{&fsck.b, FIELD(mode), 0170000, "no file has mode"},
	{&fsck.b, FIELD(mode), 0, "which is not there"},
	{&fsck.b, FIELD(mode), S_IFDIR | 0700, "type"},
	{&fsck.b, FIELD(mode), S_IFIFO | 0700, "no file that has data"},
	{&fsck.link, FIELD(mode), S_IFREG | 0700, "cannot be"},
	{&fsck.dir, FIELD(mode), S_IFREG | 0700, "no directory has a name"},
	{&fsck.b, FIELD(nlink), 7, "1 links, not 7"},
	{&fsck.a, FIELD(nlink), 1, "2 links, not 1"},
	{&fsck.b, FIELD(nlink), 0, "1 links, not 0"},
	{&fsck.dir, FIELD(nlink), 2, "3 links, not 2"},
	{&root, FIELD(nlink), 0, "4 links, not 0"},
	{&fsck.b, FIELD(flags), 4, "unknown flags"},
	{&fsck.b, FIELD(flags), 1, "list of orphans"},
	{&root, FIELD(flags), 1, "list of orphans"},
	{&fsck.b, FIELD(orphan), 9, "cannot be the next orphan"},
	{&fsck.b, FIELD(orphan), 0xffffff, "cannot be the next orphan"},
	{&fsck.b, FIELD(blocks), 99, "it has 5 blocks, not 99"},
	{&fsck.fifo, FIELD(size), 5, "no file that has data"},
	{&fsck.fifo, FIELD(map[3]), 300, "no file that has data"},
	{&fsck.link, FIELD(size), 0, "no file has mode"},
	{&fsck.path, FIELD(size), 4096, "no file has mode"},
	{&fsck.path, FIELD(map[0]), 0, "target of the link is lost"},
	{&fsck.path, FIELD(map[0]), 20, "target of the link is lost"},
	{&fsck.path, FIELD(map[0]), FS_UNWRITTEN | 3000, "target of the link is lost"},
	{&fsck.link, FIELD(height), 1, "height of 1"},
	{&fsck.dir, FIELD(rdev), 77, "parent is 1, not 77"},
	{&root, FIELD(rdev), 77, "parent is 1, not 77"},
	{&fsck.dir, FIELD(size), 5000, "of 5000 bytes"},
	{&fsck.dir, FIELD(size), 0, "of 0 bytes"},
	{&fsck.dir, FIELD(size), 1ull << 63, "bytes"},
	{&fsck.many, FIELD(size), 8192, "of 8192 bytes"},
	{&fsck.many, FIELD(map[0]), 0, "no directory has a name"},
	{&fsck.dir, FIELD(map[0]), 0, "no directory has a name"},
	{&root, FIELD(mode), S_IFREG | 0700, "the root, and no directory"},
	{&root, FIELD(mode), 0, "the root, and no directory"},
};

static void spoil_field(struct annex_cxlssd *s, uint32_t way)
{
	struct fs_inode i = fsck_get_inode(s, *values[way].ino);

	memcpy((char *)&i + values[way].at, &values[way].value, values[way].bytes);
	fsck_put_inode(s, *values[way].ino, &i);
}

static void fields(void)
{
	for (uint32_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
		const struct spoil one = {spoil_field, k, values[k].want};

		tells(&one, 1);
	}
}

static uint32_t *const inodes[] = {&fsck.b,   &fsck.tall, &fsck.link, &fsck.dir,
				   &fsck.sub, &fsck.many, &root};

static void spoil_inode(struct annex_cxlssd *s, uint32_t way)
{
	uint32_t block, line;

	fs_node_lines(&fsck_super, *inodes[way / 2], &block, &line);
	fsck_spoil(s, block, line + way % 2);
}

static void lines_of_inodes(void)
{
	/* The numbers of inodes are the same in each. */
	CU_ASSERT_EQUAL(annex_cxlssd_close(fsck_make(FSCK_URI)), 0);
	for (uint32_t k = 0; k < 2 * sizeof(inodes) / sizeof(inodes[0]); k++) {
		char words[64];
		const struct spoil one = {spoil_inode, k, words};

		snprintf(words, sizeof(words), "inode %u: line %u is damaged", *inodes[k / 2],
			 k % 2);
		tells(&one, 1);
	}
}

/* Of no file, and of number 0, which is none. */
static void spoil_table(struct annex_cxlssd *s, uint32_t way)
{
	fsck_spoil(s, fsck_super.itable + (way ? (fsck_super.inodes - 1) / FS_INODES : 0),
		   way ? 63 : 1);
}

static void spoil_map(struct annex_cxlssd *s, uint32_t way)
{
	struct fs_inode i = fsck_get_inode(s, fsck.tall), b = fsck_get_inode(s, fsck.b);
	const uint32_t node = fsck_get_pointer(s, i.map[0], 0);

	CU_ASSERT_EQUAL(i.height, 2);
	switch (way) {
	case 0:
		fsck_spoil(s, node, 1);
		break;
	case 1:
		fsck_spoil(s, i.map[0], 0);
		break;
	case 2:
		fsck_set_pointer(s, node, 39, i.map[0]); /* a circle */
		break;
	case 3:
		fsck_set_pointer(s, i.map[0], 900, i.map[0]);
		break;
	case 4:
		fsck_set_pointer(s, i.map[0], 5, FS_UNWRITTEN | node);
		break;
	case 5:
		b.map[0] = fsck_get_inode(s, fsck.a).map[0];
		fsck_put_inode(s, fsck.b, &b);
		break;
	case 6:
		b.map[7] = b.xattr; /* of the same file */
		fsck_put_inode(s, fsck.b, &b);
		break;
	default: /* behind the largest file */
		i.height = 4;
		fsck_set_pointer(s, i.map[0], 950, 4000);
		fsck_put_inode(s, fsck.tall, &i);
		break;
	}
}

static void spoil_attributes(struct annex_cxlssd *s, uint32_t way)
{
	const uint32_t block = fsck_get_inode(s, fsck.b).xattr;
	struct fs_line l = fsck_get_line(s, block, 0);

	l.payload[2] = 0x80;
	if (way < 64)
		fsck_spoil(s, block, way);
	else
		fsck_put_line(s, block, 0, &l);
}

static void blocks_of_inodes(void)
{
	TELLS({spoil_table, 0, "line 1 is damaged"}, {spoil_table, 1, "line 1 is damaged"},
	      {spoil_map, 0, "of its map is damaged"}, {spoil_map, 1, "of its map is damaged"},
	      {spoil_map, 2, "is another's already"}, {spoil_map, 3, "is another's already"},
	      {spoil_map, 4, "cannot be"}, {spoil_map, 5, "is another's already"},
	      {spoil_map, 6, "the block of its extended attributes"}, {spoil_map, 7, "cannot be"},
	      {spoil_attributes, 0, "its extended attributes are damaged"},
	      {spoil_attributes, 63, "its extended attributes are damaged"},
	      {spoil_attributes, 64, "its extended attributes are damaged"});
}

/* A file in the list of orphans, which its directory has no name for any more. */
static void spoil_orphan(struct annex_cxlssd *s, uint32_t way)
{
	const uint32_t ino = way == 2 ? fsck.b : way == 3 ? fsck.path : fsck.tall;
	const struct fsck_place at = fsck_find(s, way == 3 ? fsck.sub : 1,
					       way == 2   ? "b"
					       : way == 3 ? "path"
							  : "tall");
	struct fs_inode i = fsck_get_inode(s, ino);
	struct fs_line l = {0};

	i.flags = FS_ORPHAN;
	i.nlink = 0;
	i.orphan = way == 1 ? ino : 0;
	fsck_set_head(s, at, fsck.a, S_IFREG >> 12);
	memcpy(l.payload, &ino, 4);
	fsck_put_line(s, 0, 1, &l);
	fsck_put_inode(s, ino, &i);
	if (way == 4)
		fsck_spoil(s, 0, 1);
}

static void orphans(void)
{
	TELLS({spoil_orphan, 0, "links, not"}, {spoil_orphan, 1, "list of orphans is damaged"},
	      {spoil_orphan, 2, "links, not"}, {spoil_orphan, 3, "links, not"},
	      {spoil_orphan, 4, "it has no name any more, and was to be freed"});
}

/* A file that a crash left to be cut is no problem, and a mount cuts it. */
static void unfinished(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	struct fs_inode i = fsck_get_inode(s, fsck.tall);
	struct annex_fs_report before, after;
	struct fs_line l = {0};
	struct annex_fs *fs;

	i.flags = FS_ORPHAN;
	i.size = 20 * 4096;
	memcpy(l.payload, &fsck.tall, 4);
	fsck_put_line(s, 0, 1, &l);
	fsck_put_inode(s, fsck.tall, &i);
	before = fsck_check(s, NULL);
	CU_ASSERT(!before.problems && before.unfinished == 1);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
	after = fsck_check(s, NULL);
	CU_ASSERT(!after.problems && !after.unfinished && after.files == before.files);
	CU_ASSERT(after.blocks < before.blocks);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

/* A file whose map is damaged cannot be freed; another that ends with it is. */
static void ends(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	const struct fs_inode i = fsck_get_inode(s, fsck.tall);
	struct annex_fs_stats before, after;
	struct annex_fs *fs;

	CU_ASSERT_FATAL(i.height > 0);
	fsck_spoil(s, i.map[0], 0);
	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	annex_fs_get_stats(fs, &before);
	CU_ASSERT_EQUAL(annex_fs_unlink(fs, ANNEX_FS_ROOT, "tall"), 0);
	CU_ASSERT_EQUAL(annex_fs_unlink(fs, ANNEX_FS_ROOT, "b"), 0);
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), -EIO);
	annex_fs_get_stats(fs, &after);
	CU_ASSERT_EQUAL(after.free_inodes, before.free_inodes + 1);
	CU_ASSERT_EQUAL(annex_fs_fsync(fs, 0), 0);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), -EIO);
	CU_ASSERT(fsck_check(s, "of its map is damaged").problems > 0);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

static void spoil_bitmap(struct annex_cxlssd *s, uint32_t way)
{
	const uint32_t block = way < 2 ? fsck_super.ibitmap : fsck_super.bbitmap;
	struct fs_line l = fsck_get_line(s, block, 1);

	l.payload[9] ^= 0x12;
	if (way % 2)
		fsck_spoil(s, block, 1);
	else
		fsck_put_line(s, block, 1, &l);
}

static void bitmaps(void)
{
	TELLS({spoil_bitmap, 0, "line 1 of the bitmap of inodes is wrong"},
	      {spoil_bitmap, 1, "line 1 of the bitmap of inodes is damaged"},
	      {spoil_bitmap, 2, "line 1 of the bitmap of blocks is wrong"},
	      {spoil_bitmap, 3, "line 1 of the bitmap of blocks is damaged"});
}

static void spoil_line_of_name(struct annex_cxlssd *s, uint32_t way)
{
	const struct fsck_place at = way < 50 ? fsck_find(s, fsck.dir, fsck_long_name('c'))
					      : fsck_find(s, 1, "b");

	fsck_spoil(s, at.block, at.line + way % 50);
}

/* The head of a name is of another inode. */
static void spoil_head(struct annex_cxlssd *s, uint32_t way)
{
	const struct {
		uint32_t ino;
		uint8_t type;
	} head[] = {{999, 8}, {0xfffffff0, 8}, {0, 8}, {fsck.one, 4}, {fsck.sub, 4}, {1, 4}};

	fsck_set_head(s, fsck_find(s, fsck.many, "file 700"), head[way].ino, head[way].type);
}

static void spoil_text(struct annex_cxlssd *s, uint32_t way)
{
	static const char *const text[] = {"a/", ".", "..", "\0"};
	const struct fsck_place at = fsck_find(s, fsck.many, "file 700");
	struct fs_line l = fsck_get_line(s, at.block, at.line);

	if (way == 4) {
		l.payload[8 + 5] = '1';
	} else {
		memcpy(l.payload + 8, text[way], 2);
		l.payload[5] = way == 1 ? 1 : 2;
	}
	fsck_put_line(s, at.block, at.line, &l);
}

static void names(void)
{
	TELLS({spoil_line_of_name, 50, "no directory has a name"},
	      {spoil_line_of_name, 0, "no directory has a name"},
	      {spoil_line_of_name, 2, "no directory has a name"},
	      {spoil_line_of_name, 40, "is damaged"}, /* behind the last name */
	      {spoil_head, 0, "is of inode 999, which is not there"},
	      {spoil_head, 1, "\"file 700\" is of inode 4294967280, which is not there"},
	      {spoil_head, 2, "is of inode 0, which is not there"},
	      {spoil_head, 3, "\"file 700\" has another type"},
	      {spoil_head, 4, "which has another name"},
	      {spoil_head, 5, "is of directory 1, which has another name"},
	      {spoil_text, 0, "cannot be"}, {spoil_text, 1, "cannot be"},
	      {spoil_text, 2, "cannot be"}, {spoil_text, 3, "cannot be"},
	      {spoil_text, 4, "the name \"file 100\" is there twice"});
}

/* Names that would go where the device has no room are not taken. */
static void refuses_names(struct annex_cxlssd *s)
{
	const struct annex_fs_new what = {S_IFREG, 0, 0, 0};
	struct annex_fs_attr a;
	struct annex_fs *fs = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_fs_mount(s, NULL, &fs), 0);
	CU_ASSERT_EQUAL(annex_fs_make(fs, fsck.many, "new", &what, &a), -EIO);
	CU_ASSERT_EQUAL(annex_fs_unmount(fs), 0);
}

/* Names behind the end, and an end that is too early for the next block. */
static void spoil_end_of_block(struct annex_cxlssd *s, uint32_t way)
{
	const uint32_t block = fsck_get_pointer(s, fsck_get_inode(s, fsck.many).map[0], 5);
	struct fs_line none = {0}, l;

	if (way < 2)
		fsck_put_line(s, block, way ? 63 : 20, &none);
	for (uint32_t line = 50; way == 2 && line < 64; line++)
		fsck_put_line(s, block, line, &none);
	l = fsck_get_line(s, block, 20);
	l.payload[6] = 9;
	l.payload[7] = way == 3 ? FS_DIR_FREE : FS_DIR_NAME;
	if (way > 2)
		fsck_put_line(s, block, 20, &l);
	if (way == 4)
		fsck_spoil(s, block, 25);
	if (way == 2 || way == 3)
		refuses_names(s);
}

static void spoil_directory(struct annex_cxlssd *s, uint32_t way)
{
	struct fs_inode i = fsck_get_inode(s, fsck.many);
	const uint32_t node = i.map[0];

	CU_ASSERT_EQUAL(i.height, 1);
	switch (way) {
	case 0:
		fsck_spoil(s, node, 0);
		break;
	case 1:
		fsck_set_pointer(s, node, 3, 0);
		break;
	case 2:
		fsck_set_pointer(s, node, 3, FS_UNWRITTEN | fsck_get_pointer(s, node, 3));
		break;
	case 3:
		fsck_set_pointer(s, node, 30, fsck_set_pointer(s, node, 12, 0));
		break;
	case 4:
		i.height = 2;
		fsck_put_inode(s, fsck.many, &i);
		break;
	case 5:
		memset(i.map, 0, sizeof(i.map));
		fsck_put_inode(s, fsck.many, &i);
		break;
	default:
		for (uint32_t line = 0; line < FS_LINES; line++)
			fsck_spoil(s, fsck_get_pointer(s, node, 5), line);
		break;
	}
}

/* Lines that were given back are damaged. */
static void spoil_free_lines(struct annex_cxlssd *s, uint32_t way)
{
	const struct fsck_place at = fsck_find(s, fsck.dir, fsck_long_name('c'));
	struct fs_line l = fsck_get_line(s, at.block, at.line);

	l.payload[7] = FS_DIR_FREE;
	fsck_put_line(s, at.block, at.line, &l);
	fsck_spoil(s, at.block, at.line + way);
}

static void blocks_of_directories(void)
{
	TELLS({spoil_directory, 0, "of its map is damaged"},
	      {spoil_directory, 1, "the last one of 13"}, {spoil_directory, 2, "cannot be"},
	      {spoil_directory, 3, "the last one of 31"}, {spoil_directory, 4, "cannot be"},
	      {spoil_directory, 5, "no directory has a name"},
	      {spoil_directory, 6, "line 63 of block"}, {spoil_free_lines, 1, "is damaged"},
	      {spoil_end_of_block, 0, "is no name"},
	      {spoil_end_of_block, 1, "no directory has a name"},
	      {spoil_end_of_block, 2, "ends at line 50"},
	      {spoil_end_of_block, 3, "has too much room"},
	      {spoil_end_of_block, 4, "has too much room"});
}

static void spoil_tree(struct annex_cxlssd *s, uint32_t way)
{
	const struct fsck_place dir = fsck_find(s, 1, "dir"), sub = fsck_find(s, fsck.dir, "sub");
	struct fs_line none = {0};

	if (way == 1) /* a circle: dir has sub, and sub has dir */
		fsck_set_head(s, fsck_find(s, fsck.sub, "deep"), fsck.dir, S_IFDIR >> 12);
	if (way < 2)
		fsck_put_line(s, dir.block, dir.line, &none);
	else if (way == 2) /* of itself */
		fsck_set_head(s, sub, fsck.dir, S_IFDIR >> 12);
	else
		fsck_set_head(s, fsck_find(s, 1, "a"), fsck.sub, S_IFDIR >> 12);
}

static void trees(void)
{
	struct annex_cxlssd *s = fsck_make(FSCK_URI);
	struct annex_fs_report r;

	TELLS({spoil_tree, 1, "no directory has a name"}, {spoil_tree, 2, "which has another name"},
	      {spoil_tree, 3, "which has another name"});
	/* Files below it have names: the problems are its line, itself, and the root's links. */
	spoil_tree(s, 0);
	r = fsck_check(s, "no directory has a name");
	CU_ASSERT(r.problems == 3 && r.directories == 4);
	CU_ASSERT_EQUAL(annex_cxlssd_close(s), 0);
}

UNIT_SUITE(fs_check, {"a file system that is whole", clean}, {"superblocks", superblocks},
	   {"fields of inodes", fields}, {"lines of inodes", lines_of_inodes},
	   {"blocks of inodes", blocks_of_inodes}, {"orphans", orphans}, {"unfinished", unfinished},
	   {"ends", ends}, {"bitmaps", bitmaps}, {"names", names},
	   {"blocks of directories", blocks_of_directories}, {"trees", trees})
