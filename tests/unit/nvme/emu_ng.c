// SPDX-License-Identifier: MIT
/*
 * Drives that stay the kernel's: refusals, uses of the drive by the kernel, and how commands are
 * passed on. Guests have drives to do that with: tests/qemu/guest/ng*.sh.
 */
#define _GNU_SOURCE
#include <annex/disk.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "nvme/emu/ng/ng.h"
#include "tests/unit/unit.h"

static int try(const char *uri)
{
	struct annex_dev *dev = NULL;
	int err = annex_dev_open(uri, NULL, &dev);

	annex_dev_close(dev);
	return err;
}

static void refused(void)
{
	CU_ASSERT_EQUAL(try("ng:"), -EINVAL);
	CU_ASSERT_EQUAL(try("ng:/dev/no-such-drive"), -ENOENT);
	CU_ASSERT_EQUAL(try("ng:/dev/null"), -EINVAL);
	CU_ASSERT(strstr(annex_last_error(), "/dev/null is no generic device") != NULL);
	CU_ASSERT_EQUAL(try("ng:/proc/self/exe"), -ETXTBSY);
	CU_ASSERT_EQUAL(try("ng:/proc/self/exe?readonly=1"), -EINVAL);
	CU_ASSERT_EQUAL(try("ng:/dev?readonly=1"), -EINVAL);
	CU_ASSERT_EQUAL(try("ng:/dev/null?direct=1"), -EINVAL);
	CU_ASSERT(strstr(annex_last_error(), "direct") != NULL);
	CU_ASSERT_EQUAL(try("ng:/dev/null?force=2"), -ERANGE);
	CU_ASSERT_EQUAL(try("ng:/dev/null?poll=2"), -ERANGE);
	CU_ASSERT_EQUAL(try("ng:/dev/null?readonly=1&readonly=1"), -EINVAL);
	CU_ASSERT_EQUAL(try("ng:/dev/null?serve=nobody"), -EINVAL);
	CU_ASSERT_EQUAL(try("nvme:"), -ENODEV);
	CU_ASSERT_EQUAL(try("nvme:/dev/no-such-drive"), -ENOENT);
	CU_ASSERT_EQUAL(try("nvme:/dev/null"), -EINVAL);
	CU_ASSERT(strstr(annex_last_error(), "/dev/null is no NVMe controller") != NULL);
	CU_ASSERT_EQUAL(try("nvme:9999:00:00.0"), -ENODEV);
	CU_ASSERT_EQUAL(try("nvme:..?force=1"), -ENODEV);
	CU_ASSERT_EQUAL(try("nvme:9999:00:00.0?ns=/dev/null"), -EINVAL);
}

static void put(const char *root, const char *path, const char *format, ...)
{
	char full[512], *slash;
	va_list args;
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0777);
		*slash = '/';
	}
	file = fopen(full, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fclose(file);
}

/* Another disk is mounted, and swap; sda and its partition are unused. */
static void quiet(const char *root)
{
	put(root, "sys/class/block/sda/dev", "8:0\n");
	put(root, "sys/class/block/sda1/dev", "8:1\n");
	put(root, "sys/class/block/sda/sda1/partition", "1\n");
	put(root, "sys/class/block/sda/queue/dev", "8:16\n"); /* no partition */
	put(root, "proc/self/mountinfo",
	    "22 1 8:17 / / rw,noatime shared:1 - ext4 /dev/sdb1 rw\n"
	    "23 1 0:23 / /sda1 rw - tmpfs sda1 rw\nnonsense\n\n");
	put(root, "proc/swaps", "Filename Type Size Used Priority\n/dev/sdb2 partition 1 0 -2\n");
}

/* Append an entry to text, "sda1 mount /mnt; "; a mount on /stop ends the walk. */
static int note(const struct annex_disk_entry *entry, void *arg)
{
	static const char *const uses[] = {"mount", "swap", "holder", "node"};
	char *text = arg;
	size_t len = strlen(text);

	snprintf(text + len, 512 - len, "%s %s %s; ", entry->device, uses[entry->use], entry->name);
	return strcmp(entry->name, "/stop") ? 0 : 7;
}

