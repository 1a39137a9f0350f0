// SPDX-License-Identifier: GPL-2.0-or-later
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../error.h"
#include "blas.h"

/* Of the interface of cblas. */
enum { CblasRowMajor = 101, CblasNoTrans = 111, CblasTrans = 112 };

typedef void (*sgemm_fn)(int order, int turn_a, int turn_b, int rows, int columns, int inner,
			 float scale, const float *a, int da, const float *b, int db, float keep,
			 float *c, int dc);

static sgemm_fn sgemm;
static char *(*config)(void);

/* A function's address comes as one of data. */
static bool load(void *lib, const char *name, void *fn)
{
	void *at = dlsym(lib, name);

	memcpy(fn, &at, sizeof(at));
	return at;
}

int blas_open(void)
{
	void (*set_threads)(int n);
	void *lib;

	if (sgemm)
		return 0;
	/* It starts threads as it is loaded, and ends the process by SIGINT where it cannot. */
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	lib = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return err_set(-ENOENT, "there is no OpenBLAS: install it (in Debian, "
					"libopenblas0-pthread)");
	if (!load(lib, "openblas_set_num_threads", &set_threads) ||
	    !load(lib, "openblas_get_config", &config) || !load(lib, "cblas_sgemm", &sgemm)) {
		dlclose(lib);
		return err_set(-ENOENT, "libopenblas.so.0 lacks a function: install another (in "
					"Debian, libopenblas0-pthread)");
	}
	/* Threads of its own would wait for each other, spinning, while others need the cores. */
	set_threads(1);
	return 0;
}

const char *blas_name(void)
{
	return config();
}

void blas_multiply(const struct product *p)
{
	sgemm(CblasRowMajor, p->turn_a ? CblasTrans : CblasNoTrans,
	      p->turn_b ? CblasTrans : CblasNoTrans, p->rows, p->columns, p->inner, p->scale, p->a,
	      p->da, p->b, p->db, p->keep, p->c, p->dc);
}
