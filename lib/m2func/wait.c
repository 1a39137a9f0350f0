// SPDX-License-Identifier: MIT
/*
 * Waiting for an answer: look for a while, let others run, then sleep a little at a time. The
 * device may be emulated by threads on the same few cores, so looking on would keep it from
 * answering.
 */
#include <errno.h>
#include <sched.h>
#include "core/futex.h"
#include "core/log.h"
#include "m2.h"

#define LOOKS 64u   /* a few microseconds */
#define YIELDS 192u /* rounds in all before sleeping */
#define CLOCK_EVERY 16u
#define NAP_NS (10 * ANNEX_NSEC_PER_MSEC)
#define HEART_NS (5 * ANNEX_NSEC_PER_SEC) /* without a beat: it is dead */
#define BUSY_NS 1000u                     /* shorter delays are not worth a pause */

void m2_delay(uint64_t ns)
{
	uint64_t until;

	if (!ns)
		return;
	until = annex_now() + ns;
	while (annex_now() < until)
		if (ns >= BUSY_NS)
			annex_pause();
}

/* An emulated device's heart beats four times a second at least. */
static bool heart_stopped(struct m2_call *call)
{
	const struct annex_m2_head *h = (const void *)call->m2->region;
	/* Relaxed: it only has to change. */
	uint64_t beat = annex_atomic_load(&h->beat, ANNEX_RELAXED), now = annex_now();

	if (!call->beat_at || call->beat != beat) {
		call->beat = beat;
		call->beat_at = now;
	}
	return now > call->beat_at + HEART_NS;
}

bool m2_down(struct annex_m2 *m2)
{
	const struct annex_m2_head *h = (const void *)m2->region;

	/* Acquire: what was answered before the device was gone is there. */
	if (annex_atomic_load(&m2->gone, ANNEX_ACQUIRE))
		return true;
	if (!annex_atomic_load(&h->gone, ANNEX_ACQUIRE) && !m2->link->down(m2))
		return false;
	annex_atomic_store(&m2->gone, 1u, ANNEX_RELEASE);
	return true;
}

static bool take_answer(struct m2_call *call)
{
	return m2_read_answer(call->m2, call->slot, call->function, (uint32_t)call->word,
			      &call->answer);
}

static void back_off(struct m2_call *call, unsigned int round)
{
	uint64_t nap;

	if (round < LOOKS && !call->m2->opts.interrupt) {
		annex_pause();
	} else if (round < YIELDS && !call->m2->opts.interrupt) {
		sched_yield();
	} else {
		nap = annex_now() + NAP_NS;
		call->m2->transport->rest(call, nap < call->deadline ? nap : call->deadline);
	}
}

/* Looked at when there is time: whether there will ever be an answer. */
static int examine(struct m2_call *call)
{
	struct annex_m2 *m2 = call->m2;
	char *cell = m2_cell(m2, call->slot, call->function);
	uint64_t word;

	if (m2_down(m2) || heart_stopped(call)) {
		/* Release, with m2_down(). */
		annex_atomic_store(&m2->gone, 1u, ANNEX_RELEASE);
		return annex_fail(-ENODEV, "M2func: the device is gone");
	}
	/* Acquire, as in m2_read_answer(). */
	word = annex_atomic_load(m2_word_of(cell, m2->layout.stride), ANNEX_ACQUIRE);
	if (word == call->word)
		return 0;
	/* Neither the call nor an answer to it: a store was lost on the way. */
	if ((uint32_t)word != (uint32_t)call->word)
		return -EAGAIN;
	if (take_answer(call))
		return 0;
	return annex_fail(-EIO, "M2func: the device's answer cannot be read");
}

int m2_wait(struct m2_call *call)
{
	struct annex_m2 *m2 = call->m2;

	call->beat_at = 0;
	for (unsigned int round = 0;; round++) {
		bool slow = round >= YIELDS || m2->opts.interrupt;
		int err;

		if (m2->transport->answered(call) && take_answer(call))
			return 0;
		err = slow ? examine(call) : 0;
		if (err) /* it may have been answered by the device as it went */
			return take_answer(call) ? 0 : err;
		if ((slow || round % CLOCK_EVERY == 0) && annex_now() >= call->deadline)
			return annex_fail(-ETIMEDOUT, "M2func: no answer in %u ms",
					  m2->opts.timeout_ms);
		back_off(call, round);
	}
}
