// SPDX-License-Identifier: MIT
/*
 * Namespaces of the kernel's NVMe driver: whether it uses them, reaches them, and has them.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "holders.h"
#include "ng.h"

#define LOOK_NS ANNEX_NSEC_PER_SEC /* between looks at who uses a disk */

static void look(struct emu_ng *ng)
{
	char why[EMU_HOLDER_WHY];
	uint32_t held = annex_emu_held("", ng->disk, why);

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

/* The state of a controller, in its folder of sysfs. */
static bool is_live(const char *folder)
{
	char path[PATH_MAX], state[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/state", folder);
	file = fopen(path, "re");
	if (file && fscanf(file, "%15s", state) != 1)
		*state = '\0';
	if (file)
		fclose(file);
	return !strcmp(state, "live");
}

bool annex_emu_ng_live(const struct emu_ng *ng)
{
	char path[PATH_MAX], name[EMU_NG_NAME];
	const struct dirent *entry;
	bool live = false;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/device", ng->node);
	if (!annex_emu_ng_link(path, name) || strncmp(name, "nvme-subsys", 11))
		return is_live(path);
	dir = opendir(path);
	while (dir && !live && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/device/%.64s", ng->node, entry->d_name);
		live = is_live(path);
	}
	if (dir)
		closedir(dir);
	return live;
}

bool annex_emu_ng_lost(const struct annex_emu *emu)
{
	for (unsigned int i = 0; i < emu->nns; i++)
		if (!access(emu->ns[i].ng->node, F_OK))
			return false;
	return true;
}
