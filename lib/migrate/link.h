/* SPDX-License-Identifier: MIT */
/*
 * A link: the way between two tiers, with a queue for each kind of transfer (G10 section 4.6,
 * Figure 10), shared by the spaces that use it.
 *
 * Jobs that programs wait for go first, beside everything else. Of the rest, transfers in and out
 * take turns by what is under way of each, those in by deadline; and of several spaces the one
 * that had the fewest bytes of that kind goes next, where time without any counts for nothing.
 */
#ifndef ANNEX_MIGRATE_LINK_H
#define ANNEX_MIGRATE_LINK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <annex/mem.h>
#include "pace.h"

#define JOB_PAGES 128u
#define JOB_MOST 1024u /* with a GPU: a copy has its price, however short */
#define JOINED 32u     /* jobs, at most, that one transfer is made of */
#define LINK_BATCH 32u
#define LINK_WORKERS 3u

enum job_kind {
	JOB_FAULT,
	JOB_IN,
	JOB_OUT,
	JOB_KINDS,
};

/**
 * struct place - Page @page of tier @tier; in the device tier pages are those of the space.
 */
struct place {
	uint8_t tier;
	uint32_t page;
};

/**
 * struct job - One transfer of neighbouring pages.
 * @next: in a list.
 * @with: the next job of the same transfer.
 * @move: the move that it is of, or NULL.
 * @lane: where it is queued; NULL: it needs no link.
 * @from: where its first page is.
 * @to: where that page goes.
 * @page: its first page, by the space's numbers.
 * @n: its pages.
 * @total: of the first job of a transfer: pages of all of them.
 * @err: 0, or the negative errno that it ended with.
 * @ended: the device has done with it.
 * @bounced: it goes through a buffer.
 * @keep: as in struct want.
 * @zeroes: its pages come from nowhere; in a GPU's memory, which holds anything, they are zeroed.
 * @drop: its pages leave, and have a copy: there is nothing to transfer.
 * @refused: it failed since there was no room.
 * @recalled: it did not begin, as a program wants its pages or holds them: they stay.
 * @released: its pages' memory has been given back.
 * @buffer: the store's buffer that it goes through.
 * @round: of the tier that it goes to, when it was made.
 * @token: of the command.
 * @deadline: as for annex_prefetch().
 * @passing: it is under way, for the link's pace.
 * @due: when it may end on a link that is held back, in ns.
 * @limit: when the device is too late with it, in ns.
 */
struct job {
	struct job *next, *with;
	struct annex_space *space;
	struct annex_move *move;
	struct lane *lane;
	struct place from, to;
	uint32_t page, n, total;
	enum job_kind kind;
	int err;
	bool ended, bounced, keep, zeroes, drop, refused, recalled, released;
	uint32_t buffer, round;
	uint64_t token;
	struct passing passing;
	uint64_t deadline, due, limit;
};

struct job_list {
	struct job *head, *last;
	uint32_t n;
};

void annex_jobs_add(struct job_list *list, struct job *job);
/* By kind, then by deadline, behind those that are equal. */
void annex_jobs_sort_in(struct job_list *list, struct job *job);
struct job *annex_jobs_take(struct job_list *list);
void annex_jobs_remove(struct job_list *list, struct job *job);

/**
 * struct lane - One space's part of one link.
 * @next: of the link.
 * @queued: jobs that have not begun, by kind.
 * @served: bytes, by kind; raised to what others had been served when it has had no job.
 * @at: where the device finds the arenas, by tier; 0: it cannot reach one.
 */
struct lane {
	struct lane *next;
	struct link *link;
	struct job_list queued[JOB_KINDS];
	uint64_t served[JOB_KINDS];
	uint64_t at[ANNEX_TIER_SSD];
};

/**
 * struct link_ops - Operations that carry out a link's transfers. Only wait() is mandatory. The
 * link's lock is held in all but prepare(), wait(), unload() and again().
 * @prepare: do the slow part before a transfer begins; on failure set job->err.
 * @begin: start transfers; set err and ended of each job that cannot be started.
 * @wait: wait until the job has ended, or for its time limit; set job->err.
 * @poll: tell whether the job has ended, without waiting.
 * @unload: the job has ended and was bounced: take the data out of its buffer.
 * @give_back: free the job's buffer.
 * @ready: take the resources that the job, which is no @drop, needs to begin; false: there are none
 *	now.
 * @joins: tell whether @next may be moved together with jobs of which @last is the last.
 * @again: another job's error ended this transfer: carry out each of its jobs by itself, but for
 *	those that were recalled, and set their err.
 * @at_once: wait() carries out jobs that programs wait for, in the thread that adds them.
 * @ways: the last worker waits for what leaves, the others for what comes: wait() copies.
 */
