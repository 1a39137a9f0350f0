// SPDX-License-Identifier: MIT
/*
 * Files that end inside a block: zeroes behind their end, and a size that stays.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "nvme/emu/state.h"
#include "tests/unit/emu_host.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define LARGE 8000152u
#define MOST (64u << 10)           /* bytes of a command */
#define FAR ((char *)0x7000000000) /* an address that the process has nothing at */

/*
 * struct odd - Such a file and its controller.
 * @size: of the file; @bytes: of its namespace.
 * @want: its contents and the zeroes behind them.
 * @data: mapped memory for the data of commands, which begins at different offsets of pages.
 */
struct odd {
	struct host h;
	char path[UNIT_PATH];
	int fd;
	uint32_t size, bytes, block;
	char *want, *data;
	uint64_t random;
};

/* On tmpfs, which cannot clear ranges, with @memory. */
static void odd_make(struct odd *o, uint32_t size, bool memory)
{
	static uint64_t seed;

	memset(o, 0, sizeof(*o));
	if (!seed)
		seed = random_seed("odd files");
	o->random = seed;
	o->size = size;
	if (!memory)
		unit_tmpfile(o->path);
	o->fd = memory ? unit_memfd(size, o->path) : open(o->path, O_RDWR | O_CLOEXEC);
	o->want = calloc(1, size + 2u * ANNEX_BLOCK_MAX);
	CU_ASSERT_FATAL(o->fd >= 0 && o->want);
	random_fill(&o->random, o->want, size);
	CU_ASSERT_EQUAL_FATAL(pwrite(o->fd, o->want, size, 0), size);
}

static void odd_open(struct odd *o, const char *params)
{
	struct annex_id_ns *id;
	char uri[512];

	snprintf(uri, sizeof(uri), "file:%s?%s", o->path, params);
	host_ready(&o->h, uri);
	o->data = host_alloc(&o->h, MOST + ANNEX_NVME_PAGE);
	id = host_alloc(&o->h, 4096);
	CU_ASSERT_EQUAL(o->h.ctrl->ops->identify(o->h.ctrl, ANNEX_CNS_NS, 1, id), 0);
	o->block = 1u << annex_id_shift(id);
	o->bytes = (uint32_t)id->nsze * o->block;
	CU_ASSERT(o->bytes >= o->size && o->bytes - o->size < o->block);
}

/* The file has these bytes, as the kernel reads it. */
static void odd_check(const struct odd *o)
{
	char *is = malloc(o->size + 1u);
	struct stat st;

	CU_ASSERT_PTR_NOT_NULL_FATAL(is);
	CU_ASSERT_EQUAL(fstat(o->fd, &st), 0);
	CU_ASSERT_EQUAL(st.st_size, o->size);
	CU_ASSERT_EQUAL(pread(o->fd, is, o->size + 1u, 0), o->size);
	CU_ASSERT_EQUAL(memcmp(is, o->want, o->size), 0);
	free(is);
}

static void odd_remove(struct odd *o)
{
	odd_check(o);
	free(o->want);
	close(o->fd);
	unlink(o->path);
}

/* A command on @nlb blocks from @slba on, by an SGL that is one piece at @p. */
static uint16_t command(struct odd *o, uint8_t opcode, uint64_t slba, uint32_t nlb, const void *p)
{
	struct annex_sqe sqe = host_rw(opcode, slba, nlb, NULL, NULL);
	struct annex_sgl sgl = {
		.addr = host_addr(p), .len = nlb * o->block, .type = ANNEX_SGL_DATA};

	sqe.flags = ANNEX_SQE_PSDT_SGL;
	memcpy(sqe.dptr, &sgl, sizeof(sgl));
	if (annex_random(&o->random) % 2)
		sqe.cdw12 |= ANNEX_RW_FUA;
	return host_do(&o->h, 1, &sqe, NULL);
}

/* A random part of the namespace, of which every other one ends at its end. */
static void part(struct odd *o, uint64_t *slba, uint32_t *nlb)
{
	const uint32_t blocks = o->bytes / o->block, most = MOST / o->block;

	*nlb = 1 + (uint32_t)(annex_random(&o->random) % (blocks < most ? blocks : most));
	*slba = blocks - *nlb;
	if (annex_random(&o->random) % 2)
		*slba = annex_random(&o->random) % (*slba + 1);
}

