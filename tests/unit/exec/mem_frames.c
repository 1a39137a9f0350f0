// SPDX-License-Identifier: MIT
/*
 * Spaces in memory without detection of accesses, like a GPU's, emulated by the host's frames.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include <annex/detail/atomic.h>
#include <annex/detail/clock.h>
#include <annex/cuda.h>
#include <annex/exec.h>
#include "tests/unit/mem_rig.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define FRAME (64u << 10) /* of the host */

static const struct annex_frames *host(void)
{
	return annex_gpu_memory_host()->frames;
}

/* Whether there is memory at @p: where there is none, a touch would end this process. */
static bool is_there(const void *p)
{
	char byte;
	struct iovec to = {&byte, 1}, from = {(void *)(uintptr_t)p, 1};

	return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
}

/* Until let_go() it may be used. */
static int take(struct mem_rig *r, const void *p, uint64_t bytes)
{
	struct annex_move *m;
	int err = annex_hold(r->space, p);

	if (!err)
		err = annex_prefetch(r->space, p, bytes, 0, &m);
	return err ? err : annex_move_wait(m, WAIT_MS);
}

static int let_go(struct mem_rig *r, const void *p)
{
	return annex_let_go(r->space, p);
}

static void addresses_stay(void)
{
	struct annex_space_opts opts = {.device = 2 * MIB, .host = MIB, .frames = host()};
	uint64_t state = random_seed("addresses stay");
	uint8_t *p, *q, *plain = malloc(MIB);
	struct annex_mem_page at;
	struct mem_rig r;

	mem_rig_open(&r, "mem:4M", opts);
	p = mem_alloc(&r, "p", MIB);
	q = mem_alloc(&r, "q", 3 * MIB / 2);
	CU_ASSERT(!is_there(p));
	CU_ASSERT_EQUAL(take(&r, p, MIB), 0);
	for (uint64_t i = 0; i < MIB; i++)
		if (p[i])
			CU_FAIL("a new tensor is not all zeroes");
	random_fill(&state, plain, MIB);
	memcpy(p, plain, MIB);
	CU_ASSERT_EQUAL(let_go(&r, p), 0);
	/* It has to leave for another. */
	CU_ASSERT_EQUAL(take(&r, q, 3 * MIB / 2), 0);
	memset(q, 1, 3 * MIB / 2);
	CU_ASSERT(mem_stats(&r).out > 0);
	CU_ASSERT_EQUAL(let_go(&r, q), 0);
	mem_evict(&r, p, MIB, ANNEX_TIER_HOST);
	CU_ASSERT(!is_there(p) && !is_there(p + MIB - 1));
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD + 1);
	CU_ASSERT_EQUAL(annex_mem_lookup(r.space, p, &at), 0);
	CU_ASSERT(at.below && !at.device && at.tier >= ANNEX_TIER_SSD);
	CU_ASSERT_EQUAL(take(&r, p, MIB), 0);
	CU_ASSERT_EQUAL(memcmp(p, plain, MIB), 0);
	CU_ASSERT(mem_stats(&r).bounced > 0);
	CU_ASSERT_EQUAL(let_go(&r, p), 0);
	CU_ASSERT(mem_stats(&r).over == 0);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	mem_wait_empty(&r);
	mem_rig_close(&r);
	free(plain);
}

/* Tensors of a page: a frame counts as long as one of them is there. */
static void frames_are_shared(void)
{
	struct annex_space_opts opts = {.device = MIB, .host = MIB, .frames = host()};
	uint64_t frame = host()->bytes, n = frame / 4096;
	struct mem_rig r;
	char *p[64];

	CU_ASSERT_FATAL(n <= 64);
	mem_rig_open(&r, NULL, opts);
	for (uint64_t i = 0; i < n; i++) {
		p[i] = mem_alloc(&r, "page", 4096);
		CU_ASSERT_EQUAL(take(&r, p[i], 4096), 0);
		*p[i] = (char)i;
		CU_ASSERT_EQUAL(mem_stats(&r).device, frame);
		CU_ASSERT_EQUAL(let_go(&r, p[i]), 0);
	}
	for (uint64_t i = 0; i < n; i++) {
		CU_ASSERT_EQUAL(mem_stats(&r).device, frame);
		mem_evict(&r, p[i], 4096, ANNEX_TIER_HOST);
	}
	CU_ASSERT_EQUAL(mem_stats(&r).device, 0);
	CU_ASSERT(!is_there(p[0]));
	for (uint64_t i = n; i-- > 0;) {
		CU_ASSERT_EQUAL(take(&r, p[i], 4096), 0);
		CU_ASSERT_EQUAL(*p[i], (char)i);
		CU_ASSERT_EQUAL(let_go(&r, p[i]), 0);
		CU_ASSERT_EQUAL(annex_free(r.space, p[i]), 0);
	}
	CU_ASSERT_EQUAL(mem_stats(&r).device, 0);
	mem_rig_close(&r);
}

