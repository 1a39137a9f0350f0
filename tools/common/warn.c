// SPDX-License-Identifier: GPL-2.0-or-later
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <annex/log.h>
#include "cli.h"
#include "error.h"
#include "progress.h"

#define LINES 32

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char said[LINES][512];
static unsigned int n_said;

/* One call for all: the lock of stdio keeps it whole among what other threads write. */
static void print(const char *line)
{
	fprintf(stderr, "%s%s: warning: %s\n", progress_clear(), cli_name(), line);
}

static void log_warning(void *ctx, enum annex_log_level level, const char *line)
{
	unsigned int i = 0;
	char text[sizeof(said[0])];

	(void)ctx;
	if (level != ANNEX_LOG_WARNING && level != ANNEX_LOG_FATAL)
		return;
	snprintf(text, sizeof(text), "%s", line);
	err_plain(text, sizeof(text));
	pthread_mutex_lock(&lock);
	while (i < n_said && strcmp(said[i], text))
		i++;
	if (i == n_said && i < LINES) {
		memcpy(said[n_said++], text, sizeof(text));
		print(text);
		if (n_said == LINES)
			print("further warnings are not shown");
	}
	pthread_mutex_unlock(&lock);
}

void warn_say(const char *line)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s", line);
	err_plain(text, sizeof(text));
	pthread_mutex_lock(&lock);
	print(text);
	pthread_mutex_unlock(&lock);
}

void warn_init(void)
{
	annex_set_log(log_warning, NULL);
}

void warn_stop(void)
{
	annex_set_log(NULL, NULL);
}
