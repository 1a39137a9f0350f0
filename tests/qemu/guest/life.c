// SPDX-License-Identifier: MIT
/*
 * An owner of a controller, for tests of how its life ends (kill.sh, life.sh, owners.sh, reset.sh,
 * unplugged.sh):
 *
 *   life fill URI                write a pattern to the first blocks
 *   life check URI               read and verify it
 *   life flight URI N END        have N commands in flight, say "flying M", and then
 *                                wait: stay so; exit: without closing; exec: become "life check";
 *                                fork: a child stays too, and says "child PID"; finish: with such
 *                                a child, end the commands and verify, say "verified M", stay
 *   life load URI MS gone|term   threads read and verify, in commands that may take MS; says
 *                                "loaded", ends when the controller is gone or at SIGTERM with
 *                                "verified READS late CALLS longest MS": of the longest call
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include <annex/device.h>

#define BYTES 4096u  /* of a command */
#define BLOCKS 1024u /* with the pattern; blocks behind them may be overwritten */
#define THREADS 4u
#define BATCH 16u
#define FLIGHT 1023u        /* most commands in flight */
#define BALLAST (16u << 20) /* pinned besides, so that a leak of it is seen */
#define SETTLE_MS 10000u    /* and nothing that it recovers from takes so long */
#define LIMIT_S 120u        /* no owner stays for longer */

/* struct owner - @data: FLIGHT pieces of BYTES and the ballast, at @addr for the controller. */
struct owner {
	struct annex_dev *dev;
	char *data;
	size_t bytes;
	uint64_t addr;
	uint32_t unit; /* logical blocks of a command */
	uint64_t tokens[FLIGHT];
	unsigned int n;
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "; %s\n", annex_last_error());
	exit(1);
}

static uint64_t word_of(uint64_t block, unsigned int i)
{
	return (block + 1) * 0x9e3779b97f4a7c15u ^ i;
}

static void stamp(char *data, uint64_t block)
{
	for (unsigned int i = 0; i < BYTES / 8; i++)
		((uint64_t *)data)[i] = word_of(block, i);
}

static void verify(const char *data, uint64_t block)
{
	for (unsigned int i = 0; i < BYTES / 8; i++)
		if (((const uint64_t *)data)[i] != word_of(block, i))
			die("block %llu: word %u is wrong: %llx", (unsigned long long)block, i,
			    (unsigned long long)((const uint64_t *)data)[i]);
}

static void open_owner(struct owner *o, const char *uri, uint32_t ms)
{
	struct annex_dev_opts opts = {.timeout_ms = ms};
	struct annex_ns ns;

	if (annex_dev_open(uri, &opts, &o->dev) || annex_dev_ns(o->dev, 1, &ns))
		die("cannot open");
	o->unit = BYTES / ns.block;
	o->bytes = FLIGHT * BYTES + BALLAST;
	o->bytes -= o->bytes % BYTES;
	o->data = aligned_alloc(BYTES, o->bytes);
	if (!o->data)
		die("out of memory");
	memset(o->data, 0xee, o->bytes);
	if (annex_dev_map(o->dev, o->data, o->bytes, &o->addr))
		die("cannot map");
}

static void close_owner(struct owner *o)
{
	if (annex_dev_unmap(o->dev, o->addr, o->bytes))
		die("cannot unmap");
	annex_dev_close(o->dev);
	free(o->data);
}

/* Command number @i of @block, in piece @i of the data. */
static struct annex_io command(const struct owner *o, uint8_t opcode, uint64_t block,
			       unsigned int i)
{
	return (struct annex_io){.opcode = opcode,
				 .nsid = 1,
				 .slba = block * o->unit,
				 .nlb = o->unit,
				 .bytes = BYTES,
				 .addr = o->addr + (uint64_t)i * BYTES};
}

/* The pattern, BATCH blocks at a time. */
static void each(struct owner *o, uint8_t opcode)
{
	struct annex_io ios[BATCH];

	for (unsigned int block = 0; block < BLOCKS; block += BATCH) {
		for (unsigned int i = 0; i < BATCH; i++) {
			ios[i] = command(o, opcode, block + i, i);
			if (opcode == ANNEX_NVM_WRITE)
				stamp(o->data + i * BYTES, block + i);
			else
				memset(o->data + i * BYTES, 0xee, BYTES);
		}
		if (annex_dev_io(o->dev, ios, BATCH, NULL))
			die("block %u", block);
		for (unsigned int i = 0; i < BATCH; i++)
			verify(o->data + i * BYTES, block + i);
	}
}