/* Whose frames have to be made room for may change by what leaves. */
static void neighbours_leave(void)
{
	struct annex_space_opts opts = {
		.device = 16 * FRAME, .host = 16 * MIB, .size = 32 * MIB, .frames = host()};
	uint64_t bytes[] = {FRAME + FRAME / 2, 2 * FRAME + FRAME / 2, 14 * FRAME};
	struct mem_rig r;
	char *p[3];

	CU_ASSERT_EQUAL_FATAL(host()->bytes, FRAME);
	mem_rig_open(&r, NULL, opts);
	for (unsigned int i = 0; i < 3; i++)
		p[i] = mem_alloc(&r, "neighbour", bytes[i]);
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(take(&r, p[i], bytes[i]), 0);
		memset(p[i], (int)i + 1, bytes[i]);
		CU_ASSERT_EQUAL(let_go(&r, p[i]), 0);
		mem_evict(&r, p[i], bytes[i], ANNEX_TIER_HOST);
	}
	/* The first leaves half of the second one's first frame, and has a copy below. */
	mem_fetch(&r, p[0] + FRAME, FRAME / 2);
	mem_fetch(&r, p[2], bytes[2]);
	CU_ASSERT_EQUAL(take(&r, p[1], bytes[1]), 0);
	CU_ASSERT_EQUAL(p[1][bytes[1] - 1], 2);
	CU_ASSERT_EQUAL(mem_stats(&r).over, 0);
	CU_ASSERT_EQUAL(let_go(&r, p[1]), 0);
	mem_rig_close(&r);
}

/* In frames that others hold there is room for more, which nothing else needs. */
static void prefetched_stays(void)
{
	struct annex_space_opts opts = {.device = 16 * FRAME, .host = 4 * MIB, .frames = host()};
	struct annex_mem_page page;
	char *held[16], *other[16];
	struct mem_rig r;

	mem_rig_open(&r, NULL, opts);
	for (unsigned int i = 0; i < 16; i++) {
		held[i] = mem_alloc(&r, "held", FRAME / 2);
		other[i] = mem_alloc(&r, "other", FRAME / 2);
		CU_ASSERT_EQUAL(take(&r, held[i], FRAME / 2), 0);
		CU_ASSERT_EQUAL(take(&r, other[i], FRAME / 2), 0);
		CU_ASSERT_EQUAL(let_go(&r, other[i]), 0);
	}
	for (unsigned int i = 0; i < 16; i++) {
		CU_ASSERT_EQUAL(annex_mem_lookup(r.space, other[i], &page), 0);
		CU_ASSERT(page.device && !page.busy);
		CU_ASSERT_EQUAL(let_go(&r, held[i]), 0);
	}
	CU_ASSERT_EQUAL(mem_stats(&r).out, 0);
	mem_rig_close(&r);
}

/* A kernel may write any byte of a held tensor: so it is not copied. */
static void held_is_not_saved(void)
{
	struct annex_space_opts opts = {.device = MIB, .host = MIB, .frames = host()};
	struct mem_rig r;
	char *p;

	mem_rig_open(&r, NULL, opts);
	p = mem_alloc(&r, "p", 8192);
	CU_ASSERT_EQUAL(take(&r, p, 8192), 0);
	CU_ASSERT_EQUAL(mem_try_evict(&r, p, 8192, ANNEX_TIER_HOST), -EBUSY);
	CU_ASSERT_EQUAL(let_go(&r, p), 0);
	mem_evict(&r, p, 8192, ANNEX_TIER_HOST);
	CU_ASSERT_EQUAL(annex_space_resize(r.space, MIB + 1), 0);
	mem_rig_close(&r);
}

