// SPDX-License-Identifier: MIT
/*
 * The worker: takes commands from regions, turn by turn, submits them to the device, and writes
 * their results. Turns count bytes (deficit round robin): each part gets credit by its weight,
 * which its clients share, and unused credit expires. Large commands are split into pieces while a
 * priority client is active.
 */
#include <errno.h>
#include "core/futex.h"
#include "core/least.h"
#include "server.h"

#define CREDIT (64u << 10) /* bytes of a turn, of weight USUAL */
#define USUAL 100u
#define LEAST_COST 4096u                    /* of any command */
#define SLOW_COST (1u << 20)                /* of a flush or a discard */
#define BURST_NS (50 * ANNEX_NSEC_PER_MSEC) /* of a rate, that may be moved at once */
#define BEAT_NS (200 * ANNEX_NSEC_PER_MSEC)
#define COUNT_NS ANNEX_NSEC_PER_MSEC  /* between two counts of a part's users */
#define SHARED 128u                   /* commands in flight, if several clients have some */
#define FIRST_MOST(s) ((s)->most / 2) /* commands in flight of priority clients */
#define SPIN_NS 100000u               /* without work, before it sleeps */
#define SPIN_MANY_NS 2000000u         /* while the device has many commands */
#define MANY 16u
#define DOZE_MS 500u

static void leave(struct peer *p, const char *why)
{
	annex_log(ANNEX_LOG_WARNING, "serve: process %d is served no further: %s", (int)p->pid,
		  why);
	p->leaving = true;
	serve_ignore(p);
	serve_kick(p->s);
}

/* Whether the rate of its part allows another command. */
static bool in_rate(const struct peer *p, uint64_t now)
{
	return !p->part->told.rate || now >= p->part->next;
}

static void charge(struct part *part, uint64_t bytes, uint64_t now)
{
	if (!part->told.rate)
		return;
	if (part->next + BURST_NS < now)
		part->next = now - BURST_NS;
	part->next += bytes * ANNEX_NSEC_PER_SEC / part->told.rate;
}

/* Publish new results, and wake the client. */
static void publish(struct peer *p)
{
	uint32_t asleep = 1;

	if (p->told == p->cq_tail)
		return;
	p->told = p->cq_tail;
	/* Release: a client that sees the tail sees the results, and the data of reads. */
	annex_atomic_store(&p->head->cq_tail.v, p->cq_tail, ANNEX_RELEASE);
	/* A read-modify-write on both sides, so that one is first: see annex/servewire.h. */
	if (annex_atomic_add(&p->head->client_sleeps.v, 0u, ANNEX_SEQ_CST) &&
	    annex_atomic_cas(&p->head->client_sleeps.v, &asleep, 0u, ANNEX_SEQ_CST))
		packet_ring(p->event);
}

/* Number of commands to take; 0 if the tail is impossible. */
static uint32_t waiting(struct peer *p)
{
	/* Acquire: pairs with the client's release of its tail. */
	uint32_t n = annex_atomic_load(&p->head->sq_tail.v, ANNEX_ACQUIRE) - p->sq_head;

	if (n <= ANNEX_SERVE_ENTRIES)
		return n;
	leave(p, "its queue makes no sense");
	return 0;
}

/* Whether there is room for one more result. */
static bool has_room(struct peer *p)
{
	/* Acquire: pairs with the client's release of its head: it has read those results. */
	uint32_t n = p->cq_tail - annex_atomic_load(&p->head->cq_head.v, ANNEX_ACQUIRE);

	if (n <= ANNEX_SERVE_ENTRIES)
		return n + p->flying < ANNEX_SERVE_ENTRIES;
	leave(p, "its queue makes no sense");
	return false;
}

static void account(struct peer *p, const struct annex_serve_sqe *c)
{
	struct annex_serve_part *told = &p->part->told;

	told->commands++;
	if (!serve_moves(c))
		return;
	told->moved += c->len;
	told->copied += c->mem ? 0 : c->len;
}

/* Take one command. Return: its cost. */
static int64_t take(struct annex_server *s, struct peer *p, struct batch *b, uint64_t now)
{
	struct annex_serve_sqe c = serve_load(&p->sq[p->sq_head++ % ANNEX_SERVE_ENTRIES]);
	int err = s->dead ? -ENODEV : serve_judge(p, &c);

	if (err) {
		serve_put(p, c.tag, err);
		return LEAST_COST;
	}
	account(p, &c);
	if (!serve_moves(&c))
		c.mem = 0;
	serve_begin(s, p, &c, b, now);
	s->taken++;
	if (!serve_has_length(&c))
		return SLOW_COST;
	return c.len > LEAST_COST ? (int64_t)c.len : LEAST_COST;
}

