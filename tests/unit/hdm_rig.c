// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "hdm_rig.h"
#include "unit.h"

void hdm_rig_open(struct hdm_rig *r, uint64_t bytes, const char *more)
{
	r->fd = unit_memfd(0, NULL);
	snprintf(r->uri, sizeof(r->uri), "shm:/proc/self/fd/%d?size=%llu%s", r->fd,
		 (unsigned long long)bytes, more);
	r->h = hdm_rig_again(r);
}

struct annex_hdm *hdm_rig_again(const struct hdm_rig *r)
{
	struct annex_hdm *h = NULL;

	CU_ASSERT_EQUAL_FATAL(annex_hdm_open(r->uri, NULL, &h), 0);
	return h;
}

void hdm_rig_close(struct hdm_rig *r)
{
	annex_hdm_close(r->h);
	close(r->fd);
}

unsigned int hdm_rig_count(struct annex_hdm *h)
{
	struct annex_hdm_block b;
	struct annex_hdm_info info;
	uint64_t cursor = 0, end = 0;
	unsigned int n = 0;

	annex_hdm_get_info(h, &info);
	for (; annex_hdm_next(h, &cursor, &b) == 1; n++) {
		CU_ASSERT(b.offset >= end && b.bytes && b.bytes <= info.bytes - b.offset);
		end = b.offset + b.bytes;
	}
	return n;
}

static int fake_persist(struct annex_medium *m, void *ptr, size_t len)
{
	struct hdm_fake *f = (struct hdm_fake *)m;

	if (f->step)
		f->step(f);
	f->steps++;
	memcpy(f->image + ((char *)ptr - m->base), ptr, len);
	return 0;
}

static void fake_close(struct annex_medium *m)
{
	struct hdm_fake *f = (struct hdm_fake *)m;

	munmap(m->base, m->bytes);
	close(m->fd);
	free(f->image);
	free(f);
}

static const struct annex_medium_ops fake_ops = {
	.flush = "copy", .persist = fake_persist, .close = fake_close};

struct hdm_fake *hdm_fake_make(uint64_t bytes, const char *from)
{
	struct hdm_fake *f = calloc(1, sizeof(*f));

	CU_ASSERT_FATAL(!!f);
	f->m = (struct annex_medium){
		.ops = &fake_ops, .scheme = "fake", .bytes = bytes, .node = -1, .persistent = true};
	f->image = calloc(1, bytes);
	f->m.fd = unit_memfd(bytes, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(f->image);
	f->m.base = annex_medium_map(f->m.fd, bytes, 0, MAP_SHARED);
	CU_ASSERT_FATAL(!!f->m.base);
	if (from) {
		memcpy(f->m.base, from, bytes);
		memcpy(f->image, from, bytes);
	}
	return f;
}
