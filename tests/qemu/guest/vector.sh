# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# A controller with one interrupt, of which queue pairs have none: it is polled, and never raises
# the line that it may share with others.
# machines: spaces
. /test/lib.sh

[ "$VECTORS" = 1 ] || skip "it has several interrupts"
with_module
claim "it cannot interrupt by its line" \
	is $(($(bytes "/sys/bus/pci/devices/$address/config" 4 u 2) >> 10 & 1)) 1
claim "it has none to sleep for" refused "no interrupts to sleep for" life check "$uri?wait=sleep"
claim "nor for events" refused "reports no events" annex health "$uri" --wait
claim "a pattern is written" life fill "$uri"
claim "the data is whole" life check "$uri"
claim "it unloads" rmmod annex
