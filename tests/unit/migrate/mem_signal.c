// SPDX-License-Identifier: MIT
/*
 * Unified memory beside a program's own handlers of SIGSEGV, which matters where touches are heard
 * of by that signal: under tests/tool/refuse.py. Elsewhere the same holds without.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "core/uffd.h"
#include "tests/unit/mem_rig.h"
#include "migrate/space.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define PAGE ANNEX_MEM_PAGE
#define HALF (MIB / 2)
#define SPACES 66u

/* Their runtimes do not bear threads in a forked child, and have handlers of their own. */
#define ALONE(run) (UNIT_SANITIZED ? 0 : signal_of(run))

/* The signal that ends a child that does it; 0: it ended by itself, with status 0. */
static int signal_of(void (*run)(void))
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		run();
		_exit(0);
	}
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	CU_ASSERT(WIFSIGNALED(status) || !WEXITSTATUS(status));
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* An assertion in a child, whose CUnit assertions are not seen. */
static void must(bool sound)
{
	if (!sound)
		_exit(1);
}

/* Tensors of ones and twos, of a megabyte each, in a device tier. */
static void open_in(struct mem_rig *r, uint64_t device, char **ones, char **twos)
{
	mem_rig_open(r, "mem:16M", (struct annex_space_opts){.device = device});
	*ones = mem_alloc(r, "ones", MIB);
	memset(*ones, 1, MIB);
	*twos = mem_alloc(r, "twos", MIB);
	memset(*twos, 2, MIB);
}

/* It has room for one and a half. */
static void open_pair(struct mem_rig *r, char **ones, char **twos)
{
	open_in(r, MIB + HALF, ones, twos);
}

static bool all_are(const char *p, uint64_t bytes, char value)
{
	for (uint64_t i = 0; i < bytes; i += 512)
		if (p[i] != value)
			return false;
	return true;
}

static void how_it_hears(void)
{
	enum annex_watch how;
	enum uffd_way way;
	struct mem_rig r;
	bool writes;
	int fd = annex_uffd_open("test", &way);

	mem_rig_open(&r, NULL, (struct annex_space_opts){.device = MIB});
	annex_space_get_watch(r.space, &how, &writes);
	if (fd < 0) {
		CU_ASSERT_EQUAL(how, ANNEX_WATCH_SIGNAL);
		CU_ASSERT(writes);
	} else {
		CU_ASSERT_NOT_EQUAL(how, ANNEX_WATCH_SIGNAL);
		close(fd);
	}
	mem_rig_close(&r);
}

static void errno_stays(void)
{
	struct mem_rig r;
	char *ones, *twos;

	open_pair(&r, &ones, &twos);
	errno = ENOTTY;
	CU_ASSERT_EQUAL(*(volatile char *)ones, 1);
	CU_ASSERT_EQUAL(errno, ENOTTY);
	mem_rig_close(&r);
}

/* A read keeps the copy below, a write makes it useless, and only its own. */
static void writes_are_seen(void)
{
	struct annex_space_stats before, after;
	struct mem_rig r;
	char *ones, *twos;

	open_in(&r, 4 * MIB, &ones, &twos);
	if (r.space->track) {
		mem_evict(&r, ones, MIB, ANNEX_TIER_SSD);
		CU_ASSERT(all_are(ones, MIB, 1));
		before = mem_stats(&r);
		mem_evict(&r, ones, MIB, ANNEX_TIER_SSD);
		after = mem_stats(&r);
		CU_ASSERT_EQUAL(after.clean - before.clean, MIB);
		CU_ASSERT_EQUAL(after.out, before.out);
		CU_ASSERT(all_are(ones, MIB, 1));
		ones[HALF] = 3;
		before = mem_stats(&r);
		mem_evict(&r, ones, MIB, ANNEX_TIER_SSD);
		after = mem_stats(&r);
		CU_ASSERT_EQUAL(after.out - before.out, r.space->opts.fault_bytes);
		CU_ASSERT_EQUAL(ones[HALF], 3);
		ones[HALF] = 1;
		CU_ASSERT(all_are(ones, MIB, 1));
	}
	mem_rig_close(&r);
}

