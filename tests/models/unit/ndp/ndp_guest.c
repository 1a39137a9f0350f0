// SPDX-License-Identifier: MIT
/*
 * The table by which a device finds the processes of a guest: what a hostile guest writes there,
 * and one that crashes.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uapi/annex_hdm.h>
#include <annex/models/ndp.h>
#include "models/ndp/device/guest.h"
#include "m2_rig.h"

#define PART (2ull << 20) /* the cached one, and the uncached one */
#define VA 0x40000000ull
#define REGION (64ull << 10) /* more than a client with defaults needs */
#define FIRST (PART + ANNEX_M2_PAGE)

/* struct guest - A file that is a guest's memory, its driver's table, and a device. */
struct guest {
	char path[UNIT_PATH];
	int fd;
	char *mem;
	struct annex_filter *table;
	struct annex_ndp *ndp;
	struct ndp_guest *g;
	uint64_t change;
};

/* As annex.ko makes its table. */
static void make_table(struct guest *v, uint64_t generation)
{
	memset(v->table, 0, sizeof(*v->table));
	v->change = 0;
	v->table->version = ANNEX_FILTER_VERSION;
	v->table->entries = ANNEX_FILTER_ENTRIES;
	v->table->generation = generation;
	annex_atomic_store((uint64_t *)&v->table->magic, ANNEX_FILTER_MAGIC, ANNEX_RELEASE);
}

static void make_guest(struct guest *v)
{
	*v = (struct guest){0};
	v->fd = unit_memfd(2 * PART, v->path);
	v->mem = mmap(NULL, 2 * PART, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
	CU_ASSERT_FATAL(v->mem != MAP_FAILED);
	v->table = (struct annex_filter *)(void *)(v->mem + PART);
	make_table(v, 1);
}

static void begin(struct guest *v)
{
	const struct annex_ndp_opts opts = {.threads = 1, .units = 2};

	make_guest(v);
	CU_ASSERT_EQUAL_FATAL(annex_ndp_create(&opts, &v->ndp), 0);
	CU_ASSERT_EQUAL_FATAL(ndp_guest_take(v->ndp, v->path, PART, &v->g), 0);
}

static void end(struct guest *v)
{
	ndp_guest_close(v->g);
	annex_ndp_destroy(v->ndp);
	munmap(v->mem, 2 * PART);
	close(v->fd);
}

/* Sequentially consistent, as the module's barriers around entries. */
static void write_entry(struct guest *v, unsigned int i, uint32_t asid, uint64_t base,
			uint64_t bound)
{
	struct annex_filter_entry *e = &v->table->entry[i];

	annex_atomic_store((uint64_t *)&v->table->change, ++v->change, ANNEX_SEQ_CST);
	annex_atomic_store((uint64_t *)&e->base, base, ANNEX_SEQ_CST);
	annex_atomic_store((uint64_t *)&e->bound, bound, ANNEX_SEQ_CST);
	annex_atomic_store((uint64_t *)(void *)&e->asid, (uint64_t)asid, ANNEX_SEQ_CST);
	annex_atomic_store((uint64_t *)&v->table->change, ++v->change, ANNEX_SEQ_CST);
}

static struct annex_m2_head *head_at(struct guest *v, uint64_t at)
{
	return (struct annex_m2_head *)(void *)(v->mem + at);
}

/* As a process says how it wants its region. */
static void wish(struct guest *v, uint64_t at, uint32_t slots)
{
	struct annex_m2_head *head = head_at(v, at);

	memset(head, 0, sizeof(*head));
	head->stride = 128;
	head->slots = slots;
	annex_atomic_store(&head->version, ANNEX_M2_VERSION, ANNEX_RELEASE);
}

static bool is_served(struct guest *v, uint64_t at)
{
	/* Acquire, both: with the device. */
	return annex_atomic_load(&head_at(v, at)->magic, ANNEX_ACQUIRE) == ANNEX_M2_MAGIC &&
	       !annex_atomic_load(&head_at(v, at)->gone, ANNEX_ACQUIRE);
}

/* A piece for a process, which the device serves at its next look. */
static void enter(struct guest *v, unsigned int i, uint32_t asid, uint64_t at)
{
	memset(v->mem + at, 0, REGION);
	write_entry(v, i, asid, at, at + REGION);
	wish(v, at, 4);
}

static int no_map(struct annex_m2 *m2, struct annex_hdm *hdm, char *addr, uint64_t bytes,
		  unsigned int prot)
{
	(void)m2, (void)hdm, (void)addr, (void)bytes, (void)prot;
	return -EOPNOTSUPP;
}

static int no_unmap(struct annex_m2 *m2, uint64_t addr, uint64_t bytes)
{
	(void)m2, (void)addr, (void)bytes;
	return -EOPNOTSUPP;
}

static bool not_down(struct annex_m2 *m2)
{
	(void)m2;
	return false;
}

static void leave_region(struct annex_m2 *m2)
{
	(void)m2; /* it is part of the file */
}

static const struct m2_link link_of_guest = {.map = no_map,
					     .unmap = no_unmap,
					     .down = not_down,
					     .close = leave_region,
					     .nap_ns = 100000};

static struct annex_m2 *client(struct guest *v, uint64_t at)
{
	const struct annex_m2_opts opts = {.stride = 128, .slots = 4, .timeout_ms = M2_RIG_LONG_MS};
	struct annex_m2 *m2 = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_m2_create(&opts, &m2), 0);
	m2->link = &link_of_guest;
	CU_ASSERT_EQUAL_FATAL(annex_m2_attach_region(m2, v->mem + at), 0);
	return m2;
}