/* Whether the device has no room for this client. A single command always has room; priority
 * clients and others do not take each other's share. */
static bool device_full(const struct annex_server *s, const struct peer *p, const struct batch *b,
			uint64_t now)
{
	const struct load *load = &s->load[p->part->told.first];

	if (s->nflying + b->n == s->most)
		return true;
	if (p->part->told.first)
		return load->n >= FIRST_MOST(s) || load->bytes >= SERVE_BYTES_MAX;
	/* A client alone may have more than SHARED. */
	return !serve_room(s, now) || (load->n >= SHARED && p->flying < load->n);
}

/* Count active clients, so that a part does not get more by having many. */
static void count_users(struct annex_server *s, uint64_t now)
{
	struct peer *p;

	if (now - s->counted < COUNT_NS)
		return;
	s->counted = now;
	for (unsigned int i = 0; i < s->table.n; i++)
		s->table.part[i]->users = 0;
	TAILQ_FOREACH(p, &s->peers, link)
	{
		if (p->part && !p->leaving && (p->flying || waiting(p)))
			p->part->users++;
	}
}

/* Credit of a turn for one client. */
static int64_t share(const struct part *part)
{
	const int64_t all = (int64_t)CREDIT * part->told.weight / USUAL;

	return part->users > 1 ? all / part->users + 1 : all;
}

/* A turn of one client. Return: false: the device is full before the turn has ended. */
static bool serve_turn(struct annex_server *s, struct peer *p, struct batch *b, uint64_t now)
{
	uint32_t n = waiting(p);

	if (p->credit <= 0)
		p->credit += share(p->part);
	for (; n && p->credit > 0 && !p->leaving && has_room(p) && in_rate(p, now); n--) {
		int64_t cost;

		if (b->n == SERVE_BATCH)
			serve_submit(s, b);
		if (device_full(s, p, b, now))
			return false;
		cost = take(s, p, b, now);
		p->credit -= cost;
		charge(p->part, (uint64_t)cost, now);
	}
	if (!n && p->credit > 0)
		p->credit = 0; /* unused credit expires */
	return true;
}

static bool is_active(struct peer *p, uint64_t now)
{
	return p->part && !p->leaving && waiting(p) && has_room(p) && in_rate(p, now);
}

/* Whether priority clients may have a turn: some turns wait until no command of others is in
 * flight, for no longer than a piece takes, to measure times alone. */
static bool may_begin(struct annex_server *s)
{
	if (!s->hold && s->load[0].bytes && s->load[0].bytes <= s->piece.bytes &&
	    !s->load[0].unsized)
		s->hold = serve_piece_turn(&s->piece);
	return !s->hold || !serve_has_others(s);
}

/* Take all commands of priority clients. */
static void take_first(struct annex_server *s, struct batch *b, uint64_t now)
{
	struct peer *p;
	bool any = false;

	TAILQ_FOREACH(p, &s->peers, link)
	{
		if (!p->part || !p->part->told.first || !is_active(p, now))
			continue;
		any = true;
		s->went_first = now;
		if (may_begin(s))
			serve_turn(s, p, b, now);
	}
	if (!any && !s->load[1].n)
		s->hold = false;
	s->looked = now;
}

/* No client has credit: pass as many turns as the first client to have some needs. */
static void pass_turns(struct annex_server *s, uint64_t now)
{
	int64_t turns = INT64_MAX, most;
	struct peer *p;

	TAILQ_FOREACH(p, &s->peers, link)
	{
		if (!is_active(p, now))
			continue;
		if (p->credit > 0)
			return;
		most = -p->credit / share(p->part);
		turns = most < turns ? most : turns;
	}
	TAILQ_FOREACH(p, &s->peers, link)
	{
		if (turns == INT64_MAX || !is_active(p, now))
			continue;
		/* A client that became active meanwhile may need less. */
		most = share(p->part);
		p->credit += turns * most;
		p->credit = p->credit < most ? p->credit : most;
	}
}

/* A turn for each client. Return: whether there may be more to take at once. */
static bool take_all(struct annex_server *s)
{
	const uint64_t now = annex_now(), taken = s->taken;
	struct batch b = {.n = 0};
	bool any = false, full = false;

	count_users(s, now);
	take_first(s, &b, now);
	for (unsigned int turns = s->npeers; turns; turns--) {
		struct peer *p = TAILQ_FIRST(&s->peers);

		if (is_active(p, now)) {
			any = true;
			full = !serve_turn(s, p, &b, now);
		}
		if (full)
			break; /* this client is the first of the next round */
		TAILQ_REMOVE(&s->peers, p, link);
		TAILQ_INSERT_TAIL(&s->peers, p, link);
	}
	if (any && !full && taken == s->taken)
		pass_turns(s, now);
	serve_submit(s, &b);
	return any && !full;
}

