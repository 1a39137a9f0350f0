/* SPDX-License-Identifier: MIT */
/*
 * How host threads sleep on a queue pair and are woken: lib/nvme/wait.c with annex_qp_deliver(),
 * under their names. Every atomic access there is one step here. The rings are those of
 * queue.pml; all that matters of them here is that a posted completion is claimed once.
 *
 * Shape: WAITERS threads share COMMANDS commands; each takes one, waits for it and goes on. The
 * first IMPATIENT of them may time out at any moment, after which they leave, their token still
 * valid and their command still under way. All others have no deadline: who is forgotten asleep
 * shows as a deadlock.
 */

#ifndef WAITERS
#define WAITERS 3
#endif
#ifndef COMMANDS
#define COMMANDS 3
#endif
#ifndef IMPATIENT
#define IMPATIENT 1
#endif

/* A request's word; each waiter keeps to the request of its own number. */
#define FREE 0
#define TAKEN 1
#define DONE 2
#define ASLEEP 4 /* with TAKEN */

byte state[WAITERS];
bit watched;
byte dozing;

bit dozes[WAITERS]; /* in the kernel, asleep on the word */
bit quiet;          /* no event since the watcher read the event number */
bit submitted[WAITERS], posted[WAITERS];
byte todo = COMMANDS, done;

#define MAY_TIME_OUT (me < IMPATIENT)

inline process()
{
	do
	:: d_step { posted[0] -> posted[0] = 0; c = 0 }; deliver()
	:: d_step { posted[1] -> posted[1] = 0; c = 1 }; deliver()
#if WAITERS > 2
	:: d_step { posted[2] -> posted[2] = 0; c = 2 }; deliver()
#endif
	:: else -> break
	od
}

inline deliver()
{
	s = state[c];
	do
	:: won -> break
	:: else ->
		d_step {
			if
			:: state[c] == s -> state[c] = DONE; won = true
			:: else -> s = state[c]
			fi
		}
	od;
	won = false;
	if
	:: s == TAKEN + ASLEEP -> /* annex_qp_wake() */
		wake_dozer(c);
		if
		:: woken
		:: else -> quiet = 0 /* the watcher, through the controller's wake() */
		fi
	:: else
	fi;
	atomic { s = 0; c = 0; woken = false }
}

inline wake_dozer(who)
{
	d_step { woken = dozes[who]; dozes[who] = 0 }
}

inline hand_over()
{
	if
	:: dozing ->
		do
		:: c == WAITERS || woken -> break
		:: else ->
			if
			:: d_step { state[c] == TAKEN + ASLEEP -> state[c] = TAKEN };
				wake_dozer(c);
#ifdef MUT_FIRST_MARK
				quiet = 0;
				woken = true;
#endif
#ifndef MUT_WAKE_DOZER_ONLY
				if
				:: !woken -> quiet = 0 /* it may have become the watcher */
				:: else
				fi
#endif
			:: else
			fi;
			c++
		od;
		atomic { c = 0; woken = false }
	:: else
	fi
}

/*
 * Load and compare-and-swap in one: where the swap would fail because the word has changed since,
 * nobody sleeps and all is looked at again, as after a mark that came too late.
 */
inline mark()
{
	if
	:: d_step { state[me] & TAKEN -> state[me] = TAKEN + ASLEEP }; marked = true
	:: else
	fi
}

inline watch()
{
#ifndef MUT_EVENT_AFTER_HELP
	quiet = 1; /* seen = event() */
	process();
#else
	process();
	quiet = 1;
#endif
#ifdef MUT_SLEEP_UNMARKED
	marked = true;
#else
	mark();
#endif
	if
	:: marked ->
		if
		:: !quiet
		:: MAY_TIME_OUT
		fi
	:: else
	fi;
	marked = false;
	watched = 0
}

inline doze()
{
	dozing++;
#ifdef MUT_MARK_AFTER_LOOK
	if
	:: watched -> mark()
	:: else
	fi;
#else
	mark();
#endif
	if
#ifdef MUT_MARK_AFTER_LOOK
	:: marked ->
#else
	:: marked && watched ->
#endif
		if /* the futex */
		:: d_step { state[me] == TAKEN + ASLEEP -> dozes[me] = 1 };
			if
			:: !dozes[me]
			:: MAY_TIME_OUT -> dozes[me] = 0
			fi
		:: else
		fi
	:: else
	fi;
	marked = false;
	dozing--
}

inline collect()
{
	if
	:: d_step { state[me] == DONE -> state[me] = FREE }; over = true
	:: else
	fi
}

inline wait_awake()
{
	do
	:: true ->
		process();
		collect();
		if
		:: over -> break
		:: !over && MAY_TIME_OUT -> late = true; break
		:: !over ->
			if
			:: d_step { !watched -> watched = 1 };
				watch()
			:: else -> doze()
			fi;
			collect();
			if
			:: over -> break
			:: else
			fi
		fi
	od
}

proctype waiter(byte me)
{
	byte c, s;
	bit won, woken, marked, over, late;

	do
	:: d_step { todo && !late -> todo--; state[me] = TAKEN };
		submitted[me] = 1;
		wait_awake();
#ifndef MUT_NO_HAND_OVER
		if
		:: !watched -> hand_over()
		:: else
		fi;
#endif
		over = false
	:: !todo || late -> break
	od;
	done++
}

proctype controller()
{
end:	do
	:: d_step { submitted[0] -> submitted[0] = 0; posted[0] = 1 }; quiet = 0
	:: d_step { submitted[1] -> submitted[1] = 0; posted[1] = 1 }; quiet = 0
#if WAITERS > 2
	:: d_step { submitted[2] -> submitted[2] = 0; posted[2] = 1 }; quiet = 0
#endif
	od
}

init {
	byte i;

	atomic {
		run controller();
		do
		:: i < WAITERS -> run waiter(i); i++
		:: else -> break
		od
	};
	done == WAITERS;
	assert(!watched && !dozing)
}
