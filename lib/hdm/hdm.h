/* SPDX-License-Identifier: MIT */
/*
 * The inside of a range, shared by the files of lib/hdm.
 */
#ifndef ANNEX_HDM_HDM_H
#define ANNEX_HDM_HDM_H

#include <pthread.h>
#include <annex/queue.h>
#include <annex/uri.h>
#include "core/fork.h"
#include "core/mapping.h"
#include "slab.h"
#include "table.h"

/*
 * struct annex_hdm - An open range.
 * @lock: excludes this process's threads; taken before the lock of the file.
 * @looking: taken to ask the medium for its poison.
 * @recall: when to ask the medium next, for small pieces (annex_now()).
 * @looked: the error of the last question, or 0.
 * @owner: this handle's number; runs without a name have it.
 * @fork: a child must not use its copy.
 */
struct annex_hdm {
	struct annex_medium *m;
	struct annex_mapping *mapping;
	char *uri;
	struct hdm_table t;
	pthread_mutex_t lock;
	pthread_mutex_t looking;
	uint64_t recall;
	int looked;
	uint32_t timeout_ms;
	uint32_t owner;
	struct fork_watch fork;
	struct slabs slabs;
	struct annex_provider provider;
};

/* open.c: hdm_open_medium() - A range in @m, which is closed with it, and also when that fails.
 * @anew: make a table in any case. */
int hdm_open_medium(struct annex_medium *m, const char *uri, const struct annex_hdm_opts *opts,
		    bool anew, struct annex_hdm **out);

/* share.c: hdm_lock() - The table for this thread alone: -ETIMEDOUT, -ECHILD, -EIO (it is lost).
 * hdm_unlock() - Returns @err of the work meanwhile, or -EIO, if the table was lost then. */
int hdm_lock(struct annex_hdm *h);
int hdm_unlock(struct annex_hdm *h, int err);
/* hdm_join() - Take a number, with the lock: -EMFILE. hdm_alone() - Whether no other handle has
 * one. hdm_owner_lives() - Whether a handle has it. */
int hdm_join(struct annex_hdm *h);
bool hdm_alone(const struct annex_hdm *h);
bool hdm_owner_lives(const struct annex_hdm *h, uint32_t owner);
/* hdm_watch() - Have fork() know of it, until fork_forget(). */
void hdm_watch(struct annex_hdm *h);

/*
 * owned.c: hdm_sweep() - With the lock, free the runs of dead owners, and ours too if @own; their
 * number goes to *@freed.
 * hdm_find_run() - With the lock, find free granules for @bytes, aligned to @align granules.
 * hdm_take_run() - Take granules for this handle alone; takes the lock.
 * hdm_own_run() - With the lock, the piece that begins at a granule: -EINVAL (none), -EPERM.
 * hdm_give_run() - Give them back; takes the lock.
 */
int hdm_sweep(struct annex_hdm *h, bool own, uint32_t *freed);
int hdm_find_run(struct annex_hdm *h, uint64_t bytes, uint32_t align, uint32_t *len, uint32_t *at);
int hdm_take_run(struct annex_hdm *h, uint64_t bytes, uint32_t align, uint32_t *at);
int hdm_own_run(struct annex_hdm *h, uint32_t at, struct hdm_run *r);
int hdm_give_run(struct annex_hdm *h, uint32_t at);

/* poison.c: hdm_poison_look() - Ask the medium anew: -EIO (it is in the table), or its error.
 * hdm_poison_recall() - The same, but at most once in a while: else the last answer again.
 * hdm_poisoned() - Whether bytes of the range must not be touched.
 * hdm_poison_clear() - With the lock, clear the poison of granules: -EOPNOTSUPP, or as the medium.
 * hdm_poison_mend() - hdm_poison_look(), but clear the poison of a table that is given up. */
int hdm_poison_init(struct annex_hdm *h);
void hdm_poison_free(struct annex_hdm *h);
int hdm_poison_look(struct annex_hdm *h);
int hdm_poison_recall(struct annex_hdm *h);
bool hdm_poisoned(const struct annex_hdm *h, uint64_t offset, uint64_t bytes);
int hdm_poison_clear(struct annex_hdm *h, uint32_t at, uint32_t len);
int hdm_poison_mend(struct annex_hdm *h);

/* provider.c: hdm_hold() - Devices may reach these bytes, so they stay in memory: -ENOMEM.
 * hdm_let() - They may not any more. */
void hdm_provider_init(struct annex_hdm *h);
int hdm_hold(struct annex_hdm *h, void *ptr, size_t bytes);
void hdm_let(struct annex_hdm *h, void *ptr, size_t bytes);

/*
 * Every kind of range, in the order in which users are told of them: a row has its scheme, a line
 * for people, and traits. Its own file has hdm_SCHEME_open(). Other
 * processes are waited for up to @timeout_ms.
 */
#define RANGE_KINDS(ROW)                                                                           \
	ROW(shm, "a file in shared memory, as shm:/dev/shm/range", ANNEX_TRAIT_PATH)               \
	ROW(dax, "a devdax device, as dax:/dev/dax0.0", ANNEX_TRAIT_PATH)                          \
	ROW(numa, "memory of a NUMA node, as numa:1?size=1G", ANNEX_TRAIT_VOLATILE)                \
	ROW(pci, "CXL memory that annex.ko has, as pci:0000:0d:00.0", ANNEX_TRAIT_PCI)

#define RANGE_DECLARE(name, summary, traits)                                                       \
	int hdm_##name##_open(const struct annex_uri *uri, uint32_t timeout_ms,                    \
			      struct annex_medium **out);
RANGE_KINDS(RANGE_DECLARE)

/*
 * struct hdm_scheme - A kind of range that another library adds.
 * @scheme: its name, a line for people, and traits.
 * @open: open its medium, as hdm_SCHEME_open() do.
 * @next: the kind that was added before it.
 */
struct hdm_scheme {
	struct annex_scheme scheme;
	int (*open)(const struct annex_uri *uri, uint32_t timeout_ms, struct annex_medium **out);
	struct hdm_scheme *next;
};

/* open.c: annex_hdm_scheme_add() - For constructors of libraries, which run one after another. */
void annex_hdm_scheme_add(struct hdm_scheme *kind);

/* lock.c: annex_hdm_unshare() - Replace the file description that was mapped by one of its own,
 * for locks. */
int annex_hdm_unshare(struct annex_medium *m);

_Static_assert(ANNEX_MEDIUM_ALIGN % ANNEX_HDM_ALIGN == 0, "pieces are aligned in every process");

/* persist.c: the persist of media in a page cache. */
int hdm_msync(struct annex_medium *m, void *ptr, size_t len);

#endif
