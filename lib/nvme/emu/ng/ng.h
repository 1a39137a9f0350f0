/* SPDX-License-Identifier: MIT */
/*
 * Namespaces that stay with the kernel's NVMe driver (ng:, nvme:): commands go to it by io_uring's
 * passthrough (IORING_OP_URING_CMD). It can neither abort nor reset: a command ends by its own
 * timeout.
 */
#ifndef ANNEX_EMU_NG_H
#define ANNEX_EMU_NG_H

#include "nvme/emu/ring/disk.h"
#include "nvme/emu/ring/ring.h"

/**
 * struct emu_ng - A namespace of the kernel's driver.
 * @nsid: its identifier there.
 * @protect: it has protection information, which the controller inserts and strips.
 * @force: writes are allowed although the kernel uses it.
 * @node: its folder in sysfs.
 * @disk: the name of its block device.
 * @look_at: time of the next check whether the kernel uses it (annex_now()).
 * @in_use: result of the last check.
 */
struct emu_ng {
	uint32_t nsid;
	bool protect;
	bool force;
	char node[64];
	char disk[EMU_DISK_NAME];
	uint64_t look_at;
	uint32_t in_use;
};

/**
 * struct emu_ngs - The state of the backend.
 * @ring: the io_uring.
 * @failed: a command has failed in this call of reap().
 * @ns: of each namespace, to which ns->own points.
 */
struct emu_ngs {
	struct emu_ring ring;
	bool failed;
	struct emu_ng ns[EMU_NAMESPACES];
};

/* open.c: annex_emu_ng_open() - The namespaces of a URI. */
int annex_emu_ng_open(struct annex_emu *emu, const struct annex_uri *uri);
/* try.c: annex_emu_ng_try() - Read a block of each by the ring, to see whether the kernel takes
 * commands. */
int annex_emu_ng_try(struct annex_emu *emu);

/* ctrl.c: the names of the namespaces (ng0n1) of a controller, whose path or PCI address is @body.
 * Return: the number of them, or a negative errno, with a line. */
int annex_emu_ng_find(const char *body, char names[EMU_NAMESPACES][EMU_DISK_NAME]);

/*
 * io.c: annex_emu_ng_issue() - Prepare an entry, of 128 bytes, for the next step of a request.
 * annex_emu_ng_result() - Evaluate its result. True: the request has ended, with *@status; false:
 * *@res is the result that the same step of a file would have. annex_emu_ng_transient() - Whether
 * the same command may succeed in a moment.
 */
void annex_emu_ng_issue(const struct annex_emu *emu, const struct emu_req *req,
			const struct emu_ns *ns, struct io_uring_sqe *sqe, int fd);
bool annex_emu_ng_transient(const struct annex_emu *emu, struct emu_req *req, int res);
bool annex_emu_ng_result(struct emu_req *req, int *res, uint16_t *status);

#endif