static const char *walk(const char *root, const char *disk, int expected)
{
	static char text[512];

	text[0] = '\0';
	CU_ASSERT_EQUAL(annex_disk_walk(root, disk, note, text), expected);
	return text;
}

static void mounts(const char *root)
{
	put(root, "proc/self/mountinfo", "24 1 8:1 / /mnt rw - ext4 /dev/root rw\n");
	CU_ASSERT_STRING_EQUAL(walk(root, "sda", 0), "sda node ; sda1 node ; sda1 mount /mnt; ");
	put(root, "proc/self/mountinfo", "24 1 8:0 / /a\\040b rw - ext4 /dev/root rw\n");
	CU_ASSERT_STRING_EQUAL(walk(root, "sda", 0), "sda node ; sda mount /a b; sda1 node ; ");
	put(root, "proc/self/mountinfo", "24 1 0:40 / /b rw shared:2 - btrfs /dev/sda1 rw\n");
	CU_ASSERT_STRING_EQUAL(walk(root, "sda", 0), "sda node ; sda1 node ; sda1 mount /b; ");
	put(root, "proc/self/mountinfo", "24 1 8:16 / /mnt rw - ext4 /dev/sdb rw\n");
	CU_ASSERT_STRING_EQUAL(walk(root, "sda", 0), "sda node ; sda1 node ; ");
	put(root, "proc/self/mountinfo", "24 1 8:0 / /stop rw - ext4 /dev/sda rw\n");
	CU_ASSERT_STRING_EQUAL(walk(root, "sda", 7), "sda node ; sda mount /stop; ");
}

/* A volume on a partition, which is mounted by its label. */
static void volume(const char *root)
{
	put(root, "sys/class/block/sda1/holders/dm-0", "");
	put(root, "sys/class/block/dm-0/dev", "253:0\n");
	put(root, "sys/class/block/dm-0/dm/name", "vg-data\n");
	put(root, "proc/self/mountinfo", "24 1 0:40 / /v rw - btrfs /dev/mapper/vg-data rw\n");
	CU_ASSERT_STRING_EQUAL(walk(root, "sda", 0),
			       "sda node ; sda1 node ; sda1 holder dm-0; dm-0 node vg-data; "
			       "dm-0 mount /v; ");
}

static void users(void)
{
	char root[] = "/tmp/annex-users-XXXXXX", command[128];

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
	quiet(root);
	CU_ASSERT_STRING_EQUAL(walk(root, "sda", 0), "sda node ; sda1 node ; ");
	CU_ASSERT_STRING_EQUAL(walk(root, "none", 0), "none node ; ");
	mounts(root);
	quiet(root);
	put(root, "proc/swaps", "Filename Type Size Used Priority\n/dev/sda1 partition 1 0 -2\n");
	CU_ASSERT_STRING_EQUAL(walk(root, "sda", 0), "sda node ; sda1 node ; sda1 swap ; ");
	quiet(root);
	volume(root);
	/* A stack without an end: that of a hostile or broken copy. */
	put(root, "sys/class/block/dm-0/holders/dm-0", "");
	quiet(root);
	walk(root, "sda", 0);

	snprintf(command, sizeof(command), "rm %s/proc/self/mountinfo", root);
	CU_ASSERT_EQUAL(system(command), 0);
	walk(root, "sdc", -EIO);
	CU_ASSERT_STRING_EQUAL(annex_last_error(),
			       "sdc may be mounted, as /proc/self/mountinfo cannot be read");
	snprintf(command, sizeof(command), "rm -r %s", root);
	CU_ASSERT_EQUAL(system(command), 0);
}

