# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Ranges of CXL memory: how soon one is there, and an NVMe controller that reads into it against one
# whose data is copied there, in turns: tests/bench/qemu.sh asks for it, and reads the lines that
# begin with "# bench".
# limit: 300
. /test/lib.sh

ROUNDS=${ROUNDS:-5}

# measured SIDE ARGUMENT...
measured()
{
	side=$1
	shift
	benchhdm "$@" >numbers || return
	report "# bench $side $(cat numbers)"
}

with_hdm
nvme=$(controllers | head -n 1)
claim "a controller is bound" annex bind "$nvme" || exit 1
for round in $(seq "$ROUNDS"); do
	claim "round $round: a range is opened" measured hdm-open open "$first" || exit 1
	claim "round $round: reads into it, data is right" \
		measured hdm-direct direct "$first" "$nvme" 1 || exit 1
	claim "round $round: reads and copies, data is right" \
		measured hdm-copy copy "$first" "$nvme" 1 || exit 1
done
