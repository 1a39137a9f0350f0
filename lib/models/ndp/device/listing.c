// SPDX-License-Identifier: MIT
/*
 * The clients that are served, and their work: for `annex ndp list`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include "serve.h"

static struct annex_m2_listed describe(const struct ndp_peer *p)
{
	struct annex_m2_record all[ANNEX_M2_KERNELS];
	struct ndp_front_stats st;
	struct annex_m2_listed l = {.asid = ndp_client_asid(p->front->client),
				    .pid = (uint32_t)p->pid,
				    .uid = p->uid,
				    .maps = p->maps,
				    .mapped = p->mapped};

	ndp_front_get_stats(p->front, &st);
	l.calls = st.calls;
	l.torn = st.torn;
	l.lost = st.lost;
	l.repeated = st.repeated;
	ndp_records(p->front->client, all);
	for (unsigned int i = 0; i < ANNEX_M2_KERNELS; i++) {
		l.kernels += !!all[i].id;
		l.launches += all[i].id ? all[i].launches : 0;
	}
	return l;
}

static size_t list(struct ndp_server *s, char *to, size_t room)
{
	struct annex_m2_listed l;
	struct ndp_peer *p;
	size_t n = 0;

	LIST_FOREACH(p, &s->peers, link)
	{
		if (!p->front || room - n < sizeof(l))
			continue;
		l = describe(p);
		memcpy(to + n, &l, sizeof(l));
		n += sizeof(l);
	}
	return n;
}

static size_t records(struct ndp_server *s, uint64_t asid, int64_t *result, char *to, size_t room)
{
	struct annex_m2_record all[ANNEX_M2_KERNELS];
	struct ndp_peer *p;
	size_t n = 0;

	LIST_FOREACH(p, &s->peers, link)
	if (p->front && ndp_client_asid(p->front->client) == asid)
		break;
	if (!p) {
		*result = -ENOENT;
		return 0;
	}
	ndp_records(p->front->client, all);
	for (unsigned int i = 0; i < ANNEX_M2_KERNELS; i++) {
		if (!all[i].id || room - n < sizeof(all[i]))
			continue;
		memcpy(to + n, &all[i], sizeof(all[i]));
		n += sizeof(all[i]);
	}
	return n;
}

size_t ndp_listing(struct ndp_server *s, const struct annex_m2_message *ask,
		   struct annex_m2_message *answer, char *to, size_t room)
{
	char *rest = to + sizeof(*answer);
	size_t n;

	room -= sizeof(*answer);
	pthread_mutex_lock(&s->lock);
	if (ask->ask == ANNEX_M2_LIST) {
		n = list(s, rest, room);
		answer->a = n / sizeof(struct annex_m2_listed);
	} else {
		n = records(s, ask->a, &answer->result, rest, room);
		answer->a = n / sizeof(struct annex_m2_record);
	}
	pthread_mutex_unlock(&s->lock);
	memcpy(to, answer, sizeof(*answer));
	return sizeof(*answer) + n;
}
