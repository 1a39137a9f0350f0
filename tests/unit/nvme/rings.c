// SPDX-License-Identifier: MIT
/*
 * Rings in memory of which the library touches nothing: it can be loaded and stored only while the
 * test, in the place of a GPU, uses the queue pair; the controller has another mapping of it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <annex/device.h>
#include <annex/log.h>
#include "core/log.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define BLOCK 512u
#define BLOCKS 2048u
#define TIMEOUT_MS 20000u

/* The race detector does not see that two mappings are of one memory, so not their order either. */
#if defined(__SANITIZE_THREAD__)
#define ONE_THREAD 1
#elif defined(__has_feature)
#define ONE_THREAD __has_feature(thread_sanitizer)
#else
#define ONE_THREAD 0
#endif

struct fixture {
	struct annex_dev *dev;
	struct annex_qp *qp;
	char *there, *seen; /* the same pages */
	size_t bytes;
	struct annex_rings rings;
	unsigned int zeroed;
	int zero_err;
	void *data;
	uint64_t data_addr;
	uint64_t seed;
};

static int zero(void *ctx, void *ptr, size_t bytes)
{
	struct fixture *f = ctx;

	if (f->zero_err)
		return annex_fail(f->zero_err, "test: completions cannot be zeroed");
	memset(f->seen + ((char *)ptr - f->there), 0, bytes);
	f->zeroed++;
	return 0;
}

static size_t pages_of(size_t bytes)
{
	return (bytes + ANNEX_NVME_PAGE - 1) & ~(size_t)(ANNEX_NVME_PAGE - 1);
}

static void begin(struct fixture *f, const char *uri, uint32_t depth)
{
	struct annex_dev_opts opts = {.queues = 2, .depth = depth, .timeout_ms = TIMEOUT_MS};
	size_t sq = pages_of(depth * sizeof(struct annex_sqe));
	uint64_t addr;

	memset(f, 0, sizeof(*f));
	f->seed = random_seed("rings");
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, &opts, &f->dev), 0);
	f->qp = annex_dev_qp_at(f->dev, 0);
	f->bytes = sq + pages_of(depth * sizeof(struct annex_cqe));
	f->there = mmap(NULL, f->bytes, PROT_NONE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(f->there != MAP_FAILED);
	f->seen = mremap(f->there, 0, f->bytes, MREMAP_MAYMOVE);
	CU_ASSERT_FATAL(f->seen != MAP_FAILED);
	CU_ASSERT_FATAL(!mprotect(f->seen, f->bytes, PROT_READ | PROT_WRITE));
	random_fill(&f->seed, f->seen, f->bytes); /* old contents */
	CU_ASSERT_EQUAL_FATAL(annex_dev_map(f->dev, f->seen, f->bytes, &addr), 0);
	CU_ASSERT_EQUAL_FATAL(annex_dev_alloc(f->dev, ANNEX_PLACE_PROVIDER, ANNEX_NVME_PAGE,
					      &f->data, &f->data_addr),
			      0);
	f->rings = (struct annex_rings){
		.sq = f->there,
		.cq = f->there + sq,
		.sq_addr = addr,
		.cq_addr = addr + sq,
		.zero = zero,
		.ctx = f,
	};
}

static void end(struct fixture *f)
{
	annex_dev_free(f->dev, ANNEX_PLACE_PROVIDER, f->data, ANNEX_NVME_PAGE, f->data_addr);
	annex_dev_close(f->dev);
	CU_ASSERT(!munmap(f->there, f->bytes)); /* it stayed ours */
	CU_ASSERT(!munmap(f->seen, f->bytes));
}

static int transfer(struct fixture *f, uint8_t opcode, uint64_t lba)
{
	struct annex_io io = {.opcode = opcode,
			      .nsid = 1,
			      .slba = lba,
			      .nlb = 1,
			      .bytes = BLOCK,
			      .addr = f->data_addr};
	uint64_t token, deadline = annex_deadline_ms(TIMEOUT_MS);
	struct annex_result res = {0};
	int n = annex_qp_submit(f->qp, &io, 1, &token, deadline), err;

	if (n < 0)
		return n;
	err = annex_qp_wait(f->qp, token, &res, deadline);
	return err ? err : annex_nvme_errno(res.status);
}

