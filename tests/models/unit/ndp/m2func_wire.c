// SPDX-License-Identifier: MIT
/*
 * M2func to the byte: cells stored by hand, as a host that knows no library would, and as one that
 * means harm.
 */
#include <sched.h>
#include <string.h>
#include "m2_rig.h"
#include "tests/unit/random.h"

#define SLOT 7u /* which the library does not come to with one thread or a few */
#define STRIDE 64u
#define N (STRIDE / 8 - 1)

static char *cell_of(struct annex_m2 *m2, uint32_t function)
{
	return m2_cell(m2, SLOT, function);
}

/* Until the cell has an answer. */
static bool answer_of(struct annex_m2 *m2, uint32_t function, uint32_t seq,
		      struct annex_m2_answer *a)
{
	uint64_t deadline = annex_deadline_ms(M2_RIG_LONG_MS);

	while (!m2_read_answer(m2, SLOT, function, seq, a)) {
		if (annex_now() > deadline)
			return false;
		sched_yield();
	}
	return true;
}

/* Store a call, and have its answer. @spoil: bits of the word that are wrong. */
static int64_t say(struct annex_m2 *m2, uint32_t function, uint32_t seq, const void *payload,
		   size_t bytes, uint64_t spoil, struct annex_m2_answer *a)
{
	uint64_t all[N] = {0};

	memcpy(all, payload, bytes);
	annex_m2_store_cell(cell_of(m2, function), STRIDE, all,
			    annex_m2_word(all, N, seq, false) ^ spoil);
	m2_wake_device(m2);
	CU_ASSERT_FATAL(answer_of(m2, function, (uint32_t)(seq ^ spoil), a));
	return a->value;
}

static uint64_t launches(struct annex_m2 *m2, uint32_t id)
{
	const struct annex_m2_record *all = (const void *)(m2->region + m2_records_at(&m2->layout));

	/* Registrations are told at once, and launches then; others when the device finds time. */
	for (unsigned int i = 0; i < m2->layout.kernels; i++)
		if (annex_atomic_load((const uint64_t *)(const void *)&all[i], ANNEX_RELAXED)
			    << 32 ==
		    (uint64_t)id << 32)
			return annex_atomic_load(&all[i].launches, ANNEX_RELAXED);
	return UINT64_MAX;
}

/* A launch that adds one. */
struct launch {
	struct annex_m2_launch head;
	uint64_t add;
};

static struct launch launch_of(const struct m2_rig *r, uint32_t id)
{
	return (struct launch){.head = {.id = id,
					.sync = 1,
					.args = 8,
					.base = (uintptr_t)r->pool,
					.bound = (uintptr_t)r->pool + 32},
			       .add = 1};
}

static void torn(void)
{
	struct annex_m2_answer a;
	struct launch l;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, NULL);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	l = launch_of(&r, id);
	/* Any bit of checksum and number. */
	for (unsigned int bit = 0; bit < 63; bit++)
		CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_LAUNCH, 1, &l, sizeof(l), 1ull << bit, &a),
				-EBADMSG);
	CU_ASSERT_EQUAL(r.pool[0], 0);
	/* It was not carried out, so the same number is the next one still. */
	CU_ASSERT(say(r.m2, ANNEX_M2_LAUNCH, 1, &l, sizeof(l), 0, &a) > 0);
	CU_ASSERT_EQUAL(r.pool[0], 1);
	m2_rig_close(&r);
}

static void repeated(void)
{
	struct annex_m2_answer first, again;
	struct launch l;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, NULL);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	l = launch_of(&r, id);
	CU_ASSERT(say(r.m2, ANNEX_M2_LAUNCH, 1, &l, sizeof(l), 0, &first) > 0);
	for (unsigned int i = 0; i < 10; i++) {
		say(r.m2, ANNEX_M2_LAUNCH, 1, &l, sizeof(l), 0, &again);
		CU_ASSERT_EQUAL(memcmp(&first, &again, sizeof(first)), 0);
	}
	CU_ASSERT_EQUAL(r.pool[0], 1);
	CU_ASSERT_EQUAL(annex_m2_unregister(r.m2, id), 0);
	/* A refusal is repeated too. */
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_LAUNCH, 2, &l, sizeof(l), 0, &first), -ENOENT);
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_LAUNCH, 2, &l, sizeof(l), 0, &first), -ENOENT);
	m2_rig_close(&r);
}