static void read_part(struct odd *o)
{
	static const uint32_t offsets[] = {0, 0, 4, 1000};
	char *p = o->data + offsets[annex_random(&o->random) % 4];
	const char *want;
	uint64_t slba;
	uint32_t nlb;

	part(o, &slba, &nlb);
	want = o->want + slba * o->block;
	memset(p, 0xa5, nlb * o->block);
	CU_ASSERT_EQUAL(command(o, ANNEX_NVM_READ, slba, nlb, p), 0);
	CU_ASSERT_EQUAL(memcmp(p, want, nlb * o->block), 0);
	CU_ASSERT_EQUAL(command(o, ANNEX_NVM_COMPARE, slba, nlb, p), 0);
	p[nlb * o->block - 1]++;
	CU_ASSERT_EQUAL(command(o, ANNEX_NVM_COMPARE, slba, nlb, p), ANNEX_SC_COMPARE_FAILURE);
}

static void write_part(struct odd *o)
{
	char *p = o->data + 4 * (annex_random(&o->random) % 2);
	uint64_t slba;
	uint32_t nlb, at, len;

	part(o, &slba, &nlb);
	at = (uint32_t)slba * o->block;
	len = nlb * o->block;
	memset(p, 0, len);
	if (at + len > o->size)
		len = o->size - at;
	random_fill(&o->random, p, len);
	memcpy(o->want + at, p, len);
	CU_ASSERT_EQUAL(command(o, ANNEX_NVM_WRITE, slba, nlb, p), 0);
}

/* A write that ends with a byte that the file has no place for. */
static void write_too_much(struct odd *o)
{
	const uint32_t blocks = o->bytes / o->block, nlb = blocks > 2 ? 2 : 1;

	memset(o->data, 0x5a, nlb * o->block - (o->bytes - o->size));
	memset(o->data + nlb * o->block - (o->bytes - o->size), 0, o->bytes - o->size);
	o->data[nlb * o->block - 1 - annex_random(&o->random) % (o->bytes - o->size)] = 1;
	CU_ASSERT_EQUAL(command(o, ANNEX_NVM_WRITE, blocks - nlb, nlb, o->data),
			ANNEX_SC_LBA_RANGE);
	odd_check(o);
}

static void clear_last(struct odd *o)
{
	const uint32_t last = o->bytes / o->block - 1, at = last * o->block;
	struct annex_dsm_range *range = (void *)o->data;
	struct annex_sqe sqe = host_rw(ANNEX_NVM_WRITE_ZEROES, last, 1, NULL, NULL);

	for (unsigned int i = 0; i < 3; i++) {
		sqe.cdw12 = i == 1 ? ANNEX_WZ_DEAC : i == 2 ? ANNEX_RW_FUA : 0;
		CU_ASSERT_EQUAL(host_do(&o->h, 1, &sqe, NULL), 0);
		memset(o->want + at, 0, o->size - at);
		odd_check(o);
	}
	*range = (struct annex_dsm_range){.slba = last, .nlb = 1};
	sqe = host_rw(ANNEX_NVM_DSM, 0, 1, range, NULL);
	sqe.cdw10 = 0;
	sqe.cdw11 = ANNEX_DSM_DEALLOCATE;
	CU_ASSERT_EQUAL(host_do(&o->h, 1, &sqe, NULL), 0);
}

static void use(uint32_t size, const char *params, bool memory, bool writes)
{
	struct odd o;

	odd_make(&o, size, memory);
	odd_open(&o, params);
	for (unsigned int i = 0; i < 24; i++) {
		read_part(&o);
		if (writes)
			write_part(&o);
	}
	if (writes) {
		write_too_much(&o);
		clear_last(&o);
		write_too_much(&o);
		CU_ASSERT_EQUAL(host_io(&o.h, ANNEX_NVM_FLUSH, 0, 1, o.data), 0);
	} else {
		CU_ASSERT_EQUAL(host_io(&o.h, ANNEX_NVM_WRITE, 0, 1, o.data), ANNEX_SC_READ_ONLY);
	}
	host_close(&o.h);
	odd_remove(&o);
}

