// SPDX-License-Identifier: MIT
/*
 * Devices end to end: the driver of lib/nvme on the emulated controllers of lib/nvme/emu.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/device.h>
#include <annex/hdm.h>
#include <annex/log.h>
#include <annex/m2func.h>
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define MIB (1u << 20)

struct fixture {
	struct annex_dev *dev;
	char *buf;
	uint64_t addr;
	size_t len;
};

static void open_with(struct fixture *f, const char *uri, const struct annex_dev_opts *opts)
{
	int err = annex_dev_open(uri, opts, &f->dev);

	if (err)
		printf("%s\n", annex_last_error());
	CU_ASSERT_EQUAL_FATAL(err, 0);
	f->len = 4 * MIB;
	f->buf = aligned_alloc(4096, f->len);
	CU_ASSERT_FATAL(f->buf != NULL);
	memset(f->buf, 0, f->len);
	CU_ASSERT_EQUAL_FATAL(annex_dev_map(f->dev, f->buf, f->len, &f->addr), 0);
}

static void close_it(struct fixture *f)
{
	CU_ASSERT_EQUAL(annex_dev_unmap(f->dev, f->addr, f->len), 0);
	annex_dev_close(f->dev);
	free(f->buf);
}

static struct annex_io rw(struct fixture *f, uint8_t opcode, uint64_t slba, uint32_t nlb,
			  uint32_t block, size_t offset)
{
	struct annex_io io = {
		.opcode = opcode,
		.nsid = 1,
		.slba = slba,
		.nlb = nlb,
		.bytes = nlb * block,
		.addr = f->addr + offset,
	};

	return io;
}

static int one(struct fixture *f, struct annex_io io)
{
	return annex_dev_io(f->dev, &io, 1, NULL);
}

static void bad_uris(void)
{
	static const struct {
		const char *uri;
		int err;
	} bad[] = {
		{"", -EINVAL},
		{"mem", -EINVAL},
		{":64M", -EINVAL},
		{"tape:0", -EPROTONOSUPPORT},
		{"mem:", -EINVAL},
		{"mem:64Q", -EINVAL},
		{"mem:0", -EINVAL},
		{"mem:1M?block=1536", -EINVAL},
		{"mem:1M?colour=red", -EINVAL},
		{"mem:1M?fault=sulk", -EINVAL},
		{"mem:1000", -EINVAL},
		{"mem:1M?serve=nobody", -EINVAL},
		{"file:/nonexistent/annex/file", -ENOENT},
		{"file:/", -EISDIR},
		{"file:", -EINVAL},
	};
	struct annex_dev_opts opts = {.depth = 1};
	struct annex_dev *dev = NULL;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int err = annex_dev_open(bad[i].uri, NULL, &dev);

		if (err != bad[i].err && !(err == -ERANGE && bad[i].err == -EINVAL))
			printf("\"%s\": %d, expected %d\n", bad[i].uri, err, bad[i].err);
		CU_ASSERT(err == bad[i].err || (err == -ERANGE && bad[i].err == -EINVAL));
		CU_ASSERT(strlen(annex_last_error()) > 0);
		CU_ASSERT_PTR_NULL(dev);
	}
	CU_ASSERT_EQUAL(annex_dev_open("mem:1M", &opts, &dev), -EINVAL);
	opts = (struct annex_dev_opts){.max_transfer = 1000};
	CU_ASSERT_EQUAL(annex_dev_open("mem:1M", &opts, &dev), -EINVAL);
	opts = (struct annex_dev_opts){.queues = 100000};
	CU_ASSERT_EQUAL(annex_dev_open("mem:1M", &opts, &dev), -EINVAL);
}

static void facts(void)
{
	struct annex_dev_opts opts = {.queues = 3, .depth = 17};
	struct annex_ns ns;
	struct fixture f;

	open_with(&f, "mem:8M?block=4096&namespaces=3", &opts);
	CU_ASSERT_EQUAL(annex_dev_ns(f.dev, 3, &ns), 0);
	CU_ASSERT_EQUAL(ns.block, 4096);
	CU_ASSERT_EQUAL(ns.blocks, 2048);
	CU_ASSERT_EQUAL(annex_dev_ns(f.dev, 0, &ns), -ENXIO);
	CU_ASSERT_EQUAL(annex_dev_ns(f.dev, 4, &ns), -ENXIO);
	CU_ASSERT_PTR_NOT_NULL(annex_dev_qp_at(f.dev, 2));
	CU_ASSERT_PTR_NULL(annex_dev_qp_at(f.dev, 3));
	CU_ASSERT_PTR_EQUAL(annex_dev_qp(f.dev), annex_dev_qp(f.dev));
	CU_ASSERT_EQUAL(annex_dev_map(f.dev, f.buf + 1, 4096, &f.addr), -EINVAL);
	CU_ASSERT_EQUAL(annex_dev_map(f.dev, f.buf, 4096, &f.addr), -EEXIST);
	close_it(&f);
}

/* Zeroes in the first MiB. */
static void clear(struct fixture *f, uint32_t block)
{
	for (uint32_t at = 0; at < MIB; at += 65536)
		CU_ASSERT_EQUAL(one(f, rw(f, ANNEX_NVM_WRITE, at / block, 65536 / block, block, 0)),
				0);
}

