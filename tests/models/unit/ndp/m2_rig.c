// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <annex/models/ndp.h>
#include "m2_rig.h"

#define POOL (64u << 10)
#define SCRATCHPAD_UPPER (ANNEX_M2_SCRATCHPAD >> 12)

void m2_rig_range(struct m2_rig *r)
{
	*r = (struct m2_rig){.fd = unit_memfd(0, NULL)};
	snprintf(r->uri, sizeof(r->uri), "shm:/proc/self/fd/%d?size=%llu", r->fd, M2_RIG_BYTES);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_open(r->uri, NULL, &r->hdm), 0);
	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r->hdm, POOL, 4096, NULL, (void **)&r->pool), 0);
	memset(r->pool, 0, POOL);
}

void m2_rig_open(struct m2_rig *r, const struct annex_m2_opts *opts)
{
	const struct annex_ndp_opts device = {.threads = 2, .units = 2, .running = 8, .waiting = 8};

	m2_rig_range(r);
	CU_ASSERT_EQUAL_FATAL(annex_ndp_create(&device, &r->ndp), 0);
	r->m2 = m2_rig_client(r, opts);
}

struct annex_m2 *m2_rig_client(struct m2_rig *r, const struct annex_m2_opts *opts)
{
	struct annex_m2 *m2 = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_m2_open_local(r->ndp, opts, &m2), 0);
	CU_ASSERT_EQUAL_FATAL(annex_m2_map(m2, r->hdm, NULL, 0, ANNEX_M2_READ | ANNEX_M2_WRITE), 0);
	return m2;
}

void m2_rig_close(struct m2_rig *r)
{
	annex_m2_close(r->m2);
	annex_ndp_destroy(r->ndp);
	annex_hdm_close(r->hdm);
	close(r->fd);
}

void *m2_rig_image(struct m2_rig *r, const uint32_t *words, unsigned int n)
{
	struct annex_m2_image *image;
	uint32_t bytes = (uint32_t)sizeof(*image) + 4 * n;

	CU_ASSERT_EQUAL_FATAL(annex_hdm_alloc(r->hdm, bytes, 0, NULL, (void **)&image), 0);
	*image = (struct annex_m2_image){.magic = ANNEX_M2_IMAGE_MAGIC,
					 .version = ANNEX_M2_VERSION,
					 .bytes = bytes,
					 .bodies = 1,
					 .body = {sizeof(*image)}};
	memcpy(image + 1, words, 4 * (size_t)n);
	return image;
}

uint32_t m2_rig_register(struct annex_m2 *m2, const void *image, uint8_t args)
{
	const struct annex_m2_needs needs = {.scratchpad = args, .nx = 32, .args = args};
	uint32_t id = 0;

	CU_ASSERT_EQUAL_FATAL(annex_m2_register(m2, image, &needs, &id), 0);
	return id;
}

void *m2_rig_gate(struct m2_rig *r)
{
	return M2_IMAGE(r, addi(3, 0, 1), sd(3, 1, 8), ld(3, 1, 0), beq(3, 0, -4), ECALL);
}

void *m2_rig_counter(struct m2_rig *r)
{
	return M2_IMAGE(r, lui(3, SCRATCHPAD_UPPER), ld(4, 3, 0), amoadd_d(0, 4, 1), ECALL);
}

bool m2_rig_becomes(const uint64_t *word)
{
	uint64_t deadline = annex_deadline_ms(M2_RIG_LONG_MS);

	while (!annex_atomic_load(word, ANNEX_ACQUIRE)) {
		if (annex_now() > deadline)
			return false;
		sched_yield();
	}
	return true;
}

static void *run(void *arg)
{
	struct m2_run *it = arg;

	it->err = annex_m2_run(it->m2, it->id, it->pool, 32, NULL, 0, NULL);
	return NULL;
}

void m2_run_start(struct m2_run *it)
{
	CU_ASSERT_EQUAL_FATAL(pthread_create(&it->thread, NULL, run, it), 0);
}

int m2_run_end(struct m2_run *it)
{
	pthread_join(it->thread, NULL);
	return it->err;
}
