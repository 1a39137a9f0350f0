// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex.so: an engine of fio for any device of Annex, by its URI. Built by make fio-engine
 * FIO=SOURCE, since fio installs no headers; used by fio --ioengine=external:PATH/annex.so.
 *
 * Each job opens the device by itself, and has one queue pair of it. Its buffers are memory that
 * the device reaches without a copy. Jobs may write beside each other, so they share their claim,
 * which keeps other writers out. A job that writes does not begin while another program uses the
 * device.
 *
 * Trims are Write Zeroes. Flushes stand for fsync() and fdatasync(). With sync= each write has
 * ANNEX_IO_FUA. Options of fio that no device can honour are refused: see refuse().
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <annex/device.h>

#include "fio.h"
#include "optgroup.h"

#define PAGE 4096u
#define NAP_SPINS 64u /* looks that find nothing before it naps */
#define BLOCKS_MOST 65536u

/* struct annex_job - Options. An offset of 0 means none to fio, so something is before them. */
struct annex_job {
	void *unused;
	char *uri;
	unsigned int nap;
};

/* struct flight - A command under way. */
struct flight {
	uint64_t token;
	struct io_u *io_u;
};

/*
 * struct engine - A job's device.
 * @size: bytes in its whole blocks: data behind the end of a file is not stored.
 * @ready: commands of @waiting that are not submitted yet.
 * @n_ready: number of them.
 * @flight: submitted commands, the oldest first.
 * @ended: completions that getevents() found, for event().
 */
struct engine {
	struct annex_dev *dev;
	struct annex_qp *qp;
	struct annex_ns ns;
	uint64_t size;
	const struct annex_provider *memory;
	void *buf;
	size_t bytes;
	uint64_t addr;
	unsigned int depth;
	struct annex_io *ready;
	struct io_u **waiting;
	unsigned int n_ready;
	struct flight *flight;
	unsigned int n_flights;
	struct io_u **ended;
};

static struct fio_option options[] = {
	{
		.name = "uri",
		.lname = "Device",
		.type = FIO_OPT_STR_STORE,
		.off1 = offsetof(struct annex_job, uri),
		.help = "The device, as file:/dev/nvme1n1",
		.category = FIO_OPT_C_ENGINE,
		.group = FIO_OPT_G_INVALID,
	},
	{
		.name = "nap",
		.lname = "Nap",
		.type = FIO_OPT_INT,
		.off1 = offsetof(struct annex_job, nap),
		.help = "Microseconds to sleep when nothing has come (0: look again at once)",
		.def = "0",
		.category = FIO_OPT_C_ENGINE,
		.group = FIO_OPT_G_INVALID,
	},
	{0},
};

/* Return: -@err, since fio takes positive numbers. */
static int complain(const char *what, int err)
{
	log_err("annex: %s: %s\n", what, annex_last_error());
	return -err;
}

