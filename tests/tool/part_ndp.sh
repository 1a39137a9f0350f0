# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# The near-data processor: programs on its harts, a server of it, and who uses that.

claim "ndp run has help" "$annex" ndp run --help
claim "ndp serve has help" "$annex" ndp serve --help
holds "with an example" grep -q "annex ndp serve --socket" out
claim "ndp list has help" "$annex" ndp list --help

# Says hello, and ends with the number of its arguments.
cat >hello.S <<'END'
	.globl	_start
_start:
	ld	s0, 0(sp)
	li	a7, 64
	li	a0, 1
	lla	a1, text
	li	a2, 6
	ecall
	li	a7, 93
	addi	a0, s0, -1
	ecall
	.section .rodata
text:	.ascii	"hello\n"
END
riscv64-linux-gnu-as hello.S -o hello.o && riscv64-linux-gnu-ld hello.o -o hello.elf
claim "a program on a hart" "$annex" ndp run hello.elf
holds "says what it says" grep -qx hello out
"$annex" ndp run --json hello.elf >out 2>err
value "its report" status 0
holds "and what it says beside it" grep -qx hello err
refused "no program" "which program" "$annex" ndp run
refused "a program that is not there" "hello.none" "$annex" ndp run hello.none
refused "no ELF file" "not an ELF file" "$annex" ndp run hello.S
refused "no vector length" "--vlen 200" "$annex" ndp run --vlen 200 hello.elf
rm -f hello.S hello.o hello.elf

refused "no range" "name the range" "$annex" ndp serve --socket sock
refused "a range that is not there" "size= makes it" "$annex" ndp serve --socket sock shm:none
refused "no unit count" "--units 0" "$annex" ndp serve --units 0 --socket sock shm:none
refused "a piece of 48" "piece" "$annex" ndp serve --piece 48 --socket sock shm:none
refused "nobody to list" "No such file" "$annex" ndp list sock
refused "no socket to list" "name the socket" "$annex" ndp list

# serve OPTION... - A server in the background, which has said that it is ready: $server.
serve()
{
	local line
	mkfifo ready || return
	timeout 60 "$annex" ndp serve --socket sock "$@" >ready 2>serve.err &
	server=$!
	read -r -t 30 line <ready
	rm ready
	[[ $line == ready:* || $line == "{" ]]
}

if serve 'shm:range?size=8M'; then
	ok
else
	fail "a server gets ready"
fi
holds "its socket is this user's" test "$(stat -c %a sock)" = 600
claim "nobody uses it yet" "$annex" ndp list sock --json
value "no processes" processes 0
holds "no clients" grep -q '"clients": \[\]' out
claim "as a table" "$annex" ndp list sock
holds "with its counters" grep -q "launches *0" out
refused "a second one there" "somebody serves there" "$annex" ndp serve --socket sock shm:range
refused "a file in its way" "no socket" "$annex" ndp serve --socket range shm:range
kill -TERM "$server"
holds "it ends when told" wait "$server"
holds "without a word" test ! -s serve.err
holds "and its socket is gone" test ! -e sock

if serve shm:range; then
	ok
else
	fail "it serves what is there"
fi
kill -KILL "$(pgrep -P "$server" -x annex)"
wait "$server" 2>/dev/null
holds "one that is killed leaves a name" test -S sock
refused "where nobody is" "nobody serves there" "$annex" ndp list sock
if serve --threads 1 --units 2 shm:range; then
	ok
else
	fail "which another takes over"
fi
claim "and it answers" "$annex" ndp list sock
kill -INT "$(pgrep -P "$server" -x annex)"
holds "it ends by an interrupt too" wait "$server"
holds "and is gone" test ! -e sock
rm -f range serve.err