/* A disk by several controllers, one by one, a partition, and a volume on top of that. */
static void over_tcp(void)
{
	struct stat disk = {.st_mode = S_IFBLK, .st_rdev = makedev(259, 0)},
		    node = {.st_mode = S_IFCHR, .st_rdev = makedev(240, 0)},
		    other = {.st_mode = S_IFBLK, .st_rdev = makedev(259, 1)},
		    part = {.st_mode = S_IFBLK, .st_rdev = makedev(259, 2)},
		    file = {.st_mode = S_IFREG, .st_dev = makedev(253, 0)};
	char root[] = "/tmp/annex-tcp-XXXXXX", command[128];

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
	put(root, "sys/dev/block/259:0/device/nvme0/transport", "pcie\n");
	put(root, "sys/dev/block/259:0/device/nqn", "annex\n");
	put(root, "sys/dev/block/259:1/device/transport", "tcp\n");
	put(root, "sys/dev/char/240:0/device/nvme0/transport", "pcie\n");
	put(root, "sys/dev/block/259:0/p/partition", "1\n");
	snprintf(command, sizeof(command), "ln -s 259:0/p %s/sys/dev/block/259:2", root);
	CU_ASSERT_EQUAL(system(command), 0);
	put(root, "sys/dev/block/253:0/slaves/p/dev", "259:2\n");
	snprintf(command, sizeof(command),
		 "cd %s/sys/dev/block/253:0/slaves && rm -r p && "
		 "ln -s ../../259:0/p p",
		 root);
	CU_ASSERT_EQUAL(system(command), 0);
	CU_ASSERT(annex_emu_over_tcp(root, &other));
	CU_ASSERT_FALSE(annex_emu_over_tcp(root, &disk));
	CU_ASSERT_FALSE(annex_emu_over_tcp(root, &node));
	CU_ASSERT_FALSE(annex_emu_over_tcp(root, &part));
	CU_ASSERT_FALSE(annex_emu_over_tcp(root, &file));
	put(root, "sys/dev/block/259:0/device/nvme1/transport", "tcp\n");
	put(root, "sys/dev/char/240:0/device/nvme1/transport", "tcp\n");
	CU_ASSERT(annex_emu_over_tcp(root, &disk));
	CU_ASSERT(annex_emu_over_tcp(root, &node));
	CU_ASSERT(annex_emu_over_tcp(root, &part));
	CU_ASSERT(annex_emu_over_tcp(root, &file));
	file.st_dev = makedev(7, 7);
	CU_ASSERT_FALSE(annex_emu_over_tcp(root, &file));
	snprintf(command, sizeof(command), "rm -r %s", root);
	CU_ASSERT_EQUAL(system(command), 0);
}

/* A request of 3 blocks of 4096 bytes from block 5 on, where the kernel takes 8192 bytes. */
struct fixture {
	struct annex_emu *emu;
	struct emu_ng ng;
	struct emu_ns ns;
	struct emu_req req;
	struct io_uring_sqe sqe[2];
	const struct nvme_uring_cmd *cmd;
};

static void begin(struct fixture *f, uint8_t opcode)
{
	memset(f, 0, sizeof(*f));
	memset(f->sqe, 0xee, sizeof(f->sqe)); /* an entry that was used */
	f->emu = calloc(1, sizeof(*f->emu));
	CU_ASSERT_PTR_NOT_NULL_FATAL(f->emu);
	f->emu->ctrl.timeout_ms = 30000;
	f->ng = (struct emu_ng){.nsid = 7};
	f->ns = (struct emu_ns){.nsid = 1, .shift = 12, .most = 8192, .pieces = 2, .own = &f->ng};
	f->req = (struct emu_req){.ns = &f->ns, .pos = 5 << 12, .len = 3 << 12, .steps = 1};
	f->req.sqe.opcode = opcode;
	f->req.iov[0] = (struct iovec){(void *)65536, 3 << 12};
	f->req.segs = f->req.iov;
	f->req.nsegs = 1;
	f->req.buf = -1;
	f->cmd = (const struct nvme_uring_cmd *)(const void *)f->sqe[0].cmd;
}

/* The next command, which ends like that. Return: whether the request has ended. */
static bool step(struct fixture *f, int res, uint16_t *status)
{
	annex_emu_io_next(&f->req, &f->ns);
	annex_emu_ng_issue(f->emu, &f->req, &f->ns, f->sqe, 3);
	CU_ASSERT_EQUAL(f->sqe[0].opcode, IORING_OP_URING_CMD);
	CU_ASSERT_EQUAL(f->sqe[0].fd, 3);
	CU_ASSERT_EQUAL(f->cmd->nsid, 7);
	CU_ASSERT_EQUAL(f->cmd->timeout_ms, 15000);
	CU_ASSERT_EQUAL(f->cmd->flags | f->cmd->cdw2 | f->cmd->cdw13 | f->cmd->rsvd2, 0);
	*status = 0;
	return annex_emu_ng_result(&f->req, &res, status) ||
	       annex_emu_step_result(&f->req, res, status);
}

