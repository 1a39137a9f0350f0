/* SPDX-License-Identifier: MIT */
/*
 * A link: the connection of two tiers, with a queue for each kind of transfer (G10 section 4.6,
 * Figure 10), shared by the spaces that use it.
 *
 * Jobs that programs wait for begin at once. Among the others, the direction with fewer transfers
 * in flight is next, transfers in by deadline. Among spaces, the one with the fewest bytes of that
 * kind is next; an idle space accumulates no credit.
 */
#ifndef ANNEX_MIGRATE_LINK_H
#define ANNEX_MIGRATE_LINK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <annex/mem.h>
#include "pace.h"

#define JOB_PAGES 128u
#define JOB_MOST 1024u /* with a GPU, where short copies are expensive */
#define JOINED 32u     /* most jobs of one transfer */
#define LINK_BATCH 32u
#define LINK_WORKERS 3u
#define ARENAS (ANNEX_TIER_SSD + 1) /* of tiers that are memory, and @base of a space */
#define ARENA_SHOWN ANNEX_TIER_SSD

enum job_kind {
	JOB_FAULT,
	JOB_IN,
	JOB_OUT,
	JOB_KINDS,
};

/* struct place - Page @page of tier @tier; in the device tier @page is a page of the space. */
struct place {
	uint8_t tier;
	uint32_t page;
};

/**
 * struct job - One transfer of neighbouring pages.
 * @next: next job in a list.
 * @with: next job of the same transfer.
 * @space: its space.
 * @move: its move, or NULL.
 * @lane: lane in which it is queued; NULL: it needs no link.
 * @from: source of its first page.
 * @to: destination of that page.
 * @page: its first page, in the space.
 * @n: number of its pages.
 * @total: in the first job of a transfer: number of pages of all its jobs.
 * @kind: kind of transfer.
 * @err: 0, or the negative errno of its failure.
 * @ended: the device has finished it.
 * @bounced: it passes a bounce buffer.
 * @keep: as in struct want.
 * @zeroes: its pages have no source; memory of a GPU, with undefined contents, is zeroed.
 * @drop: its pages are evicted and have a copy: nothing is transferred.
 * @refused: it failed for lack of room.
 * @recalled: it did not begin, because a program needs or holds its pages, which stay.
 * @released: its pages' memory has been freed.
 * @taken: its pages have taken memory of the pool.
 * @shown: its pages are saved from @base, where they are write-protected.
 * @buffer: number of the store's bounce buffer.
 * @round: round of the destination tier when the job was made.
 * @token: token of the command.
 * @passing: state for the link's pace.
 * @deadline: as for annex_prefetch().
 * @due: earliest end on a rate-limited link, in ns.
 * @limit: time at which the device has timed out, in ns.
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
	bool ended, bounced, keep, zeroes, drop, refused, recalled, released, taken, shown;
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
/* Insert by kind, then by deadline, after equal jobs. */
void annex_jobs_sort_in(struct job_list *list, struct job *job);
struct job *annex_jobs_take(struct job_list *list);
void annex_jobs_remove(struct job_list *list, struct job *job);

/**
 * struct lane - One space's queues on one link.
 * @next: next lane of the link.
 * @link: the link.
 * @queued: jobs that have not begun, by kind.
 * @served: bytes served, by kind; raised to the link's vtime when an idle lane gets a job.
 * @at: device address of the arenas, by tier, and of @base; 0: the device cannot reach this one.
 */
struct lane {
	struct lane *next;
	struct link *link;
	struct job_list queued[JOB_KINDS];
	uint64_t served[JOB_KINDS];
	uint64_t at[ARENAS];
};

/**
 * struct link_ops - Operations that carry out a link's transfers. Only wait() is mandatory. All
 * but prepare(), wait(), unload() and again() are called with the link's lock held.
 * @prepare: do the slow part before a transfer begins; on failure set job->err.
 * @begin: start transfers; set err and ended of each job that cannot be started.
 * @wait: wait until the job has ended, or for its time limit; set job->err.
 * @poll: return whether the job has ended, without waiting.
 * @unload: copy the data of an ended bounced job out of its buffer.
 * @give_back: free the job's buffer.
 * @ready: take the resources that a job without drop needs to begin; false: none are free.
 * @joins: return whether @next may be moved together with jobs of which @last is the last.
 * @again: another job's error ended this transfer: carry out each of its jobs by itself, except
 *	recalled jobs, and set their err.
 * @at_once: wait() carries out jobs that programs wait for, in the thread that adds them.
 * @ways: the last worker waits for transfers out, the others for transfers in: wait() copies.
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

/* Whether a rate limit, in bytes per second, is valid; 0: no limit. */
static inline bool annex_rate_is_sound(double rate)
{
	return rate == 0 || (rate >= ANNEX_MEM_PAGE && rate <= 1e15);
}

