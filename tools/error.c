// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <annex/log.h>
#include "error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char first[1024];

static void keep(const char *fmt, va_list ap, const char *why)
{
	size_t n;

	pthread_mutex_lock(&lock);
	if (!first[0]) {
		vsnprintf(first, sizeof(first), fmt, ap);
		n = strlen(first);
		if (why)
			snprintf(first + n, sizeof(first) - n, ": %s", why);
		/* One line, whatever bytes a file name or a hostile file put in it. */
		for (char *p = first; *p; p++)
			if ((unsigned char)*p < ' ' || *p == 0x7f)
				*p = '?';
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

const char *err_text(void)
{
	return first;
}

void err_clear(void)
{
	first[0] = '\0';
}