/* Random writes, reads, zeroes and deallocations against a copy in plain memory. */
static void against_reference(const char *uri, uint32_t block)
{
	uint64_t rng = random_seed("reference");
	char *ref = calloc(1, MIB);
	uint32_t blocks = MIB / block;
	struct fixture f;

	CU_ASSERT_FATAL(ref != NULL);
	open_with(&f, uri, NULL);
	clear(&f, block);
	for (unsigned int round = 0; round < 400; round++) {
		uint32_t slba = (uint32_t)(random_next(&rng) % blocks);
		uint32_t most = block > 4096 ? 512 * 1024 / block : 64;
		uint32_t nlb = 1 + (uint32_t)(random_next(&rng) %
					      (most < blocks - slba ? most : blocks - slba));
		size_t offset = random_next(&rng) % 512 * 4;
		size_t bytes = (size_t)nlb * block;
		struct annex_io io = rw(&f, ANNEX_NVM_WRITE, slba, nlb, block, offset);

		if (round & 1 && annex_dev_has_sgl(f.dev))
			io.flags = ANNEX_IO_SGL;
		switch (random_next(&rng) % 4) {
		case 0:
			random_fill(&rng, f.buf + offset, bytes);
			memcpy(ref + (size_t)slba * block, f.buf + offset, bytes);
			CU_ASSERT_EQUAL(one(&f, io), 0);
			break;
		case 1:
			io = (struct annex_io){.opcode = ANNEX_NVM_WRITE_ZEROES,
					       .nsid = 1,
					       .slba = slba,
					       .nlb = nlb};
			memset(ref + (size_t)slba * block, 0, bytes);
			CU_ASSERT_EQUAL(one(&f, io), 0);
			break;
		case 2:
			memcpy(f.buf + offset, ref + (size_t)slba * block, bytes);
			io.opcode = ANNEX_NVM_COMPARE;
			CU_ASSERT_EQUAL(one(&f, io), 0);
			f.buf[offset + bytes - 1] ^= 1;
			CU_ASSERT_EQUAL(one(&f, io), -EILSEQ);
			break;
		default:
			io.opcode = ANNEX_NVM_READ;
			memset(f.buf + offset, 0xaa, bytes + 4);
			CU_ASSERT_EQUAL(one(&f, io), 0);
			CU_ASSERT(!memcmp(f.buf + offset, ref + (size_t)slba * block, bytes));
			CU_ASSERT_EQUAL(f.buf[offset + bytes], (char)0xaa);
		}
	}
	close_it(&f);
	free(ref);
}

static void reference_512(void)
{
	against_reference(unit_device(), 512);
	against_reference("mem:1M?serve=thread", 512);
	against_reference("mem:1M?serve=busy", 512);
}

static void reference_4096(void)
{
	against_reference("mem:1M?block=4096", 4096);
	against_reference("mem:1M?block=16384", 16384);
}

