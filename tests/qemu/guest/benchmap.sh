# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# The time to map memory for a controller: tests/bench/qemu.sh asks for it, and reads the lines that
# begin with "# bench".
# limit: 300
. /test/lib.sh

with_module
mib=$([ -n "${SMOKE:-}" ] && echo 32 || echo 256)
echo $((mib / 2)) >/proc/sys/vm/nr_hugepages
claim "memory is mapped and unmapped" eval "benchmap $address $mib ${ROUNDS:-5} >numbers" || exit 1
while read -r line; do
	report "# bench map $line"
done <numbers