static int64_t attach(struct annex_m2 *m2, uint64_t va, uint64_t bytes, uint64_t offset)
{
	const struct annex_m2_attach ask = {va, bytes, offset};
	struct annex_m2_answer a = {.value = 1};

	CU_ASSERT_EQUAL(m2_call(m2, ANNEX_M2_ATTACH, &ask, sizeof(ask), NULL, 0, &a), 0);
	return a.value;
}

static int64_t detach(struct annex_m2 *m2, uint64_t va, uint64_t bytes, uint64_t offset)
{
	const struct annex_m2_attach ask = {va, bytes, offset};
	struct annex_m2_answer a = {.value = 1};

	CU_ASSERT_EQUAL(m2_call(m2, ANNEX_M2_DETACH, &ask, sizeof(ask), NULL, 0, &a), 0);
	return a.value;
}

/* A kernel of one body, at @at of the file, which is VA + @at of the process. */
static uint32_t put_kernel(struct guest *v, struct annex_m2 *m2, uint64_t at, const uint32_t *words,
			   unsigned int n)
{
	struct annex_m2_image *image = (void *)(v->mem + at);

	*image = (struct annex_m2_image){.magic = ANNEX_M2_IMAGE_MAGIC,
					 .version = ANNEX_M2_VERSION,
					 .bytes = (uint32_t)sizeof(*image) + 4 * n,
					 .bodies = 1,
					 .body = {sizeof(*image)}};
	memcpy(image + 1, words, 4 * (size_t)n);
	return m2_rig_register(m2, (void *)(uintptr_t)(VA + at), 0);
}

static void runs(struct guest *v, struct annex_m2 *m2)
{
	const uint32_t words[] = {addi(3, 0, 7), sd(3, 1, 0), ECALL};
	uint32_t id = put_kernel(v, m2, 0, words, 3);
	uint64_t *pool = (uint64_t *)(void *)(v->mem + 65536);

	*pool = 0;
	CU_ASSERT_EQUAL(annex_m2_run(m2, id, (void *)(uintptr_t)(VA + 65536), 32, NULL, 0, NULL),
			0);
	CU_ASSERT_EQUAL(annex_atomic_load(pool, ANNEX_ACQUIRE), 7);
	CU_ASSERT_EQUAL(annex_m2_unregister(m2, id), 0);
}