/* Options of fio that mean nothing to a device of Annex. Return: 0, or a positive errno. */
static int refuse(struct thread_data *td, const char *uri)
{
	struct thread_options *o = &td->o;
	const struct {
		bool given;
		const char *why;
	} options[] = {
		{!uri || !*uri, "--uri= names the device, as file:/dev/nvme1n1"},
		{fio_option_is_set(o, filename), "filename=: give --uri= for the device"},
		{fio_option_is_set(o, directory), "directory=: give --uri= for the device"},
		{fio_option_is_set(o, opendir), "opendir=: give --uri= for the device"},
		{fio_option_is_set(o, nr_files) && o->nr_files > 1,
		 "nrfiles=: a job has one device"},
		{fio_option_is_set(o, mem_type), "mem=, iomem=: buffers are the engine's"},
		{o->oatomic, "atomic=1: devices do not promise atomic writes"},
		{o->sync_file_range, "sync_file_range=: there is no page cache; use fsync="},
		{o->barrier_blocks, "write_barrier=: there are no barriers; use fsync="},
		{o->zone_mode == ZONE_MODE_ZBD, "zonemode=zbd: devices have no zones"},
		{fio_option_is_set(o, write_hint), "write_hint=: commands have no hint"},
		{fio_option_is_set(o, ioscheduler), "ioscheduler=: there is no scheduler"},
		{fio_option_is_set(o, ioprio), "prio=: commands have no priority"},
		{fio_option_is_set(o, ioprio_class), "prioclass=: commands have no priority"},
		{fio_option_is_set(o, fadvise_hint) && o->fadvise_hint != F_ADV_NONE,
		 "fadvise_hint=: there is no page cache"},
		{o->pre_read, "pre_read=1: there is no page cache"},
		{o->unlink || o->unlink_each_loop, "unlink=, unlink_each_loop=: devices stay"},
		{fio_option_is_set(o, odirect) && !o->odirect &&
			 !(annex_dev_traits(uri) & ANNEX_TRAIT_PATH),
		 "direct=0, buffered=1: only file: has a page cache"},
	};

	for (unsigned int i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!options[i].given)
			continue;
		log_err("annex: %s\n", options[i].why);
		return EOPNOTSUPP;
	}
	return 0;
}

/* Whether one command carries @bytes. Return: 0, or a positive errno. */
static int check_bytes(const struct engine *e, enum fio_ddir ddir, uint64_t bytes)
{
	const uint64_t most = ddir == DDIR_TRIM ? (uint64_t)BLOCKS_MOST * e->ns.block
						: annex_dev_max_transfer(e->dev);

	if (bytes <= most && bytes % e->ns.block == 0)
		return 0;
	log_err("annex: bs=: a %s of %llu bytes; the device takes multiples of %u up to %llu\n",
		io_ddir_name(ddir), (unsigned long long)bytes, e->ns.block,
		(unsigned long long)most);
	return bytes > most ? EMSGSIZE : EINVAL;
}

static int check_blocks(const struct thread_data *td, const struct engine *e)
{
	int err = 0;

	for (enum fio_ddir ddir = DDIR_READ; !err && ddir < DDIR_RWDIR_CNT; ddir++) {
		if (!(td->o.td_ddir & (1u << ddir)))
			continue;
		err = check_bytes(e, ddir, td->o.min_bs[ddir]);
		if (!err)
			err = check_bytes(e, ddir, td->o.max_bs[ddir]);
	}
	return err;
}

static void end(struct engine *e)
{
	if (!e)
		return;
	/* The device first: buffers are its own until then. */
	annex_dev_close(e->dev);
	free(e->ready);
	free(e->waiting);
	free(e->flight);
	free(e->ended);
	free(e);
}

/* When fio's direct= is given, it becomes a parameter of a file: URI. */
static int open_device(struct thread_data *td, const char *uri, struct engine *e)
{
	const struct annex_dev_opts opts = {.queues = 1,
					    .depth = e->depth + 2,
					    .max_transfer = ANNEX_DEV_TRANSFER_MAX,
					    .alone = true};
	char full[ANNEX_URI_MAX + 16];

	if (fio_option_is_set(&td->o, odirect) && annex_dev_traits(uri) & ANNEX_TRAIT_PATH) {
		snprintf(full, sizeof(full), "%.*s%cdirect=%u", ANNEX_URI_MAX, uri,
			 strchr(uri, '?') ? '&' : '?', td->o.odirect);
		uri = full;
	}
	return annex_dev_open(uri, &opts, &e->dev);
}

