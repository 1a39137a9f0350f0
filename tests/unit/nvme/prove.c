// SPDX-License-Identifier: MIT
/*
 * Memory of another device is tried out before it is used: here by an emulated controller that
 * takes dma-bufs, and moves their data well or badly.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/device.h>
#include <annex/log.h>
#include "nvme/dev.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGE 4096u

struct fixture {
	struct annex_dev *dev;
	struct annex_ctrl_ops ops;
	unsigned char *mem; /* "of another device" */
};

/* Where transfers go instead; NULL: where they should. */
static void *elsewhere;

static int map_dmabuf(struct annex_ctrl *ctrl, int fd, uint64_t offset, void *ptr, size_t len,
		      uint64_t *addr)
{
	(void)fd;
	(void)offset;
	return ctrl->ops->map(ctrl, elsewhere ? elsewhere : ptr, len, addr);
}

static void begin(struct fixture *f, const char *fault)
{
	struct annex_fault parsed;
	uint64_t seed = random_seed("prove");

	CU_ASSERT_EQUAL_FATAL(annex_dev_open("mem:1M", NULL, &f->dev), 0);
	f->ops = *f->dev->ctrl->ops;
	f->ops.map_dmabuf = map_dmabuf;
	f->dev->ctrl->ops = &f->ops;
	f->mem = aligned_alloc(PAGE, PAGE);
	CU_ASSERT_FATAL(f->mem != NULL);
	random_fill(&seed, f->mem, PAGE);
	if (fault) {
		CU_ASSERT_EQUAL_FATAL(annex_fault_parse(fault, &parsed), 0);
		CU_ASSERT_EQUAL_FATAL(annex_dev_inject(f->dev, &parsed), 0);
	}
}

/* Map it; in any case its contents stay, and nothing else is mapped. */
static int try_map(struct fixture *f)
{
	unsigned char before[PAGE];
	uint64_t addr;
	int err;

	memcpy(before, f->mem, PAGE);
	err = annex_dev_map_dmabuf(f->dev, -1, 0, f->mem, PAGE, &addr);
	CU_ASSERT_EQUAL(memcmp(before, f->mem, PAGE), 0);
	if (err) {
		CU_ASSERT_EQUAL(annex_dev_map(f->dev, f->mem, PAGE, &addr), 0);
		CU_ASSERT(strstr(annex_last_error(), "mem:1M") != NULL);
	}
	CU_ASSERT_EQUAL(annex_dev_unmap(f->dev, addr, PAGE), 0);
	return err;
}

static void end(struct fixture *f)
{
	annex_dev_close(f->dev);
	free(f->mem);
}

static int with(const char *fault)
{
	struct fixture f;
	int err;

	begin(&f, fault);
	err = try_map(&f);
	end(&f);
	return err;
}

static void arrives(void)
{
	CU_ASSERT_EQUAL(with(NULL), 0);
	/* Once is chance: the block may have been written meanwhile. */
	CU_ASSERT_EQUAL(with("error,op=compare,status=0x285"), 0);
}

static void gets_lost(void)
{
	CU_ASSERT_EQUAL(with("error,op=compare,status=0x285,count=0"), -EIO);
	elsewhere = aligned_alloc(PAGE, PAGE);
	CU_ASSERT_FATAL(elsewhere != NULL);
	CU_ASSERT_EQUAL(with(NULL), -EIO);
	free(elsewhere);
	elsewhere = NULL;
}

static void cannot_be_tried(void)
{
	struct fixture f;

	CU_ASSERT_EQUAL(with("error,op=read,status=0x006"), -EIO);
	CU_ASSERT_EQUAL(with("error,op=compare,status=0x001"), -EOPNOTSUPP);
	/* One that has no such command is not asked. */
	begin(&f, "error,op=compare,status=0x001,count=0");
	f.dev->compare = false;
	CU_ASSERT_EQUAL(try_map(&f), 0);
	end(&f);
}

static void *provide(void *ctx, size_t size, size_t align)
{
	(void)ctx;
	return annex_provider_pages()->alloc(annex_provider_pages()->ctx, size, align);
}

static void give_back(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	annex_provider_pages()->free(annex_provider_pages()->ctx, ptr, size);
}

static int no_dmabuf(void *ctx, void *ptr, uint64_t *offset)
{
	(void)ctx;
	(void)ptr;
	*offset = 0;
	return -1;
}

/* A controller in this process has no way from one device to another: nothing is tried. */
static void not_in_process(void)
{
	static const struct annex_provider peer = {"peer", provide, give_back, no_dmabuf, NULL};
	struct annex_dev_opts opts = {.provider = &peer};
	struct annex_dev *dev;

	CU_ASSERT_EQUAL_FATAL(
		annex_dev_open("mem:1M?fault=error,op=read,status=0x006,count=0", &opts, &dev), 0);
	annex_dev_close(dev);
}

UNIT_SUITE(prove, {"transfers that arrive", arrives}, {"transfers that get lost", gets_lost},
	   {"devices that cannot be asked", cannot_be_tried},
	   {"devices in the process", not_in_process})
