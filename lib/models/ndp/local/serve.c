// SPDX-License-Identifier: MIT
/*
 * Servers, and what there is to see of their clients.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/models/m2serve.h>
#include "core/log.h"
#include "models/ndp/device/guest.h"
#include "models/ndp/device/serve.h"
#include "hdm/hdm.h"
#include "ndp/client/talk.h"

#define TIMEOUT_MS 5000u

_Static_assert(ANNEX_M2_CLIENTS == NDP_PEERS && ANNEX_M2_RECORDS_MAX == ANNEX_M2_KERNELS,
	       "lists have room for all clients and kernels");

/* struct annex_m2_server - One of the two. */
struct annex_m2_server {
	struct ndp_server *s;
	struct ndp_guest *g;
};

int annex_m2_serve(struct annex_ndp *ndp, struct annex_hdm *const *ranges, unsigned int n,
		   const char *path, struct annex_m2_server **out)
{
	struct ndp_memory memory[ANNEX_M2_SERVED];
	struct annex_m2_server *s;
	struct stat st;
	int err;

	if (n > ANNEX_M2_SERVED)
		return annex_fail(-EINVAL, "%s: %u ranges; at most %u", path, n, ANNEX_M2_SERVED);
	for (unsigned int i = 0; i < n; i++) {
		const struct annex_medium *m = ranges[i]->m;

		if (fstat(m->fd, &st))
			return annex_fail(-errno, "%s: %m", ranges[i]->uri);
		memory[i] = (struct ndp_memory){st.st_dev, st.st_ino, m->base, m->bytes};
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return annex_fail(-ENOMEM, "%s: out of memory", path);
	err = ndp_server_open(ndp, memory, n, path, &s->s);
	if (err)
		free(s);
	else
		*out = s;
	return err;
}

int annex_m2_serve_guest(struct annex_ndp *ndp, const char *path, uint64_t uncached,
			 struct annex_m2_server **out)
{
	struct annex_m2_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return annex_fail(-ENOMEM, "%s: out of memory", path);
	err = ndp_guest_open(ndp, path, uncached, &s->g);
	if (err)
		free(s);
	else
		*out = s;
	return err;
}

void annex_m2_server_close(struct annex_m2_server *s)
{
	if (!s)
		return;
	ndp_server_close(s->s);
	ndp_guest_close(s->g);
	free(s);
}

/* Into @out, which has room for @most of @each bytes. */
static int list(const char *uri, uint32_t kind, uint64_t of, void *out, size_t each, size_t most)
{
	struct annex_m2_message a,
		m = {.magic = ANNEX_M2_MAGIC, .version = ANNEX_M2_VERSION, .ask = kind, .a = of};
	size_t n = each * most;
	int err, sock = annex_m2_talk_connect(uri, TIMEOUT_MS);

	if (sock < 0)
		return sock;
	err = annex_m2_talk(sock, &m, -1, &a, NULL, 0, out, &n);
	close(sock);
	if (err)
		return err;
	if (a.result)
		return annex_fail((int)a.result, "%s: %s", uri, strerror((int)-a.result));
	if (a.a > most || n != a.a * each)
		return annex_fail(-EPROTO, "%s: what answers there is no device", uri);
	return (int)a.a;
}

int annex_m2_list(const char *uri, struct annex_m2_listed out[ANNEX_M2_CLIENTS])
{
	return list(uri, ANNEX_M2_LIST, 0, out, sizeof(*out), ANNEX_M2_CLIENTS);
}

int annex_m2_list_kernels(const char *uri, uint32_t asid,
			  struct annex_m2_record out[ANNEX_M2_RECORDS_MAX])
{
	return list(uri, ANNEX_M2_RECORDS, asid, out, sizeof(*out), ANNEX_M2_RECORDS_MAX);
}
