// SPDX-License-Identifier: MIT
/*
 * Namespaces of the kernel's NVMe driver: whether it uses them, reaches them, and has them.
 */
#include <annex/disk.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "core/log.h"
#include "ng.h"
#include "tcp.h"

#define LOOK_NS ANNEX_NSEC_PER_SEC /* between looks at who uses a disk */

/* The first use ends the walk. */
static int say_use(const struct annex_disk_entry *entry, void *why)
{
	static const char *const words[] = {
		[ANNEX_DISK_MOUNT] = " is mounted on ",
		[ANNEX_DISK_SWAP] = " is swap",
		[ANNEX_DISK_HOLDER] = " is held by ",
	};

	if (entry->use == ANNEX_DISK_NODE)
		return 0;
	snprintf(why, EMU_USE_WHY, "%s%s%s", entry->device, words[entry->use], entry->name);
	return 1;
}

bool annex_emu_used(const char *disk, char why[EMU_USE_WHY])
{
	int err = annex_disk_walk("", disk, say_use, why);

	if (err < 0)
		snprintf(why, EMU_USE_WHY, "%s", annex_last_error());
	return err;
}

static void look(struct emu_ng *ng)
{
	char why[EMU_USE_WHY];
	uint32_t held = annex_emu_used(ng->disk, why);

	/* Relaxed: the answer stands for itself. */
	if (annex_atomic_load(&ng->in_use, ANNEX_RELAXED) == held)
		return;
	annex_atomic_store(&ng->in_use, held, ANNEX_RELAXED);
	if (held)
		annex_log(ANNEX_LOG_WARNING,
			  "ng: /dev/ng%s: writes are refused while %s; force=1 permits them",
			  ng->disk + 4, why);
}

bool annex_emu_ng_in_use(struct emu_ng *ng, bool now)
{
	uint64_t due, time;

	if (ng->force)
		return false;
	time = annex_now();
	/* Relaxed: of those that come late one looks, others take what was found before. */
	due = annex_atomic_load(&ng->look_at, ANNEX_RELAXED);
	if (now ||
	    (time >= due && annex_atomic_cas(&ng->look_at, &due, time + LOOK_NS, ANNEX_RELAXED)))
		look(ng);
	return annex_atomic_load(&ng->in_use, ANNEX_RELAXED);
}

bool annex_emu_ng_live(const struct emu_ng *ng)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/device", ng->node);
	return annex_emu_ctrl_is(path, "state", "live");
}

bool annex_emu_ng_lost(const struct annex_emu *emu)
{
	for (unsigned int i = 0; i < emu->nns; i++)
		if (!access(emu->ns[i].ng->node, F_OK))
			return false;
	return true;
}
