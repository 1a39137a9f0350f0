// SPDX-License-Identifier: MIT
/*
 * What firmware leaves behind, changed while the machine runs, for hdmfirm.sh. Numbers are as in C;
 * without VALUE, they are printed.
 *
 *   hdmfirm entries TYPE                       where the CEDT has entries of a type
 *   hdmfirm table AT BYTES [VALUE]             bytes of the CEDT
 *   hdmfirm register ADDRESS BAR AT [VALUE]    a register, of 32 bits, of a PCI device
 *   hdmfirm registers ADDRESS BAR AT N         as many of them
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "die.h"

#define PAGE 4096ull
#define BIOS 0xe0000u
#define BIOS_BYTES 0x20000u
#define HEADER_BYTES 36u

/* Whole pages; they stay mapped until the program ends. */
static unsigned char *map_file(const char *path, uint64_t at, size_t bytes)
{
	uint64_t from = at & ~(PAGE - 1);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	unsigned char *mem;

	if (fd < 0)
		die("%s: %m", path);
	mem = mmap(NULL, at - from + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)from);
	if (mem == MAP_FAILED)
		die("%s: mmap of 0x%llx: %m", path, (unsigned long long)at);
	close(fd);
	return mem + (at - from);
}

static unsigned char *map_memory(uint64_t at, size_t bytes)
{
	return map_file("/dev/mem", at, bytes);
}

static uint32_t word_at(const unsigned char *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static const unsigned char *find_rsdp(void)
{
	const unsigned char *bios = map_memory(BIOS, BIOS_BYTES);

	for (unsigned int at = 0; at < BIOS_BYTES; at += 16)
		if (!memcmp(bios + at, "RSD PTR ", 8))
			return bios + at;
	die("there is no RSDP");
}

/* By the root table, whose entries are physical addresses. */
static unsigned char *find_cedt(uint32_t *bytes)
{
	uint32_t root = word_at(find_rsdp() + 16);
	uint32_t n = word_at(map_memory(root, HEADER_BYTES) + 4);
	const unsigned char *list = map_memory(root, n);

	for (uint32_t at = HEADER_BYTES; at + 4 <= n; at += 4) {
		uint32_t table = word_at(list + at);
		const unsigned char *header = map_memory(table, HEADER_BYTES);

		*bytes = word_at(header + 4);
		if (!memcmp(header, "CEDT", 4))
			return map_memory(table, *bytes);
	}
	die("there is no CEDT");
}

static void show_entries(unsigned long type)
{
	uint32_t bytes, at = HEADER_BYTES;
	const unsigned char *cedt = find_cedt(&bytes);

	while (at + 4 <= bytes) {
		uint32_t length = word_at(cedt + at) >> 16;

		if (cedt[at] == type)
			printf("%u\n", at);
		if (!length)
			die("an entry of no length");
		at += length;
	}
}

static void change_table(unsigned long at, unsigned long n, const char *value)
{
	uint32_t bytes;
	unsigned char *cedt = find_cedt(&bytes);
	uint64_t word = 0;

	if (n > sizeof(word) || at > bytes || n > bytes - at)
		die("no such bytes");
	if (value) {
		word = strtoull(value, NULL, 0);
		memcpy(cedt + at, &word, n);
	} else {
		memcpy(&word, cedt + at, n);
		printf("0x%llx\n", (unsigned long long)word);
	}
}

static void change_word(unsigned char *p, const char *value)
{
	if (value)
		*(volatile uint32_t *)p = (uint32_t)strtoul(value, NULL, 0);
	else
		printf("0x%x\n", *(volatile uint32_t *)p);
}

static unsigned char *map_registers(const char *address, const char *bar, uint64_t at, size_t n)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource%s", address, bar);
	return map_file(path, at, 4 * n);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (!strcmp(what, "entries")) {
		show_entries(strtoul(argv[2], NULL, 0));
	} else if (!strcmp(what, "table") && argc > 3) {
		change_table(strtoul(argv[2], NULL, 0), strtoul(argv[3], NULL, 0), argv[4]);
	} else if (!strcmp(what, "register") && argc > 4) {
		change_word(map_registers(argv[2], argv[3], strtoull(argv[4], NULL, 0), 1),
			    argv[5]);
	} else if (!strcmp(what, "registers") && argc > 5) {
		size_t n = strtoul(argv[5], NULL, 0);
		unsigned char *at = map_registers(argv[2], argv[3], strtoull(argv[4], NULL, 0), n);

		for (size_t i = 0; i < n; i++)
			change_word(at + 4 * i, NULL);
	} else {
		die("hdmfirm entries | table | register | registers");
	}
	return 0;
}