static void reference_file(void)
{
	char path[UNIT_PATH], uri[UNIT_PATH + 64];

	unit_tmpfile(path);
	snprintf(uri, sizeof(uri), "file:%s?size=1M&block=512", path);
	against_reference(uri, 512);
	snprintf(uri, sizeof(uri), "file:%s?block=512&direct=0&serve=thread", path);
	CU_ASSERT_EQUAL(truncate(path, 0), 0);
	CU_ASSERT_EQUAL(truncate(path, MIB), 0);
	against_reference(uri, 512);
	snprintf(uri, sizeof(uri), "file:%s?block=512&serve=alone", path);
	CU_ASSERT_EQUAL(truncate(path, 0), 0);
	CU_ASSERT_EQUAL(truncate(path, MIB), 0);
	against_reference(uri, 512);
	unlink(path);
}

static void flush_and_dsm(void)
{
	struct fixture f;
	struct annex_io io = {.opcode = ANNEX_NVM_FLUSH, .nsid = 1};
	struct annex_dsm_range *ranges;

	open_with(&f, "mem:1M", NULL);
	CU_ASSERT_EQUAL(one(&f, io), 0);
	io.nsid = 9;
	CU_ASSERT_EQUAL(one(&f, io), -ENXIO);
	memset(f.buf + 4096, 0x55, 4096);
	CU_ASSERT_EQUAL(one(&f, rw(&f, ANNEX_NVM_WRITE, 8, 8, 512, 4096)), 0);
	ranges = (struct annex_dsm_range *)f.buf;
	ranges[0] = (struct annex_dsm_range){.nlb = 2, .slba = 8};
	ranges[1] = (struct annex_dsm_range){.nlb = 1, .slba = 15};
	io = (struct annex_io){
		.opcode = ANNEX_NVM_DSM, .nsid = 1, .nlb = 2, .bytes = 32, .addr = f.addr};
	CU_ASSERT_EQUAL(one(&f, io), 0);
	CU_ASSERT_EQUAL(one(&f, rw(&f, ANNEX_NVM_READ, 8, 8, 512, 8192)), 0);
	CU_ASSERT_EQUAL(f.buf[8192], 0);
	CU_ASSERT_EQUAL(f.buf[8192 + 1024], 0x55);
	CU_ASSERT_EQUAL(f.buf[8192 + 4095], 0);
	close_it(&f);
}

static void wrong_commands(void)
{
	struct annex_io ios[3];
	struct annex_result res[3];
	struct fixture f;

	open_with(&f, "mem:1M", NULL);
	CU_ASSERT_EQUAL(one(&f, rw(&f, ANNEX_NVM_READ, 2048, 1, 512, 0)), -ERANGE);
	CU_ASSERT_EQUAL(one(&f, rw(&f, ANNEX_NVM_READ, UINT64_MAX, 8, 512, 0)), -ERANGE);
	ios[0] = rw(&f, ANNEX_NVM_READ, 0, 8, 512, 0);
	CU_ASSERT_EQUAL(annex_dev_unmap(f.dev, f.addr, f.len), 0);
	CU_ASSERT_EQUAL(one(&f, ios[0]), -EFAULT); /* not mapped any more */
	CU_ASSERT_EQUAL(annex_dev_map(f.dev, f.buf, f.len, &f.addr), 0);
	CU_ASSERT_EQUAL(one(&f, ios[0]), 0);
	ios[0].addr = 0;
	CU_ASSERT_EQUAL(one(&f, ios[0]), -EFAULT);
	ios[0] = rw(&f, 0x7f, 0, 8, 512, 0);
	CU_ASSERT_EQUAL(one(&f, ios[0]), -EOPNOTSUPP);
	ios[0] = rw(&f, ANNEX_NVM_READ, 0, 8, 512, 0);
	ios[1] = rw(&f, ANNEX_NVM_READ, 1 << 20, 8, 512, 0);
	ios[2] = rw(&f, ANNEX_NVM_READ, 8, 8, 512, 4096);
	CU_ASSERT_EQUAL(annex_dev_io(f.dev, ios, 3, res), -ERANGE); /* the others are done */
	CU_ASSERT_EQUAL(res[0].status, 0);
	CU_ASSERT_EQUAL(res[1].status & ANNEX_SC_MASK, ANNEX_SC_LBA_RANGE);
	CU_ASSERT_EQUAL(res[2].status, 0);
	ios[1].bytes = 0;
	CU_ASSERT_EQUAL(annex_dev_io(f.dev, ios, 3, res), -EINVAL);
	close_it(&f);
}

