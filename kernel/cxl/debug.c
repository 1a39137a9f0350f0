// SPDX-License-Identifier: GPL-2.0
/*
 * Registers of CXL memory devices, bridges and switches, for debugging by root: annex/ADDRESS/ in
 * debugfs. Not a stable interface.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include "debug.h"
#include "hdm.h"
#include "range.h"

static struct dentry *debug_root;

/* A line for each committed decoder. */
static int decoders_show(struct seq_file *to, void *unused)
{
	annex_range_decoders(to->private, to);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(decoders);

void annex_debug_add(struct annex_hdm *hdm)
{
	hdm->debug = debugfs_create_dir(pci_name(hdm->pdev), debug_root);
	debugfs_create_file("decoders", 0400, hdm->debug, hdm, &decoders_fops);
}

void annex_debug_remove(struct annex_hdm *hdm)
{
	debugfs_remove(hdm->debug);
}

void annex_debug_init(void)
{
	debug_root = debugfs_create_dir("annex", NULL);
}

void annex_debug_exit(void)
{
	debugfs_remove(debug_root);
}
