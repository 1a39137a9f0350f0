# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# For tests that measure: `. /test/measure.sh`. Their lines begin with "# bench".

# Ticks that the processors were idle; the rest of the time they were not. What /proc/stat says was
# work is counted by whole ticks, and misses what begins and ends between two.
idle()
{
	read -r _ _ _ _ idle iowait _ </proc/stat
	echo $((idle + iowait))
}

# measure SIDE SIZE COMMAND... - It runs for 4 s and leaves its rate in the file rate; the
# processors' time is that of 2 s in the middle, when both sides do nothing but I/O.
measure()
{
	side=$1 size=$2
	shift 2
	"$@" >out 2>err &
	sleep 1.5 # until the measured program has its pace
	from=$(idle)
	read -r from_s _ </proc/uptime
	sleep 2 # the length of the measurement: the measured program runs for longer
	to=$(idle)
	read -r to_s _ </proc/uptime
	wait $! || { cat out err; return 1; }
	case $side in
	annex) rate=$(sed -n 's/^ *"iops": *\([0-9.]*\).*/\1/p' out) ;;
	*) rate=$(cut -d ';' -f 8 out) ;;
	esac
	[ -n "$rate" ] || return 1
	echo "$side $size $rate $from $to $from_s $to_s $(nproc)" | awk '{
		busy = $8 - ($5 - $4) / 100 / ($7 - $6)
		printf "# bench %s %s %s %.9g\n", $1, $2, $3, busy / $3 }' >&3
}