static void vectored(void)
{
	struct annex_dev_opts opts = {.depth = 16};
	struct annex_io ios[256];
	struct fixture f;

	open_with(&f, unit_device(), &opts);
	for (unsigned int i = 0; i < 256; i++) {
		memset(f.buf + i * 4096, (int)i, 4096);
		ios[i] = rw(&f, ANNEX_NVM_WRITE, i * 8, 8, 512, i * 4096);
	}
	CU_ASSERT_EQUAL(annex_dev_io(f.dev, ios, 256, NULL), 0);
	for (unsigned int i = 0; i < 256; i++)
		ios[i] = rw(&f, ANNEX_NVM_READ, (255 - i) * 8, 8, 512, MIB + i * 4096);
	CU_ASSERT_EQUAL(annex_dev_io(f.dev, ios, 256, NULL), 0);
	for (unsigned int i = 0; i < 256; i++)
		CU_ASSERT(f.buf[MIB + i * 4096] == (char)(255 - i) &&
			  f.buf[MIB + i * 4096 + 4095] == (char)(255 - i));
	close_it(&f);
}

/* Recovery. Timeouts are short here, so that every way out of a silent device is walked. */
static void fault_case(const char *fault, int first, int second)
{
	/* Short, but longer than a loaded machine lets a thread wait. */
	struct annex_dev_opts opts = {.timeout_ms = 250};
	static const char *const serve[] = {"caller", "thread"};
	char uri[128];

	for (unsigned int i = 0; i < sizeof(serve) / sizeof(serve[0]); i++) {
		struct fixture f;
		uint64_t start;
		int err;

		snprintf(uri, sizeof(uri), "mem:1M?serve=%s&fault=%s", serve[i], fault);
		open_with(&f, uri, &opts);
		start = annex_now();
		err = one(&f, rw(&f, ANNEX_NVM_READ, 0, 8, 512, 0));
		if (err != first)
			printf("%s: %d, expected %d\n", uri, err, first);
		CU_ASSERT_EQUAL(err, first);
		CU_ASSERT_EQUAL(one(&f, rw(&f, ANNEX_NVM_READ, 0, 8, 512, 0)), second);
		CU_ASSERT(annex_now() - start < 5 * ANNEX_NSEC_PER_SEC);
		close_it(&f);
	}
}

static void recover_delay(void)
{
	fault_case("delay,us=600000000", -ETIMEDOUT, 0); /* aborted */
	fault_case("delay,us=1000", 0, 0);
}

static void recover_lost(void)
{
	fault_case("lose", -ETIMEDOUT, 0); /* reset */
}

static void recover_fatal(void)
{
	fault_case("fatal", -ETIMEDOUT, 0);
}

static void recover_removed(void)
{
	fault_case("remove", -ENODEV, -ENODEV);
}

static void injected_errors(void)
{
	fault_case("error,status=0x281", -EIO, 0);
	fault_case("error,op=read,count=2,status=0x80", -ERANGE, -ERANGE);
	fault_case("error,op=write", 0, 0);
	fault_case("error,after=1", 0, -EIO);
	fault_case("error,lba=4,blocks=1", -EIO, 0);
	fault_case("error,lba=8,blocks=100", 0, 0);
	fault_case("torn", -EIO, 0);
}

static void inject_by_call(void)
{
	struct annex_fault fault = {.kind = ANNEX_FAULT_ERROR,
				    .opcode = -1,
				    .count = 1,
				    .status = ANNEX_SC_WRITE_FAULT};
	struct fixture f;

	open_with(&f, "mem:1M", NULL);
	CU_ASSERT_EQUAL(one(&f, rw(&f, ANNEX_NVM_WRITE, 0, 8, 512, 0)), 0);
	CU_ASSERT_EQUAL(annex_dev_inject(f.dev, &fault), 0);
	CU_ASSERT_EQUAL(one(&f, rw(&f, ANNEX_NVM_WRITE, 0, 8, 512, 0)), -EIO);
	CU_ASSERT_EQUAL(one(&f, rw(&f, ANNEX_NVM_WRITE, 0, 8, 512, 0)), 0);
	close_it(&f);
}