/* Entries of the table are served, with their memory and without privileges. */
static void found_in_the_table(void)
{
	struct annex_m2_info info;
	struct annex_m2 *m2;
	struct guest v;

	begin(&v);
	write_entry(&v, 5, 9, FIRST, FIRST + REGION);
	ndp_guest_look(v.g);
	CU_ASSERT_FALSE(is_served(&v, FIRST)); /* it has not said how */
	wish(&v, FIRST, 4);
	ndp_guest_look(v.g);
	CU_ASSERT_FATAL(is_served(&v, FIRST));
	m2 = client(&v, FIRST);
	CU_ASSERT_EQUAL(attach(m2, VA, PART, 0), -EINVAL);
	CU_ASSERT_EQUAL(attach(m2, VA | 4, PART, 0), -EINVAL);
	CU_ASSERT_EQUAL(attach(m2, VA | 3, 0, 0), -EINVAL);
	CU_ASSERT_EQUAL(attach(m2, VA | 3, 100, 0), -EINVAL);
	CU_ASSERT_EQUAL(attach(m2, VA | 3, 4096, 100), -EINVAL);
	CU_ASSERT_EQUAL(attach(m2, VA | 3, PART + 4096, 0), -EINVAL); /* others' regions */
	CU_ASSERT_EQUAL(attach(m2, VA | 3, 4096, PART), -EINVAL);
	CU_ASSERT_EQUAL(attach(m2, VA | 3, UINT64_MAX - 4095, 4096), -EINVAL);
	CU_ASSERT_EQUAL(attach(m2, VA | 3, 8192, UINT64_MAX - 4095), -EINVAL);
	CU_ASSERT_EQUAL(attach(m2, UINT64_MAX - 4092, 4096, 0), -EINVAL);
	CU_ASSERT_EQUAL(attach(m2, ANNEX_M2_SCRATCHPAD | 3, 4096, 0), -EINVAL);
	CU_ASSERT_EQUAL(attach(m2, VA | 3, PART, 0), 0);
	CU_ASSERT_EQUAL(attach(m2, (VA + 4096) | 1, 4096, 0), -EEXIST);
	runs(&v, m2);
	annex_m2_get_info(m2, &info);
	CU_ASSERT_EQUAL(annex_m2_shootdown(m2, info.asid, (void *)(uintptr_t)VA), -EPERM);
	CU_ASSERT_EQUAL(detach(m2, VA, 4096, 0), -ENOENT);
	CU_ASSERT_EQUAL(detach(m2, VA | 3, PART, 0), -EINVAL);
	CU_ASSERT_EQUAL(detach(m2, VA, PART, 4096), -EINVAL);
	CU_ASSERT_EQUAL(detach(m2, VA, PART, 0), 0);
	CU_ASSERT_EQUAL(detach(m2, VA, PART, 0), -ENOENT);
	/* Its entry goes, and with it the process. */
	write_entry(&v, 5, 0, 0, 0);
	ndp_guest_look(v.g);
	CU_ASSERT_FALSE(is_served(&v, FIRST));
	CU_ASSERT_EQUAL(v.table->acknowledged, v.change);
	CU_ASSERT_EQUAL(annex_m2_poll(m2, 1, NULL), -ENODEV);
	annex_m2_close(m2);
	end(&v);
}

struct hostile {
	uint64_t base, bound;
};