/* A GPU whose memory others use, or that does not copy right. */
struct bad_gpu {
	struct annex_frames frames;
	uint32_t left, flips;
};

/* Relaxed, as all of it: several threads of the space count, and nothing is told by it. */
static bool take_some(uint32_t *left, uint32_t n)
{
	uint32_t had = annex_atomic_load(left, ANNEX_RELAXED);

	while (had >= n && !annex_atomic_cas(left, &had, had - n, ANNEX_RELAXED))
		;
	return had >= n;
}

static int scarce_bare(void *ctx, void *at)
{
	struct bad_gpu *bad = ctx;

	annex_atomic_add(&bad->left, 1, ANNEX_RELAXED);
	return host()->bare(NULL, at);
}

/* Memory that is taken, and not given back, counts. */
static int scarce_back(void *ctx, void *at, uint32_t n, void *const *from)
{
	struct bad_gpu *bad = ctx;
	uint32_t fresh = 0;

	for (uint32_t i = 0; i < n; i++)
		fresh += !from[i];
	if (!take_some(&bad->left, fresh)) {
		for (uint32_t i = 0; i < n; i++)
			if (from[i])
				scarce_bare(bad, from[i]);
		return annex_gpu_memory_fail(-ENOMEM, "bad GPU: no memory");
	}
	return host()->back(NULL, at, n, from);
}

static int wrong_put(void *ctx, void *to, const void *from, size_t bytes)
{
	struct bad_gpu *bad = ctx;
	int err = host()->put(NULL, to, from, bytes);

	/* Relaxed: a count. */
	if (annex_atomic_load(&bad->flips, ANNEX_RELAXED))
		((char *)to)[bytes / 2] ^= 4;
	return err;
}

static void bad_open(struct mem_rig *r, struct bad_gpu *bad, uint32_t left)
{
	*bad = (struct bad_gpu){.frames = *host(), .left = left};
	bad->frames.back = scarce_back;
	bad->frames.bare = scarce_bare;
	bad->frames.put = wrong_put;
	bad->frames.ctx = bad;
	mem_rig_open(r, "mem:4M",
		     (struct annex_space_opts){
			     .device = 2 * MIB, .checksum = true, .frames = &bad->frames});
}

static void no_memory(void)
{
	uint32_t frames = (uint32_t)(MIB / host()->bytes);
	struct bad_gpu bad;
	struct mem_rig r;
	char *p, *q;

	bad_open(&r, &bad, frames);
	p = mem_alloc(&r, "p", MIB);
	q = mem_alloc(&r, "q", MIB);
	CU_ASSERT_EQUAL(take(&r, p, MIB), 0);
	memset(p, 7, MIB);
	CU_ASSERT_EQUAL(mem_try_fetch(&r, q, MIB), -ENOMEM);
	CU_ASSERT_EQUAL(let_go(&r, p), 0);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	/* Its frames idle, and are all that there is. */
	CU_ASSERT_EQUAL(bad.left, 0);
	CU_ASSERT_EQUAL(take(&r, q, MIB), 0);
	CU_ASSERT_EQUAL(q[MIB - 1], 0);
	CU_ASSERT_EQUAL(let_go(&r, q), 0);
	/* The copies below stay valid. */
	CU_ASSERT_EQUAL(mem_try_fetch(&r, p, MIB), -ENOMEM);
	CU_ASSERT_EQUAL(annex_free(r.space, q), 0);
	annex_space_trim(r.space);
	CU_ASSERT_EQUAL(bad.left, frames);
	CU_ASSERT_EQUAL(take(&r, p, MIB), 0);
	CU_ASSERT(p[0] == 7 && p[MIB - 1] == 7);
	CU_ASSERT_EQUAL(let_go(&r, p), 0);
	mem_rig_close(&r);
	CU_ASSERT_EQUAL(bad.left, frames);
}

