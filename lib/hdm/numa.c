// SPDX-License-Identifier: MIT
/*
 * numa: memory of one node, which is where CXL memory is that the kernel has taken as its own. The
 * pages are bound to the node, had at once, and looked for there: none comes from elsewhere.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "core/log.h"
#include "hdm.h"

#define HUGE_PAGE (2ull << 20)
#define BATCH 1024u

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older headers lack it */
#endif

static void close_numa(struct annex_medium *m)
{
	if (m->base)
		munmap(m->base, m->bytes);
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

static const struct annex_medium_ops numa_ops = {.close = close_numa};

static int read_node(const struct annex_uri *uri, int *node)
{
	uint64_t n;

	if (annex_parse_size(uri->body, &n) || n > 1 << 20)
		return annex_fail(-EINVAL, "numa:%.32s: no number of a node", uri->body);
	if (numa_available() < 0)
		return annex_fail(-EOPNOTSUPP, "numa:%llu: the kernel has no NUMA policies",
				  (ull)n);
	if (n > (uint64_t)numa_max_node() ||
	    !numa_bitmask_isbitset(numa_all_nodes_ptr, (unsigned int)n))
		return annex_fail(-ENODEV, "numa:%llu: no such node with memory", (ull)n);
	*node = (int)n;
	return 0;
}

/* Bytes that the node can give, the page cache included. */
static uint64_t node_room(int node)
{
	static const char *const keys[] = {"MemFree:", "Active(file):", "Inactive(file):"};
	unsigned long long kib;
	char path[64], line[128];
	uint64_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", node);
	f = fopen(path, "re");
	if (!f)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), f)) {
		for (unsigned int i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			const char *at = strstr(line, keys[i]);

			if (at && at[-1] == ' ' && sscanf(at + strlen(keys[i]), "%llu", &kib) == 1)
				room += kib * 1024;
		}
	}
	fclose(f);
	return room;
}

/* Bound before a page is there; a kernel that does not know populating is older than 5.14. */
static int bind_pages(struct annex_medium *m, bool huge)
{
	struct bitmask *nodes = numa_allocate_nodemask();
	int err = 0;

	if (!nodes)
		return -ENOMEM;
	numa_bitmask_setbit(nodes, (unsigned int)m->node);
	if (mbind(m->base, m->bytes, MPOL_BIND, nodes->maskp, nodes->size + 1, 0))
		err = -errno;
	numa_free_nodemask(nodes);
	if (err || !madvise(m->base, m->bytes, MADV_POPULATE_WRITE))
		return err;
	if (errno != EINVAL || huge)
		return errno == EFAULT ? -ENOMEM : -errno;
	for (uint64_t at = 0; at < m->bytes; at += HDM_PAGE)
		m->base[at] = 0;
	return 0;
}

/* The kernel may accept the policy and put pages elsewhere all the same. */
static int verify_pages(const struct annex_medium *m, uint64_t page)
{
	void *pages[BATCH];
	int status[BATCH];

	for (uint64_t at = 0; at < m->bytes;) {
		unsigned int n = 0;

		for (; n < BATCH && at < m->bytes; at += page)
			pages[n++] = m->base + at;
		if (move_pages(0, n, pages, NULL, status, 0))
			return annex_fail(-errno, "numa:%d: where pages are is not told: %m",
					  m->node);
		for (unsigned int i = 0; i < n; i++)
			if (status[i] != m->node)
				return annex_fail(-EIO, "numa:%d: a page is on node %d", m->node,
						  status[i]);
	}
	return 0;
}

static int get_memory(struct annex_medium *m, bool huge)
{
	uint64_t page = huge ? HUGE_PAGE : HDM_PAGE;
	int err;

	if (m->bytes % page)
		return annex_fail(-EINVAL, "numa: size= is no multiple of %llu", (ull)page);
	/* Beyond it the kernel would kill programs to make room. */
	if (!huge && m->bytes > node_room(m->node))
		return annex_fail(-ENOMEM, "numa:%d: it has no %llu bytes left", m->node,
				  (ull)m->bytes);
	m->fd = memfd_create("annex-hdm", MFD_CLOEXEC | (huge ? MFD_HUGETLB | 21u << 26 : 0));
	if (m->fd < 0 || ftruncate(m->fd, (off_t)m->bytes))
		return annex_fail(-errno, "numa:%d: %m", m->node);
	m->base = annex_medium_map(m->fd, m->bytes, page, MAP_SHARED);
	err = m->base ? bind_pages(m, huge) : -errno;
	if (err)
		return annex_fail(err, "numa:%d: no %llu bytes%s: %s", m->node, (ull)m->bytes,
				  huge ? " in huge pages (vm.nr_hugepages)" : "", strerror(-err));
	err = verify_pages(m, page);
	return err ? err : annex_hdm_unshare(m);
}

int hdm_numa_open(const struct annex_uri *uri, uint32_t timeout_ms, struct annex_medium **out)
{
	static const char *const keys[] = {"size", "huge", NULL};
	struct annex_medium *m = calloc(1, sizeof(*m));
	bool huge = false;
	int err;

	(void)timeout_ms;
	if (!m)
		return annex_fail(-ENOMEM, "numa: out of memory");
	*m = (struct annex_medium){.ops = &numa_ops, .fd = -1, .scratch = true};
	err = annex_uri_check_keys(uri, keys);
	if (!err)
		err = read_node(uri, &m->node);
	if (!err)
		err = annex_uri_u64(uri, "size", ANNEX_HDM_MIN, INT64_MAX / 2, &m->bytes);
	if (!err)
		err = annex_uri_bool(uri, "huge", &huge);
	if (!err && !m->bytes)
		err = annex_fail(-EINVAL, "numa:%d: how much? Give size=", m->node);
	if (!err)
		err = get_memory(m, huge);
	if (err) {
		close_numa(m);
		return err;
	}
	*out = m;
	return 0;
}
