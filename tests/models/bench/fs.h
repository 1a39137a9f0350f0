/* SPDX-License-Identifier: MIT */
/*
 * The benchmark of the file system: personalities of filebench, played by virtual threads on an
 * emulated endpoint. Times are virtual, except in struct fsb_calls.
 */
#ifndef ANNEX_TESTS_FS_H
#define ANNEX_TESTS_FS_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/models/fs.h>

#define FSB_IO ANNEX_FS_WRITE /* bytes of a read or a write at most */
#define FSB_LOG UINT32_MAX    /* number of the file that all append to */

/*
 * struct fsb_opts - One run. @scale: divisor of the counts and sizes of filebench and of the
 * artifact. @log, @media: percent of the log's size and of the times of flash. @pages: of DRAM
 * beside the log, in percent of the artifact's log. @suspend: virtual nanoseconds until a program
 * makes way for a read; 0: it never does. @alpha, @twice: of annex_fs_mount(). @buffered: of the
 * endpoint. @flush: virtual nanoseconds between two write backs, before they are scaled. @each:
 * ANNEX_FS_BYTEFS is written back one file a call. @cores: that actors share, FSB_CORES at most; 0:
 * each has one. @seed: of all random numbers.
 */
struct fsb_opts {
	enum annex_fs_design design;
	uint64_t scale, log, pages, media, suspend, flush, seed;
	uint32_t alpha, cores;
	bool twice, buffered, each;
};

#define FSB_CORES 64u

/* Kinds of calls. */
enum fsb_call {
	FSB_LOOKUP,
	FSB_GETATTR,
	FSB_CREATE,
	FSB_UNLINK,
	FSB_MKDIR,
	FSB_RMDIR,
	FSB_RENAME,
	FSB_READ,
	FSB_WRITE,
	FSB_FSYNC,
	FSB_CALLS,
};

/* fsb_names - Of the kinds. fsb_costs - Virtual nanoseconds of the processor in such a call, for
 * both designs; fsb_copy - in each 4 KiB that are read or written. */
extern const char *const fsb_names[FSB_CALLS];
extern const uint64_t fsb_costs[FSB_CALLS];
extern const uint64_t fsb_copy;

/* struct fsb_calls - @n: how many; @ns: real nanoseconds that all took. */
struct fsb_calls {
	uint64_t n[FSB_CALLS], ns[FSB_CALLS];
};

/* struct fsb_dir - A directory of a fileset. @parent: its index, of the first one itself. @ino: 0:
 * it must be looked up. */
struct fsb_dir {
	uint32_t parent;
	uint32_t ino;
};

/*
 * struct fsb_file - An entry of a fileset. @version: how often it was made. @plan: bytes that it
 * gets when it is written as a whole. @there: it exists. @busy: an actor has it open. @dirty: it
 * was written since it was synced.
 */
struct fsb_file {
	uint32_t dir;
	uint32_t ino;
	uint32_t version;
	uint64_t plan, size;
	bool there, busy, dirty;
};

/*
 * struct fsb_set - Files in a tree of directories. @next: where to look for one that does not
 * exist, and for one that does: filebench takes files in rotation. @are_dirs: they are directories
 * themselves.
 */
struct fsb_set {
	struct fsb_dir *dirs;
	struct fsb_file *files;
	uint32_t n_dirs, n;
	uint32_t next[2];
	bool are_dirs;
};

struct fsb_work;

/*
 * struct fsb - A run. @clock: of the actor whose turn it is. @log: a file that all append to.
 * @idle: when each core will be. @paid: bytes that the workload wrote. @ops: steps that were done.
 * @words: room for bytes that a file should have.
 */
struct fsb {
	struct fsb_opts opts;
	const struct fsb_work *work;
	struct annex_cxlssd *s;
	struct annex_fs *fs;
	uint64_t clock;
	struct fsb_set set;
	struct fsb_file log;
	struct fsb_calls calls;
	uint64_t idle[FSB_CORES];
	uint64_t paid, ops;
	uint64_t random;
	uint64_t *words;
	char *buf;
};

/*
 * struct fsb_actor - A virtual thread. @step: of its round. @file: that it has open, a number;
 * @chosen: but its path is not known yet. @from: where in the file a read goes on. @waits: it has
 * called annex_fs_fsync(), and calls again.
 */
