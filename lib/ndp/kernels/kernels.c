// SPDX-License-Identifier: MIT
/*
 * Loading of kernels on first use, and launches.
 */
#include <errno.h>
#include <stdlib.h>
#include <annex/detail/atomic.h>
#include "core/log.h"
#include "kernels.h"

#define VECTOR 128u /* bytes: about as many as a thread handles at once */

/* Load a kernel, if it is not loaded. Threads that load others wait, but only briefly. */
static int load(struct annex_kernels *k, enum k_kernel which, struct annex_m2_kernel **out)
{
	const struct k_image *image = &k_image[which];
	struct annex_m2_kernel *kernel;
	int err = 0;

	/* Acquire: pairs with the release below, after its description is complete. */
	*out = annex_atomic_load(&k->kernel[which], ANNEX_ACQUIRE);
	if (*out)
		return 0;
	pthread_mutex_lock(&k->lock);
	kernel = k->kernel[which];
	if (!kernel) {
		err = annex_m2_load(k->m2, k->hdm, image->elf, (size_t)(image->end - image->elf),
				    &kernel);
		if (!err)
			annex_atomic_store(&k->kernel[which], kernel, ANNEX_RELEASE);
	}
	pthread_mutex_unlock(&k->lock);
	*out = kernel;
	return err;
}

static int run_m2(void *ctx, enum k_kernel which, const void *pool, uint64_t bytes,
		  const void *args, size_t nargs)
{
	struct annex_kernels *k = ctx;
	struct annex_m2_kernel *kernel;
	struct annex_m2_end end = {0};
	int err = load(k, which, &kernel);

	if (err)
		return err;
	err = annex_m2_run(k->m2, kernel->id, pool, bytes, args, nargs, &end);
	if (end.pc)
		return annex_fail(err, "kernel %s ended at %#llx, with %#llx", k_image[which].name,
				  (ull)end.pc, (ull)end.addr);
	return err;
}

void kernels_init(struct annex_kernels *k, struct annex_hdm *hdm, const struct k_way *way,
		  uint32_t piece, uint32_t threads)
{
	*k = (struct annex_kernels){
		.hdm = hdm, .way = *way, .piece = piece, .threads = threads, .coherent = true};
}

int annex_kernels_open(struct annex_m2 *m2, struct annex_hdm *hdm, struct annex_kernels **out)
{
	struct annex_kernels *k = calloc(1, sizeof(*k));
	struct k_way way = {run_m2, k};
	struct annex_m2_info info;

	if (!k)
		return annex_fail(-ENOMEM, "kernels: out of memory");
	annex_m2_get_info(m2, &info);
	kernels_init(k, hdm, &way, info.piece, info.units * info.subcores * info.threads);
	k->coherent = info.coherent;
	k->m2 = m2;
	pthread_mutex_init(&k->lock, NULL);
	*out = k;
	return 0;
}

int annex_kernels_close(struct annex_kernels *k)
{
	int err = 0;

	if (!k)
		return 0;
	for (unsigned int i = 0; i < K_KERNELS; i++) {
		KEEP_LAST_ERROR(err);
		int failed = annex_m2_unload(k->m2, k->kernel[i]);

		if (!failed)
			k->kernel[i] = NULL;
		else if (!err)
			err = failed;
	}
	if (err)
		return err;
	pthread_mutex_destroy(&k->lock);
	free(k);
	return 0;
}

int k_run(struct annex_kernels *k, enum k_kernel kernel, const void *pool, uint64_t pieces,
	  const void *args, size_t nargs)
{
	if (!pieces)
		return 0;
	return k->way.run(k->way.ctx, kernel, pool, pieces * k->piece, args, nargs);
}

int k_flush(struct annex_kernels *k, const void *addr, size_t bytes)
{
	return k->coherent ? 0 : annex_m2_flush(addr, bytes);
}

int k_aligned(const void *addr, const char *what)
{
	if (k_at(addr) % ANNEX_NDP_ALIGN == 0)
		return 0;
	return annex_fail(-EINVAL, "kernels: %s at %p: not on a multiple of %u", what, addr,
			  ANNEX_NDP_ALIGN);
}

struct k_shared k_share(const struct annex_kernels *k, const void *data, uint64_t n,
			unsigned int size, uint64_t pool)
{
	uint64_t threads = k_parts(n * size, VECTOR), pieces = k_parts(pool, k->piece);

	threads = threads < pieces ? threads : pieces;
	threads = threads < k->threads ? threads : k->threads;
	return (struct k_shared){k_at(data), n, threads, (uint64_t)__builtin_ctz(k->piece)};
}