static void wrong_copies(void)
{
	struct bad_gpu bad;
	struct mem_rig r;
	char *p;

	bad_open(&r, &bad, UINT32_MAX / 2);
	p = mem_alloc(&r, "p", MIB);
	CU_ASSERT_EQUAL(take(&r, p, MIB), 0);
	memset(p, 7, MIB);
	CU_ASSERT_EQUAL(let_go(&r, p), 0);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	annex_atomic_store(&bad.flips, 1, ANNEX_RELAXED);
	CU_ASSERT_EQUAL(mem_try_fetch(&r, p, MIB), -EILSEQ);
	annex_atomic_store(&bad.flips, 0, ANNEX_RELAXED);
	CU_ASSERT_EQUAL(take(&r, p, MIB), 0);
	CU_ASSERT(p[0] == 7 && p[MIB - 1] == 7);
	CU_ASSERT_EQUAL(let_go(&r, p), 0);
	mem_rig_close(&r);
}

/* A GPU that does not unmap frame @stuck, and whose driver knows which frames are mapped. */
struct stuck_gpu {
	struct annex_frames frames;
	char *base, *stuck;
	uint64_t mapped; /* a bit for each frame */
};

static int stuck_reserve(void *ctx, uint64_t bytes, void **base)
{
	struct stuck_gpu *gpu = ctx;
	int err = host()->reserve(NULL, bytes, base);

	gpu->base = *base;
	return err;
}

static uint64_t stuck_bit(const struct stuck_gpu *gpu, const void *at)
{
	return 1ull << (uint64_t)((const char *)at - gpu->base) / FRAME;
}

static int stuck_bare(void *ctx, void *at)
{
	struct stuck_gpu *gpu = ctx;

	if (at == gpu->stuck)
		return annex_gpu_memory_fail(-EIO, "stuck GPU: a frame stays mapped");
	/* Relaxed, here and below: several threads change bits of different frames. */
	annex_atomic_and(&gpu->mapped, ~stuck_bit(gpu, at), ANNEX_RELAXED);
	return host()->bare(NULL, at);
}

static int stuck_back(void *ctx, void *at, uint32_t n, void *const *from)
{
	struct stuck_gpu *gpu = ctx;
	uint64_t mapped = annex_atomic_load(&gpu->mapped, ANNEX_RELAXED);
	char *p = at;
	int err = 0;

	for (uint32_t i = 0; i < n; i++, p += FRAME) {
		if (from[i] && !(mapped & stuck_bit(gpu, from[i])))
			err = annex_gpu_memory_fail(-EINVAL, "stuck GPU: no frame is there");
		if (from[i] != p && mapped & stuck_bit(gpu, p))
			err = annex_gpu_memory_fail(-EINVAL, "stuck GPU: a frame is there");
		if (from[i])
			annex_atomic_and(&gpu->mapped, ~stuck_bit(gpu, from[i]), ANNEX_RELAXED);
	}
	for (p = at; !err && p < (char *)at + (size_t)n * FRAME; p += FRAME)
		annex_atomic_or(&gpu->mapped, stuck_bit(gpu, p), ANNEX_RELAXED);
	return err ? err : host()->back(NULL, at, n, from);
}