/* One command of a read or write: that part of the data. */
static void moves(struct fixture *f, uint8_t opcode, uint64_t slba, uint32_t blocks, uint64_t addr,
		  bool more)
{
	uint16_t status;
	bool over = step(f, 0, &status);

	CU_ASSERT_EQUAL(over, !more);
	CU_ASSERT_EQUAL(status, 0);
	CU_ASSERT_EQUAL(f->cmd->opcode, opcode);
	CU_ASSERT_EQUAL(f->cmd->cdw10 | (uint64_t)f->cmd->cdw11 << 32, slba);
	CU_ASSERT_EQUAL(f->cmd->cdw12 & 0xffff, blocks - 1);
	CU_ASSERT_EQUAL(f->cmd->addr, addr);
	CU_ASSERT_EQUAL(f->cmd->data_len, blocks << 12);
}

static void divided(void)
{
	struct fixture f;

	begin(&f, ANNEX_NVM_READ);
	f.req.buf = 9;
	f.req.pos = 0x123456789ull << 12;
	moves(&f, ANNEX_NVM_READ, 0x123456789, 2, 65536, true);
	CU_ASSERT_EQUAL(f.sqe[0].cmd_op, NVME_URING_CMD_IO);
	CU_ASSERT_EQUAL(f.sqe[0].uring_cmd_flags, IORING_URING_CMD_FIXED);
	CU_ASSERT_EQUAL(f.sqe[0].buf_index, 9);
	moves(&f, ANNEX_NVM_READ, 0x12345678b, 1, 65536 + 8192, false);
	free(f.emu);

	begin(&f, ANNEX_NVM_WRITE);
	f.req.sqe.cdw12 = ANNEX_RW_FUA | 1u << 29 | 2; /* bits of its own are not passed on */
	moves(&f, ANNEX_NVM_WRITE, 5, 2, 65536, true);
	CU_ASSERT_EQUAL(f.sqe[0].uring_cmd_flags, 0);
	CU_ASSERT_EQUAL(f.cmd->cdw12, ANNEX_RW_FUA | 1);
	moves(&f, ANNEX_NVM_WRITE, 7, 1, 65536 + 8192, false);
	CU_ASSERT_EQUAL(f.cmd->cdw12, ANNEX_RW_FUA);
	free(f.emu);
}

static void pieces(void)
{
	struct fixture f;
	uint16_t status;

	begin(&f, ANNEX_NVM_WRITE);
	f.req.len = 8192;
	f.req.iov[0].iov_len = 100;
	f.req.iov[1] = (struct iovec){(void *)131072, 8092};
	f.req.nsegs = 2;
	CU_ASSERT(step(&f, 0, &status));
	CU_ASSERT_EQUAL(f.sqe[0].cmd_op, NVME_URING_CMD_IO_VEC);
	CU_ASSERT_EQUAL(f.cmd->addr, (uintptr_t)f.req.iov);
	CU_ASSERT_EQUAL(f.cmd->data_len, 2);
	CU_ASSERT_EQUAL(f.cmd->cdw12, 1);
	free(f.emu);
}