static void lost(void)
{
	struct annex_m2_answer a;
	struct launch l;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, NULL);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	l = launch_of(&r, id);
	for (uint32_t seq = 1; seq <= 5; seq++)
		CU_ASSERT(say(r.m2, ANNEX_M2_LAUNCH, seq, &l, sizeof(l), 0, &a) > 0);
	for (uint32_t seq = 7; seq < 20; seq++) {
		CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_LAUNCH, seq, &l, sizeof(l), 0, &a), -EPROTO);
		CU_ASSERT_EQUAL(a.addr, 5);
	}
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_LAUNCH, 0, &l, sizeof(l), 0, &a), -EPROTO);
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_LAUNCH, 4, &l, sizeof(l), 0, &a), -EPROTO);
	CU_ASSERT(say(r.m2, ANNEX_M2_LAUNCH, 6, &l, sizeof(l), 0, &a) > 0);
	CU_ASSERT_EQUAL(r.pool[0], 6);
	m2_rig_close(&r);
}

/* The library finds its way back when it has lost count, and carries nothing out twice. */
static void lost_count(void)
{
	uint64_t one = 1;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, &(struct annex_m2_opts){.slots = 1});
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	for (unsigned int k = 0; k < 10; k++) {
		r.m2->slot[0].seq[ANNEX_M2_LAUNCH] += k % 3;
		CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, &one, 8, NULL), 0);
	}
	CU_ASSERT_EQUAL(r.pool[0], 10);
	m2_rig_close(&r);
}

static void numbers_go_round(void)
{
	CU_ASSERT_EQUAL(m2_next(0), 1);
	CU_ASSERT_EQUAL(m2_next(0xfffffffe), 0xffffffff);
	CU_ASSERT_EQUAL(m2_next(0xffffffff), 1);
}

static void no_such_function(void)
{
	struct annex_m2_answer a;
	struct m2_rig r;

	m2_rig_open(&r, NULL);
	for (uint32_t f = ANNEX_M2_SHOOTDOWN + 1; f < ANNEX_M2_REST; f++)
		CU_ASSERT_EQUAL(say(r.m2, f, 1, "", 0, 0, &a), -ENOSYS);
	m2_rig_close(&r);
}

/* struct long_launch - One that adds its first argument; the last one is in the other cell. */
struct long_launch {
	struct annex_m2_launch head;
	uint64_t args[5 + STRIDE / 8 - 1];
};

static int64_t say_long(struct annex_m2 *m2, uint32_t seq, const struct long_launch *l,
			uint64_t spoil, struct annex_m2_answer *a)
{
	uint64_t all[sizeof(*l) / 8];
	uint64_t *rest = all + N;

	memcpy(all, l, sizeof(*l));
	CU_ASSERT_EQUAL_FATAL(annex_m2_rest(ANNEX_M2_LAUNCH, all, STRIDE), STRIDE / 8);
	all[N] ^= spoil;
	annex_m2_store_rest(cell_of(m2, ANNEX_M2_REST), STRIDE, rest);
	all[N] ^= spoil;
	annex_m2_store_cell(cell_of(m2, ANNEX_M2_LAUNCH), STRIDE, all,
			    annex_m2_word(all, N + STRIDE / 8, seq, false));
	m2_wake_device(m2);
	CU_ASSERT_FATAL(answer_of(m2, ANNEX_M2_LAUNCH, seq, a));
	return a->value;
}

