// SPDX-License-Identifier: MIT
/*
 * What an owner sees of a controller through mmap(), for view.sh:
 *
 *   view ADDRESS
 *
 * Offsets and lengths of every kind, later calls on a mapping, and its contents after a reset and
 * after its end. A line of the result for each, on file 3.
 */
#define _GNU_SOURCE
#include "ioctl.h"

static void mmap_new(void)
{
	uint32_t host, mine, cmb;

	map(fresh(ANNEX_MAP_HOST, 4 * PAGE), &host);
	map(user(mem, 4 * PAGE), &mine);
	no_mmap(0, 4 * PAGE, ANNEX_MMAP_NEW(host), "host memory");
	no_mmap(-EINVAL, 3 * PAGE, ANNEX_MMAP_NEW(host), "some of it");
	no_mmap(-EINVAL, 5 * PAGE, ANNEX_MMAP_NEW(host), "more than it");
	no_mmap(-EINVAL, 4 * PAGE, ANNEX_MMAP_NEW(host) + PAGE, "from its middle on");
	no_mmap(-EINVAL, 4 * PAGE, ANNEX_MMAP_NEW(mine), "the caller's own memory");
	no_mmap(-EINVAL, 4 * PAGE, ANNEX_MMAP_NEW(0), "mapping 0");
	no_mmap(-EINVAL, 4 * PAGE, ANNEX_MMAP_NEW(12345), "a mapping that is not there");
	no_mmap(-EINVAL, 4 * PAGE, 1ull << 62, "the last of all offsets");
	expect(0, unmap(host), "unmap: host memory");
	expect(0, unmap(mine), "unmap: the caller's");
	no_mmap(-EINVAL, 4 * PAGE, ANNEX_MMAP_NEW(host), "host memory that is gone");
	if (map(fresh(ANNEX_MAP_CMB, 2 * PAGE), &cmb))
		return;
	no_mmap(0, 2 * PAGE, ANNEX_MMAP_NEW(cmb), "controller memory");
	no_mmap(-EINVAL, PAGE, ANNEX_MMAP_NEW(cmb), "some of it");
	no_mmap(-EINVAL, 2 * PAGE, ANNEX_MMAP_NEW(cmb) + PAGE, "from its middle on");
	expect(0, unmap(cmb), "unmap: controller memory");
}

static void mmaps(void)
{
	long shadow = has(ANNEX_INFO_SHADOW) ? 0 : -EINVAL;

	no_mmap(0, info.doorbells, ANNEX_MMAP_DOORBELLS, "doorbells");
	no_mmap(-EINVAL, info.doorbells + PAGE, ANNEX_MMAP_DOORBELLS, "more than the doorbells");
	no_mmap(-EINVAL, PAGE, info.doorbells, "behind the doorbells");
	no_mmap(-EINVAL, PAGE, ANNEX_MMAP_SHADOW - PAGE, "far behind them");
	no_mmap(-EINVAL, PAGE << 30, ANNEX_MMAP_DOORBELLS, "everything");
	expect(-EINVAL, try_mmap(PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, ANNEX_MMAP_DOORBELLS),
	       "mmap: private");
	expect(-EINVAL, try_mmap(PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, ANNEX_MMAP_DOORBELLS),
	       "mmap: executable");
	no_mmap(shadow, PAGE, ANNEX_MMAP_SHADOW, "shadow doorbells");
	no_mmap(shadow, PAGE, ANNEX_MMAP_EVENTIDX, "event indices");
	no_mmap(-EINVAL, 2 * PAGE, ANNEX_MMAP_SHADOW, "more than the shadow doorbells");
	no_mmap(-EINVAL, PAGE, ANNEX_MMAP_SHADOW + PAGE, "behind them");
	mmap_new();
}

static int touch(void *at)
{
	return *(volatile char *)at & 0;
}

