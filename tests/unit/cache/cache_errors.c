// SPDX-License-Identifier: MIT
/*
 * What fails: sizes that make no sense, reads and writes that the device refuses.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include <annex/log.h>
#include "cache_rig.h"
#include "tests/unit/unit.h"

static int create(struct annex_cache_opts opts)
{
	struct annex_cache *c = NULL;
	int err = annex_cache_create(&opts, &c);

	if (err)
		CU_ASSERT(annex_last_error()[0]);
	CU_ASSERT_EQUAL(annex_cache_destroy(c), 0);
	return err;
}

static void absurd_sizes_are_refused(void)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	struct annex_cache_opts good, o;
	struct annex_dev *none = NULL;
	struct rig r;

	rig_open(&r, 1, "mem:1M?block=16384", NULL);
	good = (struct annex_cache_opts){.bytes = 1 << 16, .devs = r.devs, .ndevs = 1};
	CU_ASSERT_EQUAL(create(good), -EINVAL);
	CU_ASSERT(strstr(annex_last_error(), "smaller than a block of 16384") != NULL);
	good.line = 16384;
	CU_ASSERT_EQUAL(create(good), 0);
	rig_close(&r);
	rig_open(&r, 2, "mem:1M?block=4096", NULL);
	good = (struct annex_cache_opts){.bytes = 1 << 16, .devs = r.devs, .ndevs = 2};
	CU_ASSERT_EQUAL(create(good), 0);
#define REFUSED(err, ...)                                                                          \
	do {                                                                                       \
		o = good;                                                                          \
		__VA_ARGS__;                                                                       \
		CU_ASSERT_EQUAL(create(o), err);                                                   \
	} while (0)
	REFUSED(-EINVAL, o.bytes = 0);
	REFUSED(-EINVAL, o.bytes = 8191);
	REFUSED(-ENOMEM, o.bytes = memory + 4096);
	REFUSED(-ENOMEM, o.bytes = UINT64_MAX);
	REFUSED(-EINVAL, o.line = 3000);
	REFUSED(-EINVAL, o.line = 256);
	REFUSED(-EINVAL, o.line = 2u << 20);
	REFUSED(-EINVAL, o.line = 512); /* less than a block */
	REFUSED(-EINVAL, o.ndevs = 0);
	REFUSED(-EINVAL, o.devs = NULL);
	REFUSED(-EINVAL, (o.devs = &none, o.ndevs = 1));
	REFUSED(-EINVAL, o.layout = (enum annex_layout)7);
	REFUSED(-ENXIO, o.nsid = 9);
	REFUSED(-EINVAL, o.size = 4095);
	REFUSED(-ERANGE, o.size = (2u << 20) + 4096);
	REFUSED(-ERANGE, o.size = UINT64_MAX & ~4095ull);
	REFUSED(-ERANGE, (o.layout = ANNEX_REPLICA, o.size = (1u << 20) + 4096));
	rig_close(&r);
}

static void a_failed_read_is_an_error_and_leaves_nothing(void)
{
	struct annex_cache_stats s;
	struct rig r;
	void *p;

	rig_start(&r, "mem:1M", 8, 4096);
	rig_error(&r, 0, ANNEX_NVM_READ, 5 * 8, 8, 1);
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 5, 0, &p), -EIO);
	CU_ASSERT(strstr(annex_last_error(), "line 5 ") != NULL);
	s = rig_stats(&r);
	CU_ASSERT_EQUAL(s.errors, 1);
	CU_ASSERT_EQUAL(s.bytes_read, 0);
	CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, 5, 0, &p), 0);
	CU_ASSERT_EQUAL(*(uint64_t *)p, rig_word(0, 5 * 4096));
	CU_ASSERT_EQUAL(rig_stats(&r).bytes_read, 4096);
	annex_cache_unpin(r.c, 5, 0);
	rig_close(&r);
}

/* Lines 0 to 7 go out as one command; one bad block must not cost the others. */
static void one_bad_line_does_not_fail_its_neighbours(void)
{
	struct annex_range all = {0, 8 * 4096};
	struct rig r;
	void *p;

	rig_start(&r, "mem:1M", 64, 4096);
	rig_error(&r, 0, ANNEX_NVM_READ, 3 * 8 + 2, 1, 0);
	CU_ASSERT_EQUAL(annex_cache_prefetch(r.c, &all, 1), 8);
	for (uint64_t i = 0; i < 8; i++) {
		int err = annex_cache_pin(r.c, i, 0, &p);

		CU_ASSERT_EQUAL(err, i == 3 ? -EIO : 0);
		if (!err) {
			CU_ASSERT_EQUAL(*(uint64_t *)p, rig_word(0, i * 4096));
			annex_cache_unpin(r.c, i, 0);
		}
	}
	rig_close(&r);
}

static void dirty(struct rig *r, uint64_t line, uint64_t value)
{
	void *p;

	CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r->c, line, ANNEX_PIN_WRITE, &p), 0);
	*(uint64_t *)p = value;
	annex_cache_unpin(r->c, line, ANNEX_PIN_WRITE);
}