/*
 * Threads that read while completions get lost: every call ends, with right data or with an error,
 * and the device works afterwards.
 */
struct reader {
	struct fixture *f;
	unsigned int id;
	unsigned int good, bad, wrong;
};

static void *reader(void *arg)
{
	struct reader *r = arg;
	uint64_t rng = r->id;

	for (unsigned int i = 0; i < 300; i++) {
		uint64_t block = random_next(&rng) % 256;
		size_t offset = r->id * 65536u;
		int err;

		memset(r->f->buf + offset, 0xff, 4096);
		err = one(r->f, rw(r->f, ANNEX_NVM_READ, block * 8, 8, 512, offset));
		if (err)
			r->bad++;
		else if (memcmp(r->f->buf + offset, &block, 8) ||
			 memcmp(r->f->buf + offset + 4088, &block, 8))
			r->wrong++;
		else
			r->good++;
	}
	return NULL;
}

static void read_through_resets(void)
{
	struct annex_dev_opts opts = {.timeout_ms = 30, .queues = 2, .depth = 8};
	struct annex_fault fault = {
		.kind = ANNEX_FAULT_LOSE, .opcode = ANNEX_NVM_READ, .after = 100, .count = 3};
	struct reader readers[8];
	struct fixture f;

	open_with(&f, "mem:1M", &opts);
	for (uint64_t i = 0; i < 256; i++) {
		memcpy(f.buf, &i, 8);
		memcpy(f.buf + 4088, &i, 8);
		CU_ASSERT_EQUAL(one(&f, rw(&f, ANNEX_NVM_WRITE, i * 8, 8, 512, 0)), 0);
	}
	CU_ASSERT_EQUAL(annex_dev_inject(f.dev, &fault), 0);
	fault.after = 1000;
	CU_ASSERT_EQUAL(annex_dev_inject(f.dev, &fault), 0);
	for (unsigned int i = 0; i < 8; i++)
		readers[i] = (struct reader){.f = &f, .id = i};
	unit_threads(8, reader, readers, sizeof(*readers));
	for (unsigned int i = 0; i < 8; i++) {
		CU_ASSERT_EQUAL(readers[i].wrong, 0);
		CU_ASSERT(readers[i].good > 200);
	}
	CU_ASSERT_EQUAL(one(&f, rw(&f, ANNEX_NVM_READ, 0, 8, 512, 0)), 0);
	close_it(&f);
}

/* Abandoned commands whose completions are lost hold every identifier: a reset frees them. */
static void lost_orphans(void)
{
	struct annex_dev_opts opts = {.queues = 1, .depth = 4, .timeout_ms = 50};
	struct annex_io ios[3];
	uint64_t tokens[3];
	struct fixture f;

	open_with(&f, "mem:1M?fault=lose,count=3", &opts);
	for (unsigned int i = 0; i < 3; i++)
		ios[i] = rw(&f, ANNEX_NVM_READ, i, 1, 512, i * 512);
	CU_ASSERT_EQUAL(annex_qp_submit(annex_dev_qp(f.dev), ios, 3, tokens, 0), 3);
	for (unsigned int i = 0; i < 3; i++)
		annex_qp_abandon(annex_dev_qp(f.dev), tokens[i]);
	CU_ASSERT_EQUAL(one(&f, ios[0]), 0);
	close_it(&f);
}

/*
 * A waiter that gave up leaves its mark on its request. The next watcher must not take that mark
 * for a sleeper: the thread that really sleeps would never be woken.
 */
struct sleeper {
	struct annex_qp *qp;
	uint64_t token;
	uint64_t deadline;
	int rc;
};

static void *sleep_on(void *arg)
{
	struct sleeper *s = arg;

	s->rc = annex_qp_wait(s->qp, s->token, NULL, s->deadline);
	return NULL;
}

