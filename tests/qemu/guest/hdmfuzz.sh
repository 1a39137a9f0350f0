# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Random calls on CXL memory, and mappings of it, do no harm and leave nothing behind, also while a
# device is taken away and given back.
# machines: tree
# limit: 240
# long: 300
. /test/lib.sh

bind_again()
{
	echo "$first" >/sys/bus/pci/drivers/annex_cxl/unbind &&
		echo "$first" >/sys/bus/pci/drivers/annex_cxl/bind
}

busy()
{
	[ "$(cat "/sys/class/annex/annex!$first/hdm/refusals")" -gt 10 ]
}

nothing_left()
{
	for address in $devices; do
		no_range "$address" && is "$(users "$address")" 0 || return 1
	done
}

as_good()
{
	claim "the kernel saw nothing wrong" clean_log
	claim "no page stays pinned" within 10 no_pins
	claim "nothing of a range is left" within 10 nothing_left
	claim "data goes to the memory and comes back" hdm fill "$first" 0
}

seconds=10
[ "${LONG:-0}" != 1 ] || seconds=$((120 * SLOW))
with_hdm
devices=$(cxl_devices)
list=$(echo "$devices" | tr '\n' ,)
address=$(controllers | head -n 1)
nvme=$address
claim "a controller is bound" annex bind "$nvme" || exit 1
claim "no page is pinned before" within 10 no_pins
record
claim "random calls for $seconds s" hdmfuzz "$list" "$nvme" $seconds
claim "some made ranges" recorded 'annex_hdm_range: .* err=0'
claim "some mapped them" recorded 'annex_hdm_map: .* err=0'
claim "some let the controller reach them" recorded 'annex_map: .* kind=3 .* err=0'
claim "some were refused" recorded 'annex_hdm_map: .* err=-'
no_record
as_good

hdmfuzz "$list" "$nvme" $((100 * SLOW)) &
pid=$!
for i in 1 2 3 4 5; do
	claim "a device is taken away and given back" bind_again
	claim "the next user is at it" within 20 busy || break
done
kill $pid
claim "random calls go on meanwhile" wait $pid
as_good
claim "it unloads" rmmod annex
dmesg -c >/dev/null
