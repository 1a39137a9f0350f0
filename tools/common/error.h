/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one line that a failing command prints. The first failure is kept, whichever thread had it:
 * what fails afterwards is a consequence.
 */
#ifndef TOOLS_ERROR_H
#define TOOLS_ERROR_H

#include <stddef.h>

typedef unsigned long long ull; /* the type of "%llu" */

/* err_set() - Keep the line and return @err. */
int err_set(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* err_sys() - The line, ": " and what errno means; returns -errno. */
int err_sys(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* err_lib() - The line, ": " and why the library call that returned @err failed. */
int err_lib(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * err_alias() - Lines shall say @name instead of @path, which only this process can use. 0 or
 * -errno with the line set.
 */
int err_alias(const char *path, const char *name);

/* err_mappings() - 0, or the line and -EIO: a mapped file was truncated, so results are void. */
int err_mappings(void);

/*
 * err_plain() - Make text in a buffer of @size bytes (up to 1024) fit to print: one line, whatever
 * bytes it has, with the names of err_alias().
 */
void err_plain(char *text, size_t size);

/* err_text() - The line kept, or "". err_clear() - Forget it. */
const char *err_text(void);
void err_clear(void);

#endif
