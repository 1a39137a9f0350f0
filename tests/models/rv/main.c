// SPDX-License-Identifier: MIT
/*
 * rvfuzz make SEED N VLEN GROUPS FLAGS FILE.elf
 * rvfuzz compare SEED N VLEN GROUPS FLAGS EXPECTED GOT BITS
 * rvfuzz count SEED N VLEN GROUPS FLAGS
 * rvfuzz lanes SEED N VLEN GROUPS FLAGS
 *
 * GROUPS are names with commas between them, or all; FLAGS is 1 where fcsr and vcsr are observed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fuzz.h"

static unsigned int groups_of(const char *list)
{
	unsigned int groups = 0;
	size_t n;

	if (!strcmp(list, "all"))
		return (1u << GROUPS) - 1;
	for (; *list; list += n + (list[n] == ',')) {
		unsigned int group = 0;

		n = strcspn(list, ",");
		while (group < GROUPS &&
		       (strncmp(rv_group_name(group), list, n) || rv_group_name(group)[n]))
			group++;
		if (group == GROUPS)
			return 0;
		groups |= 1u << group;
	}
	return groups;
}

/* Each instruction, and how often the program has it. */
static void count(const struct rv_gen *g)
{
	for (const struct rv_op *op = rv_op_next(NULL); op; op = rv_op_next(op)) {
		unsigned int n = 0;

		for (unsigned int i = 0; i < g->n; i++)
			n += g->items[i].op == op;
		if (g->groups >> op->group & 1)
			printf("%s %s %u\n", rv_group_name(op->group), op->name, n);
	}
}

int main(int argc, char **argv)
{
	struct rv_gen g = {0};
	int rc = 2;

	if (argc < 7) {
		fprintf(stderr, "usage: rvfuzz make|compare|count|lanes SEED N VLEN GROUPS FLAGS "
				"[FILE]...\n");
		return 2;
	}
	g.seed = strtoull(argv[2], NULL, 10);
	g.vlenb = (unsigned int)strtoul(argv[4], NULL, 10) / 8;
	g.groups = groups_of(argv[5]);
	g.flags = atoi(argv[6]);
	if (rv_build(&g, (unsigned int)strtoul(argv[3], NULL, 10)))
		fprintf(stderr, "rvfuzz: no such program\n");
	else if (!strcmp(argv[1], "make") && argc == 8)
		rc = rv_write_elf(&g, argv[7]) ? 2 : 0;
	else if (!strcmp(argv[1], "compare") && argc == 10)
		rc = rv_compare(&g, argv[7], argv[8], argv[9]);
	else if (!strcmp(argv[1], "lanes"))
		rc = rv_lanes(&g);
	else if (!strcmp(argv[1], "count"))
		rc = (count(&g), 0);
	else
		fprintf(stderr, "rvfuzz: wrong arguments\n");
	rv_free(&g);
	return rc;
}
