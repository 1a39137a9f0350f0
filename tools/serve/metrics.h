/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_SERVE_METRICS_H
#define TOOLS_SERVE_METRICS_H

#include <stdbool.h>

/* metrics_write() - Counters of the daemon at @socket into @path, in Prometheus' text format: the
 * file is replaced when it is whole. 0 or a negative errno with the line set. */
int metrics_write(const char *path, const char *socket);

/* metrics_renew() - The same for a daemon that goes on without: it warns when they cannot be
 * written any more, and when they are again. @lost: whether they could not the last time. */
void metrics_renew(const char *path, const char *socket, bool *lost);

#endif