/* The checksum covers both cells, and contents of the second cell are never taken for a call. */
static void two_cells(void)
{
	uint64_t words[STRIDE / 8] = {0}, found[STRIDE / 8];
	struct annex_m2_answer a;
	struct long_launch l;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, NULL);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 40);
	l = (struct long_launch){.head = launch_of(&r, id).head, .args = {1, 0, 0, 0, 7}};
	l.head.args = 40;
	for (unsigned int bit = 0; bit < 64; bit++)
		CU_ASSERT_EQUAL(say_long(r.m2, 1, &l, 1ull << bit, &a), -EBADMSG);
	CU_ASSERT_EQUAL(r.pool[0], 0);
	CU_ASSERT(say_long(r.m2, 1, &l, 0, &a) > 0);
	CU_ASSERT_EQUAL(r.pool[0], 1);
	/* Nothing may be behind the arguments. */
	l.args[5] = 1;
	CU_ASSERT_EQUAL(say_long(r.m2, 2, &l, 0, &a), -EINVAL);
	words[STRIDE / 8 - 1] = annex_m2_word(words, N, 1, false);
	annex_m2_store_rest(cell_of(r.m2, ANNEX_M2_REST), STRIDE, words);
	l.args[5] = 0;
	l.head.args = 32; /* they fit in one cell, so the other one is unused */
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_LAUNCH, 3, &l, 56, 0, &a), -EINVAL);
	/* So often that the device has looked at all that it looks at. */
	for (unsigned int i = 0; i < m2_cells(&r.m2->layout); i++)
		CU_ASSERT_EQUAL(annex_m2_poll(r.m2, 1, NULL), -ENOENT);
	annex_m2_load_rest(cell_of(r.m2, ANNEX_M2_REST), STRIDE, found);
	CU_ASSERT_EQUAL(memcmp(words, found, sizeof(words)), 0);
	m2_rig_close(&r);
}

/* Sizes that are wrong, and something where nothing may be. */
static void wrong_payloads(void)
{
	struct annex_m2_answer a;
	struct launch l;
	struct m2_rig r;
	uint64_t junk[N];
	uint32_t id, seq = 1;

	m2_rig_open(&r, NULL);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	memset(junk, 0xff, sizeof(junk));
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_POLL, 1, junk, sizeof(junk), 0, &a), -EINVAL);
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_REGISTER, 1, junk, sizeof(junk), 0, &a), -EINVAL);
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_UNREGISTER, 1, junk, sizeof(junk), 0, &a), -EINVAL);
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_SHOOTDOWN, 1, junk, sizeof(junk), 0, &a), -EINVAL);
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_LAUNCH, seq++, junk, sizeof(junk), 0, &a), -EINVAL);
	l = launch_of(&r, id);
	l.head.args = 16;
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_LAUNCH, seq++, &l, sizeof(l), 0, &a), -EINVAL);
	l.head.args = 0;
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_LAUNCH, seq++, &l, sizeof(l), 0, &a), -EINVAL);
	l.head.args = 104; /* more than two cells have room for */
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_LAUNCH, seq++, &l, sizeof(l), 0, &a), -EINVAL);
	l = launch_of(&r, id);
	l.head.bound = l.head.base - 32;
	CU_ASSERT_EQUAL(say(r.m2, ANNEX_M2_LAUNCH, seq++, &l, sizeof(l), 0, &a), -EINVAL);
	l = launch_of(&r, id);
	CU_ASSERT(say(r.m2, ANNEX_M2_LAUNCH, seq++, &l, sizeof(l), 0, &a) > 0);
	CU_ASSERT_EQUAL(r.pool[0], 1);
	m2_rig_close(&r);
}