struct fsb_actor {
	uint64_t clock;
	uint32_t step;
	uint32_t file;
	uint64_t from;
	bool chosen, waits;
};

/* A step of a round. Return: whether it is done; else it is to be called again, as another actor
 * may be earlier now. */
typedef bool (*fsb_step)(struct fsb *b, struct fsb_actor *a);

#define FSB_STEPS 40u

/*
 * struct fsb_work - A personality. @n: entries of the fileset; @there: percent that exist. @width:
 * entries of a directory. @size: bytes, mean; @gamma: sizes differ. @cold: caches are dropped
 * before. @rounds: for all actors together. @steps: of a round; each of them counts as an
 * operation. Counts are filebench's, before they are scaled.
 */
struct fsb_work {
	const char *name;
	uint32_t actors;
	uint32_t n, there, width;
	bool scales_width; /* the number of directories does not scale */
	bool are_dirs, cold, has_log;
	uint64_t size;
	bool gamma;
	uint32_t rounds;
	fsb_step steps[FSB_STEPS];
};

extern const struct fsb_work fsb_works[];

/* fs_endpoint.c: fsb_open() - Make an endpoint and a file system on it, and mount that.
 * fsb_mount() - Mount it; fsb_unmount(). fsb_settle() - Have flash hold all. */
void fsb_open(struct fsb *b);
void fsb_mount(struct fsb *b);
void fsb_unmount(struct fsb *b);
void fsb_settle(struct fsb *b);
void fsb_close(struct fsb *b);

/* fs_call.c: calls of the library, with their times and their bytes. They fail the program.
 * fsb_sync() - @again: it waited, and its time of the processor is paid. Return: false: it is to be
 * called again. */
uint32_t fsb_lookup(struct fsb *b, uint32_t parent, const char *name);
bool fsb_is_there(struct fsb *b, uint32_t parent, const char *name);
uint64_t fsb_size(struct fsb *b, uint32_t ino);
uint32_t fsb_make(struct fsb *b, uint32_t parent, const char *name, bool is_dir);
void fsb_remove(struct fsb *b, uint32_t parent, const char *name, bool is_dir);
void fsb_rename(struct fsb *b, uint32_t dir, const char *name, const char *other);
void fsb_forget(struct fsb *b, uint32_t ino);
void fsb_read(struct fsb *b, const struct fsb_file *f, uint32_t number, uint64_t at, uint32_t n);
void fsb_write(struct fsb *b, struct fsb_file *f, uint32_t number, uint64_t at, uint32_t n);
bool fsb_sync(struct fsb *b, uint32_t ino, bool again);
void fsb_sync_all(struct fsb *b);

/* fs_set.c: a fileset. fsb_name() - Of a file or a directory. fsb_find() - Look one more part of a
 * file's path up; true: there was none left. */
void fsb_set_make(struct fsb *b);
void fsb_set_free(struct fsb *b);
void fsb_set_forget(struct fsb *b);
void fsb_set_verify(struct fsb *b);
void fsb_name(uint32_t number, char name[16]);
bool fsb_find(struct fsb *b, uint32_t number);
uint32_t fsb_pick(struct fsb *b, bool there);
void fsb_appear(struct fsb *b, uint32_t number, uint32_t ino);
void fsb_vanish(struct fsb *b, uint32_t number);
uint64_t fsb_random(struct fsb *b);

/* fs_step.c: what actors do. */
bool fsb_step_create(struct fsb *b, struct fsb_actor *a);
bool fsb_step_open(struct fsb *b, struct fsb_actor *a);
bool fsb_step_write(struct fsb *b, struct fsb_actor *a);
bool fsb_step_append(struct fsb *b, struct fsb_actor *a);
bool fsb_step_log(struct fsb *b, struct fsb_actor *a);
bool fsb_step_read(struct fsb *b, struct fsb_actor *a);
bool fsb_step_fsync(struct fsb *b, struct fsb_actor *a);
bool fsb_step_close(struct fsb *b, struct fsb_actor *a);
bool fsb_step_delete(struct fsb *b, struct fsb_actor *a);
bool fsb_step_stat(struct fsb *b, struct fsb_actor *a);

/* fs_drive.c: the rounds of all actors. */
void fsb_drive(struct fsb *b);

/* fs_cost.c: measure what fsb_costs has, and print it as JSON. */
void fsb_measure_costs(struct fsb *b);

#endif
