/* SPDX-License-Identifier: MIT */
/*
 * Annex's planner.
 *
 * One pass goes over the kernels of an iteration as over a clock face. Where more is live than the
 * GPU holds, it cuts: bytes of a tensor that is idle leave as late as they must, and return as late
 * as they can. A cut is judged by how long it relieves memory that is too full, and by whether
 * anything must be written for it (select.c). A tensor that has a valid copy below leaves for free;
 * the write that makes the copy may lie anywhere between the last kernel that wrote the tensor and
 * the moment it leaves (cut.c): as early as links allow while cuts are chosen, then as late
 * (job.c). Links are counted in slots, one a kernel (link.c). When all fits, transfers are pulled
 * into idle slots before theirs, in the order in which they are due, so that late kernels find them
 * done (pull.c).
 *
 * search.c makes a few passes, first with stalls where the bound has them, then with the stalls
 * that the simulator measured of the best plan. Some have rents of lower tiers that were full.
 */
#ifndef ANNEX_PLAN_PLANNER_PLANNER_H
#define ANNEX_PLAN_PLANNER_PLANNER_H

#include <stdbool.h>
#include <stdint.h>
#include <annex/plan.h>
#include "plan/policy/span.h"

#define NONE UINT32_MAX

/* The planner's tiers: one for all SSDs together. */
enum { BELOW_HOST, BELOW_CXL, BELOW_SSD, BELOWS };
enum { LINK_OUT, LINK_IN, LINKS };

/*
 * struct link - One direction of a link.
 * @free: bytes that it can still carry in each slot; NULL: it has no limit of its own.
 * @sum: a Fenwick tree over @free.
 * @skip: leads past slots that are full.
 */
struct link {
	double *free, *sum;
	uint32_t *skip;
};

/* struct slice - Bytes of a job in a slot. */
struct slice {
	uint64_t bytes;
	uint32_t slot, job;
	uint32_t next;    /* of the job, a later one */
	uint32_t in_slot; /* the next one of the slot */
};

/*
 * struct job - A transfer of bytes of a period: in slots @release to @release + @window, around the
 * clock. Bytes that do not fit there are late. Jobs that write copies of one epoch are siblings.
 */
struct job {
	uint64_t bytes;
	uint32_t period;
	uint32_t release, window;
	uint32_t slices, sibling;
	uint8_t dir, below;
};

/* struct cut - Bytes of a period that leave at the start of kernel @drop, if needed to @below. */
struct cut {
	uint64_t bytes;
	uint32_t period, drop;
	uint32_t next; /* of the period */
	uint8_t below;
};

/*
 * struct idle - The plan for one inactive period.
 * @epoch: between two writes to a tensor its copies stay valid: periods of one epoch share them.
 * @out: bytes that leave in it, by @cuts.
 * @keep: so many keep their copy when they return.
 */
struct idle {
	uint64_t out, keep;
	uint32_t epoch, cuts;
};

/*
 * struct epoch - Copies of a tensor's bytes between two writes.
 * @copied: bytes that get a copy.
 * @at: of these, bytes in each tier.
 * @written: first slot in which writing the copies may begin.
 * @until: slots after @written for which the copies stay.
 * @last: the period at whose end they are dropped.
 * @jobs: number of jobs that make the copies.
 * @below: tier of the first copy.
 * @always: no kernel writes the tensor: its copies stay always.
 */
struct epoch {
	uint64_t copied, at[BELOWS];
	uint32_t written, until, last;
	uint32_t jobs;
	uint8_t below;
	bool always;
};

/*
 * struct annex_taste - Settings in which passes differ.
 * @far: SSDs are tried before host memory.
 * @slow: SSDs count as half as fast.
 * @late: while cuts are chosen, writes lie as late as links allow.
 * @lead: a tier is accepted if a fetch from it takes at most @lead times its uncontended time.
 * @rent: price of room in a tier, for a byte and a nanosecond of each slot, in transfers. A cut
 *	takes the tier that relieves most for its price, and ignores @far and @lead. NULL: no price.
 */
struct annex_taste {
	bool far, slow, late;
	double lead;
	double *const *rent;
};

struct annex_pass {
	const struct annex_vitality *v;
	const struct annex_system *sys;
	struct annex_taste taste;
	uint32_t n;
	const double *ns;         /* how long each slot is */
	uint64_t capacity;        /* of the GPU */
	int64_t room[BELOWS];     /* of lower tiers, this GPU's share */
	struct span press;        /* bytes on the GPU */
	struct span fill[BELOWS]; /* bytes below */
	struct link pcie[LINKS], below[LINKS][BELOWS];
	struct link time;    /* seconds of SSDs, where reads and writes share them */
	double takes[LINKS]; /* so many for each byte */
	struct idle *idle;   /* of each period */
	struct epoch *epochs;
	uint32_t n_epochs;
	uint32_t *alloc; /* the slot at which each tensor is allocated */
	uint32_t *slot;  /* the first slice of each slot */
	struct cut *cuts;
	struct job *jobs;
	struct slice *slices;
	uint32_t n_cuts, n_jobs, n_slices;
	uint32_t most_cuts, most_jobs, most_slices;
	double *rent[BELOWS];       /* of a byte, before each slot; n + 1 */
	double *over;               /* nanoseconds above capacity before each slot; n + 1 */
	double *when;               /* nanoseconds before each slot; n + 1 */
	double rate[LINKS][BELOWS]; /* bytes a second, with all of the link */
	double crumb;               /* smaller pieces of a transfer are not worth a step */
	bool settled;               /* writes lie late, and fill memory below from then on */
	int err;
};

