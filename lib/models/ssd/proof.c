// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include "core/log.h"
#include "proof.h"
#include "record.h"

uint32_t ssd_proofs_count(const struct ssd_proofs *p, const struct ssd_file *file)
{
	return p->syncs == file->syncs ? p->n : 0;
}

void ssd_proofs_add(struct ssd_proofs *p, const struct ssd_file *file, const struct ssd_proof *one)
{
	p->n = ssd_proofs_count(p, file);
	p->syncs = file->syncs;
	if (p->n < SSD_PROOFS)
		p->all[p->n] = *one;
	p->n += p->n <= SSD_PROOFS;
}

/* Whether the page has the checksum of its record. */
static int is_whole(struct ssd_file *file, const struct ssd_record *r, uint32_t at)
{
	const uint32_t bytes = file->shape.g.page;
	uint64_t *buf = malloc(bytes);
	int err;

	if (!buf)
		return annex_fail(-ENOMEM, "%s: out of memory", file->path);
	err = ssd_file_read(file, ssd_page_at(file, at), buf, bytes);
	if (!err)
		err = annex_crc32c(buf, bytes / 8, 0) == r->sum;
	free(buf);
	return err;
}

int ssd_proof_holds(struct ssd_file *file, const struct ssd_proof *p)
{
	const struct ssd_geometry *g = &file->shape.g;
	struct ssd_record r;
	int err;

	if (p->at / g->pages >= ssd_blocks(g))
		return annex_fail(-EILSEQ, "%s: its journal names a flash page that is not there",
				  file->path);
	err = ssd_file_read(file, ssd_record_at(file, p->at), &r, sizeof(r));
	if (err)
		return err;
	if (r.crc != ssd_record_crc(&r, p->at) || r.turn != p->turn || r.page == SSD_NO_PAGE)
		return 0;
	return is_whole(file, &r, p->at);
}
