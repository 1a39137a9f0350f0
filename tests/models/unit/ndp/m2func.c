// SPDX-License-Identifier: MIT
/*
 * M2func as a program calls it: every function, and refusals.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/models/ndp.h>
#include "core/crc32c.h"
#include "m2_rig.h"
#include "ndp/kernels/kernels.h"
#include "tests/unit/random.h"

static void every_function(const struct annex_m2_opts *opts)
{
	uint64_t add = 5, instance = 0;
	struct annex_m2_info info;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, opts);
	annex_m2_get_info(r.m2, &info);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), sizeof(add));
	CU_ASSERT(id > 0);
	for (unsigned int i = 0; i < 200; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_m2_run(r.m2, id, r.pool, 64, &add, sizeof(add), NULL),
				      0);
		CU_ASSERT_EQUAL_FATAL(
			annex_m2_launch(r.m2, id, r.pool, 32, &add, sizeof(add), &instance), 0);
		CU_ASSERT(instance > 0);
		CU_ASSERT_EQUAL_FATAL(annex_m2_wait(r.m2, instance, M2_RIG_LONG_MS, NULL), 0);
	}
	CU_ASSERT_EQUAL(annex_m2_poll(r.m2, instance, NULL), 0);
	CU_ASSERT_EQUAL(r.pool[0], 2000);
	CU_ASSERT_EQUAL(r.pool[4], 1000);
	CU_ASSERT_EQUAL(annex_m2_shootdown(r.m2, info.asid, r.pool), 0);
	CU_ASSERT_EQUAL(annex_m2_unregister(r.m2, id), 0);
	CU_ASSERT_EQUAL(annex_m2_unregister(r.m2, id), -ENOENT);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 64, &add, sizeof(add), NULL), -ENOENT);
	CU_ASSERT(strstr(annex_last_error(), "launch") != NULL);
	m2_rig_close(&r);
}

static void over_cells(void)
{
	every_function(NULL);
	every_function(&(struct annex_m2_opts){.stride = 128, .slots = 1});
	every_function(&(struct annex_m2_opts){.stride = 1024, .slots = 1024});
}

/* One store of 32 bytes has room for a launch; its arguments are in another cell. */
static void the_smallest_cell(void)
{
	const struct annex_m2_opts opts = {.stride = 32};
	struct annex_m2_info info;
	uint64_t args[5] = {1};
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, &opts);
	annex_m2_get_info(r.m2, &info);
	CU_ASSERT_EQUAL(info.args, 32);
	id = m2_rig_register(r.m2, M2_IMAGE(&r, sd(1, 1, 0), ECALL), 0);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 4096, NULL, 0, NULL), 0);
	for (unsigned int i = 0; i < 4096 / 32; i++)
		CU_ASSERT_EQUAL(r.pool[4 * i], (uintptr_t)&r.pool[4 * i]);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, args, 8, NULL), -EINVAL);
	id = m2_rig_register(r.m2, m2_rig_counter(&r), 40);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, args, 40, NULL), -EINVAL);
	CU_ASSERT(strstr(annex_last_error(), "leaves room for 32") != NULL);
	m2_rig_close(&r);
}

/* As many as there is room for, in one cell or two: the first and the last one arrive. */
static void arguments_of(const struct annex_m2_opts *opts)
{
	uint64_t args[ANNEX_M2_ARGS_MAX / 8];
	struct annex_m2_info info;
	struct m2_rig r;

	m2_rig_open(&r, opts);
	annex_m2_get_info(r.m2, &info);
	CU_ASSERT_EQUAL(info.args, info.stride > 128 ? 248 : 2 * info.stride - 32);
	for (unsigned int bytes = 8; bytes <= info.args; bytes += 8) {
		uint32_t id = m2_rig_register(r.m2,
					      M2_IMAGE(&r, lui(3, ANNEX_M2_SCRATCHPAD >> 12),
						       ld(4, 3, 0), sd(4, 1, 0),
						       ld(4, 3, bytes - 8), sd(4, 1, 8), ECALL),
					      bytes);

		for (unsigned int i = 0; i < bytes / 8; i++)
			args[i] = 0x8000000000000100ull * bytes +
				  i; /* words that look like calls */
		CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, args, bytes, NULL), 0);
		CU_ASSERT_EQUAL(r.pool[0], args[0]);
		CU_ASSERT_EQUAL(r.pool[1], args[bytes / 8 - 1]);
		args[bytes / 8 - 1] = 5; /* and one that looks like the word of a call */
		CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, args, bytes, NULL), 0);
		CU_ASSERT_EQUAL(r.pool[1], 5);
		CU_ASSERT_EQUAL(annex_m2_unregister(r.m2, id), 0);
	}
	m2_rig_close(&r);
}

