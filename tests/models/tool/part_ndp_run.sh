# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Programs on a hart: their output, heap and counters, and how they end.

riscv64-linux-gnu-gcc -static -nostdlib -O2 "$here/../models/tool/rv/hart.c" -o hart.elf

claim "a program writes" "$annex" ndp run hart.elf output
holds "its bytes" grep -qx a out
claim "a heap of 1 GiB, page by page" "$annex" ndp run hart.elf heap
claim "counters" "$annex" ndp run hart.elf counters

# ends STATUS SIGNAL WORDS ARGUMENT... - Its end is told by the status, one line, and JSON.
ends()
{
	local status=$1 signal=$2 words=$3
	shift 3
	timeout 60 "$annex" ndp run --json --budget 10M hart.elf "$@" >out 2>err
	holds "$1 has status $status" test $? = "$status"
	value "$1, in JSON too" status "$status"
	holds "$1 names its signal" grep -q "\"signal\": $signal" out
	holds "$1 says why" grep -q "$words" err
	holds "$1 says it in one line" test "$(wc -l <err)" = 1
}
ends 139 '"SIGSEGV"' "cannot load from 0x8 at pc 0x" load
ends 139 '"SIGSEGV"' "cannot store to 0x[0-9a-f]* at pc 0x" store
ends 135 '"SIGBUS"' "atomic access to 0x[0-9a-f]*, misaligned, at pc 0x" atomic
ends 133 '"SIGTRAP"' "breakpoint at pc 0x" ebreak
ends 132 '"SIGILL"' "illegal instruction 0x00000000 at pc 0x" illegal
ends 152 '"SIGXCPU"' "budget of instructions is used up at pc 0x" spin
ends 159 '"SIGSYS"' "system call 98 (futex)" futex
ends 159 '"SIGSYS"' "system call 1000 " call
timeout 60 "$annex" ndp run --json hart.elf other >out 2>err
holds "exit(1) has status 1" test $? = 1
holds "and no signal" grep -q "\"signal\": null" out
holds "and no line" test ! -s err
rm -f hart.elf
