#!/bin/bash
# SPDX-License-Identifier: MIT
# The RISC-V core against qemu-riscv64, on random programs: run.sh BUILD [COUNT [SEED [GROUPS]]]
#
# COUNT instructions are compared, one by one, all that both write to registers, CSRs and memory;
# and some of each program once more on many lanes, against each lane alone. GROUPS, with commas:
# i m a csr f d zfh c zba zbb v-cfg v-int v-fix v-fp v-red v-mask v-perm v-mem. Every instruction of
# the tables must have been run.
#
# Left out or bent, since qemu 10.0 has it wrong or it is not defined: fault-only-first loads of
# elements on two pages, of segments on two, or from the middle on (qemu aborts); more than 2 bits
# for vxrm (qemu keeps them); the order of unordered sums, whose numbers are small and whole;
# elements wider than the fraction of 64 bits that LMUL is, which an implementation may have. Both
# leave tails and masked-off elements as they were.
set -u
cd "$(dirname "$0")/../../.." || exit 1

build=$1
count=${2:-1000000}
seed=${3:-1}
groups=${4:-all}
fuzz=$build/rv/rvfuzz
annex=$build/annex
lengths=(256 128 256 1024 256 512)
size=20000
[ "$count" -ge $size ] || size=$count
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkfifo "$dir/want" "$dir/got" || exit 1
claim_log=$dir/log
# shellcheck source=tests/claim.sh
. tests/claim.sh

disassemble()
{
	riscv64-linux-gnu-as -march=rv64gcv_zba_zbb_zfh -o "$dir/bits.o" "$dir/bits" &&
		riscv64-linux-gnu-objdump -d "$dir/bits.o" | sed -n 's/^ *[0-9a-f]*:\t/  | /p'
}

# one N VLEN FLAGS - A program of its own seed, on both.
one()
{
	local program=("$1" "$size" "$2" "$groups" "$3") rc ended
	local cpu=rv64,v=true,vlen=$2,zba=true,zbb=true,zfh=true,zvfh=true
	"$fuzz" make "${program[@]}" "$dir/elf" || return
	timeout 300 qemu-riscv64 -cpu "$cpu" "$dir/elf" >"$dir/want" 2>"$dir/want.err" &
	local qemu=$!
	timeout 300 "$annex" ndp run --vlen "$2" "$dir/elf" >"$dir/got" 2>"$dir/got.err" &
	local ours=$!
	"$fuzz" compare "${program[@]}" "$dir/want" "$dir/got" "$dir/bits"
	rc=$?
	wait $qemu
	ended=$?
	wait $ours || ended=$?
	if [ $rc -ne 0 ] || [ $ended -ne 0 ]; then
		sed 's/^/  qemu: /' "$dir/want.err"
		sed 's/^/  annex: /' "$dir/got.err"
		echo "  again: tests/models/rv/run.sh $build $size $1 $groups; VLEN $2, FLAGS $3"
		[ $rc -eq 0 ] || disassemble
		return 1
	fi
	program[1]=$((size < 1000 ? size : 1000))
	"$fuzz" lanes "${program[@]}"
}

n=0
while [ $((n * size)) -lt "$count" ]; do
	this=$((seed + n))
	vlen=${lengths[this % 6]}
	# Without reads of flags, Zicsr is not tested.
	flags=$((this / 2 % 2))
	[ "$groups" != csr ] || flags=1
	claim "as qemu" one $this "$vlen" $flags
	"$fuzz" count $this "$size" "$vlen" "$groups" $flags >>"$dir/count"
	n=$((n + 1))
done

# Each group: how many instructions it has, how often they were run, and the one least often.
counted()
{
	awk '
	{ n[$1 " " $2] += $3 }
	END {
		for (key in n) {
			split(key, part, " ")
			g = part[1]
			kinds[g]++
			runs[g] += n[key]
			if (!(g in least) || n[key] < n[least[g]])
				least[g] = key
		}
		for (g in kinds) {
			printf "%-7s %4d instructions, %8d times; %s %d times\n", g, kinds[g],
				runs[g], substr(least[g], length(g) + 2), n[least[g]]
			none = none || !n[least[g]]
		}
		exit none
	}' "$dir/count" | sort >"$dir/table"
	return "${PIPESTATUS[0]}"
}

claim "every instruction was run" counted
cat "$dir/table"
echo "$((n * size)) instructions"
claims_end
