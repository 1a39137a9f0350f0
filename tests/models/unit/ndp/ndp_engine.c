// SPDX-License-Identifier: MIT
/*
 * Kernels on the near-data processor: that they run as M2NDP section III says, and how they end
 * when they do not.
 */
#include <stdio.h>
#include <annex/models/ndp.h>
#include "ndp_rig.h"

#define SCRATCHPAD_UPPER (ANNEX_M2_SCRATCHPAD >> 12) /* for lui */

static void null_kernel(void)
{
	struct annex_m2_answer answer;
	struct near r;
	int64_t id;

	near_open(&r, NULL);
	id = NEAR_ONE(&r, ECALL);
	CU_ASSERT(id > 0);
	answer = near_run(&r, id, 0, 32, NULL, 0);
	CU_ASSERT(answer.value > 0 && !answer.pc && !answer.addr);
	CU_ASSERT_EQUAL(near_poll(&r, answer.value).value, 0);
	CU_ASSERT_EQUAL(near_unregister(&r, id), 0);
	CU_ASSERT_EQUAL(near_unregister(&r, id), -ENOENT);
	near_close(&r);
}

/* Eight int32 of a piece: c = a + b; the pool is a, x2 leads to the others. */
static void make_vector_add(struct kernel *k)
{
	KERNEL_PART(k, body[0], lui(3, SCRATCHPAD_UPPER), ld(4, 3, 0), ld(5, 3, 8), add(4, 4, 2),
		    add(5, 5, 2), addi(6, 0, 8),
		    /* each */
		    lw(7, 1, 0), lw(8, 4, 0), add(7, 7, 8), sw(7, 5, 0), addi(1, 1, 4),
		    addi(4, 4, 4), addi(5, 5, 4), addi(6, 6, -1), bne(6, 0, -8 * 4), ECALL);
}

static void vector_add_of(struct near *r, int64_t id, unsigned int n)
{
	uint32_t *a = (uint32_t *)(void *)(r->mem + NEAR_DATA), *b = a + n, *c = b + n;
	uint64_t args[2] = {NEAR_POOL + 4ull * n, NEAR_POOL + 8ull * n};
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < n; i++) {
		a[i] = i;
		b[i] = 3 * i + 1;
		c[i] = 0;
	}
	c[n] = 77;
	CU_ASSERT(near_run(r, id, 0, 4ull * n, args, 2).value > 0);
	for (unsigned int i = 0; i < n; i++)
		wrong += c[i] != 4 * i + 1;
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(c[n], 77);
}

