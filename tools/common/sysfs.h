/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small files of the kernel's, under a root: "" for this machine, or a folder that holds a copy of
 * another one's /sys, /proc and /dev. Paths are formats, without the root and its slash.
 */
#ifndef TOOLS_PCI_SYSFS_H
#define TOOLS_PCI_SYSFS_H

#include <stdbool.h>
#include <stddef.h>

#define SYSFS_PATH 640

/* sysfs_path() - The whole path; one that is too long becomes "", which nothing has. */
void sysfs_path(char *path, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* sysfs_is() - Whether it is there. */
bool sysfs_is(const char *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* sysfs_text() - The first line of a file in @buf; false, and "": there is none. */
bool sysfs_text(char *buf, size_t size, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* sysfs_number() - The number that a file begins with, decimal or 0x; @none if there is none. */
long long sysfs_number(long long none, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* sysfs_link() - Last part of what a link says; false, and "": there is none. */
bool sysfs_link(char *buf, size_t size, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * struct sysfs_dir - The names in a folder, sorted, without hidden ones. None where there is no
 * folder.
 */
struct sysfs_dir {
	char **name;
	unsigned int n;
};

void sysfs_dir(struct sysfs_dir *dir, const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void sysfs_dir_free(struct sysfs_dir *dir);

/*
 * sysfs_write() - Have the kernel take @text in a file of this machine. sysfs_read() - Have it say
 * the first line of one. A driver may hold both up for as long as its device does not answer, so it
 * is a child that waits: -ETIMEDOUT after @ms milliseconds. Return 0 or a negative errno, and set
 * no line.
 */
int sysfs_write(const char *path, const char *text, int ms);
int sysfs_read(const char *path, char *buf, size_t size, int ms);

#endif