static void all_sizes(void)
{
	static const uint32_t sizes[] = {1, 511, 513, 4095, 4097, LARGE};
	static const struct {
		const char *params;
		bool memory;
	} files[] = {{"block=512", false},
		     {"block=512&direct=0", true},
		     {"block=4096", false},
		     {"block=4096&direct=0", false},
		     {"block=16384", true}};
	char all[64];

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (unsigned int k = 0; k < sizeof(files) / sizeof(files[0]); k++) {
			unit_log_begin(UNIT_LOG(WARNING), "writes of more than zeroes behind");
			use(sizes[i], files[k].params, files[k].memory, true);
			CU_ASSERT_EQUAL(unit_log_end(), 1);
			snprintf(all, sizeof(all), "%s&readonly=1", files[k].params);
			use(sizes[i], all, files[k].memory, false);
		}
	}
}

/* The file shrinks behind the proxy's back: its last block cannot be read, though zeroes could. */
static void truncated(void)
{
	static const char *const params[] = {"direct=0", "readonly=1"};

	for (unsigned int i = 0; i < 2; i++) {
		struct odd o;

		odd_make(&o, 4097, false);
		odd_open(&o, params[i]);
		for (uint32_t size = 4096; size; size -= 512) {
			CU_ASSERT_EQUAL(ftruncate(o.fd, size - 1), 0);
			CU_ASSERT_EQUAL(command(&o, ANNEX_NVM_READ, 8, 1, o.data),
					ANNEX_SC_UNRECOVERED_READ);
			CU_ASSERT_EQUAL(command(&o, ANNEX_NVM_COMPARE, 7, 2, o.data),
					ANNEX_SC_UNRECOVERED_READ);
			CU_ASSERT_EQUAL(command(&o, ANNEX_NVM_READ, 0, 9, o.data),
					ANNEX_SC_UNRECOVERED_READ);
		}
		/* It grows again: its new bytes are not the namespace's. */
		CU_ASSERT_EQUAL(pwrite(o.fd, o.want, o.size, 0), o.size);
		CU_ASSERT_EQUAL(pwrite(o.fd, "more", 4, o.size), 4);
		CU_ASSERT_EQUAL(command(&o, ANNEX_NVM_READ, 0, 9, o.data), 0);
		CU_ASSERT_EQUAL(memcmp(o.data, o.want, o.bytes), 0);
		CU_ASSERT_EQUAL(ftruncate(o.fd, o.size), 0);
		host_close(&o.h);
		odd_remove(&o);
	}
}

/* A torn write does not reach the end, and changes its first block alone. */
static void torn(void)
{
	struct odd o;

	odd_make(&o, 4097, false);
	odd_open(&o, "block=512&fault=torn,op=write");
	memset(o.data, 0x5a, 1024);
	memset(o.want + 7 * 512, 0x5a, 512);
	CU_ASSERT_EQUAL(command(&o, ANNEX_NVM_WRITE, 7, 2, o.data), ANNEX_SC_INTERNAL);
	odd_check(&o);
	host_close(&o.h);
	odd_remove(&o);
}

void odd_files(void)
{
	all_sizes();
	truncated();
	torn();
}

static int copy(void *ctx, const struct annex_far_move *moves, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		char *far = (char *)ctx + (moves[i].far - host_addr(FAR));

		if (moves[i].to_far)
			memcpy(far, moves[i].near, moves[i].len);
		else
			memcpy(moves[i].near, far, moves[i].len);
	}
	return 0;
}