/* The others were unmapped, and are not taken for mapped ones. */
static void one_stays_mapped(void)
{
	struct stuck_gpu gpu = {.frames = *host()};
	struct annex_space_opts opts = {.device = MIB, .size = 4 * MIB, .frames = &gpu.frames};
	struct mem_rig r;
	char *p;

	gpu.frames.reserve = stuck_reserve;
	gpu.frames.back = stuck_back;
	gpu.frames.bare = stuck_bare;
	gpu.frames.ctx = &gpu;
	mem_rig_open(&r, NULL, opts);
	p = mem_alloc(&r, "p", MIB);
	CU_ASSERT_EQUAL(take(&r, p, MIB), 0);
	CU_ASSERT_EQUAL(let_go(&r, p), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	gpu.stuck = gpu.base + ((p - gpu.base) / FRAME + 1) * FRAME;
	annex_space_trim(r.space);
	CU_ASSERT(annex_atomic_load(&gpu.mapped, ANNEX_RELAXED) & stuck_bit(&gpu, gpu.stuck));
	p = mem_alloc(&r, "p", MIB);
	CU_ASSERT_EQUAL(take(&r, p, MIB), 0);
	CU_ASSERT_EQUAL(p[MIB - 1], 0);
	CU_ASSERT_EQUAL(let_go(&r, p), 0);
	CU_ASSERT_EQUAL(annex_free(r.space, p), 0);
	gpu.stuck = NULL;
	annex_space_trim(r.space);
	CU_ASSERT_EQUAL(annex_atomic_load(&gpu.mapped, ANNEX_RELAXED), 0);
	mem_rig_close(&r);
}

/* A GPU whose frames and zeroes are counted, and that asks the space something meanwhile. */
struct counting_gpu {
	struct annex_frames frames;
	struct annex_space *space;
	uint32_t calls, frames_now, most, zeroes;
};

/* Several threads call; relaxed: counts. */
static void count_frames(struct counting_gpu *gpu, int32_t more)
{
	uint32_t now = annex_atomic_add(&gpu->frames_now, (uint32_t)more, ANNEX_RELAXED) +
		       (uint32_t)more;

	if (now > annex_atomic_load(&gpu->most, ANNEX_RELAXED))
		annex_atomic_store(&gpu->most, now, ANNEX_RELAXED);
}

static int counting_back(void *ctx, void *at, uint32_t n, void *const *from)
{
	struct counting_gpu *gpu = ctx;

	annex_atomic_add(&gpu->calls, 1, ANNEX_RELAXED);
	for (uint32_t i = 0; i < n; i++)
		count_frames(gpu, !from[i]);
	/* With the space's lock this would wait for ever. */
	annex_space_trim(gpu->space);
	return host()->back(NULL, at, n, from);
}

static int counting_bare(void *ctx, void *at)
{
	struct counting_gpu *gpu = ctx;

	count_frames(gpu, -1);
	return host()->bare(NULL, at);
}

static int counting_zero(void *ctx, void *at, size_t bytes)
{
	struct counting_gpu *gpu = ctx;

	annex_atomic_add(&gpu->zeroes, 1, ANNEX_RELAXED);
	return host()->zero(NULL, at, bytes);
}

static void counting_open(struct mem_rig *r, struct counting_gpu *gpu, uint64_t device)
{
	*gpu = (struct counting_gpu){.frames = *host()};
	gpu->frames.back = counting_back;
	gpu->frames.bare = counting_bare;
	gpu->frames.zero = counting_zero;
	gpu->frames.ctx = gpu;
	mem_rig_open(r, "mem:64M",
		     (struct annex_space_opts){
			     .device = device, .host = 64 * MIB, .frames = &gpu->frames});
	gpu->space = r->space;
}

/* A driver takes as long for one frame as for many, and others need the space meanwhile. */
static void frames_come_together(void)
{
	struct counting_gpu gpu;
	struct mem_rig r;
	char *p;

	counting_open(&r, &gpu, 64 * MIB);
	p = mem_alloc(&r, "p", 4 * MIB);
	CU_ASSERT_EQUAL(take(&r, p, 4 * MIB), 0);
	CU_ASSERT_EQUAL(annex_atomic_load(&gpu.frames_now, ANNEX_RELAXED), 4 * MIB / FRAME);
	CU_ASSERT(annex_atomic_load(&gpu.calls, ANNEX_RELAXED) <= 2);
	CU_ASSERT_EQUAL(let_go(&r, p), 0);
	mem_rig_close(&r);
	CU_ASSERT_EQUAL(gpu.frames_now, 0);
}

/* Frames that idle are part of the budget, and go when that gets smaller. */
static void idle_frames_count(void)
{
	struct counting_gpu gpu;
	struct mem_rig r;
	char *p[8];

	counting_open(&r, &gpu, 4 * MIB);
	for (unsigned int round = 0; round < 3; round++)
		for (unsigned int i = 0; i < 8; i++) {
			if (!round)
				p[i] = mem_alloc(&r, "p", MIB);
			CU_ASSERT_EQUAL(take(&r, p[i], MIB), 0);
			CU_ASSERT_EQUAL(p[i][MIB - 1], (char)(round ? round + i - 1 : 0));
			memset(p[i], (int)(round + i), MIB);
			CU_ASSERT_EQUAL(let_go(&r, p[i]), 0);
		}
	CU_ASSERT_EQUAL(annex_atomic_load(&gpu.most, ANNEX_RELAXED), 4 * MIB / FRAME);
	for (unsigned int i = 0; i < 8; i++)
		mem_evict(&r, p[i], MIB, ANNEX_TIER_HOST);
	CU_ASSERT_EQUAL(mem_stats(&r).device, 0);
	CU_ASSERT_EQUAL(annex_space_resize(r.space, 2 * MIB), 0);
	CU_ASSERT_EQUAL(annex_atomic_load(&gpu.frames_now, ANNEX_RELAXED), 2 * MIB / FRAME);
	annex_space_trim(r.space);
	CU_ASSERT_EQUAL(annex_atomic_load(&gpu.frames_now, ANNEX_RELAXED), 0);
	mem_rig_close(&r);
}

/* A kernel that writes all of a tensor needs room for it, and nothing else. */
static void written_is_not_brought(void)
{
	const struct annex_exec_opts none = {.policy = "none"};
	struct annex_exec_use use = {NULL, ANNEX_USE_WRITE}, both[2];
	struct annex_exec *e;
	struct counting_gpu gpu;
	struct mem_rig r;
	char *p;

	counting_open(&r, &gpu, 4 * MIB);
	p = mem_alloc(&r, "p", MIB);
	use.ptr = p + 5;
	CU_ASSERT_EQUAL_FATAL(annex_exec_create(r.space, &none, &e), 0);
	CU_ASSERT_EQUAL(annex_exec_begin(e), 0);
	CU_ASSERT_EQUAL(annex_exec_before(e, "new", &use, 1), 0);
	memset(p, 1, MIB);
	CU_ASSERT_EQUAL(annex_exec_after(e), 0);
	CU_ASSERT_EQUAL(annex_atomic_load(&gpu.zeroes, ANNEX_RELAXED), 0);
	mem_evict(&r, p, MIB, ANNEX_TIER_HOST);
	CU_ASSERT_EQUAL(annex_exec_before(e, "again", &use, 1), 0);
	CU_ASSERT_EQUAL(mem_stats(&r).in, 0);
	CU_ASSERT_EQUAL(mem_stats(&r).host, 0);
	memset(p, 2, MIB);
	CU_ASSERT_EQUAL(annex_exec_after(e), 0);
	mem_evict(&r, p, MIB, ANNEX_TIER_SSD);
	/* Read as well, by whichever of its uses. */
	both[0] = use;
	both[1] = (struct annex_exec_use){p + MIB - 1, ANNEX_USE_READ};
	CU_ASSERT_EQUAL(annex_exec_before(e, "both", both, 2), 0);
	CU_ASSERT_EQUAL(mem_stats(&r).in, MIB);
	CU_ASSERT(p[0] == 2 && p[MIB - 1] == 2);
	CU_ASSERT_EQUAL(annex_exec_after(e), 0);
	CU_ASSERT_EQUAL(annex_exec_end(e), 0);
	annex_exec_destroy(e);
	mem_rig_close(&r);
}

/* New tensors are zeroed, uninitialized ones are not: this GPU's frames hold old data. */
static void anything_is_not_zeroed(void)
{
	struct counting_gpu gpu;
	struct mem_rig r;
	void *p, *q;

	counting_open(&r, &gpu, 4 * MIB);
	p = mem_alloc(&r, "zeroes", MIB);
	CU_ASSERT_EQUAL_FATAL(annex_alloc_uninit(r.space, "anything", MIB, &q), 0);
	CU_ASSERT_EQUAL(take(&r, q, MIB), 0);
	CU_ASSERT_EQUAL(annex_atomic_load(&gpu.zeroes, ANNEX_RELAXED), 0);
	CU_ASSERT_EQUAL(take(&r, p, MIB), 0);
	CU_ASSERT(annex_atomic_load(&gpu.zeroes, ANNEX_RELAXED) > 0);
	CU_ASSERT_EQUAL(let_go(&r, p), 0);
	CU_ASSERT_EQUAL(let_go(&r, q), 0);
	mem_rig_close(&r);
}

static void bad_sizes(void)
{
	struct annex_frames odd = *host();
	struct annex_space_opts opts = {.device = MIB, .frames = &odd};
	struct annex_space *s;

	odd.bytes = 2048;
	CU_ASSERT_EQUAL(annex_space_create(&opts, &s), -EINVAL);
	odd.bytes = 3 << 14;
	CU_ASSERT_EQUAL(annex_space_create(&opts, &s), -EINVAL);
	/* One transfer may reach into two frames. */
	odd.bytes = 2 * MIB;
	opts.device = 2 * MIB;
	CU_ASSERT_EQUAL(annex_space_create(&opts, &s), -EINVAL);
	opts.frames = host();
	opts.device = MIB;
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &s), 0);
	CU_ASSERT_EQUAL(annex_space_resize(s, MIB / 2), -EINVAL);
	annex_space_destroy(s);
}