static void arguments(void)
{
	for (uint32_t stride = 32; stride <= 1024; stride *= 2)
		arguments_of(&(struct annex_m2_opts){.stride = stride});
}

static void what_the_device_is(void)
{
	struct annex_m2_info info;
	struct m2_rig r;

	m2_rig_open(&r, NULL);
	annex_m2_get_info(r.m2, &info);
	CU_ASSERT_EQUAL(info.version, ANNEX_M2_VERSION);
	CU_ASSERT(info.stride == 64 && info.slots == 16 && info.args == 96);
	CU_ASSERT(info.units == 2 && info.subcores == 4 && info.threads == 16);
	CU_ASSERT(info.vlen == 256 && info.piece == 32 && info.scratchpad == 128u << 10);
	CU_ASSERT(info.running == 8 && info.waiting == 8 && info.kernels == 64);
	CU_ASSERT(info.asid > 0 && info.coherent);
	m2_rig_close(&r);
}

static void bad_options(void)
{
	static const struct annex_m2_opts bad[] = {
		{.stride = 16},  {.stride = 96},         {.stride = 2048},
		{.slots = 1025}, {.mem_ns = 2000000000},
	};
	struct annex_m2 *m2;
	struct m2_rig r;

	m2_rig_open(&r, NULL);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CU_ASSERT_EQUAL(annex_m2_open_local(r.ndp, &bad[i], &m2), -EINVAL);
		CU_ASSERT(*annex_last_error() != '\0');
	}
	CU_ASSERT_EQUAL(annex_m2_open("shm:/x", NULL, &m2), -EPROTONOSUPPORT);
	CU_ASSERT_EQUAL(annex_m2_open("ndp:", NULL, &m2), -EINVAL);
	CU_ASSERT_EQUAL(annex_m2_open("ndp:/x?y=1", NULL, &m2), -EINVAL);
	CU_ASSERT_EQUAL(annex_m2_open("ndp:/nowhere/at/all", NULL, &m2), -ENOENT);
	m2_rig_close(&r);
}

static void bad_maps(void)
{
	struct m2_rig r;

	m2_rig_open(&r, NULL);
	CU_ASSERT_EQUAL(annex_m2_map(r.m2, r.hdm, r.pool, 4096, ANNEX_M2_READ), -EEXIST);
	CU_ASSERT_EQUAL(annex_m2_map(r.m2, r.hdm, (char *)r.pool + 64, 4096, 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_m2_map(r.m2, r.hdm, r.pool, 100, 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_m2_map(r.m2, r.hdm, r.pool, M2_RIG_BYTES, 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_m2_map(r.m2, r.hdm, &r, 4096, 1), -EINVAL);
	CU_ASSERT_EQUAL(annex_m2_map(r.m2, r.hdm, NULL, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(annex_m2_map(r.m2, r.hdm, NULL, 0, 4), -EINVAL);
	CU_ASSERT_EQUAL(annex_m2_unmap(r.m2, r.pool, 4096), -ENOENT);
	m2_rig_close(&r);
}

/* How kernels end, and where. */
static void how_kernels_end(void)
{
	struct annex_m2_end end;
	uint64_t instance;
	struct m2_rig r;
	char *image;
	uint32_t id;

	m2_rig_open(&r, NULL);
	image = M2_IMAGE(&r, addi(3, 0, 1), NONE);
	id = m2_rig_register(r.m2, image, 0);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, NULL, 0, &end), -ENOEXEC);
	CU_ASSERT_EQUAL(end.pc, (uintptr_t)image + sizeof(struct annex_m2_image) + 4);
	CU_ASSERT_EQUAL(annex_m2_launch(r.m2, id, r.pool, 32, NULL, 0, &instance), 0);
	CU_ASSERT_EQUAL(annex_m2_wait(r.m2, instance, M2_RIG_LONG_MS, &end), -ENOEXEC);
	CU_ASSERT_EQUAL(end.pc, (uintptr_t)image + sizeof(struct annex_m2_image) + 4);
	id = m2_rig_register(r.m2, M2_IMAGE(&r, EBREAK), 0);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, NULL, 0, NULL), -EDOM);
	id = m2_rig_register(r.m2, M2_IMAGE(&r, ld(3, 0, 8), ECALL), 0);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, NULL, 0, &end), -EFAULT);
	CU_ASSERT_EQUAL(end.addr, 8);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 0, NULL, 0, NULL), -EINVAL);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, (void *)4096, 32, NULL, 0, NULL), -EFAULT);
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 32, &end, 8, NULL), -EINVAL);
	m2_rig_close(&r);
}