/* Return: 0, or a positive errno. */
static int begin(struct thread_data *td, struct engine **out)
{
	const char *uri = ((const struct annex_job *)td->eo)->uri;
	struct engine *e;
	int err = refuse(td, uri);

	if (err)
		return err;
	e = calloc(1, sizeof(*e));
	if (!e)
		return ENOMEM;
	e->depth = td->o.iodepth ? td->o.iodepth : 1;
	err = open_device(td, uri, e);
	if (!err)
		err = annex_dev_ns(e->dev, 1, &e->ns);
	if (!err)
		err = annex_dev_bytes(e->dev, 1, &e->size);
	if (!err)
		err = annex_dev_claim_shared(e->dev, 1, 0, e->ns.blocks);
	err = err ? complain(uri, err) : check_blocks(td, e);
	if (err)
		goto fail;
	e->size -= e->size % e->ns.block;
	e->qp = annex_dev_qp_at(e->dev, 0);
	e->memory = annex_dev_provider(e->dev);
	e->ready = calloc(e->depth, sizeof(*e->ready));
	e->waiting = calloc(e->depth, sizeof(*e->waiting));
	e->flight = calloc(e->depth, sizeof(*e->flight));
	e->ended = calloc(e->depth, sizeof(*e->ended));
	if (e->ready && e->waiting && e->flight && e->ended) {
		*out = e;
		return 0;
	}
	log_err("annex: out of memory\n");
	err = ENOMEM;
fail:
	end(e);
	return err;
}

/* No other process uses a device that a job will write. Before jobs begin, no job has a claim. */
static int check_alone(struct thread_data *td, struct engine *e)
{
	int err = 0;

	if (td_write(td) || td_trim(td))
		err = annex_dev_claim(e->dev, 1, 0, e->ns.blocks);
	return err ? complain(annex_dev_uri(e->dev), err) : 0;
}

/* Before the jobs begin, in fio's own process: how large the device is. */
static int annex_setup(struct thread_data *td)
{
	struct engine *e = NULL;
	int err = begin(td, &e);

	if (!err)
		err = check_alone(td, e);
	if (err) {
		end(e);
		td_verror(td, err, "annex");
		return 1;
	}
	if (!td->files_index) {
		add_file(td, "annex", 0, 0);
		td->o.nr_files = td->o.nr_files ? td->o.nr_files : 1;
		td->o.open_files++;
	}
	td->files[0]->real_file_size = e->size;
	td->files[0]->filetype = FIO_TYPE_BLOCK;
	end(e);
	return 0;
}

static int annex_init(struct thread_data *td)
{
	struct engine *e = NULL;
	int err = begin(td, &e);

	if (!err)
		td->io_ops_data = e;
	return err;
}

static void annex_cleanup(struct thread_data *td)
{
	end(td->io_ops_data);
	td->io_ops_data = NULL;
}

static int annex_iomem_alloc(struct thread_data *td, size_t bytes)
{
	struct engine *e = td->io_ops_data;
	int err;

	e->bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	e->buf = e->memory->alloc(e->memory->ctx, e->bytes, PAGE);
	if (!e->buf) {
		log_err("annex: no memory for buffers of %zu bytes (bs=, iodepth=)\n", e->bytes);
		return ENOMEM;
	}
	err = annex_dev_map(e->dev, e->buf, e->bytes, &e->addr);
	if (err)
		return complain("memory", err);
	td->orig_buffer = e->buf;
	return 0;
}

static void annex_iomem_free(struct thread_data *td)
{
	struct engine *e = td->io_ops_data;

	if (!e || !e->buf)
		return;
	/* Memory that the device may still write is lost rather than used again. */
	if (annex_dev_unmap(e->dev, e->addr, e->bytes) == -EBUSY)
		log_err("annex: %llu bytes are still in use by the device, and lost\n",
			(unsigned long long)e->bytes);
	else
		e->memory->free(e->memory->ctx, e->buf, e->bytes);
	e->buf = NULL;
}

