// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * annex copy: an image of a file on one or several devices.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/detail/clock.h>
#include <annex/uri.h>
#include "tools/common/claim.h"
#include "tools/common/cli.h"
#include "tools/common/commands.h"
#include "tools/common/device.h"
#include "tools/common/error.h"
#include "tools/common/out.h"
#include "tools/common/progress.h"
#include "tools/common/uri.h"
#include "tools/common/target.h"

struct copy {
	struct storage_opts store;
	bool overwrite, json;
	const char *src;
	uint64_t size; /* of the source */
	struct target targets[STORAGE_DEVS];
};

/* Bytes that each device has to hold: the file, or a share of its lines. */
static uint64_t device_bytes(const struct copy *c)
{
	uint64_t lines = (c->size + c->store.line - 1) / c->store.line;

	if (c->store.layout || c->store.nuris == 1)
		return c->size;
	return (lines + c->store.nuris - 1) / c->store.nuris * c->store.line;
}

static int check_apart(const struct copy *c)
{
	char src[ANNEX_URI_MAX];
	int err = path_uri(src, "file", c->src, "");

	for (unsigned int i = 0; i < c->store.nuris && !err; i++)
		if (same_storage(c->store.uris[i], src))
			err = err_set(-EINVAL, "%s is the input file", c->store.uris[i]);
	return err ? err : same_apart(c->store.uris, c->store.nuris);
}

static int copy(struct copy *c, int fd)
{
	uint64_t bytes = device_bytes(c);
	const char *uris[STORAGE_DEVS];
	unsigned int n = c->store.nuris;
	struct storage s;
	int err = check_apart(c);

	for (unsigned int i = 0; i < n && !err; i++) {
		err = target_init(&c->targets[i], c->store.uris[i], TARGET_WHOLE, bytes,
				  c->overwrite);
		uris[i] = c->targets[i].uri;
	}
	if (!err)
		err = target_room(c->targets, n);
	if (err)
		return err;
	err = storage_open(&s, &c->store, uris, n, c->size, c->store.cache);
	if (err)
		return err;
	for (unsigned int i = 0; i < n && !err; i++)
		err = target_claim(&c->targets[i], s.devs[i], bytes);
	if (!err)
		err = storage_fill(&s, c->src, fd, c->size);
	if (storage_close(&s) && !err)
		err = -EIO;
	progress_end();
	return err;
}

/* A file system without locks keeps no writer out. */
static int claim_source(int fd, const char *path)
{
	int err = claim_read(fd, path);

	if (err == -ENOLCK) {
		warn_say(err_text());
		err_clear();
		err = 0;
	}
	return err;
}

static int report(const struct copy *c, double t)
{
	struct out out;

	out_init(&out, cli_name(), c->json);
	out_text(&out, "file", "file", c->src);
	out_bytes(&out, "bytes", "size", c->size);
	out_count(&out, "devices", "devices", c->store.nuris);
	out_text(&out, "layout", "layout", c->store.layout ? "replica" : "stripe");
	out_bytes(&out, "line_bytes", "line", c->store.line);
	out_seconds(&out, "time_s", "time", t);
	out_rate(&out, "bytes_per_s", "speed", (double)c->size / t, "B");
	return out_end(&out);
}

static int take(void *o, char *arg)
{
	struct copy *c = o;

	if (c->src)
		return storage_add(&c->store, NULL, arg);
	c->src = arg;
	return 0;
}

static const struct cli_option options[] = {{"overwrite", 0, NULL, 3,
					     OPT_FLAG(struct copy, overwrite),
					     "Overwrite files and devices that hold data"},
					    CLI_TABLE(struct copy, store, storage_layout_options),
					    CLI_TABLE(struct copy, store, storage_cache_options),
					    CLI_JSON(struct copy, json),
					    {0}};

static const char doc[] =
	"Write an image of FILE to devices, for a job that reads it from there. The job needs the "
	"same devices in the same order, layout and line size."
	"\vExamples:\n"
	"  annex copy kron22.csr file:/mnt/a/k.img file:/mnt/b/k.img\n"
	"  annex copy kron22.csr file:/dev/nvme1n1 --overwrite";

int cmd_copy(int argc, char **argv)
{
	static const struct cli_line line = {options, "FILE DEVICE...", doc, .list = &uri_devices,
					     .take = take};
	struct copy c = {.size = 0};
	struct stat st;
	uint64_t start = annex_now();
	int err = cli_parse(&line, argc, argv, &c), fd;

	if (!err)
		err = storage_settle(&c.store);
	if (err)
		return err;
	if (!c.src || !c.store.nuris)
		return err_set(-EINVAL, "name the file, and the devices to copy it to");
	fd = open(c.src, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys("cannot open %s", c.src);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size) {
		err = err_set(-EINVAL, "%s is empty or not a regular file", c.src);
	} else {
		c.size = (uint64_t)st.st_size;
		err = claim_source(fd, c.src);
		if (!err)
			err = copy(&c, fd);
	}
	err = target_done(c.targets, c.store.nuris, err);
	close(fd);
	return err ? err : report(&c, (double)(annex_now() - start) / 1e9);
}
