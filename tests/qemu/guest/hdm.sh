# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# CXL memory becomes a range that programs map: their data is in the devices, at its address.
# limit: 240
. /test/lib.sh

# members INDEXES - Their addresses, with commas between.
members()
{
	list=
	for index in $1; do
		list=$list${list:+,}$(cxl "$index")
	done
	echo "$list"
}

# fill INDEXES [GRAIN] - A range over these devices, and their data afterwards, as the host sees it.
fill()
{
	hdm fill "$(members "$1")" "${2:-0}" >range || return 1
	n=0
	for index in $1; do
		is "$(host peek "file=$memory$index" offset=0 bytes=2097152)" \
			"$(md5sum <"member$n" | cut -d ' ' -f 1)" || return 1
		n=$((n + 1))
	done
	cat range
}

# Two ranges at once, in different windows or after one another in one.
beside()
{
	exec 6<>go
	start hdm hold "$(cxl 0)" go
	hears 20 holding && fill 1 && for_root "/sys/class/annex/annex!$first/range/base" &&
		for_root "/sys/kernel/debug/annex/$first/decoders"
	seen=$?
	echo end >&6
	exec 6>&-
	ended 0 && return $seen
}

# for_root FILE - Physical addresses are not everybody's.
for_root()
{
	grep . "$1" && ! nobody cat "'$1'"
}

# Coherency is the host's (HDM-H), on all that is on the way, whatever else the device can do.
host_only()
{
	exec 6<>go
	start hdm hold "$first" go
	hears 20 holding && decoders "$first" >decoders
	seen=$?
	# The capability register is before the first decoder.
	able=$(word "$(($(sed -n "s/^$first 0 at \(0x[0-9a-f]*\) .*/\1/p" decoders) - 16))")
	echo end >&6
	exec 6>&-
	ended 0 && [ $seen -eq 0 ] || return
	case $((able >> 21 & 3))$CXL_MODELS in
	0h | 3db) ;;
	*) echo "it is able to do $able"; return 1 ;;
	esac
	while read -r line; do
		ctrl=${line#* ctrl }
		echo "$line"
		# Of this bit, that for back-invalidation and that for direct accesses.
		[ $((${ctrl%% *} >> 12 & 7)) -eq 1 ] || return
	done <decoders
}

memory=cxl
[ "$CXL_KIND" != persistent ] || memory=pmem
skips()
{
	exec 6<>go
	start hdm hold "$first" go
	hears 20 holding && decoders "$first" | grep "$first .* list 0x10000000$"
	seen=$?
	exec 6>&-
	kill "$pid"
	ended 143 && return $seen
}

with_hdm
claim "the module describes it" eval 'hdm info "$first" | grep "serial 1 .*decoders 4"'
claim "any user may read the number of users" nobody cat "'/sys/class/annex/annex!$first/hdm/users'"
claim "one device: data is in its memory" fill 0
claim "it has no range afterwards" eval '! range "$first" base | grep .'
claim "nor a decoder that is committed" eval '! decoders "$first" | grep .'
claim "again: data is as it was" hdm verify "$first" 0
report "# open to usable range: $(hdm time "$first") ms"
# Under a hypervisor no caches are emptied.
if ! grep -q hypervisor /proc/cpuinfo; then
	chmod 666 "/dev/annex/$first"
	claim "users empty the machine's caches five times a second at most" \
		[ "$(nobody hdm pace "$first")" -ge 2000 ]
	claim "those that are killed delay no other" \
		[ "$(nobody hdm killed "$first" 200)" -lt $((2000 * SLOW)) ]
	chmod 600 "/dev/annex/$first"
fi
mkfifo go
claim "the host alone keeps caches coherent" host_only
if [ "$CXL" -gt 1 ]; then
	claim "two devices, each by itself" beside
	claim "two ways: data is in both" fill "0 1"
	claim "by 16 KiB" fill "1 0" 16384
	claim "by 256 bytes" fill "0 1" 256
fi
if [ "$CXL_SHAPE" = tree ]; then
	claim "one device behind a switch" fill 3
	claim "two ways behind a switch" fill "2 3" 1024
	claim "two ways over host bridges" fill "0 2"
	claim "four ways over host bridges, their ports, and a switch" fill "0 2 1 3"
	claim "an order that no window has is refused" refused "Operation not supported" \
		hdm fill "$(members "0 1 2 3")" 0
	claim "a granularity that the window does not have, likewise" \
		refused "Operation not supported" \
		hdm fill "$(members "0 2")" 256
elif [ "$CXL" -ge 4 ]; then
	claim "four ways: data is in all" fill "0 1 2 3" 2048
fi
if [ "$CXL_KIND" = both ]; then
	memory=pmem
	export CXL_KIND=persistent
	claim "persistent memory behind the volatile" fill 0
	claim "which a decoder skips" skips
	[ "$CXL" -eq 1 ] || claim "two ways" fill "0 1"
fi
claim "it unloads" rmmod annex
claim "nothing is left of it" eval '! grep annex /proc/iomem'