/* Only whole pages of the uncached part that no other entry has are accepted. */
static void hostile_entries(void)
{
	static const struct hostile all[] = {
		{0, REGION},                    /* data */
		{PART - REGION, PART},          /* likewise */
		{PART - REGION, PART + REGION}, /* half of it */
		{PART, PART + REGION},          /* the table itself */
		{2 * PART - REGION, 2 * PART + 4096},
		{2 * PART, 2 * PART + REGION}, /* behind the end */
		{FIRST + REGION, FIRST},       /* backwards */
		{FIRST + REGION, FIRST + REGION},
		{UINT64_MAX - REGION + 1, 0}, /* around */
		{FIRST, UINT64_MAX - 4095},
		{1ull << 63, (1ull << 63) + REGION},
		{FIRST + 64, FIRST + 64 + REGION}, /* no whole pages */
		{FIRST, FIRST + REGION + 8},
	};
	struct annex_m2_head *head;
	struct guest v;

	begin(&v);
	for (uint64_t at = 0; at + 4096 <= 2 * PART; at += 4096) {
		head = head_at(&v, at);
		if (at != PART)
			*head = (struct annex_m2_head){
				.version = ANNEX_M2_VERSION, .stride = 128, .slots = 4};
	}
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		write_entry(&v, 3, 1 + i, all[i].base, all[i].bound);
		ndp_guest_look(v.g);
		CU_ASSERT_EQUAL(v.table->acknowledged, v.change);
	}
	/* Two that overlap are neither's, whatever their numbers. */
	write_entry(&v, 3, 100, FIRST, FIRST + REGION);
	write_entry(&v, 4, UINT32_MAX, FIRST + REGION - 4096, FIRST + 2 * REGION);
	ndp_guest_look(v.g);
	for (uint64_t at = 0; at + 4096 <= 2 * PART; at += 4096)
		CU_ASSERT(at == PART || !head_at(&v, at)->magic);
	/* Regions that cannot be: one that does not fit, strides and slots that are none. */
	write_entry(&v, 4, 0, 0, 0);
	wish(&v, FIRST, ANNEX_M2_SLOTS_MAX);
	ndp_guest_look(v.g);
	CU_ASSERT_FALSE(is_served(&v, FIRST));
	for (unsigned int i = 0; i < 3; i++) {
		wish(&v, FIRST, i ? 4 : UINT32_MAX);
		head_at(&v, FIRST)->stride = i == 1 ? 0 : i == 2 ? 96 : 128;
		write_entry(&v, 3, 200 + i, FIRST, FIRST + REGION);
		ndp_guest_look(v.g);
		CU_ASSERT_FALSE(is_served(&v, FIRST));
	}
	/* And the device is there for those whose are right. */
	enter(&v, 3, 1, FIRST);
	ndp_guest_look(v.g);
	CU_ASSERT(is_served(&v, FIRST));
	end(&v);
}

/* A guest stops in the middle of a change: clients are still served, and the heartbeat goes on. */
static void odd_for_ever(void)
{
	struct annex_m2 *m2;
	uint64_t beat, seen;
	struct guest v;

	begin(&v);
	enter(&v, 0, 1, FIRST);
	ndp_guest_look(v.g);
	m2 = client(&v, FIRST);
	v.table->change++;
	v.table->entry[0].asid = 0;
	beat = v.table->heartbeat;
	seen = v.table->acknowledged;
	for (unsigned int i = 0; i < 5; i++)
		ndp_guest_look(v.g);
	CU_ASSERT_EQUAL(v.table->heartbeat, beat + 5);
	CU_ASSERT_EQUAL(v.table->acknowledged, seen);
	CU_ASSERT_EQUAL(annex_m2_poll(m2, 1, NULL), -ENOENT);
	/* It is started again, and has another table. */
	make_table(&v, 2);
	ndp_guest_look(v.g);
	CU_ASSERT_EQUAL(annex_m2_poll(m2, 1, NULL), -ENODEV);
	annex_m2_close(m2);
	enter(&v, 0, 1, FIRST);
	ndp_guest_look(v.g);
	CU_ASSERT(is_served(&v, FIRST));
	end(&v);
}

/* Only a table of this version is accepted. */
static void no_table(void)
{
	struct guest v;

	begin(&v);
	enter(&v, 0, 1, FIRST);
	v.table->version++;
	ndp_guest_look(v.g);
	CU_ASSERT_FALSE(is_served(&v, FIRST));
	v.table->version--;
	v.table->entries--;
	ndp_guest_look(v.g);
	CU_ASSERT_FALSE(is_served(&v, FIRST));
	v.table->entries++;
	v.table->magic++;
	ndp_guest_look(v.g);
	CU_ASSERT_FALSE(is_served(&v, FIRST));
	v.table->magic--;
	ndp_guest_look(v.g);
	CU_ASSERT(is_served(&v, FIRST));
	/* The range ends. */
	v.table->magic = 0;
	ndp_guest_look(v.g);
	CU_ASSERT_FALSE(is_served(&v, FIRST));
	end(&v);
}

struct writer {
	struct guest *v;
	uint32_t writes, stop;
};

#define FAR (FIRST + 16 * REGION)

static void store_entry(struct guest *v, unsigned int i, uint32_t asid, uint64_t base)
{
	struct annex_filter_entry *e = &v->table->entry[i];

	/* Sequentially consistent: as write_entry(). */
	annex_atomic_store((uint64_t *)&e->base, base, ANNEX_SEQ_CST);
	annex_atomic_store((uint64_t *)&e->bound, base + REGION, ANNEX_SEQ_CST);
	annex_atomic_store((uint64_t *)(void *)&e->asid, (uint64_t)asid, ANNEX_SEQ_CST);
}

