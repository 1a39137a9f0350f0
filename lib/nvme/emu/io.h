/* SPDX-License-Identifier: MIT */
/*
 * The parts of a decoded NVM command that both backends need.
 */
#ifndef ANNEX_EMU_IO_H
#define ANNEX_EMU_IO_H

#include "state.h"

#define ANNEX_DSM_MAX 256u /* ranges of one command */

/* Bytes of the namespace that the command works on; fewer than its data where a fault tears it. */
static inline uint32_t annex_emu_todo(const struct emu_cmd *cmd)
{
	return cmd->ns ? (cmd->cover + 1) << cmd->ns->shift : 0;
}

/**
 * annex_emu_dsm_ranges() - Fetch and check the ranges of a dataset management command.
 * @ranges: room for ANNEX_DSM_MAX.
 * @n: number of ranges that are to be deallocated and not empty.
 *
 * Return: 0 or an NVMe status.
 */
uint16_t annex_emu_dsm_ranges(struct annex_emu *emu, struct emu_sq *sq, const struct emu_cmd *cmd,
			      struct annex_dsm_range *ranges, unsigned int *n);

#endif