static void mark_left_behind(void)
{
	static const char *const serve[] = {"caller", "thread", "busy"};

	for (unsigned int i = 0; i < sizeof(serve) / sizeof(serve[0]); i++) {
		struct annex_dev_opts opts = {.queues = 1};
		struct sleeper s[3];
		uint64_t tokens[3], start = annex_now();
		struct annex_io ios[3];
		struct fixture f;
		char uri[160];

		/* The first two take very long, the third a moment. */
		snprintf(uri, sizeof(uri),
			 "mem:1M?serve=%s&fault=delay,us=600000000,count=2&fault=delay,us=300000",
			 serve[i]);
		open_with(&f, uri, &opts);
		for (unsigned int k = 0; k < 3; k++)
			ios[k] = rw(&f, ANNEX_NVM_READ, k, 1, 512, k * 512);
		CU_ASSERT_EQUAL(annex_qp_submit(annex_dev_qp(f.dev), ios, 3, tokens, 0), 3);
		for (unsigned int k = 0; k < 3; k++) {
			s[k] = (struct sleeper){.qp = annex_dev_qp(f.dev), .token = tokens[k]};
			s[k].deadline = annex_deadline_ms(k < 2 ? 50 + 50 * k : 20000);
		}
		unit_threads(3, sleep_on, s, sizeof(*s));
		CU_ASSERT_EQUAL(s[0].rc, -ETIMEDOUT);
		CU_ASSERT_EQUAL(s[1].rc, -ETIMEDOUT);
		CU_ASSERT_EQUAL(s[2].rc, 0);
		CU_ASSERT(annex_now() - start < 10 * ANNEX_NSEC_PER_SEC);
		for (unsigned int k = 0; k < 2; k++) { /* an abort ends each at once */
			CU_ASSERT_EQUAL(annex_dev_recover(f.dev, s[k].qp, s[k].token), 0);
			CU_ASSERT_EQUAL(annex_qp_poll(s[k].qp, s[k].token, NULL), 0);
		}
		close_it(&f);
	}
}

/* Closing with commands outstanding: memory is freed only after the controller has let go. */
static void close_with_outstanding(void)
{
	struct annex_dev_opts opts = {.timeout_ms = 1000};
	struct annex_io ios[20];
	uint64_t tokens[20];
	struct fixture f;

	open_with(&f, "mem:1M?fault=delay,us=200000000,count=0", &opts);
	for (unsigned int i = 0; i < 20; i++)
		ios[i] = rw(&f, ANNEX_NVM_READ, i, 1, 512, i * 512);
	CU_ASSERT_EQUAL(annex_qp_submit(annex_dev_qp(f.dev), ios, 20, tokens, 0), 20);
	for (unsigned int i = 0; i < 20; i += 2)
		annex_qp_abandon(annex_dev_qp(f.dev), tokens[i]);
	annex_dev_close(f.dev);
	free(f.buf);
}

static void traits(void)
{
	CU_ASSERT_EQUAL(annex_dev_traits("mem:1M"), ANNEX_TRAIT_SERVED | ANNEX_TRAIT_VOLATILE);
	CU_ASSERT_EQUAL(annex_dev_traits("file:/x?size=1M"), ANNEX_TRAIT_SERVED | ANNEX_TRAIT_PATH);
	CU_ASSERT_EQUAL(annex_dev_traits("pci:0000:00:04.0"), ANNEX_TRAIT_PCI);
	CU_ASSERT_EQUAL(annex_dev_traits("ng:/dev/ng0n1"), ANNEX_TRAIT_SERVED | ANNEX_TRAIT_SHARED);
	CU_ASSERT_EQUAL(annex_dev_traits("nvme:0000:00:04.0"),
			ANNEX_TRAIT_SERVED | ANNEX_TRAIT_SHARED);
	CU_ASSERT_EQUAL(annex_dev_traits("memory:1M"), 0);
	CU_ASSERT_EQUAL(annex_dev_traits("me:1M"), 0);
	CU_ASSERT_EQUAL(annex_dev_traits(""), 0);
	CU_ASSERT_EQUAL(annex_hdm_traits("shm:/x"), ANNEX_TRAIT_PATH);
	CU_ASSERT_EQUAL(annex_hdm_traits("dax:/dev/dax0.0"), ANNEX_TRAIT_PATH);
	CU_ASSERT_EQUAL(annex_hdm_traits("numa:1"), ANNEX_TRAIT_VOLATILE);
	CU_ASSERT_EQUAL(annex_hdm_traits("pci:0000:0d:00.0"), ANNEX_TRAIT_PCI);
	CU_ASSERT_EQUAL(annex_hdm_traits("mem:1M"), 0);
}

