// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "way.h"

#define SLOTS 64u /* of a unit */
#define TRIES 8u

/* In the child: descriptors as harness.S wants them, and the program. */
static _Noreturn void become(const struct ndp_qemu *q, const char *path, int in, int out)
{
	char cpu[32];

	snprintf(cpu, sizeof(cpu), "max,vlen=%u", q->vlen);
	/* Away from the numbers that they shall have. */
	in = fcntl(in, F_DUPFD, 10);
	out = fcntl(out, F_DUPFD, 10);
	if (in >= 0 && out >= 0 && dup2(fcntl(q->fd, F_DUPFD, 10), 3) == 3 && dup2(in, 0) == 0 &&
	    dup2(out, 1) == 1)
		execlp("qemu-riscv64", "qemu-riscv64", "-cpu", cpu, path, (char *)NULL);
	_exit(127);
}

static int annex_m2_talk(pid_t child, int to, int from, const struct ndp_job *job,
			 struct timespec when[2])
{
	ssize_t n = write(to, job, sizeof(*job));
	int status = 0;

	close(to);
	if (n == sizeof(*job))
		n = read(from, when, 2 * sizeof(when[0]));
	close(from);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		return -EADDRINUSE;
	return n == 2 * sizeof(when[0]) && status == 0 ? 0 : -EIO;
}

static int run_once(struct ndp_qemu *q, const char *path, const struct ndp_job *job)
{
	struct timespec when[2];
	int in[2], out[2], err;
	pid_t child;

	if (pipe2(in, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(out, O_CLOEXEC) < 0) {
		err = -errno;
		close(in[0]);
		close(in[1]);
		return err;
	}
	child = fork();
	if (child == 0)
		become(q, path, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	err = child < 0 ? -EAGAIN : annex_m2_talk(child, in[1], out[0], job, when);
	if (!err)
		q->seconds = (double)(when[1].tv_sec - when[0].tv_sec) +
			     (double)(when[1].tv_nsec - when[0].tv_nsec) * 1e-9;
	return err;
}

int ndp_qemu_run(void *ctx, enum k_kernel kernel, const void *pool, uint64_t bytes,
		 const void *args, size_t nargs)
{
	struct ndp_qemu *q = ctx;
	struct ndp_job job = {.base = k_at(pool),
			      .bound = k_at(pool) + bytes,
			      .piece = q->piece,
			      .slots = SLOTS,
			      .at = k_at(q->at),
			      .bytes = q->bytes,
			      .nargs = nargs};
	char path[4096];
	int err = -EADDRINUSE;

	if (nargs > sizeof(job.args) || snprintf(path, sizeof(path), "%s/%s", q->dir,
						 k_image[kernel].name) >= (int)sizeof(path))
		return -EINVAL;
	memcpy(job.args, args, nargs);
	/* Each time it is elsewhere in memory. */
	for (unsigned int i = 0; err == -EADDRINUSE && i < TRIES; i++)
		err = run_once(q, path, &job);
	return err;
}
