/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TOOLS_BLOCK_CPU_H
#define TOOLS_BLOCK_CPU_H

/*
 * struct cpu_use - Seconds of processors, up to now.
 * @own: of this process, in user space and in the kernel.
 * @machine: of the whole machine, whatever they did but idle or wait for I/O; negative: not
 * told. Only differences mean something.
 */
struct cpu_use {
	double own, machine;
};

struct cpu_use cpu_now(void);

#endif