/* The device is open already. fio would end a job at the end of the device without an error. */
static int annex_open_file(struct thread_data *td, struct fio_file *file)
{
	const struct engine *e = td->io_ops_data;

	if (file->file_offset <= e->size && file->io_size <= e->size - file->file_offset)
		return 0;
	log_err("annex: offset=%llu and size=%llu are beyond the device, which has %llu bytes\n",
		(unsigned long long)file->file_offset, (unsigned long long)file->io_size,
		(unsigned long long)e->size);
	td_verror(td, ERANGE, "annex");
	return 1;
}

static int annex_close_file(struct thread_data *td, struct fio_file *file)
{
	(void)td;
	(void)file;
	return 0;
}

/* The command of an io_u: 0, or a positive errno. */
static int describe(const struct thread_data *td, const struct io_u *u, struct annex_io *io)
{
	const struct engine *e = td->io_ops_data;
	int err;

	*io = (struct annex_io){.nsid = 1, .opcode = ANNEX_NVM_FLUSH};
	if (ddir_sync(u->ddir))
		return 0;
	err = check_bytes(e, u->ddir, u->xfer_buflen);
	if (err)
		return err;
	if (u->offset % e->ns.block) {
		log_err("annex: offset=%llu is not a multiple of the device's blocks of %u bytes\n",
			(unsigned long long)u->offset, e->ns.block);
		return EINVAL;
	}
	io->slba = u->offset / e->ns.block;
	io->nlb = (uint32_t)(u->xfer_buflen / e->ns.block);
	io->opcode = ANNEX_NVM_WRITE_ZEROES;
	if (u->ddir == DDIR_TRIM)
		return 0;
	io->opcode = u->ddir == DDIR_READ ? ANNEX_NVM_READ : ANNEX_NVM_WRITE;
	if (u->ddir == DDIR_WRITE && td->o.sync_io)
		io->flags = ANNEX_IO_FUA;
	io->bytes = (uint32_t)u->xfer_buflen;
	io->addr = e->addr + (uint64_t)((char *)u->xfer_buf - (char *)e->buf);
	return 0;
}

/* A trim is carried out at once and alone, since rw=trimwrite writes to its blocks next. */
static enum fio_q_status trim(struct thread_data *td, struct io_u *u)
{
	struct engine *e = td->io_ops_data;
	struct annex_io io;

	if (e->n_ready + e->n_flights)
		return FIO_Q_BUSY;
	u->error = describe(td, u, &io);
	if (!u->error)
		u->error = -annex_dev_io(e->dev, &io, 1, NULL);
	io_u_mark_submit(td, 1);
	io_u_mark_complete(td, 1);
	return FIO_Q_COMPLETED;
}

static enum fio_q_status annex_queue(struct thread_data *td, struct io_u *u)
{
	struct engine *e = td->io_ops_data;

	fio_ro_check(td, u);
	if (u->ddir == DDIR_TRIM)
		return trim(td, u);
	if (e->n_ready + e->n_flights == e->depth)
		return FIO_Q_BUSY;
	u->error = describe(td, u, &e->ready[e->n_ready]);
	if (u->error)
		return FIO_Q_COMPLETED;
	e->waiting[e->n_ready++] = u;
	return FIO_Q_QUEUED;
}

static void note_begin(struct thread_data *td, struct io_u **u, unsigned int n)
{
	struct timespec now;

	if (!fio_fill_issue_time(td))
		return;
	fio_gettime(&now, NULL);
	for (unsigned int i = 0; i < n; i++) {
		memcpy(&u[i]->issue_time, &now, sizeof(now));
		io_u_queued(td, u[i]);
	}
	/* Replayed logs are paced by that. */
	if (td->o.read_iolog_file)
		memcpy(&td->last_issue, &now, sizeof(now));
}