#define PROGRAMS (UNIT_SANITIZED ? 40u : 400u)
#define TENSORS 12u
#define STEPS 60u

/* Compare a tensor, and change a part; a hold on a small one holds its shared pages. */
static void use(struct mem_twin *t, uint64_t *state, const struct mem_pair *x)
{
	if (take(t->r, x->p, x->bytes)) {
		t->wrong++;
		return;
	}
	t->wrong += memcmp(x->p, x->plain, x->bytes) != 0;
	mem_change(state, x);
	t->wrong += let_go(t->r, x->p) != 0;
}

static void move(struct mem_twin *t, uint64_t *state, const struct mem_pair *x)
{
	static const unsigned int tiers[] = {ANNEX_TIER_HOST, ANNEX_TIER_SSD, ANNEX_TIER_SSD + 1};
	uint64_t at = random_next(state) % x->bytes;
	uint64_t n = random_next(state) % (x->bytes - at) + 1;
	unsigned int tier = tiers[random_next(state) % 3];

	if (random_next(state) % 2)
		t->wrong += annex_prefetch(t->r->space, x->p + at, n, 0, NULL) != 0;
	else
		t->wrong += annex_pre_evict(t->r->space, x->p + at, n, tier, NULL) != 0;
}

static void *live(void *arg)
{
	struct mem_twin *t = arg;
	struct mem_pair pairs[TENSORS] = {0};
	uint64_t state = t->seed;

	for (unsigned int i = 0; i < TENSORS; i++)
		mem_renew(t, &state, &pairs[i]);
	for (unsigned int i = 0; i < STEPS; i++) {
		struct mem_pair *x = &pairs[random_next(&state) % TENSORS];

		switch (random_next(&state) % 8) {
		case 0:
			mem_renew(t, &state, x);
			break;
		case 1:
			t->wrong += annex_space_resize(t->r->space,
						       (2 + random_next(&state) % 4) * MIB) != 0;
			break;
		case 2:
		case 3:
		case 4:
			use(t, &state, x);
			break;
		default:
			move(t, &state, x);
		}
	}
	for (unsigned int i = 0; i < TENSORS; i++) {
		use(t, &state, &pairs[i]);
		t->wrong += annex_free(t->r->space, pairs[i].p) != 0;
		free(pairs[i].plain);
	}
	return NULL;
}

