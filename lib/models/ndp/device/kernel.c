// SPDX-License-Identifier: MIT
/*
 * Kernels: images are copied and decoded when they are registered, so what happens to the client's
 * memory later changes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <annex/models/ndp.h>
#include "core/log.h"
#include "models/ndp/harts/rv.h"
#include "state.h"

/* Bits of an id for the kernel's place; above them a number that no other client had. */
#define ID_BITS 6u
_Static_assert(ANNEX_M2_KERNELS == 1u << ID_BITS, "an id has room for a kernel's place");

static int refuse_image(const struct annex_m2_register *asked, int err, const char *why)
{
	return annex_fail(err, "NDP: kernel image at %#llx: %s", (ull)asked->code, why);
}

/* Whether code begins at @offset. */
static bool is_entry(const struct annex_m2_image *image, uint32_t offset)
{
	return offset >= sizeof(*image) && offset < image->bytes && !(offset % 2);
}

static const char *what_is_wrong(const struct annex_m2_image *image, uint32_t bytes)
{
	if (image->magic != ANNEX_M2_IMAGE_MAGIC)
		return "it is none";
	if (image->version != ANNEX_M2_VERSION)
		return "of another version";
	if (image->bytes != bytes || bytes <= sizeof(*image) || bytes > ANNEX_M2_IMAGE_MAX ||
	    bytes % 2)
		return "its size cannot be";
	if (!image->bodies || image->bodies > ANNEX_M2_BODIES)
		return "1 to 8 bodies";
	if (image->zero[0] || image->zero[1])
		return "something where nothing may be";
	for (unsigned int i = 0; i < ANNEX_M2_BODIES; i++)
		if (i < image->bodies ? !is_entry(image, image->body[i]) : image->body[i] != 0)
			return "a body that is not within";
	if ((image->initializer && !is_entry(image, image->initializer)) ||
	    (image->finalizer && !is_entry(image, image->finalizer)))
		return "an initializer or finalizer that is not within";
	return NULL;
}

/* The copy is what counts: the client may write to the image meanwhile. */
static int copy_image(struct ndp_client *c, const struct annex_m2_register *asked, char **out)
{
	struct annex_m2_image image;
	const char *wrong;
	char *copy;

	if (asked->code % 2 || ndp_space_read(&c->space, asked->code, &image, sizeof(image)))
		return refuse_image(asked, -EFAULT, "cannot be read");
	wrong = what_is_wrong(&image, image.bytes);
	if (wrong)
		return refuse_image(asked, -ENOEXEC, wrong);
	copy = malloc(image.bytes);
	if (!copy)
		return refuse_image(asked, -ENOMEM, "no memory for it");
	if (ndp_space_read(&c->space, asked->code, copy, image.bytes)) {
		free(copy);
		return refuse_image(asked, -EFAULT, "not all of it can be read");
	}
	wrong = what_is_wrong((const struct annex_m2_image *)copy, image.bytes);
	if (wrong) {
		free(copy);
		return refuse_image(asked, -ENOEXEC, wrong);
	}
	*out = copy;
	return 0;
}

static void add_phase(struct ndp_kernel *k, uint32_t offset, bool slots)
{
	if (offset)
		k->phase[k->phases++] = (struct ndp_phase){k->asked.code + offset, slots};
}

static int decode(struct ndp_client *c, const struct annex_m2_register *asked, struct ndp_kernel *k)
{
	struct rv_isa isa = {c->ndp->opts.vlen, asked->nx, asked->nf, asked->nv};
	const struct annex_m2_image *image;
	char *copy = NULL;
	int err = copy_image(c, asked, &copy);

	if (err)
		return err;
	image = (const struct annex_m2_image *)copy;
	*k = (struct ndp_kernel){.asked = *asked};
	k->scratchpad = asked->scratchpad > asked->args ? asked->scratchpad : asked->args;
	add_phase(k, image->initializer, true);
	for (unsigned int i = 0; i < image->bodies; i++)
		add_phase(k, image->body[i], false);
	add_phase(k, image->finalizer, true);
	err = rv_code_create(copy + sizeof(*image), image->bytes - sizeof(*image),
			     asked->code + sizeof(*image), &isa, &k->code);
	free(copy);
	return err ? refuse_image(asked, err, strerror(-err)) : 0;
}

