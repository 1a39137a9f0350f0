/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configurations of a board that are compared: which mechanisms it has.
 */
#ifndef TOOLS_CXL_CONFIG_H
#define TOOLS_CXL_CONFIG_H

#include "board.h"

/*
 * struct config - @set: the paper whose workloads it is for. @ports: names of
 * annex_cxlport_switches(), or NULL. @promote, @log, @switches: SkyByte's P, W and C.
 * @reference: the one that others are compared with.
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

/* All of them, set by set; the list ends with one without a name. */
extern const struct config configs[];

/* config_board() - The board of a configuration. */
void config_board(const struct config *c, struct board *m);

/* config_takes() - Whether a configuration has what an option of boards, by its name, is about: the
 * others' boards are the same whatever its value. */
bool config_takes(const struct config *c, const char *option);

#endif