/* Every piece once, whatever the number of pieces, units and threads. */
static void vector_add_on(const struct annex_ndp_opts *opts)
{
	static const unsigned int pieces[] = {1, 2, 63, 64, 65, 128, 1000, 2048, 4097, 20000};
	struct kernel k = {0};
	struct near r;
	int64_t id;

	near_open(&r, opts);
	make_vector_add(&k);
	id = near_register(&r, &k, 16, 16);
	CU_ASSERT_FATAL(id > 0);
	for (unsigned int i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		vector_add_of(&r, id, 8 * pieces[i]);
	near_close(&r);
}

static void vector_add(void)
{
	vector_add_on(NULL);
	vector_add_on(&(struct annex_ndp_opts){.threads = 1, .units = 1});
	vector_add_on(&(struct annex_ndp_opts){.threads = 3, .units = 5, .vlen = 128});
}

/* M2NDP figure 7: sums in scratchpads, added up by the finalizers. */
static void reduction(void)
{
	uint64_t *data, arg, sum = 0;
	struct kernel k = {0};
	struct near r;
	int64_t id;

	near_open(&r, NULL);
	KERNEL_PART(&k, initializer, lui(3, SCRATCHPAD_UPPER), sd(0, 3, 8), ECALL);
	KERNEL_PART(&k, body[0], lui(3, SCRATCHPAD_UPPER), addi(3, 3, 8), ld(4, 1, 0), ld(5, 1, 8),
		    ld(6, 1, 16), ld(7, 1, 24), add(4, 4, 5), add(4, 4, 6), add(4, 4, 7),
		    amoadd_d(0, 4, 3), ECALL);
	KERNEL_PART(&k, finalizer, lui(3, SCRATCHPAD_UPPER), ld(5, 3, 0), addi(3, 3, 8),
		    amoswap_d(4, 0, 3), amoadd_d(0, 4, 5), ECALL);
	id = near_register(&r, &k, 16, 8);
	CU_ASSERT_FATAL(id > 0);
	data = near_data(&r);
	for (unsigned int round = 0; round < 3; round++) {
		data[0] = 0;
		for (uint64_t i = 0; i < 40000; i++) {
			data[4 + i] = i * i;
			sum += i * i;
		}
		arg = NEAR_POOL;
		CU_ASSERT(near_run(&r, id, 32, 8 * 40000, &arg, 1).value > 0);
		CU_ASSERT_EQUAL(data[0], sum);
		sum = 0;
	}
	near_close(&r);
}

/* An initializer and a finalizer run once in each slot: x2 is its number, x1 how many there are. */
static void slots(void)
{
	struct annex_ndp_opts opts = {.threads = 2, .units = 3, .subcores = 5, .slots = 7};
	unsigned int n = 3 * 5 * 7, wrong = 0;
	struct kernel k = {0};
	uint64_t *data, arg;
	struct near r;
	int64_t id;

	near_open(&r, &opts);
	KERNEL_PART(&k, initializer, lui(3, SCRATCHPAD_UPPER), ld(3, 3, 0), slli(2, 2, 3),
		    add(3, 3, 2), addi(1, 1, 1000), amoadd_d(0, 1, 3), ECALL);
	KERNEL_PART(&k, body[0], ECALL);
	k.image.finalizer = k.image.initializer;
	id = near_register(&r, &k, 8, 8);
	data = near_data(&r);
	arg = NEAR_POOL;
	CU_ASSERT(near_run(&r, id, 0, 32, &arg, 1).value > 0);
	for (unsigned int i = 0; i < n; i++)
		wrong += data[i] != 2 * (1000 + n);
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(data[n], 0);
	near_close(&r);
}

/* The second body begins when the first has ended everywhere: it reads what the farthest wrote. */
static void barrier(void)
{
	const unsigned int pieces = 8192, bytes = 32 * pieces;
	unsigned int wrong = 0;
	struct kernel k = {0};
	uint64_t *data, args[2] = {NEAR_POOL + bytes - 32, NEAR_POOL + bytes};
	struct near r;
	int64_t id;

	near_open(&r, NULL);
	KERNEL_PART(&k, body[0], addi(3, 2, 1), sd(3, 1, 0), ECALL);
	KERNEL_PART(&k, body[1], lui(3, SCRATCHPAD_UPPER), ld(4, 3, 0), sub(4, 4, 2), ld(5, 4, 0),
		    ld(4, 3, 8), add(4, 4, 2), sd(5, 4, 0), ECALL);
	id = near_register(&r, &k, 16, 16);
	data = near_data(&r);
	CU_ASSERT(near_run(&r, id, 0, bytes, args, 2).value > 0);
	for (unsigned int i = 0; i < pieces; i++)
		wrong += data[bytes / 8 + 4 * i] != 32ull * (pieces - 1 - i) + 1;
	CU_ASSERT_EQUAL(wrong, 0);
	near_close(&r);
}

/* A unit's scratchpad is empty behind the arguments, also after others have used it. */
static void scratchpad(void)
{
	struct kernel k = {0};
	uint64_t *data, arg = 5;
	struct near r;
	int64_t id;

	near_open(&r, &(struct annex_ndp_opts){.threads = 1, .units = 1, .running = 1});
	/* sums up all of it, then fills it */
	KERNEL_PART(&k, body[0], lui(3, SCRATCHPAD_UPPER), addi(4, 0, 128), addi(7, 0, -1),
		    /* each */
		    ld(5, 3, 0), add(6, 6, 5), sd(7, 3, 0), addi(3, 3, 8), addi(4, 4, -1),
		    bne(4, 0, -5 * 4), sd(6, 1, 0), ECALL);
	id = near_register(&r, &k, 1024, 8);
	data = near_data(&r);
	for (unsigned int i = 0; i < 3; i++) {
		data[0] = 99;
		CU_ASSERT(near_run(&r, id, 0, 32, &arg, 1).value > 0);
		CU_ASSERT_EQUAL(data[0], 5);
	}
	/* and it ends where the kernel said */
	id = near_register(&r, &k, 1016, 8);
	CU_ASSERT_EQUAL(near_run(&r, id, 0, 32, &arg, 1).value, -EFAULT);
	CU_ASSERT_EQUAL(near_run(&r, id, 0, 32, &arg, 1).addr, ANNEX_M2_SCRATCHPAD + 1016);
	near_close(&r);
}

struct bad {
	const char *what;
	uint32_t text[3];
	int err;
	uint32_t at; /* instruction */
	uint64_t addr;
};

/* What a kernel must not do ends it, says where and with what, and does no harm to the device. */
static void errors(void)
{
	const struct bad bad[] = {
		{"ebreak", {addi(0, 0, 0), EBREAK}, -EDOM, 1, 0},
		{"no instruction", {NONE}, -ENOEXEC, 0, NONE},
		{"load from nowhere", {lui(3, 0x700), ld(4, 3, 8)}, -EFAULT, 1, 0x700008},
		{"store to nowhere", {sd(4, 0, 0)}, -EFAULT, 0, 0},
		{"store to readonly memory",
		 {lui(3, 0x50000), sd(4, 3, 16)},
		 -EFAULT,
		 1,
		 0x50000010},
		{"jump into data", {jalr(1)}, -EFAULT, 0, NEAR_POOL},
		{"run out of the image", {addi(0, 0, 0), jump(0x400)}, -EFAULT, 0, 0},
		{"misaligned atomic",
		 {addi(3, 1, 4), amoadd_d(0, 0, 3)},
		 -EFAULT,
		 1,
		 NEAR_POOL + 4},
	};
	struct annex_m2_answer answer;
	char page[4096] __attribute__((aligned(4096))) = {0};
	struct near r;
	int64_t id, good;

	near_open(&r, NULL);
	CU_ASSERT_EQUAL(ndp_client_map(r.client, 0x50000000, page, 4096, RV_READ), 0);
	good = NEAR_ONE(&r, lui(3, 0x50000), ld(4, 3, 16), ECALL);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t code = NEAR_VA + r.used + sizeof(struct annex_m2_image);

		id = near_one(&r, bad[i].text, 3);
		answer = near_run(&r, id, 0, 32 * 64, NULL, 0);
		CU_ASSERT_EQUAL(answer.value, bad[i].err);
		if (answer.value != bad[i].err || (bad[i].addr && answer.addr != bad[i].addr))
			printf("%s: %lld at %#llx\n", bad[i].what, (long long)answer.value,
			       (unsigned long long)answer.addr);
		if (bad[i].at || bad[i].addr) {
			CU_ASSERT_EQUAL(answer.addr, bad[i].addr);
			CU_ASSERT(answer.addr == NEAR_POOL || answer.pc == code + 4 * bad[i].at);
		}
		CU_ASSERT(near_run(&r, good, 0, 32 * 64, NULL, 0).value > 0);
	}
	CU_ASSERT_EQUAL(page[16], 0);
	near_close(&r);
}

