// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: ELF files of kernels. An accepted file fits in its place and has a valid image.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <annex/log.h>
#include "ndp/client/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int truth)
{
	if (!truth)
		abort();
}

static int is_entry(const struct annex_m2_image *image, uint32_t offset)
{
	return offset >= sizeof(*image) && offset < image->bytes && !(offset % 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct m2_program p;
	char *image;

	if (annex_m2_program_read(data, size, &p)) {
		require(*annex_last_error());
		return 0;
	}
	require(p.image.bytes > sizeof(p.image) && p.image.bytes <= ANNEX_M2_IMAGE_MAX);
	require(p.image.bodies >= 1 && p.image.bodies <= ANNEX_M2_BODIES);
	for (unsigned int i = 0; i < p.image.bodies; i++)
		require(is_entry(&p.image, p.image.body[i]));
	require(!p.image.initializer || is_entry(&p.image, p.image.initializer));
	require(!p.image.finalizer || is_entry(&p.image, p.image.finalizer));
	/* As large as it says, so that a byte beyond is found. */
	image = malloc(p.image.bytes);
	require(!!image);
	annex_m2_program_place(&p, data, image);
	require(!memcmp(image, &p.image, sizeof(p.image)));
	free(image);
	return 0;
}
