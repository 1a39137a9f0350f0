// SPDX-License-Identifier: MIT
/*
 * Executables: one that is good, and the same with one thing wrong at a time.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <annex/log.h>
#include <annex/models/riscv.h>
#include "ndp/elf.h"
#include "tests/models/unit/ndp_asm.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

#define BASE 0x10000ull

/* struct image - Headers, then code, then data of which half is in the file. */
struct image {
	Elf64_Ehdr h;
	Elf64_Phdr p[3];
	uint32_t code[16];
	uint64_t data[8];
};

static void good(struct image *f)
{
	*f = (struct image){0};
	memcpy(f->h.e_ident, ELFMAG, SELFMAG);
	f->h.e_ident[EI_CLASS] = ELFCLASS64;
	f->h.e_ident[EI_DATA] = ELFDATA2LSB;
	f->h.e_ident[EI_VERSION] = EV_CURRENT;
	f->h.e_type = ET_EXEC;
	f->h.e_machine = EM_RISCV;
	f->h.e_phoff = offsetof(struct image, p);
	f->h.e_phentsize = sizeof(Elf64_Phdr);
	f->h.e_phnum = 3;
	f->h.e_entry = BASE + offsetof(struct image, code);
	f->p[0] = (Elf64_Phdr){.p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_vaddr = BASE,
			       .p_filesz = offsetof(struct image, data),
			       .p_memsz = offsetof(struct image, data)};
	f->p[1] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = UINT64_MAX};
	f->p[2] = (Elf64_Phdr){.p_type = PT_LOAD,
			       .p_flags = PF_R | PF_W,
			       .p_offset = offsetof(struct image, data),
			       .p_vaddr = BASE + 0x10000,
			       .p_filesz = sizeof(f->data),
			       .p_memsz = 2 * sizeof(f->data)};
}

static int parse(const struct image *f, size_t bytes, struct annex_elf *elf)
{
	/* Exactly as large as the file, so that reads beyond its end are detected. */
	void *copy = malloc(bytes ? bytes : 1);
	int err;

	CU_ASSERT_FATAL(copy != NULL);
	memcpy(copy, f, bytes);
	err = annex_elf_parse(copy, bytes, elf);
	free(copy);
	return err;
}

static void segments_are_told(void)
{
	struct annex_elf elf;
	struct image f;

	good(&f);
	CU_ASSERT_EQUAL_FATAL(parse(&f, sizeof(f), &elf), 0);
	CU_ASSERT(elf.nsegments == 2 && !elf.pie && elf.entry == f.h.e_entry);
	CU_ASSERT(elf.low == BASE && elf.high == BASE + 0x10000 + 128);
	CU_ASSERT(elf.segment[0].execute && !elf.segment[0].write);
	CU_ASSERT(!elf.segment[1].execute && elf.segment[1].write);
	CU_ASSERT(elf.segment[1].file_bytes == 64 && elf.segment[1].bytes == 128);
	f.h.e_type = ET_DYN;
	CU_ASSERT(!parse(&f, sizeof(f), &elf) && elf.pie);
}

/* One thing wrong: so many bytes at an offset have another value. */
#define WRONG(err, member, value)                                                                  \
	{                                                                                          \
		err, offsetof(struct image, member), sizeof(((struct image *)0)->member), value    \
	}

static void what_is_wrong_is_refused(void)
{
	static const struct {
		int err;
		size_t at, bytes;
		uint64_t value;
	} wrong[] = {
		WRONG(-ENOEXEC, h.e_ident[0], 'e'),
		WRONG(-ENOEXEC, h.e_ident[EI_CLASS], ELFCLASS32),
		WRONG(-ENOEXEC, h.e_ident[EI_DATA], ELFDATA2MSB),
		WRONG(-ENOEXEC, h.e_ident[EI_VERSION], 2),
		WRONG(-ENOEXEC, h.e_machine, EM_X86_64),
		WRONG(-ENOEXEC, h.e_type, ET_REL),
		WRONG(-ENOEXEC, h.e_flags, EF_RISCV_RVE),
		WRONG(-ENOEXEC, p[1].p_type, PT_INTERP),
		WRONG(-EINVAL, h.e_phentsize, 32),
		WRONG(-EINVAL, h.e_phnum, 0),
		WRONG(-E2BIG, h.e_phnum, 65),
		WRONG(-EINVAL, h.e_phnum, 10), /* beyond the end */
		WRONG(-EINVAL, h.e_phoff, sizeof(struct image) - 3 * sizeof(Elf64_Phdr) + 1),
		WRONG(-EINVAL, h.e_phoff, UINT64_MAX - 8),
		WRONG(-EINVAL, h.e_entry, BASE - 4),
		WRONG(-EINVAL, h.e_entry, BASE + 0x10000), /* data */
		WRONG(-EINVAL, h.e_entry, BASE + offsetof(struct image, code) + 1),
		WRONG(-EINVAL, p[2].p_offset, offsetof(struct image, data) + 1),
		WRONG(-EINVAL, p[2].p_offset, UINT64_MAX),
		WRONG(-EINVAL, p[2].p_filesz, 129),
		WRONG(-EINVAL, p[2].p_filesz, UINT64_MAX),
		WRONG(-EINVAL, p[2].p_memsz, 63),
		WRONG(-EINVAL, p[2].p_memsz, UINT64_MAX),
		WRONG(-E2BIG, p[2].p_memsz, ANNEX_ELF_IMAGE),
		WRONG(-E2BIG, p[2].p_vaddr, ANNEX_ELF_TOP - 128),
		WRONG(-EINVAL, p[2].p_vaddr, ANNEX_ELF_TOP - 127),
		WRONG(-EINVAL, p[2].p_vaddr, UINT64_MAX - 127),
		WRONG(-EINVAL, p[2].p_vaddr, BASE), /* overlaps */
		WRONG(-EINVAL, p[2].p_vaddr, BASE - 0x1000),
	};
	struct annex_elf elf;
	struct image f;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		good(&f);
		memcpy((char *)&f + wrong[i].at, &wrong[i].value, wrong[i].bytes);
		if (parse(&f, sizeof(f), &elf) != wrong[i].err) {
			printf(" [wrong %zu: %s] ", i, annex_last_error());
			CU_FAIL("taken, or refused with another errno");
		}
	}
	good(&f);
	f.p[0].p_flags = PF_R;
	CU_ASSERT_EQUAL(parse(&f, sizeof(f), &elf), -EINVAL);
}

