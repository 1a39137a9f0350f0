// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: a hostile client of a near-data processor. The input is a program of stores
 * into its region, of calls that are well formed as far as the wire goes, and of bytes in the
 * memory that it has mapped, which lies between inaccessible pages. The device answers what it has
 * taken, and is there for the next client.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "emu/ndp/front.h"
#include "input.h"

#define MEM (64u << 10)
#define GUARD (64u << 10) /* on both sides */
#define VA 0x40000000ull
#define STRIDE 128u
#define SLOTS 2u
#define STEPS 200u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct annex_ndp *ndp;
static char *mem;

static void require(int truth)
{
	if (!truth)
		abort();
}

/* Mostly an address at or near the memory. */
static uint64_t address(uint64_t v)
{
	return v >> 56 == 0xff ? v : VA + v % (MEM + 4096);
}

/* The same device for all: what one client does to it, the next one finds. */
static void make_device(void)
{
	const struct annex_ndp_opts opts = {.threads = 1,
					    .units = 2,
					    .subcores = 1,
					    .slots = 4,
					    .running = 2,
					    .waiting = 2,
					    .scratchpad = 4096,
					    .budget = 20000,
					    .deadline_ms = 1000};
	char *p = mmap(NULL, MEM + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	require(p != MAP_FAILED && !mprotect(p + GUARD, MEM, PROT_READ | PROT_WRITE));
	mem = p + GUARD;
	require(!annex_ndp_create(&opts, &ndp));
}

/* A kernel of what comes next, at the beginning of the memory. */
static void put_image(struct input *in)
{
	struct annex_m2_image image = {.magic = ANNEX_M2_IMAGE_MAGIC,
				       .version = ANNEX_M2_VERSION,
				       .bytes = sizeof(image) + 64,
				       .bodies = 1,
				       .body = {sizeof(image)}};
	uint32_t words[16];

	take(in, words, sizeof(words));
	if (take_number(in, 1) & 1) /* an illegal instruction ends most of them too soon */
		words[15] = 0x73;
	memcpy(mem, &image, sizeof(image));
	memcpy(mem + sizeof(image), words, sizeof(words));
}

static void store(struct ndp_front *f, uint32_t number, uint32_t seq, const uint64_t *payload)
{
	char *cell = f->region + m2_cells_at() + (uint64_t)number * STRIDE;

	m2_store(cell, STRIDE, payload, m2_word(payload, STRIDE / 8 - 1, seq, false));
}

/* A call whose word is right; what is in it may be anything. */
static void call(struct ndp_front *f, struct input *in)
{
	uint32_t number = (uint32_t)take_number(in, 1) % m2_cells(&f->layout);
	uint64_t all[STRIDE / 8 - 1] = {0};
	struct annex_m2_launch *l = (struct annex_m2_launch *)all;
	struct annex_m2_register *r = (struct annex_m2_register *)all;
	struct annex_m2_record known[ANNEX_M2_KERNELS];
	uint8_t how = (uint8_t)take_number(in, 1);

	take(in, all, how & 1 ? sizeof(all) : sizeof(*l));
	ndp_records(f->client, known);
	switch (number % ANNEX_M2_FUNCTIONS) {
	case ANNEX_M2_REGISTER:
		all[2] = how & 2 ? all[2] : 0;
		r->code = how & 4 ? address(r->code) : VA;
		if (how & 8) {
			r->nx = r->nf = r->nv = 32;
			r->scratchpad %= 4096;
			r->args &= 56;
		}
		break;
	case ANNEX_M2_LAUNCH:
		l->id = how & 2 ? l->id : known[l->id % ANNEX_M2_KERNELS].id;
		l->zero = 0;
		l->base = address(l->base) & ~31ull;
		l->bound = how & 4 ? address(l->bound) : l->base + 256;
		break;
	default:
		break;
	}
	store(f, number, how & 16 ? (uint32_t)take_number(in, 4) : m2_next(f->cell[number].last),
	      all);
	/* As hosts of other transports announce it. */
	if (f->transport == ANNEX_M2_RING) {
		f->doors->command[f->doors->tail % ANNEX_M2_RING_DEPTH] = number;
		f->doors->tail++;
	} else if (f->transport == ANNEX_M2_REGS) {
		f->doors->go += ANNEX_M2_GO(1, 0);
		f->doors->go = (f->doors->go & ~0xffffffffull) | number;
	}
}

static void look(struct ndp_front *f)
{
	switch (f->transport) {
	case ANNEX_M2_CELLS:
		ndp_cells_look(f, true);
		break;
	case ANNEX_M2_RING:
		ndp_ring_look(f);
		break;
	case ANNEX_M2_REGS:
		ndp_regs_look(f);
		break;
	}
	ndp_assist(f->ndp);
}

static void step(struct ndp_front *f, struct input *in)
{
	uint64_t *words = (uint64_t *)(void *)f->region;
	uint64_t at;

	switch (take_number(in, 1) % 8) {
	case 0: /* anywhere in the region */
		at = take_number(in, 4) % (f->bytes / 8);
		annex_atomic_store(&words[at], take_number(in, 8), ANNEX_RELAXED);
		break;
	case 1:
		f->doors->tail = (uint32_t)take_number(in, 4);
		break;
	case 2:
		at = take_number(in, 2) % (MEM - 8);
		take(in, mem + at, 8);
		break;
	case 3:
		put_image(in);
		break;
	case 4:
		look(f);
		break;
	default:
		call(f, in);
		look(f);
		break;
	}
}

static void all_answered(void *ctx, const struct annex_m2_answer *a)
{
	require(a->value == -ENOENT);
	*(bool *)ctx = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct ndp_front_opts opts = {.stride = STRIDE, .slots = SLOTS};
	const struct annex_m2_poll poll = {.instance = UINT64_MAX};
	struct bell ours, theirs;
	struct ndp_client *c;
	struct ndp_front *f;
	bool answered = false;

	if (!ndp)
		make_device();
	memset(mem, 0, MEM);
	opts.transport = (enum annex_m2_transport)(take_number(&in, 1) % 3);
	require(!bell_pair(&ours, &theirs, false));
	require(!ndp_client_open(ndp, take_number(&in, 1) & 1, &c));
	require(!ndp_front_open(ndp, c, &opts, &ours, &f));
	require(!ndp_client_map(c, VA, mem, MEM, 3));
	ndp_lend(ndp);
	for (unsigned int i = 0; i < STEPS && in.left; i++)
		step(f, &in);
	ndp_unlend(ndp);
	/* It still answers. */
	ndp_call(c, ANNEX_M2_POLL, &poll, sizeof(poll), all_answered, &answered);
	require(answered);
	ndp_front_end(f);
	for (uint32_t i = 0; i < m2_cells(&f->layout); i++)
		require(!f->cell[i].busy);
	ndp_front_close(f);
	bell_close(&theirs);
	return 0;
}
