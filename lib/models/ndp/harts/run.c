// SPDX-License-Identifier: MIT
/*
 * Programs in user mode, run by one hart.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <annex/detail/clock.h>
#include <annex/models/riscv.h>
#include "core/log.h"
#include "user.h"

#define TURN (1ull << 32) /* instructions between two looks at the budget */
#define TICK_NS 100u      /* of rdtime: 10 MHz */

static void trap(struct user *u, const struct rv_stop *s)
{
	unsigned long long value = s->value;

	switch (s->why) {
	case RV_ILLEGAL:
		user_kill(u, SIGILL, -EILSEQ, "illegal instruction 0x%08llx", value);
		break;
	case RV_FETCH:
		user_kill(u, SIGSEGV, -EFAULT, "no code at 0x%llx", value);
		break;
	case RV_LOAD:
		user_kill(u, SIGSEGV, -EFAULT, "cannot load from 0x%llx", value);
		break;
	case RV_STORE:
		user_kill(u, SIGSEGV, -EFAULT, "cannot store to 0x%llx", value);
		break;
	case RV_MISALIGNED:
		user_kill(u, SIGBUS, -EFAULT, "atomic access to 0x%llx, misaligned,", value);
		break;
	case RV_BUDGET:
		user_kill(u, SIGXCPU, -ETIME, "the budget of instructions is used up");
		break;
	default:
		user_kill(u, SIGTRAP, -EINTR, "breakpoint");
		break;
	}
}

/* time is the host's monotonic clock; a cycle is an instruction. */
static void read_counter(struct user *u, uint32_t insn)
{
	unsigned int rd = insn >> 7 & 31;
	bool is_time = insn >> 20 == 0xc01;

	if (rd)
		rv_x(u->batch, rd)[0] = is_time ? annex_now() / TICK_NS : u->done;
}

/* Instructions that the batch leaves to its user; whether @why is one. */
static bool help(struct user *u, const struct rv_stop *s)
{
	switch (s->why) {
	case RV_ECALL:
		user_call(u);
		break;
	case RV_COUNTER:
		read_counter(u, (uint32_t)s->value);
		rv_pc(u->batch)[0] += 4;
		break;
	default:
		return false;
	}
	u->done++;
	return true;
}

static void execute(struct user *u, uint64_t budget)
{
	while (!u->ended) {
		uint64_t left = budget && budget - u->done < TURN ? budget - u->done : TURN;
		struct rv_stop s = rv_run(u->batch, left, &u->done);

		if (!help(u, &s) && (s.why != RV_BUDGET || (budget && u->done >= budget)))
			trap(u, &s);
	}
}

static int prepare(struct user *u, const char *path, char *const argv[],
		   const struct annex_rv_opts *opts)
{
	struct rv_opts o = {.isa = {opts->vlen ? opts->vlen : 256, 32, 32, 32}};
	struct rv_mem mem = {user_find, u};
	int err = rv_batch_create(&o, &mem, &u->batch);

	if (err)
		return annex_fail(err,
				  err == -EINVAL ? "vectors of %u bits: not a power of two from "
						   "128 to 1024"
						 : "no memory for vectors of %u bits",
				  o.isa.vlen);
	u->fd[0] = opts->out;
	u->fd[1] = opts->err;
	return user_load(u, path, argv, &o.isa);
}

int annex_rv_run(const char *path, char *const argv[], const struct annex_rv_opts *opts,
		 struct annex_rv_result *out)
{
	struct user *u = calloc(1, sizeof(*u));
	int err;

	*out = (struct annex_rv_result){0};
	if (!u)
		return annex_fail(-ENOMEM, "no memory");
	err = prepare(u, path, argv, opts);
	if (!err) {
		execute(u, opts->budget);
		err = u->err;
		out->status = u->signal ? 128 + u->signal : u->status;
		out->signal = u->signal;
		out->instructions = u->done;
		out->pc = rv_pc(u->batch)[0];
	}
	rv_batch_destroy(u->batch);
	rv_code_destroy(u->code);
	if (u->host)
		munmap(u->host, u->host_bytes);
	free(u);
	return err;
}