static void touch_freed(void)
{
	struct mem_rig r;
	char *ones, *twos;

	open_pair(&r, &ones, &twos);
	must(!annex_free(r.space, ones));
	must(!ones[PAGE]);
}

static void touch_lost(void)
{
	struct mem_rig r;
	char *p;

	mem_rig_open(&r, "mem:16M?fault=error,op=read,count=0",
		     (struct annex_space_opts){.device = MIB});
	p = mem_filled(&r, "lost", HALF, 1);
	mem_evict(&r, p, HALF, ANNEX_TIER_SSD);
	must(!p[PAGE]);
}

static void no_memory_is_a_signal(void)
{
	CU_ASSERT(UNIT_SANITIZED || ALONE(touch_freed) == SIGSEGV);
	CU_ASSERT(UNIT_SANITIZED || ALONE(touch_lost) == SIGSEGV);
}

/* A page of no space, whose faults a handler mends. */
static volatile char *elsewhere;
static volatile unsigned int mended, given_up;
static struct sigaction covered;

static void mend(int sig, siginfo_t *info, void *context)
{
	(void)context;
	must(sig == SIGSEGV && info->si_addr == elsewhere + 5);
	must(!mprotect((void *)elsewhere, PAGE, PROT_READ | PROT_WRITE));
	mended++;
}

static void break_elsewhere(void)
{
	must(!mprotect((void *)elsewhere, PAGE, PROT_NONE));
	elsewhere[5] = 1;
}

static void install(void (*handler)(int, siginfo_t *, void *), struct sigaction *old)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};

	if (!elsewhere)
		elsewhere = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must((void *)elsewhere != MAP_FAILED && !sigaction(SIGSEGV, &sa, old));
}

static void use_beside_earlier(void)
{
	struct sigaction now;
	struct mem_rig r;
	char *ones, *twos;

	install(mend, NULL);
	for (unsigned int round = 1; round <= 3; round++) {
		open_pair(&r, &ones, &twos);
		must(all_are(ones, MIB, 1));
		break_elsewhere();
		break_elsewhere();
		must(mended == 2 * round && all_are(twos, MIB, 2) && all_are(ones, MIB, 1));
		mem_rig_close(&r);
		must(!sigaction(SIGSEGV, NULL, &now) && now.sa_sigaction == mend);
	}
	break_elsewhere();
	must(mended == 7);
}

/* As many programs' handlers: another's faults go to the handler that was there before. */
static void mend_or_call(int sig, siginfo_t *info, void *context)
{
	given_up++;
	if (info->si_addr == elsewhere + 5) {
		mend(sig, info, context);
		return;
	}
	must(given_up < 10);
	if (covered.sa_flags & SA_SIGINFO)
		covered.sa_sigaction(sig, info, context);
	else
		signal(sig, SIG_DFL);
}

static void use_below_later(void)
{
	struct mem_rig r;
	char *ones, *twos;

	open_pair(&r, &ones, &twos);
	install(mend_or_call, &covered);
	/* Its first faults come while it has the signal alone. */
	must(all_are(ones, MIB, 1) && all_are(twos, MIB, 2));
	given_up = 0;
	must(all_are(ones, MIB, 1) && all_are(twos, MIB, 2));
	must(!given_up);
	break_elsewhere();
	must(mended == 1 && given_up == 1);
	must(all_are(ones, MIB, 1) && all_are(twos, MIB, 2));
	must(given_up == 1);
	mem_rig_close(&r);
	break_elsewhere();
	must(mended == 2);
}

/* Programs may also take the handler away, again and again. */
static void use_below_none(void)
{
	struct mem_rig r;
	char *ones, *twos;

	open_pair(&r, &ones, &twos);
	for (unsigned int i = 0; i < 20; i++) {
		must(signal(SIGSEGV, SIG_DFL) != SIG_ERR);
		mem_evict(&r, i % 2 ? ones : twos, MIB, ANNEX_TIER_SSD);
		must(all_are(ones, MIB, 1) && all_are(twos, MIB, 2));
	}
}

static void be_lost_below_later(void)
{
	struct mem_rig r;
	char *ones, *twos;

	open_pair(&r, &ones, &twos);
	install(mend_or_call, &covered);
	must(all_are(ones, MIB, 1) && all_are(twos, MIB, 2));
	given_up = 0;
	must(!annex_free(r.space, ones));
	must(!ones[PAGE]);
}

