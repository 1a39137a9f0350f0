// SPDX-License-Identifier: MIT
/*
 * The endpoint of a file system: accesses, their time and traffic.
 */
#include <time.h>
#include "dev.h"

enum { BY_BYTES, BY_BLOCKS };

/* Return: virtual time of an access; NULL: real time. */
static struct annex_cxlssd_time *set_time(const struct fs_dev *d, struct annex_cxlssd_time *t)
{
	if (!d->clock)
		return NULL;
	t->now = *d->clock;
	return t;
}

static void wait(struct fs_dev *d, uint64_t until)
{
	if (d->clock && until > *d->clock)
		*d->clock = until;
}

int fs_dev_read(struct fs_dev *d, enum annex_fs_class class, uint64_t at, void *buf, size_t n)
{
	struct annex_cxlssd_time t = {0};
	int err = annex_cxlssd_read(d->s, at, buf, n, set_time(d, &t));

	wait(d, t.done + d->link.load);
	d->read[class][BY_BYTES] += n;
	return err;
}

int fs_dev_read_blocks(struct fs_dev *d, enum annex_fs_class class, uint32_t block, void *buf,
		       uint32_t n)
{
	struct annex_cxlssd_time t = {0};
	int err = annex_cxlssd_read_blocks(d->s, (uint64_t)block * FS_BLOCK, buf,
					   (size_t)n * FS_BLOCK, set_time(d, &t));

	wait(d, t.done + d->link.read);
	d->read[class][BY_BLOCKS] += (uint64_t)n * FS_BLOCK;
	return err;
}

int fs_dev_write_blocks(struct fs_dev *d, enum annex_fs_class class, uint32_t block,
			const void *buf, uint32_t n)
{
	struct annex_cxlssd_time t = {0};
	int err = annex_cxlssd_write_blocks(d->s, (uint64_t)block * FS_BLOCK, buf,
					    (size_t)n * FS_BLOCK, set_time(d, &t));
	const uint64_t due = t.done + d->link.write;

	d->due = due > d->due ? due : d->due;
	d->written[class][BY_BLOCKS] += (uint64_t)n * FS_BLOCK;
	return err;
}

int fs_dev_fence(struct fs_dev *d)
{
	struct annex_cxlssd_time t = {0};
	int err;

	wait(d, d->due);
	d->due = 0;
	err = annex_cxlssd_fence(d->s, set_time(d, &t));
	wait(d, t.done);
	return err;
}

int fs_dev_trim(struct fs_dev *d, uint32_t block, uint32_t n)
{
	struct annex_cxlssd_time t = {0};
	int err = annex_cxlssd_trim(d->s, (uint64_t)block * FS_BLOCK, (uint64_t)n * FS_BLOCK,
				    set_time(d, &t));

	wait(d, t.done);
	return err;
}

int fs_dev_begin(struct fs_dev *d, struct annex_cxlssd_tx **tx)
{
	d->stores = 0;
	return annex_cxlssd_begin(d->s, tx);
}

int fs_dev_store(struct fs_dev *d, struct annex_cxlssd_tx *tx, enum annex_fs_class class,
		 uint64_t at, const void *buf, size_t n)
{
	d->written[class][BY_BYTES] += n;
	d->stores++;
	return annex_cxlssd_tx_write(tx, at, buf, n);
}

int fs_dev_commit(struct fs_dev *d, struct annex_cxlssd_tx *tx, bool last)
{
	struct annex_cxlssd_time t = {0};
	int err;

	if (d->clock)
		*d->clock += d->stores * d->link.store;
	wait(d, d->due);
	err = (last ? annex_cxlssd_commit : annex_cxlssd_commit_ordered)(tx, set_time(d, &t));
	wait(d, t.done);
	d->due = 0;
	d->commits++;
	return err;
}

int64_t fs_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}
