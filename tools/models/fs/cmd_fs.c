// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include "tools/common/cli.h"
#include "tools/common/commands.h"

static const struct cli_command commands[] = {{"mkfs", fs_mkfs, "make an empty file system"},
					      {"mount", fs_mount, "mount it on a directory"},
					      {"fsck", fs_fsck, "check it for damage"},
					      {"stat", fs_stat, "print its sizes and free space"},
					      {NULL, NULL, NULL}};

int cmd_fs(int argc, char **argv)
{
	return cli_dispatch(commands, "File systems on CXL-SSDs.", argc, argv);
}
