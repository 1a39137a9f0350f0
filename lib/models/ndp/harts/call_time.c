// SPDX-License-Identifier: MIT
/*
 * Clocks, sleeping and timers. Time is the host's.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>
#include "call.h"

#define CPU_CLOCK CLOCK_PROCESS_CPUTIME_ID

uint64_t user_now(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * USER_NS + (uint64_t)t.tv_nsec;
}

/* Longer than a century is a century. */
int user_timespec(const struct user *u, uint64_t va, uint64_t *ns)
{
	const uint64_t most = 100ull * 366 * 86400;
	uint64_t t[2];

	if (rv_space_read(&u->space, va, t, sizeof(t)))
		return -EFAULT;
	if ((int64_t)t[0] < 0 || t[1] >= USER_NS)
		return -EINVAL;
	*ns = (t[0] < most ? t[0] : most) * USER_NS + t[1];
	return 0;
}

static int put_time(const struct user *u, uint64_t va, uint64_t ns, uint64_t unit)
{
	uint64_t t[2] = {ns / USER_NS, ns % USER_NS / unit};

	return rv_space_write(&u->space, va, t, sizeof(t));
}

static clockid_t clock_of(unsigned int timer)
{
	return timer == ITIMER_REAL ? CLOCK_MONOTONIC : CPU_CLOCK;
}

bool user_timers(struct user *u)
{
	static const unsigned int signal[USER_TIMERS] = {SIGALRM, SIGVTALRM, SIGPROF};
	bool armed = false;

	for (unsigned int i = 0; i < USER_TIMERS; i++) {
		struct user_timer *t = &u->timer[i];
		uint64_t now;

		if (!t->at)
			continue;
		now = user_now(clock_of(i));
		if (now >= t->at) {
			t->at = t->interval ? now + t->interval : 0;
			user_signal(u, signal[i]);
		}
		armed = armed || t->at;
	}
	return armed;
}

/* Nobody is there to wake it, but a timer may end it. */
int user_sleep(struct user *u, uint64_t at)
{
	while (!u->ended) {
		uint64_t alarm = u->timer[ITIMER_REAL].at;
		uint64_t next = alarm && alarm < at ? alarm : at;
		struct timespec t = {(time_t)(next / USER_NS), (long)(next % USER_NS)};

		if (next == UINT64_MAX) {
			user_kill(u, SIGKILL, -EDEADLK, "it waits for ever: nobody can wake it");
			break;
		}
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
			;
		user_timers(u);
		if (next == at)
			return 0;
	}
	return -EINTR;
}

int64_t call_nanosleep(struct user *u, const uint64_t *a)
{
	uint64_t ns;
	int err = user_timespec(u, a[0], &ns);

	return err ? err : user_sleep(u, user_now(CLOCK_MONOTONIC) + ns);
}

/* The processor's time does not pass while the only hart sleeps. */
int64_t call_clock_nanosleep(struct user *u, const uint64_t *a)
{
	uint64_t ns, now, clock = (uint32_t)a[0];
	int err;

	if (clock > CLOCK_TAI || clock == 10)
		return -EINVAL;
	if (clock == CLOCK_THREAD_CPUTIME_ID ||
	    (clock >= CLOCK_MONOTONIC_RAW && clock <= CLOCK_MONOTONIC_COARSE))
		return -EOPNOTSUPP;
	err = user_timespec(u, a[2], &ns);
	if (err)
		return err;
	now = user_now((clockid_t)clock);
	if (a[1] & TIMER_ABSTIME)
		ns = ns > now ? ns - now : 0;
	if (!ns)
		return 0;
	return user_sleep(u, clock == CPU_CLOCK ? UINT64_MAX : user_now(CLOCK_MONOTONIC) + ns);
}

int64_t call_clock_gettime(struct user *u, const uint64_t *a)
{
	struct timespec t;

	if ((uint32_t)a[0] > CLOCK_TAI || clock_gettime((clockid_t)a[0], &t))
		return -EINVAL;
	return put_time(u, a[1], (uint64_t)t.tv_sec * USER_NS + (uint64_t)t.tv_nsec, 1);
}

int64_t call_clock_getres(struct user *u, const uint64_t *a)
{
	struct timespec t;

	if ((uint32_t)a[0] > CLOCK_TAI || clock_getres((clockid_t)a[0], &t))
		return -EINVAL;
	return a[1] ? put_time(u, a[1], (uint64_t)t.tv_nsec, 1) : 0;
}

int64_t call_gettimeofday(struct user *u, const uint64_t *a)
{
	const uint32_t zone[2] = {0};

	if (a[0] && put_time(u, a[0], user_now(CLOCK_REALTIME), 1000))
		return -EFAULT;
	return a[1] ? rv_space_write(&u->space, a[1], zone, sizeof(zone)) : 0;
}

static uint64_t microseconds(const uint64_t t[2])
{
	const uint64_t most = 100ull * 366 * 86400;

	return ((t[0] < most ? t[0] : most) * 1000000 + t[1]) * 1000;
}

/* An armed timer has always some time left. */
static int put_timer(const struct user *u, uint64_t va, unsigned int i)
{
	const struct user_timer *t = &u->timer[i];
	uint64_t now = user_now(clock_of(i)), left = t->at > now + 1000 ? t->at - now : 1000;
	int err = put_time(u, va, t->interval, 1000);

	return err ? err : put_time(u, va + 16, t->at ? left : 0, 1000);
}

int64_t call_getitimer(struct user *u, const uint64_t *a)
{
	if ((uint32_t)a[0] >= USER_TIMERS)
		return -EINVAL;
	return put_timer(u, a[1], (uint32_t)a[0]) ? -EFAULT : 0;
}

int64_t call_setitimer(struct user *u, const uint64_t *a)
{
	uint64_t which = (uint32_t)a[0], t[4] = {0}, value;

	if (a[1] && rv_space_read(&u->space, a[1], t, sizeof(t)))
		return -EFAULT;
	if (which >= USER_TIMERS || t[1] >= 1000000 || t[3] >= 1000000 || (int64_t)t[0] < 0 ||
	    (int64_t)t[2] < 0)
		return -EINVAL;
	if (a[2] && put_timer(u, a[2], (unsigned int)which))
		return -EFAULT;
	value = microseconds(t + 2);
	u->timer[which].interval = microseconds(t);
	u->timer[which].at = value ? user_now(clock_of((unsigned int)which)) + value : 0;
	return 0;
}

int64_t call_times(struct user *u, const uint64_t *a)
{
	uint64_t tick = USER_NS / 100, out[4] = {user_now(CPU_CLOCK) / tick};

	if (a[0] && rv_space_write(&u->space, a[0], out, sizeof(out)))
		return -EFAULT;
	return (int64_t)(user_now(CLOCK_BOOTTIME) / tick);
}

/* Of its children, which it has none of, nothing. */
int64_t call_getrusage(struct user *u, const uint64_t *a)
{
	uint64_t out[18] = {0}, ns = user_now(CPU_CLOCK);
	int32_t who = (int32_t)a[0];

	if (who < -1 || who > 1)
		return -EINVAL;
	if (who != RUSAGE_CHILDREN) {
		out[0] = ns / USER_NS;
		out[1] = ns % USER_NS / 1000;
		out[4] = u->space.bytes >> 10;
	}
	return rv_space_write(&u->space, a[1], out, sizeof(out));
}