static void beside_a_twin(void)
{
	uint64_t state = random_seed("frames beside a twin");
	struct mem_rig r;

	for (unsigned int round = 0; round < PROGRAMS / MEM_TWINS; round++) {
		mem_rig_open(&r, "mem:16M",
			     (struct annex_space_opts){
				     /* What four threads hold at once fits. */
				     .device = (2 + random_next(&state) % 3) * MIB,
				     .host = MIB,
				     .size = 64 * MIB,
				     .checksum = round % 2,
				     .frames = host(),
			     });
		mem_twins(&r, &state, live);
		mem_wait_empty(&r);
		CU_ASSERT_EQUAL(mem_stats(&r).over, 0);
		mem_rig_close(&r);
	}
}

UNIT_SUITE(mem_frames, {"addresses stay", addresses_stay}, {"frames are shared", frames_are_shared},
	   {"neighbours leave", neighbours_leave}, {"prefetched stays", prefetched_stays},
	   {"held is not saved", held_is_not_saved}, {"no memory", no_memory},
	   {"wrong copies", wrong_copies}, {"one stays mapped", one_stays_mapped},
	   {"frames come together", frames_come_together}, {"idle frames count", idle_frames_count},
	   {"written is not brought", written_is_not_brought},
	   {"anything is not zeroed", anything_is_not_zeroed}, {"bad sizes", bad_sizes},
	   {"beside a twin", beside_a_twin})
