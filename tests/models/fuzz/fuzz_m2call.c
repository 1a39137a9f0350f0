// SPDX-License-Identifier: MIT
/*
 * libFuzzer target: a hostile client of a near-data processor. The input is a program of stores
 * into its region, of calls that are well formed as far as the wire goes, and of bytes in the
 * memory that it has mapped, which lies between inaccessible pages. The device answers accepted
 * calls, and serves the next client.
 *
 * Or a hostile guest: writes to its driver's table and to places of regions. The device writes only
 * to regions in the table.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <uapi/annex_hdm.h>
#include <annex/models/ndp.h>
#include "models/ndp/device/front.h"
#include "models/ndp/device/guest.h"
#include "../../fuzz/input.h"

#define MEM (64u << 10)
#define GUARD (64u << 10) /* on both sides */
#define VA 0x40000000ull
#define STRIDE 64u
#define SLOTS 2u
#define STEPS 200u
#define ATTACHED (VA + (1u << 20)) /* where the client says that it has memory */
#define PART (2ull << 20)          /* of a guest's memory: the cached one, and the uncached one */
#define FIRST (PART + ANNEX_M2_PAGE)
#define ROOM (32u << 10) /* of a region: 62 of them */

enum { ATTACHING = 3, GUEST = 4, MODES = 5 }; /* below: a host that attaches nothing */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct annex_ndp *ndp;
static char *mem;
static struct ndp_guest *guest;
static char *guest_mem;

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

static void make_guest(void)
{
	char path[32];
	int fd = memfd_create("guest", MFD_CLOEXEC);

	require(fd >= 0 && !ftruncate(fd, 2 * PART));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	guest_mem = mmap(NULL, 2 * PART, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	require(guest_mem != MAP_FAILED && !ndp_guest_take(ndp, path, PART, &guest));
	close(fd);
}

/* Put a kernel of the next input bytes at the beginning of the memory. */
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

/* @payload: the payload, and after it the contents of another cell. */
static void store(struct ndp_front *f, uint32_t number, uint32_t seq, const uint64_t *payload)
{
	uint32_t function = number % ANNEX_M2_FUNCTIONS;
	char *slot = f->region + m2_cells_at() + (uint64_t)(number - function) * STRIDE;
	unsigned int rest = annex_m2_rest(function, payload, STRIDE), n = STRIDE / 8 - 1;

	if (rest)
		annex_m2_store_rest(slot + (size_t)ANNEX_M2_REST * STRIDE, STRIDE, payload + n);
	annex_m2_store_cell(slot + (size_t)function * STRIDE, STRIDE, payload,
			    annex_m2_word(payload, n + rest, seq, false));
}

/* A call with a valid word and arbitrary contents. */
static void call(struct ndp_front *f, struct input *in)
{
	uint32_t number = (uint32_t)take_number(in, 1) % m2_cells(&f->layout);
	uint64_t all[2 * STRIDE / 8 - 1] = {0};
	struct annex_m2_launch *l = (struct annex_m2_launch *)all;
	struct annex_m2_register *r = (struct annex_m2_register *)all;
	struct annex_m2_attach *a = (struct annex_m2_attach *)all;
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
	case ANNEX_M2_ATTACH:
	case ANNEX_M2_DETACH:
		if (how & 2)
			break;
		a->va = ATTACHED + (a->va % (MEM + 8192) & (how & 4 ? ~0ull : ~4092ull));
		a->bytes = (a->bytes % 17 + 1) * 4096;
		a->offset = how & 8 ? a->offset % (MEM + 8192) : a->offset % 17 * 4096;
		break;
	default:
		break;
	}
	store(f, number, how & 16 ? (uint32_t)take_number(in, 4) : m2_next(f->cell[number].last),
	      all);
}