static void what_is_not_registered(void)
{
	struct annex_m2_needs needs = {.nx = 33};
	struct m2_rig r;
	uint32_t id;
	void *image;

	m2_rig_open(&r, NULL);
	image = m2_rig_gate(&r);
	CU_ASSERT_EQUAL(annex_m2_register(r.m2, image, &needs, &id), -EINVAL);
	needs = (struct annex_m2_needs){.nx = 32, .scratchpad = 1u << 30};
	CU_ASSERT_EQUAL(annex_m2_register(r.m2, image, &needs, &id), -EINVAL);
	needs = (struct annex_m2_needs){.nx = 32};
	CU_ASSERT_EQUAL(annex_m2_register(r.m2, &r, &needs, &id), -EFAULT);
	CU_ASSERT_EQUAL(annex_m2_register(r.m2, r.pool, &needs, &id), -ENOEXEC);
	for (unsigned int i = 0; i < 64; i++)
		CU_ASSERT_EQUAL(annex_m2_register(r.m2, image, &needs, &id), 0);
	CU_ASSERT_EQUAL(annex_m2_register(r.m2, image, &needs, &id), -ENOSPC);
	m2_rig_close(&r);
}

static void not_while_it_runs(void)
{
	uint64_t instance;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, NULL);
	id = m2_rig_register(r.m2, m2_rig_gate(&r), 0);
	CU_ASSERT_EQUAL(annex_m2_launch(r.m2, id, r.pool, 32, NULL, 0, &instance), 0);
	CU_ASSERT(m2_rig_becomes(&r.pool[1]));
	CU_ASSERT_EQUAL(annex_m2_poll(r.m2, instance, NULL), 1);
	CU_ASSERT_EQUAL(annex_m2_wait(r.m2, instance, 1, NULL), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_m2_unregister(r.m2, id), -EBUSY);
	m2_rig_let_go(&r.pool[0]);
	CU_ASSERT_EQUAL(annex_m2_wait(r.m2, instance, M2_RIG_LONG_MS, NULL), 0);
	CU_ASSERT_EQUAL(annex_m2_unregister(r.m2, id), 0);
	m2_rig_close(&r);
}

/* From an ELF file that the library brings. */
static void kernels_from_files(void)
{
	const struct k_image *vadd = &k_image[K_vadd_i32];
	size_t bytes = (size_t)(vadd->end - vadd->elf);
	struct annex_hdm_usage before, after;
	struct annex_m2_kernel *kernel;
	struct m2_rig r;
	char *bad;

	m2_rig_open(&r, NULL);
	annex_hdm_get_usage(r.hdm, &before);
	CU_ASSERT_EQUAL_FATAL(annex_m2_load(r.m2, r.hdm, vadd->elf, bytes, &kernel), 0);
	CU_ASSERT(kernel->id > 0 && kernel->args > 0);
	CU_ASSERT_EQUAL(annex_m2_unload(r.m2, kernel), 0);
	CU_ASSERT_EQUAL(annex_m2_unload(r.m2, NULL), 0);
	for (size_t cut = 0; cut < bytes; cut += 7)
		CU_ASSERT(annex_m2_load(r.m2, r.hdm, vadd->elf, cut, &kernel) < 0);
	/* Without names for its entries it is a program like any other. */
	bad = malloc(bytes + 1);
	memcpy(bad, vadd->elf, bytes);
	for (size_t i = 0; i + 9 < bytes; i++)
		if (!memcmp(bad + i, "ndp_body0", 9))
			bad[i] = 'x';
	CU_ASSERT_EQUAL(annex_m2_load(r.m2, r.hdm, bad, bytes, &kernel), -ENOEXEC);
	free(bad);
	annex_hdm_get_usage(r.hdm, &after);
	CU_ASSERT(after.used <= before.used + (64 << 10));
	m2_rig_close(&r);
}

