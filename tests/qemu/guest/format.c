// SPDX-License-Identifier: MIT
/*
 * A namespace's format, by the kernel's own driver, for blocks.sh:
 *
 *   format DEVICE INDEX      Format NVM (NVMe Base 2.0 section 5.14)
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct nvme_admin_cmd cmd = {.opcode = 0x80, .nsid = 1, .timeout_ms = 10000};
	int fd, status;

	if (argc != 3)
		return 3;
	cmd.cdw10 = (unsigned int)atoi(argv[2]);
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	status = fd < 0 ? -1 : ioctl(fd, NVME_IOCTL_ADMIN_CMD, &cmd);
	if (!status)
		return 0;
	fprintf(stderr, "%s: %s\n", argv[1],
		status < 0 ? strerror(errno) : "refused by the controller");
	return 1;
}