/* A heartbeat for clients whose commands may wait for long. */
static void beat(struct peer *p, uint64_t now)
{
	uint32_t number = (uint32_t)(now / BEAT_NS);

	if (p->beat == number || (!p->flying && !waiting(p)))
		return;
	p->beat = number;
	/* Relaxed: a heartbeat, which orders nothing. */
	annex_atomic_store(&p->head->beat.v, number, ANNEX_RELAXED);
}

static bool round_of(struct annex_server *s)
{
	const uint64_t now = annex_now();
	struct peer *p;
	bool any = false;

	pthread_mutex_lock(&s->lock);
	/* Acquire: with annex_server_close(). */
	if (!annex_atomic_load(&s->stop, ANNEX_ACQUIRE))
		any = take_all(s);
	else
		s->hold = false; /* no more commands are taken */
	if (s->nflying)
		any |= serve_reap(s);
	TAILQ_FOREACH(p, &s->peers, link)
	{
		if (p->part && !p->leaving) {
			publish(p);
			beat(p, now);
		}
	}
	pthread_mutex_unlock(&s->lock);
	return any;
}

static bool has_more(const struct peer *p)
{
	return annex_atomic_load(&p->head->sq_tail.v, ANNEX_SEQ_CST) != p->sq_head;
}

/*
 * Have clients wake the worker from now on, or not. Return: whether one has added commands
 * meanwhile. *@until becomes the earliest time at which a rate allows waiting commands.
 */
static bool say_asleep(struct annex_server *s, uint32_t sleeps, uint64_t *until)
{
	const uint64_t now = annex_now();
	struct peer *p;
	bool any = false;

	pthread_mutex_lock(&s->lock);
	TAILQ_FOREACH(p, &s->peers, link)
	{
		if (!p->part || p->leaving)
			continue;
		/* A read-modify-write on both sides: see annex/servewire.h. */
		if (sleeps)
			annex_atomic_or(&p->head->server_sleeps.v, 1u, ANNEX_SEQ_CST);
		else
			annex_atomic_store(&p->head->server_sleeps.v, 0u, ANNEX_RELAXED);
		if (!has_more(p) || !has_room(p))
			continue;
		if (in_rate(p, now))
			any = true;
		else
			*until = least(*until, p->part->next);
	}
	pthread_mutex_unlock(&s->lock);
	return any;
}

static bool any_ended(const struct annex_server *s)
{
	for (unsigned int i = 0; i < s->nflying; i++)
		if (!s->flying[i].waits &&
		    annex_qp_peek(s->qp, s->flying[i].token, NULL) != -EINPROGRESS)
			return true;
	return false;
}

/* Sleep until an event of the device or of a client. */
static void doze(struct annex_server *s)
{
	const struct annex_qp_host *host = &s->qp->host;
	uint64_t until = annex_deadline_ms(DOZE_MS);

	if (host->sleep) {
		/* Before the look at clients: an event after this number ends the sleep. */
		uint32_t seen = host->event(host->ctrl, s->qp->qid);

		annex_qp_help(s->qp);
		if (!say_asleep(s, 1, &until) && !any_ended(s))
			host->sleep(host->ctrl, s->qp->qid, seen, until);
	} else if (s->nflying) {
		annex_host_backoff(1);
		return;
	} else {
		uint32_t seen = annex_atomic_load(&s->bell, ANNEX_ACQUIRE);

		if (!say_asleep(s, 1, &until))
			futex_sleep(&s->bell, seen, until, false);
	}
	say_asleep(s, 0, &until);
	s->looked = annex_now();
}

/* How long the worker polls without work before it sleeps. */
static uint64_t patience(const struct annex_server *s)
{
	return s->nflying >= MANY || serve_beside_first(s, annex_now()) ? SPIN_MANY_NS : SPIN_NS;
}

void *serve_worker(void *arg)
{
	struct annex_server *s = arg;
	uint64_t busy = annex_now();

	/* Acquire: with annex_server_close(). */
	while (!annex_atomic_load(&s->stop, ANNEX_ACQUIRE) || s->nflying) {
		if (round_of(s)) {
			busy = annex_now();
		} else if (annex_now() - busy < patience(s)) {
			annex_pause();
		} else {
			doze(s);
			busy = annex_now();
		}
	}
	return NULL;
}