struct link_ops {
	void (*prepare)(struct link *link, struct job *job);
	void (*begin)(struct link *link, struct job **jobs, unsigned int n);
	void (*wait)(struct link *link, struct job *job);
	bool (*poll)(struct link *link, struct job *job);
	void (*unload)(struct link *link, struct job *job);
	void (*give_back)(struct link *link, struct job *job);
	bool (*ready)(struct link *link, struct job *job);
	bool (*joins)(const struct job *last, const struct job *next);
	void (*again)(struct link *link, struct job *job);
	bool at_once, ways;
};

/* Bytes a second that a link can be held back to, or 0. */
static inline bool annex_rate_is_sound(double rate)
{
	return rate == 0 || (rate >= ANNEX_MEM_PAGE && rate <= 1e15);
}

/**
 * struct link_worker - One completion thread of a link.
 * @flying: its transfers under way.
 * @ended: those of them that have ended, of the thread alone.
 * @more: signalled when there is something to do.
 * @works: @thread was started.
 * @idle: it has nothing to wait for.
 * @emptied: a buffer came free since it last began transfers.
 */
struct link_worker {
	struct link *link;
	struct job_list flying, ended;
	pthread_cond_t more;
	pthread_t thread;
	bool works, idle, emptied;
};

/**
 * struct link - The way between two tiers.
 * @lock: orders all that changes here, and in the lanes.
 * @lanes: of the spaces that use it.
 * @turn: picks the worker of the next transfer.
 * @rate: bytes a second in and out; 0: as fast as it goes.
 * @free_at: when the last transfer that was begun will have passed, at that rate, in ns.
 * @depth: transfers under way, at most, but for those that programs wait for.
 * @most: pages of one transfer.
 * @flying: transfers under way, by kind.
 * @vtime: by kind, bytes served to the space whose transfer began last (start-time fair queueing).
 * @pace: of its transfers, but for drops.
 * @stop: its workers end.
 * @called: a worker is to begin what is queued.
 */
struct link {
	pthread_mutex_t lock;
	const struct link_ops *ops;
	struct lane *lanes;
	struct link_worker workers[LINK_WORKERS];
	unsigned int n_workers, turn;
	double rate[2];
	uint64_t free_at[2];
	uint32_t depth, most, flying[JOB_KINDS];
	uint64_t vtime[JOB_KINDS];
	struct pace pace;
	bool stop, called;
};

/* One that is held for so short a time that who wants it had better not sleep at once. */
void annex_mutex_init(pthread_mutex_t *lock);

/* Start a link with @workers threads, each of which runs @work with its worker as the argument. */
int annex_link_start(struct link *link, const struct link_ops *ops, unsigned int workers,
		     void *(*work)(void *));

/* There are no jobs any more. */
void annex_link_stop(struct link *link);

/*
 * Bytes a second in or @out, and parts of both rates at once, as annex_pace_rate() and
 * annex_pace_duplex(). A link that is held back has its limits, each for itself.
 */
double annex_link_rate(struct link *link, bool out);
double annex_link_duplex(struct link *link);

void annex_link_join(struct link *link, struct lane *lane);
void annex_link_leave(struct link *link, struct lane *lane);

/*
 * Queue jobs, which are taken off the list. Return: one that this thread has carried out, and that
 * has ended: the caller finishes it and calls again. NULL: all are queued. No lock is held.
 */
struct job *annex_link_add(struct job_list *jobs);

/* Wait, as a worker, until transfers have ended. Return: false: the link stops. */
bool annex_link_wait(struct link_worker *worker);

/* The next of them, with its error, and without its buffer; NULL: no more. No lock is held. */
struct job *annex_link_ended(struct link_worker *worker);

/*
 * A program waits for page @page: if a job that brings it is queued here, that job goes first, once
 * the caller has let go of the space and calls annex_link_kick(). Return: whether there is one. If
 * not, *@recalled is the job that was queued here to take the page elsewhere, and is no longer; or
 * NULL.
 */
bool annex_link_expedite(struct lane *lane, uint32_t page, struct job **recalled);
void annex_link_kick(struct lane *lane);

/* Jobs that are to take any of those pages elsewhere, and are queued here: no more. */
struct job_list annex_link_recall(struct lane *lane, uint32_t first, uint32_t n);

/*
 * copy.c: a link between tiers that are both memory: its thread copies, @rate bytes a second each
 * way at most (0: no limit). With a GPU, whose copies go both ways at once, threads of each way do;
 * and a link of its own gives it frames, and zeroes.
 */
int annex_copy_start(struct link *link, double rate);
int annex_copy_start_gpu(struct link *link, double rate);

/*
 * Copy a job's pages between @p and the device tier, @in or out: by its file, which neither maps
 * them nor faults, or by its GPU. Return: 0; a negative errno.
 */
int annex_copy_device(const struct job *job, void *p, bool in);

#endif