/*
 * Reads of the pattern and writes behind it. The controller has taken all of them when a completion
 * says so: then they are in flight there, and do not wait in the queue.
 */
static unsigned int take_off(struct owner *o, struct annex_qp *qp, unsigned int n)
{
	uint64_t limit = annex_deadline_ms(20000);
	unsigned int ended = 0;

	for (; o->n < n; o->n++) {
		bool read = o->n % 2 == 0;
		struct annex_io io = command(o, read ? ANNEX_NVM_READ : ANNEX_NVM_WRITE,
					     read ? o->n : BLOCKS + o->n, o->n);

		if (annex_qp_submit(qp, &io, 1, &o->tokens[o->n], limit) != 1)
			die("command %u cannot be submitted", o->n);
	}
	while (qp->sq_head < n) {
		if (annex_now() > limit)
			die("the controller has taken %llu commands of %u",
			    (unsigned long long)qp->sq_head, n);
		annex_qp_process(qp);
	}
	for (unsigned int i = 0; i < n; i++) {
		uint64_t s = annex_atomic_load(&qp->reqs[o->tokens[i] & 0xffff].state,
					       ANNEX_ACQUIRE);

		ended += ANNEX_REQ_STATE(s) != ANNEX_REQ_TAKEN;
	}
	return n - ended;
}

/* The commands end, and the data read is right. */
static void land(struct owner *o, struct annex_qp *qp)
{
	struct annex_result res;

	for (unsigned int i = 0; i < o->n; i++) {
		if (annex_qp_wait(qp, o->tokens[i], &res, annex_deadline_ms(20000)) || res.status)
			die("command %u does not end well", i);
		if (i % 2 == 0)
			verify(o->data + i * BYTES, i);
	}
	printf("verified %u\n", o->n);
	fflush(stdout);
}

/* The library closes the module's file in a child; a program that uses the module by itself need
 * not. So there is a second descriptor of it. */
static void keep_file(void)
{
	char path[32], target[64];

	for (int fd = 3; fd < 64; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target));
		if (n > 11 && !memcmp(target, "/dev/annex/", 11) && dup(fd) >= 0)
			return;
	}
	die("no file of the module");
}

/* What a child inherits: the file, a copy of the memory, and nothing that reaches the device. */
static void be_child(struct owner *o)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	alarm(LIMIT_S); /* is not inherited */
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "/dev/annex"))
			die("a child sees %s", line);
	memset(o->data, 0x11, o->bytes);
	printf("child %d\n", (int)getpid());
	fflush(stdout);
	for (;;)
		pause();
}

static void flight(const char *uri, unsigned int n, const char *how)
{
	static struct owner o;
	struct annex_qp *qp;

	open_owner(&o, uri, 0);
	qp = annex_dev_qp_at(o.dev, 0);
	if (n > FLIGHT)
		die("%u are too many", n);
	printf("flying %u\n", take_off(&o, qp, n));
	fflush(stdout);
	if (!strcmp(how, "exit"))
		exit(0);
	if (!strcmp(how, "exec")) {
		execl("/proc/self/exe", "life", "check", uri, (char *)NULL);
		die("cannot exec");
	}
	if (!strcmp(how, "fork"))
		keep_file();
	if ((!strcmp(how, "fork") || !strcmp(how, "finish")) && !fork())
		be_child(&o);
	if (!strcmp(how, "finish"))
		land(&o, qp);
	for (;;)
		pause();
}

/*
 * struct load - What the threads share. @until_gone: or until @stop.
 * @loaded: threads that have read something.
 */
struct load {
	struct owner owner;
	bool until_gone;
	uint32_t stop, loaded;
	uint64_t verified, late, longest;
};

/* struct reader - One thread, with the pieces of the data from @first on. */
struct reader {
	struct load *load;
	pthread_t thread;
	unsigned int first;
};

