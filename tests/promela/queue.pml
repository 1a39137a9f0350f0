/* SPDX-License-Identifier: MIT */
/*
 * The queue protocol of include/annex/detail/ring.h, under its names. Every atomic load, store, add
 * or compare-and-swap there is one step here; a command and a completion are written and read in
 * halves, so that a torn, early or overwritten one is seen. An atomic or d_step block never holds
 * more than one access to shared memory, beside checks (the words that no C code has; they stand
 * under "Checks only" below).
 *
 * Shape (queue_env.pml): SUBMITTERS threads share a pool of COMMANDS commands, so that every
 * distribution over them is covered; each waits for a command or abandons it at any moment. One
 * controller fetches in order and completes in any order. At the end whoever is left drains the
 * queue, and nothing may be outstanding, marked or reserved any more.
 *
 * Left out: the gate and resets (the queue is live throughout, so a turn that stayed away would
 * show as a stuck waiter), and deadlines (a deadline only chooses a moment to abandon).
 */

#ifndef DEPTH
#define DEPTH 2
#endif
#ifndef SUBMITTERS
#define SUBMITTERS 3
#endif
#ifndef COMMANDS
#define COMMANDS 6
#endif
#ifndef BATCH
#define BATCH 1 /* commands that a submitter tries to carry in one pass */
#endif
#ifndef TURNS
#define TURNS 40 /* turns are counted modulo this: even, as the phase is a turn's parity */
#endif
#ifndef START
#define START 0 /* the turn that the queue starts in */
#endif
#ifdef PATIENT /* nobody gives up */
#define MAY_ABANDON false
#else
#define MAY_ABANDON true
#endif

#define IDS (DEPTH - 1)

/* Positions that are never wrapped in the code are counted modulo WRAP here. */
#define WRAP (DEPTH * TURNS)
#define FIRST (DEPTH * START)
#define PLUS(n, k) (((n) + (k)) % WRAP)
#define DIFF(a, b) (((a) + WRAP - (b)) % WRAP)
#define TURN(n) ((n) / DEPTH)
#define ENTRY(n) ((n) % DEPTH)
#define OLD_PHASE(n) (TURN(n) % 2)
#define NEVER 255

/* Values of an entry's word: sq_seq has the first two, cq_seq all three. */
#define OPEN(n) (2 * TURN(n))
#define MARKED(n) (2 * TURN(n) + 1)
#define CLAIMED(n) MARKED(n)
#define DELIVERED(n) OPEN(PLUS(n, DEPTH))

/* Values of a request's word, less its generation, which only tells callers' old tokens apart. */
#define FREE 0
#define TAKEN 1
#define DONE 2
#define ORPHAN 3

/* won = compare and swap of word from old to new; old becomes the value found when it fails. */
#define CAS(word, old, new) \
	if \
	:: word == old -> word = new; won = true \
	:: else -> old = word; won = false \
	fi

typedef sqe { byte cid; byte lo; byte hi };
typedef cqe { byte dw0; byte sq_head; byte cid; bit phase };
typedef req { byte state; byte dw0; byte status };

/* How deliver() ends a request; inflight is for checks. */
#ifdef MUT_BLIND_DELIVERY
#define SETTLE(next) reqs[id].state = next; inflight[id] = 0; won = true
#else
#define SETTLE(next) \
	CAS(reqs[id].state, rs, next); \
	if \
	:: won -> assert(inflight[id]); inflight[id] = 0 \
	:: else \
	fi
#endif

/* struct annex_qp, and what it points to */
sqe sq[DEPTH];
cqe cq[DEPTH];
byte sq_doorbell, cq_doorbell;
byte sq_seq[DEPTH], cq_seq[DEPTH];
req reqs[IDS];
byte sq_ticket = FIRST, sq_tail = FIRST, sq_head = FIRST, cq_head = FIRST;
byte sq_moving, cq_moving;

/* The controller's own */
byte fetched = FIRST, posted = FIRST; /* positions in the SQ and the CQ */
byte executing[IDS];                  /* the command's position + 1 */

/* Checks only */
byte rung = FIRST, cq_rung = FIRST; /* the doorbells, unwrapped */
bit inflight[IDS];                  /* written into the queue, not delivered */
byte reported[DEPTH], last_reported; /* SQ head of each completion, unwrapped */
byte claimed = FIRST;               /* how many completions have been claimed */
byte todo = COMMANDS, done;

/*
 * A round of waiting that can change nothing is not worth looking at: a waiter goes round again
 * when what it waits for has come or there is a completion to deliver. So who waits for ever
 * shows as a deadlock.
 */
#define REST_UNTIL(come) (come) || posted != claimed

/*
 * What nobody may read any more is set to zero: fewer states, and who reads it nevertheless gets
 * the wrong value.
 */
#define SCRUB_SQE(e) sq[e].cid = 0; sq[e].lo = 0; sq[e].hi = 0
#define SCRUB_REQ(c) reqs[c].dw0 = 0; reqs[c].status = 0

