// SPDX-License-Identifier: GPL-2.0-or-later
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include "tools/common/cli.h"
#include "tools/common/error.h"
#include "journal.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last[512];
static bool detached;

static void write_line(enum annex_log_level level, const char *text)
{
	static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_CRIT};

	if (detached)
		syslog(priorities[level], "%s: %s", cli_name(), text);
	else
		fprintf(stderr, "%s: %s%s\n", cli_name(),
			level == ANNEX_LOG_WARNING ? "warning: " : "", text);
}

void journal_line(enum annex_log_level level, const char *text)
{
	char line[sizeof(last)];

	snprintf(line, sizeof(line), "%s", text);
	err_plain(line, sizeof(line));
	pthread_mutex_lock(&lock);
	if (strcmp(line, last)) {
		memcpy(last, line, sizeof(last));
		write_line(level, line);
	}
	pthread_mutex_unlock(&lock);
}

static void from_library(void *ctx, enum annex_log_level level, const char *line)
{
	(void)ctx;
	if (level != ANNEX_LOG_INFO)
		journal_line(level, line);
}

void journal_detach(void)
{
	openlog("annex", LOG_PID, LOG_DAEMON);
	detached = true;
	annex_set_log(from_library, NULL);
}

bool journal_detached(void)
{
	return detached;
}
