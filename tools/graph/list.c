// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/common/error.h"
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
