/* SPDX-License-Identifier: MIT */
/*
 * Namespaces that stay with the kernel's NVMe driver (ng:, nvme:): commands go to it by io_uring's
 * passthrough (IORING_OP_URING_CMD). It can neither abort nor reset: a command ends by the timeout
 * that it carries.
 */
#ifndef ANNEX_EMU_NG_H
#define ANNEX_EMU_NG_H

#include <liburing.h>
#include "req.h"
#include "state.h"

#define EMU_NG_NAME 32   /* bytes for the name of a device in sysfs */
#define EMU_NG_PATH 4200 /* and for a path: as long as a URI, and a folder */
#define EMU_USE_WHY 352  /* and for a clause of annex_emu_used() */

/**
 * struct emu_ng - A namespace of the kernel's driver.
 * @nsid: its identifier there.
 * @most: bytes of the largest command that the kernel takes for certain, however its memory lies.
 * @pieces: of memory, that it takes in one command.
 * @force: writes pass although the kernel uses it.
 * @node: its folder in sysfs, which goes with it.
 * @disk: the name of its block device.
 * @look_at: when to look again whether the kernel uses it (annex_now()).
 * @in_use: it did.
 */
struct emu_ng {
	uint32_t nsid;
	uint32_t most;
	uint32_t pieces;
	bool force;
	char node[64];
	char disk[EMU_NG_NAME];
	uint64_t look_at;
	uint32_t in_use;
};

/*
 * ng.c: annex_emu_ng_open() - Open what a URI names. annex_emu_ng_try() - Read a block of each by
 * the ring: the kernel says no at once, if it does.
 */
int annex_emu_ng_open(struct annex_emu *emu, const struct annex_uri *uri);
int annex_emu_ng_try(struct annex_emu *emu);
void annex_emu_ng_close(struct annex_emu *emu);

/* ng_state.c: whether the kernel uses the disk @disk (sda), or may use it; @why is then a clause,
 * "sda1 is mounted on /mnt". */
bool annex_emu_used(const char *disk, char why[EMU_USE_WHY]);

/* Whether the kernel uses it, or a partition of it, and force=1 was not given; looks
 * once a second, or at once. */
bool annex_emu_ng_in_use(struct emu_ng *ng, bool now);

/* Whether a controller that leads to it is in order, as the kernel sees it. */
bool annex_emu_ng_live(const struct emu_ng *ng);

/* Whether the kernel has lost all of them. */
bool annex_emu_ng_lost(const struct annex_emu *emu);

/* ng_ctrl.c: the names of a controller's namespaces (ng0n1), given as path or PCI address. Return:
 * how many, or a negative errno, with a line. */
int annex_emu_ng_find(const char *body, char names[EMU_NAMESPACES][EMU_NG_NAME]);
/* The last part of what a link leads to; false: there is no such link. */
bool annex_emu_ng_link(const char *link, char name[EMU_NG_NAME]);

/*
 * ng_io.c: annex_emu_ng_issue() - Prepare an entry, of 128 bytes, for the next step of a request.
 * annex_emu_ng_result() - How that ended. True: so has the request, with *@status; false: *@res is
 * the result that the same step of a file would have. annex_emu_ng_transient() - The same command
 * may succeed in a moment.
 */
void annex_emu_ng_issue(const struct annex_emu *emu, const struct emu_req *req,
			const struct emu_ns *ns, struct io_uring_sqe *sqe, int fd);
bool annex_emu_ng_transient(const struct annex_emu *emu, struct emu_req *req, int res);
bool annex_emu_ng_result(struct emu_req *req, int *res, uint16_t *status);

#endif
