// SPDX-License-Identifier: MIT
/*
 * A root port: loads with speculative reads before them, and deterministic stores.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "models/ssd/ingress.h"
#include "models/ssd/log.h"
#include "spec.h"

#define DEFAULT_LINK_NS 20u
#define DEFAULT_LOCAL_NS 46u
#define DEFAULT_QUEUE 32u
#define DEFAULT_RESERVED (1u << 20)
#define POLL_NS 1000u /* between two questions how busy the endpoint is, while stores wait */
#define FLUSH 4u      /* lines that go to the endpoint beside one request */

/*
 * struct annex_cxlport - A root port.
 * @queue: the memory queue.
 * @kept: stack of lines that wait in local memory, sent last in, first out.
 * @suspended: stores wait.
 * @poll: time of the next query of the endpoint.
 */
struct annex_cxlport {
	struct annex_cxlssd *s;
	struct annex_cxlport_opts o;
	struct ssd_ingress queue;
	struct spec spec;
	struct ssd_log kept;
	bool suspended;
	uint64_t poll;
	struct annex_cxlport_stats stats;
};

int annex_cxlport_switches(const char *names, struct annex_cxlport_opts *opts)
{
	static const struct {
		const char *name;
		enum annex_cxlport_reads reads;
	} all[] = {{"naive", ANNEX_CXLPORT_NAIVE},
		   {"dynamic", ANNEX_CXLPORT_DYNAMIC},
		   {"sr", ANNEX_CXLPORT_WINDOW}};

	opts->reads = ANNEX_CXLPORT_PLAIN;
	opts->deterministic = false;
	if (!strcmp(names, "none"))
		return 0;
	for (const char *at = names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		const size_t len = strcspn(at, ",");
		unsigned int i = 0;

		while (i < 3 && (strlen(all[i].name) != len || memcmp(at, all[i].name, len)))
			i++;
		if (i < 3)
			opts->reads = all[i].reads;
		else if (len == 2 && !memcmp(at, "ds", 2))
			opts->deterministic = true;
		else
			return annex_fail(-EINVAL,
					  "\"%.32s\": none, or some of naive, dynamic, sr and ds, "
					  "with commas between",
					  names);
	}
	return 0;
}

static int set_up(struct annex_cxlport *p, const struct annex_cxlport_opts *opts)
{
	struct annex_cxlport_opts *o = &p->o;

	if (opts)
		*o = *opts;
	o->link_ns = o->link_ns ? o->link_ns : DEFAULT_LINK_NS;
	o->local_ns = o->local_ns ? o->local_ns : DEFAULT_LOCAL_NS;
	o->queue = o->queue ? o->queue : DEFAULT_QUEUE;
	o->reserved = o->reserved ? o->reserved : DEFAULT_RESERVED;
	if (o->queue > 4096 || o->reserved < ANNEX_CXLSSD_LINE || o->reserved > 1ull << 36)
		return annex_fail(-EINVAL,
				  "CXL port: a queue of %u, %llu bytes reserved: 1 to 4096, "
				  "64 to 64 GiB",
				  o->queue, (ull)o->reserved);
	if (!ssd_ingress_init(&p->queue, o->queue) || !spec_init(&p->spec, o->reads, o->queue) ||
	    (o->deterministic && !ssd_log_init(&p->kept, o->reserved, 0, 0)))
		return annex_fail(-ENOMEM, "CXL port: out of memory");
	return 0;
}

static void give_back(struct annex_cxlport *p)
{
	ssd_ingress_free(&p->queue);
	spec_free(&p->spec);
	ssd_log_free(&p->kept);
	free(p);
}

int annex_cxlport_create(struct annex_cxlssd *s, const struct annex_cxlport_opts *opts,
			 struct annex_cxlport **out)
{
	struct annex_cxlport *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return annex_fail(-ENOMEM, "CXL port: out of memory");
	p->s = s;
	err = set_up(p, opts);
	if (err) {
		give_back(p);
		return err;
	}
	*out = p;
	return 0;
}

int annex_cxlport_destroy(struct annex_cxlport *p)
{
	struct annex_cxlssd_time t = {0};
	int err;

	if (!p)
		return 0;
	err = annex_cxlport_fence(p, &t);
	give_back(p);
	return err;
}