/* A slow bus is slow: the least that a call may take. */
static void added_latency(void)
{
	struct m2_rig r;
	uint64_t since;

	m2_rig_open(&r, &(struct annex_m2_opts){.mem_ns = 2000000});
	since = annex_now();
	CU_ASSERT_EQUAL(annex_m2_poll(r.m2, 1, NULL), -ENOENT);
	CU_ASSERT(annex_now() - since >= 2000000);
	m2_rig_close(&r);
}

/* Flushing changes no data; before a launch it is done where it must be. */
static void lines_are_flushed(void)
{
	uint64_t one = 1;
	struct m2_rig r;
	uint32_t id;

	m2_rig_open(&r, NULL);
	for (unsigned int i = 0; i < 8192; i++)
		r.pool[i] = i;
	CU_ASSERT_EQUAL(annex_m2_flush((char *)r.pool + 3, 65530), 0);
	CU_ASSERT_EQUAL(annex_m2_flush(r.pool, 0), 0);
	for (unsigned int i = 0; i < 8192; i++)
		CU_ASSERT_EQUAL(r.pool[i], i);
	r.m2->head.coherent = 0;
	id = m2_rig_register(r.m2, m2_rig_counter(&r), sizeof(one));
	CU_ASSERT_EQUAL(annex_m2_run(r.m2, id, r.pool, 65536, &one, sizeof(one), NULL), 0);
	for (unsigned int i = 0; i < 8192; i++)
		CU_ASSERT_EQUAL(r.pool[i], i + !(i % 4));
	m2_rig_close(&r);
}

static void not_in_a_child(void)
{
	struct m2_rig r;
	int status = -1;
	pid_t child;

	m2_rig_open(&r, NULL);
	child = fork();
	if (!child)
		_exit(annex_m2_poll(r.m2, 1, NULL) != -ECHILD ||
		      annex_m2_unmap(r.m2, r.pool, 4096) != -ECHILD);
	waitpid(child, &status, 0);
	CU_ASSERT_EQUAL(status, 0);
	CU_ASSERT_EQUAL(annex_m2_poll(r.m2, 1, NULL), -ENOENT);
	m2_rig_close(&r);
}

/* Bit by bit, from the polynomial. */
static uint32_t reference(const unsigned char *p, size_t n)
{
	uint32_t c = ~0u;

	while (n--) {
		c ^= *p++;
		for (int i = 0; i < 8; i++)
			c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
	}
	return ~c;
}

static void checksums(void)
{
	uint64_t seed = random_seed("crc"), words[128];
	unsigned char bytes[sizeof(words) + 4];

	CU_ASSERT_EQUAL(reference((const unsigned char *)"123456789", 9), 0xe3069283u);
	for (unsigned int n = 0; n <= 128; n++) {
		uint32_t last = (uint32_t)random_next(&seed), want;

		random_fill(&seed, words, sizeof(words));
		memcpy(bytes, words, 8u * n);
		memcpy(bytes + 8u * n, &last, 4);
		want = reference(bytes, 8u * n + 4);
		CU_ASSERT_EQUAL(annex_crc32c(words, n, last), want);
		CU_ASSERT_EQUAL(crc32c_by_table(words, n, last), want);
	}
}

UNIT_SUITE(m2func, {"over cells", over_cells}, {"the smallest cell", the_smallest_cell},
	   {"arguments", arguments}, {"what the device is", what_the_device_is},
	   {"bad options", bad_options}, {"bad maps", bad_maps},
	   {"how kernels end", how_kernels_end}, {"unregistered kernels", what_is_not_registered},
	   {"not while it runs", not_while_it_runs}, {"kernels from files", kernels_from_files},
	   {"added latency", added_latency}, {"lines are flushed", lines_are_flushed},
	   {"not in a child", not_in_a_child}, {"checksums", checksums})
