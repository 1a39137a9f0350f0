/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_SERVE_METRICS_H
#define TOOLS_SERVE_METRICS_H

/* metrics_write() - Counters of the daemon at @socket into @path, in Prometheus' text format: the
 * file is replaced when it is whole. 0 or a negative errno with the line set. */
int metrics_write(const char *path, const char *socket);

#endif