static void look(struct ndp_front *f)
{
	ndp_cells_look_at_all(f);
	ndp_cells_look(f);
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
		f->doors->sleepers = (uint32_t)take_number(in, 4);
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

static struct annex_filter *table(void)
{
	return (struct annex_filter *)(void *)(guest_mem + PART);
}

static struct annex_m2_head *head(uint64_t number)
{
	return (struct annex_m2_head *)(void *)(guest_mem + FIRST + number % 62 * ROOM);
}

/* Mostly what the driver might write. */
static void put_entry(struct input *in)
{
	struct annex_filter_entry *e = &table()->entry[take_number(in, 1) % ANNEX_FILTER_ENTRIES];
	uint8_t how = (uint8_t)take_number(in, 1);

	e->base = how & 1 ? take_number(in, 8) : FIRST + take_number(in, 1) % 62 * ROOM;
	e->bound = how & 2 ? take_number(in, 8) : e->base + ROOM;
	e->asid = how & 4 ? (uint32_t)take_number(in, 4) : how & 8;
	table()->change += how & 16 ? 1 : 2;
}

static void put_wish(struct input *in)
{
	struct annex_m2_head *h = head(take_number(in, 1));
	uint8_t how = (uint8_t)take_number(in, 1);

	h->stride = how & 1 ? (uint32_t)take_number(in, 4) : STRIDE;
	h->slots = how & 2 ? (uint32_t)take_number(in, 4) : SLOTS;
	h->magic = how & 4 ? take_number(in, 8) : 0;
	/* Release: as a process does it. */
	annex_atomic_store(&h->version, 1u, ANNEX_RELEASE);
}

static void guest_step(struct input *in)
{
	uint64_t *words = (uint64_t *)(void *)table();
	struct annex_filter before;
	uint64_t at;

	switch (take_number(in, 1) % 8) {
	case 0:
		at = take_number(in, 2) % (sizeof(struct annex_filter) / 8);
		words[at] = take_number(in, 8);
		break;
	case 1:
		table()->generation = take_number(in, 1);
		break;
	case 2: /* a call, or anything else */
		words = (uint64_t *)(void *)head(take_number(in, 1));
		at = take_number(in, 2) % (ROOM / 8);
		annex_atomic_store(&words[at], take_number(in, 8), ANNEX_RELAXED);
		break;
	case 3:
	case 4:
		put_entry(in);
		break;
	case 5:
		put_wish(in);
		break;
	default:
		before = *table();
		ndp_guest_look(guest);
		require(table()->heartbeat != before.heartbeat);
		before.heartbeat = table()->heartbeat;
		before.acknowledged = table()->acknowledged;
		require(!memcmp(&before, table(), sizeof(before)));
		break;
	}
}

static void be_guest(struct input *in)
{
	if (!guest)
		make_guest();
	memset(guest_mem + PART, 0, PART);
	table()->magic = ANNEX_FILTER_MAGIC;
	table()->version = ANNEX_FILTER_VERSION;
	table()->entries = ANNEX_FILTER_ENTRIES;
	for (unsigned int i = 0; i < STEPS && in->left; i++)
		guest_step(in);
	/* The range ends, and so does everybody. */
	table()->magic = 0;
	table()->change = 0;
	ndp_guest_look(guest);
	for (uint64_t i = 0; i < PART / 8; i++)
		require(!((uint64_t *)(void *)guest_mem)[i]);
}

static void be_host(struct input *in, unsigned int mode)
{
	struct ndp_front_opts opts = {.stride = STRIDE, .slots = SLOTS};
	const struct annex_m2_poll poll = {.instance = UINT64_MAX};
	struct bell ours, theirs;
	struct ndp_client *c;
	struct ndp_front *f;
	bool answered = false;

	memset(mem, 0, MEM);
	if (mode == ATTACHING) {
		opts.memory = mem;
		opts.memory_bytes = MEM;
	}
	require(!annex_bell_pair(&ours, &theirs, false));
	require(!ndp_client_open(ndp, take_number(in, 1) & 1, &c));
	require(!ndp_front_open(ndp, c, &opts, &ours, &f));
	require(!ndp_client_map(c, VA, mem, MEM, 3));
	ndp_lend(ndp);
	for (unsigned int i = 0; i < STEPS && in->left; i++)
		step(f, in);
	ndp_unlend(ndp);
	/* It still answers. */
	ndp_call(c, ANNEX_M2_POLL, &poll, sizeof(poll), all_answered, &answered);
	require(answered);
	ndp_front_end(f);
	for (uint32_t i = 0; i < m2_cells(&f->layout); i++)
		require(!f->cell[i].busy);
	ndp_front_close(f);
	annex_bell_close(&theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	unsigned int mode = (unsigned int)take_number(&in, 1) % MODES;

	if (!ndp)
		make_device();
	if (mode == GUEST)
		be_guest(&in);
	else
		be_host(&in, mode);
	return 0;
}