static uint64_t on_device(struct rig *r, uint64_t line)
{
	uint64_t word[64];

	rig_read(r, 0, line * 4096, word, 512);
	return word[0];
}

static void a_failed_write_back_stays_dirty(void)
{
	struct rig r;

	rig_start(&r, "mem:1M", 64, 4096);
	for (uint64_t i = 0; i < 16; i++)
		dirty(&r, i, 1000 + i);
	/* The merged write, then line 9 alone; then the medium is well again. */
	rig_error(&r, 0, ANNEX_NVM_WRITE, 9 * 8, 8, 2);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), -EIO);
	for (uint64_t i = 0; i < 16; i++)
		CU_ASSERT_EQUAL(on_device(&r, i), i == 9 ? rig_word(0, 9 * 4096) : 1000 + i);
	CU_ASSERT(rig_stats(&r).errors >= 1);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(on_device(&r, 9), 1009);
	CU_ASSERT_EQUAL(rig_stats(&r).writebacks, 16);
	rig_close(&r);
}

static void a_full_device_is_told_apart(void)
{
	struct annex_fault full = {.kind = ANNEX_FAULT_ERROR,
				   .opcode = ANNEX_NVM_WRITE,
				   .count = 1,
				   .status = ANNEX_SC_CAPACITY};
	struct rig r;

	rig_start(&r, "mem:1M", 64, 4096);
	dirty(&r, 5, 55);
	CU_ASSERT_EQUAL_FATAL(annex_dev_inject(r.devs[0], &full), 0);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), -ENOSPC);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0); /* room was made */
	CU_ASSERT_EQUAL(on_device(&r, 5), 55);
	rig_close(&r);
}

static void nothing_dirty_is_dropped_for_a_slot(void)
{
	struct rig r;
	void *p;

	rig_start(&r, "mem:1M", 8, 4096);
	for (uint64_t i = 0; i < 8; i++)
		dirty(&r, i, 2000 + i);
	rig_error(&r, 0, ANNEX_NVM_WRITE, 0, 0, 0); /* no write succeeds from now on */
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 100, 0, &p), -EIO);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), -EIO);
	for (uint64_t i = 0; i < 8; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, i, 0, &p), 0);
		CU_ASSERT_EQUAL(*(uint64_t *)p, 2000 + i);
		annex_cache_unpin(r.c, i, 0);
	}
	CU_ASSERT_EQUAL(rig_stats(&r).evictions, 0);
	CU_ASSERT_EQUAL(annex_cache_destroy(r.c), -EIO);
	r.c = NULL;
	rig_close(&r);
}

/* Each line is tried again once in 100 ms, however often slots are asked for; a flush tries it. */
static void lines_that_cannot_be_written_fail_fast(void)
{
	struct annex_fault full = {
		.kind = ANNEX_FAULT_ERROR, .opcode = ANNEX_NVM_WRITE, .status = ANNEX_SC_CAPACITY};
	uint64_t errors, began, periods;
	struct rig r;
	void *p;

	rig_start(&r, "mem:1M", 8, 4096);
	for (uint64_t i = 0; i < 8; i++)
		dirty(&r, 2 * i, 3000 + i);
	CU_ASSERT_EQUAL_FATAL(annex_dev_inject(r.devs[0], &full), 0);
	began = annex_now();
	for (uint64_t i = 0; i < 1000; i++)
		CU_ASSERT_EQUAL(annex_cache_pin(r.c, 100 + i % 100, i % 2, &p), -ENOSPC);
	periods = (annex_now() - began) / (100 * ANNEX_NSEC_PER_MSEC) + 1;
	errors = rig_stats(&r).errors;
	CU_ASSERT(errors >= 8);
	CU_ASSERT(errors <= 8 * periods);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), -ENOSPC);
	CU_ASSERT_EQUAL(rig_stats(&r).errors, errors + 8);
	for (uint64_t i = 0; i < 8; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, 2 * i, 0, &p), 0);
		CU_ASSERT_EQUAL(*(uint64_t *)p, 3000 + i);
		annex_cache_unpin(r.c, 2 * i, 0);
	}
	CU_ASSERT_EQUAL(annex_cache_destroy(r.c), -ENOSPC);
	r.c = NULL;
	rig_close(&r);
}

/* One bad line does not keep the others from making room. */
static void a_bad_line_is_not_in_the_way(void)
{
	struct rig r;

	rig_start(&r, "mem:1M", 8, 4096);
	dirty(&r, 3, 33);
	rig_error(&r, 0, ANNEX_NVM_WRITE, 3 * 8, 8, 0);
	for (uint64_t i = 4; i < 200; i++)
		dirty(&r, i, i);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 4 * 4096, UINT64_MAX), 0);
	for (uint64_t i = 4; i < 200; i++)
		CU_ASSERT_EQUAL(on_device(&r, i), i);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), -EIO);
	CU_ASSERT_EQUAL(annex_cache_destroy(r.c), -EIO); /* kept to the end */
	r.c = NULL;
	rig_close(&r);
}

static void a_failed_device_flush_is_reported(void)
{
	struct rig r;

	rig_start(&r, "mem:1M", 8, 4096);
	rig_error(&r, 0, ANNEX_NVM_FLUSH, 0, 0, 1);
	dirty(&r, 1, 1);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), -EIO);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	rig_close(&r);
}

