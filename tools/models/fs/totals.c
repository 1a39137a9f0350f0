// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include "tools/common/cli.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "totals.h"

const char *totals_design(enum annex_fs_design design)
{
	return design == ANNEX_FS_BYTEFS ? "bytefs" : "ext4-like";
}

void totals_report(struct out *out, struct image *i)
{
	struct annex_fs_stats s;

	annex_fs_get_stats(i->fs, &s);
	out_text(out, "design", "design", totals_design(s.design));
	out_bytes(out, "device_bytes", "device", annex_cxlssd_bytes(i->s));
	out_bytes(out, "bytes", "for files", s.blocks * ANNEX_FS_BLOCK);
	out_bytes(out, "free_bytes", "free", s.free_blocks * ANNEX_FS_BLOCK);
	out_bytes(out, "block_bytes", "block", ANNEX_FS_BLOCK);
	out_count(out, "blocks", "blocks", s.blocks);
	out_count(out, "free_blocks", "free blocks", s.free_blocks);
	out_count(out, "inodes", "inodes", s.inodes);
	out_count(out, "free_inodes", "free inodes", s.free_inodes);
}

static const struct {
	const char *key, *label;
} classes[ANNEX_FS_CLASSES] = {
	[ANNEX_FS_INODE] = {"inode", "inodes"},
	[ANNEX_FS_MAP] = {"map", "maps"},
	[ANNEX_FS_BITMAP] = {"bitmap", "bitmaps"},
	[ANNEX_FS_DIRECTORY] = {"directory", "directories"},
	[ANNEX_FS_JOURNAL] = {"journal", "journal"},
	[ANNEX_FS_DATA] = {"data", "data"},
};

static uint64_t programmed(const struct image *i)
{
	struct annex_cxlssd_stats s;

	annex_cxlssd_get_stats(i->s, &s);
	return s.flash_writes;
}

void traffic_begin(struct traffic *t, const struct image *i)
{
	t->pages = programmed(i);
}

void traffic_end(struct traffic *t, const struct image *i)
{
	annex_fs_get_stats(i->fs, &t->fs);
}

static json_t *pair(const uint64_t *n)
{
	return json_pack("{s:I,s:I}", "bytes", (json_int_t)n[0], "blocks", (json_int_t)n[1]);
}

static void add_class(struct out *out, json_t *list, const struct traffic *t, unsigned int c)
{
	const uint64_t *r = t->fs.read[c], *w = t->fs.written[c];
	char text[4][OUT_SIZE];

	out_row(out, classes[c].label, "%10s %10s %10s %10s", out_size((double)r[0], text[0]),
		out_size((double)r[1], text[1]), out_size((double)w[0], text[2]),
		out_size((double)w[1], text[3]));
	json_array_append_new(list, json_pack("{s:s,s:o,s:o}", "kind", classes[c].key, "read",
					      pair(r), "written", pair(w)));
}

int traffic_report(const struct traffic *t, const struct image *i, bool json)
{
	json_t *list = json_array();
	struct out out;
	int err = annex_cxlssd_flush(i->s, NULL);

	if (err) {
		json_decref(list);
		return err_lib(err, "%s", i->path);
	}
	out_init(&out, cli_name(), json);
	out_text(&out, "device", "device", i->uri);
	out_text(&out, "design", "design", totals_design(t->fs.design));
	out_row(&out, "", "%10s %10s %10s %10s", "read", "by blocks", "written", "by blocks");
	for (unsigned int c = 0; c < ANNEX_FS_CLASSES; c++)
		add_class(&out, list, t, c);
	out_json(&out, "traffic", list);
	out_count(&out, "commits", "commits", t->fs.commits);
	out_count(&out, "flash_pages", "flash pages written", programmed(i) - t->pages);
	return out_end(&out);
}
