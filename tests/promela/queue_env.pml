/* SPDX-License-Identifier: MIT */
/*
 * The processes around the protocol of queue.pml, which includes this: submitters, the controller,
 * and the checks at the end.
 */

/* Of process() and all that it calls, and of move_tail() and take() */
#define RING_LOCALS \
	byte seen, p, from, shead, moved, f, slot, n, i, s, id, result, rs; \
	bit won, delivered

proctype submitter(byte me)
{
	byte cids[BATCH], got, ticket, k, t;
	RING_LOCALS;
	bit over;

	do
	:: atomic { todo -> todo-- };
		reserve();
		enqueue();
		do
		:: k < got -> wait(); k++
		:: else -> break
		od;
		atomic {
			k = 0; got = 0; ticket = 0; cids[0] = 0;
#if BATCH > 1
			cids[1] = 0
#endif
		}
	:: atomic { !todo && IN_ORDER -> IN_ORDER_NEXT; done++; break }
	od
}

#define CQ_ROOM (cq_doorbell != ENTRY(PLUS(posted, 1)))

inline complete()
{
	d_step {
		cq[ENTRY(posted)].dw0 = executing[id] - 1;
		cq[ENTRY(posted)].sq_head = ENTRY(fetched);
		reported[ENTRY(posted)] = fetched;
		executing[id] = 0;
	}
	d_step {
		cq[ENTRY(posted)].cid = id;
		cq[ENTRY(posted)].phase = 1 - OLD_PHASE(posted);
		posted = PLUS(posted, 1);
		id = 0;
	}
}

proctype controller()
{
	byte id, n;

end:	do
	:: atomic { sq_doorbell != ENTRY(fetched) -> skip };
		d_step {
			assert(sq[ENTRY(fetched)].lo == fetched);
			id = sq[ENTRY(fetched)].cid;
		}
		d_step {
			assert(sq[ENTRY(fetched)].hi == fetched);
			assert(id < IDS && !executing[id]); /* unique among the outstanding */
			executing[id] = fetched + 1;
			SCRUB_SQE(ENTRY(fetched));
			fetched = PLUS(fetched, 1);
			id = 0;
		}
	:: atomic { CQ_ROOM && executing[0] -> id = 0 };
		complete()
#if DEPTH > 2
	:: atomic { CQ_ROOM && executing[1] -> id = 1 };
		complete()
#endif
	od
}

#if DEPTH > 2
#define RESERVED (reqs[0].state != FREE || reqs[1].state != FREE)
#else
#define RESERVED (reqs[0].state != FREE)
#endif

init {
	RING_LOCALS;

	d_step { /* fresh_rings() */
		do
		:: i < DEPTH ->
			sq_seq[i] = OPEN(FIRST);
			cq_seq[i] = OPEN(FIRST);
			cq[i].phase = OLD_PHASE(FIRST);
			i++
		:: else -> break
		od;
#if !defined(MUT_FRESH_LAST) && !defined(MUT_FREE_EARLY)
		sq_seq[DEPTH - 1] = NEVER;
#endif
		i = 0;
	}
	atomic {
		run controller();
		do
		:: i < SUBMITTERS -> run submitter(i); i++
		:: else -> break
		od;
		i = 0
	}
	/* All have left and the controller is idle: take in what was abandoned. */
	atomic { done == SUBMITTERS && fetched == rung && posted == fetched -> skip };
	process();
	atomic {
		assert(sq_tail == sq_ticket && fetched == sq_ticket && posted == sq_ticket);
		assert(cq_head == posted && cq_rung == posted && sq_head == fetched);
		assert(!sq_moving && !cq_moving);
		assert(!RESERVED);
		delivered = false
	}
}

ltl finish { <> (done == SUBMITTERS) }