/* Zeroes are written where the drive has no command for them; all ranges are one command. */
static void without_data(void)
{
	struct annex_dsm_range ranges[2] = {{0, 1, 2}, {0, 3, 4}};
	struct fixture f;
	uint16_t status;

	begin(&f, ANNEX_NVM_WRITE_ZEROES);
	f.req.sqe.cdw12 = ANNEX_RW_FUA | ANNEX_WZ_DEAC;
	f.req.steps = 2;
	CU_ASSERT(step(&f, 0, &status));
	CU_ASSERT_EQUAL(f.cmd->opcode, ANNEX_NVM_WRITE_ZEROES);
	CU_ASSERT_EQUAL(f.cmd->cdw12, ANNEX_RW_FUA | ANNEX_WZ_DEAC | 2);
	CU_ASSERT_EQUAL(f.cmd->data_len, 0);
	free(f.emu);

	begin(&f, ANNEX_NVM_WRITE_ZEROES);
	CU_ASSERT_FALSE(step(&f, ANNEX_SC_INVALID_OPCODE | ANNEX_SC_DNR, &status));
	moves(&f, ANNEX_NVM_WRITE, 5, 2, (uintptr_t)annex_emu_zeroes, true);
	moves(&f, ANNEX_NVM_WRITE, 7, 1, (uintptr_t)annex_emu_zeroes, false);
	free(f.emu);

	begin(&f, ANNEX_NVM_DSM);
	f.req.ranges = ranges;
	f.req.steps = 2;
	CU_ASSERT(step(&f, ANNEX_SC_INVALID_OPCODE, &status)); /* a hint */
	CU_ASSERT_EQUAL(status, 0);
	f.req.step = 0;
	CU_ASSERT(step(&f, 0, &status));
	CU_ASSERT_EQUAL(f.cmd->addr, (uintptr_t)ranges);
	CU_ASSERT_EQUAL(f.cmd->data_len, sizeof(ranges));
	CU_ASSERT_EQUAL(f.cmd->cdw10, 1);
	CU_ASSERT_EQUAL(f.cmd->cdw11, ANNEX_DSM_DEALLOCATE);
	free(f.emu);

	begin(&f, ANNEX_NVM_FLUSH);
	CU_ASSERT(step(&f, 0, &status));
	CU_ASSERT_EQUAL(f.cmd->opcode, ANNEX_NVM_FLUSH);
	CU_ASSERT_EQUAL(f.cmd->cdw10 | f.cmd->cdw12 | f.cmd->data_len, 0);
	free(f.emu);
}

static void errors(void)
{
	struct fixture f;
	uint16_t status;

	begin(&f, ANNEX_NVM_READ);
	CU_ASSERT(step(&f, ANNEX_SC_LBA_RANGE | ANNEX_SC_DNR, &status));
	CU_ASSERT_EQUAL(status, ANNEX_SC_LBA_RANGE); /* as the drive has it */
	CU_ASSERT(step(&f, ANNEX_SC_INVALID_FIELD, &status));
	CU_ASSERT_EQUAL(status, ANNEX_SC_INVALID_FIELD);
	CU_ASSERT(step(&f, -EIO, &status));
	CU_ASSERT_EQUAL(status, ANNEX_SC_UNRECOVERED_READ);
	CU_ASSERT(step(&f, -EFAULT, &status));
	CU_ASSERT_EQUAL(status, ANNEX_SC_DATA_TRANSFER);
	CU_ASSERT(step(&f, ANNEX_SC_DNR, &status)); /* not 0, and of no kind */
	CU_ASSERT_EQUAL(status, ANNEX_SC_INTERNAL);
	CU_ASSERT(step(&f, -EINVAL, &status));
	CU_ASSERT_EQUAL(status, ANNEX_SC_INVALID_FIELD);

	CU_ASSERT(annex_emu_ng_transient(f.emu, &f.req, -EINTR));
	CU_ASSERT(annex_emu_ng_transient(f.emu, &f.req, -EINVAL));
	CU_ASSERT(annex_emu_ng_transient(f.emu, &f.req, ANNEX_SC_ABORTED_BY_HOST | ANNEX_SC_DNR));
	CU_ASSERT_FALSE(annex_emu_ng_transient(f.emu, &f.req, 0));
	CU_ASSERT_FALSE(annex_emu_ng_transient(f.emu, &f.req, -EIO));
	CU_ASSERT_FALSE(annex_emu_ng_transient(f.emu, &f.req, ANNEX_SC_UNRECOVERED_READ));
	free(f.emu);
}

UNIT_SUITE(emu_ng, {"other files are refused", refused}, {"the users of a disk are found", users},
	   {"over TCP", over_tcp}, {"large commands are divided", divided}, {"pieces", pieces},
	   {"zeroes, ranges, flush", without_data}, {"errors", errors});
