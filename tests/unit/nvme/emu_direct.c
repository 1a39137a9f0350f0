// SPDX-License-Identifier: MIT
/*
 * Files with direct I/O, and files that have none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <annex/log.h>
#include "nvme/emu/file/file.h"
#include "tests/unit/emu_host.h"
#include "tests/unit/unit.h"

static int try_file(const char *path, const char *params)
{
	char uri[512];

	snprintf(uri, sizeof(uri), "file:%s%s", path, params);
	return host_try(uri);
}

/* Files of huge pages have no direct I/O. Only by name it is demanded. */
static void no_direct(void)
{
	int fd = memfd_create("annex-emu", MFD_CLOEXEC | MFD_HUGETLB);
	char path[UNIT_PATH];
	struct stat st;

	if (fd < 0) /* a kernel without huge pages */
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	unit_log_begin(UNIT_LOG(INFO), "buffered");
	CU_ASSERT_EQUAL(try_file(path, "?size=2M&direct=0"), 0);
	CU_ASSERT_EQUAL(unit_log_lines(), 0);
	CU_ASSERT_EQUAL(ftruncate(fd, 0), 0);
	CU_ASSERT_EQUAL(try_file(path, "?size=2M&direct=1"), -EOPNOTSUPP);
	CU_ASSERT(strstr(annex_last_error(), "use direct=0") != NULL);
	CU_ASSERT_EQUAL(unit_log_lines(), 0);
	CU_ASSERT_EQUAL(fstat(fd, &st), 0);
	CU_ASSERT_EQUAL(st.st_size, 0); /* as it was */
	CU_ASSERT_EQUAL(try_file(path, "?size=2M"), 0);
	CU_ASSERT_EQUAL(unit_log_end(), 1);
	close(fd);
}

/* Which blocks fit which alignments. */
static void alignments(void)
{
	static const struct {
		struct emu_align align;
		uint64_t size;
		bool readonly;
		uint32_t asked;
		int err;
		uint32_t block;
		const char *mend;
	} cases[] = {
		{{512, 512}, 512, false, 0, 0, 512, ""},
		{{4, 512}, 4096, false, 4096, 0, 4096, ""},
		{{512, 4096}, 8192, false, 0, 0, 4096, ""},
		{{4096, 4096}, 8192, false, 4096, 0, 4096, ""},
		{{512, 1024}, 8192, false, 0, 0, 4096, ""},
		{{512, 1024}, 1024, false, 0, 0, 4096, ""},
		{{512, 4096}, 8192, false, 512, -EINVAL, 0, "use block=4096 or direct=0"},
		{{512, 4096}, 4096 + 512, true, 0, 0, 4096, ""},
		{{512, 4096}, 4096 + 512, false, 0, -EINVAL, 0, "direct=0 or readonly=1"},
		{{512, 512}, 4096 + 512, false, 4096, 0, 4096, ""},
		{{512, 512}, 1, true, 0, 0, 512, ""},
		{{512, 512}, 1, false, 0, -EINVAL, 0, "direct=0 or readonly=1"},
		{{512, 8192}, 16384, false, 0, 0, 8192, ""},
		{{512, 16384}, 16384 + 4096, true, 0, 0, 16384, ""},
		{{512, 32768}, 32768, true, 0, -EOPNOTSUPP, 0, "use direct=0"},
		{{8192, 512}, 8192, true, 512, -EOPNOTSUPP, 0, "use direct=0"},
		{{0, 0}, 8192, true, 0, -EOPNOTSUPP, 0, "use direct=0"},
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char why[EMU_DIRECT_WHY] = "";
		uint32_t block = 0;

		CU_ASSERT_EQUAL(annex_emu_direct_fit(cases[i].align, cases[i].size,
						     cases[i].readonly, cases[i].asked, &block,
						     why),
				cases[i].err);
		CU_ASSERT_EQUAL(block, cases[i].block);
		CU_ASSERT(strstr(why, cases[i].mend) != NULL);
	}
}

static int found;

int __real_annex_emu_direct_find(int fd, struct emu_align *align);
int __wrap_annex_emu_direct_find(int fd, struct emu_align *align);

int __wrap_annex_emu_direct_find(int fd, struct emu_align *align)
{
	return found ? found : __real_annex_emu_direct_find(fd, align);
}

/* A first block that cannot be read says nothing of direct I/O: the error is told as it is. */
static void first_block(void)
{
	static const int errors[] = {-EIO, -EAGAIN, -ENOMEM};
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC); /* EIO, as nothing is at 0 */
	struct emu_align align = {1, 1};
	char path[UNIT_PATH];

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(__real_annex_emu_direct_find(fd, &align), -EIO);
	close(fd);
	unit_tmpfile(path);
	CU_ASSERT_EQUAL_FATAL(truncate(path, 1 << 20), 0);
	for (unsigned int i = 0; i < 3; i++) {
		found = errors[i];
		CU_ASSERT_EQUAL(try_file(path, "?direct=1"), found);
		CU_ASSERT(strstr(annex_last_error(), strerror(-found)) != NULL);
		CU_ASSERT_EQUAL(try_file(path, ""), found);
		CU_ASSERT_EQUAL(try_file(path, "?direct=0"), 0);
	}
	found = 0;
	CU_ASSERT_EQUAL(try_file(path, ""), 0);
	unlink(path);
}

UNIT_SUITE(emu_direct, {"no direct I/O", no_direct}, {"alignments", alignments},
	   {"an unreadable first block", first_block});
