// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "holder.h"

/*
 * struct wanted - A lock.
 * @file: its file, as in /proc/locks ("08:01:1234").
 * @at: a byte in it.
 */
struct wanted {
	char file[64];
	uint64_t at;
};

/* "lock:	1: OFDLCK  ADVISORY  WRITE -1 08:01:1234 0 EOF", of this descriptor. */
static bool is_wanted(const char *line, const struct wanted *w)
{
	char file[sizeof(w->file)], end[32];
	unsigned long long first, last;

	if (sscanf(line, "lock: %*s OFDLCK %*s %*s %*d %63s %llu %31s", file, &first, end) != 3 ||
	    strcmp(file, w->file))
		return false;
	return first <= w->at &&
	       (!strcmp(end, "EOF") || (sscanf(end, "%llu", &last) == 1 && w->at <= last));
}

static bool has_lock(const char *fdinfo, const struct wanted *w)
{
	FILE *f = fopen(fdinfo, "re");
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = is_wanted(line, w);
	if (f)
		fclose(f);
	return found;
}

/* Nothing of the file itself is asked, as a file system that does not answer would keep us. */
static bool holds(const char *process, const struct wanted *w)
{
	char path[2 * NAME_MAX + 32];
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", process);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", process, e->d_name);
		found = isdigit((unsigned char)e->d_name[0]) && has_lock(path, w);
	}
	if (d)
		closedir(d);
	return found;
}

void annex_holder_name(int fd, uint64_t at, char name[HOLDER_NAME])
{
	struct wanted w = {.at = at};
	struct dirent *e;
	struct stat st;
	bool found = false;
	DIR *d = fstat(fd, &st) ? NULL : opendir("/proc");

	snprintf(name, HOLDER_NAME, "another process");
	if (!d)
		return;
	snprintf(w.file, sizeof(w.file), "%02x:%02x:%llu", major(st.st_dev), minor(st.st_dev),
		 (unsigned long long)st.st_ino);
	while (!found && (e = readdir(d))) {
		found = isdigit((unsigned char)e->d_name[0]) && holds(e->d_name, &w);
		if (found)
			snprintf(name, HOLDER_NAME, "process %.10s", e->d_name);
	}
	closedir(d);
}