static void pieces_of_a_file_are_refused(void)
{
	struct annex_elf elf;
	struct image f;

	good(&f);
	for (size_t bytes = 0; bytes < sizeof(f); bytes++)
		CU_ASSERT(parse(&f, bytes, &elf) < 0);
}

/* Accepted files keep the promises. */
static void random_bytes_do_no_harm(void)
{
	uint64_t seed = random_seed("random_bytes_do_no_harm");
	struct annex_elf elf;
	struct image f;

	for (int k = 0; k < 20000; k++) {
		good(&f);
		for (int n = (int)(random_next(&seed) % 4); n >= 0; n--) {
			uint64_t r = random_next(&seed);

			((unsigned char *)&f)[r % offsetof(struct image, code)] ^=
				(unsigned char)(1u << (r >> 32) % 8);
		}
		if (parse(&f, sizeof(f), &elf))
			continue;
		for (unsigned int i = 0; i < elf.nsegments; i++) {
			const struct annex_elf_segment *s = &elf.segment[i];

			CU_ASSERT(s->offset <= sizeof(f) && s->file_bytes <= sizeof(f) - s->offset);
			CU_ASSERT(s->file_bytes <= s->bytes && s->va >= elf.low);
			CU_ASSERT(s->va + s->bytes <= elf.high && elf.high <= ANNEX_ELF_TOP);
			CU_ASSERT(!i || s->va >= s[-1].va + s[-1].bytes);
		}
	}
}

static int run(const struct image *f, uint64_t budget, struct annex_rv_result *result)
{
	char path[] = "/tmp/annex-elf-XXXXXX";
	char *argv[] = {path, "one", NULL};
	struct annex_rv_opts opts = {.budget = budget, .out = -1, .err = -1};
	int fd = mkstemp(path), err;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(write(fd, f, sizeof(*f)), (ssize_t)sizeof(*f));
	close(fd);
	err = annex_rv_run(path, argv, &opts, result);
	unlink(path);
	return err;
}

/* It exits with argc and two words of its data: one of the file, and one that is zero. */
static void a_program_runs(void)
{
	const uint32_t code[] = {ld(10, 2, 0),   lui(5, 0x20),    ld(6, 5, 0),
				 add(10, 10, 6), ld(6, 5, 64),    add(10, 10, 6),
				 sd(10, 5, 64),  addi(17, 0, 93), ECALL};
	struct annex_rv_result result;
	struct image f;

	good(&f);
	memcpy(f.code, code, sizeof(code));
	f.data[0] = 40;
	f.p[2].p_memsz = 4096;
	CU_ASSERT_EQUAL(run(&f, 0, &result), 0);
	CU_ASSERT_EQUAL(result.status, 42);
	CU_ASSERT_EQUAL(result.instructions, 9);
	CU_ASSERT_EQUAL(run(&f, 9, &result), 0);
	CU_ASSERT_EQUAL(run(&f, 8, &result), -ETIME);
	CU_ASSERT_EQUAL(result.instructions, 8);
}

static void what_cannot_run_is_refused(void)
{
	struct annex_rv_result result;
	struct image f;

	good(&f);
	f.p[0].p_flags |= PF_W;
	CU_ASSERT_EQUAL(run(&f, 0, &result), -EINVAL);
	good(&f);
	f.p[0].p_vaddr = f.p[2].p_vaddr = ANNEX_ELF_TOP - 0x10000;
	f.h.e_entry = f.p[0].p_vaddr + offsetof(struct image, code);
	f.p[2].p_vaddr += 0x1000;
	CU_ASSERT_EQUAL(run(&f, 0, &result), -E2BIG);
	CU_ASSERT_EQUAL(result.signal, 0);
}

static void a_program_traps(void)
{
	const struct {
		uint32_t insn;
		int err;
	} c[] = {{ld(10, 0, 8), -EFAULT}, {sd(10, 0, 8), -EFAULT}, {amoadd_d(5, 5, 0), -EFAULT},
		 {jalr(0), -EFAULT},      {NONE, -EILSEQ},         {EBREAK, -EINTR}};
	struct annex_rv_result result;
	struct image f;

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		good(&f);
		f.code[0] = addi(5, 0, 1);
		f.code[1] = c[i].insn;
		CU_ASSERT_EQUAL(run(&f, 1000, &result), c[i].err);
		CU_ASSERT(strstr(annex_last_error(), i == 3 ? "0x0" : "pc 0x100ec") != NULL);
	}
}

UNIT_SUITE(elf, {"segments are told", segments_are_told},
	   {"wrong files are refused", what_is_wrong_is_refused},
	   {"pieces of a file are refused", pieces_of_a_file_are_refused},
	   {"random bytes do no harm", random_bytes_do_no_harm}, {"a program runs", a_program_runs},
	   {"programs that cannot run are refused", what_cannot_run_is_refused},
	   {"a program traps", a_program_traps})