/* The last error has each of the schemes; how many there are. */
static unsigned int told(const struct annex_scheme *(*at)(unsigned int i))
{
	const struct annex_scheme *s;
	unsigned int n = 0;
	char name[16];

	while ((s = at(n))) {
		snprintf(name, sizeof(name), "%s:", s->name);
		CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), name));
		CU_ASSERT(*s->summary != '\0');
		n++;
	}
	return n;
}

static void failed_for(const char *cause)
{
	CU_ASSERT_PTR_NOT_NULL(strstr(annex_last_error(), cause));
}

/* The text is that of the first command that failed, and clean-up leaves it. */
static void causes_are_kept(void)
{
	struct annex_io ios[2];
	struct fixture f;
	uint64_t addr;
	void *more;

	open_with(&f, "mem:1M", NULL);
	ios[0] = rw(&f, ANNEX_NVM_READ, 5000, 1, 512, 0);
	ios[1] = rw(&f, ANNEX_NVM_READ, 6000, 1, 512, 0);
	CU_ASSERT_EQUAL(annex_dev_io(f.dev, ios, 2, NULL), -ERANGE);
	failed_for("block 5000");
	CU_ASSERT_EQUAL_FATAL(annex_dev_alloc(f.dev, ANNEX_PLACE_PROVIDER, 4096, &more, &addr), 0);
	CU_ASSERT_EQUAL(annex_dev_unmap(f.dev, addr, 4096), 0);
	CU_ASSERT_EQUAL(one(&f, ios[1]), -ERANGE);
	annex_dev_free(f.dev, ANNEX_PLACE_PROVIDER, more, 4096, addr); /* mapped no more */
	failed_for("block 6000");
	annex_provider_pages()->free(NULL, more, 4096);
	close_it(&f);
}

/* The error of an unknown scheme lists all schemes. */
static void schemes(void)
{
	struct annex_dev *dev;
	struct annex_hdm *hdm;
	struct annex_m2 *m2;

	CU_ASSERT_EQUAL(annex_dev_open("none:/x", NULL, &dev), -EPROTONOSUPPORT);
	CU_ASSERT_EQUAL(told(annex_dev_scheme_at), 6);
	CU_ASSERT_EQUAL(annex_hdm_open("none:/x", NULL, &hdm), -EPROTONOSUPPORT);
	CU_ASSERT_EQUAL(told(annex_hdm_scheme_at), 4);
	CU_ASSERT_EQUAL(annex_m2_open("none:/x", NULL, &m2), -EPROTONOSUPPORT);
	CU_ASSERT_EQUAL(told(annex_m2_scheme_at), 2);
}

UNIT_SUITE(device, {"bad URIs and options", bad_uris}, {"traits", traits},
	   {"an unknown scheme is told the known ones", schemes}, {"facts", facts},
	   {"random commands, 4096", reference_4096}, {"random commands, file", reference_file},
	   {"flush and DSM", flush_and_dsm}, {"wrong commands", wrong_commands},
	   {"late completions are aborted", recover_delay},
	   {"lost completions end in a reset", recover_lost},
	   {"fatal status ends in a reset", recover_fatal}, {"removal", recover_removed},
	   {"injected errors", injected_errors}, {"injected by call", inject_by_call},
	   {"reads through resets", read_through_resets}, {"a mark left behind", mark_left_behind},
	   {"lost orphans", lost_orphans},
	   {"closing with commands outstanding", close_with_outstanding},
	   {"causes of errors are kept", causes_are_kept})

/* What a guest runs on a controller too. */
UNIT_SUITE(device_io, {"random commands, 512", reference_512}, {"vectored", vectored})