/**
 * struct link_worker - One completion thread of a link.
 * @link: the link.
 * @flying: its transfers in flight.
 * @ended: ended transfers; accessed only by the thread.
 * @more: signalled when there is work.
 * @thread: the thread.
 * @works: @thread was started.
 * @idle: it has no transfer to wait for.
 * @emptied: a buffer was freed since it last began transfers.
 */
struct link_worker {
	struct link *link;
	struct job_list flying, ended;
	pthread_cond_t more;
	pthread_t thread;
	bool works, idle, emptied;
};

/**
 * struct link - The connection of two tiers.
 * @lock: protects all members that change, here and in the lanes.
 * @ops: its operations.
 * @lanes: lanes of the spaces that use it.
 * @workers: completion threads.
 * @n_workers: number of @workers.
 * @turn: picks the worker of the next transfer.
 * @rate: rate limits in and out, in bytes per second; 0: no limit.
 * @free_at: time at which the last transfer will have passed at that rate, in ns.
 * @depth: most transfers in flight, not counting transfers that programs wait for.
 * @urgent: most transfers in flight that programs wait for; 0: any number.
 * @most: most pages of one transfer.
 * @flying: transfers in flight, by kind.
 * @vtime: by kind, bytes served to the space whose transfer began last (start-time fair queueing).
 * @pace: measured rates of its transfers, without drops.
 * @stop: its workers must end.
 * @called: a worker must begin queued jobs.
 */
struct link {
	pthread_mutex_t lock;
	const struct link_ops *ops;
	struct lane *lanes;
	struct link_worker workers[LINK_WORKERS];
	unsigned int n_workers, turn;
	double rate[2];
	uint64_t free_at[2];
	uint32_t depth, urgent, most, flying[JOB_KINDS];
	uint64_t vtime[JOB_KINDS];
	struct pace pace;
	bool stop, called;
};

/* Initialize an adaptive mutex, which spins before it sleeps: for short critical sections. */
void annex_mutex_init(pthread_mutex_t *lock);

/* Start a link with @workers threads, each of which runs @work with its worker as the argument. */
int annex_link_start(struct link *link, const struct link_ops *ops, unsigned int workers,
		     void *(*work)(void *));

/* Stop a link without jobs. */
void annex_link_stop(struct link *link);

/* Processor time of the link's threads so far, in nanoseconds. */
uint64_t annex_link_cpu(const struct link *link);

/*
 * Rate in or @out in bytes per second, and duplex factor, as annex_pace_rate() and
 * annex_pace_duplex(). For a rate-limited link, its limits, independent in both directions.
 */
double annex_link_rate(struct link *link, bool out);
double annex_link_duplex(struct link *link);

void annex_link_join(struct link *link, struct lane *lane);
void annex_link_leave(struct link *link, struct lane *lane);

/*
 * Take jobs off the list and queue them. Return: a job that this thread has carried out, which has
 * ended: the caller finishes it and calls again. NULL: all are queued. No lock is held.
 */
struct job *annex_link_add(struct job_list *jobs);

/* Wait, as a worker, until transfers have ended. Return: false: the link stops. */
bool annex_link_wait(struct link_worker *worker);

/* The next ended transfer, with its error, and its buffer freed; or NULL. No lock is held. */
struct job *annex_link_ended(struct link_worker *worker);

/*
 * A program waits for page @page: if a job that brings it in is queued here, let that job begin
 * when the caller has released the space's lock and calls annex_link_kick(). Return: whether there
 * is one. If not, *@recalled is the job that was queued here to evict the page, taken off the
 * queue; or NULL.
 */
bool annex_link_expedite(struct lane *lane, uint32_t page, struct job **recalled);
void annex_link_kick(struct lane *lane);

/* Take queued jobs that would evict any of these pages off the queue. */
struct job_list annex_link_recall(struct lane *lane, uint32_t first, uint32_t n);

/*
 * copy.c: a link between tiers that are both memory. Its thread copies, at most @rate bytes per
 * second in each direction (0: no limit). A GPU copies in both directions at once, so its links
 * have threads for each direction, and one more link makes frames and zeroes.
 */
int annex_copy_start(struct link *link, double rate);
int annex_copy_start_gpu(struct link *link, double rate);

/*
 * Copy a job's pages between @p and the device tier, @in or out: private memory, or by reads and
 * writes of its file, which neither map the pages nor fault, or by its GPU. Return: 0; a negative
 * errno.
 */
int annex_copy_device(struct job *job, void *p, bool in);

#endif