/* The first and the last entry overlap, and so do they at the other place where they are put. */
static void *write_on(void *arg)
{
	struct writer *w = arg;
	struct guest *v = w->v;

	for (uint32_t n = 0; !annex_atomic_load(&w->stop, ANNEX_RELAXED); n++) {
		uint64_t at = n % 2 ? FIRST : FAR;

		annex_atomic_store((uint64_t *)&v->table->change, ++v->change, ANNEX_SEQ_CST);
		store_entry(v, 0, 1, at);
		store_entry(v, ANNEX_FILTER_ENTRIES - 1, 2, at + REGION / 2);
		annex_atomic_store((uint64_t *)&v->table->change, ++v->change, ANNEX_SEQ_CST);
		annex_atomic_store(&w->writes, n, ANNEX_RELAXED);
	}
	return NULL;
}

/*
 * Entries are never taken half old and half new: such two do not overlap, and would be served.
 */
static void changed_meanwhile(void)
{
	const uint64_t all[] = {FIRST, FIRST + REGION / 2, FAR, FAR + REGION / 2};
	struct writer w = {0};
	uint64_t deadline;
	pthread_t thread;
	struct guest v;

	begin(&v);
	w.v = &v;
	for (unsigned int i = 0; i < 4; i++)
		wish(&v, all[i], 1);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, write_on, &w), 0);
	/* Until both have been at it for a while, on however few processors. */
	deadline = annex_deadline_ms(M2_RIG_LONG_MS);
	for (unsigned int i = 0; i < 100000 || annex_atomic_load(&w.writes, ANNEX_RELAXED) < 100000;
	     i++) {
		CU_ASSERT_FATAL(annex_now() < deadline);
		ndp_guest_look(v.g);
	}
	annex_atomic_store(&w.stop, 1u, ANNEX_RELAXED);
	pthread_join(thread, NULL);
	/* Also one that was served is not the same any more. */
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(head_at(&v, all[i])->magic, 0);
	/* It would have been: */
	write_entry(&v, 0, 1, FIRST, FIRST + REGION);
	write_entry(&v, ANNEX_FILTER_ENTRIES - 1, 2, FAR + REGION / 2, FAR + 2 * REGION);
	ndp_guest_look(v.g);
	CU_ASSERT(is_served(&v, FIRST) && is_served(&v, FAR + REGION / 2));
	end(&v);
}

/*
 * A guest that crashed and was started again between two looks has the same entry, for another
 * process: that finds nothing of what the one before had.
 */
static void started_again(void)
{
	const uint32_t words[] = {ECALL};
	struct annex_m2 *m2, *next;
	struct guest v;
	uint32_t id;

	begin(&v);
	enter(&v, 0, 1, FIRST);
	ndp_guest_look(v.g);
	m2 = client(&v, FIRST);
	CU_ASSERT_EQUAL(attach(m2, VA | 3, PART, 0), 0);
	id = put_kernel(&v, m2, 0, words, 1);
	make_table(&v, 2);
	enter(&v, 0, 1, FIRST);
	ndp_guest_look(v.g);
	CU_ASSERT_FATAL(is_served(&v, FIRST));
	next = client(&v, FIRST);
	CU_ASSERT_EQUAL(annex_m2_unregister(next, id), -ENOENT);
	CU_ASSERT_EQUAL(attach(next, VA | 3, PART, 0), 0);
	runs(&v, next);
	annex_m2_close(next);
	annex_m2_close(m2);
	end(&v);
}

/* An entry of the same number at another place is another's. */
static void moved(void)
{
	struct guest v;

	begin(&v);
	enter(&v, 0, 1, FIRST);
	ndp_guest_look(v.g);
	enter(&v, 0, 1, FAR);
	ndp_guest_look(v.g);
	CU_ASSERT_FALSE(is_served(&v, FIRST));
	CU_ASSERT(is_served(&v, FAR));
	end(&v);
}

