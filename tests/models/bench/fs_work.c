// SPDX-License-Identifier: MIT
/*
 * Personalities of filebench, with the numbers of the artifact of ByteFS. It runs the last four
 * until so many reads and writes were done: 500000, 1000000 of fileserver. It runs stat for 200 s;
 * here each file is asked for a hundred times on average.
 */
#include "fs.h"

#define CREATE fsb_step_create
#define OPEN fsb_step_open
#define WRITE fsb_step_write
#define APPEND fsb_step_append
#define READ fsb_step_read
#define FSYNC fsb_step_fsync
#define CLOSE fsb_step_close
#define DELETE fsb_step_delete
#define READ_ONE OPEN, READ, CLOSE
#define READ_FIVE READ_ONE, READ_ONE, READ_ONE, READ_ONE, READ_ONE

const struct fsb_work fsb_works[] = {
	{
		.name = "create",
		.actors = 12,
		.n = 1000000,
		.there = 50,
		.width = 100000,
		.scales_width = true,
		.size = 4096,
		.rounds = 500000,
		.steps = {CREATE, WRITE, FSYNC, CLOSE},
	},
	{
		.name = "delete",
		.actors = 12,
		.n = 1100000,
		.there = 100,
		.width = 100,
		.cold = true,
		.size = 4096,
		.rounds = 1000000,
		.steps = {DELETE},
	},
	{
		.name = "mkdir",
		.actors = 12,
		.n = 1000000,
		.width = 100,
		.are_dirs = true,
		.rounds = 1000000,
		.steps = {CREATE},
	},
	{
		.name = "rmdir",
		.actors = 12,
		.n = 1000000,
		.there = 100,
		.width = 100,
		.are_dirs = true,
		.cold = true,
		.rounds = 1000000,
		.steps = {DELETE},
	},
	{
		.name = "stat",
		.actors = 8,
		.n = 10000,
		.there = 100,
		.width = 20,
		.cold = true,
		.size = 131072,
		.rounds = 1000000,
		.steps = {fsb_step_stat},
	},
	{
		.name = "varmail",
		.actors = 24,
		.n = 600000,
		.there = 80,
		.width = 600000,
		.size = 16384,
		.gamma = true,
		.rounds = 125000,
		.steps = {DELETE, CREATE, APPEND, FSYNC, CLOSE, OPEN, READ, APPEND, FSYNC, CLOSE,
			  READ_ONE},
	},
	{
		.name = "fileserver",
		.actors = 24,
		.n = 60000,
		.there = 80,
		.width = 20,
		.size = 131072,
		.gamma = true,
		.rounds = 333333,
		.steps = {CREATE, WRITE, CLOSE, OPEN, APPEND, CLOSE, READ_ONE, DELETE,
			  fsb_step_stat},
	},
	{
		.name = "webproxy",
		.actors = 24,
		.n = 600000,
		.there = 80,
		.width = 600000,
		.size = 16384,
		.rounds = 83333,
		.steps = {DELETE, CREATE, APPEND, CLOSE, READ_FIVE},
	},
	{
		.name = "webserver",
		.actors = 24,
		.n = 300000,
		.there = 100,
		.width = 20,
		.has_log = true,
		.size = 16384,
		.gamma = true,
		.rounds = 45454,
		.steps = {READ_FIVE, READ_FIVE, fsb_step_log},
	},
	{.name = NULL},
};
