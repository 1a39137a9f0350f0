// SPDX-License-Identifier: MIT
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <annex/models/ndp.h>
#include "ndp_rig.h"

#define WAIT_MS 60000u

static void map(struct near *r)
{
	r->used = 0;
	r->mem = mmap(NULL, NEAR_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(r->mem != MAP_FAILED);
	CU_ASSERT_EQUAL_FATAL(
		ndp_client_map(r->client, NEAR_VA, r->mem, NEAR_BYTES, RV_READ | RV_WRITE), 0);
}

void near_open(struct near *r, const struct annex_ndp_opts *opts)
{
	struct annex_ndp_opts two = {.threads = 2};

	CU_ASSERT_EQUAL_FATAL(annex_ndp_create(opts ? opts : &two, &r->ndp), 0);
	CU_ASSERT_EQUAL_FATAL(ndp_client_open(r->ndp, false, &r->client), 0);
	map(r);
}

void near_join(struct near *r, const struct near *other)
{
	r->ndp = NULL; /* not ours to destroy */
	CU_ASSERT_EQUAL_FATAL(ndp_client_open(other->ndp, false, &r->client), 0);
	map(r);
}

void near_close(struct near *r)
{
	ndp_client_close(r->client);
	annex_ndp_destroy(r->ndp);
	munmap(r->mem, NEAR_BYTES);
}

static void done(void *ctx, const struct annex_m2_answer *m2)
{
	struct answer *a = ctx;

	a->m2 = *m2;
	/* Release: with near_wait(). */
	annex_atomic_add(&a->answered, 1u, ANNEX_RELEASE);
}

void near_call(struct near *r, unsigned int function, const void *payload, size_t bytes,
	       struct answer *a)
{
	memset(a, 0, sizeof(*a));
	ndp_call(r->client, function, payload, bytes, done, a);
}

bool near_wait(struct answer *a)
{
	uint64_t deadline = annex_deadline_ms(WAIT_MS);

	/* Acquire: with done(). */
	while (!annex_atomic_load(&a->answered, ANNEX_ACQUIRE)) {
		if (annex_now() > deadline)
			return false;
		sched_yield();
	}
	return true;
}

void near_part(struct kernel *k, uint32_t *entry, const uint32_t *words, size_t n)
{
	CU_ASSERT_FATAL(k->n + n <= sizeof(k->text) / 4);
	*entry = (uint32_t)sizeof(k->image) + 4 * k->n;
	memcpy(&k->text[k->n], words, 4 * n);
	k->n += (unsigned int)n;
}

uint64_t near_put(struct near *r, struct kernel *k)
{
	uint64_t at = r->used;

	k->image.magic = ANNEX_M2_IMAGE_MAGIC;
	k->image.version = ANNEX_M2_VERSION;
	k->image.bytes = (uint32_t)sizeof(k->image) + 4 * k->n;
	k->image.bodies = 0;
	while (k->image.bodies < ANNEX_M2_BODIES && k->image.body[k->image.bodies])
		k->image.bodies++;
	memcpy(r->mem + at, k, k->image.bytes);
	r->used += (k->image.bytes + 63) / 64 * 64;
	CU_ASSERT_FATAL(r->used <= NEAR_DATA);
	return NEAR_VA + at;
}

int64_t near_register(struct near *r, struct kernel *k, uint32_t scratchpad, uint8_t args)
{
	struct annex_m2_register asked = {
		.scratchpad = scratchpad, .nx = 32, .nf = 32, .nv = 32, .args = args};
	struct answer a;

	asked.code = near_put(r, k);
	near_call(r, ANNEX_M2_REGISTER, &asked, sizeof(asked), &a);
	CU_ASSERT(near_wait(&a));
	return a.m2.value;
}

int64_t near_one(struct near *r, const uint32_t *words, size_t n)
{
	struct kernel k = {0};

	near_part(&k, &k.image.body[0], words, n);
	return near_register(r, &k, 0, 0);
}

int64_t near_unregister(struct near *r, int64_t id)
{
	struct annex_m2_unregister asked = {.id = (uint32_t)id};
	struct answer a;

	near_call(r, ANNEX_M2_UNREGISTER, &asked, sizeof(asked), &a);
	CU_ASSERT(near_wait(&a));
	return a.m2.value;
}

void near_start(struct near *r, int64_t id, bool sync, uint32_t at, uint64_t bytes,
		const uint64_t *args, unsigned int n, struct answer *a)
{
	struct {
		struct annex_m2_launch head;
		uint64_t args[31];
	} launch = {.head = {.id = (uint32_t)id,
			     .sync = sync,
			     .args = (uint8_t)(8 * n),
			     .base = NEAR_POOL + at,
			     .bound = NEAR_POOL + at + bytes}};

	if (n)
		memcpy(launch.args, args, 8 * n);
	near_call(r, ANNEX_M2_LAUNCH, &launch, sizeof(launch.head) + 8 * n, a);
}

struct annex_m2_answer near_run(struct near *r, int64_t id, uint32_t at, uint64_t bytes,
				const uint64_t *args, unsigned int n)
{
	struct answer a;

	near_start(r, id, true, at, bytes, args, n, &a);
	CU_ASSERT_FATAL(near_wait(&a));
	return a.m2;
}

struct annex_m2_answer near_poll(struct near *r, int64_t instance)
{
	struct annex_m2_poll asked = {.instance = (uint64_t)instance};
	struct answer a;

	near_call(r, ANNEX_M2_POLL, &asked, sizeof(asked), &a);
	CU_ASSERT(near_wait(&a));
	return a.m2;
}

bool near_grows(uint64_t *word, uint64_t much)
{
	uint64_t from = annex_atomic_load(word, ANNEX_RELAXED); /* nothing else is read */
	uint64_t deadline = annex_deadline_ms(WAIT_MS);

	while (annex_atomic_load(word, ANNEX_RELAXED) - from < much) {
		if (annex_now() > deadline)
			return false;
		sched_yield();
	}
	return true;
}

int64_t near_make_wait(struct near *r)
{
	return NEAR_ONE(r, amoadd_d(3, 0, 1), beq(3, 0, -4), ECALL);
}

int64_t near_make_count(struct near *r)
{
	return NEAR_ONE(r, addi(3, 0, 1), amoadd_d(0, 3, 1), jump(-4));
}

void near_let_go(uint64_t *word)
{
	/* Relaxed: the kernel reads nothing else. */
	annex_atomic_store(word, 1u, ANNEX_RELAXED);
}