/* One call. Return: as annex_dev_io(); the data read is right either way. */
static int read_some(struct load *load, unsigned int first, unsigned int *seed)
{
	struct owner *o = &load->owner;
	struct annex_io ios[BATCH];
	struct annex_result res[BATCH];
	uint64_t block[BATCH], start, took;
	unsigned int good = 0;
	int err;

	for (unsigned int i = 0; i < BATCH; i++) {
		block[i] = (unsigned int)rand_r(seed) % BLOCKS;
		ios[i] = command(o, ANNEX_NVM_READ, block[i], first + i);
		memset(o->data + (first + i) * BYTES, 0xee, BYTES);
	}
	start = annex_now();
	err = annex_dev_io(o->dev, ios, BATCH, res);
	took = (annex_now() - start) / ANNEX_NSEC_PER_MSEC;
	for (unsigned int i = 0; i < BATCH; i++) {
		if (res[i].status)
			continue;
		verify(o->data + (first + i) * BYTES, block[i]);
		good++;
	}
	if (!err && good != BATCH)
		die("a call succeeded with %u reads of %u", good, BATCH);
	annex_atomic_add(&load->verified, good, ANNEX_RELAXED);
	annex_atomic_add(&load->late, err != 0, ANNEX_RELAXED);
	for (uint64_t was = annex_atomic_load(&load->longest, ANNEX_RELAXED);
	     took > was && !annex_atomic_cas(&load->longest, &was, took, ANNEX_RELAXED);)
		;
	return err;
}

static void *reader_main(void *arg)
{
	struct reader *r = arg;
	struct load *load = r->load;
	unsigned int seed = r->first + 1;
	uint64_t end = 0;
	bool first = true;

	for (;;) {
		bool last = annex_atomic_load(&load->stop, ANNEX_ACQUIRE);
		int err = read_some(load, r->first, &seed);

		if (err == -ENODEV && load->until_gone)
			return NULL;
		/* Ended by the recovery of another's command, or by its own. */
		if (err && err != -ETIMEDOUT && err != -ECANCELED && !load->until_gone)
			die("a call failed: %s", strerror(-err));
		if (last && !err)
			return NULL;
		/* The last recovery may not be over when they are told to end. */
		if (last && !end)
			end = annex_deadline_ms(SETTLE_MS);
		if (last && annex_now() > end)
			die("after all it still fails: %s", strerror(-err));
		if (first && annex_atomic_add(&load->loaded, 1, ANNEX_RELAXED) + 1 == THREADS) {
			printf("loaded\n");
			fflush(stdout);
		}
		first = false;
	}
}

static void load(const char *uri, uint32_t ms, bool until_gone)
{
	static struct load l;
	struct reader readers[THREADS];
	sigset_t term;
	int got;

	l.until_gone = until_gone;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	open_owner(&l.owner, uri, ms);
	for (unsigned int i = 0; i < THREADS; i++) {
		readers[i].load = &l;
		readers[i].first = i * BATCH;
		if (pthread_create(&readers[i].thread, NULL, reader_main, &readers[i]))
			die("no thread");
	}
	if (!until_gone)
		sigwait(&term, &got);
	annex_atomic_store(&l.stop, !until_gone, ANNEX_RELEASE);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(readers[i].thread, NULL);
	close_owner(&l.owner);
	printf("verified %llu late %llu longest %llu\n", (unsigned long long)l.verified,
	       (unsigned long long)l.late, (unsigned long long)l.longest);
}

int main(int argc, char **argv)
{
	static struct owner o;

	alarm(LIMIT_S);
	if (argc == 3 && (!strcmp(argv[1], "fill") || !strcmp(argv[1], "check"))) {
		open_owner(&o, argv[2], 0);
		each(&o, argv[1][0] == 'f' ? ANNEX_NVM_WRITE : ANNEX_NVM_READ);
		close_owner(&o);
	} else if (argc == 5 && !strcmp(argv[1], "flight")) {
		flight(argv[2], (unsigned int)atoi(argv[3]), argv[4]);
	} else if (argc == 5 && !strcmp(argv[1], "load")) {
		load(argv[2], (uint32_t)atoi(argv[3]), !strcmp(argv[4], "gone"));
	} else {
		die("life fill|check|flight|load, see its source");
	}
	return 0;
}