/*
 * Submitters are alike, so it is enough to look at runs in which the first has its first
 * identifier first, then the second, and so on.
 */
byte first;
#define IN_ORDER (first >= me)
#define IN_ORDER_NEXT first = (first == me -> me + 1 : first)

inline move_tail()
{
	d_step { seen = sq_moving; sq_moving++ };
	if
	:: seen -> seen = 0
	:: else ->
		seen = 1;
		do
		:: d_step { p = sq_tail; from = p };
			do
			:: atomic { sq_seq[ENTRY(p)] == MARKED(p) -> p = PLUS(p, 1) }
			:: else -> break
			od;
			if
			:: p != from ->
#ifdef MUT_RING_BEFORE_TAIL
				ring_sq();
				sq_tail = p;
#else
				sq_tail = p;
				ring_sq();
#endif
			:: else
			fi;
#ifdef MUT_NO_RECHECK
			sq_moving = 0;
			break
#else
			d_step { CAS(sq_moving, seen, 0) };
			if
			:: won -> break
			:: else
			fi
#endif
		od;
		atomic { seen = 0; p = 0; from = 0; won = 0 }
	fi
}

inline ring_sq()
{
	d_step {
		assert(DIFF(p, rung) >= 1 && DIFF(p, rung) < DEPTH); /* only forward */
		assert(DIFF(p, fetched) < DEPTH); /* a full queue never looks empty */
		sq_doorbell = ENTRY(p);
		rung = p;
	}
}

inline free_entries(head)
{
	/* Only the thread inside the head movement touches sq_head: no step of its own. */
	moved = (head + DEPTH - ENTRY(sq_head)) % DEPTH;
	assert(moved <= DIFF(sq_tail, sq_head)); /* else the queue would count as broken */
	f = 0;
	do
	:: f < moved ->
		d_step {
#ifdef MUT_FREE_EARLY
			slot = PLUS(sq_head, DEPTH + f);
#else
			slot = PLUS(sq_head, DEPTH - 1 + f);
#endif
			sq_seq[ENTRY(slot)] = OPEN(slot);
			f++;
		}
	:: else -> break
	od;
	atomic { sq_head = PLUS(sq_head, moved); f = 0; moved = 0; slot = 0 }
}

inline move_head()
{
	d_step { seen = cq_moving; cq_moving++ };
	if
	:: seen -> seen = 0
	:: else ->
		seen = 1;
		do
		:: d_step { p = cq_head; from = p };
			do
			:: cq_seq[ENTRY(p)] == DELIVERED(p) ->
				d_step {
					shead = cq[ENTRY(p)].sq_head;
					assert(ENTRY(reported[ENTRY(p)]) == shead);
					last_reported = reported[ENTRY(p)];
					reported[ENTRY(p)] = 0;
					cq[ENTRY(p)].sq_head = 0;
					p = PLUS(p, 1);
				}
			:: else -> break
			od;
			if
			:: p != from ->
				free_entries(shead);
				/* Checks: no turn was misread as none; nothing is freed twice. */
				d_step { assert(sq_head == last_reported); last_reported = 0 }
				cq_head = p;
				d_step {
					assert(DIFF(p, cq_rung) >= 1 && DIFF(p, cq_rung) < DEPTH);
					assert(DIFF(p, cq_rung) <= DIFF(posted, cq_rung));
					cq_doorbell = ENTRY(p);
					cq_rung = p;
				}
			:: else
			fi;
#ifdef MUT_NO_RECHECK
			cq_moving = 0;
			break
#else
			d_step { CAS(cq_moving, seen, 0) };
			if
			:: won -> break
			:: else
			fi
#endif
		od;
		atomic { seen = 0; p = 0; from = 0; won = 0; shead = 0 }
	fi
}

/* id and result are of the completion that this thread has claimed. */
inline deliver()
{
	rs = reqs[id].state;
	do
	:: won -> break
	:: else ->
		if
		:: rs == TAKEN ->
			reqs[id].dw0 = result;
			reqs[id].status = result;
			d_step { SETTLE(DONE) }
		:: rs == ORPHAN ->
			d_step { SETTLE(FREE) }
		:: else -> assert(false) /* would be counted as spurious */
		fi
	od;
	atomic { result = 0; rs = 0; won = 0 }
}

/* What to do about an entry whose word s does not let this thread claim it. */
inline pass_by()
{
	if
	:: s == CLAIMED(n) || s == DELIVERED(n) -> i++; n = PLUS(n, 1)
	:: else -> i = DEPTH /* the head has moved a whole turn past this thread */
	fi
}