/* As Python's faulthandler: it gives the signal back to the one before, and sends it again. */
static void restore_and_raise(int sig, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	must(!given_up++);
	sigaction(sig, &covered, NULL);
	raise(sig);
}

static void be_lost_below_a_tracer(void)
{
	struct mem_rig r;
	char *ones, *twos;

	open_pair(&r, &ones, &twos);
	install(restore_and_raise, &covered);
	mem_alloc(&r, "new", PAGE);
	must(all_are(ones, MIB, 1) && all_are(twos, MIB, 2) && !given_up);
	elsewhere[5] = 1;
}

static void others_handlers(void)
{
	CU_ASSERT_EQUAL(ALONE(use_beside_earlier), 0);
	CU_ASSERT_EQUAL(ALONE(use_below_later), 0);
	CU_ASSERT_EQUAL(ALONE(use_below_none), 0);
	CU_ASSERT(UNIT_SANITIZED || ALONE(be_lost_below_later) == SIGSEGV);
	CU_ASSERT(UNIT_SANITIZED || ALONE(be_lost_below_a_tracer) == SIGSEGV);
}

static void sent_by_kill(void)
{
	struct mem_rig r;
	char *ones, *twos;

	open_pair(&r, &ones, &twos);
	raise(SIGSEGV);
}

static char *of_parent;

static void touch_parents(void)
{
	must(!*of_parent);
}

static void own_space(void)
{
	struct mem_rig r;
	char *ones, *twos;

	open_pair(&r, &ones, &twos);
	must(all_are(ones, MIB, 1) && all_are(twos, MIB, 2));
	mem_rig_close(&r);
}

/* A child has no tensor of its parent: it ends at once, and its own are as any. */
static void forked(void)
{
	struct mem_rig r;
	char *twos;

	CU_ASSERT(UNIT_SANITIZED || ALONE(sent_by_kill) == SIGSEGV);
	open_pair(&r, &of_parent, &twos);
	CU_ASSERT(UNIT_SANITIZED || ALONE(touch_parents) == SIGSEGV);
	CU_ASSERT_EQUAL(ALONE(own_space), 0);
	CU_ASSERT(all_are(of_parent, MIB, 1));
	mem_rig_close(&r);
}

/* One after the other there may be any number; at once as many as the table has. */
static void many_spaces(void)
{
	struct annex_space_opts opts = {.device = MIB};
	struct annex_space *spaces[SPACES] = {NULL};
	struct mem_rig r;
	void *p;

	for (unsigned int i = 0; i < 3 * SPACES; i++) {
		mem_rig_open(&r, NULL, opts);
		memset(mem_alloc(&r, "p", PAGE), 1, PAGE);
		mem_rig_close(&r);
	}
	for (unsigned int i = 0; i < SPACES; i++) {
		int err = annex_space_create(&opts, &spaces[i]);

		CU_ASSERT(!err || (err == -EMFILE && i >= 64));
		if (err)
			continue;
		CU_ASSERT_EQUAL_FATAL(annex_alloc(spaces[i], "p", PAGE, &p), 0);
		memset(p, 1, PAGE);
	}
	for (unsigned int i = 0; i < SPACES; i++)
		annex_space_destroy(spaces[i]);
}

/* struct touched - A thread that touches bytes, which take seconds to come. */
struct touched {
	struct mem_rig r;
	const char *p;
};

static __thread sigjmp_buf out;
static __thread volatile sig_atomic_t touches;

static void jump(int sig)
{
	if (touches)
		siglongjmp(out, sig);
}

static void *touch_and_jump(void *arg)
{
	struct touched *t = arg;

	if (!sigsetjmp(out, 1)) {
		touches = 1;
		(void)*(volatile const char *)t->p;
	}
	touches = 0;
	return NULL;
}