static int annex_commit(struct thread_data *td)
{
	struct engine *e = td->io_ops_data;
	uint64_t tokens[ANNEX_QP_BATCH];

	for (unsigned int at = 0; at < e->n_ready;) {
		unsigned int n = e->n_ready - at;
		int got;

		n = n < ANNEX_QP_BATCH ? n : ANNEX_QP_BATCH;
		got = annex_qp_submit(e->qp, e->ready + at, n, tokens, annex_deadline_ms(30000));
		if (got < 0)
			return got;
		for (int i = 0; i < got; i++)
			e->flight[e->n_flights++] =
				(struct flight){tokens[i], e->waiting[at + (unsigned int)i]};
		note_begin(td, e->waiting + at, (unsigned int)got);
		io_u_mark_submit(td, (unsigned int)got);
		at += (unsigned int)got;
	}
	e->n_ready = 0;
	return 0;
}

/* Take up to @most results. Commands mostly end in their order. */
static unsigned int collect(struct engine *e, unsigned int found, unsigned int most)
{
	unsigned int kept = 0, i;

	annex_qp_help(e->qp);
	for (i = 0; i < e->n_flights && found < most; i++) {
		struct annex_result res;
		struct flight f = e->flight[i];
		int rc = annex_qp_collect(e->qp, f.token, &res);

		if (rc == -EINPROGRESS) {
			e->flight[kept++] = f;
			continue;
		}
		f.io_u->error = rc ? (unsigned int)-rc
				   : (unsigned int)-annex_nvme_errno(res.status);
		e->ended[found++] = f.io_u;
	}
	memmove(e->flight + kept, e->flight + i, (e->n_flights - i) * sizeof(*e->flight));
	e->n_flights -= i - kept;
	return found;
}

/* The oldest command is late: the library ends it, one way or the other. */
static void recover(struct engine *e)
{
	if (e->n_flights)
		annex_dev_recover(e->dev, e->qp, e->flight[0].token);
}

static int annex_getevents(struct thread_data *td, unsigned int min, unsigned int max,
			   const struct timespec *limit)
{
	const struct annex_job *o = td->eo;
	const struct timespec nap = {.tv_nsec = (long)o->nap * 1000};
	struct engine *e = td->io_ops_data;
	const uint64_t late = annex_deadline_ms(annex_dev_timeout_ms(e->dev));
	uint64_t until = UINT64_MAX;
	unsigned int found = 0;

	if (limit)
		until = annex_now() + (uint64_t)limit->tv_sec * ANNEX_NSEC_PER_SEC +
			(uint64_t)limit->tv_nsec;
	for (unsigned int round = 0;; round++) {
		unsigned int before = found;

		found = collect(e, found, max);
		if (found >= min || !e->n_flights)
			return (int)found;
		if (found > before)
			round = 0;
		if (o->nap && round >= NAP_SPINS)
			nanosleep(&nap, NULL);
		if (round % 1024 != 1023)
			continue;
		if (annex_now() >= until)
			return (int)found;
		if (annex_now() >= late)
			recover(e);
	}
}

static struct io_u *annex_event(struct thread_data *td, int i)
{
	struct engine *e = td->io_ops_data;

	return e->ended[i];
}

static struct ioengine_ops engine = {
	.name = "annex",
	.version = FIO_IOOPS_VERSION,
	.flags = FIO_DISKLESSIO | FIO_NOEXTEND | FIO_NODISKUTIL | FIO_RAWIO | FIO_MEMALIGN |
		 FIO_ASYNCIO_SETS_ISSUE_TIME | FIO_ASYNCIO_SYNC_TRIM | FIO_NO_OFFLOAD,
	.setup = annex_setup,
	.init = annex_init,
	.cleanup = annex_cleanup,
	.queue = annex_queue,
	.commit = annex_commit,
	.getevents = annex_getevents,
	.event = annex_event,
	.open_file = annex_open_file,
	.close_file = annex_close_file,
	.iomem_alloc = annex_iomem_alloc,
	.iomem_free = annex_iomem_free,
	.options = options,
	.option_struct_size = sizeof(struct annex_job),
};

void get_ioengine(struct ioengine_ops **ops);

void get_ioengine(struct ioengine_ops **ops)
{
	*ops = &engine;
}
