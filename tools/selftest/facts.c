// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include "../mem.h"
#include "../pool.h"
#include "selftest.h"

/* The first line of @path that begins with @key, from behind that and ": \t"; NULL: none. */
static json_t *line_of(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	char line[512], *value = NULL;

	while (f && !value && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = line + strlen(key);
	if (f)
		fclose(f);
	if (!value)
		return NULL;
	value += strspn(value, ": \t");
	value[strcspn(value, "\n")] = '\0';
	return json_string(value);
}

/* The file system that @dir is on, and what that lies on, as the kernel lists them. */
static void mount_of(struct out *o, const char *dir)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[1024], type[64], source[256];
	unsigned int major_of, minor_of;
	struct stat st;
	const char *rest;

	while (f && !stat(dir, &st) && fgets(line, sizeof(line), f)) {
		rest = strstr(line, " - ");
		if (!rest || sscanf(line, "%*u %*u %u:%u", &major_of, &minor_of) != 2 ||
		    major_of != major(st.st_dev) || minor_of != minor(st.st_dev) ||
		    sscanf(rest, " - %63s %255s", type, source) != 2)
			continue;
		out_json(o, "file_system", json_string(type));
		out_json(o, "file_system_on", json_string(source));
		break;
	}
	if (f)
		fclose(f);
}

void facts_report(struct out *o, const char *dir)
{
	struct utsname u;

	out_json(o, "version", json_string(ANNEX_VERSION));
	if (!uname(&u)) {
		out_json(o, "kernel", json_string(u.release));
		out_json(o, "machine", json_string(u.machine));
	}
	out_json(o, "cpu", line_of("/proc/cpuinfo", "model name"));
	out_json(o, "cpus", json_integer(pool_default_threads()));
	out_json(o, "memory_bytes", json_integer((json_int_t)mem_limit()));
	out_json(o, "io_uring_disabled", line_of("/proc/sys/kernel/io_uring_disabled", ""));
	out_json(o, "unprivileged_userfaultfd",
		 line_of("/proc/sys/vm/unprivileged_userfaultfd", ""));
	mount_of(o, dir);
}
