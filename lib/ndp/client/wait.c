// SPDX-License-Identifier: MIT
/*
 * Waiting for an answer: spin, yield, then sleep for short times. The device may be emulated by
 * threads on the same cores, which spinning would keep from running.
 */
#include <errno.h>
#include <sched.h>
#include "core/futex.h"
#include "core/log.h"
#include "m2.h"

#define TRIES 8u    /* most stores of a call */
#define LOOKS 128u  /* rounds of spinning: a few microseconds */
#define YIELDS 256u /* rounds before sleeping */
#define CLOCK_EVERY 16u
#define NAP_NS (10 * ANNEX_NSEC_PER_MSEC)
#define HEART_NS (5 * ANNEX_NSEC_PER_SEC) /* longest time without a heartbeat */
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

/* An emulated device has at least four heartbeats per second. */
static bool heart_stopped(struct annex_m2 *m2, struct m2_heart *heart)
{
	const struct annex_m2_head *h = (const void *)m2->region;
	/* Relaxed: only a change matters. */
	uint64_t beat = annex_atomic_load(&h->beat, ANNEX_RELAXED), now = annex_now();

	if (!heart->at || heart->beat != beat)
		*heart = (struct m2_heart){beat, now};
	return now > heart->at + HEART_NS;
}

bool m2_down(struct annex_m2 *m2, struct m2_heart *heart)
{
	const struct annex_m2_head *h = (const void *)m2->region;

	/* Acquire: answers before the device's end are visible. */
	if (annex_atomic_load(&m2->gone, ANNEX_ACQUIRE))
		return true;
	if (!annex_atomic_load(&h->gone, ANNEX_ACQUIRE) && !m2->link->down(m2) &&
	    !heart_stopped(m2, heart))
		return false;
	/* Release: pairs with the load above, in another thread. */
	annex_atomic_store(&m2->gone, 1u, ANNEX_RELEASE);
	return true;
}

static bool take_answer(struct m2_call *call)
{
	return m2_read_answer(call->m2, call->slot, call->function, (uint32_t)call->word,
			      &call->answer);
}

/* Check, in slow rounds, whether an answer can still arrive. */
static int examine(struct m2_call *call)
{
	struct annex_m2 *m2 = call->m2;
	char *cell = m2_cell(m2, call->slot, call->function);
	uint64_t word;

	if (m2_down(m2, &call->heart))
		return annex_fail(-ENODEV, "M2func: the device is gone");
	/* Acquire, as in annex_m2_load_cell(). */
	word = annex_atomic_load(m2_word_of(cell, m2->layout.stride), ANNEX_ACQUIRE);
	if (word == call->word)
		return 0;
	/* Neither the call nor its answer: a store was lost. */
	if ((uint32_t)word != (uint32_t)call->word)
		return -EAGAIN;
	if (take_answer(call))
		return 0;
	return annex_fail(-EIO, "M2func: the device's answer cannot be read");
}

static int store_again(struct m2_call *call)
{
	if (++call->tries == TRIES)
		return annex_fail(-EIO, "M2func: %u stores of a call came to nothing", TRIES);
	m2_store_call(call);
	m2_wake_device(call->m2);
	return M2_LATER;
}

/* Handle an answer, which may report that the call was torn or lost. */
static int settle(struct m2_call *call)
{
	uint32_t *last = &call->m2->slot[call->slot].seq[call->function];

	switch (call->answer.value) {
	case -EPROTO:
		*last = (uint32_t)call->answer.addr;
		return store_again(call);
	case -EBADMSG:
		return store_again(call);
	default:
		*last = (uint32_t)call->word;
		return 0;
	}
}

int m2_look(struct m2_call *call, bool slow)
{
	int err = 0;

	if (take_answer(call))
		return settle(call);
	if (slow)
		err = examine(call);
	if (err == -EAGAIN)
		return store_again(call);
	if (err) /* the device may have answered before its end */
		return take_answer(call) ? settle(call) : err;
	return M2_LATER;
}

bool m2_slow(unsigned int round)
{
	return round >= YIELDS;
}

bool m2_late(struct m2_call *call)
{
	if (!call->deadline)
		call->deadline = annex_deadline_ms(call->m2->opts.timeout_ms);
	return annex_now() >= call->deadline;
}

bool m2_over(struct m2_call *call, unsigned int round)
{
	return (m2_slow(round) || round % CLOCK_EVERY == 0) && m2_late(call);
}

void m2_back_off(struct m2_call *call, unsigned int round, uint64_t nap_ns)
{
	uint64_t until;

	if (m2_slow(round)) {
		until = annex_now() + nap_ns;
		m2_rest(call, until < call->deadline ? until : call->deadline);
	} else if (round < LOOKS) {
		annex_pause();
	} else {
		sched_yield();
	}
}

int m2_wait(struct m2_call *call)
{
	struct annex_m2 *m2 = call->m2;

	for (unsigned int round = 1;; round++) {
		int rc = m2_look(call, m2_slow(round));

		if (rc != M2_LATER)
			return rc;
		if (m2_over(call, round))
			return annex_fail(-ETIMEDOUT, "M2func: no answer in %u ms",
					  m2->opts.timeout_ms);
		m2_back_off(call, round, NAP_NS);
	}
}