/* pass.c */
int annex_pass_init(struct annex_pass *p);
void annex_pass_free(struct annex_pass *p);

/* link.c: room of a direction and tier in slots [@from, @from + @len), around the clock. */
int link_init(struct link *l, uint32_t n, const double *ns, double rate);
void link_free(struct link *l);
double annex_link_free(const struct annex_pass *p, unsigned int dir, unsigned int below,
		       uint32_t from, uint32_t len);
double annex_free_at(const struct annex_pass *p, unsigned int dir, unsigned int below,
		     uint32_t slot);
/* How many slots, from @slot back, are full; at most @most are looked at, and @most + 1 is all. */
uint32_t annex_skip(struct annex_pass *p, unsigned int dir, unsigned int below, uint32_t slot,
		    uint32_t most);
/* The same from @slot on, for @most slots. A direction is walked one way until annex_turn(). */
uint32_t annex_skip_ahead(struct annex_pass *p, unsigned int dir, unsigned int below, uint32_t slot,
			  uint32_t most);
void annex_turn(struct annex_pass *p, unsigned int dir);
/* How many slots before @to, at most @len, take @bytes. */
uint32_t annex_reach(const struct annex_pass *p, unsigned int dir, unsigned int below, uint32_t to,
		     uint32_t len, double bytes);
void annex_take(struct annex_pass *p, unsigned int dir, unsigned int below, uint32_t slot,
		double bytes);

/* job.c */

/* Slots from @from to @to, around the clock. */
uint32_t annex_around(const struct annex_pass *p, uint32_t from, uint32_t to);
/* The slot at which a job must be done. */
uint32_t annex_due(const struct annex_pass *p, const struct job *j);
void annex_weigh(struct annex_pass *p, const struct job *j, uint32_t slot, uint32_t len,
		 int64_t bytes);
/* A slice that is not yet in its job's chain. Both return an index, or NONE with p->err set. */
uint32_t annex_new_slice(struct annex_pass *p, uint32_t job, uint32_t slot, uint64_t bytes);
uint32_t annex_new_job(struct annex_pass *p, const struct job *job);
/* A job that writes is done earlier: @window slots after its release. */
void annex_hasten_job(struct annex_pass *p, uint32_t job, uint32_t window);
/*
 * Writes lie as early as links allow while cuts are chosen, from kernel @start on. Place them again
 * as late as links allow, in falling order of their releases: copies then fill memory below no
 * longer than needed.
 */
void annex_settle(struct annex_pass *p, uint32_t start);
/* A slice arrives @later slots later: that long it does not press. */
void annex_defer(struct annex_pass *p, uint32_t slice, uint32_t later);

/* cut.c */

/*
 * Costs of a cut: @writes has the bytes to write, @late the bytes of all transfers that come late,
 * @in and @out the bytes that the links have left for it, @rent the rent of a byte, and @away the
 * number of slots until the first byte returns.
 */
struct annex_price {
	uint64_t writes;
	double late;
	double in, out, rent;
	uint32_t away;
	double lead, takes; /* nanoseconds until all are back; if nothing else passed */
};

/* Whether @bytes of a period can leave at @drop to a tier, and at what price. */
bool annex_price(const struct annex_pass *p, uint32_t period, uint32_t drop, uint64_t bytes,
		 unsigned int below, struct annex_price *price);
void annex_cut(struct annex_pass *p, uint32_t period, uint32_t drop, uint64_t bytes,
	       unsigned int below);
/*
 * A cut that could be made sooner: one whose period is open at @drop already, but that leaves only
 * in the next iteration; NONE if there is none. annex_price_sooner() and annex_cut_sooner() take
 * it.
 */
uint32_t annex_later_cut(const struct annex_pass *p, uint32_t period, uint32_t drop);
bool annex_price_sooner(const struct annex_pass *p, uint32_t cut, uint32_t drop,
			struct annex_price *price);
void annex_cut_sooner(struct annex_pass *p, uint32_t cut, uint32_t drop);
/* select.c: cut until all fits. pull.c: pull transfers forward. */
void annex_select(struct annex_pass *p);
void annex_pull(struct annex_pass *p);

/* emit.c: the steps. */
int annex_emit(struct annex_pass *p, struct annex_plan *plan);

#endif