/* The same with data in memory that only a copier reaches. */
static void far_memory(void)
{
	char *hidden = calloc(1, 8192);
	struct annex_copier copier = {.name = "test", .copy = copy, .ctx = hidden};
	uint64_t addr;
	struct odd o;

	CU_ASSERT_PTR_NOT_NULL_FATAL(hidden);
	odd_make(&o, 4097, false);
	odd_open(&o, "block=512");
	CU_ASSERT_EQUAL_FATAL(
		o.h.ctrl->ops->map_far(o.h.ctrl, host_addr(FAR), 8192, &copier, &addr), 0);
	memset(hidden, 0xa5, 8192);
	CU_ASSERT_EQUAL(command(&o, ANNEX_NVM_READ, 0, 9, FAR), 0);
	CU_ASSERT_EQUAL(memcmp(hidden, o.want, o.bytes), 0);
	CU_ASSERT_EQUAL(command(&o, ANNEX_NVM_COMPARE, 0, 9, FAR), 0);
	hidden[4097] = 1;
	CU_ASSERT_EQUAL(command(&o, ANNEX_NVM_COMPARE, 0, 9, FAR), ANNEX_SC_COMPARE_FAILURE);
	hidden[4096] = 2;
	CU_ASSERT_EQUAL(command(&o, ANNEX_NVM_WRITE, 0, 9, FAR), ANNEX_SC_LBA_RANGE);
	odd_check(&o);
	hidden[4097] = 0;
	o.want[4096] = 2;
	CU_ASSERT_EQUAL(command(&o, ANNEX_NVM_WRITE, 0, 9, FAR), 0);
	CU_ASSERT_EQUAL(o.h.ctrl->ops->unmap(o.h.ctrl, addr, 8192), 0);
	host_close(&o.h);
	odd_remove(&o);
	free(hidden);
}

/* Readers bypass the page cache; writers cannot, as the last write would have half a block. */
static void page_cache(void)
{
	struct odd o;
	char uri[512];
	int fd;

	odd_make(&o, 4097, false);
	fd = open(o.path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		odd_open(&o, "direct=1&readonly=1");
		CU_ASSERT(fcntl(annex_emu_of(o.h.ctrl)->ns[0].fd, F_GETFL) & O_DIRECT);
		host_close(&o.h);
		snprintf(uri, sizeof(uri), "file:%s?direct=1", o.path);
		CU_ASSERT_EQUAL(host_try(uri), -EINVAL);
		CU_ASSERT(strstr(annex_last_error(), "use direct=0 or readonly=1") != NULL);
		unit_log_begin(UNIT_LOG(INFO), "buffered, no direct I/O: its 4097 bytes");
		odd_open(&o, "block=512");
		CU_ASSERT_EQUAL(unit_log_end(), 1);
		CU_ASSERT(!(fcntl(annex_emu_of(o.h.ctrl)->ns[0].fd, F_GETFL) & O_DIRECT));
		host_close(&o.h);
	}
	odd_remove(&o);
}

/* The device tells how long the file is. */
static void device_bytes(void)
{
	struct annex_dev *dev;
	struct annex_ns ns;
	struct odd o;
	char uri[512];
	uint64_t bytes = 0;

	odd_make(&o, 4097, false);
	snprintf(uri, sizeof(uri), "file:%s?block=512&ns=%s", o.path, "/proc/self/exe");
	CU_ASSERT_EQUAL(annex_dev_open(uri, NULL, &dev), -ETXTBSY);
	snprintf(uri, sizeof(uri), "file:%s?block=512", o.path);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open(uri, NULL, &dev), 0);
	CU_ASSERT_EQUAL(annex_dev_ns(dev, 1, &ns), 0);
	CU_ASSERT_EQUAL(ns.blocks, 9);
	CU_ASSERT_EQUAL(annex_dev_bytes(dev, 1, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, 4097);
	CU_ASSERT_EQUAL(annex_dev_bytes(dev, 2, &bytes), -ENXIO);
	annex_dev_close(dev);
	CU_ASSERT_EQUAL_FATAL(annex_dev_open("mem:8K?block=4096", NULL, &dev), 0);
	CU_ASSERT_EQUAL(annex_dev_bytes(dev, 1, &bytes), 0);
	CU_ASSERT_EQUAL(bytes, 8192);
	annex_dev_close(dev);
	odd_remove(&o);
}

UNIT_SUITE(emu_odd, {"sizes", all_sizes}, {"truncated file", truncated}, {"torn write", torn},
	   {"far memory", far_memory}, {"page cache", page_cache},
	   {"bytes of a device", device_bytes})