/* All that there is room for; and while they all go the heart beats. */
static void as_many_as_there_are(void)
{
	const uint64_t room = 48 << 10;
	unsigned int served = 0, n;
	uint64_t beat;
	struct guest v;

	begin(&v);
	for (n = 0; n < ANNEX_FILTER_ENTRIES && FIRST + (n + 1) * room <= 2 * PART; n++) {
		write_entry(&v, n, n + 1, FIRST + n * room, FIRST + (n + 1) * room);
		wish(&v, FIRST + n * room, 1);
	}
	ndp_guest_look(v.g);
	for (unsigned int i = 0; i < n; i++)
		served += is_served(&v, FIRST + i * room);
	CU_ASSERT_EQUAL(served, n);
	beat = v.table->heartbeat;
	v.table->magic = 0;
	ndp_guest_look(v.g);
	CU_ASSERT(v.table->heartbeat - beat > n);
	for (unsigned int i = 0; i < n; i++)
		CU_ASSERT_FALSE(is_served(&v, FIRST + i * room));
	end(&v);
}

/* A device is killed: waiting clients notice, and the next device serves none of its clients. */
static void heart_stops(void)
{
	const uint32_t gate[] = {addi(3, 0, 1), sd(3, 1, 8), ld(3, 1, 0), beq(3, 0, -4), ECALL};
	uint64_t deadline = annex_deadline_ms(M2_RIG_LONG_MS);
	struct m2_run run;
	struct annex_m2 *m2;
	struct guest v;
	pid_t child;

	make_guest(&v);
	enter(&v, 0, 1, FIRST);
	child = fork();
	if (!child) {
		if (annex_ndp_create(NULL, &v.ndp) || ndp_guest_open(v.ndp, v.path, PART, &v.g))
			_exit(1);
		for (;;)
			pause();
	}
	while (!is_served(&v, FIRST) && annex_now() < deadline)
		sched_yield();
	m2 = client(&v, FIRST);
	CU_ASSERT_EQUAL(attach(m2, VA | 3, PART, 0), 0);
	run = (struct m2_run){.m2 = m2,
			      .id = put_kernel(&v, m2, 0, gate, 5),
			      .pool = (uint64_t *)(uintptr_t)(VA + 65536)};
	m2_run_start(&run);
	CU_ASSERT(m2_rig_becomes((uint64_t *)(void *)(v.mem + 65536 + 8)));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CU_ASSERT_EQUAL(m2_run_end(&run), -ENODEV);
	CU_ASSERT_EQUAL(annex_m2_poll(m2, 1, NULL), -ENODEV);
	annex_m2_close(m2);
	CU_ASSERT_EQUAL_FATAL(annex_ndp_create(NULL, &v.ndp), 0);
	CU_ASSERT_EQUAL_FATAL(ndp_guest_take(v.ndp, v.path, PART, &v.g), 0);
	ndp_guest_look(v.g);
	CU_ASSERT_FALSE(is_served(&v, FIRST));
	CU_ASSERT_EQUAL(head_at(&v, FIRST)->gone, 1);
	end(&v);
}

/* Files that are no guest's memory, and one that another device serves. */
static void wrong_files(void)
{
	struct ndp_guest *g;
	struct guest v;

	begin(&v);
	CU_ASSERT_EQUAL(ndp_guest_open(v.ndp, v.path, PART, &g), -EBUSY);
	CU_ASSERT_EQUAL(ndp_guest_open(v.ndp, v.path, 0, &g), -EINVAL);
	CU_ASSERT_EQUAL(ndp_guest_open(v.ndp, v.path, 4096, &g), -EINVAL);
	CU_ASSERT_EQUAL(ndp_guest_open(v.ndp, v.path, 3 * PART, &g), -EINVAL);
	CU_ASSERT_EQUAL(ndp_guest_open(v.ndp, "/dev/null", PART, &g), -EINVAL);
	CU_ASSERT_EQUAL(ndp_guest_open(v.ndp, "/nowhere/at/all", PART, &g), -ENOENT);
	end(&v);
}

UNIT_SUITE(ndp_guest, {"found in the table", found_in_the_table},
	   {"hostile entries", hostile_entries}, {"odd for ever", odd_for_ever},
	   {"no table", no_table}, {"changed meanwhile", changed_meanwhile},
	   {"started again", started_again}, {"moved", moved},
	   {"as many as there are", as_many_as_there_are}, {"heart stops", heart_stops},
	   {"wrong files", wrong_files})