/* Two pages that take a tenth of a second to come. */
static char *open_slow(struct touched *t)
{
	struct annex_store_opts slow = {.read_rate = 100e3, .depth = 1};
	struct annex_space_opts opts = {.device = MIB, .stores = t->r.stores, .n_stores = 1};
	char *p;

	CU_ASSERT_EQUAL_FATAL(annex_store_open("mem:16M", &slow, &t->r.stores[0]), 0);
	CU_ASSERT_EQUAL_FATAL(annex_space_create(&opts, &t->r.space), 0);
	t->p = p = mem_alloc(&t->r, "slow", 2 * PAGE);
	memset(p, 1, 2 * PAGE);
	mem_evict(&t->r, p, 2 * PAGE, ANNEX_TIER_SSD);
	return p;
}

/* A thread that waits for bytes leaves by a jump from a signal's handler; the bytes come. */
static void jump_away(void)
{
	struct touched t = {0};
	struct sigaction sa = {.sa_handler = jump}, old;
	pthread_t thread;
	char *p = open_slow(&t);
	uint64_t faults = mem_stats(&t.r).faults;

	CU_ASSERT_EQUAL_FATAL(sigaction(SIGUSR1, &sa, &old), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, touch_and_jump, &t), 0);
	while (mem_stats(&t.r).faults == faults)
		sched_yield();
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	sigaction(SIGUSR1, &old, NULL);
	CU_ASSERT(all_are(p, 2 * PAGE, 1));
	mem_rig_close(&t.r);
}

static void *touch_and_end(void *arg)
{
	(void)*(volatile const char *)((struct touched *)arg)->p;
	return NULL;
}

static void destroy_below(void)
{
	struct touched t = {0};
	pthread_t thread;
	uint64_t faults;

	open_slow(&t);
	faults = mem_stats(&t.r).faults;
	alarm(WAIT_MS / 1000);
	must(!pthread_create(&thread, NULL, touch_and_end, &t));
	while (mem_stats(&t.r).faults == faults)
		sched_yield();
	annex_space_destroy(t.r.space);
	pthread_join(thread, NULL);
}

/* The space goes while a thread waits, which is the program's mistake: neither hangs. */
static void destroyed_meanwhile(void)
{
	int sig = ALONE(destroy_below);

	CU_ASSERT(!sig || sig == SIGSEGV);
}

/* Mappings of the process up to its limit, less some. */
static void use_up_mappings(unsigned int left)
{
	size_t n = 2 * 65600;
	char *p = mmap(NULL, n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		       0);
	size_t i = 1;

	must(p != MAP_FAILED);
	while (i < n && !mprotect(p + i * PAGE, PAGE, PROT_READ))
		i += 2;
	munmap(p, (size_t)left * PAGE);
}

static void touch_in_pieces(void)
{
	uint64_t state = random_seed("in pieces");
	size_t bytes = 8 * MIB, n = bytes / PAGE;
	struct mem_rig r;
	char *p, *held, value[2048] = {0};

	mem_rig_open(&r, "mem:64M",
		     (struct annex_space_opts){
			     .device = 7 * MIB, .fault_bytes = PAGE, .checksum = true});
	p = mem_alloc(&r, "p", bytes);
	held = mem_filled(&r, "held", HALF, 1);
	must(!annex_hold(r.space, held));
	use_up_mappings(60);
	for (unsigned int i = 0; i < 10000; i++) {
		size_t at = random_next(&state) % n;

		must(p[at * PAGE] == value[at]);
		if (random_next(&state) % 2)
			p[at * PAGE] = value[at] = (char)i;
	}
	must(all_are(held, HALF, 1));
	must(!annex_let_go(r.space, held));
	must(!annex_free(r.space, p) && !annex_free(r.space, held));
}

/* Linux limits the parts of a mapping that differ in their rights: none is lost for that. */
static void in_pieces(void)
{
	CU_ASSERT_EQUAL(ALONE(touch_in_pieces), 0);
}

UNIT_SUITE(mem_signal, {"how it hears", how_it_hears}, {"errno stays", errno_stays},
	   {"writes are seen", writes_are_seen}, {"no memory is a signal", no_memory_is_a_signal},
	   {"others' handlers", others_handlers}, {"forked", forked}, {"many spaces", many_spaces},
	   {"jump away", jump_away}, {"destroyed meanwhile", destroyed_meanwhile},
	   {"in pieces", in_pieces})