static void strike(struct rig *r, unsigned int dev, enum annex_fault_kind kind, int opcode)
{
	struct annex_fault fault = {.kind = kind, .opcode = opcode, .count = 1};

	CU_ASSERT_EQUAL_FATAL(annex_dev_inject(r->devs[dev], &fault), 0);
}

static const struct annex_dev_opts hasty = {.timeout_ms = 300};

static void a_lost_write_is_written_again(void)
{
	struct rig r;

	rig_open(&r, 1, "mem:1M", &hasty);
	rig_cache(&r, 8 * 4096, 4096, ANNEX_STRIPE, 0);
	dirty(&r, 1, 77);
	strike(&r, 0, ANNEX_FAULT_LOSE, ANNEX_NVM_WRITE);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), -ETIMEDOUT);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), 0);
	CU_ASSERT_EQUAL(on_device(&r, 1), 77);
	rig_close(&r);
}

/* The reset that ends one command sweeps away others, which are simply sent again. */
static void a_failed_controller_is_brought_back(void)
{
	struct annex_range all = {0, 16 * 4096};
	struct rig r;
	void *p;

	rig_open(&r, 1, "mem:1M", &hasty);
	rig_cache(&r, 64 * 4096, 4096, ANNEX_STRIPE, 0);
	strike(&r, 0, ANNEX_FAULT_FATAL, ANNEX_NVM_READ);
	CU_ASSERT_EQUAL(annex_cache_prefetch(r.c, &all, 1), 16);
	for (uint64_t i = 0; i < 40; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, i, 0, &p), 0);
		CU_ASSERT_EQUAL(*(uint64_t *)p, rig_word(0, i * 4096));
		annex_cache_unpin(r.c, i, 0);
	}
	rig_close(&r);
}

static void a_removed_device_is_an_error_and_no_hang(void)
{
	struct annex_range all = {0, 16 * 4096};
	struct rig r;
	void *p;

	rig_open(&r, 1, "mem:1M", &hasty);
	rig_cache(&r, 64 * 4096, 4096, ANNEX_STRIPE, 0);
	dirty(&r, 60, 1);
	strike(&r, 0, ANNEX_FAULT_REMOVE, -1);
	annex_cache_prefetch(r.c, &all, 1);
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 3, 0, &p), -ENODEV);
	CU_ASSERT_EQUAL(annex_cache_pin(r.c, 30, 0, &p), -ENODEV);
	CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, 60, 0, &p), 0); /* still in memory */
	annex_cache_unpin(r.c, 60, 0);
	CU_ASSERT_EQUAL(annex_cache_flush(r.c, 0, UINT64_MAX), -ENODEV);
	CU_ASSERT_EQUAL(annex_cache_destroy(r.c), -ENODEV);
	r.c = NULL;
	rig_close(&r);
}

static void a_removed_replica_is_not_missed_by_readers(void)
{
	uint64_t words[512];
	struct rig r;
	void *p;

	rig_open(&r, 2, "mem:1M", &hasty);
	for (uint64_t i = 0; i < 64; i++) {
		rig_read(&r, 0, i * 4096, words, 4096);
		rig_write(&r, 1, i * 4096, words, 4096);
	}
	rig_cache(&r, 16 * 4096, 4096, ANNEX_REPLICA, 0);
	strike(&r, 1, ANNEX_FAULT_REMOVE, -1);
	for (uint64_t i = 0; i < 64; i++) {
		CU_ASSERT_EQUAL_FATAL(annex_cache_pin(r.c, i, 0, &p), 0);
		CU_ASSERT_EQUAL(*(uint64_t *)p, rig_word(0, i * 4096));
		annex_cache_unpin(r.c, i, 0);
	}
	CU_ASSERT_EQUAL(annex_cache_destroy(r.c), -ENODEV); /* the device flush says so */
	r.c = NULL;
	rig_close(&r);
}

UNIT_SUITE(cache_errors, {"absurd sizes are refused", absurd_sizes_are_refused},
	   {"a failed read leaves nothing", a_failed_read_is_an_error_and_leaves_nothing},
	   {"one bad line does not fail its neighbours", one_bad_line_does_not_fail_its_neighbours},
	   {"a failed write-back stays dirty", a_failed_write_back_stays_dirty},
	   {"a full device is told apart", a_full_device_is_told_apart},
	   {"nothing dirty is dropped for a slot", nothing_dirty_is_dropped_for_a_slot},
	   {"lines that cannot be written fail fast", lines_that_cannot_be_written_fail_fast},
	   {"a bad line is not in the way", a_bad_line_is_not_in_the_way},
	   {"a failed device flush is reported", a_failed_device_flush_is_reported},
	   {"a lost write is written again", a_lost_write_is_written_again},
	   {"a failed controller is brought back", a_failed_controller_is_brought_back},
	   {"a removed device is an error, no hang", a_removed_device_is_an_error_and_no_hang},
	   {"a removed replica is not missed", a_removed_replica_is_not_missed_by_readers})
