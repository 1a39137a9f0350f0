// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include <annex/mapping.h>
#include "error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char first[1024];

#define ALIASES 16

static struct {
	char *path, *name;
} aliases[ALIASES];
static unsigned int n_aliases;

int err_alias(const char *path, const char *name)
{
	char *p = strdup(path), *n = strdup(name);
	bool kept;

	pthread_mutex_lock(&lock);
	kept = p && n && n_aliases < ALIASES;
	if (kept) {
		aliases[n_aliases].path = p;
		aliases[n_aliases++].name = n;
	}
	pthread_mutex_unlock(&lock);
	if (kept)
		return 0;
	free(p);
	free(n);
	return err_set(-ENOMEM, "out of memory, or more than %d new files", ALIASES);
}

/* Where @path is in @text, and no longer one that begins so. */
static char *find_path(char *text, const char *path)
{
	size_t len = strlen(path);
	char *at = strstr(text, path);

	while (at && at[len] >= '0' && at[len] <= '9')
		at = strstr(at + len, path);
	return at;
}

static void use_aliases(char *text, size_t size)
{
	char rest[sizeof(first)];

	for (unsigned int i = 0; i < n_aliases; i++) {
		const char *path = aliases[i].path, *name = aliases[i].name;
		char *at = text;

		while ((at = find_path(at, path))) {
			strcpy(rest, at + strlen(path));
			snprintf(at, size - (size_t)(at - text), "%s%s", name, rest);
			at += strlen(at) < strlen(name) ? strlen(at) : strlen(name);
		}
	}
}

/* With the lock. One line, whatever bytes a file name or a hostile file put in it. */
static void tidy(char *text, size_t size)
{
	use_aliases(text, size);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
}

void err_plain(char *text, size_t size)
{
	pthread_mutex_lock(&lock);
	tidy(text, size);
	pthread_mutex_unlock(&lock);
}

static void keep(const char *fmt, va_list ap, const char *why)
{
	size_t n;

	pthread_mutex_lock(&lock);
	if (!first[0]) {
		vsnprintf(first, sizeof(first), fmt, ap);
		n = strlen(first);
		if (why)
			snprintf(first + n, sizeof(first) - n, ": %s", why);
		tidy(first, sizeof(first));
	}
	pthread_mutex_unlock(&lock);
}

int err_set(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	keep(fmt, ap, NULL);
	va_end(ap);
	return err;
}

int err_sys(const char *fmt, ...)
{
	int err = errno ? errno : EIO;
	va_list ap;

	va_start(ap, fmt);
	keep(fmt, ap, strerror(err));
	va_end(ap);
	return -err;
}

int err_lib(int err, const char *fmt, ...)
{
	const char *why = annex_last_error();
	va_list ap;

	va_start(ap, fmt);
	keep(fmt, ap, *why ? why : annex_strerror(err));
	va_end(ap);
	return err;
}

int err_mappings(void)
{
	int err = annex_mapping_check_all();

	return err ? err_lib(err, "the data read is incomplete") : 0;
}

const char *err_text(void)
{
	return first;
}

void err_clear(void)
{
	first[0] = '\0';
}
