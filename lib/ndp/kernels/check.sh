#!/bin/sh
# SPDX-License-Identifier: MIT
# Whether a kernel names the registers that it uses: check.sh OBJDUMP NM KERNEL.elf
# Too few end it with an illegal instruction, too many cost micro-threads.
set -eu
objdump=$1 nm=$2 elf=$3

named=$("$nm" "$elf" | awk '/ ndp_regs_/ { n[substr($3, 10)] = $1 }
	END { print n["x"], n["f"], n["v"] }')
"$objdump" -d -M numeric,no-aliases --no-show-raw-insn "$elf" |
	awk -v named="$named" -v elf="$elf" '
function hex(s,    i, n) {
	for (i = 1; i <= length(s); i++)
		n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
	return n + 0
}

# Registers of a group whose elements have @bits.
function group(bits,    n) {
	n = lmul * bits / sew
	return n < 1 ? 1 : n
}

function use(kind, reg, n) {
	if (reg + n > used[kind])
		used[kind] = reg + n
}

$2 ~ /^vset/ {
	match($0, /,e[0-9]+/)
	sew = substr($0, RSTART + 2, RLENGTH - 2)
	match($0, /,mf?[0-9]+/)
	lmul = substr($0, RSTART + 2, RLENGTH - 2)
	lmul = lmul ~ /^f/ ? 1 : lmul + 0
}
$1 ~ /^[0-9a-f]+:$/ {
	split($3, operand, /[,()]/)
	for (i = 1; i in operand; i++) {
		kind = substr(operand[i], 1, 1)
		reg = substr(operand[i], 2)
		if (operand[i] !~ /^[xfv][0-9]+$/)
			continue
		n = 1
		if (kind == "v") {
			n = group(sew)
			# Masks and scalars have one; wider results twice as many; and bytes
			# have what their width says, in memory.
			if ($2 ~ /^v(m.*\.mm?|lm|sm|cpop|first)/)
				n = 1
			if (i == 1 && $2 ~ /^vm(s|f)(eq|ne|lt|le|gt|ge)/)
				n = 1
			if (i != 2 && $2 ~ /^vf?w?red/)
				n = 1
			if ($2 ~ /^v(mv\.s|fmv\.s|mv\.x|fmv\.f)/)
				n = 1
			if (i == 1 && $2 ~ /^vf?w(add|sub|mul|n?macc|n?msac)/)
				n = group(2 * sew)
			if (i == 2 && $2 ~ /^vf?w.*\.w[vxf]/)
				n = group(2 * sew)
			if (i == 1 && match($2, /^v[ls]s?e[0-9]+/)) {
				match($2, /[0-9]+/)
				n = group(substr($2, RSTART, RLENGTH))
			}
		}
		use(kind, reg, n)
	}
}
END {
	split(named, want)
	use("x", 2, 1)
	if (hex(want[1]) != used["x"] || hex(want[2]) != used["f"] + 0 ||
	    hex(want[3]) != used["v"] + 0) {
		printf "%s: uses %d, %d and %d registers, but names %d, %d and %d\n", elf,
			used["x"], used["f"], used["v"], hex(want[1]), hex(want[2]), hex(want[3])
		exit 1
	}
}' >&2