/* A response tells how busy the endpoint is: stores wait from when it is severely so. */
static void hear(struct annex_cxlport *p, const struct annex_cxlssd_time *t)
{
	spec_note_load(&p->spec, t->load);
	if (!p->o.deterministic)
		return;
	if (t->load == ANNEX_CXLSSD_SEVERE && !p->suspended)
		p->poll = t->done + POLL_NS;
	if (t->load == ANNEX_CXLSSD_SEVERE || t->load <= ANNEX_CXLSSD_OPTIMAL)
		p->suspended = t->load == ANNEX_CXLSSD_SEVERE;
}

/* A request is taken into the memory queue. Return: when the endpoint has it. */
static uint64_t ask(struct annex_cxlport *p, struct annex_cxlssd_time *t)
{
	t->told = ssd_ingress_enter(&p->queue, t->now);
	return t->told + p->o.link_ns;
}

/* It leaves the queue with the endpoint's response @e. */
static void answer(struct annex_cxlport *p, const struct annex_cxlssd_time *e,
		   struct annex_cxlssd_time *t)
{
	t->done = e->done + p->o.link_ns;
	t->hit = e->hit;
	t->late = e->late;
	t->load = e->load;
	ssd_ingress_leave(&p->queue, t->done);
	hear(p, e);
}

/* A store through the memory queue. */
static int send(struct annex_cxlport *p, uint64_t at, const void *buf, size_t bytes,
		struct annex_cxlssd_time *t)
{
	struct annex_cxlssd_time e = {.now = ask(p, t)};
	int err = annex_cxlssd_write(p->s, at, buf, bytes, &e);

	answer(p, &e, t);
	return err;
}

/* The line that came last goes to the endpoint; there is one. */
static int flush_one(struct annex_cxlport *p, uint64_t now)
{
	struct ssd_log *k = &p->kept;
	struct annex_cxlssd_time t = {.now = now};
	uint64_t line;
	int err;

	line = k->lines[k->n - 1];
	err = send(p, line * ANNEX_CXLSSD_LINE, ssd_log_data(k, k->n - 1), ANNEX_CXLSSD_LINE, &t);
	if (err)
		return err;
	ssd_log_drop(k, line);
	k->n--;
	return 0;
}

/* Lines that wait go while the endpoint is not busy, and the queue has room for others. */
static int flush_some(struct annex_cxlport *p, uint64_t now)
{
	struct annex_cxlssd_time t = {.now = now};
	int err = 0;

	if (p->suspended && now >= p->poll) {
		p->poll = now + POLL_NS;
		t.now = now + p->o.link_ns;
		err = annex_cxlssd_prefetch(p->s, 0, 0, &t);
		hear(p, &t);
	}
	ssd_ingress_enter(&p->queue, now);
	for (unsigned int i = 0;
	     !err && i < FLUSH && p->kept.live && !p->suspended && p->queue.n < p->queue.room / 2;
	     i++)
		err = flush_one(p, now);
	return err;
}

/* A line waits in local memory. When there is no room for it, another one goes first. */
static int keep(struct annex_cxlport *p, uint64_t at, const void *buf, size_t bytes,
		struct annex_cxlssd_time *t)
{
	struct ssd_log *k = &p->kept;
	const uint64_t line = at / ANNEX_CXLSSD_LINE;
	uint32_t entry = ssd_log_find(k, line);
	char whole[ANNEX_CXLSSD_LINE] = {0};
	struct annex_cxlssd_time e = {.now = t->now};
	bool again;
	int err = 0;

	if (entry == SSD_NO_ENTRY) {
		if (k->n == k->room) {
			err = flush_one(p, t->now);
			t->now = err ? t->now : ssd_ingress_last(&p->queue);
		}
		if (!err && bytes < ANNEX_CXLSSD_LINE)
			err = annex_cxlssd_read(p->s, line * ANNEX_CXLSSD_LINE, whole,
						ANNEX_CXLSSD_LINE, &e);
		if (err)
			return err;
		memcpy(ssd_log_put(k, line, &again), whole, ANNEX_CXLSSD_LINE);
		entry = k->n - 1;
	}
	memcpy(ssd_log_data(k, entry) + at % ANNEX_CXLSSD_LINE, buf, bytes);
	t->told = t->done = t->now + p->o.local_ns;
	p->stats.kept++;
	p->stats.most_kept = k->live > p->stats.most_kept ? k->live : p->stats.most_kept;
	return 0;
}

