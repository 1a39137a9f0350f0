# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: MIT
# The near-data processor: programs on its harts, kernels on its model, a server of it, and its
# clients.

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
holds "prints its text" grep -qx hello out
"$annex" ndp run --json hello.elf >out 2>err
value "its report" status 0
holds "and its text beside it" grep -qx hello err
refused "no program" "name a program" "$annex" ndp run
refused "a program that is not there" "hello.none" "$annex" ndp run hello.none
refused "no ELF file" "not an ELF file" "$annex" ndp run hello.S
refused "no vector length" "--vlen 200" "$annex" ndp run --vlen 200 hello.elf
rm -f hello.S hello.o hello.elf

# The kernel of docs/m2func.md: the pool region is a, the arguments are b and c.
sed -n '/^\t\.globl\tndp_regs_x/,/ecall/p' "$here/../../docs/m2func.md" >add.S
riscv64-linux-gnu-as -march=rv64gcv add.S -o add.o &&
	riscv64-linux-gnu-ld -N -e ndp_body0 add.o -o add.elf 2>held
claim "ndp time has help" "$annex" ndp time --help
holds "with an example" grep -q "annex ndp time .*--pool" out
for i in $(seq 1 4096); do printf '\1\0\0\0'; done >ones
claim "a kernel on the model" "$annex" ndp time add.elf file:ones zero:16K --pool file:ones \
	--save 2=twos
holds "prints cycles" grep -qE "^ *cycles +[1-9]" out
holds "in time" grep -qE "^ *time +[0-9.]+ us" out
holds "and by what" grep -qE "^ *vector_lsu +1536 instructions, busy" out
for i in $(seq 1 4096); do printf '\2\0\0\0'; done >want
holds "its sum is right" cmp twos want
claim "in JSON" "$annex" ndp time add.elf random:16K zero:16K --pool random:16K --json
value "a micro-thread for each 32 bytes" threads 512
value "11 instructions each" instructions 5632
value "nothing is in L1 yet" l1_hits 0
cycles=$(number cycles)
claim "the same again" "$annex" ndp time add.elf random:16K zero:16K --pool random:16K --json \
	--seed 2
value "as long, whatever the numbers" cycles "$cycles"
claim "once L2 has it" "$annex" ndp time add.elf zero:16K zero:16K --pool zero:16K --json --runs 2
value "nothing comes from DRAM" dram_read_bytes 0
holds "and it is faster" test "$(number cycles)" -lt "$cycles"
claim "half of it" "$annex" ndp time add.elf zero:16K zero:16K --pool 1 --pool-bytes 8K --json
value "half the micro-threads" threads 256
# time4 OPTION... - Its time on four units.
time4()
{
	claim "a device: $*" "$annex" ndp time add.elf zero:16K zero:16K --pool zero:16K --json \
		--units 4 "$@"
}
time4
cycles=$(number cycles)
for less in "--units 2" "--subcores 1" "--slots 1" "--registers 1K" "--channels 1" \
	"--dram-mhz 200" "--mhz 4000" "--l2-cycles 500"; do
	# shellcheck disable=SC2086 # words are wanted
	time4 $less
	holds "$less takes more cycles" test "$(number cycles)" -gt "$cycles"
done
claim "a slow link" "$annex" ndp time add.elf zero:32 zero:32 --pool zero:32 --link 1000000 --json
holds "takes its time" grep -q '"call_s": 0.00100' out
claim "caches of another kind" "$annex" ndp time add.elf zero:32 zero:32 --pool zero:32 --l1 4K \
	--l1-ways 2 --l1-cycles 9 --l2 4K --l2-ways 2 --vlen 512 --piece 32
