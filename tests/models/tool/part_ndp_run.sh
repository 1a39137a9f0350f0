# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# Programs on a hart: their system calls against Linux's, their heap, counters, and how they end.

riscv64-linux-gnu-gcc -static -O2 "$here/rv/calls.c" -o calls.elf
riscv64-linux-gnu-gcc -static -O2 "$here/rv/hart.c" -o hart.elf
riscv64-linux-gnu-g++ -static -O2 "$here/rv/heap.cc" -o heap.elf

# Neither has a descriptor 0.
timeout 60 qemu-riscv64 ./calls.elf >want <&-
claim "a program that asks for much" "$annex" ndp run calls.elf
holds "gets the answers of Linux" cmp want out
claim "a C++ program with many objects" "$annex" ndp run heap.elf
holds "comes to its end" grep -qx "100000 objects" out
claim "a heap of 1 GiB, page by page" "$annex" ndp run hart.elf heap
claim "code that a program changes" "$annex" ndp run hart.elf fence
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
}
ends 134 '"SIGABRT"' "signal 6 (SIGABRT) at pc 0x" abort
ends 139 '"SIGSEGV"' "cannot load from 0x8 at pc 0x" load
ends 133 '"SIGTRAP"' "breakpoint at pc 0x" ebreak
ends 132 '"SIGILL"' "illegal instruction 0x00000000 at pc 0x" illegal
ends 152 '"SIGXCPU"' "budget of instructions is used up at pc 0x" spin
ends 137 '"SIGKILL"' "waits for ever: nobody can wake it" wait
timeout 60 "$annex" ndp run --json hart.elf other >out 2>err
holds "exit(1) has status 1" test $? = 1
holds "and no signal" grep -q "\"signal\": null" out
holds "and no line" test ! -s err
rm -f calls.elf hart.elf heap.elf want
