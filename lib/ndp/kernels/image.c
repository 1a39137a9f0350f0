// SPDX-License-Identifier: MIT
/*
 * The kernels' ELF files, built from the assembly files in this folder.
 */
#include "kernels.h"

#define K_FILE(name)                                                                               \
	__asm__(".pushsection .rodata\n"                                                           \
		".balign 16\n"                                                                     \
		".hidden k_elf_" #name "\n"                                                        \
		".globl k_elf_" #name "\n"                                                         \
		"k_elf_" #name ":\n"                                                               \
		".incbin \"" #name ".elf\"\n"                                                      \
		".hidden k_end_" #name "\n"                                                        \
		".globl k_end_" #name "\n"                                                         \
		"k_end_" #name ":\n"                                                               \
		".popsection\n");                                                                  \
	extern const char k_elf_##name[], k_end_##name[];

K_LIST(K_FILE)

#define K_IMAGE(name) [K_##name] = {#name, k_elf_##name, k_end_##name},

const struct k_image k_image[K_KERNELS] = {K_LIST(K_IMAGE)};