/*
 * Every atomic instruction at a misaligned address ends the kernel there, and stores nothing; at an
 * aligned address it works.
 */
static void misaligned_atomics(void)
{
	static const unsigned int what[] = {1, 2, 3, 0, 4, 8, 12, 16, 20, 24, 28};
	struct annex_m2_answer answer;
	unsigned int wrong = 0;
	struct near r;

	near_open(&r, NULL);
	for (unsigned int i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		for (unsigned int at = 0; at < 32; at++) {
			unsigned int f3 = at < 16 ? 2 : 3, by = at % 16;
			uint32_t atomic = asm_r(0x2f, 4, f3, 3, what[i] == 2 ? 0 : 5, what[i] << 2);
			uint64_t pc = NEAR_VA + r.used + sizeof(struct annex_m2_image) + 8;
			int64_t id = NEAR_ONE(&r, addi(3, 1, (int)by), addi(5, 0, 1), atomic,
					      ECALL);

			memset(near_data(&r), 0x55, 32);
			answer = near_run(&r, id, 0, 32, NULL, 0);
			if (by % (f3 == 2 ? 4 : 8) == 0) {
				wrong += answer.value <= 0;
			} else {
				wrong += answer.value != -EFAULT || answer.pc != pc ||
					 answer.addr != NEAR_POOL + by;
				for (unsigned int k = 0; k < 4; k++)
					wrong += near_data(&r)[k] != 0x5555555555555555;
			}
			wrong += near_unregister(&r, id) != 0;
			r.used = 0;
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
	near_close(&r);
}

/* RISC-V knows no trap for it: all ones. */
static void divide_by_zero(void)
{
	struct near r;

	near_open(&r, NULL);
	CU_ASSERT(near_run(&r, NEAR_ONE(&r, addi(3, 0, 7), div_(4, 3, 0), sd(4, 1, 0), ECALL), 0,
			   32, NULL, 0)
			  .value > 0);
	CU_ASSERT_EQUAL(near_data(&r)[0], UINT64_MAX);
	near_close(&r);
}

/* A kernel has the registers that it said it has. */
static void registers(void)
{
	struct annex_m2_register asked = {.nx = 4};
	struct kernel k = {0};
	struct answer a;
	struct near r;

	near_open(&r, NULL);
	KERNEL_PART(&k, body[0], addi(3, 0, 1), addi(4, 0, 1), ECALL);
	asked.code = near_put(&r, &k);
	near_call(&r, ANNEX_M2_REGISTER, &asked, sizeof(asked), &a);
	CU_ASSERT_FATAL(a.m2.value > 0);
	CU_ASSERT_EQUAL(near_run(&r, a.m2.value, 0, 32, NULL, 0).value, -ENOEXEC);
	CU_ASSERT_EQUAL(near_run(&r, a.m2.value, 0, 32, NULL, 0).pc,
			asked.code + sizeof(k.image) + 4);
	asked.nx = 5;
	near_call(&r, ANNEX_M2_REGISTER, &asked, sizeof(asked), &a);
	CU_ASSERT(near_run(&r, a.m2.value, 0, 32, NULL, 0).value > 0);
	asked.nx = 33;
	near_call(&r, ANNEX_M2_REGISTER, &asked, sizeof(asked), &a);
	CU_ASSERT_EQUAL(a.m2.value, -EINVAL);
	near_close(&r);
}

/* Endless kernels end: in time, or with their instructions. */
static void endless(void)
{
	struct annex_ndp_opts opts = {.threads = 2, .deadline_ms = 30};
	uint64_t before = annex_now();
	struct ndp_counters count;
	struct near r;

	near_open(&r, &opts);
	CU_ASSERT_EQUAL(near_run(&r, NEAR_ONE(&r, jump(0)), 0, 32 * 1000, NULL, 0).value,
			-ETIMEDOUT);
	CU_ASSERT(annex_now() - before >= 30 * ANNEX_NSEC_PER_MSEC);
	CU_ASSERT(near_run(&r, NEAR_ONE(&r, ECALL), 0, 32 * 1000, NULL, 0).value > 0);
	near_close(&r);
	opts = (struct annex_ndp_opts){.threads = 2, .budget = 100000};
	near_open(&r, &opts);
	CU_ASSERT_EQUAL(near_run(&r, NEAR_ONE(&r, jump(0)), 0, 32 * 1000, NULL, 0).value, -ETIME);
	ndp_count(r.ndp, &count);
	CU_ASSERT(count.instructions >= 100000 && count.instructions < 110000);
	/* a kernel that needs less may use all of the budget */
	CU_ASSERT(near_run(&r, NEAR_ONE(&r, addi(3, 0, 1), ECALL), 0, 32 * 40000, NULL, 0).value >
		  0);
	near_close(&r);
}

static int64_t register_bytes(struct near *r, const struct annex_m2_register *asked, size_t bytes)
{
	struct answer a;

	near_call(r, ANNEX_M2_REGISTER, asked, bytes, &a);
	CU_ASSERT_EQUAL(a.answered, 1);
	return a.m2.value;
}

/* An image that is not one is refused. */
static void images(void)
{
	struct annex_m2_register asked = {0};
	struct annex_m2_image *image;
	struct kernel k = {0};
	struct near r;

	near_open(&r, NULL);
	KERNEL_PART(&k, body[0], ECALL, ECALL);
	asked.code = near_put(&r, &k);
	image = (void *)r.mem;
	CU_ASSERT(register_bytes(&r, &asked, sizeof(asked)) > 0);
#define WITH(field, wrong, err)                                                                    \
	do {                                                                                       \
		image->field = wrong;                                                              \
		CU_ASSERT_EQUAL(register_bytes(&r, &asked, sizeof(asked)), err);                   \
		memcpy(image, &k, k.image.bytes);                                                  \
	} while (0)
	WITH(magic, 1, -ENOEXEC);
	WITH(version, 2, -ENOEXEC);
	WITH(bytes, 64, -ENOEXEC);
	WITH(bytes, 71, -ENOEXEC);
	WITH(bytes, ANNEX_M2_IMAGE_MAX + 2, -ENOEXEC);
	WITH(bodies, 0, -ENOEXEC);
	WITH(bodies, 2, -ENOEXEC);
	WITH(bodies, ANNEX_M2_BODIES + 1, -ENOEXEC);
	WITH(body[0], 62, -ENOEXEC);
	WITH(body[0], 65, -ENOEXEC);
	WITH(body[0], 72, -ENOEXEC);
	WITH(body[0], UINT32_MAX - 1, -ENOEXEC);
	WITH(body[3], 64, -ENOEXEC);
	WITH(initializer, 2, -ENOEXEC);
	WITH(finalizer, 4096, -ENOEXEC);
	WITH(zero[1], 1, -ENOEXEC);
	CU_ASSERT(register_bytes(&r, &asked, sizeof(asked)) > 0);
	/* cut off by the end of the mapping, and not mapped at all */
	asked.code = NEAR_VA + NEAR_BYTES - 66;
	memcpy(r.mem + NEAR_BYTES - 66, &k, 66);
	CU_ASSERT_EQUAL(register_bytes(&r, &asked, sizeof(asked)), -EFAULT);
	asked.code = NEAR_VA + NEAR_BYTES - 2;
	CU_ASSERT_EQUAL(register_bytes(&r, &asked, sizeof(asked)), -EFAULT);
	asked.code = 0;
	CU_ASSERT_EQUAL(register_bytes(&r, &asked, sizeof(asked)), -EFAULT);
	asked.code = UINT64_MAX - 1;
	CU_ASSERT_EQUAL(register_bytes(&r, &asked, sizeof(asked)), -EFAULT);
	near_close(&r);
}

/* Overwriting an image later changes nothing. */
static void copied(void)
{
	struct near r;
	int64_t id;

	near_open(&r, NULL);
	id = NEAR_ONE(&r, addi(3, 0, 9), sd(3, 1, 0), ECALL);
	memset(r.mem, 0xff, r.used);
	CU_ASSERT(near_run(&r, id, 0, 32, NULL, 0).value > 0);
	CU_ASSERT_EQUAL(near_data(&r)[0], 9);
	near_close(&r);
}

static int64_t call(struct near *r, unsigned int function, const void *payload, size_t bytes)
{
	struct answer a;

	near_call(r, function, payload, bytes, &a);
	CU_ASSERT_EQUAL_FATAL(a.answered, 1);
	return a.m2.value;
}

/* Payloads that say something else than Table II. */
static void payloads(void)
{
	unsigned char bytes[64] = {0};
	struct annex_m2_register asked = {.scratchpad = 8, .nx = 32, .args = 8};
	struct annex_m2_launch launch = {.base = NEAR_POOL, .bound = NEAR_POOL + 32};
	struct kernel k = {0};
	struct near r;

	near_open(&r, NULL);
	KERNEL_PART(&k, body[0], ECALL);
	asked.code = near_put(&r, &k);
	CU_ASSERT_EQUAL(call(&r, 5, bytes, 24), -ENOSYS);
	CU_ASSERT_EQUAL(call(&r, UINT32_MAX, bytes, 24), -ENOSYS);
	for (unsigned int f = 0; f <= ANNEX_M2_SHOOTDOWN; f++) {
		CU_ASSERT_EQUAL(call(&r, f, bytes, 0), -EINVAL);
		CU_ASSERT_EQUAL(call(&r, f, bytes, 7), -EINVAL);
	}
	bytes[60] = 1;
	memcpy(bytes, &asked, sizeof(asked));
	CU_ASSERT_EQUAL(call(&r, ANNEX_M2_REGISTER, bytes, 64), -EINVAL);
	bytes[60] = 0;
	launch.id = (uint32_t)call(&r, ANNEX_M2_REGISTER, bytes, 64);
	CU_ASSERT((int32_t)launch.id > 0);
#define REFUSED(what, size, err)                                                                   \
	do {                                                                                       \
		struct annex_m2_launch l = launch;                                                 \
		memset(bytes, 0, sizeof(bytes));                                                   \
		l.args = 8;                                                                        \
		what;                                                                              \
		memcpy(bytes, &l, sizeof(l));                                                      \
		CU_ASSERT_EQUAL(call(&r, ANNEX_M2_LAUNCH, bytes, size), err);                      \
	} while (0)
	REFUSED(l.args = 0, 24, -EINVAL);
	REFUSED(l.args = 16, 40, -EINVAL);
	REFUSED(l.args = 255, 64, -EINVAL);
	REFUSED(, 24, -EINVAL); /* without the arguments */
	REFUSED(l.sync = 2, 64, -EINVAL);
	REFUSED(l.zero = 1, 64, -EINVAL);
	REFUSED(l.id++, 64, -ENOENT);
	REFUSED(l.id = 0, 64, -ENOENT);
	REFUSED(l.bound = l.base, 64, -EINVAL);
	REFUSED(l.bound = l.base - 32, 64, -EINVAL);
	REFUSED(l.base += 8, 64, -EINVAL);
	REFUSED(l.bound += 8, 64, -EINVAL);
	REFUSED(l.base = 0, 64, -EFAULT);
	REFUSED(l.bound = NEAR_VA + NEAR_BYTES + 32, 64, -EFAULT);
	REFUSED(l.bound = UINT64_MAX - 31, 64, -EFAULT);
	REFUSED(l.base = ANNEX_M2_SCRATCHPAD; l.bound = l.base + 32, 64, -EFAULT);
	asked.args = 12;
	CU_ASSERT_EQUAL(call(&r, ANNEX_M2_REGISTER, &asked, sizeof(asked)), -EINVAL);
	asked.args = 8;
	asked.scratchpad = (128u << 10) + 1;
	CU_ASSERT_EQUAL(call(&r, ANNEX_M2_REGISTER, &asked, sizeof(asked)), -EINVAL);
	near_close(&r);
}

static void records(void)
{
	struct annex_m2_record all[ANNEX_M2_KERNELS];
	int64_t id[ANNEX_M2_KERNELS];
	struct kernel k = {0};
	struct near r;

	near_open(&r, NULL);
	KERNEL_PART(&k, body[0], ECALL);
	for (unsigned int i = 0; i < ANNEX_M2_KERNELS; i++) {
		id[i] = near_register(&r, &k, 64, 0);
		CU_ASSERT(id[i] > 0);
	}
	CU_ASSERT_EQUAL(near_register(&r, &k, 64, 0), -ENOSPC);
	CU_ASSERT(near_run(&r, id[7], 0, 32, NULL, 0).value > 0);
	CU_ASSERT_EQUAL(near_unregister(&r, id[3]), 0);
	ndp_records(r.client, all);
	CU_ASSERT_EQUAL(all[3].id, 0);
	CU_ASSERT_EQUAL(all[7].id, (uint32_t)id[7]);
	CU_ASSERT_EQUAL(all[7].launches, 1);
	CU_ASSERT_EQUAL(all[7].running, 0);
	CU_ASSERT(all[7].nx == 32 && all[7].nv == 32 && all[7].scratchpad == 64);
	CU_ASSERT(near_register(&r, &k, 64, 0) > 0);
	CU_ASSERT_EQUAL(near_unregister(&r, id[3]), -ENOENT);
	near_close(&r);
}

static void options(void)
{
	static const struct annex_ndp_opts bad[] = {
		{.threads = 100000}, {.units = 5000},      {.subcores = 1000},
		{.slots = 1000},     {.vlen = 64},         {.vlen = 2048},
		{.vlen = 384},       {.piece = 16},        {.piece = 48},
		{.piece = 128},      {.scratchpad = 64},   {.scratchpad = 1u << 30},
		{.running = 5000},   {.waiting = 1u << 20}};
	struct annex_ndp *ndp = NULL;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT_EQUAL(annex_ndp_create(&bad[i], &ndp), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(annex_ndp_create(NULL, &ndp), 0);
	CU_ASSERT_EQUAL(ndp_options(ndp)->units, 32);
	CU_ASSERT_EQUAL(ndp_options(ndp)->piece, 32);
	annex_ndp_destroy(ndp);
}

UNIT_SUITE(ndp_engine, {"options", options}, {"null kernel", null_kernel},
	   {"vector add", vector_add}, {"reduction", reduction}, {"slots", slots},
	   {"barrier between bodies", barrier}, {"scratchpad", scratchpad}, {"errors", errors},
	   {"misaligned atomics", misaligned_atomics}, {"divide by zero", divide_by_zero},
	   {"registers", registers}, {"endless", endless}, {"images", images},
	   {"images are copied", copied}, {"payloads", payloads}, {"records", records})