refused "no kernel" "name a kernel" "$annex" ndp time
refused "a kernel that is not there" "none.elf: No such" "$annex" ndp time none.elf
refused "a kernel that is none" "not an ELF file" "$annex" ndp time ones zero:32
refused "a directory as a kernel" "Is a directory" "$annex" ndp time .
refused "no array" "name the pool region" "$annex" ndp time add.elf 1 2
refused "a word for a number" 'argument "x"' "$annex" ndp time add.elf zero:32 x
refused "half a number" 'argument "1x"' "$annex" ndp time add.elf zero:32 1x
refused "too large a number" "argument" "$annex" ndp time add.elf zero:32 99999999999999999999
refused "an array of nothing" "from 1 to" "$annex" ndp time add.elf zero:0 1
refused "an array of too much" "from 1 to" "$annex" ndp time add.elf random:1T 1
refused "a file that is not there" "file:none: No such" "$annex" ndp time add.elf file:none 1
refused "a directory as an array" "not a regular file" "$annex" ndp time add.elf file:. 1
refused "an argument too few" "8 bytes of arguments, the kernel has 16" \
	"$annex" ndp time add.elf zero:32
refused "too many arguments" "more than 31" "$annex" ndp time add.elf $(seq 1 32)
refused "a pool that is a number" "argument 2 is not an array" "$annex" ndp time add.elf zero:32 1 \
	--pool 2
refused "no such argument" "--pool 3" "$annex" ndp time add.elf zero:32 1 --pool 3
refused "a pool that is nothing" "--pool some" "$annex" ndp time add.elf zero:32 1 --pool some
refused "more than the pool" "the pool region has 32" "$annex" ndp time add.elf zero:32 1 \
	--pool-bytes 33
refused "nothing to save" "--save pool" "$annex" ndp time add.elf zero:32 1 --save pool
refused "a number to save" "argument 2 is not an array" \
	"$annex" ndp time add.elf zero:32 1 --save 2=x
refused "a file in its way" "--overwrite" "$annex" ndp time add.elf zero:32 zero:32 --save 1=ones
claim "over it" "$annex" ndp time add.elf zero:32 zero:32 --save pool=ones --overwrite
holds "there is the array" test "$(stat -c %s ones)" = 32
refused "memory that is not there" "0x7 cannot be reached, 0x[0-9a-f]* bytes into" \
	"$annex" ndp time add.elf 7 zero:32 --pool zero:32
refused "a negative address" "0xffff[0-9a-f]* cannot be reached" \
	"$annex" ndp time --pool zero:32 add.elf -- zero:32 -8
refused "no budget" "budget of instructions is used up" "$annex" ndp time add.elf zero:32 zero:32 \
	--budget 5
refused "too few registers" "bytes of registers" "$annex" ndp time add.elf zero:32 zero:32 \
	--registers 16
refused "no room for a scratchpad" "a scratchpad of 16 bytes" "$annex" ndp time add.elf zero:32 \
	zero:32 --l1 2K
refused "three channels" "channels 3: a power of two" "$annex" ndp time add.elf zero:32 zero:32 \
	--channels 3
refused "a million units" "units 1048576: from 1 to 256" "$annex" ndp time add.elf zero:32 \
	zero:32 --units 1M
refused "no clock" "--mhz 0" "$annex" ndp time add.elf zero:32 zero:32 --mhz 0
refused "a piece of 16" "piece 16: 32 or 64" "$annex" ndp time add.elf zero:32 zero:32 --piece 16
refused "no runs" "--runs 0" "$annex" ndp time add.elf zero:32 zero:32 --runs 0
rm -f add.S add.o add.elf ones twos want

refused "no range" "name the range" "$annex" ndp serve --socket sock
refused "a range that is not there" "size= makes it" "$annex" ndp serve --socket sock shm:none
refused "no unit count" "--units 0" "$annex" ndp serve --units 0 --socket sock shm:none
refused "a piece of 48" "piece" "$annex" ndp serve --piece 48 --socket sock shm:none
refused "no budget" "--budget 0" "$annex" ndp serve --budget 0 --socket sock shm:none
refused "a budget of words" "--budget some" "$annex" ndp serve --budget some --socket sock shm:none
refused "no deadline" "--deadline 0" "$annex" ndp serve --deadline 0 --socket sock shm:none
refused "a deadline of months" "--deadline 5000000000" \
	"$annex" ndp serve --deadline 5000000000 --socket sock shm:none
