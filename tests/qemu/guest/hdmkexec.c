// SPDX-License-Identifier: MIT
/*
 * The next kernel, for hdmkexec.sh, without firmware between the two: hdmkexec KERNEL INITRAMFS
 * COMMAND-LINE.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/reboot.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "die.h"

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("%s: %m", path);
	return fd;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		die("usage: hdmkexec KERNEL INITRAMFS COMMAND-LINE");
	if (syscall(SYS_kexec_file_load, open_file(argv[1]), open_file(argv[2]),
		    strlen(argv[3]) + 1, argv[3], 0ul))
		die("kexec_file_load: %m");
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	die("kexec: %m");
}
