// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../error.h"
#include "list.h"

int list_add(struct list *l, uint32_t from, uint32_t to, uint32_t weight)
{
	if (l->edges == l->room) {
		uint64_t room = l->room ? l->room * 2 : 1024;
		struct list_edge *e = realloc(l->edge, room * sizeof(*e));

		if (!e)
			return err_set(-ENOMEM, "no memory for %llu edges", (ull)room);
		l->edge = e;
		l->room = room;
	}
	l->edge[l->edges++] = (struct list_edge){from, to, weight};
	return 0;
}

void list_free(struct list *l)
{
	free(l->edge);
	free(l->names);
	memset(l, 0, sizeof(*l));
}

int list_weight(const char *path, uint64_t line, double v, uint32_t *weight)
{
	if (!(v >= 0 && v <= 4294967295.0))
		return err_set(-EINVAL, "%s, line %llu: weight %g is not from 0 to 4294967295",
			       path, (ull)line, v);
	*weight = (uint32_t)(v + 0.5 > 4294967295.0 ? v : v + 0.5);
	return 0;
}

bool list_number(char **p, uint64_t *v)
{
	char *end;

	while (isspace((unsigned char)**p))
		++*p;
	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	*v = strtoull(*p, &end, 10);
	*p = end;
	return !errno;
}