static struct ndp_kernel *free_place(struct ndp_client *c)
{
	for (unsigned int i = 0; i < ANNEX_M2_KERNELS; i++)
		if (!c->kernel[i].id)
			return &c->kernel[i];
	return NULL;
}

/* Numbers are the device's, so that what one client has is nothing to another. */
static uint32_t next_id(struct annex_ndp *ndp, unsigned int place)
{
	ndp->kernels = (ndp->kernels + 1) & (UINT32_MAX >> ID_BITS);
	ndp->kernels += !ndp->kernels;
	return ndp->kernels << ID_BITS | place;
}

int64_t ndp_register(struct ndp_client *c, const struct annex_m2_register *asked)
{
	const struct annex_ndp_opts *opts = &c->ndp->opts;
	struct ndp_kernel kernel, *k;
	int64_t id = -ENOSPC;
	int err;

	if (asked->nx > 32 || asked->nf > 32 || asked->nv > 32)
		return annex_fail(-EINVAL, "NDP: a kernel with %u, %u and %u registers", asked->nx,
				  asked->nf, asked->nv);
	if (asked->scratchpad > opts->scratchpad || asked->args > opts->scratchpad ||
	    asked->args % 8)
		return annex_fail(-EINVAL,
				  "NDP: a kernel with %u bytes of scratchpad and %u of arguments",
				  asked->scratchpad, asked->args);
	err = decode(c, asked, &kernel);
	if (err)
		return err;
	pthread_mutex_lock(&c->ndp->lock);
	k = free_place(c);
	if (k) {
		*k = kernel;
		k->id = next_id(c->ndp, (unsigned int)(k - c->kernel));
		id = k->id;
	}
	pthread_mutex_unlock(&c->ndp->lock);
	if (id >= 0)
		return id;
	rv_code_destroy(kernel.code);
	return annex_fail(-ENOSPC, "NDP: a process has %u kernels at most", ANNEX_M2_KERNELS);
}

struct ndp_kernel *ndp_kernel_find(struct ndp_client *c, uint32_t id)
{
	struct ndp_kernel *k = &c->kernel[id % ANNEX_M2_KERNELS];

	return id && k->id == id ? k : NULL;
}

int ndp_unregister(struct ndp_client *c, const struct annex_m2_unregister *asked)
{
	struct rv_code *code = NULL;
	struct ndp_kernel *k;
	int err = 0;

	if (asked->zero)
		return annex_fail(-EINVAL, "NDP: kernel %u: something where nothing may be",
				  asked->id);
	pthread_mutex_lock(&c->ndp->lock);
	k = ndp_kernel_find(c, asked->id);
	if (!k)
		err = -ENOENT;
	else if (k->instances)
		err = -EBUSY;
	if (!err) {
		code = k->code;
		*k = (struct ndp_kernel){0};
	}
	pthread_mutex_unlock(&c->ndp->lock);
	rv_code_destroy(code);
	return err ? annex_fail(err, "NDP: kernel %u: %s", asked->id,
				err == -EBUSY ? "it runs" : "no such")
		   : 0;
}

void ndp_records(struct ndp_client *c, struct annex_m2_record out[ANNEX_M2_KERNELS])
{
	pthread_mutex_lock(&c->ndp->lock);
	for (unsigned int i = 0; i < ANNEX_M2_KERNELS; i++) {
		const struct ndp_kernel *k = &c->kernel[i];

		out[i] = (struct annex_m2_record){.id = k->id,
						  .scratchpad = k->asked.scratchpad,
						  .code = k->asked.code,
						  .nx = k->asked.nx,
						  .nf = k->asked.nf,
						  .nv = k->asked.nv,
						  .args = k->asked.args,
						  .running = k->instances,
						  .launches = k->launches};
	}
	pthread_mutex_unlock(&c->ndp->lock);
}