/* Blocks go out and come back; the rings end anywhere. */
static void use(struct fixture *f)
{
	uint64_t n = 1 + random_next(&f->seed) % (2 * f->qp->depth + 1);
	char block[BLOCK];

	CU_ASSERT_FATAL(!mprotect(f->there, f->bytes, PROT_READ | PROT_WRITE));
	for (uint64_t i = 0; i < n; i++) {
		uint64_t lba = random_next(&f->seed) % BLOCKS;

		random_fill(&f->seed, block, BLOCK);
		memcpy(f->data, block, BLOCK);
		CU_ASSERT_EQUAL_FATAL(transfer(f, ANNEX_NVM_WRITE, lba), 0);
		memset(f->data, 0, BLOCK);
		CU_ASSERT_EQUAL_FATAL(transfer(f, ANNEX_NVM_READ, lba), 0);
		CU_ASSERT(!memcmp(f->data, block, BLOCK));
	}
	CU_ASSERT_FATAL(!mprotect(f->there, f->bytes, PROT_NONE));
}

static int reset(struct fixture *f)
{
	struct annex_qp *other = annex_dev_qp_at(f->dev, 1);

	annex_qp_break(other);
	return annex_dev_recover(f->dev, other, UINT64_MAX);
}

static void used(const char *uri, uint32_t depth)
{
	struct fixture f;

	begin(&f, uri, depth);
	CU_ASSERT_EQUAL_FATAL(annex_dev_move_rings(f.dev, 0, &f.rings), 0);
	CU_ASSERT_EQUAL(f.zeroed, 1);
	for (unsigned int i = 0; i < 6; i++) {
		use(&f);
		CU_ASSERT_EQUAL_FATAL(reset(&f), 0);
		CU_ASSERT_EQUAL(f.zeroed, i + 2);
	}
	use(&f);
	end(&f);
}

static void used_test(void)
{
	static const uint32_t depths[] = {2, 3, 64, 300};

	for (unsigned int i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		used("mem:1M?block=512", depths[i]);
		if (!ONE_THREAD)
			used("mem:1M?block=512&serve=busy", depths[i]);
	}
}

static void zero_fails_test(void)
{
	struct fixture f;

	begin(&f, "mem:1M?block=512", 8);
	f.zero_err = -EIO;
	CU_ASSERT_EQUAL(annex_dev_move_rings(f.dev, 0, &f.rings), -EIO);
	end(&f);

	begin(&f, "mem:1M?block=512", 8);
	CU_ASSERT_EQUAL_FATAL(annex_dev_move_rings(f.dev, 0, &f.rings), 0);
	use(&f);
	f.zero_err = -EIO;
	CU_ASSERT_EQUAL(reset(&f), -ENODEV);
	/* No command reaches the rings. */
	CU_ASSERT_EQUAL(transfer(&f, ANNEX_NVM_READ, 0), -ENODEV);
	end(&f);
}

/* The controller refuses the rings: the last error is the reason. */
static void refused_test(void)
{
	struct fixture f;

	begin(&f, "mem:1M?block=512", 8);
	CU_ASSERT_EQUAL(annex_dev_move_rings(f.dev, 2, &f.rings), -EINVAL);
	f.rings.sq_addr += 64;
	CU_ASSERT_EQUAL(annex_dev_move_rings(f.dev, 0, &f.rings), -EINVAL);
	f.rings.sq_addr -= 64;
	f.rings.zero = NULL;
	CU_ASSERT_EQUAL(annex_dev_move_rings(f.dev, 0, &f.rings), -EINVAL);
	f.rings.zero = zero;
	CU_ASSERT_EQUAL_FATAL(annex_dev_unmap(f.dev, f.rings.sq_addr, f.bytes), 0);
	CU_ASSERT(annex_dev_move_rings(f.dev, 0, &f.rings) < 0);
	CU_ASSERT_EQUAL(f.zeroed, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "memory that is not mapped"));
	end(&f);
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), "memory that is not mapped"));
}

UNIT_SUITE(rings, {"used, and reset", used_test}, {"completions that stay", zero_fails_test},
	   {"refused", refused_test})