static int check(const struct annex_cxlport *p, uint64_t at, size_t bytes)
{
	if (bytes && at % ANNEX_CXLSSD_LINE + bytes <= ANNEX_CXLSSD_LINE &&
	    at + bytes <= annex_cxlssd_bytes(p->s))
		return 0;
	return annex_fail(-EINVAL, "CXL port: %zu bytes at %llu are not of one line", bytes,
			  (ull)at);
}

int annex_cxlport_store(struct annex_cxlport *p, uint64_t at, const void *buf, size_t bytes,
			struct annex_cxlssd_time *t)
{
	int err = check(p, at, bytes);

	if (!err && p->o.deterministic)
		err = flush_some(p, t->now);
	if (err)
		return err;
	p->stats.stores++;
	if (!p->o.deterministic)
		return send(p, at, buf, bytes, t);
	if (p->suspended || ssd_log_find(&p->kept, at / ANNEX_CXLSSD_LINE) != SSD_NO_ENTRY)
		return keep(p, at, buf, bytes, t);
	/* To local memory and to the endpoint: the first answer counts. */
	err = send(p, at, buf, bytes, t);
	t->told = t->now + p->o.local_ns;
	return err;
}

static int speculate(struct annex_cxlport *p, uint64_t line, uint64_t now)
{
	struct annex_cxlssd_time e = {.now = now + p->o.link_ns};
	uint64_t at, end;
	int err = 0;

	if (!spec_plan(&p->spec, line, annex_cxlssd_bytes(p->s), now, &at, &end))
		return 0;
	while (!err && at < end) {
		const uint64_t left = end - at, most = (uint64_t)SPEC_MOST * SPEC_UNIT;
		const uint64_t bytes = left < most ? left : most;

		err = annex_cxlssd_prefetch(p->s, at, bytes, &e);
		p->stats.speculated++;
		p->stats.speculated_bytes += bytes;
		hear(p, &e);
		at += bytes;
	}
	return err;
}

int annex_cxlport_load(struct annex_cxlport *p, uint64_t at, void *buf, size_t bytes,
		       struct annex_cxlssd_time *t)
{
	const uint64_t line = at / ANNEX_CXLSSD_LINE;
	uint32_t entry = SSD_NO_ENTRY;
	struct annex_cxlssd_time e = {0};
	int err = check(p, at, bytes);

	if (err)
		return err;
	p->stats.loads++;
	if (p->kept.live)
		entry = ssd_log_find(&p->kept, line);
	if (entry != SSD_NO_ENTRY) {
		memcpy(buf, ssd_log_data(&p->kept, entry) + at % ANNEX_CXLSSD_LINE, bytes);
		t->told = t->now;
		t->done = t->now + p->o.local_ns;
		t->hit = true;
		t->late = false;
		p->stats.local++;
		return 0;
	}
	if (p->o.deterministic)
		err = flush_some(p, t->now);
	if (!err)
		err = speculate(p, line * ANNEX_CXLSSD_LINE, t->now);
	if (err)
		return err;
	e.now = ask(p, t);
	err = annex_cxlssd_read(p->s, at, buf, bytes, &e);
	answer(p, &e, t);
	spec_note(&p->spec, line * ANNEX_CXLSSD_LINE, t->told, t->done);
	p->stats.hits += e.hit;
	p->stats.late += e.hit && e.late;
	return err;
}

int annex_cxlport_fence(struct annex_cxlport *p, struct annex_cxlssd_time *t)
{
	struct annex_cxlssd_time e;
	int err = 0;

	while (!err && p->kept.live)
		err = flush_one(p, t->now);
	e.now = ssd_ingress_last(&p->queue);
	e.now = (e.now > t->now ? e.now : t->now) + p->o.link_ns;
	if (!err)
		err = annex_cxlssd_fence(p->s, &e);
	t->told = t->done = e.done + p->o.link_ns;
	return err;
}

void annex_cxlport_get_stats(const struct annex_cxlport *p, struct annex_cxlport_stats *out)
{
	*out = p->stats;
	out->halts = p->spec.halts;
}