/* Kernels of other clients, and unused numbers, are not found. */
static void forged_numbers(void)
{
	uint64_t instance, one = 1;
	struct annex_m2 *other;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, NULL);
	other = m2_rig_client(&r, NULL);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	CU_ASSERT_EQUAL(annex_m2_launch(r.m2, id, r.pool, 32, &one, 8, &instance), 0);
	CU_ASSERT_EQUAL(annex_m2_wait(r.m2, instance, M2_RIG_LONG_MS, NULL), 0);
	for (uint32_t forged = 0; forged < 1000; forged++)
		CU_ASSERT_EQUAL(annex_m2_run(other, forged, r.pool, 32, &one, 8, NULL), -ENOENT);
	CU_ASSERT_EQUAL(annex_m2_unregister(other, id), -ENOENT);
	CU_ASSERT_EQUAL(annex_m2_poll(other, instance, NULL), -ENOENT);
	CU_ASSERT_EQUAL(annex_m2_poll(other, UINT64_MAX, NULL), -ENOENT);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, &one, 8, NULL), 0);
	CU_ASSERT_EQUAL(r.pool[0], 2);
	annex_m2_close(other);
	m2_rig_close(&r);
}

static void kernels_are_told(void)
{
	uint64_t one = 1;
	struct m2_rig r;
	uint32_t id, second;

	m2_rig_open(&r, NULL);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	CU_ASSERT_EQUAL(launches(r.m2, id), 0);
	for (unsigned int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, &one, 8, NULL), 0);
	second = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	CU_ASSERT_EQUAL(launches(r.m2, id), 5);
	CU_ASSERT_EQUAL(annex_m2_unregister(r.m2, id), 0);
	CU_ASSERT_EQUAL(launches(r.m2, id), UINT64_MAX);
	CU_ASSERT_EQUAL(launches(r.m2, second), 0);
	m2_rig_close(&r);
}

/* struct vandal - A thread that fills its region with random bytes until it is told to stop. */
struct vandal {
	struct annex_m2 *m2;
	uint64_t seed;
	uint32_t stop;
};

static void *rage(void *arg)
{
	struct vandal *v = arg;
	uint64_t *region = (uint64_t *)(void *)v->m2->region;
	uint64_t words = m2_bytes(&v->m2->layout) / 8;

	while (!annex_atomic_load(&v->stop, ANNEX_ACQUIRE)) {
		uint64_t at = random_next(&v->seed) % words, value = random_next(&v->seed);

		/* Bytes at random, and now and then a call that is one. */
		if (random_next(&v->seed) % 8) {
			annex_atomic_store(&region[at], value, ANNEX_RELAXED);
		} else {
			uint32_t f = (uint32_t)(at % ANNEX_M2_FUNCTIONS);
			uint64_t all[N];

			random_fill(&v->seed, all, sizeof(all));
			annex_m2_store_cell(m2_cell(v->m2, 0, f), STRIDE, all,
					    annex_m2_word(all, N, (uint32_t)value % 4, false));
		}
		if (!(value % 64))
			annex_bell_ring(&v->m2->bell);
	}
	return NULL;
}

/* While another client is served as if nothing were. */
static void random_bytes(void)
{
	struct vandal v = {.seed = random_seed("rage")};
	uint64_t one = 1;
	struct m2_rig r;
	pthread_t thread;
	uint32_t id;

	m2_rig_open(&r, NULL);
	v.m2 = m2_rig_client(&r, NULL);
	CU_ASSERT_EQUAL(annex_m2_unmap(v.m2, annex_hdm_at(r.hdm, 0), M2_RIG_BYTES), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, rage, &v), 0);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 8);
	for (unsigned int i = 0; i < 500; i++)
		CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, &one, 8, NULL), 0);
	annex_atomic_store(&v.stop, 1u, ANNEX_RELEASE);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(r.pool[0], 500);
	annex_m2_close(v.m2);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, &one, 8, NULL), 0);
	m2_rig_close(&r);
}

UNIT_SUITE(m2func_wire, {"torn", torn}, {"repeated", repeated}, {"lost", lost},
	   {"lost count", lost_count}, {"numbers go round", numbers_go_round},
	   {"no such function", no_such_function}, {"two cells", two_cells},
	   {"wrong payloads", wrong_payloads}, {"forged numbers", forged_numbers},
	   {"kernels are told", kernels_are_told}, {"random bytes", random_bytes})