refused "no vector length" "vlen" "$annex" ndp serve --vlen 200 --socket sock shm:none
refused "no threads" "--threads 0" "$annex" ndp serve --threads 0 --socket sock shm:none
refused "no guest" "No such file" "$annex" ndp serve --guest none
refused "a guest that is a directory" "cannot serve" "$annex" ndp serve --guest .
refused "a guest and a range" "neither ranges nor a socket" "$annex" ndp serve --guest none shm:none
refused "a guest and a socket" "neither ranges nor a socket" "$annex" ndp serve --guest none \
	--socket sock
refused "uncached without a guest" "--uncached needs --guest" "$annex" ndp serve --uncached 4M \
	shm:none
refused "less uncached than there is" "--uncached 1M" "$annex" ndp serve --guest none --uncached 1M
truncate -s 1M small
refused "a guest of less than that" "cannot serve" "$annex" ndp serve --guest small
refused "all of a guest" "cannot serve" "$annex" ndp serve --guest small --uncached 1G
rm small
refused "no server to list" "No such file" "$annex" ndp list sock
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
claim "no client uses it yet" "$annex" ndp list sock --json
value "no processes" processes 0
holds "no clients" grep -q '"clients": \[\]' out
claim "as a table" "$annex" ndp list sock
holds "with its counters" grep -q "launches *0" out
refused "a second one there" "another process serves there" "$annex" ndp serve --socket sock \
	shm:range
refused "a file in its way" "no socket" "$annex" ndp serve --socket range shm:range
kill -TERM "$server"
holds "it ends when told" wait "$server"
holds "without a word" test ! -s serve.err
holds "and its socket is gone" test ! -e sock

if serve shm:range; then
	ok
else
	fail "it serves an existing range"
fi
kill -KILL "$(pgrep -P "$server" -x annex-ndp)"
wait "$server" 2>/dev/null
holds "one that is killed leaves a name" test -S sock
refused "without a server" "no process serves there" "$annex" ndp list sock
if serve --threads 1 --units 2 shm:range; then
	ok
else
	fail "which another takes over"
fi
claim "and it answers" "$annex" ndp list sock
pid=$(pgrep -P "$server" -x annex-ndp)
free=0
while [ -e "/proc/$pid/fd/$free" ]; do
	free=$((free + 1))
done
prlimit --pid "$pid" --nofile=$free:
timeout 60 "$annex" ndp list sock >late 2>late.err &
late=$!
until grep -q '^annex ndp serve: warning: ndp: a process has to wait: Too many' serve.err; do
	kill -0 $late 2>/dev/null || break
done
kill -0 $late 2>/dev/null
holds "a client that cannot be accepted waits" test $? -eq 0
prlimit --pid "$pid" --nofile="$(prlimit -n -o HARD --noheadings --pid "$pid" | tr -d ' '):"
holds "and is served when that is over" wait $late
holds "which the server tells once" test "$(wc -l <serve.err)" -eq 1
kill -INT "$pid"
holds "it ends by an interrupt too" wait "$server"
holds "and is gone" test ! -e sock
# A path that is a URI's nightmare.
odd='s%?&k=v%41'
mkfifo ready
timeout 60 "$annex" ndp serve --socket "$odd" shm:range >ready 2>serve.err &
server=$!
read -r -t 30 line <ready
holds "an odd socket is told as a URI" test "${line##* }" = "ndp:s%25%3f%26k=v%2541"
claim "and listed by its name" "$annex" ndp list "$odd"
holds "no client uses it" grep -q "processes *0" out
kill -TERM "$server"
holds "it ends" wait "$server"
rm -f range serve.err ready
