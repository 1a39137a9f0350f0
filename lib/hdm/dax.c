// SPDX-License-Identifier: MIT
/*
 * dax: a devdax region, which the kernel's own drivers have made (Documentation/driver-api/cxl).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "core/log.h"
#include "hdm.h"

static void close_dax(struct annex_medium *m)
{
	if (m->base)
		munmap(m->base, m->bytes);
	if (m->fd >= 0)
		close(m->fd);
	free(m);
}

static const struct annex_medium_ops dax_ops = {.close = close_dax};

/* A number that the kernel tells of the device; false: it does not. */
static bool read_number(dev_t dev, const char *attr, long long *value)
{
	char path[96], text[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/%s", major(dev), minor(dev), attr);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return sscanf(text, "%lli", value) == 1;
}

/* Where its links lead: the subsystem is dax, and memory on an NVDIMM bus survives. */
static bool links_to(dev_t dev, const char *link, const char *word)
{
	char path[96], to[PATH_MAX];

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u/%s", major(dev), minor(dev), link);
	return realpath(path, to) && strstr(to, word);
}

static int check_device(struct annex_medium *m, const char *path, uint64_t *align)
{
	long long size, step, node = -1;
	struct stat st;

	if (fstat(m->fd, &st))
		return annex_fail(-errno, "dax:%s: %m", path);
	if (!S_ISCHR(st.st_mode) || !links_to(st.st_rdev, "subsystem", "/dax"))
		return annex_fail(-ENODEV, "dax:%s: no devdax device", path);
	if (!read_number(st.st_rdev, "size", &size) || !read_number(st.st_rdev, "align", &step) ||
	    size <= 0 || step < HDM_PAGE || step & (step - 1) || size / step * step <= 0)
		return annex_fail(-ENODEV, "dax:%s: the kernel tells no size and alignment", path);
	read_number(st.st_rdev, "target_node", &node);
	m->node = (int)node;
	m->bytes = (uint64_t)(size / step * step);
	m->persistent = links_to(st.st_rdev, "", "/ndbus");
	m->scratch = !m->persistent;
	*align = (uint64_t)step;
	return 0;
}

static int refuse(const char *path, int err)
{
	if (err == -ENXIO)
		return annex_fail(err, "dax:%s: the kernel's driver device_dax does not have it",
				  path);
	return annex_fail(err, "dax:%s: %s", path, strerror(-err));
}

int hdm_dax_open(const struct annex_uri *uri, uint32_t timeout_ms, struct annex_medium **out)
{
	static const char *const keys[] = {"format", NULL};
	struct annex_medium *m = calloc(1, sizeof(*m));
	uint64_t align = 0;
	int err;

	(void)timeout_ms;
	if (!m)
		return annex_fail(-ENOMEM, "dax: out of memory");
	*m = (struct annex_medium){.ops = &dax_ops, .fd = -1, .node = -1};
	err = annex_uri_check_keys(uri, keys);
	if (!err) {
		m->fd = open(uri->body, O_RDWR | O_CLOEXEC);
		err = m->fd >= 0 ? 0 : refuse(uri->body, -errno);
	}
	if (!err)
		err = check_device(m, uri->body, &align);
	if (!err) {
		m->base = annex_medium_map(m->fd, m->bytes, align, MAP_SHARED);
		err = m->base ? annex_hdm_unshare(m)
			      : annex_fail(-errno, "dax:%s: it cannot be mapped: %m", uri->body);
	}
	if (err) {
		close_dax(m);
		return err;
	}
	*out = m;
	return 0;
}
