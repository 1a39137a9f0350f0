# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# Random calls and mappings end nothing but the owner's own commands, also while the controller is
# reset, taken away and given back.
# machines: kernel
# limit: 180
# long: 360
. /test/lib.sh

busy()
{
	[ "$(count maps)" -gt 10 ]
}

seconds=$((10 * SLOW))
[ "${LONG:-0}" != 1 ] || seconds=$((120 * SLOW))
with_module
claim "no page is pinned before" within 10 no_pins
claim "random calls for $seconds s" fuzz "$address" $seconds
claim "the kernel saw nothing wrong" clean_but_faults
claim "no page stays pinned" within 10 no_pins
claim "data goes to the controller and comes back as it was" place "$uri" any any

fuzz "$address" $((100 * SLOW)) &
pid=$!
for i in 1 2 3 4 5; do
	claim "the PCI core resets it" reset_outside
	claim "it is taken away and given back" bind_again
	claim "the next owner is at it" within 20 busy || break
done
kill $pid
claim "random calls go on meanwhile" wait $pid
claim "the kernel saw nothing wrong" clean_but_faults
claim "no page stays pinned" within 10 no_pins
claim "data goes to the controller and comes back as it was" place "$uri" any any
claim "it unloads" rmmod annex
dmesg -c >/dev/null
