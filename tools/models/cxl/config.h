/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configurations to compare: boards with and without some mechanisms.
 */
#ifndef TOOLS_CXL_CONFIG_H
#define TOOLS_CXL_CONFIG_H

#include "board.h"

/*
 * struct config - A configuration.
 * @name: its name.
 * @summary: a line for users.
 * @set: the paper whose workloads it runs.
 * @memory: memory below the last-level cache.
 * @ports: names of annex_cxlport_switches(), or NULL.
 * @promote: hot pages move to host memory (SkyByte's P).
 * @switches: threads switch during waits (SkyByte's C).
 * @log: the endpoint has a write log (SkyByte's W).
 * @reference: other configurations are compared with this one.
 */
struct config {
	const char *name;
	const char *summary;
	const char *set;
	enum board_memory memory;
	const char *ports;
	bool promote, switches, log;
	bool reference;
};

/* All configurations, set by set; one without a name ends the list. */
extern const struct config configs[];

/* config_board() - Set up the board of a configuration. */
void config_board(const struct config *c, struct board *m);

/* config_takes() - Whether an option of boards affects a configuration. */
bool config_takes(const struct config *c, const char *option);

#endif