/* What one can do to a mapping later. */
static void mapped(void)
{
	char *at = mmap(NULL, info.doorbells, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			ANNEX_MMAP_DOORBELLS);

	expect(-1, mprotect(at, PAGE, PROT_READ | PROT_EXEC), "doorbells cannot become a program");
	expect(EACCES, errno, "it says so");
	expect(1, mremap(at, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED, "nor grow");
	expect(-1, madvise(at, PAGE, MADV_DOFORK), "nor be inherited");
	expect(SIGSEGV, in_child(touch, at), "a child has none");
	munmap(at, info.doorbells);
}

static uint32_t inherited_id;

static int unmap_and_look(void *at)
{
	return unmap(inherited_id) || *(volatile uint32_t *)at != 77;
}

/* Host memory is the owner's: a child has it if he says so, and its pages are there for as long. */
static void inherited(void)
{
	volatile uint32_t *host;

	map(fresh(ANNEX_MAP_HOST, PAGE), &inherited_id);
	host = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)ANNEX_MMAP_NEW(inherited_id));
	*host = 77;
	expect(SIGSEGV, in_child(touch, (void *)host), "a child has no host memory");
	/* Newer kernels refuse. */
	if (!madvise((void *)host, PAGE, MADV_DOFORK))
		expect(0, in_child(unmap_and_look, (void *)host),
		       "unless the owner says so: it sees it after its end, too");
	else
		expect(EINVAL, errno, "whatever the owner says");
	expect(77, *host, "and so does the owner");
	munmap((void *)host, PAGE);
}

/* Memory stays where it is seen through a reset, and after its end. */
static void resets(void)
{
	struct annex_ioc_state before = {.size = sizeof(before)}, after = before;
	struct annex_ioc_queue q;
	volatile uint32_t *doors = mmap(NULL, info.doorbells, PROT_READ | PROT_WRITE, MAP_SHARED,
					fd, ANNEX_MMAP_DOORBELLS);
	volatile uint32_t *host, *own = NULL;
	uint32_t cmb = 0;

	map(fresh(ANNEX_MAP_HOST, RINGS), &rings);
	host = mmap(NULL, RINGS, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)ANNEX_MMAP_NEW(rings));
	if (!map(fresh(ANNEX_MAP_CMB, PAGE), &cmb))
		own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   (off_t)ANNEX_MMAP_NEW(cmb));
	q = queue(1);
	expect(0, call(ANNEX_IOC_QUEUE_CREATE, &q), "create: a queue pair");
	host[5] = 1234;
	doors[2] = 0;
	if (own)
		own[5] = 5678;
	call(ANNEX_IOC_STATE, &before);
	expect(0, call(ANNEX_IOC_RESET, NULL), "reset");
	call(ANNEX_IOC_STATE, &after);
	expect(before.resets + 1, after.resets, "it is counted");
	expect(-ENOENT, destroy(1), "the queue pair is gone");
	doors[2] = 0;
	expect(1234, host[5], "host memory is still there");
	if (own)
		expect(5678, own[5], "and the controller's");
	expect(0, call(ANNEX_IOC_QUEUE_CREATE, &q), "create: it again");
	expect(0, destroy(1), "delete: it");
	expect(0, unmap(rings), "unmap: host memory that is seen");
	expect(1234, host[5], "it stays until its last mapping ends");
	munmap((void *)host, RINGS);
	if (own) {
		expect(0, unmap(cmb), "unmap: controller memory that is seen");
		own[5] = 1;
		expect(1, own[5], "something is in its place");
		munmap((void *)own, PAGE);
	}
	munmap((void *)doors, info.doorbells);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 3;
	snprintf(path, sizeof(path), "/dev/annex/%s", argv[1]);
	mem = pages(4, PROT_READ | PROT_WRITE);
	fd = open(path, O_RDWR | O_CLOEXEC);
	info = (struct annex_ioc_info){.size = sizeof(info), .abi = ANNEX_ABI};
	if (!expect(1, fd >= 0, "it opens") || !expect(0, call(ANNEX_IOC_INFO, &info), "info"))
		return 1;
	mmaps();
	mapped();
	inherited();
	resets();
	return failures ? 1 : 0;
}
