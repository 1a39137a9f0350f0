// SPDX-License-Identifier: MIT
/*
 * Blocks of metadata during a check, and the report of problems.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "buf.h"
#include "check.h"
#include "dev.h"
#include "journal.h"

void fs_check_tell(struct fs_check *c, const char *fmt, ...)
{
	char what[CHECK_TEXT + 256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	c->out->problems++;
	if (c->tell)
		c->tell(c->ctx, what);
}

void fs_check_escape(char *to, const uint8_t *text, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (text[i] < ' ' || text[i] > '~' || text[i] == '\\' || text[i] == '"')
			to += snprintf(to, 5, "\\x%02x", text[i]);
		else
			*to++ = (char)text[i];
	*to = 0;
}

static struct check_block **chain(struct fs_check *c, uint32_t block)
{
	return &c->chains[block * 0x9e3779b1u % CHECK_CHAINS];
}

static struct check_block *find(struct fs_check *c, uint32_t block)
{
	struct check_block *b = *chain(c, block);

	while (b && b->block != block)
		b = b->next;
	return b;
}

static struct check_block *add(struct fs_check *c, uint32_t block)
{
	struct check_block *b = calloc(1, sizeof(*b));

	if (!b) {
		annex_fail(-ENOMEM, "file system: out of memory");
		return NULL;
	}
	b->block = block;
	b->next = *chain(c, block);
	*chain(c, block) = b;
	return b;
}

static void give(struct fs_check *c, struct check_block *b)
{
	struct check_block **at = chain(c, b->block);

	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	free(b);
}

/* Remember @b in place of another block, unless that block differs from the device's. */
static void remember(struct fs_check *c, struct check_block *b)
{
	struct check_block **slot = &c->recent[c->cursor++ % CHECK_RECENT];

	if (*slot && !(*slot)->kept)
		give(c, *slot);
	*slot = b;
}

static int read_block(struct fs_check *c, struct check_block *b)
{
	int err = fs_dev_read_blocks(&c->dev, ANNEX_FS_INODE, b->block, b->lines, 1);

	if (err != -EIO)
		return err;
	/* The device's log may still have some lines of a damaged page. */
	fs_check_tell(c, "block %u cannot be read", b->block);
	b->kept = true;
	for (uint32_t i = 0; i < FS_LINES; i++) {
		err = fs_dev_read(&c->dev, ANNEX_FS_INODE,
				  ((uint64_t)b->block * FS_LINES + i) * FS_LINE, &b->lines[i],
				  FS_LINE);
		if (err && err != -EIO)
			return err;
		if (err) {
			memset(&b->lines[i], 0, FS_LINE);
			b->lost |= 1ull << i;
		}
	}
	return 0;
}

int fs_check_get(struct fs_check *c, uint32_t block, struct check_block **out)
{
	int err;

	*out = find(c, block);
	if (*out)
		return 0;
	*out = add(c, block);
	if (!*out)
		return -ENOMEM;
	err = read_block(c, *out);
	if (!err)
		remember(c, *out);
	else
		give(c, *out);
	return err;
}

int fs_check_put(struct fs_check *c, uint32_t block, const struct fs_line *lines)
{
	struct check_block *b = find(c, block);

	if (!b)
		b = add(c, block);
	if (!b)
		return -ENOMEM;
	b->kept = true;
	b->lost = 0;
	memcpy(b->lines, lines, sizeof(b->lines));
	return 0;
}

bool fs_check_good(const struct check_block *b, uint32_t line)
{
	return !(b->lost >> line & 1) && fs_line_good(&b->lines[line], b->block, line);
}

void fs_check_set(struct check_block *b, uint32_t line, const uint8_t *payload)
{
	b->kept = true;
	b->lost &= ~(1ull << line);
	memcpy(b->lines[line].payload, payload, FS_PAYLOAD);
	b->lines[line].crc = fs_line_sum(&b->lines[line], b->block, line);
}

void fs_check_free(struct fs_check *c)
{
	for (uint32_t i = 0; i < CHECK_CHAINS; i++)
		while (c->chains[i])
			give(c, c->chains[i]);
}

static int copy_block(void *ctx, uint32_t block, enum annex_fs_class class,
		      const struct fs_line *lines)
{
	(void)class;
	return fs_check_put(ctx, block, lines);
}

int fs_check_replay(struct fs_check *c)
{
	uint64_t sequence = 0;
	uint32_t head = 0;
	int err;

	if (!c->super.n_journal)
		return 0;
	err = fs_journal_replay(&c->dev, &c->super, copy_block, c, &sequence, &head);
	if (err && err != -EIO)
		return err;
	if (err)
		fs_check_tell(c, "the journal is damaged: its contents are lost");
	return 0;
}