inline try_claim()
{
	if
#ifndef MUT_NO_PHASE
	:: atomic { cq[ENTRY(n)].phase == OLD_PHASE(n) -> i = DEPTH }
#endif
	:: atomic { else -> id = cq[ENTRY(n)].cid };
		d_step {
			s = OPEN(n);
#ifdef MUT_NO_CLAIM
			cq_seq[ENTRY(n)] = CLAIMED(n); won = true;
#else
			CAS(cq_seq[ENTRY(n)], s, CLAIMED(n));
#endif
			if
			:: won -> s = 0; claimed = PLUS(claimed, 1)
			:: else -> pass_by(); s = 0; id = 0
			fi
		}
		if
		:: won ->
			won = false;
#ifdef MUT_MARK_BEFORE_DELIVERY
			cq_seq[ENTRY(n)] = DELIVERED(n);
#endif
			d_step { result = cq[ENTRY(n)].dw0; cq[ENTRY(n)].dw0 = 0 };
			deliver();
#ifndef MUT_MARK_BEFORE_DELIVERY
			cq_seq[ENTRY(n)] = DELIVERED(n);
#endif
			atomic { delivered = true; id = 0; i++; n = PLUS(n, 1) }
		:: else
		fi
	fi
}

inline process()
{
	n = cq_head;
	do
	:: i == DEPTH -> break
	:: else ->
		if
		:: cq_seq[ENTRY(n)] == OPEN(n) -> try_claim()
		:: atomic { else -> s = cq_seq[ENTRY(n)]; pass_by(); s = 0 }
		fi
	od;
	atomic { n = 0; i = 0 };
	if
	:: delivered -> move_head()
	:: else
	fi
}

/* Up to want identifiers. They are alike, so the hint where to start is left out. */
inline take(want)
{
	do
	:: i == IDS || got == want -> break
	:: else ->
		if
		:: reqs[n].state == FREE ->
			s = FREE;
			d_step {
				IN_ORDER || reqs[n].state != s ->
				CAS(reqs[n].state, s, TAKEN);
				if
				:: won -> assert(!inflight[n]); cids[got] = n; got++; IN_ORDER_NEXT
				:: else
				fi;
				n = (n + 1) % IDS; i++; s = 0; won = 0
			}
		:: atomic { else -> n = (n + 1) % IDS; i++ }
		fi
	od;
	atomic { i = 0; n = 0 }
}

/* Its deadline is left out: who gives up here holds nothing. */
inline reserve()
{
	do
	:: take(BATCH);
		if
		:: got -> break
		:: else
		fi;
		process();
		delivered = false;
		REST_UNTIL(reqs[0].state == FREE || reqs[IDS - 1].state == FREE)
	od
}

inline wait_turn()
{
	do
	:: sq_seq[ENTRY(t)] == OPEN(t) -> break
	:: else ->
		process();
		delivered = false;
		REST_UNTIL(sq_seq[ENTRY(t)] == OPEN(t))
	od
}

inline enqueue()
{
	d_step { ticket = sq_ticket; t = ticket; sq_ticket = PLUS(sq_ticket, got) }
	k = 0;
	do
	:: k < got ->
		wait_turn();
#ifdef MUT_MARK_BEFORE_COMMAND
		sq_seq[ENTRY(t)] = MARKED(t);
#endif
		atomic {
			assert(DIFF(t, fetched) < DEPTH); /* what was here has been fetched */
			inflight[cids[k]] = 1;
			sq[ENTRY(t)].cid = cids[k];
			sq[ENTRY(t)].lo = t;
		}
		sq[ENTRY(t)].hi = t;
#ifndef MUT_MARK_BEFORE_COMMAND
		sq_seq[ENTRY(t)] = MARKED(t);
#endif
		d_step { t = PLUS(t, 1); k++ }
	:: else -> break
	od;
	atomic { t = 0; k = 0 }
	move_tail()
}

/* Sets over when the command has ended and its result is taken. */
inline collect()
{
	if
	:: reqs[cids[k]].state == DONE ->
		assert(reqs[cids[k]].dw0 == PLUS(ticket, k));    /* its own command's result */
		assert(reqs[cids[k]].status == PLUS(ticket, k)); /* and all of it */
		d_step { SCRUB_REQ(cids[k]); reqs[cids[k]].state = FREE; over = true }
	:: atomic { else -> assert(reqs[cids[k]].state == TAKEN) }
	fi
}

inline abandon()
{
	if
	:: atomic { reqs[cids[k]].state == TAKEN -> s = TAKEN };
		d_step {
#ifdef MUT_ABANDON_FREES
			CAS(reqs[cids[k]].state, s, FREE);
#else
			CAS(reqs[cids[k]].state, s, ORPHAN);
#endif
			s = 0; over = won; won = 0
		}
	:: else
	fi;
	if
	:: over
	:: else -> collect(); assert(over) /* it had just completed */
	fi
}

/* Polling; who sleeps instead is in wait.pml. */
inline wait()
{
	do
	:: over -> break
	:: else ->
		if
		:: MAY_ABANDON -> abandon()
		:: true -> collect();
			if
			:: over
			:: else ->
				process();
				delivered = false;
				collect();
				if
				:: over
				:: else -> REST_UNTIL(reqs[cids[k]].state == DONE)
				fi
			fi
		fi
	od;
	over = false
}

#include "queue_env.pml"
